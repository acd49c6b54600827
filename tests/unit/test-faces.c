/* SPDX-License-Identifier: MIT */
/* Walls of a map with two faces closer than a cell: how far a pose is drawn to the farther one. */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "ndtcore/registration/ndt-faces.h"
#include "ndtcore/track/ndt-localizer.h"
#include "tests/ndt-scene.h"

enum { N_MAP = 300000, N_SCAN = 16384 };
#define RESOLUTION 2.0
#define D2 0.5

static const NdtScanFilter none = NDT_SCAN_FILTER_NONE;

/* A room from −9 to 9 m along y and 0 to 6 m high, whose walls along x are at −@wall and @wall; of
 * the second one the map has another face, @behind it. */
static double
get_plane (guint side, double wall)
{
  const double planes[] = {-wall, wall, -9, 9, 0, 6};
  return planes[side];
}

static NdtVoxelMap *
make_map (double wall, double behind)
{
  g_autoptr (GArray) xyz = g_array_new (FALSE, FALSE, sizeof (float));
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  g_autoptr (GError) error = NULL;
  NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  params.resolution = RESOLUTION;
  for (guint i = 0; i < N_MAP; i++) {
    const guint side = i % 7, axis = side < 6 ? side / 2 : 0;
    float p[3];
    if (side == 6 && behind == 0)
      continue;
    for (guint k = 0; k < 3; k++)
      p[k] =
          (float)g_rand_double_range (rand, get_plane (2 * k, wall), get_plane (2 * k + 1, wall));
    p[axis] = (float)((side < 6 ? get_plane (side, wall) : wall + behind) +
                      0.01 * ndt_test_normal (rand));
    g_array_append_vals (xyz, p, 3);
  }
  const NdtCloudView view =
      ndt_cloud_view_xyz_f32 ((const float *)(gpointer)xyz->data, xyz->len / 3);
  NdtVoxelMap *map = ndt_voxel_map_new (&params, &view, &error);
  g_assert_no_error (error);
  return map;
}

/* Points of the faces that are seen from @sensor: of the second wall alone along x, as where the
 * first one is hidden. */
static float *
make_scan (double wall, const double sensor[3])
{
  float *points = g_new (float, 3 * N_SCAN);
  g_autoptr (GRand) rand = g_rand_new_with_seed (4);
  for (guint i = 0; i < N_SCAN;) {
    double u[3], range = INFINITY, length = 0;
    guint hit = 0;
    for (guint k = 0; k < 3; k++) {
      u[k] = ndt_test_normal (rand);
      length += u[k] * u[k];
    }
    for (guint side = 0; side < 6; side++) {
      const double t = (get_plane (side, wall) - sensor[side / 2]) / u[side / 2];
      if (t > 0 && t < range) {
        range = t;
        hit = side;
      }
    }
    if (hit == 0 || range * sqrt (length) < 1.5)
      continue;
    for (guint k = 0; k < 3; k++)
      points[3 * i + k] = (float)(range * u[k] + 0.01 * ndt_test_normal (rand));
    i++;
  }
  return points;
}

static void
test_shift (void)
{
  /* A pose off by @off along x, and what is asked for. */
  static const struct {
    double wall, behind, off, shift;
  } cases[] = {
      /* Both faces in a cell, whose mean is in their middle: there, and in place. */
      {10.2, 0.3, 0.15, -0.15},
      {10.2, 0.3, 0, 0},
      /* A border of cells between them: on the farther one, and in place. */
      {9.85, 0.3, 0.3, -0.3},
      {9.85, 0.3, 0, 0},
      /* One face, in place and not. */
      {10.2, 0, 0, 0},
      {9.85, 0, 0, 0},
      {9.85, 0, 0.3, 0},
      /* The second face is beyond another room. */
      {9.85, 1.6, 0, 0},
      {9.85, 1.6, 1.6, 0},
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const double place[3] = {2, 1, 1.7};
    g_autoptr (NdtVoxelMap) map = make_map (cases[i].wall, cases[i].behind);
    g_autofree float *scan = make_scan (cases[i].wall, place);
    const NdtCloudView points = ndt_cloud_view_xyz_f32 (scan, N_SCAN);
    const NdtPose pose = {{place[0] + cases[i].off, place[1], place[2]}, {0, 0, 0, 1}};
    g_autoptr (NdtFaces) faces = ndt_faces_new ();
    double shift[3], again[3];
    const gboolean found = ndt_faces_get_shift (faces, map, &points, &none, &pose, D2, shift);
    g_test_message ("case %u: %.3f %.3f %.3f", i, shift[0], shift[1], shift[2]);
    g_assert_cmpint (found, ==, cases[i].shift != 0);
    /* Where the wall meets the others its voxels are of several surfaces, and keep the pose. */
    g_assert_cmpfloat (shift[0], <=, 0.6 * cases[i].shift);
    g_assert_cmpfloat (shift[0], >=, 1.1 * cases[i].shift);
    g_assert_cmpfloat (fabs (shift[1]), <, 0.03);
    g_assert_cmpfloat (fabs (shift[2]), <, 0.03);
    ndt_faces_get_shift (faces, map, &points, &none, &pose, D2, again);
    g_assert_cmpmem (shift, sizeof (shift), again, sizeof (again));
    /* None of the points counts, nor those of the wall. */
    for (guint k = 0; k < 3; k++) {
      NdtScanFilter filter = none;
      filter.min_range = k == 0 ? 100 : 0;
      filter.max_range = k == 1 ? 1 : 0;
      filter.use_box = k == 2;
      for (guint axis = 0; axis < 3; axis++) {
        filter.box_min[axis] = -20;
        filter.box_max[axis] = axis == 0 ? 7 : 20;
      }
      g_assert_false (ndt_faces_get_shift (faces, map, &points, &filter, &pose, D2, shift));
    }
  }
}

/* Only maps that have many such walls are looked at. */
static void
test_maps (void)
{
  static const struct {
    double wall, behind;
    gboolean has_faces;
  } cases[] = {{9.85, 0.3, TRUE}, {9.85, 0, FALSE}, {9.85, 1.6, FALSE}};
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (NdtVoxelMap) map = make_map (cases[i].wall, cases[i].behind);
    g_assert_cmpint (ndt_faces_are_in (map), ==, cases[i].has_faces);
    g_assert_cmpint (ndt_faces_are_in (map), ==, cases[i].has_faces);
  }
}

/* A scan that is aligned on the farther face says that it may be as far off as that. */
static void
test_localizer (void)
{
  const NdtBackendConfig config = {-1, 1, 0};
  const double place[3] = {2, 1, 1.7};
  g_autofree float *scan = make_scan (9.85, place);
  for (guint two = 0; two < 2; two++) {
    g_autoptr (NdtVoxelMap) map = make_map (9.85, two ? 0.3 : 0);
    g_autoptr (NdtBackend) backend = ndt_backend_open_cpu (&config, NULL);
    g_assert_true (ndt_backend_set_map (backend, map, NULL));
    g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
    g_autoptr (GError) error = NULL;
    NdtLocalizerParams params;
    ndt_localizer_params_init (&params);
    g_assert_true (ndt_localizer_set_params (localizer, &params, &error));
    const NdtPose start = {{place[0] + 0.3, place[1], place[2]}, {0, 0, 0, 1}};
    const NdtObservation observation = {.points = ndt_cloud_view_xyz_f32 (scan, N_SCAN)};
    NdtLocalization l;
    ndt_localizer_set_initial_pose (localizer, &start);
    g_assert_true (ndt_localizer_process (localizer, &observation, &l, &error));
    const double off = l.registration.pose.position[0] - place[0];
    const double sigma = sqrt (l.registration.covariance[0]);
    g_test_message ("%u faces: %.3f m off, sigma %.3f", two + 1, off, sigma);
    g_assert_cmpfloat (fabs (off), <, two ? 0.35 : 0.03);
    g_assert_cmpfloat (fabs (off), >, two ? 0.25 : -1);
    g_assert_cmpfloat (sigma, <, two ? 0.35 : 0.05);
    g_assert_cmpfloat (sigma, >, two ? 0.15 : 0);
  }
}

typedef struct {
  NdtFaces *faces;
  NdtVoxelMap *map;
  NdtCloudView points;
  NdtPose pose;
  gboolean found;
} Call;

static gpointer
get_shift (gpointer user_data)
{
  Call *call = user_data;
  double shift[3];
  call->found =
      ndt_faces_get_shift (call->faces, call->map, &call->points, &none, &call->pose, D2, shift);
  return NULL;
}

/* It runs on the stack of a thread of musl's, 128 kB. */
static void
test_stack (void)
{
  g_autoptr (NdtVoxelMap) map = make_map (9.85, 0.3);
  g_autoptr (NdtFaces) faces = ndt_faces_new ();
  const double place[3] = {2, 1, 1.7};
  g_autofree float *scan = make_scan (9.85, place);
  Call call = {.faces = faces,
      .map = map,
      .points = ndt_cloud_view_xyz_f32 (scan, N_SCAN),
      .pose = {{place[0] + 0.3, place[1], place[2]}, {0, 0, 0, 1}}};
  pthread_attr_t attributes;
  pthread_t thread;
  g_assert_cmpint (pthread_attr_init (&attributes), ==, 0);
  g_assert_cmpint (pthread_attr_setstacksize (&attributes, 128 * 1024), ==, 0);
  g_assert_cmpint (pthread_create (&thread, &attributes, get_shift, &call), ==, 0);
  g_assert_cmpint (pthread_join (thread, NULL), ==, 0);
  pthread_attr_destroy (&attributes);
  g_assert_true (call.found);
}

static void
test_odd_input (void)
{
  g_autoptr (NdtVoxelMap) map = make_map (10.2, 0.3);
  g_autoptr (NdtFaces) faces = ndt_faces_new ();
  const float odd[] = {NAN, 0, 0, 1e30f, 0, 0, INFINITY, 1, 1, 8.2f, 0, 0};
  NdtPose pose = {{2, 1, 1.7}, {0, 0, 0, 1}};
  double shift[3];
  for (guint n = 0; n <= 4; n++) {
    const NdtCloudView points = ndt_cloud_view_xyz_f32 (odd, n);
    g_assert_false (ndt_faces_get_shift (faces, map, &points, &none, &pose, D2, shift));
    g_assert_cmpfloat (shift[0], ==, 0);
  }
  pose.position[0] = 1e300;
  const NdtCloudView points = ndt_cloud_view_xyz_f32 (odd, 4);
  g_assert_false (ndt_faces_get_shift (faces, map, &points, &none, &pose, D2, shift));
}

static void
test_raise (void)
{
  static const double shift[] = {0.3, -0.4, 0};
  for (guint large = 0; large < 2; large++) {
    double c[36] = {0}, before[36], given = 0;
    for (guint k = 0; k < 6; k++)
      c[7 * k] = large ? 1 : 0.01;
    c[5] = c[30] = 0.002;
    memcpy (before, c, sizeof (c));
    ndt_faces_raise (shift, c);
    if (large) {
      g_assert_cmpmem (c, sizeof (c), before, sizeof (before));
      continue;
    }
    /* 0.5 m along the shift, and as before across it and beside. */
    for (guint i = 0; i < 2; i++)
      for (guint j = 0; j < 2; j++)
        given += shift[i] * c[6 * i + j] * shift[j] / 0.25;
    g_assert_cmpfloat (fabs (given - 0.25), <, 1e-12);
    g_assert_cmpfloat (fabs (0.64 * c[0] + 0.36 * c[7] + 0.48 * (c[1] + c[6]) - 0.01), <, 1e-12);
    for (guint i = 0; i < 36; i++)
      if (i % 6 > 1 || i / 6 > 1)
        g_assert_cmpfloat (c[i], ==, before[i]);
  }
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/faces/shift", test_shift);
  g_test_add_func ("/faces/maps", test_maps);
  g_test_add_func ("/faces/localizer", test_localizer);
  g_test_add_func ("/faces/stack", test_stack);
  g_test_add_func ("/faces/odd-input", test_odd_input);
  g_test_add_func ("/faces/raise", test_raise);
  return g_test_run ();
}
