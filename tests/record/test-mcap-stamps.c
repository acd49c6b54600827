/* SPDX-License-Identifier: MIT */
/* Header stamps: every clock that a sensor may have, as the time of day. */
#include <gst/gst.h>

#include "gst/mcap/write/gstmcapstamps.h"

#define SECOND ((gint64)GST_SECOND)
#define UNIX "timestamp/x-unix"
#define ARRIVAL "timestamp/x-unix, source=(string)arrival"
/* 2026-03-01 10:59:59.5 UTC, half a second before a full hour. */
#define NOW (G_GINT64_CONSTANT (1772362799) * SECOND + SECOND / 2)
/* What a packet is under way. */
#define DELAY (3 * (SECOND / 1000))
/* NOW since the full hour. */
#define OF_HOUR (3599 * SECOND + SECOND / 2)

static void
add_time (GstBuffer *buffer, const gchar *reference, gint64 time)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string (reference);
  gst_buffer_add_reference_timestamp_meta (buffer, caps, (GstClockTime)time, GST_CLOCK_TIME_NONE);
}

/* The stamp of a buffer with the sensor's @time, captured and logged at @arrival. */
static gint64
get_stamp (GstMcapClock *clock, const gchar *reference, gint64 time, gint64 arrival,
    GstMcapStampNews expected)
{
  g_autoptr (GstBuffer) buffer = gst_buffer_new ();
  GstMcapStampNews news;

  add_time (buffer, reference, time);
  add_time (buffer, ARRIVAL, arrival);
  const gint64 stamp = gst_mcap_stamp_get (
      clock, buffer, GST_MCAP_HEADER_STAMP_SENSOR, (guint64)arrival, FALSE, &news);
  g_assert_cmpint (news, ==, expected);
  return stamp;
}

/* Epochs that are known give UTC, whatever the packets were under way. */
static void
test_epochs (void)
{
  /* Numbers of the definitions, not of the implementation: NTP counts from 1900 (70 years with 17
   * leap days), GPS from 1980-01-06 (10 years with 2 leap days, and 5 days), ahead of UTC by the 18
   * leap seconds since; TAI is 19 s ahead of GPS. */
  const gint64 ntp = (70 * 365 + 17) * G_GINT64_CONSTANT (86400) * SECOND;
  const gint64 gps = (10 * 365 + 2 + 5) * G_GINT64_CONSTANT (86400) * SECOND;
  const struct {
    const gchar *reference;
    gint64 ahead; /* of Unix's time */
  } clocks[] = {
      {UNIX, 0},
      {"timestamp/x-ntp", ntp},
      {"timestamp/x-ptp, version=(string)IEEE1588-2008, domain=(int)0", (18 + 19) * SECOND},
      {"timestamp/x-ptp", 0}, /* of a master that distributes UTC */
      {"timestamp/x-lidar, epoch=(string)utc", 0},
      {"timestamp/x-lidar, epoch=(string)unix", 0},
      {"timestamp/x-lidar, epoch=(string)ptp", 37 * SECOND},
      {"timestamp/x-lidar, epoch=(string)tai", 37 * SECOND},
      {"timestamp/x-lidar, epoch=(string)ntp", ntp},
      {"timestamp/x-lidar, epoch=(string)gps", 18 * SECOND - gps},
  };

  for (guint i = 0; i < G_N_ELEMENTS (clocks); i++) {
    GstMcapClock clock = {.has_offset = FALSE};
    for (gint64 time = NOW; time < NOW + 2 * SECOND; time += SECOND / 10)
      g_assert_cmpint (get_stamp (&clock, clocks[i].reference, time + clocks[i].ahead, time + DELAY,
                           GST_MCAP_STAMP_AS_IT_IS),
          ==, time);
    g_assert_false (clock.has_offset);
  }
}

/* The time since the hour, over a full hour. */
static void
test_hour (void)
{
  GstMcapClock clock = {.has_offset = FALSE};

  for (gint64 since = 0; since < 2 * SECOND; since += SECOND / 10)
    g_assert_cmpint (
        get_stamp (&clock, "timestamp/x-lidar, epoch=(string)hour",
            (OF_HOUR + since) % (3600 * SECOND), NOW + since + DELAY, GST_MCAP_STAMP_AS_IT_IS),
        ==, NOW + since);
  /* Without a GPS receiver it is since power-on: one constant, over its wrap as well. */
  clock = (GstMcapClock){.has_offset = FALSE};
  for (gint64 since = 0; since < 2 * SECOND; since += SECOND / 10)
    g_assert_cmpint (get_stamp (&clock, "timestamp/x-lidar, epoch=(string)hour",
                         (3599 * SECOND + since) % (3600 * SECOND), NOW - 1800 * SECOND + since,
                         since == 0 ? GST_MCAP_STAMP_UNKNOWN_EPOCH : GST_MCAP_STAMP_AS_IT_IS),
        ==, NOW - 1800 * SECOND + since);
}

/* Clocks from anywhere: one constant offset, that of the first buffer's capture, so that the
 * sensor's distances stay while captures jitter. */
static void
test_offset (void)
{
  const struct {
    const gchar *reference;
    gint64 start;
    GstMcapStampNews news;
  } clocks[] = {
      {"timestamp/x-lidar, epoch=(string)power-on", 140 * SECOND, GST_MCAP_STAMP_UNKNOWN_EPOCH},
      {"timestamp/x-something", 140 * SECOND, GST_MCAP_STAMP_UNKNOWN_EPOCH},
      {UNIX, 140 * SECOND, GST_MCAP_STAMP_WRONG_CLOCK}, /* that was never set */
      {"timestamp/x-lidar, epoch=(string)gps", NOW, GST_MCAP_STAMP_WRONG_CLOCK},
  };

  for (guint i = 0; i < G_N_ELEMENTS (clocks); i++) {
    GstMcapClock clock = {.has_offset = FALSE};
    for (gint k = 0; k < 20; k++) {
      const gint64 since = k * SECOND / 10, jitter = k % 3 * DELAY;
      g_assert_cmpint (get_stamp (&clock, clocks[i].reference, clocks[i].start + since,
                           NOW + since + jitter, k == 0 ? clocks[i].news : GST_MCAP_STAMP_AS_IT_IS),
          ==, NOW + since);
    }
    /* It is set anew. */
    g_assert_cmpint (get_stamp (&clock, clocks[i].reference, clocks[i].start + 500 * SECOND,
                         NOW + 3 * SECOND, GST_MCAP_STAMP_JUMPED),
        ==, NOW + 3 * SECOND);
  }
}

static void
test_wanted (void)
{
  g_autoptr (GstBuffer) buffer = gst_buffer_new ();
  GstMcapClock clock = {.has_offset = FALSE};
  GstMcapStampNews news;
  gint64 time;

  g_assert_false (gst_mcap_stamp_get_time_of_day (buffer, &time));
  g_assert_cmpint (
      gst_mcap_stamp_get (&clock, buffer, GST_MCAP_HEADER_STAMP_SENSOR, 5, FALSE, &news), ==, 5);
  g_assert_cmpint (
      gst_mcap_stamp_get (&clock, buffer, GST_MCAP_HEADER_STAMP_CAPTURE, 5, FALSE, &news), ==, 5);
  add_time (buffer, UNIX, NOW);
  add_time (buffer, ARRIVAL, NOW + DELAY);
  g_assert_true (gst_mcap_stamp_get_time_of_day (buffer, &time));
  g_assert_cmpint (time, ==, NOW + DELAY);
  g_assert_cmpint (
      gst_mcap_stamp_get (&clock, buffer, GST_MCAP_HEADER_STAMP_SENSOR, NOW + 1, FALSE, &news), ==,
      NOW);
  g_assert_cmpint (
      gst_mcap_stamp_get (&clock, buffer, GST_MCAP_HEADER_STAMP_CAPTURE, NOW + 1, FALSE, &news), ==,
      NOW + DELAY);
  g_assert_cmpint (
      gst_mcap_stamp_get (&clock, buffer, GST_MCAP_HEADER_STAMP_LOG, NOW + 1, FALSE, &news), ==,
      NOW + 1);
  /* Log times from 0 on: stamps go there, or stay where both are asked for as they are. */
  g_assert_cmpint (
      gst_mcap_stamp_get (&clock, buffer, GST_MCAP_HEADER_STAMP_SENSOR, SECOND, TRUE, &news), ==,
      NOW);
  g_assert_cmpint (
      gst_mcap_stamp_get (&clock, buffer, GST_MCAP_HEADER_STAMP_SENSOR, SECOND, FALSE, &news), ==,
      SECOND);
}

int
main (int argc, char **argv)
{
  gst_init (&argc, &argv);
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/mcap-stamps/epochs", test_epochs);
  g_test_add_func ("/mcap-stamps/hour", test_hour);
  g_test_add_func ("/mcap-stamps/offset", test_offset);
  g_test_add_func ("/mcap-stamps/wanted", test_wanted);
  return g_test_run ();
}
