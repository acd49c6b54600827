/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

#include "ndtcore/math/ndt-types.h"

G_BEGIN_DECLS

/**
 * NdtSimOdometry:
 * @translation_noise: standard deviation of each axis of a step, as a fraction of its length
 * @rotation_noise: standard deviation of each axis of a step's rotation vector, rad
 * @seed: of the noise
 *
 * Odometry of wheels and an IMU: the true steps with noise, accumulated from the identity on.
 */
typedef struct {
  double translation_noise;
  double rotation_noise;
  guint64 seed;

  /*< private >*/
  guint64 n_steps;
  NdtPose truth; /* of the last step */
  NdtPose pose;
} NdtSimOdometry;

void ndt_sim_odometry_init (
    NdtSimOdometry *odometry, double translation_noise, double rotation_noise, guint64 seed);
/* @truth: the next true pose; @pose: (out): that of the odometry, the identity at the first call.
 */
void ndt_sim_odometry_step (NdtSimOdometry *odometry, const NdtPose *truth, NdtPose *pose);

G_END_DECLS
