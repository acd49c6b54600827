/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndt-sim-shape.h"

G_BEGIN_DECLS

/**
 * NdtSimBvh:
 *
 * A tree of bounding boxes over shapes, which it does not own and which must not change. Reading is
 * thread-safe.
 */
typedef struct _NdtSimBvh NdtSimBvh;

NdtSimBvh *ndt_sim_bvh_new (const NdtSimShape *shapes, guint n_shapes);
void ndt_sim_bvh_free (NdtSimBvh *bvh);

/* The nearest crossing between @near and @far metres: the same as over all shapes one by one, of
 * several at the same distance the first shape's. INFINITY and no shape where there is none. */
double ndt_sim_bvh_intersect (
    const NdtSimBvh *bvh, const NdtSimRay *ray, double near, double far, const NdtSimShape **shape);

/* Calls @func for the shapes whose bounding box, grown by @margin metres, contains the point, in no
 * particular order, until one returns TRUE. Returns: whether one did */
typedef gboolean (*NdtSimBvhFunc) (const NdtSimShape *shape, guint index, gpointer user_data);
gboolean ndt_sim_bvh_foreach_at (const NdtSimBvh *bvh, const double point[3], double margin,
    NdtSimBvhFunc func, gpointer user_data);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtSimBvh, ndt_sim_bvh_free)

G_END_DECLS
