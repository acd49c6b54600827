/* SPDX-License-Identifier: MIT */
#include "gstdeskewposes.h"

#include <string.h>

#include "gst/common/gstlocation.h"
#include "ndtcore/posefile/ndt-trajectory.h"

/* The pose on a scan, on the axis of PTS. */
static gboolean
read_station (GstBuffer *buffer, GstPoseRole role, NdtTimedPose *station)
{
  const GstPoseMeta *meta = gst_buffer_get_pose_meta (buffer, role);
  if (!meta || !meta->has_pose)
    return FALSE;
  const GstClockTime time = gst_pose_meta_get_time (meta, buffer);
  if (!GST_CLOCK_TIME_IS_VALID (time))
    return FALSE;
  station->time = (gint64)time;
  memcpy (station->pose.position, meta->position, sizeof (meta->position));
  memcpy (station->pose.orientation, meta->orientation, sizeof (meta->orientation));
  return ndt_pose_normalize (&station->pose);
}

gboolean
gst_deskew_stations_follow (GstDeskewStations *self, GstBuffer *buffer, GstPoseRole role,
    gint64 max_gap, NdtPoseCurve *curve)
{
  NdtTimedPose now;
  if (!read_station (buffer, role, &now)) {
    self->n = 0;
    return FALSE;
  }
  if (self->n > 0 && now.time <= self->poses[self->n - 1].time)
    self->n = 0;
  if (self->n == G_N_ELEMENTS (self->poses))
    memmove (self->poses, self->poses + 1, --self->n * sizeof (NdtTimedPose));
  self->poses[self->n++] = now;
  if (self->n < 2)
    return FALSE;
  /* A little beyond the scan's ends: the rings of a column fire one after the other. */
  const gint64 step = now.time - self->poses[self->n - 2].time;
  ndt_pose_curve_init (curve, self->poses, self->n, max_gap, step / 2);
  return TRUE;
}

static void
take_poses (GArray *poses, const NdtTrajectory *trajectory)
{
  gint64 last = G_MININT64;
  for (gsize i = 0; i < ndt_trajectory_get_n_poses (trajectory); i++) {
    const NdtPose *pose = ndt_trajectory_get_pose (trajectory, i);
    const NdtTimedPose entry = {
        ndt_trajectory_get_time (trajectory, i), pose ? *pose : (NdtPose)NDT_POSE_IDENTITY};
    if (!pose || entry.time <= last)
      continue;
    g_array_append_val (poses, entry);
    last = entry.time;
  }
}

gboolean
gst_deskew_load_poses (GstElement *element, const gchar *location, GArray *poses)
{
  g_autoptr (GError) error = NULL;
  g_autofree gchar *path = gst_location_resolve (location, GST_LOCATION_READ, &error);
  g_autoptr (NdtTrajectory) trajectory =
      path ? ndt_trajectory_load (path, NDT_TRAJECTORY_AUTO, &error) : NULL;
  if (!trajectory) {
    GST_ELEMENT_ERROR (element, RESOURCE, OPEN_READ, ("%s.", error->message), (NULL));
    return FALSE;
  }
  if (!ndt_trajectory_has_times (trajectory)) {
    GST_ELEMENT_ERROR (element, RESOURCE, SETTINGS,
        ("The trajectory \"%s\" has no times: use a TUM or CSV file.", location), (NULL));
    return FALSE;
  }
  take_poses (poses, trajectory);
  return TRUE;
}
