/* SPDX-License-Identifier: MIT */
/* The instant that a pose is of: stamped as what was aligned, or carried to where it is stamped. */
#include <gst/check/gstcheck.h>

#include <math.h>
#include <string.h>

#include "tests/ndt-harness.h"

#define PERIOD (100 * GST_MSECOND)
#define SPEED 6.0 /* m/s along x */

#define FIELDS "x:F32:0,y:F32:4,z:F32:8,time:F32:12"
#define CAPS(more)                                                                                 \
  "pointcloud/x-raw,format=CUSTOM,point-step=16,fields=(string)\"" FIELDS "\",framerate=10/1" more

static void
pose_at (GstClockTime time, NdtPose *pose)
{
  ndt_room_pose (0, pose);
  pose->position[0] += SPEED * (gdouble)time / GST_SECOND;
}

/* What a sensor on its way sees from @pts on, with each point's time. @distorted: each from where
 * the sensor was then, otherwise all from where it is at the PTS. In eight parts: less than a
 * centimetre moves within one … of a scan that one may well call so. */
static GstBuffer *
moving_scan (GstClockTime pts, gboolean distorted)
{
  enum { PARTS = 64 };
  const guint each = NDT_ROOM_POINTS / PARTS;
  float *out = g_new (float, 4 * PARTS * each);
  for (guint k = 0; k < PARTS; k++) {
    const gdouble seconds = 0.1 * (k + 0.5) / PARTS;
    NdtPose pose;
    pose_at (pts + (distorted ? (GstClockTime)(1e9 * seconds) : 0), &pose);
    g_autoptr (GstBuffer) whole =
        ndt_room_scan_from (&pose, (guint32)(pts / GST_MSECOND) + (distorted ? k : 0));
    float xyz[3 * NDT_ROOM_POINTS];
    gst_buffer_extract (whole, 0, xyz, sizeof xyz);
    for (guint i = 0; i < each; i++) {
      float *point = out + 4 * (k * each + i);
      memcpy (point, xyz + 3 * (k * each + i), 3 * sizeof (float));
      point[3] = (float)seconds;
    }
  }
  GstBuffer *scan = gst_buffer_new_wrapped (out, 16 * PARTS * each);
  GST_BUFFER_PTS (scan) = pts;
  GST_BUFFER_DURATION (scan) = PERIOD;
  return scan;
}

static GstHarness *
new_harness (const gchar *caps, const gchar *deskew)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  /* A scan has 700 points: none to thin. */
  GstHarness *h =
      ndt_harness_new ("initial-pose", start, "batch-size", 1, "scan-leaf-size", 0.0, NULL);
  gst_util_set_object_arg (G_OBJECT (h->element), "deskew", deskew);
  gst_harness_set_src_caps_str (h, caps);
  return h;
}

/* Passes scans of 0.7 s; the mean distance from where the vehicle is at the estimates' own
 * times.
 * @offset: (out): of the last estimate from its PTS. */
static gdouble
drive (GstHarness *h, gboolean distorted, guint first_counted, GstClockTime *offset)
{
  gdouble sum = 0;
  for (guint i = 0; i < 7; i++) {
    g_autoptr (GstBuffer) out = ndt_harness_pass (h, moving_scan (i * PERIOD, distorted));
    const GstPoseMeta *meta = ndt_harness_estimate (out);
    const NdtPose pose = ndt_harness_pose_of (out);
    NdtPose truth;
    double metres;
    pose_at (meta->timestamp, &truth);
    ndt_pose_difference (&pose, &truth, &metres, NULL);
    if (i >= first_counted)
      sum += metres;
    *offset = meta->timestamp - GST_BUFFER_PTS (out);
  }
  return sum / (7 - first_counted);
}

/* Metres in the mean. A scan is spread over 0.6 m: one that is stamped half a scan off is off by
 * 0.3 m; one of 700 points that is aligned as it is, by 0.08. */
#define NEAR 0.12

/* Without compensation a pose is of the mean time of the points, whatever pose-time says. */
GST_START_TEST (test_uncompensated)
{
  GstHarness *h = new_harness (CAPS (""), "false");
  GstClockTime offset;
  gst_util_set_object_arg (G_OBJECT (h->element), "pose-time", "end");
  const gdouble mean = drive (h, TRUE, 0, &offset);
  fail_unless (mean < NEAR, "%g m", mean);
  fail_unless_equals_uint64 (offset / GST_MSECOND, 50);
  ndt_harness_free (h);
}
GST_END_TEST

/* A compensated pose is carried to where pose-time says. */
GST_START_TEST (test_compensated)
{
  static const struct {
    const gchar *which;
    GstClockTime offset;
  } cases[] = {{"start", 0}, {"middle", 50 * GST_MSECOND}, {"end", 100 * GST_MSECOND}};
  static const gchar *const how[] = {"true", "auto"};
  for (guint k = 0; k < 2; k++) {
    for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
      GstHarness *h =
          new_harness (k == 0 ? CAPS ("") : CAPS (",motion-compensated=(boolean)false"), how[k]);
      GstClockTime offset;
      gst_util_set_object_arg (G_OBJECT (h->element), "pose-time", cases[i].which);
      const gdouble mean = drive (h, TRUE, 2, &offset);
      fail_unless (mean < NEAR, "%s %s: %g m", how[k], cases[i].which, mean);
      fail_unless_equals_uint64 (offset, cases[i].offset);
      ndt_harness_free (h);
    }
  }
}
GST_END_TEST

/* Where nobody says it the scans show that they are distorted; each is stamped right meanwhile. */
GST_START_TEST (test_shown_to_be_distorted)
{
  GstHarness *h = new_harness (CAPS (""), "auto");
  GstClockTime offset;
  const gdouble mean = drive (h, TRUE, 0, &offset);
  fail_unless (mean < NEAR, "%g m", mean);
  fail_unless_equals_uint64 (offset, 100 * GST_MSECOND);
  ndt_harness_free (h);
}
GST_END_TEST

/* … or that they are not, though their points have times: said once, and they are of their PTS. */
GST_START_TEST (test_shown_to_be_compensated)
{
  GstHarness *h = new_harness (CAPS (""), "auto");
  GstClockTime offset;
  drive (h, FALSE, 0, &offset);
  fail_unless_equals_uint64 (offset, 0);
  g_autoptr (GError) warning = ndt_harness_error (h->element, GST_MESSAGE_WARNING);
  fail_unless (warning && strstr (warning->message, "motion-compensated=true"));
  fail_unless (ndt_harness_error (h->element, GST_MESSAGE_WARNING) == NULL);
  ndt_harness_free (h);
}
GST_END_TEST

/* Caps say it: nothing is measured, and the pose is of the instant that they name. */
GST_START_TEST (test_said_to_be_compensated)
{
  static const struct {
    const gchar *caps;
    GstClockTime offset;
  } cases[] = {{CAPS (",motion-compensated=(boolean)true"), 0},
      {CAPS (",motion-compensated=(boolean)true,instant=(string)middle"), 50 * GST_MSECOND},
      {CAPS (",motion-compensated=(boolean)true,instant=(string)end"), 100 * GST_MSECOND}};
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    GstHarness *h = new_harness (cases[i].caps, "auto");
    GstClockTime offset;
    const gdouble mean = drive (h, FALSE, 0, &offset);
    fail_unless_equals_uint64 (offset, cases[i].offset);
    fail_unless (i > 0 || mean < NEAR, "%g m", mean);
    fail_unless (ndt_harness_error (h->element, GST_MESSAGE_WARNING) == NULL);
    ndt_harness_free (h);
  }
}
GST_END_TEST

/* Without times of points a cloud is of its stamp, unless the property says where that lies. */
GST_START_TEST (test_stamp_position)
{
  static const struct {
    const gchar *which;
    GstClockTime time;
  } cases[] = {
      {NULL, 200 * GST_MSECOND},
      {"start", 250 * GST_MSECOND},
      {"middle", 200 * GST_MSECOND},
      {"end", 150 * GST_MSECOND},
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    GstHarness *h = ndt_harness_new (NULL, NULL);
    if (cases[i].which)
      gst_util_set_object_arg (G_OBJECT (h->element), "stamp-position", cases[i].which);
    GstBuffer *scan = ndt_room_scan (0);
    GST_BUFFER_PTS (scan) = 200 * GST_MSECOND;
    g_autoptr (GstBuffer) out = ndt_harness_pass (h, scan);
    fail_unless_equals_uint64 (ndt_harness_estimate (out)->timestamp, cases[i].time);
    ndt_harness_free (h);
  }
}
GST_END_TEST

/* What cannot be done is said. */
GST_START_TEST (test_forced)
{
  GstHarness *h = ndt_harness_new (NULL, NULL);
  gst_util_set_object_arg (G_OBJECT (h->element), "deskew", "true");
  for (guint i = 0; i < 3; i++)
    gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (i)));
  g_autoptr (GError) warning = ndt_harness_error (h->element, GST_MESSAGE_WARNING);
  fail_unless (warning && strstr (warning->message, "deskew=true") &&
               strstr (warning->message, "time_stamp"));
  ndt_harness_free (h);
}
GST_END_TEST

/* Times that other software writes: what lies outside the scan is not used, and said once. */
GST_START_TEST (test_odd_times)
{
  static const struct {
    float factor;
    float first;
    const gchar *said;
  } cases[] = {
      {1e6f, 0, "taken for µs"},
      {1e9f, 0, "taken for ns"},
      {1, 12.5f, "lie outside a scan of 0.1 s"},
      {NAN, 0, "holds no finite value"},
  };
  for (guint k = 0; k < G_N_ELEMENTS (cases); k++) {
    GstHarness *h = new_harness (CAPS (",motion-compensated=(boolean)false"), "auto");
    for (guint i = 0; i < 5; i++) {
      GstBuffer *scan = moving_scan (i * PERIOD, TRUE);
      GstMapInfo map;
      gst_buffer_map (scan, &map, GST_MAP_READWRITE);
      for (gsize p = 0; p < map.size / 16; p++)
        ((float *)(gpointer)map.data)[4 * p + 3] *= cases[k].factor;
      if (cases[k].first > 0)
        ((float *)(gpointer)map.data)[3] = cases[k].first;
      gst_buffer_unmap (scan, &map);
      g_autoptr (GstBuffer) out = ndt_harness_pass (h, scan);
      const GstPoseMeta *meta = ndt_harness_estimate (out);
      const NdtPose pose = ndt_harness_pose_of (out);
      NdtPose truth;
      double metres;
      pose_at (meta->timestamp, &truth);
      ndt_pose_difference (&pose, &truth, &metres, NULL);
      /* Without times the scan is of its stamp, which is half a scan off. */
      fail_unless (metres < NEAR + (isnan (cases[k].factor) ? 0.05 * SPEED : 0),
          "%s, scan %u: %g m", cases[k].said, i, metres);
    }
    g_autoptr (GError) warning = ndt_harness_error (h->element, GST_MESSAGE_WARNING);
    fail_unless (warning && strstr (warning->message, "field \"time\"") &&
                     strstr (warning->message, cases[k].said),
        "%s", warning ? warning->message : "nothing is said");
    fail_unless (ndt_harness_error (h->element, GST_MESSAGE_WARNING) == NULL);
    ndt_harness_free (h);
  }
}
GST_END_TEST

/* Before the tests fork. */
static void
write_map (void)
{
  ndt_room_map ();
}

static Suite *
ndtlocalize_time_suite (void)
{
  Suite *suite = suite_create ("ndtlocalize-time");
  TCase *tc = tcase_create ("general");
  suite_add_tcase (suite, tc);
  tcase_add_unchecked_fixture (tc, write_map, ndt_room_remove_map);
  tcase_add_test (tc, test_uncompensated);
  tcase_add_test (tc, test_compensated);
  tcase_add_test (tc, test_shown_to_be_distorted);
  tcase_add_test (tc, test_shown_to_be_compensated);
  tcase_add_test (tc, test_said_to_be_compensated);
  tcase_add_test (tc, test_stamp_position);
  tcase_add_test (tc, test_forced);
  tcase_add_test (tc, test_odd_times);
  return suite;
}

GST_CHECK_MAIN (ndtlocalize_time);
