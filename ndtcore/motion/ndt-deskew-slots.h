/* SPDX-License-Identifier: MIT */
/* The instants that motion compensation assigns a scan's points to, the same in every backend. No
 * GLib: nvcc compiles this header. */
#pragma once

#include <math.h>

#include "ndtcore/base/ndt-tuning.h"
#include "ndtcore/math/ndt-formulas.h"

/* Seconds from one instant to the next, where times are from @first to @last. */
NDT_INLINE double
ndt_deskew_width (double first, double last)
{
  return last > first ? (last - first) / (NDT_DESKEW_SLOTS - 1) : 1;
}

/* Instant of a point; NDT_DESKEW_SLOTS where its time is not finite. */
NDT_INLINE uint32_t
ndt_deskew_slot (double time, double first, double width)
{
  if (!isfinite (time))
    return NDT_DESKEW_SLOTS;
  /* The difference overflows for times far outside of any scan. */
  const double slot = round ((time - first) / width);
  return slot >= 0 && slot < NDT_DESKEW_SLOTS ? (uint32_t)slot : NDT_DESKEW_SLOTS;
}

/* Pose @seconds after the identity, by a velocity (twist per second) and its change per second. */
NDT_INLINE NdtPose
ndt_deskew_step (const double velocity[6], const double acceleration[6], double seconds)
{
  double t[6];
  for (int i = 0; i < 6; i++)
    t[i] = seconds * (velocity[i] + 0.5 * seconds * acceleration[i]);
  return ndt_pose_from_twist (t);
}
