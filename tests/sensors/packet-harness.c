/* SPDX-License-Identifier: MIT */
#include "packet-harness.h"

#include <gst/check/gstcheck.h>

#include <string.h>

GstHarness *
packet_harness_new (const gchar *line)
{
  g_autoptr (GstElement) element = gst_parse_launch (line, NULL);
  g_autoptr (GstBus) bus = gst_bus_new ();
  GstHarness *harness;
  GstSegment segment;
  fail_unless (element != NULL, "%s", line);
  harness = gst_harness_new_with_element (gst_object_ref_sink (element), "sink", "src");
  gst_element_set_bus (harness->element, bus);
  gst_harness_play (harness);
  gst_segment_init (&segment, GST_FORMAT_TIME);
  fail_unless (gst_harness_push_event (harness, gst_event_new_stream_start ("sensor")));
  fail_unless (gst_harness_push_event (harness, gst_event_new_segment (&segment)));
  return harness;
}

void
packet_harness_free (GstHarness *harness)
{
  gst_element_set_bus (harness->element, NULL);
  gst_harness_teardown (harness);
}

GstFlowReturn
packet_harness_push (GstHarness *harness, const guint8 *packet, gsize size, GstClockTime pts)
{
  GstBuffer *buffer = size > 0 ? gst_buffer_new_memdup (packet, size) : gst_buffer_new ();
  GST_BUFFER_PTS (buffer) = pts;
  return gst_harness_push (harness, buffer);
}

guint64
packet_harness_count (GstHarness *harness, const gchar *name)
{
  g_autoptr (GstStructure) stats = NULL;
  guint64 n = G_MAXUINT64;
  g_object_get (harness->element, "stats", &stats, NULL);
  fail_unless (gst_structure_get_uint64 (stats, name, &n), "%s", name);
  return n;
}

guint
packet_harness_take_warnings (GstHarness *harness, gchar **text)
{
  g_autoptr (GstBus) bus = gst_element_get_bus (harness->element);
  GstMessage *message;
  guint n = 0;
  while ((message = gst_bus_pop_filtered (bus, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR))) {
    g_autoptr (GError) error = NULL;
    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_WARNING)
      gst_message_parse_warning (message, &error, NULL);
    else
      gst_message_parse_error (message, &error, NULL);
    if (text) {
      g_free (*text);
      *text = g_strdup (error->message);
    }
    gst_message_unref (message);
    n++;
  }
  return n;
}

PacketPoint *
packet_harness_take_points (GstBuffer *buffer, guint *n)
{
  const gsize size = gst_buffer_get_size (buffer);
  PacketPoint *points = g_malloc (size);
  *n = (guint)(size / sizeof (PacketPoint));
  fail_unless_equals_uint64 (size % sizeof (PacketPoint), 0);
  gst_buffer_extract (buffer, 0, points, size);
  gst_buffer_unref (buffer);
  return points;
}

void
packet_harness_check_open_fails (const gchar *name, const gchar *properties, const gchar *text)
{
  g_autofree gchar *line = g_strdup_printf ("%s %s", name, properties);
  g_autoptr (GstElement) element = gst_parse_launch (line, NULL);
  g_autoptr (GstBus) bus = gst_bus_new ();
  g_autoptr (GError) error = NULL;

  gst_element_set_bus (element, bus);
  fail_unless_equals_int (
      gst_element_set_state (element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
  g_autoptr (GstMessage) message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  fail_unless (message != NULL);
  gst_message_parse_error (message, &error, NULL);
  fail_unless (strstr (error->message, text) != NULL, "%s", error->message);
  gst_element_set_state (element, GST_STATE_NULL);
  gst_element_set_bus (element, NULL);
}
