/* SPDX-License-Identifier: MIT */
#include "ndt-fit.h"

#include <math.h>

#include "ndtcore/math/ndt-formulas.h"
#include "ndtcore/registration/ndt-search.h"

/* Steps of the integral; from 200 on the first three digits do not change. */
#define STEPS 400

/* Mean of exp (−d2/2 T²), T² of a point against a mean and a covariance of n points:
 * T² = 3 (n² − 1) / (n (n − 3)) F, F of Snedecor's distribution with 3 and n − 3 degrees. */
static double
estimated_term (double d2, double n)
{
  const double k = 3 * (n * n - 1) / (n * (n - 3));
  double sum = 0, weight = 0;
  for (guint i = 0; i < STEPS; i++) {
    /* F from 0 to ∞ as u / (1 − u). */
    const double u = (i + 0.5) / STEPS, f = u / (1 - u);
    const double density = sqrt (f) * pow (1 + 3 * f / (n - 3), -0.5 * n) / ((1 - u) * (1 - u));
    sum += density * exp (-0.5 * d2 * k * f);
    weight += density;
  }
  return sum / weight;
}

double
ndt_fit_expected (double outlier_ratio, double resolution, double share, double density)
{
  if (!(resolution > 0) || !(share > 0))
    return 0;
  const double d2 = ndt_gauss (outlier_ratio, resolution).d2;
  return share * sqrt (estimated_term (d2, MAX (density, 6)) * pow (1 + d2, -1.5));
}

gboolean
ndt_fit_measure (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    NdtRegistration *registration, GError **error)
{
  double resolution, share, density;
  NdtSums sums;
  const guint level = ndt_backend_get_fit_level (backend, &resolution, &share, &density);
  registration->fit_nvtl = registration->nvtl;
  registration->fit_max_nvtl = registration->max_nvtl;
  registration->fit_matched_ratio = registration->matched_ratio;
  if (level == 0 || registration->stop == NDT_STOP_NOT_FINITE || registration->n_pairs == 0)
    return TRUE;
  if (!ndt_backend_evaluate (
          backend, slot, params, level, NDT_KIND_SCORE, &registration->pose, 1, &sums, error))
    return FALSE;
  registration->passes += ndt_search_weigh (registration->n_points, registration->n_points);
  registration->fit_nvtl = sums.n_matched > 0 ? sums.nvtl / (double)sums.n_matched : 0;
  registration->fit_max_nvtl = -ndt_gauss (params->outlier_ratio, resolution).d1;
  registration->fit_matched_ratio = (double)sums.n_matched / registration->n_points;
  return TRUE;
}

void
ndt_fit_model_set (NdtFitModel *model, const NdtBackend *backend, double outlier_ratio)
{
  double resolution, share, density;
  ndt_backend_get_fit_level (backend, &resolution, &share, &density);
  if (model->outlier_ratio == outlier_ratio && model->resolution == resolution &&
      model->share == share && model->density == density)
    return;
  *model = (NdtFitModel){outlier_ratio, resolution, share, density,
      ndt_fit_expected (outlier_ratio, resolution, share, density)};
}

double
ndt_fit_of (const NdtFitModel *model, const NdtRegistration *registration)
{
  return model->expected > 0 && registration->fit_max_nvtl > 0
             ? registration->fit_nvtl * registration->fit_matched_ratio /
                   (registration->fit_max_nvtl * model->expected)
             : 0;
}
