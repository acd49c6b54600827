/* SPDX-License-Identifier: MIT */
#include "ndt-drift.h"

#include <math.h>
#include <string.h>

#include "ndtcore/math/ndt-formulas.h"

/* Standard deviations of a velocity that has not been measured, m/s, and of its change, m/s². */
#define UNKNOWN_SPEED 20.0
#define ACCELERATION 2.0

/* Standard deviation of odometry: this fraction of the distance, and metres a step. */
#define ODOMETRY_DRIFT 0.02
#define ODOMETRY_NOISE 0.005

/* Along an open axis the score has maxima everywhere: its information is used only where the
 * standard deviation is below this, metres. */
#define LOCAL 0.5

/* And only this share of it beside a prior that leads. */
#define LED 0.1

/* A prior leads along axes where its information is more than this share of that of motion. */
#define LEADS 0.01

/* Along an axis with less than WEAK times the information that flat surfaces feign this share of
 * scans fits beside its place: their information is feigned as well. Not by odometry, which does
 * not lead to another place. */
#define WEAK 2.2
#define FEIGNED 0.02

/* The part of a profile's variance that it has in common with those on the way before it: no
 * number of them tells the position better than to that. */
#define COMMON 0.7

static double
along (const double m[3][3], const double u[3])
{
  double sum = 0;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      sum += u[i] * m[i][j] * u[j];
  return sum > 0 ? sum : 0;
}

static void
add (double m[3][3], const double u[3], double value)
{
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      m[i][j] += value * u[i] * u[j];
}

void
ndt_drift_reset (NdtDrift *drift, double stddev)
{
  memset (drift, 0, sizeof (*drift));
  for (int i = 0; i < 3; i++) {
    drift->position[i][i] = stddev * stddev;
    drift->velocity[i][i] = UNKNOWN_SPEED * UNKNOWN_SPEED;
  }
}

void
ndt_drift_widen (NdtDrift *drift, double stddev)
{
  memset (drift->cross, 0, sizeof (drift->cross));
  for (int i = 0; i < 3; i++) {
    drift->position[i][i] += stddev * stddev;
    for (int j = 0; j < 3; j++)
      drift->velocity[i][j] = i == j ? UNKNOWN_SPEED * UNKNOWN_SPEED : 0;
  }
}

void
ndt_drift_set_prior (NdtDriftStep *step, const double told[3][3], double least)
{
  const double m[6] = {told[0][0], told[0][1], told[0][2], told[1][1], told[1][2], told[2][2]};
  double values[3], v[9];
  ndt_eigen3 (m, values, v);
  memset (step->prior, 0, sizeof (step->prior));
  for (int k = 0; k < 3; k++) {
    const double u[3] = {v[k], v[3 + k], v[6 + k]};
    add (step->prior, u, fmin (fmax (values[k], 0), 1 / (least * least)));
  }
}

/* Variance of the position along @u after the step, without the prior. */
static double
predict_motion (const NdtDrift *drift, const NdtDriftStep *step, const double u[3])
{
  const double velocity = along (drift->velocity, u);
  double p = along (drift->position, u);
  if (step->by_odometry) {
    const double noise = ODOMETRY_DRIFT * step->way + ODOMETRY_NOISE;
    p += noise * noise;
  } else {
    /* The error of the velocity is constant, so that standard deviations, and not variances, add
     * up, but where it is known how they are correlated. */
    const double cross = along (drift->cross, u), t = step->seconds;
    const double s =
        (cross > 0 ? sqrt (p + 2 * cross * t + velocity * t * t) : sqrt (p) + sqrt (velocity) * t) +
        0.5 * ACCELERATION * t * t;
    p = s * s;
  }
  return p;
}

/* The same, with it. */
static double
predict (const NdtDrift *drift, const NdtDriftStep *step, const double u[3])
{
  const double p = predict_motion (drift, step, u);
  const double prior = along (step->prior, u);
  return prior > 0 ? 1 / (1 / p + prior) : p;
}

double
ndt_drift_predict (const NdtDrift *drift, const NdtDriftStep *step, const double u[3])
{
  return predict (drift, step, u);
}

/* Covariance of position and velocity along @u after the step. Where that before it is not known, 0
 * is the least that it tells of the velocity: with a gain by less than the covariance the variance
 * that remains is at most the one that is given. */
static double
predict_cross (const NdtDrift *drift, const NdtDriftStep *step, const double u[3])
{
  return along (drift->cross, u) + along (drift->velocity, u) * step->seconds;
}

int
ndt_drift_is_led (const NdtDrift *drift, const NdtDriftStep *step, const double u[3])
{
  /* At a start the variance is that of the prior itself. */
  return step->is_led &&
         (step->seconds == 0 || along (step->prior, u) * predict_motion (drift, step, u) > LEADS);
}

double
ndt_drift_get_gain (const NdtDrift *drift, const NdtDriftStep *step, const double u[3])
{
  const double p = predict_motion (drift, step, u);
  return p > 0 ? predict_cross (drift, step, u) / p : 0;
}

double
ndt_drift_take (NdtDrift *drift, const NdtDriftStep *step, const NdtObservability *seen,
    double shift[3], double axis[3])
{
  NdtDrift next = {{{0}}};
  double largest = 0;
  for (int k = 0; k < 3; k++) {
    const double *u = seen->axes[k];
    const double before = along (drift->position, u), velocity = along (drift->velocity, u);
    const double predicted = predict (drift, step, u);
    const double excess = seen->information[k] - seen->flat;
    const double open = step->open > 0 ? step->open : NDT_OBSERVABILITY_OPEN;
    const int is_open = seen->information[k] < open * seen->flat;
    /* The score's maximum beside a profile is noise. */
    const int is_measured = is_open && k == step->profile_axis && step->profile_information > 0;
    const int is_led = is_open && ndt_drift_is_led (drift, step, u);
    const int is_filtered = is_led && step->is_filtered;
    /* Alignments begin where motion leads, and find the maximum there whatever a prior says. */
    const double known = is_led ? predict_motion (drift, step, u) : predicted;
    const double information =
        excess > 0 && !is_measured && !(is_open && (step->open > 0 || known > LOCAL * LOCAL))
            ? (is_led ? LED : 1) * excess / NDT_DRIFT_CLUSTERING
            : 0;
    const double profile = is_measured ? step->profile_information : 0;
    const double least = is_measured ? fmin (COMMON / profile, predicted) : 0;
    const int is_weak =
        step->open == 0 && !step->by_odometry && seen->information[k] < WEAK * seen->flat;
    const double feigned = is_weak ? FEIGNED : 0;
    /* The variance of a mixture: the scan tells its place, or the prediction is all there is. */
    const double p =
        fmax ((1 - feigned) / (1 / predicted + information + profile) + feigned * predicted, least);
    double speed = sqrt (velocity) + ACCELERATION * step->seconds;
    if (speed > UNKNOWN_SPEED)
      speed = UNKNOWN_SPEED;
    /* The velocity from two positions has their variances, and the error of the second one. */
    if (!is_filtered && step->seconds > 0 && sqrt (p + before) < speed * step->seconds) {
      speed = sqrt (p + before) / step->seconds;
      if (is_led && !step->by_odometry)
        add (next.cross, u, p / step->seconds);
    }
    if (is_filtered) {
      /* The prior tells of the velocity what it tells of the position. */
      const double motion = predict_motion (drift, step, u), cross = predict_cross (drift, step, u);
      const double told = (motion - p) / (motion * motion);
      speed = sqrt (fmax (speed * speed - cross * cross * told, 0));
      add (next.cross, u, cross * p / motion);
    }
    if (is_open) {
      const double d = u[0] * shift[0] + u[1] * shift[1] + u[2] * shift[2];
      const double left = 1 / (1 + predicted * (information + profile));
      const double beyond = profile > 0 ? predicted * profile * step->profile_at : 0;
      /* To the mean of the prediction, the alignment and the profile. */
      for (int i = 0; i < 3; i++)
        shift[i] -= left * (d - beyond) * u[i];
    }
    add (next.position, u, p);
    add (next.velocity, u, speed * speed);
    if (p > largest) {
      largest = p;
      memcpy (axis, u, 3 * sizeof (double));
    }
  }
  *drift = next;
  return sqrt (largest);
}

/* Sets the diagonal of a covariance; its correlations remain. */
static void
set_diagonal (double m[3][3], const double diagonal[3])
{
  double k[3];
  for (int i = 0; i < 3; i++)
    k[i] = m[i][i] > 0 ? sqrt (diagonal[i] / m[i][i]) : 0;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      m[i][j] = i == j ? diagonal[i] : m[i][j] * k[i] * k[j];
}

double
ndt_drift_skip (NdtDrift *drift, const NdtDriftStep *step)
{
  double position[3], velocity[3], largest = 0;
  for (int k = 0; k < 3; k++) {
    const double u[3] = {k == 0, k == 1, k == 2};
    const double before = fmax (drift->velocity[k][k], 0);
    const double speed = fmin (sqrt (before) + ACCELERATION * step->seconds, UNKNOWN_SPEED);
    position[k] = predict (drift, step, u);
    velocity[k] = speed * speed;
    largest = fmax (largest, position[k]);
  }
  memset (drift->cross, 0, sizeof (drift->cross));
  set_diagonal (drift->position, position);
  set_diagonal (drift->velocity, velocity);
  return sqrt (largest);
}

void
ndt_drift_spread (NdtDrift *drift, const double apart[3])
{
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      drift->position[i][j] += apart[i] * apart[j];
}

void
ndt_drift_contradict (NdtDrift *drift, const double apart[3], double seconds)
{
  memset (drift->cross, 0, sizeof (drift->cross));
  ndt_drift_spread (drift, apart);
  for (int i = 0; i < 3 && seconds > 0; i++)
    for (int j = 0; j < 3; j++)
      drift->velocity[i][j] += apart[i] * apart[j] / (seconds * seconds);
}

/* The largest axis is that of the 64th power: a second variance of 0.9 of the largest leaves 0.1 %
 * of its axis. */
#define SQUARINGS 6

double
ndt_drift_get_sigma (const NdtDrift *drift, double axis[3])
{
  const double (*m)[3] = drift->position;
  double power[3][3], length = 0;
  int k = 0;
  for (int i = 1; i < 3; i++)
    if (m[i][i] > m[k][k])
      k = i;
  for (int i = 0; i < 3; i++)
    axis[i] = i == k;
  if (!(m[k][k] > 0))
    return 0;
  if (m[0][1] == 0 && m[0][2] == 0 && m[1][2] == 0)
    return sqrt (m[k][k]);
  memcpy (power, m, sizeof (power));
  for (int n = 0; n < SQUARINGS; n++) {
    const double trace = power[0][0] + power[1][1] + power[2][2];
    double square[3][3];
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++)
        power[i][j] /= trace;
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++)
        square[i][j] =
            power[i][0] * power[0][j] + power[i][1] * power[1][j] + power[i][2] * power[2][j];
    memcpy (power, square, sizeof (power));
  }
  for (int i = 0; i < 3; i++)
    length += power[i][k] * power[i][k];
  for (int i = 0; i < 3; i++)
    axis[i] = power[i][k] / sqrt (length);
  return sqrt (along (m, axis));
}
