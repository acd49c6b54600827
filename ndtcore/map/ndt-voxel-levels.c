/* SPDX-License-Identifier: MIT */
#include "ndt-voxel-levels.h"

#include <stdlib.h>
#include <string.h>

#include "ndt-cell-region.h"
#include "ndtcore/math/ndt-formulas.h"

/* A cell of a level: block and bit in one sortable number (57 + 6 bits), and a pointer to its sums.
 */
typedef struct {
  guint64 order;
  guint32 region;
  guint32 sums;
} CellRef;

typedef struct {
  guint64 order;
  NdtCellSums sums;
} MergedCell;

static gint
compare_refs (gconstpointer a, gconstpointer b)
{
  const CellRef *x = a, *y = b;
  if (x->order != y->order)
    return x->order < y->order ? -1 : 1;
  if (x->region != y->region)
    return x->region < y->region ? -1 : 1;
  return x->sums < y->sums ? -1 : x->sums > y->sums;
}

/* All regions' cells as one array ordered by cell; the sums of a cell in several regions are added
 * in the order of regions, so that the result does not depend on the order in which regions were
 * added. NULL where there is not the memory. */
static MergedCell *
merge_regions (const GPtrArray *regions, const gint64 first[3], gint64 origin[3], gsize *n_merged)
{
  gsize n = 0;
  gint32 least[3] = {G_MAXINT32, G_MAXINT32, G_MAXINT32};
  for (guint i = 0; i < regions->len; i++)
    n += ((const NdtCellRegion *)g_ptr_array_index (regions, i))->n_cells;
  *n_merged = 0;
  if (n == 0)
    return g_new (MergedCell, 1);

  g_autofree CellRef *refs = g_try_new (CellRef, n);
  MergedCell *merged = g_try_new (MergedCell, n);
  if (!refs || !merged) {
    g_free (merged);
    return NULL;
  }
  n = 0;
  for (guint pass = 0; pass < 2; pass++) {
    for (guint i = 0; i < regions->len; i++) {
      const NdtCellRegion *region = g_ptr_array_index (regions, i);
      for (guint32 j = 0; j < region->n_cells; j++) {
        const NdtRegionCell *cell = &region->cells[j];
        gint32 c[3];
        for (guint k = 0; k < 3; k++)
          c[k] = (gint32)(cell->key >> (21 * k) & 0x1fffff) - NDT_KEY_LIMIT;
        if (pass == 0) {
          for (guint k = 0; k < 3; k++)
            least[k] = MIN (least[k], c[k]);
        } else {
          for (guint k = 0; k < 3; k++)
            c[k] -= least[k];
          refs[n].order = ndt_cell_order (c);
          refs[n].region = i;
          refs[n++].sums = j;
        }
      }
    }
    if (pass == 0) {
      /* The origin is a function of the map's cells alone. */
      for (guint k = 0; k < 3; k++) {
        const gint64 absolute = first[k] + least[k];
        origin[k] = absolute - (absolute & (NDT_ORIGIN_STEP - 1));
        least[k] = (gint32)(origin[k] - first[k]);
      }
    }
  }
  qsort (refs, n, sizeof (CellRef), compare_refs);

  static const double no_shift[3] = {0, 0, 0};
  gsize m = 0;
  for (gsize i = 0; i < n; i++) {
    const NdtCellRegion *region = g_ptr_array_index (regions, refs[i].region);
    const NdtCellSums *sums = &region->cells[refs[i].sums].sums;
    if (m > 0 && merged[m - 1].order == refs[i].order) {
      ndt_cell_sums_add (&merged[m - 1].sums, sums, no_shift);
    } else {
      merged[m].order = refs[i].order;
      merged[m++].sums = *sums;
    }
  }
  *n_merged = m;
  return merged;
}

/* The cells of the next coarser level, from at least one cell. NULL where there is not the memory.
 */
static MergedCell *
coarsen (const MergedCell *cells, gsize n, double resolution, gsize *n_out)
{
  g_autofree CellRef *refs = g_try_new (CellRef, n);
  MergedCell *merged = g_try_new (MergedCell, n);
  if (!refs || !merged) {
    g_free (merged);
    return NULL;
  }
  for (gsize i = 0; i < n; i++) {
    gint32 c[3];
    ndt_cell_from_order (cells[i].order, c);
    for (guint k = 0; k < 3; k++)
      c[k] >>= 1;
    refs[i].order = ndt_cell_order (c);
    refs[i].region = 0;
    refs[i].sums = (guint32)i;
  }
  qsort (refs, n, sizeof (CellRef), compare_refs);

  gsize m = 0;
  for (gsize i = 0; i < n; i++) {
    gint32 c[3];
    double shift[3];
    ndt_cell_from_order (cells[refs[i].sums].order, c);
    for (guint k = 0; k < 3; k++)
      shift[k] = (c[k] & 1) * resolution;
    if (m == 0 || merged[m - 1].order != refs[i].order) {
      memset (&merged[m], 0, sizeof (MergedCell));
      merged[m++].order = refs[i].order;
    }
    ndt_cell_sums_add (&merged[m - 1].sums, &cells[refs[i].sums].sums, shift);
  }
  *n_out = m;
  return merged;
}

gboolean
ndt_voxel_level_build_blocks (NdtVoxelLevel *level)
{
  const NdtVoxel *voxels = level->voxels;
  guint32 n_blocks = 0;
  for (guint32 i = 0; i < level->n_voxels; i++) {
    const gint32 *c = voxels[i].cell, *b = i ? voxels[i - 1].cell : NULL;
    if (!b || c[0] >> 2 != b[0] >> 2 || c[1] >> 2 != b[1] >> 2 || c[2] >> 2 != b[2] >> 2)
      n_blocks++;
  }
  /* At most half full: most look-ups around a surface are of blocks that do not exist, and a full
   * table makes those slow. */
  level->block_shift = 64 - 4;
  while ((gsize)1 << (64 - level->block_shift) < 2 * (gsize)n_blocks)
    level->block_shift--;
  const gsize size = (gsize)1 << (64 - level->block_shift);
  NdtBlock *blocks = g_try_new0 (NdtBlock, size);
  if (!blocks)
    return FALSE;
  for (gsize i = 0; i < size; i++)
    blocks[i].key = NDT_BLOCK_EMPTY;
  NdtBlock *block = NULL;
  for (guint32 i = 0; i < level->n_voxels; i++) {
    const gint32 *c = voxels[i].cell;
    const guint64 key = ndt_block_key (c[0] >> 2, c[1] >> 2, c[2] >> 2);
    if (!block || block->key != key) {
      gsize slot = ndt_block_hash (key, level->block_shift);
      while (blocks[slot].key != NDT_BLOCK_EMPTY)
        slot = (slot + 1) & (size - 1);
      block = &blocks[slot];
      block->key = key;
      block->first = i;
    }
    block->mask |= UINT64_C (1) << ndt_block_bit (c[0], c[1], c[2]);
  }
  level->blocks = blocks;
  level->n_blocks_used = n_blocks;
  return TRUE;
}

/* Shrinks an array to @n elements; the array itself where that fails. */
static gpointer
shrink (gpointer array, gsize n, gsize size)
{
  gpointer smaller = g_try_realloc_n (array, MAX (n, 1), size);
  return smaller ? smaller : array;
}

/* FALSE where there is not the memory; the caller clears the partial level. */
static gboolean
build_level (NdtVoxelLevel *level, const NdtVoxelMapParams *params, const MergedCell *cells,
    gsize n, gboolean keep_details)
{
  NdtVoxel *voxels = g_try_new (NdtVoxel, MAX (n, 1));
  NdtVoxelDetail *details = keep_details ? g_try_new (NdtVoxelDetail, MAX (n, 1)) : NULL;
  guint32 m = 0;
  level->voxels = voxels;
  level->details = details;
  if (!voxels || (keep_details && !details))
    return FALSE;
  for (guint k = 0; k < 3; k++) {
    level->cell_min[k] = G_MAXINT32;
    level->cell_max[k] = G_MININT32;
  }
  for (gsize i = 0; i < n; i++) {
    double mean[3], cov[6], icov[6];
    if (!ndt_cell_to_voxel (&cells[i].sums, (int)params->covariance, params->min_points,
            params->eigenvalue_ratio, level->resolution, mean, cov, icov))
      continue;
    level->n_points += cells[i].sums.n;
    NdtVoxel *voxel = &voxels[m];
    for (guint k = 0; k < 3; k++)
      voxel->mean[k] = (float)mean[k];
    for (guint k = 0; k < 6; k++)
      voxel->icov[k] = (float)icov[k];
    ndt_cell_from_order (cells[i].order, voxel->cell);
    for (guint k = 0; k < 3; k++) {
      level->cell_min[k] = MIN (level->cell_min[k], voxel->cell[k]);
      level->cell_max[k] = MAX (level->cell_max[k], voxel->cell[k]);
    }
    if (details) {
      details[m].n_points = (guint32)cells[i].sums.n;
      memcpy (details[m].mean, mean, sizeof (mean));
      memcpy (details[m].cov, cov, sizeof (cov));
      memcpy (details[m].icov, icov, sizeof (icov));
    }
    m++;
  }
  level->n_voxels = m;
  level->voxels = shrink (voxels, m, sizeof (NdtVoxel));
  level->details = details ? shrink (details, m, sizeof (NdtVoxelDetail)) : NULL;
  return ndt_voxel_level_build_blocks (level);
}

gboolean
ndt_voxel_levels_build (const NdtVoxelMapParams *params, const GPtrArray *regions,
    const gint64 first[3], NdtVoxelLevel levels[NDT_MAX_LEVELS])
{
  gint64 origin[3] = {0, 0, 0};
  gsize n;
  g_autofree MergedCell *cells = merge_regions (regions, first, origin, &n);
  for (guint l = 0; l < params->n_levels && cells; l++) {
    NdtVoxelLevel *level = &levels[l];
    if (l > 0) {
      gsize n_coarse = 0;
      MergedCell *coarse = coarsen (cells, n, levels[l - 1].resolution, &n_coarse);
      g_free (cells);
      cells = coarse;
      n = n_coarse;
    }
    level->resolution = params->resolution * (1 << l);
    for (guint k = 0; k < 3; k++)
      level->origin[k] = origin[k] / (1 << l);
    if (!cells || !build_level (level, params, cells, n, l == 0 && params->keep_details))
      return FALSE;
    if (levels[0].n_voxels == 0)
      break;
  }
  return cells != NULL;
}

void
ndt_voxel_level_clear (NdtVoxelLevel *level)
{
  g_free ((gpointer)level->voxels);
  g_free ((gpointer)level->blocks);
  g_free ((gpointer)level->details);
}
