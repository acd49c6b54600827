/* SPDX-License-Identifier: MIT */
#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>
#include <gst/pointcloud/pointcloud.h>

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "packet-harness.h"

#define BEAMS 16
#define COLUMNS 64
#define PACKET_COLUMNS 16
#define MAX_SIZE 24832

/* A profile's layout as Ouster's manual has it. */
typedef struct {
  const gchar *name;
  guint pixel, range_unit, second, reflectivity[2];
} Profile;

static const Profile profiles[] = {
    {"LEGACY", 12, 1, 0, {4, 0}},
    {"RNG15_RFL8_NIR8", 4, 8, 0, {2, 0}},
    {"RNG15_RFL8_NIR8_DUAL", 8, 8, 4, {2, 6}},
    {"RNG15_RFL8_NIR8_ZONE16", 8, 8, 0, {2, 0}},
    {"RNG15_RFL8_WIN8", 4, 8, 0, {2, 0}},
    {"RNG19_RFL8_SIG16_NIR16", 12, 1, 0, {4, 0}},
    {"RNG19_RFL8_SIG16_NIR16_DUAL", 16, 1, 4, {3, 7}},
    {"RNG19_RFL8_SIG16_NIR16_ZONE16", 12, 1, 0, {4, 0}},
    {"RNG19_RFL8_SIG16_ZONE16_DUAL", 16, 1, 4, {3, 7}},
    {"FIVE_WORD_PIXEL", 20, 1, 4, {3, 7}},
    {"FUSA_RNG15_RFL8_NIR8_DUAL", 8, 8, 4, {2, 6}},
};

static gchar *
write_metadata (const gchar *profile, const gchar *extra)
{
  gchar *path = NULL;
  g_autoptr (GString) text = g_string_new ("{\"beam_intrinsics\": {\"beam_altitude_angles\": [");
  for (guint i = 0; i < BEAMS; i++)
    g_string_append_printf (text, "%s%d", i > 0 ? ", " : "", 15 - 2 * (gint)i);
  g_string_append (text, "], \"beam_azimuth_angles\": [");
  for (guint i = 0; i < BEAMS; i++)
    g_string_append_printf (text, "%s%d", i > 0 ? ", " : "", (gint)(i % 4) - 2);
  g_string_append_printf (text,
      "], \"lidar_origin_to_beam_origin_mm\": 20}, \"lidar_data_format\": {"
      "\"columns_per_frame\": %d, \"columns_per_packet\": %d, \"pixels_per_column\": %d, "
      "\"udp_profile_lidar\": \"%s\"}%s}",
      COLUMNS, PACKET_COLUMNS, BEAMS, profile, extra);
  g_close (g_file_open_tmp ("ouster-XXXXXX.json", &path, NULL), NULL);
  g_file_set_contents (path, text->str, -1, NULL);
  return path;
}

static GstHarness *
open_harness (const gchar *profile)
{
  g_autofree gchar *path = write_metadata (profile, "");
  g_autofree gchar *line = g_strdup_printf ("ousterdec metadata-location=\"%s\"", path);
  GstHarness *harness = packet_harness_new (line);
  g_unlink (path);
  return harness;
}

/* Range of a return in mm, 0 for every seventh. */
static guint
get_range (guint row, guint column, guint number)
{
  const guint n = row * COLUMNS + column;
  return n % 7 == number ? 0 : 8 * (300 + n % 1000 + number * 50);
}

static guint8
get_reflectivity (guint row, guint column, guint number)
{
  return (guint8)(row * 5 + column + number * 100);
}

/* 1 ms a column, 64 ms a frame. */
static gint64
get_time (guint frame, guint column)
{
  return ((gint64)frame * COLUMNS + column) * 1000000 + 5000000;
}

/* Packet @number of frame @frame; its size is returned. */
static gsize
make_packet (guint8 *packet, const Profile *profile, guint frame, guint number)
{
  const gboolean is_legacy = strcmp (profile->name, "LEGACY") == 0;
  const gboolean is_fusa = g_str_has_prefix (profile->name, "FUSA");
  guint8 *at = packet + (is_legacy ? 0 : 32);
  memset (packet, 0, MAX_SIZE);
  if (!is_legacy) {
    packet[0] = 1;
    packet[is_fusa ? 4 : 2] = (guint8)frame;
    packet[is_fusa ? 5 : 3] = (guint8)(frame >> 8);
  }
  for (guint i = 0; i < PACKET_COLUMNS; i++) {
    const guint column = number * PACKET_COLUMNS + i;
    const gint64 time = GINT64_TO_LE (get_time (frame, column));
    memcpy (at, &time, 8);
    at[8] = (guint8)column;
    if (is_legacy) {
      at[10] = (guint8)frame;
      at[11] = (guint8)(frame >> 8);
      at += 16;
    } else {
      at[10] = 1;
      at += 12;
    }
    for (guint row = 0; row < BEAMS; row++, at += profile->pixel)
      for (guint k = 0; k < (profile->second > 0 ? 2 : 1); k++) {
        const guint range = get_range (row, column, k) / profile->range_unit;
        at[k * profile->second] = (guint8)range;
        at[k * profile->second + 1] = (guint8)(range >> 8);
        at[profile->reflectivity[k]] = get_reflectivity (row, column, k);
      }
    if (is_legacy) {
      memset (at, 0xff, 4);
      at += 4;
    }
  }
  return (gsize)(at - packet) + (is_legacy ? 0 : 32);
}

static void
push (GstHarness *harness, const Profile *profile, guint frame, guint number)
{
  guint8 packet[MAX_SIZE];
  const gsize size = make_packet (packet, profile, frame, number);
  fail_unless_equals_int (packet_harness_push (harness, packet, size,
                              GST_SECOND + (GstClockTime)get_time (frame, number * PACKET_COLUMNS)),
      GST_FLOW_OK);
}

/* A point by the manual's formula, the lidar's frame turned by half a turn to the sensor's. */
static void
check_point (const PacketPoint *point, guint row, guint column, guint number)
{
  const guint range = get_range (row, column, number);
  fail_unless_equals_int (point->ring, BEAMS - 1 - row);
  fail_unless_equals_int (
      point->kind, number == 0 ? PACKET_RETURN_STRONGEST : PACKET_RETURN_SECOND);
  fail_unless_equals_float (point->intensity, get_reflectivity (row, column, number));
  fail_unless (fabs (point->time - column * 1e-3) < 1e-8);
  if (range == 0) {
    fail_unless (isnan (point->x) && isnan (point->y) && isnan (point->z));
    return;
  }
  const gdouble encoder = 2 * G_PI * (1 - column / (gdouble)COLUMNS);
  const gdouble turn = encoder - ((gint)(row % 4) - 2) * G_PI / 180;
  const gdouble rise = (15 - 2 * (gint)row) * G_PI / 180;
  const gdouble length = range * 1e-3 - 0.02;
  /* 10 m in floats, a few of them. */
  fail_unless (fabs (point->x + length * cos (turn) * cos (rise) + 0.02 * cos (encoder)) < 5e-6);
  fail_unless (fabs (point->y + length * sin (turn) * cos (rise) + 0.02 * sin (encoder)) < 5e-6);
  fail_unless (fabs (point->z - length * sin (rise) - 0.03618) < 5e-6);
}

GST_START_TEST (test_profiles)
{
  const Profile *profile = &profiles[__i__];
  GstHarness *harness = open_harness (profile->name);
  const guint n_returns = profile->second > 0 ? 2 : 1;
  for (guint frame = 0; frame < 3; frame++)
    for (guint i = 0; i < COLUMNS / PACKET_COLUMNS; i++)
      push (harness, profile, 0xffff + frame, i);
  gst_harness_push_event (harness, gst_event_new_eos ());
  fail_unless_equals_int (gst_harness_buffers_in_queue (harness), 3);

  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (harness->sinkpad);
  g_autoptr (GstPointCloudInfo) info = gst_point_cloud_info_new_from_caps (caps, NULL);
  fail_unless_equals_int (info->width, COLUMNS);
  fail_unless_equals_int (info->height, BEAMS * n_returns);
  for (guint frame = 0; frame < 3; frame++) {
    GstBuffer *buffer = gst_harness_pull (harness);
    const GstReferenceTimestampMeta *meta = gst_buffer_get_reference_timestamp_meta (buffer, NULL);
    fail_unless_equals_uint64 (meta->timestamp, (guint64)get_time (0xffff + frame, 0));
    fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), GST_SECOND + meta->timestamp);
    fail_unless_equals_uint64 (GST_BUFFER_DURATION (buffer), 64 * GST_MSECOND);
    guint n;
    g_autofree PacketPoint *points = packet_harness_take_points (buffer, &n);
    fail_unless_equals_int (n, BEAMS * COLUMNS * n_returns);
    for (guint i = 0; i < n; i++)
      check_point (&points[i], i / COLUMNS % BEAMS, i % COLUMNS, i / COLUMNS / BEAMS);
  }
  packet_harness_free (harness);
}
GST_END_TEST;

/* Packets in any order within a frame; one of a frame that was pushed; one that came twice; one
 * that is missing. */
GST_START_TEST (test_order)
{
  const Profile *profile = &profiles[5];
  GstHarness *harness = open_harness (profile->name);
  static const guint order[] = {1, 0, 3, 3, 2};
  guint n, n_there = 0;
  for (guint i = 0; i < G_N_ELEMENTS (order); i++)
    push (harness, profile, 0, order[i]);
  push (harness, profile, 1, 0);
  push (harness, profile, 0, 1);
  push (harness, profile, 1, 2);
  gst_harness_push_event (harness, gst_event_new_eos ());
  fail_unless_equals_uint64 (packet_harness_count (harness, "duplicates"), 1);
  fail_unless_equals_uint64 (packet_harness_count (harness, "late"), 1);
  fail_unless_equals_int (packet_harness_take_warnings (harness, NULL), 1);
  for (guint frame = 0; frame < 2; frame++) {
    g_autofree PacketPoint *points = packet_harness_take_points (gst_harness_pull (harness), &n);
    fail_unless_equals_int (n, BEAMS * COLUMNS);
    for (guint i = 0; i < n; i++)
      n_there += get_range (i / COLUMNS, i % COLUMNS, 0) > 0 && isfinite (points[i].x);
  }
  guint n_expected = 0;
  for (guint i = 0; i < BEAMS * COLUMNS; i++)
    if (get_range (i / COLUMNS, i % COLUMNS, 0) > 0)
      n_expected += 1 + (i % COLUMNS / PACKET_COLUMNS % 2 == 0);
  fail_unless_equals_int (n_there, n_expected);
  packet_harness_free (harness);
}
GST_END_TEST;

GST_START_TEST (test_bad_packets)
{
  const Profile *profile = &profiles[5];
  GstHarness *harness = open_harness (profile->name);
  g_autofree gchar *text = NULL;
  guint8 packet[MAX_SIZE];
  const gsize size = make_packet (packet, profile, 0, 0);
  packet_harness_push (harness, packet, size - 1, 0);
  packet_harness_push (harness, packet, size + 1, 0);
  packet_harness_push (harness, packet, 0, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "bad-size"), 3);
  /* The inertial unit's. */
  packet_harness_push (harness, packet, 48, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "other"), 1);
  packet_harness_take_warnings (harness, NULL);
  /* 64 beams, RNG19_RFL8_SIG16_NIR16. */
  packet_harness_push (harness, packet, 64 + 16 * (12 + 12 * 64), 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "wrong-model"), 1);
  fail_unless_equals_int (packet_harness_take_warnings (harness, &text), 1);
  fail_unless (strstr (text, "64 beams in profile RNG19_RFL8_SIG16_NIR16,") != NULL, "%s", text);
  packet[0] = 9;
  packet_harness_push (harness, packet, size, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "foreign"), 1);
  packet[0] = 1;
  packet[size - 3] = 5; /* a checksum that is none */
  packet_harness_push (harness, packet, size, 0);
  packet[size - 3] = 0;
  packet[32 + 8] = COLUMNS;
  packet_harness_push (harness, packet, size, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "corrupt"), 2);
  gst_harness_push_event (harness, gst_event_new_eos ());
  fail_unless_equals_int (gst_harness_buffers_in_queue (harness), 0);
  packet_harness_free (harness);
}
GST_END_TEST;

/* The header's serial number says when the metadata are of another sensor of the same shape. */
GST_START_TEST (test_other_sensor)
{
  static const struct {
    const gchar *profile;
    guint serial; /* offset */
  } headers[] = {{"RNG19_RFL8_SIG16_NIR16", 7}, {"FUSA_RNG15_RFL8_NIR8_DUAL", 11}};
  const Profile *profile = profiles;
  while (strcmp (profile->name, headers[__i__].profile) != 0)
    profile++;
  g_autofree gchar *path = write_metadata (profile->name,
      ", \"sensor_info\": {\"prod_line\": \"OS-1-16\", \"prod_sn\": \"122150000150\"}");
  g_autofree gchar *line = g_strdup_printf ("ousterdec metadata-location=\"%s\"", path);
  g_autofree gchar *text = NULL;
  GstHarness *harness = packet_harness_new (line);
  guint8 packet[MAX_SIZE];
  const gsize size = make_packet (packet, profile, 0, 0);
  guint64 serial = GUINT64_TO_LE (G_GUINT64_CONSTANT (992137000142));
  g_unlink (path);
  memcpy (packet + headers[__i__].serial, &serial, 5);
  packet_harness_push (harness, packet, size, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "wrong-model"), 1);
  fail_unless_equals_int (packet_harness_take_warnings (harness, &text), 1);
  fail_unless (strstr (text, "992137000142") && strstr (text, "OS-1-16 122150000150"), "%s", text);
  serial = GUINT64_TO_LE (G_GUINT64_CONSTANT (122150000150));
  memcpy (packet + headers[__i__].serial, &serial, 5);
  packet_harness_push (harness, packet, size, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "wrong-model"), 1);
  gst_harness_push_event (harness, gst_event_new_eos ());
  fail_unless_equals_int (gst_harness_buffers_in_queue (harness), 1);
  packet_harness_free (harness);
}
GST_END_TEST;

GST_START_TEST (test_restart_and_flush)
{
  const Profile *profile = &profiles[1];
  GstHarness *harness = open_harness (profile->name);
  GstSegment segment;
  push (harness, profile, 100, 0);
  /* Four packets tell a clock that was set from a foreign packet. */
  for (guint i = 0; i < 4; i++)
    push (harness, profile, 3, i);
  fail_unless_equals_uint64 (packet_harness_count (harness, "restarts"), 1);
  fail_unless_equals_uint64 (packet_harness_count (harness, "bad-time"), 0);
  fail_unless_equals_int (gst_harness_buffers_in_queue (harness), 1);
  fail_unless (gst_harness_push_event (harness, gst_event_new_flush_start ()));
  fail_unless (gst_harness_push_event (harness, gst_event_new_flush_stop (TRUE)));
  gst_segment_init (&segment, GST_FORMAT_TIME);
  fail_unless (gst_harness_push_event (harness, gst_event_new_segment (&segment)));
  /* A flush drops what the harness holds, too. */
  gst_harness_push_event (harness, gst_event_new_eos ());
  while (gst_harness_buffers_in_queue (harness) > 0) {
    g_autoptr (GstBuffer) buffer = gst_harness_pull (harness);
    fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), GST_SECOND + (guint64)get_time (100, 0));
  }
  packet_harness_free (harness);
}
GST_END_TEST;

/* The first two packets of a frame are swapped: it begins with the first by time, and no time is
 * before it. */
GST_START_TEST (test_swapped)
{
  const Profile *profile = &profiles[1];
  GstHarness *harness = open_harness (profile->name);
  guint n;
  for (guint i = 0; i < 4; i++)
    push (harness, profile, 7, i < 2 ? 1 - i : i);
  gst_harness_push_event (harness, gst_event_new_eos ());
  GstBuffer *buffer = gst_harness_pull (harness);
  const GstReferenceTimestampMeta *meta = gst_buffer_get_reference_timestamp_meta (buffer, NULL);
  fail_unless_equals_uint64 (meta->timestamp, (guint64)get_time (7, 0));
  g_autofree PacketPoint *points = packet_harness_take_points (buffer, &n);
  for (guint i = 0; i < COLUMNS; i++)
    fail_unless (fabs (points[i].time - i * 1e-3) < 1e-6, "%u: %g", i, points[i].time);
  fail_unless_equals_uint64 (packet_harness_count (harness, "late"), 0);
  packet_harness_free (harness);
}
GST_END_TEST;

/* What the sensor's clock counts, by the metadata's modes. */
GST_START_TEST (test_clock)
{
  static const gchar *const clocks[][2] = {
      {"\"timestamp_mode\": \"TIME_FROM_PTP_1588\"",
          "timestamp/x-ptp, version=(string)IEEE1588-2008, domain=(int)0"},
      {"\"timestamp_mode\": \"TIME_FROM_INTERNAL_OSC\"",
          "timestamp/x-lidar, epoch=(string)power-on"},
      {"\"timestamp_mode\": \"TIME_FROM_SYNC_PULSE_IN\"",
          "timestamp/x-lidar, epoch=(string)sync-pulse"},
      {"\"timestamp_mode\": \"TIME_FROM_SYNC_PULSE_IN\", \"multipurpose_io_mode\": "
       "\"INPUT_NMEA_UART\", \"nmea_leap_seconds\": 0",
          "timestamp/x-unix"},
      {"\"timestamp_mode\": \"TIME_FROM_SYNC_PULSE_IN\", \"multipurpose_io_mode\": "
       "\"INPUT_NMEA_UART\", \"nmea_leap_seconds\": 37",
          "timestamp/x-lidar, epoch=(string)tai"}};
  g_autofree gchar *path = NULL;
  g_autofree gchar *metadata =
      g_strdup_printf ("{\"config_params\": {%s}, "
                       "\"beam_altitude_angles\": [3, 2], \"beam_azimuth_angles\": [0, 0], "
                       "\"prod_line\": \"OS-1-2\", \"data_format\": {\"columns_per_frame\": 64, "
                       "\"columns_per_packet\": 16, \"pixels_per_column\": 2, "
                       "\"udp_profile_lidar\": \"RNG15_RFL8_NIR8\"}}",
          clocks[__i__][0]);
  g_close (g_file_open_tmp ("ouster-XXXXXX.json", &path, NULL), NULL);
  g_file_set_contents (path, metadata, -1, NULL);
  g_autofree gchar *line = g_strdup_printf ("ousterdec metadata-location=\"%s\"", path);
  GstHarness *harness = packet_harness_new (line);
  g_unlink (path);
  guint8 packet[32 + 16 * (12 + 8) + 32] = {1};
  for (guint i = 0; i < 16; i++) {
    packet[32 + i * 20 + 8] = (guint8)i;
    packet[32 + i * 20 + 10] = 1;
  }
  packet_harness_push (harness, packet, sizeof packet, 0);
  gst_harness_push_event (harness, gst_event_new_eos ());
  g_autoptr (GstBuffer) buffer = gst_harness_pull (harness);
  g_autoptr (GstCaps) expected = gst_caps_from_string (clocks[__i__][1]);
  const GstReferenceTimestampMeta *meta = gst_buffer_get_reference_timestamp_meta (buffer, NULL);
  fail_unless (gst_caps_is_equal (meta->reference, expected), "%s", clocks[__i__][1]);
  packet_harness_free (harness);
}
GST_END_TEST;

static void
check_open_fails (const gchar *metadata, const gchar *text)
{
  g_autofree gchar *path = NULL, *setting = NULL;
  if (metadata) {
    g_close (g_file_open_tmp ("ouster-XXXXXX.json", &path, NULL), NULL);
    g_file_set_contents (path, metadata, -1, NULL);
    setting = g_strdup_printf ("metadata-location=%s", path);
  }
  packet_harness_check_open_fails ("ousterdec", setting ? setting : "", text);
  if (path)
    g_unlink (path);
}

GST_START_TEST (test_metadata)
{
  /* A parser that calls itself for each level would overflow the stack. */
  g_autoptr (GString) nested = g_string_new ("{\"a\": \"[[\\\"[\", \"b\": ");
  for (guint i = 0; i < 100000; i++)
    g_string_append_c (nested, '[');
  check_open_fails (nested->str, "nested");
#define ANGLES "\"beam_altitude_angles\": [1, 2], \"beam_azimuth_angles\": [0, 0]"
  static const gchar *const bad[][2] = {{NULL, "No metadata"}, {"", "metadata"}, {"[]", "object"},
      {"{", "JSON"}, {"{}", "beam_altitude_angles"},
      {"{\"beam_altitude_angles\": [1, 2], \"beam_azimuth_angles\": [0]}", "as many"},
      {"{\"beam_altitude_angles\": [0, 0], \"beam_azimuth_angles\": [0, 0]}", "are 0"},
      {"{\"beam_altitude_angles\": [1, \"2\"], \"beam_azimuth_angles\": [0, 0]}", "beam_altitude"},
      {"{" ANGLES "}", "lidar_mode"}, {"{" ANGLES ", \"lidar_mode\": \"fast\"}", "lidar_mode"},
      {"{" ANGLES ", \"data_format\": {\"columns_per_frame\": 0}}", "columns_per_frame"},
      {"{" ANGLES ", \"data_format\": {\"columns_per_frame\": 1024, \"columns_per_packet\": 16,"
       "\"pixels_per_column\": 3}}",
          "pixels_per_column is 3"},
      {"{" ANGLES ", \"data_format\": {\"columns_per_frame\": 1024, \"columns_per_packet\": 16,"
       "\"pixels_per_column\": 2, \"udp_profile_lidar\": \"RNG99\"}}",
          "RNG99"}};
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    check_open_fails (bad[i][0], bad[i][1]);
}
GST_END_TEST;

static Suite *
ousterdec_suite (void)
{
  Suite *suite = suite_create ("ousterdec");
  TCase *tests = tcase_create ("general");
  suite_add_tcase (suite, tests);
  tcase_add_loop_test (tests, test_profiles, 0, G_N_ELEMENTS (profiles));
  tcase_add_test (tests, test_order);
  tcase_add_test (tests, test_bad_packets);
  tcase_add_loop_test (tests, test_other_sensor, 0, 2);
  tcase_add_test (tests, test_restart_and_flush);
  tcase_add_test (tests, test_swapped);
  tcase_add_loop_test (tests, test_clock, 0, 5);
  tcase_add_test (tests, test_metadata);
  return suite;
}

GST_CHECK_MAIN (ousterdec);
