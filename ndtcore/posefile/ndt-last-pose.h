/* SPDX-License-Identifier: MIT */
/* A file with the last good pose of a stream, from which the next one may start. */
#pragma once

#include <glib.h>

#include "ndtcore/math/ndt-types.h"

G_BEGIN_DECLS

/**
 * NdtLastPose:
 * @map: ndt_voxel_map_hash() of the map that the pose is in, or ndt_map_tiles_get_hash()
 * @time: when it was, by the scan's time in its stream, ns
 * @pose: of the body in the map
 * @covariance: row-major 6×6: position (m²), rotation (rad²) about the map's axes
 */
typedef struct {
  guint64 map;
  guint64 time;
  NdtPose pose;
  double covariance[36];
} NdtLastPose;

/* Lines "gst-ndt last pose 1", "map …", "time …", "pose …", "covariance …", "end". (transfer full).
 */
gchar *ndt_last_pose_to_text (const NdtLastPose *last);
/* Reads that back exactly. FALSE with NDT_ERROR_FORMAT for anything else, cut text included. */
gboolean ndt_last_pose_parse (const gchar *text, NdtLastPose *out, GError **error);

/* @name goes through ndt_file_resolve(). Errors: those of ndt_file_read() and
 * ndt_last_pose_parse(). */
gboolean ndt_last_pose_read (const gchar *name, NdtLastPose *out, GError **error);
/* As ndt_file_replace(): what was there before stays until the new file is whole. */
gboolean ndt_last_pose_write (const gchar *name, const NdtLastPose *last, GError **error);

G_END_DECLS
