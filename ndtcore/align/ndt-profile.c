/* SPDX-License-Identifier: MIT */
#include "ndt-profile.h"

#include <math.h>
#include <string.h>

#include "ndt-observability.h"
#include "ndtcore/math/ndt-formulas.h"

/* From place to place, in cells: five of them are two cells, beyond which the sum falls by what
 * lies along the way, and not by where the scan is. */
#define STEP 0.5
#define N_PLACES 5
/* Variance of the place, in cells: what flat surfaces feign is this, by the slope that they give
 * the sum of best terms, times the root of the sum in units of a term's maximum … */
#define SLOPE_NOISE 0.12
/* … and where surfaces lie in their cells is an error of so many of these however clear the
 * maximum is. */
#define LEAST_STDDEV 0.05
/* The places end a cell from the pose, so that the middle of them is less far off than the maximum,
 * by more the farther that is: to 0.5 cells by little, and then by up to three times what is beyond
 * that. */
#define NEAR 0.5
#define BEYOND 3.0

/* The middle of what is above the lower one of both ends, by its cube, in steps: the nearer to the
 * maximum the more, since both sides of it may fall differently. 0 where nothing is. */
static double
get_middle (const double y[N_PLACES])
{
  const double foot = MIN (y[0], y[N_PLACES - 1]);
  double weight = 0, moment = 0;
  for (gint i = 0; i < N_PLACES; i++) {
    const double above = MAX (y[i] - foot, 0);
    weight += above * above * above;
    moment += above * above * above * (i - N_PLACES / 2);
  }
  return weight > 0 ? moment / weight : 0;
}

gboolean
ndt_profile_along (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    const NdtPose *sensor, const double axis[3], NdtProfile *out, GError **error)
{
  const double cell = ndt_backend_get_resolution (backend), step = STEP * cell;
  const double most = -ndt_gauss (params->outlier_ratio, cell).d1;
  double turn[3], y[N_PLACES];
  NdtPose places[N_PLACES - 1];
  NdtSums middle, sums[N_PLACES - 1];
  memset (out, 0, sizeof (*out));
  if (!ndt_backend_evaluate (backend, slot, params, 0, NDT_KIND_SCORE, sensor, 1, &middle, error))
    return FALSE;
  out->passes = 1;
  if (!(middle.nvtl > 0) || !ndt_observability_turn (&middle, axis, turn))
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
    y[i] = i == 2 ? middle.nvtl : sums[i < 2 ? i : i - 1].nvtl;
  const double curvature = 2 * y[N_PLACES / 2] - y[0] - y[N_PLACES - 1];
  if (!(curvature > 0))
    return TRUE;
  const double noise = SLOPE_NOISE * sqrt (most * middle.nvtl) / curvature;
  const double at = STEP * get_middle (y), cut = BEYOND * MAX (fabs (at) - NEAR, 0);
  out->at = at * cell;
  out->information = 1 / ((noise * noise + LEAST_STDDEV * LEAST_STDDEV + cut * cut) * cell * cell);
  return TRUE;
}
