/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <glib-unix.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ndt-replay.h"

typedef struct {
  NdtReplayRun *run;
  GMainLoop *loop;
  GstElement *pipeline;
  GstElement *localize;
  GPtrArray *scans; /* paths of a folder's files, or NULL … */
  guint next_scan;  /* … and the one that is read next, in the source's thread */
  GError *error;    /* under the lock of GLib's main context: handlers of the loop set it */
  GMutex lock;
  GError *read_error; /* under the lock: of the source's thread */
  gboolean is_terminal;
  gboolean has_bar;
} Replay;

void
ndt_replay_run_clear (NdtReplayRun *self)
{
  g_clear_pointer (&self->scans, g_array_unref);
  g_clear_pointer (&self->backend, g_free);
  g_clear_pointer (&self->warning, g_free);
  gst_clear_structure (&self->summary);
}

/* As it stands between the quotes of a launch line. */
static gchar *
quote (const gchar *text)
{
  GString *quoted = g_string_new ("\"");

  for (; *text; text++) {
    if (*text == '"' || *text == '\\')
      g_string_append_c (quoted, '\\');
    g_string_append_c (quoted, *text);
  }
  g_string_append_c (quoted, '"');
  return g_string_free (quoted, FALSE);
}

static void
append_property (GString *launch, const gchar *name, const gchar *value)
{
  g_autofree gchar *quoted = quote (value);

  g_string_append_printf (launch, " %s=%s", name, quoted);
}

static gchar *
describe (const NdtReplayOptions *options, NdtReplayKind kind, const NdtReplayStart *start)
{
  GString *launch = g_string_new (NULL);

  switch (kind) {
  case NDT_REPLAY_BAG:
    g_string_append (launch, "rosbagsrc name=source ! pointcloud/x-raw");
    break;
  case NDT_REPLAY_CAPTURE:
    g_string_append_printf (launch, "lidarpcapsrc name=source ! %s", options->decoder);
    break;
  case NDT_REPLAY_FOLDER:
    g_string_append (launch, "appsrc name=source ! pcddec name=decoder");
    break;
  }
  g_string_append (launch, " ! ndtlocalize name=localize");
  append_property (launch, "map-location", options->map);
  if (start->pose)
    append_property (launch, "initial-pose", start->pose);
  if (start->uncertainty)
    append_property (launch, "initial-pose-uncertainty", start->uncertainty);
  for (guint i = 0; options->properties[i]; i++) {
    const gchar *equals = strchr (options->properties[i], '=');
    g_autofree gchar *name =
        g_strndup (options->properties[i], (gsize)(equals - options->properties[i]));
    append_property (launch, name, equals + 1);
  }
  /* Behind the localizer, which takes what comes at the clock's pace for a live stream and does not
   * wait for its map. */
  if (options->realtime)
    g_string_append (launch, " ! clocksync");
  g_string_append (launch, " ! tee name=localized"
                           " localized. ! queue ! trajectorysink name=tum"
                           " localized. ! queue ! trajectorysink name=csv format=csv");
  g_string_append_printf (launch, " localized. ! queue ! recorder.%s_0 mcapsink name=recorder",
      kind == NDT_REPLAY_BAG ? "pose" : "cloud");
  return g_string_free (launch, FALSE);
}

static void
set_location (GstElement *pipeline, const gchar *element, const gchar *property,
    const gchar *folder, const gchar *name)
{
  g_autoptr (GstElement) found = gst_bin_get_by_name (GST_BIN (pipeline), element);
  g_autofree gchar *path = folder ? g_build_filename (folder, name, NULL) : g_strdup (name);

  g_object_set (found, property, path, NULL);
}

/* Of a bag the estimates alone are recorded: all others are in it. */
static GstPadProbeReturn
keep_estimates (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  GstBuffer *buffer = gst_buffer_make_writable (GST_PAD_PROBE_INFO_BUFFER (info));
  GstPoseMeta *meta;

  for (gint role = GST_POSE_ROLE_PRIOR; role <= GST_POSE_ROLE_GROUND_TRUTH; role++)
    while ((meta = gst_buffer_get_pose_meta (buffer, (GstPoseRole)role)))
      gst_buffer_remove_meta (buffer, &meta->meta);
  GST_PAD_PROBE_INFO_DATA (info) = buffer;
  return GST_PAD_PROBE_OK;
}

/* mcapsink: whatever the time and the load, the same bytes. Chunks end by their size: by a duration
 * they would end when the clock says so as well. */
static void
set_recorder (GstElement *pipeline, const NdtReplayOptions *options, NdtReplayKind kind,
    const gchar *recorded)
{
  g_autoptr (GstElement) recorder = gst_bin_get_by_name (GST_BIN (pipeline), "recorder");
  g_autoptr (GstPad) pad =
      gst_element_get_static_pad (recorder, kind == NDT_REPLAY_BAG ? "pose_0" : "cloud_0");
  g_autofree gchar *pose = g_strconcat (options->prefix, "/pose", NULL);
  g_autofree gchar *odometry = g_strconcat (options->prefix, "/odom", NULL);
  g_autofree gchar *tf = g_strconcat (options->prefix, "/tf", NULL);
  g_autofree gchar *diagnostics = g_strconcat (options->prefix, "/diagnostics", NULL);

  /* It takes a pattern of names. */
  g_auto (GStrv) parts = g_strsplit (recorded, "%", -1);
  g_autofree gchar *location = g_strjoinv ("%%", parts);

  g_object_set (recorder, "location", location, "overwrite", TRUE, "attach-pipeline", FALSE,
      "chunk-duration", (guint64)0, "tf-topic", tf, "diagnostics-topic", diagnostics, NULL);
  gst_util_set_object_arg (G_OBJECT (recorder), "log-time", "pts");
  if (kind == NDT_REPLAY_BAG) {
    g_object_set (pad, "topic", pose, "odometry-topic", odometry, NULL);
    gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, keep_estimates, NULL, NULL);
  } else {
    g_object_set (pad, "pose-topic", pose, "odometry-topic", odometry, NULL);
  }
}

/* A folder's files, one a buffer. */
static void
need_data (GstElement *source, guint length, Replay *replay)
{
  GstFlowReturn flow;
  gsize size;
  gchar *bytes;
  GError *error = NULL;

  if (replay->next_scan < replay->scans->len &&
      g_file_get_contents (replay->scans->pdata[replay->next_scan], &bytes, &size, &error)) {
    replay->next_scan++;
    g_autoptr (GstBuffer) buffer = gst_buffer_new_wrapped (bytes, size);
    g_signal_emit_by_name (source, "push-buffer", buffer, &flow);
    return;
  }
  if (error) {
    g_mutex_lock (&replay->lock);
    if (!replay->read_error)
      replay->read_error = g_steal_pointer (&error);
    g_mutex_unlock (&replay->lock);
    g_clear_error (&error);
  }
  g_signal_emit_by_name (source, "end-of-stream", &flow);
}

static GstPadProbeReturn
take_scan (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  NdtReplayRun *run = user_data;
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  const GstPoseMeta *meta = gst_buffer_get_pose_meta (buffer, GST_POSE_ROLE_ESTIMATE);
  NdtReplayScan scan = {.time = GST_BUFFER_PTS (buffer), .status = GST_POSE_STATUS_LOST};

  if (meta) {
    if (GST_CLOCK_TIME_IS_VALID (meta->timestamp))
      scan.time = meta->timestamp;
    scan.status = meta->status;
    scan.has_pose = meta->has_pose;
    memcpy (scan.position, meta->position, sizeof scan.position);
    scan.transformation_probability = meta->transformation_probability;
    scan.nvtl = meta->nvtl;
    scan.matched_ratio = meta->matched_ratio;
  }
  g_array_append_val (run->scans, scan);
  return GST_PAD_PROBE_OK;
}

/* Which of the results an error of the pipeline is. */
static NdtReplayResult
classify (const Replay *replay, const GstMessage *message, const GError *error)
{
  const gboolean is_localizer = GST_MESSAGE_SRC (message) == GST_OBJECT (replay->localize);

  if (error->domain == GST_RESOURCE_ERROR)
    switch (error->code) {
    case GST_RESOURCE_ERROR_NOT_FOUND:
    case GST_RESOURCE_ERROR_OPEN_READ:
    case GST_RESOURCE_ERROR_READ:
      return is_localizer ? NDT_REPLAY_NO_MAP : NDT_REPLAY_BAD_INPUT;
    case GST_RESOURCE_ERROR_SETTINGS:
      return NDT_REPLAY_USAGE;
    default:
      return NDT_REPLAY_ENVIRONMENT;
    }
  if (error->domain == GST_STREAM_ERROR)
    return NDT_REPLAY_BAD_INPUT;
  return NDT_REPLAY_ENVIRONMENT;
}

static void
end_bar (Replay *replay)
{
  if (replay->has_bar)
    fputs ("\r\033[K", stderr);
  replay->has_bar = FALSE;
}

/* rosbagsrc's "12.5 %, 30.1 of 60.2 s". */
static void
draw_bar (Replay *replay, const gchar *text)
{
  gdouble percent;

  if (!replay->is_terminal || sscanf (text, "%lf", &percent) != 1)
    return;
  const gint n = (gint)CLAMP (percent * 0.4, 0, 40);
  fprintf (stderr, "\r[%.*s%*s] %s\033[K", n, "########################################", 40 - n,
      "", text);
  replay->has_bar = TRUE;
}

static gboolean
on_message (GstBus *bus, GstMessage *message, gpointer user_data)
{
  Replay *replay = user_data;
  g_autoptr (GError) error = NULL;

  switch (GST_MESSAGE_TYPE (message)) {
  case GST_MESSAGE_EOS:
    g_main_loop_quit (replay->loop);
    break;
  case GST_MESSAGE_ERROR:
    gst_message_parse_error (message, &error, NULL);
    if (!replay->error)
      replay->error = g_error_new_literal (
          NDT_REPLAY_ERROR, (gint)classify (replay, message, error), error->message);
    g_main_loop_quit (replay->loop);
    break;
  case GST_MESSAGE_WARNING:
    gst_message_parse_warning (message, &error, NULL);
    end_bar (replay);
    fprintf (stderr, "ndt-replay: warning: %s\n", error->message);
    if (replay->run->n_warnings++ == 0)
      replay->run->warning = g_strdup (error->message);
    break;
  case GST_MESSAGE_ELEMENT:
    if (gst_message_has_name (message, "ndt-summary")) {
      gst_clear_structure (&replay->run->summary);
      replay->run->summary = gst_structure_copy (gst_message_get_structure (message));
    }
    break;
  case GST_MESSAGE_PROGRESS: {
    g_autofree gchar *text = NULL;
    gst_message_parse_progress (message, NULL, NULL, &text);
    draw_bar (replay, text);
    break;
  }
  default:
    break;
  }
  return G_SOURCE_CONTINUE;
}

static gboolean
on_signal (gpointer user_data)
{
  Replay *replay = user_data;

  if (replay->run->interrupted) { /* the second time: at once */
    g_main_loop_quit (replay->loop);
  } else {
    replay->run->interrupted = TRUE;
    gst_element_send_event (replay->pipeline, gst_event_new_eos ());
  }
  return G_SOURCE_CONTINUE;
}

static void
loop (Replay *replay)
{
  g_autoptr (GstBus) bus = gst_element_get_bus (replay->pipeline);
  const guint interrupt = g_unix_signal_add (SIGINT, on_signal, replay);
  const guint terminate = g_unix_signal_add (SIGTERM, on_signal, replay);

  gst_bus_add_watch (bus, on_message, replay);
  gst_element_set_state (replay->pipeline, GST_STATE_PLAYING);
  g_main_loop_run (replay->loop);
  g_object_get (replay->localize, "active-backend", &replay->run->backend, NULL);
  gst_element_set_state (replay->pipeline, GST_STATE_NULL);
  gst_bus_remove_watch (bus);
  g_source_remove (interrupt);
  g_source_remove (terminate);
  end_bar (replay);
}

/* Results of its kind are told from the input's: what gst_parse_launch() refuses is wrong usage, or
 * an element that is not installed. */
static GstElement *
build (const gchar *launch, GError **error)
{
  g_autoptr (GError) failure = NULL;
  GstElement *pipeline =
      gst_parse_launch_full (launch, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &failure);

  if (pipeline && !failure)
    return pipeline;
  gst_clear_object (&pipeline);
  g_set_error_literal (error, NDT_REPLAY_ERROR,
      g_error_matches (failure, GST_PARSE_ERROR, GST_PARSE_ERROR_NO_SUCH_ELEMENT)
          ? NDT_REPLAY_ENVIRONMENT
          : NDT_REPLAY_USAGE,
      failure ? failure->message : "the pipeline cannot be built");
  return NULL;
}

gboolean
ndt_replay_run (NdtReplayRun *self, const NdtReplayOptions *options, NdtReplayKind kind,
    const NdtReplayStart *start, const gchar *recorded, GError **error)
{
  g_autofree gchar *launch = describe (options, kind, start);
  g_autoptr (GstElement) pipeline = build (launch, error);
  g_autoptr (GPtrArray) scans = NULL;

  self->scans = g_array_new (FALSE, FALSE, sizeof (NdtReplayScan));
  if (!pipeline)
    return FALSE;
  g_autoptr (GstElement) localize = gst_bin_get_by_name (GST_BIN (pipeline), "localize");
  g_autoptr (GstElement) source = gst_bin_get_by_name (GST_BIN (pipeline), "source");
  g_autoptr (GstPad) pad = gst_element_get_static_pad (localize, "src");
  g_autoptr (GMainLoop) main_loop = g_main_loop_new (NULL, FALSE);
  Replay replay = {self, main_loop, pipeline, localize, NULL, 0};

  g_mutex_init (&replay.lock);
  replay.is_terminal = isatty (STDERR_FILENO);
  if (kind == NDT_REPLAY_FOLDER) {
    g_autoptr (GstElement) decoder = gst_bin_get_by_name (GST_BIN (pipeline), "decoder");
    gint n, d;
    scans = ndt_replay_list_scans (options->recording, error);
    if (!scans)
      return FALSE;
    replay.scans = scans;
    gst_util_double_to_fraction (options->rate, &n, &d);
    g_object_set (decoder, "framerate", n, d, NULL);
    g_signal_connect (source, "need-data", G_CALLBACK (need_data), &replay);
  } else {
    set_location (pipeline, "source", "location", NULL, options->recording);
  }
  if (kind == NDT_REPLAY_BAG && options->cache)
    g_object_set (source, "cache-folder", options->cache, NULL);
  if (kind == NDT_REPLAY_BAG && options->topic) {
    g_auto (GValue) topics = G_VALUE_INIT, topic = G_VALUE_INIT;
    g_value_init (&topics, GST_TYPE_ARRAY);
    g_value_init (&topic, G_TYPE_STRING);
    g_value_set_string (&topic, options->topic);
    gst_value_array_append_value (&topics, &topic);
    g_object_set_property (G_OBJECT (source), "topics", &topics);
  }
  set_location (pipeline, "tum", "location", options->folder, "trajectory.txt");
  set_location (pipeline, "csv", "location", options->folder, "trajectory.csv");
  if (options->reference) {
    set_location (pipeline, "csv", "reference-location", NULL, options->reference);
    g_autoptr (GstElement) csv = gst_bin_get_by_name (GST_BIN (pipeline), "csv");
    gst_util_set_object_arg (G_OBJECT (csv), "reference-match", "time");
  }
  set_recorder (pipeline, options, kind, recorded);
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, take_scan, self, NULL);

  loop (&replay);
  g_mutex_clear (&replay.lock);
  if (replay.read_error)
    g_set_error_literal (error, NDT_REPLAY_ERROR, NDT_REPLAY_BAD_INPUT, replay.read_error->message);
  else if (replay.error)
    g_propagate_error (error, g_steal_pointer (&replay.error));
  const gboolean ok = !replay.read_error && (!error || !*error);
  g_clear_error (&replay.read_error);
  g_clear_error (&replay.error);
  return ok;
}

guint64
ndt_replay_get_count (const NdtReplayRun *run, const gchar *name)
{
  guint64 n = 0;

  if (run->summary)
    gst_structure_get_uint64 (run->summary, name, &n);
  return n;
}

static gboolean
is_lost_at_end (const NdtReplayRun *run)
{
  const GstPoseStatus last = g_array_index (run->scans, NdtReplayScan, run->scans->len - 1).status;

  return last == GST_POSE_STATUS_LOST || last == GST_POSE_STATUS_INITIALIZING;
}

gboolean
ndt_replay_judge (const NdtReplayRun *run, const gchar **problem)
{
  const guint64 n_scans = ndt_replay_get_count (run, "scans");
  gboolean is_lost = TRUE;

  *problem = NULL;
  if (run->summary)
    gst_structure_get_boolean (run->summary, "is-lost", &is_lost);
  if (n_scans == 0 || run->scans->len == 0)
    *problem = "no scan came";
  else if (is_lost)
    *problem = is_lost_at_end (run) ? "the drive is lost at its end"
                                    : "less than half of the scans were tracked";
  return *problem == NULL;
}
