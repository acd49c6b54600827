/* SPDX-License-Identifier: MIT */
#include "ndt-room.h"

#include <glib/gstdio.h>
#include <math.h>

#include "ndtcore/cloudfile/ndt-pcd.h"

#define SIZE_X 20.0
#define SIZE_Y 14.0
#define SIZE_Z 5.0

/* A rectangle: corner + u a + v b with u, v in [0, 1]. */
typedef struct {
  double corner[3];
  double a[3];
  double b[3];
} Face;

static const Face faces[] = {
    {{0, 0, 0}, {SIZE_X, 0, 0}, {0, SIZE_Y, 0}},
    {{0, 0, 0}, {SIZE_X, 0, 0}, {0, 0, SIZE_Z}},
    {{0, SIZE_Y, 0}, {12, 0, 0}, {0, 0, SIZE_Z}},
    {{12, SIZE_Y - 3, 0}, {SIZE_X - 12, 0, 0}, {0, 0, SIZE_Z}},
    {{12, SIZE_Y - 3, 0}, {0, 3, 0}, {0, 0, SIZE_Z}},
    {{0, 0, 0}, {0, SIZE_Y, 0}, {0, 0, SIZE_Z}},
    {{SIZE_X, 0, 0}, {0, SIZE_Y - 3, 0}, {0, 0, SIZE_Z}},
    {{5, 4, 0}, {1.1, 0.3, 0}, {0, 0, 3.5}},
    {{6.1, 4.3, 0}, {-0.3, 1.1, 0}, {0, 0, 3.5}},
    {{14, 7, 0}, {0.2, 1.6, 0}, {0, 0, 2.5}},
    {{9, 10, 0}, {1.4, -0.5, 0}, {0, 0, 4.0}},
    {{15, 2, 0}, {1.5, 0.6, 0}, {0, 0, 1.5}},
};

static double
length (const double v[3])
{
  return sqrt (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

void
ndt_room_write_map (const gchar *path, const double offset[3])
{
  static const double zero[3] = {0, 0, 0};
  const double step = 0.15;
  g_autoptr (GArray) points = g_array_new (FALSE, FALSE, 3 * sizeof (double));
  g_autoptr (GRand) random = g_rand_new_with_seed (1);
  g_autoptr (GError) error = NULL;

  if (!offset)
    offset = zero;
  for (guint f = 0; f < G_N_ELEMENTS (faces); f++) {
    const Face *face = &faces[f];
    const guint nu = (guint)(length (face->a) / step), nv = (guint)(length (face->b) / step);
    for (guint i = 0; i < nu * nv; i++) {
      const double u = (i % nu + 0.5) / nu, v = (i / nu + 0.5) / nv;
      double p[3];
      for (guint k = 0; k < 3; k++)
        p[k] = offset[k] + face->corner[k] + u * face->a[k] + v * face->b[k] +
               g_rand_double_range (random, -0.01, 0.01);
      g_array_append_vals (points, p, 1);
    }
  }
  const NdtCloudView view = ndt_cloud_view_xyz_f64 ((const double *)points->data, points->len);
  if (!ndt_pcd_write (path, &view, NDT_PCD_BINARY, &error))
    g_error ("%s", error->message);
}

static gchar *map_path;

const gchar *
ndt_room_map (void)
{
  if (!map_path) {
    g_autofree gchar *folder = g_dir_make_tmp ("ndt-room-XXXXXX", NULL);
    map_path = g_build_filename (folder, "room.pcd", NULL);
    ndt_room_write_map (map_path, NULL);
  }
  return map_path;
}

void
ndt_room_remove_map (void)
{
  if (!map_path)
    return;
  g_autofree gchar *folder = g_path_get_dirname (map_path);
  g_remove (map_path);
  g_rmdir (folder);
  g_clear_pointer (&map_path, g_free);
}

void
ndt_room_pose (guint index, NdtPose *pose)
{
  const double yaw = 0.2 + index * 1.5 * G_PI / 180;
  const double radius = 0.12 / (1.5 * G_PI / 180);
  const double position[3] = {
      8 + radius * (sin (yaw) - sin (0.2)), 6 - radius * (cos (yaw) - cos (0.2)), 1.5};
  ndt_pose_from_rpy (position, 0.01, -0.02, yaw, pose);
}

GstBuffer *
ndt_room_scan_from (const NdtPose *pose, guint32 seed)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);
  float *xyz = g_new (float, 3 * NDT_ROOM_POINTS);
  double area[G_N_ELEMENTS (faces)], total = 0;
  NdtPose inverse;

  ndt_pose_invert (pose, &inverse);
  for (guint f = 0; f < G_N_ELEMENTS (faces); f++)
    area[f] = total += length (faces[f].a) * length (faces[f].b);
  for (guint i = 0; i < NDT_ROOM_POINTS; i++) {
    const double at = g_rand_double_range (random, 0, total);
    const double u = g_rand_double (random), v = g_rand_double (random);
    double p[3];
    guint f = 0;
    while (area[f] < at)
      f++;
    for (guint k = 0; k < 3; k++)
      p[k] = faces[f].corner[k] + u * faces[f].a[k] + v * faces[f].b[k] +
             g_rand_double_range (random, -0.01, 0.01);
    ndt_pose_transform_point (&inverse, p, p);
    for (guint k = 0; k < 3; k++)
      xyz[3 * i + k] = (float)p[k];
  }
  return gst_buffer_new_wrapped (xyz, 3 * sizeof (float) * NDT_ROOM_POINTS);
}

GstBuffer *
ndt_room_scan (guint index)
{
  NdtPose pose;
  ndt_room_pose (index, &pose);
  return ndt_room_scan_from (&pose, 1000 + index);
}
