/* SPDX-License-Identifier: MIT */
/* Arithmetic of the simulation. Uses additions, multiplications, divisions and square roots only,
 * whose rounding IEEE 754 defines, so that a scan has the same bits with any libm. */
#pragma once

#include <glib.h>
#include <math.h>
#include <string.h>

G_BEGIN_DECLS

#define NDT_SIM_PI 3.14159265358979323846
#define NDT_SIM_DEG (NDT_SIM_PI / 180)

/* Sine and cosine to about 1e-15 for |x| < 1e6. */
static inline void
ndt_sim_sincos (double x, double *s, double *c)
{
  const double k = floor (x * (2 / NDT_SIM_PI) + 0.5);
  /* π/2 in two parts, the first with enough trailing zeros for k · part to be exact. */
  const double r = (x - k * 1.57079632673412561417) - k * 6.07710050650619224932e-11;
  const double r2 = r * r;
  const double sine =
      r * (1 + r2 * (-1 / 6.0 +
                        r2 * (1 / 120.0 +
                                 r2 * (-1 / 5040.0 +
                                          r2 * (1 / 362880.0 +
                                                   r2 * (-1 / 39916800.0 +
                                                            r2 * (1 / 6227020800.0 -
                                                                     r2 / 1307674368000.0)))))));
  const double cosine =
      1 +
      r2 * (-1 / 2.0 +
               r2 * (1 / 24.0 +
                        r2 * (-1 / 720.0 +
                                 r2 * (1 / 40320.0 +
                                          r2 * (-1 / 3628800.0 +
                                                   r2 * (1 / 479001600.0 +
                                                            r2 * (-1 / 87178291200.0 +
                                                                     r2 / 20922789888000.0)))))));
  switch ((gint64)k & 3) {
  case 0:
    *s = sine;
    *c = cosine;
    break;
  case 1:
    *s = cosine;
    *c = -sine;
    break;
  case 2:
    *s = -sine;
    *c = -cosine;
    break;
  default:
    *s = -cosine;
    *c = sine;
    break;
  }
}

static inline double
ndt_sim_sin (double x)
{
  double s, c;
  ndt_sim_sincos (x, &s, &c);
  return s;
}

/* Angle of (x, y) in (−π, π], to about 1e-15; 0 for the origin. */
static inline double
ndt_sim_atan2 (double y, double x)
{
  const double norm = sqrt (x * x + y * y);
  double angle, s, c;
  guint i;

  if (norm == 0)
    return 0;
  x /= norm;
  y /= norm;
  /* An initial value within 0.1 rad, then Newton steps by the sine of the remaining angle (cubic
   * convergence). */
  if (fabs (y) <= fabs (x))
    angle = x > 0 ? y / x * 0.88 : (y < 0 ? -NDT_SIM_PI : NDT_SIM_PI) + y / x * 0.88;
  else
    angle = (y > 0 ? NDT_SIM_PI / 2 : -NDT_SIM_PI / 2) - x / y * 0.88;
  for (i = 0; i < 4; i++) {
    ndt_sim_sincos (angle, &s, &c);
    angle += y * c - x * s;
  }
  return angle;
}

/* Natural logarithm of a positive, normal number, to about 1e-15. */
static inline double
ndt_sim_log (double x)
{
  guint64 bits;
  gint exponent;
  double m, f, f2;

  memcpy (&bits, &x, sizeof bits);
  exponent = (gint)(bits >> 52) - 1023;
  bits = (bits & G_GUINT64_CONSTANT (0x000fffffffffffff)) | G_GUINT64_CONSTANT (0x3ff0000000000000);
  memcpy (&m, &bits, sizeof m);
  if (m > 1.41421356237309504880) {
    m *= 0.5;
    exponent++;
  }
  f = (m - 1) / (m + 1);
  f2 = f * f;
  return exponent * 0.69314718055994530942 +
         2 * f *
             (1 + f2 * (1 / 3.0 +
                           f2 * (1 / 5.0 +
                                    f2 * (1 / 7.0 +
                                             f2 * (1 / 9.0 +
                                                      f2 * (1 / 11.0 +
                                                               f2 * (1 / 13.0 +
                                                                        f2 * (1 / 15.0 +
                                                                                 f2 / 17.0))))))));
}

/* SplitMix64's finalizer: every bit of the result depends on every bit of @x. */
static inline guint64
ndt_sim_mix (guint64 x)
{
  x += G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
  x = (x ^ (x >> 30)) * G_GUINT64_CONSTANT (0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * G_GUINT64_CONSTANT (0x94d049bb133111eb);
  return x ^ (x >> 31);
}

/* A random number as a function of its arguments: there is no state. */
static inline guint64
ndt_sim_hash (guint64 seed, guint64 stream, guint64 counter)
{
  return ndt_sim_mix (ndt_sim_mix (ndt_sim_mix (seed) ^ stream) ^ counter);
}

/* [0, 1) */
static inline double
ndt_sim_unit (guint64 bits)
{
  return (double)(bits >> 11) * (1.0 / 9007199254740992.0);
}

/* Standard normal deviate from 64 random bits (Box and Muller); within ±6.8. */
static inline double
ndt_sim_normal (guint64 bits)
{
  const double u = ((double)(bits >> 32) + 0.5) * (1.0 / 4294967296.0);
  const double v = (double)(bits & 0xffffffff) * (1.0 / 4294967296.0);
  double s, c;

  ndt_sim_sincos (2 * NDT_SIM_PI * v, &s, &c);
  return sqrt (-2 * ndt_sim_log (u)) * c;
}

/* A sequence of random numbers, for the generation of worlds. */
typedef struct {
  guint64 seed;
  guint64 counter;
} NdtSimRandom;

/* Uniform in [low, high). Callers draw one number per statement, since the order of evaluation of
 * arguments is not defined. */
static inline double
ndt_sim_random_range (NdtSimRandom *random, double low, double high)
{
  return low + (high - low) * ndt_sim_unit (ndt_sim_hash (random->seed, 0, random->counter++));
}

static inline gboolean
ndt_sim_random_chance (NdtSimRandom *random, double probability)
{
  return ndt_sim_random_range (random, 0, 1) < probability;
}

static inline double
ndt_sim_random_normal (NdtSimRandom *random)
{
  return ndt_sim_normal (ndt_sim_hash (random->seed, 0, random->counter++));
}

G_END_DECLS
