/* SPDX-License-Identifier: MIT */
#include "ndt-profile.h"

#include <string.h>

#include "ndt-observability.h"
#include "ndtcore/math/ndt-formulas.h"

/* From place to place, in cells. */
#define STEP 1.0
#define N_PLACES 5
/* Standard deviation of the slope of the score for each cell, of what flat surfaces feign: this
 * times the square root of the score in units of a term's maximum. */
#define SLOPE_NOISE 0.17
/* The maximum is within so many cells of the middle. */
#define REACH 1.5

/* Through the scores at −2 to 2: its curvature, its slope in the middle, and the variance of the
 * slope by what it misses. */
static void
fit_parabola (const double y[N_PLACES], double *curvature, double *slope, double *variance)
{
  const double a = (2 * y[0] - y[1] - 2 * y[2] - y[3] + 2 * y[4]) / 14;
  const double b = (-2 * y[0] - y[1] + y[3] + 2 * y[4]) / 10;
  const double c = (y[0] + y[1] + y[2] + y[3] + y[4]) / 5 - 2 * a;
  double sum = 0;
  for (gint i = 0; i < N_PLACES; i++) {
    const double x = i - 2, missed = y[i] - (a * x * x + b * x + c);
    sum += missed * missed;
  }
  *curvature = -2 * a;
  *slope = b;
  *variance = sum / (N_PLACES - 3) / 10;
}

gboolean
ndt_profile_along (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    const NdtPose *sensor, const double axis[3], NdtProfile *out, GError **error)
{
  const double step = STEP * ndt_backend_get_resolution (backend);
  const double most = -ndt_gauss (params->outlier_ratio, ndt_backend_get_resolution (backend)).d1;
  double turn[3], y[N_PLACES], curvature, slope, variance;
  NdtPose places[N_PLACES - 1];
  NdtSums middle, sums[N_PLACES - 1];
  memset (out, 0, sizeof (*out));
  if (!ndt_backend_evaluate (backend, slot, params, 0, NDT_KIND_SCORE, sensor, 1, &middle, error))
    return FALSE;
  out->passes = 1;
  if (!(middle.score > 0) || !ndt_observability_turn (&middle, axis, turn))
    return TRUE;
  for (guint i = 0; i < N_PLACES - 1; i++) {
    const double x = step * (i < 2 ? (double)i - 2 : (double)i - 1);
    double delta[6];
    for (guint k = 0; k < 3; k++) {
      delta[k] = x * axis[k];
      delta[3 + k] = x * turn[k];
    }
    places[i] = ndt_pose_retracted (sensor, delta);
  }
  if (!ndt_backend_evaluate (
          backend, slot, params, 0, NDT_KIND_SCORE, places, N_PLACES - 1, sums, error))
    return FALSE;
  out->passes = N_PLACES;
  for (guint i = 0; i < N_PLACES; i++)
    y[i] = i == 2 ? middle.score : sums[i < 2 ? i : i - 1].score;
  fit_parabola (y, &curvature, &slope, &variance);
  if (!(curvature > 0) || fabs (slope) > REACH * curvature)
    return TRUE;
  variance += SLOPE_NOISE * SLOPE_NOISE * most * middle.score * STEP * STEP;
  out->at = step * slope / curvature;
  out->information = curvature * curvature / (variance * step * step);
  return TRUE;
}
