/* SPDX-License-Identifier: MIT */
/* Buffers of scans as they are looked at. */
#pragma once

#include <gst/pointcloud/pointcloud.h>

#include "ndtcore/math/ndt-pose.h"
#include "scene-points.h"

G_BEGIN_DECLS

/**
 * GstSceneReader:
 * @info: of the caps
 * @axes: fields x, y, z
 * @intensity: (nullable): field of that name
 * @ring: (nullable): field of that name
 * @intensity_scale: to 0 … 255
 */
typedef struct {
  GstPointCloudInfo info;
  const GstPointField *axes[3];
  const GstPointField *intensity;
  const GstPointField *ring;
  gdouble intensity_scale;
} GstSceneReader;

/* @info has x, y and z. */
void gst_scene_reader_set_info (GstSceneReader *reader, const GstPointCloudInfo *info);
/* Finite points, moved by @mount, at most @max_points and one: of more every second, third, … is
 * taken. @points is to be cleared with scene_points_clear(). */
gboolean gst_scene_reader_read (GstSceneReader *reader, GstBuffer *buffer, guint max_points,
    const NdtPose *mount, ScenePoints *points, GError **error);
void gst_scene_scan_set_pose (SceneScan *scan, const GstPoseMeta *pose);

G_END_DECLS
