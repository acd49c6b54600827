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
 * Interpolation of timed poses: between two of them by the screw motion from one to the other,
 * with the change of velocity that the pose before and the pose after give, where there are such,
 * so that turning in and braking are interpolated. An automatic variable; it refers to the poses.
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

/* @poses: in order of strictly rising times; they have to live as long. @max_gap: between two poses
 * farther apart the course is not known, nanoseconds, 0: any. @reach: how far it is carried on
 * before the first and after the last pose. */
void ndt_pose_curve_init (
    NdtPoseCurve *curve, const NdtTimedPose *poses, gsize n_poses, gint64 max_gap, gint64 reach);
/* FALSE where the pose at @time is not known. Times that follow one another are answered fast. */
gboolean ndt_pose_curve_get (NdtPoseCurve *curve, gint64 time, NdtPose *pose);

G_END_DECLS
