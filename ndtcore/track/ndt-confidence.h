/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndt-localizer.h"

G_BEGIN_DECLS

/* Fewer rays tell nothing. */
#define NDT_CONFIDENCE_RAYS 16

/* Probability that the pose is right to 0.5 m and 2 degrees, from the rays through the map, from
 * how far it is from where motion leads, from how well its position is known, and from whether the
 * reason of the status is a misfit (bad fit, weak overlap, no map); the score is but one part.
 * Calibrated on drives with known poses: docs/tracking-figures.md. FALSE where it is not known: no
 * pose, no alignment, no map in the host's memory, too few rays. */
gboolean ndt_confidence (const NdtLocalization *localization, double *confidence);

G_END_DECLS
