/* SPDX-License-Identifier: MIT */
/* Poses that are held by another pose of their own weight beside the scan: the penalty, and
 * alignments with it. */
#include <math.h>
#include <string.h>

#include "ndtcore/math/ndt-mount.h"
#include "ndtcore/math/ndt-optimizer.h"
#include "ndtcore/track/ndt-localizer.h"
#include "tests/ndt-scene.h"
#include "tests/unit/ndt-corridor.h"

/* A symmetric matrix that is a sum of squares. */
static void
random_information (GRand *rand, double information[21])
{
  double a[6][6];
  for (guint i = 0; i < 36; i++)
    a[i / 6][i % 6] = g_rand_double_range (rand, -1, 1) * (i % 6 < 3 ? 1 : 5);
  for (guint i = 0; i < 6; i++)
    for (guint j = i; j < 6; j++) {
      information[NDT_H6 (i, j)] = 0;
      for (guint k = 0; k < 6; k++)
        information[NDT_H6 (i, j)] += a[k][i] * a[k][j];
    }
}

static double
penalize (const NdtStart *start, const NdtPose *pose, NdtOptimizerSums *sums)
{
  const NdtOptimizerParams params = {1e-6, 1e-6, 1, 1, 100, 3, 2};
  NdtOptimizer o;
  ndt_optimizer_init (&o, &params, start->guess.orientation, 0);
  for (guint k = 0; k < 3; k++)
    o.t[k] = pose->position[k] - start->guess.position[k];
  memcpy (o.q, pose->orientation, sizeof (o.q));
  memset (sums, 0, sizeof (*sums));
  ndt_optimizer_regularize (&o, start, 1000, sums);
  return sums->score;
}

/* The gradient is the derivative of the penalty by ndt_pose_retract()'s perturbation, also where
 * it is large and where a quaternion has the other sign; the Hessian's where it is small. */
static void
test_derivatives (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  for (guint n = 0; n < 500; n++) {
    NdtStart start = {.guess = ndt_test_random_pose (rand, 10, G_PI)};
    NdtPoseFactor *factor = &start.regularization.factor;
    const double size = n % 2 ? 1e-4 : 1; /* of the way from the mean */
    double way[6];
    NdtOptimizerSums sums, sides[2];
    factor->is_set = 1;
    random_information (rand, factor->information);
    for (guint k = 0; k < 6; k++)
      way[k] = size * g_rand_double_range (rand, -1, 1);
    ndt_pose_retract (&start.guess, way, &factor->mean);
    if (n % 3 == 0)
      for (guint k = 0; k < 4; k++)
        factor->mean.orientation[k] *= -1;
    g_assert_cmpfloat (penalize (&start, &start.guess, &sums), <, 0);
    for (guint i = 0; i < 6; i++) {
      /* Central differences err by the cube of the step and by rounding over it. */
      const double step = 1e-4 * size;
      for (guint side = 0; side < 2; side++) {
        double delta[6] = {0};
        NdtPose moved;
        delta[i] = side ? step : -step;
        ndt_pose_retract (&start.guess, delta, &moved);
        penalize (&start, &moved, &sides[side]);
      }
      const double gradient = (sides[1].score - sides[0].score) / (2 * step);
      double scale = 0;
      for (guint k = 0; k < 21; k++)
        scale += fabs (factor->information[k]);
      g_assert_cmpfloat_with_epsilon (sums.gradient[i], gradient, 1e-6 * scale * size);
      for (guint j = 0; j < 6 && n % 2; j++) {
        const double h = (sides[1].gradient[j] - sides[0].gradient[j]) / (2 * step);
        /* JᵀΛJ leaves out what is of the size of the residual. */
        g_assert_cmpfloat_with_epsilon (
            sums.hessian[i <= j ? NDT_H6 (i, j) : NDT_H6 (j, i)], h, 10 * scale * size);
      }
    }
  }
}

/* ½ σ⁻² e² of each direction by itself: what is said is what counts. */
static void
test_penalty (void)
{
  for (guint k = 0; k < 6; k++) {
    NdtStart start = {.guess = {{388096, 3948996, 2}, {0, 0, 0, 1}}};
    NdtOptimizerSums sums;
    double way[6] = {0};
    way[k] = 0.01;
    start.regularization.factor.is_set = 1;
    start.regularization.factor.information[NDT_H6 (k, k)] = 400;
    ndt_pose_retract (&start.guess, way, &start.regularization.factor.mean);
    /* Northings step by 5e-10, and twice a sine is an angle to 4e-6 of it. */
    g_assert_cmpfloat_with_epsilon (
        penalize (&start, &start.guess, &sums), -0.5 * 400 * 1e-4, 1e-6);
    g_assert_cmpfloat_with_epsilon (sums.gradient[k], 400 * 0.01, 1e-3);
    g_assert_cmpfloat_with_epsilon (sums.hessian[NDT_H6 (k, k)], -400, 0.02);
  }
}

/* Along the corridor the pose goes where the factor says, the nearer the more it knows; across it
 * the walls hold it. At the end the pull of both is the same. */
static void
test_alignment (void)
{
  NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
  double last = INFINITY;
  Corridor c;
  corridor_init (&c);
  params.translation_epsilon = params.rotation_epsilon = 1e-6;
  for (guint k = 0; k < 4; k++) {
    NdtStart start = {.guess = c.truth};
    NdtPoseFactor *factor = &start.regularization.factor;
    NdtAlignResult result, again;
    memset (&result, 0, sizeof (result));
    memset (&again, 0, sizeof (again));
    factor->is_set = 1;
    factor->mean = c.truth;
    factor->mean.position[0] += 0.8;
    factor->mean.position[1] += 0.4;
    factor->information[NDT_H6 (0, 0)] = pow (10, 1 + k);
    g_assert_true (ndt_backend_align (c.backend, 0, &params, &start, 1, &result, NULL));
    g_assert_true (ndt_backend_align (c.backend, 0, &params, &start, 1, &again, NULL));
    g_assert_cmpmem (&result, sizeof (result), &again, sizeof (again));
    const double e = result.pose.position[0] - factor->mean.position[0];
    g_assert_cmpfloat_with_epsilon (result.objective,
        result.sums.score - 0.5 * factor->information[0] * e * e, 1e-9 * result.sums.score);
    g_assert_cmpfloat (fabs (e), <, last);
    g_assert_cmpfloat (fabs (result.pose.position[1] - c.truth.position[1]), <, 0.05);
    last = fabs (e);
  }
  g_assert_cmpfloat (last, <, 0.05);
  corridor_clear (&c);
}

/* A planar robot: height, roll and pitch are held, whatever the floor says. */
static void
test_planar (void)
{
  const NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
  NdtAlignResult result;
  NdtStart start;
  Corridor c;
  corridor_init (&c);
  memset (&start, 0, sizeof (start));
  start.guess = c.truth;
  NdtPoseFactor *factor = &start.regularization.factor;
  const double tilt[6] = {0, 0, 0.1, 0.02, -0.03, 0};
  factor->is_set = 1;
  ndt_pose_retract (&c.truth, tilt, &factor->mean);
  for (guint k = 2; k < 5; k++)
    factor->information[NDT_H6 (k, k)] = 1e9;
  g_assert_true (ndt_backend_align (c.backend, 0, &params, &start, 1, &result, NULL));
  g_assert_cmpfloat_with_epsilon (result.pose.position[2], factor->mean.position[2], 1e-3);
  for (guint k = 0; k < 2; k++)
    g_assert_cmpfloat_with_epsilon (result.pose.orientation[k], factor->mean.orientation[k], 1e-3);
  corridor_clear (&c);
}

/* One that is not set is none, whatever else is said; what is no factor is refused. */
static void
test_refused (void)
{
  const NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
  NdtAlignResult plain, result;
  Corridor c;
  corridor_init (&c);
  NdtStart start = {.guess = c.truth};
  NdtPoseFactor *factor = &start.regularization.factor;
  memset (&plain, 0, sizeof (plain));
  memset (&result, 0, sizeof (result));
  g_assert_true (ndt_backend_align (c.backend, 0, &params, &start, 1, &plain, NULL));
  for (guint i = 0; i < 4; i++) {
    g_autoptr (GError) error = NULL;
    memset (factor, 0, sizeof (*factor));
    factor->is_set = 1;
    factor->mean = c.truth;
    if (i == 0)
      factor->information[NDT_H6 (1, 2)] = NAN;
    else if (i == 1)
      factor->information[NDT_H6 (3, 3)] = -1;
    else if (i == 2)
      factor->mean.position[0] = INFINITY;
    else
      factor->mean.orientation[3] = 2;
    g_assert_false (ndt_backend_align (c.backend, 0, &params, &start, 1, &result, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
    factor->is_set = 0;
    g_assert_true (ndt_backend_align (c.backend, 0, &params, &start, 1, &result, NULL));
    g_assert_cmpmem (&result, sizeof (result), &plain, sizeof (plain));
  }
  corridor_clear (&c);
}

/* What a factor knows is in the covariance; what the scan leaves open is judged without it. */
static void
test_registration (void)
{
  NdtRegistrationParams params;
  NdtRegistration plain, held;
  Corridor c;
  corridor_init (&c);
  ndt_registration_params_init (&params);
  g_assert_true (ndt_register (c.backend, 0, &params, NDT_SEARCH_LOCAL, &c.truth, 1, &plain, NULL));
  params.regularization.factor.is_set = 1;
  params.regularization.factor.mean = c.truth;
  params.regularization.factor.information[NDT_H6 (0, 0)] = 1e6;
  g_assert_true (ndt_register (c.backend, 0, &params, NDT_SEARCH_LOCAL, &c.truth, 1, &held, NULL));
  g_assert_cmpuint (held.n_degenerate, ==, plain.n_degenerate);
  g_assert_cmpuint (held.covariance_kind, ==, NDT_POSE_COVARIANCE_LAPLACE);
  g_assert_cmpfloat (held.covariance[0], <, plain.covariance[0]);
  g_assert_cmpfloat (held.covariance[0], <=, 1e-6);
  g_assert_cmpfloat_with_epsilon (
      held.covariance[7], plain.covariance[7], 0.1 * plain.covariance[7]);
  corridor_clear (&c);
}

/* ---- A stream ---- */

enum { WITHOUT, PRIORS, ODOMETRY, N_KINDS };

/* Along the corridor at 5 m/s, ten scans a second, the sensor on a mount: with nothing else, with
 * priors off by 0.5 m a coordinate that say so, and with odometry. Each scan is tracking where
 * something tells the way, and twice gives the same bits. */
static void
test_localizer (void)
{
  enum { N = 60, N_SEEDS = 12 };
  Corridor c;
  corridor_init (&c);
  const double on_body[3] = {1.5, 0.4, 0.3};
  double worst[N_KINDS] = {0}, mean[N_KINDS] = {0}, across[N_KINDS] = {0};
  NdtPose last[2];
  /* Each kind twice, and priors with other noise. */
  for (guint run = 0; run < 2 * N_KINDS + N_SEEDS; run++) {
    const guint kind = run < 2 * N_KINDS ? run / 2 : PRIORS;
    g_autoptr (GRand) rand = g_rand_new_with_seed (run < 2 * N_KINDS ? 3 : 4 + run - 2 * N_KINDS);
    g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (c.backend);
    NdtLocalizerParams params;
    NdtLocalization l;
    ndt_localizer_params_init (&params);
    ndt_pose_from_rpy (on_body, 0, 0, 1.2, &params.sensor_pose);
    params.prior_factor = kind == PRIORS;
    params.odometry_factor = kind == ODOMETRY;
    g_assert_true (ndt_localizer_set_params (localizer, &params, NULL));
    for (guint i = 0; i < N; i++) {
      const double position[3] = {-18 + 0.5 * i, -0.3, 1.1};
      NdtPose body;
      ndt_pose_from_rpy (position, 0, 0, 0.02, &body);
      const NdtPose sensor = ndt_mount_sensor_of_body (&params.sensor_pose, &body);
      g_autofree float *scan = ndt_test_scene_scan (NDT_TEST_CORRIDOR, &sensor, 1500, 20 + i);
      NdtObservation o = {.points = ndt_cloud_view_xyz_f32 (scan, 1500),
          .time = 100 * (gint64)i * G_GINT64_CONSTANT (1000000),
          .has_prior = i == 0 || kind == PRIORS,
          .prior = body,
          .has_odometry = kind == ODOMETRY,
          .odometry = body};
      if (i > 0) {
        o.has_prior_stddev = TRUE;
        for (guint k = 0; k < 2; k++) {
          o.prior_stddev[k] = 0.5;
          o.prior.position[k] += 0.5 * ndt_test_normal (rand);
        }
      }
      o.odometry.position[1] += 30;
      g_assert_true (ndt_localizer_process (localizer, &o, &l, NULL));
      if (kind != WITHOUT)
        g_assert_cmpuint (l.status, ==, NDT_TRACK_TRACKING);
      const double *p = l.registration.pose.position;
      worst[kind] = MAX (worst[kind], fabs (p[0] - position[0]));
      across[kind] = MAX (across[kind], fabs (p[1] - position[1]));
      mean[kind] += fabs (p[0] - position[0]) / N / (kind == PRIORS ? 2 + N_SEEDS : 2);
    }
    last[run % 2] = l.registration.pose;
    if (run % 2 && run < 2 * N_KINDS)
      g_assert_cmpmem (&last[0], sizeof (last[0]), &last[1], sizeof (last[1]));
  }
  g_test_message ("along, worst and mean: %.2f, %.2f m without; %.2f, %.2f m by priors; %.2f, %.2f "
                  "m by odometry",
      worst[WITHOUT], mean[WITHOUT], worst[PRIORS], mean[PRIORS], worst[ODOMETRY], mean[ODOMETRY]);
  /* Alone it stays behind. Priors are within three of their standard deviations, and off by 0.4 m
   * in the mean; many tell more than one. */
  g_assert_cmpfloat (worst[WITHOUT], >, 4);
  g_assert_cmpfloat (worst[PRIORS], <, 3 * 0.5);
  g_assert_cmpfloat (mean[PRIORS], <, 0.3);
  /* 2 % of 30 m. */
  g_assert_cmpfloat (worst[ODOMETRY], <, 0.6);
  for (guint k = PRIORS; k < N_KINDS; k++)
    g_assert_cmpfloat (across[k], <, 0.05);
  corridor_clear (&c);
}

/* The drive of before with priors as factors and along the heading, of which one scan's, after the
 * start, is metres ahead or behind: it makes the first velocities wrong. Returns how many of the
 * scans of six drives are tracking. */
static guint
count_tracking (Corridor *c, gboolean by_factor, guint wrong, double ahead)
{
  enum { N = 25, N_SEEDS = 6 };
  guint n_tracking = 0;
  for (guint seed = 0; seed < N_SEEDS; seed++) {
    g_autoptr (GRand) rand = g_rand_new_with_seed (3 + seed);
    g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (c->backend);
    NdtLocalizerParams params;
    guint n_off = 0;
    ndt_localizer_params_init (&params);
    params.prior_factor = by_factor;
    params.regularization_scale = by_factor ? 0 : 0.01;
    g_assert_true (ndt_localizer_set_params (localizer, &params, NULL));
    for (guint i = 0; i < N; i++) {
      const double position[3] = {-18 + 0.5 * i, -0.3, 1.1};
      NdtLocalization l;
      NdtPose body;
      ndt_pose_from_rpy (position, 0, 0, 0.02, &body);
      g_autofree float *scan = ndt_test_scene_scan (NDT_TEST_CORRIDOR, &body, 1500, 20 + i);
      NdtObservation o = {.points = ndt_cloud_view_xyz_f32 (scan, 1500),
          .time = 100 * (gint64)i * G_GINT64_CONSTANT (1000000),
          .has_prior = TRUE,
          .prior = body,
          .has_prior_stddev = by_factor && i > 0};
      for (guint k = 0; k < 2 && i > 0; k++) {
        o.prior_stddev[k] = 0.5;
        o.prior.position[k] += 0.5 * ndt_test_normal (rand);
      }
      if (i == wrong)
        o.prior.position[0] += ahead;
      g_assert_true (ndt_localizer_process (localizer, &o, &l, NULL));
      /* Three standard deviations of a prior. */
      const gboolean is_off = fabs (l.registration.pose.position[0] - position[0]) > 3 * 0.5;
      n_off = is_off && l.status == NDT_TRACK_TRACKING ? n_off + 1 : 0;
      g_assert_cmpuint (n_off, <=, 3);
      n_tracking += l.status == NDT_TRACK_TRACKING;
    }
  }
  g_test_message ("%s, %+.0f m at scan %u: %u of %u are tracking",
      by_factor ? "factor" : "along the heading", ahead, wrong, n_tracking, N * N_SEEDS);
  return n_tracking;
}

static void
test_wrong_prior (void)
{
  Corridor c;
  corridor_init (&c);
  /* Of 150: all but seven scans of a drive, until the velocity is known again. */
  for (guint wrong = 1; wrong <= 3; wrong += 2)
    for (gint ahead = -12; ahead <= 12; ahead += 12)
      for (guint by_factor = 0; by_factor < 2; by_factor++)
        g_assert_cmpuint (count_tracking (&c, by_factor, wrong, ahead), >, ahead ? 105 : 149);
  corridor_clear (&c);
}

/* Walls alone do not tell the height; a planar robot keeps that of its start. The sensor is on a
 * mount: what is said of the body's pose is said of the sensor's. */
static void
test_start_height (void)
{
  Corridor c;
  corridor_init (&c);
  double worst[2] = {0, 0};
  for (guint planar = 0; planar < 2; planar++) {
    g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (c.backend);
    NdtLocalizerParams params;
    ndt_localizer_params_init (&params);
    const double on_body[3] = {1.5, 0.4, 0.3};
    ndt_pose_from_rpy (on_body, 0, 0, 1.2, &params.sensor_pose);
    params.planar = planar;
    g_assert_true (ndt_localizer_set_params (localizer, &params, NULL));
    for (guint i = 0; i < 40; i++) {
      const double position[3] = {0.1 * i, -0.3, 1.1};
      NdtPose body;
      ndt_pose_from_rpy (position, 0, 0, 0.02, &body);
      const NdtPose sensor = ndt_mount_sensor_of_body (&params.sensor_pose, &body);
      g_autofree float *scan = ndt_test_scene_scan (NDT_TEST_CORRIDOR, &sensor, 1500, 20 + i);
      guint n = 0;
      for (guint k = 0; k < 1500; k++)
        if (i < 3 || (scan[3 * k + 2] > -0.9f && scan[3 * k + 2] < 0.6f))
          memmove (scan + 3 * n++, scan + 3 * k, 3 * sizeof (float));
      const NdtObservation o = {.points = ndt_cloud_view_xyz_f32 (scan, n),
          .time = 100 * (gint64)i * G_GINT64_CONSTANT (1000000),
          .has_prior = i == 0,
          .prior = body};
      NdtLocalization l;
      g_assert_true (ndt_localizer_process (localizer, &o, &l, NULL));
      worst[planar] = MAX (worst[planar], fabs (l.registration.pose.position[2] - 1.1));
    }
  }
  g_test_message ("height: %.3f m alone, %.3f m planar", worst[0], worst[1]);
  g_assert_cmpfloat (worst[1], <, 0.9 * worst[0]);
  corridor_clear (&c);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pose-factor/derivatives", test_derivatives);
  g_test_add_func ("/pose-factor/penalty", test_penalty);
  g_test_add_func ("/pose-factor/alignment", test_alignment);
  g_test_add_func ("/pose-factor/planar", test_planar);
  g_test_add_func ("/pose-factor/refused", test_refused);
  g_test_add_func ("/pose-factor/registration", test_registration);
  g_test_add_func ("/pose-factor/localizer", test_localizer);
  g_test_add_func ("/pose-factor/wrong-prior", test_wrong_prior);
  g_test_add_func ("/pose-factor/start-height", test_start_height);
  return g_test_run ();
}
