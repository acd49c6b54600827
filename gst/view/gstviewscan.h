/* SPDX-License-Identifier: MIT */
/* Buffers of scans as the page gets them. */
#pragma once

#include <gst/pointcloud/pointcloud.h>

#include "ndtcore/math/ndt-pose.h"
#include "view-encode.h"

G_BEGIN_DECLS

/**
 * GstViewReader:
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
} GstViewReader;

/* @info has x, y and z. */
void gst_view_reader_set_info (GstViewReader *reader, const GstPointCloudInfo *info);
/* Finite points, moved by @mount, at most @max_points and one: of more every second, third, … is
 * taken. @points is to be cleared with view_points_clear(). */
gboolean gst_view_reader_read (GstViewReader *reader, GstBuffer *buffer, guint max_points,
    const NdtPose *mount, ViewPoints *points, GError **error);
void gst_view_scan_set_pose (ViewScan *scan, const GstPoseMeta *pose);

G_END_DECLS
