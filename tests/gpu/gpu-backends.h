/* SPDX-License-Identifier: MIT */
/* Both backends, and the tolerances to which their results agree. */
#pragma once

#include <math.h>
#include <string.h>

#include "gpu-device.h"
#include "ndtcore/base/ndt-tuning.h"
#include "ndtcore/math/ndt-formulas.h"

static const NdtAlignParams default_params = NDT_ALIGN_PARAMS_DEFAULT;
static const NdtScanFilter no_filter = NDT_SCAN_FILTER_NONE;

/* |a − b| within 1e-5 of the largest of a block: both sides are sums of floats, each exact to 6e-8
 * of its terms, and terms of a block (metres, radians, or both) are of one size. Below 1e-20 a
 * device may take terms for zero. */
static inline void
assert_close (const double *a, const double *b, const gint *index, guint n)
{
  double largest = 0;
  for (guint i = 0; i < n; i++)
    largest = MAX (largest, fabs (b[index[i]]));
  for (guint i = 0; i < n; i++)
    if (!(fabs (a[index[i]] - b[index[i]]) <= 1e-5 * largest + 1e-20))
      g_error (
          "element %d: %.9g and %.9g, largest %.9g", index[i], a[index[i]], b[index[i]], largest);
}

static inline void
assert_sums_agree (const NdtSums *a, const NdtSums *b)
{
  static const gint first[] = {0, 1, 2}, last[] = {3, 4, 5};
  static const gint tt[] = {0, 1, 2, 6, 7, 11}, tr[] = {3, 4, 5, 8, 9, 10, 12, 13, 14},
                    rr[] = {15, 16, 17, 18, 19, 20}, zero[] = {0};
  g_assert_cmpuint (a->n_pairs, ==, b->n_pairs);
  g_assert_cmpuint (a->n_matched, ==, b->n_matched);
  assert_close (&a->score, &b->score, zero, 1);
  assert_close (&a->nvtl, &b->nvtl, zero, 1);
  assert_close (a->gradient, b->gradient, first, 3);
  assert_close (a->gradient, b->gradient, last, 3);
  assert_close (a->hessian, b->hessian, tt, 6);
  assert_close (a->hessian, b->hessian, tr, 9);
  assert_close (a->hessian, b->hessian, rr, 6);
}

/* TRUE where two poses differ by at most 0.1 mm and 0.001°. */
static inline gboolean
poses_agree (const NdtPose *a, const NdtPose *b, double *metres, double *degrees)
{
  const NdtPose inverse = ndt_pose_inverse (a), between = ndt_pose_mul (&inverse, b);
  double w[3];
  ndt_quat_log (between.orientation, w);
  *metres =
      sqrt (between.position[0] * between.position[0] + between.position[1] * between.position[1] +
            between.position[2] * between.position[2]);
  *degrees = sqrt (w[0] * w[0] + w[1] * w[1] + w[2] * w[2]) * 180 / G_PI;
  return *metres <= 1e-4 && *degrees <= 1e-3;
}

static inline void
assert_poses_agree (const NdtPose *a, const NdtPose *b)
{
  double metres, degrees;
  if (!poses_agree (a, b, &metres, &degrees))
    g_error ("poses differ by %g m, %g degrees", metres, degrees);
}

/* The objective jumps where a voxel enters or leaves the search radius, so that from some starts,
 * at a watershed, rounding determines where an alignment ends. Such a start is recognized by the
 * CPU's results from starts a micrometre away, the resolution of a float at 20 m: some of these
 * differ by more than the tolerance of backends. */
static inline gboolean
is_watershed (NdtBackend *cpu, const NdtAlignParams *params, const NdtStart *start)
{
  enum { N = 32 };
  g_autoptr (GRand) rand = g_rand_new_with_seed (11);
  NdtStart starts[N] = {0};
  NdtAlignResult results[N];
  gboolean agree = TRUE;
  for (guint i = 0; i < N; i++) {
    double delta[6], metres, degrees;
    for (guint k = 0; k < 6; k++)
      delta[k] = g_rand_double_range (rand, -1, 1) * (k < 3 ? 2e-6 : 1e-7);
    starts[i] = *start;
    starts[i].guess = ndt_pose_retracted (&start->guess, delta);
    g_assert_true (ndt_backend_align (cpu, 0, params, &starts[i], 1, &results[i], NULL));
    agree = agree && poses_agree (&results[i].pose, &results[0].pose, &metres, &degrees);
  }
  return !agree;
}

/* Aligns the scan in slot 0 of both from a start. TRUE where poses agree; FALSE at a watershed, and
 * where L-BFGS, which does not converge quadratically, ends within the step that it ends with: a
 * fifth of the epsilons, 2 mm and 0.2 mrad. */
static inline gboolean
check_alignment_with (
    NdtBackend *cpu, NdtBackend *cuda, const NdtAlignParams *params, const NdtStart *start)
{
  NdtAlignResult a, b;
  double metres, degrees;
  g_assert_true (ndt_backend_align (cpu, 0, params, start, 1, &b, NULL));
  g_assert_true (ndt_backend_align (cuda, 0, params, start, 1, &a, NULL));
  g_assert_cmpuint (a.n_points, ==, b.n_points);
  if (poses_agree (&a.pose, &b.pose, &metres, &degrees))
    return TRUE;
  g_test_message ("approach %u: %g m, %g degrees; scores %.9g and %.9g, passes %u and %u",
      start->approach, metres, degrees, a.sums.score, b.sums.score, a.evaluations, b.evaluations);
  const gboolean is_near = params->method == NDT_METHOD_LBFGS &&
                           metres <= params->translation_epsilon / NDT_OPTIMIZER_SHORT &&
                           degrees <= params->rotation_epsilon / NDT_OPTIMIZER_SHORT * 180 / G_PI;
  if (!is_near && !is_watershed (cpu, params, start))
    g_error ("poses differ by %g m, %g degrees", metres, degrees);
  return FALSE;
}

static inline gboolean
check_alignment (NdtBackend *cpu, NdtBackend *cuda, NdtMethod method, const NdtStart *start)
{
  NdtAlignParams params = default_params;
  params.method = method;
  return check_alignment_with (cpu, cuda, &params, start);
}
