/* SPDX-License-Identifier: MIT */
#include "gstndtlocalizelast.h"

#include <string.h>

#include "ndtcore/base/ndt-file.h"

#define GST_CAT_DEFAULT gst_ndt_localize_debug

/* A pose is put into the file this often at most, of the stream's time. */
#define KEEP_INTERVAL GST_SECOND

gboolean
gst_ndt_localize_begin_last_pose (GstNdtLocalize *self, gboolean is_start)
{
  GstNdtLast *last = &self->last;
  g_autoptr (GError) error = NULL;

  GST_OBJECT_LOCK (self);
  g_autofree gchar *name = g_strdup (self->settings.pose_file);
  GST_OBJECT_UNLOCK (self);
  memset (last, 0, sizeof *last);
  last->put_time = GST_CLOCK_TIME_NONE;
  if (!name || name[0] == '\0')
    return TRUE;
  g_autofree gchar *path = ndt_file_resolve (name, &error);
  if (!path) {
    GST_ELEMENT_ERROR (self, RESOURCE, SETTINGS,
        ("The property pose-file cannot be \"%s\": %s.", name, error->message), (NULL));
    return FALSE;
  }
  last->keeper = gst_ndt_pose_keeper_new (path);
  /* The first run has none. */
  if (!is_start || !g_file_test (path, G_FILE_TEST_EXISTS))
    return TRUE;
  last->is_read = ndt_last_pose_read (path, &last->read, &error);
  if (last->is_read) {
    GST_OBJECT_LOCK (self);
    memcpy (self->position, last->read.pose.position, sizeof self->position);
    GST_OBJECT_UNLOCK (self);
  } else {
    GST_ELEMENT_WARNING (self, RESOURCE, READ,
        ("The last pose in \"%s\" (property pose-file) is not used: %s.", name, error->message),
        (NULL));
  }
  return TRUE;
}

static void
tell_error (GstNdtLocalize *self)
{
  g_autoptr (GError) error = gst_ndt_pose_keeper_take_error (self->last.keeper);

  if (error && !self->last.has_failed)
    GST_ELEMENT_WARNING (self, RESOURCE, WRITE,
        ("The last pose cannot be kept (property pose-file): %s.", error->message), (NULL));
  self->last.has_failed |= error != NULL;
}

void
gst_ndt_localize_flush_last_pose (GstNdtLocalize *self)
{
  GstNdtLast *last = &self->last;

  if (!last->keeper)
    return;
  if (last->waits)
    gst_ndt_pose_keeper_put (last->keeper, &last->good);
  last->waits = FALSE;
  gst_ndt_pose_keeper_flush (last->keeper);
  tell_error (self);
}

void
gst_ndt_localize_end_last_pose (GstNdtLocalize *self)
{
  gst_ndt_localize_flush_last_pose (self);
  g_clear_pointer (&self->last.keeper, gst_ndt_pose_keeper_free);
}

void
gst_ndt_localize_set_last_map (
    GstNdtLocalize *self, const NdtVoxelMap *map, const NdtMapTiles *tiles)
{
  GstNdtLast *last = &self->last;

  if (!last->keeper)
    return;
  last->waits = FALSE;
  last->map = tiles ? ndt_map_tiles_get_hash (tiles) : ndt_voxel_map_hash (map);
  if (!last->is_read)
    return;
  last->is_read = FALSE;
  if (last->read.map != last->map) {
    GST_ELEMENT_WARNING (self, RESOURCE, SETTINGS,
        ("The last pose (property pose-file) is of another map, or of another resolution of it, "
         "and is not used."),
        (NULL));
    return;
  }
  g_autofree gchar *pose = ndt_pose_to_string (&last->read.pose);
  GST_INFO_OBJECT (self, "starts from the last pose, %s", pose);
  gst_ndt_engine_set_initial_pose (self->engine, &last->read.pose);
}

void
gst_ndt_localize_keep_last_pose (
    GstNdtLocalize *self, const NdtLocalization *localization, GstClockTime time)
{
  GstNdtLast *last = &self->last;
  const gboolean has_time = GST_CLOCK_TIME_IS_VALID (time);

  if (!last->keeper || localization->status != NDT_TRACK_TRACKING)
    return;
  last->good.map = last->map;
  last->good.time = has_time ? time : 0;
  last->good.pose = localization->registration.pose;
  memcpy (
      last->good.covariance, localization->registration.covariance, sizeof last->good.covariance);
  last->waits = TRUE;
  if (has_time && GST_CLOCK_TIME_IS_VALID (last->put_time) && time >= last->put_time &&
      time - last->put_time < KEEP_INTERVAL)
    return;
  last->put_time = time;
  last->waits = FALSE;
  gst_ndt_pose_keeper_put (last->keeper, &last->good);
  tell_error (self);
}
