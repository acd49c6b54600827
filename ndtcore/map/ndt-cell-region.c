/* SPDX-License-Identifier: MIT */
#include "ndt-cell-region.h"

#include <math.h>
#include <string.h>

void
ndt_cell_region_free (gpointer data)
{
  NdtCellRegion *region = data;
  g_free (region->cells);
  g_free (region->table);
  g_free (region);
}

#define NO_CELL G_MAXUINT32

/* Makes or enlarges the table, and enters all cells. FALSE: there is not the memory, and the table
 * is unchanged. */
static gboolean
region_index (NdtCellRegion *region, int shift)
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

NdtCellRegion *
ndt_cell_region_new (guint64 id)
{
  NdtCellRegion *region = g_new0 (NdtCellRegion, 1);
  region->id = id;
  if (!region_index (region, 64 - 10)) {
    ndt_cell_region_free (region);
    return NULL;
  }
  for (guint i = 0; i < 3; i++) {
    region->min[i] = INFINITY;
    region->max[i] = -INFINITY;
  }
  return region;
}

/* Index in the table of a key's cell, or of the free place for it. */
static gsize
region_find (const NdtCellRegion *region, guint64 key)
{
  const gsize size = (gsize)1 << (64 - region->shift);
  gsize i = ndt_block_hash (key, region->shift);
  while (region->table[i] != NO_CELL && region->cells[region->table[i]].key != key)
    i = (i + 1) & (size - 1);
  return i;
}

/* Room for one more cell. */
static gboolean
region_reserve (NdtCellRegion *region)
{
  if (region->n_cells == region->capacity) {
    const guint32 capacity = region->capacity + region->capacity / 2 + 256;
    NdtRegionCell *cells = g_try_renew (NdtRegionCell, region->cells, capacity);
    if (!cells)
      return FALSE;
    region->cells = cells;
    region->capacity = capacity;
  }
  /* Half full at most, so that probing stays short. */
  return 2 * ((gsize)region->n_cells + 1) <= (gsize)1 << (64 - region->shift) ||
         region_index (region, region->shift - 1);
}

NdtRegionCell *
ndt_cell_region_get (NdtCellRegion *region, guint64 key)
{
  gsize i = region_find (region, key);
  if (region->table[i] != NO_CELL)
    return &region->cells[region->table[i]];
  if (!region_reserve (region))
    return NULL;
  i = region_find (region, key);
  region->table[i] = region->n_cells;
  NdtRegionCell *cell = &region->cells[region->n_cells++];
  memset (cell, 0, sizeof (*cell));
  cell->key = key;
  return cell;
}

gsize
ndt_cell_region_get_bytes (const NdtCellRegion *region)
{
  return sizeof (NdtCellRegion) + region->capacity * sizeof (NdtRegionCell) +
         ((gsize)1 << (64 - region->shift)) * sizeof (guint32);
}
