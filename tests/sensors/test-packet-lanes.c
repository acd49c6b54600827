/* SPDX-License-Identifier: MIT */
/* What is made several at a time is what one at a time makes, to the last bit. */
#include <glib.h>
#include <string.h>

#include "gst/lidardec/packet/packet-beams.h"
#include "gst/lidardec/ouster/ouster-crc.h"

#define N 32

static PacketBeams beams;
static PacketLasers lasers;

static gfloat
draw (GRand *rand)
{
  return (gfloat)g_rand_double_range (rand, -1, 1);
}

static void
make_sensor (GRand *rand, gboolean has_lens)
{
  beams.has_lens = has_lens;
  for (guint i = 0; i < N; i++) {
    beams.x[i] = draw (rand);
    beams.y[i] = draw (rand);
    beams.lens_x[i] = draw (rand) / 10;
    beams.lens_y[i] = draw (rand) / 10;
    lasers.z[i] = draw (rand);
    lasers.lens_z[i] = draw (rand) / 10;
    lasers.time[i] = draw (rand) / 1000;
    lasers.ring[i] = (guint32)g_rand_int_range (rand, 0, 256);
  }
}

/* Ranges of which a third are none, and, of @other, a third the same. */
static void
make_channels (GRand *rand, guint size, guint8 *channels, const guint8 *other)
{
  for (guint i = 0; i < N * size; i++)
    channels[i] = (guint8)g_rand_int_range (rand, 0, 256);
  for (guint i = 0; i < N; i++) {
    const gint choice = g_rand_int_range (rand, 0, 3);
    if (choice == 0)
      memset (channels + i * size, 0, 2);
    else if (choice == 1 && other)
      memcpy (channels + i * size, other + i * size, 2);
  }
}

static guint
make_one_by_one (const PacketFiring *firing, const PacketReturnKinds *kinds,
    const PacketChannelFormat *format, const guint8 *channels, const guint8 *second,
    PacketPoint *points)
{
  guint n = 0;
  for (guint i = 0; i < N; i++) {
    const guint8 *a = channels + i * format->size, *b = second ? second + i * format->size : NULL;
    const guint first = packet_channel_read (format, a);
    const guint other = b ? packet_channel_read (format, b) : 0;
    PacketFiring one = *firing;
    if (b)
      one.kind = first == other ? kinds->same : kinds->first;
    if (first != 0)
      points[n++] =
          packet_beams_get_point (&beams, &lasers, i, &one, (gfloat)first * format->unit, a[2]);
    one.kind = other > first ? kinds->farther : kinds->nearer;
    if (b && other != 0 && other != first)
      points[n++] =
          packet_beams_get_point (&beams, &lasers, i, &one, (gfloat)other * format->unit, b[2]);
  }
  return n;
}

static void
test_firings (void)
{
  const PacketReturnKinds kinds = {1, 2, 3, 4};
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  for (guint run = 0; run < 4000; run++) {
    const PacketChannelFormat format = {
        .size = run % 2 ? 3 : 4, .is_big_endian = run % 4 == 3, .unit = 0.004f};
    const PacketFiring firing = {
        .azimuth = packet_turn_new (run), .seconds = draw (rand), .kind = 1 + run % 3};
    const gboolean are_two = run / 4 % 2;
    /* On the heap, for a sanitizer to see what is read and written behind the end. */
    g_autofree guint8 *channels = g_malloc (N * format.size);
    g_autofree guint8 *second = g_malloc (N * format.size);
    g_autofree PacketPoint *points = g_new0 (PacketPoint, 2 * N);
    PacketPoint expected[2 * N] = {0};
    make_sensor (rand, run / 8 % 2);
    make_channels (rand, format.size, channels, NULL);
    make_channels (rand, format.size, second, channels);
    const guint n =
        are_two ? packet_beams_fire_two (
                      &beams, &lasers, 0, N, &firing, &kinds, &format, channels, second, points)
                : packet_beams_fire (&beams, &lasers, 0, N, &firing, &format, channels, points);
    g_assert_cmpuint (n, ==,
        make_one_by_one (&firing, &kinds, &format, channels, are_two ? second : NULL, expected));
    g_assert_cmpmem (points, n * sizeof *points, expected, n * sizeof *points);
  }
}

/* Bit by bit. */
static guint64
get_crc (const guint8 *data, gsize n)
{
  guint64 crc = G_MAXUINT64;
  for (gsize i = 0; i < n; i++) {
    crc ^= data[i];
    for (guint bit = 0; bit < 8; bit++)
      crc = crc >> 1 ^ (crc & 1 ? G_GUINT64_CONSTANT (0xc96c5795d7870f42) : 0);
  }
  return ~crc;
}

static void
test_crc (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  guint8 data[700];
  /* The value that catalogues of CRCs give for CRC-64/XZ. */
  g_assert_cmphex (ouster_crc ((const guint8 *)"123456789", 9), ==, 0x995dc9bbdf1939fa);
  for (gsize n = 0; n < sizeof data; n++) {
    for (gsize i = 0; i < n; i++)
      data[i] = (guint8)g_rand_int_range (rand, 0, 256);
    g_assert_cmphex (ouster_crc (data, n), ==, get_crc (data, n));
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/packet-lanes/firings", test_firings);
  g_test_add_func ("/packet-lanes/crc", test_crc);
  return g_test_run ();
}
