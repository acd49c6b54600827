/* SPDX-License-Identifier: MIT */
#include "ndt-confidence.h"

#include <math.h>

#include "ndt-localizer-step.h"

/* A logistic model, fitted to scans with known poses: docs/tracking-figures.md, "Confidence". */
#define MODEL_BASE 2.1
#define MODEL_UNEXPLAINED (-4.0)
#define MODEL_PIERCED (-9.0)
#define MODEL_FIT 8.6
#define MODEL_INNOVATION (-3.1)

/* Metres that count as right. */
#define RIGHT 0.5
/* More than so much of each says no more. */
#define MOST_FIT 1.1
#define MOST_INNOVATION 3.0
#define MOST_UNEXPLAINED 0.5
/* A scan that does not fit by the rules of the status is at most as likely right as not. */
#define MOST_MISFIT 0.5

/* Share of a normal distribution within ±x standard deviations. */
static double
within (double x)
{
  return erf (x * G_SQRT2 / 2);
}

gboolean
ndt_confidence (const NdtLocalization *localization, double *confidence)
{
  const NdtMapRays *rays = &localization->rays;
  *confidence = 0;
  if (!localization->has_pose || rays->n < NDT_CONFIDENCE_RAYS || !(localization->fit > 0))
    return FALSE;
  const double unexplained = (double)rays->n_unexplained / rays->n;
  const double pierced = (double)rays->n_pierced / rays->n;
  const double z = MODEL_BASE + MODEL_UNEXPLAINED * MIN (unexplained, MOST_UNEXPLAINED) +
                   MODEL_PIERCED * pierced + MODEL_FIT * MIN (localization->fit, MOST_FIT) +
                   MODEL_INNOVATION * MIN (localization->innovation, MOST_INNOVATION);
  /* What scans leave open they do not tell from what they hold. */
  const double open = localization->sigma > 0 ? within (RIGHT / localization->sigma) : 1;
  *confidence = open / (1 + exp (-z));
  /* The bound of the fit follows the stream's own scans, so that a fit which is good for a start
   * may be one of these. */
  if (ndt_reason_is_misfit (localization->reason))
    *confidence = MIN (*confidence, MOST_MISFIT);
  return TRUE;
}

void
ndt_localizer_step_follow_rays (
    NdtLocalizer *localizer, NdtLocalizerStep *step, const NdtPose *sensor)
{
  const NdtScanFilter *filter = &localizer->params.filter;
  NdtLocalization *out = &step->out;
  g_autoptr (NdtVoxelMap) map = ndt_backend_ref_map (localizer->backend);
  if (!map)
    return;
  ndt_map_rays (map, &step->observation->points, sensor, (double)filter->min_range,
      (double)filter->max_range, &out->rays);
  out->has_confidence = ndt_confidence (out, &out->confidence);
}
