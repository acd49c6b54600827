/* SPDX-License-Identifier: MIT */
#include "ouster-beams.h"

#include <math.h>

#include "gst/lidardec/packet/packet-bytes.h"

#if defined __x86_64__
#include <immintrin.h>
#define HAVE_AVX2
#endif

/* A direction is this of the encoder's angle: its cosine times the first, its sine times the second
 * and the third. */
typedef struct {
  gfloat cosine[3], sine[3], constant[3];
} Row;

struct _OusterBeams {
  guint n_rows, n_columns;
  gfloat offset; /* m less than the range, from a beam's origin on */
  Row *rows;
  gfloat *cosines, *sines; /* of the encoder, by column */
  gfloat *origins[3];
};

OusterBeams *
ouster_beams_new (const OusterMetadata *metadata)
{
  OusterBeams *self = g_new0 (OusterBeams, 1);
  const gdouble *m = metadata->transform;
  self->n_rows = metadata->n_beams;
  self->n_columns = metadata->columns;
  self->offset = (gfloat)hypot (metadata->origin_x, metadata->origin_z);
  self->rows = g_new (Row, self->n_rows);
  for (guint i = 0; i < self->n_rows; i++) {
    const gdouble flat = cos (metadata->altitude[i]), rise = sin (metadata->altitude[i]);
    const gdouble c = flat * cos (metadata->azimuth[i]), s = flat * sin (metadata->azimuth[i]);
    for (guint k = 0; k < 3; k++) {
      self->rows[i].cosine[k] = (gfloat)(m[4 * k] * c - m[4 * k + 1] * s);
      self->rows[i].sine[k] = (gfloat)(m[4 * k] * s + m[4 * k + 1] * c);
      self->rows[i].constant[k] = (gfloat)(m[4 * k + 2] * rise);
    }
  }
  self->cosines = g_new (gfloat, self->n_columns);
  self->sines = g_new (gfloat, self->n_columns);
  for (guint k = 0; k < 3; k++)
    self->origins[k] = g_new (gfloat, self->n_columns);
  for (guint i = 0; i < self->n_columns; i++) {
    /* The sensor turns to the right: columns count down the angle. */
    const gdouble encoder = 2 * G_PI * (1 - (gdouble)i / self->n_columns);
    const gdouble c = cos (encoder), s = sin (encoder);
    self->cosines[i] = (gfloat)c;
    self->sines[i] = (gfloat)s;
    for (guint k = 0; k < 3; k++)
      self->origins[k][i] = (gfloat)((m[4 * k] * c + m[4 * k + 1] * s) * metadata->origin_x +
                                     m[4 * k + 2] * metadata->origin_z + m[4 * k + 3]);
  }
  return self;
}

void
ouster_beams_free (OusterBeams *self)
{
  g_free (self->rows);
  g_free (self->cosines);
  g_free (self->sines);
  for (guint k = 0; k < 3; k++)
    g_free (self->origins[k]);
  g_free (self);
}

static guint16
get_ring (const OusterBeams *self, guint row)
{
  return (guint16)(self->n_rows - 1 - row);
}

void
ouster_beams_clear (const OusterBeams *self, guint column, guint n, guint8 kind, PacketPoint *plane)
{
  for (guint row = 0; row < self->n_rows; row++) {
    PacketPoint *points = plane + (gsize)row * self->n_columns + column;
    for (guint i = 0; i < n; i++)
      points[i] =
          (PacketPoint){.x = NAN, .y = NAN, .z = NAN, .ring = get_ring (self, row), .kind = kind};
  }
}

static void
write_plain (const OusterBeams *self, const OusterPixels *pixels, const guint8 *data, guint column,
    guint n, const gfloat *times, guint8 kind, PacketPoint *plane)
{
  for (guint row = 0; row < self->n_rows; row++) {
    const Row *beams = &self->rows[row];
    PacketPoint *points = plane + (gsize)row * self->n_columns + column;
    for (guint i = 0; i < n; i++) {
      const guint8 *pixel = data + i * pixels->column_size + row * pixels->pixel_size;
      const guint32 range = packet_read_le32 (pixel + pixels->range) & pixels->range_mask;
      const gfloat length = (gfloat)(range * pixels->range_unit) * 1e-3f - self->offset;
      const gfloat c = self->cosines[column + i], s = self->sines[column + i];
      gfloat xyz[3];
      for (guint k = 0; k < 3; k++) {
        const gfloat direction = beams->cosine[k] * c + beams->sine[k] * s + beams->constant[k];
        xyz[k] = range == 0 ? NAN : self->origins[k][column + i] + length * direction;
      }
      points[i] = (PacketPoint){.x = xyz[0],
          .y = xyz[1],
          .z = xyz[2],
          .intensity = pixel[pixels->reflectivity],
          .ring = get_ring (self, row),
          .kind = kind,
          .time = times[i]};
    }
  }
}

#ifdef HAVE_AVX2

/* Coordinate @k of eight columns of a row. */
static inline __attribute__ ((target ("avx2"), always_inline)) __m256
get_coordinate (
    const OusterBeams *self, const Row *beams, guint k, guint column, __m256 length, __m256 is_none)
{
  const __m256 c =
      _mm256_mul_ps (_mm256_set1_ps (beams->cosine[k]), _mm256_loadu_ps (self->cosines + column));
  const __m256 s =
      _mm256_mul_ps (_mm256_set1_ps (beams->sine[k]), _mm256_loadu_ps (self->sines + column));
  const __m256 direction =
      _mm256_add_ps (_mm256_add_ps (c, s), _mm256_set1_ps (beams->constant[k]));
  const __m256 value = _mm256_add_ps (
      _mm256_loadu_ps (self->origins[k] + column), _mm256_mul_ps (length, direction));
  return _mm256_blendv_ps (value, _mm256_set1_ps (NAN), is_none);
}

/* Eight columns; the same to the last bit. */
__attribute__ ((target ("avx2"))) static void
write_eight (const OusterBeams *self, const OusterPixels *pixels, const guint8 *data, guint column,
    const gfloat *times, guint8 kind, PacketPoint *plane)
{
  const __m256i columns = _mm256_mullo_epi32 (
      _mm256_setr_epi32 (0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32 ((gint)pixels->column_size));
  const __m256 time = _mm256_loadu_ps (times);
  for (guint row = 0; row < self->n_rows; row++, data += pixels->pixel_size) {
    const Row *beams = &self->rows[row];
    PacketPoint *points = plane + (gsize)row * self->n_columns + column;
    const __m256i range = _mm256_and_si256 (
        _mm256_i32gather_epi32 ((const gint *)(gconstpointer)(data + pixels->range), columns, 1),
        _mm256_set1_epi32 ((gint)pixels->range_mask));
    const __m256i reflectivity = _mm256_and_si256 (
        _mm256_i32gather_epi32 (
            (const gint *)(gconstpointer)(data + pixels->reflectivity), columns, 1),
        _mm256_set1_epi32 (0xff));
    const __m256 is_none =
        _mm256_castsi256_ps (_mm256_cmpeq_epi32 (range, _mm256_setzero_si256 ()));
    const __m256i mm = _mm256_mullo_epi32 (range, _mm256_set1_epi32 ((gint)pixels->range_unit));
    const __m256 length =
        _mm256_sub_ps (_mm256_mul_ps (_mm256_cvtepi32_ps (mm), _mm256_set1_ps (1e-3f)),
            _mm256_set1_ps (self->offset));
    const __m256 x = get_coordinate (self, beams, 0, column, length, is_none);
    const __m256 y = get_coordinate (self, beams, 1, column, length, is_none);
    const __m256 z = get_coordinate (self, beams, 2, column, length, is_none);
    const __m256 intensity = _mm256_cvtepi32_ps (reflectivity);
    const __m256 rest = _mm256_castsi256_ps (_mm256_set1_epi32 (get_ring (self, row) | kind << 16));
    const __m256 xy[2] = {_mm256_unpacklo_ps (x, y), _mm256_unpackhi_ps (x, y)};
    const __m256 zi[2] = {_mm256_unpacklo_ps (z, intensity), _mm256_unpackhi_ps (z, intensity)};
    const __m256 rt[2] = {_mm256_unpacklo_ps (rest, time), _mm256_unpackhi_ps (rest, time)};
#pragma GCC unroll 2
    for (guint half = 0; half < 2; half++) {
      /* Points 2 half and 2 half + 1, and those 4 behind them. */
      const __m256 even = _mm256_shuffle_ps (xy[half], zi[half], 0x44);
      const __m256 odd = _mm256_shuffle_ps (xy[half], zi[half], 0xee);
      const __m128 low = _mm256_castps256_ps128 (rt[half]);
      const __m128 high = _mm256_extractf128_ps (rt[half], 1);
      PacketPoint *to = points + 2 * half;
      _mm_storeu_ps (&to[0].x, _mm256_castps256_ps128 (even));
      _mm_storel_pi ((gpointer)&to[0].ring, low);
      _mm_storeu_ps (&to[1].x, _mm256_castps256_ps128 (odd));
      _mm_storeh_pi ((gpointer)&to[1].ring, low);
      _mm_storeu_ps (&to[4].x, _mm256_extractf128_ps (even, 1));
      _mm_storel_pi ((gpointer)&to[4].ring, high);
      _mm_storeu_ps (&to[5].x, _mm256_extractf128_ps (odd, 1));
      _mm_storeh_pi ((gpointer)&to[5].ring, high);
    }
  }
}

#endif

void
ouster_beams_write (const OusterBeams *self, const OusterPixels *pixels, const guint8 *data,
    guint column, guint n, const gfloat *times, guint8 kind, PacketPoint *plane)
{
  guint i = 0;
#ifdef HAVE_AVX2
  if (__builtin_cpu_supports ("avx2"))
    for (; i + 8 <= n; i += 8)
      write_eight (
          self, pixels, data + i * pixels->column_size, column + i, times + i, kind, plane);
#endif
  if (i < n)
    write_plain (
        self, pixels, data + i * pixels->column_size, column + i, n - i, times + i, kind, plane);
}
