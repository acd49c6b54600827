/* SPDX-License-Identifier: MIT */
#include <gst/check/gstcheck.h>
#include <gst/pointcloud/pointcloud.h>

static const GstFormat others[] = {GST_FORMAT_BYTES, GST_FORMAT_DEFAULT, GST_FORMAT_BUFFERS};

static gboolean
require (GstElement *element, GstFormat format)
{
  g_autoptr (GstEvent) event = NULL;
  GstSegment segment;

  gst_segment_init (&segment, format);
  event = gst_event_new_segment (&segment);
  return gst_point_cloud_require_time_segment (element, event);
}

GST_START_TEST (test_segments)
{
  GstElement *element = gst_element_factory_make ("identity", NULL);
  GstBus *bus = gst_bus_new ();

  gst_element_set_bus (element, bus);
  fail_unless (require (element, GST_FORMAT_TIME));
  fail_if (gst_bus_have_pending (bus));
  for (guint i = 0; i < G_N_ELEMENTS (others); i++) {
    g_autoptr (GstMessage) message = NULL;
    g_autoptr (GError) error = NULL;

    fail_if (require (element, others[i]));
    message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
    fail_unless (message != NULL);
    gst_message_parse_error (message, &error, NULL);
    fail_unless (g_error_matches (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT));
    fail_unless (strstr (error->message, "rawpointcloudparse") != NULL, "%s", error->message);
    fail_unless (
        strstr (error->message, gst_format_get_name (others[i])) != NULL, "%s", error->message);
  }
  gst_element_set_bus (element, NULL);
  gst_object_unref (bus);
  gst_object_unref (element);
}
GST_END_TEST;

static Suite *
pointcloudsegment_suite (void)
{
  Suite *suite = suite_create ("pointcloudsegment");
  TCase *tests = tcase_create ("general");

  suite_add_tcase (suite, tests);
  tcase_add_test (tests, test_segments);
  return suite;
}

GST_CHECK_MAIN (pointcloudsegment);
