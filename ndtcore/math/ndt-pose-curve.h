/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

#include "ndt-pose.h"

G_BEGIN_DECLS

/**
 * NdtTimedPose:
 * @time: nanoseconds
 * @pose: there
 */
typedef struct {
  gint64 time;
  NdtPose pose;
} NdtTimedPose;

/**
 * NdtPoseCurve:
 *
 * Interpolation of timed poses: between two of them by the screw motion from one to the other and,
 * where there is a pose before or after them, by the change of velocity that follows from it, so
 * that braking and the entry of a curve are interpolated. To be allocated on the stack; it refers
 * to the poses and owns nothing.
 */
typedef struct {
  const NdtTimedPose *poses;
  gsize n_poses;
  gint64 max_gap;
  gint64 reach;
  /* of the last answer */
  gsize at;
  guint n;
  double times[4];
  double twists[4][6];
} NdtPoseCurve;

/* @poses: in order of strictly increasing times; they have to outlive @curve. @max_gap: ns; between
 *   two poses farther apart there is no pose; 0: no limit. @reach: ns before the first and after
 *   the last pose that are extrapolated. */
void ndt_pose_curve_init (
    NdtPoseCurve *curve, const NdtTimedPose *poses, gsize n_poses, gint64 max_gap, gint64 reach);
/* FALSE where there is no pose at @time. Fast for times in increasing order. */
gboolean ndt_pose_curve_get (NdtPoseCurve *curve, gint64 time, NdtPose *pose);

G_END_DECLS
