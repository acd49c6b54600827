/* SPDX-License-Identifier: MIT */
/* Packets whose times follow on nothing, and packets of other senders: a VLP-16's, the base class
 * judges them for all vendors. */
#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>
#include <gst/net/net.h>

#include <string.h>

#include "packet-harness.h"
#include "velodyne-packets.h"

/* Of packet @number of a steady turn, which says @stamp (µs) and comes from 192.168.1.@host; 0: it
 * does not say where from. */
static void
push (GstHarness *harness, guint number, guint32 stamp, guint8 host)
{
  guint8 packet[SIZE];
  velodyne_make_packet (packet, number, STRONGEST, VLP_16);
  for (guint k = 0; k < 4; k++)
    packet[1200 + k] = (guint8)(stamp >> (8 * k));
  GstBuffer *buffer = gst_buffer_new_memdup (packet, SIZE);
  GST_BUFFER_PTS (buffer) = GST_SECOND + (GstClockTime)number * PACKET_NS;
  if (host > 0) {
    const guint8 bytes[] = {192, 168, 1, host};
    g_autoptr (GInetAddress) address = g_inet_address_new_from_bytes (bytes, G_SOCKET_FAMILY_IPV4);
    g_autoptr (GSocketAddress) from = g_inet_socket_address_new (address, 2368);
    gst_buffer_add_net_address_meta (buffer, from);
  }
  fail_unless_equals_int (gst_harness_push (harness, buffer), GST_FLOW_OK);
}

static guint32
get_stamp (guint number)
{
  return (guint32)((guint64)number * PACKET_NS / 1000);
}

/* Ends the stream: all of @n_packets are in scans, of a turn but for the first and the last. */
static void
check_whole (GstHarness *harness, guint n_packets)
{
  guint n_points = 0, n;
  gst_harness_push_event (harness, gst_event_new_eos ());
  const guint n_scans = gst_harness_buffers_in_queue (harness);
  for (guint i = 0; i < n_scans; i++) {
    GstBuffer *buffer = gst_harness_pull (harness);
    if (i > 0 && i + 1 < n_scans)
      fail_unless (ABS ((gint64)GST_BUFFER_DURATION (buffer) - 99532800) < 2000);
    g_free (packet_harness_take_points (buffer, &n));
    n_points += n;
  }
  fail_unless_equals_int (n_points, n_packets * 12 * 32);
  fail_unless_equals_uint64 (packet_harness_count (harness, "late"), 0);
  packet_harness_free (harness);
}

/* A copy of each seventh packet with a random time, from the sensor's own address or nowhere: no
 * scan is lost, during it or after it. */
GST_START_TEST (test_spoofed)
{
  GstHarness *harness = packet_harness_new ("velodynedec");
  g_autoptr (GRand) rand = g_rand_new_with_seed ((guint32)__i__);
  guint n_spoofed = 0;
  for (guint i = 0; i < 6000; i++) {
    push (harness, i, get_stamp (i), 0);
    if (i % 7 != 3 || i > 5000)
      continue;
    push (harness, i, (guint32)g_rand_int_range (rand, 100 * 1000 * 1000, G_MAXINT32), 0);
    n_spoofed++;
  }
  fail_unless_equals_uint64 (packet_harness_count (harness, "restarts"), 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "bad-time"), n_spoofed);
  /* At a limited rate. */
  fail_unless_equals_int (packet_harness_take_warnings (harness, NULL), 1);
  check_whole (harness, 6000);
}
GST_END_TEST;

/* The stream begins with a foreign packet: the sensor's own are not taken for foreign for long. */
GST_START_TEST (test_foreign_first)
{
  GstHarness *harness = packet_harness_new ("velodynedec");
  push (harness, 0, 2000000000, 0);
  for (guint i = 1; i < 301; i++)
    push (harness, i, get_stamp (i), 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "restarts"), 1);
  fail_unless_equals_uint64 (packet_harness_count (harness, "bad-time"), 0);
  /* The foreign one made a scan of its own. */
  gst_buffer_unref (gst_harness_pull (harness));
  check_whole (harness, 300);
}
GST_END_TEST;

/* The clock is set, ahead and back, by little and much: one event each, no packet is lost but where
 * the new time is that of packets which may be late ones, and at most one scan is cut. */
GST_START_TEST (test_set)
{
  static const gint64 jumps[] = {
      37000000, -37000000, 1500000, -1500000, 300000, 60000, -450000, 1000000000};
  const gint64 jump = jumps[__i__];
  const gboolean is_small = jump < 0 && jump > -1000000;
  GstHarness *harness = packet_harness_new ("velodynedec");
  g_autofree gchar *text = NULL;
  guint n_points = 0, n, n_other = 0;
  for (guint i = 0; i < 600; i++)
    push (harness, i, (guint32)(get_stamp (i) + 100000000 + (i >= 330 ? jump : 0)), 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "restarts"), 1);
  fail_unless_equals_uint64 (packet_harness_count (harness, "bad-time"), 0);
  fail_unless (packet_harness_take_warnings (harness, &text) > 0);
  gst_harness_push_event (harness, gst_event_new_eos ());
  const guint n_scans = gst_harness_buffers_in_queue (harness);
  GstClockTime last = 0;
  for (guint i = 0; i < n_scans; i++) {
    GstBuffer *buffer = gst_harness_pull (harness);
    /* PTS is of arrival's axis, on which nothing was set. */
    fail_unless (i == 0 || GST_BUFFER_PTS (buffer) > last);
    last = GST_BUFFER_PTS (buffer);
    n_other += ABS ((gint64)GST_BUFFER_DURATION (buffer) - 99532800) > 2000;
    g_autofree PacketPoint *points = packet_harness_take_points (buffer, &n);
    for (guint k = 0; k < n; k++)
      fail_unless (points[k].time >= 0 && points[k].time < 0.11f);
    n_points += n;
  }
  /* The two parts of the turn in which it was set. */
  fail_unless (n_other <= 3, "%u", n_other);
  const guint n_lost = 600 - n_points / (12 * 32);
  fail_unless (n_lost <= (is_small ? 75 : 0), "%u packets lost", n_lost);
  packet_harness_free (harness);
}
GST_END_TEST;

/* An interruption is none of these: arrival says as much. */
GST_START_TEST (test_interrupted)
{
  GstHarness *harness = packet_harness_new ("velodynedec");
  for (guint i = 0; i < 300; i++)
    push (harness, i, get_stamp (i), 0);
  for (guint i = 10000; i < 10300; i++)
    push (harness, i, get_stamp (i), 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "restarts"), 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "gaps"), 1);
  fail_unless_equals_uint64 (packet_harness_count (harness, "bad-time"), 0);
  packet_harness_free (harness);
}
GST_END_TEST;

/* A hole of 96 degrees of lost packets is no field of view: turns stay turns. One of the first turn
 * is taken for one until something comes from there. */
GST_START_TEST (test_lost)
{
  const guint from = __i__ == 0 ? 230 : 40;
  GstHarness *harness = packet_harness_new ("velodynedec");
  guint n_turns = 0;
  for (guint i = 0; i < 600; i++)
    if (i < from || i >= from + 20)
      push (harness, i, get_stamp (i), 0);
  gst_harness_push_event (harness, gst_event_new_eos ());
  while (gst_harness_buffers_in_queue (harness) > 0) {
    g_autoptr (GstBuffer) buffer = gst_harness_pull (harness);
    n_turns += ABS ((gint64)GST_BUFFER_DURATION (buffer) - 99532800) < 2000;
  }
  fail_unless (n_turns >= (__i__ == 0 ? 8 : 5), "%u turns", n_turns);
  fail_unless_equals_uint64 (packet_harness_count (harness, "gaps"), __i__);
  packet_harness_free (harness);
}
GST_END_TEST;

/* The first sender that is understood is decoded, not the first one; with src-ip the one that is
 * named; one that falls silent is followed by another. */
GST_START_TEST (test_sources)
{
  g_autofree gchar *text = NULL;
  guint8 garbage[SIZE] = {0};
  GstHarness *harness = packet_harness_new ("velodynedec");
  GstBuffer *buffer = gst_buffer_new_memdup (garbage, SIZE);
  const guint8 bytes[] = {192, 168, 1, 99};
  g_autoptr (GInetAddress) address = g_inet_address_new_from_bytes (bytes, G_SOCKET_FAMILY_IPV4);
  g_autoptr (GSocketAddress) from = g_inet_socket_address_new (address, 2368);
  gst_buffer_add_net_address_meta (buffer, from);
  gst_harness_push (harness, buffer);
  packet_harness_take_warnings (harness, NULL);
  for (guint i = 0; i < 300; i++) {
    push (harness, i, get_stamp (i), 201);
    /* The same time, elsewhere in its turn. */
    push (harness, i + 20, get_stamp (i), 202);
  }
  fail_unless_equals_uint64 (packet_harness_count (harness, "foreign"), 1);
  fail_unless_equals_uint64 (packet_harness_count (harness, "other-source"), 300);
  fail_unless_equals_int (packet_harness_take_warnings (harness, &text), 1);
  fail_unless (strstr (text, "192.168.1.201") && strstr (text, "192.168.1.202"), "%s", text);
  /* 201 is gone for four seconds. */
  for (guint i = 3400; i < 3500; i++)
    push (harness, i, get_stamp (i), 202);
  fail_unless_equals_uint64 (packet_harness_count (harness, "other-source"), 300);
  packet_harness_free (harness);

  harness = packet_harness_new ("velodynedec src-ip=192.168.1.202");
  for (guint i = 0; i < 300; i++) {
    push (harness, i, get_stamp (i), 201);
    push (harness, i, get_stamp (i), 202);
  }
  fail_unless_equals_uint64 (packet_harness_count (harness, "other-source"), 300);
  check_whole (harness, 300);
  packet_harness_check_open_fails ("velodynedec", "src-ip=sensor", "\"sensor\"");
}
GST_END_TEST;

static Suite *
packet_times_suite (void)
{
  Suite *suite = suite_create ("packet-times");
  TCase *tests = tcase_create ("general");
  suite_add_tcase (suite, tests);
  tcase_add_loop_test (tests, test_spoofed, 0, 5);
  tcase_add_test (tests, test_foreign_first);
  tcase_add_loop_test (tests, test_set, 0, 8);
  tcase_add_test (tests, test_interrupted);
  tcase_add_loop_test (tests, test_lost, 0, 2);
  tcase_add_test (tests, test_sources);
  return suite;
}

GST_CHECK_MAIN (packet_times);
