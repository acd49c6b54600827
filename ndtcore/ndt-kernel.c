/* SPDX-License-Identifier: MIT */
/* Compiled once for each instruction set (meson.build), with NDT_KERNEL_NAME the function's name.
 * Written with vectors of 16 floats, which the compiler splits to what the instruction set has. */
#include "ndt-kernel.h"

#include <string.h>

typedef float Vec __attribute__ ((vector_size (64)));
typedef gint32 VecI __attribute__ ((vector_size (64)));

typedef struct {
  float x[NDT_CHUNK_CANDIDATES + NDT_LANES]; /* q */
  float y[NDT_CHUNK_CANDIDATES + NDT_LANES];
  float z[NDT_CHUNK_CANDIDATES + NDT_LANES];
  guint32 voxel[NDT_CHUNK_CANDIDATES + NDT_LANES];
  guint16 point[NDT_CHUNK_CANDIDATES + NDT_LANES];
  float term[NDT_CHUNK_CANDIDATES + NDT_LANES];
} Pairs;

static inline Vec
load (const float *p)
{
  Vec v;
  memcpy (&v, p, sizeof (v));
  return v;
}

static inline Vec
splat (float f)
{
  return f - (Vec){0};
}

/* exp (x) for x <= 0: 2^n · p (f) with n + f = x log2 e, p a polynomial of degree 6 on
 * [−0.5, 0.5] (Taylor terms of 2^f; error below 2e-7). */
static inline Vec
exp_negative (Vec x)
{
  const Vec magic = splat (12582912.0f); /* 1.5 · 2^23: adding it rounds to an integer */
  const VecI in_range = x > splat (-87.0f);
  x = (Vec)(((VecI)x & in_range) | ((VecI)splat (-87.0f) & ~in_range));
  const Vec y = x * splat (1.44269504089f);
  const Vec shifted = y + magic;
  const Vec n = shifted - magic;
  /* log2 e is applied to the remainder in two parts, so that large x keep their digits. */
  const Vec f = (x - n * splat (0.693359375f)) - n * splat (-2.12194440e-4f);
  Vec p = splat (1.0f / 720);
  p = p * f + splat (1.0f / 120);
  p = p * f + splat (1.0f / 24);
  p = p * f + splat (1.0f / 6);
  p = p * f + splat (0.5f);
  p = p * f + splat (1.0f);
  p = p * f + splat (1.0f);
  const VecI exponent = ((VecI)shifted - (VecI)magic) << 23;
  return (Vec)((VecI)p + exponent);
}

/* Appends the candidates of a cell: the order of z, y, x is the order of sums. */
static guint
gather_candidates (const NdtKernelArgs *args, const gint32 cell[3], NdtChunkCache *cache)
{
  const NdtVoxelLevel *level = args->level;
  const gint32 reach = args->neighbours == NDT_NEIGHBOURS_DIRECT1 ? 0 : 1;
  const gboolean faces_only = args->neighbours == NDT_NEIGHBOURS_DIRECT7;
  const guint32 mask = ((guint32)1 << (64 - level->block_shift)) - 1;
  guint n = cache->n_candidates;

  /* The neighbourhood touches two blocks per axis at most. */
  gint32 b0[3], nb[3];
  for (guint k = 0; k < 3; k++) {
    if (cell[k] + reach < level->cell_min[k] || cell[k] - reach > level->cell_max[k])
      return 0;
    b0[k] = (cell[k] - reach) >> 2;
    nb[k] = ((cell[k] + reach) >> 2) - b0[k];
  }
  const NdtBlock *blocks[2][2][2];
  for (gint32 bz = 0; bz <= nb[2]; bz++)
    for (gint32 by = 0; by <= nb[1]; by++)
      for (gint32 bx = 0; bx <= nb[0]; bx++) {
        const guint64 key = ndt_block_key (b0[0] + bx, b0[1] + by, b0[2] + bz);
        guint32 i = ndt_block_hash (key, level->block_shift);
        while (level->blocks[i].key != key && level->blocks[i].key != NDT_BLOCK_EMPTY)
          i = (i + 1) & mask;
        blocks[bz][by][bx] = level->blocks[i].key == key ? &level->blocks[i] : NULL;
      }

  for (gint32 dz = -reach; dz <= reach; dz++)
    for (gint32 dy = -reach; dy <= reach; dy++)
      for (gint32 dx = -reach; dx <= reach; dx++) {
        if (faces_only && (dx != 0) + (dy != 0) + (dz != 0) > 1)
          continue;
        const gint32 x = cell[0] + dx, y = cell[1] + dy, z = cell[2] + dz;
        const NdtBlock *block = blocks[(z >> 2) - b0[2]][(y >> 2) - b0[1]][(x >> 2) - b0[0]];
        if (!block)
          continue;
        const guint64 bit = UINT64_C (1) << ndt_block_bit (x, y, z);
        if (!(block->mask & bit))
          continue;
        const guint32 voxel =
            block->first + (guint32)__builtin_popcountll (block->mask & (bit - 1));
        const float *mean = level->voxels[voxel].mean;
        cache->x[n] = ndt_neighbour_mean_f (mean[0], (float)dx, args->resolution);
        cache->y[n] = ndt_neighbour_mean_f (mean[1], (float)dy, args->resolution);
        cache->z[n] = ndt_neighbour_mean_f (mean[2], (float)dz, args->resolution);
        cache->voxel[n++] = voxel;
      }
  n -= cache->n_candidates;
  return n;
}

/* The list of a cell, found or made. */
static guint
find_list (const NdtKernelArgs *args, const gint32 cell[3], NdtChunkCache *cache)
{
  /* Backwards: a scan that is ordered by place has its cell near the end. */
  for (guint i = cache->n_lists; i-- > 0;) {
    const gint32 *c = cache->lists[i].cell;
    if (c[0] == cell[0] && c[1] == cell[1] && c[2] == cell[2])
      return i;
  }
  NdtCellList *list = &cache->lists[cache->n_lists];
  memcpy (list->cell, cell, sizeof (list->cell));
  list->first = (guint16)cache->n_candidates;
  list->n = (guint16)gather_candidates (args, cell, cache);
  cache->n_candidates += list->n;
  return cache->n_lists++;
}

static void
cache_reset (NdtChunkCache *cache, guint64 tag)
{
  cache->tag = tag;
  cache->n_lists = cache->n_candidates = 0;
  for (guint i = 0; i < NDT_CHUNK; i++)
    cache->list_of[i] = G_MAXUINT16;
}

/* Lists the pairs of a chunk, those of a point side by side; a: lever arms, one array an axis. */
static guint
gather_pairs (const NdtKernelArgs *args, const float *x, const float *y, const float *z, guint n,
    NdtChunkCache *cache, Pairs *pairs, float a[3][NDT_CHUNK])
{
  const NdtTransformF *transform = &args->transform;
  float cell[3][NDT_CHUNK], local[3][NDT_CHUNK];
  for (guint i = 0; i < n; i++) {
    float arm[3];
    ndt_rotate_f (transform, x[i], y[i], z[i], arm);
    for (guint k = 0; k < 3; k++) {
      const float p = arm[k] + transform->t[k];
      a[k][i] = arm[k];
      cell[k][i] = ndt_cell_f (p, args->inverse_resolution);
      local[k][i] = ndt_local_f (p, cell[k][i], args->resolution);
    }
  }

  if (cache->tag != args->tag)
    cache_reset (cache, args->tag);
  const float limit = args->neighbours == NDT_NEIGHBOURS_RADIUS && args->kind == NDT_KIND_SCORE
                          ? args->resolution * args->resolution
                          : INFINITY;
  guint n_pairs = 0;
  for (guint i = 0; i < n; i++) {
    gint32 c[3];
    if (!(fabsf (cell[0][i]) < NDT_CELL_LIMIT && fabsf (cell[1][i]) < NDT_CELL_LIMIT &&
            fabsf (cell[2][i]) < NDT_CELL_LIMIT))
      continue;
    for (guint k = 0; k < 3; k++)
      c[k] = (gint32)cell[k][i] + transform->anchor[k];
    guint id = cache->list_of[i];
    if (id == G_MAXUINT16 || memcmp (cache->lists[id].cell, c, sizeof (c)) != 0) {
      if (cache->n_lists == NDT_CHUNK_LISTS ||
          cache->n_candidates + NDT_MAX_NEIGHBOURS > NDT_CHUNK_CANDIDATES) {
        /* Full of cells that points have left. Lists of this pass were read already. */
        cache_reset (cache, args->tag);
      }
      id = find_list (args, c, cache);
      cache->list_of[i] = (guint16)id;
    }
    const NdtCellList *list = &cache->lists[id];
    const Vec ux = splat (local[0][i]), uy = splat (local[1][i]), uz = splat (local[2][i]);
    for (guint j = 0; j < list->n; j += NDT_LANES) {
      const guint at = list->first + j, m = MIN (NDT_LANES, list->n - j);
      float q[3][NDT_LANES], square[NDT_LANES];
      const Vec qx = ux - load (cache->x + at), qy = uy - load (cache->y + at),
                qz = uz - load (cache->z + at);
      memcpy (q[0], &qx, sizeof (Vec));
      memcpy (q[1], &qy, sizeof (Vec));
      memcpy (q[2], &qz, sizeof (Vec));
      for (guint l = 0; l < NDT_LANES; l++)
        square[l] = fmaf (q[0][l], q[0][l], fmaf (q[1][l], q[1][l], q[2][l] * q[2][l]));
      for (guint l = 0; l < m; l++) {
        pairs->x[n_pairs] = q[0][l];
        pairs->y[n_pairs] = q[1][l];
        pairs->z[n_pairs] = q[2][l];
        pairs->voxel[n_pairs] = cache->voxel[at + l];
        pairs->point[n_pairs] = (guint16)i;
        n_pairs += square[l] < limit;
      }
    }
  }
  return n_pairs;
}

/* The derivatives of a pair go straight into vector sums of 16 lanes: for the few pairs that a
 * point has, applying its Jacobian to each costs less than adding up the pairs of a point first. */
static void
sum_pairs (
    const NdtKernelArgs *args, Pairs *pairs, guint n_pairs, float a[3][NDT_CHUNK], NdtSums *sums)
{
  const gboolean is_score = args->kind == NDT_KIND_SCORE;
  const Vec d2 = splat (args->d2), minus_d1 = splat (-args->d1);
  const Vec k2 = splat (args->resolution * args->resolution);
  const Vec curvature = splat (is_score ? 1.0f : 0.0f);
  const Vec half = splat (0.5f) * curvature;
  Vec score = {0}, g[6] = {{0}}, h[21] = {{0}};

  /* A full vector at the end: a copy of the first pair that weighs nothing. */
  const guint n_padded = (n_pairs + NDT_LANES - 1) / NDT_LANES * NDT_LANES;
  for (guint i = n_pairs; i < n_padded; i++) {
    pairs->x[i] = pairs->y[i] = pairs->z[i] = 0;
    pairs->voxel[i] = pairs->voxel[0];
    pairs->point[i] = pairs->point[0];
  }

  for (guint i = 0; i < n_padded; i += NDT_LANES) {
    float icov[6][NDT_LANES], arm[3][NDT_LANES], weight[NDT_LANES];
    for (guint l = 0; l < NDT_LANES; l++) {
      const float *c = args->level->voxels[pairs->voxel[i + l]].icov;
      for (guint k = 0; k < 6; k++)
        icov[k][l] = c[k];
      const guint p = pairs->point[i + l];
      arm[0][l] = a[0][p];
      arm[1][l] = a[1][p];
      arm[2][l] = a[2][p];
      weight[l] = i + l < n_pairs ? 1.0f : 0.0f;
    }
    const Vec x = load (pairs->x + i), y = load (pairs->y + i), z = load (pairs->z + i);
    const Vec c0 = load (icov[0]), c1 = load (icov[1]), c2 = load (icov[2]), c3 = load (icov[3]),
              c4 = load (icov[4]), c5 = load (icov[5]);
    const Vec a0 = load (arm[0]), a1 = load (arm[1]), a2 = load (arm[2]);
    const Vec q0 = c0 * x + c1 * y + c2 * z;
    const Vec q1 = c1 * x + c3 * y + c4 * z;
    const Vec q2 = c2 * x + c4 * y + c5 * z;
    Vec w, outer;
    if (is_score) {
      const Vec m = x * q0 + y * q1 + z * q2;
      const Vec term = minus_d1 * exp_negative (splat (-0.5f) * d2 * m) * load (weight);
      memcpy (pairs->term + i, &term, sizeof (term));
      score += term;
      w = d2 * term;
      outer = w * d2;
    } else {
      w = k2 / (k2 + x * x + y * y + z * z) * load (weight);
      score += w;
      outer = splat (0.0f);
    }
    const Vec b0 = w * q0, b1 = w * q1, b2 = w * q2;
    const Vec o0 = outer * q0, o1 = outer * q1, o2 = outer * q2;
    const Vec A0 = o0 * q0 - w * c0, A1 = o0 * q1 - w * c1, A2 = o0 * q2 - w * c2;
    const Vec A3 = o1 * q1 - w * c3, A4 = o1 * q2 - w * c4, A5 = o2 * q2 - w * c5;

    /* ndt_point_derivatives(), 16 pairs at a time. */
    g[0] -= b0;
    g[1] -= b1;
    g[2] -= b2;
    g[3] += b1 * a2 - b2 * a1;
    g[4] += b2 * a0 - b0 * a2;
    g[5] += b0 * a1 - b1 * a0;
    const Vec c00 = A2 * a1 - A1 * a2, c10 = A4 * a1 - A3 * a2, c20 = A5 * a1 - A4 * a2;
    const Vec c01 = A0 * a2 - A2 * a0, c11 = A1 * a2 - A4 * a0, c21 = A2 * a2 - A5 * a0;
    const Vec c02 = A1 * a0 - A0 * a1, c12 = A3 * a0 - A1 * a1, c22 = A4 * a0 - A2 * a1;
    h[0] += A0;
    h[1] += A1;
    h[2] += A2;
    h[3] += c00;
    h[4] += c01;
    h[5] += c02;
    h[6] += A3;
    h[7] += A4;
    h[8] += c10;
    h[9] += c11;
    h[10] += c12;
    h[11] += A5;
    h[12] += c20;
    h[13] += c21;
    h[14] += c22;
    const Vec ba = b0 * a0 + b1 * a1 + b2 * a2;
    h[15] += c20 * a1 - c10 * a2 + curvature * (ba - b0 * a0);
    h[16] += c21 * a1 - c11 * a2 - half * (b0 * a1 + b1 * a0);
    h[17] += c22 * a1 - c12 * a2 - half * (b0 * a2 + b2 * a0);
    h[18] += c01 * a2 - c21 * a0 + curvature * (ba - b1 * a1);
    h[19] += c02 * a2 - c22 * a0 - half * (b1 * a2 + b2 * a1);
    h[20] += c12 * a0 - c02 * a1 + curvature * (ba - b2 * a2);
  }

  for (guint l = 0; l < NDT_LANES; l++) {
    sums->score += (double)score[l];
    for (guint k = 0; k < 6; k++)
      sums->gradient[k] += (double)g[k][l];
    for (guint k = 0; k < 21; k++)
      sums->hessian[k] += (double)h[k][l];
  }
}

void
NDT_KERNEL_NAME (const NdtKernelArgs *args, const float *x, const float *y, const float *z, guint n,
    NdtChunkCache *cache, NdtSums *sums)
{
  Pairs pairs;
  float a[3][NDT_CHUNK];
  memset (sums, 0, sizeof (*sums));
  const guint n_pairs = gather_pairs (args, x, y, z, n, cache, &pairs, a);
  sums->n_pairs = n_pairs;
  if (n_pairs == 0)
    return;
  sum_pairs (args, &pairs, n_pairs, a, sums);

  const gboolean is_score = args->kind == NDT_KIND_SCORE;
  for (guint i = 0; i < n_pairs;) {
    const guint16 point = pairs.point[i];
    float best = 0;
    for (; i < n_pairs && pairs.point[i] == point; i++)
      if (is_score && pairs.term[i] > best)
        best = pairs.term[i];
    sums->nvtl += (double)best;
    sums->n_matched++;
  }
}
