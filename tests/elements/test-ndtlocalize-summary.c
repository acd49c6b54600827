/* SPDX-License-Identifier: MIT */
/* What ndtlocalize says of a drive at its end, and on request. */
#include <gst/check/gstcheck.h>

#include <string.h>

#include "tests/ndt-harness.h"

/* A room half as large. */
static GstBuffer *
foreign_scan (void)
{
  GstBuffer *scan = ndt_room_scan (3);
  GstMapInfo map;
  fail_unless (gst_buffer_map (scan, &map, GST_MAP_READWRITE));
  for (guint i = 0; i < 3 * NDT_ROOM_POINTS; i++)
    ((float *)map.data)[i] *= 0.5f;
  gst_buffer_unmap (scan, &map);
  return scan;
}

static guint64
get_uint64 (const GstStructure *structure, const gchar *name)
{
  guint64 value;
  fail_unless (gst_structure_get_uint64 (structure, name, &value), "%s", name);
  return value;
}

static GstMessage *
finish (GstHarness *h)
{
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  GstEvent *event;
  while ((event = gst_harness_pull_event (h)) && GST_EVENT_TYPE (event) != GST_EVENT_EOS)
    gst_event_unref (event);
  fail_unless (event != NULL);
  gst_event_unref (event);
  return ndt_harness_message (h->element, GST_MESSAGE_ELEMENT, "ndt-summary");
}

/* All of them are tracking: the largest gap is that from scan to scan. */
GST_START_TEST (test_found)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("initial-pose", start, NULL);

  for (guint i = 0; i < 5; i++)
    fail_unless_equals_int (
        ndt_harness_pass_status (h, ndt_room_scan (i)), GST_POSE_STATUS_TRACKING);
  g_autoptr (GstMessage) message = finish (h);
  const GstStructure *s = gst_message_get_structure (message);
  gdouble fit;
  gboolean is_lost;
  fail_unless_equals_uint64 (get_uint64 (s, "scans"), 5);
  fail_unless_equals_uint64 (get_uint64 (s, "tracking"), 5);
  fail_unless_equals_uint64 (get_uint64 (s, "largest-gap"), 100 * GST_MSECOND);
  fail_unless_equals_uint64 (get_uint64 (s, "largest-gap-scans"), 0);
  fail_unless (gst_structure_get_double (s, "mean-fit", &fit) && fit > 0.8 && fit < 1.5, "%g", fit);
  fail_unless (gst_structure_get_boolean (s, "is-lost", &is_lost) && !is_lost);
  fail_if (gst_structure_has_field (s, "first-loss"));
  ndt_harness_free (h);
}
GST_END_TEST

/* Three scans, one of too few points, and then another place, up to the end. */
GST_START_TEST (test_lost)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("initial-pose", start, "max-skips", 2, NULL);
  g_autofree gchar *text = NULL;
  guint n_lost = 0, n = 0;

  for (guint i = 0; i < 3; i++)
    gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (i)));
  fail_unless_equals_int (ndt_harness_pass_status (h, gst_buffer_new_allocate (NULL, 12 * 5, NULL)),
      GST_POSE_STATUS_SKIPPED);
  for (; n < 20 && n_lost < 2; n++)
    n_lost += ndt_harness_pass_status (h, foreign_scan ()) == GST_POSE_STATUS_LOST;
  fail_unless_equals_int (n_lost, 2);

  g_object_get (h->element, "summary", &text, NULL);
  g_autoptr (GstMessage) message = finish (h);
  const GstStructure *s = gst_message_get_structure (message);
  gboolean is_lost;
  fail_unless_equals_uint64 (get_uint64 (s, "scans"), 4 + n);
  fail_unless_equals_uint64 (get_uint64 (s, "tracking"), 3);
  fail_unless_equals_uint64 (get_uint64 (s, "lost"), 2);
  fail_unless_equals_uint64 (get_uint64 (s, "too-few-points"), 1);
  fail_unless_equals_uint64 (get_uint64 (s, "largest-gap"), (1 + n) * 100 * GST_MSECOND);
  fail_unless_equals_uint64 (get_uint64 (s, "largest-gap-scans"), 1 + n);
  fail_unless (gst_structure_get_boolean (s, "is-lost", &is_lost) && is_lost);
  fail_unless_equals_uint64 (get_uint64 (s, "first-loss"), 3 + n - 1);
  fail_unless_equals_uint64 (get_uint64 (s, "first-loss-since"), 3);
  fail_unless_equals_uint64 (get_uint64 (s, "first-loss-time"), (3 + n - 1) * 100 * GST_MSECOND);
  const gchar *reason = gst_structure_get_string (s, "first-loss-reason");
  fail_unless (
      g_str_equal (reason, "bad-fit") || g_str_equal (reason, "weak-overlap"), "%s", reason);
  fail_unless (strlen (gst_structure_get_string (s, "first-loss-why")) > 10);
  fail_unless (strlen (gst_structure_get_string (s, "first-loss-advice")) > 10);
  g_autofree gchar *expected = g_strdup_printf ("is_lost=yes first_loss=%u first_loss_since=3 "
                                                "first_loss_reason=%s",
      3 + n - 1, reason);
  fail_unless (g_str_has_suffix (text, expected), "%s", text);
  fail_unless (g_str_has_prefix (text, "scans="), "%s", text);
  /* The same on request. */
  g_autoptr (GstStructure) stats = NULL;
  g_object_get (h->element, "stats", &stats, NULL);
  fail_unless_equals_uint64 (get_uint64 (stats, "first-loss"), 3 + n - 1);
  ndt_harness_free (h);
}
GST_END_TEST

/* A seek begins anew: it is no gap. */
GST_START_TEST (test_segments)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("initial-pose", start, NULL);

  for (guint part = 0; part < 2; part++) {
    for (guint i = 0; i < 3; i++)
      gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (i)));
    if (part == 0) {
      fail_unless (gst_harness_push_event (h, gst_event_new_flush_start ()));
      fail_unless (gst_harness_push_event (h, gst_event_new_flush_stop (TRUE)));
      ndt_harness_push_segment (h, GST_FORMAT_TIME, 0);
    }
  }
  g_autoptr (GstMessage) message = finish (h);
  const GstStructure *s = gst_message_get_structure (message);
  fail_unless_equals_uint64 (get_uint64 (s, "scans"), 6);
  fail_unless (get_uint64 (s, "largest-gap") <= 100 * GST_MSECOND);
  ndt_harness_free (h);
}
GST_END_TEST

static Suite *
ndtlocalize_summary_suite (void)
{
  Suite *suite = suite_create ("ndtlocalize-summary");
  TCase *tests = tcase_create ("general");
  suite_add_tcase (suite, tests);
  tcase_add_test (tests, test_found);
  tcase_add_test (tests, test_lost);
  tcase_add_test (tests, test_segments);
  return suite;
}

GST_CHECK_MAIN (ndtlocalize_summary);
