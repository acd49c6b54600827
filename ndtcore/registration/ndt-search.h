/* SPDX-License-Identifier: MIT */
/* The search from far: docs/mathematics.md, "Far starts". Private to ndt_register(). */
#pragma once

#include "ndtcore/align/ndt-backend.h"

G_BEGIN_DECLS

/* Candidates of a guess: the approaches 0 to 3 of NdtStart. */
#define NDT_SEARCH_CANDIDATES 4

#define NDT_SEARCH_NO_MEMORY G_MAXUINT

/**
 * NdtSearchCost:
 * @most: bound of @passes; 0: none
 * @evaluations: (out): passes over the scan or a sample of it
 * @passes: (out): passes over the scan, each counting by ndt_search_weigh()
 *
 * What a search may cost, and what it has cost.
 */
typedef struct {
  double most;
  guint32 evaluations;
  double passes;
} NdtSearchCost;

/* What a pass over @n_sample points of a scan of @n_scan counts for: their part of the points, and
 * of 600 points where the scan has fewer. */
double ndt_search_weigh (guint n_sample, guint n_scan);

/* The best alignment of all candidates of all guesses. With a bound, of those of as many guesses as
 * it suffices for, where the sample lies best on the map; an alignment that it cuts short counts as
 * it is. Adds to the @cost. Overwrites the scan of NDT_SEARCH_SLOT. */
gboolean ndt_search_far (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    const NdtRegularization *regularization, const NdtPose *guesses, guint n_guesses,
    NdtAlignResult *best, NdtSearchCost *cost, GError **error);

/* ndt_backend_align() in batches of the backend's size. The passes are added to *@evaluations. */
gboolean ndt_search_align (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    const NdtStart *starts, guint n, NdtAlignResult *results, guint32 *evaluations, GError **error);

/* Writes the sample of a scan to NDT_SEARCH_SLOT, by NdtBackendClass.sample_scan where the backend
 * has it. */
gboolean ndt_search_set_sample (NdtBackend *backend, guint slot, float leaf, GError **error);

/**
 * ndt_search_sample:
 * @xyz: packed x, y, z of @n points
 * @leaf: metres, > 0
 * @most: points
 * @out: room for @n points; may be @xyz
 *
 * The first point of each cube of edge @leaf or, where these are more than @most, @most of them,
 * spread over their order: the rules of ndt-scan-sample.h.
 *
 * Returns: the number of points in @out, in the order of @xyz; NDT_SEARCH_NO_MEMORY where an
 *   allocation failed
 */
guint ndt_search_sample (const float *xyz, guint n, float leaf, guint most, float *out);

G_END_DECLS
