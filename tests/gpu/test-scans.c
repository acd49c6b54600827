/* SPDX-License-Identifier: MIT */
/* The backends on recorded scans and on the scenes that other tests use: sums at and around the
 * true poses, poses that they align to, and whole drives. Data that are not there are skipped, each
 * by name. */
#include "gpu-backends.h"
#include "ndtcore/track/ndt-localizer.h"
#include "ndtcore/mapfile/ndt-map-file.h"
#include "ndtcore/cloudfile/ndt-pcd.h"
#include "ndtcore/posefile/ndt-trajectory.h"
#include "tests/ndt-scene.h"
#include "tests/ndt-test.h"

/* Both, with one map; a rough one is made of one scan. */
typedef struct {
  NdtBackend *cpu;
  NdtBackend *cuda;
  guint n_sums;
  guint n_poses;
  guint n_watersheds;
  gboolean is_rough;
} Pair;

static gboolean
pair_open (Pair *pair, NdtVoxelMap *map)
{
  memset (pair, 0, sizeof (*pair));
  pair->cuda = open_cuda (0);
  if (!pair->cuda)
    return FALSE;
  pair->cpu = open_cpu ();
  g_assert_true (ndt_backend_set_map (pair->cpu, map, NULL));
  g_assert_true (ndt_backend_set_map (pair->cuda, map, NULL));
  return TRUE;
}

static void
pair_close (Pair *pair)
{
  g_test_message ("%u sums, %u poses compared; %u starts at watersheds", pair->n_sums,
      pair->n_poses, pair->n_watersheds);
  g_assert_cmpuint (pair->n_sums, >, 0);
  /* In a map few starts are at one. One scan alone fills cells of 2 m so unevenly that slow
   * alignments, of 20 passes and more, end a millimetre apart, as the CPU's own do. */
  g_assert_cmpuint (
      pair->n_watersheds, <=, pair->is_rough ? 3 * pair->n_poses / 4 : 1 + pair->n_poses / 10);
  ndt_backend_close (pair->cpu);
  ndt_backend_close (pair->cuda);
}

static void
set_scan (Pair *pair, const NdtCloudView *view, const NdtScanFilter *filter)
{
  g_autoptr (GError) error = NULL;
  g_assert_true (ndt_backend_set_scan (pair->cpu, 0, view, filter, &error));
  g_assert_true (ndt_backend_set_scan (pair->cuda, 0, view, filter, &error));
}

static NdtPose
moved (const NdtPose *pose, GRand *rand, double metres, double radians)
{
  double delta[6];
  for (guint i = 0; i < 6; i++)
    delta[i] = g_rand_double_range (rand, -1, 1) * (i < 3 ? metres : radians);
  return ndt_pose_retracted (pose, delta);
}

/* Sums at the pose and around it, over all levels. */
static void
compare_sums (Pair *pair, const NdtPose *pose, GRand *rand)
{
  enum { N = 3 };
  NdtPose poses[N];
  NdtSums a[N], b[N];
  for (guint i = 0; i < N; i++)
    poses[i] = moved (pose, rand, 0.3 * i, 0.02 * i);
  for (guint level = 0; level < 3; level++)
    for (NdtKind kind = NDT_KIND_SCORE; kind <= NDT_KIND_LEAST_SQUARES; kind++) {
      g_assert_true (
          ndt_backend_evaluate (pair->cpu, 0, &default_params, level, kind, poses, N, b, NULL));
      g_assert_true (
          ndt_backend_evaluate (pair->cuda, 0, &default_params, level, kind, poses, N, a, NULL));
      for (guint i = 0; i < N; i++)
        assert_sums_agree (&a[i], &b[i]);
      pair->n_sums += N;
    }
}

static void
compare_alignment (Pair *pair, const NdtStart *start)
{
  pair->n_watersheds += !check_alignment (pair->cpu, pair->cuda, NDT_METHOD_NEWTON, start);
  pair->n_poses++;
}

/* ---- Drives ---- */

typedef struct {
  const gchar *folder;
  const gchar *map;
  double resolution;
  gboolean odometry; /* needed: scans are too far apart */
} Drive;

static void
test_drive (gconstpointer data)
{
  enum { N = 50 };
  const Drive *drive = data;
  g_autofree gchar *folder = ndt_test_data (drive->folder);
  g_autoptr (GError) error = NULL;
  NdtVoxelMapParams map_params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  Pair pair;
  if (!folder) {
    g_test_skip ("recorded scans are missing: set NDT_TEST_DATA");
    return;
  }
  g_autofree gchar *map_path = g_build_filename (folder, drive->map, NULL);
  g_autofree gchar *poses_path = g_build_filename (folder, "poses.txt", NULL);
  map_params.resolution = drive->resolution;
  g_autoptr (NdtVoxelMap) map = ndt_map_load (map_path, &map_params, &error);
  g_assert_no_error (error);
  g_autoptr (NdtTrajectory) truths = ndt_trajectory_load (poses_path, NDT_TRAJECTORY_AUTO, &error);
  g_assert_no_error (error);
  if (!pair_open (&pair, map))
    return;

  g_autoptr (NdtLocalizer) on_cpu = ndt_localizer_new (pair.cpu);
  g_autoptr (NdtLocalizer) on_cuda = ndt_localizer_new (pair.cuda);
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  g_assert_true (ndt_localizer_set_initial_pose (on_cpu, ndt_trajectory_get_pose (truths, 0)));
  g_assert_true (ndt_localizer_set_initial_pose (on_cuda, ndt_trajectory_get_pose (truths, 0)));
  for (guint i = 0; i < N; i++) {
    g_autofree gchar *path = g_strdup_printf ("%s/scans/%06u.pcd", folder, i);
    g_autoptr (NdtPcdFile) file = ndt_pcd_file_open (path, &error);
    g_assert_no_error (error);
    const NdtPose *truth = ndt_trajectory_get_pose (truths, i);
    NdtObservation observation = {.time = i * G_GINT64_CONSTANT (200000000)};
    NdtLocalization a, b;
    double metres, radians;
    g_assert_true (ndt_pcd_file_get_points (file, &observation.points, &error));
    observation.has_odometry = drive->odometry;
    observation.odometry = *truth;
    g_assert_true (ndt_localizer_process (on_cpu, &observation, &b, &error));
    g_assert_true (ndt_localizer_process (on_cuda, &observation, &a, &error));
    g_assert_cmpint (a.status, ==, NDT_TRACK_TRACKING);
    g_assert_cmpint (b.status, ==, NDT_TRACK_TRACKING);
    /* The same scan from the same place on both; the first is searched for from far. */
    set_scan (&pair, &observation.points, &no_filter);
    const NdtStart guess = {.guess = b.guess, .approach = i == 0 ? 3 : 0};
    compare_alignment (&pair, &guess);
    ndt_pose_difference (&a.registration.pose, truth, &metres, &radians);
    g_assert_cmpfloat (metres, <, 0.1);
    if (i % 5 == 0) {
      compare_sums (&pair, truth, rand);
      const NdtStart start = {.guess = moved (truth, rand, 0.3, 0.02), .approach = 0};
      compare_alignment (&pair, &start);
    }
  }
  pair_close (&pair);
}

/* ---- Pairs of scans ---- */

/* A PCD file's points, moved by @pose; @leaf_size thins them, 0: none. Free them. */
static double *
load_points (const gchar *folder, const gchar *name, const NdtPose *pose, gsize *n_points)
{
  g_autofree gchar *path = g_build_filename (folder, name, NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (NdtPcdFile) file = ndt_pcd_file_open (path, &error);
  g_assert_no_error (error);
  NdtCloudView view;
  g_assert_true (ndt_pcd_file_get_points (file, &view, &error));
  double *points = g_new (double, 3 * view.n_points);
  gsize n = 0;
  for (gsize i = 0; i < view.n_points; i++) {
    double p[3];
    ndt_cloud_view_get (&view, i, p);
    if (isfinite (p[0] + p[1] + p[2]) && p[0] * p[0] + p[1] * p[1] + p[2] * p[2] > 4)
      ndt_pose_transform_point (pose, p, points + 3 * n++);
  }
  *n_points = n;
  return points;
}

typedef struct {
  const gchar *folder;
  const gchar *target;
  const gchar *source;
  double target_pose[7];
  double source_pose[7]; /* about */
  float leaf_size;       /* of the scan */
} TwoScans;

static NdtPose
make_pose (const double v[7])
{
  NdtPose pose;
  memcpy (pose.position, v, sizeof (pose.position));
  memcpy (pose.orientation, v + 3, sizeof (pose.orientation));
  g_assert_true (ndt_pose_normalize (&pose));
  return pose;
}

static void
test_two_scans (gconstpointer data)
{
  const TwoScans *two = data;
  g_autofree gchar *folder = ndt_test_data (two->folder);
  const NdtScanFilter filter = {2, 0, FALSE, {0, 0, 0}, {0, 0, 0}, two->leaf_size};
  const NdtPose target_pose = make_pose (two->target_pose);
  const NdtPose source_pose = make_pose (two->source_pose), identity = NDT_POSE_IDENTITY;
  g_autoptr (GError) error = NULL;
  if (!folder) {
    g_test_skip ("recorded scans are missing: set NDT_TEST_DATA");
    return;
  }
  gsize n_target, n_source;
  g_autofree double *target = load_points (folder, two->target, &target_pose, &n_target);
  g_autofree double *source = load_points (folder, two->source, &identity, &n_source);
  const NdtCloudView target_view = ndt_cloud_view_xyz_f64 (target, n_target);
  const NdtCloudView source_view = ndt_cloud_view_xyz_f64 (source, n_source);
  for (guint resolution = 1; resolution <= 2; resolution++) {
    NdtVoxelMapParams map_params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
    Pair pair;
    map_params.resolution = resolution;
    g_autoptr (NdtVoxelMap) map = ndt_voxel_map_new (&map_params, &target_view, &error);
    g_assert_no_error (error);
    if (!pair_open (&pair, map))
      return;
    g_autoptr (GRand) rand = g_rand_new_with_seed (3);
    pair.is_rough = TRUE;
    set_scan (&pair, &source_view, &filter);
    compare_sums (&pair, &source_pose, rand);
    for (guint i = 0; i < 8; i++) {
      const NdtStart start = {
          .guess = moved (&source_pose, rand, 0.1 * (i % 4), 0.005 * (i % 4)), .approach = i / 4};
      compare_alignment (&pair, &start);
    }
    pair_close (&pair);
  }
}

/* ---- Scenes ---- */

/* Generated ones; in the corridor nothing tells where along it the scan is: sums only. */
static void
test_generated (gconstpointer data)
{
  const NdtTestScene scene = (NdtTestScene)GPOINTER_TO_INT (data);
  g_autoptr (NdtVoxelMap) map = ndt_test_scene_map (scene, 60000, 2);
  g_autoptr (GRand) rand = g_rand_new_with_seed (4);
  Pair pair;
  if (!pair_open (&pair, map))
    return;
  for (guint i = 0; i < 10; i++) {
    const double position[3] = {0.8 * i - 4, 0.1 * i - 0.5, 1.5};
    NdtPose truth;
    ndt_pose_from_rpy (position, 0.01, -0.01, 0.05 * i, &truth);
    g_autofree float *scan = ndt_test_scene_scan (scene, &truth, 2000, 100 + i);
    const NdtCloudView view = ndt_cloud_view_xyz_f32 (scan, 2000);
    set_scan (&pair, &view, &no_filter);
    compare_sums (&pair, &truth, rand);
    for (guint k = 0; k < 4 && scene == NDT_TEST_YARD; k++) {
      const NdtStart start = {.guess = moved (&truth, rand, 0.3, 0.02), .approach = k};
      compare_alignment (&pair, &start);
    }
  }
  pair_close (&pair);
}

/* Those that peers were measured on. */
static void
test_reference (gconstpointer data)
{
  const gchar *scene = data;
  float *points[2];
  gsize n[2];
  for (guint i = 0; i < 2; i++) {
    g_autofree gchar *name = g_strdup_printf ("%s/%s.f32", scene, i ? "source" : "target");
    g_autofree gchar *path = ndt_test_reference (name);
    gchar *contents;
    if (!path) {
      g_test_skip ("scenes are missing: set NDT_TEST_REFERENCE");
      return;
    }
    g_assert_true (g_file_get_contents (path, &contents, &n[i], NULL));
    points[i] = (float *)(gpointer)contents;
    n[i] /= 12;
  }
  const NdtPose identity = NDT_POSE_IDENTITY;
  const NdtCloudView target = ndt_cloud_view_xyz_f32 (points[0], n[0]);
  const NdtCloudView source = ndt_cloud_view_xyz_f32 (points[1], n[1]);
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);
  NdtVoxelMapParams map_params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  Pair pair;
  map_params.resolution = g_str_has_suffix (scene, "r1") ? 1 : 2;
  g_autoptr (NdtVoxelMap) map = ndt_voxel_map_new (&map_params, &target, NULL);
  if (pair_open (&pair, map)) {
    NdtAlignResult there;
    const NdtStart start = {.guess = identity, .approach = 0};
    pair.is_rough = g_str_has_prefix (scene, "lab");
    set_scan (&pair, &source, &no_filter);
    compare_sums (&pair, &identity, rand);
    compare_alignment (&pair, &start);
    g_assert_true (ndt_backend_align (pair.cpu, 0, &default_params, &start, 1, &there, NULL));
    for (guint i = 0; i < 8; i++) {
      const NdtStart near = {.guess = moved (&there.pose, rand, 0.2, 0.01), .approach = i % 4};
      compare_alignment (&pair, &near);
    }
    pair_close (&pair);
  }
  g_free (points[0]);
  g_free (points[1]);
}

int
main (int argc, char **argv)
{
  static const Drive drives[] = {{"seq_kitti_drive0005", "map_even_0.25.pcd", 1, FALSE},
      {"seq_kitti_drive0005", "map_even_0.25.pcd", 2, FALSE},
      {"seq_balm_os0", "map_even_0.20.pcd", 1, TRUE}};
  static const TwoScans pairs[] = {
      {"pair_apollo_utm/pcds", "1.pcd", "2.pcd",
          {588348.947978, 4141240.223859, -30.094324, 0.009698, -0.008629, -0.513505, 0.857989},
          {588349.348073, 4141239.527695, -30.097214, 0.009089, -0.009085, -0.505739, 0.862591},
          0.5f},
      {"pair_ndt_omp/data", "251370668.pcd", "251371071.pcd", {0, 0, 0, 0, 0, 0, 1},
          {0.488882, 0.121214, -0.0253342, 0.0011486, -0.000878, -0.0060754, 0.9999805}, 0.5f},
      {"pair_pcl_room_scans/tutorials", "room_scan1.pcd", "room_scan2.pcd", {0, 0, 0, 0, 0, 0, 1},
          {1.970, 0.057, 0.031, 0, 0, 0.34857, 0.93728}, 0.2f}};
  static const gchar *const scenes[] = {"lab_vg01_r1", "lab_vg01_r2", "city_n1000_r2"};
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (drives); i++) {
    g_autofree gchar *name =
        g_strdup_printf ("/gpu/scans/%s/%g", drives[i].folder, drives[i].resolution);
    g_test_add_data_func (name, &drives[i], test_drive);
  }
  for (guint i = 0; i < G_N_ELEMENTS (pairs); i++) {
    g_autofree gchar *name = g_strdup_printf ("/gpu/scans/%s", pairs[i].folder);
    g_test_add_data_func (name, &pairs[i], test_two_scans);
  }
  g_test_add_data_func (
      "/gpu/scans/generated/yard", GINT_TO_POINTER (NDT_TEST_YARD), test_generated);
  g_test_add_data_func (
      "/gpu/scans/generated/corridor", GINT_TO_POINTER (NDT_TEST_CORRIDOR), test_generated);
  for (guint i = 0; i < G_N_ELEMENTS (scenes); i++) {
    g_autofree gchar *name = g_strdup_printf ("/gpu/scans/reference/%s", scenes[i]);
    g_test_add_data_func (name, scenes[i], test_reference);
  }
  return g_test_run ();
}
