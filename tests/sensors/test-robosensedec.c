/* SPDX-License-Identifier: MIT */
#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "packet-harness.h"

/* Offsets and values are those of the user manuals of the RS-Helios (tables of the MSOP header and
 * of the DIFOP packet, whose bytes count from 1) and of the RS-Bpearl; test-robosense.py has a real
 * capture of a Helios. */
#define SIZE 1248
#define BLOCK 100
#define N_LASERS 32
#define DEGREE (G_PI / 180)

/* 2023-01-02 03:04:05 UTC */
#define START G_GUINT64_CONSTANT (1672628645)

typedef enum { HELIOS, HELIOS_16P, BPEARL, BPEARL_4 } Kind;

static void
write_be (guint8 *data, guint n, guint64 value)
{
  for (guint i = 0; i < n; i++)
    data[i] = (guint8)(value >> (8 * (n - 1 - i)));
}

static guint8 *
get_block (guint8 *packet, guint block)
{
  return packet + 42 + block * BLOCK;
}

static guint8 *
get_channel (guint8 *packet, guint block, guint channel)
{
  return get_block (packet, block) + 4 + 3 * channel;
}

/* A packet at @time µs after START, which begins at an azimuth and goes on by @step (hundredths of
 * a degree) a block; all at @raw units, intensity is the channel. */
static void
make_packet (guint8 *packet, Kind kind, guint64 time, guint azimuth, guint step, guint raw)
{
  static const guint8 helios[] = {0x55, 0xaa, 0x05, 0x5a, 0x00, 0x01};
  static const guint8 bpearl[] = {0x55, 0xaa, 0x05, 0x0a, 0x5a, 0xa5, 0x50, 0xa0};
  static const guint8 date[] = {23, 1, 2, 3, 4};
  memset (packet, 0, SIZE);
  memcpy (packet, kind <= HELIOS_16P ? helios : bpearl,
      kind <= HELIOS_16P ? sizeof helios : sizeof bpearl);
  if (kind <= HELIOS_16P) {
    packet[30] = 6; /* RS-Helios */
    packet[31] = kind == HELIOS ? 0 : 3;
  } else {
    packet[kind == BPEARL ? 30 : 31] = 3; /* RS-Bpearl */
    packet[32] = kind == BPEARL ? 0 : 4;
  }
  if (kind == BPEARL) {
    memcpy (packet + 20, date, sizeof date);
    packet[25] = (guint8)(5 + time / 1000000);
    write_be (packet + 26, 2, time / 1000 % 1000);
    write_be (packet + 28, 2, time % 1000);
  } else {
    write_be (packet + 20, 6, START + time / 1000000);
    write_be (packet + 26, 4, time % 1000000);
  }
  for (guint i = 0; i < 12; i++) {
    write_be (get_block (packet, i), 2, 0xffee);
    write_be (get_block (packet, i) + 2, 2, (azimuth + i * step) % 36000);
    for (guint channel = 0; channel < N_LASERS; channel++) {
      write_be (get_channel (packet, i, channel), 2, raw);
      get_channel (packet, i, channel)[2] = (guint8)channel;
    }
  }
  packet[1246] = 0x00;
  packet[1247] = 0xff;
}

/* Lasers from 15 degrees down by 1, and turned by a tenth of a degree each. */
static gdouble
get_elevation (guint laser)
{
  return 15.0 - laser;
}

static void
make_difop (guint8 *packet, guint8 return_mode)
{
  static const guint8 id[] = {0xa5, 0xff, 0x00, 0x5a, 0x11, 0x11, 0x55, 0x55};
  memset (packet, 0, SIZE);
  memcpy (packet, id, sizeof id);
  packet[300] = return_mode;
  for (guint i = 0; i < N_LASERS; i++) {
    const gdouble elevation = get_elevation (i);
    packet[468 + 3 * i] = elevation < 0;
    write_be (packet + 469 + 3 * i, 2, (guint)(fabs (elevation) * 100));
    write_be (packet + 565 + 3 * i, 2, 10 * i);
  }
  packet[1246] = 0x0f;
  packet[1247] = 0xf0;
}

static GstHarness *
make_harness (const gchar *properties, guint8 return_mode)
{
  g_autofree gchar *line = g_strdup_printf ("robosensedec %s", properties);
  GstHarness *harness = packet_harness_new (line);
  guint8 packet[SIZE];
  make_difop (packet, return_mode);
  fail_unless_equals_int (packet_harness_push (harness, packet, SIZE, 0), GST_FLOW_OK);
  return harness;
}

static PacketPoint *
finish (GstHarness *harness, guint *n)
{
  gst_harness_push_event (harness, gst_event_new_eos ());
  fail_unless_equals_int (gst_harness_buffers_in_queue (harness), 1);
  PacketPoint *points = packet_harness_take_points (gst_harness_pull (harness), n);
  packet_harness_free (harness);
  return points;
}

static void
check_point (const PacketPoint *point, gdouble range, gdouble azimuth, gdouble turn,
    gdouble elevation, gdouble radius, gdouble height)
{
  const gdouble flat = range * cos (elevation * DEGREE);
  const gdouble x = flat * cos ((azimuth + turn) * DEGREE) + radius * cos (azimuth * DEGREE);
  const gdouble y = -flat * sin ((azimuth + turn) * DEGREE) - radius * sin (azimuth * DEGREE);
  /* 20 m in float. */
  fail_unless (fabs (point->x - x) < 1e-5, "x %g instead of %g", point->x, x);
  fail_unless (fabs (point->y - y) < 1e-5, "y %g instead of %g", point->y, y);
  fail_unless (fabs (point->z - range * sin (elevation * DEGREE) - height) < 1e-5);
}

/* The manuals' own examples: the registers 00 05 d6 and 01 01 96 are 14.94 and -4.06 degrees, the
 * azimuth 88 db is 350.35 degrees, the distance 01 40 is 320 units of 0.25 cm. */
GST_START_TEST (test_manual)
{
  static const guint8 elevation[] = {0x00, 0x05, 0xd6}, turn[] = {0x01, 0x01, 0x96};
  static const guint8 azimuth[] = {0x88, 0xdb}, distance[] = {0x01, 0x40, 0x7f};
  GstHarness *harness = packet_harness_new ("robosensedec");
  guint8 packet[SIZE];
  guint n;
  make_difop (packet, 4);
  memcpy (packet + 468, elevation, 3);
  memcpy (packet + 564, turn, 3);
  packet_harness_push (harness, packet, SIZE, 0);
  make_packet (packet, HELIOS, 0, 0, 0, 0);
  for (guint i = 0; i < 12; i++)
    memcpy (get_block (packet, i) + 2, azimuth, 2);
  memcpy (get_channel (packet, 0, 0), distance, 3);
  packet_harness_push (harness, packet, SIZE, 0);
  g_autofree PacketPoint *points = finish (harness, &n);
  fail_unless_equals_int (n, 1);
  fail_unless_equals_float (points[0].intensity, 0x7f);
  check_point (points, 0.8, 350.35, -4.06, 14.94, 0.03498, 0);
}
GST_END_TEST;

/* Lasers, rings, times and azimuths within blocks, for each model: 0.2 degrees a firing. */
GST_START_TEST (test_models)
{
  static const struct {
    Kind kind;
    const gchar *model;
    gdouble unit, firing_time, radius, height;
    gdouble times[4]; /* of lasers 2, 9, 17 and 32 (or 16), µs: the vendor's tables */
  } models[] = {
      {HELIOS, "helios", 0.0025, 55.56, 0.03498, 0, {1.73, 13.84, 27.68, 53.63}},
      {HELIOS_16P, "helios-16p", 0.0025, 55.56, 0.03498, 0, {1.73, 13.84, 0, 25.95}},
      {BPEARL, "bpearl", 0.005, 55.52, 0.01473, 0.09427, {2.56, 25.68, 1.28, 44.88}},
      {BPEARL_4, "bpearl", 0.0025, 55.56, 0.01619, 0.09571, {1.67, 13.34, 26.69, 51.71}},
  };
  const Kind kind = models[__i__ / 2].kind;
  /* Once recognized, once told. */
  g_autofree gchar *properties =
      g_strdup_printf ("model=%s", __i__ % 2 ? models[kind].model : "auto");
  GstHarness *harness = make_harness (properties, 4);
  const guint n_lasers = kind == HELIOS_16P ? 16 : 32;
  guint8 packet[SIZE];
  guint n;
  make_packet (packet, kind, 0, 1000, kind == HELIOS_16P ? 40 : 20, 4000);
  packet_harness_push (harness, packet, SIZE, 0);
  g_autofree PacketPoint *points = finish (harness, &n);
  fail_unless_equals_int (n, 12 * N_LASERS);
  for (guint i = 0; i < n; i++) {
    const guint laser = i % n_lasers, firing = i / n_lasers;
    const gdouble time = points[i].time * 1e6 - firing * models[kind].firing_time;
    const guint named[] = {1, 8, n_lasers == 32 ? 16 : 0, n_lasers - 1};
    for (guint k = 0; k < G_N_ELEMENTS (named); k++)
      if (laser == named[k])
        /* The manual of the Bpearl 4 rounds to 10 ns; 0.6 ms in float are 0.06 ns. */
        fail_unless (fabs (time - models[kind].times[k]) < 0.011, "%u: %g us", laser, time);
    const gdouble azimuth = 10 + 0.2 * (firing + time / models[kind].firing_time);
    check_point (&points[i], 4000 * models[kind].unit, azimuth, 0.1 * laser, get_elevation (laser),
        models[kind].radius, models[kind].height);
    fail_unless_equals_int (points[i].ring, n_lasers - 1 - laser);
    fail_unless_equals_int (points[i].kind, PACKET_RETURN_STRONGEST);
    fail_unless_equals_float (points[i].intensity, i % N_LASERS);
  }
}
GST_END_TEST;

/* Cut at the first firing past the angle, wherever it is; stamps are the sensor's own. 1800 firings
 * a round. */
GST_START_TEST (test_scans)
{
  GstHarness *harness = make_harness ("cut-angle=90.1", 4);
  guint8 packet[SIZE];
  guint n;
  for (guint i = 0; i < 400; i++) {
    make_packet (packet, BPEARL, (guint64)(i * 12 * 55.52), i * 240, 20, 1000);
    packet_harness_push (harness, packet, SIZE, GST_SECOND + i * (guint64)(12 * 55520));
  }
  gst_harness_push_event (harness, gst_event_new_eos ());
  fail_unless_equals_int (gst_harness_buffers_in_queue (harness), 4);
  for (guint scan = 0; scan < 4; scan++) {
    GstBuffer *buffer = gst_harness_pull (harness);
    const GstReferenceTimestampMeta *meta = gst_buffer_get_reference_timestamp_meta (buffer, NULL);
    const guint64 firing = scan == 0 ? 0 : 451 + (scan - 1) * 1800;
    const gint64 since = (gint64)(firing * 55520);
    /* Stamps are whole microseconds. */
    fail_unless (ABS ((gint64)(meta->timestamp - START * GST_SECOND) - since) < 1000);
    fail_unless (ABS ((gint64)(GST_BUFFER_PTS (buffer) - GST_SECOND) - since) < 1000);
    g_autofree PacketPoint *points = packet_harness_take_points (buffer, &n);
    if (scan == 1 || scan == 2)
      fail_unless_equals_int (n, 1800 * N_LASERS);
  }
  packet_harness_free (harness);
}
GST_END_TEST;

/* Blocks in pairs; the 16P has both returns in one. Same ranges make one point; the second return
 * is the last one where it is the farther. */
GST_START_TEST (test_dual)
{
  const Kind kind = __i__ == 0 ? HELIOS : HELIOS_16P;
  const guint n_lasers = kind == HELIOS ? 32 : 16, n_firings = kind == HELIOS ? 6 : 12;
  GstHarness *harness = make_harness ("", 0);
  guint8 packet[SIZE];
  guint n, counts[5] = {0};
  make_packet (packet, kind, 0, 1000, 20, 4000);
  if (kind == HELIOS)
    for (guint i = 0; i < 12; i++)
      write_be (get_block (packet, i) + 2, 2, 1000 + i / 2 * 20);
  guint8 *other = kind == HELIOS ? get_channel (packet, 1, 0) : get_channel (packet, 0, 16);
  write_be (other, 2, 5000);
  write_be (other + 3, 2, 3000);
  write_be (other + 6, 2, 0);
  write_be (other + 9, 2, 0);
  write_be (get_channel (packet, 0, 3), 2, 0);
  packet_harness_push (harness, packet, SIZE, 0);
  g_autofree PacketPoint *points = finish (harness, &n);
  fail_unless_equals_int (n, n_firings * n_lasers + 2 - 1);
  for (guint i = 0; i < n; i++)
    counts[points[i].kind]++;
  fail_unless_equals_int (points[1].kind, PACKET_RETURN_LAST);
  fail_unless_equals_int (points[3].kind, PACKET_RETURN_SECOND);
  fail_unless_equals_int (counts[PACKET_RETURN_LAST], 1);
  fail_unless_equals_int (counts[PACKET_RETURN_SECOND], 1);
  check_point (&points[1], 12.5, 10, 0, 15, 0.03498, 0);
  const gdouble last = (n_firings - 1) * 55.56 + (n_lasers == 32 ? 53.63 : 25.95);
  fail_unless (fabs (points[n - 1].time * 1e6 - last) < 0.01);
}
GST_END_TEST;

/* The flags of the manuals' tables of return modes, and the Bpearl's that turns the other way. */
GST_START_TEST (test_difop)
{
  static const struct {
    guint8 mode, kind;
  } modes[] = {{1, PACKET_RETURN_STRONGEST}, {2, PACKET_RETURN_LAST}, {4, PACKET_RETURN_STRONGEST},
      {5, PACKET_RETURN_LAST}, {6, PACKET_RETURN_FIRST}};
  GstHarness *harness = make_harness ("", 0);
  guint8 packet[SIZE];
  guint n;
  for (guint i = 0; i < G_N_ELEMENTS (modes); i++) {
    make_difop (packet, modes[i].mode);
    packet[337] = i == 4;
    packet_harness_push (harness, packet, SIZE, GST_CLOCK_TIME_NONE);
    make_packet (packet, BPEARL, i * 667, 9000 + i * 240, 20, 4000);
    packet_harness_push (harness, packet, SIZE, GST_CLOCK_TIME_NONE);
  }
  fail_unless_equals_uint64 (packet_harness_count (harness, "other"), 6);
  g_autofree PacketPoint *points = finish (harness, &n);
  fail_unless_equals_int (n, 5 * 12 * N_LASERS);
  for (guint i = 0; i < n; i++) {
    const guint packet_number = i / (12 * N_LASERS);
    fail_unless_equals_int (points[i].kind, modes[packet_number].kind);
    /* To the right, at 90 degrees and more. */
    fail_unless (packet_number == 4 ? points[i].y > 0 : points[i].y < 0);
  }
}
GST_END_TEST;

/* Beyond the field of view that was set nothing comes: 20 degrees are 100 firings. */
GST_START_TEST (test_field_of_view)
{
  GstHarness *harness = make_harness ("", 4);
  guint8 packet[SIZE];
  guint n;
  make_packet (packet, HELIOS, 0, 1000, 20, 4000);
  for (guint i = 6; i < 12; i++)
    write_be (get_block (packet, i) + 2, 2, 1000 + (i + 100) * 20);
  packet_harness_push (harness, packet, SIZE, 0);
  g_autofree PacketPoint *points = finish (harness, &n);
  fail_unless (fabs (points[6 * N_LASERS].time - 106 * 55.56e-6) < 1e-8);
  check_point (&points[6 * N_LASERS], 10, 31.2, 0, 15, 0.03498, 0);
  check_point (&points[5 * N_LASERS + 16], 10, 11 + 0.2 * 27.68 / 55.56, 1.6, -1, 0.03498, 0);
}
GST_END_TEST;

/* Where no angles come it is said after three seconds, and not by then. */
GST_START_TEST (test_waiting)
{
  GstHarness *harness = packet_harness_new ("robosensedec");
  g_autofree gchar *text = NULL;
  guint8 packet[SIZE];
  for (guint i = 0; i < 32; i++) {
    make_packet (packet, HELIOS, i * 100000, i * 240, 20, 1000);
    packet_harness_push (harness, packet, SIZE, GST_SECOND + i * 100 * GST_MSECOND);
    if (i == 29)
      fail_unless_equals_int (packet_harness_take_warnings (harness, NULL), 0);
  }
  fail_unless_equals_int (packet_harness_take_warnings (harness, &text), 1);
  fail_unless (strstr (text, "angles") && strstr (text, "wait"), "%s", text);
  fail_unless_equals_uint64 (packet_harness_count (harness, "uncalibrated"), 0);
  packet_harness_free (harness);
}
GST_END_TEST;

/* Points wait for their angles, and nothing of them is lost; where none come they are counted. */
GST_START_TEST (test_calibration)
{
  GstHarness *harness = packet_harness_new ("robosensedec");
  g_autofree gchar *path = NULL, *text = NULL;
  guint8 packet[SIZE];
  guint n;
  for (guint i = 0; i < 3; i++) {
    make_packet (packet, HELIOS, i * 667, i * 240, 20, 1000);
    packet_harness_push (harness, packet, SIZE, i * 667 * GST_USECOND);
  }
  /* Not calibrated in the factory: all zero. */
  make_difop (packet, 4);
  memset (packet + 468, 0, 2 * 96);
  packet_harness_push (harness, packet, SIZE, 0);
  gst_harness_push_event (harness, gst_event_new_eos ());
  fail_unless_equals_int (gst_harness_buffers_in_queue (harness), 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "uncalibrated"), 4);
  /* And the error that no scan came. */
  fail_unless_equals_int (packet_harness_take_warnings (harness, &text), 2);
  fail_unless (strstr (text, "angles"), "%s", text);
  packet_harness_free (harness);

  harness = packet_harness_new ("robosensedec");
  for (guint i = 0; i < 3; i++) {
    make_packet (packet, HELIOS, i * 667, i * 240, 20, 1000);
    packet_harness_push (harness, packet, SIZE, i * 667 * GST_USECOND);
  }
  make_difop (packet, 4);
  packet_harness_push (harness, packet, SIZE, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "uncalibrated"), 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "packets"), 4);
  g_autofree PacketPoint *points = finish (harness, &n);
  fail_unless_equals_int (n, 3 * 12 * N_LASERS);

  g_autoptr (GString) csv = g_string_new (NULL);
  for (guint i = 0; i < N_LASERS; i++)
    g_string_append_printf (csv, "%g,%g\r\n", get_elevation (i), 0.5);
  g_close (g_file_open_tmp ("robosense-XXXXXX.csv", &path, NULL), NULL);
  g_file_set_contents (path, csv->str, -1, NULL);
  g_autofree gchar *line = g_strdup_printf ("robosensedec calibration-location=\"%s\"", path);
  harness = packet_harness_new (line);
  make_difop (packet, 5);
  packet_harness_push (harness, packet, SIZE, 0);
  make_packet (packet, HELIOS, 0, 0, 20, 4000);
  packet_harness_push (harness, packet, SIZE, 0);
  g_autofree PacketPoint *filed = finish (harness, &n);
  g_unlink (path);
  check_point (&filed[0], 10, 0, 0.5, 15, 0.03498, 0);
  fail_unless_equals_int (filed[0].kind, PACKET_RETURN_LAST);
}
GST_END_TEST;

GST_START_TEST (test_bad_packets)
{
  GstHarness *harness = make_harness ("model=helios", 4);
  g_autofree gchar *text = NULL;
  guint8 packet[SIZE + 1] = {0};
  make_packet (packet, HELIOS, 0, 0, 20, 1000);
  packet_harness_push (harness, packet, SIZE - 1, 0);
  packet_harness_push (harness, packet, SIZE + 1, 0);
  packet_harness_push (harness, packet, 0, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "bad-size"), 3);
  fail_unless_equals_int (packet_harness_take_warnings (harness, NULL), 1);
  packet[0] = 0xff;
  packet_harness_push (harness, packet, SIZE, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "foreign"), 1);
  packet_harness_take_warnings (harness, NULL);
  make_packet (packet, BPEARL, 0, 0, 20, 1000);
  packet_harness_push (harness, packet, SIZE, 0);
  fail_unless_equals_int (packet_harness_take_warnings (harness, &text), 1);
  fail_unless (strstr (text, "Bpearl") && strstr (text, "Helios"), "%s", text);
  /* Another generation's, an RS-LiDAR-16. */
  packet[30] = 1;
  packet_harness_push (harness, packet, SIZE, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "wrong-model"), 2);
  /* Azimuth, flag of a block, microseconds, seconds. */
  static const struct {
    guint at;
    guint8 value;
  } corruptions[] = {{44, 0xff}, {142, 0xee}, {26, 1}, {20, 1}};
  for (guint i = 0; i < G_N_ELEMENTS (corruptions); i++) {
    make_packet (packet, HELIOS, 0, 0, 20, 1000);
    packet[corruptions[i].at] = corruptions[i].value;
    packet_harness_push (harness, packet, SIZE, 0);
  }
  fail_unless_equals_uint64 (packet_harness_count (harness, "corrupt"), G_N_ELEMENTS (corruptions));
  make_packet (packet, HELIOS, 0, 0, 20, 1000);
  packet_harness_push (harness, packet, SIZE, 0);
  packet_harness_push (harness, packet, SIZE, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "duplicates"), 1);
  /* The sensor starts again. */
  for (guint i = 0; i < 20; i++) {
    make_packet (packet, HELIOS, 5000000 + i * 667, i * 240, 20, 1000);
    packet_harness_push (harness, packet, SIZE, 0);
  }
  fail_unless_equals_uint64 (packet_harness_count (harness, "restarts"), 1);
  gst_harness_push_event (harness, gst_event_new_eos ());
  fail_unless_equals_int (gst_harness_buffers_in_queue (harness), 2);
  fail_unless_equals_uint64 (packet_harness_count (harness, "bad-time"), 0);
  packet_harness_free (harness);
}
GST_END_TEST;

/* Packets that no angles will help are not held back for them. */
GST_START_TEST (test_bad_packets_before_angles)
{
  GstHarness *harness = packet_harness_new ("robosensedec model=helios");
  g_autofree gchar *text = NULL;
  guint8 packet[SIZE];
  make_packet (packet, BPEARL, 0, 0, 20, 1000);
  packet_harness_push (harness, packet, SIZE, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "wrong-model"), 1);
  fail_unless_equals_int (packet_harness_take_warnings (harness, &text), 1);
  fail_unless (strstr (text, "Bpearl") && strstr (text, "Helios"), "%s", text);
  packet[0] = 0xff;
  packet_harness_push (harness, packet, SIZE, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "foreign"), 1);
  packet_harness_push (harness, packet, 1206, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "bad-size"), 1);
  make_packet (packet, HELIOS, 0, 0, 20, 1000);
  packet_harness_push (harness, packet, SIZE, 0);
  gst_harness_push_event (harness, gst_event_new_eos ());
  fail_unless_equals_uint64 (packet_harness_count (harness, "uncalibrated"), 1);
  packet_harness_free (harness);
}
GST_END_TEST;

/* Old firmware says no more than "Helios-1615 or Helios-16P". */
GST_START_TEST (test_undecided)
{
  g_autofree gchar *text = NULL;
  GstHarness *harness = make_harness ("", 4);
  guint8 packet[SIZE];
  guint n;
  make_packet (packet, HELIOS_16P, 0, 0, 40, 1000);
  packet[30] = 7;
  packet[31] = 0;
  packet_harness_push (harness, packet, SIZE, 0);
  fail_unless_equals_uint64 (packet_harness_count (harness, "wrong-model"), 1);
  fail_unless_equals_int (packet_harness_take_warnings (harness, &text), 1);
  fail_unless (strstr (text, "set the model"), "%s", text);
  packet_harness_free (harness);
  harness = make_harness ("model=helios-16p", 4);
  packet_harness_push (harness, packet, SIZE, 0);
  g_autofree PacketPoint *points = finish (harness, &n);
  fail_unless_equals_int (n, 12 * N_LASERS);
  fail_unless_equals_int (points[0].ring, 15);
}
GST_END_TEST;

/* The manual and Nebula have the type a byte further on than the capture. */
GST_START_TEST (test_type)
{
  guint8 packet[SIZE];
  guint n;
  GstHarness *harness = make_harness ("", 4);
  make_packet (packet, HELIOS_16P, 0, 0, 40, 1000);
  packet[30] = 0;
  packet[31] = 6;
  packet[32] = 3;
  packet_harness_push (harness, packet, SIZE, 0);
  g_autofree PacketPoint *points = finish (harness, &n);
  fail_unless_equals_int (n, 12 * N_LASERS);
  fail_unless_equals_int (points[0].ring, 15);
}
GST_END_TEST;

/* A Helios whose angles are of 16 lasers is the 16P, whatever it says; the Bpearl's byte of
 * rotation does not mirror it. */
GST_START_TEST (test_16_angles)
{
  guint8 packet[SIZE];
  guint n;
  GstHarness *harness = packet_harness_new ("robosensedec");
  make_difop (packet, 4);
  memset (packet + 468 + 48, 0, 48);
  memset (packet + 564 + 48, 0, 48);
  packet[337] = 255;
  packet_harness_push (harness, packet, SIZE, 0);
  make_packet (packet, HELIOS, 0, 9000, 40, 4000);
  packet_harness_push (harness, packet, SIZE, 0);
  g_autofree PacketPoint *points = finish (harness, &n);
  fail_unless_equals_int (n, 12 * N_LASERS);
  fail_unless_equals_int (points[0].ring, 15);
  for (guint i = 0; i < n; i++)
    fail_unless (points[i].y < 0);
}
GST_END_TEST;

static Suite *
robosensedec_suite (void)
{
  Suite *suite = suite_create ("robosensedec");
  TCase *tests = tcase_create ("general");
  suite_add_tcase (suite, tests);
  tcase_add_test (tests, test_manual);
  tcase_add_loop_test (tests, test_models, 0, 8);
  tcase_add_test (tests, test_scans);
  tcase_add_loop_test (tests, test_dual, 0, 2);
  tcase_add_test (tests, test_difop);
  tcase_add_test (tests, test_field_of_view);
  tcase_add_test (tests, test_waiting);
  tcase_add_test (tests, test_calibration);
  tcase_add_test (tests, test_bad_packets);
  tcase_add_test (tests, test_bad_packets_before_angles);
  tcase_add_test (tests, test_undecided);
  tcase_add_test (tests, test_type);
  tcase_add_test (tests, test_16_angles);
  return suite;
}

GST_CHECK_MAIN (robosensedec);
