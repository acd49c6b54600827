/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndt-backend.h"
#include "ndtcore/objective/ndt-objective.h"

G_BEGIN_DECLS

/**
 * ndt_score_objective_new:
 * @backend: outlives the objective; its map is used
 * @slot: a scan of it
 * @params: outlier ratio and neighbours are used
 * @level: of the map
 * @n_problems: poses of the sensor in the map that are evaluated at a time, from 1; each is a
 *   problem of one pose
 *
 * The NDT score as an objective: its negative, with the negatives of the gradient and the Hessian,
 * to the bits of ndt_backend_evaluate(). It is what alignments maximize, without the approach from
 * far and without the penalties of a start. For researchers, and for sums of the score and other
 * terms; the loop of ndt_backend_align() is faster, since on a device it has no transfers.
 * Between ndt_objective_begin() and ndt_objective_end() a thread of the objective's own uses the
 * backend, which nobody else may use then, cancelling excepted. Cancelling it cancels the backend.
 *
 * Returns: (transfer full)
 */
NdtObjective *ndt_score_objective_new (
    NdtBackend *backend, guint slot, const NdtAlignParams *params, guint level, guint n_problems);

/**
 * ndt_reweighted_objective_new:
 *
 * The same value and gradient with the normal equations of the approach's reweighted least squares
 * (%NDT_KIND_LEAST_SQUARES) in place of the Hessian, times −d1 d2, the weight that a pair has in
 * the score's gradient at its mean. They are positive semidefinite everywhere, so that a
 * minimizer's steps are those of iteratively reweighted least squares, and its value is the
 * score's, which that sum's own is not: it also falls where pairs are lost. An evaluation with
 * matrices takes two passes.
 *
 * Returns: (transfer full)
 */
NdtObjective *ndt_reweighted_objective_new (
    NdtBackend *backend, guint slot, const NdtAlignParams *params, guint level, guint n_problems);

G_END_DECLS
