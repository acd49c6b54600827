/* SPDX-License-Identifier: MIT */
#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>

#include <glib/gstdio.h>

#include <math.h>
#include <string.h>

#include "packet-harness.h"
#include "velodyne-packets.h"

#define STATUS_SIZE 1820

/* What an HDL-64E sends of its calibration, by the manual's appendix: "UNIT#", two thresholds, then
 * for each laser its number, nine values of two bytes, two of one, and seven bytes that are none of
 * its own; 21 of other things; a checksum (S3) or the length (S2). */
static void
make_status (guint8 *status, gboolean is_s3, guint laser_offset)
{
  guint crc = 0;
  memset (status, 0, STATUS_SIZE);
  memcpy (status, "UNIT#", 5);
  for (guint i = 0; i < 64; i++) {
    guint8 *laser = status + 7 + i * 28;
    laser[0] = (guint8)((i + laser_offset) % 64);
    velodyne_write_u16 (laser + 1, (guint)((gint)(laser[0] * 40) - 2000)); /* 0.01 degrees */
    velodyne_write_u16 (laser + 3, (guint)(-100 - (gint)laser[0]));        /* the same */
    velodyne_write_u16 (laser + 5, 1200);                                  /* mm */
    velodyne_write_u16 (laser + 7, 1210);
    velodyne_write_u16 (laser + 9, 1220);
    velodyne_write_u16 (laser + 11, 200);
    velodyne_write_u16 (laser + 13, (guint)-26);
    for (guint k = 1; k < 21; k++)
      for (guint bit = 0; bit < 8; bit++) {
        const guint top = (crc >> 15 ^ laser[k] >> (7 - bit)) & 1;
        crc = (crc << 1 ^ (top ? 0x8005 : 0)) & 0xffff;
      }
  }
  velodyne_write_u16 (status + STATUS_SIZE - 2, is_s3 ? crc : STATUS_SIZE);
}

/* Packet @number of an HDL-64E; the first two blocks are at 10 m, the others have no returns. */
static void
make_hdl_64e (guint8 *packet, guint number, const guint8 *status, gboolean is_s3)
{
  velodyne_make_packet (packet, 0, 0, 0);
  memset (packet + 200, 0, 1000);
  for (guint block = 0; block < 12; block++) {
    velodyne_write_u16 (packet + block * 100, block % 2 == 0 ? 0xeeff : 0xddff);
    velodyne_write_u16 (packet + block * 100 + 2, (number * 6 + block / 2) * 18 % 36000);
  }
  const guint stamp = number * 288;
  for (guint i = 0; i < 4; i++)
    packet[1200 + i] = (guint8)(stamp >> (8 * i));
  /* Nine of sixteen are of time and temperature. */
  const guint turn = number % 16, first = number / 16 * 7;
  packet[1204] = (guint8) "HMSDNYGTV1234567"[turn];
  packet[1205] = turn < 9 ? 0x22 : status[(first + turn - 9) % STATUS_SIZE];
  /* Where there is a warning. */
  if (is_s3 && first % 28 == 0 && turn == 9)
    packet[1204] = 'W';
}

/* Without a file nothing is lost, and points are as with a file of the same values. */
GST_START_TEST (test_hdl_64e)
{
  const gboolean is_s3 = __i__ % 2, has_loss = __i__ / 2;
  const guint n_packets = has_loss ? 10600 : is_s3 ? 4200 : 8400;
  guint8 status[STATUS_SIZE], packet[SIZE];
  g_autofree gchar *path = NULL;
  g_autoptr (GString) text = g_string_new ("lasers:\n");
  guint n[2] = {0};
  make_status (status, is_s3, 5);
  for (guint i = 0; i < 64; i++)
    g_string_append_printf (text,
        "- {laser_id: %u, vert_correction: %.9f, rot_correction: %.9f, dist_correction: 1.2,\n"
        "   dist_correction_x: 1.21, dist_correction_y: 1.22, vert_offset_correction: 0.2,\n"
        "   horiz_offset_correction: -0.026, two_pt_correction_available: true}\n",
        i, (0.4 * i - 20) * G_PI / 180, (-1 - 0.01 * i) * G_PI / 180);
  g_close (g_file_open_tmp ("velodyne-XXXXXX.yaml", &path, NULL), NULL);
  g_file_set_contents (path, text->str, -1, NULL);
  g_autofree gchar *line = g_strdup_printf ("velodynedec calibration-location=\"%s\"", path);
  GstHarness *harnesses[] = {
      packet_harness_new (__i__ < 2 ? "velodynedec" : "velodynedec model=hdl-64e"),
      packet_harness_new (line)};
  for (guint k = 0; k < 2; k++) {
    for (guint i = 0; i < n_packets; i++) {
      make_hdl_64e (packet, i, status, is_s3);
      /* A packet of a calibration is missing. */
      if (has_loss && i == 2010)
        continue;
      fail_unless_equals_int (
          packet_harness_push (harnesses[k], packet, SIZE, (GstClockTime)i * 288000), GST_FLOW_OK);
      if (i == 100)
        packet_harness_push (harnesses[k], packet, 512, (GstClockTime)i * 288000);
    }
    gst_harness_push_event (harnesses[k], gst_event_new_eos ());
    fail_unless_equals_uint64 (packet_harness_count (harnesses[k], "uncalibrated"), 0);
    fail_unless_equals_int (packet_harness_take_warnings (harnesses[k], NULL), 0);
  }
  g_unlink (path);
  fail_unless_equals_int (
      gst_harness_buffers_in_queue (harnesses[0]), gst_harness_buffers_in_queue (harnesses[1]));
  while (gst_harness_buffers_in_queue (harnesses[0]) > 0) {
    g_autofree PacketPoint *a = packet_harness_take_points (gst_harness_pull (harnesses[0]), &n[0]);
    g_autofree PacketPoint *b = packet_harness_take_points (gst_harness_pull (harnesses[1]), &n[1]);
    fail_unless_equals_int (n[0], n[1]);
    for (guint i = 0; i < n[0]; i++) {
      fail_unless (fabs (a[i].x - b[i].x) < 1e-5 && fabs (a[i].y - b[i].y) < 1e-5);
      fail_unless (fabs (a[i].z - b[i].z) < 1e-5 && a[i].ring == b[i].ring);
    }
  }
  packet_harness_free (harnesses[0]);
  packet_harness_free (harnesses[1]);
}
GST_END_TEST;

/* Two returns of an HDL-64E: upper and lower bank of the strongest, then of the last, 57.6 us a
 * firing; then packets with one return again. */
GST_START_TEST (test_hdl_64e_dual)
{
  g_autoptr (GString) text = g_string_new ("lasers:\n");
  g_autofree gchar *path = NULL;
  guint8 packet[SIZE];
  guint n;
  for (guint i = 0; i < 64; i++)
    g_string_append_printf (text, "- {laser_id: %u, vert_correction: %g%s}\n", i, 0.001 * i,
        __i__ == 0 ? "" : ", vert_offset_correction: 1e-9");
  g_close (g_file_open_tmp ("velodyne-XXXXXX.yaml", &path, NULL), NULL);
  g_file_set_contents (path, text->str, -1, NULL);
  g_autofree gchar *line = g_strdup_printf ("velodynedec calibration-location=\"%s\"", path);
  GstHarness *harness = packet_harness_new (line);
  g_unlink (path);
  velodyne_make_packet (packet, 0, 0, 0);
  for (guint block = 0; block < 12; block++) {
    velodyne_write_u16 (packet + block * 100, block % 2 == 0 ? 0xeeff : 0xddff);
    velodyne_write_u16 (packet + block * 100 + 2, 100 + block / 4 * 20);
  }
  /* Laser 1 has another last return, farther away; lasers 2 and 34 have none; of laser 35 the last
   * one alone is lost. */
  velodyne_write_u16 (packet + 2 * 100 + 4 + 3 * 1, 6000);
  for (guint block = 0; block < 4; block++)
    velodyne_write_u16 (packet + block * 100 + 4 + 3 * 2, 0);
  velodyne_write_u16 (packet + 3 * 100 + 4 + 3 * 3, 0);
  packet_harness_push (harness, packet, SIZE, 0);
  /* One return; the first of it is three firings later. */
  for (guint block = 0; block < 12; block++)
    velodyne_write_u16 (packet + block * 100 + 2, 160 + block / 2 * 17);
  packet[1200] = 173;
  packet_harness_push (harness, packet, SIZE, 173000);
  gst_harness_push_event (harness, gst_event_new_eos ());
  fail_unless_equals_uint64 (packet_harness_count (harness, "corrupt"), 0);
  g_autofree PacketPoint *points = packet_harness_take_points (gst_harness_pull (harness), &n);
  fail_unless_equals_int (n, 3 * 64 + 1 - 2 + 12 * 32 - 5);
  for (guint i = 0; i < 63; i++) {
    const guint laser = i < 2 ? i : i == 2 ? 1 : i < 34 ? i : i + 1;
    const gdouble time = laser % 32 / 4 * 7.2 + (const gdouble[]){0, 1.3, 2.5, 3.7}[laser % 4];
    const gdouble range = hypot (hypot (points[i].x, points[i].y), points[i].z);
    fail_unless_equals_int (points[i].ring, laser);
    fail_unless_equals_int (points[i].kind, i == 1 ? PACKET_RETURN_LAST : PACKET_RETURN_STRONGEST);
    fail_unless (fabs (range - (i == 1 ? 12 : 10)) < 1e-5);
    fail_unless (fabs (points[i].time * 1e6 - time) < 0.001, "%u: %g", laser, points[i].time);
    const gdouble azimuth = -atan2 (points[i].y, points[i].x) * 180 / G_PI;
    fail_unless (fabs (azimuth - 1 - 0.2 * time / 57.6) < 1e-4, "%u: %g", laser, azimuth);
  }
  fail_unless (fabs (points[63].time * 1e6 - 57.6) < 0.001);
  fail_unless (fabs (points[127].time * 1e6 - 115.2) < 0.001);
  /* The last four of a bank, of the first firing with one return. */
  const PacketPoint *one = points + 191;
  fail_unless (fabs (one[30].time * 1e6 - 173 - 45.66) < 0.001, "%g", one[30].time);
  fail_unless_equals_int (one[30].ring, 31);
  packet_harness_free (harness);
}
GST_END_TEST;

/* Packets of another sensor do not wait for an HDL-64E's calibration. */
GST_START_TEST (test_bad_packets_before_calibration)
{
  GstHarness *harness = packet_harness_new ("velodynedec model=hdl-64e");
  g_autofree gchar *text = NULL;
  guint8 packet[SIZE];
  velodyne_make_packet (packet, 0, STRONGEST, VLP_16);
  packet_harness_push (harness, packet, SIZE, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "wrong-model"), 1);
  fail_unless_equals_int (packet_harness_take_warnings (harness, &text), 1);
  fail_unless (strstr (text, "VLP-16") && strstr (text, "HDL-64E"), "%s", text);
  packet_harness_push (harness, packet, SIZE - 1, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "bad-size"), 1);
  packet[0] = 0;
  packet_harness_push (harness, packet, SIZE, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "foreign"), 1);
  gst_harness_push_event (harness, gst_event_new_eos ());
  fail_unless_equals_uint64 (packet_harness_count (harness, "uncalibrated"), 0);
  packet_harness_free (harness);
}
GST_END_TEST;

static Suite *
velodyne_hdl64e_suite (void)
{
  Suite *suite = suite_create ("velodyne-hdl64e");
  TCase *tests = tcase_create ("general");
  suite_add_tcase (suite, tests);
  tcase_add_loop_test (tests, test_hdl_64e, 0, 4);
  tcase_add_loop_test (tests, test_hdl_64e_dual, 0, 2);
  tcase_add_test (tests, test_bad_packets_before_calibration);
  return suite;
}

GST_CHECK_MAIN (velodyne_hdl64e);
