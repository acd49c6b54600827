/* SPDX-License-Identifier: MIT */
#include "ndt-registration.h"

#include <math.h>
#include <string.h>

#include "ndtcore/math/ndt-formulas.h"
#include "ndt-initial-pose.h"
#include "ndtcore/math/ndt-mount.h"
#include "ndt-search.h"
#include "ndt-whole-map.h"

/* Starts of a call of the backend for which memory is on the stack. */
#define FEW 64

/* Fraction of the best direction's information at or below which a direction is degenerate. */
#define DEGENERATE 0.015

void
ndt_registration_params_init (NdtRegistrationParams *params)
{
  static const NdtAlignParams align = NDT_ALIGN_PARAMS_DEFAULT;
  static const double x[] = {0, 0, 0.5, -0.5, 1, -1}, y[] = {0.5, -0.5, 0, 0, 0, 0};
  memset (params, 0, sizeof (*params));
  params->align = align;
  params->covariance = NDT_POSE_COVARIANCE_LAPLACE;
  params->covariance_scale = 1;
  for (guint i = 0; i < 6; i++)
    params->fixed_variance[i] = i < 3 ? 0.0225 : 0.000625;
  params->temperature = 0.05;
  params->n_offsets = G_N_ELEMENTS (x);
  memcpy (params->offset_x, x, sizeof (x));
  memcpy (params->offset_y, y, sizeof (y));
}

/* ---- Small symmetric matrices ---- */

/* Eigenvalues and eigenvectors (columns of v) of a symmetric 6×6 matrix, by cyclic Jacobi
 * rotations. */
static void
eigen6 (const double m[36], double values[6], double v[36])
{
  double a[36];
  memcpy (a, m, sizeof (a));
  for (guint i = 0; i < 36; i++)
    v[i] = i % 7 == 0;
  for (guint sweep = 0; sweep < 50; sweep++) {
    double off = 0, diagonal = 0;
    for (guint i = 0; i < 6; i++)
      for (guint j = i; j < 6; j++)
        *(i == j ? &diagonal : &off) += a[6 * i + j] * a[6 * i + j];
    if (off <= 1e-30 * diagonal || off == 0)
      break;
    for (guint p = 0; p < 5; p++)
      for (guint q = p + 1; q < 6; q++) {
        if (a[6 * p + q] == 0)
          continue;
        const double theta = (a[7 * q] - a[7 * p]) / (2 * a[6 * p + q]);
        const double t = (theta >= 0 ? 1 : -1) / (fabs (theta) + sqrt (theta * theta + 1));
        const double c = 1 / sqrt (t * t + 1), s = t * c;
        for (guint k = 0; k < 6; k++) {
          const double kp = a[6 * k + p], kq = a[6 * k + q];
          a[6 * k + p] = c * kp - s * kq;
          a[6 * k + q] = s * kp + c * kq;
        }
        for (guint k = 0; k < 6; k++) {
          const double pk = a[6 * p + k], qk = a[6 * q + k];
          a[6 * p + k] = c * pk - s * qk;
          a[6 * q + k] = s * pk + c * qk;
        }
        for (guint k = 0; k < 6; k++) {
          const double kp = v[6 * k + p], kq = v[6 * k + q];
          v[6 * k + p] = c * kp - s * kq;
          v[6 * k + q] = s * kp + c * kq;
        }
      }
  }
  for (guint i = 0; i < 6; i++)
    values[i] = a[7 * i];
}

/* −H as a full matrix, with rotations in units of 1/length rad, so that all six are metres at the
 * typical distance of points. */
static void
information (const NdtSums *sums, double length, double out[36])
{
  for (guint i = 0; i < 6; i++)
    for (guint j = 0; j < 6; j++) {
      const double k = (i < 3 ? 1 : 1 / length) * (j < 3 ? 1 : 1 / length);
      out[6 * i + j] = -k * sums->hessian[i <= j ? NDT_H6 (i, j) : NDT_H6 (j, i)];
    }
}

/* The lever arm that makes rotations comparable with translations: from the Hessian itself,
 * √(mean curvature by rotation / mean curvature by translation); 10 m where there is none. */
static double
lever (const NdtSums *sums)
{
  double t = 0, r = 0;
  for (guint i = 0; i < 3; i++) {
    t -= sums->hessian[NDT_H6 (i, i)];
    r -= sums->hessian[NDT_H6 (i + 3, i + 3)];
  }
  return t > 0 && r > 0 ? CLAMP (sqrt (r / t), 0.1, 1000) : 10;
}

/* ---- Covariance ---- */

static const NdtPose *
get_mount (const NdtRegistrationParams *params)
{
  return params->has_mount ? &params->mount : NULL;
}

/* The fixed diagonal of the body frame, rotated into the parent's. */
static void
fixed_covariance (const NdtRegistrationParams *params, const NdtPose *body, double out[36])
{
  double r[9];
  ndt_quat_to_matrix (body->orientation, r);
  memset (out, 0, 36 * sizeof (double));
  for (guint block = 0; block < 2; block++)
    for (guint i = 0; i < 3; i++)
      for (guint j = 0; j < 3; j++)
        for (guint k = 0; k < 3; k++)
          out[6 * (3 * block + i) + 3 * block + j] +=
              r[3 * i + k] * params->fixed_variance[3 * block + k] * r[3 * j + k];
}

void
ndt_registration_set_fixed_covariance (
    NdtRegistration *registration, const NdtRegistrationParams *params, const NdtPose *body)
{
  fixed_covariance (params, body, registration->covariance);
  registration->covariance_kind = NDT_POSE_COVARIANCE_FIXED;
}

/* A direction of the sensor's pose, rotation in rad times @length, as one of the body's. */
static void
put_degenerate (const NdtRegistrationParams *params, const double sensor[6], double length,
    NdtRegistration *out)
{
  double *to = out->degenerate + 6 * out->n_degenerate++, square = 0;
  for (guint k = 0; k < 6; k++)
    to[k] = k < 3 ? sensor[k] : sensor[k] / length;
  ndt_mount_twist_to_body (get_mount (params), &out->pose, to);
  for (guint k = 0; k < 6; k++) {
    to[k] *= k < 3 ? 1 : length;
    square += to[k] * to[k];
  }
  for (guint k = 0; k < 6; k++)
    to[k] /= sqrt (square);
}

/* Directions that the scan does not constrain. */
static void
find_degenerate (const NdtRegistrationParams *params, const double values[6], const double v[36],
    double length, NdtRegistration *out)
{
  double largest = 0;
  for (guint i = 0; i < 6; i++)
    largest = MAX (largest, values[i]);
  out->n_degenerate = 0;
  out->degenerate_lever = length;
  for (guint i = 0; i < 6; i++) {
    /* Eigenvalues of voxels are lifted to 0.01 of the largest, so that a direction along which all
     * surfaces are flat has about that fraction of the information of one across: a corridor has
     * 0.005 to 0.0125 of it along itself, the streets and halls of recorded scans 0.018 and more in
     * all six directions. */
    if (values[i] <= DEGENERATE * largest || largest <= 0) {
      const double direction[6] = {v[i], v[6 + i], v[12 + i], v[18 + i], v[24 + i], v[30 + i]};
      put_degenerate (params, direction, length, out);
    }
  }
}

/* Adds a factor's information to a matrix of rotations in rad times @length. */
static void
add_factor (const NdtPoseFactor *factor, double length, double m[36])
{
  for (guint i = 0; i < 6; i++)
    for (guint j = 0; j < 6; j++)
      m[6 * i + j] += factor->information[i <= j ? NDT_H6 (i, j) : NDT_H6 (j, i)] /
                      ((i < 3 ? 1 : length) * (j < 3 ? 1 : length));
}

/* Adds the extra terms' information at the sensor's pose, likewise. */
static void
add_extra (const NdtRegistrationParams *params, const NdtPose *pose, double length, double m[36])
{
  double scalars[NDT_EXTRA_SCALARS], score = 0, gradient[6] = {0}, hessian[21] = {0};
  ndt_extra_terms_add (params->align.terms, &params->regularization.extra, pose->position,
      pose->orientation, scalars, &score, gradient, hessian);
  for (guint i = 0; i < 6; i++)
    for (guint j = 0; j < 6; j++)
      m[6 * i + j] -= hessian[i <= j ? NDT_H6 (i, j) : NDT_H6 (j, i)] /
                      ((i < 3 ? 1 : length) * (j < 3 ? 1 : length));
}

/* The variance of the gradient is so many times what clusters give … */
#define SPREAD_SCALE 0.8
/* … of which their gradients count 1 + (this / points of a voxel, mean)² times: voxels of few
 * points have errors of their own, which clusters share, so that their gradients do not show
 * them … */
#define SPREAD_SPARSE 12.5
/* … and the information so many times, as that of errors that all clusters have in common … */
#define SPREAD_COMMON 0.35
/* … and, of n clusters, (this / n)² times their dispersion: of few clusters the mean of the six
 * directions is known better than each of them. */
#define SPREAD_FEW 10.0
/* Parameters that were fitted to the clusters. */
#define SPREAD_PARAMETERS 6
/* The variance, a multiple of the information, where there are no more clusters than these. */
#define SPREAD_LONE 18.0

/* out = a b. */
static void
multiply (const double a[36], const double b[36], double out[36])
{
  for (guint i = 0; i < 6; i++)
    for (guint j = 0; j < 6; j++) {
      out[6 * i + j] = 0;
      for (guint k = 0; k < 6; k++)
        out[6 * i + j] += a[6 * i + k] * b[6 * k + j];
    }
}

/* Mean over the six coordinates of Σ g² of the clusters as a multiple of the information: 1 where
 * points are independent and the score is their likelihood. */
static double
get_dispersion (const NdtAlignResult *result)
{
  double sum = 0;
  for (guint i = 0; i < 6; i++) {
    const double information = -result->sums.hessian[NDT_H6 (i, i)];
    if (information > 0)
      sum += result->spread[NDT_H6 (i, i)] / information;
  }
  return sum / 6;
}

/* Replaces @inverse, P of the information with that of penalties, by P V P, V the variance of the
 * gradient: that of penalties, and of the scan, by what its clusters differ by and by its
 * information, @scan. Rotations are in rad times @length; @density: mean number of points of the
 * map's voxels. */
static void
put_clusters (const NdtRegistrationParams *params, const NdtAlignResult *result,
    const double scan[36], const double all[36], double length, double density, double inverse[36])
{
  const double n = result->n_clusters, few = SPREAD_FEW / MAX (n, 1);
  const double sparse = density > 0 ? SPREAD_SPARSE / density : 0;
  double by_clusters = 0, by_information = n > 0 ? SPREAD_LONE : params->clustering;
  double variance[36], half[36];
  if (n > SPREAD_PARAMETERS) {
    const double scale = SPREAD_SCALE * n / (n - SPREAD_PARAMETERS);
    by_clusters = scale * (1 + sparse * sparse);
    by_information = scale * (SPREAD_COMMON + few * few * get_dispersion (result));
  }
  for (guint i = 0; i < 6; i++)
    for (guint j = 0; j < 6; j++) {
      const guint at = 6 * i + j;
      variance[at] = params->clustering * (all[at] - scan[at]) + by_information * scan[at];
      if (by_clusters > 0)
        variance[at] += by_clusters * result->spread[i <= j ? NDT_H6 (i, j) : NDT_H6 (j, i)] /
                        ((i < 3 ? 1 : length) * (j < 3 ? 1 : length));
    }
  multiply (inverse, variance, half);
  memcpy (variance, inverse, sizeof (variance));
  multiply (half, variance, inverse);
}

/* Sets the directions that the Hessian does not constrain, and the covariance where it, with that
 * of the penalty, is definite. */
static void
judge_hessian (const NdtRegistrationParams *params, const NdtAlignResult *result, double density,
    NdtRegistration *out)
{
  const NdtSums *sums = &result->sums;
  const NdtRegularization *r = &params->regularization;
  double m[36], scan[36], values[6], v[36];
  const double length = lever (sums);
  double largest = 0;
  gboolean definite = TRUE;
  information (sums, length, m);
  memcpy (scan, m, sizeof (scan));
  eigen6 (m, values, v);
  find_degenerate (params, values, v, length, out);
  if (r->scale > 0) {
    for (guint i = 0; i < 2; i++)
      for (guint j = 0; j < 2; j++)
        m[6 * i + j] += 2 * r->scale * (double)sums->n_pairs * r->direction[i] * r->direction[j];
    eigen6 (m, values, v);
  }
  if (r->factor.is_set) {
    add_factor (&r->factor, length, m);
    eigen6 (m, values, v);
  }
  if (r->extra.weight > 0 && params->align.terms && out->stop != NDT_STOP_NOT_FINITE) {
    add_extra (params, &out->pose, length, m);
    eigen6 (m, values, v);
  }
  for (guint i = 0; i < 6; i++)
    largest = MAX (largest, values[i]);
  for (guint i = 0; i < 6; i++)
    definite = definite && values[i] > 1e-9 * largest && largest > 0;
  if (!definite || params->covariance == NDT_POSE_COVARIANCE_FIXED) {
    const NdtPose body = ndt_mount_body_of_sensor (get_mount (params), &out->pose);
    ndt_registration_set_fixed_covariance (out, params, &body);
    return;
  }
  double c[36] = {0};
  for (guint i = 0; i < 6; i++)
    for (guint j = 0; j < 6; j++)
      for (guint k = 0; k < 6; k++)
        c[6 * i + j] += v[6 * i + k] * v[6 * j + k] / values[k];
  if (params->clustering > 0)
    put_clusters (params, result, scan, m, length, density, c);
  for (guint i = 0; i < 6; i++)
    for (guint j = 0; j < 6; j++)
      out->covariance[6 * i + j] = params->covariance_scale * c[6 * i + j] *
                                   (i < 3 ? 1 : 1 / length) * (j < 3 ? 1 : 1 / length);
  ndt_mount_covariance_to_body (get_mount (params), &out->pose, out->covariance);
  out->covariance_kind = NDT_POSE_COVARIANCE_LAPLACE;
}

/* Replaces the xy block of the fixed covariance by c (xx, xy, yy in the parent frame), not smaller
 * than the fixed variances along the body's axes. */
static void
put_xy (const NdtRegistrationParams *params, const NdtPose *body, const double c[3],
    NdtRegistration *out)
{
  double r[9];
  ndt_quat_to_matrix (body->orientation, r);
  const double yaw = atan2 (r[3], r[0]), cy = cos (yaw), sy = sin (yaw);
  /* Into the body frame, floored, and back. */
  double xx = cy * cy * c[0] + 2 * cy * sy * c[1] + sy * sy * c[2];
  double yy = sy * sy * c[0] - 2 * cy * sy * c[1] + cy * cy * c[2];
  const double xy = -cy * sy * c[0] + (cy * cy - sy * sy) * c[1] + cy * sy * c[2];
  xx = MAX (xx, params->fixed_variance[0]);
  yy = MAX (yy, params->fixed_variance[1]);
  fixed_covariance (params, body, out->covariance);
  out->covariance[0] = cy * cy * xx - 2 * cy * sy * xy + sy * sy * yy;
  out->covariance[7] = sy * sy * xx + 2 * cy * sy * xy + cy * cy * yy;
  out->covariance[1] = out->covariance[6] = cy * sy * (xx - yy) + (cy * cy - sy * sy) * xy;
}

/* The multi-ndt estimates: from the ends of alignments from offset poses, or from the fit of offset
 * poses. */
static gboolean
offset_covariance (NdtBackend *backend, guint slot, const NdtRegistrationParams *params,
    NdtRegistration *out, GError **error)
{
  const NdtPose *mount = get_mount (params);
  NdtPose bodies[NDT_MAX_OFFSETS + 1], poses[NDT_MAX_OFFSETS + 1]; /* the sensor's */
  double weights[NDT_MAX_OFFSETS + 1];
  const guint n = params->n_offsets + 1;
  poses[0] = out->pose;
  bodies[0] = ndt_mount_body_of_sensor (mount, &out->pose);
  for (guint i = 0; i < params->n_offsets; i++) {
    const NdtPose offset = {{params->offset_x[i], params->offset_y[i], 0}, {0, 0, 0, 1}};
    bodies[i + 1] = ndt_pose_mul (&bodies[0], &offset);
    poses[i + 1] = ndt_mount_sensor_of_body (mount, &bodies[i + 1]);
  }
  double factor;
  if (params->covariance == NDT_POSE_COVARIANCE_MULTI_NDT) {
    NdtStart starts[NDT_MAX_OFFSETS];
    NdtAlignResult results[NDT_MAX_OFFSETS];
    for (guint i = 0; i < params->n_offsets; i++)
      starts[i] = (NdtStart){poses[i + 1], 0, params->regularization};
    if (!ndt_backend_align (
            backend, slot, &params->align, starts, params->n_offsets, results, error))
      return FALSE;
    for (guint i = 0; i < params->n_offsets; i++) {
      bodies[i + 1] = ndt_mount_body_of_sensor (mount, &results[i].pose);
      out->evaluations += results[i].evaluations;
    }
    for (guint i = 0; i < n; i++)
      weights[i] = 1.0 / n;
    factor = n > 1 ? (double)n / (n - 1) : 1;
  } else {
    NdtSums sums[NDT_MAX_OFFSETS + 1];
    double best = -INFINITY, total = 0;
    if (!ndt_backend_evaluate (
            backend, slot, &params->align, 0, NDT_KIND_SCORE, poses, n, sums, error))
      return FALSE;
    out->evaluations += n;
    for (guint i = 0; i < n; i++) {
      weights[i] = sums[i].n_matched ? sums[i].nvtl / (double)sums[i].n_matched : 0;
      best = MAX (best, weights[i]);
    }
    for (guint i = 0; i < n; i++)
      total += weights[i] = exp ((weights[i] - best) / params->temperature);
    for (guint i = 0; i < n; i++)
      weights[i] /= total;
    factor = 1;
  }
  double mean[2] = {0, 0}, c[3] = {0, 0, 0};
  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < 2; k++)
      mean[k] += weights[i] * (bodies[i].position[k] - bodies[0].position[k]);
  for (guint i = 0; i < n; i++) {
    const double dx = bodies[i].position[0] - bodies[0].position[0] - mean[0];
    const double dy = bodies[i].position[1] - bodies[0].position[1] - mean[1];
    c[0] += weights[i] * dx * dx;
    c[1] += weights[i] * dx * dy;
    c[2] += weights[i] * dy * dy;
  }
  for (guint k = 0; k < 3; k++)
    c[k] *= factor * params->covariance_scale;
  put_xy (params, &bodies[0], c, out);
  out->covariance_kind = params->covariance;
  return TRUE;
}

/* ---- Registration ---- */

/* The best of alignments from all guesses. */
static gboolean
align_all (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    const NdtRegularization *regularization, const NdtPose *guesses, guint n_guesses,
    NdtAlignResult *best, guint32 *evaluations, GError **error)
{
  const guint batch = MIN (ndt_backend_get_batch (backend), n_guesses);
  NdtStart few_starts[FEW];
  NdtAlignResult few_results[FEW];
  g_autofree NdtStart *many_starts = batch > FEW ? g_new (NdtStart, batch) : NULL;
  g_autofree NdtAlignResult *many_results = batch > FEW ? g_new (NdtAlignResult, batch) : NULL;
  NdtStart *starts = many_starts ? many_starts : few_starts;
  NdtAlignResult *results = many_results ? many_results : few_results;
  for (guint first = 0; first < n_guesses; first += batch) {
    const guint n = MIN (batch, n_guesses - first);
    for (guint i = 0; i < n; i++)
      starts[i] = (NdtStart){guesses[first + i], 0, *regularization};
    if (!ndt_backend_align (backend, slot, params, starts, n, results, error))
      return FALSE;
    for (guint i = 0; i < n; i++) {
      *evaluations += results[i].evaluations;
      if (first + i == 0 || ndt_align_result_is_better (&results[i], best))
        *best = results[i];
    }
  }
  return TRUE;
}

static void
fill (NdtBackend *backend, const NdtAlignParams *align, const NdtAlignResult *best,
    NdtRegistration *out)
{
  const double resolution = ndt_backend_get_resolution (backend);
  const NdtGauss gauss = ndt_gauss (align->outlier_ratio, resolution > 0 ? resolution : 1);
  const double n_points = best->n_points, n_matched = (double)best->sums.n_matched;
  out->pose = best->pose;
  out->score = best->sums.score;
  out->objective = best->objective;
  out->transformation_probability = n_points > 0 ? best->sums.score / n_points : 0;
  out->nvtl = n_matched > 0 ? best->sums.nvtl / n_matched : 0;
  out->max_nvtl = best->max_term;
  out->matched_ratio = n_points > 0 ? n_matched / n_points : 0;
  out->n_points = best->n_points;
  out->n_pairs = best->sums.n_pairs;
  out->iterations = best->iterations;
  out->oscillation = best->oscillation;
  out->stop = best->stop;
  ndt_observability (&best->sums, gauss.d2, &out->observability);
}

static gboolean
needs_clusters (const NdtRegistrationParams *params)
{
  return params->clustering > 0 && params->covariance == NDT_POSE_COVARIANCE_LAPLACE;
}

gboolean
ndt_register_begin (NdtBackend *backend, guint slot, const NdtRegistrationParams *params,
    const NdtPose *guess, guint n_following, GError **error)
{
  const NdtStart start = {*guess, 0, params->regularization};
  NdtAlignParams align = params->align;
  align.clusters = needs_clusters (params);
  if (params->max_passes > 0)
    align.max_evaluations = (guint)CLAMP (params->max_passes, 1, G_MAXINT32);
  return ndt_backend_align_begin (backend, slot, &align, &start, n_following, error);
}

gboolean
ndt_register_end (NdtBackend *backend, NdtAlignResult *result, NdtRegistration *out, GError **error)
{
  memset (out, 0, sizeof (*out));
  if (!ndt_backend_align_end (backend, result, error))
    return FALSE;
  fill (backend, &backend->begun_params, result, out);
  out->evaluations = result->evaluations;
  out->passes = result->evaluations * ndt_search_weigh (result->n_points, result->n_points);
  out->n_starts = 1;
  return TRUE;
}

gboolean
ndt_register_complete (NdtBackend *backend, guint slot, const NdtRegistrationParams *params,
    const NdtAlignResult *result, NdtRegistration *out, GError **error)
{
  NdtAlignResult known = *result;
  double share, density;
  const gboolean ok =
      !needs_clusters (params) || ndt_backend_spread (backend, slot, &params->align, &known, error);
  ndt_backend_get_map_density (backend, &share, &density);
  judge_hessian (params, &known, density, out);
  if (params->covariance >= NDT_POSE_COVARIANCE_MULTI_NDT && result->sums.n_pairs > 0)
    return offset_covariance (backend, slot, params, out, error);
  return ok;
}

gboolean
ndt_register (NdtBackend *backend, guint slot, const NdtRegistrationParams *params,
    NdtSearch search, const NdtPose *guesses, guint n_guesses, NdtRegistration *out, GError **error)
{
  const gboolean far = search == NDT_SEARCH_FAR;
  NdtSearchCost cost = {.most = params->max_passes};
  NdtAlignParams align = params->align;
  NdtAlignResult best;
  if (n_guesses < 1 || n_guesses > 1024 || params->n_offsets > NDT_MAX_OFFSETS) {
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "1 to 1024 guesses and at most 32 offsets can be registered");
    return FALSE;
  }
  memset (out, 0, sizeof (*out));
  if (params->max_passes > 0)
    align.max_evaluations = (guint)CLAMP (params->max_passes / n_guesses, 1, G_MAXINT32);
  if (!(far ? ndt_search_far (backend, slot, &params->align, &params->regularization, guesses,
                  n_guesses, &best, &cost, error)
            : align_all (backend, slot, &align, &params->regularization, guesses, n_guesses, &best,
                  &cost.evaluations, error)))
    return FALSE;
  fill (backend, &params->align, &best, out);
  out->evaluations = cost.evaluations;
  out->passes =
      far ? cost.passes : cost.evaluations * ndt_search_weigh (best.n_points, best.n_points);
  out->n_starts = n_guesses * (far ? NDT_SEARCH_CANDIDATES : 1);
  return ndt_register_complete (backend, slot, params, &best, out, error);
}

gboolean
ndt_register_around (NdtBackend *backend, guint slot, const NdtRegistrationParams *params,
    const NdtPose *around, const NdtPoseSearch *search, NdtRegistration *out, GError **error)
{
  NdtRegistrationParams plain = *params;
  NdtAlignResult best;
  if (params->n_offsets > NDT_MAX_OFFSETS) {
    g_set_error_literal (
        error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT, "at most 32 offsets can be registered");
    return FALSE;
  }
  memset (out, 0, sizeof (*out));
  if (!ndt_initial_pose_search (backend, slot, &params->align, get_mount (params), around, search,
          &best, &out->runner_up, &out->is_ambiguous, &out->evaluations, error))
    return FALSE;
  fill (backend, &params->align, &best, out);
  out->n_starts = ndt_pose_search_count (search, ndt_backend_get_resolution (backend));
  memset (&plain.regularization, 0, sizeof (plain.regularization));
  return ndt_register_complete (backend, slot, &plain, &best, out, error);
}

gboolean
ndt_register_anywhere (NdtBackend *backend, guint slot, const NdtRegistrationParams *params,
    NdtRegistration *out, GError **error)
{
  NdtRegistrationParams plain = *params;
  NdtAlignResult best;
  if (params->n_offsets > NDT_MAX_OFFSETS) {
    g_set_error_literal (
        error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT, "at most 32 offsets can be registered");
    return FALSE;
  }
  memset (out, 0, sizeof (*out));
  if (!ndt_whole_map_search (backend, slot, &params->align, get_mount (params), &best,
          &out->runner_up, &out->is_ambiguous, &out->n_starts, &out->evaluations, error))
    return FALSE;
  fill (backend, &params->align, &best, out);
  memset (&plain.regularization, 0, sizeof (plain.regularization));
  return ndt_register_complete (backend, slot, &plain, &best, out, error);
}

/* ---- Euler derivatives ---- */

void
ndt_sums_to_xyz_euler (
    const NdtSums *sums, double roll, double pitch, double yaw, double *gradient, double *hessian)
{
  /* R = Rx Ry Rz. The rotation vector that a change of angle k makes, to first order, is its axis
   * after the rotations before it: w_roll = x, w_pitch = Rx y, w_yaw = Rx Ry z. To second order
   * log (R(e + δ) R(e)ᵀ) = Σ w_k δ_k + ½ Σ_j<k (w_j × w_k) δ_j δ_k, from Baker, Campbell and
   * Hausdorff for the product exp (w_roll δr) exp (w_pitch δp) exp (w_yaw δy), in which each later
   * factor is seen in the frame before the change. */
  const double cr = cos (roll), sr = sin (roll), cp = cos (pitch), sp = sin (pitch);
  const double w[3][3] = {{1, 0, 0}, {0, cr, sr}, {sp, -sr * cp, cr * cp}};
  double j[6][6] = {{0}}; /* δ(t, ω) / δ(x, y, z, r, p, y) */
  (void)yaw;
  for (guint i = 0; i < 3; i++) {
    j[i][i] = 1;
    for (guint k = 0; k < 3; k++)
      j[3 + i][3 + k] = w[k][i];
  }
  if (gradient)
    for (guint a = 0; a < 6; a++) {
      gradient[a] = 0;
      for (guint i = 0; i < 6; i++)
        gradient[a] += j[i][a] * sums->gradient[i];
    }
  if (!hessian)
    return;
  for (guint a = 0; a < 6; a++)
    for (guint b = 0; b < 6; b++) {
      double h = 0;
      for (guint i = 0; i < 6; i++)
        for (guint k = 0; k < 6; k++)
          h += j[i][a] * j[k][b] * sums->hessian[i <= k ? NDT_H6 (i, k) : NDT_H6 (k, i)];
      if (a >= 3 && b >= 3 && a != b) {
        const double *u = w[MIN (a, b) - 3], *v = w[MAX (a, b) - 3];
        const double c[3] = {
            u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
        for (guint i = 0; i < 3; i++)
          h += 0.5 * c[i] * sums->gradient[3 + i];
      }
      hessian[6 * a + b] = h;
    }
}
