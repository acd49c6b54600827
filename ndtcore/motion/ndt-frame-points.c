/* SPDX-License-Identifier: MIT */
#include "ndt-frame-points.h"

#include <string.h>
#if defined(__x86_64__) && defined(__GNUC__)
#define HAVE_X86 1
#include <immintrin.h>
#endif

/* Three floats in a vector of four; the last one is not used. */
typedef float Column __attribute__ ((vector_size (16)));

static inline Column
load (const float *at)
{
  Column c;
  memcpy (&c, at, sizeof (c));
  return c;
}

static void
transform (const float *matrices, const float *in, const guint32 *frames, gsize n, float *out)
{
  for (gsize i = 0; i < n; i++) {
    const float *m = matrices + NDT_FRAME_MATRIX * (gsize)frames[i];
    const Column p = load (m) * in[3 * i] +
                     (load (m + 3) * in[3 * i + 1] + (load (m + 6) * in[3 * i + 2] + load (m + 9)));
    memcpy (out + 3 * i, &p, 3 * sizeof (float));
  }
}

#if HAVE_X86
#define FMA __attribute__ ((target ("avx2,fma")))
#define FMA_INLINE FMA static inline __attribute__ ((always_inline))

/* Four floats at @at and four at @at + @apart. */
FMA_INLINE __m256
load_halves (const float *at, gsize apart)
{
  return _mm256_insertf128_ps (
      _mm256_castps128_ps256 (_mm_loadu_ps (at)), _mm_loadu_ps (at + apart), 1);
}

FMA_INLINE void
store_halves (float *at, gsize apart, __m256 value)
{
  _mm_storeu_ps (at, _mm256_castps256_ps128 (value));
  _mm_storeu_ps (at + apart, _mm256_extractf128_ps (value, 1));
}

FMA_INLINE __m256
row (const __m256 *m, __m256 x, __m256 y, __m256 z)
{
  return _mm256_fmadd_ps (m[0], x, _mm256_fmadd_ps (m[3], y, _mm256_fmadd_ps (m[6], z, m[9])));
}

/* @n times eight points of one frame. Each half of a vector has four points: their twelve floats
 * are sorted into x, y and z within it, and back. */
FMA_INLINE void
transform_eights (const float *matrix, const float *in, gsize n, float *out)
{
  __m256 m[NDT_FRAME_MATRIX];
  for (guint k = 0; k < NDT_FRAME_MATRIX; k++)
    m[k] = _mm256_broadcast_ss (matrix + k);
  for (gsize i = 0; i < n; i++, in += 24, out += 24) {
    const __m256 a = load_halves (in, 12);                                /* x0 y0 z0 x1 */
    const __m256 b = load_halves (in + 4, 12);                            /* y1 z1 x2 y2 */
    const __m256 c = load_halves (in + 8, 12);                            /* z2 x3 y3 z3 */
    const __m256 yz = _mm256_shuffle_ps (a, b, _MM_SHUFFLE (1, 0, 2, 1)); /* y0 z0 y1 z1 */
    const __m256 xy = _mm256_shuffle_ps (b, c, _MM_SHUFFLE (2, 1, 3, 2)); /* x2 y2 x3 y3 */
    const __m256 x = _mm256_shuffle_ps (a, xy, _MM_SHUFFLE (2, 0, 3, 0));
    const __m256 y = _mm256_shuffle_ps (yz, xy, _MM_SHUFFLE (3, 1, 2, 0));
    const __m256 z = _mm256_shuffle_ps (yz, c, _MM_SHUFFLE (3, 0, 3, 1));

    const __m256 p = row (m, x, y, z), q = row (m + 1, x, y, z), r = row (m + 2, x, y, z);
    const __m256 pq = _mm256_shuffle_ps (p, q, _MM_SHUFFLE (2, 0, 2, 0)); /* p0 p2 q0 q2 */
    const __m256 qr = _mm256_shuffle_ps (q, r, _MM_SHUFFLE (3, 1, 3, 1)); /* q1 q3 r1 r3 */
    const __m256 rp = _mm256_shuffle_ps (r, p, _MM_SHUFFLE (3, 1, 2, 0)); /* r0 r2 p1 p3 */
    store_halves (out, 12, _mm256_shuffle_ps (pq, rp, _MM_SHUFFLE (2, 0, 2, 0)));
    store_halves (out + 4, 12, _mm256_shuffle_ps (qr, pq, _MM_SHUFFLE (3, 1, 2, 0)));
    store_halves (out + 8, 12, _mm256_shuffle_ps (rp, qr, _MM_SHUFFLE (3, 1, 3, 1)));
  }
}

/* How many times eight frames from the first on are the same. */
FMA_INLINE gsize
count_eights (const guint32 *frames, gsize n)
{
  const __m256i first = _mm256_set1_epi32 ((gint32)frames[0]);
  gsize i = 0;
  while (
      i + 8 <= n && _mm256_movemask_epi8 (_mm256_cmpeq_epi32 (first,
                        _mm256_loadu_si256 ((const __m256i *)(gconstpointer)(frames + i)))) == -1)
    i += 8;
  return i / 8;
}

FMA static void
transform_fma (const float *matrices, const float *in, const guint32 *frames, gsize n, float *out)
{
  for (gsize i = 0; i < n;) {
    const float *m = matrices + NDT_FRAME_MATRIX * (gsize)frames[i];
    /* Equal frames are mostly adjacent: where the eighth one differs, the others are not compared.
     */
    const gsize eights =
        i + 8 <= n && frames[i + 7] == frames[i] ? count_eights (frames + i, n - i) : 0;
    if (eights > 0) {
      transform_eights (m, in + 3 * i, eights, out + 3 * i);
      i += 8 * eights;
    } else {
      const float *p = in + 3 * i;
      const __m128 q = _mm_fmadd_ps (_mm_loadu_ps (m), _mm_broadcast_ss (p),
          _mm_fmadd_ps (_mm_loadu_ps (m + 3), _mm_broadcast_ss (p + 1),
              _mm_fmadd_ps (_mm_loadu_ps (m + 6), _mm_broadcast_ss (p + 2), _mm_loadu_ps (m + 9))));
      if (i + 1 < n)
        _mm_storeu_ps (out + 3 * i, q);
      else
        memcpy (out + 3 * i, &q, 3 * sizeof (float));
      i++;
    }
  }
}

/* Returns TRUE where each frame's number is its predecessor's plus one. */
FMA static gboolean
follow_each_other (const guint32 *frames, gsize n)
{
  const __m256i step = _mm256_set1_epi32 (8);
  __m256i expected = _mm256_add_epi32 (
      _mm256_set1_epi32 ((gint32)frames[0]), _mm256_setr_epi32 (0, 1, 2, 3, 4, 5, 6, 7));
  __m256i other = _mm256_setzero_si256 ();
  gsize i = 0;
  for (; i + 8 <= n; i += 8, expected = _mm256_add_epi32 (expected, step))
    other = _mm256_or_si256 (
        other, _mm256_xor_si256 (
                   expected, _mm256_loadu_si256 ((const __m256i *)(gconstpointer)(frames + i))));
  for (; i < n; i++)
    if (frames[i] - frames[0] != i)
      return FALSE;
  return _mm256_testz_si256 (other, other);
}

/* Two points at a time, each in one half of a vector, whose matrices follow each other. The
 * matrices are read without gaps and their columns extracted by shifts, since the loop is bound by
 * reads. One float after the last point is read and written. */
FMA static void
transform_twos (const float *matrix, const float *in, gsize n, float *out)
{
  for (gsize i = 0; i < n; i += 2, matrix += 2 * NDT_FRAME_MATRIX, in += 6, out += 6) {
    const __m256 first = _mm256_loadu_ps (matrix);      /* a0 b0, of four floats each */
    const __m256 second = _mm256_loadu_ps (matrix + 8); /* c0 a1 */
    const __m256 third = _mm256_loadu_ps (matrix + 16); /* b1 c1 */
    const __m256i a = _mm256_castps_si256 (_mm256_blend_ps (first, second, 0xf0));
    const __m256i b = _mm256_castps_si256 (_mm256_permute2f128_ps (first, third, 0x21));
    const __m256i c = _mm256_castps_si256 (_mm256_blend_ps (second, third, 0xf0));
    const __m256 m3 = _mm256_castsi256_ps (_mm256_alignr_epi8 (b, a, 12));
    const __m256 m6 = _mm256_castsi256_ps (_mm256_alignr_epi8 (c, b, 8));
    const __m256 m9 = _mm256_castsi256_ps (_mm256_srli_si256 (c, 4));
    const __m256 p = load_halves (in, 3);
    store_halves (out, 3,
        _mm256_fmadd_ps (_mm256_castsi256_ps (a), _mm256_permute_ps (p, 0x00),
            _mm256_fmadd_ps (m3, _mm256_permute_ps (p, 0x55),
                _mm256_fmadd_ps (m6, _mm256_permute_ps (p, 0xaa), m9))));
  }
}
#endif

void
ndt_frame_points_transform (
    const float *matrices, const float *in, const guint32 *frames, gsize n, float *out)
{
#if HAVE_X86
  if (__builtin_cpu_supports ("avx2") && __builtin_cpu_supports ("fma")) {
    /* One point a frame, in order. */
    const gsize twos = n > 2 && frames[n - 1] - frames[0] == n - 1 && follow_each_other (frames, n)
                           ? (n - 1) / 2
                           : 0;
    if (twos > 0)
      transform_twos (matrices + NDT_FRAME_MATRIX * (gsize)frames[0], in, 2 * twos, out);
    transform_fma (matrices, in + 6 * twos, frames + 2 * twos, n - 2 * twos, out + 6 * twos);
    return;
  }
#endif
  transform (matrices, in, frames, n, out);
}

gsize
ndt_frame_points_before_line (const float *out)
{
  /* 3 · 11 = 1 modulo the 16 floats of a line. */
  return 11 * (16 - ((gsize)out / sizeof (float)) % 16) % 16;
}

void
ndt_frame_points_write (float *out, const float *in, gsize n)
{
  gsize i = 0;
#if HAVE_X86
  /* Whole lines at once. */
  for (; i + 16 <= n; i += 16) {
    const __m128 a = _mm_loadu_ps (in + i), b = _mm_loadu_ps (in + i + 4);
    const __m128 c = _mm_loadu_ps (in + i + 8), d = _mm_loadu_ps (in + i + 12);
    _mm_stream_ps (out + i, a);
    _mm_stream_ps (out + i + 4, b);
    _mm_stream_ps (out + i + 8, c);
    _mm_stream_ps (out + i + 12, d);
  }
#endif
  memcpy (out + i, in + i, (n - i) * sizeof (float));
}

void
ndt_frame_points_written (void)
{
#if HAVE_X86
  _mm_sfence ();
#endif
}
