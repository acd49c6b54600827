/* SPDX-License-Identifier: MIT */
/* Compiled once for each instruction set, as ndt-kernel.c. Loops over the arrays of a block are
 * written for the compiler to vectorize: no branches, no calls. */
#include "ndt-scan-kernel.h"

#include "ndt-kernel-lanes.h"
#include "ndtcore/scan/ndt-scan-filter.h"

#define BLOCK NDT_THIN_POINTS_AT_ONCE
#define NO_KEY G_MAXUINT64
/* Offsets below this are summed in 32 bits over a block. Larger ones are rounding errors of points
 * a million leaves away. */
#define LARGE_OFFSET (1 << 22)

typedef float Float4 __attribute__ ((vector_size (16)));
typedef gint32 Int4 __attribute__ ((vector_size (16)));

/* Four of the eight lanes of two vectors. GCC has the other name since version 12 only. */
#if defined(__clang__)
#define SHUFFLE(a, b, i, j, k, l) __builtin_shufflevector (a, b, i, j, k, l)
#else
#define SHUFFLE(a, b, i, j, k, l) __builtin_shuffle (a, b, (Int4){i, j, k, l})
#endif

typedef struct {
  float x[BLOCK];
  float y[BLOCK];
  float z[BLOCK];
  gint32 keep[BLOCK]; /* 0 or −1 */
  guint64 keys[BLOCK];
  gint32 dx[BLOCK];
  gint32 dy[BLOCK];
  gint32 dz[BLOCK];
  Int4 before[BLOCK + 1]; /* sums of the offsets of the points before, and their number */
  guint16 runs[BLOCK + VEC_LANES];
  guint32 slots[BLOCK]; /* of the runs' leaves, where there is no collision */
} Block;

static inline Float4
load4 (const guint8 *p)
{
  Float4 v;
  memcpy (&v, p, sizeof v);
  return v;
}

static void
load_points (const NdtCloudView *points, gsize first, guint n, Block *b)
{
  const guint8 *p = points->x + first * points->stride;
  guint i = 0;
  if (points->scalar == NDT_SCALAR_F32 && points->y == points->x + 4 &&
      points->z == points->x + 8) {
    /* Reads four bytes beyond z: the last point of the view is left to the loop below. */
    const guint n_wide = first + n < points->n_points ? n : n - 1;
    for (; i + 4 <= n_wide; i += 4, p += 4 * points->stride) {
      const Float4 p0 = load4 (p), p1 = load4 (p + points->stride),
                   p2 = load4 (p + 2 * points->stride), p3 = load4 (p + 3 * points->stride);
      const Float4 xy01 = SHUFFLE (p0, p1, 0, 4, 1, 5);
      const Float4 xy23 = SHUFFLE (p2, p3, 0, 4, 1, 5);
      const Float4 z01 = SHUFFLE (p0, p1, 2, 6, 3, 7);
      const Float4 z23 = SHUFFLE (p2, p3, 2, 6, 3, 7);
      const Float4 x = SHUFFLE (xy01, xy23, 0, 1, 4, 5);
      const Float4 y = SHUFFLE (xy01, xy23, 2, 3, 6, 7);
      const Float4 z = SHUFFLE (z01, z23, 0, 1, 4, 5);
      memcpy (&b->x[i], &x, sizeof x);
      memcpy (&b->y[i], &y, sizeof y);
      memcpy (&b->z[i], &z, sizeof z);
    }
  }
  for (; i < n; i++) {
    double d[3];
    ndt_cloud_view_get (points, first + i, d);
    b->x[i] = (float)d[0];
    b->y[i] = (float)d[1];
    b->z[i] = (float)d[2];
  }
}

/* ndt_scan_keep() of each point, without calls where no range is set. */
static void
judge_points (const NdtScanFilter *filter, guint n, Block *b)
{
  memset (b->keep + n, 0, (BLOCK - n) * sizeof *b->keep);
  for (guint i = 0; i < n; i++)
    b->keep[i] = -((fabsf (b->x[i]) <= NDT_SCAN_LIMIT) & (fabsf (b->y[i]) <= NDT_SCAN_LIMIT) &
                   (fabsf (b->z[i]) <= NDT_SCAN_LIMIT));
  if (filter->min_range > 0 || filter->max_range > 0) {
    const float least = filter->min_range * filter->min_range;
    const float most = filter->max_range > 0 ? filter->max_range * filter->max_range : INFINITY;
    for (guint i = 0; i < n; i++) {
      const float range2 = fmaf (b->x[i], b->x[i], fmaf (b->y[i], b->y[i], b->z[i] * b->z[i]));
      b->keep[i] &= -((range2 >= least) & (range2 <= most));
    }
  }
  if (filter->use_box) {
    const float *min = filter->box_min, *max = filter->box_max;
    for (guint i = 0; i < n; i++)
      b->keep[i] &= -((b->x[i] >= min[0]) & (b->x[i] <= max[0]) & (b->y[i] >= min[1]) &
                      (b->y[i] <= max[1]) & (b->z[i] >= min[2]) & (b->z[i] <= max[2]));
  }
}

/* ndt_leaf_index() and ndt_leaf_offset() of one axis, in whole vectors; lanes that are −1 in
 * @large have large offsets. Points that are not kept are at 0. */
static inline void
split_axis (const float *p, const gint32 *keep, float leaf_size, guint n, guint32 *index,
    gint32 *offset, VecI *large)
{
  const Vec inverse = splat (1.0f / leaf_size), size = splat (leaf_size);
  for (guint i = 0; i < n; i += VEC_LANES) {
    VecI kept;
    memcpy (&kept, keep + i, sizeof kept);
    const Vec v = (Vec)((VecI)load (p + i) & kept);
    const Vec leaf = rounded_down (v * inverse);
    const Vec at = rounded (fused (-leaf, size, v) * inverse * splat (NDT_LEAF_STEPS));
    const VecI number = __builtin_convertvector(leaf, VecI) + NDT_KEY_LIMIT;
    const VecI whole = __builtin_convertvector(at, VecI);
    *large |= (whole >= LARGE_OFFSET) | (whole <= -LARGE_OFFSET);
    memcpy (index + i, &number, sizeof number);
    memcpy (offset + i, &whole, sizeof whole);
  }
}

/* TRUE: there are large offsets. */
static gboolean
split_points (const NdtScanFilter *filter, guint n, Block *b)
{
  guint32 ix[BLOCK], iy[BLOCK], iz[BLOCK];
  VecI large = {0};
  split_axis (b->x, b->keep, filter->leaf_size, n, ix, b->dx, &large);
  split_axis (b->y, b->keep, filter->leaf_size, n, iy, b->dy, &large);
  split_axis (b->z, b->keep, filter->leaf_size, n, iz, b->dz, &large);
  for (guint i = 0; i < n; i++) {
    /* ndt_leaf_in_range() of all three. */
    const gint32 in_range = -((ix[i] | iy[i] | iz[i]) < 2 * NDT_KEY_LIMIT);
    const guint64 no_key = (guint64)(gint64) ~(b->keep[i] & in_range);
    b->keys[i] = ((guint64)ix[i] | (guint64)iy[i] << 21 | (guint64)iz[i] << 42) | no_key;
  }
  return lane_bits (large) != 0;
}

static inline void
sum_points (guint n, Block *b)
{
  Int4 sum = {0};
  guint i = 0;
  for (; i + 4 <= n; i += 4) {
    Int4 x, y, z;
    memcpy (&x, &b->dx[i], sizeof x);
    memcpy (&y, &b->dy[i], sizeof y);
    memcpy (&z, &b->dz[i], sizeof z);
    const Int4 ones = {1, 1, 1, 1};
    const Int4 xy01 = SHUFFLE (x, y, 0, 4, 1, 5);
    const Int4 xy23 = SHUFFLE (x, y, 2, 6, 3, 7);
    const Int4 zn01 = SHUFFLE (z, ones, 0, 4, 1, 5);
    const Int4 zn23 = SHUFFLE (z, ones, 2, 6, 3, 7);
    b->before[i] = sum;
    sum += SHUFFLE (xy01, zn01, 0, 1, 4, 5);
    b->before[i + 1] = sum;
    sum += SHUFFLE (xy01, zn01, 2, 3, 6, 7);
    b->before[i + 2] = sum;
    sum += SHUFFLE (xy23, zn23, 0, 1, 4, 5);
    b->before[i + 3] = sum;
    sum += SHUFFLE (xy23, zn23, 2, 3, 6, 7);
  }
  for (; i < n; i++) {
    b->before[i] = sum;
    sum += (Int4){b->dx[i], b->dy[i], b->dz[i], 1};
  }
  b->before[n] = sum;
}

/* Where neighbours have different keys: a sensor's next point is most often in the same leaf. */
static guint
find_runs (guint n, Block *b)
{
  guint n_runs = 1, i = 1;
  b->runs[0] = 0;
#if defined(__AVX512F__)
  const __m128i numbers = _mm_setr_epi16 (0, 1, 2, 3, 4, 5, 6, 7);
  for (; i + 8 <= n; i += 8) {
    const __mmask8 differs = _mm512_cmpneq_epi64_mask (
        _mm512_loadu_si512 (b->keys + i), _mm512_loadu_si512 (b->keys + i - 1));
    const __m256i found = _mm256_maskz_compress_epi32 (
        differs, _mm256_cvtepu16_epi32 (_mm_add_epi16 (numbers, _mm_set1_epi16 ((short)i))));
    _mm_storeu_si128 ((__m128i *)(b->runs + n_runs), _mm256_cvtepi32_epi16 (found));
    n_runs += (guint)__builtin_popcount (differs);
  }
#elif defined(__AVX2__)
  for (; i + 8 <= n; i += 8) {
    guint32 same = 0;
    for (guint half = 0; half < 8; half += 4) {
      const __m256i key = _mm256_loadu_si256 ((const __m256i *)(b->keys + i + half));
      const __m256i before = _mm256_loadu_si256 ((const __m256i *)(b->keys + i + half - 1));
      same |= (guint32)_mm256_movemask_pd ((__m256d)_mm256_cmpeq_epi64 (key, before)) << half;
    }
    const guint32 differs = same ^ 0xff;
    const __m128i lanes =
        _mm_cvtepu8_epi16 (_mm_loadl_epi64 ((const __m128i *)&packed_lanes[differs]));
    _mm_storeu_si128 (
        (__m128i *)(b->runs + n_runs), _mm_add_epi16 (lanes, _mm_set1_epi16 ((short)i)));
    n_runs += (guint)__builtin_popcount (differs);
  }
#endif
  for (; i < n; i++) {
    b->runs[n_runs] = (guint16)i;
    n_runs += b->keys[i] != b->keys[i - 1];
  }
  b->runs[n_runs] = (guint16)n;
  return n_runs;
}

static inline gboolean
add_to_leaf (NdtLeaves *leaves, guint64 key, NdtLeafSum sum)
{
  guint slot = ndt_block_hash (key, leaves->shift), leaf;
  while ((leaf = leaves->table[slot]) != G_MAXUINT32) {
    if (leaves->keys[leaf] == key) {
      leaves->sums[leaf] += sum;
      return TRUE;
    }
    slot = (slot + 1) & (leaves->table_size - 1);
  }
  if (leaves->n == leaves->capacity) {
    if (!ndt_leaves_grow (leaves))
      return FALSE;
    slot = ndt_block_hash (key, leaves->shift);
    while (leaves->table[slot] != G_MAXUINT32)
      slot = (slot + 1) & (leaves->table_size - 1);
  }
  leaves->table[slot] = leaves->n;
  leaves->keys[leaves->n] = key;
  leaves->sums[leaves->n++] = sum;
  return TRUE;
}

/* As add_to_leaf() of each run. Whether a leaf is new cannot be predicted, and each such branch
 * would cost as much as the rest of a run: a new leaf is one whose sum so far is 0. */
static gboolean
add_runs (NdtLeaves *leaves, guint n_runs, Block *b)
{
  while (leaves->capacity - leaves->n <= n_runs)
    if (!ndt_leaves_grow (leaves))
      return FALSE;
  guint32 *table = leaves->table;
  guint64 *keys = leaves->keys;
  NdtLeafSum *sums = leaves->sums;
  const guint32 last_slot = leaves->table_size - 1;
  guint n = leaves->n;
  for (guint r = 0; r < n_runs; r++) {
    b->slots[r] = ndt_block_hash (b->keys[b->runs[r]], leaves->shift);
    __builtin_prefetch (&table[b->slots[r]]);
  }
  sums[n] = (NdtLeafSum){0};
  for (guint r = 0; r < n_runs; r++) {
    const guint64 key = b->keys[b->runs[r]];
    const Int4 sum = b->before[b->runs[r + 1]] - b->before[b->runs[r]];
    guint32 slot = b->slots[r], leaf, is_new;
    if (key == NO_KEY)
      continue;
    for (;; slot = (slot + 1) & last_slot) {
      leaf = table[slot];
      is_new = leaf == G_MAXUINT32;
      __asm__("" : "+r"(is_new)); /* or the compiler makes a branch of it */
      leaf = (leaf & (is_new - 1)) | (n & -is_new);
      if (is_new | (keys[leaf] == key))
        break;
    }
    table[slot] = leaf;
    keys[leaf] = key;
    sums[leaf] += __builtin_convertvector(sum, NdtLeafSum);
    n += is_new;
    sums[n] = (NdtLeafSum){0};
  }
  leaves->n = n;
  return TRUE;
}

/* The next block, while this one is worked on: the processor's own prefetching ends with a page. */
static inline void
prefetch_points (const NdtCloudView *points, gsize first)
{
  const gsize n = MIN (points->n_points - first, BLOCK);
  for (gsize at = 0; at < n * points->stride; at += 64)
    __builtin_prefetch (points->x + first * points->stride + at);
}

static gboolean
add_points (NdtLeaves *leaves, const NdtCloudView *points, const NdtScanFilter *filter)
{
  Block b;
  for (gsize first = 0; first < points->n_points; first += BLOCK) {
    const guint n = (guint)MIN (points->n_points - first, BLOCK);
    load_points (points, first, n, &b);
    if (first + BLOCK < points->n_points)
      prefetch_points (points, first + BLOCK);
    judge_points (filter, n, &b);
    if (split_points (filter, n, &b)) {
      for (guint i = 0; i < n; i++)
        if (b.keys[i] != NO_KEY &&
            !add_to_leaf (leaves, b.keys[i], (NdtLeafSum){b.dx[i], b.dy[i], b.dz[i], 1}))
          return FALSE;
      continue;
    }
    sum_points (n, &b);
    if (!add_runs (leaves, find_runs (n, &b), &b))
      return FALSE;
  }
  return TRUE;
}

static guint
keep_points (const NdtCloudView *points, const NdtScanFilter *filter, float *x, float *y, float *z)
{
  Block b;
  guint n_kept = 0;
  for (gsize first = 0; first < points->n_points; first += BLOCK) {
    const guint n = (guint)MIN (points->n_points - first, BLOCK);
    load_points (points, first, n, &b);
    judge_points (filter, n, &b);
    for (guint i = 0; i < n; i++) {
      x[n_kept] = b.x[i];
      y[n_kept] = b.y[i];
      z[n_kept] = b.z[i];
      n_kept += (guint)-b.keep[i];
    }
  }
  return n_kept;
}

static void
centroids (
    const NdtLeaves *leaves, guint first, guint n, float leaf_size, float *x, float *y, float *z)
{
  for (guint i = 0; i < n; i++) {
    const NdtLeafSum sum = leaves->sums[first + i];
    const guint64 key = leaves->keys[first + i];
    const guint32 mask = 2 * NDT_KEY_LIMIT - 1;
    const guint32 n_points = (guint32)sum[3];
    x[i] = ndt_leaf_centroid (
        sum[0], n_points, (gint32)((guint32)key & mask) - NDT_KEY_LIMIT, leaf_size);
    y[i] = ndt_leaf_centroid (
        sum[1], n_points, (gint32)((guint32)(key >> 21) & mask) - NDT_KEY_LIMIT, leaf_size);
    z[i] = ndt_leaf_centroid (
        sum[2], n_points, (gint32)((guint32)(key >> 42) & mask) - NDT_KEY_LIMIT, leaf_size);
  }
}

/* Every third bit of the low eight. */
static inline VecI
spread (VecI v)
{
  v &= 0xff;
  v = (v | v << 8) & 0x00f00f;
  v = (v | v << 4) & 0x0c30c3;
  v = (v | v << 2) & 0x249249;
  return v;
}

static void
places (const float *x, const float *y, const float *z, guint n, float inverse_cell, guint32 *keys)
{
  const Vec inverse = splat (inverse_cell);
  for (guint i = 0; i < n; i += VEC_LANES) {
    const VecI cx = __builtin_convertvector(rounded_down (load (x + i) * inverse), VecI);
    const VecI cy = __builtin_convertvector(rounded_down (load (y + i) * inverse), VecI);
    const VecI cz = __builtin_convertvector(rounded_down (load (z + i) * inverse), VecI);
    const VecI place = spread (cx) | spread (cy) << 1 | spread (cz) << 2;
    memcpy (keys + i, &place, sizeof place);
  }
}

const NdtScanKernel NDT_SCAN_KERNEL_NAME = {
    .add_points = add_points,
    .keep_points = keep_points,
    .centroids = centroids,
    .places = places,
};
