/* SPDX-License-Identifier: MIT */
#include "ndt-scan-velocity.h"

#include <math.h>
#include <string.h>

#include "ndtcore/math/ndt-formulas.h"

/* Parts of a scan. Motion within a part is compensated only when the points are divided again, so
 * that there should not be too few. */
#define N_PARTS 12

/* Most steps, and most repetitions of compensation and division. */
#define MAX_STEPS 8
#define MAX_PASSES 12

/* Each step may leave nine tenths of the error: the remaining error is up to this many times the
 * last step. */
#define SLOWNESS 10

/* The score has small jumps where pairs appear and disappear: a step may lower it by this fraction.
 */
#define ROUGHNESS 0.01

/* Limits of the velocity of a vehicle with a lidar, metres and rad per second. */
#define MAX_SPEED 100
#define MAX_TURN (2 * G_PI)

/* Six of the pose, then six of the velocity, both as ndt_pose_retract() has them. */
#define N 12

static gboolean
is_plausible (const double velocity[6])
{
  const double *v = velocity, *w = velocity + 3;
  return sqrt (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) <= MAX_SPEED &&
         sqrt (w[0] * w[0] + w[1] * w[1] + w[2] * w[2]) <= MAX_TURN;
}

/* Adds a part's sums: a change of velocity by u changes the pose of points measured @seconds after
 * the middle by u times @seconds. */
static void
add_part (const NdtSums *sums, double seconds, double gradient[N], double matrix[N][N])
{
  for (guint i = 0; i < 6; i++) {
    gradient[i] += sums->gradient[i];
    gradient[6 + i] += seconds * sums->gradient[i];
    for (guint j = 0; j < 6; j++) {
      const double h = -sums->hessian[i <= j ? NDT_H6 (i, j) : NDT_H6 (j, i)];
      matrix[i][j] += h;
      matrix[i][6 + j] += seconds * h;
      matrix[6 + i][j] += seconds * h;
      matrix[6 + i][6 + j] += seconds * seconds * h;
    }
  }
}

/* Cholesky's factorization of the scaled matrix. */
static gboolean
factorize (const double matrix[N][N], const double scale[N], double damping, double l[N][N])
{
  for (guint j = 0; j < N; j++)
    for (guint i = j; i < N; i++) {
      double v = matrix[i][j] * scale[i] * scale[j] + (i == j ? damping : 0);
      for (guint k = 0; k < j; k++)
        v -= l[i][k] * l[j][k];
      if (i == j && !(v > 1e-9))
        return FALSE;
      l[i][j] = i == j ? sqrt (v) : v / l[j][j];
    }
  return TRUE;
}

/* The matrix is damped until it is positive definite. */
static gboolean
solve (const double matrix[N][N], const double gradient[N], double *damping, double step[N])
{
  double scale[N], l[N][N];
  for (guint i = 0; i < N; i++) {
    const double d = fabs (matrix[i][i]);
    if (!(d > 0) || !isfinite (d))
      return FALSE;
    scale[i] = 1 / sqrt (d);
  }
  while (!factorize (matrix, scale, *damping, l)) {
    *damping = *damping > 0 ? 3 * *damping : 0.01;
    if (*damping > 1e6)
      return FALSE;
  }
  for (guint i = 0; i < N; i++) {
    step[i] = gradient[i] * scale[i];
    for (guint k = 0; k < i; k++)
      step[i] -= l[i][k] * step[k];
    step[i] /= l[i][i];
  }
  for (guint i = N; i-- > 0;) {
    for (guint k = i + 1; k < N; k++)
      step[i] -= l[k][i] * step[k];
    step[i] /= l[i][i];
  }
  double sum = 0;
  for (guint i = 0; i < N; i++) {
    step[i] *= scale[i];
    sum += step[i];
  }
  return isfinite (sum);
}

/* The thinned points of a part, compensated to the scan's middle by some velocity. */
typedef struct {
  float *points;
  guint n;
  double seconds; /* mean of its times, from the middle */
} Part;

typedef struct {
  NdtBackend *backend;
  const NdtAlignParams *params;
  Part parts[N_PARTS];
  NdtPose pose;       /* in the middle */
  double velocity[6]; /* correction of the velocity, in the sensor's frame */
  guint64 most_points;
  gboolean is_cut;  /* by these */
  guint64 n_points; /* evaluated */
  double score;
  double gradient[N];
  double matrix[N][N];
} Fit;

static gboolean
take_parts (Fit *fit, NdtMovingScan *scan, const NdtScanMotion *motion, const NdtScanFilter *filter,
    GError **error)
{
  if (!ndt_moving_scan_divide (scan, motion, N_PARTS, error))
    return FALSE;
  for (guint i = 0; i < N_PARTS; i++) {
    Part *part = &fit->parts[i];
    NdtTimeSpan span;
    part->n = 0;
    if (!ndt_moving_scan_set_part (scan, NDT_SEARCH_SLOT, i, filter, &span, error))
      return FALSE;
    if (span.n_points == 0)
      continue;
    part->seconds = span.mean - motion->reference;
    g_free (part->points);
    part->points = g_try_new (float, 3 * span.n_points);
    if (!part->points) {
      g_set_error (error, NDT_ERROR, NDT_ERROR_NO_MEMORY,
          "There is not the memory for %" G_GUINT64_FORMAT " points", (guint64)span.n_points);
      return FALSE;
    }
    if (!ndt_backend_get_scan (
            fit->backend, NDT_SEARCH_SLOT, part->points, (guint)span.n_points, &part->n, error))
      return FALSE;
  }
  return TRUE;
}

/* Score, gradient and Hessian over all parts. */
static gboolean
evaluate (Fit *fit, GError **error)
{
  static const NdtScanFilter no_filter = NDT_SCAN_FILTER_NONE;
  memset (fit->gradient, 0, sizeof (fit->gradient));
  memset (fit->matrix, 0, sizeof (fit->matrix));
  fit->score = 0;
  for (guint i = 0; i < N_PARTS; i++) {
    const Part *part = &fit->parts[i];
    if (part->n == 0)
      continue;
    const NdtCloudView points = ndt_cloud_view_xyz_f32 (part->points, part->n);
    double twist[6];
    NdtSums sums;
    for (guint k = 0; k < 6; k++)
      twist[k] = part->seconds * fit->velocity[k];
    const NdtPose step = ndt_pose_from_twist (twist);
    const NdtPose pose = ndt_pose_mul (&fit->pose, &step);
    if (!ndt_backend_set_scan (fit->backend, NDT_SEARCH_SLOT, &points, &no_filter, error) ||
        !ndt_backend_evaluate (
            fit->backend, NDT_SEARCH_SLOT, fit->params, 0, NDT_KIND_SCORE, &pose, 1, &sums, error))
      return FALSE;
    fit->n_points += part->n;
    add_part (&sums, part->seconds, fit->gradient, fit->matrix);
    fit->score += sums.score;
  }
  return TRUE;
}

static void
move (Fit *fit, const double step[N])
{
  double r[9];
  ndt_quat_to_matrix (fit->pose.orientation, r);
  for (guint i = 0; i < 6; i++)
    for (guint k = 0; k < 3; k++)
      fit->velocity[i] += r[3 * k + i % 3] * step[6 + i / 3 * 3 + k];
  ndt_pose_retract (&fit->pose, step, &fit->pose);
}

/* Returns TRUE where one more evaluation would exceed the bound. */
static gboolean
is_spent (Fit *fit)
{
  guint64 n = 0;
  for (guint i = 0; i < N_PARTS; i++)
    n += fit->parts[i].n;
  fit->is_cut = fit->most_points > 0 && fit->n_points + n > fit->most_points;
  return fit->is_cut;
}

/* Newton steps, damped where they lower the score. */
static gboolean
maximize (Fit *fit, const NdtCourse *course, GError **error)
{
  double damping = 0;
  if (is_spent (fit))
    return TRUE;
  if (!evaluate (fit, error))
    return FALSE;
  for (guint i = 0; i < MAX_STEPS; i++) {
    double step[N], rest[6];
    Fit trial = *fit;
    if (is_spent (fit) || !solve (fit->matrix, fit->gradient, &damping, step))
      return TRUE;
    move (&trial, step);
    if (!evaluate (&trial, error))
      return FALSE;
    for (guint k = 0; k < 6; k++)
      rest[k] = SLOWNESS * step[6 + k];
    const gboolean is_small = !ndt_course_is_change (course, rest);
    fit->n_points = trial.n_points;
    if (trial.score > (1 - ROUGHNESS) * fit->score) {
      *fit = trial;
      damping = damping > 0.001 ? damping / 8 : 0;
    } else {
      damping = MAX (8 * damping, 0.01);
    }
    if (is_small)
      break;
  }
  return TRUE;
}

gboolean
ndt_scan_velocity (NdtMovingScan *scan, NdtBackend *backend, const NdtAlignParams *params,
    const NdtScanFilter *filter, const NdtPose *mount, guint64 most_points, guint64 *n_points,
    NdtCourse *course, NdtPose *sensor, GError **error)
{
  NdtScanMotion motion = {.reference = course->middle};
  Fit fit = {.backend = backend, .params = params, .pose = *sensor, .most_points = most_points};
  gboolean ok = TRUE, is_found = FALSE;
  for (guint pass = 0; pass < MAX_PASSES && ok && !is_found; pass++) {
    memset (fit.velocity, 0, sizeof (fit.velocity));
    ok = take_parts (&fit, scan, &motion, filter, error) && maximize (&fit, course, error);
    /* Rounded, so that sums that differ in their last digits give the same compensated points. */
    for (guint i = 0; i < 6; i++)
      motion.velocity[i] = rint ((motion.velocity[i] + fit.velocity[i]) * 4096) / 4096;
    if (!is_plausible (motion.velocity) || fit.is_cut)
      break;
    is_found = ok && (pass + 1 == MAX_PASSES || !ndt_course_is_change (course, fit.velocity));
  }
  *n_points += fit.n_points;
  course->is_doubtful = fit.is_cut;
  for (guint i = 0; i < N_PARTS; i++)
    g_free (fit.parts[i].points);
  if (is_found) {
    ndt_course_set_velocity (course, mount, motion.velocity);
    *sensor = fit.pose;
  }
  return ok;
}
