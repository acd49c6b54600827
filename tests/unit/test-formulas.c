/* SPDX-License-Identifier: MIT */
#include "ndtcore/align/ndt-kernel-lanes.h"
#include "ndtcore/math/ndt-formulas.h"

#include <float.h>
#include <glib.h>
#include <string.h>

#include "tests/ndt-scene.h"

/* ---- Constants ---- */

/* Values for ρ = 0.55, computed by hand from the formulas with ten digits. */
static void
test_gauss (void)
{
  static const double table[][3] = {{0.5, -0.704446736, 0.756362730},
      {1, -2.217225244, 0.433123005}, {2, -4.196518187, 0.248478510},
      {4, -6.262705382, 0.165981592}};
  for (guint i = 0; i < G_N_ELEMENTS (table); i++) {
    const NdtGauss g = ndt_gauss (0.55, table[i][0]);
    g_assert_cmpfloat_with_epsilon (g.d1, table[i][1], 1e-9);
    g_assert_cmpfloat_with_epsilon (g.d2, table[i][2], 1e-9);
  }
  /* What the two are made for: at q = 0 and at one standard deviation, −d1 e equals the mixture's
   * negative logarithm less its value far away. */
  for (double rho = 0.05; rho < 1; rho += 0.1)
    for (double r = 0.1; r < 20; r *= 1.7) {
      const NdtGauss g = ndt_gauss (rho, r);
      const double c1 = 10 * (1 - rho), c2 = rho / (r * r * r);
      g_assert_cmpfloat (g.d1, <, 0);
      g_assert_cmpfloat (g.d2, >, 0);
      g_assert_cmpfloat_with_epsilon (-g.d1, log (c1 + c2) - log (c2), 1e-12);
      g_assert_cmpfloat_with_epsilon (
          -g.d1 * exp (-g.d2 / 2), log (c1 * exp (-0.5) + c2) - log (c2), 1e-12);
    }
}

/* ---- Eigenvalues ---- */

static void
check_eigen (const double m[6])
{
  double value[3], v[9], scale = 0;
  ndt_eigen3 (m, value, v);
  for (int i = 0; i < 6; i++)
    scale = MAX (scale, fabs (m[i]));
  const double tiny = 1e-14 * scale + DBL_MIN;
  g_assert_cmpfloat (value[0], <=, value[1]);
  g_assert_cmpfloat (value[1], <=, value[2]);
  const double full[9] = {m[0], m[1], m[2], m[1], m[3], m[4], m[2], m[4], m[5]};
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      double dot = 0, mv = 0, back = 0;
      for (int k = 0; k < 3; k++) {
        dot += v[3 * k + i] * v[3 * k + j];
        mv += full[3 * i + k] * v[3 * k + j];
        back += v[3 * i + k] * value[k] * v[3 * j + k];
      }
      g_assert_cmpfloat_with_epsilon (dot, i == j, 1e-14);
      g_assert_cmpfloat_with_epsilon (mv, value[j] * v[3 * i + j], tiny);
      g_assert_cmpfloat_with_epsilon (back, full[3 * i + j], tiny);
    }
  /* The characteristic polynomial's coefficients. */
  const double trace = m[0] + m[3] + m[5];
  const double minors =
      m[0] * m[3] - m[1] * m[1] + m[0] * m[5] - m[2] * m[2] + m[3] * m[5] - m[4] * m[4];
  const double det = m[0] * (m[3] * m[5] - m[4] * m[4]) - m[1] * (m[1] * m[5] - m[4] * m[2]) +
                     m[2] * (m[1] * m[4] - m[3] * m[2]);
  g_assert_cmpfloat_with_epsilon (value[0] + value[1] + value[2], trace, tiny);
  g_assert_cmpfloat_with_epsilon (value[0] * value[1] + value[0] * value[2] + value[1] * value[2],
      minors, 10 * tiny * scale + DBL_MIN);
  g_assert_cmpfloat_with_epsilon (
      value[0] * value[1] * value[2], det, 10 * tiny * scale * scale + DBL_MIN);
}

static void
test_eigen3 (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  static const double special[][6] = {{0, 0, 0, 0, 0, 0}, {1, 0, 0, 1, 0, 1}, {3, 0, 0, 1, 0, 2},
      {1, 1, 1, 1, 1, 1}, {1, -1, 0, 1, 0, 0}, {0, 1, 0, 0, 0, 0}, {0, 1, 1, 0, 1, 0},
      {1, 1e-17, 0, 1, 1e-17, 1}, {1e-100, 0, 1e-101, 1e-100, 0, 1e-100},
      {1e100, 1e99, 0, 1e100, 0, 1e80}, {1, 1e-8, 1e-9, 1e-16, 0, 1e-18}, {-1, 2, 3, -4, 5, -6}};
  for (guint i = 0; i < G_N_ELEMENTS (special); i++)
    check_eigen (special[i]);
  for (guint n = 0; n < 20000; n++) {
    double m[6], a[3], b[3];
    const guint kind = n % 4; /* any, rank two, rank one, wide range of eigenvalues */
    for (int i = 0; i < 3; i++) {
      a[i] = ndt_test_normal (rand);
      b[i] = ndt_test_normal (rand) * (kind == 3 ? 1e-6 : 1);
    }
    for (int i = 0, k = 0; i < 3; i++)
      for (int j = i; j < 3; j++, k++)
        m[k] = kind == 0 ? ndt_test_normal (rand) : a[i] * a[j] + (kind == 2 ? 0 : b[i] * b[j]);
    check_eigen (m);
  }
}

/* ---- Terms ---- */

/* A point with the voxels that it is paired with: frozen, whatever the pose. */
#define N_VOXELS 5
typedef struct {
  double p[3];
  double mean[N_VOXELS][3];
  double icov[N_VOXELS][6];
} Point;

typedef struct {
  double score;
  double gradient[6];
  double hessian[21];
  double magnitude_gradient[6]; /* Σ over points of what each adds, without sign */
  double magnitude_hessian[21];
} Objective;

static void
evaluate (const Point *points, guint n, const NdtPose *pose, double d1, double d2, Objective *out)
{
  double r[9];
  ndt_quat_to_matrix (pose->orientation, r);
  memset (out, 0, sizeof (*out));
  for (guint i = 0; i < n; i++) {
    const Point *point = &points[i];
    for (guint j = 0; j < N_VOXELS; j++) {
      NdtPairSums_d sums = {0};
      double a[3], q[3], g[6], h[21];
      for (int k = 0; k < 3; k++) {
        a[k] = r[3 * k] * point->p[0] + r[3 * k + 1] * point->p[1] + r[3 * k + 2] * point->p[2];
        q[k] = a[k] + pose->position[k] - point->mean[j][k];
      }
      ndt_pair_score_d (&sums, q, point->icov[j], d1, d2);
      ndt_point_derivatives_d (&sums, a, 1, g, h);
      out->score += sums.s;
      for (int k = 0; k < 6; k++) {
        out->gradient[k] += g[k];
        out->magnitude_gradient[k] += fabs (g[k]);
      }
      for (int k = 0; k < 21; k++) {
        out->hessian[k] += h[k];
        out->magnitude_hessian[k] += fabs (h[k]);
      }
    }
  }
}

/* Voxels as they are, flat and long ones included, near the transformed point. */
static void
make_points (GRand *rand, const NdtPose *pose, Point *points, guint n)
{
  for (guint i = 0; i < n; i++) {
    Point *point = &points[i];
    double x[3];
    for (int k = 0; k < 3; k++)
      point->p[k] = g_rand_double_range (rand, -40, 40);
    ndt_quat_rotate (pose->orientation, point->p, x);
    for (guint j = 0; j < N_VOXELS; j++) {
      const NdtPose frame = ndt_test_random_pose (rand, 0.01, G_PI);
      const double sigma[3] = {
          0.5 * g_rand_double (rand) + 0.1, 0.3 * g_rand_double (rand) + 0.05, 0.05};
      double v[9];
      ndt_quat_to_matrix (frame.orientation, v);
      for (int k = 0; k < 3; k++)
        point->mean[j][k] = x[k] + pose->position[k] + 0.5 * ndt_test_normal (rand);
      for (int k = 0, m = 0; k < 3; k++)
        for (int l = k; l < 3; l++, m++) {
          point->icov[j][m] = 0;
          for (int e = 0; e < 3; e++)
            point->icov[j][m] += v[3 * k + e] * v[3 * l + e] / (sigma[e] * sigma[e]);
        }
    }
  }
}

/* Derivatives by central differences: the gradient of scores, the Hessian of gradients.
 * Truncation (step² · third derivative) and rounding (1e-16 · value / step) stay near 1e-7
 * of the magnitudes at these steps. A wrong sign or a missing
 * term is 1e-3 at least. */
static void
test_derivatives (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (2);
  static const double resolutions[] = {0.5, 1, 2, 4};
  Point points[60];
  double worst_gradient = 0, worst_hessian = 0;
  for (guint n = 0; n < 400; n++) {
    const NdtPose pose = ndt_test_random_pose (rand, 20, G_PI);
    const NdtGauss gauss = ndt_gauss (0.55, resolutions[n % 4]);
    Objective at;
    make_points (rand, &pose, points, G_N_ELEMENTS (points));
    evaluate (points, G_N_ELEMENTS (points), &pose, gauss.d1, gauss.d2, &at);
    const double *w = at.gradient + 3;
    for (int j = 0; j < 6; j++) {
      const double step = j < 3 ? 2e-5 : 1e-6;
      double delta[6] = {0};
      Objective plus, minus;
      delta[j] = step;
      NdtPose moved = ndt_pose_retracted (&pose, delta);
      evaluate (points, G_N_ELEMENTS (points), &moved, gauss.d1, gauss.d2, &plus);
      delta[j] = -step;
      moved = ndt_pose_retracted (&pose, delta);
      evaluate (points, G_N_ELEMENTS (points), &moved, gauss.d1, gauss.d2, &minus);
      const double g = (plus.score - minus.score) / (2 * step);
      worst_gradient = MAX (worst_gradient, fabs (g - at.gradient[j]) / at.magnitude_gradient[j]);
      for (int i = 0; i < 6; i++) {
        double h = (plus.gradient[i] - minus.gradient[i]) / (2 * step);
        /* The gradient at pose ⊕ δ is by a perturbation ε of that pose, exp (ε) exp (δ); by δ
         * itself it is Jₗ(δ)ᵀ times that, to first order g − ½ δ × g. */
        if (i >= 3 && j >= 3) {
          const int a = i - 3, b = j - 3;
          if (a == (b + 1) % 3)
            h += 0.5 * w[(b + 2) % 3];
          else if (a == (b + 2) % 3)
            h -= 0.5 * w[(b + 1) % 3];
        }
        const int k = i <= j ? NDT_H6 (i, j) : NDT_H6 (j, i);
        worst_hessian = MAX (worst_hessian, fabs (h - at.hessian[k]) / at.magnitude_hessian[k]);
      }
    }
  }
  g_test_message (
      "worst relative error: gradient %.2g, Hessian %.2g", worst_gradient, worst_hessian);
  g_assert_cmpfloat (worst_gradient, <, 1e-6);
  g_assert_cmpfloat (worst_hessian, <, 1e-6);
}

/* Pairs may be summed before the derivatives are taken: that is the same. */
static void
test_sums_of_pairs (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  const NdtPose pose = ndt_test_random_pose (rand, 1, 1);
  const NdtGauss gauss = ndt_gauss (0.55, 2);
  Point point;
  Objective each;
  NdtPairSums_d sums = {0};
  double a[3], g[6], h[21];
  make_points (rand, &pose, &point, 1);
  evaluate (&point, 1, &pose, gauss.d1, gauss.d2, &each);
  ndt_quat_rotate (pose.orientation, point.p, a);
  for (guint j = 0; j < N_VOXELS; j++) {
    double q[3];
    for (int k = 0; k < 3; k++)
      q[k] = a[k] + pose.position[k] - point.mean[j][k];
    ndt_pair_score_d (&sums, q, point.icov[j], gauss.d1, gauss.d2);
  }
  ndt_point_derivatives_d (&sums, a, 1, g, h);
  g_assert_cmpfloat_with_epsilon (sums.s, each.score, 1e-13);
  for (int k = 0; k < 6; k++)
    g_assert_cmpfloat_with_epsilon (g[k], each.gradient[k], 1e-12 * each.magnitude_gradient[k]);
  for (int k = 0; k < 21; k++)
    g_assert_cmpfloat_with_epsilon (h[k], each.hessian[k], 1e-12 * each.magnitude_hessian[k]);
}

/* A float sum of a few products loses a few units in the last place of its largest product. */
static void
test_float (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (4);
  const NdtGauss gauss = ndt_gauss (0.55, 2);
  for (guint n = 0; n < 2000; n++) {
    const NdtPose pose = ndt_test_random_pose (rand, 1, G_PI);
    const gboolean is_score = n % 2;
    Point point;
    NdtPairSums_d d = {0};
    NdtPairSums_f f = {0};
    double a[3], gd[6], hd[21];
    float af[3], gf[6], hf[21];
    make_points (rand, &pose, &point, 1);
    ndt_quat_rotate (pose.orientation, point.p, a);
    for (int k = 0; k < 3; k++) {
      af[k] = (float)a[k];
      a[k] = af[k];
    }
    double largest = 0;
    for (guint j = 0; j < N_VOXELS; j++) {
      double q[3], icov[6];
      float qf[3], icovf[6];
      for (int k = 0; k < 3; k++)
        q[k] = qf[k] = (float)(a[k] + pose.position[k] - point.mean[j][k]);
      for (int k = 0; k < 6; k++) {
        icov[k] = icovf[k] = (float)point.icov[j][k];
        largest = MAX (largest, fabs (icov[k]));
      }
      if (is_score) {
        const double term = ndt_pair_score_d (&d, q, icov, gauss.d1, gauss.d2);
        const float termf = ndt_pair_score_f (&f, qf, icovf, (float)gauss.d1, (float)gauss.d2);
        g_assert_cmpfloat (termf, >=, 0);
        g_assert_cmpfloat (termf, <=, -gauss.d1 * (1 + 1e-6));
        g_assert_cmpfloat_with_epsilon (termf, term, 1e-4);
      } else {
        ndt_pair_least_squares_d (&d, q, icov, 4);
        ndt_pair_least_squares_f (&f, qf, icovf, 4);
      }
    }
    ndt_point_derivatives_d (&d, a, is_score, gd, hd);
    ndt_point_derivatives_f (&f, af, is_score, gf, hf);
    /* Of the order of the terms: w B a² with |q| up to 2 m. */
    const double arm = 1 + sqrt (a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    const double unit = 100 * FLT_EPSILON * largest * (1 + (is_score ? largest : 0));
    g_assert_cmpfloat_with_epsilon (f.s, d.s, 1e-4);
    for (int k = 0; k < 6; k++)
      g_assert_cmpfloat_with_epsilon (gf[k], gd[k], unit * (k < 3 ? 1 : arm));
    for (int i = 0; i < 6; i++)
      for (int j = i; j < 6; j++)
        g_assert_cmpfloat_with_epsilon (
            hf[NDT_H6 (i, j)], hd[NDT_H6 (i, j)], unit * (i < 3 ? 1 : arm) * (j < 3 ? 1 : arm));
  }
}

/* What is not finite adds nothing; what is far adds zero. */
static void
test_not_finite (void)
{
  const double icov[6] = {100, 0, 0, 100, 0, 100}, bad_icov[6] = {NAN, 0, 0, 1, 0, 1};
  const double negative[6] = {-1e4, 0, 0, 1, 0, 1};
  const double bad[][3] = {{NAN, 0, 0}, {0, INFINITY, 0}, {0, 0, -INFINITY}};
  const double q[3] = {1, 1, 1}, far[3] = {1e9, 0, 0};
  const NdtPairSums_d zero = {0};
  NdtPairSums_d sums = {0};
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    g_assert_cmpfloat (ndt_pair_score_d (&sums, bad[i], icov, -4, 0.25), ==, 0);
  g_assert_cmpfloat (ndt_pair_score_d (&sums, q, bad_icov, -4, 0.25), ==, 0);
  g_assert_cmpfloat (ndt_pair_score_d (&sums, q, negative, -4, 0.25), ==, 0);
  g_assert_true (memcmp (&sums, &zero, sizeof sums) == 0);
  g_assert_cmpfloat (ndt_pair_score_d (&sums, far, icov, -4, 0.25), ==, 0);
  g_assert_cmpfloat (sums.s, ==, 0);
}

/* The approach: gradient −Jᵀ w B q is that of −½ Σ w qᵀBq with w held, the Hessian −Jᵀ w B J. */
static void
test_least_squares (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);
  for (guint n = 0; n < 200; n++) {
    const NdtPose pose = ndt_test_random_pose (rand, 5, G_PI);
    Point point;
    NdtPairSums_d sums = {0};
    double a[3], q[3], g[6], h[21];
    make_points (rand, &pose, &point, 1);
    ndt_quat_rotate (pose.orientation, point.p, a);
    for (int k = 0; k < 3; k++)
      q[k] = a[k] + pose.position[k] - point.mean[0][k];
    const double *c = point.icov[0];
    ndt_pair_least_squares_d (&sums, q, c, 4);
    ndt_point_derivatives_d (&sums, a, 0, g, h);
    const double w = 4 / (4 + q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
    g_assert_cmpfloat_with_epsilon (sums.s, w, 1e-15);
    const double b[9] = {c[0], c[1], c[2], c[1], c[3], c[4], c[2], c[4], c[5]};
    const double jacobian[3][6] = {
        {1, 0, 0, 0, a[2], -a[1]}, {0, 1, 0, -a[2], 0, a[0]}, {0, 0, 1, a[1], -a[0], 0}};
    for (int i = 0; i < 6; i++) {
      double expected = 0, size = 0;
      for (int k = 0; k < 3; k++)
        for (int l = 0; l < 3; l++) {
          expected -= w * jacobian[k][i] * b[3 * k + l] * q[l];
          size += fabs (w * jacobian[k][i] * b[3 * k + l] * q[l]);
        }
      g_assert_cmpfloat_with_epsilon (g[i], expected, 1e-13 * size);
      for (int j = i; j < 6; j++) {
        expected = size = 0;
        for (int k = 0; k < 3; k++)
          for (int l = 0; l < 3; l++) {
            expected -= w * jacobian[k][i] * b[3 * k + l] * jacobian[l][j];
            size += fabs (w * jacobian[k][i] * b[3 * k + l] * jacobian[l][j]);
          }
        g_assert_cmpfloat_with_epsilon (h[NDT_H6 (i, j)], expected, 1e-13 * size);
      }
    }
  }
}

/* The vectors' exponential: the relative error that its comment states, over all of its range. */
static void
test_exp (void)
{
  float worst = 0;
  for (gint i = 0; i <= 87 * 4096; i++) {
    const float x = -(float)i / 4096;
    const float got = exp_negative (splat (x))[0];
    worst = MAX (worst, (float)fabs ((double)got / exp ((double)x) - 1));
  }
  g_test_message ("largest relative error %g", (double)worst);
  g_assert_cmpfloat (worst, <, 3e-7f);
  g_assert_cmpfloat (exp_negative (splat (-1000))[0], ==, exp_negative (splat (-87))[0]);
  g_assert_cmpfloat (exp_negative (splat (NAN))[0], ==, exp_negative (splat (-87))[0]);
  g_assert_cmpfloat (exp_negative (splat (0))[0], ==, 1);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/formulas/gauss", test_gauss);
  g_test_add_func ("/formulas/eigen3", test_eigen3);
  g_test_add_func ("/formulas/derivatives", test_derivatives);
  g_test_add_func ("/formulas/sums-of-pairs", test_sums_of_pairs);
  g_test_add_func ("/formulas/float", test_float);
  g_test_add_func ("/formulas/not-finite", test_not_finite);
  g_test_add_func ("/formulas/least-squares", test_least_squares);
  g_test_add_func ("/formulas/exp", test_exp);
  return g_test_run ();
}
