/* SPDX-License-Identifier: MIT */
/* Many scans of one map in one submission: each backend's results are bitwise those of one by one.
 */
#include "gpu-backends.h"
#include "ndtcore/track/ndt-localizer.h"
#include "tests/ndt-scene.h"

#define N_SCANS 150
#define MS G_GINT64_CONSTANT (1000000)

static NdtVoxelMap *map;
static NdtPose truths[N_SCANS];
static float *scans[N_SCANS];
static guint n_points[N_SCANS];
static const float nowhere[3] = {NAN, NAN, NAN};

/* A loop around the yard's middle at 2 m/s, 10 scans a second, of sizes that the device spreads in
 * different ways, from scan 90 on. */
static void
make_stream (void)
{
  map = ndt_test_scene_map (NDT_TEST_YARD, 60000, 2);
  for (guint i = 0; i < N_SCANS; i++) {
    const double angle = 0.04 * i;
    const double position[3] = {5 * sin (angle), -5 * cos (angle), 1.8};
    ndt_pose_from_rpy (position, 0.01 * sin (angle), 0, angle, &truths[i]);
    n_points[i] = i < 90 ? 700 : i % 10 < 5 ? 2000 : i % 10 < 9 ? 9000 : 33000;
    scans[i] = ndt_test_scene_scan (NDT_TEST_YARD, &truths[i], n_points[i], 100 + i);
  }
}

typedef enum { GOOD, BROKEN, HELD } Stream;

/* Scan @i; of a held stream with a prior half a metre off, some five; of a broken stream with what
 * a stream can have: no points, too few, another place, a prior, odometry, a clock that stands. */
static NdtObservation
observe (guint i, Stream stream)
{
  NdtObservation o = {
      .points = ndt_cloud_view_xyz_f32 (scans[i], n_points[i]), .time = 100 * i * MS};
  if (stream == GOOD)
    return o;
  if (stream == HELD) {
    const double off = i % 17 == 16 ? 5 : 0.5;
    o.has_prior = TRUE;
    o.prior = truths[i];
    o.prior.position[0] += off * cos (i);
    o.prior.position[1] += off * sin (i);
    return o;
  }
  if (i == 20)
    o.points = ndt_cloud_view_xyz_f32 (scans[i], 0);
  if (i == 21)
    o.points = ndt_cloud_view_xyz_f32 (nowhere, 1);
  if (i == 30)
    o.points = ndt_cloud_view_xyz_f32 (scans[80], n_points[80]);
  if (i == 40) {
    o.has_prior = TRUE;
    o.prior = truths[i];
    o.prior.position[0] += 1;
  }
  if (i >= 50 && i < 60) {
    o.has_odometry = TRUE;
    o.odometry = truths[i];
  }
  if (i == 70)
    o.time -= 100 * MS;
  if (i == 75)
    o.deadline = 1;
  return o;
}

typedef struct {
  NdtLocalization *results;
  guint n;
  guint delay; /* µs that the receiver takes now and then */
} Collected;

/* Leaves out what is measured by the clock. */
static void
clear_times (NdtLocalization *localization)
{
  localization->upload_time = localization->align_time = 0;
  if (localization->reason == NDT_REASON_TOO_LATE)
    localization->reason_value = 0; /* how late it was */
}

static void
collect (guint index, const NdtLocalization *localization, gpointer user_data)
{
  Collected *c = user_data;
  c->results[c->n] = *localization;
  clear_times (&c->results[c->n]);
  c->n++;
  if (c->delay > 0 && c->n % 3 == 0)
    g_usleep (c->delay);
}

static NdtBackend *
open_backend (gboolean on_cuda)
{
  NdtBackend *backend = on_cuda ? open_cuda (0) : open_cpu ();
  if (backend)
    g_assert_true (ndt_backend_set_map (backend, map, NULL));
  return backend;
}

static NdtLocalizer *
open_localizer (NdtBackend *backend, const NdtLocalizerParams *params)
{
  NdtLocalizer *localizer = ndt_localizer_new (backend);
  g_assert_true (ndt_localizer_set_params (localizer, params, NULL));
  g_assert_true (ndt_localizer_set_initial_pose (localizer, &truths[0]));
  return localizer;
}

/* The stream in batches of @size; 0: one by one by the function for one. */
static void
localize (NdtBackend *backend, const NdtLocalizerParams *params, Stream stream, guint size,
    guint delay, NdtLocalization *results)
{
  g_autoptr (NdtLocalizer) localizer = open_localizer (backend, params);
  g_autoptr (GError) error = NULL;
  Collected collected = {results, 0, delay};
  memset (results, 0, N_SCANS * sizeof (*results));
  for (guint i = 0; i < N_SCANS;) {
    NdtObservation observations[NDT_MAX_SCANS];
    const guint n = MIN (MAX (size, 1), N_SCANS - i);
    for (guint k = 0; k < n; k++)
      observations[k] = observe (i + k, stream);
    if (size == 0)
      ndt_localizer_process (localizer, &observations[0], &results[i], &error);
    else
      ndt_localizer_process_batch (localizer, observations, n, collect, &collected, &error);
    g_assert_no_error (error);
    clear_times (&results[i]);
    i += n;
  }
}

static void
assert_same (const NdtLocalization *a, const NdtLocalization *b, guint size)
{
  for (guint i = 0; i < N_SCANS; i++)
    if (memcmp (&a[i], &b[i], sizeof (a[i])) != 0)
      g_error (
          "batches of %u: scan %u differs: status %d and %d, x %.17g and %.17g, nvtl %.17g and "
          "%.17g",
          size, i, a[i].status, b[i].status, a[i].registration.pose.position[0],
          b[i].registration.pose.position[0], a[i].registration.nvtl, b[i].registration.nvtl);
}

static void
check (gboolean on_cuda, const NdtLocalizerParams *params, Stream stream)
{
  static const guint sizes[] = {1, 7, 64};
  g_autoptr (NdtBackend) backend = open_backend (on_cuda);
  if (!backend)
    return;
  g_autofree NdtLocalization *one = g_new0 (NdtLocalization, N_SCANS);
  g_autofree NdtLocalization *batch = g_new0 (NdtLocalization, N_SCANS);
  localize (backend, params, stream, 0, 0, one);
  guint n_tracking = 0;
  for (guint i = 0; i < N_SCANS; i++)
    n_tracking += one[i].status == NDT_TRACK_TRACKING;
  g_assert_cmpuint (n_tracking, ==, stream != BROKEN ? N_SCANS : n_tracking);
  g_assert_cmpuint (n_tracking, >=, N_SCANS - 30);
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    localize (backend, params, stream, sizes[i], 0, batch);
    assert_same (one, batch, sizes[i]);
  }
  /* A receiver that takes longer than a device waits for the next start. */
  localize (backend, params, stream, 64, 500, batch);
  assert_same (one, batch, 64);
}

static void
test_batches (gconstpointer data)
{
  const gboolean on_cuda = GPOINTER_TO_INT (data);
  NdtLocalizerParams params;
  ndt_localizer_params_init (&params);
  check (on_cuda, &params, GOOD);
  check (on_cuda, &params, BROKEN);
  ndt_pose_from_rpy ((const double[3]){0.3, -0.1, 1.2}, 0.02, -0.01, 0.3, &params.sensor_pose);
  for (guint i = 0; i < N_SCANS; i++) {
    /* Truths are the sensor's: make them the body's. */
    NdtPose inverse;
    ndt_pose_invert (&params.sensor_pose, &inverse);
    truths[i] = ndt_pose_mul (&truths[i], &inverse);
  }
  params.filter.leaf_size = 0.5f;
  params.filter.max_range = 25;
  check (on_cuda, &params, GOOD);
  check (on_cuda, &params, BROKEN);
  params.filter.leaf_size = 0;
  params.filter.max_range = 0;
  params.no_ground_margin = 0.3;
  check (on_cuda, &params, BROKEN);
  params.no_ground_margin = 0;
  params.regularization_scale = 0.01;
  check (on_cuda, &params, HELD);
  check (on_cuda, &params, BROKEN);
  params.regularization_scale = 0;
  params.registration.covariance = NDT_POSE_COVARIANCE_MULTI_NDT;
  check (on_cuda, &params, BROKEN);
  for (guint i = 0; i < N_SCANS; i++)
    truths[i] = ndt_pose_mul (&truths[i], &params.sensor_pose);
}

/* Raw scans in page-locked memory: in a batch they are copied and thinned while others are aligned.
 */
static void
test_raw (void)
{
  g_autoptr (NdtBackend) cuda = open_backend (TRUE);
  if (!cuda)
    return;
  float *plain[N_SCANS];
  NdtLocalizerParams params;
  ndt_localizer_params_init (&params);
  params.filter.leaf_size = 0.5f;
  params.filter.max_range = 25;
  memcpy (plain, scans, sizeof (plain));
  for (guint i = 0; i < N_SCANS; i++) {
    scans[i] = ndt_backend_alloc_host (cuda, 12 * (gsize)n_points[i]);
    g_assert_nonnull (scans[i]);
    memcpy (scans[i], plain[i], 12 * (gsize)n_points[i]);
  }
  check (TRUE, &params, GOOD);
  check (TRUE, &params, BROKEN);
  /* Some of a batch are thinned, and others aligned as they are. */
  params.filter.leaf_size = 0;
  params.filter.max_range = 0;
  check (TRUE, &params, GOOD);
  for (guint i = 0; i < N_SCANS; i++) {
    ((NdtBackendClass *)cuda->klass)->free_host (scans[i], 12 * (gsize)n_points[i]);
    scans[i] = plain[i];
  }
}

/* Scans that wait for their turn, when another takes the memory of one's copy, or is thinned before
 * it. */
static void
test_out_of_turn (void)
{
  g_autoptr (NdtBackend) cuda = open_backend (TRUE);
  if (!cuda)
    return;
  enum { N = 5 };
  static const guint turns[][N] = {{0, 1, 2, 3, 4}, {0, 2, 1, 4, 3}, {4, 3, 2, 1, 0}};
  const NdtScanFilter filter = {0, 25, FALSE, {0, 0, 0}, {0, 0, 0}, 0.5f};
  g_autoptr (GError) error = NULL;
  NdtAlignResult alone[N], result;
  memset (alone, 0, sizeof (alone));
  for (guint t = 0; t < 1 + G_N_ELEMENTS (turns); t++) {
    for (guint i = 0; i < N; i++) {
      const NdtCloudView view = ndt_cloud_view_xyz_f32 (scans[95 + i], n_points[95 + i]);
      const NdtStart start = {.guess = truths[95 + i], .approach = 1};
      g_assert_true (ndt_backend_set_scan (cuda, i, &view, &filter, &error));
      if (t == 0)
        g_assert_true (ndt_backend_align (cuda, i, &default_params, &start, 1, &alone[i], &error));
    }
    for (guint k = 0; k < N && t > 0; k++) {
      const guint i = turns[t - 1][k];
      const NdtStart start = {.guess = truths[95 + i], .approach = 1};
      memset (&result, 0, sizeof (result));
      g_assert_true (ndt_backend_align_begin (cuda, i, &default_params, &start, N - 1 - i, &error));
      g_assert_true (ndt_backend_align_end (cuda, &result, &error));
      g_assert_cmpmem (&result, sizeof (result), &alone[i], sizeof (alone[i]));
    }
  }
}

/* To a twentieth of the largest value that an entry can have, √(C_ii C_jj): poses differ by up to
 * 0.1 mm, of σ of some millimetres, by which each cluster's gradient differs. */
static void
assert_covariances_agree (const double a[36], const double b[36])
{
  for (guint i = 0; i < 6; i++)
    for (guint j = 0; j < 6; j++)
      if (!(fabs (a[6 * i + j] - b[6 * i + j]) <= 0.05 * sqrt (b[7 * i] * b[7 * j])))
        g_error ("covariances %u, %u: %.9g and %.9g, of %.9g and %.9g", i, j, a[6 * i + j],
            b[6 * i + j], b[7 * i], b[7 * j]);
}

/* Both backends track the same way: each scan from where the one before ended. */
static void
test_backends_agree (void)
{
  g_autoptr (NdtBackend) cuda = open_backend (TRUE);
  if (!cuda)
    return;
  g_autoptr (NdtBackend) cpu = open_backend (FALSE);
  g_autofree NdtLocalization *a = g_new0 (NdtLocalization, N_SCANS);
  g_autofree NdtLocalization *b = g_new0 (NdtLocalization, N_SCANS);
  NdtLocalizerParams params;
  ndt_localizer_params_init (&params);
  for (Stream stream = GOOD; stream <= HELD; stream += HELD) {
    params.regularization_scale = stream == HELD ? 0.01 : 0;
    localize (cpu, &params, stream, 64, 0, a);
    localize (cuda, &params, stream, 64, 0, b);
    for (guint i = 0; i < N_SCANS; i++) {
      assert_poses_agree (&a[i].registration.pose, &b[i].registration.pose);
      assert_covariances_agree (a[i].registration.covariance, b[i].registration.covariance);
    }
  }
}

/* A backlog is one launch, and a synchronization and a result each, covariances aside. */
static void
launch_once (Stream stream)
{
  g_autoptr (NdtBackend) cuda = open_backend (TRUE);
  if (!cuda)
    return;
  NdtLocalizerParams params;
  ndt_localizer_params_init (&params);
  /* Thinning would be launches of its own. */
  params.filter.leaf_size = 0;
  params.regularization_scale = stream == HELD ? 0.01 : 0;
  g_autoptr (NdtLocalizer) localizer = open_localizer (cuda, &params);
  g_autofree NdtLocalization *results = g_new0 (NdtLocalization, N_SCANS);
  NdtObservation observations[16];
  NdtBackendCounters before, after;
  guint64 n_launches = G_MAXUINT64;
  for (guint i = 0; i < 80; i += 16) {
    Collected collected = {results, 0, 0};
    for (guint k = 0; k < 16; k++)
      observations[k] = observe (i + k, stream);
    ndt_backend_get_counters (cuda, &before);
    g_assert_true (
        ndt_localizer_process_batch (localizer, observations, 16, collect, &collected, NULL));
    ndt_backend_get_counters (cuda, &after);
    if (i == 0)
      continue;
    g_assert_cmpuint (after.alignments - before.alignments, ==, 16);
    /* For each start that came too late, another two. */
    /* Each scan's covariance takes three launches, a synchronization and a result. */
    const guint64 launches = after.launches - before.launches - 16 * 3;
    g_assert_cmpuint (after.synchronizations - before.synchronizations, ==, 14 + 16 + 2 * launches);
    g_assert_cmpuint (after.downloads - before.downloads, ==, 2 * 16);
    g_assert_cmpuint (after.uploads - before.uploads, ==, 32);
    g_assert_cmpuint (after.allocations, ==, before.allocations);
    /* A busy host may let the kernel wait too long. */
    n_launches = MIN (n_launches, launches);
  }
  g_assert_cmpuint (n_launches, ==, 1);
}

static void
test_one_launch (void)
{
  launch_once (GOOD);
  launch_once (HELD);
}

/* A thread that looks for a result may be kept from going on for longer than the device waits for
 * the next start: then the scan is done, and the sequence has ended. */
static void
test_kept_waiting (void)
{
  NdtLocalizerParams params;
  ndt_localizer_params_init (&params);
  g_autofree NdtLocalization *one = g_new0 (NdtLocalization, N_SCANS);
  g_autofree NdtLocalization *batch = g_new0 (NdtLocalization, N_SCANS);
  g_autoptr (NdtBackend) cuda = open_backend (TRUE);
  if (!cuda)
    return;
  localize (cuda, &params, BROKEN, 0, 0, one);
  static const gchar *pauses[] = {"50", "150", "1000"};
  NdtBackendCounters counters;
  for (guint i = 0; i < G_N_ELEMENTS (pauses); i++) {
    TEST_CUDA (PAUSE, pauses[i]);
    g_autoptr (NdtBackend) slow = open_backend (TRUE);
    TEST_CUDA (PAUSE, NULL);
    localize (slow, &params, BROKEN, 64, 0, batch);
    assert_same (one, batch, 64);
    ndt_backend_get_counters (slow, &counters);
  }
  /* After a thousand microseconds nearly every sequence has ended. */
  g_assert_cmpuint (counters.launches, >, N_SCANS / 2);
  /* Starts that come about when the device stops waiting for them, 100 µs. */
  for (guint delay = 1; delay <= 101; delay += 10) {
    localize (cuda, &params, GOOD, 64, delay, batch);
    if (delay == 1)
      memcpy (one, batch, N_SCANS * sizeof (*one));
    assert_same (one, batch, 64);
  }
}

/* A launch that fails in the middle of a backlog ends the backend with an error, and nothing else.
 */
static void
test_failing (void)
{
  g_autoptr (NdtBackend) probe = open_backend (TRUE);
  if (!probe)
    return;
  const NdtScanFilter filter = NDT_SCAN_FILTER_NONE;
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (scans[0], n_points[0]);
  const NdtStart start = {truths[0], 0};
  for (guint n = 1; n <= 4; n++) {
    g_autoptr (GError) error = NULL;
    g_autofree gchar *which = g_strdup_printf ("launch:%u", n);
    NdtAlignResult result;
    gboolean ok = TRUE;
    TEST_CUDA (PAUSE, "1000"); /* so that each scan takes a launch */
    g_autoptr (NdtBackend) cuda = open_backend (TRUE);
    TEST_CUDA (PAUSE, NULL);
    for (guint i = 0; i < 4; i++)
      g_assert_true (ndt_backend_set_scan (cuda, i, &view, &filter, &error));
    TEST_CUDA (FAIL, which);
    guint i;
    for (i = 0; i < 4 && ok; i++)
      ok = ndt_backend_align_begin (cuda, i, &default_params, &start, 3 - i, &error) &&
           ndt_backend_align_end (cuda, &result, &error);
    TEST_CUDA (FAIL, NULL);
    g_assert_false (ok);
    g_assert_cmpuint (i, ==, n);
    g_assert_error (error, NDT_ERROR, NDT_ERROR_DEVICE);
    g_clear_error (&error);
    g_assert_false (ndt_backend_align (cuda, 0, &default_params, &start, 1, &result, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_DEVICE);
  }
}

typedef struct {
  NdtBackend *backend;
  const NdtLocalizerParams *params;
  NdtLocalization *results;
} Side;

static gpointer
localize_beside (gpointer data)
{
  const Side *side = data;
  for (guint i = 0; i < 5; i++)
    localize (side->backend, side->params, BROKEN, i % 2 ? 64 : 1, 0, side->results);
  return NULL;
}

/* Backlogs of several, each with a part of the device. */
static void
test_side_by_side (void)
{
  enum { N_SIDES = 4 };
  NdtLocalizerParams params;
  Side sides[N_SIDES];
  GThread *threads[N_SIDES];
  ndt_localizer_params_init (&params);
  g_autofree NdtLocalization *one = g_new0 (NdtLocalization, N_SCANS);
  g_autoptr (NdtBackend) cuda = open_backend (TRUE);
  if (!cuda)
    return;
  localize (cuda, &params, BROKEN, 0, 0, one);
  for (guint i = 0; i < N_SIDES; i++) {
    sides[i] = (Side){open_backend (TRUE), &params, g_new0 (NdtLocalization, N_SCANS)};
    threads[i] = g_thread_new ("side", localize_beside, &sides[i]);
  }
  for (guint i = 0; i < N_SIDES; i++) {
    g_thread_join (threads[i]);
    assert_same (one, sides[i].results, 64);
    g_free (sides[i].results);
    ndt_backend_close (sides[i].backend);
  }
}

/* Anything may follow anything: a map, another scan, another alignment, nothing at all. @data: the
 * number of scans, up to 4; the fewer the sooner compute-sanitizer ends. */
static void
test_interrupted (gconstpointer data)
{
  const guint n_scans = GPOINTER_TO_UINT (data);
  g_autoptr (NdtBackend) cuda = open_backend (TRUE);
  if (!cuda)
    return;
  const NdtScanFilter filter = NDT_SCAN_FILTER_NONE;
  NdtAlignResult alone[4], result;
  g_autoptr (GError) error = NULL;
  NdtSums sums;
  memset (alone, 0, sizeof (alone));
  for (guint what = 0; what < 7; what++) {
    for (guint i = 0; i < n_scans; i++) {
      const NdtCloudView view = ndt_cloud_view_xyz_f32 (scans[i], n_points[i]);
      const NdtStart start = {.guess = truths[i + 1], .approach = 0};
      g_assert_true (ndt_backend_set_scan (cuda, i, &view, &filter, &error));
      if (what == 0)
        g_assert_true (ndt_backend_align (cuda, i, &default_params, &start, 1, &alone[i], &error));
    }
    for (guint i = 0; i < n_scans; i++) {
      const NdtStart start = {.guess = truths[i + 1], .approach = 0};
      memset (&result, 0, sizeof (result));
      g_assert_true (
          ndt_backend_align_begin (cuda, i, &default_params, &start, n_scans - 1 - i, &error));
      g_assert_true (ndt_backend_align_end (cuda, &result, &error));
      g_assert_cmpmem (&result, sizeof (result), &alone[i], sizeof (alone[i]));
      const NdtCloudView again = ndt_cloud_view_xyz_f32 (scans[i], n_points[i]);
      switch (what) {
      case 1:
        g_assert_true (ndt_backend_set_map (cuda, map, &error));
        break;
      case 2:
        g_assert_true (ndt_backend_set_scan (cuda, 9, &again, &filter, &error));
        break;
      case 3:
        g_assert_true (ndt_backend_evaluate (
            cuda, i, &default_params, 0, NDT_KIND_SCORE, &truths[i], 1, &sums, &error));
        break;
      case 4:
        g_usleep (1000);
        break;
      case 5:
        ndt_backend_align_stop (cuda);
        break;
      case 6:
        ndt_backend_cancel (cuda, TRUE);
        g_assert_false (ndt_backend_align_begin (cuda, i + 1, &default_params, &start, 0, &error));
        g_assert_error (error, NDT_ERROR, NDT_ERROR_CANCELLED);
        g_clear_error (&error);
        ndt_backend_cancel (cuda, FALSE);
        break;
      default:
        break;
      }
    }
  }
  /* Left waiting, and closed. */
  const NdtStart start = {.guess = truths[0], .approach = 0};
  g_assert_true (ndt_backend_align_begin (cuda, 0, &default_params, &start, n_scans - 1, &error));
  g_assert_true (ndt_backend_align_end (cuda, &result, &error));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  make_stream ();
  g_test_add_data_func ("/gpu/sequences/cpu", GINT_TO_POINTER (FALSE), test_batches);
  g_test_add_data_func ("/gpu/sequences/cuda", GINT_TO_POINTER (TRUE), test_batches);
  g_test_add_func ("/gpu/sequences/raw", test_raw);
  g_test_add_func ("/gpu/sequences/out-of-turn", test_out_of_turn);
  g_test_add_func ("/gpu/sequences/backends-agree", test_backends_agree);
  g_test_add_func ("/gpu/sequences/one-launch", test_one_launch);
  g_test_add_func ("/gpu/sequences/kept-waiting", test_kept_waiting);
  g_test_add_func ("/gpu/sequences/failing", test_failing);
  g_test_add_func ("/gpu/sequences/side-by-side", test_side_by_side);
  g_test_add_data_func ("/gpu/sequences/interrupted", GUINT_TO_POINTER (4), test_interrupted);
  g_test_add_data_func ("/gpu/sequences/sanitize", GUINT_TO_POINTER (2), test_interrupted);
  const int status = g_test_run ();
  for (guint i = 0; i < N_SCANS; i++)
    g_free (scans[i]);
  ndt_voxel_map_unref (map);
  return status;
}
