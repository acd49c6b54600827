/* SPDX-License-Identifier: MIT */
/* One scan at a time: tracking, scans that cannot be used, judging. */
#include <math.h>
#include <string.h>

#include "localizer-stream.h"

/* ---- Tracking ---- */

static void
test_tracking (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  g_assert_cmpuint (ndt_localizer_get_status (localizer), ==, NDT_TRACK_INITIALIZING);
  NdtPose guess = truths[0];
  guess.position[0] += 0.5;
  g_assert_true (ndt_localizer_set_initial_pose (localizer, &guess));
  guint iterations = 0;
  for (guint i = 0; i < N_SCANS; i++) {
    const NdtObservation o = observe (i);
    const NdtLocalization l = process (localizer, &o);
    assert_tracks (&l, &truths[i]);
    g_assert_true (l.has_pose);
    g_assert_cmpuint (
        l.prediction, ==, i ? NDT_PREDICTION_CONSTANT_VELOCITY : NDT_PREDICTION_INITIAL);
    g_assert_cmpuint (l.previous_status, ==, i ? NDT_TRACK_TRACKING : NDT_TRACK_INITIALIZING);
    g_assert_false (l.relocalized);
    iterations += l.registration.iterations;
  }
  g_assert_cmpuint (iterations, <, 8 * N_SCANS);

  NdtLocalizerParams params;
  ndt_localizer_params_init (&params);
  params.search_map = FALSE;
  g_assert_true (ndt_localizer_set_params (localizer, &params, NULL));
  ndt_localizer_reset (localizer);
  const NdtObservation o = observe (0);
  const NdtLocalization l = process (localizer, &o);
  g_assert_cmpuint (l.status, ==, NDT_TRACK_INITIALIZING);
  g_assert_cmpuint (l.reason, ==, NDT_REASON_NO_START);
  g_assert_cmpfloat (l.reason_value, ==, 0);
  g_assert_cmpfloat (l.reason_bound, ==, 1);
  g_assert_cmpuint (l.prediction, ==, NDT_PREDICTION_NONE);
  g_assert_false (l.has_pose);
}

/* Scans at irregular times, with gaps that constant velocity bridges. */
static void
test_irregular_times (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  for (guint i = 0; i < N_SCANS; i += 1 + i % 3) {
    NdtObservation o = observe (i);
    o.has_prior = i == 0;
    o.prior = truths[0];
    const NdtLocalization l = process (localizer, &o);
    assert_tracks (&l, &truths[i]);
    if (i > 8) {
      /* 3 scans at 0.2 m and 2.3° each; the guess is off by the bend and by noise only. */
      double m;
      ndt_pose_difference (&l.guess, &truths[i], &m, NULL);
      g_assert_cmpfloat (m, <, 0.12);
    }
  }
}

/* Odometry in a frame of its own that leads over a large step. */
static void
test_odometry (void)
{
  const NdtPose frame = {{-700, 80, 9}, {0.5, 0.5, -0.5, 0.5}};
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  for (guint i = 0; i < N_SCANS; i += i == 30 ? 25 : 1) { /* 5 m and 57° at once */
    NdtObservation o = observe (i);
    o.has_prior = i == 0;
    o.prior = truths[0];
    o.has_odometry = TRUE;
    ndt_pose_compose (&frame, &truths[i], &o.odometry);
    const NdtLocalization l = process (localizer, &o);
    assert_tracks (&l, &truths[i]);
    g_assert_cmpuint (l.prediction, ==, i ? NDT_PREDICTION_ODOMETRY : NDT_PREDICTION_PRIOR);
    g_assert_cmpuint (l.registration.n_starts, ==, i ? 1 : 4);
  }
}

/* Poses that are none are as if they had not been given. */
static void
test_bad_poses (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  g_autoptr (NdtLocalizer) plain = ndt_localizer_new (backend);
  static const NdtPose bad[] = {{{NAN, 0, 0}, {0, 0, 0, 1}}, {{0, 0, INFINITY}, {0, 0, 0, 1}},
      {{0, 0, 0}, {0, 0, 0, 0}}, {{0, 0, 0}, {0, NAN, 0, 1}}};
  for (guint b = 0; b < G_N_ELEMENTS (bad); b++)
    g_assert_false (ndt_localizer_set_initial_pose (localizer, &bad[b]));
  for (guint i = 0; i < 20; i++) {
    NdtObservation o = observe (i);
    o.has_prior = i == 0;
    o.prior = truths[0];
    const NdtLocalization expected = process (plain, &o);
    o.has_odometry = TRUE;
    o.odometry = bad[i % 4];
    if (i > 0) {
      o.has_prior = TRUE;
      o.prior = bad[i / 4 % 4];
    }
    const NdtLocalization l = process (localizer, &o);
    assert_same (&l, &expected);
  }
  /* One that is not of unit length is scaled. */
  NdtObservation o = observe (20);
  o.has_prior = TRUE;
  o.prior = truths[20];
  for (guint k = 0; k < 4; k++)
    o.prior.orientation[k] *= -3;
  const NdtLocalization l = process (localizer, &o);
  g_assert_cmpuint (l.prediction, ==, NDT_PREDICTION_PRIOR);
  assert_tracks (&l, &truths[20]);
}

/* The fixed covariance is the body's, of scans that are aligned and of those that are not. */
static void
test_mount (void)
{
  static const double variances[6] = {0.01, 0.04, 0.09, 1e-4, 2e-4, 3e-4};
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  NdtLocalizerParams params;
  ndt_localizer_params_init (&params);
  const double ahead[3] = {3, 0, 0};
  ndt_pose_from_rpy (ahead, 0, 0, G_PI / 2, &params.sensor_pose);
  params.registration.covariance = NDT_POSE_COVARIANCE_FIXED;
  memcpy (params.registration.fixed_variance, variances, sizeof variances);
  g_assert_true (ndt_localizer_set_params (localizer, &params, NULL));
  for (guint i = 0; i < 10; i++) {
    NdtObservation o = observe (i);
    NdtPose inverse;
    ndt_pose_invert (&params.sensor_pose, &inverse);
    o.has_prior = i == 0;
    ndt_pose_compose (&truths[0], &inverse, &o.prior);
    if (i % 3 == 2)
      o.points.n_points = 0;
    const NdtLocalization l = process (localizer, &o);
    g_assert_cmpuint (l.status, ==, i % 3 == 2 ? NDT_TRACK_SKIPPED : NDT_TRACK_TRACKING);
    double r[9];
    ndt_pose_get_rotation (&l.registration.pose, r);
    for (guint a = 0; a < 6; a++)
      for (guint b = 0; b < 6; b++) {
        double c = 0;
        for (guint k = 0; k < 3 && a / 3 == b / 3; k++)
          c += r[3 * (a % 3) + k] * variances[a / 3 * 3 + k] * r[3 * (b % 3) + k];
        g_assert_cmpfloat_with_epsilon (l.registration.covariance[6 * a + b], c, 1e-12);
      }
  }
}

/* ---- Scans that cannot be used ---- */

static void
test_initial_waits (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  g_assert_true (ndt_localizer_set_initial_pose (localizer, &truths[20]));
  for (guint i = 0; i < 20; i++) {
    NdtObservation o = observe (i);
    if (i % 3 == 0)
      o.points = ndt_cloud_view_xyz_f32 (nowhere, 1);
    else
      o.points.n_points = i % 3 == 1 ? 0 : 9;
    const NdtLocalization l = process (localizer, &o);
    g_assert_cmpuint (l.reason, ==, NDT_REASON_TOO_FEW_POINTS);
    g_assert_cmpfloat (l.reason_value, <, l.reason_bound);
    g_assert_cmpfloat (l.reason_value, ==, l.registration.n_points);
    g_assert_cmpuint (l.prediction, ==, NDT_PREDICTION_INITIAL);
    g_assert_cmpuint (l.registration.covariance_kind, ==, NDT_POSE_COVARIANCE_FIXED);
  }
  const NdtObservation o = observe (20);
  const NdtLocalization l = process (localizer, &o);
  g_assert_cmpuint (l.prediction, ==, NDT_PREDICTION_INITIAL);
  assert_tracks (&l, &truths[20]);
}

/* Scores of the points above the ground are those of these points alone, and change nothing else.
 */
static void
test_no_ground (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtBackend) other = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  g_autoptr (NdtLocalizer) plain = ndt_localizer_new (other);
  const NdtScanFilter none = NDT_SCAN_FILTER_NONE;
  NdtLocalizerParams params;
  ndt_localizer_params_init (&params);
  params.no_ground_margin = 0.5;
  params.filter.leaf_size = 0;
  g_assert_true (ndt_localizer_set_params (localizer, &params, NULL));
  params.no_ground_margin = 0;
  g_assert_true (ndt_localizer_set_params (plain, &params, NULL));
  ndt_localizer_set_initial_pose (localizer, &truths[0]);
  ndt_localizer_set_initial_pose (plain, &truths[0]);
  for (guint i = 0; i < 10; i++) {
    const NdtObservation o = observe (i);
    const NdtLocalization l = process (localizer, &o), p = process (plain, &o);
    NdtLocalization same = l;
    assert_same (&same, &p);
    g_assert_false (p.has_no_ground);
    g_assert_true (l.has_no_ground);

    g_autofree float *kept = g_new (float, 3 * o.points.n_points);
    guint n = 0;
    for (guint k = 0; k < o.points.n_points; k++) {
      const float *xyz = scans[i] + 3 * k;
      double at[3] = {xyz[0], xyz[1], xyz[2]};
      ndt_pose_transform_point (&l.registration.pose, at, at);
      if (at[2] > l.registration.pose.position[2] + 0.5)
        memcpy (kept + 3 * n++, xyz, 3 * sizeof (float));
    }
    g_assert_cmpuint (n, >, 10);
    g_assert_cmpuint (n, <, o.points.n_points);
    g_assert_cmpuint (l.no_ground_points, ==, n);

    NdtSums sums;
    const NdtCloudView view = ndt_cloud_view_xyz_f32 (kept, n);
    g_assert_true (ndt_backend_set_scan (other, 0, &view, &none, NULL));
    g_assert_true (ndt_backend_evaluate (other, 0, &params.registration.align, 0, NDT_KIND_SCORE,
        &l.registration.pose, 1, &sums, NULL));
    /* The order of the points may differ, and with it the last bits of float sums. */
    g_assert_cmpfloat_with_epsilon (l.no_ground_transformation_probability, sums.score / n, 1e-5);
    g_assert_cmpfloat_with_epsilon (l.no_ground_nvtl, sums.nvtl / (double)sums.n_matched, 1e-5);
    g_assert_cmpfloat (l.no_ground_nvtl, >, 0);
  }

  /* None is that high. */
  params.no_ground_margin = 1000;
  g_assert_true (ndt_localizer_set_params (localizer, &params, NULL));
  const NdtObservation o = observe (10);
  const NdtLocalization l = process (localizer, &o);
  assert_tracks (&l, &truths[10]);
  g_assert_true (l.has_no_ground);
  g_assert_cmpuint (l.no_ground_points, ==, 0);
  g_assert_cmpfloat (l.no_ground_transformation_probability, ==, 0);

  params.no_ground_margin = -1;
  g_assert_false (ndt_localizer_set_params (localizer, &params, NULL));
}

/* Scans whose turn comes too late pass at the prediction, and the stream goes on from there. */
static void
test_deadline (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  g_assert_true (ndt_localizer_set_initial_pose (localizer, &truths[0]));
  for (guint i = 0; i < 30; i++) {
    NdtObservation o = observe (i);
    const gboolean late = i == 0 || (i > 10 && i % 3 == 0);
    o.deadline = late ? 1 : g_get_monotonic_time () + 60 * G_USEC_PER_SEC;
    const NdtLocalization l = process (localizer, &o);
    if (!late) {
      assert_tracks (&l, &truths[i]);
      continue;
    }
    NdtBackendCounters before, after;
    g_assert_cmpuint (l.status, ==, NDT_TRACK_SKIPPED);
    g_assert_cmpuint (l.reason, ==, NDT_REASON_TOO_LATE);
    g_assert_cmpfloat (l.reason_value, >, 0);
    g_assert_true (l.has_pose);
    g_assert_true (
        memcmp (&l.registration.pose, &l.guess, sizeof l.guess) == 0); /* the prediction */
    g_assert_cmpuint (l.registration.evaluations, ==, 0);
    g_assert_cmpuint (l.registration.covariance_kind, ==, NDT_POSE_COVARIANCE_FIXED);
    ndt_backend_get_counters (backend, &before);
    process (localizer, &o);
    ndt_backend_get_counters (backend, &after);
    g_assert_cmpuint (before.alignments, ==, after.alignments);
  }
}

/* Empty, thin and foreign scans in a stream: skipped at the prediction, then on. */
static void
test_skipped (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  guint n_bad = 0;
  for (guint i = 0; i < 60; i++) {
    NdtObservation o = observe (i);
    const gboolean bad = i > 5 && (i % 7 < 2 || (i > 30 && i < 36));
    o.has_prior = i == 0;
    o.prior = truths[0];
    if (bad)
      o.points.n_points = i % 2 ? 0 : 5;
    const NdtLocalization l = process (localizer, &o);
    if (!bad) {
      assert_tracks (&l, &truths[i]);
      g_assert_cmpuint (l.n_skipped, ==, 0);
      g_assert_cmpint (l.relocalized, ==, n_bad > 0);
      n_bad = 0;
      continue;
    }
    g_assert_cmpuint (l.status, ==, NDT_TRACK_SKIPPED);
    g_assert_cmpuint (l.n_skipped, ==, ++n_bad);
    g_assert_true (l.has_pose);
    g_assert_true (memcmp (&l.registration.pose, &l.guess, sizeof l.guess) == 0);
    g_assert_cmpfloat (l.registration.score, ==, 0);
  }
}

/* ---- Judging ---- */

static void
test_thresholds (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1);
  for (guint which = 0; which < 4; which++)
    for (guint max_skips = 0; max_skips < 3; max_skips++) {
      g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
      NdtLocalizerParams params;
      GError *error = NULL;
      ndt_localizer_params_init (&params);
      params.max_skips = max_skips;
      params.max_search_passes = 0; /* a bound may end an alignment before it has converged */
      ndt_localizer_set_params (localizer, &params, &error);
      g_assert_no_error (error);
      for (guint i = 0; i < 3; i++) {
        NdtObservation o = observe (i);
        o.has_prior = i == 0;
        o.prior = truths[0];
        const NdtLocalization l = process (localizer, &o);
        assert_tracks (&l, &truths[i]);
      }
      /* What no scan reaches. */
      if (which == 0)
        params.tp_threshold = 100;
      else if (which == 1)
        params.nvtl_threshold = 4.2;
      else if (which == 2)
        params.nvtl_threshold_fraction = 1;
      else
        params.matched_ratio_threshold = 1;
      ndt_localizer_set_params (localizer, &params, &error);
      g_assert_no_error (error);
      for (guint i = 3; i < 6; i++) {
        NdtObservation o = observe (i);
        /* One point that meets nothing keeps the matched ratio below 1. */
        g_autofree float *xyz = g_memdup2 (scans[i], 12 * N_POINTS);
        xyz[2] = 900;
        o.points = ndt_cloud_view_xyz_f32 (xyz, N_POINTS);
        const NdtLocalization l = process (localizer, &o);
        const guint skipped = i - 2;
        double m;
        /* Tried from far as well, once it is lost too. */
        g_assert_cmpuint (l.reason, ==, NDT_REASON_BAD_FIT);
        g_assert_cmpfloat (l.reason_value, ==, l.fit);
        g_assert_cmpfloat (l.reason_value, <, l.reason_bound);
        g_assert_cmpuint (l.registration.n_starts, >=, 4);
        ndt_pose_difference (&l.registration.pose, &truths[i], &m, NULL);
        g_assert_cmpfloat (m, <, 0.05);
        g_assert_cmpuint (l.n_skipped, ==, skipped);
        g_assert_cmpuint (l.status, ==, skipped > max_skips ? NDT_TRACK_LOST : NDT_TRACK_DEGRADED);
      }
    }
}

/* Carried away, lost, told where it is, found. */
static void
test_lost_and_relocalized (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  NdtLocalizerParams params;
  ndt_localizer_params_init (&params);
  params.max_skips = 3;
  params.nvtl_threshold_fraction = 0.5;
  g_assert_true (ndt_localizer_set_params (localizer, &params, NULL));
  for (guint i = 0; i < 10; i++) {
    NdtObservation o = observe (i);
    o.has_prior = i == 0;
    o.prior = truths[0];
    process (localizer, &o);
  }
  guint n = 0;
  NdtLocalization l;
  do {
    NdtObservation o = observe (80);
    /* As by a camera's axes: on the map, but of no place of it. */
    g_autofree float *xyz = g_memdup2 (scans[80], 12 * N_POINTS);
    for (guint i = 0; i < N_POINTS; i++) {
      xyz[3 * i] = scans[80][3 * i + 2];
      xyz[3 * i + 2] = scans[80][3 * i];
    }
    o.points = ndt_cloud_view_xyz_f32 (xyz, N_POINTS);
    o.time = (1000 + 100 * n) * MS;
    l = process (localizer, &o);
    g_assert_cmpuint (l.reason, ==, NDT_REASON_BAD_FIT);
    g_assert_cmpfloat (l.reason_value, ==, l.fit);
    g_assert_cmpfloat (l.reason_value, <, l.reason_bound);
  } while (++n < 10 && l.status != NDT_TRACK_LOST);
  g_assert_cmpuint (n, ==, 4);

  /* A prior a metre off suffices. */
  NdtObservation o = observe (80);
  o.time = 3000 * MS;
  o.has_prior = TRUE;
  o.prior = truths[80];
  o.prior.position[1] += 1;
  l = process (localizer, &o);
  assert_tracks (&l, &truths[80]);
  g_assert_true (l.relocalized);
  g_assert_cmpuint (l.previous_status, ==, NDT_TRACK_LOST);
  g_assert_cmpuint (l.registration.n_starts, ==, 4);
}

/* Bad predictions: all are found, a few of them from far since scores dropped. */
static void
test_score_drop (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  guint n_far = 0;
  for (guint i = 0; i < 60; i++) {
    NdtObservation o = observe (i);
    o.has_prior = i == 0 || i >= 10;
    o.prior = truths[i];
    if (i >= 10) {
      /* 1.5 m and 6° off, and taken at its word since the state is tracking. */
      const double delta[6] = {1.5 * cos (i), 1.5 * sin (i), 0, 0, 0, i % 2 ? 0.1 : -0.1};
      ndt_pose_retract (&o.prior, delta, &o.prior);
    }
    const NdtLocalization l = process (localizer, &o);
    assert_tracks (&l, &truths[i]);
    n_far += i >= 10 && l.registration.n_starts > 1;
  }
  g_assert_cmpuint (n_far, >, 0);
  g_assert_cmpuint (n_far, <, 50);
}

/* A first pose a kilometre away: lost, said so, and the stream goes on; what it is looked for
 * meanwhile counts from the fourth scan on. */
static void
test_far_away (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  NdtPose guess = truths[0];
  guess.position[0] += 1000;
  ndt_localizer_set_initial_pose (localizer, &guess);
  for (guint i = 0; i < 5; i++) {
    const NdtObservation o = observe (i);
    const NdtLocalization l = process (localizer, &o);
    if (i >= 3) {
      assert_tracks (&l, &truths[i]);
      g_assert_cmpint (l.searched, ==, i == 3);
      continue;
    }
    g_assert_cmpuint (l.status, ==, NDT_TRACK_LOST);
    g_assert_cmpuint (l.reason, ==, NDT_REASON_NO_MAP);
  }
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  make_stream ();
  g_test_add_func ("/localizer/tracking", test_tracking);
  g_test_add_func ("/localizer/irregular-times", test_irregular_times);
  g_test_add_func ("/localizer/odometry", test_odometry);
  g_test_add_func ("/localizer/bad-poses", test_bad_poses);
  g_test_add_func ("/localizer/mount", test_mount);
  g_test_add_func ("/localizer/initial-waits", test_initial_waits);
  g_test_add_func ("/localizer/skipped", test_skipped);
  g_test_add_func ("/localizer/thresholds", test_thresholds);
  g_test_add_func ("/localizer/lost-and-relocalized", test_lost_and_relocalized);
  g_test_add_func ("/localizer/score-drop", test_score_drop);
  g_test_add_func ("/localizer/far-away", test_far_away);
  g_test_add_func ("/localizer/deadline", test_deadline);
  g_test_add_func ("/localizer/no-ground", test_no_ground);
  const int result = g_test_run ();
  free_stream ();
  return result;
}
