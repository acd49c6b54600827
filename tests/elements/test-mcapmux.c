/* SPDX-License-Identifier: MIT */
/* Inputs are those of mcapsink; here what is pushed, and when. What it holds is read in
 * tests/record. */
#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>
#include <gst/pointcloud/pointcloud.h>

#include <string.h>

#define CAPS "pointcloud/x-raw,format=XYZ_F32LE,framerate=10/1"
#define POINT_SIZE 12
#define MAGIC "\x89MCAP0\r\n"
#define MAGIC_SIZE 8

static GstHarness *
new_harness (const gchar *properties)
{
  g_autofree gchar *line = g_strdup_printf ("mcapmux name=mux %s", properties);
  GstElement *mux = gst_object_ref_sink (gst_parse_launch (line, NULL));
  GstHarness *harness = gst_harness_new_with_element (mux, "cloud_%u", "src");

  gst_harness_set_src_caps_str (harness, CAPS);
  gst_object_unref (mux);
  return harness;
}

static GstBuffer *
make_scan (guint n_points, GstClockTime pts)
{
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, n_points * POINT_SIZE, NULL);

  gst_buffer_memset (buffer, 0, 0, -1);
  GST_BUFFER_PTS (buffer) = pts;
  return buffer;
}

static void
push (GstHarness *harness, guint n_points, GstClockTime pts)
{
  fail_unless_equals_int (gst_harness_push (harness, make_scan (n_points, pts)), GST_FLOW_OK);
}

/* All that came out since the last call. */
static GByteArray *
pull_all (GstHarness *harness)
{
  GByteArray *bytes = g_byte_array_new ();
  GstBuffer *buffer;

  while ((buffer = gst_harness_try_pull (harness))) {
    GstMapInfo map;

    fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
    fail_unless_equals_uint64 (
        GST_BUFFER_OFFSET_END (buffer) - GST_BUFFER_OFFSET (buffer), map.size);
    g_byte_array_append (bytes, map.data, map.size);
    gst_buffer_unmap (buffer, &map);
    gst_buffer_unref (buffer);
  }
  return bytes;
}

static gboolean
begins (const GByteArray *bytes)
{
  return bytes->len >= MAGIC_SIZE && memcmp (bytes->data, MAGIC, MAGIC_SIZE) == 0;
}

static gboolean
ends (const GByteArray *bytes)
{
  return bytes->len >= MAGIC_SIZE &&
         memcmp (bytes->data + bytes->len - MAGIC_SIZE, MAGIC, MAGIC_SIZE) == 0;
}

GST_START_TEST (test_stream)
{
  GstHarness *harness = new_harness ("chunk-size=30000");
  g_autoptr (GByteArray) start = NULL;
  g_autoptr (GByteArray) chunk = NULL;
  g_autoptr (GByteArray) end = NULL;
  const GstSegment *segment;
  GstEvent *event;

  push (harness, 10, 0);
  start = pull_all (harness);
  fail_unless (begins (start));
  push (harness, 10, 1);
  fail_unless_equals_int (gst_harness_buffers_in_queue (harness), 0);
  push (harness, 3000, 2); /* one of its own, after that of the two */
  fail_unless_equals_int (gst_harness_buffers_in_queue (harness), 2);
  chunk = pull_all (harness);
  fail_unless (chunk->len > 3020 * POINT_SIZE);
  fail_unless (gst_harness_push_event (harness, gst_event_new_eos ()));
  end = pull_all (harness);
  fail_unless (ends (end));

  fail_unless ((event = gst_harness_pull_event (harness)));
  fail_unless_equals_int (GST_EVENT_TYPE (event), GST_EVENT_STREAM_START);
  gst_event_unref (event);
  fail_unless ((event = gst_harness_pull_event (harness)));
  fail_unless_equals_int (GST_EVENT_TYPE (event), GST_EVENT_CAPS);
  gst_event_unref (event);
  fail_unless ((event = gst_harness_pull_event (harness)));
  fail_unless_equals_int (GST_EVENT_TYPE (event), GST_EVENT_SEGMENT);
  gst_event_parse_segment (event, &segment);
  fail_unless_equals_int (segment->format, GST_FORMAT_BYTES);
  gst_event_unref (event);
  fail_unless ((event = gst_harness_pull_event (harness)));
  fail_unless_equals_int (GST_EVENT_TYPE (event), GST_EVENT_EOS);
  gst_event_unref (event);
  gst_harness_teardown (harness);
}
GST_END_TEST;

GST_START_TEST (test_chunk_duration)
{
  GstHarness *harness = new_harness ("chunk-duration=100");

  push (harness, 1, 1000);
  g_byte_array_unref (pull_all (harness));
  push (harness, 1, 1099);
  fail_unless_equals_int (gst_harness_buffers_in_queue (harness), 0);
  push (harness, 1, 1100);
  fail_unless_equals_int (gst_harness_buffers_in_queue (harness), 1);
  gst_harness_teardown (harness);
}
GST_END_TEST;

/* An end without a buffer is a recording of nothing. */
GST_START_TEST (test_empty)
{
  GstHarness *harness = new_harness ("");
  g_autoptr (GByteArray) bytes = NULL;

  gst_harness_push_event (harness, gst_event_new_gap (0, GST_SECOND));
  gst_harness_push_event (harness, gst_event_new_eos ());
  bytes = pull_all (harness);
  fail_unless (begins (bytes) && ends (bytes));
  gst_harness_teardown (harness);
}
GST_END_TEST;

GST_START_TEST (test_flush)
{
  GstHarness *harness = new_harness ("");
  g_autoptr (GByteArray) bytes = NULL;
  GstSegment segment;

  push (harness, 10, 0);
  g_byte_array_unref (pull_all (harness));
  fail_unless (gst_harness_push_event (harness, gst_event_new_flush_start ()));
  fail_unless_equals_int (gst_harness_push (harness, make_scan (1, 1)), GST_FLOW_FLUSHING);
  fail_unless (gst_harness_push_event (harness, gst_event_new_flush_stop (TRUE)));
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_harness_push_event (harness, gst_event_new_segment (&segment));
  push (harness, 10, 2);
  gst_harness_push_event (harness, gst_event_new_eos ());
  bytes = pull_all (harness);
  fail_unless (begins (bytes) && ends (bytes));
  gst_harness_teardown (harness);
}
GST_END_TEST;

static GstPadProbeReturn
refuse (GstPad *pad, GstPadProbeInfo *info, gpointer flow)
{
  gst_buffer_list_unref (GST_PAD_PROBE_INFO_BUFFER_LIST (info));
  info->data = NULL;
  GST_PAD_PROBE_INFO_FLOW_RETURN (info) = GPOINTER_TO_INT (flow);
  return GST_PAD_PROBE_HANDLED;
}

/* What downstream says comes back. */
GST_START_TEST (test_flow)
{
  static const GstFlowReturn flows[] = {GST_FLOW_EOS, GST_FLOW_ERROR, GST_FLOW_NOT_LINKED};

  for (guint i = 0; i < G_N_ELEMENTS (flows); i++) {
    GstHarness *harness = new_harness ("chunk-size=1");
    GstPad *pad = gst_element_get_static_pad (harness->element, "src");

    gst_pad_add_probe (
        pad, GST_PAD_PROBE_TYPE_BUFFER_LIST, refuse, GINT_TO_POINTER (flows[i]), NULL);
    fail_unless_equals_int (gst_harness_push (harness, make_scan (1, 0)), flows[i]);
    gst_object_unref (pad);
    gst_harness_teardown (harness);
  }
}
GST_END_TEST;

GST_START_TEST (test_queries)
{
  GstHarness *harness = new_harness ("");
  GstPad *pad = gst_element_get_static_pad (harness->element, "src");
  GstQuery *query = gst_query_new_seeking (GST_FORMAT_BYTES);
  gboolean seekable;

  fail_unless (gst_pad_query (pad, query));
  gst_query_parse_seeking (query, NULL, &seekable, NULL, NULL);
  fail_if (seekable);
  gst_query_unref (query);
  gst_harness_set_upstream_latency (harness, 30 * GST_MSECOND);
  push (harness, 1, 0);
  fail_unless_equals_uint64 (gst_harness_query_latency (harness), 30 * GST_MSECOND);
  gst_object_unref (pad);
  gst_harness_teardown (harness);
}
GST_END_TEST;

/* A stream that pauses does not keep what came. */
GST_START_TEST (test_pause_of_the_stream)
{
  GstHarness *harness = new_harness ("chunk-duration=100000000");
  GstBuffer *buffer;
  gsize size = 0;

  push (harness, 1000, 0);
  /* All of the file's beginning, and the chunk. */
  while (size < 1000 * POINT_SIZE) {
    buffer = gst_harness_pull (harness);
    fail_unless (buffer != NULL);
    size += gst_buffer_get_size (buffer);
    gst_buffer_unref (buffer);
  }
  push (harness, 1000, 1);
  buffer = gst_harness_pull (harness);
  fail_unless (buffer != NULL);
  fail_unless (gst_buffer_get_size (buffer) > 1000 * POINT_SIZE);
  gst_buffer_unref (buffer);
  gst_harness_teardown (harness);
}
GST_END_TEST;

static GstPadProbeReturn
tell_blocked (GstPad *pad, GstPadProbeInfo *info, gpointer blocked)
{
  g_atomic_int_set ((gint *)blocked, TRUE);
  return GST_PAD_PROBE_OK;
}

static gpointer
push_scans (gpointer harness)
{
  for (guint i = 0; i < 10; i++)
    push (harness, 1000, i * GST_SECOND);
  return NULL;
}

/* An application lets go of an input while what is downstream holds another one up, as a sink that
 * is paused does. */
GST_START_TEST (test_release_while_blocked)
{
  GstHarness *harness = new_harness ("chunk-size=1000");
  GstPad *other = gst_element_request_pad_simple (harness->element, "cloud_%u");
  GstPad *src = gst_element_get_static_pad (harness->element, "src");
  gint blocked = FALSE;
  gulong probe = gst_pad_add_probe (src,
      GST_PAD_PROBE_TYPE_BLOCK | GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST,
      tell_blocked, &blocked, NULL);
  GThread *thread = g_thread_new ("push", push_scans, harness);

  while (!g_atomic_int_get (&blocked))
    g_usleep (1000);
  gst_element_release_request_pad (harness->element, other);
  gst_object_unref (other);
  gst_pad_remove_probe (src, probe);
  g_thread_join (thread);
  gst_object_unref (src);
  gst_harness_teardown (harness);
}
GST_END_TEST;

/* The input that the end was waited for. */
GST_START_TEST (test_release_ends)
{
  GstHarness *harness = new_harness ("");
  GstPad *other = gst_element_request_pad_simple (harness->element, "cloud_%u");
  GstPad *from = gst_pad_new ("from", GST_PAD_SRC);
  GstPad *src = gst_element_get_static_pad (harness->element, "src");
  g_autoptr (GByteArray) bytes = NULL;
  GstEvent *event;
  gint blocked = FALSE, type;
  gulong probe;

  fail_unless_equals_int (gst_pad_link (from, other), GST_PAD_LINK_OK);
  push (harness, 10, 0);
  fail_unless (gst_harness_push_event (harness, gst_event_new_eos ()));
  probe = gst_pad_add_probe (src,
      GST_PAD_PROBE_TYPE_BLOCK | GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST,
      tell_blocked, &blocked, NULL);
  gst_element_release_request_pad (harness->element, other);
  gst_object_unref (other);
  while (!g_atomic_int_get (&blocked))
    g_usleep (1000);
  gst_pad_remove_probe (src, probe);
  do {
    fail_unless ((event = gst_harness_pull_event (harness)));
    type = GST_EVENT_TYPE (event);
    gst_event_unref (event);
  } while (type != GST_EVENT_EOS);
  bytes = pull_all (harness);
  fail_unless (ends (bytes));
  gst_object_unref (from);
  gst_object_unref (src);
  gst_harness_teardown (harness);
}
GST_END_TEST;

/* Inputs whose sources are the test's own. */
typedef struct {
  GstHarness *harness; /* of the source pad alone */
  GstPad *inputs[2];
  GstPad *sources[2];
  GThread *threads[2];    /* each source's, since its last seek */
  gint n_starts, n_stops; /* that went downstream */
} Two;

static GstPadProbeReturn
count_flush (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  Two *two = user_data;

  if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) == GST_EVENT_FLUSH_START)
    g_atomic_int_inc (&two->n_starts);
  else
    g_atomic_int_inc (&two->n_stops);
  return GST_PAD_PROBE_OK;
}

static gpointer
push_flow (gpointer source)
{
  return GINT_TO_POINTER (gst_pad_push (source, make_scan (10, 1)));
}

static void
start_source (GstPad *source)
{
  GstSegment segment;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  fail_unless (gst_pad_push_event (source, gst_event_new_segment (&segment)));
}

/* Flushes, and goes on in a thread, as sources do. */
static gboolean
seek_source (GstPad *source, GstObject *parent, GstEvent *event)
{
  Two *two = gst_pad_get_element_private (source);
  const guint index = source == two->sources[1];

  if (GST_EVENT_TYPE (event) == GST_EVENT_SEEK) {
    gst_pad_push_event (source, gst_event_new_flush_start ());
    gst_pad_push_event (source, gst_event_new_flush_stop (TRUE));
    start_source (source);
    fail_unless (two->threads[index] == NULL);
    two->threads[index] = g_thread_new ("push", push_flow, source);
  }
  gst_event_unref (event);
  return TRUE;
}

static void
two_start (Two *two)
{
  GstElement *mux = gst_object_ref_sink (gst_element_factory_make ("mcapmux", NULL));
  GstPad *src = gst_element_get_static_pad (mux, "src");
  g_autoptr (GstCaps) caps = gst_caps_from_string (CAPS);

  memset (two, 0, sizeof *two);
  g_object_set (mux, "chunk-size", 1, "attach-pipeline", FALSE, NULL);
  two->harness = gst_harness_new_with_element (mux, NULL, "src");
  gst_pad_add_probe (src, GST_PAD_PROBE_TYPE_EVENT_FLUSH, count_flush, two, NULL);
  gst_element_set_state (mux, GST_STATE_PLAYING);
  for (guint i = 0; i < 2; i++) {
    two->inputs[i] = gst_element_request_pad_simple (mux, "cloud_%u");
    two->sources[i] = gst_pad_new ("from", GST_PAD_SRC);
    gst_pad_set_element_private (two->sources[i], two);
    gst_pad_set_event_function (two->sources[i], seek_source);
    fail_unless_equals_int (gst_pad_link (two->sources[i], two->inputs[i]), GST_PAD_LINK_OK);
    gst_pad_set_active (two->sources[i], TRUE);
    gst_pad_push_event (two->sources[i], gst_event_new_stream_start ("from"));
    gst_pad_push_event (two->sources[i], gst_event_new_caps (caps));
    start_source (two->sources[i]);
  }
  gst_object_unref (src);
  gst_object_unref (mux);
}

static void
two_stop (Two *two)
{
  for (guint i = 0; i < 2; i++) {
    gst_pad_set_active (two->sources[i], FALSE);
    gst_element_release_request_pad (two->harness->element, two->inputs[i]);
    gst_object_unref (two->inputs[i]);
    gst_object_unref (two->sources[i]);
  }
  gst_harness_teardown (two->harness);
}

static void
two_push (Two *two, guint i)
{
  fail_unless_equals_int (GPOINTER_TO_INT (push_flow (two->sources[i])), GST_FLOW_OK);
}

static guint64
two_count (Two *two)
{
  GstStructure *stats;
  guint64 messages;

  g_object_get (two->harness->element, "stats", &stats, NULL);
  fail_unless (gst_structure_get_uint64 (stats, "messages", &messages));
  gst_structure_free (stats);
  return messages;
}

/* Inputs that are flushed one within the other are one flush; none says anything meanwhile. */
GST_START_TEST (test_flush_of_two)
{
  g_autoptr (GByteArray) bytes = NULL;
  GThread *thread;
  Two two;

  two_start (&two);
  two_push (&two, 0);
  two_push (&two, 1);
  g_byte_array_unref (pull_all (two.harness));
  gst_pad_push_event (two.sources[0], gst_event_new_flush_start ());
  gst_pad_push_event (two.sources[1], gst_event_new_flush_start ());
  gst_pad_push_event (two.sources[0], gst_event_new_flush_stop (TRUE));
  start_source (two.sources[0]);
  thread = g_thread_new ("push", push_flow, two.sources[0]);
  g_usleep (20000);
  fail_unless_equals_int (two.n_stops, 0);
  gst_pad_push_event (two.sources[1], gst_event_new_flush_stop (TRUE));
  start_source (two.sources[1]);
  fail_unless_equals_int (GPOINTER_TO_INT (g_thread_join (thread)), GST_FLOW_OK);
  two_push (&two, 1);
  fail_unless_equals_int (two.n_starts, 1);
  fail_unless_equals_int (two.n_stops, 1);
  fail_unless_equals_uint64 (two_count (&two), 2);
  bytes = pull_all (two.harness);
  fail_unless (begins (bytes));
  two_stop (&two);
}
GST_END_TEST;

/* A seek reaches the inputs one after the other: what the first sends before the second was flushed
 * is not lost, and it is not told that it flushes. */
GST_START_TEST (test_seek_of_two)
{
  GstPad *src;
  GstEvent *seek;
  Two two;

  two_start (&two);
  src = gst_element_get_static_pad (two.harness->element, "src");
  for (gint round = 1; round <= 20; round++) {
    g_autoptr (GByteArray) bytes = NULL;

    seek = gst_event_new_seek (
        1, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, GST_SEEK_TYPE_SET, 0, GST_SEEK_TYPE_NONE, 0);
    fail_unless (gst_pad_send_event (src, gst_event_ref (seek)));
    /* Of a second sink. */
    fail_unless (gst_pad_send_event (src, seek));
    for (guint i = 0; i < 2; i++) {
      GThread *thread = g_steal_pointer (&two.threads[i]);
      fail_unless (thread != NULL);
      fail_unless_equals_int (GPOINTER_TO_INT (g_thread_join (thread)), GST_FLOW_OK);
    }
    fail_unless_equals_int (two.n_starts, round);
    fail_unless_equals_int (two.n_stops, round);
    fail_unless_equals_uint64 (two_count (&two), 2);
    bytes = pull_all (two.harness);
    fail_unless (begins (bytes));
  }
  gst_object_unref (src);
  two_stop (&two);
}
GST_END_TEST;

/* An input is flushed while another is held up downstream: that one goes on. */
GST_START_TEST (test_flush_of_one)
{
  gint blocked = FALSE;
  GThread *thread;
  gulong probe;
  GstPad *src;
  Two two;

  two_start (&two);
  src = gst_element_get_static_pad (two.harness->element, "src");
  probe = gst_pad_add_probe (src,
      GST_PAD_PROBE_TYPE_BLOCK | GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST,
      tell_blocked, &blocked, NULL);
  thread = g_thread_new ("push", push_flow, two.sources[1]);
  while (!g_atomic_int_get (&blocked))
    g_usleep (1000);
  gst_pad_push_event (two.sources[0], gst_event_new_flush_start ());
  fail_unless_equals_int (GPOINTER_TO_INT (g_thread_join (thread)), GST_FLOW_OK);
  gst_pad_remove_probe (src, probe);
  thread = g_thread_new ("push", push_flow, two.sources[1]);
  g_usleep (20000);
  gst_pad_push_event (two.sources[0], gst_event_new_flush_stop (TRUE));
  fail_unless_equals_int (GPOINTER_TO_INT (g_thread_join (thread)), GST_FLOW_OK);
  fail_unless_equals_uint64 (two_count (&two), 1);
  /* One that is let go of within a flush ends it. */
  gst_pad_push_event (two.sources[0], gst_event_new_flush_start ());
  thread = g_thread_new ("push", push_flow, two.sources[1]);
  g_usleep (20000);
  gst_pad_set_active (two.inputs[0], FALSE);
  fail_unless_equals_int (GPOINTER_TO_INT (g_thread_join (thread)), GST_FLOW_OK);
  fail_unless_equals_int (two.n_starts, 2);
  fail_unless_equals_int (two.n_stops, 2);
  gst_object_unref (src);
  two_stop (&two);
}
GST_END_TEST;

static gpointer
push_caps (gpointer source)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string ("pointcloud/x-raw,format=XYZ_F64LE");

  gst_pad_push_event (source, gst_event_new_caps (caps));
  return GINT_TO_POINTER (gst_pad_push (source, make_scan (10, 1)));
}

/* An input whose thread has its turn after one that is held up downstream. */
GST_START_TEST (test_release_while_another_is_blocked)
{
  gint blocked = FALSE;
  GThread *threads[2];
  gulong probe;
  GstPad *src;
  Two two;

  two_start (&two);
  src = gst_element_get_static_pad (two.harness->element, "src");
  probe = gst_pad_add_probe (src,
      GST_PAD_PROBE_TYPE_BLOCK | GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST,
      tell_blocked, &blocked, NULL);
  threads[0] = g_thread_new ("push", push_flow, two.sources[0]);
  while (!g_atomic_int_get (&blocked))
    g_usleep (1000);
  threads[1] = g_thread_new ("caps", push_caps, two.sources[1]);
  g_usleep (20000); /* for it to wait; where it does not yet, there is nothing to find */
  gst_pad_set_active (two.inputs[1], FALSE);
  fail_unless_equals_int (GPOINTER_TO_INT (g_thread_join (threads[1])), GST_FLOW_FLUSHING);
  gst_pad_remove_probe (src, probe);
  fail_unless_equals_int (GPOINTER_TO_INT (g_thread_join (threads[0])), GST_FLOW_OK);
  gst_object_unref (src);
  two_stop (&two);
}
GST_END_TEST;

/* Events of the stream have the sequence numbers and the group of those that they are made of. */
GST_START_TEST (test_origins)
{
  GstElement *mux = gst_object_ref_sink (gst_element_factory_make ("mcapmux", NULL));
  GstHarness *harness = gst_harness_new_with_element (mux, NULL, "src");
  GstPad *input = gst_element_request_pad_simple (mux, "data_%u");
  GstPad *source = gst_pad_new ("from", GST_PAD_SRC);
  GstEvent *events[3] = {gst_event_new_stream_start ("stream")};
  const GstEventType types[] = {GST_EVENT_STREAM_START, GST_EVENT_SEGMENT, GST_EVENT_EOS};
  guint32 seqnums[3];
  GstSegment segment;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  events[1] = gst_event_new_segment (&segment);
  events[2] = gst_event_new_eos ();
  gst_event_set_group_id (events[0], 7654321);
  gst_element_set_state (mux, GST_STATE_PLAYING);
  fail_unless_equals_int (gst_pad_link (source, input), GST_PAD_LINK_OK);
  gst_pad_set_active (source, TRUE);
  for (guint i = 0; i < 3; i++) {
    seqnums[i] = gst_event_get_seqnum (events[i]);
    gst_pad_push_event (source, events[i]);
  }
  for (guint found = 0; found < 3;) {
    GstEvent *event = gst_harness_pull_event (harness);
    guint group_id = 0;

    fail_unless (event != NULL);
    if (GST_EVENT_TYPE (event) == types[found]) {
      fail_unless_equals_int (gst_event_get_seqnum (event), seqnums[found]);
      if (found == 0)
        fail_unless (gst_event_parse_group_id (event, &group_id) && group_id == 7654321);
      found++;
    }
    gst_event_unref (event);
  }
  gst_pad_set_active (source, FALSE);
  gst_element_release_request_pad (mux, input);
  gst_object_unref (input);
  gst_object_unref (source);
  gst_harness_teardown (harness);
  gst_object_unref (mux);
}
GST_END_TEST;

static Suite *
mcapmux_suite (void)
{
  Suite *suite = suite_create ("mcapmux");
  TCase *tests = tcase_create ("general");

  suite_add_tcase (suite, tests);
  tcase_add_test (tests, test_stream);
  tcase_add_test (tests, test_chunk_duration);
  tcase_add_test (tests, test_empty);
  tcase_add_test (tests, test_flush);
  tcase_add_test (tests, test_flow);
  tcase_add_test (tests, test_queries);
  tcase_add_test (tests, test_pause_of_the_stream);
  tcase_add_test (tests, test_release_while_blocked);
  tcase_add_test (tests, test_release_ends);
  tcase_add_test (tests, test_flush_of_two);
  tcase_add_test (tests, test_seek_of_two);
  tcase_add_test (tests, test_flush_of_one);
  tcase_add_test (tests, test_release_while_another_is_blocked);
  tcase_add_test (tests, test_origins);
  return suite;
}

GST_CHECK_MAIN (mcapmux);
