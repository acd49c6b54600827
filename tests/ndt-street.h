/* SPDX-License-Identifier: MIT */
/* A street along x with poles and houses of different depths, so that a scan determines its pose in
 * all directions and no two places are alike. */
#pragma once

#include <gst/gst.h>

#include "ndtcore/math/ndt-formulas.h"
#include "ndtcore/cloudfile/ndt-pcd.h"
#include "ndtcore/math/ndt-pose.h"
#include "ndt-scene.h"

/* Begin and end of the street, metres along x. */
#define NDT_STREET_BEGIN (-80.0)
#define NDT_STREET_END 360.0
/* Largest range of a scan, and the distance between two scans: 20 m/s at 10 Hz. */
#define NDT_STREET_REACH 20.0
#define NDT_STREET_STEP 2.0
#define NDT_STREET_POINTS 1200

/* A pseudo-random number in [0, 1), a function of the argument. */
static inline double
ndt_street_chance (int place, int what)
{
  const guint32 x = (guint32)(place * 7919 + what * 104729 + 12345) * 2654435761u;
  return (double)(x >> 8) / (1 << 24);
}

/* A point of the surfaces with x in [from, to), off by some noise. */
static inline void
ndt_street_point (GRand *rand, double from, double to, double noise, double p[3])
{
  const double what = g_rand_double (rand);
  p[0] = g_rand_double_range (rand, from, to);
  const int block = (int)floor (p[0] / 9);
  const double side = g_rand_boolean (rand) ? 1 : -1;
  const double depth = 7 + 6 * ndt_street_chance (block, side > 0);
  if (what < 0.45) {
    p[1] = g_rand_double_range (rand, -13, 13);
    p[2] = noise * ndt_test_normal (rand);
  } else if (what < 0.75) {
    p[1] = side * depth + noise * ndt_test_normal (rand);
    p[2] = g_rand_double_range (rand, 0, 6);
  } else if (what < 0.9) {
    /* The side of the house, as deep as it projects beyond its neighbour. */
    p[0] = 9 * block + noise * ndt_test_normal (rand);
    p[1] = side * g_rand_double_range (rand, MIN (depth, 12.5), 13);
    p[2] = g_rand_double_range (rand, 0, 6);
  } else {
    const double angle = g_rand_double_range (rand, 0, 2 * G_PI);
    p[0] = 9 * block + 2 + 5 * ndt_street_chance (block, 2) + 0.2 * cos (angle);
    p[1] = side * (4 + 2 * ndt_street_chance (block, 3 + (side > 0))) + 0.2 * sin (angle);
    p[2] = g_rand_double_range (rand, 0, 5);
  }
}

/* Writes the map of the whole street. */
static inline void
ndt_street_write_map (const gchar *path)
{
  enum { N = 150000 };
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  g_autofree double *xyz = g_new (double, 3 * N);
  for (guint i = 0; i < N; i++)
    ndt_street_point (rand, NDT_STREET_BEGIN, NDT_STREET_END, 0.02, xyz + 3 * i);
  const NdtCloudView view = ndt_cloud_view_xyz_f64 (xyz, N);
  g_assert_true (ndt_pcd_write (path, &view, NDT_PCD_BINARY, NULL));
}

/* The true pose of the vehicle, which oscillates about the street's axis. */
static inline NdtPose
ndt_street_pose (double x)
{
  const double twist[6] = {x, sin (0.1 * x), 1.8, 0, 0, 0.05 * cos (0.1 * x)};
  NdtPose pose = ndt_pose_from_twist (twist);
  memcpy (pose.position, twist, sizeof pose.position);
  return pose;
}

/* The scan at that pose; a function of the position. */
static inline GstBuffer *
ndt_street_scan (double x)
{
  const NdtPose pose = ndt_street_pose (x), inverse = ndt_pose_inverse (&pose);
  g_autoptr (GRand) rand = g_rand_new_with_seed ((guint32)(1000 + 16 * x));
  float *xyz = g_new (float, 3 * NDT_STREET_POINTS);
  for (guint i = 0; i < NDT_STREET_POINTS; i++) {
    double p[3], q[3];
    do
      ndt_street_point (rand, x - NDT_STREET_REACH, x + NDT_STREET_REACH, 0.01, p);
    while (hypot (p[0] - pose.position[0], p[1] - pose.position[1]) > NDT_STREET_REACH);
    ndt_pose_transform_point (&inverse, p, q);
    for (guint k = 0; k < 3; k++)
      xyz[3 * i + k] = (float)q[k];
  }
  return gst_buffer_new_wrapped (xyz, 3 * NDT_STREET_POINTS * sizeof (float));
}
