/* SPDX-License-Identifier: MIT */
#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>
#include <gst/pointcloud/pointcloud.h>

#include <glib/gstdio.h>

#include <math.h>
#include <string.h>

#include "packet-harness.h"

#define SIZE 1206
#define STRONGEST 0x37
#define DUAL 0x39
#define VLP_16 0x22
#define VLP_32C 0x28

/* A VLP-16 at 10 Hz: 0.4 degrees a block, 1.32 ms a packet. */
#define PACKET_NS 1327104
#define PACKET_AZIMUTH 480

static void
write_u16 (guint8 *data, guint value)
{
  data[0] = (guint8)value;
  data[1] = (guint8)(value >> 8);
}

/* Packet @number of a steady turn: all at 10 m (5000 units), intensity is the laser. */
static void
make_packet (guint8 *packet, guint number, guint8 mode, guint8 product)
{
  const guint returns = mode == DUAL ? 2 : 1;
  const guint64 stamp = (guint64)number * PACKET_NS / returns / 1000;
  memset (packet, 0, SIZE);
  for (guint block = 0; block < 12; block++) {
    guint8 *at = packet + block * 100;
    write_u16 (at, 0xeeff);
    write_u16 (at + 2, (number * PACKET_AZIMUTH / returns + block / returns * 40) % 36000);
    for (guint i = 0; i < 32; i++) {
      write_u16 (at + 4 + 3 * i, 5000);
      at[6 + 3 * i] = (guint8)i;
    }
  }
  for (guint i = 0; i < 4; i++)
    packet[1200 + i] = (guint8)(stamp >> (8 * i));
  packet[1204] = mode;
  packet[1205] = product;
}

static void
push_packets (GstHarness *harness, guint from, guint n)
{
  guint8 packet[SIZE];
  for (guint i = from; i < from + n; i++) {
    make_packet (packet, i, STRONGEST, VLP_16);
    fail_unless_equals_int (
        packet_harness_push (harness, packet, SIZE, GST_SECOND + (GstClockTime)i * PACKET_NS),
        GST_FLOW_OK);
  }
}

/* Scans begin with the first firing at or after the angle, in the middle of a packet and of a
 * block. */
GST_START_TEST (test_cut)
{
  static const gdouble angles[] = {0, 10.1, 359.9, 77.7};
  g_autofree gchar *line = g_strdup_printf ("velodynedec cut-angle=%g", angles[__i__]);
  GstHarness *harness = packet_harness_new (line);
  GstClockTime end = GST_CLOCK_TIME_NONE;
  push_packets (harness, 0, 250);
  gst_harness_push_event (harness, gst_event_new_eos ());
  guint n_scans = gst_harness_buffers_in_queue (harness), n_points = 0;
  /* Three turns and a third; where the first packet begins at the angle, it begins a scan. */
  fail_unless_equals_int (n_scans, __i__ % 2 == 0 ? 4 : 5);
  for (guint scan = 0; scan < n_scans; scan++) {
    GstBuffer *buffer = gst_harness_pull (harness);
    const GstClockTime pts = GST_BUFFER_PTS (buffer), duration = GST_BUFFER_DURATION (buffer);
    guint n;
    /* Scans follow each other without a gap; the sensor counts microseconds. */
    if (scan > 0)
      fail_unless (ABS ((gint64)(pts - end)) <= 1000);
    end = pts + duration;
    const GstReferenceTimestampMeta *meta = gst_buffer_get_reference_timestamp_meta (buffer, NULL);
    fail_unless (ABS ((gint64)(pts - GST_SECOND - meta->timestamp)) <= 1000);
    g_autofree PacketPoint *points = packet_harness_take_points (buffer, &n);
    n_points += n;
    fail_unless (points[0].time >= 0 && points[0].time < 1e-6f);
    /* 1800 firings a turn, 0.2 degrees and 55.296 us apart. */
    if (scan > 0 && scan + 1 < n_scans) {
      fail_unless_equals_int (n, 1800 * 16);
      fail_unless (ABS ((gint64)duration - 99532800) < 2000, "%" G_GUINT64_FORMAT, duration);
      gdouble azimuth = -atan2 (points[0].y, points[0].x) * 180 / G_PI - angles[__i__];
      azimuth -= 360 * floor (azimuth / 360 + 1e-6);
      fail_unless (azimuth < 0.201, "%g", azimuth);
    }
    for (guint i = 0; i < n; i++)
      fail_unless (points[i].time * 1e9 < (gdouble)duration);
  }
  fail_unless_equals_int (n_points, 250 * 12 * 32);
  packet_harness_free (harness);
}
GST_END_TEST;

/* Angles, rings, times and heights of a VLP-16's lasers by hand. */
GST_START_TEST (test_points)
{
  GstHarness *harness = packet_harness_new ("velodynedec");
  push_packets (harness, 0, 1);
  gst_harness_push_event (harness, gst_event_new_eos ());
  guint n;
  g_autofree PacketPoint *points = packet_harness_take_points (gst_harness_pull (harness), &n);
  fail_unless_equals_int (n, 12 * 32);
  for (guint i = 0; i < n; i++) {
    const guint laser = i % 16, firing = i / 16;
    const gdouble elevation = (laser % 2 == 0 ? -15.0 + laser : 1.0 + (laser - 1)) * G_PI / 180;
    const gdouble time = firing * 55.296e-6 + laser * 2.304e-6;
    const gdouble azimuth = time / 110.592e-6 * 0.4 * G_PI / 180;
    /* 10 m in float. */
    fail_unless (fabs (points[i].x - 10 * cos (elevation) * cos (azimuth)) < 4e-6);
    fail_unless (fabs (points[i].y + 10 * cos (elevation) * sin (azimuth)) < 4e-6);
    fail_unless (fabs (points[i].z - 10 * sin (elevation) + 0.0419 * tan (elevation)) < 4e-6);
    fail_unless (fabs (points[i].time - time) < 2e-9);
    fail_unless_equals_int (points[i].ring, (guint)lround ((elevation * 180 / G_PI + 15) / 2));
    fail_unless_equals_float (points[i].intensity, i % 32);
    fail_unless_equals_int (points[i].kind, PACKET_RETURN_STRONGEST);
  }
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (harness->sinkpad);
  g_autoptr (GstPointCloudInfo) info = gst_point_cloud_info_new_from_caps (caps, NULL);
  fail_unless (info && gst_point_cloud_info_has_xyz (info, NULL));
  fail_unless_equals_int (gst_point_cloud_info_find_field (info, "time")->offset, 20);
  fail_unless_equals_int (gst_point_cloud_info_find_field (info, "return")->offset, 18);
  packet_harness_free (harness);
}
GST_END_TEST;

/* When lasers of a firing fire, µs, where they do not follow each other evenly: groups of eight of
 * a VLS-128, two slots of 20 idle after the eighth, and those of a bank of an HDL-64E in fours. */
GST_START_TEST (test_times)
{
  static const struct {
    guint laser;
    gdouble time;
  } times[2][6] = {{{0, 0}, {8, 2.665}, {63, 18.655}, {64, 26.65}, {127, 45.305}, {71, 26.65}},
      {{0, 0}, {1, 1.26}, {3, 3.66}, {4, 6}, {31, 45.66}, {63, 45.66}}};
  static const guint flags[] = {0xeeff, 0xddff, 0xccff, 0xbbff};
  const guint n_lasers = __i__ == 0 ? 128 : 64;
  g_autoptr (GString) text = g_string_new ("lasers:\n");
  g_autofree gchar *path = NULL;
  guint8 packet[SIZE];
  guint n;
  for (guint i = 0; i < n_lasers; i++)
    g_string_append_printf (text, "- {laser_id: %u, vert_correction: 0}\n", i);
  g_close (g_file_open_tmp ("velodyne-XXXXXX.yaml", &path, NULL), NULL);
  g_file_set_contents (path, text->str, -1, NULL);
  g_autofree gchar *line = g_strdup_printf (
      "velodynedec model=%s calibration=\"%s\"", __i__ == 0 ? "vls-128" : "hdl-64e", path);
  GstHarness *harness = packet_harness_new (line);
  g_unlink (path);
  make_packet (packet, 0, __i__ == 0 ? STRONGEST : 0, __i__ == 0 ? 0xa1 : 0);
  for (guint block = 0; block < 12; block++) {
    write_u16 (packet + block * 100, flags[block % (n_lasers / 32)]);
    write_u16 (packet + block * 100 + 2, 0);
  }
  packet_harness_push (harness, packet, SIZE, 0);
  gst_harness_push_event (harness, gst_event_new_eos ());
  g_autofree PacketPoint *points = packet_harness_take_points (gst_harness_pull (harness), &n);
  fail_unless_equals_int (n, 12 * 32);
  for (guint i = 0; i < G_N_ELEMENTS (times[0]); i++) {
    const gdouble time = (gdouble)points[times[__i__][i].laser].time * 1e6;
    fail_unless (fabs (time - times[__i__][i].time) < 0.002, "%u: %g", times[__i__][i].laser, time);
  }
  packet_harness_free (harness);
}
GST_END_TEST;

/* Both returns where they differ, one where they do not, none where there is none. */
GST_START_TEST (test_dual)
{
  GstHarness *harness = packet_harness_new ("velodynedec");
  guint8 packet[SIZE];
  make_packet (packet, 0, DUAL, VLP_16);
  write_u16 (packet + 4, 6000);    /* laser 0: last is farther */
  write_u16 (packet + 100 + 7, 0); /* laser 1: only last */
  write_u16 (packet + 10, 0);      /* laser 2: none at all */
  write_u16 (packet + 100 + 10, 0);
  packet_harness_push (harness, packet, SIZE, 0);
  gst_harness_push_event (harness, gst_event_new_eos ());
  guint n, counts[3] = {0};
  g_autofree PacketPoint *points = packet_harness_take_points (gst_harness_pull (harness), &n);
  fail_unless_equals_int (n, 6 * 32 + 1 - 1);
  for (guint i = 0; i < n; i++)
    counts[points[i].kind]++;
  fail_unless_equals_int (counts[PACKET_RETURN_LAST], 2);
  fail_unless_equals_int (points[0].kind, PACKET_RETURN_LAST);
  fail_unless (fabs (hypot (points[0].x, points[0].y) - 12 * cos (G_PI / 12)) < 1e-5);
  fail_unless (fabs (hypot (points[1].x, points[1].y) - 10 * cos (G_PI / 12)) < 1e-5);
  /* A pair of blocks takes the time of one. */
  fail_unless (fabs (points[n - 1].time - (5 * 110.592e-6 + 55.296e-6 + 15 * 2.304e-6)) < 1e-8);
  packet_harness_free (harness);
}
GST_END_TEST;

GST_START_TEST (test_bad_packets)
{
  GstHarness *harness = packet_harness_new ("velodynedec model=vlp-16");
  g_autofree gchar *text = NULL;
  guint8 packet[2000] = {0};
  make_packet (packet, 0, STRONGEST, VLP_16);
  packet_harness_push (harness, packet, SIZE - 1, 0);
  packet_harness_push (harness, packet, SIZE + 1, 0);
  packet_harness_push (harness, packet, 0, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "bad-size"), 3);
  /* At a limited rate. */
  fail_unless_equals_int (packet_harness_take_warnings (harness, &text), 1);
  fail_unless (strstr (text, "1205 bytes instead of 1206") != NULL, "%s", text);

  packet_harness_push (harness, packet, 512, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "other"), 1);
  packet[0] = 0;
  packet_harness_push (harness, packet, SIZE, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "foreign"), 1);
  packet_harness_take_warnings (harness, NULL);

  make_packet (packet, 0, STRONGEST, VLP_32C);
  packet_harness_push (harness, packet, SIZE, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "wrong-model"), 1);
  fail_unless_equals_int (packet_harness_take_warnings (harness, &text), 1);
  fail_unless (strstr (text, "VLP-32C") && strstr (text, "VLP-16"), "%s", text);

  static const guint8 corruptions[][2] = {{100, 0}, {103, 0xff}, {203, 0x90}};
  for (guint i = 0; i < G_N_ELEMENTS (corruptions); i++) {
    make_packet (packet, 0, STRONGEST, VLP_16);
    packet[corruptions[i][0]] = corruptions[i][1];
    packet_harness_push (harness, packet, SIZE, 0);
  }
  make_packet (packet, 0, STRONGEST, VLP_16);
  packet[1203] = 0xff;
  packet_harness_push (harness, packet, SIZE, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "corrupt"), 4);
  /* None of them left anything behind. */
  push_packets (harness, 0, 1);
  gst_harness_push_event (harness, gst_event_new_eos ());
  fail_unless_equals_int (gst_harness_buffers_in_queue (harness), 1);
  fail_unless_equals_uint64 (packet_harness_count (harness, "packets"), 11);
  packet_harness_free (harness);
}
GST_END_TEST;

/* Swapped packets lose nothing within a scan; doubled ones count once. */
GST_START_TEST (test_order)
{
  GstHarness *harness = packet_harness_new ("velodynedec");
  guint n_points = 0, n;
  push_packets (harness, 0, 10);
  push_packets (harness, 11, 1);
  push_packets (harness, 10, 1);
  push_packets (harness, 12, 1);
  push_packets (harness, 12, 1);
  push_packets (harness, 13, 60);
  fail_unless_equals_uint64 (packet_harness_count (harness, "duplicates"), 1);
  fail_unless_equals_uint64 (packet_harness_count (harness, "late"), 0);
  push_packets (harness, 73, 10);
  /* Of the scan that was pushed already. */
  push_packets (harness, 50, 1);
  fail_unless_equals_uint64 (packet_harness_count (harness, "late"), 1);
  gst_harness_push_event (harness, gst_event_new_eos ());
  while (gst_harness_buffers_in_queue (harness) > 0) {
    g_autofree PacketPoint *points = packet_harness_take_points (gst_harness_pull (harness), &n);
    n_points += n;
    for (guint i = 0; i < n; i++)
      fail_unless (points[i].time >= 0 && points[i].time < 0.1f);
  }
  fail_unless_equals_int (n_points, 83 * 12 * 32);
  packet_harness_free (harness);
}
GST_END_TEST;

/* A motor that stands: nothing is pushed, however long it lasts, and the next turn is whole. */
GST_START_TEST (test_stall)
{
  GstHarness *harness = packet_harness_new ("velodynedec");
  g_autofree gchar *text = NULL;
  guint8 packet[SIZE];
  for (guint i = 0; i < 2000; i++) {
    make_packet (packet, i, STRONGEST, VLP_16);
    for (guint block = 0; block < 12; block++)
      write_u16 (packet + block * 100 + 2, 1234);
    packet_harness_push (harness, packet, SIZE, (GstClockTime)i * PACKET_NS);
  }
  fail_unless_equals_int (gst_harness_buffers_in_queue (harness), 0);
  fail_unless (packet_harness_count (harness, "stalled") >= 5);
  fail_unless_equals_int (packet_harness_take_warnings (harness, &text), 1);
  fail_unless (strstr (text, "stands still") != NULL, "%s", text);
  push_packets (harness, 2000, 200);
  fail_unless (gst_harness_buffers_in_queue (harness) >= 2);
  packet_harness_free (harness);
}
GST_END_TEST;

/* The sensor begins to count anew; an interruption ends a scan. */
GST_START_TEST (test_restart_and_gap)
{
  GstHarness *harness = packet_harness_new ("velodynedec");
  guint8 packet[SIZE];
  push_packets (harness, 1000, 30);
  for (guint i = 0; i < 20; i++) {
    make_packet (packet, i, STRONGEST, VLP_16);
    packet_harness_push (harness, packet, SIZE, 10 * GST_SECOND + (GstClockTime)i * PACKET_NS);
  }
  fail_unless_equals_uint64 (packet_harness_count (harness, "restarts"), 1);
  fail_unless_equals_int (packet_harness_take_warnings (harness, NULL), 1);
  push_packets (harness, 200, 10);
  fail_unless_equals_uint64 (packet_harness_count (harness, "gaps"), 1);
  gst_harness_push_event (harness, gst_event_new_eos ());
  static const guint n_packets[] = {30, 20, 10};
  for (guint i = 0; i < 3; i++) {
    guint n;
    GstBuffer *buffer = gst_harness_pull (harness);
    if (i == 1)
      fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), 10 * GST_SECOND);
    g_free (packet_harness_take_points (buffer, &n));
    fail_unless_equals_int (n, n_packets[i] * 12 * 32);
  }
  packet_harness_free (harness);
}
GST_END_TEST;

/* A capture of less than a second that is read in a loop: the round after is not late. */
GST_START_TEST (test_discont)
{
  GstHarness *harness = packet_harness_new ("velodynedec");
  guint8 packet[SIZE];
  guint n;
  push_packets (harness, 0, 30);
  for (guint i = 0; i < 30; i++) {
    make_packet (packet, i, STRONGEST, VLP_16);
    GstBuffer *buffer = gst_buffer_new_memdup (packet, SIZE);
    GST_BUFFER_PTS (buffer) = 10 * GST_SECOND + (GstClockTime)i * PACKET_NS;
    if (i == 0)
      GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_DISCONT);
    fail_unless_equals_int (gst_harness_push (harness, buffer), GST_FLOW_OK);
  }
  fail_unless_equals_uint64 (packet_harness_count (harness, "restarts"), 1);
  fail_unless_equals_uint64 (packet_harness_count (harness, "late"), 0);
  gst_harness_push_event (harness, gst_event_new_eos ());
  for (guint i = 0; i < 2; i++) {
    GstBuffer *buffer = gst_harness_pull (harness);
    fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), (i > 0 ? 10 : 1) * GST_SECOND);
    g_free (packet_harness_take_points (buffer, &n));
    fail_unless_equals_int (n, 30 * 12 * 32);
  }
  packet_harness_free (harness);
}
GST_END_TEST;

/* The same few packets again and again do not fill the memory. */
GST_START_TEST (test_repeated)
{
  GstHarness *harness = packet_harness_new ("velodynedec");
  guint n;
  for (guint i = 0; i < 9000; i++)
    push_packets (harness, i % 3, 1);
  fail_unless (packet_harness_count (harness, "late") > 0);
  gst_harness_push_event (harness, gst_event_new_eos ());
  fail_unless_equals_int (gst_harness_buffers_in_queue (harness), 1);
  g_free (packet_harness_take_points (gst_harness_pull (harness), &n));
  fail_unless (n <= 1 << 21, "%u points", n);
  packet_harness_free (harness);
}
GST_END_TEST;

/* At the full hour the sensor's time begins anew; the scan's and the reference's go on. */
GST_START_TEST (test_hour)
{
  GstHarness *harness = packet_harness_new ("velodynedec");
  guint8 packet[SIZE];
  const guint64 begin = 3600000000u - 75 * PACKET_NS / 1000 - 20000;
  for (guint i = 0; i < 160; i++) {
    make_packet (packet, i, STRONGEST, VLP_16);
    const guint64 stamp = (begin + (guint64)i * PACKET_NS / 1000) % 3600000000u;
    for (guint k = 0; k < 4; k++)
      packet[1200 + k] = (guint8)(stamp >> (8 * k));
    packet_harness_push (harness, packet, SIZE, (GstClockTime)i * PACKET_NS);
  }
  gst_harness_push_event (harness, gst_event_new_eos ());
  fail_unless_equals_int (gst_harness_buffers_in_queue (harness), 3);
  fail_unless_equals_uint64 (packet_harness_count (harness, "restarts"), 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "late"), 0);
  GstClockTime last = 0;
  for (guint i = 0; i < 3; i++) {
    g_autoptr (GstBuffer) buffer = gst_harness_pull (harness);
    const GstReferenceTimestampMeta *meta = gst_buffer_get_reference_timestamp_meta (buffer, NULL);
    fail_unless (meta->timestamp > last);
    fail_unless (GST_BUFFER_DURATION (buffer) < 100 * GST_MSECOND);
    last = meta->timestamp;
  }
  fail_unless (last > 3600 * GST_SECOND && last < 3601 * GST_SECOND);
  packet_harness_free (harness);
}
GST_END_TEST;

/* Behind a source without stamps the sensor's clock makes them. */
GST_START_TEST (test_no_stamps)
{
  GstHarness *harness = packet_harness_new ("velodynedec");
  guint8 packet[SIZE];
  for (guint i = 0; i < 160; i++) {
    make_packet (packet, 5000 + i, STRONGEST, VLP_16);
    packet_harness_push (harness, packet, SIZE, GST_CLOCK_TIME_NONE);
  }
  GstClockTime end = 0;
  for (guint i = 0; i < 2; i++) {
    g_autoptr (GstBuffer) buffer = gst_harness_pull (harness);
    fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), end);
    end += GST_BUFFER_DURATION (buffer);
  }
  packet_harness_free (harness);
}
GST_END_TEST;

GST_START_TEST (test_latency)
{
  GstHarness *harness = packet_harness_new ("velodynedec");
  gst_harness_set_upstream_latency (harness, 3 * GST_MSECOND);
  fail_unless_equals_uint64 (gst_harness_query_latency (harness), 103 * GST_MSECOND);
  /* Twice as fast: half the distance in time between the same azimuths. */
  guint8 packet[SIZE];
  for (guint i = 0; i < 250; i++) {
    make_packet (packet, i, STRONGEST, VLP_16);
    const guint stamp = i * PACKET_NS / 2000;
    for (guint k = 0; k < 4; k++)
      packet[1200 + k] = (guint8)(stamp >> (8 * k));
    packet_harness_push (harness, packet, SIZE, (GstClockTime)i * PACKET_NS / 2);
  }
  const GstClockTime latency = gst_harness_query_latency (harness);
  fail_unless (latency > 52 * GST_MSECOND && latency < 54 * GST_MSECOND);
  packet_harness_free (harness);
}
GST_END_TEST;

/* After a flush nothing of before is left. */
GST_START_TEST (test_flush)
{
  GstHarness *harness = packet_harness_new ("velodynedec");
  GstSegment segment;
  guint n;
  push_packets (harness, 0, 10);
  fail_unless (gst_harness_push_event (harness, gst_event_new_flush_start ()));
  fail_unless (gst_harness_push_event (harness, gst_event_new_flush_stop (TRUE)));
  gst_segment_init (&segment, GST_FORMAT_TIME);
  fail_unless (gst_harness_push_event (harness, gst_event_new_segment (&segment)));
  push_packets (harness, 0, 5);
  gst_harness_push_event (harness, gst_event_new_eos ());
  g_free (packet_harness_take_points (gst_harness_pull (harness), &n));
  fail_unless_equals_int (n, 5 * 12 * 32);
  fail_unless_equals_int (gst_harness_buffers_in_queue (harness), 0);
  packet_harness_free (harness);
}
GST_END_TEST;

/* Back by more than half of the hour, as by a seek, or in a capture that begins anew with another
 * segment: it is the same hour. */
GST_START_TEST (test_same_hour)
{
  const gboolean flushes = __i__;
  GstHarness *harness = packet_harness_new ("velodynedec");
  GstSegment segment;
  guint8 packet[SIZE];
  for (guint turn = 0; turn < 2; turn++) {
    const guint32 stamp = turn == 0 ? 3000000000u : 60000000;
    make_packet (packet, 0, STRONGEST, VLP_16);
    for (guint k = 0; k < 4; k++)
      packet[1200 + k] = (guint8)(stamp >> (8 * k));
    if (turn == 1) {
      if (flushes) {
        gst_harness_push_event (harness, gst_event_new_flush_start ());
        gst_harness_push_event (harness, gst_event_new_flush_stop (TRUE));
      }
      gst_segment_init (&segment, GST_FORMAT_TIME);
      segment.base = 10 * GST_SECOND;
      gst_harness_push_event (harness, gst_event_new_segment (&segment));
    }
    packet_harness_push (harness, packet, SIZE, GST_SECOND);
  }
  gst_harness_push_event (harness, gst_event_new_eos ());
  if (!flushes)
    gst_buffer_unref (gst_harness_pull (harness));
  g_autoptr (GstBuffer) buffer = gst_harness_pull (harness);
  const GstReferenceTimestampMeta *meta = gst_buffer_get_reference_timestamp_meta (buffer, NULL);
  fail_unless_equals_uint64 (meta->timestamp, 60 * GST_SECOND);
  packet_harness_free (harness);
}
GST_END_TEST;

GST_START_TEST (test_calibration)
{
  g_autofree gchar *path = NULL, *quoted = NULL, *with_model = NULL;
  g_autoptr (GString) text = g_string_new ("lasers:\n");
  for (guint i = 0; i < 16; i++)
    g_string_append_printf (text,
        "- {laser_id: %u, rot_correction: -0.1, vert_correction: 0.%02u,\n"
        "   vert_offset_correction: 0.5, dist_correction: 0.25} # laser\n",
        i, i);
  g_close (g_file_open_tmp ("velodyne-XXXXXX.yaml", &path, NULL), NULL);
  g_file_set_contents (path, text->str, -1, NULL);
  quoted = g_strdup_printf ("velodynedec calibration=\"%s\"", path);
  GstHarness *harness = packet_harness_new (quoted);
  push_packets (harness, 0, 1);
  gst_harness_push_event (harness, gst_event_new_eos ());
  guint n;
  g_autofree PacketPoint *points = packet_harness_take_points (gst_harness_pull (harness), &n);
  for (guint i = 0; i < 16; i++) {
    const gdouble elevation = i * 0.01;
    const gdouble flat = 10.25 * cos (elevation) - 0.5 * sin (elevation);
    const gdouble azimuth = 0.1 + i * 2.304 / 110.592 * 0.4 * G_PI / 180;
    fail_unless (fabs (points[i].x - flat * cos (azimuth)) < 4e-6);
    fail_unless (fabs (points[i].y + flat * sin (azimuth)) < 4e-6);
    fail_unless (fabs (points[i].z - 10.25 * sin (elevation) - 0.5 * cos (elevation)) < 4e-6);
    fail_unless_equals_int (points[i].ring, i);
  }
  packet_harness_free (harness);

  with_model = g_strdup_printf ("model=vlp-32c calibration=\"%s\"", path);
  packet_harness_check_open_fails ("velodynedec", with_model, "16 lasers");
  static const gchar *const bad[][2] = {{"", "no list"}, {"lasers: []", "no list"},
      {"lasers:\n- {laser_id: 1}", "not 0 to 0"}, {"lasers:\n- {vert_correction: 1}", "laser_id"},
      {"lasers:\n- {laser_id: 0, vert_correction: nan}", "vert_correction"}};
  g_autofree gchar *setting = g_strdup_printf ("calibration=\"%s\"", path);
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++) {
    g_file_set_contents (path, bad[i][0], -1, NULL);
    packet_harness_check_open_fails ("velodynedec", setting, bad[i][1]);
  }
  g_unlink (path);
  packet_harness_check_open_fails ("velodynedec", setting, "cannot be read");
}
GST_END_TEST;

/* A funnel of two sockets repeats the segment at each change; another one ends a scan. */
GST_START_TEST (test_segments)
{
  GstHarness *harness = packet_harness_new ("velodynedec");
  GstSegment segment;
  gst_segment_init (&segment, GST_FORMAT_TIME);
  push_packets (harness, 0, 10);
  gst_harness_push_event (harness, gst_event_new_segment (&segment));
  fail_unless_equals_int (gst_harness_buffers_in_queue (harness), 0);
  push_packets (harness, 10, 10);
  segment.start = GST_SECOND;
  gst_harness_push_event (harness, gst_event_new_segment (&segment));
  fail_unless_equals_int (gst_harness_buffers_in_queue (harness), 1);
  guint n;
  g_autofree PacketPoint *points = packet_harness_take_points (gst_harness_pull (harness), &n);
  fail_unless_equals_int (n, 20 * 12 * 32);
  packet_harness_free (harness);
}
GST_END_TEST;

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
    write_u16 (laser + 1, (guint)((gint)(laser[0] * 40) - 2000)); /* 0.01 degrees */
    write_u16 (laser + 3, (guint)(-100 - (gint)laser[0]));        /* the same */
    write_u16 (laser + 5, 1200);                                  /* mm */
    write_u16 (laser + 7, 1210);
    write_u16 (laser + 9, 1220);
    write_u16 (laser + 11, 200);
    write_u16 (laser + 13, (guint)-26);
    for (guint k = 1; k < 21; k++)
      for (guint bit = 0; bit < 8; bit++) {
        const guint top = (crc >> 15 ^ laser[k] >> (7 - bit)) & 1;
        crc = (crc << 1 ^ (top ? 0x8005 : 0)) & 0xffff;
      }
  }
  write_u16 (status + STATUS_SIZE - 2, is_s3 ? crc : STATUS_SIZE);
}

/* Packet @number of an HDL-64E; the first two blocks are at 10 m, the others have no returns. */
static void
make_hdl_64e (guint8 *packet, guint number, const guint8 *status, gboolean is_s3)
{
  make_packet (packet, 0, 0, 0);
  memset (packet + 200, 0, 1000);
  for (guint block = 0; block < 12; block++) {
    write_u16 (packet + block * 100, block % 2 == 0 ? 0xeeff : 0xddff);
    write_u16 (packet + block * 100 + 2, (number * 6 + block / 2) * 18 % 36000);
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
  g_autofree gchar *line = g_strdup_printf ("velodynedec calibration=\"%s\"", path);
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
  g_autofree gchar *line = g_strdup_printf ("velodynedec calibration=\"%s\"", path);
  GstHarness *harness = packet_harness_new (line);
  g_unlink (path);
  make_packet (packet, 0, 0, 0);
  for (guint block = 0; block < 12; block++) {
    write_u16 (packet + block * 100, block % 2 == 0 ? 0xeeff : 0xddff);
    write_u16 (packet + block * 100 + 2, 100 + block / 4 * 20);
  }
  /* Laser 1 has another last return, farther away; lasers 2 and 34 have none; of laser 35 the last
   * one alone is lost. */
  write_u16 (packet + 2 * 100 + 4 + 3 * 1, 6000);
  for (guint block = 0; block < 4; block++)
    write_u16 (packet + block * 100 + 4 + 3 * 2, 0);
  write_u16 (packet + 3 * 100 + 4 + 3 * 3, 0);
  packet_harness_push (harness, packet, SIZE, 0);
  /* One return; the first of it is three firings later. */
  for (guint block = 0; block < 12; block++)
    write_u16 (packet + block * 100 + 2, 160 + block / 2 * 17);
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
  make_packet (packet, 0, STRONGEST, VLP_16);
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
velodynedec_suite (void)
{
  Suite *suite = suite_create ("velodynedec");
  TCase *tests = tcase_create ("general");
  suite_add_tcase (suite, tests);
  tcase_add_loop_test (tests, test_cut, 0, 4);
  tcase_add_test (tests, test_points);
  tcase_add_loop_test (tests, test_times, 0, 2);
  tcase_add_test (tests, test_dual);
  tcase_add_test (tests, test_bad_packets);
  tcase_add_test (tests, test_order);
  tcase_add_test (tests, test_stall);
  tcase_add_test (tests, test_restart_and_gap);
  tcase_add_test (tests, test_discont);
  tcase_add_test (tests, test_repeated);
  tcase_add_test (tests, test_hour);
  tcase_add_test (tests, test_no_stamps);
  tcase_add_test (tests, test_latency);
  tcase_add_test (tests, test_flush);
  tcase_add_loop_test (tests, test_same_hour, 0, 2);
  tcase_add_test (tests, test_calibration);
  tcase_add_test (tests, test_segments);
  tcase_add_loop_test (tests, test_hdl_64e, 0, 4);
  tcase_add_loop_test (tests, test_hdl_64e_dual, 0, 2);
  tcase_add_test (tests, test_bad_packets_before_calibration);
  return suite;
}

GST_CHECK_MAIN (velodynedec);
