/* SPDX-License-Identifier: MIT */
#include "packet-beams.h"

#if defined __x86_64__
#include <immintrin.h>
#define HAVE_AVX2
#endif

/* The scalar and the AVX2 path give bit-identical points: neither is compiled to fused
 * multiply-add. */

static guint
fire_plain (const PacketBeams *beams, const PacketLasers *lasers, guint first, guint n,
    const PacketFiring *firing, const PacketChannelFormat *format, const guint8 *channels,
    PacketPoint *points)
{
  guint n_points = 0;
  for (guint i = 0; i < n; i++, channels += format->size) {
    const guint raw = packet_channel_read (format, channels);
    points[n_points] = packet_beams_get_point (
        beams, lasers, first + i, firing, (gfloat)raw * format->unit, channels[2]);
    n_points += raw != 0;
  }
  return n_points;
}

static guint
fire_two_plain (const PacketBeams *beams, const PacketLasers *lasers, guint first, guint n,
    const PacketFiring *firing, const PacketReturnKinds *kinds, const PacketChannelFormat *format,
    const guint8 *channels, const guint8 *second, PacketPoint *points)
{
  guint n_points = 0;
  for (guint i = first; i < first + n; i++, channels += format->size, second += format->size) {
    const guint raw[2] = {
        packet_channel_read (format, channels), packet_channel_read (format, second)};
    PacketFiring one = *firing;
    one.kind = raw[0] == raw[1] ? kinds->same : kinds->first;
    points[n_points] =
        packet_beams_get_point (beams, lasers, i, &one, (gfloat)raw[0] * format->unit, channels[2]);
    n_points += raw[0] != 0;
    one.kind = raw[1] > raw[0] ? kinds->farther : kinds->nearer;
    points[n_points] =
        packet_beams_get_point (beams, lasers, i, &one, (gfloat)raw[1] * format->unit, second[2]);
    n_points += raw[1] != 0 && raw[1] != raw[0];
  }
  return n_points;
}

#ifdef HAVE_AVX2

#define AVX2 static inline __attribute__ ((target ("avx2"), always_inline))

/* Ranges and intensities of eight channels, 24 or 32 bytes. */
AVX2 void
read_eight (const PacketChannelFormat *format, const guint8 *channels, __m256i *ranges,
    __m256i *intensities)
{
  const __m256i little = _mm256_setr_epi8 (0, 1, -1, -1, 3, 4, -1, -1, 6, 7, -1, -1, 9, 10, -1, -1,
      4, 5, -1, -1, 7, 8, -1, -1, 10, 11, -1, -1, 13, 14, -1, -1);
  const __m256i big = _mm256_setr_epi8 (1, 0, -1, -1, 4, 3, -1, -1, 7, 6, -1, -1, 10, 9, -1, -1, 5,
      4, -1, -1, 8, 7, -1, -1, 11, 10, -1, -1, 14, 13, -1, -1);
  const __m256i third = _mm256_setr_epi8 (2, -1, -1, -1, 5, -1, -1, -1, 8, -1, -1, -1, 11, -1, -1,
      -1, 6, -1, -1, -1, 9, -1, -1, -1, 12, -1, -1, -1, 15, -1, -1, -1);
  if (format->size == 4) {
    const __m256i all = _mm256_loadu_si256 ((const __m256i *)channels);
    *ranges = _mm256_and_si256 (all, _mm256_set1_epi32 (0xffff));
    *intensities = _mm256_and_si256 (_mm256_srli_epi32 (all, 16), _mm256_set1_epi32 (0xff));
    return;
  }
  /* Channels 0 to 3 in the lower half, 4 to 7 in the upper one. */
  const __m256i all =
      _mm256_inserti128_si256 (_mm256_castsi128_si256 (_mm_loadu_si128 ((const __m128i *)channels)),
          _mm_loadu_si128 ((const __m128i *)(channels + 8)), 1);
  *ranges = _mm256_shuffle_epi8 (all, format->is_big_endian ? big : little);
  *intensities = _mm256_shuffle_epi8 (all, third);
}

/* Eight points, of which the pieces lie beside each other: lanes 0 and 4, 1 and 5 and so on of x,
 * y, z and intensity, then lanes 0, 1, 4 and 5 and the others of the rest. */
typedef struct {
  __m256 heads[4], tails[2];
} Eight;

AVX2 Eight
make_eight (const PacketBeams *beams, const PacketLasers *lasers, guint i,
    const PacketFiring *firing, gfloat unit, __m256i raw, __m256i intensity, __m256i kind)
{
  const __m256 cosine = _mm256_set1_ps (firing->azimuth.cosine);
  const __m256 sine = _mm256_set1_ps (firing->azimuth.sine);
  const __m256 range = _mm256_mul_ps (_mm256_cvtepi32_ps (raw), _mm256_set1_ps (unit));
  __m256 x = _mm256_mul_ps (range, _mm256_loadu_ps (beams->x + i));
  __m256 y = _mm256_mul_ps (range, _mm256_loadu_ps (beams->y + i));
  if (beams->has_lens) {
    x = _mm256_add_ps (x, _mm256_loadu_ps (beams->lens_x + i));
    y = _mm256_add_ps (y, _mm256_loadu_ps (beams->lens_y + i));
  }
  const __m256 turned_x = _mm256_add_ps (_mm256_mul_ps (x, cosine), _mm256_mul_ps (y, sine));
  const __m256 turned_y = _mm256_sub_ps (_mm256_mul_ps (y, cosine), _mm256_mul_ps (x, sine));
  const __m256 z = _mm256_add_ps (
      _mm256_mul_ps (range, _mm256_loadu_ps (lasers->z + i)), _mm256_loadu_ps (lasers->lens_z + i));
  const __m256 time =
      _mm256_add_ps (_mm256_set1_ps (firing->seconds), _mm256_loadu_ps (lasers->time + i));
  const __m256 rest = _mm256_castsi256_ps (_mm256_or_si256 (
      _mm256_loadu_si256 ((const __m256i *)(lasers->ring + i)), _mm256_slli_epi32 (kind, 16)));
  const __m256 xy_low = _mm256_unpacklo_ps (turned_x, turned_y);
  const __m256 xy_high = _mm256_unpackhi_ps (turned_x, turned_y);
  const __m256 zi_low = _mm256_unpacklo_ps (z, _mm256_cvtepi32_ps (intensity));
  const __m256 zi_high = _mm256_unpackhi_ps (z, _mm256_cvtepi32_ps (intensity));
  return (Eight){
      .heads = {_mm256_shuffle_ps (xy_low, zi_low, 0x44), _mm256_shuffle_ps (xy_low, zi_low, 0xee),
          _mm256_shuffle_ps (xy_high, zi_high, 0x44), _mm256_shuffle_ps (xy_high, zi_high, 0xee)},
      .tails = {_mm256_unpacklo_ps (rest, time), _mm256_unpackhi_ps (rest, time)}};
}

/* Writes point @i of @eight where @mask has it, without a branch: a point
 * that is not wanted is overwritten by the next. */
AVX2 PacketPoint *
write_one (PacketPoint *points, guint mask, guint i, const Eight *eight)
{
  const __m256 heads = eight->heads[i % 4], tails = eight->tails[i % 4 / 2];
  _mm_storeu_ps (
      &points->x, i < 4 ? _mm256_castps256_ps128 (heads) : _mm256_extractf128_ps (heads, 1));
  const __m128 tail = i < 4 ? _mm256_castps256_ps128 (tails) : _mm256_extractf128_ps (tails, 1);
  if (i % 2 == 0)
    _mm_storel_pi ((gpointer)&points->ring, tail);
  else
    _mm_storeh_pi ((gpointer)&points->ring, tail);
  return points + (mask >> i & 1);
}

/* A bit for each lane that is not 0. */
AVX2 guint
get_mask (__m256i values)
{
  const __m256i are_none = _mm256_cmpeq_epi32 (values, _mm256_setzero_si256 ());
  return (guint)_mm256_movemask_ps (_mm256_castsi256_ps (are_none)) ^ 0xff;
}

__attribute__ ((target ("avx2"))) static guint
fire_avx2 (const PacketBeams *beams, const PacketLasers *lasers, guint first, guint n,
    const PacketFiring *firing, const PacketChannelFormat *format, const guint8 *channels,
    PacketPoint *points)
{
  const __m256i kind = _mm256_set1_epi32 (firing->kind);
  PacketPoint *end = points;
  for (guint i = first; i < first + n; i += 8, channels += 8 * format->size) {
    __m256i raw, intensity;
    read_eight (format, channels, &raw, &intensity);
    const guint mask = get_mask (raw);
    if (mask == 0)
      continue;
    const Eight eight = make_eight (beams, lasers, i, firing, format->unit, raw, intensity, kind);
#pragma GCC unroll 8
    for (guint k = 0; k < 8; k++)
      end = write_one (end, mask, k, &eight);
  }
  return (guint)(end - points);
}

__attribute__ ((target ("avx2"))) static guint
fire_two_avx2 (const PacketBeams *beams, const PacketLasers *lasers, guint first, guint n,
    const PacketFiring *firing, const PacketReturnKinds *kinds, const PacketChannelFormat *format,
    const guint8 *channels, const guint8 *second, PacketPoint *points)
{
  PacketPoint *end = points;
  for (guint i = first; i < first + n;
       i += 8, channels += 8 * format->size, second += 8 * format->size) {
    __m256i raw[2], intensity[2];
    read_eight (format, channels, &raw[0], &intensity[0]);
    read_eight (format, second, &raw[1], &intensity[1]);
    const __m256i are_same = _mm256_cmpeq_epi32 (raw[0], raw[1]);
    const __m256i are_farther = _mm256_cmpgt_epi32 (raw[1], raw[0]);
    const guint masks[2] = {get_mask (raw[0]), get_mask (_mm256_andnot_si256 (are_same, raw[1]))};
    if ((masks[0] | masks[1]) == 0)
      continue;
    const Eight a = make_eight (beams, lasers, i, firing, format->unit, raw[0], intensity[0],
        _mm256_blendv_epi8 (
            _mm256_set1_epi32 (kinds->first), _mm256_set1_epi32 (kinds->same), are_same));
    const Eight b = make_eight (beams, lasers, i, firing, format->unit, raw[1], intensity[1],
        _mm256_blendv_epi8 (
            _mm256_set1_epi32 (kinds->nearer), _mm256_set1_epi32 (kinds->farther), are_farther));
#pragma GCC unroll 8
    for (guint k = 0; k < 8; k++) {
      end = write_one (end, masks[0], k, &a);
      end = write_one (end, masks[1], k, &b);
    }
  }
  return (guint)(end - points);
}

#endif

guint
packet_beams_fire (const PacketBeams *beams, const PacketLasers *lasers, guint first, guint n,
    const PacketFiring *firing, const PacketChannelFormat *format, const guint8 *channels,
    PacketPoint *points)
{
#ifdef HAVE_AVX2
  if (__builtin_cpu_supports ("avx2"))
    return fire_avx2 (beams, lasers, first, n, firing, format, channels, points);
#endif
  return fire_plain (beams, lasers, first, n, firing, format, channels, points);
}

guint
packet_beams_fire_two (const PacketBeams *beams, const PacketLasers *lasers, guint first, guint n,
    const PacketFiring *firing, const PacketReturnKinds *kinds, const PacketChannelFormat *format,
    const guint8 *channels, const guint8 *second, PacketPoint *points)
{
#ifdef HAVE_AVX2
  if (__builtin_cpu_supports ("avx2"))
    return fire_two_avx2 (beams, lasers, first, n, firing, kinds, format, channels, second, points);
#endif
  return fire_two_plain (beams, lasers, first, n, firing, kinds, format, channels, second, points);
}
