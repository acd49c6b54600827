/* SPDX-License-Identifier: MIT */
/* The pipeline. */
#include <math.h>
#include <string.h>

#include "ndt-scans.h"

typedef struct {
  const ScansOptions *options;
  const ScansReader *reader;
  GstElement *pipeline;
  GstElement *source;
  GMainLoop *loop;
  GError *error;
  gboolean has_cloud;  /* a pad of clouds was linked */
  gboolean is_stopped; /* by the reader */
} Run;

/* What tells the pads of rosbagsrc apart: its stream ids end in the topic. */
static gchar *
get_topic (GstPad *pad)
{
  g_autofree gchar *id = gst_pad_get_stream_id (pad);
  const gchar *slash = id ? strchr (id, '/') : NULL;
  return g_strdup (slash ? slash + 1 : "");
}

static double
get_done (Run *run, GstPad *pad, GstBuffer *buffer)
{
  gint64 duration;
  g_autoptr (GstEvent) event = gst_pad_get_sticky_event (pad, GST_EVENT_SEGMENT, 0);
  const GstSegment *segment = NULL;
  if (event)
    gst_event_parse_segment (event, &segment);
  if (!segment || !gst_element_query_duration (run->source, GST_FORMAT_TIME, &duration) ||
      duration <= 0)
    return NAN;
  const guint64 time =
      gst_segment_to_stream_time (segment, GST_FORMAT_TIME, GST_BUFFER_PTS (buffer));
  return CLAMP ((double)time / (double)duration, 0, 1);
}

static GstPadProbeReturn
take_cloud (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  Run *run = user_data;
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (pad);
  g_autoptr (GstElement) sink = gst_pad_get_parent_element (pad);
  if (!caps || run->is_stopped)
    return GST_PAD_PROBE_DROP;
  if (!run->reader->cloud (
          sink, caps, buffer, get_done (run, pad, buffer), run->reader->user_data)) {
    run->is_stopped = TRUE;
    g_main_loop_quit (run->loop);
  }
  return GST_PAD_PROBE_OK;
}

typedef struct {
  Run *run;
  gchar *topic;
} PosePad;

static void
free_pose_pad (gpointer data)
{
  PosePad *self = data;
  g_free (self->topic);
  g_free (self);
}

static GstPadProbeReturn
take_pose (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  const PosePad *self = user_data;
  self->run->reader->pose (
      self->topic, GST_PAD_PROBE_INFO_BUFFER (info), self->run->reader->user_data);
  return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn
take_message (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  const PosePad *self = user_data;
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (pad);
  ScansFix fix;
  if (caps && scans_fix_read (caps, GST_PAD_PROBE_INFO_BUFFER (info), &fix))
    self->run->reader->fix (self->topic, &fix, self->run->reader->user_data);
  return GST_PAD_PROBE_OK;
}

static GstElement *
add_sink (Run *run)
{
  GstElement *sink = gst_element_factory_make ("fakesink", NULL);
  g_object_set (sink, "sync", FALSE, "async", FALSE, NULL);
  gst_bin_add (GST_BIN (run->pipeline), sink);
  gst_element_sync_state_with_parent (sink);
  return sink;
}

static void
add_pad (GstElement *source, GstPad *pad, Run *run)
{
  const gboolean is_cloud = g_str_has_prefix (GST_PAD_NAME (pad), "cloud");
  const gboolean is_pose = g_str_has_prefix (GST_PAD_NAME (pad), "pose");
  const gboolean is_message = g_str_has_prefix (GST_PAD_NAME (pad), "message");
  g_autofree gchar *topic = get_topic (pad);
  if (is_cloud
          ? run->has_cloud || (run->options->topic && !g_str_equal (topic, run->options->topic))
      : is_message ? !run->reader->fix
                   : !is_pose || !run->reader->pose)
    return;
  g_autoptr (GstPad) sink = gst_element_get_static_pad (add_sink (run), "sink");
  if (is_cloud) {
    run->has_cloud = TRUE;
    gst_pad_add_probe (sink, GST_PAD_PROBE_TYPE_BUFFER, take_cloud, run, NULL);
  } else {
    PosePad *self = g_new (PosePad, 1);
    *self = (PosePad){run, g_steal_pointer (&topic)};
    gst_pad_add_probe (sink, GST_PAD_PROBE_TYPE_BUFFER, is_message ? take_message : take_pose, self,
        free_pose_pad);
  }
  gst_pad_link (pad, sink);
}

static gboolean
on_message (GstBus *bus, GstMessage *message, gpointer user_data)
{
  Run *run = user_data;
  g_autoptr (GError) error = NULL;
  switch (GST_MESSAGE_TYPE (message)) {
  case GST_MESSAGE_EOS:
    g_main_loop_quit (run->loop);
    break;
  case GST_MESSAGE_ERROR:
    gst_message_parse_error (message, &error, NULL);
    if (!run->error)
      run->error = g_steal_pointer (&error);
    g_main_loop_quit (run->loop);
    break;
  case GST_MESSAGE_WARNING:
    gst_message_parse_warning (message, &error, NULL);
    if (!run->reader->pose) /* of the last run: the first one says the same */
      g_printerr ("ndt-map: %s: %s\n", run->options->recording, error->message);
    break;
  default:
    break;
  }
  return G_SOURCE_CONTINUE;
}

static GstElement *
build (const ScansOptions *options, GError **error)
{
  g_autofree gchar *launch =
      options->decoder
          ? g_strdup_printf (
                "lidarpcapsrc name=source ! %s ! fakesink name=sink sync=false", options->decoder)
          : NULL;
  if (options->decoder)
    return gst_parse_launch_full (launch, NULL, GST_PARSE_FLAG_FATAL_ERRORS, error);
  GstElement *source = gst_element_factory_make ("rosbagsrc", "source");
  if (!source) {
    g_set_error_literal (error, GST_PARSE_ERROR, GST_PARSE_ERROR_NO_SUCH_ELEMENT,
        "there is no element rosbagsrc, which reads recordings: is the plugin mcap installed?");
    return NULL;
  }
  GstElement *pipeline = gst_pipeline_new (NULL);
  gst_bin_add (GST_BIN (pipeline), source);
  return pipeline;
}

gboolean
scans_run (const ScansOptions *options, const ScansReader *reader, GError **error)
{
  g_autoptr (GstElement) pipeline = build (options, error);
  if (!pipeline)
    return FALSE;
  g_autoptr (GstElement) source = gst_bin_get_by_name (GST_BIN (pipeline), "source");
  g_autoptr (GstElement) sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  g_autoptr (GMainLoop) loop = g_main_loop_new (NULL, FALSE);
  Run run = {
      .options = options, .reader = reader, .pipeline = pipeline, .source = source, .loop = loop};
  g_object_set (source, "location", options->recording, NULL);
  if (sink) {
    g_autoptr (GstPad) pad = gst_element_get_static_pad (sink, "sink");
    gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, take_cloud, &run, NULL);
    run.has_cloud = TRUE;
  } else {
    g_signal_connect (source, "pad-added", G_CALLBACK (add_pad), &run);
  }
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  gst_bus_add_watch (bus, on_message, &run);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  g_main_loop_run (loop);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_bus_remove_watch (bus);
  if (run.error) {
    if (!run.has_cloud && options->topic)
      g_prefix_error (&run.error, "there are no clouds of the topic %s: ", options->topic);
    g_propagate_error (error, run.error);
    return FALSE;
  }
  if (!run.has_cloud) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_WRONG_TYPE,
        "there are no clouds%s%s: `ndt-bag info` lists what it has",
        options->topic ? " of the topic " : "", options->topic ? options->topic : "");
    return FALSE;
  }
  return TRUE;
}
