/* SPDX-License-Identifier: MIT */
#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "packet-harness.h"

#define SIZE 1080
#define BLOCK 130
#define TAIL (12 + 8 * BLOCK)
#define STRONGEST 0x37
#define DUAL 0x39

/* Packet @number of an XT32 that turns by 0.18 degrees a block, 50 us each: 2023-01-02 03:04:05 UTC
 * and @number packets; all at 10 m. */
static void
make_packet (guint8 *packet, guint number, guint8 mode)
{
  static const guint8 header[] = {0xee, 0xff, 6, 1, 0, 0, 32, 8, 1, 4, 2, 1};
  static const guint8 utc[] = {123, 1, 2, 3, 4, 5};
  const guint returns = mode == DUAL ? 2 : 1;
  const guint stamp = number * 8 * 50 / returns;
  memset (packet, 0, SIZE);
  memcpy (packet, header, sizeof header);
  for (guint block = 0; block < 8; block++) {
    guint8 *at = packet + 12 + block * BLOCK;
    const guint azimuth = (number * 8 + block) / returns * 18 % 36000;
    at[0] = (guint8)azimuth;
    at[1] = (guint8)(azimuth >> 8);
    for (guint i = 0; i < 32; i++) {
      at[2 + 4 * i] = 2500 & 255;
      at[3 + 4 * i] = 2500 >> 8;
      at[4 + 4 * i] = (guint8)i;
    }
  }
  packet[TAIL + 10] = mode;
  memcpy (packet + TAIL + 13, utc, sizeof utc);
  for (guint i = 0; i < 3; i++)
    packet[TAIL + 19 + i] = (guint8)(stamp >> (8 * i));
}

static void
push_packets (GstHarness *harness, guint from, guint n, guint8 mode)
{
  guint8 packet[SIZE];
  for (guint i = from; i < from + n; i++) {
    make_packet (packet, i, mode);
    fail_unless_equals_int (
        packet_harness_push (harness, packet, SIZE, (GstClockTime)i * 400000), GST_FLOW_OK);
  }
}

/* 2000 blocks a turn: cut within a packet, at the first block past the angle. */
GST_START_TEST (test_scans)
{
  GstHarness *harness = packet_harness_new ("hesaidec cut-angle=90.1");
  guint n, n_points = 0;
  push_packets (harness, 0, 600, STRONGEST);
  gst_harness_push_event (harness, gst_event_new_eos ());
  fail_unless_equals_int (gst_harness_buffers_in_queue (harness), 4);
  for (guint scan = 0; scan < 4; scan++) {
    GstBuffer *buffer = gst_harness_pull (harness);
    const GstReferenceTimestampMeta *meta = gst_buffer_get_reference_timestamp_meta (buffer, NULL);
    /* Block 501 is the first past 90.1 degrees. The stamp is 5.632 us before the packet's last
     * block, whose first laser fires 368 ns later. */
    const guint64 block = scan == 0 ? 0 : 501 + (scan - 1) * 2000;
    const guint64 expected =
        G_GUINT64_CONSTANT (1672628645) * GST_SECOND + block * 50000 - 350000 + 5632 + 368;
    fail_unless_equals_uint64 (meta->timestamp, expected);
    fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), block * 50000);
    g_autofree PacketPoint *points = packet_harness_take_points (buffer, &n);
    n_points += n;
    if (scan > 0 && scan < 3)
      fail_unless_equals_int (n, 2000 * 32);
    for (guint i = 0; i < n; i++) {
      const gdouble azimuth = (gdouble)(block + i / 32) * 0.18 * G_PI / 180;
      const gdouble rise = (15.0 - i % 32) * G_PI / 180;
      fail_unless (fabs (points[i].x - 10 * cos (rise) * sin (azimuth)) < 5e-6);
      fail_unless (fabs (points[i].y - 10 * cos (rise) * cos (azimuth)) < 5e-6);
      fail_unless (fabs (points[i].z - 10 * sin (rise)) < 5e-6);
      fail_unless_equals_int (points[i].ring, 31 - i % 32);
      /* The manual's 1.512 us from laser to laser; 0.1 s in float are 7 ns. */
      fail_unless (
          fabs (points[i].time - points[0].time - i / 32 * 50e-6 - i % 32 * 1.512e-6) < 1.5e-8);
      fail_unless_equals_int (points[i].kind, PACKET_RETURN_STRONGEST);
    }
  }
  fail_unless_equals_int (n_points, 600 * 8 * 32);
  packet_harness_free (harness);
}
GST_END_TEST;

GST_START_TEST (test_dual)
{
  GstHarness *harness = packet_harness_new ("hesaidec");
  guint8 packet[SIZE];
  guint n;
  make_packet (packet, 0, DUAL);
  packet[12 + BLOCK + 3] = 20; /* laser 0: the last return is farther */
  packet[12 + 6] = packet[12 + 7] = packet[12 + BLOCK + 6] = packet[12 + BLOCK + 7] = 0;
  packet_harness_push (harness, packet, SIZE, 0);
  gst_harness_push_event (harness, gst_event_new_eos ());
  g_autofree PacketPoint *points = packet_harness_take_points (gst_harness_pull (harness), &n);
  fail_unless_equals_int (n, 4 * 32 + 1 - 1);
  fail_unless_equals_int (points[0].kind, PACKET_RETURN_STRONGEST);
  fail_unless_equals_int (points[1].kind, PACKET_RETURN_LAST);
  for (guint i = 2; i < n; i++)
    fail_unless_equals_int (points[i].kind, PACKET_RETURN_STRONGEST);
  packet_harness_free (harness);
}
GST_END_TEST;

GST_START_TEST (test_bad_packets)
{
  GstHarness *harness = packet_harness_new ("hesaidec model=xt32");
  g_autofree gchar *text = NULL;
  guint8 packet[2000] = {0};
  make_packet (packet, 0, STRONGEST);
  packet_harness_push (harness, packet, SIZE - 1, 0);
  packet_harness_push (harness, packet, SIZE + 1, 0);
  packet_harness_push (harness, packet, 0, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "bad-size"), 3);
  fail_unless_equals_int (packet_harness_take_warnings (harness, NULL), 1);
  packet_harness_push (harness, packet, 512, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "other"), 1);
  packet[6] = 31;
  packet_harness_push (harness, packet, SIZE, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "foreign"), 1);
  packet_harness_take_warnings (harness, NULL);
  /* An XT16. */
  packet[6] = 16;
  packet_harness_push (harness, packet, 568, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "wrong-model"), 1);
  fail_unless_equals_int (packet_harness_take_warnings (harness, &text), 1);
  fail_unless (strstr (text, "XT-16") && strstr (text, "XT-32"), "%s", text);
  static const struct {
    guint at;
    guint8 value;
  } corruptions[] = {
      {13, 0xff}, {TAIL + 10, 0x99}, {TAIL + 14, 13}, {TAIL + 15, 0}, {TAIL + 22, 9}};
  for (guint i = 0; i < G_N_ELEMENTS (corruptions); i++) {
    make_packet (packet, 0, STRONGEST);
    packet[corruptions[i].at] = corruptions[i].value;
    packet_harness_push (harness, packet, SIZE, 0);
  }
  fail_unless_equals_uint64 (packet_harness_count (harness, "corrupt"), G_N_ELEMENTS (corruptions));
  push_packets (harness, 0, 1, STRONGEST);
  gst_harness_push_event (harness, gst_event_new_eos ());
  fail_unless_equals_int (gst_harness_buffers_in_queue (harness), 1);
  packet_harness_free (harness);
}
GST_END_TEST;

/* Times go on over the end of a minute, an hour, a day and a year; packets say each. */
GST_START_TEST (test_new_year)
{
  static const guint8 before[] = {123, 12, 31, 23, 59, 59}, after[] = {124, 1, 1, 0, 0, 0};
  GstHarness *harness = packet_harness_new ("hesaidec");
  guint8 packet[SIZE];
  guint n;
  for (guint i = 0; i < 2; i++) {
    make_packet (packet, i, STRONGEST);
    const guint stamp = i == 0 ? 999800 : 200;
    memcpy (packet + TAIL + 13, i == 0 ? before : after, sizeof before);
    for (guint k = 0; k < 3; k++)
      packet[TAIL + 19 + k] = (guint8)(stamp >> (8 * k));
    packet_harness_push (harness, packet, SIZE, i * (GstClockTime)400000);
  }
  gst_harness_push_event (harness, gst_event_new_eos ());
  GstBuffer *buffer = gst_harness_pull (harness);
  const GstReferenceTimestampMeta *meta = gst_buffer_get_reference_timestamp_meta (buffer, NULL);
  /* 2024-01-01 00:00:00 UTC, less 200 us and what test_scans has. */
  fail_unless_equals_uint64 (
      meta->timestamp, G_GUINT64_CONSTANT (1704067200) * GST_SECOND - 200000 - 350000 + 5632 + 368);
  g_autofree PacketPoint *points = packet_harness_take_points (buffer, &n);
  fail_unless_equals_int (n, 2 * 8 * 32);
  fail_unless (fabs (points[8 * 32].time - 400e-6) < 1e-9);
  packet_harness_free (harness);
}
GST_END_TEST;

/* Of 5 mm a unit, as the XT32M has it. */
GST_START_TEST (test_unit)
{
  GstHarness *harness = packet_harness_new ("hesaidec");
  guint8 packet[SIZE];
  guint n;
  make_packet (packet, 0, STRONGEST);
  packet[9] = 0;
  packet_harness_push (harness, packet, SIZE, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "corrupt"), 1);
  packet[9] = 5;
  packet_harness_push (harness, packet, SIZE, 0);
  gst_harness_push_event (harness, gst_event_new_eos ());
  g_autofree PacketPoint *points = packet_harness_take_points (gst_harness_pull (harness), &n);
  fail_unless (fabs (points[15].y - 12.5) < 1e-5);
  packet_harness_free (harness);
}
GST_END_TEST;

#define XT32M_SIZE 820
#define XT32M_TAIL (12 + 6 * BLOCK)

static void
set_range (guint8 *packet, guint block, guint laser, guint range)
{
  packet[12 + block * BLOCK + 2 + 4 * laser] = (guint8)range;
  packet[12 + block * BLOCK + 3 + 4 * laser] = (guint8)(range >> 8);
}

/* Two firings of three returns each: first, last and strongest. */
GST_START_TEST (test_triple)
{
  static const guint8 header[] = {0xee, 0xff, 6, 1, 0, 0, 32, 6, 1, 5, 3, 1};
  static const guint8 utc[] = {123, 1, 2, 3, 4, 5};
  /* Of the first lasers, 5 mm: none is the same, all are, two are, one or two are none. */
  static const guint ranges[][3] = {{1000, 3000, 2000}, {1000, 1000, 1000}, {1000, 3000, 1000},
      {1000, 3000, 3000}, {1000, 1000, 2000}, {0, 3000, 2000}, {1000, 0, 0}, {0, 3000, 0}};
  static const struct {
    guint ring, range, kind;
  } expected[] = {{31, 1000, PACKET_RETURN_FIRST}, {31, 2000, PACKET_RETURN_STRONGEST},
      {30, 1000, PACKET_RETURN_STRONGEST}, {29, 1000, PACKET_RETURN_STRONGEST},
      {28, 1000, PACKET_RETURN_FIRST}, {28, 3000, PACKET_RETURN_STRONGEST},
      {27, 1000, PACKET_RETURN_FIRST}, {27, 2000, PACKET_RETURN_STRONGEST},
      {26, 2000, PACKET_RETURN_STRONGEST}, {25, 1000, PACKET_RETURN_FIRST},
      {31, 3000, PACKET_RETURN_LAST}, {29, 3000, PACKET_RETURN_LAST},
      {26, 3000, PACKET_RETURN_LAST}, {24, 3000, PACKET_RETURN_LAST}};
  GstHarness *harness = packet_harness_new ("hesaidec");
  guint8 packet[XT32M_SIZE] = {0};
  guint n;
  memcpy (packet, header, sizeof header);
  for (guint block = 0; block < 6; block++) {
    packet[12 + block * BLOCK] = (guint8)(block / 3 * 18);
    for (guint i = 0; i < G_N_ELEMENTS (ranges); i++)
      set_range (packet, block, i, ranges[i][block % 3]);
  }
  packet[XT32M_TAIL + 10] = 0x3d;
  memcpy (packet + XT32M_TAIL + 13, utc, sizeof utc);
  packet_harness_push (harness, packet, XT32M_SIZE, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "corrupt"), 0);
  gst_harness_push_event (harness, gst_event_new_eos ());
  GstBuffer *buffer = gst_harness_pull (harness);
  const GstReferenceTimestampMeta *meta = gst_buffer_get_reference_timestamp_meta (buffer, NULL);
  /* The second firing is the last, the first 50 us before. */
  fail_unless_equals_uint64 (
      meta->timestamp, G_GUINT64_CONSTANT (1672628645) * GST_SECOND - 50000 + 5632 + 368);
  g_autofree PacketPoint *points = packet_harness_take_points (buffer, &n);
  fail_unless_equals_int (n, 2 * G_N_ELEMENTS (expected));
  for (guint i = 0; i < n; i++) {
    const guint k = i % G_N_ELEMENTS (expected);
    const gdouble range =
        sqrt (points[i].x * points[i].x + points[i].y * points[i].y + points[i].z * points[i].z);
    fail_unless_equals_int (points[i].ring, expected[k].ring);
    fail_unless_equals_int (points[i].kind, expected[k].kind);
    fail_unless (fabs (range - 0.005 * expected[k].range) < 1e-5);
    const gdouble time = (31 - expected[k].ring) * 2.888e-6 + (i < n / 2 ? 0 : 50e-6);
    fail_unless (fabs (points[i].time - time) < 1e-10);
  }
  packet_harness_free (harness);

  /* An XT32's eight blocks are of no such mode. */
  guint8 other[SIZE];
  harness = packet_harness_new ("hesaidec");
  make_packet (other, 0, 0x3d);
  packet_harness_push (harness, other, SIZE, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "corrupt"), 1);
  packet_harness_free (harness);
}
GST_END_TEST;

#define QT128_BODY (12 + 2 * (2 + 128 * 4))

/* Two blocks of a QT128 at 10 m, at azimuths 10 and 10.4 degrees; what else is in it is said by
 * @flags. Returns its size. */
static gsize
make_qt128 (guint8 *packet, guint8 flags)
{
  static const guint8 header[] = {0xee, 0xff, 3, 2, 0, 0, 128, 2, 0, 4, 1};
  static const guint8 utc[] = {123, 1, 2, 3, 4, 5};
  memset (packet, 0, 1200);
  memcpy (packet, header, sizeof header);
  packet[11] = flags;
  for (guint block = 0; block < 2; block++) {
    guint8 *at = packet + 12 + block * 514;
    at[0] = (guint8)(1000 + 40 * block);
    at[1] = (guint8)((1000 + 40 * block) >> 8);
    for (guint i = 0; i < 128; i++) {
      at[2 + 4 * i] = 2500 & 255;
      at[3 + 4 * i] = 2500 >> 8;
    }
  }
  guint8 *tail = packet + QT128_BODY + 4 + (flags & 4 ? 17 : 0);
  tail[12] = STRONGEST;
  memcpy (tail + 15, utc, sizeof utc);
  tail[21] = 100; /* us */
  tail += 26 + (flags & 1 ? 4 : 0) + 4 + (flags & 8 ? 32 : 0);
  return (gsize)(tail - packet);
}

/* Sizes of packets with and without safety, number and signature; lasers that take turns. */
GST_START_TEST (test_qt128)
{
  static const struct {
    guint8 flags;
    gsize size;
  } packets[] = {{0, 1074}, {1, 1078}, {5, 1095}, {13, 1127}};
  guint8 packet[1200];
  guint n;
  GstHarness *harness = packet_harness_new ("hesaidec");
  const gsize size = make_qt128 (packet, packets[__i__].flags);
  fail_unless_equals_uint64 (size, packets[__i__].size);
  packet_harness_push (harness, packet, size - 1, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "bad-size"), 1);
  packet_harness_push (harness, packet, size, 0);
  gst_harness_push_event (harness, gst_event_new_eos ());
  GstBuffer *buffer = gst_harness_pull (harness);
  const GstReferenceTimestampMeta *meta = gst_buffer_get_reference_timestamp_meta (buffer, NULL);
  /* The last block is 9 us after the stamp, the first 111.11 us before that. */
  fail_unless_equals_uint64 (
      meta->timestamp, G_GUINT64_CONSTANT (1672628645) * GST_SECOND + 100000 + 9000 - 111110);
  g_autofree PacketPoint *points = packet_harness_take_points (buffer, &n);
  fail_unless_equals_int (n, 256);
  /* The manual's table of laser 128: in the first loop, in the second. */
  fail_unless (fabs (points[127].time - 48.12e-6) < 1e-10);
  fail_unless (fabs (points[255].time - (111.11e-6 + 48.976e-6)) < 1e-10);
  /* Laser 1 of the manual: 52.627 degrees down, 10.108 degrees to the right. */
  fail_unless (fabs (points[0].z - 10 * sin (-52.627 * G_PI / 180)) < 1e-5);
  fail_unless (fabs (atan2 (points[0].x, points[0].y) * 180 / G_PI - 20.108) < 1e-4);
  packet_harness_free (harness);
}
GST_END_TEST;

/* Modes with the second return by range; and what two returns are called that are the same. */
GST_START_TEST (test_second_returns)
{
  static const struct {
    guint8 mode;
    guint8 alone[2], same[2];
  } modes[] = {{0x34, {PACKET_RETURN_AFTER_FIRST, PACKET_RETURN_AFTER_FIRST},
                   {PACKET_RETURN_AFTER_FIRST, PACKET_RETURN_AFTER_FIRST}},
      {0x3a, {PACKET_RETURN_FIRST, PACKET_RETURN_AFTER_FIRST}, {PACKET_RETURN_FIRST}},
      {0x3b, {PACKET_RETURN_FIRST, PACKET_RETURN_LAST}, {PACKET_RETURN_FIRST}},
      {0x3c, {PACKET_RETURN_FIRST, PACKET_RETURN_STRONGEST}, {PACKET_RETURN_STRONGEST}},
      {0x3e, {PACKET_RETURN_STRONGEST, PACKET_RETURN_SECOND}, {PACKET_RETURN_STRONGEST}}};
  const guint8 mode = modes[__i__].mode;
  for (guint are_same = 0; are_same < 2; are_same++) {
    GstHarness *harness = packet_harness_new ("hesaidec");
    const guint8 *kinds = are_same ? modes[__i__].same : modes[__i__].alone;
    guint8 packet[1200];
    guint n;
    const gsize size = make_qt128 (packet, 0);
    packet[QT128_BODY + 4 + 12] = mode;
    packet[12 + 514] = packet[12];
    packet[13 + 514] = packet[13];
    for (guint i = 0; i < 128 && !are_same; i++)
      packet[12 + 514 + 3 + 4 * i]++;
    packet_harness_push (harness, packet, size, 0);
    fail_unless_equals_uint64 (packet_harness_count (harness, "corrupt"), 0);
    gst_harness_push_event (harness, gst_event_new_eos ());
    g_autofree PacketPoint *points = packet_harness_take_points (gst_harness_pull (harness), &n);
    fail_unless_equals_int (n, kinds[1] ? 256 : 128);
    for (guint i = 0; i < n; i++)
      fail_unless_equals_int (points[i].kind, kinds[kinds[1] ? i % 2 : 0]);
    packet_harness_free (harness);
  }
}
GST_END_TEST;

GST_START_TEST (test_calibration)
{
  static const gchar *const bad[][2] = {{"", "no lines"},
      {"Channel,Elevation,Azimuth\n", "no lines"}, {"2,1,1\n", "\"1,elevation"},
      {"1,1\n", "line 1"}, {"1,91,0\n", "line 1"}, {"1,nan,0\n", "line 1"},
      {"1,1,1\n", "1 lasers"}};
  g_autofree gchar *path = NULL;
  g_close (g_file_open_tmp ("hesai-XXXXXX.csv", &path, NULL), NULL);
  g_autofree gchar *setting = g_strdup_printf ("model=xt32 calibration-location=\"%s\"", path);
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++) {
    g_file_set_contents (path, bad[i][0], -1, NULL);
    packet_harness_check_open_fails ("hesaidec", setting, bad[i][1]);
  }
  g_unlink (path);
  packet_harness_check_open_fails ("hesaidec", setting, "cannot be read");
}
GST_END_TEST;

static Suite *
hesaidec_suite (void)
{
  Suite *suite = suite_create ("hesaidec");
  TCase *tests = tcase_create ("general");
  suite_add_tcase (suite, tests);
  tcase_add_test (tests, test_scans);
  tcase_add_test (tests, test_dual);
  tcase_add_test (tests, test_bad_packets);
  tcase_add_test (tests, test_new_year);
  tcase_add_test (tests, test_unit);
  tcase_add_test (tests, test_triple);
  tcase_add_loop_test (tests, test_qt128, 0, 4);
  tcase_add_loop_test (tests, test_second_returns, 0, 5);
  tcase_add_test (tests, test_calibration);
  return suite;
}

GST_CHECK_MAIN (hesaidec);
