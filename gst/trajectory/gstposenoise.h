/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

#include "ndtcore/math/ndt-pose.h"

G_BEGIN_DECLS

/* Normally distributed noise on a sequence of poses, the same for the same seed. */
typedef struct {
  double translation;          /* standard deviation of each axis, m */
  double relative_translation; /* of each axis, as a fraction of a step's length; increments only */
  double rotation;             /* about each axis, rad */
  gboolean on_increments;      /* accumulated, as odometry drifts, instead of on each pose */

  GRand *rand;
  gboolean has_last;
  NdtPose last_true;
  NdtPose last_noisy;
} GstPoseNoise;

/* Begins a sequence anew; @noise is zeroed at first. */
void gst_pose_noise_start (GstPoseNoise *noise, guint32 seed);
void gst_pose_noise_clear (GstPoseNoise *noise);
/* Noise for the next pose. With increments the first pose stays as it is. */
void gst_pose_noise_apply (GstPoseNoise *noise, NdtPose *pose);

G_END_DECLS
