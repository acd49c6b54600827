/* SPDX-License-Identifier: MIT */
#include "mgh.h"

#include <complex.h>
#include <math.h>
#include <string.h>

typedef double complex Z;
#define RESIDUALS(name)                                                                            \
  static void name (const MghProblem *p G_GNUC_UNUSED, const Z *x G_GNUC_UNUSED, Z *r G_GNUC_UNUSED)

static Z
square (Z v)
{
  return v * v;
}

static Z
cube (Z v)
{
  return v * v * v;
}

RESIDUALS (rosenbrock)
{
  for (gint i = 0; i < p->n; i += 2) {
    r[i] = 10 * (x[i + 1] - x[i] * x[i]);
    r[i + 1] = 1 - x[i];
  }
}

RESIDUALS (freudenstein_roth)
{
  r[0] = -13 + x[0] + ((5 - x[1]) * x[1] - 2) * x[1];
  r[1] = -29 + x[0] + ((x[1] + 1) * x[1] - 14) * x[1];
}

RESIDUALS (powell_badly_scaled)
{
  r[0] = 1e4 * x[0] * x[1] - 1;
  r[1] = cexp (-x[0]) + cexp (-x[1]) - 1.0001;
}

RESIDUALS (brown_badly_scaled)
{
  r[0] = x[0] - 1e6;
  r[1] = x[1] - 2e-6;
  r[2] = x[0] * x[1] - 2;
}

RESIDUALS (beale)
{
  static const double y[3] = {1.5, 2.25, 2.625};
  Z power = x[1];
  for (gint i = 0; i < 3; i++, power *= x[1])
    r[i] = y[i] - x[0] * (1 - power);
}

RESIDUALS (jennrich_sampson)
{
  for (gint i = 1; i <= p->m; i++)
    r[i - 1] = 2 + 2 * i - (cexp (i * x[0]) + cexp (i * x[1]));
}

RESIDUALS (helical_valley)
{
  Z theta = creal (x[0]) == 0 ? (creal (x[1]) < 0 ? -0.25 : 0.25) - catan (x[0] / x[1]) / (2 * G_PI)
                              : catan (x[1] / x[0]) / (2 * G_PI);
  if (creal (x[0]) < 0)
    theta += 0.5;
  r[0] = 10 * (x[2] - 10 * theta);
  r[1] = 10 * (csqrt (square (x[0]) + square (x[1])) - 1);
  r[2] = x[2];
}

RESIDUALS (bard)
{
  static const double y[15] = {
      .14, .18, .22, .25, .29, .32, .35, .39, .37, .58, .73, .96, 1.34, 2.10, 4.39};
  for (gint i = 1; i <= 15; i++)
    r[i - 1] = y[i - 1] - (x[0] + i / ((16 - i) * x[1] + MIN (i, 16 - i) * x[2]));
}

RESIDUALS (gaussian)
{
  static const double y[8] = {.0009, .0044, .0175, .0540, .1295, .2420, .3521, .3989};
  for (gint i = 0; i < 15; i++)
    r[i] = x[0] * cexp (-x[1] * square ((7 - i) / 2.0 - x[2]) / 2) - y[i < 8 ? i : 14 - i];
}

RESIDUALS (meyer)
{
  static const double y[16] = {34780, 28610, 23650, 19630, 16370, 13720, 11540, 9744, 8261, 7030,
      6005, 5147, 4427, 3820, 3307, 2872};
  for (gint i = 0; i < 16; i++)
    r[i] = x[0] * cexp (x[1] / (50 + 5 * i + x[2])) - y[i];
}

/* The paper's formula has a known misprint; this is Gulf Research's function (Cox 1969). */
RESIDUALS (gulf)
{
  for (gint i = 1; i <= p->m; i++) {
    const double t = i / 100.0, y = 25 + pow (-50 * log (t), 2.0 / 3);
    r[i - 1] = cexp (-cpow (square (y - x[1]), x[2] / 2) / x[0]) - t;
  }
}

RESIDUALS (box)
{
  for (gint i = 1; i <= p->m; i++) {
    const double t = 0.1 * i;
    r[i - 1] = cexp (-t * x[0]) - cexp (-t * x[1]) - x[2] * (exp (-t) - exp (-10 * t));
  }
}

RESIDUALS (powell_singular)
{
  for (gint i = 0; i < p->n; i += 4) {
    r[i] = x[i] + 10 * x[i + 1];
    r[i + 1] = sqrt (5) * (x[i + 2] - x[i + 3]);
    r[i + 2] = square (x[i + 1] - 2 * x[i + 2]);
    r[i + 3] = sqrt (10) * square (x[i] - x[i + 3]);
  }
}

RESIDUALS (wood)
{
  r[0] = 10 * (x[1] - square (x[0]));
  r[1] = 1 - x[0];
  r[2] = sqrt (90) * (x[3] - square (x[2]));
  r[3] = 1 - x[2];
  r[4] = sqrt (10) * (x[1] + x[3] - 2);
  r[5] = (x[1] - x[3]) / sqrt (10);
}

RESIDUALS (kowalik_osborne)
{
  static const double y[11] = {
      .1957, .1947, .1735, .1600, .0844, .0627, .0456, .0342, .0323, .0235, .0246};
  static const double u[11] = {4, 2, 1, .5, .25, .167, .125, .1, .0833, .0714, .0625};
  for (gint i = 0; i < 11; i++)
    r[i] = y[i] - x[0] * (u[i] * u[i] + u[i] * x[1]) / (u[i] * u[i] + u[i] * x[2] + x[3]);
}

RESIDUALS (brown_dennis)
{
  for (gint i = 1; i <= p->m; i++) {
    const double t = i / 5.0;
    r[i - 1] = square (x[0] + t * x[1] - exp (t)) + square (x[2] + sin (t) * x[3] - cos (t));
  }
}

RESIDUALS (osborne_1)
{
  static const double y[33] = {.844, .908, .932, .936, .925, .908, .881, .850, .818, .784, .751,
      .718, .685, .658, .628, .603, .580, .558, .538, .522, .506, .490, .478, .467, .457, .448,
      .438, .431, .424, .420, .414, .411, .406};
  for (gint i = 0; i < 33; i++)
    r[i] = y[i] - (x[0] + x[1] * cexp (-10 * i * x[3]) + x[2] * cexp (-10 * i * x[4]));
}

RESIDUALS (biggs)
{
  for (gint i = 1; i <= p->m; i++) {
    const double t = 0.1 * i, y = exp (-t) - 5 * exp (-10 * t) + 3 * exp (-4 * t);
    r[i - 1] = x[2] * cexp (-t * x[0]) - x[3] * cexp (-t * x[1]) + x[5] * cexp (-t * x[4]) - y;
  }
}

RESIDUALS (osborne_2)
{
  static const double y[65] = {1.366, 1.191, 1.112, 1.013, .991, .885, .831, .847, .786, .725, .746,
      .679, .608, .655, .616, .606, .602, .626, .651, .724, .649, .649, .694, .644, .624, .661,
      .612, .558, .533, .495, .500, .423, .395, .375, .372, .391, .396, .405, .428, .429, .523,
      .562, .607, .653, .672, .708, .633, .668, .645, .632, .591, .559, .597, .625, .739, .710,
      .729, .720, .636, .581, .428, .292, .162, .098, .054};
  for (gint i = 0; i < 65; i++) {
    const double t = i / 10.0;
    r[i] = y[i] - x[0] * cexp (-t * x[4]);
    for (gint k = 0; k < 3; k++)
      r[i] -= x[1 + k] * cexp (-square (t - x[8 + k]) * x[5 + k]);
  }
}

RESIDUALS (watson)
{
  for (gint i = 1; i <= 29; i++) {
    const double t = i / 29.0;
    double power = 1;
    Z slope = 0, value = 0;
    for (gint j = 0; j < p->n; j++, power *= t) {
      value += power * x[j];
      if (j + 1 < p->n)
        slope += (j + 1) * power * x[j + 1];
    }
    r[i - 1] = slope - square (value) - 1;
  }
  r[29] = x[0];
  r[30] = x[1] - square (x[0]) - 1;
}

RESIDUALS (penalty_1)
{
  r[p->n] = -0.25;
  for (gint i = 0; i < p->n; i++) {
    r[i] = sqrt (1e-5) * (x[i] - 1);
    r[p->n] += square (x[i]);
  }
}

RESIDUALS (penalty_2)
{
  const gint n = p->n;
  r[0] = x[0] - 0.2;
  r[2 * n - 1] = -1;
  for (gint i = 1; i < n; i++) {
    r[i] = sqrt (1e-5) *
           (cexp (x[i] / 10) + cexp (x[i - 1] / 10) - (exp ((i + 1) / 10.0) + exp (i / 10.0)));
    r[n + i - 1] = sqrt (1e-5) * (cexp (x[i] / 10) - exp (-0.1));
  }
  for (gint i = 0; i < n; i++)
    r[2 * n - 1] += (n - i) * square (x[i]);
}

RESIDUALS (variably_dimensioned)
{
  Z sum = 0;
  for (gint i = 0; i < p->n; i++) {
    r[i] = x[i] - 1;
    sum += (i + 1) * (x[i] - 1);
  }
  r[p->n] = sum;
  r[p->n + 1] = square (sum);
}

RESIDUALS (trigonometric)
{
  Z sum = 0;
  for (gint i = 0; i < p->n; i++)
    sum += ccos (x[i]);
  for (gint i = 0; i < p->n; i++)
    r[i] = p->n - sum + (i + 1) * (1 - ccos (x[i])) - csin (x[i]);
}

RESIDUALS (brown_almost_linear)
{
  Z sum = -(p->n + 1), product = 1;
  for (gint i = 0; i < p->n; i++) {
    sum += x[i];
    product *= x[i];
  }
  for (gint i = 0; i < p->n - 1; i++)
    r[i] = x[i] + sum;
  r[p->n - 1] = product - 1;
}

RESIDUALS (discrete_boundary_value)
{
  const double h = 1.0 / (p->n + 1);
  for (gint i = 0; i < p->n; i++)
    r[i] = 2 * x[i] - (i > 0 ? x[i - 1] : 0) - (i < p->n - 1 ? x[i + 1] : 0) +
           h * h * cube (x[i] + (i + 1) * h + 1) / 2;
}

RESIDUALS (discrete_integral_equation)
{
  const double h = 1.0 / (p->n + 1);
  for (gint i = 0; i < p->n; i++) {
    const double t = (i + 1) * h;
    Z below = 0, above = 0;
    for (gint j = 0; j < p->n; j++) {
      const double s = (j + 1) * h;
      const Z v = cube (x[j] + s + 1);
      if (j <= i)
        below += s * v;
      else
        above += (1 - s) * v;
    }
    r[i] = x[i] + h * ((1 - t) * below + t * above) / 2;
  }
}

RESIDUALS (broyden_tridiagonal)
{
  for (gint i = 0; i < p->n; i++)
    r[i] = (3 - 2 * x[i]) * x[i] - (i > 0 ? x[i - 1] : 0) - 2 * (i < p->n - 1 ? x[i + 1] : 0) + 1;
}

RESIDUALS (broyden_banded)
{
  for (gint i = 0; i < p->n; i++) {
    r[i] = x[i] * (2 + 5 * square (x[i])) + 1;
    for (gint j = MAX (0, i - 5); j <= MIN (p->n - 1, i + 1); j++)
      if (j != i)
        r[i] -= x[j] * (1 + x[j]);
  }
}

RESIDUALS (linear_full_rank)
{
  Z sum = 0;
  for (gint i = 0; i < p->n; i++)
    sum += x[i];
  for (gint i = 0; i < p->m; i++)
    r[i] = (i < p->n ? x[i] : 0) - 2 * sum / p->m - 1;
}

RESIDUALS (linear_rank_1)
{
  Z sum = 0;
  for (gint i = 0; i < p->n; i++)
    sum += (i + 1) * x[i];
  for (gint i = 0; i < p->m; i++)
    r[i] = (i + 1) * sum - 1;
}

RESIDUALS (linear_rank_1_zeros)
{
  Z sum = 0;
  for (gint i = 1; i < p->n - 1; i++)
    sum += (i + 1) * x[i];
  for (gint i = 0; i < p->m; i++)
    r[i] = (i < p->m - 1 ? i : 0) * sum - 1;
}

RESIDUALS (chebyquad)
{
  for (gint i = 0; i < p->m; i++)
    r[i] = i % 2 == 1 ? 1.0 / ((i + 1.0) * (i + 1.0) - 1) : 0;
  for (gint j = 0; j < p->n; j++) {
    Z last = 1, t = 2 * x[j] - 1;
    const Z y = 2 * t;
    for (gint i = 0; i < p->m; i++) {
      r[i] += t / p->n;
      const Z next = y * t - last;
      last = t;
      t = next;
    }
  }
}

/* ---- Starts ---- */

#define START(name, ...)                                                                           \
  static void name (const MghProblem *p, double *x)                                                \
  {                                                                                                \
    static const double values[] = {__VA_ARGS__};                                                  \
    for (gint i = 0; i < p->n; i++)                                                                \
      x[i] = values[i % (gint)G_N_ELEMENTS (values)];                                              \
  }
#define START_BY(name, value)                                                                      \
  static void name (const MghProblem *p, double *x)                                                \
  {                                                                                                \
    for (gint j = 1; j <= p->n; j++)                                                               \
      x[j - 1] = value;                                                                            \
  }

START (from_rosenbrock, -1.2, 1)
START (from_freudenstein_roth, 0.5, -2)
START (from_powell_badly_scaled, 0, 1)
START (from_jennrich_sampson, 0.3, 0.4)
START (from_helical_valley, -1, 0, 0)
START (from_gaussian, 0.4, 1, 0)
START (from_meyer, 0.02, 4000, 250)
START (from_gulf, 5, 2.5, 0.15)
START (from_box, 0, 10, 20)
START (from_powell_singular, 3, -1, 0, 1)
START (from_wood, -3, -1, -3, -1)
START (from_kowalik_osborne, .25, .39, .415, .39)
START (from_brown_dennis, 25, 5, -5, -1)
START (from_osborne_1, .5, 1.5, -1, .01, .02)
START (from_biggs, 1, 2, 1, 1, 1, 1)
START (from_osborne_2, 1.3, .65, .65, .7, .6, 3, 5, 7, 2, 4.5, 5.5)
START (from_0, 0)
START (from_half, 0.5)
START (from_1, 1)
START (from_minus_1, -1)
START_BY (from_j, j)
START_BY (from_variably_dimensioned, 1 - (double)j / p->n)
START_BY (from_trigonometric, 1.0 / p->n)
START_BY (from_discrete, j / (p->n + 1.0) * (j / (p->n + 1.0) - 1))
START_BY (from_chebyquad, j / (p->n + 1.0))

const MghProblem mgh_problems[] = {
    {"1 Rosenbrock", 2, 2, 0, rosenbrock, from_rosenbrock},
    {"2 Freudenstein and Roth", 2, 2, 48.9842, freudenstein_roth, from_freudenstein_roth},
    {"3 Powell badly scaled", 2, 2, 0, powell_badly_scaled, from_powell_badly_scaled},
    {"4 Brown badly scaled", 2, 3, 0, brown_badly_scaled, from_1},
    {"5 Beale", 2, 3, 0, beale, from_1},
    {"6 Jennrich and Sampson", 2, 10, 124.362, jennrich_sampson, from_jennrich_sampson},
    {"7 Helical valley", 3, 3, 0, helical_valley, from_helical_valley},
    {"8 Bard", 3, 15, 8.21487e-3, bard, from_1},
    {"9 Gaussian", 3, 15, 1.12793e-8, gaussian, from_gaussian},
    {"10 Meyer", 3, 16, 87.9458, meyer, from_meyer},
    {"11 Gulf research", 3, 99, 0, gulf, from_gulf},
    {"12 Box three-dimensional", 3, 10, 0, box, from_box},
    {"13 Powell singular", 4, 4, 0, powell_singular, from_powell_singular},
    {"14 Wood", 4, 6, 0, wood, from_wood},
    {"15 Kowalik and Osborne", 4, 11, 3.07505e-4, kowalik_osborne, from_kowalik_osborne},
    {"16 Brown and Dennis", 4, 20, 85822.2, brown_dennis, from_brown_dennis},
    {"17 Osborne 1", 5, 33, 5.46489e-5, osborne_1, from_osborne_1},
    {"18 Biggs EXP6", 6, 13, 0, biggs, from_biggs},
    {"19 Osborne 2", 11, 65, 4.01377e-2, osborne_2, from_osborne_2},
    {"20 Watson 6", 6, 31, 2.28767e-3, watson, from_0},
    {"20 Watson 9", 9, 31, 1.39976e-6, watson, from_0},
    {"20 Watson 12", 12, 31, 4.72238e-10, watson, from_0},
    {"21 Extended Rosenbrock", 20, 20, 0, rosenbrock, from_rosenbrock},
    {"22 Extended Powell singular", 20, 20, 0, powell_singular, from_powell_singular},
    {"23 Penalty I 4", 4, 5, 2.24997e-5, penalty_1, from_j},
    {"23 Penalty I 10", 10, 11, 7.08765e-5, penalty_1, from_j},
    {"24 Penalty II 4", 4, 8, 9.37629e-6, penalty_2, from_half},
    {"24 Penalty II 10", 10, 20, 2.93660e-4, penalty_2, from_half},
    {"25 Variably dimensioned", 10, 12, 0, variably_dimensioned, from_variably_dimensioned},
    {"26 Trigonometric", 10, 10, 2.79506e-5, trigonometric, from_trigonometric},
    {"27 Brown almost-linear", 10, 10, 0, brown_almost_linear, from_half},
    {"28 Discrete boundary value", 10, 10, 0, discrete_boundary_value, from_discrete},
    {"29 Discrete integral equation", 10, 10, 0, discrete_integral_equation, from_discrete},
    {"30 Broyden tridiagonal", 10, 10, 0, broyden_tridiagonal, from_minus_1},
    {"31 Broyden banded", 10, 10, 0, broyden_banded, from_minus_1},
    {"32 Linear, full rank", 10, 20, 10, linear_full_rank, from_1},
    {"33 Linear, rank 1", 10, 20, 20.0 * 19 / (2 * 41), linear_rank_1, from_1},
    {"34 Linear, rank 1 with zeros", 10, 20, (400.0 + 60 - 6) / (2 * 37), linear_rank_1_zeros,
        from_1},
    {"35 Chebyquad 8", 8, 8, 3.51687e-3, chebyquad, from_chebyquad},
    {"35 Chebyquad 9", 9, 9, 0, chebyquad, from_chebyquad},
    {"35 Chebyquad 10", 10, 10, 6.50395e-3, chebyquad, from_chebyquad},
};
const guint mgh_n_problems = G_N_ELEMENTS (mgh_problems);

/* ---- Values ---- */

void
mgh_evaluate (const MghProblem *problem, const double *x, double *r, double *jacobian)
{
  Z z[MGH_MAX_N], residuals[MGH_MAX_M];
  for (gint i = 0; i < problem->n; i++)
    z[i] = x[i];
  problem->residuals (problem, z, residuals);
  for (gint i = 0; i < problem->m; i++)
    r[i] = creal (residuals[i]);
  for (gint j = 0; jacobian && j < problem->n; j++) {
    /* Im f(x + i h) / h has no cancellation, so that h may be as small as one likes. */
    z[j] = x[j] + 1e-100 * I;
    problem->residuals (problem, z, residuals);
    for (gint i = 0; i < problem->m; i++)
      jacobian[i * problem->n + j] = cimag (residuals[i]) / 1e-100;
    z[j] = x[j];
  }
}

double
mgh_sums (const MghProblem *problem, const double *x, double *gradient, double *hessian)
{
  double r[MGH_MAX_M], jacobian[MGH_MAX_M * MGH_MAX_N], value = 0;
  const gint n = problem->n;
  mgh_evaluate (problem, x, r, jacobian);
  memset (gradient, 0, (gsize)n * sizeof *gradient);
  if (hessian)
    memset (hessian, 0, (gsize)NDT_PACKED_SIZE (n) * sizeof *hessian);
  for (gint i = 0; i < problem->m; i++) {
    const double *row = jacobian + i * n;
    value += r[i] * r[i] / 2;
    for (gint j = 0; j < n; j++) {
      gradient[j] += row[j] * r[i];
      for (gint k = j; hessian && k < n; k++)
        hessian[NDT_PACKED (n, j, k)] += row[j] * row[k];
    }
  }
  return value;
}

typedef struct {
  NdtObjective parent;
  const MghProblem *problem;
  guint *n_evaluations;
} MghObjective;

static gboolean
mgh_objective_evaluate (NdtObjective *objective, const NdtEvaluation *e, GError **error)
{
  const MghObjective *mgh = (MghObjective *)objective;
  const gint n = mgh->problem->n;
  (void)error;
  for (guint i = 0; i < e->n; i++) {
    double gradient[MGH_MAX_N];
    double *to = e->gradients ? e->gradients + (gint)i * n : gradient;
    e->values[i] = mgh_sums (mgh->problem, e->x + (gint)i * n, to,
        e->hessians ? e->hessians + (gint)i * NDT_PACKED_SIZE (n) : NULL);
  }
  if (mgh->n_evaluations)
    *mgh->n_evaluations += e->n;
  return TRUE;
}

static void
mgh_objective_close (NdtObjective *objective)
{
  g_free (objective);
}

NdtObjective *
mgh_objective_new (const MghProblem *problem, guint n_problems, guint *n_evaluations)
{
  static const NdtObjectiveClass klass = {
      .name = "mgh", .evaluate = mgh_objective_evaluate, .close = mgh_objective_close};
  MghObjective *mgh = g_new0 (MghObjective, 1);
  mgh->parent.klass = &klass;
  mgh->parent.n_numbers = (guint)problem->n;
  mgh->parent.n_problems = n_problems;
  mgh->parent.is_least_squares = TRUE;
  mgh->problem = problem;
  mgh->n_evaluations = n_evaluations;
  return &mgh->parent;
}
