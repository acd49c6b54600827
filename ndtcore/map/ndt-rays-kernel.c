/* SPDX-License-Identifier: MIT */
/* Compiled once for each instruction set (meson.build), with NDT_RAYS_KERNEL_NAME the function's
 * name. Contraction is off: all sets compute the same bits. */
#include "ndt-rays-kernel.h"

#include <math.h>
#include <string.h>

/* Steps along a ray, in cells. */
#define STEP 0.5
/* A surface is so thin along a ray that passes through it, a standard deviation in cells. */
#define THIN 0.12
/* Most that the unit vector of a flat ray leads up or down. Most rays are flat, and all long ones;
 * they pass no ground. */
#define FLAT 0.12

/* Samples of which the cells are computed at once: a vector of doubles. */
#if defined(__AVX512F__)
#define LANES 8
#elif defined(__AVX2__)
#define LANES 4
#else
#define LANES 2
#endif
/* Samples whose places along the rays are kept. */
#define N_PLACES 256

typedef double Doubles __attribute__ ((vector_size (8 * LANES)));
typedef guint64 Words __attribute__ ((vector_size (8 * LANES)));

/* dᵀ C⁻¹ e. */
static double
product (const NdtVoxel *voxel, const double d[3], const double e[3])
{
  const float *c = voxel->icov;
  return d[0] * ((double)c[0] * e[0] + (double)c[1] * e[1] + (double)c[2] * e[2]) +
         d[1] * ((double)c[1] * e[0] + (double)c[3] * e[1] + (double)c[4] * e[2]) +
         d[2] * ((double)c[2] * e[0] + (double)c[4] * e[1] + (double)c[5] * e[2]);
}

/* Does a ray pass through the voxel? */
static gboolean
pierces (const NdtRays *rays, guint ray, const NdtVoxel *voxel)
{
  const double *u = rays->along[ray];
  const double thin = THIN * rays->level->resolution;
  double mean[3], d[3];
  const double across = ndt_rays_square (voxel, u);
  /* Foliage lets rays through, and so does ground that they pass at a flat angle. */
  if (across * thin * thin < 1)
    return FALSE;
  ndt_rays_get_mean (rays->level, voxel, mean);
  for (guint k = 0; k < 3; k++)
    d[k] = mean[k] - rays->origin[k];
  const double nearest = product (voxel, u, d) / across;
  for (guint k = 0; k < 3; k++)
    d[k] -= nearest * u[k];
  return nearest > NDT_RAYS_FROM && nearest < rays->to[ray] &&
         ndt_rays_square (voxel, d) < NDT_RAYS_THROUGH;
}

/* Can a flat ray pass through the voxel? No: the largest uᵀ C⁻¹ u of flat unit vectors u is not
 * more than this sum of the largest ones of its parts, and less than pierces() asks for. */
static gboolean
is_steep (const NdtVoxelLevel *level, const NdtVoxel *voxel)
{
  const double thin = THIN * level->resolution;
  const double xx = (double)voxel->icov[0], xy = (double)voxel->icov[1],
               yy = (double)voxel->icov[3];
  const double xz = (double)voxel->icov[2], yz = (double)voxel->icov[4],
               zz = (double)voxel->icov[5];
  const double half = (xx - yy) / 2;
  const double most = (xx + yy) / 2 + sqrt (half * half + xy * xy) +
                      2 * FLAT * sqrt (xz * xz + yz * yz) + FLAT * FLAT * zz;
  return !(most * thin * thin < 0.999); /* rounded */
}

static guint64
find_steep (const NdtVoxelLevel *level, const NdtBlock *block)
{
  const NdtVoxel *voxel = &level->voxels[block->first];
  guint64 steep = 0;
  for (guint64 cells = block->mask; cells; cells &= cells - 1, voxel++)
    if (is_steep (level, voxel))
      steep |= cells & -cells;
  return steep;
}

static void
look_at_met (NdtRays *rays)
{
  const NdtVoxel *voxels = rays->level->voxels;
  for (guint i = 0; i < rays->n_met; i++) {
    rays->met[i].first += (guint32)__builtin_popcountll (rays->met[i].before);
    __builtin_prefetch (&voxels[rays->met[i].first]);
  }
  for (guint i = 0; i < rays->n_met; i++)
    if (pierces (rays, rays->met[i].ray, &voxels[rays->met[i].first]))
      rays->is_pierced[rays->met[i].ray] = TRUE;
  rays->n_met = 0;
}

/* Cells of samples along an axis, as ndt_block_key() has blocks: not negative. A division by a
 * power of two is the multiplication by @scale, its reciprocal, to the bit; for others that is 0.
 */
static inline Words
get_cells (const NdtRays *rays, guint ray, guint axis, Doubles places)
{
  /* Doubles from 2^52 to 2^53 are integers, their digits in the low bits. */
  const double to_integer = 0x1.8p52 + 4 * NDT_KEY_LIMIT;
  const Doubles p = rays->origin[axis] + places * rays->along[ray][axis];
  const Doubles c = rays->scale > 0 ? p * rays->scale : p / rays->level->resolution;
  const Doubles near = c + to_integer;
  /* Down, where it was rounded up. */
  return ((Words)near + (Words)(near - to_integer > c)) & (8 * NDT_KEY_LIMIT - 1);
}

/* Those of a block's cells whose voxel a flat ray can pass through. They are kept with the map from
 * the first ray on: the bits of cells without a voxel are set, so that the word is not 0 (where all
 * cells have one that no flat ray can pass through it is, and is computed each time). */
static guint64
get_steep (const NdtRays *rays, const NdtBlock *block)
{
  const NdtVoxelLevel *level = rays->level;
  guint64 *known = &rays->steep[block - level->blocks];
  guint64 steep = __atomic_load_n (known, __ATOMIC_RELAXED);
  if (steep == 0) {
    steep = find_steep (level, block) | ~block->mask;
    __atomic_store_n (known, steep, __ATOMIC_RELAXED);
  }
  return steep & block->mask;
}

/* Those of a block's cells whose voxel the ray can pass through. */
static guint64
get_wanted (const NdtRays *rays, guint ray, const NdtBlock *block)
{
  if (!block)
    return 0;
  return fabs (rays->along[ray][2]) <= FLAT ? get_steep (rays, block) : block->mask;
}

/* Where a key differs from the one before, and @n after the last. @keys has one before the first.
 * Returns how many there are. */
static guint
get_runs (guint64 *keys, guint n, guint32 *starts)
{
  guint n_runs = 0;
  keys[0] = NDT_BLOCK_EMPTY;
  for (guint i = 0; i < n; i++) {
    starts[n_runs] = i;
    n_runs += keys[i + 1] != keys[i];
  }
  starts[n_runs] = n;
  return n_runs;
}

/* The cells of a block between two of its cells: what goes straight from one to the other is in no
 * others. */
static guint64
get_between (guint from, guint to)
{
/* By the first index on an axis and four times the last: the bits of those between, and what is at
 * these along x, y and z. */
#define BETWEEN(at)                                                                                \
  {                                                                                                \
    at (1), at (3), at (7), at (15), at (3), at (2), at (6), at (14), at (7), at (6), at (4),      \
        at (12), at (15), at (14), at (12), at (8)                                                 \
  }
#define EACH(bits, plane)                                                                          \
  ((bits & 1 ? plane (0) : 0) | (bits & 2 ? plane (1) : 0) | (bits & 4 ? plane (2) : 0) |          \
      (bits & 8 ? plane (3) : 0))
#define X_PLANE(i) (G_GUINT64_CONSTANT (0x1111111111111111) << (i))
#define Y_PLANE(i) (G_GUINT64_CONSTANT (0x000f000f000f000f) << 4 * (i))
#define Z_PLANE(i) (G_GUINT64_CONSTANT (0xffff) << 16 * (i))
#define X_PLANES(bits) EACH (bits, X_PLANE)
#define Y_PLANES(bits) EACH (bits, Y_PLANE)
#define Z_PLANES(bits) EACH (bits, Z_PLANE)
  static const guint64 x[] = BETWEEN (X_PLANES), y[] = BETWEEN (Y_PLANES), z[] = BETWEEN (Z_PLANES);
  return x[(from & 3) | (to & 3) << 2] & y[(from >> 2 & 3) | (to & 12)] &
         z[from >> 4 | (to >> 4) << 2];
}

/* Collects the voxels in the cells of a ray's samples, those of @places that are within it. Along a
 * ray the index of a cell only grows or only falls on each axis, also rounded. So samples of the
 * same block follow each other, and only cells between their first and their last are met. */
static void
follow (NdtRays *rays, guint ray, const double *places, double step)
{
  const NdtVoxelLevel *level = rays->level;
  guint64 keys[1 + N_PLACES + LANES], bits[N_PLACES + LANES];
  guint32 starts[N_PLACES + 1];
  /* At least as many as there are, whatever the sums of steps are rounded to. */
  guint n = (guint)MIN ((rays->to[ray] - places[0]) / step + 2, N_PLACES);

  while (n > 0 && !(places[n - 1] < rays->to[ray]))
    n--;
  for (guint i = 0; i < n; i += LANES) {
    Doubles t;
    memcpy (&t, places + i, sizeof t);
    const Words x = get_cells (rays, ray, 0, t);
    const Words y = get_cells (rays, ray, 1, t);
    const Words z = get_cells (rays, ray, 2, t);
    const Words key = x >> 2 | (y >> 2) << 21 | (z >> 2) << 42;
    const Words bit = (x & 3) | (y & 3) << 2 | (z & 3) << 4;
    memcpy (keys + 1 + i, &key, sizeof key);
    memcpy (bits + i, &bit, sizeof bit);
  }
  if (rays->n_met + n > NDT_RAYS_MET)
    look_at_met (rays);
  guint n_met = rays->n_met;
  const guint n_runs = get_runs (keys, n, starts);
  for (guint r = 0; r < n_runs; r++) {
    const NdtBlock *block = ndt_rays_find_block (level, keys[1 + starts[r]]);
    const guint64 wanted = get_wanted (rays, ray, block);
    guint64 last = 64;
    if (!(wanted & get_between ((guint)bits[starts[r]], (guint)bits[starts[r + 1] - 1])))
      continue;
    for (guint i = starts[r]; i < starts[r + 1]; i++) {
      const guint64 bit = bits[i];
      rays->met[n_met].before = block->mask & (((guint64)1 << bit) - 1);
      rays->met[n_met].first = block->first;
      rays->met[n_met].ray = ray;
      n_met += (guint)(wanted >> bit & 1) & (guint)(bit != last);
      last = bit;
    }
  }
  rays->n_met = n_met;
}

/* Which rays pass through a voxel well before their end. */
void
NDT_RAYS_KERNEL_NAME (NdtRays *rays)
{
  const double r = rays->level->resolution, step = STEP * r;
  double t = NDT_RAYS_FROM, longest = 0;
  for (guint i = 0; i < rays->n; i++)
    longest = MAX (longest, rays->to[i]);
  while (t < longest) {
    double places[N_PLACES];
    /* One step after the other, for all rays: what a sum is rounded to decides between cells. */
    for (guint i = 0; i < N_PLACES; i++, t += step)
      places[i] = t;
    for (guint i = 0; i < rays->n; i++)
      if (places[0] < rays->to[i] && !rays->is_pierced[i])
        follow (rays, i, places, step);
    look_at_met (rays);
  }
}
