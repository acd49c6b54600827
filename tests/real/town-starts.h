/* SPDX-License-Identifier: MIT */
/* Reads the folder town_starts: a generated town, scans, starting poses. */
#pragma once

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ndtcore/math/ndt-pose.h"
#include "tests/ndt-test.h"

/* Reads a file of points: a count, then packed float x, y, z. NULL, after a line with the reason,
 * where there is none. */
static inline float *
town_read_points (const gchar *name, guint *n)
{
  g_autofree gchar *relative = g_build_filename ("town_starts", name, NULL);
  g_autofree gchar *path = ndt_test_data (relative);
  g_autofree gchar *contents = NULL;
  gsize size;
  gint32 count;
  if (!path)
    return NULL;
  g_assert_true (g_file_get_contents (path, &contents, &size, NULL));
  g_assert_cmpuint (size, >=, 4);
  memcpy (&count, contents, 4);
  g_assert_cmpuint (size, ==, 4 + 12 * (gsize)count);
  *n = (guint)count;
  return g_memdup2 (contents + 4, size - 4);
}

/* Lines of x y z roll pitch yaw, R = Rx Ry Rz. */
static inline guint
town_read_poses (const gchar *name, NdtPose *poses, guint max)
{
  g_autofree gchar *relative = g_build_filename ("town_starts", name, NULL);
  g_autofree gchar *path = ndt_test_data (relative);
  g_autofree gchar *contents = NULL;
  guint n = 0;
  if (!path)
    return 0;
  g_assert_true (g_file_get_contents (path, &contents, NULL, NULL));
  g_auto (GStrv) lines = g_strsplit (contents, "\n", -1);
  for (guint i = 0; lines[i] && n < max; i++) {
    double v[6];
    if (sscanf (lines[i], "%lf %lf %lf %lf %lf %lf", v, v + 1, v + 2, v + 3, v + 4, v + 5) == 6)
      ndt_pose_from_xyz_euler (v, v[3], v[4], v[5], &poses[n++]);
  }
  return n;
}
