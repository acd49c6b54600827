/* SPDX-License-Identifier: MIT */
#pragma once

#include "lidar-shape.h"

G_BEGIN_DECLS

/**
 * LidarBvh:
 *
 * A tree of bounding boxes over shapes that somebody else owns and that do not change. Reading
 * it is thread-safe.
 */
typedef struct _LidarBvh LidarBvh;

LidarBvh *lidar_bvh_new (const LidarShape *shapes, guint n_shapes);
void lidar_bvh_free (LidarBvh *bvh);

/* The nearest crossing between @near and @far metres: the same as over all shapes one by one, of
 * several at the same distance the first shape's. INFINITY and no shape where there is none. */
double lidar_bvh_intersect (
    const LidarBvh *bvh, const LidarRay *ray, double near, double far, const LidarShape **shape);

/* Calls @func for the shapes whose bounding box, grown by @margin metres, holds the point, in no
 * particular order, until one returns TRUE. Returns: whether one did */
typedef gboolean (*LidarBvhFunc) (const LidarShape *shape, guint index, gpointer user_data);
gboolean lidar_bvh_foreach_at (const LidarBvh *bvh, const double point[3], double margin,
    LidarBvhFunc func, gpointer user_data);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LidarBvh, lidar_bvh_free)

G_END_DECLS
