/* SPDX-License-Identifier: MIT */
#include "gstndtlocalizecontrol.h"

#include <math.h>

#include <string.h>

#include "gst/ndt/settings/gstndtresolve.h"
#include "gstndtlocalizelast.h"
#include "gstndtlocalizemap.h"
#include "gstndtlocalizereport.h"

#define GST_CAT_DEFAULT gst_ndt_localize_debug

void
gst_ndt_changes_clear (GstNdtChanges *changes)
{
  g_clear_pointer (&changes->map, ndt_voxel_map_unref);
  g_clear_pointer (&changes->map_location, g_free);
  g_clear_pointer (&changes->tiles, ndt_map_tiles_unref);
  changes->reset = changes->has_initial_pose = FALSE;
  changes->settings = 0;
}

GstClockTime
gst_ndt_localize_get_own_latency (const GstNdtLocalize *self)
{
  GstClockTime latency = self->settings.processing_deadline;
  if (self->settings.batch_size > 1) /* a batch of one is full when it begins */
    latency += self->settings.batch_timeout;
  return latency;
}

GstClockTime
gst_ndt_localize_get_reach (GstClockTime pose_latency)
{
  return MAX (pose_latency, 2 * GST_SECOND);
}

gboolean
gst_ndt_localize_query_upstream (GstNdtLocalize *self, GstQuery *query)
{
  gboolean live;
  GstClockTime min;

  if (!gst_pose_queue_pads_query_latency (GST_ELEMENT (self), self->poses, query, &live, &min))
    return FALSE;
  GST_OBJECT_LOCK (self);
  self->is_live = live;
  self->upstream_latency = min;
  GST_OBJECT_UNLOCK (self);
  return TRUE;
}

gboolean
gst_ndt_localize_take (GstNdtLocalize *self, GstNdtTaken *taken)
{
  GstNdtChanges *pending = &self->changes;
  gboolean has_initial_pose;
  NdtPose initial_pose;

  taken->settings = NULL;
  GST_OBJECT_LOCK (self);
  taken->changes = *pending;
  if (self->has_map) {
    pending->map = NULL;
    pending->map_location = NULL;
    pending->tiles = NULL;
  } else { /* the first one is taken by gst_ndt_localize_take_first_map() */
    taken->changes.map = NULL;
    taken->changes.map_location = NULL;
    taken->changes.tiles = NULL;
  }
  pending->reset = pending->has_initial_pose = FALSE;
  pending->settings = 0;
  if (taken->changes.settings) {
    taken->settings = gst_structure_new_empty ("ndt-settings");
    gst_ndt_settings_describe (&self->settings, taken->changes.settings, taken->settings);
    gst_ndt_settings_resolve (
        &self->settings, &taken->params, &has_initial_pose, &initial_pose, NULL);
  }
  gst_ndt_settings_get_scan_settings (&self->settings, &taken->scans);
  taken->is_live = self->is_live;
  taken->upstream_latency = self->upstream_latency;
  const GstClockTime latency = self->upstream_latency + gst_ndt_localize_get_own_latency (self);
  taken->spare_latency = MAX (self->pipeline_latency, latency) - latency;
  GST_OBJECT_UNLOCK (self);
  return taken->changes.reset || taken->changes.map || taken->settings ||
         taken->changes.has_initial_pose;
}

static void
post_search_progress (gdouble fraction, guint n_candidates, gpointer user_data)
{
  GstNdtLocalize *self = user_data;
  const GstProgressType type =
      fraction < 1 ? self->tells_search ? GST_PROGRESS_TYPE_CONTINUE : GST_PROGRESS_TYPE_START
                   : GST_PROGRESS_TYPE_COMPLETE;
  g_autofree gchar *text = g_strdup_printf (
      "Ranking %u candidates of the initial pose: %.0f %%", n_candidates, 100 * fraction);

  self->tells_search = fraction < 1;
  gst_element_post_message (GST_ELEMENT (self),
      gst_message_new_progress (GST_OBJECT (self), type, GST_NDT_PROGRESS_SEARCH, text));
}

gboolean
gst_ndt_localize_open (GstNdtLocalize *self)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GError) reason = NULL;

  GST_OBJECT_LOCK (self);
  const GstNdtBackend choice = self->settings.backend;
  NdtBackendConfig config = self->settings.config;
  self->backend_changed = FALSE;
  GST_OBJECT_UNLOCK (self);

  gst_ndt_localize_update_log (self);
  config.log = &self->log;
  GstNdtEngine *engine = gst_ndt_engine_open (choice, &config, &reason, &error);
  if (!engine) {
    gst_ndt_backend_post_error (GST_ELEMENT (self), "Cannot open the backend", error);
    return FALSE;
  }
  if (reason)
    gst_ndt_backend_tell_reason (GST_ELEMENT (self), GST_CAT_DEFAULT, reason);

  GST_INFO_OBJECT (self, "backend %s", gst_ndt_engine_get_name (engine));
  self->tells_search = FALSE;
  gst_ndt_engine_set_progress (engine, post_search_progress, self);
  GstNdtAllocator *allocator =
      gst_ndt_engine_has_host_memory (engine) ? gst_ndt_allocator_new (engine) : NULL;
  /* A device leaves the processors to what is done before it. */
  gst_point_times_set_threads (self->sink_times, allocator ? config.n_threads : 1);
  GST_OBJECT_LOCK (self);
  self->engine = engine;
  self->allocator = allocator;
  GST_OBJECT_UNLOCK (self);
  g_object_notify (G_OBJECT (self), "active-backend");
  return TRUE;
}

void
gst_ndt_localize_close (GstNdtLocalize *self)
{
  GST_OBJECT_LOCK (self);
  GstNdtEngine *engine = g_steal_pointer (&self->engine);
  GstNdtAllocator *allocator = g_steal_pointer (&self->allocator);
  GST_OBJECT_UNLOCK (self);
  if (allocator) {
    gst_ndt_allocator_detach (allocator);
    gst_object_unref (allocator);
  }
  gst_point_times_set_threads (self->sink_times, 1);
  if (engine) {
    gst_ndt_engine_close (engine);
    g_object_notify (G_OBJECT (self), "active-backend");
  }
}

/* In what properties set. */
static gboolean
are_equal (const NdtVoxelMapParams *a, const NdtVoxelMapParams *b)
{
  return a->resolution == b->resolution && a->covariance == b->covariance;
}

/* How long the change of state waits for the map: a small one is there when the element is PAUSED,
 * and its faults are those of the change. Others are read in the background. */
#define MAP_PATIENCE (50 * G_TIME_SPAN_MILLISECOND)

static void
post_progress (GstNdtLocalize *self, GstProgressType type, const gchar *text)
{
  gst_element_post_message (GST_ELEMENT (self),
      gst_message_new_progress (GST_OBJECT (self), type, GST_NDT_PROGRESS_MAP, text));
}

void
gst_ndt_localize_map_progress (gdouble fraction, gpointer user_data)
{
  GstNdtLocalize *self = user_data;
  g_autofree gchar *text = g_strdup_printf ("Reading the map: %.0f %%", 100 * fraction);

  GST_OBJECT_LOCK (self);
  const gboolean tells = self->tells_progress && self->first_map == GST_NDT_FIRST_MAP_READING;
  GST_OBJECT_UNLOCK (self);
  if (tells)
    post_progress (self, GST_PROGRESS_TYPE_CONTINUE, text);
}

/* A text in a message: names of files may be of any bytes. */
static gchar *
say_of_map (const gchar *what, const gchar *location)
{
  g_autofree gchar *shown = location ? g_filename_display_name (location) : NULL;

  return g_strdup_printf ("%s the map \"%s\"", what, shown ? shown : "");
}

gboolean
gst_ndt_localize_take_first_map (GstNdtLocalize *self)
{
  GST_OBJECT_LOCK (self);
  GstNdtChanges *changes = &self->changes;
  g_autoptr (NdtVoxelMap) map = g_steal_pointer (&changes->map);
  g_autoptr (NdtMapTiles) tiles = g_steal_pointer (&changes->tiles);
  g_autofree gchar *location = g_steal_pointer (&changes->map_location);
  const gdouble radius = changes->radius;
  const gdouble position[2] = {changes->position[0], changes->position[1]};
  GST_OBJECT_UNLOCK (self);

  g_autoptr (GError) error = NULL;
  if (!gst_ndt_engine_set_map (self->engine, map, &error)) {
    g_autofree gchar *what = say_of_map ("Cannot use", location);
    gst_ndt_backend_post_error (GST_ELEMENT (self), what, error);
    return FALSE;
  }
  gst_ndt_localize_report_failure (self);
  gst_ndt_stats_map (self->stats, map);
  gst_ndt_localize_check_map (self, map, location);
  GST_INFO_OBJECT (self, "map \"%s\": %u voxels of %g m from %" G_GUINT64_FORMAT " points",
      location, ndt_voxel_map_get_level (map, 0)->n_voxels,
      ndt_voxel_map_get_params (map)->resolution, (guint64)ndt_voxel_map_get_n_points (map));
  gst_ndt_localize_set_tiles (self, tiles, map, radius, position);
  gst_ndt_localize_note_map (self, map, location);
  gst_ndt_localize_set_last_map (self, map, tiles);
  self->has_map = TRUE;
  return TRUE;
}

static gboolean
start_map (GstNdtLocalize *self, const gchar *location)
{
  g_autoptr (GError) error = NULL;
  g_autofree gchar *what = say_of_map ("Cannot use", location);

  if (!location || location[0] == '\0') {
    GST_ELEMENT_ERROR (self, RESOURCE, SETTINGS,
        ("No map: set the property \"map-location\" to a PCD, PLY or LAS file, or a folder of "
         "them."),
        (NULL));
    return FALSE;
  }
  gst_ndt_map_loader_request (self->loader);
  const gboolean slow =
      !gst_ndt_map_loader_wait (self->loader, g_get_monotonic_time () + MAP_PATIENCE);
  if (slow) {
    g_autofree gchar *text = say_of_map ("Reading", location);
    post_progress (self, GST_PROGRESS_TYPE_START, text);
  }

  GST_OBJECT_LOCK (self);
  const GstNdtFirstMap first_map = self->first_map;
  self->start_waits = FALSE;
  self->tells_progress = first_map == GST_NDT_FIRST_MAP_READING;
  error = g_steal_pointer (&self->start_error);
  GST_OBJECT_UNLOCK (self);
  if (first_map == GST_NDT_FIRST_MAP_READING)
    return TRUE;
  if (slow)
    post_progress (self, error ? GST_PROGRESS_TYPE_ERROR : GST_PROGRESS_TYPE_COMPLETE,
        error ? error->message : "The map is read");
  if (!error)
    return gst_ndt_localize_take_first_map (self);
  gst_ndt_backend_post_error (GST_ELEMENT (self), what, error);
  return FALSE;
}

/* With the object lock held: what the loader has read is of the map that was wanted at the start.
 * FALSE: it failed, and another has been asked for since. */
static gboolean
note_first_map (GstNdtLocalize *self, const GstNdtMapRequest *request, const GError *error)
{
  const GstNdtSettings *settings = &self->settings;

  if (error && (g_strcmp0 (settings->map_location, request->path) != 0 ||
                   !are_equal (&request->params, &settings->map_params)))
    return FALSE;
  self->first_map = error ? GST_NDT_FIRST_MAP_FAILED : GST_NDT_FIRST_MAP_READ;
  if (error && self->start_waits)
    self->start_error = g_error_copy (error);
  return TRUE;
}

/* Nobody waits for the first map in the change of state any more. */
static void
tell_first_map (GstNdtLocalize *self, const gchar *location, const GError *error)
{
  g_autofree gchar *what = say_of_map ("Cannot use", location);

  /* Progress last: who waits for it finds the error on the bus. */
  if (error)
    gst_ndt_backend_post_error (GST_ELEMENT (self), what, error);
  post_progress (self, error ? GST_PROGRESS_TYPE_ERROR : GST_PROGRESS_TYPE_COMPLETE,
      error ? error->message : "The map is read");
}

/* Properties of the backend were set in READY, where it was open already. */
static gboolean
reopen (GstNdtLocalize *self)
{
  GST_OBJECT_LOCK (self);
  const gboolean changed = self->backend_changed || !self->engine;
  GST_OBJECT_UNLOCK (self);
  if (!changed)
    return TRUE;
  gst_ndt_localize_close (self);
  return gst_ndt_localize_open (self);
}

gboolean
gst_ndt_localize_start (GstNdtLocalize *self)
{
  NdtLocalizerParams params;
  gboolean has_initial_pose;
  NdtPose initial_pose;
  g_autoptr (GError) error = NULL;

  if (!reopen (self))
    return FALSE;
  gst_ndt_stats_reset (self->stats);
  gst_pose_queue_clear (self->poses);

  GST_OBJECT_LOCK (self);
  g_autofree gchar *location = g_strdup (self->settings.map_location);
  const gboolean valid =
      gst_ndt_settings_resolve (&self->settings, &params, &has_initial_pose, &initial_pose, &error);
  gst_ndt_changes_clear (&self->changes);
  self->is_live = FALSE;
  self->pipeline_latency = 0;
  self->running = TRUE;
  self->map_radius = self->settings.map_radius;
  memset (self->position, 0, sizeof self->position);
  if (valid && has_initial_pose)
    memcpy (self->position, initial_pose.position, sizeof self->position);
  self->first_map = GST_NDT_FIRST_MAP_READING;
  self->start_waits = TRUE;
  self->tells_progress = FALSE;
  GST_OBJECT_UNLOCK (self);

  gst_ndt_engine_reset (self->engine);
  if (!valid || !gst_ndt_engine_set_params (self->engine, &params, &error)) {
    gst_ndt_backend_post_error (GST_ELEMENT (self), "A property cannot be used", error);
    gst_ndt_localize_stop (self);
    return FALSE;
  }
  self->params = params;
  if (has_initial_pose)
    gst_ndt_engine_set_initial_pose (self->engine, &initial_pose);
  gst_segment_init (&self->sink_segment, GST_FORMAT_UNDEFINED);
  self->last_pts = GST_CLOCK_TIME_NONE;
  if (!gst_ndt_localize_begin_last_pose (self, !has_initial_pose) || !start_map (self, location)) {
    gst_ndt_localize_stop (self);
    return FALSE;
  }
  return TRUE;
}

void
gst_ndt_localize_stop (GstNdtLocalize *self)
{
  GST_OBJECT_LOCK (self);
  self->running = FALSE;
  GST_OBJECT_UNLOCK (self);

  gst_ndt_map_loader_stop (self->loader);
  gst_ndt_localize_end_last_pose (self);
  GST_OBJECT_LOCK (self);
  const gboolean cancelled = self->tells_progress && self->first_map == GST_NDT_FIRST_MAP_READING;
  self->first_map = GST_NDT_FIRST_MAP_NONE;
  self->tells_progress = FALSE;
  g_clear_error (&self->start_error);
  GST_OBJECT_UNLOCK (self);
  if (cancelled)
    post_progress (self, GST_PROGRESS_TYPE_CANCELED, "Reading the map was cancelled");
  gst_ndt_localize_clear_tiles (self);
  g_clear_pointer (&self->digest, gst_ndt_digest_free);

  GST_OBJECT_LOCK (self);
  gst_ndt_changes_clear (&self->changes);
  GST_OBJECT_UNLOCK (self);
}

void
gst_ndt_localize_post_latency (GstNdtLocalize *self)
{
  GST_OBJECT_LOCK (self);
  const gboolean running = self->running;
  GST_OBJECT_UNLOCK (self);
  if (running)
    gst_element_post_message (GST_ELEMENT (self), gst_message_new_latency (GST_OBJECT (self)));
}

/* With the object lock held: sets a property, or refuses to. */
static GstNdtChange
change_setting (GstNdtLocalize *self, guint id, const GValue *value, GError **error)
{
  NdtLocalizerParams params;
  gboolean has_initial_pose;
  NdtPose initial_pose;
  GValue before = G_VALUE_INIT;
  GstNdtChange change, ignored;

  g_value_init (&before, G_VALUE_TYPE (value));
  gst_ndt_settings_get_property (&self->settings, id, &before);
  gst_ndt_settings_set_property (&self->settings, id, value, &change);
  if (self->running && (change & (GST_NDT_CHANGE_PARAMS | GST_NDT_CHANGE_INITIAL_POSE)) &&
      !gst_ndt_settings_resolve (
          &self->settings, &params, &has_initial_pose, &initial_pose, error)) {
    gst_ndt_settings_set_property (&self->settings, id, &before, &ignored);
    change = GST_NDT_CHANGE_NONE;
  }
  if (self->running && (change & (GST_NDT_CHANGE_PARAMS | GST_NDT_CHANGE_SCANS)))
    self->changes.settings |= G_GUINT64_CONSTANT (1) << id;
  if (self->running && (change & GST_NDT_CHANGE_INITIAL_POSE)) {
    self->changes.has_initial_pose = has_initial_pose;
    self->changes.initial_pose = initial_pose;
  }
  if (change & GST_NDT_CHANGE_BACKEND)
    self->backend_changed = TRUE;
  g_value_unset (&before);
  return change;
}

gboolean
gst_ndt_localize_set_setting (
    GstNdtLocalize *self, guint id, const GValue *value, GParamSpec *pspec)
{
  g_autoptr (GError) error = NULL;

  if (id >= GST_NDT_PROP_ELEMENT)
    return FALSE;
  GST_OBJECT_LOCK (self);
  const GstNdtChange change = change_setting (self, id, value, &error);
  const guint batch_size = self->settings.batch_size;
  const GstClockTime batch_timeout = self->settings.batch_timeout;
  const gboolean running = self->running;
  GST_OBJECT_UNLOCK (self);

  if (error)
    GST_ELEMENT_WARNING (self, RESOURCE, SETTINGS,
        ("The property %s stays as it was: %s.", pspec->name, error->message), (NULL));
  if (change & GST_NDT_CHANGE_QUEUE) {
    gst_ndt_fifo_set_limits (self->fifo, batch_size, batch_timeout);
    gst_ndt_localize_post_latency (self);
  }
  if (running && (change & GST_NDT_CHANGE_MAP))
    gst_ndt_map_loader_request (self->loader);
  return TRUE;
}

gboolean
gst_ndt_localize_wants_map (GstNdtMapRequest *request, gpointer user_data)
{
  GstNdtLocalize *self = user_data;

  GST_OBJECT_LOCK (self);
  const gboolean running = self->running;
  request->path = g_strdup (self->settings.map_location ? self->settings.map_location : "");
  request->params = self->settings.map_params;
  request->radius = self->map_radius;
  /* Where the next scan will be looked for. */
  memcpy (request->position,
      self->changes.has_initial_pose ? self->changes.initial_pose.position : self->position,
      sizeof request->position);
  request->is_searched = !self->map && request->radius == 0 && self->settings.params.search_map &&
                         !self->settings.initial_pose && !self->settings.pose_file;
  GST_OBJECT_UNLOCK (self);
  return running;
}

/* A map could not be read: its properties are again what is in use, unless they were set since,
 * which was a request of its own. Where the file is given back and others were changed as well,
 * those are tried with the map in use. */
static void
refuse_map (GstNdtLocalize *self, const gchar *path, const NdtVoxelMapParams *params)
{
  GstNdtSettings *settings = &self->settings;
  gboolean map_is_back = FALSE, params_are_back = FALSE;

  GST_OBJECT_LOCK (self);
  if (g_strcmp0 (settings->map_location ? settings->map_location : "", path) == 0) {
    if (g_strcmp0 (path, self->map) != 0) {
      g_free (settings->map_location);
      settings->map_location = g_strdup (self->map);
      map_is_back = TRUE;
    } else if (are_equal (params, &settings->map_params)) {
      settings->map_params = self->map_params;
      params_are_back = TRUE;
    }
  }
  const gboolean again = map_is_back && !are_equal (&settings->map_params, &self->map_params);
  GST_OBJECT_UNLOCK (self);
  if (map_is_back)
    g_object_notify (G_OBJECT (self), "map-location");
  if (params_are_back) {
    g_object_notify (G_OBJECT (self), "resolution");
    g_object_notify (G_OBJECT (self), "covariance-estimate");
  }
  if (again)
    gst_ndt_map_loader_request (self->loader);
}

void
gst_ndt_localize_map_loaded (const GstNdtMapRequest *request, NdtVoxelMap *map, NdtMapTiles *tiles,
    const GError *error, gpointer user_data)
{
  GstNdtLocalize *self = user_data;
  const gchar *path = request->path;

  GST_OBJECT_LOCK (self);
  const gboolean first = self->first_map == GST_NDT_FIRST_MAP_READING;
  const gboolean noted = first && !map && note_first_map (self, request, error);
  gboolean tells = noted && self->tells_progress;
  GST_OBJECT_UNLOCK (self);
  if (!map && first) {
    if (tells)
      tell_first_map (self, path, error);
    return;
  }
  if (!map) {
    refuse_map (self, path, &request->params);
    g_autofree gchar *shown = g_filename_display_name (path);
    GST_ELEMENT_WARNING (self, RESOURCE, OPEN_READ,
        ("Cannot use the map \"%s\", going on with the one before: %s.", shown, error->message),
        (NULL));
    return;
  }
  GST_OBJECT_LOCK (self);
  NdtVoxelMap *superseded = self->changes.map;
  NdtMapTiles *superseded_tiles = self->changes.tiles;
  self->changes.map = map;
  self->changes.tiles = tiles;
  self->changes.radius = request->radius;
  memcpy (self->changes.position, request->position, sizeof self->changes.position);
  g_free (self->changes.map_location);
  self->changes.map_location = g_strdup (path);
  g_free (self->map);
  self->map = g_strdup (path);
  self->map_params = request->params;
  if (first)
    note_first_map (self, request, NULL);
  tells = first && self->tells_progress;
  GST_OBJECT_UNLOCK (self);
  if (tells)
    tell_first_map (self, path, NULL);
  g_clear_pointer (&superseded, ndt_voxel_map_unref);
  g_clear_pointer (&superseded_tiles, ndt_map_tiles_unref);
}

/* FALSE: no scan would start there, since the element does not run. */
static gboolean
change_pose (GstNdtLocalize *self, const NdtPose *pose)
{
  GST_OBJECT_LOCK (self);
  const gboolean running = self->running;
  if (running) {
    self->changes.has_initial_pose = TRUE;
    self->changes.initial_pose = *pose;
  }
  GST_OBJECT_UNLOCK (self);
  return running;
}

gboolean
gst_ndt_localize_set_initial_pose (GstNdtLocalize *self, const gchar *text)
{
  NdtPose pose;
  g_autoptr (GError) error = NULL;

  if (!text || !ndt_pose_parse (text, &pose, &error)) {
    GST_WARNING_OBJECT (self, "set-initial-pose: %s", error ? error->message : "no pose was given");
    return FALSE;
  }
  if (change_pose (self, &pose))
    return TRUE;
  GST_WARNING_OBJECT (
      self, "set-initial-pose does nothing before PAUSED: use the property initial-pose");
  return FALSE;
}

gboolean
gst_ndt_localize_request_pose (GstNdtLocalize *self, GstEvent *event)
{
  NdtPose pose = {.orientation = {0, 0, 0, 1}};
  guint64 id;
  gdouble yaw;

  if (!gst_pose_request_event_parse (event, &id, pose.position, &yaw))
    return FALSE;
  pose.orientation[2] = sin (yaw / 2);
  pose.orientation[3] = cos (yaw / 2);
  const gboolean accepted = change_pose (self, &pose);
  GST_DEBUG_OBJECT (self,
      "pose request %" G_GUINT64_FORMAT ": %.2f, %.2f, %.2f m, %.1f degrees: %s", id,
      pose.position[0], pose.position[1], pose.position[2], yaw * 180 / G_PI,
      accepted ? "the next scan starts there" : "refused, not running");
  gst_pad_push_event (self->srcpad, gst_pose_request_reply_event_new (id, accepted,
                                        accepted ? NULL : "the localizer does not run"));
  return TRUE;
}

/* With the object lock held: the next scan starts from the property initial-pose, if any. */
static void
set_property_pose (GstNdtLocalize *self)
{
  g_autoptr (GError) error = NULL;
  NdtLocalizerParams params;
  gboolean has_initial_pose = FALSE;
  NdtPose initial_pose;

  self->changes.has_initial_pose = gst_ndt_settings_resolve (&self->settings, &params,
                                       &has_initial_pose, &initial_pose, &error) &&
                                   has_initial_pose;
  if (self->changes.has_initial_pose)
    self->changes.initial_pose = initial_pose;
}

void
gst_ndt_localize_reset (GstNdtLocalize *self)
{
  GST_OBJECT_LOCK (self);
  if (self->running) {
    self->changes.reset = TRUE;
    set_property_pose (self);
  }
  GST_OBJECT_UNLOCK (self);
}

void
gst_ndt_localize_restart (GstNdtLocalize *self, GstNdtPlace place)
{
  GST_OBJECT_LOCK (self);
  if (self->running) {
    self->changes.reset = TRUE;
    /* A pose that was set since is of this scan. */
    if (place == GST_NDT_PLACE_BEGINNING && !self->changes.has_initial_pose)
      set_property_pose (self);
  }
  GST_OBJECT_UNLOCK (self);
}
