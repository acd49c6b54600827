/* SPDX-License-Identifier: MIT */
#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>
#include <gst/pointcloud/pointcloud.h>

#include <glib/gstdio.h>

#include <math.h>
#include <string.h>

#include "packet-harness.h"
#include "velodyne-packets.h"

static void
push_packets (GstHarness *harness, guint from, guint n)
{
  guint8 packet[SIZE];
  for (guint i = from; i < from + n; i++) {
    velodyne_make_packet (packet, i, STRONGEST, VLP_16);
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
      "velodynedec model=%s calibration-location=\"%s\"", __i__ == 0 ? "vls-128" : "hdl-64e", path);
  GstHarness *harness = packet_harness_new (line);
  g_unlink (path);
  velodyne_make_packet (packet, 0, __i__ == 0 ? STRONGEST : 0, __i__ == 0 ? 0xa1 : 0);
  for (guint block = 0; block < 12; block++) {
    velodyne_write_u16 (packet + block * 100, flags[block % (n_lasers / 32)]);
    velodyne_write_u16 (packet + block * 100 + 2, 0);
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

/* Downstream's format, of the same points; CUSTOM where it takes any. */
GST_START_TEST (test_formats)
{
  static const struct {
    const gchar *format;
    guint step;
    const gchar *fields;
  } formats[] = {{"XYZIRT", 24, ""}, {"XYZI_F32LE", 16, ""}, {"XYZ_F32LE", 12, ""},
      {"CUSTOM", 24, ""},
      {"CUSTOM", 16, ",point-step=16,fields=\"x:F32:0,y:F32:4,z:F32:8,time:F32:12\""}};
  const guint step = formats[__i__].step;
  const gboolean is_timed = *formats[__i__].fields != 0;
  g_autofree gchar *wanted = g_strdup_printf (
      "pointcloud/x-raw,format=%s%s", formats[__i__].format, formats[__i__].fields);
  GstHarness *all = packet_harness_new ("velodynedec");
  GstHarness *some = gst_harness_new ("velodynedec");
  guint8 packet[SIZE];
  GstMapInfo map;
  guint n;
  GstSegment segment;
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_harness_set_sink_caps_str (some, wanted);
  gst_harness_play (some);
  gst_harness_push_event (some, gst_event_new_stream_start ("sensor"));
  gst_harness_push_event (some, gst_event_new_segment (&segment));
  for (guint i = 0; i < 3; i++) {
    velodyne_make_packet (packet, i, STRONGEST, VLP_16);
    packet_harness_push (some, packet, SIZE, (GstClockTime)i * PACKET_NS);
    packet_harness_push (all, packet, SIZE, (GstClockTime)i * PACKET_NS);
  }
  gst_harness_push_event (some, gst_event_new_eos ());
  gst_harness_push_event (all, gst_event_new_eos ());
  g_autofree PacketPoint *points = packet_harness_take_points (gst_harness_pull (all), &n);
  g_autoptr (GstBuffer) buffer = gst_harness_pull (some);
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (some->sinkpad);
  g_autoptr (GstPointCloudInfo) info = gst_point_cloud_info_new_from_caps (caps, NULL);
  fail_unless_equals_string (
      gst_point_cloud_format_to_string (info->format), formats[__i__].format);
  fail_unless_equals_int (info->point_step, step);
  gst_buffer_map (buffer, &map, GST_MAP_READ);
  fail_unless_equals_uint64 (map.size, n * step);
  for (guint i = 0; i < n; i++) {
    const guint8 *point = map.data + i * step;
    fail_unless (memcmp (point, &points[i], is_timed ? 12 : step) == 0);
    fail_unless (!is_timed || memcmp (point + 12, &points[i].time, 4) == 0);
  }
  gst_buffer_unmap (buffer, &map);
  gst_harness_teardown (some);
  packet_harness_free (all);
}
GST_END_TEST;

/* Both returns where they differ, one where they do not, none where there is none. */
GST_START_TEST (test_dual)
{
  GstHarness *harness = packet_harness_new ("velodynedec");
  guint8 packet[SIZE];
  velodyne_make_packet (packet, 0, DUAL, VLP_16);
  velodyne_write_u16 (packet + 4, 6000);    /* laser 0: last is farther */
  velodyne_write_u16 (packet + 100 + 7, 0); /* laser 1: only last */
  velodyne_write_u16 (packet + 10, 0);      /* laser 2: none at all */
  velodyne_write_u16 (packet + 100 + 10, 0);
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
  velodyne_make_packet (packet, 0, STRONGEST, VLP_16);
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

  velodyne_make_packet (packet, 0, STRONGEST, VLP_32C);
  packet_harness_push (harness, packet, SIZE, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "wrong-model"), 1);
  fail_unless_equals_int (packet_harness_take_warnings (harness, &text), 1);
  fail_unless (strstr (text, "VLP-32C") && strstr (text, "VLP-16"), "%s", text);

  /* Two returns with a confidence. */
  velodyne_make_packet (packet, 0, 0x3b, VLP_16);
  packet_harness_push (harness, packet, SIZE, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "wrong-model"), 2);

  static const guint8 corruptions[][2] = {{100, 0}, {103, 0xff}, {203, 0x90}};
  for (guint i = 0; i < G_N_ELEMENTS (corruptions); i++) {
    velodyne_make_packet (packet, 0, STRONGEST, VLP_16);
    packet[corruptions[i][0]] = corruptions[i][1];
    packet_harness_push (harness, packet, SIZE, 0);
  }
  velodyne_make_packet (packet, 0, STRONGEST, VLP_16);
  packet[1203] = 0xff;
  packet_harness_push (harness, packet, SIZE, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "corrupt"), 4);
  /* None of them left anything behind. */
  push_packets (harness, 0, 1);
  gst_harness_push_event (harness, gst_event_new_eos ());
  fail_unless_equals_int (gst_harness_buffers_in_queue (harness), 1);
  fail_unless_equals_uint64 (packet_harness_count (harness, "packets"), 12);
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
    velodyne_make_packet (packet, i, STRONGEST, VLP_16);
    for (guint block = 0; block < 12; block++)
      velodyne_write_u16 (packet + block * 100 + 2, 1234);
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
    velodyne_make_packet (packet, i, STRONGEST, VLP_16);
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
    velodyne_make_packet (packet, i, STRONGEST, VLP_16);
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
    velodyne_make_packet (packet, i, STRONGEST, VLP_16);
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
    velodyne_make_packet (packet, 5000 + i, STRONGEST, VLP_16);
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
    velodyne_make_packet (packet, i, STRONGEST, VLP_16);
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
    velodyne_make_packet (packet, 0, STRONGEST, VLP_16);
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
  quoted = g_strdup_printf ("velodynedec calibration-location=\"%s\"", path);
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

  with_model = g_strdup_printf ("model=vlp-32c calibration-location=\"%s\"", path);
  packet_harness_check_open_fails ("velodynedec", with_model, "16 lasers");
  static const gchar *const bad[][2] = {{"", "no list"}, {"lasers: []", "no list"},
      {"lasers:\n- {laser_id: 1}", "not 0 to 0"}, {"lasers:\n- {vert_correction: 1}", "laser_id"},
      {"lasers:\n- {laser_id: 0, vert_correction: nan}", "vert_correction"}};
  g_autofree gchar *setting = g_strdup_printf ("calibration-location=\"%s\"", path);
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++) {
    g_file_set_contents (path, bad[i][0], -1, NULL);
    packet_harness_check_open_fails ("velodynedec", setting, bad[i][1]);
  }
  g_unlink (path);
  packet_harness_check_open_fails ("velodynedec", setting, "cannot be read");
}
GST_END_TEST;

/* What a unit of range is follows from the model: a file that says otherwise is said and not used.
 */
GST_START_TEST (test_resolution)
{
  static const struct {
    const gchar *line;
    guint n_warnings;
  } cases[] = {{"distance_resolution: 0.007\n", 1}, {"distance_resolution: 0.002\n", 0}, {"", 0}};
  g_autofree gchar *path = NULL, *line = NULL, *text = NULL;
  g_autoptr (GString) lasers = g_string_new (cases[__i__].line);
  guint n;
  g_string_append (lasers, "lasers:\n");
  for (guint i = 0; i < 16; i++)
    g_string_append_printf (lasers, "- {laser_id: %u, vert_correction: 0.0%02u}\n", i, i);
  g_close (g_file_open_tmp ("velodyne-XXXXXX.yaml", &path, NULL), NULL);
  g_file_set_contents (path, lasers->str, -1, NULL);
  line = g_strdup_printf ("velodynedec calibration-location=\"%s\"", path);
  GstHarness *harness = packet_harness_new (line);
  g_unlink (path);
  push_packets (harness, 0, 1);
  fail_unless_equals_int (packet_harness_take_warnings (harness, &text), cases[__i__].n_warnings);
  if (text)
    fail_unless (strstr (text, "0.007") && strstr (text, "0.002"), "%s", text);
  gst_harness_push_event (harness, gst_event_new_eos ());
  g_autofree PacketPoint *points = packet_harness_take_points (gst_harness_pull (harness), &n);
  fail_unless (fabs (hypot (hypot (points[0].x, points[0].y), points[0].z) - 10) < 1e-5);
  packet_harness_free (harness);
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

static Suite *
velodynedec_suite (void)
{
  Suite *suite = suite_create ("velodynedec");
  TCase *tests = tcase_create ("general");
  suite_add_tcase (suite, tests);
  tcase_add_loop_test (tests, test_cut, 0, 4);
  tcase_add_test (tests, test_points);
  tcase_add_loop_test (tests, test_times, 0, 2);
  tcase_add_loop_test (tests, test_formats, 0, 5);
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
  tcase_add_loop_test (tests, test_resolution, 0, 3);
  tcase_add_test (tests, test_segments);
  return suite;
}

GST_CHECK_MAIN (velodynedec);
