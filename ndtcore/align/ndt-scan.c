/* SPDX-License-Identifier: MIT */
#include "ndt-scan.h"

#include <string.h>

#include "ndt-kernel.h"
#include "ndtcore/base/ndt-memory.h"
#include "ndtcore/scan/ndt-scan-filter.h"

#define TABLE_EMPTY G_MAXUINT32

static gboolean
reserve (NdtScan *scan, guint n, guint64 *allocations)
{
  if (n <= scan->capacity)
    return TRUE;
  const gsize capacity = ((gsize)n + n / 4 + NDT_CHUNK - 1) / NDT_CHUNK * NDT_CHUNK;
  if (!ndt_grow (scan->xyz, 3 * capacity) || !ndt_grow (scan->x, capacity) ||
      !ndt_grow (scan->y, capacity) || !ndt_grow (scan->z, capacity) ||
      !ndt_grow (scan->keys, 2 * capacity) || !ndt_grow (scan->order, 2 * capacity))
    return FALSE;
  scan->capacity = (guint)capacity;
  *allocations += 6;
  return TRUE;
}

/* Centroids of the leaves, ordered by their first points. */
static gboolean
thin (NdtScan *scan, const NdtScanFilter *filter, float leaf_size, guint n, guint64 *allocations)
{
  const float inverse_leaf = 1.0f / leaf_size;
  guint table_size = 1024;
  while (table_size < 2 * n)
    table_size *= 2;
  if (table_size > scan->table_size) {
    if (!ndt_grow (scan->table, table_size) || !ndt_grow (scan->leaves, table_size / 2))
      return FALSE;
    scan->table_size = table_size;
    *allocations += 2;
  }
  int shift = 64;
  for (guint size = table_size; size > 1; size /= 2)
    shift--;
  memset (scan->table, 0xff, (gsize)table_size * sizeof (guint32));

  guint n_leaves = 0;
  for (guint i = 0; i < n; i++) {
    const float *p = scan->xyz + 3 * (gsize)i;
    gint32 index[3];
    for (guint k = 0; k < 3; k++)
      index[k] = ndt_leaf_index (p[k], inverse_leaf);
    if (!ndt_leaf_in_range (index[0]) || !ndt_leaf_in_range (index[1]) ||
        !ndt_leaf_in_range (index[2]))
      continue;
    const guint64 key = ndt_block_key (index[0], index[1], index[2]);
    guint slot = ndt_block_hash (key, shift);
    while (scan->table[slot] != TABLE_EMPTY && scan->leaves[scan->table[slot]].key != key)
      slot = (slot + 1) & (table_size - 1);
    if (scan->table[slot] == TABLE_EMPTY) {
      NdtLeaf *leaf = &scan->leaves[n_leaves];
      memset (leaf, 0, sizeof (*leaf));
      leaf->key = key;
      memcpy (leaf->index, index, sizeof (index));
      scan->table[slot] = n_leaves++;
    }
    NdtLeaf *leaf = &scan->leaves[scan->table[slot]];
    for (guint k = 0; k < 3; k++)
      leaf->sum[k] += ndt_leaf_offset (p[k], index[k], leaf_size, inverse_leaf);
    leaf->n++;
  }
  for (guint i = 0; i < n_leaves; i++) {
    const NdtLeaf *leaf = &scan->leaves[i];
    for (guint k = 0; k < 3; k++)
      scan->xyz[3 * (gsize)i + k] =
          ndt_leaf_centroid (leaf->sum[k], leaf->n, leaf->index[k], leaf_size);
  }
  scan->n = n_leaves;
  return TRUE;
}

/* Every third bit of the low eight. */
static guint32
spread (guint32 v)
{
  v &= 0xff;
  v = (v | v << 8) & 0x00f00f;
  v = (v | v << 4) & 0x0c30c3;
  v = (v | v << 2) & 0x249249;
  return v;
}

/* Orders points along a Z curve over cells of the map's size, so that those of a chunk share cells.
 * Cells 256 apart have the same key, which affects the order only. */
static void
order_by_place (NdtScan *scan, double cell)
{
  const float inverse = (float)(1 / cell);
  const guint n = scan->n;
  guint32 *keys = scan->keys, *other_keys = scan->keys + scan->capacity;
  guint32 *order = scan->order, *other = scan->order + scan->capacity;
  for (guint i = 0; i < n; i++) {
    const float *p = scan->xyz + 3 * (gsize)i;
    keys[i] = spread ((guint32)(gint32)floorf (p[0] * inverse)) |
              spread ((guint32)(gint32)floorf (p[1] * inverse)) << 1 |
              spread ((guint32)(gint32)floorf (p[2] * inverse)) << 2;
    order[i] = i;
  }
  for (guint digit = 0; digit < 24; digit += 8) {
    guint32 at[256] = {0}, sum = 0;
    for (guint i = 0; i < n; i++)
      at[keys[i] >> digit & 255]++;
    for (guint i = 0; i < 256; i++) {
      const guint32 count = at[i];
      at[i] = sum;
      sum += count;
    }
    for (guint i = 0; i < n; i++) {
      const guint32 to = at[keys[i] >> digit & 255]++;
      other_keys[to] = keys[i];
      other[to] = order[i];
    }
    guint32 *swap = keys;
    keys = other_keys;
    other_keys = swap;
    swap = order;
    order = other;
    other = swap;
  }
  for (guint i = 0; i < n; i++) {
    const float *p = scan->xyz + 3 * (gsize)order[i];
    scan->x[i] = p[0];
    scan->y[i] = p[1];
    scan->z[i] = p[2];
  }
}

gboolean
ndt_scan_set (NdtScan *scan, const NdtCloudView *points, const NdtScanFilter *filter, double cell,
    guint64 *allocations)
{
  guint n = 0;
  scan->n = 0;
  if (!reserve (scan, (guint)points->n_points, allocations))
    return FALSE;
  for (gsize i = 0; i < points->n_points; i++) {
    double d[3];
    ndt_cloud_view_get (points, i, d);
    const float p[3] = {(float)d[0], (float)d[1], (float)d[2]};
    if (ndt_scan_keep (p[0], p[1], p[2], filter->min_range, filter->max_range, filter->use_box,
            filter->box_min, filter->box_max)) {
      memcpy (scan->xyz + 3 * (gsize)n, p, sizeof (p));
      n++;
    }
  }
  if (filter->leaf_size > 0) {
    if (!thin (scan, filter, filter->leaf_size, n, allocations))
      return FALSE;
  } else {
    scan->n = n;
  }
  order_by_place (scan, cell);
  return TRUE;
}

gsize
ndt_scan_get_bytes (const NdtScan *scan)
{
  return scan->capacity * (6 * sizeof (float) + 4 * sizeof (guint32)) +
         scan->table_size * (sizeof (guint32) + sizeof (NdtLeaf) / 2);
}

void
ndt_scan_clear (NdtScan *scan)
{
  g_free (scan->xyz);
  g_free (scan->x);
  g_free (scan->y);
  g_free (scan->z);
  g_free (scan->keys);
  g_free (scan->order);
  g_free (scan->leaves);
  g_free (scan->table);
  memset (scan, 0, sizeof (*scan));
}
