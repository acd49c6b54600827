/* SPDX-License-Identifier: MIT */
#include "ndt-frame-points.h"

#include <string.h>
#if defined(__x86_64__) && defined(__GNUC__)
#define HAVE_X86 1
#include <immintrin.h>
#endif

/* Four floats of which the last is of no interest. */
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
    memcpy (out + 3 * i, &p, sizeof (p));
  }
}

#if HAVE_X86
#define FMA __attribute__ ((target ("avx2,fma")))
#define FMA_INLINE FMA static inline __attribute__ ((always_inline))

/* Two times four floats, @apart floats from one another. */
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
    /* Frames mostly come in order: the eighth tells at once whether it is worth it. */
    const gsize eights =
        i + 8 <= n && frames[i + 7] == frames[i] ? count_eights (frames + i, n - i) : 0;
    if (eights > 0) {
      transform_eights (m, in + 3 * i, eights, out + 3 * i);
      i += 8 * eights;
    } else {
      const float *p = in + 3 * i;
      _mm_storeu_ps (out + 3 * i, _mm_fmadd_ps (_mm_loadu_ps (m), _mm_broadcast_ss (p),
                                      _mm_fmadd_ps (_mm_loadu_ps (m + 3), _mm_broadcast_ss (p + 1),
                                          _mm_fmadd_ps (_mm_loadu_ps (m + 6),
                                              _mm_broadcast_ss (p + 2), _mm_loadu_ps (m + 9)))));
      i++;
    }
  }
}
#endif

void
ndt_frame_points_transform (
    const float *matrices, const float *in, const guint32 *frames, gsize n, float *out)
{
#if HAVE_X86
  if (__builtin_cpu_supports ("avx2") && __builtin_cpu_supports ("fma")) {
    transform_fma (matrices, in, frames, n, out);
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
  for (; i + 4 <= n; i += 4)
    _mm_stream_ps (out + i, _mm_loadu_ps (in + i));
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
