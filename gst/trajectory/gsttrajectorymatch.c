/* SPDX-License-Identifier: MIT */
#include "gsttrajectorymatch.h"

#include "gst/common/gstlocation.h"

GType
gst_trajectory_match_get_type (void)
{
  static const GEnumValue values[] = {
      {GST_TRAJECTORY_MATCH_TIME, "The pose at the scan's time, interpolated", "time"},
      {GST_TRAJECTORY_MATCH_INDEX, "Line n for scan n of the stream", "index"},
      {0, NULL, NULL},
  };
  static gsize type = 0;
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstTrajectoryMatch", values));
  return type;
}

GType
gst_trajectory_time_origin_get_type (void)
{
  static const GEnumValue values[] = {
      {GST_TRAJECTORY_TIME_ORIGIN_STREAM, "The file's times are PTS", "stream"},
      {GST_TRAJECTORY_TIME_ORIGIN_FIRST_SCAN, "The file's first time is the first scan's PTS",
          "first-scan"},
      {GST_TRAJECTORY_TIME_ORIGIN_REFERENCE,
          "The file's times are those of the scans' reference time stamps", "reference"},
      {0, NULL, NULL},
  };
  static gsize type = 0;
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstTrajectoryTimeOrigin", values));
  return type;
}

gboolean
gst_trajectory_matcher_open (GstTrajectoryMatcher *matcher, const gchar *location, GError **error)
{
  g_autoptr (GError) cause = NULL;
  g_autofree gchar *path = gst_location_resolve (location, GST_LOCATION_READ, error);
  gst_trajectory_matcher_close (matcher);
  matcher->first = GST_CLOCK_TIME_NONE;
  if (!path)
    return FALSE;
  matcher->trajectory = ndt_trajectory_load (path, NDT_TRAJECTORY_AUTO, &cause);
  if (!matcher->trajectory) {
    g_set_error_literal (error, GST_RESOURCE_ERROR,
        g_error_matches (cause, NDT_ERROR, NDT_ERROR_IO) ? GST_RESOURCE_ERROR_OPEN_READ
                                                         : GST_RESOURCE_ERROR_READ,
        cause->message);
    return FALSE;
  }
  if (matcher->match == GST_TRAJECTORY_MATCH_TIME &&
      !ndt_trajectory_has_times (matcher->trajectory)) {
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
        "%s has no times; its lines can be matched by index only", location);
    gst_trajectory_matcher_close (matcher);
    return FALSE;
  }
  return TRUE;
}

void
gst_trajectory_matcher_close (GstTrajectoryMatcher *matcher)
{
  g_clear_pointer (&matcher->trajectory, ndt_trajectory_free);
}

GstClockTime
gst_trajectory_get_reference_time (GstBuffer *buffer)
{
  const GstReferenceTimestampMeta *meta = gst_buffer_get_reference_timestamp_meta (buffer, NULL);
  return meta ? meta->timestamp : GST_CLOCK_TIME_NONE;
}

static gboolean
find_by_index (GstTrajectoryMatcher *matcher, guint64 index, NdtPose *pose)
{
  const NdtPose *found = index < ndt_trajectory_get_n_poses (matcher->trajectory)
                             ? ndt_trajectory_get_pose (matcher->trajectory, (gsize)index)
                             : NULL;
  if (!found)
    return FALSE;
  *pose = *found;
  return TRUE;
}

gboolean
gst_trajectory_matcher_find (GstTrajectoryMatcher *matcher, guint64 index, GstBuffer *scan,
    GstClockTime instant, NdtPose *pose)
{
  const GstClockTime pts = GST_BUFFER_PTS (scan);
  gint64 offset = matcher->offset;

  if (!GST_CLOCK_TIME_IS_VALID (matcher->first))
    matcher->first = pts;
  if (matcher->match == GST_TRAJECTORY_MATCH_INDEX)
    return find_by_index (matcher, index, pose);

  if (!GST_CLOCK_TIME_IS_VALID (instant))
    return FALSE;
  if (matcher->origin == GST_TRAJECTORY_TIME_ORIGIN_REFERENCE) {
    const GstClockTime reference = gst_trajectory_get_reference_time (scan);
    if (!GST_CLOCK_TIME_IS_VALID (reference) || !GST_CLOCK_TIME_IS_VALID (pts))
      return FALSE;
    offset += (gint64)(reference - pts);
  } else if (matcher->origin == GST_TRAJECTORY_TIME_ORIGIN_FIRST_SCAN &&
             GST_CLOCK_TIME_IS_VALID (matcher->first)) {
    offset += ndt_trajectory_get_time (matcher->trajectory, 0) - (gint64)matcher->first;
  }
  return ndt_trajectory_interpolate (
      matcher->trajectory, (gint64)instant + offset, matcher->max_gap, pose);
}
