/* SPDX-License-Identifier: MIT */
/* The room of the localization tests: 20 × 14 × 5 m, with pillars and a step in one wall, so that
 * it has no symmetry. */
#pragma once

#include <gst/gst.h>

#include "ndtcore/math/ndt-pose.h"

G_BEGIN_DECLS

#define NDT_ROOM_CAPS "pointcloud/x-raw,format=XYZ_F32LE,framerate=10/1"
/* Points of a scan. */
#define NDT_ROOM_POINTS 700

/* Writes a map of the room, moved by @offset (3, nullable), as a PCD file of doubles. */
void ndt_room_write_map (const gchar *path, const double offset[3]);
/* A path of the map of the room in a folder that lives as long as the process. */
const gchar *ndt_room_map (void);
void ndt_room_remove_map (void);

/* True pose of scan @index: along an arc at 0.12 m and 1.5° a scan. */
void ndt_room_pose (guint index, NdtPose *pose);
/* A scan at that pose; a function of @index. Without a time stamp. */
GstBuffer *ndt_room_scan (guint index);
/* The same from any pose. */
GstBuffer *ndt_room_scan_from (const NdtPose *pose, guint32 seed);

G_END_DECLS
