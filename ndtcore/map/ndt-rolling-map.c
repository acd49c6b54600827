/* SPDX-License-Identifier: MIT */
#include "ndt-rolling-map.h"

#include <math.h>
#include <string.h>

#include "ndt-cell-region.h"
#include "ndt-voxel-levels.h"
#include "ndtcore/base/ndt-error.h"
#include "ndtcore/base/ndt-memory.h"
#include "ndtcore/math/ndt-formulas.h"

#define NO_CELL G_MAXUINT32
/* A cell whose points lie on a line, by the ratio of its middle and largest eigenvalue, is no
 * voxel: it has the trace of one ring, which moves with the sensor and would fix the estimate at
 * its last pose. */
#define LINE 0.1

typedef struct {
  NdtCellSums sums;
  double n_built; /* points that @voxel was made from; 0: there is none that holds */
  NdtVoxel voxel; /* without its cell */
} Cell;

typedef struct {
  gint32 at[3];   /* of the block, from the map's first cell */
  guint64 voxels; /* bits of the cells that have one … */
  guint64 gained; /* … and that gained points since voxels were computed */
  guint32 cells[64];
} Block;

struct _NdtRollingMap {
  NdtVoxelMapParams params;
  double max_points;
  gboolean has_origin;
  gint64 origin[3]; /* a multiple of NDT_ORIGIN_STEP */
  GArray *cells;    /* of Cell */
  GArray *blocks;   /* of Block */
  guint32 *table;   /* of blocks, by key */
  int shift;        /* 64 − log2 of its size */
  double n_points;
};

NdtRollingMap *
ndt_rolling_map_new (const NdtVoxelMapParams *params, guint max_points, GError **error)
{
  g_autoptr (NdtVoxelMapBuilder) checked = ndt_voxel_map_builder_new (params, error);
  if (!checked)
    return NULL;
  if (max_points < 2 * params->min_points) {
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "Rolling map: a cell has to hold twice the points that make a voxel");
    return NULL;
  }
  NdtRollingMap *map = g_new0 (NdtRollingMap, 1);
  map->params = *params;
  map->params.keep_details = FALSE;
  map->max_points = max_points;
  map->cells = g_array_new (FALSE, FALSE, sizeof (Cell));
  map->blocks = g_array_new (FALSE, FALSE, sizeof (Block));
  ndt_rolling_map_clear (map);
  return map;
}

void
ndt_rolling_map_free (NdtRollingMap *map)
{
  g_array_unref (map->cells);
  g_array_unref (map->blocks);
  g_free (map->table);
  g_free (map);
}

guint
ndt_rolling_map_get_n_cells (const NdtRollingMap *map)
{
  return map->cells->len;
}

/* ---- Blocks and cells ---- */

static guint64
key_of (const gint32 at[3])
{
  return ndt_block_key (at[0], at[1], at[2]);
}

/* The slot of a block, or the free one where it would be. */
static gsize
find_slot (const NdtRollingMap *map, const gint32 at[3])
{
  const gsize size = (gsize)1 << (64 - map->shift);
  gsize i = ndt_block_hash (key_of (at), map->shift);
  while (map->table[i] != NO_CELL && memcmp (g_array_index (map->blocks, Block, map->table[i]).at,
                                         at, 3 * sizeof (gint32)) != 0)
    i = (i + 1) & (size - 1);
  return i;
}

/* A table of 2^(64 − shift) slots with all blocks. */
static void
index_blocks (NdtRollingMap *map, int shift)
{
  const gsize size = (gsize)1 << (64 - shift);
  map->table = g_renew (guint32, map->table, size);
  map->shift = shift;
  memset (map->table, 0xff, size * sizeof (guint32));
  for (guint b = 0; b < map->blocks->len; b++)
    map->table[find_slot (map, g_array_index (map->blocks, Block, b).at)] = b;
}

void
ndt_rolling_map_clear (NdtRollingMap *map)
{
  g_array_set_size (map->cells, 0);
  g_array_set_size (map->blocks, 0);
  map->has_origin = FALSE;
  map->n_points = 0;
  index_blocks (map, 64 - 12);
}

static guint32
get_block (NdtRollingMap *map, const gint32 at[3])
{
  gsize slot = find_slot (map, at);
  if (map->table[slot] != NO_CELL)
    return map->table[slot];
  Block block = {{at[0], at[1], at[2]}, 0, 0, {0}};
  memset (block.cells, 0xff, sizeof (block.cells));
  g_array_append_val (map->blocks, block);
  map->table[slot] = map->blocks->len - 1;
  /* Half full at most, so that probing stays short. */
  if (2 * (gsize)map->blocks->len > (gsize)1 << (64 - map->shift))
    index_blocks (map, map->shift - 1);
  return map->blocks->len - 1;
}

/* The cell, which is to gain a point. */
static Cell *
get_cell (NdtRollingMap *map, guint32 block_index, int bit)
{
  Block *block = &g_array_index (map->blocks, Block, block_index);
  block->gained |= UINT64_C (1) << bit;
  if (block->cells[bit] == NO_CELL) {
    const Cell cell = {0};
    g_array_append_val (map->cells, cell);
    block->cells[bit] = map->cells->len - 1;
  }
  return &g_array_index (map->cells, Cell, block->cells[bit]);
}

/* The cell of a point, absolute, and from the origin. FALSE where that is too far. */
static gboolean
place (NdtRollingMap *map, const double p[3], double index[3], gint32 at[3])
{
  for (guint k = 0; k < 3; k++) {
    index[k] = floor (p[k] / map->params.resolution);
    if (!(fabs (index[k]) < 4e18))
      return FALSE;
  }
  if (!map->has_origin) {
    for (guint k = 0; k < 3; k++)
      map->origin[k] = (gint64)index[k] & ~(gint64)(NDT_ORIGIN_STEP - 1);
    map->has_origin = TRUE;
  }
  for (guint k = 0; k < 3; k++) {
    const double d = index[k] - (double)map->origin[k];
    if (!(d >= -NDT_KEY_LIMIT && d < NDT_KEY_LIMIT - NDT_ORIGIN_STEP))
      return FALSE;
    at[k] = (gint32)d;
  }
  return TRUE;
}

static void
add_point (const NdtRollingMap *map, NdtCellSums *sums, const double offset[3])
{
  if (sums->n >= map->max_points) {
    sums->n *= 0.5;
    for (guint k = 0; k < 3; k++)
      sums->s[k] *= 0.5;
    for (guint k = 0; k < 6; k++)
      sums->ss[k] *= 0.5;
  }
  sums->n += 1;
  for (guint k = 0; k < 3; k++)
    sums->s[k] += offset[k];
  sums->ss[0] += offset[0] * offset[0];
  sums->ss[1] += offset[0] * offset[1];
  sums->ss[2] += offset[0] * offset[2];
  sums->ss[3] += offset[1] * offset[1];
  sums->ss[4] += offset[1] * offset[2];
  sums->ss[5] += offset[2] * offset[2];
}

gboolean
ndt_rolling_map_add (
    NdtRollingMap *map, const NdtCloudView *points, const NdtPose *pose, GError **error)
{
  const double r = map->params.resolution;
  double rotation[9];
  guint32 block = NO_CELL;
  gint32 last[3] = {0, 0, 0};
  if (points->n_points >= NO_CELL - map->cells->len)
    return ndt_refuse_memory (error, "the cells of a map; use a larger resolution");
  ndt_pose_get_rotation (pose, rotation);
  for (gsize i = 0; i < points->n_points; i++) {
    double in[3], p[3], index[3], offset[3];
    gint32 at[3];
    ndt_cloud_view_get (points, i, in);
    for (guint k = 0; k < 3; k++)
      p[k] = rotation[3 * k] * in[0] + rotation[3 * k + 1] * in[1] + rotation[3 * k + 2] * in[2] +
             pose->position[k];
    if (!isfinite (p[0] + p[1] + p[2]) || !place (map, p, index, at))
      continue;
    const gint32 block_at[3] = {at[0] >> 2, at[1] >> 2, at[2] >> 2};
    if (block == NO_CELL || memcmp (block_at, last, sizeof (last)) != 0) {
      block = get_block (map, block_at);
      memcpy (last, block_at, sizeof (last));
    }
    Cell *cell = get_cell (map, block, ndt_block_bit (at[0], at[1], at[2]));
    for (guint k = 0; k < 3; k++)
      offset[k] = p[k] - index[k] * r;
    const double before = cell->sums.n;
    add_point (map, &cell->sums, offset);
    map->n_points += cell->sums.n - before;
    if (cell->sums.n < before)
      cell->n_built = 0;
  }
  return TRUE;
}

void
ndt_rolling_map_trim (NdtRollingMap *map, const double centre[3], double radius)
{
  const double r = map->params.resolution;
  GArray *cells = g_array_sized_new (FALSE, FALSE, sizeof (Cell), map->cells->len);
  guint n = 0;
  map->n_points = 0;
  for (guint b = 0; b < map->blocks->len; b++) {
    Block *block = &g_array_index (map->blocks, Block, b);
    double square = 0;
    for (guint k = 0; k < 3; k++) {
      const double d = ((double)map->origin[k] + 4.0 * block->at[k] + 2) * r - centre[k];
      square += d * d;
    }
    if (square > radius * radius)
      continue;
    for (guint bit = 0; bit < 64; bit++) {
      if (block->cells[bit] == NO_CELL)
        continue;
      const Cell *cell = &g_array_index (map->cells, Cell, block->cells[bit]);
      map->n_points += cell->sums.n;
      g_array_append_val (cells, *cell);
      block->cells[bit] = cells->len - 1;
    }
    g_array_index (map->blocks, Block, n++) = *block;
  }
  g_array_set_size (map->blocks, n);
  g_array_unref (map->cells);
  map->cells = cells;
  index_blocks (map, map->shift);
}

/* ---- Saved state ---- */

typedef struct {
  NdtVoxelMapParams params;
  gint64 origin[3];
  double n_points;
  guint32 has_origin;
  gint32 shift;
} Saved;

void
ndt_rolling_map_save (const NdtRollingMap *map, GByteArray *out)
{
  Saved head;
  memset (&head, 0, sizeof head);
  head.params = map->params;
  memcpy (head.origin, map->origin, sizeof head.origin);
  head.n_points = map->n_points;
  head.has_origin = (guint32)map->has_origin;
  head.shift = map->shift;
  g_byte_array_append (out, (const guint8 *)&head, sizeof head);
  ndt_saved_append_array (out, map->cells);
  ndt_saved_append_array (out, map->blocks);
}

/* Blocks have room in a table of that shift, and their cells exist. */
static gboolean
is_consistent (const NdtRollingMap *map, gint32 shift)
{
  if (shift < 64 - 32 || shift > 64 - 12 || 2 * (gsize)map->blocks->len > (gsize)1 << (64 - shift))
    return FALSE;
  for (guint b = 0; b < map->blocks->len; b++)
    for (guint bit = 0; bit < 64; bit++) {
      const Block *block = &g_array_index (map->blocks, Block, b);
      const gboolean needs_cell = (block->voxels | block->gained) >> bit & 1;
      if (block->cells[bit] == NO_CELL ? needs_cell : block->cells[bit] >= map->cells->len)
        return FALSE;
    }
  return TRUE;
}

gboolean
ndt_rolling_map_restore (NdtRollingMap *map, NdtSaved *saved)
{
  Saved head;
  ndt_rolling_map_clear (map);
  if (!ndt_saved_take (saved, &head, sizeof head) ||
      head.params.resolution != map->params.resolution ||
      !ndt_saved_take_array (saved, map->cells) || !ndt_saved_take_array (saved, map->blocks) ||
      !is_consistent (map, head.shift)) {
    ndt_rolling_map_clear (map);
    return FALSE;
  }
  memcpy (map->origin, head.origin, sizeof head.origin);
  map->has_origin = head.has_origin != 0;
  map->n_points = head.n_points;
  index_blocks (map, head.shift);
  return TRUE;
}

/* ---- Maps ---- */

/* Whether the points of a covariance lie on a line. Where they do, with b < LINE c of its
 * eigenvalues a ≤ b ≤ c, ab + bc + ca is below 0.146 (a + b + c)²; of most others it is above 0.15,
 * so that these do not need their eigenvalues. */
static gboolean
is_line (const double cov[6])
{
  const double trace = cov[0] + cov[3] + cov[5];
  const double minors = cov[0] * cov[3] - cov[1] * cov[1] + cov[0] * cov[5] - cov[2] * cov[2] +
                        cov[3] * cov[5] - cov[4] * cov[4];
  double value[3], v[9];
  if (minors > 0.15 * trace * trace)
    return FALSE;
  ndt_eigen3 (cov, value, v);
  return value[1] < LINE * value[2];
}

/* Computes the voxels of cells that gained a tenth of their points. What a cell without a voxel
 * lacks, it lacks until it gains points. */
static void
refresh (NdtRollingMap *map)
{
  const NdtVoxelMapParams *params = &map->params;
  for (guint b = 0; b < map->blocks->len; b++) {
    Block *block = &g_array_index (map->blocks, Block, b);
    guint64 left = block->gained;
    block->gained = 0;
    for (; left; left &= left - 1) {
      const gint bit = __builtin_ctzll (left);
      double mean[3], cov[6], icov[6];
      Cell *cell = &g_array_index (map->cells, Cell, block->cells[bit]);
      if (cell->n_built > 0 && cell->sums.n < 1.1 * cell->n_built)
        continue;
      block->voxels &= ~(UINT64_C (1) << bit);
      if (!ndt_cell_to_voxel (&cell->sums, (int)params->covariance, params->min_points,
              params->eigenvalue_ratio, params->resolution, mean, cov, icov) ||
          is_line (cov))
        continue;
      block->voxels |= UINT64_C (1) << bit;
      cell->n_built = cell->sums.n;
      for (guint k = 0; k < 3; k++)
        cell->voxel.mean[k] = (float)mean[k];
      for (guint k = 0; k < 6; k++)
        cell->voxel.icov[k] = (float)icov[k];
    }
  }
}

/* Copies the voxels, block by block, and enters the blocks. */
static gboolean
fill_level (NdtRollingMap *map, NdtVoxelLevel *level)
{
  guint32 n_voxels = 0, n_blocks = 0, n = 0;
  gint32 least[3] = {G_MAXINT32, G_MAXINT32, G_MAXINT32};
  for (guint b = 0; b < map->blocks->len; b++) {
    const Block *block = &g_array_index (map->blocks, Block, b);
    n_voxels += (guint32)__builtin_popcountll (block->voxels);
    n_blocks += block->voxels != 0;
    for (guint k = 0; k < 3 && block->voxels; k++)
      least[k] = MIN (least[k], 4 * block->at[k]);
  }
  level->resolution = map->params.resolution;
  level->block_shift = 64 - 4;
  while ((gsize)1 << (64 - level->block_shift) < 2 * (gsize)n_blocks)
    level->block_shift--;
  const gsize size = (gsize)1 << (64 - level->block_shift);
  NdtVoxel *voxels = g_try_new (NdtVoxel, MAX (n_voxels, 1));
  NdtBlock *blocks = g_try_new0 (NdtBlock, size);
  level->voxels = voxels;
  level->blocks = blocks;
  level->n_voxels = n_voxels;
  level->n_blocks_used = n_blocks;
  if (!voxels || !blocks)
    return FALSE;
  for (gsize i = 0; i < size; i++)
    blocks[i].key = NDT_BLOCK_EMPTY;
  for (guint k = 0; k < 3 && n_blocks > 0; k++) {
    least[k] &= ~(NDT_ORIGIN_STEP - 1);
    level->origin[k] = map->origin[k] + least[k];
    level->cell_min[k] = G_MAXINT32;
    level->cell_max[k] = G_MININT32;
  }
  for (guint b = 0; b < map->blocks->len; b++) {
    const Block *block = &g_array_index (map->blocks, Block, b);
    if (!block->voxels)
      continue;
    const gint32 at[3] = {
        block->at[0] - least[0] / 4, block->at[1] - least[1] / 4, block->at[2] - least[2] / 4};
    const guint64 key = key_of (at);
    gsize slot = ndt_block_hash (key, level->block_shift);
    while (blocks[slot].key != NDT_BLOCK_EMPTY)
      slot = (slot + 1) & (size - 1);
    blocks[slot].key = key;
    blocks[slot].mask = block->voxels;
    blocks[slot].first = n;
    for (guint64 left = block->voxels; left; left &= left - 1) {
      const gint32 bit = __builtin_ctzll (left);
      const Cell *cell = &g_array_index (map->cells, Cell, block->cells[bit]);
      NdtVoxel *voxel = &voxels[n++];
      const gint32 in[3] = {bit & 3, bit >> 2 & 3, bit >> 4 & 3};
      *voxel = cell->voxel;
      level->n_points += (guint64)cell->sums.n;
      for (guint k = 0; k < 3; k++) {
        voxel->cell[k] = 4 * at[k] + in[k];
        level->cell_min[k] = MIN (level->cell_min[k], voxel->cell[k]);
        level->cell_max[k] = MAX (level->cell_max[k], voxel->cell[k]);
      }
    }
  }
  return TRUE;
}

/* All levels as of any map. */
static gboolean
fill_levels (NdtRollingMap *map, const NdtVoxelMapParams *params, NdtVoxelLevel *levels)
{
  g_autofree NdtRegionCell *cells = g_try_new (NdtRegionCell, MAX (map->cells->len, 1));
  NdtCellRegion region = {.cells = cells};
  g_autoptr (GPtrArray) regions = g_ptr_array_new ();
  if (!cells)
    return FALSE;
  g_ptr_array_add (regions, &region);
  for (guint b = 0; b < map->blocks->len; b++) {
    const Block *block = &g_array_index (map->blocks, Block, b);
    for (gint32 bit = 0; bit < 64; bit++) {
      if (block->cells[bit] == NO_CELL)
        continue;
      NdtRegionCell *cell = &cells[region.n_cells++];
      cell->key = ndt_block_key (4 * block->at[0] + (bit & 3), 4 * block->at[1] + (bit >> 2 & 3),
          4 * block->at[2] + (bit >> 4 & 3));
      cell->sums = g_array_index (map->cells, Cell, block->cells[bit]).sums;
    }
  }
  return ndt_voxel_levels_build (params, regions, map->origin, levels);
}

NdtVoxelMap *
ndt_rolling_map_build (NdtRollingMap *map, guint n_levels, GError **error)
{
  NdtVoxelMapParams params = map->params;
  NdtVoxelLevel levels[NDT_MAX_LEVELS] = {0};
  gboolean filled;
  double min[3], max[3];
  params.n_levels = CLAMP (n_levels, 1, params.n_levels);
  if (params.n_levels > 1) {
    filled = fill_levels (map, &params, levels);
  } else {
    refresh (map);
    filled = fill_level (map, &levels[0]);
  }
  if (filled && levels[0].n_voxels > 0) {
    for (guint k = 0; k < 3; k++) {
      min[k] = (double)(levels[0].origin[k] + levels[0].cell_min[k]) * params.resolution;
      max[k] = (double)(levels[0].origin[k] + levels[0].cell_max[k] + 1) * params.resolution;
    }
    return ndt_voxel_map_new_from_levels (
        &params, params.n_levels, levels, (guint64)map->n_points, min, max);
  }
  for (guint l = 0; l < params.n_levels; l++)
    ndt_voxel_level_clear (&levels[l]);
  if (!filled)
    ndt_refuse_memory (error, "a map of %u cells", map->cells->len);
  else
    g_set_error (error, NDT_ERROR, NDT_ERROR_EMPTY_MAP, "No cell of %g m has %u points yet",
        params.resolution, params.min_points);
  return NULL;
}
