/* SPDX-License-Identifier: MIT */
/* Recorded scans, every second one, each alone, from poses metres off with any yaw. */
#include "ndtcore/registration/ndt-initial-pose.h"
#include "ndtcore/mapfile/ndt-map-file.h"
#include "ndtcore/cloudfile/ndt-pcd.h"
#include "ndtcore/posefile/ndt-trajectory.h"
#include "tests/ndt-scene.h"
#include "town-starts.h"

static const NdtScanFilter no_filter = NDT_SCAN_FILTER_NONE;

/* A GNSS fix without a heading. */
static const NdtPoseSearch search = {{3, 3, 0.5, 0.03, 0.03, G_PI}, 0, 1};

typedef struct {
  guint n;
  guint n_right;
  guint n_reliable; /* of the right ones */
  guint n_misled;   /* wrong, and said to be reliable */
} Tally;

/* As far off as it may be by @search, normal but for yaw, which is uniform. */
static NdtPose
draw (const NdtPose *truth, GRand *rand)
{
  double shift[6] = {0}, turn[6] = {0};
  NdtPose pose;
  for (guint k = 0; k < 5; k++)
    shift[k] = search.stddev[k] * ndt_test_normal (rand);
  turn[5] = g_rand_double_range (rand, -G_PI, G_PI);
  ndt_pose_retract (truth, shift, &pose);
  ndt_pose_retract (&pose, turn, &pose);
  return pose;
}

static void
try_scan (NdtBackend *backend, const NdtPose *truth, const NdtPose *guess, Tally *tally)
{
  NdtRegistrationParams params;
  NdtRegistration r;
  GError *error = NULL;
  double metres, angle;
  ndt_registration_params_init (&params);
  ndt_register_around (backend, 0, &params, guess, &search, &r, &error);
  g_assert_no_error (error);
  ndt_pose_difference (&r.pose, truth, &metres, &angle);
  const gboolean right = metres < 0.1 && angle < G_PI / 180;
  const gboolean reliable = !r.is_ambiguous;
  tally->n++;
  tally->n_right += right;
  tally->n_reliable += right && reliable;
  tally->n_misled += !right && reliable;
  if (!right)
    g_test_message ("%.2f m and %.1f degrees off from %.1f m, runner-up %.2f", metres,
        angle * 180 / G_PI,
        hypot (guess->position[0] - truth->position[0], guess->position[1] - truth->position[1]),
        r.runner_up);
}

/* Of all, this share is measured to be found; rounding differs with processors, hence a little
 * less. A normal deviate lies beyond what is searched, 2.5 of them, in 4 of 100 cases. */
static void
assert_share (const gchar *name, const Tally *tally, double right, double reliable)
{
  g_test_message ("%s: %u of %u right, of them %u reliable; %u wrong and reliable", name,
      tally->n_right, tally->n, tally->n_reliable, tally->n_misled);
  g_assert_cmpfloat (tally->n_right, >=, right * tally->n);
  g_assert_cmpfloat (tally->n_reliable, >=, reliable * tally->n);
  g_assert_cmpfloat (tally->n_misled, <=, MAX (0.04 * tally->n, 1));
}

static void
test_town (void)
{
  const NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  NdtVoxelMapParams map_params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  guint n_target, n_scan;
  NdtPose truth;
  Tally tally = {0};
  g_autofree float *target = town_read_points ("target.bin", &n_target);
  g_autofree float *scan = target ? town_read_points ("source_1500.bin", &n_scan) : NULL;
  if (!scan) {
    g_test_skip ("town_starts is missing: set NDT_TEST_DATA");
    return;
  }
  g_assert_cmpuint (town_read_poses ("truth.txt", &truth, 1), ==, 1);
  const NdtCloudView target_view = ndt_cloud_view_xyz_f32 (target, n_target);
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (scan, n_scan);
  map_params.resolution = 2;
  g_autoptr (NdtVoxelMap) map = ndt_voxel_map_new (&map_params, &target_view, NULL);
  g_autoptr (NdtBackend) backend = ndt_backend_open_cpu (&config, NULL);
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  g_assert_true (ndt_backend_set_map (backend, map, NULL));
  g_assert_true (ndt_backend_set_scan (backend, 0, &view, &no_filter, NULL));
  for (guint i = 0; i < 20; i++) {
    const NdtPose guess = draw (&truth, rand);
    try_scan (backend, &truth, &guess, &tally);
  }
  assert_share ("town", &tally, 0.9, 0.9);
}

typedef struct {
  const gchar *folder;
  const gchar *map;
  double right;
  double reliable;
} Sequence;

static void
test_sequence (gconstpointer data)
{
  const Sequence *sequence = data;
  const NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  NdtVoxelMapParams map_params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  GError *error = NULL;
  Tally tally = {0};
  g_autofree gchar *folder = ndt_test_data (sequence->folder);
  if (!folder) {
    g_test_skip ("recorded scans are missing: set NDT_TEST_DATA");
    return;
  }
  g_autofree gchar *map_path = g_build_filename (folder, sequence->map, NULL);
  g_autofree gchar *poses_path = g_build_filename (folder, "poses.txt", NULL);
  map_params.resolution = 1;
  g_autoptr (NdtVoxelMap) map = ndt_map_load (map_path, &map_params, &error);
  g_assert_no_error (error);
  g_autoptr (NdtTrajectory) truths = ndt_trajectory_load (poses_path, NDT_TRAJECTORY_AUTO, &error);
  g_assert_no_error (error);
  g_autoptr (NdtBackend) backend = ndt_backend_open_cpu (&config, NULL);
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);
  g_assert_true (ndt_backend_set_map (backend, map, NULL));
  for (guint i = 0; i < 50; i += 2) {
    g_autofree gchar *path = g_strdup_printf ("%s/scans/%06u.pcd", folder, i);
    g_autoptr (NdtPcdFile) file = ndt_pcd_file_open (path, &error);
    g_assert_no_error (error);
    NdtCloudView view;
    const NdtPose guess = draw (ndt_trajectory_get_pose (truths, i), rand);
    g_assert_true (ndt_pcd_file_get_points (file, &view, &error));
    g_assert_true (ndt_backend_set_scan (backend, 0, &view, &no_filter, &error));
    try_scan (backend, ndt_trajectory_get_pose (truths, i), &guess, &tally);
  }
  assert_share (sequence->folder, &tally, sequence->right, sequence->reliable);
}

int
main (int argc, char *argv[])
{
  static const Sequence kitti = {"seq_kitti_drive0005", "map_even_0.25.pcd", 0.92, 0.92};
  static const Sequence balm = {"seq_balm_os0", "map_even_0.20.pcd", 0.92, 0.76};
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/starts/town", test_town);
  g_test_add_data_func ("/starts/kitti", &kitti, test_sequence);
  g_test_add_data_func ("/starts/balm", &balm, test_sequence);
  return g_test_run ();
}
