/* SPDX-License-Identifier: MIT */
#include "ndt-calibration-observed.h"

#include <math.h>
#include <string.h>

#include "ndtcore/math/ndt-descent.h"

#define N NDT_CALIBRATION_N

/* Eigenvalues of the scaled normal equations, whose diagonal is 1, below which a direction is open:
 * residuals change by less than the planes' own errors. */
#define NDT_CALIBRATION_OPEN 1e-6
/* Components of an open direction that count, and a correlation that confuses. */
#define NDT_CALIBRATION_COMPONENT 0.2
#define NDT_CALIBRATION_CORRELATED 0.95

const gchar *
ndt_calibration_parameter_name (guint parameter)
{
  static const gchar *const names[N] = {"x", "y", "z", "roll", "pitch", "yaw", "time offset"};
  g_return_val_if_fail (parameter < N, NULL);
  return names[parameter];
}

/* Jacobi's method: eigenvalues on the diagonal of @a, eigenvectors in the columns of @v. */
static void
eigen (double a[N][N], guint n, double v[N][N])
{
  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < n; k++)
      v[i][k] = i == k ? 1 : 0;
  /* Convergence is quadratic; ten sweeps are more than any 7×7 matrix takes. */
  for (guint sweep = 0; sweep < 30; sweep++)
    for (guint p = 0; p < n; p++)
      for (guint q = p + 1; q < n; q++) {
        if (a[p][q] == 0)
          continue;
        const double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
        const double t = (theta < 0 ? -1 : 1) / (fabs (theta) + sqrt (theta * theta + 1));
        const double c = 1 / sqrt (t * t + 1), s = t * c;
        for (guint k = 0; k < n; k++) {
          const double x = a[k][p], y = a[k][q];
          a[k][p] = c * x - s * y;
          a[k][q] = s * x + c * y;
        }
        for (guint k = 0; k < n; k++) {
          const double x = a[p][k], y = a[q][k];
          a[p][k] = c * x - s * y;
          a[q][k] = s * x + c * y;
        }
        for (guint k = 0; k < n; k++) {
          const double x = v[k][p], y = v[k][q];
          v[k][p] = c * x - s * y;
          v[k][q] = s * x + c * y;
        }
      }
}

void
ndt_calibration_invert (const double *normal, guint n, NdtCalibrationResult *r)
{
  double a[N][N], v[N][N], scale[N], open[N] = {0};

  g_return_if_fail (n <= N);
  memset (r->covariance, 0, sizeof r->covariance);
  for (guint i = 0; i < N; i++)
    r->confused[i] = -1;
  for (guint i = 0; i < n; i++) {
    const double diagonal = normal[NDT_PACKED (n, i, i)];
    scale[i] = diagonal > 0 ? sqrt (diagonal) : 1;
  }
  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < n; k++)
      a[i][k] = normal[i < k ? NDT_PACKED (n, i, k) : NDT_PACKED (n, k, i)] / (scale[i] * scale[k]);
  eigen (a, n, v);

  for (guint e = 0; e < n; e++) {
    const gboolean is_open = !(a[e][e] > NDT_CALIBRATION_OPEN);
    for (guint i = 0; i < n; i++) {
      double most = NDT_CALIBRATION_COMPONENT;
      if (!is_open) {
        for (guint k = 0; k < n; k++)
          r->covariance[N * i + k] += v[i][e] * v[k][e] / (a[e][e] * scale[i] * scale[k]);
        continue;
      }
      open[i] = MAX (open[i], fabs (v[i][e]));
      if (fabs (v[i][e]) < NDT_CALIBRATION_COMPONENT)
        continue;
      for (guint k = 0; k < n; k++)
        if (k != i && fabs (v[k][e]) > most) {
          most = fabs (v[k][e]);
          r->confused[i] = (gint)k;
        }
    }
  }
  for (guint i = 0; i < n; i++)
    if (open[i] >= NDT_CALIBRATION_COMPONENT)
      r->covariance[N * i + i] = INFINITY;
}

void
ndt_calibration_judge (NdtCalibrationResult *r)
{
  for (guint i = 0; i < N; i++) {
    const double limit = i < 3   ? NDT_CALIBRATION_METRES
                         : i < 6 ? NDT_CALIBRATION_RADIANS
                                 : NDT_CALIBRATION_SECONDS;
    const double sigma = sqrt (r->covariance[N * i + i]);
    double most = NDT_CALIBRATION_CORRELATED;
    r->observed[i] = sigma <= limit        ? NDT_OBSERVED
                     : sigma <= 10 * limit ? NDT_OBSERVED_WEAKLY
                                           : NDT_NOT_OBSERVED;
    if (!isfinite (sigma) || sigma == 0)
      continue;
    for (guint k = 0; k < N; k++) {
      /* With an infinite or no variance it is 0 or not a number. */
      const double correlation =
          fabs (r->covariance[N * i + k]) / (sigma * sqrt (r->covariance[N * k + k]));
      if (k != i && correlation > most) {
        most = correlation;
        r->confused[i] = (gint)k;
      }
    }
  }
}

void
ndt_calibration_describe_drive (const NdtTimedPose *body, gsize n_body, NdtCalibrationDrive *drive)
{
  memset (drive, 0, sizeof *drive);
  drive->slowest = n_body > 1 ? INFINITY : 0;
  for (gsize i = 1; i < n_body; i++) {
    double metres, radians;
    ndt_pose_difference (&body[i - 1].pose, &body[i].pose, &metres, &radians);
    const double speed = metres / (1e-9 * (double)(body[i].time - body[i - 1].time));
    drive->length += metres;
    drive->slowest = MIN (drive->slowest, speed);
    drive->fastest = MAX (drive->fastest, speed);
  }
  /* Turns by headings a while apart: the sum of small ones is of noise. */
  const gsize step = MAX (1, n_body / 50);
  for (gsize i = step; i < n_body; i += step) {
    double metres, radians;
    ndt_pose_difference (&body[i - step].pose, &body[i].pose, &metres, &radians);
    drive->turned += radians;
  }
}

gchar *
ndt_calibration_explain (
    const NdtCalibrationResult *r, guint parameter, const NdtCalibrationDrive *drive)
{
  static const gchar *const words[] = {"observed", "weakly observed", "not observed"};
  g_return_val_if_fail (parameter < N, NULL);
  const gint with = r->confused[parameter];
  GString *text = g_string_new (NULL);

  g_string_append_printf (
      text, "%s is %s", ndt_calibration_parameter_name (parameter), words[r->observed[parameter]]);
  if (r->observed[parameter] == NDT_OBSERVED)
    return g_string_free (text, FALSE);
  if (parameter == N - 1 && drive->length < 1 && drive->turned < 0.1) {
    g_string_append (text, ": the body stands still");
  } else if (with >= 0) {
    g_string_append_printf (
        text, ": it is not told apart from %s", ndt_calibration_parameter_name ((guint)with));
    if (parameter == N - 1 || with == N - 1)
      g_string_append_printf (text,
          "; the drive turns by %.0f° in all and its speed is from %.1f to %.1f m/s: a drive with "
          "turns to both sides and changes of speed tells them apart",
          drive->turned * 180 / G_PI, drive->slowest, drive->fastest);
    else
      g_string_append (text, ": the surfaces seen do not face it from three sides");
  } else if (parameter < 3) {
    g_string_append (text,
        ": too few surfaces face along it, as in a tunnel or on an open field, or "
        "parts of the drive, or of what is seen around, contradict each other, as traffic and "
        "surfaces seen from two sides make them");
  } else if (parameter < 6) {
    g_string_append (text, ": too few surfaces are far from the axis that it turns about");
  } else {
    g_string_append_printf (text, ": the body is slow, at most %.1f m/s", drive->fastest);
  }
  return g_string_free (text, FALSE);
}
