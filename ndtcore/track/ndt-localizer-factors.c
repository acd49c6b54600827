/* SPDX-License-Identifier: MIT */
/* What else than the scan tells of a pose, as one factor of the alignment: docs/tracking.md. */
#include <math.h>
#include <string.h>

#include "ndt-localizer-step.h"
#include "ndtcore/expression/ndt-expr-terms.h"
#include "ndtcore/math/ndt-formulas.h"
#include "ndtcore/math/ndt-mount.h"

/* Errors of odometry, as of ndt-drift.c: a fraction of the way and metres a step; and of its
 * rotation, rad a step and a fraction of the turn. */
#define ODOMETRY_WAY 0.02
#define ODOMETRY_METRES 0.005
#define ODOMETRY_RADIANS 0.005
#define ODOMETRY_TURN 0.05
/* What the rotation of the pose before is known to, rad. */
#define POSE_RADIANS 0.005

/* A planar robot stays at its height, metres, and upright, rad. */
#define PLANAR_METRES 0.05
#define PLANAR_RADIANS 0.009

/* Smallest standard deviation that a factor may have, metres and rad. */
#define LEAST_STDDEV 1e-3

/* Sum of factors around one pose: (Σ Λ) and Σ Λ r, with r from the pose to each mean. */
typedef struct {
  NdtPose around;
  double information[6][6];
  double pull[6];
  gboolean is_set;
} Sum;

/* @mean − @around as a perturbation of @around: metres, and rad about the map's axes. */
static void
get_difference (const NdtPose *around, const NdtPose *mean, double r[6])
{
  const double *a = around->orientation, *m = mean->orientation;
  const double conjugate[4] = {-a[0], -a[1], -a[2], a[3]};
  double e[4];
  ndt_quat_multiply (m, conjugate, e);
  const double sign = e[3] < 0 ? -2 : 2;
  for (guint i = 0; i < 3; i++) {
    r[i] = mean->position[i] - around->position[i];
    r[3 + i] = sign * e[i];
  }
}

static void
add (Sum *sum, const NdtPose *mean, const double information[6][6])
{
  double r[6];
  get_difference (&sum->around, mean, r);
  for (guint i = 0; i < 6; i++)
    for (guint j = 0; j < 6; j++) {
      sum->information[i][j] += information[i][j];
      sum->pull[i] += information[i][j] * r[j];
    }
  sum->is_set = TRUE;
}

/* Each by itself; what is not above 0 is not known. */
static void
add_diagonal (Sum *sum, const NdtPose *mean, const double stddev[6])
{
  double information[6][6] = {{0}};
  for (guint i = 0; i < 6; i++)
    if (stddev[i] > 0 && isfinite (stddev[i])) {
      const double s = MAX (stddev[i], LEAST_STDDEV);
      information[i][i] = 1 / (s * s);
    }
  add (sum, mean, information);
}

static void
add_odometry (const NdtLocalizer *localizer, const NdtLocalizerStep *step, Sum *sum)
{
  const NdtTracker *tracker = &localizer->tracker;
  double way, turn, stddev[6];
  ndt_pose_difference (&step->guess.pose, &tracker->pose, &way, &turn);
  const double metres = ODOMETRY_WAY * way + ODOMETRY_METRES;
  const double radians = ODOMETRY_TURN * turn + ODOMETRY_RADIANS;
  for (guint i = 0; i < 3; i++) {
    stddev[i] = sqrt (tracker->drift.position[i][i] + metres * metres);
    stddev[3 + i] = sqrt (POSE_RADIANS * POSE_RADIANS + radians * radians);
  }
  add_diagonal (sum, &step->guess.pose, stddev);
}

/* At the height and the tilt where the drive began, turned as it is predicted. */
static void
add_planar (const NdtLocalizer *localizer, const NdtLocalizerStep *step, Sum *sum)
{
  static const double stddev[6] = {0, 0, PLANAR_METRES, PLANAR_RADIANS, PLANAR_RADIANS, 0};
  double now[3], then[3];
  NdtPose mean;
  ndt_pose_to_rpy (&step->guess.pose, &now[0], &now[1], &now[2]);
  ndt_pose_to_rpy (&localizer->planar, &then[0], &then[1], &then[2]);
  ndt_pose_from_rpy (step->guess.pose.position, then[0], then[1], now[2], &mean);
  mean.position[2] = localizer->planar.position[2];
  add_diagonal (sum, &mean, stddev);
}

/* x of Λ x = pull where Λ tells; along the rest 0 but for rounding. */
static void
solve (const Sum *sum, double x[6])
{
  double l[6][6], y[6], trace = 0;
  for (guint i = 0; i < 6; i++)
    trace += sum->information[i][i];
  for (guint j = 0; j < 6; j++)
    for (guint i = j; i < 6; i++) {
      double v = sum->information[i][j] + (i == j ? 1e-12 * trace : 0);
      for (guint k = 0; k < j; k++)
        v -= l[i][k] * l[j][k];
      l[i][j] = i == j ? sqrt (MAX (v, 1e-12 * trace)) : v / l[j][j];
    }
  for (guint i = 0; i < 6; i++) {
    y[i] = sum->pull[i];
    for (guint k = 0; k < i; k++)
      y[i] -= l[i][k] * y[k];
    y[i] /= l[i][i];
  }
  for (guint i = 6; i-- > 0;) {
    x[i] = y[i];
    for (guint k = i + 1; k < 6; k++)
      x[i] -= l[k][i] * x[k];
    x[i] /= l[i][i];
  }
}

void
ndt_localizer_step_set_factor (const NdtLocalizer *localizer, NdtLocalizerStep *step)
{
  const NdtLocalizerParams *params = &localizer->params;
  const NdtTrackerGuess *guess = &step->guess;
  const NdtObservation *observation = step->observation;
  NdtPoseFactor *factor = &step->factor;
  Sum sum = {.around = guess->pose};
  double x[6];
  memset (factor, 0, sizeof (*factor));
  step->has_extra = FALSE;
  /* What is searched for is where the scan says. */
  if (!step->tried || step->is_wide || guess->far)
    return;
  step->has_extra = params->registration.align.terms != NULL;
  step->has_first = localizer->has_planar;
  step->first = localizer->planar;
  if (params->prior_factor && guess->has_prior_term && !guess->is_apart &&
      observation->has_prior_stddev)
    add_diagonal (&sum, &step->input.prior, observation->prior_stddev);
  if (params->odometry_factor && guess->prediction == NDT_PREDICTION_ODOMETRY)
    add_odometry (localizer, step, &sum);
  if (params->planar && localizer->has_planar)
    add_planar (localizer, step, &sum);
  if (!sum.is_set)
    return;
  solve (&sum, x);
  factor->is_set = TRUE;
  ndt_pose_retract (&sum.around, x, &factor->mean);
  /* The score's curvature counts points as independent, which they are not. */
  for (guint i = 0; i < 6; i++)
    for (guint j = i; j < 6; j++)
      factor->information[NDT_H6 (i, j)] = NDT_DRIFT_CLUSTERING * sum.information[i][j];
}

NdtPose
ndt_localizer_step_get_sensor (
    const NdtLocalizer *localizer, const NdtLocalizerStep *step, const NdtPose *body)
{
  const NdtPose middle = ndt_localizer_step_is_deskewed (step)
                             ? ndt_course_move (&step->course, body,
                                   step->course.middle - step->observation->time_on_points)
                             : *body;
  return ndt_mount_sensor_of_body (ndt_localizer_get_mount (localizer), &middle);
}

void
ndt_localizer_step_get_extra (
    const NdtLocalizer *localizer, const NdtLocalizerStep *step, NdtExtraValues *extra)
{
  const NdtPose *mount = ndt_localizer_get_mount (localizer), identity = NDT_POSE_IDENTITY;
  const NdtTrackerGuess *guess = &step->guess;
  const NdtPose *bodies[] = {&step->input.prior, &guess->pose, &step->first};
  memset (extra, 0, sizeof (*extra));
  /* As of factors. */
  extra->weight = NDT_DRIFT_CLUSTERING;
  if (guess->has_prior_term && !guess->is_apart)
    extra->has |= NDT_EXPR_TERMS_PRIOR;
  if (guess->prediction == NDT_PREDICTION_ODOMETRY)
    extra->has |= NDT_EXPR_TERMS_ODOMETRY;
  if (step->has_first)
    extra->has |= NDT_EXPR_TERMS_FIRST;
  extra->body = ndt_mount_body_of_sensor (mount, &identity);
  for (guint i = 0; i < G_N_ELEMENTS (extra->poses); i++) {
    extra->poses[i] = identity;
    if (!(extra->has >> i & 1))
      continue;
    const NdtPose sensor = ndt_localizer_step_get_sensor (localizer, step, bodies[i]);
    /* Where the drive began is no place that this scan moves through. */
    extra->poses[i] = i == 2 ? step->first : ndt_mount_body_of_sensor (mount, &sensor);
  }
}

/* Steps towards where residuals and motion lead together, of residuals that are not linear. */
#define LEAD_STEPS 5

/* Adds what the extra terms tell of the body's position at @shift from the guess. Of odometry the
 * prediction has its own variance. FALSE where they are not finite. */
static gboolean
add_terms (
    const NdtLocalizer *localizer, const NdtLocalizerStep *step, const double shift[3], Sum *sum)
{
  const NdtExtraTerms *terms = localizer->params.registration.align.terms;
  NdtPose sensor = ndt_localizer_step_get_sensor (localizer, step, &step->guess.pose);
  double scalars[NDT_EXTRA_SCALARS], score = 0, gradient[6] = {0}, hessian[21] = {0};
  double all = 0;
  NdtExtraValues values;
  ndt_localizer_step_get_extra (localizer, step, &values);
  values.weight = 1;
  values.has &= NDT_EXPR_TERMS_PRIOR;
  for (guint i = 0; i < 3; i++)
    sensor.position[i] += shift[i];
  ndt_extra_terms_add (
      terms, &values, sensor.position, sensor.orientation, scalars, &score, gradient, hessian);
  for (guint i = 0; i < 3; i++)
    for (guint j = 0; j < 3; j++)
      all += gradient[i] + hessian[i <= j ? NDT_H6 (i, j) : NDT_H6 (j, i)];
  if (!isfinite (all))
    return FALSE;
  for (guint i = 0; i < 3; i++) {
    sum->pull[i] += gradient[i];
    for (guint j = 0; j < 3; j++) {
      const double h = -hessian[i <= j ? NDT_H6 (i, j) : NDT_H6 (j, i)];
      sum->information[i][j] += h;
      sum->pull[i] += h * shift[j];
    }
  }
  sum->is_set = TRUE;
  return TRUE;
}

/* What a prior by the regularization's scale tells: the way along the heading. */
static void
add_along (const NdtLocalizerStep *step, double stddev, Sum *sum)
{
  const NdtTrackerGuess *guess = &step->guess;
  const double *along = guess->direction;
  double information[6][6] = {{0}}, off = 0;
  NdtPose mean = guess->pose;
  for (guint i = 0; i < 2; i++)
    off += along[i] * (step->input.prior.position[i] - guess->pose.position[i]);
  for (guint i = 0; i < 2; i++) {
    mean.position[i] += off * along[i];
    for (guint j = 0; j < 2; j++)
      information[i][j] = along[i] * along[j] / (stddev * stddev);
  }
  add (sum, &mean, information);
}

gboolean
ndt_localizer_step_lead (const NdtLocalizer *localizer, const NdtLocalizerStep *step, double stddev,
    const double variance[3], double lead[3], double told[3][3])
{
  const NdtTrackerGuess *guess = &step->guess;
  const NdtExtraTerms *terms = localizer->params.registration.align.terms;
  const gboolean by_factor = localizer->params.prior_factor && step->observation->has_prior_stddev;
  const gboolean by_terms = terms && ndt_expr_terms_get_poses (terms) & NDT_EXPR_TERMS_PRIOR;
  const gboolean by_scale = localizer->params.regularization_scale > 0;
  double x[6] = {0}, information[3][3];
  if (!guess->has_prior_term || guess->is_apart || !(by_factor || by_terms || by_scale))
    return FALSE;
  for (guint n = 0; n < (by_terms ? LEAD_STEPS : 1); n++) {
    Sum sum = {.around = guess->pose};
    if (by_factor) {
      double position[6] = {0};
      memcpy (position, step->observation->prior_stddev, 3 * sizeof (double));
      add_diagonal (&sum, &step->input.prior, position);
    }
    if (by_scale)
      add_along (step, stddev, &sum);
    if (by_terms && !add_terms (localizer, step, x, &sum) && !sum.is_set)
      return FALSE;
    for (guint i = 0; i < 3; i++) {
      memcpy (information[i], sum.information[i], sizeof (information[i]));
      sum.information[i][i] += 1 / variance[i];
    }
    solve (&sum, x);
  }
  for (guint i = 0; i < 3; i++)
    lead[i] = guess->pose.position[i] + x[i];
  memcpy (told, information, sizeof (information));
  return TRUE;
}

void
ndt_localizer_tell_extra (NdtLocalizer *localizer)
{
  if (!localizer->is_extra_told)
    ndt_log (ndt_backend_get_log (localizer->backend), NDT_LOG_WARNING, "localizer",
        "extra-terms is not finite where a scan was aligned, which was aligned without it; said "
        "once");
  localizer->is_extra_told = TRUE;
}

void
ndt_localizer_factor_to_sensor (
    const NdtPoseFactor *body, const NdtPose *sensor, NdtPoseFactor *out)
{
  /* δp_body = δp_sensor + l × δω, with l from the body to the sensor. */
  double l[3], a[6][6] = {{0}};
  for (guint i = 0; i < 3; i++)
    l[i] = sensor->position[i] - body->mean.position[i];
  for (guint i = 0; i < 6; i++)
    a[i][i] = 1;
  for (guint i = 0; i < 3; i++) {
    a[i][3 + (i + 1) % 3] = -l[(i + 2) % 3];
    a[i][3 + (i + 2) % 3] = l[(i + 1) % 3];
  }
  out->is_set = TRUE;
  out->mean = *sensor;
  for (guint i = 0; i < 6; i++)
    for (guint j = i; j < 6; j++) {
      double sum = 0;
      for (guint k = 0; k < 6; k++)
        for (guint m = 0; m < 6; m++)
          sum += a[k][i] * a[m][j] * body->information[k <= m ? NDT_H6 (k, m) : NDT_H6 (m, k)];
      out->information[NDT_H6 (i, j)] = sum;
    }
}
