/* SPDX-License-Identifier: MIT */
#include "ouster-crc.h"

#include "gst/lidardec/packet/packet-bytes.h"

#if defined __x86_64__
#include <immintrin.h>
#define HAVE_PCLMUL
#endif

/* Bits are reflected: the lowest one is of the highest power. */
#define POLYNOMIAL G_GUINT64_CONSTANT (0xc96c5795d7870f42)

/* Bytes that are folded at a time. */
#define STRIDE 64

typedef struct {
  guint64 bytes[256]; /* what a byte leaves */
  guint64
      stride[2]; /* x^575 and x^511: a stride ahead, for the first and the last half of 16 bytes */
  guint64 next[2]; /* x^191 and x^127: 16 bytes ahead */
} Tables;

static guint64
times_x (guint64 value)
{
  return value >> 1 ^ (value & 1 ? POLYNOMIAL : 0);
}

static guint64
get_power (guint exponent)
{
  guint64 value = G_GUINT64_CONSTANT (1) << 63;
  for (guint i = 0; i < exponent; i++)
    value = times_x (value);
  return value;
}

static const Tables *
get_tables (void)
{
  static Tables tables;
  static gsize are_made = 0;
  if (g_once_init_enter (&are_made)) {
    for (guint i = 0; i < 256; i++) {
      tables.bytes[i] = i;
      for (guint bit = 0; bit < 8; bit++)
        tables.bytes[i] = times_x (tables.bytes[i]);
    }
    /* A product of reflected numbers has a factor x too many. */
    tables.stride[0] = get_power (8 * STRIDE + 63);
    tables.stride[1] = get_power (8 * STRIDE - 1);
    tables.next[0] = get_power (191);
    tables.next[1] = get_power (127);
    g_once_init_leave (&are_made, 1);
  }
  return &tables;
}

static guint64
add_bytes (const Tables *tables, guint64 crc, const guint8 *data, gsize n)
{
  for (gsize i = 0; i < n; i++)
    crc = crc >> 8 ^ tables->bytes[(crc ^ data[i]) & 255];
  return crc;
}

#ifdef HAVE_PCLMUL

static inline __attribute__ ((target ("pclmul"), always_inline)) __m128i
fold (__m128i value, __m128i powers, __m128i data)
{
  return _mm_xor_si128 (data, _mm_xor_si128 (_mm_clmulepi64_si128 (value, powers, 0x00),
                                  _mm_clmulepi64_si128 (value, powers, 0x11)));
}

/* Folds whole strides to 16 bytes, which leave the same. At least one. */
__attribute__ ((target ("pclmul"))) static guint64
add_strides (const Tables *tables, guint64 crc, const guint8 *data, gsize n)
{
  const __m128i stride = _mm_loadu_si128 ((const __m128i *)tables->stride);
  const __m128i next = _mm_loadu_si128 ((const __m128i *)tables->next);
  const __m128i *at = (const __m128i *)(gconstpointer)data, *end = at + n / 16;
  guint8 rest[16];
  __m128i values[4];
  for (guint i = 0; i < 4; i++)
    values[i] = _mm_loadu_si128 (at + i);
  values[0] = _mm_xor_si128 (values[0], _mm_cvtsi64_si128 ((gint64)crc));
  for (at += 4; at < end; at += 4)
    for (guint i = 0; i < 4; i++)
      values[i] = fold (values[i], stride, _mm_loadu_si128 (at + i));
  for (guint i = 1; i < 4; i++)
    values[0] = fold (values[0], next, values[i]);
  _mm_storeu_si128 ((__m128i *)(gpointer)rest, values[0]);
  return add_bytes (tables, 0, rest, sizeof rest);
}

#endif

guint64
ouster_crc (const guint8 *data, gsize n)
{
  const Tables *tables = get_tables ();
  guint64 crc = G_MAXUINT64;
  gsize n_folded = 0;
#ifdef HAVE_PCLMUL
  if (n >= STRIDE && __builtin_cpu_supports ("pclmul")) {
    n_folded = n - n % STRIDE;
    crc = add_strides (tables, crc, data, n_folded);
  }
#endif
  return ~add_bytes (tables, crc, data + n_folded, n - n_folded);
}
