/* SPDX-License-Identifier: MIT */
#include "replay.h"

#include <glib/gstdio.h>
#include <string.h>

#include "tests/ndt-wait.h"

gchar *replay_folder;

void
replay_setup (void)
{
  replay_folder = g_dir_make_tmp ("rosbagsrc-XXXXXX", NULL);
  fail_unless (replay_folder != NULL);
}

void
replay_teardown (void)
{
  g_autoptr (GDir) dir = g_dir_open (replay_folder, 0, NULL);
  const gchar *name;
  while ((name = g_dir_read_name (dir))) {
    g_autofree gchar *path = g_build_filename (replay_folder, name, NULL);
    g_unlink (path);
  }
  g_rmdir (replay_folder);
  g_clear_pointer (&replay_folder, g_free);
}

void
replay_clear (ReplayResult *result)
{
  g_ptr_array_unref (result->buffers);
  g_ptr_array_unref (result->caps);
  g_mutex_clear (&result->lock);
  g_free (result->warning);
  g_free (result->error);
}

static void
on_handoff (GstElement *sink, GstBuffer *buffer, GstPad *pad, ReplayResult *result)
{
  g_mutex_lock (&result->lock);
  g_ptr_array_add (result->buffers, gst_buffer_ref (buffer));
  g_ptr_array_add (result->caps, gst_pad_get_current_caps (pad));
  g_mutex_unlock (&result->lock);
}

GstElement *
replay_launch (const gchar *line, ReplayResult *result)
{
  GError *error = NULL;
  GstElement *pipeline = gst_parse_launch (line, &error);
  g_assert_no_error (error);
  memset (result, 0, sizeof *result);
  g_mutex_init (&result->lock);
  result->buffers = g_ptr_array_new_with_free_func ((GDestroyNotify)gst_buffer_unref);
  result->caps = g_ptr_array_new_with_free_func ((GDestroyNotify)gst_caps_unref);
  GstElement *out = gst_bin_get_by_name (GST_BIN (pipeline), "out");
  if (out) {
    g_object_set (out, "signal-handoffs", TRUE, "sync", FALSE, NULL);
    g_signal_connect (out, "handoff", G_CALLBACK (on_handoff), result);
    gst_object_unref (out);
  }
  return pipeline;
}

void
replay_wait (GstElement *pipeline, ReplayResult *result)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  gboolean ended = FALSE;
  while (!ended) {
    GstMessage *message = gst_bus_timed_pop_filtered (bus, NDT_WAIT_SECONDS * GST_SECOND,
        GST_MESSAGE_EOS | GST_MESSAGE_ERROR | GST_MESSAGE_WARNING | GST_MESSAGE_SEGMENT_DONE);
    GError *error = NULL;
    fail_unless (message != NULL, "the stream does not end");
    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_WARNING) {
      gst_message_parse_warning (message, &error, NULL);
      result->n_warnings++;
      g_free (result->warning);
      result->warning = g_strdup (error->message);
    } else if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR) {
      gst_message_parse_error (message, &error, NULL);
      result->error = g_strdup (error->message);
      ended = TRUE;
    } else {
      ended = TRUE;
    }
    g_clear_error (&error);
    gst_message_unref (message);
  }
  gst_object_unref (bus);
}

void
replay_run (ReplayResult *result, const gchar *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree gchar *line = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  GstElement *pipeline = replay_launch (line, result);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  replay_wait (pipeline, result);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
}

void
replay_record (const gchar *name, const gchar *options)
{
  ReplayResult result;
  replay_run (&result, REPLAY_SOURCE " ! mcapsink location=%s/%s %s", replay_folder, name, options);
  fail_unless_equals_string (result.error, NULL);
  replay_clear (&result);
}
