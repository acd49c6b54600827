/* SPDX-License-Identifier: MIT */
/* Probable faults of a map, by its points alone. */
#pragma once

#include "ndtcore/base/ndt-error.h"
#include "ndtcore/scan/ndt-cloud.h"

G_BEGIN_DECLS

/**
 * NdtMapJudgement:
 * @size: of the box of the points, metres
 * @n_points: that are finite
 * @points_per_cell: median of the cells that have points
 * @n_surfaces: cells of 1 m whose points lie in a plane, or in two
 * @double_share: of those, fraction with two parallel sheets …
 * @double_distance: … and the median distance of the sheets, metres
 * @n_walls: surfaces that stand within 30° of vertical
 * @tilt: common deviation of walls, of two directions at least, from the vertical, rad; 0 where
 *   there are none
 */
typedef struct {
  double size[3];
  gsize n_points;
  double points_per_cell;
  guint n_surfaces;
  double double_share;
  double double_distance;
  guint n_walls;
  double tilt;
} NdtMapJudgement;

/* @resolution: of the cells that points are counted in, metres. NULL's errors are those of
 * ndt_voxel_map_new(), but for NDT_ERROR_EMPTY_MAP: such a map has no surfaces. */
gboolean ndt_map_judge (
    const NdtCloudView *points, double resolution, NdtMapJudgement *judgement, GError **error);

/* (element-type gchar*): sentences that name the remedy; empty where no fault is found. */
GPtrArray *ndt_map_judgement_warn (const NdtMapJudgement *judgement, double resolution);

G_END_DECLS
