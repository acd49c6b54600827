/* SPDX-License-Identifier: MIT */
#include "gstscenescan.h"

#include <math.h>
#include <string.h>

void
gst_scene_reader_set_info (GstSceneReader *reader, const GstPointCloudInfo *info)
{
  static const gchar *const axes[] = {"x", "y", "z"};

  reader->info = *info;
  for (guint axis = 0; axis < 3; axis++)
    reader->axes[axis] = gst_point_cloud_info_find_field (&reader->info, axes[axis]);
  reader->intensity = gst_point_cloud_info_find_field (&reader->info, "intensity");
  reader->ring = gst_point_cloud_info_find_field (&reader->info, "ring");
  reader->intensity_scale = 255;
}

/* Sensors count to 1, 255 or 65535: the largest value so far tells. */
static guint8
scale_intensity (GstSceneReader *reader, gdouble value)
{
  if (!isfinite (value))
    return 0;
  while (value * reader->intensity_scale > 255.5 && reader->intensity_scale > 1.0 / 257)
    reader->intensity_scale = reader->intensity_scale > 1 ? 1 : 1.0 / 257;
  return (guint8)CLAMP (value * reader->intensity_scale, 0, 255);
}

/* Modulo 256; 0 of what is no number. */
static guint8
wrap_ring (gdouble value)
{
  return value >= 0 && value < 65536 ? (guint8)(guint)value : 0;
}

gboolean
gst_scene_reader_read (GstSceneReader *reader, GstBuffer *buffer, guint max_points,
    const NdtPose *mount, ScenePoints *points, GError **error)
{
  GstPointCloudMap map;

  if (!gst_point_cloud_map (&map, &reader->info, buffer, GST_MAP_READ, error))
    return FALSE;
  const gsize step = MAX (1, (map.n_points + max_points - 1) / max_points);
  const gsize most = map.n_points / step + 1;
  points->n = 0;
  points->xyz = g_new (float, 3 * most);
  points->intensity = reader->intensity ? g_new (guint8, most) : NULL;
  points->ring = reader->ring ? g_new (guint8, most) : NULL;
  points->residual = NULL;
  for (gsize i = 0; i < map.n_points; i += step) {
    double p[3];

    for (guint axis = 0; axis < 3; axis++)
      p[axis] = gst_point_cloud_map_get_value (&map, reader->axes[axis], i, 0);
    if (!isfinite (p[0]) || !isfinite (p[1]) || !isfinite (p[2]))
      continue;
    ndt_pose_transform_point (mount, p, p);
    for (guint axis = 0; axis < 3; axis++)
      points->xyz[3 * points->n + axis] = (float)p[axis];
    if (points->intensity)
      points->intensity[points->n] =
          scale_intensity (reader, gst_point_cloud_map_get_value (&map, reader->intensity, i, 0));
    if (points->ring)
      points->ring[points->n] =
          wrap_ring (gst_point_cloud_map_get_value (&map, reader->ring, i, 0));
    points->n++;
  }
  gst_point_cloud_unmap (&map);
  return TRUE;
}

void
gst_scene_scan_set_pose (SceneScan *scan, const GstPoseMeta *pose)
{
  scan->status = pose->status;
  scan->reason = pose->reason;
  scan->nvtl = pose->nvtl;
  scan->matched_ratio = pose->matched_ratio;
  scan->iterations = pose->iterations;
  scan->has_pose = pose->has_pose;
  if (!pose->has_pose)
    return;
  memcpy (scan->pose.position, pose->position, sizeof scan->pose.position);
  memcpy (scan->pose.orientation, pose->orientation, sizeof scan->pose.orientation);
  scan->has_covariance = pose->has_covariance;
  if (pose->has_covariance) {
    const double *c = pose->covariance;
    const double shown[] = {c[0], c[1], c[7], c[14], c[35]};
    memcpy (scan->covariance, shown, sizeof shown);
  }
}
