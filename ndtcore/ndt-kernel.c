/* SPDX-License-Identifier: MIT */
/* Compiled once for each instruction set (meson.build), with NDT_KERNEL_NAME the function's name.
 */
#include "ndt-kernel-lanes.h"

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

/* Bits of a block's cells within one of a coordinate that is −1 … 4 from the block's corner, and
 * of those at it; a coordinate outside the block has the neighbours that reach into it. */
#define SPREAD_X(m) ((guint64)(m)*UINT64_C (0x1111111111111111))
#define SPREAD_Y(m)                                                                                \
  (((m)&1 ? UINT64_C (0x000f000f000f000f) : 0) | ((m)&2 ? UINT64_C (0x00f000f000f000f0) : 0) |     \
      ((m)&4 ? UINT64_C (0x0f000f000f000f00) : 0) | ((m)&8 ? UINT64_C (0xf000f000f000f000) : 0))
#define SPREAD_Z(m)                                                                                \
  (((m)&1 ? UINT64_C (0xffff) : 0) | ((m)&2 ? UINT64_C (0xffff) << 16 : 0) |                       \
      ((m)&4 ? UINT64_C (0xffff) << 32 : 0) | ((m)&8 ? UINT64_C (0xffff) << 48 : 0))
#define NEAR(spread)                                                                               \
  {                                                                                                \
    spread (1), spread (3), spread (7), spread (14), spread (12), spread (8)                       \
  }
#define AT(spread)                                                                                 \
  {                                                                                                \
    0, spread (1), spread (2), spread (4), spread (8), 0                                           \
  }
static const guint64 near_cells[3][6] = {NEAR (SPREAD_X), NEAR (SPREAD_Y), NEAR (SPREAD_Z)};
static const guint64 at_cells[3][6] = {AT (SPREAD_X), AT (SPREAD_Y), AT (SPREAD_Z)};

/* Appends the candidates of a cell, by block, and z, y, x within a block: the order of sums. */
static __attribute__ ((noinline)) void
gather_candidates (const NdtKernelArgs *args, NdtChunkCache *cache, NdtCellList *list)
{
  const NdtVoxelLevel *level = args->level;
  const guint32 slots = ((guint32)1 << (64 - level->block_shift)) - 1;
  guint n = cache->n_candidates;
  guint32 own = 0, faces = 0;
  struct {
    const NdtBlock *block;
    guint64 cells; /* that have a voxel and are wanted */
    guint64 own;
    guint64 faces;
    gint32 corner[3]; /* less the cell */
  } found[9];
  guint n_found = 0, total = 0;

  list->first = n;
  memset (list->wanted, 0, sizeof (list->wanted));
  gint32 b0[3], b1[3];
  for (guint k = 0; k < 3; k++) {
    if (list->cell[k] < level->cell_min[k] - 1 || list->cell[k] > level->cell_max[k] + 1)
      return;
    b0[k] = (list->cell[k] - 1) >> 2;
    b1[k] = (list->cell[k] + 1) >> 2;
  }
  /* Written without branches that depend on the map, which a processor guesses wrong. */
  const guint sx = b1[0] - b0[0], sy = b1[1] - b0[1], sz = b1[2] - b0[2];
  for (guint b = 0; b < 1u << (sx + sy + sz); b++) {
    const gint32 bx = b0[0] + (gint32)(b & sx), by = b0[1] + (gint32)(b >> sx & sy),
                 bz = b0[2] + (gint32)(b >> (sx + sy));
    const gint32 x = list->cell[0] - 4 * bx, y = list->cell[1] - 4 * by, z = list->cell[2] - 4 * bz;
    const guint64 x1 = near_cells[0][x + 1], y1 = near_cells[1][y + 1], z1 = near_cells[2][z + 1];
    const guint64 x0 = at_cells[0][x + 1], y0 = at_cells[1][y + 1], z0 = at_cells[2][z + 1];
    const guint64 faces_here = (x1 & y0 & z0) | (x0 & y1 & z0) | (x0 & y0 & z1);
    const guint64 key = ndt_block_key (bx, by, bz);
    guint32 i = ndt_block_hash (key, level->block_shift);
    while (level->blocks[i].key != key && level->blocks[i].key != NDT_BLOCK_EMPTY)
      i = (i + 1) & slots;
    const NdtBlock *block = &level->blocks[i];
    const guint64 cells = block->mask & (args->faces_only ? faces_here : x1 & y1 & z1);
    found[n_found].block = block;
    found[n_found].cells = cells;
    found[n_found].own = x0 & y0 & z0;
    found[n_found].faces = faces_here;
    found[n_found].corner[0] = -x;
    found[n_found].corner[1] = -y;
    found[n_found].corner[2] = -z;
    const guint n_here = block->key == key ? (guint)__builtin_popcountll (cells) : 0;
    n_found += n_here > 0;
    total += n_here;
  }
  found[n_found].cells = 0;
  guint f = 0;
  guint64 bits = found[0].cells;
  for (guint j = 0; j < total; j++, n++) {
    const NdtBlock *block = found[f].block;
    const gint32 bit = __builtin_ctzll (bits);
    const guint32 voxel =
        block->first + (guint32)__builtin_popcountll (block->mask & ((UINT64_C (1) << bit) - 1));
    const float *mean = level->voxels[voxel].mean;
    own |= (guint32)(found[f].own >> bit & 1) << j;
    faces |= (guint32)(found[f].faces >> bit & 1) << j;
    const gint32 dx = found[f].corner[0] + (bit & 3), dy = found[f].corner[1] + (bit >> 2 & 3),
                 dz = found[f].corner[2] + (bit >> 4);
    cache->x[n] = ndt_neighbour_mean_f (mean[0], (float)dx, args->resolution);
    cache->y[n] = ndt_neighbour_mean_f (mean[1], (float)dy, args->resolution);
    cache->z[n] = ndt_neighbour_mean_f (mean[2], (float)dz, args->resolution);
    cache->voxel[n] = voxel;
    bits &= bits - 1;
    f += bits == 0;
    bits = bits ? bits : found[f].cells;
  }
  list->wanted[0] = own;
  list->wanted[1] = faces;
  list->wanted[2] = (1u << (n - list->first)) - 1;
  cache->n_candidates = n;
}

static void
cache_reset (NdtChunkCache *cache, guint64 tag)
{
  cache->tag = tag;
  cache->n_lists = cache->n_candidates = 0;
  memset (cache->slots, 0xff, sizeof (cache->slots));
  for (guint i = 0; i < NDT_CHUNK; i++)
    cache->list_of[i] = NDT_CHUNK_LISTS;
  /* No point is there: its cell would have an index that no key holds. */
  cache->lists[NDT_CHUNK_LISTS].cell[0] = G_MAXINT32;
}

/* The list of a cell, found or made. Where two cells share a slot the later one takes it, and the
 * other is listed anew should it return. */
static __attribute__ ((noinline)) guint
find_list (const NdtKernelArgs *args, const gint32 cell[3], NdtChunkCache *cache)
{
  const guint32 hash = (guint32)cell[0] * 0x9e3779b1u + (guint32)cell[1] * 0x85ebca77u +
                       (guint32)cell[2] * 0xc2b2ae3du;
  guint16 *slot = &cache->slots[(hash ^ hash >> 15) >> 8 & (NDT_CHUNK_LISTS - 1)];
  if (*slot < cache->n_lists && memcmp (cache->lists[*slot].cell, cell, 3 * sizeof (gint32)) == 0)
    return *slot;
  /* Full of cells that points have left. Lists of this pass were read already. */
  if (cache->n_lists == NDT_CHUNK_LISTS ||
      cache->n_candidates + NDT_MAX_NEIGHBOURS > NDT_CHUNK_CANDIDATES)
    cache_reset (cache, args->tag);
  NdtCellList *list = &cache->lists[cache->n_lists];
  memcpy (list->cell, cell, sizeof (list->cell));
  gather_candidates (args, cache, list);
  *slot = (guint16)cache->n_lists++;
  return *slot;
}

/* The points of a chunk in the map: lever arms, cells relative to the level's origin, positions
 * within these. A point that belongs to no cell gets one that is far from all voxels. Fills whole
 * vectors. */
static __attribute__ ((noinline)) void
place_points (const NdtTransformF *transform, const NdtKernelArgs *args, const float *x,
    const float *y, const float *z, guint n, float a[3][NDT_CHUNK], float local[3][NDT_CHUNK],
    gint32 cell[3][NDT_CHUNK])
{
  const Vec inverse_resolution = splat (args->inverse_resolution);
  const Vec resolution = splat (args->resolution);
  const float *r = transform->r;
  for (guint i = 0; i < n; i += VEC_LANES) {
    const Vec px = load (x + i), py = load (y + i), pz = load (z + i);
    for (guint k = 0; k < 3; k++) {
      /* ndt_rotate_f(), ndt_cell_f() and ndt_local_f(). */
      const Vec arm =
          fused (splat (r[3 * k]), px, fused (splat (r[3 * k + 1]), py, splat (r[3 * k + 2]) * pz));
      const Vec p = arm + splat (transform->t[k]);
      const Vec c = rounded_down (p * inverse_resolution);
      const Vec l = fused (-c, resolution, p);
      const VecI valid = (c < splat (NDT_CELL_LIMIT)) & (c > splat (-NDT_CELL_LIMIT));
      const VecI index = __builtin_convertvector((Vec)((VecI)c & valid), VecI) +
                         ((transform->anchor[k] & valid) | (G_MININT32 & ~valid));
      memcpy (a[k] + i, &arm, sizeof (arm));
      memcpy (local[k] + i, &l, sizeof (l));
      memcpy (cell[k] + i, &index, sizeof (index));
    }
  }
}

/* Lists the pairs of a chunk. */
static __attribute__ ((noinline)) guint
gather_pairs (const NdtKernelArgs *args, const float *x, const float *y, const float *z, guint n,
    NdtChunkCache *cache, Pairs *pairs)
{
  float a[3][NDT_CHUNK], local[3][NDT_CHUNK];
  gint32 cell[3][NDT_CHUNK];
  place_points (&args->transform, args, x, y, z, n, a, local, cell);

  if (cache->tag != args->tag)
    cache_reset (cache, args->tag);
  const float limit =
      args->neighbours == NDT_NEIGHBOURS_RADIUS ? args->resolution * args->resolution : INFINITY;
  const guint ring = args->neighbours == NDT_NEIGHBOURS_DIRECT1   ? 0
                     : args->neighbours == NDT_NEIGHBOURS_DIRECT7 ? 1
                                                                  : 2;
  guint n_pairs = 0;
  for (guint i = 0; i < n; i++) {
    const gint32 c[3] = {cell[0][i], cell[1][i], cell[2][i]};
    const NdtCellList *list = &cache->lists[cache->list_of[i]];
    if (((c[0] ^ list->cell[0]) | (c[1] ^ list->cell[1]) | (c[2] ^ list->cell[2])) != 0) {
      cache->list_of[i] = (guint16)find_list (args, c, cache);
      list = &cache->lists[cache->list_of[i]];
    }
    const float u[3] = {local[0][i], local[1][i], local[2][i]};
    const float arm[3] = {a[0][i], a[1][i], a[2][i]};
    const guint n_before = n_pairs;
    guint at = list->first;
    for (guint32 wanted = list->wanted[ring]; wanted; wanted >>= NDT_LANES, at += NDT_LANES)
      n_pairs = append_pairs (pairs, n_pairs, cache, at, wanted, u, arm, limit);
    pairs->n_of[i] = (guint8)(n_pairs - n_before);
  }
  return n_pairs;
}

/* The derivatives of a pair go straight into vector sums of 16 lanes: for the few pairs that a
 * point has, applying its Jacobian to each costs less than adding up the pairs of a point first. */
static __attribute__ ((noinline)) void
sum_pairs (const NdtKernelArgs *args, Pairs *pairs, guint n_pairs, gboolean is_score, NdtSums *sums)
{
  VecI lane;
  const Vec d2 = splat (args->d2), minus_d1 = splat (-args->d1);
  const Vec k2 = splat (args->resolution * args->resolution);
  const Vec half = splat (0.5f);
  Vec score = {0}, g[6] = {{0}}, h[21] = {{0}};

  for (guint l = 0; l < VEC_LANES; l++)
    lane[l] = (gint32)l;
  /* A full vector at the end: those that do not count lie on a voxel's mean and weigh nothing. */
  for (guint l = 0; l < VEC_LANES; l++) {
    pairs->x[n_pairs + l] = pairs->y[n_pairs + l] = pairs->z[n_pairs + l] = 0;
    pairs->ax[n_pairs + l] = pairs->ay[n_pairs + l] = pairs->az[n_pairs + l] = 0;
    pairs->voxel[n_pairs + l] = pairs->voxel[0];
  }

  for (guint i = 0; i < n_pairs; i += VEC_LANES) {
    const VecI counts = lane < (gint32)(n_pairs - i) - (VecI){0};
    Vec c[6];
    load_icov (args->level->voxels, pairs->voxel + i, c);
    const Vec x = load (pairs->x + i), y = load (pairs->y + i), z = load (pairs->z + i);
    const Vec a0 = load (pairs->ax + i), a1 = load (pairs->ay + i), a2 = load (pairs->az + i);
    const Vec c0 = c[0], c1 = c[1], c2 = c[2], c3 = c[3], c4 = c[4], c5 = c[5];
    const Vec q0 = c0 * x + c1 * y + c2 * z;
    const Vec q1 = c1 * x + c3 * y + c4 * z;
    const Vec q2 = c2 * x + c4 * y + c5 * z;
    Vec w, A0, A1, A2, A3, A4, A5;
    if (is_score) {
      const Vec m = x * q0 + y * q1 + z * q2;
      const Vec term = (Vec)((VecI)(minus_d1 * exp_negative (splat (-0.5f) * d2 * m)) & counts);
      memcpy (pairs->term + i, &term, sizeof (term));
      score += term;
      w = d2 * term;
      const Vec o0 = d2 * q0, o1 = d2 * q1, o2 = d2 * q2;
      A0 = w * (o0 * q0 - c0), A1 = w * (o0 * q1 - c1), A2 = w * (o0 * q2 - c2);
      A3 = w * (o1 * q1 - c3), A4 = w * (o1 * q2 - c4), A5 = w * (o2 * q2 - c5);
    } else {
      w = (Vec)((VecI)(k2 / (k2 + x * x + y * y + z * z)) & counts);
      score += w;
      A0 = -w * c0, A1 = -w * c1, A2 = -w * c2, A3 = -w * c3, A4 = -w * c4, A5 = -w * c5;
    }
    const Vec b0 = w * q0, b1 = w * q1, b2 = w * q2;

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
    h[15] += c20 * a1 - c10 * a2;
    h[16] += c21 * a1 - c11 * a2;
    h[17] += c22 * a1 - c12 * a2;
    h[18] += c01 * a2 - c21 * a0;
    h[19] += c02 * a2 - c22 * a0;
    h[20] += c12 * a0 - c02 * a1;
    if (is_score) {
      const Vec ba0 = b0 * a0, ba1 = b1 * a1, ba2 = b2 * a2;
      h[15] += ba1 + ba2;
      h[16] -= half * (b0 * a1 + b1 * a0);
      h[17] -= half * (b0 * a2 + b2 * a0);
      h[18] += ba0 + ba2;
      h[19] -= half * (b1 * a2 + b2 * a1);
      h[20] += ba0 + ba1;
    }
  }

  sums->score = sum_lanes (score);
  for (guint k = 0; k < 6; k++)
    sums->gradient[k] = sum_lanes (g[k]);
  for (guint k = 0; k < 21; k++)
    sums->hessian[k] = sum_lanes (h[k]);
}

void
NDT_KERNEL_NAME (const NdtKernelArgs *args, const float *x, const float *y, const float *z, guint n,
    NdtChunkCache *cache, NdtSums *sums)
{
  Pairs pairs;
  memset (sums, 0, sizeof (*sums));
  const guint n_pairs = gather_pairs (args, x, y, z, n, cache, &pairs);
  sums->n_pairs = n_pairs;
  if (n_pairs == 0)
    return;
  guint n_matched = 0;
  for (guint i = 0; i < n; i++)
    n_matched += pairs.n_of[i] > 0;
  sums->n_matched = n_matched;

  if (args->kind == NDT_KIND_LEAST_SQUARES) {
    sum_pairs (args, &pairs, n_pairs, FALSE, sums);
    return;
  }
  sum_pairs (args, &pairs, n_pairs, TRUE, sums);
  float best[NDT_CHUNK];
  guint at = 0;
  for (guint i = 0; i < n; i++) {
    best[i] = largest_term (pairs.term + at, pairs.n_of[i]);
    at += pairs.n_of[i];
  }
  Vec nvtl = {0};
  for (guint i = n; i % VEC_LANES != 0; i++)
    best[i] = 0;
  for (guint i = 0; i < n; i += VEC_LANES)
    nvtl += load (best + i);
  sums->nvtl = sum_lanes (nvtl);
}
