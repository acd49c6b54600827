/* SPDX-License-Identifier: MIT */
#include "ndtcore/ndt-localizer.h"

#include <math.h>
#include <string.h>

#include "tests/ndt-scene.h"

#define N_SCANS 130
#define N_POINTS 300
#define MS G_GINT64_CONSTANT (1000000)

static NdtVoxelMap *yard_map;
static NdtPose truths[N_SCANS];
static float *scans[N_SCANS];
static const float nowhere[3] = {NAN, NAN, NAN};

/* A loop of 5 m around the yard's middle at 2 m/s, 10 scans a second. */
static void
make_stream (void)
{
  yard_map = ndt_test_scene_map (NDT_TEST_YARD, 60000, 2);
  for (guint i = 0; i < N_SCANS; i++) {
    const double angle = 0.04 * i;
    const double position[3] = {5 * sin (angle), -5 * cos (angle), 1.8};
    ndt_pose_from_rpy (position, 0.01 * sin (angle), 0, angle, &truths[i]);
    scans[i] = ndt_test_scene_scan (NDT_TEST_YARD, &truths[i], N_POINTS, 100 + i);
  }
}

static NdtObservation
observe (guint i)
{
  NdtObservation o = {.points = ndt_cloud_view_xyz_f32 (scans[i], N_POINTS), .time = 100 * i * MS};
  return o;
}

static NdtBackend *
open_backend (guint n_threads)
{
  const NdtBackendConfig config = {-1, n_threads, 0};
  NdtBackend *backend = ndt_backend_open_cpu (&config, NULL);
  g_assert_true (ndt_backend_set_map (backend, yard_map, NULL));
  return backend;
}

static NdtLocalization
process (NdtLocalizer *localizer, const NdtObservation *observation)
{
  NdtLocalization out;
  GError *error = NULL;
  memset (&out, 0xff, sizeof out);
  ndt_localizer_process (localizer, observation, &out, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (out.status, ==, ndt_localizer_get_status (localizer));
  for (guint k = 0; k < 36; k++)
    g_assert_true (isfinite (out.registration.covariance[k]));
  return out;
}

static void
assert_tracks (const NdtLocalization *l, const NdtPose *truth)
{
  double m, r;
  ndt_pose_difference (&l->registration.pose, truth, &m, &r);
  g_assert_cmpuint (l->status, ==, NDT_TRACK_TRACKING);
  g_assert_cmpuint (l->reject, ==, NDT_REJECT_NONE);
  /* 300 points with 2 cm of noise in cells of 2 m. */
  g_assert_cmpfloat (m, <, 0.05);
  g_assert_cmpfloat (r, <, 0.01);
}

/* Everything that a caller may see, to the bit. */
static void
assert_same (const NdtLocalization *a, const NdtLocalization *b)
{
  const NdtRegistration *x = &a->registration, *y = &b->registration;
  g_assert_true (memcmp (&x->pose, &y->pose, sizeof x->pose) == 0);
  g_assert_true (memcmp (x->covariance, y->covariance, sizeof x->covariance) == 0);
  g_assert_cmpfloat (x->score, ==, y->score);
  g_assert_cmpfloat (x->nvtl, ==, y->nvtl);
  g_assert_cmpfloat (x->matched_ratio, ==, y->matched_ratio);
  g_assert_cmpuint (x->iterations, ==, y->iterations);
  g_assert_cmpuint (x->evaluations, ==, y->evaluations);
  g_assert_cmpuint (x->n_starts, ==, y->n_starts);
  g_assert_cmpuint (a->status, ==, b->status);
  g_assert_cmpuint (a->previous_status, ==, b->previous_status);
  g_assert_cmpuint (a->reject, ==, b->reject);
  g_assert_cmpuint (a->prediction, ==, b->prediction);
  g_assert_true (memcmp (&a->guess, &b->guess, sizeof a->guess) == 0);
  g_assert_cmpint (a->has_pose, ==, b->has_pose);
  g_assert_cmpuint (a->n_skipped, ==, b->n_skipped);
  g_assert_cmpint (a->relocalized, ==, b->relocalized);
}

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

  ndt_localizer_reset (localizer);
  const NdtObservation o = observe (0);
  const NdtLocalization l = process (localizer, &o);
  g_assert_cmpuint (l.status, ==, NDT_TRACK_INITIALIZING);
  g_assert_cmpuint (l.reject, ==, NDT_REJECT_NO_GUESS);
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
    g_assert_cmpuint (l.reject, ==, NDT_REJECT_TOO_FEW_POINTS);
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
  g_assert_true (ndt_localizer_set_params (localizer, &params, NULL));
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
    g_assert_cmpuint (l.reject, ==, NDT_REJECT_DEADLINE);
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
        if (skipped <= max_skips + 1) {
          double m;
          g_assert_cmpuint (l.reject, ==, NDT_REJECT_SCORE);
          g_assert_cmpuint (l.registration.n_starts, ==, 4); /* tried from far as well */
          ndt_pose_difference (&l.registration.pose, &truths[i], &m, NULL);
          g_assert_cmpfloat (m, <, 0.05);
        } else {
          g_assert_cmpuint (l.reject, ==, NDT_REJECT_NO_GUESS);
        }
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
    /* As from a bridge over the yard. */
    g_autofree float *xyz = g_memdup2 (scans[80], 12 * N_POINTS);
    for (guint i = 0; i < N_POINTS; i++)
      xyz[3 * i + 2] += 40;
    o.points = ndt_cloud_view_xyz_f32 (xyz, N_POINTS);
    o.time = (1000 + 100 * n) * MS;
    l = process (localizer, &o);
    g_assert_cmpuint (l.reject, ==, NDT_REJECT_NO_PAIRS);
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
    n_far += i > 0 && l.registration.n_starts == 4;
  }
  g_assert_cmpuint (n_far, >, 0);
  g_assert_cmpuint (n_far, <, 50);
}

/* A first pose a kilometre away: lost, said so, and the stream goes on. */
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
    g_assert_cmpuint (l.status, ==, NDT_TRACK_LOST);
    g_assert_cmpuint (l.reject, ==, i ? NDT_REJECT_NO_GUESS : NDT_REJECT_NO_PAIRS);
  }
  ndt_localizer_set_initial_pose (localizer, &truths[5]);
  const NdtObservation o = observe (5);
  const NdtLocalization l = process (localizer, &o);
  assert_tracks (&l, &truths[5]);
}

/* ---- Batches and errors ---- */

/* A stream with all that may happen in one. */
static NdtObservation
eventful (guint i)
{
  NdtObservation o = observe (i);
  o.has_prior = i == 0 || i == 60 || i % 40 == 25;
  o.prior = truths[i];
  o.prior.position[0] += 0.3;
  o.has_odometry = i > 20 && i % 5 != 0;
  o.odometry = truths[i];
  if (i % 11 == 3 || (i > 40 && i < 58))
    o.points.n_points = i % 4;
  if (i % 17 == 4)
    o.time = -1;
  return o;
}

typedef struct {
  NdtLocalization *out;
  guint n;
  NdtBackend *cancel_at_third;
} Collect;

static void
collect (guint index, const NdtLocalization *localization, gpointer data)
{
  Collect *c = data;
  g_assert_cmpuint (index, ==, c->n);
  c->out[c->n++] = *localization;
  if (c->n == 3 && c->cancel_at_third)
    ndt_backend_cancel (c->cancel_at_third, TRUE);
}

static NdtLocalization *
one_by_one (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  NdtLocalization *out = g_new (NdtLocalization, N_SCANS);
  guint counts[5] = {0};
  for (guint i = 0; i < N_SCANS; i++) {
    const NdtObservation o = eventful (i);
    out[i] = process (localizer, &o);
    counts[out[i].status]++;
  }
  g_assert_cmpuint (counts[NDT_TRACK_TRACKING], >, 60);
  g_assert_cmpuint (counts[NDT_TRACK_SKIPPED], >, 5);
  g_assert_cmpuint (counts[NDT_TRACK_LOST], >, 2);
  return out;
}

static void
test_batches (void)
{
  static const guint sizes[] = {1, 2, 7, 64};
  g_autofree NdtLocalization *expected = one_by_one ();
  for (guint s = 0; s < G_N_ELEMENTS (sizes); s++) {
    g_autoptr (NdtBackend) backend = open_backend (1 + s);
    g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
    g_autofree NdtLocalization *out = g_new (NdtLocalization, N_SCANS);
    NdtObservation o[64];
    for (guint first = 0; first < N_SCANS; first += sizes[s]) {
      const guint n = MIN (sizes[s], N_SCANS - first);
      Collect c = {out + first, 0, NULL};
      GError *error = NULL;
      for (guint i = 0; i < n; i++)
        o[i] = eventful (first + i);
      ndt_localizer_process_batch (localizer, o, n, collect, &c, &error);
      g_assert_no_error (error);
      g_assert_cmpuint (c.n, ==, n);
    }
    for (guint i = 0; i < N_SCANS; i++)
      assert_same (&out[i], &expected[i]);
  }
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  NdtObservation o[65];
  Collect c = {NULL, 0, NULL};
  for (guint i = 0; i < 65; i++)
    o[i] = observe (i);
  static const guint bad[] = {0, 65};
  for (guint b = 0; b < 2; b++) {
    g_autoptr (GError) error = NULL;
    g_assert_false (ndt_localizer_process_batch (localizer, o, bad[b], collect, &c, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
  }
}

/* An error leaves the state as it was before the scan, in the middle of a batch as well. */
static void
test_errors (void)
{
  g_autofree NdtLocalization *expected = one_by_one ();
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtBackend) other = open_backend (2);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  NdtBackend *now = backend;
  guint i = 0;
  while (i < N_SCANS) {
    NdtLocalization out[8];
    NdtObservation o[8];
    const guint n = MIN (8, N_SCANS - i);
    Collect c = {out, 0, now};
    g_autoptr (GError) error = NULL;
    for (guint k = 0; k < n; k++)
      o[k] = eventful (i + k);
    const gboolean ok = ndt_localizer_process_batch (localizer, o, n, collect, &c, &error);
    if (!ok) {
      NdtLocalization unused;
      g_autoptr (GError) again = NULL;
      g_assert_error (error, NDT_ERROR, NDT_ERROR_CANCELLED);
      g_assert_cmpuint (c.n, >=, 3);
      /* And once more, alone; scans that need no backend pass all the same. */
      if (i + c.n < N_SCANS && expected[i + c.n].prediction != NDT_PREDICTION_NONE &&
          !ndt_localizer_process (localizer, &o[c.n], &unused, &again))
        g_assert_error (again, NDT_ERROR, NDT_ERROR_CANCELLED);
    }
    for (guint k = 0; k < c.n; k++)
      assert_same (&out[k], &expected[i + k]);
    i += c.n;
    ndt_backend_cancel (now, FALSE);
    /* Another backend takes over in the middle of the stream. */
    now = now == backend ? other : backend;
    ndt_localizer_set_backend (localizer, now);
  }
}

static void
test_no_map (void)
{
  const NdtBackendConfig config = {-1, 1, 0};
  g_autoptr (NdtBackend) backend = ndt_backend_open_cpu (&config, NULL);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  NdtLocalization out;
  g_autoptr (GError) error = NULL;
  const NdtObservation o = observe (0);
  ndt_localizer_set_initial_pose (localizer, &truths[0]);
  g_assert_false (ndt_localizer_process (localizer, &o, &out, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_NO_MAP);
  g_assert_true (ndt_backend_set_map (backend, yard_map, NULL));
  const NdtLocalization l = process (localizer, &o);
  assert_tracks (&l, &truths[0]);
  g_assert_cmpuint (l.prediction, ==, NDT_PREDICTION_INITIAL);
}

static void
test_params (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  for (guint i = 0; i < 19; i++) {
    NdtLocalizerParams p;
    g_autoptr (GError) error = NULL;
    ndt_localizer_params_init (&p);
    switch (i) {
    case 0:
      p.registration.align.outlier_ratio = 1;
      break;
    case 1:
      p.registration.covariance_scale = 0;
      break;
    case 2:
      p.registration.covariance_scale = NAN;
      break;
    case 3:
      p.registration.temperature = 0;
      break;
    case 4:
      p.registration.n_offsets = NDT_MAX_OFFSETS + 1;
      break;
    case 5:
      p.min_points = 0;
      break;
    case 6:
      p.tp_threshold = -1;
      break;
    case 7:
      p.nvtl_threshold = NAN;
      break;
    case 8:
      p.nvtl_threshold_fraction = 1.1;
      break;
    case 9:
      p.matched_ratio_threshold = -0.1;
      break;
    case 10:
      p.score_drop = 2;
      break;
    case 11:
      p.score_drop = NAN;
      break;
    case 12:
      p.registration.fixed_variance[5] = 0;
      break;
    case 13:
      p.registration.fixed_variance[0] = NAN;
      break;
    case 14:
      p.registration.align.max_iterations = 0;
      break;
    case 15:
      p.sensor_pose.position[0] = NAN;
      break;
    case 16:
      p.registration.covariance = (NdtPoseCovariance)4;
      break;
    case 17:
      p.registration.offset_x[2] = INFINITY;
      break;
    case 18:
      p.registration.covariance_scale = INFINITY;
      break;
    }
    if (ndt_localizer_set_params (localizer, &p, &error))
      g_error ("case %u was taken", i);
    g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
    g_assert_cmpuint (strlen (error->message), >, 10);
  }
  /* And what was set before still is. */
  NdtObservation o = observe (0);
  o.has_prior = TRUE;
  o.prior = truths[0];
  const NdtLocalization l = process (localizer, &o);
  assert_tracks (&l, &truths[0]);
}

static void
test_names (void)
{
  for (guint i = 0; i < 5; i++)
    for (guint j = 0; j < i; j++)
      g_assert_cmpstr (ndt_track_status_to_string ((NdtTrackStatus)i), !=,
          ndt_track_status_to_string ((NdtTrackStatus)j));
  g_assert_cmpstr (ndt_track_status_to_string (NDT_TRACK_SKIPPED), ==, "skipped");
  g_assert_cmpstr (ndt_reject_to_string (NDT_REJECT_DEADLINE), ==, "deadline");
  g_assert_cmpstr (ndt_prediction_to_string (NDT_PREDICTION_PRIOR), ==, "prior");
  g_assert_cmpstr (ndt_prediction_to_string ((NdtPrediction)99), ==, "unknown");
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
  g_test_add_func ("/localizer/initial-waits", test_initial_waits);
  g_test_add_func ("/localizer/skipped", test_skipped);
  g_test_add_func ("/localizer/thresholds", test_thresholds);
  g_test_add_func ("/localizer/lost-and-relocalized", test_lost_and_relocalized);
  g_test_add_func ("/localizer/score-drop", test_score_drop);
  g_test_add_func ("/localizer/far-away", test_far_away);
  g_test_add_func ("/localizer/batches", test_batches);
  g_test_add_func ("/localizer/errors", test_errors);
  g_test_add_func ("/localizer/no-map", test_no_map);
  g_test_add_func ("/localizer/deadline", test_deadline);
  g_test_add_func ("/localizer/no-ground", test_no_ground);
  g_test_add_func ("/localizer/params", test_params);
  g_test_add_func ("/localizer/names", test_names);
  const int result = g_test_run ();
  for (guint i = 0; i < N_SCANS; i++)
    g_free (scans[i]);
  ndt_voxel_map_unref (yard_map);
  return result;
}
