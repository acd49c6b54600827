/* SPDX-License-Identifier: MIT */
#include "ndt-sim-odometry.h"

#include "ndtcore/sim/world/ndt-sim-math.h"
#include "ndtcore/math/ndt-pose.h"

void
ndt_sim_odometry_init (
    NdtSimOdometry *odometry, double translation_noise, double rotation_noise, guint64 seed)
{
  odometry->translation_noise = translation_noise;
  odometry->rotation_noise = rotation_noise;
  odometry->seed = ndt_sim_hash (seed, 4, 0);
  odometry->n_steps = 0;
  ndt_pose_set_identity (&odometry->truth);
  ndt_pose_set_identity (&odometry->pose);
}

void
ndt_sim_odometry_step (NdtSimOdometry *odometry, const NdtPose *truth, NdtPose *pose)
{
  if (odometry->n_steps > 0) {
    NdtSimRandom random = {ndt_sim_hash (odometry->seed, odometry->n_steps, 0), 0};
    NdtPose step, turn = NDT_POSE_IDENTITY;
    double rotation[3], length, angle, s, c;
    guint i;

    ndt_pose_between (&odometry->truth, truth, &step);
    length = sqrt (step.position[0] * step.position[0] + step.position[1] * step.position[1] +
                   step.position[2] * step.position[2]);
    for (i = 0; i < 3; i++)
      step.position[i] += odometry->translation_noise * length * ndt_sim_random_normal (&random);
    for (i = 0; i < 3; i++)
      rotation[i] = odometry->rotation_noise * ndt_sim_random_normal (&random);
    angle =
        sqrt (rotation[0] * rotation[0] + rotation[1] * rotation[1] + rotation[2] * rotation[2]);
    if (angle > 0) {
      ndt_sim_sincos (angle / 2, &s, &c);
      for (i = 0; i < 3; i++)
        turn.orientation[i] = rotation[i] / angle * s;
      turn.orientation[3] = c;
    }
    ndt_pose_compose (&step, &turn, &step);
    ndt_pose_compose (&odometry->pose, &step, &odometry->pose);
    ndt_pose_normalize (&odometry->pose);
  }
  odometry->truth = *truth;
  odometry->n_steps++;
  *pose = odometry->pose;
}
