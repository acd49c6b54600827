/* SPDX-License-Identifier: MIT */
#include "ndt-scan.h"

#include <string.h>

#include "ndt-scan-kernel.h"
#include "ndtcore/base/ndt-memory.h"
#include "ndtcore/base/ndt-tuning.h"

/* Leaves of the first table, and slots of a table a leaf. */
#define LEAST_LEAVES 1024
#define SLOTS_PER_LEAF 4

/* Slots of @size, a power of two, where parts' leaves with the same key are found: the part in the
 * high half and the leaf's number in the low one, or G_MAXUINT64. */
typedef struct {
  guint64 *slots;
  gsize size;
  gsize capacity;
  guint64 allocations;
} NdtShared;

/**
 * NdtThinner:
 * @parts: leaves of parts of a scan, one for each thread
 * @shared: where leaves of several parts are added up, one for each thread
 * @n_first: of each part
 * @capacity: points of the arrays below
 * @x: points in the order of the scan; likewise @y and @z
 * @places: of each its place along the Z curve
 * @pairs: two arrays to sort: places in the high half, numbers in the low one
 * @most: points of the largest thinned scan
 */
struct _NdtThinner {
  NdtWorkers *workers;
  const NdtScanKernel *kernel;
  NdtLeaves *parts;
  NdtShared *shared;
  guint *n_first;
  guint n_parts;
  guint capacity;
  float *x;
  float *y;
  float *z;
  guint32 *places;
  guint64 *pairs;
  guint most;
};

/* ---- Leaves ---- */

static void
fill_table (NdtLeaves *leaves)
{
  memset (leaves->table, 0xff, leaves->table_size * sizeof *leaves->table);
  for (guint i = 0; i < leaves->n; i++) {
    guint slot = ndt_block_hash (leaves->keys[i], leaves->shift);
    while (leaves->table[slot] != G_MAXUINT32)
      slot = (slot + 1) & (leaves->table_size - 1);
    leaves->table[slot] = i;
  }
}

gboolean
ndt_leaves_grow (NdtLeaves *leaves)
{
  const guint capacity = MAX (2 * leaves->capacity, LEAST_LEAVES);
  const guint size = SLOTS_PER_LEAF * capacity;
  if (!ndt_grow (leaves->sums, capacity) || !ndt_grow (leaves->keys, capacity) ||
      !ndt_grow (leaves->table, size))
    return FALSE;
  memset (leaves->keys + leaves->capacity, 0, (capacity - leaves->capacity) * sizeof *leaves->keys);
  leaves->allocations += 3;
  leaves->capacity = capacity;
  leaves->table_size = size;
  leaves->shift = 64 - (int)g_bit_storage (size - 1);
  fill_table (leaves);
  return TRUE;
}

gboolean
ndt_leaves_reset (NdtLeaves *leaves)
{
  leaves->n = 0;
  if (leaves->capacity == 0)
    return ndt_leaves_grow (leaves);
  memset (leaves->table, 0xff, leaves->table_size * sizeof *leaves->table);
  return TRUE;
}

void
ndt_leaves_clear (NdtLeaves *leaves)
{
  g_free (leaves->sums);
  g_free (leaves->keys);
  g_free (leaves->table);
  memset (leaves, 0, sizeof *leaves);
}

/* ---- Memory ---- */

NdtThinner *
ndt_thinner_new (NdtWorkers *workers)
{
  NdtThinner *thinner = g_new0 (NdtThinner, 1);
  thinner->workers = workers;
  thinner->kernel = ndt_scan_kernel_choose ();
  thinner->n_parts = ndt_workers_get_n_threads (workers);
  thinner->parts = g_new0 (NdtLeaves, thinner->n_parts);
  thinner->shared = g_new0 (NdtShared, thinner->n_parts);
  thinner->n_first = g_new0 (guint, thinner->n_parts);
  return thinner;
}

void
ndt_thinner_free (NdtThinner *thinner)
{
  for (guint i = 0; i < thinner->n_parts; i++) {
    ndt_leaves_clear (&thinner->parts[i]);
    g_free (thinner->shared[i].slots);
  }
  g_free (thinner->parts);
  g_free (thinner->shared);
  g_free (thinner->n_first);
  g_free (thinner->x);
  g_free (thinner->y);
  g_free (thinner->z);
  g_free (thinner->places);
  g_free (thinner->pairs);
  g_free (thinner);
}

gsize
ndt_thinner_get_bytes (const NdtThinner *thinner)
{
  gsize bytes = thinner->capacity * (4 * sizeof (float) + 2 * sizeof (guint64));
  for (guint i = 0; i < thinner->n_parts; i++) {
    const NdtLeaves *part = &thinner->parts[i];
    bytes += part->capacity * (sizeof *part->sums + sizeof *part->keys) +
             part->table_size * sizeof *part->table +
             thinner->shared[i].capacity * sizeof *thinner->shared[i].slots;
  }
  return bytes;
}

static guint
with_reserve (guint n)
{
  return (guint)(((gsize)n + n / 4 + NDT_CHUNK - 1) / NDT_CHUNK * NDT_CHUNK);
}

/* Room for @n points in the order of the scan. */
static gboolean
reserve_points (NdtThinner *thinner, guint n, guint64 *allocations)
{
  if (n <= thinner->capacity)
    return TRUE;
  const gsize capacity = with_reserve (n);
  if (!ndt_grow (thinner->x, capacity) || !ndt_grow (thinner->y, capacity) ||
      !ndt_grow (thinner->z, capacity) || !ndt_grow (thinner->places, capacity) ||
      !ndt_grow (thinner->pairs, 2 * capacity))
    return FALSE;
  thinner->capacity = (guint)capacity;
  *allocations += 5;
  return TRUE;
}

/* Room for the result: for the largest so far, since the next scan is most likely of its size. */
static gboolean
reserve_scan (NdtScan *scan, NdtThinner *thinner, guint n, guint64 *allocations)
{
  if (n <= scan->capacity)
    return TRUE;
  thinner->most = MAX (thinner->most, n);
  const gsize capacity = with_reserve (thinner->most);
  if (!ndt_grow (scan->x, capacity) || !ndt_grow (scan->y, capacity) ||
      !ndt_grow (scan->z, capacity) || !ndt_grow (scan->order, capacity))
    return FALSE;
  scan->capacity = (guint)capacity;
  *allocations += 4;
  return TRUE;
}

/* ---- Thinning ---- */

typedef struct {
  NdtThinner *thinner;
  const NdtCloudView *points;
  const NdtScanFilter *filter;
  guint n_parts;
  guint *n_first; /* atomic: leaves of each part that no part before has */
  gint failed;    /* atomic */
} Thinning;

static void
thin_part (guint i, gpointer data)
{
  Thinning *job = data;
  NdtLeaves *part = &job->thinner->parts[i];
  const gsize n = job->points->n_points;
  const gsize first = n * i / job->n_parts, end = n * (i + 1) / job->n_parts;
  const NdtCloudView points = ndt_cloud_view_part (job->points, first, end - first);
  if (!ndt_leaves_reset (part) || !job->thinner->kernel->add_points (part, &points, job->filter))
    g_atomic_int_set (&job->failed, 1);
}

/* Leaves are shared among threads by bits of their hash that the slots do not use. */
static inline gboolean
is_of_share (guint64 key, guint share, guint n_shares)
{
  return ((guint64)ndt_block_hash (key, 0) * n_shares) >> 32 == share;
}

/* An empty table with twice as many slots as the share has leaves. */
static gboolean
reset_shared (NdtShared *shared, const Thinning *job, guint share)
{
  gsize n = 0, size = 16;
  for (guint p = 0; p < job->n_parts; p++) {
    const NdtLeaves *part = &job->thinner->parts[p];
    for (guint i = 0; i < part->n; i++)
      n += (gsize)is_of_share (part->keys[i], share, job->n_parts);
  }
  while (size < 2 * n)
    size *= 2;
  if (size > shared->capacity) {
    if (!ndt_grow (shared->slots, size))
      return FALSE;
    shared->capacity = size;
    shared->allocations++;
  }
  memset (shared->slots, 0xff, size * sizeof *shared->slots);
  shared->size = size;
  return TRUE;
}

/* Adds the leaves of a share to those of the first part that has them, and leaves 0 points to the
 * other ones. Only sums of this share are read or written. */
static void
merge_share (guint share, gpointer data)
{
  Thinning *job = data;
  NdtLeaves *parts = job->thinner->parts;
  NdtShared *shared = &job->thinner->shared[share];
  if (!reset_shared (shared, job, share)) {
    g_atomic_int_set (&job->failed, 1);
    return;
  }
  const int shift = 64 - (int)g_bit_storage (shared->size - 1);
  for (guint p = 0; p < job->n_parts; p++) {
    gint n_first = 0;
    for (guint i = 0; i < parts[p].n; i++) {
      const guint64 key = parts[p].keys[i];
      if (!is_of_share (key, share, job->n_parts))
        continue;
      gsize slot = ndt_block_hash (key, shift);
      guint64 at;
      while ((at = shared->slots[slot]) != G_MAXUINT64 && parts[at >> 32].keys[(guint32)at] != key)
        slot = (slot + 1) & (shared->size - 1);
      if (at == G_MAXUINT64) {
        shared->slots[slot] = (guint64)p << 32 | i;
        n_first++;
      } else {
        parts[at >> 32].sums[(guint32)at] += parts[p].sums[i];
        parts[p].sums[i] = (NdtLeafSum){0};
      }
    }
    g_atomic_int_add ((gint *)&job->n_first[p], n_first);
  }
}

/* Centroids of the leaves that the part is the first to have, behind those of the parts before. */
static void
finish_part (guint p, gpointer data)
{
  const Thinning *job = data;
  const NdtThinner *thinner = job->thinner;
  NdtLeaves *part = &thinner->parts[p];
  const guint n_first = job->n_first[p];
  guint at = 0;
  for (guint i = 0, n = 0; n_first < part->n && n < n_first; i++) {
    part->keys[n] = part->keys[i];
    part->sums[n] = part->sums[i];
    n += part->sums[i][3] != 0;
  }
  for (guint i = 0; i < p; i++)
    at += job->n_first[i];
  thinner->kernel->centroids (
      part, 0, n_first, job->filter->leaf_size, thinner->x + at, thinner->y + at, thinner->z + at);
}

/* Parts are in the scan's order, and their leaves in that of their first points. */
gboolean
ndt_thinner_run (NdtThinner *thinner, const NdtCloudView *points, const NdtScanFilter *filter,
    guint *n, guint64 *allocations)
{
  const guint most = (guint)(points->n_points / NDT_THIN_PART);
  Thinning job = {.thinner = thinner,
      .points = points,
      .filter = filter,
      .n_parts = CLAMP (ndt_workers_get_share (thinner->workers), 1, MAX (most, 1)),
      .n_first = thinner->n_first};
  memset (job.n_first, 0, job.n_parts * sizeof *job.n_first);
  ndt_workers_run (thinner->workers, job.n_parts, thin_part, &job);
  if (job.n_parts == 1)
    job.n_first[0] = thinner->parts[0].n;
  else if (!g_atomic_int_get (&job.failed))
    ndt_workers_run (thinner->workers, job.n_parts, merge_share, &job);
  *n = 0;
  for (guint i = 0; i < job.n_parts; i++) {
    *n += job.n_first[i];
    *allocations += thinner->parts[i].allocations + thinner->shared[i].allocations;
    thinner->parts[i].allocations = thinner->shared[i].allocations = 0;
  }
  if (g_atomic_int_get (&job.failed) || !reserve_points (thinner, *n, allocations))
    return FALSE;
  ndt_workers_run (thinner->workers, job.n_parts, finish_part, &job);
  return TRUE;
}

/* Sorts places of 24 bits, in as few passes as pay; equal ones stay in order. Returns the sorted
 * ones of the two arrays. */
static const guint64 *
sort_places (NdtThinner *thinner, guint n)
{
  const guint bits = n < 4096 ? 8 : 12, size = 1u << bits, n_digits = 24 / bits;
  guint32 at[3 << 12]; /* three of 8 bits, two of 12 */
  guint64 *from = thinner->pairs, *to = thinner->pairs + thinner->capacity;
  memset (at, 0, n_digits * size * sizeof *at);
  for (guint i = 0; i < n; i++) {
    const guint32 place = thinner->places[i];
    for (guint d = 0; d < n_digits; d++)
      at[d * size + (place >> d * bits & (size - 1))]++;
    from[i] = (guint64)place << 32 | i;
  }
  for (guint d = 0; d < n_digits; d++) {
    guint32 *digit = at + d * size, sum = 0;
    for (guint i = 0; i < size; i++) {
      const guint32 count = digit[i];
      digit[i] = sum;
      sum += count;
    }
    for (guint i = 0; i < n; i++)
      to[digit[from[i] >> (32 + d * bits) & (size - 1)]++] = from[i];
    guint64 *swap = from;
    from = to;
    to = swap;
  }
  return from;
}

/* Orders points along a Z curve over cells of the map's size, so that those of a chunk share cells.
 */
static void
order_by_place (NdtScan *scan, NdtThinner *thinner, guint n, double cell)
{
  /* Vectors read beyond the last point. */
  for (guint i = n; i % NDT_CHUNK != 0; i++)
    thinner->x[i] = thinner->y[i] = thinner->z[i] = 0;
  thinner->kernel->places (
      thinner->x, thinner->y, thinner->z, n, (float)(1 / cell), thinner->places);
  const guint64 *pairs = sort_places (thinner, n);
  for (guint i = 0; i < n; i++) {
    const guint32 from = (guint32)pairs[i];
    scan->order[i] = from;
    scan->x[i] = thinner->x[from];
    scan->y[i] = thinner->y[from];
    scan->z[i] = thinner->z[from];
  }
  scan->n = n;
}

gboolean
ndt_scan_set (NdtScan *scan, NdtThinner *thinner, const NdtCloudView *points,
    const NdtScanFilter *filter, double cell, guint64 *allocations)
{
  guint n = 0;
  scan->n = 0;
  if (filter->leaf_size > 0) {
    if (!ndt_thinner_run (thinner, points, filter, &n, allocations))
      return FALSE;
  } else {
    if (!reserve_points (thinner, (guint)points->n_points, allocations))
      return FALSE;
    n = thinner->kernel->keep_points (points, filter, thinner->x, thinner->y, thinner->z);
  }
  if (!reserve_scan (scan, thinner, n, allocations))
    return FALSE;
  order_by_place (scan, thinner, n, cell);
  return TRUE;
}

void
ndt_scan_get (const NdtScan *scan, float *xyz, guint max_points)
{
  for (guint i = 0; i < scan->n; i++) {
    if (scan->order[i] >= max_points)
      continue;
    float *p = xyz + 3 * (gsize)scan->order[i];
    p[0] = scan->x[i];
    p[1] = scan->y[i];
    p[2] = scan->z[i];
  }
}

gsize
ndt_scan_get_bytes (const NdtScan *scan)
{
  return scan->capacity * (3 * sizeof (float) + sizeof (guint32));
}

void
ndt_scan_clear (NdtScan *scan)
{
  g_free (scan->x);
  g_free (scan->y);
  g_free (scan->z);
  g_free (scan->order);
  memset (scan, 0, sizeof *scan);
}
