/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "ndt-cell-region.h"
#include "ndt-voxel-levels.h"
#include "ndt-voxel-map.h"
#include "ndt-voxel-update.h"
#include "ndtcore/base/ndt-error.h"
#include "ndtcore/base/ndt-memory.h"

struct _NdtVoxelMapBuilder {
  NdtVoxelMapParams params;
  gboolean has_origin;
  gint64 origin[3];
  GPtrArray *regions;     /* of NdtCellRegion, ordered by id */
  NdtVoxelUpdate *update; /* NULL: each build computes all */
};

NdtVoxelMapBuilder *
ndt_voxel_map_builder_new (const NdtVoxelMapParams *params, GError **error)
{
  if (!ndt_voxel_map_params_check (params, error))
    return NULL;
  NdtVoxelMapBuilder *builder = g_new0 (NdtVoxelMapBuilder, 1);
  builder->params = *params;
  builder->regions = g_ptr_array_new_with_free_func (ndt_cell_region_free);
  return builder;
}

void
ndt_voxel_map_builder_free (NdtVoxelMapBuilder *builder)
{
  g_ptr_array_unref (builder->regions);
  g_clear_pointer (&builder->update, ndt_voxel_update_free);
  g_free (builder);
}

void
ndt_voxel_map_builder_keep_voxels (NdtVoxelMapBuilder *builder)
{
  if (!builder->update && !builder->params.keep_details)
    builder->update = ndt_voxel_update_new ();
}

/* Index of a region, or the index at which it would be inserted. */
static guint
find_region (const NdtVoxelMapBuilder *builder, guint64 id, gboolean *found)
{
  guint low = 0, high = builder->regions->len;
  while (low < high) {
    const guint middle = (low + high) / 2;
    const NdtCellRegion *region = g_ptr_array_index (builder->regions, middle);
    if (region->id < id)
      low = middle + 1;
    else
      high = middle;
  }
  *found = low < builder->regions->len &&
           ((const NdtCellRegion *)g_ptr_array_index (builder->regions, low))->id == id;
  return low;
}

static gboolean
refuse_cells (guint64 n_points, GError **error)
{
  return ndt_refuse_memory (
      error, "the cells of %" G_GUINT64_FORMAT " points: use a larger resolution", n_points);
}

gboolean
ndt_voxel_map_builder_add (NdtVoxelMapBuilder *builder, guint64 region_id,
    const NdtCloudView *points, const NdtPose *pose, GError **error)
{
  const double r = builder->params.resolution;
  gboolean found;
  const guint at = find_region (builder, region_id, &found);
  NdtCellRegion *region;
  if (found) {
    region = g_ptr_array_index (builder->regions, at);
    if (builder->update)
      ndt_voxel_update_drop (builder->update, region);
  } else {
    region = ndt_cell_region_new (region_id);
    if (!region)
      return refuse_cells (points->n_points, error);
    g_ptr_array_insert (builder->regions, (gint)at, region);
  }

  guint64 last_key = UINT64_MAX;
  NdtRegionCell *cell = NULL;
  for (gsize i = 0; i < points->n_points; i++) {
    double p[3], index[3], offset[3];
    gint32 relative[3];
    gboolean in_range = TRUE;
    ndt_cloud_view_get (points, i, p);
    if (pose)
      ndt_pose_transform_point (pose, p, p);
    if (!isfinite (p[0]) || !isfinite (p[1]) || !isfinite (p[2]))
      continue;
    for (guint k = 0; k < 3; k++) {
      index[k] = floor (p[k] / r);
      in_range = in_range && fabs (index[k]) < 4e18;
    }
    if (in_range && !builder->has_origin) {
      for (guint k = 0; k < 3; k++)
        builder->origin[k] = (gint64)index[k];
      builder->has_origin = TRUE;
    }
    for (guint k = 0; in_range && k < 3; k++) {
      const double d = index[k] - (double)builder->origin[k];
      in_range = d >= -NDT_KEY_LIMIT && d < NDT_KEY_LIMIT - NDT_ORIGIN_STEP;
      relative[k] = in_range ? (gint32)d : 0;
    }
    if (!in_range) {
      g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
          "Point (%g, %g, %g) lies more than %d cells of %g m from the map's first point: the map "
          "is too large for this resolution, or holds a stray point",
          p[0], p[1], p[2], NDT_KEY_LIMIT, r);
      return FALSE;
    }
    const guint64 key = ndt_block_key (relative[0], relative[1], relative[2]);
    if (key != last_key) {
      cell = ndt_cell_region_get (region, key);
      if (!cell)
        return refuse_cells (points->n_points, error);
      last_key = key;
    }
    for (guint k = 0; k < 3; k++) {
      offset[k] = p[k] - index[k] * r;
      region->min[k] = MIN (region->min[k], p[k]);
      region->max[k] = MAX (region->max[k], p[k]);
    }
    NdtCellSums *sums = &cell->sums;
    sums->n += 1;
    for (guint k = 0; k < 3; k++)
      sums->s[k] += offset[k];
    sums->ss[0] += offset[0] * offset[0];
    sums->ss[1] += offset[0] * offset[1];
    sums->ss[2] += offset[0] * offset[2];
    sums->ss[3] += offset[1] * offset[1];
    sums->ss[4] += offset[1] * offset[2];
    sums->ss[5] += offset[2] * offset[2];
    region->n_points++;
  }
  return TRUE;
}

gboolean
ndt_voxel_map_builder_remove (NdtVoxelMapBuilder *builder, guint64 region)
{
  gboolean found;
  const guint at = find_region (builder, region, &found);
  if (found) {
    if (builder->update)
      ndt_voxel_update_drop (builder->update, g_ptr_array_index (builder->regions, at));
    g_ptr_array_remove_index (builder->regions, at);
  }
  if (builder->regions->len == 0) {
    builder->has_origin = FALSE;
    /* What was kept is relative to the origin. */
    if (builder->update) {
      ndt_voxel_update_free (builder->update);
      builder->update = ndt_voxel_update_new ();
    }
  }
  return found;
}

gsize
ndt_voxel_map_builder_get_bytes (const NdtVoxelMapBuilder *builder)
{
  gsize bytes = 0;
  for (guint i = 0; i < builder->regions->len; i++) {
    const NdtCellRegion *region = g_ptr_array_index (builder->regions, i);
    bytes += ndt_cell_region_get_bytes (region);
  }
  if (builder->update)
    bytes += ndt_voxel_update_get_bytes (builder->update);
  return bytes;
}

NdtVoxelMap *
ndt_voxel_map_builder_build (NdtVoxelMapBuilder *builder, GError **error)
{
  const NdtVoxelMapParams *params = &builder->params;
  NdtVoxelLevel levels[NDT_MAX_LEVELS] = {0};
  guint64 n_points = 0;
  double min[3] = {INFINITY, INFINITY, INFINITY}, max[3] = {-INFINITY, -INFINITY, -INFINITY};

  for (guint i = 0; i < builder->regions->len; i++) {
    const NdtCellRegion *region = g_ptr_array_index (builder->regions, i);
    n_points += region->n_points;
    for (guint k = 0; k < 3; k++) {
      min[k] = MIN (min[k], region->min[k]);
      max[k] = MAX (max[k], region->max[k]);
    }
  }

  const gboolean fits =
      builder->update ? ndt_voxel_update_build (
                            builder->update, params, builder->regions, builder->origin, levels)
                      : ndt_voxel_levels_build (params, builder->regions, builder->origin, levels);
  if (!fits) {
    refuse_cells (n_points, error);
  } else if (levels[0].n_voxels == 0) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_EMPTY_MAP,
        "The map has no valid voxel: of its %" G_GUINT64_FORMAT
        " points no %u lie in one cell of %g m; use a denser map or a larger resolution",
        n_points, params->min_points, params->resolution);
  } else {
    return ndt_voxel_map_new_from_levels (params, params->n_levels, levels, n_points, min, max);
  }
  for (guint l = 0; l < params->n_levels; l++)
    ndt_voxel_level_clear (&levels[l]);
  return NULL;
}

NdtVoxelMap *
ndt_voxel_map_new (const NdtVoxelMapParams *params, const NdtCloudView *points, GError **error)
{
  g_autoptr (NdtVoxelMapBuilder) builder = ndt_voxel_map_builder_new (params, error);
  if (!builder || !ndt_voxel_map_builder_add (builder, 0, points, NULL, error))
    return NULL;
  return ndt_voxel_map_builder_build (builder, error);
}
