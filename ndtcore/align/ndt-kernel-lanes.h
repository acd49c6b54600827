/* SPDX-License-Identifier: MIT */
/* Operations of the inner loop that GCC's vector extension does not have, for each instruction set:
 * compaction, transposition and sums across lanes. Private to ndt-kernel.c and its tests. */
#pragma once

#include <math.h>
#include <string.h>

#include "ndt-kernel.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

/* Lanes of a register: the compiler splits larger vectors through memory. */
#if defined(__AVX512F__)
#define VEC_LANES 16
#elif defined(__AVX2__)
#define VEC_LANES 8
#else
#define VEC_LANES 4
#endif

typedef float Vec __attribute__ ((vector_size (4 * VEC_LANES)));
typedef gint32 VecI __attribute__ ((vector_size (4 * VEC_LANES)));

/* Pairs of a chunk, those of a point side by side. @arm: of points that have pairs, without gaps,
 * so that the points of neighbouring lanes are neighbours; @slot: of each pair its point's there.
 */
typedef struct {
  float x[NDT_CHUNK_PAIRS + NDT_LANES]; /* q */
  float y[NDT_CHUNK_PAIRS + NDT_LANES];
  float z[NDT_CHUNK_PAIRS + NDT_LANES];
  guint32 voxel[NDT_CHUNK_PAIRS + NDT_LANES];
  float term[NDT_CHUNK_PAIRS + NDT_LANES];
  guint8 slot[NDT_CHUNK_PAIRS + NDT_LANES];
  guint8 n_of[NDT_CHUNK];              /* pairs of each point */
  float arm[3][NDT_CHUNK + NDT_LANES]; /* lever arms */
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

/* a · b + c, rounded once. */
static inline Vec
fused (Vec a, Vec b, Vec c)
{
#if defined(__AVX512F__)
  return (Vec)_mm512_fmadd_ps ((__m512)a, (__m512)b, (__m512)c);
#elif defined(__AVX2__)
  return (Vec)_mm256_fmadd_ps ((__m256)a, (__m256)b, (__m256)c);
#else
  Vec out = c;
  for (guint l = 0; l < VEC_LANES; l++)
    out[l] = fmaf (a[l], b[l], c[l]);
  return out;
#endif
}

static inline Vec
rounded_down (Vec v)
{
#if defined(__AVX512F__)
  return (Vec)_mm512_floor_ps ((__m512)v);
#elif defined(__AVX2__)
  return (Vec)_mm256_floor_ps ((__m256)v);
#else
  for (guint l = 0; l < VEC_LANES; l++)
    v[l] = floorf (v[l]);
  return v;
#endif
}

/* To the nearest integer, halves to even. */
static inline Vec
rounded (Vec v)
{
#if defined(__AVX512F__)
  return (Vec)_mm512_roundscale_ps ((__m512)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#elif defined(__AVX2__)
  return (Vec)_mm256_round_ps ((__m256)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
  for (guint l = 0; l < VEC_LANES; l++)
    v[l] = rintf (v[l]);
  return v;
#endif
}

/* exp (x) for x <= 0: 2^n · p (f), n = round (x log2 e), f = x − n ln 2 within ±0.347 = ±ln 2 / 2,
 * p the Taylor polynomial of e^f of degree 6. The truncation error, f^7/7!, is below 1.3e-7, and
 * with rounding the relative error is below 3e-7 (/formulas/exp). Below −87, and for NaN, the
 * result is exp (−87). */
static inline Vec
exp_negative (Vec x)
{
  const Vec magic = splat (12582912.0f); /* 1.5 · 2^23: adding it rounds to an integer */
  const VecI in_range = x > splat (-87.0f);
  x = (Vec)(((VecI)x & in_range) | ((VecI)splat (-87.0f) & ~in_range));
  const Vec y = x * splat (1.44269504089f);
  const Vec shifted = y + magic;
  const Vec n = shifted - magic;
  /* ln 2 in two parts (Cody and Waite), so that large x keep their digits. */
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

#if defined(__AVX2__) && !defined(__AVX512F__)
/* The numbers of an index's set bits, ascending, a byte each. */
#define PACK(k, bit, rest)                                                                         \
  ((rest) * ((k) >> (bit)&1 ? 256 : 1) + ((k) >> (bit)&1 ? UINT64_C (bit) : 0))
#define PACK1(k)                                                                                   \
  PACK (k, 0,                                                                                      \
      PACK (                                                                                       \
          k, 1, PACK (k, 2, PACK (k, 3, PACK (k, 4, PACK (k, 5, PACK (k, 6, PACK (k, 7, 0))))))))
#define PACK4(k) PACK1 (k), PACK1 (k + 1), PACK1 (k + 2), PACK1 (k + 3)
#define PACK16(k) PACK4 (k), PACK4 (k + 4), PACK4 (k + 8), PACK4 (k + 12)
#define PACK64(k) PACK16 (k), PACK16 (k + 16), PACK16 (k + 32), PACK16 (k + 48)
static const guint64 packed_lanes[256] = {PACK64 (0), PACK64 (64), PACK64 (128), PACK64 (192)};
#endif

/* Appends the pairs of a point at @local with those of the candidates from @at on whose bit is set
 * in @wanted and that have ndt_square_f() < limit. Writes up to NDT_LANES past n_pairs; returns
 * the new number. */
static inline guint
append_pairs (Pairs *pairs, guint n_pairs, const NdtCandidates *group, guint32 wanted,
    const float local[3], guint slot, float limit)
{
#if defined(__AVX512F__)
  /* Two pointers and constant distances: with a pointer to each array there would be more than
   * registers. */
  enum { stride = NDT_CHUNK_PAIRS + NDT_LANES };
  G_STATIC_ASSERT (G_STRUCT_OFFSET (Pairs, voxel) == 3 * stride * sizeof (float));
  float *to = pairs->x + n_pairs;
  __asm__("" : "+r"(to));
  const __m512 x = _mm512_sub_ps (_mm512_set1_ps (local[0]), _mm512_load_ps (group->x));
  const __m512 y = _mm512_sub_ps (_mm512_set1_ps (local[1]), _mm512_load_ps (group->y));
  const __m512 z = _mm512_sub_ps (_mm512_set1_ps (local[2]), _mm512_load_ps (group->z));
  const __m512i voxel = _mm512_load_si512 (group->voxel);
  const __m512 square = _mm512_fmadd_ps (x, x, _mm512_fmadd_ps (y, y, _mm512_mul_ps (z, z)));
  const __mmask16 keep =
      _mm512_mask_cmp_ps_mask ((__mmask16)wanted, square, _mm512_set1_ps (limit), _CMP_LT_OQ);
  /* To a register first: compressing to memory is slow on some processors. One compression and
   * permutations by it: these are faster. Few points have more than half a register of pairs. */
  const __m512i packed = _mm512_maskz_compress_epi32 (
      keep, _mm512_setr_epi32 (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  const __m512 px = _mm512_permutexvar_ps (packed, x), py = _mm512_permutexvar_ps (packed, y),
               pz = _mm512_permutexvar_ps (packed, z);
  const __m512i pv = _mm512_permutexvar_epi32 (packed, voxel);
  _mm256_storeu_ps (to, _mm512_castps512_ps256 (px));
  _mm256_storeu_ps (to + stride, _mm512_castps512_ps256 (py));
  _mm256_storeu_ps (to + 2 * stride, _mm512_castps512_ps256 (pz));
  _mm256_storeu_si256 ((__m256i *)(to + 3 * stride), _mm512_castsi512_si256 (pv));
  if (__builtin_expect (__builtin_popcount (keep) > 8, 0)) {
    _mm256_storeu_ps (to + 8, _mm512_extractf32x8_ps (px, 1));
    _mm256_storeu_ps (to + stride + 8, _mm512_extractf32x8_ps (py, 1));
    _mm256_storeu_ps (to + 2 * stride + 8, _mm512_extractf32x8_ps (pz, 1));
    _mm256_storeu_si256 ((__m256i *)(to + 3 * stride + 8), _mm512_extracti32x8_epi32 (pv, 1));
  }
  _mm_storeu_si128 ((__m128i *)(pairs->slot + n_pairs), _mm_set1_epi8 ((char)slot));
  return n_pairs + (guint)__builtin_popcount (keep);
#elif defined(__AVX2__)
  const __m256 u0 = _mm256_set1_ps (local[0]), u1 = _mm256_set1_ps (local[1]),
               u2 = _mm256_set1_ps (local[2]);
  const __m256 limits = _mm256_set1_ps (limit);
  for (guint l = 0; l < NDT_LANES && wanted >> l; l += 8) {
    const __m256 x = _mm256_sub_ps (u0, _mm256_load_ps (group->x + l));
    const __m256 y = _mm256_sub_ps (u1, _mm256_load_ps (group->y + l));
    const __m256 z = _mm256_sub_ps (u2, _mm256_load_ps (group->z + l));
    const __m256 voxel = _mm256_load_ps ((const float *)(group->voxel + l));
    const __m256 square = _mm256_fmadd_ps (x, x, _mm256_fmadd_ps (y, y, _mm256_mul_ps (z, z)));
    const guint32 keep =
        (guint32)_mm256_movemask_ps (_mm256_cmp_ps (square, limits, _CMP_LT_OQ)) & wanted >> l;
    const guint32 kept = keep & 0xff;
    const __m256i lanes =
        _mm256_cvtepu8_epi32 (_mm_loadl_epi64 ((const __m128i *)&packed_lanes[kept]));
    _mm256_storeu_ps (pairs->x + n_pairs, _mm256_permutevar8x32_ps (x, lanes));
    _mm256_storeu_ps (pairs->y + n_pairs, _mm256_permutevar8x32_ps (y, lanes));
    _mm256_storeu_ps (pairs->z + n_pairs, _mm256_permutevar8x32_ps (z, lanes));
    _mm256_storeu_ps ((float *)(pairs->voxel + n_pairs), _mm256_permutevar8x32_ps (voxel, lanes));
    _mm_storel_epi64 ((__m128i *)(pairs->slot + n_pairs), _mm_set1_epi8 ((char)slot));
    n_pairs += (guint)__builtin_popcount (kept);
  }
  return n_pairs;
#else
  for (guint l = 0; l < NDT_LANES && wanted >> l; l++) {
    if (!(wanted >> l & 1))
      continue;
    const float q[3] = {local[0] - group->x[l], local[1] - group->y[l], local[2] - group->z[l]};
    pairs->x[n_pairs] = q[0];
    pairs->y[n_pairs] = q[1];
    pairs->z[n_pairs] = q[2];
    pairs->slot[n_pairs] = (guint8)slot;
    pairs->voxel[n_pairs] = group->voxel[l];
    n_pairs += ndt_square_f (q) < limit;
  }
  return n_pairs;
#endif
}

#if defined(__AVX512F__)
/* Four floats each, from element @first on, of four voxels that are four apart in @v. */
static inline __m512
load_rows (const NdtVoxel *voxels, const guint32 *v, guint first)
{
  const __m256 low =
      _mm256_insertf128_ps (_mm256_castps128_ps256 (_mm_loadu_ps (voxels[v[0]].mean + first)),
          _mm_loadu_ps (voxels[v[4]].mean + first), 1);
  const __m256 high =
      _mm256_insertf128_ps (_mm256_castps128_ps256 (_mm_loadu_ps (voxels[v[8]].mean + first)),
          _mm_loadu_ps (voxels[v[12]].mean + first), 1);
  return _mm512_insertf32x8 (_mm512_castps256_ps512 (low), high, 1);
}
#elif defined(__AVX2__)
static inline __m256
load_rows (const NdtVoxel *voxels, const guint32 *v, guint first)
{
  return _mm256_insertf128_ps (_mm256_castps128_ps256 (_mm_loadu_ps (voxels[v[0]].mean + first)),
      _mm_loadu_ps (voxels[v[4]].mean + first), 1);
}
#endif

/* The inverse covariances of VEC_LANES voxels, one vector an element. The second four floats of a
 * voxel end within its cell index. */
static inline void
load_icov (const NdtVoxel *voxels, const guint32 *v, Vec c[6])
{
  G_STATIC_ASSERT (sizeof (NdtVoxel) >= G_STRUCT_OFFSET (NdtVoxel, icov) + 8 * sizeof (float));
#if defined(__AVX512F__)
  __m512 r0 = load_rows (voxels, v, 3), r1 = load_rows (voxels, v + 1, 3);
  __m512 r2 = load_rows (voxels, v + 2, 3), r3 = load_rows (voxels, v + 3, 3);
  __m512 l01 = _mm512_unpacklo_ps (r0, r1), l23 = _mm512_unpacklo_ps (r2, r3);
  const __m512 h01 = _mm512_unpackhi_ps (r0, r1), h23 = _mm512_unpackhi_ps (r2, r3);
  c[0] = (Vec)_mm512_shuffle_ps (l01, l23, 0x44);
  c[1] = (Vec)_mm512_shuffle_ps (l01, l23, 0xee);
  c[2] = (Vec)_mm512_shuffle_ps (h01, h23, 0x44);
  c[3] = (Vec)_mm512_shuffle_ps (h01, h23, 0xee);
  r0 = load_rows (voxels, v, 7), r1 = load_rows (voxels, v + 1, 7);
  r2 = load_rows (voxels, v + 2, 7), r3 = load_rows (voxels, v + 3, 7);
  l01 = _mm512_unpacklo_ps (r0, r1), l23 = _mm512_unpacklo_ps (r2, r3);
  c[4] = (Vec)_mm512_shuffle_ps (l01, l23, 0x44);
  c[5] = (Vec)_mm512_shuffle_ps (l01, l23, 0xee);
#elif defined(__AVX2__)
  __m256 r0 = load_rows (voxels, v, 3), r1 = load_rows (voxels, v + 1, 3);
  __m256 r2 = load_rows (voxels, v + 2, 3), r3 = load_rows (voxels, v + 3, 3);
  __m256 l01 = _mm256_unpacklo_ps (r0, r1), l23 = _mm256_unpacklo_ps (r2, r3);
  const __m256 h01 = _mm256_unpackhi_ps (r0, r1), h23 = _mm256_unpackhi_ps (r2, r3);
  c[0] = (Vec)_mm256_shuffle_ps (l01, l23, 0x44);
  c[1] = (Vec)_mm256_shuffle_ps (l01, l23, 0xee);
  c[2] = (Vec)_mm256_shuffle_ps (h01, h23, 0x44);
  c[3] = (Vec)_mm256_shuffle_ps (h01, h23, 0xee);
  r0 = load_rows (voxels, v, 7), r1 = load_rows (voxels, v + 1, 7);
  r2 = load_rows (voxels, v + 2, 7), r3 = load_rows (voxels, v + 3, 7);
  l01 = _mm256_unpacklo_ps (r0, r1), l23 = _mm256_unpacklo_ps (r2, r3);
  c[4] = (Vec)_mm256_shuffle_ps (l01, l23, 0x44);
  c[5] = (Vec)_mm256_shuffle_ps (l01, l23, 0xee);
#else
  float out[6][VEC_LANES];
  for (guint l = 0; l < VEC_LANES; l++)
    for (guint k = 0; k < 6; k++)
      out[k][l] = voxels[v[l]].icov[k];
  memcpy (c, out, sizeof (out));
#endif
}

/* Packs the lever arms of a chunk's n points that have pairs. Reads and writes whole vectors. */
static inline void
pack_arms (const float a[3][NDT_CHUNK], guint n, Pairs *pairs)
{
  guint to = 0;
#if defined(__AVX512F__)
  for (guint i = 0; i < n; i += 16) {
    const __mmask16 inside = (__mmask16)(n - i < 16 ? (1u << (n - i)) - 1 : 0xffff);
    const __m128i n_of = _mm_loadu_si128 ((const __m128i *)(pairs->n_of + i));
    const __mmask16 matched = _mm_mask_test_epi8_mask (inside, n_of, n_of);
    for (guint k = 0; k < 3; k++)
      _mm512_storeu_ps (
          pairs->arm[k] + to, _mm512_maskz_compress_ps (matched, _mm512_loadu_ps (a[k] + i)));
    to += (guint)__builtin_popcount (matched);
  }
#elif defined(__AVX2__)
  for (guint i = 0; i < n; i += 8) {
    const guint32 inside = n - i < 8 ? (1u << (n - i)) - 1 : 0xff;
    const __m128i n_of = _mm_loadl_epi64 ((const __m128i *)(pairs->n_of + i));
    const guint32 matched =
        ~(guint32)_mm_movemask_epi8 (_mm_cmpeq_epi8 (n_of, _mm_setzero_si128 ())) & inside;
    const __m256i lanes =
        _mm256_cvtepu8_epi32 (_mm_loadl_epi64 ((const __m128i *)&packed_lanes[matched]));
    for (guint k = 0; k < 3; k++)
      _mm256_storeu_ps (
          pairs->arm[k] + to, _mm256_permutevar8x32_ps (_mm256_loadu_ps (a[k] + i), lanes));
    to += (guint)__builtin_popcount (matched);
  }
#else
  for (guint i = 0; i < n; i++) {
    for (guint k = 0; k < 3; k++)
      pairs->arm[k][to] = a[k][i];
    to += pairs->n_of[i] > 0;
  }
#endif
}

/* The lever arms of VEC_LANES pairs from @i on. They are in as many slots from the first one's on.
 */
static inline void
load_arms (const Pairs *pairs, guint i, Vec a[3])
{
#if defined(__AVX512F__)
  const guint first = pairs->slot[i];
  const __m512i lanes =
      _mm512_sub_epi32 (_mm512_cvtepu8_epi32 (_mm_loadu_si128 ((const __m128i *)(pairs->slot + i))),
          _mm512_set1_epi32 ((gint32)first));
  for (guint k = 0; k < 3; k++)
    a[k] = (Vec)_mm512_permutexvar_ps (lanes, _mm512_loadu_ps (pairs->arm[k] + first));
#elif defined(__AVX2__)
  const guint first = pairs->slot[i];
  const __m256i lanes =
      _mm256_sub_epi32 (_mm256_cvtepu8_epi32 (_mm_loadl_epi64 ((const __m128i *)(pairs->slot + i))),
          _mm256_set1_epi32 ((gint32)first));
  for (guint k = 0; k < 3; k++)
    a[k] = (Vec)_mm256_permutevar8x32_ps (_mm256_loadu_ps (pairs->arm[k] + first), lanes);
#else
  float out[3][VEC_LANES];
  for (guint l = 0; l < VEC_LANES; l++)
    for (guint k = 0; k < 3; k++)
      out[k][l] = pairs->arm[k][pairs->slot[i + l]];
  memcpy (a, out, sizeof (out));
#endif
}

/* The means of VEC_LANES voxels, one vector an axis. */
static inline void
load_means (const NdtVoxel *voxels, const guint32 *v, Vec mean[3])
{
#if defined(__AVX512F__)
  const __m512 r0 = load_rows (voxels, v, 0), r1 = load_rows (voxels, v + 1, 0);
  const __m512 r2 = load_rows (voxels, v + 2, 0), r3 = load_rows (voxels, v + 3, 0);
  const __m512 l01 = _mm512_unpacklo_ps (r0, r1), l23 = _mm512_unpacklo_ps (r2, r3);
  mean[0] = (Vec)_mm512_shuffle_ps (l01, l23, 0x44);
  mean[1] = (Vec)_mm512_shuffle_ps (l01, l23, 0xee);
  mean[2] = (Vec)_mm512_shuffle_ps (_mm512_unpackhi_ps (r0, r1), _mm512_unpackhi_ps (r2, r3), 0x44);
#elif defined(__AVX2__)
  const __m256 r0 = load_rows (voxels, v, 0), r1 = load_rows (voxels, v + 1, 0);
  const __m256 r2 = load_rows (voxels, v + 2, 0), r3 = load_rows (voxels, v + 3, 0);
  const __m256 l01 = _mm256_unpacklo_ps (r0, r1), l23 = _mm256_unpacklo_ps (r2, r3);
  mean[0] = (Vec)_mm256_shuffle_ps (l01, l23, 0x44);
  mean[1] = (Vec)_mm256_shuffle_ps (l01, l23, 0xee);
  mean[2] = (Vec)_mm256_shuffle_ps (_mm256_unpackhi_ps (r0, r1), _mm256_unpackhi_ps (r2, r3), 0x44);
#else
  float out[3][VEC_LANES];
  for (guint l = 0; l < VEC_LANES; l++)
    for (guint k = 0; k < 3; k++)
      out[k][l] = voxels[v[l]].mean[k];
  memcpy (mean, out, sizeof (out));
#endif
}

/* A bit for each lane that is −1 (the others are 0). */
static inline guint32
lane_bits (VecI v)
{
#if defined(__AVX512F__)
  return _mm512_movepi32_mask ((__m512i)v);
#elif defined(__AVX2__)
  return (guint32)_mm256_movemask_ps ((__m256)v);
#else
  guint32 bits = 0;
  for (guint l = 0; l < VEC_LANES; l++)
    bits |= (guint32)(v[l] & 1) << l;
  return bits;
#endif
}

/* Position of a voxel's cell relative to the list's cell along each axis: 0 one less, 1 the same, 2
 * one more. */
#define CELL_CODE(x, y, z) ((guint32)(x) + ((guint32)(y) << 8) + ((guint32)(z) << 16))

/* Writes n candidates in whole vectors, which @numbers and @codes have as well, and bit masks of
 * those that are the cell's own voxel, and of those that are it or share a face with it. */
static inline void
place_candidates (const NdtVoxel *voxels, const guint32 *numbers, const guint32 *codes, guint n,
    float resolution, NdtCandidates *groups, guint32 *own, guint32 *faces)
{
  *own = *faces = 0;
  for (guint j = 0; j < n; j += VEC_LANES) {
    NdtCandidates *group = &groups[j / NDT_LANES];
    const guint at = j % NDT_LANES;
    VecI code, distance = {0};
    Vec mean[3];
    float *to[3] = {group->x + at, group->y + at, group->z + at};
    memcpy (&code, codes + j, sizeof (code));
    memcpy (group->voxel + at, numbers + j, sizeof (code));
    load_means (voxels, numbers + j, mean);
    for (guint k = 0; k < 3; k++) {
      /* ndt_neighbour_mean_f() */
      const VecI offset = (code >> (gint32)(8 * k) & 0xff) - 1;
      const Vec placed = fused (__builtin_convertvector(offset, Vec), splat (resolution), mean[k]);
      memcpy (to[k], &placed, sizeof (placed));
      distance += offset * offset;
    }
    *own |= lane_bits (distance == 0) << j;
    *faces |= lane_bits (distance <= 1) << j;
  }
  *own &= (1u << n) - 1;
  *faces &= (1u << n) - 1;
}

/* Sum of the lanes in double: halves are added, then halves of these, and so on. */
static inline double
sum_lanes (Vec v)
{
#if defined(__AVX512F__)
  const __m512d d = _mm512_add_pd (_mm512_cvtps_pd (_mm512_castps512_ps256 ((__m512)v)),
      _mm512_cvtps_pd (_mm512_extractf32x8_ps ((__m512)v, 1)));
  const __m256d e = _mm256_add_pd (_mm512_castpd512_pd256 (d), _mm512_extractf64x4_pd (d, 1));
#elif defined(__AVX2__)
  const __m256d e = _mm256_add_pd (_mm256_cvtps_pd (_mm256_castps256_ps128 ((__m256)v)),
      _mm256_cvtps_pd (_mm256_extractf128_ps ((__m256)v, 1)));
#endif
#if defined(__AVX2__)
  const __m128d h = _mm_add_pd (_mm256_castpd256_pd128 (e), _mm256_extractf128_pd (e, 1));
  return _mm_cvtsd_f64 (_mm_add_sd (h, _mm_unpackhi_pd (h, h)));
#else
  return ((double)v[0] + (double)v[2]) + ((double)v[1] + (double)v[3]);
#endif
}

/* The largest of n terms, none of them negative, 0 of none; reads NDT_LANES at a time. */
static inline float
largest_term (const float *term, guint n)
{
  float best = 0;
#if defined(__AVX512F__)
  __m512 v = _mm512_maskz_loadu_ps ((__mmask16)(n < 16 ? (1u << n) - 1 : 0xffff), term);
  for (guint i = 16; i < n; i += 16)
    v = _mm512_max_ps (v,
        _mm512_maskz_loadu_ps ((__mmask16)(n - i < 16 ? (1u << (n - i)) - 1 : 0xffff), term + i));
  best = _mm512_reduce_max_ps (v);
#else
  for (guint i = 0; i < n; i++)
    best = term[i] > best ? term[i] : best;
#endif
  return best;
}
