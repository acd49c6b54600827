/* SPDX-License-Identifier: MIT */
/* The formulas: inline functions that the C compiler and nvcc both accept. Used by the reference
 * path, the vectorized CPU path and the kernels. Where one of these repeats a formula for speed
 * (placing points, and a pair's term: ndt-terms.h lists the places), a test compares it with the
 * formula here.
 *
 * Source unless said otherwise: M. Magnusson, "The Three-Dimensional Normal-Distributions
 * Transform", Örebro 2009, chapter 6; derivatives by a perturbation of the pose about its own
 * position are derived in docs/mathematics.md. */
#pragma once

#include <math.h>
#include <stdint.h>

#include "ndt-cells.h"
#include "ndt-types.h"

/* ---- Quaternions (x, y, z, w) and rotations ---- */

NDT_INLINE void
ndt_quat_multiply (const double a[4], const double b[4], double out[4])
{
  const double x = a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1];
  const double y = a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0];
  const double z = a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3];
  const double w = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2];
  out[0] = x;
  out[1] = y;
  out[2] = z;
  out[3] = w;
}

/* Scales to unit length. Rounding makes the length of products drift, and extrapolation multiplies
 * that error, so that each update of an orientation ends with this. */
NDT_INLINE void
ndt_quat_normalize (double q[4])
{
  const double n = 1.0 / sqrt (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  q[0] *= n;
  q[1] *= n;
  q[2] *= n;
  q[3] *= n;
}

/* Row-major rotation matrix of a unit quaternion. */
NDT_INLINE void
ndt_quat_to_matrix (const double q[4], double r[9])
{
  const double xx = q[0] * q[0], yy = q[1] * q[1], zz = q[2] * q[2];
  const double xy = q[0] * q[1], xz = q[0] * q[2], yz = q[1] * q[2];
  const double wx = q[3] * q[0], wy = q[3] * q[1], wz = q[3] * q[2];
  r[0] = 1 - 2 * (yy + zz);
  r[1] = 2 * (xy - wz);
  r[2] = 2 * (xz + wy);
  r[3] = 2 * (xy + wz);
  r[4] = 1 - 2 * (xx + zz);
  r[5] = 2 * (yz - wx);
  r[6] = 2 * (xz - wy);
  r[7] = 2 * (yz + wx);
  r[8] = 1 - 2 * (xx + yy);
}

NDT_INLINE void
ndt_quat_rotate (const double q[4], const double v[3], double out[3])
{
  /* v + 2 w (u × v) + 2 u × (u × v), u the vector part. */
  const double tx = 2 * (q[1] * v[2] - q[2] * v[1]);
  const double ty = 2 * (q[2] * v[0] - q[0] * v[2]);
  const double tz = 2 * (q[0] * v[1] - q[1] * v[0]);
  const double x = v[0] + q[3] * tx + q[1] * tz - q[2] * ty;
  const double y = v[1] + q[3] * ty + q[2] * tx - q[0] * tz;
  const double z = v[2] + q[3] * tz + q[0] * ty - q[1] * tx;
  out[0] = x;
  out[1] = y;
  out[2] = z;
}

/* Quaternion of the rotation by |w| rad about w. */
NDT_INLINE void
ndt_quat_exp (const double w[3], double q[4])
{
  const double angle2 = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
  const double angle = sqrt (angle2);
  /* sin (θ/2) / θ by its series where the quotient would lose digits. */
  const double k = angle < 1e-4 ? 0.5 - angle2 / 48 : sin (0.5 * angle) / angle;
  q[0] = k * w[0];
  q[1] = k * w[1];
  q[2] = k * w[2];
  q[3] = cos (0.5 * angle);
}

/* Rotation vector of a unit quaternion, angle in [0, π]. */
NDT_INLINE void
ndt_quat_log (const double q[4], double w[3])
{
  const double sign = q[3] < 0 ? -1.0 : 1.0;
  const double s = sqrt (q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
  const double c = sign * q[3];
  const double k = s < 1e-8 ? 2 * sign : sign * 2 * atan2 (s, c) / s;
  w[0] = k * q[0];
  w[1] = k * q[1];
  w[2] = k * q[2];
}

/* ---- Poses ---- */

NDT_INLINE NdtPose
ndt_pose_mul (const NdtPose *a, const NdtPose *b)
{
  NdtPose out;
  ndt_quat_rotate (a->orientation, b->position, out.position);
  for (int i = 0; i < 3; i++)
    out.position[i] += a->position[i];
  ndt_quat_multiply (a->orientation, b->orientation, out.orientation);
  ndt_quat_normalize (out.orientation);
  return out;
}

NDT_INLINE NdtPose
ndt_pose_inverse (const NdtPose *pose)
{
  NdtPose out;
  for (int i = 0; i < 3; i++)
    out.orientation[i] = -pose->orientation[i];
  out.orientation[3] = pose->orientation[3];
  ndt_quat_rotate (out.orientation, pose->position, out.position);
  for (int i = 0; i < 3; i++)
    out.position[i] = -out.position[i];
  return out;
}

/* (position + δt, exp (δω) R), delta = (δt, δω). */
NDT_INLINE NdtPose
ndt_pose_retracted (const NdtPose *pose, const double delta[6])
{
  NdtPose out;
  double dq[4];
  for (int i = 0; i < 3; i++)
    out.position[i] = pose->position[i] + delta[i];
  ndt_quat_exp (delta + 3, dq);
  ndt_quat_multiply (dq, pose->orientation, out.orientation);
  ndt_quat_normalize (out.orientation);
  return out;
}

/* SE(3) logarithm: twist = (ρ, ω), t = V(ω) ρ. */
NDT_INLINE void
ndt_pose_to_twist (const NdtPose *pose, double twist[6])
{
  double *rho = twist, *w = twist + 3;
  const double *t = pose->position;
  ndt_quat_log (pose->orientation, w);
  const double a2 = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
  const double a = sqrt (a2);
  /* V⁻¹ = I − [ω]/2 + k [ω]², k = (1 − θ/2 · cot (θ/2)) / θ² */
  const double k =
      a < 1e-3 ? 1.0 / 12 + a2 / 720 : (1 - 0.5 * a * cos (0.5 * a) / sin (0.5 * a)) / a2;
  const double c[3] = {
      w[1] * t[2] - w[2] * t[1], w[2] * t[0] - w[0] * t[2], w[0] * t[1] - w[1] * t[0]};
  const double cc[3] = {
      w[1] * c[2] - w[2] * c[1], w[2] * c[0] - w[0] * c[2], w[0] * c[1] - w[1] * c[0]};
  for (int i = 0; i < 3; i++)
    rho[i] = t[i] - 0.5 * c[i] + k * cc[i];
}

NDT_INLINE NdtPose
ndt_pose_from_twist (const double twist[6])
{
  NdtPose out;
  const double *rho = twist, *w = twist + 3;
  const double a2 = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
  const double a = sqrt (a2);
  /* V = I + (1 − cos θ)/θ² [ω] + (θ − sin θ)/θ³ [ω]² */
  const double k1 = a < 1e-3 ? 0.5 - a2 / 24 : (1 - cos (a)) / a2;
  const double k2 = a < 1e-3 ? 1.0 / 6 - a2 / 120 : (a - sin (a)) / (a2 * a);
  const double c[3] = {
      w[1] * rho[2] - w[2] * rho[1], w[2] * rho[0] - w[0] * rho[2], w[0] * rho[1] - w[1] * rho[0]};
  const double cc[3] = {
      w[1] * c[2] - w[2] * c[1], w[2] * c[0] - w[0] * c[2], w[0] * c[1] - w[1] * c[0]};
  for (int i = 0; i < 3; i++)
    out.position[i] = rho[i] + k1 * c[i] + k2 * cc[i];
  ndt_quat_exp (w, out.orientation);
  ndt_quat_normalize (out.orientation);
  return out;
}

/* ---- Constants of the score ---- */

/**
 * NdtGauss:
 * @d1: negative; −d1 is a term's maximum
 * @d2: positive
 */
typedef struct {
  double d1;
  double d2;
} NdtGauss;

/* Magnusson eq. 6.8, with the outlier ratio ρ in (0, 1) and the resolution in metres:
 * c1 = 10 (1 − ρ), c2 = ρ / r³. */
NDT_INLINE NdtGauss
ndt_gauss (double outlier_ratio, double resolution)
{
  const double c1 = 10 * (1 - outlier_ratio);
  const double c2 = outlier_ratio / (resolution * resolution * resolution);
  const double d3 = -log (c2);
  NdtGauss g;
  g.d1 = -log (c1 + c2) - d3;
  g.d2 = -2 * log ((-log (c1 * exp (-0.5) + c2) - d3) / g.d1);
  return g;
}

/* ---- Which voxels a point is paired with ----
 *
 * All backends pick the same pairs, so that this part is one fixed sequence of float operations.
 * Compile it without contraction (-ffp-contract=off, --fmad=false). Coordinates are relative to the
 * anchor, a corner of a cell near the pose. */

/**
 * NdtTransformF:
 * @r: row-major rotation
 * @t: translation less the anchor, metres
 * @anchor: the anchor's cell, relative to the level's origin
 *
 * A pose in the float frame of one level.
 */
typedef struct {
  float r[9];
  float t[3];
  int32_t anchor[3];
} NdtTransformF;

/* The anchor is the cell of @anchor_position, usually the start of an alignment: integer
 * differences of cells are exact, so that precision does not depend on the map's coordinates.
 * Returns 0 where the pose is not finite or beyond the range of cell indices; then no point has a
 * pair. */
NDT_INLINE int
ndt_transform_f_init (NdtTransformF *out, const NdtPose *pose, const double anchor_position[3],
    double resolution, const int64_t origin[3])
{
  double r[9];
  int valid = 1;
  ndt_quat_to_matrix (pose->orientation, r);
  for (int i = 0; i < 9; i++)
    out->r[i] = (float)r[i];
  for (int i = 0; i < 3; i++) {
    const double cell = floor (anchor_position[i] / resolution);
    const double relative = cell - (double)origin[i];
    const int in_range = fabs (relative) < 2.0 * NDT_KEY_LIMIT;
    valid &= in_range;
    out->anchor[i] = in_range ? (int32_t)relative : 0;
    out->t[i] = (float)(pose->position[i] - cell * resolution);
  }
  return valid;
}

/* a = R p: the lever arm of the derivatives; the transformed point is a + t. */
NDT_INLINE void
ndt_rotate_f (const NdtTransformF *transform, float x, float y, float z, float a[3])
{
  const float *r = transform->r;
  a[0] = fmaf (r[0], x, fmaf (r[1], y, r[2] * z));
  a[1] = fmaf (r[3], x, fmaf (r[4], y, r[5] * z));
  a[2] = fmaf (r[6], x, fmaf (r[7], y, r[8] * z));
}

/* Largest cell index, relative to the anchor, that a point may have. */
#define NDT_CELL_LIMIT 1048576.0f

/* Cell of a coordinate relative to the anchor, and the position within the cell. A point whose
 * ndt_cell_f() exceeds ±NDT_CELL_LIMIT has no cell. */
NDT_INLINE float
ndt_cell_f (float p, float inverse_resolution)
{
  return floorf (p * inverse_resolution);
}

NDT_INLINE float
ndt_local_f (float p, float cell, float resolution)
{
  return fmaf (-cell, resolution, p);
}

/* One coordinate of a voxel's mean, seen from the corner of a cell that is @offset cells before
 * the voxel's (−1, 0 or 1). */
NDT_INLINE float
ndt_neighbour_mean_f (float mean, float offset, float resolution)
{
  return fmaf (offset, resolution, mean);
}

/* With NDT_NEIGHBOURS_RADIUS a pair counts where ndt_square_f() of q = x' − μ, each coordinate
 * being ndt_local_f() − ndt_neighbour_mean_f(), is below resolution · resolution in float. */
NDT_INLINE float
ndt_square_f (const float q[3])
{
  return fmaf (q[0], q[0], fmaf (q[1], q[1], q[2] * q[2]));
}

/* ---- Terms: in float for the loops, in double for the reference path ---- */

#define NDT_REAL float
#define NDT_REAL_NAME(name) name##_f
#define NDT_REAL_EXP expf
#include "ndt-terms.h"
#undef NDT_REAL
#undef NDT_REAL_NAME
#undef NDT_REAL_EXP

#define NDT_REAL double
#define NDT_REAL_NAME(name) name##_d
#define NDT_REAL_EXP exp
#include "ndt-terms.h"
#undef NDT_REAL
#undef NDT_REAL_NAME
#undef NDT_REAL_EXP

/* ---- Voxels ---- */

/* Eigenvalues (ascending) and eigenvectors (columns of the row-major @v) of the symmetric matrix
 * xx, xy, xz, yy, yz, zz, by cyclic Jacobi rotations. */
NDT_INLINE void
ndt_eigen3 (const double m[6], double values[3], double v[9])
{
  double a[3][3] = {{m[0], m[1], m[2]}, {m[1], m[3], m[4]}, {m[2], m[4], m[5]}};
  double e[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  for (int sweep = 0; sweep < 24; sweep++) {
    const double off = a[0][1] * a[0][1] + a[0][2] * a[0][2] + a[1][2] * a[1][2];
    const double diagonal = a[0][0] * a[0][0] + a[1][1] * a[1][1] + a[2][2] * a[2][2];
    if (off <= 1e-34 * diagonal || off == 0)
      break;
    for (int p = 0; p < 2; p++) {
      for (int q = p + 1; q < 3; q++) {
        if (a[p][q] == 0)
          continue;
        const double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
        const double t = (theta >= 0 ? 1.0 : -1.0) / (fabs (theta) + sqrt (theta * theta + 1));
        const double c = 1 / sqrt (t * t + 1), s = t * c;
        for (int k = 0; k < 3; k++) {
          const double kp = a[k][p], kq = a[k][q];
          a[k][p] = c * kp - s * kq;
          a[k][q] = s * kp + c * kq;
        }
        for (int k = 0; k < 3; k++) {
          const double pk = a[p][k], qk = a[q][k];
          a[p][k] = c * pk - s * qk;
          a[q][k] = s * pk + c * qk;
        }
        for (int k = 0; k < 3; k++) {
          const double kp = e[k][p], kq = e[k][q];
          e[k][p] = c * kp - s * kq;
          e[k][q] = s * kp + c * kq;
        }
      }
    }
  }
  int order[3] = {0, 1, 2};
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2 - i; j++)
      if (a[order[j]][order[j]] > a[order[j + 1]][order[j + 1]]) {
        const int o = order[j];
        order[j] = order[j + 1];
        order[j + 1] = o;
      }
  for (int i = 0; i < 3; i++) {
    values[i] = a[order[i]][order[i]];
    for (int k = 0; k < 3; k++)
      v[3 * k + i] = e[k][order[i]];
  }
}

/* Kinds of covariance as in NdtCovarianceEstimate (0 unbiased, 1 autoware, 2 ndt-omp). Returns 0
 * where the cell is no voxel: fewer than min_points points, or no extent at all. Planes and lines
 * are kept: their small eigenvalues, zero or by rounding slightly below, are lifted. */
NDT_INLINE int
ndt_cell_to_voxel (const NdtCellSums *sums, int estimate, double min_points,
    double eigenvalue_ratio, double resolution, double mean[3], double cov[6], double icov[6])
{
  const double n = sums->n;
  if (n < min_points || n < 2)
    return 0;
  const double *s = sums->s, *ss = sums->ss;
  for (int i = 0; i < 3; i++)
    mean[i] = s[i] / n;
  double c[6] = {ss[0] - s[0] * mean[0], ss[1] - s[0] * mean[1], ss[2] - s[0] * mean[2],
      ss[3] - s[1] * mean[1], ss[4] - s[1] * mean[2], ss[5] - s[2] * mean[2]};
  if (estimate == 2) {
    /* ((I + Σxxᵀ − 2nμμᵀ)/n + μμᵀ)(n−1)/n = (I + Σ(x−μ)(x−μ)ᵀ)(n−1)/n²: nμμᵀ/n cancels μμᵀ, so that
     * it does not depend on the cell's position. */
    c[0] += 1;
    c[3] += 1;
    c[5] += 1;
    for (int i = 0; i < 6; i++)
      c[i] *= (n - 1) / (n * n);
  } else {
    if (estimate == 1) {
      c[0] += 1;
      c[3] += 1;
      c[5] += 1;
    }
    for (int i = 0; i < 6; i++)
      c[i] /= n - 1;
  }

  double value[3], v[9];
  ndt_eigen3 (c, value, v);
  /* Coinciding points leave rounding of the order 1e-16 r². */
  if (!(value[2] > 1e-12 * resolution * resolution))
    return 0;
  const double least = eigenvalue_ratio * value[2];
  for (int i = 0; i < 3; i++)
    if (value[i] < least)
      value[i] = least;
  for (int i = 0, k = 0; i < 3; i++)
    for (int j = i; j < 3; j++, k++) {
      cov[k] = icov[k] = 0;
      for (int m = 0; m < 3; m++) {
        const double vv = v[3 * i + m] * v[3 * j + m];
        cov[k] += vv * value[m];
        icov[k] += vv / value[m];
      }
    }
  return 1;
}
