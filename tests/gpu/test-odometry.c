/* SPDX-License-Identifier: MIT */
/* Odometry on a device beside the CPU's, over the drives of tests/mapping. */
#include "gpu-device.h"
#include "ndtcore/odometry/ndt-odometry.h"
#include "tests/mapping/mapping-drive.h"

/* Largest distance between the backends' poses, metres, and degrees. Sums that differ in their last
 * digits end an alignment a step earlier or later, which is within its epsilons, 3 mm and 0.017°;
 * compensation of a scan's motion ends where its velocity would move the scan's ends by less than
 * 1 cm and 0.029°, on either side. Poses of a drive add up what those before were apart, so that
 * some of these are allowed. */
#define APART                                                                                      \
  {                                                                                                \
    0.01, 0.05                                                                                     \
  }
#define APART_COMPENSATED                                                                          \
  {                                                                                                \
    0.025, 0.1                                                                                     \
  }

typedef struct {
  const gchar *name;
  const gchar *folder;
  MappingSim sim;
  guint every;
  gdouble off;
  gdouble apart[2];
} Drive;

static const Drive drives[] = {
    {"town", NULL, {"town", 6, 3, 80, 32, 512, 10, FALSE, 4}, 1, 0.1, APART},
    {"distorted", NULL, {"town", 7, 2, 80, 32, 512, 10, TRUE, 4}, 1, 0.2, APART_COMPENSATED},
    {"hall", NULL, {"hall", 5, 2, 60, 32, 512, 0, FALSE, 0}, 1, 0.1, APART},
    {"kitti", "seq_kitti_drive0005", {0}, 1, 0.153, APART},
    /* Steps of up to 48°, some of which are searched for from far. */
    {"balm", "seq_balm_os0", {0}, 1, 0.5, APART},
};

static const Drive short_drive = {
    "short", NULL, {"town", 6, 3, 16, 32, 512, 10, TRUE, 0}, 1, 0, {0, 0}};

static NdtOdometry *
open_odometry (NdtBackend *backend)
{
  g_autoptr (GError) error = NULL;
  NdtOdometryParams params;
  ndt_odometry_params_init (&params);
  NdtOdometry *odometry = ndt_odometry_new (backend, &params, &error);
  g_assert_no_error (error);
  return odometry;
}

static MappingDrive *
open_drive (const Drive *drive)
{
  return drive->folder ? mapping_drive_read (drive->folder) : mapping_drive_simulate (&drive->sim);
}

static gboolean
feed (NdtOdometry *odometry, const MappingScan *scan, NdtOdometryResult *result, GError **error)
{
  const NdtOdometryScan in = {scan->points, scan->time, scan->times, scan->time_on_points};
  return ndt_odometry_process (odometry, &in, result, error);
}

static void
feed_well (NdtOdometry *odometry, const MappingScan *scan, NdtOdometryResult *result)
{
  g_autoptr (GError) error = NULL;
  feed (odometry, scan, result, &error);
  g_assert_no_error (error);
}

static void
assert_same (const NdtOdometryResult *a, const NdtOdometryResult *b)
{
  g_assert_cmpmem (&a->pose, sizeof (a->pose), &b->pose, sizeof (b->pose));
  g_assert_cmpmem (a->covariance, sizeof (a->covariance), b->covariance, sizeof (b->covariance));
  g_assert_cmpint (a->status, ==, b->status);
}

/* Both backends say the same, the device twice to the bit, and are right. What goes up is the scan,
 * once, and the map where that grew: nothing for each step of an alignment. */
static void
test_drive (gconstpointer data)
{
  const Drive *row = data;
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (NdtBackend) again = open_cuda (0);
  g_autoptr (NdtBackend) cpu = open_cpu ();
  g_autoptr (MappingDrive) drive = open_drive (row);
  if (!drive) {
    g_test_skip ("no test data");
    return;
  }
  NdtOdometry *odometries[] = {open_odometry (cpu), open_odometry (cuda), open_odometry (again)};
  double most[2] = {0, 0}, worst = 0, ratios[2] = {INFINITY, 0};
  guint n_searched = 0, n_other = 0;
  NdtPose first;
  for (guint i = 0; i < mapping_drive_get_n (drive); i += row->every) {
    NdtOdometryResult results[3];
    MappingScan scan;
    NdtPose truth;
    double metres, radians, off, turn;
    mapping_drive_get (drive, i, &scan);
    if (i == 0)
      first = scan.truth;
    for (guint k = 0; k < 3; k++)
      feed_well (odometries[k], &scan, &results[k]);
    assert_same (&results[1], &results[2]);
    n_other += results[1].status != results[0].status;
    g_assert_cmpint (results[1].status, <=, NDT_ODOMETRY_DEGRADED);
    g_assert_cmpint (results[1].deskewed, ==, results[0].deskewed);
    ndt_pose_difference (&results[0].pose, &results[1].pose, &metres, &radians);
    ndt_pose_between (&first, &scan.truth, &truth);
    ndt_pose_difference (&truth, &results[1].pose, &off, &turn);
    most[0] = MAX (most[0], metres);
    most[1] = MAX (most[1], radians * 180 / G_PI);
    worst = MAX (worst, off);
    n_searched += results[1].searched;
    if (results[1].status == NDT_ODOMETRY_TRACKED) {
      const double ratio = sqrt (results[1].covariance[0] / results[0].covariance[0]);
      ratios[0] = MIN (ratios[0], ratio);
      ratios[1] = MAX (ratios[1], ratio);
    }
  }
  g_test_message ("%s: backends %.2g m and %.2g° apart at most, off by %.3f m at most; standard "
                  "deviations %.3f to %.3f of the CPU's; %u searched, %u of another status",
      row->name, most[0], most[1], worst, ratios[0], ratios[1], n_searched, n_other);
  /* A scan may be at a threshold of the status. */
  g_assert_cmpuint (n_other, <=, 1);
  g_assert_cmpfloat (most[0], <=, row->apart[0]);
  g_assert_cmpfloat (most[1], <=, row->apart[1]);
  g_assert_cmpfloat (worst, <=, row->off);
  /* Hessians agree to 1e-5 at one pose; what is left is from the poses. */
  g_assert_cmpfloat (ratios[0], >, 0.9);
  g_assert_cmpfloat (ratios[1], <, 1.1);
  for (guint k = 0; k < 3; k++)
    ndt_odometry_free (odometries[k]);
}

/* The same bits after a reset, and after another drive on the same device. */
static void
test_reset (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (NdtOdometry) odometry = open_odometry (cuda);
  g_autoptr (MappingDrive) drive = open_drive (&short_drive);
  g_autoptr (MappingDrive) other = open_drive (&drives[2]);
  NdtOdometryResult results[2];
  MappingScan scan;
  for (guint pass = 0; pass < 2; pass++) {
    for (guint i = 0; i < short_drive.sim.n; i++) {
      mapping_drive_get (drive, i, &scan);
      feed_well (odometry, &scan, &results[pass]);
    }
    ndt_odometry_reset (odometry);
    for (guint i = 0; i < 8; i++) {
      NdtOdometryResult result;
      mapping_drive_get (other, i, &scan);
      feed_well (odometry, &scan, &result);
    }
    ndt_odometry_reset (odometry);
  }
  assert_same (&results[0], &results[1]);
}

/* What is saved on one device goes on as if it had not been, on another. */
static void
test_saved (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (NdtBackend) other = open_cuda (0);
  g_autoptr (NdtOdometry) odometry = open_odometry (cuda);
  g_autoptr (NdtOdometry) restored = open_odometry (other);
  g_autoptr (MappingDrive) drive = open_drive (&short_drive);
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  g_autoptr (GError) error = NULL;
  for (guint i = 0; i < short_drive.sim.n; i++) {
    NdtOdometryResult a, b;
    MappingScan scan;
    mapping_drive_get (drive, i, &scan);
    feed_well (odometry, &scan, &a);
    if (i == 8) {
      g_assert_true (ndt_odometry_settle (odometry, &error));
      ndt_odometry_save (odometry, bytes);
      NdtSaved saved = {bytes->data, bytes->len};
      g_assert_true (ndt_odometry_restore (restored, &saved, &error));
    } else if (i > 8) {
      feed_well (restored, &scan, &b);
      assert_same (&a, &b);
    }
  }
}

/* A device that fails at any command: the scan changes nothing, and is processed by the CPU. */
static void
test_failures (void)
{
  guint n_failed = 0;
  g_autoptr (NdtBackend) probe = open_cuda (0);
  if (!probe)
    return;
  g_autoptr (MappingDrive) drive = open_drive (&short_drive);
  for (guint n = 1; n <= 61; n += 5) {
    g_autofree gchar *wish = g_strdup_printf ("launch:%u", n);
    g_autoptr (NdtBackend) cuda = open_cuda (0);
    g_autoptr (NdtBackend) cpu = open_cpu ();
    g_autoptr (NdtOdometry) odometry = open_odometry (cuda);
    gboolean failed = FALSE;
    NdtPose first;
    for (guint i = 0; i < short_drive.sim.n; i++) {
      g_autoptr (GError) error = NULL;
      NdtOdometryResult result;
      MappingScan scan;
      NdtPose truth;
      double metres, radians;
      mapping_drive_get (drive, i, &scan);
      if (i == 0)
        first = scan.truth;
      if (i == 2)
        TEST_CUDA (FAIL, wish);
      if (!feed (odometry, &scan, &result, &error)) {
        g_assert_error (error, NDT_ERROR, NDT_ERROR_DEVICE);
        g_assert_false (failed);
        TEST_CUDA (FAIL, NULL);
        failed = TRUE;
        n_failed++;
        g_clear_error (&error);
        g_assert_true (ndt_odometry_set_backend (odometry, cpu, &error));
        feed_well (odometry, &scan, &result);
      }
      g_assert_cmpint (result.status, ==, i == 0 ? NDT_ODOMETRY_STARTED : NDT_ODOMETRY_TRACKED);
      ndt_pose_between (&first, &scan.truth, &truth);
      ndt_pose_difference (&truth, &result.pose, &metres, &radians);
      g_assert_cmpfloat (metres, <, 0.2);
    }
    TEST_CUDA (FAIL, NULL);
  }
  g_assert_cmpuint (n_failed, >=, 5);
}

/* Little of everything, for tools under which it takes a thousand times as long. */
static void
test_sanitize (void)
{
  static const MappingSim sim = {"town", 6, 3, 4, 16, 64, 10, TRUE, 0};
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (NdtOdometry) odometry = open_odometry (cuda);
  g_autoptr (MappingDrive) drive = mapping_drive_simulate (&sim);
  for (guint i = 0; i < sim.n; i++) {
    NdtOdometryResult result;
    MappingScan scan;
    mapping_drive_get (drive, i, &scan);
    feed_well (odometry, &scan, &result);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (drives); i++) {
    g_autofree gchar *path = g_strdup_printf ("/gpu/odometry/%s", drives[i].name);
    g_test_add_data_func (path, &drives[i], test_drive);
  }
  g_test_add_func ("/gpu/odometry/reset", test_reset);
  g_test_add_func ("/gpu/odometry/saved", test_saved);
  g_test_add_func ("/gpu/odometry/failures", test_failures);
  g_test_add_func ("/gpu/odometry/sanitize", test_sanitize);
  return g_test_run ();
}
