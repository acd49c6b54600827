/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndtcore/scan/ndt-cloud.h"
#include "ndtcore/base/ndt-error.h"

G_BEGIN_DECLS

/**
 * NdtPointSet:
 *
 * Points of a map, in double: all of them, or the centroid of each cell of a grid, in the order of
 * the cells' first points.
 */
typedef struct _NdtPointSet NdtPointSet;

/* @leaf: edge of a cell in metres, 0: all points are kept. */
NdtPointSet *ndt_point_set_new (double leaf);
void ndt_point_set_free (NdtPointSet *set);
/* FALSE with NDT_ERROR_INVALID_ARGUMENT where a point is more than 2^20 cells from the first, or
 * there are 10^8 already. */
gboolean ndt_point_set_add (NdtPointSet *set, const double point[3], GError **error);
gsize ndt_point_set_get_n_points (const NdtPointSet *set);
void ndt_point_set_get (const NdtPointSet *set, gsize index, double point[3]);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtPointSet, ndt_point_set_free)

G_END_DECLS
