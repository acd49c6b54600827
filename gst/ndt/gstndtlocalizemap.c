/* SPDX-License-Identifier: MIT */
#include "gstndtlocalizemap.h"

#include <math.h>
#include <string.h>

#include "gstndtlocalizecontrol.h"
#include "gstndtlocalizelast.h"
#include "gstndtlocalizereport.h"
#include "ndtcore/cloudfile/ndt-map-image.h"

#define GST_CAT_DEFAULT gst_ndt_localize_debug

/* What is in memory follows the vehicle when it has gone this fraction of the radius, so that one
 * that stands at the border of a tile does not load it for ever … */
#define MOVE_FRACTION 0.125
/* … and takes effect so many scans after the one that showed it: the tiles that a scan is aligned
 * with depend on scans and poses, not on how fast they are read. Nor are more aligned at a time. */
#define MOVE_SCANS 10
/* A scan that is looked for farther away than this fraction has to wait for the tiles there. */
#define JUMP_FRACTION 0.5
/* A map is sparse where less than this share of its points lie in voxels. A scan sees more of flat
 * surfaces, whose cells have the fewest points, than the whole map has, and fits by less than is
 * expected of the share. */
#define SPARSE_SHARE 0.9

static gdouble
get_distance (const gdouble a[2], const gdouble b[2])
{
  return hypot (a[0] - b[0], a[1] - b[1]);
}

/* An .ndtmap is of one resolution. */
static gchar *
say_resolution (const gchar *location, gdouble resolution)
{
  if (ndt_map_image_is_image (location))
    return g_strdup_printf ("make the .ndtmap by ndt-map convert --resolution %g and set "
                            "resolution=%g with it",
        resolution, resolution);
  return g_strdup_printf ("set resolution=%g", resolution);
}

void
gst_ndt_localize_check_map (GstNdtLocalize *self, const NdtVoxelMap *map, const gchar *location)
{
  const NdtVoxelMapParams *params = ndt_voxel_map_get_params (map);
  const guint64 n = ndt_voxel_map_get_n_points (map);
  const guint64 n_used = ndt_voxel_map_get_level (map, 0)->n_points;

  g_clear_pointer (&self->sparse_map, g_free);
  if (n_used == 0 || (gdouble)n_used >= SPARSE_SHARE * (gdouble)n)
    return;
  g_autofree gchar *advice = say_resolution (location, 2 * params->resolution);
  self->sparse_map = g_strdup_printf ("the map is sparse for cells of %g m, %.0f %% of its points "
                                      "lie in cells with fewer than %u and are left out: %s, or "
                                      "use a map with more points",
      params->resolution, 100 - 100 * (gdouble)n_used / (gdouble)n, params->min_points, advice);
  GST_INFO_OBJECT (self, "%s", self->sparse_map);
}

/* The map that the next scan is aligned with. FALSE where it is the one before, with a warning. */
static gboolean
change_map (GstNdtLocalize *self, NdtVoxelMap *map, const gchar *location)
{
  g_autoptr (GError) error = NULL;
  if (!gst_ndt_engine_set_map (self->engine, map, &error)) {
    g_autofree gchar *shown = g_filename_display_name (location);
    GST_ELEMENT_WARNING (self, RESOURCE, FAILED,
        ("Cannot use the map \"%s\", going on with the one before: %s.", shown, error->message),
        (NULL));
    return FALSE;
  }
  gst_ndt_localize_report_failure (self);
  gst_ndt_stats_map (self->stats, map);
  gst_ndt_localize_check_map (self, map, location);
  return TRUE;
}

/* Says so, with the scan that it is used from. */
static void
post_map (GstNdtLocalize *self, const NdtVoxelMap *map, const gchar *location, guint64 scan)
{
  GstStructure *structure = gst_structure_new ("ndt-map", "location", G_TYPE_STRING, location,
      "resolution", G_TYPE_DOUBLE, ndt_voxel_map_get_params (map)->resolution, "voxels",
      G_TYPE_UINT, ndt_voxel_map_get_level (map, 0)->n_voxels, "points", G_TYPE_UINT64,
      ndt_voxel_map_get_n_points (map), NULL);
  if (self->tiles.tiles)
    gst_structure_set (structure, "tiles", G_TYPE_UINT, self->tiles.counts.n_used, NULL);
  gst_ndt_localize_post_change (self, scan, structure);
}

static void
count_tiles (GstNdtLocalize *self, const NdtMapTilesCounts *counts)
{
  gst_ndt_stats_tiles (self->stats, &self->tiles.counts, counts);
  self->tiles.counts = *counts;
}

void
gst_ndt_localize_clear_tiles (GstNdtLocalize *self)
{
  gst_ndt_map_loader_forget_move (self->loader);
  g_clear_pointer (&self->tiles.tiles, ndt_map_tiles_unref);
  g_clear_pointer (&self->tiles.map, ndt_voxel_map_unref);
  memset (&self->tiles, 0, sizeof self->tiles);
}

void
gst_ndt_localize_set_tiles (GstNdtLocalize *self, NdtMapTiles *tiles, NdtVoxelMap *map,
    gdouble radius, const gdouble position[2])
{
  NdtMapTilesCounts counts = self->tiles.counts;

  counts.n_dropped += counts.n_used;
  counts.n_used = 0;
  counts.bytes = 0;
  count_tiles (self, &counts);
  gst_ndt_localize_clear_tiles (self);
  if (!tiles)
    return;
  self->tiles.tiles = ndt_map_tiles_ref (tiles);
  self->tiles.map = ndt_voxel_map_ref (map);
  self->tiles.radius = radius;
  memcpy (self->tiles.center, position, sizeof self->tiles.center);
  ndt_map_tiles_get_counts (tiles, &counts);
  count_tiles (self, &counts);
}

void
gst_ndt_localize_note_map (GstNdtLocalize *self, const NdtVoxelMap *map, const gchar *location)
{
  self->used_resolution = ndt_voxel_map_get_params (map)->resolution;
  g_free (self->used_map);
  self->used_map = g_strdup (location);
  self->has_told_map = self->has_told_digest = FALSE;
  g_clear_pointer (&self->digest, gst_ndt_digest_free);
  /* Of tiles a small part is read. */
  if (!self->tiles.tiles)
    self->digest = gst_ndt_digest_new (location);
}

void
gst_ndt_localize_tell_map (GstNdtLocalize *self)
{
  const gchar *sha256 = self->digest ? gst_ndt_digest_get (self->digest) : NULL;

  if (!self->has_map || (self->has_told_map && (self->has_told_digest || !sha256)))
    return;
  GstStructure *structure = gst_structure_new ("ndt-map", "location", G_TYPE_STRING, self->used_map,
      "resolution", G_TYPE_DOUBLE, self->used_resolution, NULL);
  if (sha256)
    gst_structure_set (structure, "sha256", G_TYPE_STRING, sha256, NULL);
  self->has_told_map = gst_pad_push_event (
      self->srcpad, gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM_STICKY, structure));
  self->has_told_digest = self->has_told_map && sha256;
}

/* Whether scans come from a live source, which waits for nobody. */
static gboolean
is_live (GstNdtLocalize *self)
{
  GstQuery *query = gst_query_new_latency ();
  gst_ndt_localize_query_upstream (self, query);
  gst_query_unref (query);
  GST_OBJECT_LOCK (self);
  const gboolean live = self->is_live;
  GST_OBJECT_UNLOCK (self);
  return live;
}

gboolean
gst_ndt_localize_wait_for_map (GstNdtLocalize *self, GstFlowReturn *flow)
{
  *flow = GST_FLOW_OK;
  while (!self->has_map) {
    GST_OBJECT_LOCK (self);
    const GstNdtFirstMap first_map = self->first_map;
    GST_OBJECT_UNLOCK (self);
    if (first_map == GST_NDT_FIRST_MAP_READING) {
      if (is_live (self))
        return FALSE;
      if (!gst_ndt_map_loader_wait (self->loader, -1)) {
        *flow = GST_FLOW_FLUSHING;
        return FALSE;
      }
    } else if (first_map != GST_NDT_FIRST_MAP_READ || !gst_ndt_localize_take_first_map (self)) {
      *flow = GST_FLOW_ERROR;
      return FALSE;
    }
  }
  return TRUE;
}

void
gst_ndt_localize_change_map (GstNdtLocalize *self, const GstNdtChanges *changes)
{
  if (!change_map (self, changes->map, changes->map_location))
    return;
  gst_ndt_engine_forget_map (self->engine);
  gst_ndt_localize_set_tiles (
      self, changes->tiles, changes->map, changes->radius, changes->position);
  post_map (self, changes->map, changes->map_location, self->sequence);
  gst_ndt_localize_note_map (self, changes->map, changes->map_location);
  gst_ndt_localize_set_last_map (self, changes->map, changes->tiles);
}

/* Each warning once, until it is over. */
static void
warn (GstNdtLocalize *self, const GstNdtMapMoved *moved)
{
  GstNdtTiles *tiles = &self->tiles;
  if (moved->failure && !tiles->has_failed)
    GST_ELEMENT_WARNING (self, RESOURCE, READ,
        ("A tile of the map cannot be read, going on without it: %s.", moved->failure->message),
        (NULL));
  if (moved->counts.is_outside && !tiles->counts.is_outside)
    GST_ELEMENT_WARNING (self, RESOURCE, NOT_FOUND,
        ("No tile of the map lies within %g m of (%.1f, %.1f), going on with the nearest.",
            tiles->radius, tiles->center[0], tiles->center[1]),
        (NULL));
  if (moved->error && !tiles->is_empty)
    GST_ELEMENT_WARNING (self, RESOURCE, READ,
        ("The tiles around (%.1f, %.1f) cannot be used, going on with those before: %s.",
            tiles->center[0], tiles->center[1], moved->error->message),
        (NULL));
  tiles->has_failed = moved->failure != NULL;
  tiles->is_empty = moved->error != NULL;
}

/* The move that was asked for takes effect with a scan. FALSE where it has not ended. */
static gboolean
take_move (GstNdtLocalize *self, guint64 scan, gboolean wait)
{
  GstNdtTiles *tiles = &self->tiles;
  GstNdtMapMoved moved;

  if (!gst_ndt_map_loader_take_moved (self->loader, wait, &moved))
    return FALSE;
  tiles->is_moving = FALSE;
  memcpy (tiles->center, tiles->next, sizeof tiles->center);
  warn (self, &moved);
  count_tiles (self, &moved.counts);
  if (moved.map && moved.map != tiles->map && change_map (self, moved.map, self->used_map)) {
    ndt_voxel_map_unref (tiles->map);
    tiles->map = g_steal_pointer (&moved.map);
    post_map (self, tiles->map, self->used_map, scan);
  }
  gst_ndt_map_moved_clear (&moved);
  return TRUE;
}

static void
begin_move (GstNdtLocalize *self, const gdouble position[2], guint64 due)
{
  GstNdtTiles *tiles = &self->tiles;

  memcpy (tiles->next, position, sizeof tiles->next);
  tiles->due = due;
  tiles->is_moving = TRUE;
  gst_ndt_map_loader_move (self->loader, tiles->tiles, tiles->next, tiles->radius);
}

static gboolean
is_jump (const GstNdtTiles *tiles, const NdtPose *pose)
{
  const gdouble distance = get_distance (pose->position, tiles->center);
  return isfinite (distance) && distance > JUMP_FRACTION * tiles->radius;
}

gboolean
gst_ndt_localize_follow (
    GstNdtLocalize *self, guint64 scan, const NdtObservation *observation, gboolean is_live)
{
  GstNdtTiles *tiles = &self->tiles;
  NdtPose pose;

  if (!tiles->tiles)
    return TRUE;
  if (tiles->is_moving && (is_live || scan >= tiles->due) && !take_move (self, scan, !is_live) &&
      !is_live)
    return FALSE;
  /* The vehicle is elsewhere, or may be. */
  const NdtPrediction prediction = gst_ndt_engine_predict (self->engine, observation, &pose);
  if ((prediction != NDT_PREDICTION_INITIAL && prediction != NDT_PREDICTION_PRIOR) ||
      !is_jump (tiles, &pose))
    return TRUE;
  begin_move (self, pose.position, scan);
  return take_move (self, scan, TRUE);
}

guint
gst_ndt_localize_count_followed (
    GstNdtLocalize *self, guint64 scan, const NdtObservation *observations, guint n)
{
  const GstNdtTiles *tiles = &self->tiles;

  if (!tiles->tiles)
    return n;
  n = MIN (n, MOVE_SCANS);
  if (tiles->is_moving && tiles->due > scan)
    n = (guint)MIN (n, tiles->due - scan);
  for (guint i = 1; i < n; i++)
    if (observations[i].has_prior && is_jump (tiles, &observations[i].prior))
      return i;
  return n;
}

void
gst_ndt_localize_scan_done (GstNdtLocalize *self, guint64 scan, const NdtLocalization *localization)
{
  const GstNdtTiles *tiles = &self->tiles;
  const gdouble *position = localization->registration.pose.position;

  /* A lost vehicle may be anywhere, and the next scan is not looked for there. */
  if (!tiles->tiles || !localization->has_pose || localization->status == NDT_TRACK_LOST)
    return;
  const gdouble distance = get_distance (position, tiles->center);
  if (!isfinite (distance))
    return;
  GST_OBJECT_LOCK (self);
  memcpy (self->position, position, sizeof self->position);
  GST_OBJECT_UNLOCK (self);
  if (!tiles->is_moving && distance > MOVE_FRACTION * tiles->radius)
    begin_move (self, position, scan + MOVE_SCANS);
}
