/* SPDX-License-Identifier: MIT */
/* Terms from text beside the score: their derivatives, alignments with them, a stream's. */
#include <math.h>
#include <string.h>

#include "ndtcore/align/ndt-backend.h"
#include "ndtcore/base/ndt-tuning.h"
#include "ndtcore/expression/ndt-expr-terms.h"
#include "ndtcore/math/ndt-mount.h"
#include "ndtcore/track/ndt-localizer.h"
#include "tests/ndt-scene.h"
#include "tests/unit/ndt-corridor.h"

#define ALL_POSES (NDT_EXPR_TERMS_PRIOR | NDT_EXPR_TERMS_ODOMETRY | NDT_EXPR_TERMS_FIRST)

static NdtExtraTerms *
make (const gchar *text)
{
  g_autoptr (GError) error = NULL;
  NdtExtraTerms *terms = ndt_expr_terms_new (text, &error);
  g_assert_no_error (error);
  return terms;
}

/* ---- Derivatives ---- */

static double
add (const NdtExtraTerms *terms, const NdtExtraValues *values, const NdtPose *pose,
    double gradient[6], double hessian[21])
{
  double scalars[NDT_EXTRA_SCALARS], score = 0;
  memset (gradient, 0, 6 * sizeof (double));
  memset (hessian, 0, 21 * sizeof (double));
  ndt_extra_terms_add (
      terms, values, pose->position, pose->orientation, scalars, &score, gradient, hessian);
  return score;
}

/* Each residual's by the sensor's pose, which is not the body's, against central differences; the
 * Hessian of one is its weight times the gradient's square over the residual's. */
static void
test_derivatives (void)
{
  static const gchar *const texts[] = {"(pose.x - prior.x)/0.3", "pose.yaw - odometry.yaw",
      "turn_x(pose, prior)/0.1", "turn_y(pose, first)/0.1", "turn_z(pose, odometry)/0.1",
      "huber((transform_z(pose, 2, 1, -1) - 1.5)/0.2, 1.3)", "cauchy((pose.z - first.z)/0.5, 0.7)",
      "tukey((pose.roll - 0.1)/0.4, 4)",
      "h = 1.2; sqrt((pose.x - prior.x)^2 + (pose.y - prior.y)^2 + h) - exp(pose.pitch)",
      "rotate_x(pose, 0, 1, 0) - max(rotate_y(prior, 1, 0, 0), atan2(pose.y, pose.x))"};
  g_autoptr (GRand) rand = g_rand_new_with_seed (17);
  for (guint n = 0; n < 20 * G_N_ELEMENTS (texts); n++) {
    g_autoptr (NdtExtraTerms) terms = make (texts[n % G_N_ELEMENTS (texts)]);
    NdtExtraValues values = {.weight = 2.5, .has = ALL_POSES};
    const NdtPose sensor = ndt_test_random_pose (rand, 3, 0.5);
    double gradient[6], hessian[21], other[6], ignored[21];
    values.body = ndt_test_random_pose (rand, 2, G_PI);
    for (guint i = 0; i < 3; i++)
      values.poses[i] = ndt_test_random_pose (rand, 3, 0.4);
    const double score = add (terms, &values, &sensor, gradient, hessian);
    g_assert_cmpfloat (score, <=, 0);
    for (guint i = 0; i < 6; i++) {
      /* Rounding over the step is 1e-8; where Huber's kernel begins the curvature jumps by the
       * weight over the residual's variance, 63, and a quarter of it times the step is the error.
       */
      const double step = 1e-6;
      double delta[6] = {0}, sides[2];
      NdtPose moved;
      for (guint side = 0; side < 2; side++) {
        delta[i] = side ? step : -step;
        ndt_pose_retract (&sensor, delta, &moved);
        sides[side] = add (terms, &values, &moved, other, ignored);
      }
      const double difference = (sides[1] - sides[0]) / (2 * step);
      g_assert_cmpfloat_with_epsilon (gradient[i], difference, 2e-5 * (1 + fabs (difference)));
      for (guint j = i; j < 6; j++) {
        const double h = hessian[NDT_H6 (i, j)];
        g_assert_cmpfloat_with_epsilon (
            h * h, hessian[NDT_H6 (i, i)] * hessian[NDT_H6 (j, j)], 1e-9 * (1 + h * h));
      }
    }
  }
}

/* ---- Alignments ---- */

/* Independent directions of a factor as residuals: its information is σ⁻². */
static void
test_factor (void)
{
  static const gchar text[] = "(pose.x - prior.x)/0.02; (pose.y - prior.y)/0.05;"
                              "(pose.z - prior.z)/0.1; turn_x(pose, prior)/0.01;"
                              "turn_y(pose, prior)/0.02; turn_z(pose, prior)/0.005";
  static const double sigma[6] = {0.02, 0.05, 0.1, 0.01, 0.02, 0.005};
  const double off[6] = {0.3, 0.05, -0.1, 0.01, -0.02, 0.03};
  g_autoptr (NdtExtraTerms) terms = make (text);
  const NdtPose identity = NDT_POSE_IDENTITY;
  Corridor c;
  corridor_init (&c);
  for (NdtMethod method = NDT_METHOD_NEWTON; method <= NDT_METHOD_LBFGS; method++) {
    NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
    NdtStart by_factor = {.guess = c.truth}, by_terms = {.guess = c.truth};
    NdtPoseFactor *factor = &by_factor.regularization.factor;
    NdtExtraValues *extra = &by_terms.regularization.extra;
    NdtAlignResult expected, result, plain;
    double metres, radians;
    params.method = method;
    params.translation_epsilon = params.rotation_epsilon = 1e-8;
    factor->is_set = 1;
    ndt_pose_retract (&c.truth, off, &factor->mean);
    for (guint k = 0; k < 6; k++)
      factor->information[NDT_H6 (k, k)] = 1 / (sigma[k] * sigma[k]);
    extra->weight = 1;
    extra->has = NDT_EXPR_TERMS_PRIOR;
    extra->body = identity;
    extra->poses[0] = factor->mean;
    g_assert_true (ndt_backend_align (c.backend, 0, &params, &by_factor, 1, &expected, NULL));
    params.terms = terms;
    g_assert_true (ndt_backend_align (c.backend, 0, &params, &by_terms, 1, &result, NULL));
    ndt_pose_difference (&expected.pose, &result.pose, &metres, &radians);
    g_test_message (
        "method %u: %g m, %g rad apart, %u passes", method, metres, radians, result.evaluations);
    g_assert_cmpuint (result.stop, ==, expected.stop);
    /* L-BFGS ends with a step of this length, where the other two converge quadratically. */
    const double most = method == NDT_METHOD_LBFGS ? 1e-8 / NDT_OPTIMIZER_SHORT : 1e-9;
    g_assert_cmpfloat (metres, <, most);
    g_assert_cmpfloat (radians, <, most);
    g_assert_cmpfloat_with_epsilon (
        result.objective, expected.objective, 1e-9 * fabs (expected.objective));

    /* Without a weight, or without the poses that they name, terms change no bit. */
    NdtStart start = {.guess = c.truth};
    memset (&plain, 0, sizeof plain);
    memset (&result, 0, sizeof result);
    params.terms = NULL;
    g_assert_true (ndt_backend_align (c.backend, 0, &params, &start, 1, &plain, NULL));
    params.terms = terms;
    g_assert_true (ndt_backend_align (c.backend, 0, &params, &start, 1, &result, NULL));
    g_assert_cmpmem (&result, sizeof result, &plain, sizeof plain);
    extra->has = NDT_EXPR_TERMS_FIRST;
    extra->poses[2] = factor->mean;
    g_assert_true (ndt_backend_align (c.backend, 0, &params, &by_terms, 1, &result, NULL));
    g_assert_cmpmem (&result, sizeof result, &plain, sizeof plain);
  }
  corridor_clear (&c);
}

/* What terms know is in the covariance; a residual that is not finite is no pose. */
static void
test_registration (void)
{
  g_autoptr (NdtExtraTerms) terms = make ("(pose.x - 1.5)/0.001");
  g_autoptr (NdtExtraTerms) bad = make ("sqrt(pose.x - 100)");
  NdtRegistrationParams params;
  NdtRegistration plain, held;
  NdtAlignResult result;
  Corridor c;
  corridor_init (&c);
  ndt_registration_params_init (&params);
  g_assert_true (ndt_register (c.backend, 0, &params, NDT_SEARCH_LOCAL, &c.truth, 1, &plain, NULL));
  params.align.terms = terms;
  params.regularization.extra.weight = 1;
  ndt_pose_set_identity (&params.regularization.extra.body);
  g_assert_true (ndt_register (c.backend, 0, &params, NDT_SEARCH_LOCAL, &c.truth, 1, &held, NULL));
  g_assert_cmpuint (held.n_degenerate, ==, plain.n_degenerate);
  g_assert_cmpuint (held.covariance_kind, ==, NDT_POSE_COVARIANCE_LAPLACE);
  g_assert_cmpfloat (held.covariance[0], <=, 1e-6);
  g_assert_cmpfloat_with_epsilon (
      held.covariance[7], plain.covariance[7], 0.1 * plain.covariance[7]);

  params.align.terms = bad;
  const NdtStart start = {c.truth, 0, params.regularization};
  g_assert_true (ndt_backend_align (c.backend, 0, &params.align, &start, 1, &result, NULL));
  g_assert_cmpuint (result.stop, ==, NDT_STOP_NOT_FINITE);
  corridor_clear (&c);
}

static void
test_refused (void)
{
  static const struct {
    const gchar *text, *what;
    gint code;
  } cases[] = {
      {"", "there is no residual", NDT_ERROR_FORMAT},
      {"pose.x - wheel",
          "column 10: no parameter, column or definition has the name \"wheel\"; "
          "there are pose, prior, odometry, first",
          NDT_ERROR_FORMAT},
      {"(pose.x - prior.x", "column 18: the text ends", NDT_ERROR_FORMAT},
      {"turn_x(pose, gnss)", "column 14: no pose: \"gnss\"; there are pose", NDT_ERROR_FORMAT},
      {"turn_x(pose)", "column 12: expected \",\"", NDT_ERROR_FORMAT},
      {"pose.height", "column 6: a pose has x, y, z", NDT_ERROR_FORMAT},
      {"pose.z; prior.z - first.z", "residual 2 does not depend on the pose",
          NDT_ERROR_INVALID_ARGUMENT},
      {"3", "residual 1 does not depend on the pose", NDT_ERROR_INVALID_ARGUMENT},
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_assert_null (ndt_expr_terms_new (cases[i].text, &error));
    g_assert_error (error, NDT_ERROR, cases[i].code);
    g_test_message ("%s", error->message);
    g_assert_nonnull (strstr (error->message, cases[i].what));
  }
  /* More than a device takes. */
  g_autoptr (GString) text = g_string_new ("pose.x");
  g_autoptr (GError) error = NULL;
  for (guint i = 0; i < 600; i++)
    g_string_append_printf (text, " + sin(pose.x * %u)", i + 2);
  g_assert_null (ndt_expr_terms_new (text->str, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
  g_test_message ("%s", error->message);

  NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
  g_autoptr (NdtExtraTerms) terms = make ("pose.x");
  Corridor c;
  corridor_init (&c);
  params.terms = terms;
  for (guint i = 0; i < 3; i++) {
    NdtStart start = {.guess = c.truth};
    NdtExtraValues *extra = &start.regularization.extra;
    NdtAlignResult result;
    g_clear_error (&error);
    extra->weight = i == 0 ? -1 : 1;
    ndt_pose_set_identity (&extra->body);
    if (i == 1)
      extra->body.orientation[0] = 1;
    extra->has = i == 2 ? NDT_EXPR_TERMS_FIRST : 0; /* a pose without an orientation */
    g_assert_false (ndt_backend_align (c.backend, 0, &params, &start, 1, &result, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
  }
  corridor_clear (&c);
}

/* ---- A stream ---- */

enum { WITHOUT, PRIORS, ODOMETRY, PLANAR, BAD, N_KINDS };

/* Along the corridor at 5 m/s, the sensor on a mount, as in /pose-factor/localizer: with priors off
 * by 0.5 m a coordinate, and with odometry, as terms in place of factors. Each scan is tracking
 * where something tells the way. */
static void
test_localizer (void)
{
  enum { N = 60, N_SEEDS = 12 };
  static const gchar *const texts[N_KINDS] = {NULL,
      "huber((pose.x - prior.x)/0.5, 3); huber((pose.y - prior.y)/0.5, 3)",
      "(pose.x - odometry.x)/0.02", "(pose.z - first.z)/0.05; (pose.roll - first.roll)/0.009",
      "(pose.x - odometry.x)/0.02; log(pose.z - 100)"};
  const double on_body[3] = {1.5, 0.4, 0.3};
  double worst[N_KINDS] = {0}, mean = 0;
  NdtPose last[2];
  Corridor c;
  corridor_init (&c);
  /* Each kind twice, and priors with other noise. */
  for (guint run = 0; run < 2 * N_KINDS + N_SEEDS; run++) {
    const guint kind = run < 2 * N_KINDS ? run / 2 : PRIORS;
    g_autoptr (GRand) rand = g_rand_new_with_seed (run < 2 * N_KINDS ? 3 : 4 + run - 2 * N_KINDS);
    g_autoptr (NdtExtraTerms) terms = texts[kind] ? make (texts[kind]) : NULL;
    g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (c.backend);
    NdtLocalizerParams params;
    NdtLocalization l;
    ndt_localizer_params_init (&params);
    ndt_pose_from_rpy (on_body, 0, 0, 1.2, &params.sensor_pose);
    params.registration.align.terms = terms;
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
          .has_odometry = kind == ODOMETRY || kind == BAD,
          .odometry = body};
      for (guint k = 0; i > 0 && k < 2; k++)
        o.prior.position[k] += 0.5 * ndt_test_normal (rand);
      o.odometry.position[1] += 30;
      g_assert_true (ndt_localizer_process (localizer, &o, &l, NULL));
      if (kind == ODOMETRY || kind == PRIORS)
        g_assert_cmpuint (l.status, ==, NDT_TRACK_TRACKING);
      const double *p = l.registration.pose.position;
      worst[kind] = MAX (worst[kind], fabs (p[0] - position[0]));
      if (kind == PRIORS)
        mean += fabs (p[0] - position[0]) / N / (2 + N_SEEDS);
      if (kind == PLANAR)
        g_assert_cmpfloat (fabs (p[2] - position[2]), <, 0.05);
      g_assert_true (isfinite (p[0] + p[1] + p[2]));
    }
    last[run % 2] = l.registration.pose;
    if (run % 2 && run < 2 * N_KINDS)
      g_assert_cmpmem (&last[0], sizeof (last[0]), &last[1], sizeof (last[1]));
  }
  g_test_message (
      "along, worst: %.2f m without; %.2f by priors, %.2f in the mean; %.2f by odometry; "
      "%.2f planar; %.2f not finite",
      worst[WITHOUT], worst[PRIORS], mean, worst[ODOMETRY], worst[PLANAR], worst[BAD]);
  /* Bounds of /pose-factor/localizer. */
  g_assert_cmpfloat (worst[WITHOUT], >, 4);
  g_assert_cmpfloat (worst[PRIORS], <, 3 * 0.5);
  g_assert_cmpfloat (mean, <, 0.3);
  g_assert_cmpfloat (worst[ODOMETRY], <, 0.6);
  corridor_clear (&c);
}

/* Priors 10 m off are tried in the fifth scan in a row, by a search that is without the terms.
 * Where the scan is not there it is where it was aligned before, with them: its x is known to 1 mm.
 */
static void
test_restored (void)
{
  const double position[3] = {1, -2, 1.8};
  g_autoptr (NdtExtraTerms) terms = make ("(pose.x - 1)/0.001; (pose.y - prior.y)/100");
  NdtVoxelMap *map = ndt_test_scene_map (NDT_TEST_YARD, 60000, 2);
  const NdtBackendConfig config = {-1, 1, 0};
  NdtBackend *backend = ndt_backend_open_cpu (&config, NULL);
  g_assert_true (ndt_backend_set_map (backend, map, NULL));
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  NdtLocalizerParams params;
  NdtPose body;
  guint n_searched = 0;
  ndt_pose_from_rpy (position, 0, 0, 0.3, &body);
  ndt_localizer_params_init (&params);
  params.registration.align.terms = terms;
  g_assert_true (ndt_localizer_set_params (localizer, &params, NULL));
  for (guint i = 0; i < 12; i++) {
    g_autofree float *scan = ndt_test_scene_scan (NDT_TEST_YARD, &body, 1500, 20 + i);
    NdtObservation o = {.points = ndt_cloud_view_xyz_f32 (scan, 1500),
        .time = 100 * (gint64)i * G_GINT64_CONSTANT (1000000),
        .has_prior = i == 0 || i >= 4,
        .prior = body};
    NdtLocalization l;
    if (i > 0)
      o.prior.position[0] += 10;
    g_assert_true (ndt_localizer_process (localizer, &o, &l, NULL));
    g_assert_cmpuint (l.status, ==, NDT_TRACK_TRACKING);
    n_searched += i >= 4 && l.registration.n_starts > 1;
    g_test_message ("%u: variance %g, %g m off, %u starts", i, l.registration.covariance[0],
        l.registration.pose.position[0] - position[0], l.registration.n_starts);
    /* A start has no terms, nor has the scan after it, whose motion is not known: the yard alone
     * tells x to 2.5 cm. */
    if (i >= 2)
      g_assert_cmpfloat (l.registration.covariance[0], <, 0.005 * 0.005);
  }
  g_assert_cmpuint (n_searched, >, 0);
  ndt_backend_close (backend);
  ndt_voxel_map_unref (map);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/extra-terms/derivatives", test_derivatives);
  g_test_add_func ("/extra-terms/factor", test_factor);
  g_test_add_func ("/extra-terms/registration", test_registration);
  g_test_add_func ("/extra-terms/refused", test_refused);
  g_test_add_func ("/extra-terms/localizer", test_localizer);
  g_test_add_func ("/extra-terms/restored", test_restored);
  return g_test_run ();
}
