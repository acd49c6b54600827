/* SPDX-License-Identifier: MIT */
/* How fast a decoder makes points of packets, which lie in memory already.
 *
 *   bench-decode CAPTURE DECODER [ROUNDS]
 *
 * DECODER is the element with its properties, as for gst-launch-1.0. Prints the packets and points
 * of a round and the seconds of the fastest. */
#include <gst/gst.h>

#include <stdio.h>
#include <stdlib.h>

#define POINT_SIZE 24

static GstBufferList *
read_packets (const gchar *path)
{
  GstBufferList *packets = gst_buffer_list_new ();
  g_autoptr (GstElement) pipeline =
      gst_parse_launch ("lidarpcapsrc name=source ! appsink name=sink sync=false", NULL);
  g_autoptr (GstElement) source = gst_bin_get_by_name (GST_BIN (pipeline), "source");
  g_autoptr (GstElement) sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  GstSample *sample;
  g_object_set (source, "location", path, NULL);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while (g_signal_emit_by_name (sink, "pull-sample", &sample), sample) {
    GstBuffer *buffer = gst_sample_get_buffer (sample);
    GstBuffer *copy = gst_buffer_copy_deep (buffer);
    gst_buffer_list_add (packets, copy);
    gst_sample_unref (sample);
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  return packets;
}

static GstFlowReturn
count (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  gsize *n = g_object_get_data (G_OBJECT (pad), "n");
  *n += gst_buffer_get_size (buffer) / POINT_SIZE;
  gst_buffer_unref (buffer);
  return GST_FLOW_OK;
}

/* Seconds from the first packet to the last point. The decoder has its memory from the round
 * before, as it has when it runs for long. */
static gdouble
run (GstPad *from, GstBufferList *packets)
{
  GstSegment segment;
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_pad_push_event (from, gst_event_new_flush_start ());
  gst_pad_push_event (from, gst_event_new_flush_stop (TRUE));
  gst_pad_push_event (from, gst_event_new_segment (&segment));
  const gint64 start = g_get_monotonic_time ();
  for (guint i = 0; i < gst_buffer_list_length (packets); i++)
    gst_pad_push (from, gst_buffer_ref (gst_buffer_list_get (packets, i)));
  gst_pad_push_event (from, gst_event_new_eos ());
  return (gdouble)(g_get_monotonic_time () - start) * 1e-6;
}

int
main (int argc, char **argv)
{
  gst_init (&argc, &argv);
  if (argc < 3) {
    fprintf (stderr, "usage: bench-decode CAPTURE DECODER [ROUNDS]\n");
    return 1;
  }
  g_autoptr (GstBufferList) packets = read_packets (argv[1]);
  g_autoptr (GstElement) decoder = gst_parse_launch (argv[2], NULL);
  g_autoptr (GstPad) sinkpad = gst_element_get_static_pad (decoder, "sink");
  g_autoptr (GstPad) srcpad = gst_element_get_static_pad (decoder, "src");
  g_autoptr (GstPad) from = gst_object_ref_sink (gst_pad_new ("from", GST_PAD_SRC));
  g_autoptr (GstPad) to = gst_object_ref_sink (gst_pad_new ("to", GST_PAD_SINK));
  const guint n_rounds = argc > 3 ? (guint)atoi (argv[3]) : 20;
  gdouble best = G_MAXDOUBLE;
  gsize n_points;
  gst_object_ref_sink (decoder);
  g_object_set_data (G_OBJECT (to), "n", &n_points);
  gst_pad_set_chain_function (to, count);
  gst_pad_link (from, sinkpad);
  gst_pad_link (srcpad, to);
  gst_pad_set_active (from, TRUE);
  gst_pad_set_active (to, TRUE);
  if (gst_element_set_state (decoder, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE)
    return 1;
  gst_pad_push_event (from, gst_event_new_stream_start ("packets"));
  for (guint i = 0; i < n_rounds; i++) {
    n_points = 0;
    const gdouble seconds = run (from, packets);
    best = MIN (best, seconds);
  }
  gst_element_set_state (decoder, GST_STATE_NULL);
  printf ("packets=%u points=%" G_GSIZE_FORMAT " seconds=%.6f\n", gst_buffer_list_length (packets),
      n_points, best);
  return 0;
}
