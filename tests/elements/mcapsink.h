/* SPDX-License-Identifier: MIT */
/* A pipeline with an mcapsink that records in a folder of its own, for test-mcapsink*.c. */
#pragma once

#include <gst/check/gstcheck.h>
#include <gst/pointcloud/pointcloud.h>

#include <glib/gstdio.h>
#include <string.h>

#include "tests/ndt-wait.h"

#define CAPS "pointcloud/x-raw,format=XYZ_F32LE,framerate=10/1"
#define POINT_SIZE 12
#define MAGIC "\x89MCAP0\r\n"

static GstElement *pipeline;
static GstElement *sink;
static GstBus *bus;
static gchar *folder;
static gchar *path;

G_GNUC_UNUSED static void
setup (void)
{
  folder = g_dir_make_tmp ("mcapsink-XXXXXX", NULL);
  path = g_build_filename (folder, "out.mcap", NULL);
  pipeline = gst_pipeline_new (NULL);
  sink = gst_element_factory_make ("mcapsink", "rec");
  fail_unless (sink != NULL);
  g_object_set (sink, "location", path, NULL);
  gst_bin_add (GST_BIN (pipeline), sink);
  bus = gst_element_get_bus (pipeline);
}

G_GNUC_UNUSED static void
teardown (void)
{
  GDir *dir = g_dir_open (folder, 0, NULL);
  const gchar *name;

  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (bus);
  gst_object_unref (pipeline);
  while ((name = g_dir_read_name (dir))) {
    g_autofree gchar *file = g_build_filename (folder, name, NULL);
    g_unlink (file);
  }
  g_dir_close (dir);
  g_rmdir (folder);
  g_free (path);
  g_free (folder);
}

G_GNUC_UNUSED static void
set_state (GstState state)
{
  fail_if (gst_element_set_state (pipeline, state) == GST_STATE_CHANGE_FAILURE);
}

/* A source pad of the test, linked to a requested pad. */
G_GNUC_UNUSED static GstPad *
add_source (const gchar *template, const gchar *caps, GstFormat format)
{
  GstPad *source = gst_pad_new ("src", GST_PAD_SRC);
  GstPad *input = gst_element_request_pad_simple (sink, template);
  GstSegment segment;

  fail_unless (input != NULL);
  fail_unless_equals_int (gst_pad_link (source, input), GST_PAD_LINK_OK);
  gst_object_unref (input);
  gst_pad_set_active (source, TRUE);
  gst_pad_push_event (source, gst_event_new_stream_start (template));
  if (caps) {
    g_autoptr (GstCaps) c = gst_caps_from_string (caps);
    gst_pad_push_event (source, gst_event_new_caps (c));
  }
  gst_segment_init (&segment, format);
  gst_pad_push_event (source, gst_event_new_segment (&segment));
  return source;
}

G_GNUC_UNUSED static void
remove_source (GstPad *source)
{
  GstPad *input = gst_pad_get_peer (source);

  gst_pad_set_active (source, FALSE);
  if (input) {
    gst_pad_unlink (source, input);
    gst_element_release_request_pad (sink, input);
    gst_object_unref (input);
  }
  gst_object_unref (source);
}

G_GNUC_UNUSED static GstBuffer *
make_scan (guint n_points, GstClockTime pts)
{
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, n_points * POINT_SIZE, NULL);

  gst_buffer_memset (buffer, 0, 0, -1);
  GST_BUFFER_PTS (buffer) = pts;
  return buffer;
}

G_GNUC_UNUSED static void
push (GstPad *source, guint n_points, GstClockTime pts)
{
  fail_unless_equals_int (gst_pad_push (source, make_scan (n_points, pts)), GST_FLOW_OK);
}

G_GNUC_UNUSED static guint64
get_stat (const gchar *name)
{
  GstStructure *stats;
  guint64 value;

  g_object_get (sink, "stats", &stats, NULL);
  fail_unless (gst_structure_get_uint64 (stats, name, &value), "%s", name);
  gst_structure_free (stats);
  return value;
}

G_GNUC_UNUSED static gboolean
has_message (GstMessageType type)
{
  GstMessage *message = gst_bus_pop_filtered (bus, type);

  if (message)
    gst_message_unref (message);
  return message != NULL;
}

G_GNUC_UNUSED static void
expect_error (GQuark domain, gint code)
{
  GstMessage *message =
      gst_bus_timed_pop_filtered (bus, NDT_WAIT_SECONDS * GST_SECOND, GST_MESSAGE_ERROR);
  g_autoptr (GError) error = NULL;

  fail_unless (message != NULL);
  gst_message_parse_error (message, &error, NULL);
  fail_unless (g_error_matches (error, domain, code), "%s", error->message);
  gst_message_unref (message);
}

/* Checks that a file is complete. */
G_GNUC_UNUSED static void
expect_complete (const gchar *file)
{
  g_autofree gchar *content = NULL;
  gsize size;

  fail_unless (g_file_get_contents (file, &content, &size, NULL), "%s", file);
  fail_unless (size > 16);
  fail_unless (memcmp (content, MAGIC, 8) == 0);
  fail_unless (memcmp (content + size - 8, MAGIC, 8) == 0);
}

G_GNUC_UNUSED static void
expect_content (gboolean expected, const gchar *text)
{
  g_autofree gchar *content = NULL;
  gsize size;

  fail_unless (g_file_get_contents (path, &content, &size, NULL));
  for (gsize i = 0; i < size; i++)
    if (content[i] == '\0')
      content[i] = ' ';
  fail_unless_equals_int (strstr (content, text) != NULL, expected);
}
