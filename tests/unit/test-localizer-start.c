/* SPDX-License-Identifier: MIT */
/* Starts that are known to metres, and perhaps without their yaw. */
#include <math.h>
#include <string.h>

#include "localizer-stream.h"

static const double wide[6] = {3, 3, 0.3, 0.02, 0.02, G_PI};

/* Metres off, and turned round. */
static NdtPose
off (const NdtPose *truth)
{
  const double delta[6] = {5, -4, 0.2, 0, 0, 2.6};
  NdtPose pose;
  ndt_pose_retract (truth, delta, &pose);
  return pose;
}

/* A scan of the ground alone fits all over the yard. */
static NdtObservation
observe_ground (guint i)
{
  static float xyz[3 * N_POINTS];
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);
  NdtObservation o = observe (i);
  for (guint k = 0; k < 3 * N_POINTS; k++)
    xyz[k] = k % 3 == 2 ? -1.8f : (float)g_rand_double_range (rand, -5, 5);
  o.points = ndt_cloud_view_xyz_f32 (xyz, N_POINTS);
  return o;
}

static NdtLocalizer *
open_localizer (NdtBackend *backend, const double stddev[6])
{
  NdtLocalizer *localizer = ndt_localizer_new (backend);
  NdtLocalizerParams params;
  GError *error = NULL;
  ndt_localizer_params_init (&params);
  params.max_skips = 3;
  params.search_map = FALSE;
  memcpy (params.start.stddev, stddev, sizeof (params.start.stddev));
  ndt_localizer_set_params (localizer, &params, &error);
  g_assert_no_error (error);
  return localizer;
}

static gboolean
is_right (const NdtLocalization *l, const NdtPose *truth)
{
  double m, r;
  ndt_pose_difference (&l->registration.pose, truth, &m, &r);
  return m < 0.05 && r < 0.01;
}

/* A pose set by hand is searched around as far as it is said to be uncertain; by default as from
 * far, which does not reach so far. Tracking goes on from it. */
static void
test_initial (void)
{
  const double known[6] = {0};
  const NdtPose initial = off (&truths[0]);
  const NdtObservation first = observe (0);
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) near = open_localizer (backend, known);
  g_assert_true (ndt_localizer_set_initial_pose (near, &initial));
  const NdtLocalization missed = process (near, &first);
  g_assert_false (is_right (&missed, &truths[0]));
  g_assert_cmpuint (missed.registration.n_starts, ==, 4);

  g_autoptr (NdtLocalizer) localizer = open_localizer (backend, wide);
  g_assert_true (ndt_localizer_set_initial_pose (localizer, &initial));
  for (guint i = 0; i < 6; i++) {
    const NdtObservation o = observe (i);
    const NdtLocalization l = process (localizer, &o);
    assert_tracks (&l, &truths[i]);
    g_assert_cmpuint (
        l.prediction, ==, i == 0 ? NDT_PREDICTION_INITIAL : NDT_PREDICTION_CONSTANT_VELOCITY);
    /* Each scan is searched around once. */
    g_assert_cmpint (l.registration.n_starts > 32, ==, i == 0);
    g_assert_cmpint (l.registration.runner_up > 0, ==, i == 0);
  }
}

/* A prior's own deviations count where nothing else says where the body is; those of the
 * parameters where it has none. */
static void
test_prior (void)
{
  const double known[6] = {0};
  for (guint own = 0; own < 2; own++) {
    g_autoptr (NdtBackend) backend = open_backend (1);
    g_autoptr (NdtLocalizer) localizer = open_localizer (backend, own ? known : wide);
    NdtObservation o = observe (0);
    o.has_prior = TRUE;
    o.prior = off (&truths[0]);
    o.has_prior_stddev = own;
    memcpy (o.prior_stddev, wide, sizeof wide);
    const NdtLocalization l = process (localizer, &o);
    assert_tracks (&l, &truths[0]);
    g_assert_cmpuint (l.prediction, ==, NDT_PREDICTION_PRIOR);
  }
}

/* They change nothing, to the bit, where the search from far reaches as far; where they are none;
 * and while motion is known. */
static void
test_unchanged (void)
{
  static const double near[6] = {0.5, 0.5, 0.5, 0.05, 0.05, 0.05};
  static const double bad[6] = {NAN, 3, -1, 0, 0, 0};
  static const double known[6] = {0};
  static const double *const given[] = {near, bad};
  for (guint k = 0; k < G_N_ELEMENTS (given); k++) {
    g_autoptr (NdtBackend) backend = open_backend (1);
    g_autoptr (NdtLocalizer) a = open_localizer (backend, known);
    g_autoptr (NdtLocalizer) b = open_localizer (backend, known);
    for (guint i = 0; i < 12; i++) {
      NdtObservation o = observe (i);
      o.has_prior = i == 0 || i == 5;
      o.prior = i == 0 ? truths[0] : off (&truths[i]);
      const NdtLocalization x = process (a, &o);
      o.has_prior_stddev = o.has_prior;
      memcpy (o.prior_stddev, i == 0 ? given[k] : wide, sizeof wide);
      NdtLocalization y = process (b, &o);
      /* But the covariance, which has what is said of the prior. */
      memcpy (
          y.registration.covariance, x.registration.covariance, sizeof x.registration.covariance);
      assert_same (&x, &y);
      assert_tracks (&y, &truths[i]);
    }
  }
}

/* A scan that fits in many places is told, leads nowhere, and the next one is searched for around
 * the same pose. */
static void
test_ambiguous (void)
{
  const NdtPose initial = off (&truths[2]);
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = open_localizer (backend, wide);
  g_assert_true (ndt_localizer_set_initial_pose (localizer, &initial));
  for (guint i = 0; i < 2; i++) {
    const NdtObservation o = observe_ground (i);
    const NdtLocalization l = process (localizer, &o);
    g_assert_cmpuint (l.status, ==, NDT_TRACK_DEGRADED);
    g_assert_cmpuint (l.reason, ==, NDT_REASON_AMBIGUOUS);
    g_assert_cmpfloat (l.reason_value, ==, l.registration.runner_up);
    g_assert_cmpfloat (l.reason_bound, ==, NDT_AMBIGUOUS);
    g_assert_cmpuint (l.prediction, ==, NDT_PREDICTION_INITIAL);
    g_assert_cmpfloat (l.registration.runner_up, >=, NDT_AMBIGUOUS);
    g_assert_true (l.has_pose);
  }
  const NdtObservation o = observe (2);
  const NdtLocalization l = process (localizer, &o);
  g_assert_cmpuint (l.prediction, ==, NDT_PREDICTION_INITIAL);
  assert_tracks (&l, &truths[2]);
}

/* So many times, and then the stream is lost, until somebody says more. */
static void
test_gives_up (void)
{
  const NdtPose initial = off (&truths[0]);
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = open_localizer (backend, wide);
  for (guint round = 0; round < 2; round++) {
    g_assert_true (ndt_localizer_set_initial_pose (localizer, &initial));
    for (guint i = 0; i <= 3; i++) {
      const NdtObservation o = observe_ground (i);
      const NdtLocalization l = process (localizer, &o);
      g_assert_cmpuint (l.status, ==, i < 3 ? NDT_TRACK_DEGRADED : NDT_TRACK_LOST);
    }
    const NdtObservation o = observe (5);
    const NdtLocalization l = process (localizer, &o);
    g_assert_cmpuint (l.status, ==, NDT_TRACK_LOST);
    g_assert_cmpuint (l.reason, ==, NDT_REASON_NO_START);
  }
  g_assert_true (ndt_localizer_set_initial_pose (localizer, &initial));
  const NdtObservation o = observe (0);
  const NdtLocalization l = process (localizer, &o);
  assert_tracks (&l, &truths[0]);
}

/* A prior that comes meanwhile is newer. One that is ambiguous itself is tried again as well, with
 * its own deviations. */
static void
test_prior_instead (void)
{
  NdtPose initial = truths[0];
  initial.position[0] += 60; /* where there is nothing to find */
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = open_localizer (backend, wide);
  g_assert_true (ndt_localizer_set_initial_pose (localizer, &initial));
  initial.position[0] = 5;
  g_assert_true (ndt_localizer_set_initial_pose (localizer, &initial));
  NdtObservation o = observe_ground (0);
  NdtLocalization l = process (localizer, &o);
  g_assert_cmpuint (l.reason, ==, NDT_REASON_AMBIGUOUS);

  const double narrow[6] = {0, 0, 0, 0, 0, 1};
  o = observe_ground (1);
  o.has_prior = o.has_prior_stddev = TRUE;
  o.prior = truths[2];
  memcpy (o.prior_stddev, wide, sizeof wide);
  l = process (localizer, &o);
  g_assert_cmpuint (l.prediction, ==, NDT_PREDICTION_PRIOR);
  g_assert_cmpuint (l.reason, ==, NDT_REASON_AMBIGUOUS);
  g_assert_true (memcmp (&l.guess, &o.prior, sizeof o.prior) == 0);

  NdtLocalizerParams params;
  ndt_localizer_params_init (&params);
  memcpy (params.start.stddev, narrow, sizeof narrow);
  g_assert_true (ndt_localizer_set_params (localizer, &params, NULL));
  const NdtPose prior = o.prior;
  o = observe (2);
  l = process (localizer, &o);
  g_assert_cmpuint (l.prediction, ==, NDT_PREDICTION_INITIAL);
  g_assert_true (memcmp (&l.guess, &prior, sizeof prior) == 0);
  g_assert_cmpuint (l.registration.n_starts, >, 64);
  assert_tracks (&l, &truths[2]);
}

/* A scan that cannot be tried: late, with too few points, with none that is finite. */
static NdtObservation
observe_nothing (guint kind)
{
  NdtObservation o = observe (1);
  if (kind == 0)
    o.deadline = 1;
  else if (kind == 1)
    o.points.n_points = 5;
  else
    o.points = ndt_cloud_view_xyz_f32 (nowhere, 1);
  return o;
}

/* They wait for the first one that can be tried, which is searched for as widely. */
static void
test_skipped (void)
{
  static const NdtReason rejects[] = {
      NDT_REASON_TOO_LATE, NDT_REASON_TOO_FEW_POINTS, NDT_REASON_TOO_FEW_POINTS};
  const double known[6] = {0};
  const NdtPose initial = off (&truths[5]);
  g_autoptr (NdtBackend) backend = open_backend (1);
  for (guint kind = 0; kind < 3; kind++)
    for (guint by_prior = 0; by_prior < 3; by_prior++) {
      /* A prior on the first scan, or on each. */
      g_autoptr (NdtLocalizer) localizer = open_localizer (backend, by_prior ? known : wide);
      if (!by_prior)
        g_assert_true (ndt_localizer_set_initial_pose (localizer, &initial));
      for (guint i = 3; i < 6; i++) {
        NdtObservation o = i < 5 ? observe_nothing (kind) : observe (i);
        o.time = 100 * i * MS;
        o.has_prior = o.has_prior_stddev = by_prior == 2 || (by_prior == 1 && i == 3);
        o.prior = initial;
        memcpy (o.prior_stddev, wide, sizeof wide);
        const NdtLocalization l = process (localizer, &o);
        if (i < 5) {
          g_assert_cmpuint (l.status, ==, NDT_TRACK_SKIPPED);
          g_assert_cmpuint (l.reason, ==, rejects[kind]);
        } else {
          g_assert_cmpuint (l.registration.n_starts, >, 32);
          assert_tracks (&l, &truths[i]);
        }
      }
    }
}

/* An uncertain start, a scan that is not tried, and a prior as uncertain. */
static void
test_skipped_meanwhile (void)
{
  const NdtPose initial = off (&truths[2]);
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = open_localizer (backend, wide);
  g_assert_true (ndt_localizer_set_initial_pose (localizer, &initial));
  for (guint i = 0; i < 3; i++) {
    NdtObservation o = i == 0 ? observe_ground (i) : i == 1 ? observe_nothing (0) : observe (i);
    o.has_prior = i == 2;
    o.prior = initial;
    const NdtLocalization l = process (localizer, &o);
    g_assert_cmpuint (l.reason, ==,
        i == 0   ? NDT_REASON_AMBIGUOUS
        : i == 1 ? NDT_REASON_TOO_LATE
                 : NDT_REASON_NONE);
    if (i == 2)
      assert_tracks (&l, &truths[2]);
  }
}

/* Nor is one lost at once that meets nothing at all: a scan may be of dust, or beside the map. */
static void
test_meets_nothing (void)
{
  static const float far_up[] = {0, 0, 1000};
  const NdtPose initial = off (&truths[4]);
  g_autofree float *dust = g_new (float, 3 * N_POINTS);
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = open_localizer (backend, wide);
  for (guint i = 0; i < N_POINTS; i++)
    for (guint k = 0; k < 3; k++)
      dust[3 * i + k] = far_up[k] + (float)(k < 2 ? 3 * (i % (20 + k)) : 3 * (i / 20));
  g_assert_true (ndt_localizer_set_initial_pose (localizer, &initial));
  for (guint i = 1; i < 5; i++) {
    NdtObservation o = observe (i);
    if (i < 4)
      o.points = ndt_cloud_view_xyz_f32 (dust, N_POINTS);
    const NdtLocalization l = process (localizer, &o);
    g_assert_cmpuint (l.prediction, ==, NDT_PREDICTION_INITIAL);
    if (i == 4) {
      assert_tracks (&l, &truths[i]);
      break;
    }
    g_assert_cmpuint (l.status, ==, NDT_TRACK_DEGRADED);
    g_assert_cmpuint (l.reason, ==, NDT_REASON_NO_MAP);
    g_assert_true (memcmp (&l.registration.pose, &l.guess, sizeof l.guess) == 0);
  }
}

typedef struct {
  NdtLocalization out[8];
  guint n;
} Collect;

static void
collect (guint index, const NdtLocalization *localization, gpointer data)
{
  Collect *c = data;
  g_assert_cmpuint (index, ==, c->n);
  c->out[c->n++] = *localization;
}

/* In a batch as one by one, also after a call that was cancelled. */
static void
test_batch (void)
{
  const NdtPose initial = off (&truths[0]);
  g_autoptr (NdtBackend) backend = open_backend (2);
  g_autoptr (NdtLocalizer) a = open_localizer (backend, wide), b = open_localizer (backend, wide);
  NdtObservation o[8];
  Collect c = {.n = 0};
  GError *error = NULL;
  g_assert_true (ndt_localizer_set_initial_pose (a, &initial));
  g_assert_true (ndt_localizer_set_initial_pose (b, &initial));
  for (guint i = 0; i < 8; i++)
    o[i] = i == 0 ? observe_ground (i) : observe (i);
  ndt_backend_cancel (backend, TRUE);
  g_assert_false (ndt_localizer_process_batch (b, o, 8, collect, &c, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_CANCELLED);
  g_clear_error (&error);
  ndt_backend_cancel (backend, FALSE);
  g_assert_cmpuint (c.n, ==, 0);
  ndt_localizer_process_batch (b, o, 8, collect, &c, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (c.n, ==, 8);
  for (guint i = 0; i < 8; i++) {
    const NdtLocalization l = process (a, &o[i]);
    assert_same (&l, &c.out[i]);
    if (i > 0)
      assert_tracks (&l, &truths[i]);
  }
}

static void
test_params (void)
{
  NdtLocalizerParams params;
  ndt_localizer_params_init (&params);
  g_assert_true (ndt_localizer_params_check (&params, NULL));
  params.start.stddev[5] = -1;
  g_autoptr (GError) error = NULL;
  g_assert_false (ndt_localizer_params_check (&params, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  make_stream ();
  g_test_add_func ("/localizer-start/initial", test_initial);
  g_test_add_func ("/localizer-start/prior", test_prior);
  g_test_add_func ("/localizer-start/unchanged", test_unchanged);
  g_test_add_func ("/localizer-start/ambiguous", test_ambiguous);
  g_test_add_func ("/localizer-start/gives-up", test_gives_up);
  g_test_add_func ("/localizer-start/prior-instead", test_prior_instead);
  g_test_add_func ("/localizer-start/skipped", test_skipped);
  g_test_add_func ("/localizer-start/skipped-meanwhile", test_skipped_meanwhile);
  g_test_add_func ("/localizer-start/meets-nothing", test_meets_nothing);
  g_test_add_func ("/localizer-start/batch", test_batch);
  g_test_add_func ("/localizer-start/params", test_params);
  const int result = g_test_run ();
  free_stream ();
  return result;
}
