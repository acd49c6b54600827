/* SPDX-License-Identifier: MIT */
/* Terms of the objective in one scalar type; ndt-formulas.h includes this once for float (suffix
 * _f) and once for double (_d). No include guard for that reason.
 *
 * With x' = R x + t, q = x' − μ, B = Σ⁻¹ and e = exp (−d2/2 qᵀBq), a pair of a point and a voxel
 * adds −d1 e to the score. A pair adds ten sums to the derivatives: the term s, b = Σ w Bq with w =
 * −d1 d2 e, and A = Σ w (d2 Bq (Bq)ᵀ − B).
 *
 * The reference path and the kernels' point derivatives are these functions. The two inner loops
 * have the pair's term a second time, for speed: sum_pairs() of align/ndt-kernel.c (vectors, and
 * the Jacobian applied to each pair) and add_pair() of cuda/align/ndt-cuda-chunk.cuh (no branches).
 * A change here has to be made there as well; otherwise /backend/evaluate and /gpu/evaluate fail.
 */

typedef struct {
  NDT_REAL s;
  NDT_REAL b[3];
  NDT_REAL a[6]; /* xx, xy, xz, yy, yz, zz */
} NDT_REAL_NAME (NdtPairSums);

/* Adds one pair of the score; returns its term, or 0 and adds nothing where it is not finite. */
NDT_INLINE NDT_REAL
NDT_REAL_NAME (ndt_pair_score) (NDT_REAL_NAME (NdtPairSums) * sums, const NDT_REAL q[3],
    const NDT_REAL icov[6], NDT_REAL d1, NDT_REAL d2)
{
  const NDT_REAL bq0 = icov[0] * q[0] + icov[1] * q[1] + icov[2] * q[2];
  const NDT_REAL bq1 = icov[1] * q[0] + icov[3] * q[1] + icov[4] * q[2];
  const NDT_REAL bq2 = icov[2] * q[0] + icov[4] * q[1] + icov[5] * q[2];
  const NDT_REAL m = q[0] * bq0 + q[1] * bq1 + q[2] * bq2;
  const NDT_REAL term = -d1 * NDT_REAL_EXP ((NDT_REAL)-0.5 * d2 * m);
  const NDT_REAL w = d2 * term;
  /* False for NaN as well; a term exceeds −d1 by rounding only. */
  if (!(term <= -2 * d1))
    return 0;
  sums->s += term;
  sums->b[0] += w * bq0;
  sums->b[1] += w * bq1;
  sums->b[2] += w * bq2;
  sums->a[0] += w * (d2 * bq0 * bq0 - icov[0]);
  sums->a[1] += w * (d2 * bq0 * bq1 - icov[1]);
  sums->a[2] += w * (d2 * bq0 * bq2 - icov[2]);
  sums->a[3] += w * (d2 * bq1 * bq1 - icov[3]);
  sums->a[4] += w * (d2 * bq1 * bq2 - icov[4]);
  sums->a[5] += w * (d2 * bq2 * bq2 - icov[5]);
  return term;
}

/* Adds one pair of the least-squares approach: qᵀBq weighted by w = k²/(k² + ‖q‖²), k the level's
 * resolution (Cauchy's weight of the Euclidean distance; of the Mahalanobis distance it would
 * vanish where the score does). b = Σ w Bq, A = −Σ w B. */
NDT_INLINE void
NDT_REAL_NAME (ndt_pair_least_squares) (
    NDT_REAL_NAME (NdtPairSums) * sums, const NDT_REAL q[3], const NDT_REAL icov[6], NDT_REAL k2)
{
  const NDT_REAL w = k2 / (k2 + q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
  sums->s += w;
  sums->b[0] += w * (icov[0] * q[0] + icov[1] * q[1] + icov[2] * q[2]);
  sums->b[1] += w * (icov[1] * q[0] + icov[3] * q[1] + icov[4] * q[2]);
  sums->b[2] += w * (icov[2] * q[0] + icov[4] * q[1] + icov[5] * q[2]);
  for (int i = 0; i < 6; i++)
    sums->a[i] -= w * icov[i];
}

/* What a point adds to gradient (6) and packed Hessian (21, NDT_H6), once all its pairs are summed.
 * @a is R x, the lever arm: J = [I, −[a]×]; the gradient is −Jᵀb, the Hessian JᵀAJ and, with
 * @curvature 1 (the score), the second derivative of x' by rotation:
 * ∂²(c·x')/∂ω_i∂ω_j = ½ (c_i a_j + c_j a_i) − δ_ij c·a for c = −b. */
NDT_INLINE void
NDT_REAL_NAME (ndt_point_derivatives) (const NDT_REAL_NAME (NdtPairSums) * sums,
    const NDT_REAL a[3], NDT_REAL curvature, NDT_REAL gradient[6], NDT_REAL hessian[21])
{
  const NDT_REAL *A = sums->a;
  const NDT_REAL b0 = sums->b[0], b1 = sums->b[1], b2 = sums->b[2];
  gradient[0] = -b0;
  gradient[1] = -b1;
  gradient[2] = -b2;
  gradient[3] = b1 * a[2] - b2 * a[1];
  gradient[4] = b2 * a[0] - b0 * a[2];
  gradient[5] = b0 * a[1] - b1 * a[0];

  /* C = A (−[a]×), columns A (e_j × a). */
  const NDT_REAL c00 = A[2] * a[1] - A[1] * a[2];
  const NDT_REAL c10 = A[4] * a[1] - A[3] * a[2];
  const NDT_REAL c20 = A[5] * a[1] - A[4] * a[2];
  const NDT_REAL c01 = A[0] * a[2] - A[2] * a[0];
  const NDT_REAL c11 = A[1] * a[2] - A[4] * a[0];
  const NDT_REAL c21 = A[2] * a[2] - A[5] * a[0];
  const NDT_REAL c02 = A[1] * a[0] - A[0] * a[1];
  const NDT_REAL c12 = A[3] * a[0] - A[1] * a[1];
  const NDT_REAL c22 = A[4] * a[0] - A[2] * a[1];
  hessian[0] = A[0];
  hessian[1] = A[1];
  hessian[2] = A[2];
  hessian[3] = c00;
  hessian[4] = c01;
  hessian[5] = c02;
  hessian[6] = A[3];
  hessian[7] = A[4];
  hessian[8] = c10;
  hessian[9] = c11;
  hessian[10] = c12;
  hessian[11] = A[5];
  hessian[12] = c20;
  hessian[13] = c21;
  hessian[14] = c22;

  const NDT_REAL k = (NDT_REAL)0.5 * curvature;
  const NDT_REAL ba = b0 * a[0] + b1 * a[1] + b2 * a[2];
  /* (e_i × a)·C_j plus the curvature with c = −b. */
  hessian[15] = c20 * a[1] - c10 * a[2] + curvature * (ba - b0 * a[0]);
  hessian[16] = c21 * a[1] - c11 * a[2] - k * (b0 * a[1] + b1 * a[0]);
  hessian[17] = c22 * a[1] - c12 * a[2] - k * (b0 * a[2] + b2 * a[0]);
  hessian[18] = c01 * a[2] - c21 * a[0] + curvature * (ba - b1 * a[1]);
  hessian[19] = c02 * a[2] - c22 * a[0] - k * (b1 * a[2] + b2 * a[1]);
  hessian[20] = c12 * a[0] - c02 * a[1] + curvature * (ba - b2 * a[2]);
}
