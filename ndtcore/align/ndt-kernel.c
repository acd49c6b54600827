/* SPDX-License-Identifier: MIT */
/* Compiled once for each instruction set (meson.build), with NDT_KERNEL_NAME the function's name.
 */
#include "ndt-kernel-lanes.h"

/* Bits of a block's cells within one of a coordinate that is −1 … 4 from the block's corner, and of
 * those at it; a coordinate outside of the block has those neighbours that are inside. */
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
static const guint64 near_cells[3][8] = {NEAR (SPREAD_X), NEAR (SPREAD_Y), NEAR (SPREAD_Z)};
static const guint64 at_cells[3][8] = {AT (SPREAD_X), AT (SPREAD_Y), AT (SPREAD_Z)};

/* CELL_CODE() of a block's cells, from the block's first. */
#define CODES4(y, z)                                                                               \
  CELL_CODE (0, y, z), CELL_CODE (1, y, z), CELL_CODE (2, y, z), CELL_CODE (3, y, z)
#define CODES16(z) CODES4 (0, z), CODES4 (1, z), CODES4 (2, z), CODES4 (3, z)
static const guint32 cell_codes[64] = {CODES16 (0), CODES16 (1), CODES16 (2), CODES16 (3)};

/* Appends the candidates of a cell, by block, and z, y, x within a block: the order of sums. */
static void
gather_candidates (const NdtKernelArgs *args, NdtChunkCache *cache, NdtCellList *list)
{
  const NdtVoxelLevel *level = args->level;
  const guint32 slots = ((guint32)1 << (64 - level->block_shift)) - 1;
  NdtCandidates *groups = &cache->groups[cache->n_groups];
  struct {
    const NdtBlock *block;
    guint64 cells;  /* that have a voxel and are in the neighbourhood */
    guint32 corner; /* code of its first cell */
  } found[9];
  guint n_found = 0, total = 0;

  list->first = cache->n_groups;
  memset (list->wanted, 0, sizeof (list->wanted));
  /* The neighbourhood touches one block or two along an axis. */
  guint two[3];
  gint32 block_at[3];
  guint64 near[3][2], at[3][2];
  guint32 corner[3][2];
  for (guint k = 0; k < 3; k++) {
    const gint32 cell = list->cell[k];
    if (cell < level->cell_min[k] - 1 || cell > level->cell_max[k] + 1)
      return;
    block_at[k] = (cell - 1) >> 2;
    const gint32 within = cell - 4 * block_at[k];
    two[k] = within > 2;
    near[k][0] = near_cells[k][within + 1];
    near[k][1] = near_cells[k][(within - 3) & 7];
    at[k][0] = at_cells[k][within + 1];
    at[k][1] = at_cells[k][(within - 3) & 7];
    corner[k][0] = (guint32)(1 - within) << 8 * k;
    corner[k][1] = (guint32)(5 - within) << 8 * k;
  }
  /* Without branches that depend on the map, which would be mispredicted. */
  for (guint b = 0; b < 1u << (two[0] + two[1] + two[2]); b++) {
    const guint ix = b & two[0], iy = b >> two[0] & two[1], iz = b >> (two[0] + two[1]);
    const guint64 key = ndt_block_key (
        block_at[0] + (gint32)ix, block_at[1] + (gint32)iy, block_at[2] + (gint32)iz);
    guint32 i = ndt_block_hash (key, level->block_shift);
    while (level->blocks[i].key != key && level->blocks[i].key != NDT_BLOCK_EMPTY)
      i = (i + 1) & slots;
    const NdtBlock *block = &level->blocks[i];
    guint64 cells = block->key == key ? block->mask : 0;
    if (args->faces_only)
      cells &= (near[0][ix] & at[1][iy] & at[2][iz]) | (at[0][ix] & near[1][iy] & at[2][iz]) |
               (at[0][ix] & at[1][iy] & near[2][iz]);
    else
      cells &= near[0][ix] & near[1][iy] & near[2][iz];
    found[n_found].block = block;
    found[n_found].cells = cells;
    found[n_found].corner = corner[0][ix] + corner[1][iy] + corner[2][iz];
    n_found += cells != 0;
    total += (guint)__builtin_popcountll (cells);
  }
  found[n_found].cells = 0;
  guint32 codes[NDT_LIST_GROUPS * NDT_LANES], voxels[NDT_LIST_GROUPS * NDT_LANES];
  guint f = 0;
  guint64 bits = found[0].cells;
  for (guint j = 0; j < total; j++) {
    const NdtBlock *block = found[f].block;
    const gint32 bit = __builtin_ctzll (bits);
    voxels[j] =
        block->first + (guint32)__builtin_popcountll (block->mask & ((UINT64_C (1) << bit) - 1));
    codes[j] = found[f].corner + cell_codes[bit];
    bits &= bits - 1;
    f += bits == 0;
    bits = bits ? bits : found[f].cells;
  }
  /* Whole vectors: those behind the last are of any voxel, and not wanted. */
  for (guint j = total; j % VEC_LANES != 0; j++)
    codes[j] = voxels[j] = 0;
  place_candidates (level->voxels, voxels, codes, total, args->resolution, groups, &list->wanted[0],
      &list->wanted[1]);
  list->wanted[2] = (1u << total) - 1;
  cache->n_groups += (total + NDT_LANES - 1) / NDT_LANES;
}

static void
cache_reset (NdtChunkCache *cache, guint64 tag)
{
  cache->tag = tag;
  cache->n_lists = cache->n_groups = 0;
  memset (cache->slots, 0xff, sizeof (cache->slots));
  /* A cell that no point can have: its index exceeds the range of keys. */
  for (guint k = 0; k < 3; k++) {
    for (guint i = 0; i < NDT_CHUNK; i++)
      cache->cells[k][i] = G_MAXINT32;
    cache->lists[NDT_CHUNK_LISTS].cell[k] = G_MAXINT32;
  }
}

/* The list of a cell, found or made; NDT_CHUNK_LISTS where the cache is full, with cells without
 * points. */
static guint
find_list (const NdtKernelArgs *args, const gint32 cell[3], NdtChunkCache *cache)
{
  const guint32 hash = (guint32)cell[0] * 0x9e3779b1u + (guint32)cell[1] * 0x85ebca77u +
                       (guint32)cell[2] * 0xc2b2ae3du;
  guint32 at = (hash ^ hash >> 15) >> 8;
  /* There are more slots than lists. */
  for (;; at++) {
    const guint found = cache->slots[at &= NDT_CHUNK_SLOTS - 1];
    if (found >= cache->n_lists)
      break;
    if (memcmp (cache->lists[found].cell, cell, 3 * sizeof (gint32)) == 0)
      return found;
  }
  if (cache->n_lists == NDT_CHUNK_LISTS || cache->n_groups + NDT_LIST_GROUPS > NDT_CHUNK_GROUPS)
    return NDT_CHUNK_LISTS;
  NdtCellList *list = &cache->lists[cache->n_lists];
  memcpy (list->cell, cell, sizeof (list->cell));
  gather_candidates (args, cache, list);
  cache->slots[at] = (guint16)cache->n_lists;
  return cache->n_lists++;
}

/* The points of a chunk in the map: lever arms, cells relative to the level's origin, positions
 * within these. A point without a cell gets one that is far from all voxels. Fills whole vectors.
 */
static void
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

/* Finds the lists of points that are in other cells than before. FALSE: the cache is full.
 * Neighbours are compared first: at the first evaluation every other one is in the cell of the one
 * before. */
static gboolean
find_lists (const NdtKernelArgs *args, gint32 cell[3][NDT_CHUNK], guint n, NdtChunkCache *cache)
{
  guint last = NDT_CHUNK_LISTS;
  for (guint i = 0; i < n; i += VEC_LANES) {
    VecI differs = {0};
    for (guint k = 0; k < 3; k++) {
      VecI is, was;
      memcpy (&is, cell[k] + i, sizeof (is));
      memcpy (&was, cache->cells[k] + i, sizeof (was));
      memcpy (cache->cells[k] + i, &is, sizeof (is));
      differs |= is ^ was;
    }
    guint32 bits = lane_bits (differs != 0);
    if (n - i < VEC_LANES)
      bits &= (1u << (n - i)) - 1;
    for (; bits; bits &= bits - 1) {
      const guint at = i + (guint)__builtin_ctz (bits);
      const gint32 c[3] = {cell[0][at], cell[1][at], cell[2][at]};
      const gint32 *l = cache->lists[last].cell;
      if (((c[0] ^ l[0]) | (c[1] ^ l[1]) | (c[2] ^ l[2])) != 0) {
        last = find_list (args, c, cache);
        if (last == NDT_CHUNK_LISTS)
          return FALSE;
      }
      cache->list_of[at] = (guint16)last;
    }
  }
  return TRUE;
}

/* Lists the pairs of a chunk. */
static guint
gather_pairs (const NdtKernelArgs *args, const float *x, const float *y, const float *z, guint n,
    NdtChunkCache *cache, Pairs *pairs)
{
  float a[3][NDT_CHUNK], local[3][NDT_CHUNK];
  gint32 cell[3][NDT_CHUNK];
  place_points (&args->transform, args, x, y, z, n, a, local, cell);

  /* An empty cache has room for the lists of all points. */
  if (cache->tag != args->tag || !find_lists (args, cell, n, cache)) {
    cache_reset (cache, args->tag);
    find_lists (args, cell, n, cache);
  }
  const float limit =
      args->neighbours == NDT_NEIGHBOURS_RADIUS ? args->resolution * args->resolution : INFINITY;
  const guint ring = args->neighbours == NDT_NEIGHBOURS_DIRECT1   ? 0
                     : args->neighbours == NDT_NEIGHBOURS_DIRECT7 ? 1
                                                                  : 2;
  guint n_pairs = 0, slot = 0;
  for (guint i = 0; i < n; i++) {
    const NdtCellList *list = &cache->lists[cache->list_of[i]];
    const float u[3] = {local[0][i], local[1][i], local[2][i]};
    const guint n_before = n_pairs;
    const NdtCandidates *group = &cache->groups[list->first];
    for (guint32 wanted = list->wanted[ring]; wanted; wanted >>= NDT_LANES, group++)
      n_pairs = append_pairs (pairs, n_pairs, group, wanted, u, slot, limit);
    pairs->n_of[i] = (guint8)(n_pairs - n_before);
    slot += n_pairs > n_before;
  }
  pack_arms ((const float (*)[NDT_CHUNK])a, n, pairs);
  return n_pairs;
}

/* Vectors that are worked on side by side: what a loop leaves to the next stays in the first-level
 * cache, and the processor has several of them in flight, as a loop's body is short. Of four lanes
 * what is left would be written and read as often as it is used: one, which stays in registers. */
#define BLOCK_VECTORS (VEC_LANES > 4 ? 8 : 1)

/* VEC_LANES pairs: inverse covariances, these by the distances, terms (of the score before the
 * second loop: squares of Mahalanobis distances). */
typedef struct {
  Vec c[6];
  Vec q[3];
  Vec term;
} PairVectors;

/* ndt_pair_score_f() or ndt_pair_least_squares_f() and ndt_point_derivatives_f(), written again for
 * vectors: the derivatives of a pair are added to sums of VEC_LANES lanes. A point has few pairs,
 * so that applying its Jacobian to each takes less time than adding up the pairs of a point first.
 * Terms that are not finite cannot occur: pairs have a finite distance (append_pairs()) and
 * exp_negative() is finite. /backend/evaluate compares the sums with those of ndt-terms.h in
 * double. */
static void
sum_pairs (const NdtKernelArgs *args, Pairs *pairs, guint n_pairs, gboolean is_score, NdtSums *sums)
{
  /* The compiler fuses products with additions of the same block of code only: a copy for each
   * kind, without the branches below, would give other bits. */
  __asm__("" : "+r"(is_score));
  VecI lane;
  const Vec d2 = splat (args->d2), minus_d1 = splat (-args->d1);
  const Vec k2 = splat (args->resolution * args->resolution);
  const Vec half = splat (0.5f);
  Vec score = {0}, g[6] = {{0}}, h[21] = {{0}};

  for (guint l = 0; l < VEC_LANES; l++)
    lane[l] = (gint32)l;
  /* Fills the last vector with pairs at a voxel's mean with the weight 0. */
  for (guint l = 0; l < VEC_LANES; l++) {
    pairs->x[n_pairs + l] = pairs->y[n_pairs + l] = pairs->z[n_pairs + l] = 0;
    pairs->slot[n_pairs + l] = pairs->slot[n_pairs - 1];
    pairs->voxel[n_pairs + l] = pairs->voxel[0];
  }

  for (guint first = 0; first < n_pairs; first += BLOCK_VECTORS * VEC_LANES) {
    PairVectors block[BLOCK_VECTORS];
    const guint n_vectors = MIN ((n_pairs - first + VEC_LANES - 1) / VEC_LANES, BLOCK_VECTORS);
    for (guint j = 0; j < n_vectors; j++) {
      const guint i = first + j * VEC_LANES;
      const VecI counts = lane < (gint32)(n_pairs - i) - (VecI){0};
      Vec c[6], term;
      load_icov (args->level->voxels, pairs->voxel + i, c);
      const Vec x = load (pairs->x + i), y = load (pairs->y + i), z = load (pairs->z + i);
      const Vec q0 = c[0] * x + c[1] * y + c[2] * z;
      const Vec q1 = c[1] * x + c[3] * y + c[4] * z;
      const Vec q2 = c[2] * x + c[4] * y + c[5] * z;
      if (is_score) {
        term = x * q0 + y * q1 + z * q2;
      } else {
        term = (Vec)((VecI)(k2 / (k2 + x * x + y * y + z * z)) & counts);
      }
      block[j] =
          (PairVectors){.c = {c[0], c[1], c[2], c[3], c[4], c[5]}, .q = {q0, q1, q2}, .term = term};
    }
    for (guint j = 0; is_score && j < n_vectors; j++) {
      const guint i = first + j * VEC_LANES;
      const VecI counts = lane < (gint32)(n_pairs - i) - (VecI){0};
      const Vec term =
          (Vec)((VecI)(minus_d1 * exp_negative (splat (-0.5f) * d2 * block[j].term)) & counts);
      memcpy (pairs->term + i, &term, sizeof (term));
      block[j].term = term;
    }
    for (guint j = 0; j < n_vectors; j++) {
      const guint i = first + j * VEC_LANES;
      const PairVectors *p = &block[j];
      Vec a[3];
      load_arms (pairs, i, a);
      const Vec a0 = a[0], a1 = a[1], a2 = a[2];
      const Vec c0 = p->c[0], c1 = p->c[1], c2 = p->c[2], c3 = p->c[3], c4 = p->c[4], c5 = p->c[5];
      const Vec q0 = p->q[0], q1 = p->q[1], q2 = p->q[2];
      Vec w = p->term, A0, A1, A2, A3, A4, A5;
      score += w;
      if (is_score) {
        w = d2 * w;
        const Vec o0 = d2 * q0, o1 = d2 * q1, o2 = d2 * q2;
        A0 = w * (o0 * q0 - c0), A1 = w * (o0 * q1 - c1), A2 = w * (o0 * q2 - c2);
        A3 = w * (o1 * q1 - c3), A4 = w * (o1 * q2 - c4), A5 = w * (o2 * q2 - c5);
      } else {
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
