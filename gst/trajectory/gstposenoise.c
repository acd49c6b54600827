/* SPDX-License-Identifier: MIT */
#include "gstposenoise.h"

#include <math.h>

void
gst_pose_noise_start (GstPoseNoise *noise, guint32 seed)
{
  if (noise->rand)
    g_rand_set_seed (noise->rand, seed);
  else
    noise->rand = g_rand_new_with_seed (seed);
  noise->has_last = FALSE;
}

void
gst_pose_noise_clear (GstPoseNoise *noise)
{
  g_clear_pointer (&noise->rand, g_rand_free);
}

/* Box and Muller; one of the pair is enough here. */
static double
draw_normal (GRand *rand)
{
  const double radius = sqrt (-2 * log (1 - g_rand_double (rand)));
  return radius * cos (2 * G_PI * g_rand_double (rand));
}

static void
disturb (GstPoseNoise *noise, double translation, NdtPose *pose)
{
  double delta[6];
  for (guint i = 0; i < 6; i++)
    delta[i] = (i < 3 ? translation : noise->rotation) * draw_normal (noise->rand);
  ndt_pose_retract (pose, delta, pose);
}

void
gst_pose_noise_apply (GstPoseNoise *noise, NdtPose *pose)
{
  const double relative = noise->on_increments ? noise->relative_translation : 0;
  if (noise->translation == 0 && relative == 0 && noise->rotation == 0)
    return;
  if (!noise->on_increments) {
    disturb (noise, noise->translation, pose);
    return;
  }

  const NdtPose truth = *pose;
  if (noise->has_last) {
    NdtPose step;
    ndt_pose_between (&noise->last_true, &truth, &step);
    const double length =
        sqrt (step.position[0] * step.position[0] + step.position[1] * step.position[1] +
              step.position[2] * step.position[2]);
    disturb (noise, hypot (noise->translation, relative * length), &step);
    ndt_pose_compose (&noise->last_noisy, &step, pose);
  }
  noise->last_true = truth;
  noise->last_noisy = *pose;
  noise->has_last = TRUE;
}
