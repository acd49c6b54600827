/* SPDX-License-Identifier: MIT */
/* Stamps of scans whose packets arrive irregularly: a VLP-16's, the base class makes them. */
#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>

#include <string.h>

#include "packet-harness.h"

#define SIZE 1206
#define PACKET_US 1327
#define PACKET_AZIMUTH 480 /* hundredths of a degree: 75 packets a round of 99.5 ms */
#define ROUND (75 * PACKET_US * GST_USECOND)
/* Scans until stamps are regular. */
#define N_FIRST 3

typedef struct {
  GstHarness *harness;
  GRand *rand;
  gint64 start;   /* of the sensor, on the axis of arrival */
  gdouble rate;   /* of arrival by the sensor's clock */
  guint max_late; /* us */
  gint64 release; /* until then packets are held back */
  gint64 arrival; /* of the last one */
  guint discont;  /* number of the packet that has the flag */
} Stream;

static Stream
stream_new (guint seed, guint max_late)
{
  Stream stream = {packet_harness_new ("velodynedec"), g_rand_new_with_seed (seed), GST_SECOND, 1,
      max_late, 0, 0, G_MAXUINT};
  return stream;
}

static void
stream_clear (Stream *stream)
{
  packet_harness_free (stream->harness);
  g_rand_free (stream->rand);
}

/* Packets @from to @to of a steady turn. One in a hundred begins to be held back, those that follow
 * wait as well, and all come at once then. */
static void
push_packets (Stream *stream, guint from, guint to)
{
  guint8 packet[SIZE];
  for (guint number = from; number < to; number++) {
    const guint32 stamp = GUINT32_TO_LE (number * PACKET_US);
    GstBuffer *buffer;
    memset (packet, 0, SIZE);
    for (guint block = 0; block < 12; block++) {
      guint8 *at = packet + block * 100;
      const guint16 azimuth =
          GUINT16_TO_LE ((guint16)((number * PACKET_AZIMUTH + block * 40) % 36000));
      at[0] = 0xff;
      at[1] = 0xee;
      memcpy (at + 2, &azimuth, 2);
      at[5] = 10;
    }
    memcpy (packet + 1200, &stamp, 4);
    packet[1204] = 0x37;
    packet[1205] = 0x22;
    const gint64 sent =
        stream->start + (gint64)((number - from) * stream->rate * PACKET_US * GST_USECOND);
    if (stream->max_late > 0 && g_rand_int_range (stream->rand, 0, 100) == 0)
      stream->release = sent + g_rand_int_range (stream->rand, 0, (gint)stream->max_late) * 1000;
    stream->arrival = MAX (stream->arrival, MAX (sent, stream->release));
    buffer = gst_buffer_new_memdup (packet, SIZE);
    GST_BUFFER_PTS (buffer) = (GstClockTime)stream->arrival;
    if (number == stream->discont)
      GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_DISCONT);
    fail_unless_equals_int (gst_harness_push (stream->harness, buffer), GST_FLOW_OK);
  }
}

/* Takes all scans. From @n_first on stamps have to be as far apart, within @tolerance, as the
 * sensor's clock says. Returns how far the stamp of the last is from when it was sent. */
static gint64
check_scans (Stream *stream, guint from, GstClockTime *last, guint n_first, gint64 tolerance)
{
  gint64 error = G_MAXINT64;
  GstClockTime duration = 0;
  guint n = 0;
  while (gst_harness_buffers_in_queue (stream->harness) > 0) {
    g_autoptr (GstBuffer) buffer = gst_harness_pull (stream->harness);
    const GstClockTime pts = GST_BUFFER_PTS (buffer);
    const GstReferenceTimestampMeta *meta = gst_buffer_get_reference_timestamp_meta (buffer, NULL);
    const gint64 step = (gint64)(pts - *last);
    const gint64 expected = (gint64)duration;
    duration = GST_BUFFER_DURATION (buffer);
    fail_unless (n == 0 || pts > *last, "%" G_GUINT64_FORMAT, pts);
    fail_unless (n < n_first || ABS (step - expected) < tolerance, "scan %u after %g ms", n,
        (gdouble)step / 1e6);
    error = (gint64)pts - stream->start -
            (gint64)((gdouble)((gint64)meta->timestamp - (gint64)from * PACKET_US * 1000) *
                     stream->rate);
    *last = pts;
    n++;
  }
  fail_unless (n > N_FIRST);
  return error;
}

/* Up to 80 ms late: as regular as the sensor's own clock, and not later than packets can come. */
GST_START_TEST (test_jitter)
{
  Stream stream = stream_new ((guint)__i__, 80000);
  GstClockTime last = 0;
  push_packets (&stream, 20, 4000);
  const gint64 error = check_scans (&stream, 20, &last, N_FIRST, GST_MSECOND);
  fail_unless (error > -10 && error < 20 * (gint64)GST_MSECOND, "%g ms", (gdouble)error / 1e6);
  fail_unless_equals_uint64 (packet_harness_count (stream.harness, "gaps"), 0);
  stream_clear (&stream);
}
GST_END_TEST;

/* Two clocks drift apart: stamps stay with that of arrival. A ten seconds' delay of what is 0.1
 * ms/s. */
GST_START_TEST (test_drift)
{
  Stream stream = stream_new (7, 20000);
  GstClockTime last = 0;
  stream.rate = __i__ == 0 ? 1.0001 : 0.9999;
  push_packets (&stream, 20, 45000);
  const gint64 error = check_scans (&stream, 20, &last, N_FIRST, GST_MSECOND);
  fail_unless (ABS (error) < 2 * (gint64)GST_MSECOND, "%g ms", (gdouble)error / 1e6);
  stream_clear (&stream);
}
GST_END_TEST;

/* Nothing of before counts for a sensor that begins to count anew, nor after the flag. */
GST_START_TEST (test_anew)
{
  Stream stream = stream_new (11, 80000);
  GstClockTime last = 0;
  push_packets (&stream, 5000, 7000);
  check_scans (&stream, 5000, &last, N_FIRST, GST_MSECOND);
  const guint from = __i__ == 0 ? 40 : 7000;
  stream.discont = __i__ == 0 ? G_MAXUINT : 7000;
  /* Six seconds after the first packet, three after the last. */
  stream.start += 6 * GST_SECOND;
  push_packets (&stream, from, from + 100);
  /* What was left of before. */
  while (gst_harness_buffers_in_queue (stream.harness) > 1) {
    g_autoptr (GstBuffer) buffer = gst_harness_pull (stream.harness);
    fail_unless (GST_BUFFER_PTS (buffer) > last);
    last = GST_BUFFER_PTS (buffer);
  }
  stream.start += 100 * PACKET_US * GST_USECOND;
  push_packets (&stream, from + 100, from + 2000);
  const gint64 error = check_scans (&stream, from + 100, &last, N_FIRST, GST_MSECOND);
  fail_unless (error > -10 && error < 80 * (gint64)GST_MSECOND, "%g ms", (gdouble)error / 1e6);
  fail_unless_equals_uint64 (packet_harness_count (stream.harness, "restarts"), __i__ == 0);
  stream_clear (&stream);
}
GST_END_TEST;

/* Packets that waited in the socket until the pipeline ran come at once; from a stamp to the next
 * it is 5 % less than the sensor's time while that is made up for. */
GST_START_TEST (test_backlog)
{
  Stream stream = stream_new (3, 0);
  GstClockTime last = 0;
  /* From before the pipeline ran, or from while it did not read. */
  stream.start = (__i__ == 0 ? -1500 : 1000) * (gint64)GST_MSECOND;
  stream.release = stream.start + 1505 * (gint64)GST_MSECOND;
  push_packets (&stream, 20, 40000);
  const gint64 error = check_scans (&stream, 20, &last, 1, (gint64)ROUND / 20 + 1000);
  fail_unless (error > -10 && error < 50 * (gint64)GST_MSECOND, "%g ms", (gdouble)error / 1e6);
  stream_clear (&stream);
}
GST_END_TEST;

/* Replayed at another speed, stamps follow arrival, at most four seconds off, and two more for what
 * is seen late. */
GST_START_TEST (test_rate)
{
  static const gdouble rates[] = {0.2, 0.9, 1.2, 2};
  Stream stream = stream_new (5, 0);
  GstClockTime last = 0;
  stream.rate = rates[__i__];
  push_packets (&stream, 20, 20000);
  const gint64 error = check_scans (&stream, 20, &last, N_FIRST, 2 * GST_SECOND);
  fail_unless (ABS (error) < (4 + 2 * stream.rate) * GST_SECOND, "%g ms", (gdouble)error / 1e6);
  stream_clear (&stream);
}
GST_END_TEST;

static Suite *
packet_stamps_suite (void)
{
  Suite *suite = suite_create ("packet-stamps");
  TCase *tests = tcase_create ("general");
  suite_add_tcase (suite, tests);
  tcase_add_loop_test (tests, test_jitter, 0, 10);
  tcase_add_loop_test (tests, test_drift, 0, 2);
  tcase_add_loop_test (tests, test_anew, 0, 2);
  tcase_add_loop_test (tests, test_backlog, 0, 2);
  tcase_add_loop_test (tests, test_rate, 0, 4);
  return suite;
}

GST_CHECK_MAIN (packet_stamps);
