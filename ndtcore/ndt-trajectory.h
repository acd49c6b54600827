/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

#include "ndt-error.h"
#include "ndt-pose.h"

G_BEGIN_DECLS

typedef enum {
  NDT_TRAJECTORY_AUTO,  /* by the number of columns: 8 TUM, 12 KITTI, else CSV with a header */
  NDT_TRAJECTORY_TUM,   /* time tx ty tz qx qy qz qw; seconds, m */
  NDT_TRAJECTORY_KITTI, /* 12 numbers: rows of the 3×4 matrix; no time */
  NDT_TRAJECTORY_CSV    /* header line; see ndt_trajectory_write_line() */
} NdtTrajectoryFormat;

/**
 * NdtTrajectory:
 *
 * Poses of one file, in file order. Times in nanoseconds; KITTI files have none.
 */
typedef struct _NdtTrajectory NdtTrajectory;

NdtTrajectory *ndt_trajectory_load (const gchar *path, NdtTrajectoryFormat format, GError **error);
void ndt_trajectory_free (NdtTrajectory *trajectory);
gsize ndt_trajectory_get_n_poses (const NdtTrajectory *trajectory);
gboolean ndt_trajectory_has_times (const NdtTrajectory *trajectory);
const NdtPose *ndt_trajectory_get_pose (const NdtTrajectory *trajectory, gsize index);
gint64 ndt_trajectory_get_time (const NdtTrajectory *trajectory, gsize index);
/* Interpolates between the neighbours in time. FALSE before the first, after the last, or where
 * they are farther apart than max_gap nanoseconds (0: any). */
gboolean ndt_trajectory_interpolate (
    const NdtTrajectory *trajectory, gint64 time, gint64 max_gap, NdtPose *out);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtTrajectory, ndt_trajectory_free)

G_END_DECLS
