/* SPDX-License-Identifier: MIT */
/* Calibration of sensors on a body: of a simulated drive with two lidars, whose poses and delays
 * are known, and of a recorded one whose scans are split into halves, as if of two sensors. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ndtcore/base/ndt-error.h"
#include "ndtcore/calibration/ndt-calibration.h"
#include "ndtcore/mapfile/ndt-map-file.h"
#include "ndtcore/posefile/ndt-trajectory.h"
#include "ndtcore/cloudfile/ndt-cloud-file.h"
#include "ndtcore/sim/scanner/ndt-sim-scanner.h"
#include "ndtcore/sim/world/ndt-sim-map.h"
#include "tests/ndt-test.h"

#define SECOND G_GINT64_CONSTANT (1000000000)
#define RADIANS (G_PI / 180)

static void
pose_of (NdtPose *pose, double x, double y, double z, double roll, double pitch, double yaw)
{
  const double position[] = {x, y, z};
  ndt_pose_from_rpy (position, roll * RADIANS, pitch * RADIANS, yaw * RADIANS, pose);
}

/* @pose moved by @metres and turned by @degrees, both in random directions. */
static void
disturb (const NdtPose *pose, double metres, double degrees, guint32 seed, NdtPose *out)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);
  double delta[6], length[2] = {0, 0};
  for (guint k = 0; k < 6; k++) {
    delta[k] = g_rand_double_range (random, -1, 1);
    length[k / 3] += delta[k] * delta[k];
  }
  for (guint k = 0; k < 6; k++)
    delta[k] *= (k < 3 ? metres : degrees * RADIANS) / sqrt (length[k / 3]);
  ndt_pose_retract (pose, delta, out);
}

/* A world with its map and the body's trajectory. */
typedef struct {
  NdtSimWorld *world;
  NdtSimMotion *motion;
  NdtVoxelMap *map;
  NdtTimedPose *body;
  gsize n_body;
} Drive;

static void
drive_init (Drive *drive, NdtSimWorldKind kind, double seconds, double speed)
{
  const NdtVoxelMapParams params = {1.0, 6, 1e-4, NDT_COVARIANCE_UNBIASED, 3, FALSE};
  g_autoptr (GError) error = NULL;

  drive->world = ndt_sim_world_new (kind, 3);
  const NdtSimDriver driver = {speed, 2, 1.5};
  drive->motion = ndt_sim_motion_new (drive->world->path, &driver, 0);
  g_autoptr (GArray) points = ndt_sim_map_sample (drive->world, 0.15, 0.005, 7);
  const NdtCloudView view =
      ndt_cloud_view_xyz_f64 ((const double *)(gpointer)points->data, points->len / 3);
  drive->map = ndt_voxel_map_new (&params, &view, &error);
  g_assert_no_error (error);
  drive->n_body = (gsize)(seconds * 50) + 1;
  drive->body = g_new (NdtTimedPose, drive->n_body);
  for (gsize i = 0; i < drive->n_body; i++) {
    drive->body[i].time = (gint64)i * SECOND / 50;
    ndt_sim_motion_pose (drive->motion, (double)i / 50, 1.8, 0, &drive->body[i].pose);
  }
}

static void
drive_clear (Drive *drive)
{
  ndt_voxel_map_unref (drive->map);
  ndt_sim_motion_free (drive->motion);
  ndt_sim_world_free (drive->world);
  g_free (drive->body);
}

/* A calibration with the scans of a sensor at @mount whose stamps are @late seconds late. */
static NdtCalibration *
simulate (const Drive *drive, const NdtPose *mount, double late, guint n_scans, guint64 seed)
{
  const NdtSimSensor sensor = {.n_rings = 32,
      .n_columns = 360,
      .max_range = 60,
      .range_noise = 0.01,
      .mount_height = 1.8,
      .noise_seed = seed,
      .is_mounted = TRUE,
      .mount = *mount};
  const NdtCalibrationParams params = NDT_CALIBRATION_PARAMS_DEFAULT;
  g_autoptr (NdtSimScanner) scanner =
      ndt_sim_scanner_new (drive->world, drive->motion, drive->motion, &sensor, 1);
  NdtCalibration *calibration =
      ndt_calibration_new (drive->map, drive->body, drive->n_body, &params);
  g_autofree NdtSimReturn *returns = g_new (NdtSimReturn, 32 * 360);
  g_autofree double *points = g_new (double, 3 * 32 * 360);
  const double end = (double)(drive->n_body - 1) / 50 - 1;

  for (guint i = 0; i < n_scans; i++) {
    /* Not at the times of the poses. */
    const double stamp = 0.5 + (end - 0.5) * i / n_scans + 0.0037;
    gsize n = 0;
    ndt_sim_scanner_cast (scanner, i, stamp - late, stamp - late, returns);
    for (guint k = 0; k < 32 * 360; k++) {
      double beam[3];
      if (returns[k].range == 0)
        continue;
      ndt_sim_scanner_get_beam (scanner, k / 32, k % 32, beam);
      for (guint axis = 0; axis < 3; axis++)
        points[3 * n + axis] = (double)returns[k].range * beam[axis];
      n++;
    }
    const NdtCloudView view = ndt_cloud_view_xyz_f64 (points, n);
    ndt_calibration_add_scan (calibration, (gint64)llround (1e9 * stamp), &view, NULL);
  }
  return calibration;
}

static void
report (const gchar *name, const NdtCalibrationResult *r, const NdtPose *truth, double late)
{
  double metres, radians;
  ndt_pose_difference (&r->pose, truth, &metres, &radians);
  g_test_message (
      "%s: off by %.2f mm, %.4f deg, %.3f ms; sigma of x %.2g mm, yaw %.2g deg, time %.2g "
      "ms; %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT
      " points on planes, residuals %.1f mm, %u rounds",
      name, 1000 * metres, radians / RADIANS, 1000 * (r->time_offset - late),
      1000 * sqrt (r->covariance[0]), sqrt (r->covariance[40]) / RADIANS,
      1000 * sqrt (r->covariance[48]), r->n_rows, r->n_points, 1000 * r->sigma, r->n_iterations);
}

static void
assert_near (const NdtCalibrationResult *r, const NdtPose *truth, double late, double metres,
    double degrees, double seconds)
{
  double m, radians;
  ndt_pose_difference (&r->pose, truth, &m, &radians);
  g_assert_cmpfloat (m, <=, metres);
  g_assert_cmpfloat (radians / RADIANS, <=, degrees);
  g_assert_cmpfloat (fabs (r->time_offset - late), <=, seconds);
  g_assert_true (r->is_converged);
}

static void
test_two_lidars (void)
{
  static const double lates[] = {0.012, -0.007};
  g_autoptr (GError) error = NULL;
  NdtPose mounts[2];
  Drive drive;

  pose_of (&mounts[0], 1.5, 0.2, 0.3, 2, 5, 10);
  pose_of (&mounts[1], -1.2, -0.4, 0.1, -3, 4, 172);
  drive_init (&drive, NDT_SIM_WORLD_TOWN, 60, 8);
  for (guint i = 0; i < 2; i++) {
    g_autoptr (NdtCalibration) c = simulate (&drive, &mounts[i], lates[i], 150, 11 + i);
    NdtCalibrationResult r;
    NdtPose start;
    disturb (&mounts[i], 0.3, 5, i, &start);
    ndt_calibration_solve (c, &start, &r, &error);
    g_assert_no_error (error);
    report (i == 0 ? "front" : "rear", &r, &mounts[i], lates[i]);
    /* What users need to merge clouds of two sensors: beneath the noise of a range. */
    assert_near (&r, &mounts[i], lates[i], 0.002, 0.02, 0.0005);
    for (guint k = 0; k < NDT_CALIBRATION_N; k++)
      g_assert_cmpint (r.observed[k], ==, NDT_OBSERVED);
  }
  drive_clear (&drive);
}

/* What a drive says of the parameters, in words. */
static void
assert_explained (const Drive *drive, const NdtCalibrationResult *r, guint parameter,
    NdtObserved observed, const gchar *words)
{
  NdtCalibrationDrive moved;
  ndt_calibration_describe_drive (drive->body, drive->n_body, &moved);
  g_autofree gchar *text = ndt_calibration_explain (r, parameter, &moved);
  g_test_message ("%s", text);
  g_assert_cmpint (r->observed[parameter], ==, observed);
  g_assert_nonnull (strstr (text, words));
}

/* A body that stands still says nothing about time, and all about the pose. */
static void
test_parked (void)
{
  g_autoptr (GError) error = NULL;
  NdtPose mount;
  Drive drive;
  NdtCalibrationResult r;

  pose_of (&mount, 1.5, 0.2, 0.3, 0, 0, 0);
  drive_init (&drive, NDT_SIM_WORLD_TOWN, 20, 0);
  g_autoptr (NdtCalibration) c = simulate (&drive, &mount, 0, 20, 3);
  ndt_calibration_solve (c, &mount, &r, &error);
  g_assert_no_error (error);
  report ("parked", &r, &mount, 0);
  assert_explained (
      &drive, &r, 6, NDT_NOT_OBSERVED, "time offset is not observed: the body stands");
  for (guint i = 0; i < 6; i++)
    assert_explained (&drive, &r, i, NDT_OBSERVED, "is observed");
  drive_clear (&drive);
}

/* On a straight a delay is a shift along it. */
static void
test_straight (void)
{
  g_autoptr (GError) error = NULL;
  NdtPose mount;
  Drive drive;
  NdtCalibrationResult r;

  pose_of (&mount, 1.5, 0.2, 0.3, 0, 0, 0);
  drive_init (&drive, NDT_SIM_WORLD_TOWN, 3, 8);
  for (gsize i = 0; i < drive.n_body; i++) {
    /* Without the body's roll, pitch and heave, which would tell a little. */
    NdtPose *pose = &drive.body[i].pose;
    pose_of (pose, 8 * (double)i / 50, 0, 1.8, 0, 0, 0);
  }
  g_autoptr (NdtCalibration) c = simulate (&drive, &mount, 0, 20, 3);
  ndt_calibration_solve (c, &mount, &r, &error);
  g_assert_no_error (error);
  assert_explained (&drive, &r, 6, NDT_NOT_OBSERVED, "not told apart from x; the drive turns by 0");
  assert_explained (&drive, &r, 0, NDT_NOT_OBSERVED, "not told apart from time offset");
  assert_explained (&drive, &r, 5, NDT_OBSERVED, "yaw is observed");
  drive_clear (&drive);
}

/* The scans of a drive whose map was made from them, split by the side of the sensor, as if by two
 * sensors that are mounted elsewhere. */
static void
test_recorded (void)
{
  const gboolean all = g_getenv ("NDT_TEST_NAMED") != NULL;
  const guint n_seeds = all ? 20 : 2;
  const NdtVoxelMapParams map_params = {1.0, 6, 1e-4, NDT_COVARIANCE_UNBIASED, 3, FALSE};
  NdtCalibrationParams params = NDT_CALIBRATION_PARAMS_DEFAULT;
  g_autoptr (GError) error = NULL;
  g_autofree gchar *folder = ndt_test_data ("seq_kitti_drive0005");
  NdtPose mounts[2];

  if (!folder) {
    g_test_skip ("seq_kitti_drive0005");
    return;
  }
  g_autofree gchar *map_path = g_build_filename (folder, "map_even_0.25.pcd", NULL);
  g_autofree gchar *poses_path = g_build_filename (folder, "poses_all.txt", NULL);
  g_autoptr (NdtVoxelMap) map = ndt_map_load (map_path, &map_params, &error);
  g_assert_no_error (error);
  g_autoptr (NdtTrajectory) trajectory =
      ndt_trajectory_load (poses_path, NDT_TRAJECTORY_AUTO, &error);
  g_assert_no_error (error);
  const gsize n = ndt_trajectory_get_n_poses (trajectory);
  g_autofree NdtTimedPose *body = g_new (NdtTimedPose, n);
  for (gsize i = 0; i < n; i++)
    body[i] = (NdtTimedPose){
        ndt_trajectory_get_time (trajectory, i), *ndt_trajectory_get_pose (trajectory, i)};

  pose_of (&mounts[0], 0.8, 0.5, -0.2, 1, 3, 40);
  pose_of (&mounts[1], -0.6, -0.5, 0.1, -2, 2, -120);
  params.estimate_time = FALSE; /* the scans' and the poses' are the same */
  for (guint side = 0; side < 2; side++) {
    g_autoptr (NdtCalibration) c = ndt_calibration_new (map, body, n, &params);
    NdtPose inverse;
    ndt_pose_invert (&mounts[side], &inverse);
    for (gsize i = 0; i < n; i++) {
      g_autofree gchar *name = g_strdup_printf ("scans_all/%06u.pcd", (guint)i);
      g_autofree gchar *path = g_build_filename (folder, name, NULL);
      g_autoptr (NdtCloudFile) file = ndt_cloud_file_open (path, &error);
      NdtCloudView view;
      g_assert_no_error (error);
      g_assert_true (ndt_cloud_file_get_points (file, &view, NULL));
      g_autofree double *points = g_new (double, 3 * view.n_points);
      gsize n_points = 0;
      for (gsize k = 0; k < view.n_points; k++) {
        double p[3];
        ndt_cloud_view_get (&view, k, p);
        if ((p[1] > 0) == (side == 0))
          ndt_pose_transform_point (&inverse, p, points + 3 * n_points++);
      }
      const NdtCloudView half = ndt_cloud_view_xyz_f64 (points, n_points);
      ndt_calibration_add_scan (c, body[i].time, &half, NULL);
    }
    for (guint seed = 0; seed < n_seeds; seed++) {
      NdtCalibrationResult r;
      NdtPose start;
      g_autofree gchar *name = g_strdup_printf ("half %u, seed %u", side, seed);
      disturb (&mounts[side], 0.3, 5, seed, &start);
      ndt_calibration_solve (c, &start, &r, &error);
      g_assert_no_error (error);
      report (name, &r, &mounts[side], 0);
      /* The map and the poses agree to 0.5 cm and 0.008° (PROVENANCE.md). */
      assert_near (&r, &mounts[side], 0, 0.01, 0.1, 0);
    }
  }
}

/* A map of another place: no result. */
static void
test_elsewhere (void)
{
  g_autoptr (GError) error = NULL;
  NdtPose mount, far_off;
  NdtCalibrationResult r;
  Drive drive;

  pose_of (&mount, 1.5, 0.2, 0.3, 0, 0, 0);
  pose_of (&far_off, 500, 900, 100, 0, 0, 0);
  drive_init (&drive, NDT_SIM_WORLD_TOWN, 10, 8);
  g_autoptr (NdtCalibration) c = simulate (&drive, &mount, 0, 10, 3);
  g_assert_false (ndt_calibration_solve (c, &far_off, &r, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_FAILED);
  drive_clear (&drive);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/calibration/two-lidars", test_two_lidars);
  g_test_add_func ("/calibration/parked", test_parked);
  g_test_add_func ("/calibration/straight", test_straight);
  g_test_add_func ("/calibration/recorded", test_recorded);
  g_test_add_func ("/calibration/elsewhere", test_elsewhere);
  return g_test_run ();
}
