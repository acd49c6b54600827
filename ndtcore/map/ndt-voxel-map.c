/* SPDX-License-Identifier: MIT */
#include "ndt-voxel-map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ndtcore/base/ndt-error.h"
#include "ndtcore/math/ndt-formulas.h"

/* ---- The map ---- */

struct _NdtVoxelMap {
  gatomicrefcount ref_count;
  NdtVoxelMapParams params;
  guint n_levels;
  NdtVoxelLevel levels[NDT_MAX_LEVELS];
  guint64 n_points;
  double min[3];
  double max[3];
};

NdtVoxelMap *
ndt_voxel_map_ref (NdtVoxelMap *map)
{
  g_atomic_ref_count_inc (&map->ref_count);
  return map;
}

static void
level_clear (NdtVoxelLevel *level)
{
  g_free ((gpointer)level->voxels);
  g_free ((gpointer)level->blocks);
  g_free ((gpointer)level->details);
}

void
ndt_voxel_map_unref (NdtVoxelMap *map)
{
  if (!g_atomic_ref_count_dec (&map->ref_count))
    return;
  for (guint l = 0; l < map->n_levels; l++)
    level_clear (&map->levels[l]);
  g_free (map);
}

const NdtVoxelMapParams *
ndt_voxel_map_get_params (const NdtVoxelMap *map)
{
  return &map->params;
}

guint
ndt_voxel_map_get_n_levels (const NdtVoxelMap *map)
{
  return map->n_levels;
}

const NdtVoxelLevel *
ndt_voxel_map_get_level (const NdtVoxelMap *map, guint level)
{
  return level < map->n_levels ? &map->levels[level] : NULL;
}

gint64
ndt_voxel_level_find (const NdtVoxelLevel *level, gint32 x, gint32 y, gint32 z)
{
  return ndt_level_find (level->blocks, level->block_shift, x, y, z);
}

guint64
ndt_voxel_map_get_n_points (const NdtVoxelMap *map)
{
  return map->n_points;
}

void
ndt_voxel_map_get_bounds (const NdtVoxelMap *map, double min[3], double max[3])
{
  memcpy (min, map->min, sizeof (map->min));
  memcpy (max, map->max, sizeof (map->max));
}

gsize
ndt_voxel_map_get_bytes (const NdtVoxelMap *map)
{
  gsize bytes = sizeof (NdtVoxelMap);
  for (guint l = 0; l < map->n_levels; l++) {
    const NdtVoxelLevel *level = &map->levels[l];
    bytes += level->n_voxels * sizeof (NdtVoxel);
    bytes += ((gsize)1 << (64 - level->block_shift)) * sizeof (NdtBlock);
  }
  return bytes;
}

gsize
ndt_voxel_map_get_detail_bytes (const NdtVoxelMap *map)
{
  return map->levels[0].details ? map->levels[0].n_voxels * sizeof (NdtVoxelDetail) : 0;
}

NdtVoxelMap *
ndt_voxel_map_new_from_levels (const NdtVoxelMapParams *params, guint n_levels,
    NdtVoxelLevel *levels, guint64 n_points, const double min[3], const double max[3])
{
  g_return_val_if_fail (n_levels >= 1 && n_levels <= NDT_MAX_LEVELS, NULL);
  NdtVoxelMap *map = g_new0 (NdtVoxelMap, 1);
  g_atomic_ref_count_init (&map->ref_count);
  map->params = *params;
  map->n_levels = n_levels;
  memcpy (map->levels, levels, n_levels * sizeof (NdtVoxelLevel));
  map->n_points = n_points;
  memcpy (map->min, min, sizeof (map->min));
  memcpy (map->max, max, sizeof (map->max));
  return map;
}

/* ---- The builder ---- */

/* Origins of maps are multiples of this many cells at the finest level: of 4 two levels up then, so
 * that blocks of all levels align. Cells relative to such an origin below the least of them have to
 * stay below 2^21, so the reach is that much shorter at the upper end. */
#define ORIGIN_STEP 16

/* A cell of a region. */
typedef struct {
  guint64 key; /* ndt_block_key() of the cell relative to the builder's origin */
  NdtCellSums sums;
} Cell;

/* Cells lie side by side, in the order in which points came to them; the table holds their
 * indices, NO_CELL where it is empty. So large sums are stored without gaps, and never twice while
 * the table grows. */
typedef struct {
  guint64 id;
  Cell *cells;
  guint32 *table;
  guint32 n_cells;
  guint32 capacity;
  int shift; /* 64 − log2 of the table's size */
  guint64 n_points;
  double min[3];
  double max[3];
} Region;

struct _NdtVoxelMapBuilder {
  NdtVoxelMapParams params;
  gboolean has_origin;
  gint64 origin[3];
  GPtrArray *regions; /* of Region, ordered by id */
};

static gboolean
params_check (const NdtVoxelMapParams *params, GError **error)
{
  const gchar *what = NULL;
  if (!(params->resolution >= 0.01 && params->resolution <= 1000))
    what = "resolution has to be 0.01 m to 1000 m";
  else if (params->min_points < 3)
    what = "min-points has to be at least 3";
  else if (!(params->eigenvalue_ratio >= 1e-6 && params->eigenvalue_ratio <= 1))
    what = "the eigenvalue ratio has to be 1e-6 to 1";
  else if (params->n_levels < 1 || params->n_levels > NDT_MAX_LEVELS)
    what = "the number of levels has to be 1 to 3";
  else if (params->covariance > NDT_COVARIANCE_NDT_OMP)
    what = "unknown covariance estimate";
  if (what)
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT, "Voxel map: %s", what);
  return what == NULL;
}

static void
region_free (gpointer data)
{
  Region *region = data;
  g_free (region->cells);
  g_free (region->table);
  g_free (region);
}

NdtVoxelMapBuilder *
ndt_voxel_map_builder_new (const NdtVoxelMapParams *params, GError **error)
{
  if (!params_check (params, error))
    return NULL;
  NdtVoxelMapBuilder *builder = g_new0 (NdtVoxelMapBuilder, 1);
  builder->params = *params;
  builder->regions = g_ptr_array_new_with_free_func (region_free);
  return builder;
}

void
ndt_voxel_map_builder_free (NdtVoxelMapBuilder *builder)
{
  g_ptr_array_unref (builder->regions);
  g_free (builder);
}

/* Index where a region is or would be. */
static guint
find_region (const NdtVoxelMapBuilder *builder, guint64 id, gboolean *found)
{
  guint low = 0, high = builder->regions->len;
  while (low < high) {
    const guint middle = (low + high) / 2;
    const Region *region = g_ptr_array_index (builder->regions, middle);
    if (region->id < id)
      low = middle + 1;
    else
      high = middle;
  }
  *found = low < builder->regions->len &&
           ((const Region *)g_ptr_array_index (builder->regions, low))->id == id;
  return low;
}

#define NO_CELL G_MAXUINT32

/* Makes the table, or makes it larger, and enters all cells. FALSE without the memory for it leaves
 * it as it is. */
static gboolean
region_index (Region *region, int shift)
{
  const gsize size = (gsize)1 << (64 - shift);
  guint32 *table = g_try_new (guint32, size);
  if (!table)
    return FALSE;
  g_free (region->table);
  region->table = table;
  region->shift = shift;
  memset (region->table, 0xff, size * sizeof (guint32));
  for (guint32 c = 0; c < region->n_cells; c++) {
    gsize i = ndt_block_hash (region->cells[c].key, shift);
    while (region->table[i] != NO_CELL)
      i = (i + 1) & (size - 1);
    region->table[i] = c;
  }
  return TRUE;
}

/* NULL without the memory for it. */
static Region *
region_new (guint64 id)
{
  Region *region = g_new0 (Region, 1);
  region->id = id;
  if (!region_index (region, 64 - 10)) {
    region_free (region);
    return NULL;
  }
  for (guint i = 0; i < 3; i++) {
    region->min[i] = INFINITY;
    region->max[i] = -INFINITY;
  }
  return region;
}

/* Index in the table of a key's cell, or where that would be. */
static gsize
region_find (const Region *region, guint64 key)
{
  const gsize size = (gsize)1 << (64 - region->shift);
  gsize i = ndt_block_hash (key, region->shift);
  while (region->table[i] != NO_CELL && region->cells[region->table[i]].key != key)
    i = (i + 1) & (size - 1);
  return i;
}

/* Room for one more cell. */
static gboolean
region_reserve (Region *region)
{
  if (region->n_cells == region->capacity) {
    const guint32 capacity = region->capacity + region->capacity / 2 + 256;
    Cell *cells = g_try_renew (Cell, region->cells, capacity);
    if (!cells)
      return FALSE;
    region->cells = cells;
    region->capacity = capacity;
  }
  /* Half full at most, so that probing stays short. */
  return 2 * ((gsize)region->n_cells + 1) <= (gsize)1 << (64 - region->shift) ||
         region_index (region, region->shift - 1);
}

/* The cell of a key, made where there is none; NULL without the memory for it. Valid until the next
 * call. */
static Cell *
region_cell (Region *region, guint64 key)
{
  gsize i = region_find (region, key);
  if (region->table[i] != NO_CELL)
    return &region->cells[region->table[i]];
  if (!region_reserve (region))
    return NULL;
  i = region_find (region, key);
  region->table[i] = region->n_cells;
  Cell *cell = &region->cells[region->n_cells++];
  memset (cell, 0, sizeof (*cell));
  cell->key = key;
  return cell;
}

static gboolean
refuse_memory (guint64 n_points, GError **error)
{
  g_set_error (error, NDT_ERROR, NDT_ERROR_NO_MEMORY,
      "There is not the memory for the cells of %" G_GUINT64_FORMAT
      " points: use a larger resolution",
      n_points);
  return FALSE;
}

gboolean
ndt_voxel_map_builder_add (NdtVoxelMapBuilder *builder, guint64 region_id,
    const NdtCloudView *points, const NdtPose *pose, GError **error)
{
  const double r = builder->params.resolution;
  gboolean found;
  const guint at = find_region (builder, region_id, &found);
  Region *region;
  if (found) {
    region = g_ptr_array_index (builder->regions, at);
  } else {
    region = region_new (region_id);
    if (!region)
      return refuse_memory (points->n_points, error);
    g_ptr_array_insert (builder->regions, (gint)at, region);
  }

  guint64 last_key = UINT64_MAX;
  Cell *cell = NULL;
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
      in_range = d >= -NDT_KEY_LIMIT && d < NDT_KEY_LIMIT - ORIGIN_STEP;
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
      cell = region_cell (region, key);
      if (!cell)
        return refuse_memory (points->n_points, error);
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
  if (found)
    g_ptr_array_remove_index (builder->regions, at);
  if (builder->regions->len == 0)
    builder->has_origin = FALSE;
  return found;
}

gsize
ndt_voxel_map_builder_get_bytes (const NdtVoxelMapBuilder *builder)
{
  gsize bytes = 0;
  for (guint i = 0; i < builder->regions->len; i++) {
    const Region *region = g_ptr_array_index (builder->regions, i);
    bytes += sizeof (Region) + region->capacity * sizeof (Cell) +
             ((gsize)1 << (64 - region->shift)) * sizeof (guint32);
  }
  return bytes;
}

/* ---- From sums to voxels ---- */

/* A cell of a level: block and bit in one sortable number (57 + 6 bits), and where its sums are. */
typedef struct {
  guint64 order;
  guint32 region;
  guint32 sums;
} CellRef;

typedef struct {
  guint64 order;
  NdtCellSums sums;
} MergedCell;

/* Cells relative to the level's origin are within [0, 2^21). */
static guint64
cell_order (const gint32 c[3])
{
  return ((guint64)(c[2] >> 2) << 38 | (guint64)(c[1] >> 2) << 19 | (guint64)(c[0] >> 2)) << 6 |
         (guint64)ndt_block_bit (c[0], c[1], c[2]);
}

static void
cell_from_order (guint64 order, gint32 c[3])
{
  const gint32 bit = (gint32)(order & 63);
  const guint64 block = order >> 6;
  c[0] = (gint32)(block & 0x7ffff) << 2 | (bit & 3);
  c[1] = (gint32)(block >> 19 & 0x7ffff) << 2 | (bit >> 2 & 3);
  c[2] = (gint32)(block >> 38 & 0x7ffff) << 2 | (bit >> 4 & 3);
}

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

/* Adds sums whose cell's corner lies at @shift from the other's. */
static void
add_sums (NdtCellSums *to, const NdtCellSums *from, const double o[3])
{
  const double n = from->n;
  const double *s = from->s;
  to->n += n;
  for (guint i = 0; i < 3; i++)
    to->s[i] += s[i] + n * o[i];
  to->ss[0] += from->ss[0] + 2 * o[0] * s[0] + n * o[0] * o[0];
  to->ss[1] += from->ss[1] + o[0] * s[1] + o[1] * s[0] + n * o[0] * o[1];
  to->ss[2] += from->ss[2] + o[0] * s[2] + o[2] * s[0] + n * o[0] * o[2];
  to->ss[3] += from->ss[3] + 2 * o[1] * s[1] + n * o[1] * o[1];
  to->ss[4] += from->ss[4] + o[1] * s[2] + o[2] * s[1] + n * o[1] * o[2];
  to->ss[5] += from->ss[5] + 2 * o[2] * s[2] + n * o[2] * o[2];
}

/* All regions' cells as one array ordered by cell; cells that several regions share are added in
 * the order of regions, so that the sum does not depend on their history. NULL without the memory
 * for it. */
static MergedCell *
merge_regions (NdtVoxelMapBuilder *builder, gint64 origin[3], gsize *n_merged)
{
  gsize n = 0;
  gint32 least[3] = {G_MAXINT32, G_MAXINT32, G_MAXINT32};
  for (guint i = 0; i < builder->regions->len; i++)
    n += ((const Region *)g_ptr_array_index (builder->regions, i))->n_cells;
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
    for (guint i = 0; i < builder->regions->len; i++) {
      const Region *region = g_ptr_array_index (builder->regions, i);
      for (guint32 j = 0; j < region->n_cells; j++) {
        const Cell *cell = &region->cells[j];
        gint32 c[3];
        for (guint k = 0; k < 3; k++)
          c[k] = (gint32)(cell->key >> (21 * k) & 0x1fffff) - NDT_KEY_LIMIT;
        if (pass == 0) {
          for (guint k = 0; k < 3; k++)
            least[k] = MIN (least[k], c[k]);
        } else {
          for (guint k = 0; k < 3; k++)
            c[k] -= least[k];
          refs[n].order = cell_order (c);
          refs[n].region = i;
          refs[n++].sums = j;
        }
      }
    }
    if (pass == 0) {
      /* The map's origin depends on its cells alone. */
      for (guint k = 0; k < 3; k++) {
        const gint64 absolute = builder->origin[k] + least[k];
        origin[k] = absolute - (absolute & (ORIGIN_STEP - 1));
        least[k] = (gint32)(origin[k] - builder->origin[k]);
      }
    }
  }
  qsort (refs, n, sizeof (CellRef), compare_refs);

  static const double no_shift[3] = {0, 0, 0};
  gsize m = 0;
  for (gsize i = 0; i < n; i++) {
    const Region *region = g_ptr_array_index (builder->regions, refs[i].region);
    const NdtCellSums *sums = &region->cells[refs[i].sums].sums;
    if (m > 0 && merged[m - 1].order == refs[i].order) {
      add_sums (&merged[m - 1].sums, sums, no_shift);
    } else {
      merged[m].order = refs[i].order;
      merged[m++].sums = *sums;
    }
  }
  *n_merged = m;
  return merged;
}

/* The next coarser level's cells from a level's, of which there are some. NULL without the memory
 * for them. */
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
    cell_from_order (cells[i].order, c);
    for (guint k = 0; k < 3; k++)
      c[k] >>= 1;
    refs[i].order = cell_order (c);
    refs[i].region = 0;
    refs[i].sums = (guint32)i;
  }
  qsort (refs, n, sizeof (CellRef), compare_refs);

  gsize m = 0;
  for (gsize i = 0; i < n; i++) {
    gint32 c[3];
    double shift[3];
    cell_from_order (cells[refs[i].sums].order, c);
    for (guint k = 0; k < 3; k++)
      shift[k] = (c[k] & 1) * resolution;
    if (m == 0 || merged[m - 1].order != refs[i].order) {
      memset (&merged[m], 0, sizeof (MergedCell));
      merged[m++].order = refs[i].order;
    }
    add_sums (&merged[m - 1].sums, &cells[refs[i].sums].sums, shift);
  }
  *n_out = m;
  return merged;
}

static gboolean
build_blocks (NdtVoxelLevel *level)
{
  const NdtVoxel *voxels = level->voxels;
  guint32 n_blocks = 0;
  for (guint32 i = 0; i < level->n_voxels; i++) {
    const gint32 *c = voxels[i].cell, *b = i ? voxels[i - 1].cell : NULL;
    if (!b || c[0] >> 2 != b[0] >> 2 || c[1] >> 2 != b[1] >> 2 || c[2] >> 2 != b[2] >> 2)
      n_blocks++;
  }
  /* Half full at most: most look-ups around a surface are of blocks that do not exist. */
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

/* The first @n elements of an array, which is as large as it was where it cannot be made smaller.
 */
static gpointer
shrink (gpointer array, gsize n, gsize size)
{
  gpointer smaller = g_try_realloc_n (array, MAX (n, 1), size);
  return smaller ? smaller : array;
}

/* FALSE without the memory for it; what there is of it is the caller's to clear. */
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
    NdtVoxel *voxel = &voxels[m];
    for (guint k = 0; k < 3; k++)
      voxel->mean[k] = (float)mean[k];
    for (guint k = 0; k < 6; k++)
      voxel->icov[k] = (float)icov[k];
    cell_from_order (cells[i].order, voxel->cell);
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
  return build_blocks (level);
}

/* All levels. FALSE without the memory for them; what there is of them is the caller's to clear. */
static gboolean
build_levels (NdtVoxelMapBuilder *builder, NdtVoxelLevel levels[NDT_MAX_LEVELS])
{
  const NdtVoxelMapParams *params = &builder->params;
  gint64 origin[3] = {0, 0, 0};
  gsize n;
  g_autofree MergedCell *cells = merge_regions (builder, origin, &n);
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

NdtVoxelMap *
ndt_voxel_map_builder_build (NdtVoxelMapBuilder *builder, GError **error)
{
  const NdtVoxelMapParams *params = &builder->params;
  NdtVoxelLevel levels[NDT_MAX_LEVELS] = {0};
  guint64 n_points = 0;
  double min[3] = {INFINITY, INFINITY, INFINITY}, max[3] = {-INFINITY, -INFINITY, -INFINITY};

  for (guint i = 0; i < builder->regions->len; i++) {
    const Region *region = g_ptr_array_index (builder->regions, i);
    n_points += region->n_points;
    for (guint k = 0; k < 3; k++) {
      min[k] = MIN (min[k], region->min[k]);
      max[k] = MAX (max[k], region->max[k]);
    }
  }

  if (!build_levels (builder, levels)) {
    refuse_memory (n_points, error);
  } else if (levels[0].n_voxels == 0) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_EMPTY_MAP,
        "The map has no valid voxel: of its %" G_GUINT64_FORMAT
        " points no %u lie in one cell of %g m; use a denser map or a larger resolution",
        n_points, params->min_points, params->resolution);
  } else {
    return ndt_voxel_map_new_from_levels (params, params->n_levels, levels, n_points, min, max);
  }
  for (guint l = 0; l < params->n_levels; l++)
    level_clear (&levels[l]);
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
