/* SPDX-License-Identifier: MIT */
/* Datagrams put together from fragments of senders that give all of them one identification, and
 * their checksums. What test-lidarpcapsrc.c has of fragments is of senders that number them. */
#include <glib/gstdio.h>
#include <string.h>

#include "capture.h"
#include "gst/lidarpcap/capture-file.h"

#define LINK_ETHERNET 1
#define SIZE 6000
/* Of an Ethernet frame less the header of IP. */
#define PART 1480

static void
add_fragment (GByteArray *capture, guint64 time, guint16 id, const GByteArray *udp, guint part)
{
  const guint offset = part * PART;
  const guint n = MIN (PART, udp->len - offset);
  g_autoptr (GByteArray) packet =
      capture_make_ipv4 (id, offset, offset + n < udp->len, udp->data + offset, n);
  capture_add_frame (capture, time, capture_ethernet_ipv4, 14, packet);
}

static GByteArray *
make_datagram (guint number)
{
  guint8 data[SIZE];
  for (guint k = 0; k < SIZE; k++)
    data[k] = (guint8)(k * 7 + k / 256 + number * 91);
  return capture_make_udp (7502, data, SIZE);
}

/* Every datagram that comes out is one of @udp. */
static guint
count_whole (const GByteArray *capture, GByteArray *const *udp, guint n, CaptureFileCounts *counts)
{
  g_autofree gchar *path = capture_write (capture);
  g_autoptr (GError) error = NULL;
  g_autoptr (CaptureFile) file = capture_file_open (path, &error);
  CaptureDatagram datagram;
  gint64 time;
  guint n_whole = 0;

  g_assert_no_error (error);
  while (capture_file_next (file, &datagram, &time, &error)) {
    gboolean is_one = FALSE;
    for (guint i = 0; i < n; i++)
      is_one |= datagram.size + 8 == udp[i]->len &&
                memcmp (datagram.data, udp[i]->data + 8, datagram.size) == 0;
    g_assert_true (is_one);
    n_whole++;
  }
  g_assert_no_error (error);
  *counts = capture_file_get_counts (file);
  g_unlink (path);
  return n_whole;
}

/* 1.5 ms apart, of 5 fragments each: pairs of digits are the datagram and the fragment that come. A
 * datagram whose first fragment is lost must not go on with that of the next. */
static void
test_one_identification (void)
{
  static const struct {
    const gchar *fragments;
    guint n_whole;
    guint64 n_incomplete;
  } cases[] = {
      {"00 01 02 03 04  10 11 12 13 14  20 21 22 23 24", 3, 0},
      {"00 01 02 03 04     11 12 13 14  20 21 22 23 24", 2, 1},
      /* Nothing is known of the sender yet. */
      {"   01 02 03 04  10 11 12 13 14  20 21 22 23 24", 2, 1},
      {"   01 02 03 04     11 12 13 14  20 21 22 23 24", 1, 2},
      /* A burst of as many as a datagram has. */
      {"00 01 02 03 04  10 11              22 23 24", 1, 2},
      {"00 01 02    04  10 11 12 13 14  20    22 23 24", 1, 3},
      /* Doubled. */
      {"00 00 01 02 03 04 04  10 11 12 12 13 14  20 21 22 23 24", 3, 0},
  };
  GByteArray *udp[3];

  for (guint i = 0; i < 3; i++)
    udp[i] = make_datagram (i);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GByteArray) capture = capture_new (LINK_ETHERNET);
    CaptureFileCounts counts;
    guint64 time = 1000;

    for (const gchar *c = cases[i].fragments; *c; c += *c == ' ' ? 1 : 2)
      if (*c != ' ')
        add_fragment (capture, (guint64)(c[0] - '0') * 1500 + time++, 0, udp[c[0] - '0'],
            (guint)(c[1] - '0'));
    g_test_message ("%s", cases[i].fragments);
    g_assert_cmpuint (count_whole (capture, udp, 3, &counts), ==, cases[i].n_whole);
    g_assert_cmpuint (counts.n_incomplete, ==, cases[i].n_incomplete);
    g_assert_cmpuint (counts.n_bad, ==, 0);
  }
  for (guint i = 0; i < 3; i++)
    g_byte_array_unref (udp[i]);
}

/* A checksum is looked at where a datagram has one: 0 is none. */
static void
test_checksum (void)
{
  static const guint8 data[3001] = {1, 2, 3, [3000] = 4};
  /* RFC 768, by hand: addresses c0a8 01c9 c0a8 0164, protocol 0011, twice the length 0bc1, ports
   * 03e8 1d4e, data 0102 0300 0400: 1c548, folded c549, inverted 3ab6. */
  static const guint8 sums[][2] = {{0, 0}, {0x3a, 0xb6}, {0x3a, 0xb7}};
  g_autoptr (GByteArray) capture = capture_new (LINK_ETHERNET);
  g_autoptr (GByteArray) udp = capture_make_udp (7502, data, sizeof data);
  CaptureFileCounts counts;

  for (guint i = 0; i < G_N_ELEMENTS (sums); i++) {
    memcpy (udp->data + 6, sums[i], 2);
    for (guint part = 0; part < 3; part++)
      add_fragment (capture, 1000 + i * 1500 + part, (guint16)i, udp, part);
  }
  g_assert_cmpuint (count_whole (capture, &udp, 1, &counts), ==, 2);
  g_assert_cmpuint (counts.n_bad, ==, 1);
  g_assert_cmpuint (counts.n_incomplete, ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/capture-fragments/one-identification", test_one_identification);
  g_test_add_func ("/capture-fragments/checksum", test_checksum);
  return g_test_run ();
}
