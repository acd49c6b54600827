/* SPDX-License-Identifier: MIT */
/* ndtlocalize among other elements: events, queries, segments, latency. */
#include <gst/check/gstcheck.h>

#include "tests/ndt-harness.h"
#include "tests/ndt-wait.h"

/* The next event of a type that left; waits for it. */
static GstEvent *
pull_event (GstHarness *h, GstEventType type)
{
  for (;;) {
    GstEvent *event = gst_harness_pull_event (h);
    fail_unless (event != NULL, "no %s", gst_event_type_get_name (type));
    if (GST_EVENT_TYPE (event) == type)
      return event;
    gst_event_unref (event);
  }
}

static void
drop_events (GstHarness *h)
{
  for (GstEvent *event = gst_harness_try_pull_event (h); event;
       event = gst_harness_try_pull_event (h))
    gst_event_unref (event);
}

/* Running times in messages are those of the segment. */
GST_START_TEST (test_nonzero_segment)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("initial-pose", start, "post-messages", TRUE, NULL);
  GstBuffer *scan = ndt_room_scan (0);
  guint64 running_time, stream_time;

  ndt_harness_push_segment (h, GST_FORMAT_TIME, 10 * GST_SECOND);
  GST_BUFFER_PTS (scan) = 12 * GST_SECOND;
  g_autoptr (GstBuffer) out = ndt_harness_pass (h, scan);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (out), 12 * GST_SECOND);
  g_autoptr (GstMessage) message =
      ndt_harness_message (h->element, GST_MESSAGE_ELEMENT, "ndt-pose");
  const GstStructure *structure = gst_message_get_structure (message);
  gst_structure_get_uint64 (structure, "running-time", &running_time);
  gst_structure_get_uint64 (structure, "stream-time", &stream_time);
  fail_unless_equals_uint64 (running_time, 2 * GST_SECOND);
  fail_unless_equals_uint64 (stream_time, 12 * GST_SECOND);
  ndt_harness_free (h);
}
GST_END_TEST

static GstEvent *
mark (guint number)
{
  return gst_event_new_custom (
      GST_EVENT_CUSTOM_DOWNSTREAM, gst_structure_new ("mark", "number", G_TYPE_UINT, number, NULL));
}

typedef struct {
  GArray *order; /* of gint: scans from 0 up, marks from -1 down, -1000 a gap */
} Order;

static GstPadProbeReturn
note_order (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  Order *order = user_data;
  gint what;

  if (GST_PAD_PROBE_INFO_TYPE (info) & GST_PAD_PROBE_TYPE_BUFFER) {
    what = (gint)ndt_harness_estimate (GST_PAD_PROBE_INFO_BUFFER (info))->sequence;
  } else {
    GstEvent *event = GST_PAD_PROBE_INFO_EVENT (info);
    guint number;
    if (GST_EVENT_TYPE (event) == GST_EVENT_GAP)
      what = -1000;
    else if (GST_EVENT_TYPE (event) == GST_EVENT_CUSTOM_DOWNSTREAM &&
             gst_structure_get_uint (gst_event_get_structure (event), "number", &number))
      what = -(gint)number;
    else
      return GST_PAD_PROBE_OK;
  }
  g_array_append_val (order->order, what);
  return GST_PAD_PROBE_OK;
}

GST_START_TEST (test_events_in_place)
{
  static const gint expected[] = {-1, 0, -2, -1000, 1, 2, -3};
  GstHarness *h = ndt_harness_new ("batch-size", 8, NULL);
  Order order = {g_array_new (FALSE, FALSE, sizeof (gint))};
  g_autoptr (GstPad) pad = gst_element_get_static_pad (h->element, "src");

  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
      note_order, &order, NULL);
  gst_harness_push_event (h, mark (1));
  gst_harness_push (h, ndt_room_scan (0));
  gst_harness_push_event (h, mark (2));
  gst_harness_push_event (h, gst_event_new_gap (0, GST_SECOND));
  gst_harness_push (h, ndt_room_scan (1));
  gst_harness_push (h, ndt_room_scan (2));
  gst_harness_push_event (h, mark (3));
  gst_harness_push_event (h, gst_event_new_eos ());
  gst_event_unref (pull_event (h, GST_EVENT_EOS));

  fail_unless_equals_int (order.order->len, G_N_ELEMENTS (expected));
  for (guint i = 0; i < G_N_ELEMENTS (expected); i++)
    fail_unless_equals_int (g_array_index (order.order, gint, i), expected[i]);
  ndt_harness_free (h);
  g_array_unref (order.order);
}
GST_END_TEST

/* Gaps within a batch leave between the scans that they came between. They do not end a batch that
 * waits to be full; what changes how scans are read does. */
GST_START_TEST (test_gaps_within_a_batch)
{
  static const gint expected[] = {0, -1000, 1, -1000, -1000, 2, 3, -1000, 4, -1000, 5, -1000};
  GstHarness *h = ndt_harness_new ("batch-size", 4, "batch-timeout", 600 * GST_SECOND, NULL);
  Order order = {g_array_new (FALSE, FALSE, sizeof (gint))};
  g_autoptr (GstPad) pad = gst_element_get_static_pad (h->element, "src");
  guint n_scans = 0;

  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
      note_order, &order, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (expected); i++) {
    if (expected[i] == -1000)
      fail_unless (gst_harness_push_event (
          h, gst_event_new_gap (n_scans * 100 * GST_MSECOND, 100 * GST_MSECOND)));
    else
      fail_unless_equals_int (gst_harness_push (h, ndt_room_scan (n_scans++)), GST_FLOW_OK);
  }
  ndt_harness_push_segment (h, GST_FORMAT_TIME, 0);
  gst_harness_push_event (h, gst_event_new_eos ());
  gst_event_unref (pull_event (h, GST_EVENT_EOS));

  fail_unless_equals_int (order.order->len, G_N_ELEMENTS (expected));
  for (guint i = 0; i < G_N_ELEMENTS (expected); i++)
    fail_unless_equals_int (g_array_index (order.order, gint, i), expected[i]);
  /* Four, and the two that the segment ended. */
  fail_unless_equals_uint64 (ndt_harness_count (h, "batches"), 2);
  ndt_harness_free (h);
  g_array_unref (order.order);
}
GST_END_TEST

/* EOS comes after the last scan; then scans are refused until the stream starts anew. */
GST_START_TEST (test_eos)
{
  GstHarness *h = ndt_harness_new ("batch-size", 4, NULL);

  for (guint i = 0; i < 10; i++)
    fail_unless_equals_int (gst_harness_push (h, ndt_room_scan (i)), GST_FLOW_OK);
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  gst_event_unref (pull_event (h, GST_EVENT_EOS));
  fail_unless_equals_int (gst_harness_buffers_in_queue (h), 10);
  fail_unless_equals_int (gst_harness_push (h, ndt_room_scan (10)), GST_FLOW_EOS);

  fail_unless (gst_harness_push_event (h, gst_event_new_stream_start ("again")));
  gst_harness_set_src_caps_str (h, NDT_ROOM_CAPS);
  ndt_harness_push_segment (h, GST_FORMAT_TIME, 0);
  fail_unless_equals_int (gst_harness_push (h, ndt_room_scan (11)), GST_FLOW_OK);
  for (guint i = 0; i < 11; i++) {
    g_autoptr (GstBuffer) out = gst_harness_pull (h);
    fail_unless_equals_uint64 (ndt_harness_estimate (out)->sequence, i);
  }
  ndt_harness_free (h);
}
GST_END_TEST

/* A seek to the beginning: what is tracked is forgotten, the initial pose applies again. */
GST_START_TEST (test_flush)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("initial-pose", start, NULL);

  for (guint run = 0; run < 3; run++) {
    for (guint i = 0; i < 3; i++)
      fail_unless_equals_int (
          ndt_harness_pass_status (h, ndt_room_scan (i)), GST_POSE_STATUS_TRACKING);
    fail_unless (gst_harness_push_event (h, gst_event_new_flush_start ()));
    fail_unless_equals_int (gst_harness_push (h, ndt_room_scan (0)), GST_FLOW_FLUSHING);
    fail_unless (gst_harness_push_event (h, gst_event_new_flush_stop (TRUE)));
    gst_event_unref (pull_event (h, GST_EVENT_FLUSH_STOP));
    ndt_harness_push_segment (h, GST_FORMAT_TIME, 0);
  }
  fail_unless_equals_uint64 (ndt_harness_count (h, "predicted-initial"), 3);

  /* Without a seek tracking goes on. */
  fail_unless_equals_int (ndt_harness_pass_status (h, ndt_room_scan (0)), GST_POSE_STATUS_TRACKING);
  gst_harness_push_event (h, gst_event_new_flush_start ());
  gst_harness_push_event (h, gst_event_new_flush_stop (FALSE));
  ndt_harness_push_segment (h, GST_FORMAT_TIME, 0);
  fail_unless_equals_int (ndt_harness_pass_status (h, ndt_room_scan (1)), GST_POSE_STATUS_TRACKING);
  fail_unless_equals_uint64 (ndt_harness_count (h, "predicted-initial"), 4);
  ndt_harness_free (h);
}
GST_END_TEST

GST_START_TEST (test_caps_change)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("initial-pose", start, "batch-size", 8, NULL);

  for (guint i = 0; i < 8; i++) {
    if (i == 4)
      gst_harness_set_src_caps_str (h,
          "pointcloud/x-raw,format=CUSTOM,point-step=12,fields=\"x:F32:0,y:F32:4,z:F32:8\","
          "framerate=20/1");
    fail_unless_equals_int (gst_harness_push (h, ndt_room_scan (i)), GST_FLOW_OK);
  }
  for (guint i = 0; i < 8; i++) {
    g_autoptr (GstBuffer) out = gst_harness_pull (h);
    fail_unless_equals_int (ndt_harness_estimate (out)->status, GST_POSE_STATUS_TRACKING);
    fail_unless_equals_uint64 (GST_BUFFER_DURATION (out), (i < 4 ? 100 : 50) * GST_MSECOND);
  }
  ndt_harness_free (h);
}
GST_END_TEST

static GstFlowReturn
push_until_refused (GstHarness *h)
{
  GstFlowReturn flow = GST_FLOW_OK;
  for (guint i = 1; i < 100 && flow == GST_FLOW_OK; i++)
    flow = gst_harness_push (h, ndt_room_scan (i));
  return flow;
}

/* Downstream goes away and comes back. */
GST_START_TEST (test_relink)
{
  GstHarness *h = ndt_harness_new (NULL, NULL);
  g_autoptr (GstPad) pad = gst_element_get_static_pad (h->element, "src");

  gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (0)));
  gst_pad_unlink (pad, h->sinkpad);
  fail_unless_equals_int (push_until_refused (h), GST_FLOW_NOT_LINKED);
  fail_unless_equals_int (gst_pad_link (pad, h->sinkpad), GST_PAD_LINK_OK);
  /* Linking sends RECONFIGURE. What waited leaves first. */
  fail_unless_equals_int (gst_harness_push (h, ndt_room_scan (100)), GST_FLOW_OK);
  fail_unless_equals_int (gst_harness_push (h, ndt_room_scan (101)), GST_FLOW_OK);
  guint64 last = 0;
  do {
    g_autoptr (GstBuffer) out = gst_harness_pull (h);
    fail_unless (out != NULL);
    const guint64 sequence = ndt_harness_estimate (out)->sequence;
    fail_unless (sequence > last);
    last = sequence;
  } while (ndt_harness_count (h, "scans-in") > last + 1);
  ndt_harness_free (h);
}
GST_END_TEST

/* A branch that leads nowhere says so to what comes, events as well: a tee goes on with the others,
 * and would not after an error. What it has to know waits until it leads somewhere. */
GST_START_TEST (test_events_while_unlinked)
{
  GstHarness *h = ndt_harness_new (NULL, NULL);
  g_autoptr (GstPad) pad = gst_element_get_static_pad (h->element, "src");

  gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (0)));
  gst_pad_unlink (pad, h->sinkpad);
  fail_unless_equals_int (push_until_refused (h), GST_FLOW_NOT_LINKED);
  fail_unless (gst_harness_push_event (
      h, gst_event_new_tag (gst_tag_list_new (GST_TAG_TITLE, "a drive", NULL))));
  fail_unless_equals_int (gst_harness_push (h, ndt_room_scan (1)), GST_FLOW_NOT_LINKED);
  gst_harness_set_src_caps_str (h,
      "pointcloud/x-raw,format=CUSTOM,point-step=12,fields=\"x:F32:0,y:F32:4,z:F32:8\","
      "framerate=20/1");
  ndt_harness_push_segment (h, GST_FORMAT_TIME, 5 * GST_SECOND);
  fail_if (gst_harness_push_event (h, mark (1)));
  fail_unless_equals_int (gst_harness_push (h, ndt_room_scan (1)), GST_FLOW_NOT_LINKED);

  drop_events (h);
  fail_unless_equals_int (gst_pad_link (pad, h->sinkpad), GST_PAD_LINK_OK);
  fail_unless_equals_int (gst_harness_push (h, ndt_room_scan (2)), GST_FLOW_OK);
  gst_event_unref (pull_event (h, GST_EVENT_TAG));
  gst_event_unref (pull_event (h, GST_EVENT_CAPS));
  gst_event_unref (pull_event (h, GST_EVENT_SEGMENT));
  GstClockTime duration;
  do {
    g_autoptr (GstBuffer) out = gst_harness_pull (h);
    fail_unless (out != NULL);
    duration = GST_BUFFER_DURATION (out);
  } while (duration != 50 * GST_MSECOND);
  ndt_harness_free (h);
}
GST_END_TEST

static GstPadProbeReturn
refuse_buffer (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  const GstFlowReturn *flow = user_data;
  gst_buffer_unref (GST_PAD_PROBE_INFO_BUFFER (info));
  GST_PAD_PROBE_INFO_FLOW_RETURN (info) = *flow;
  return GST_PAD_PROBE_HANDLED;
}

/* What leaves is answered so. */
static void
refuse_buffers (GstHarness *h, GstFlowReturn *flow)
{
  g_autoptr (GstPad) src = gst_element_get_static_pad (h->element, "src");
  gst_pad_add_probe (src, GST_PAD_PROBE_TYPE_BUFFER, refuse_buffer, flow, NULL);
}

static gboolean
has_sticky (GstPad *pad, GstEventType type, const gchar *name)
{
  GstEvent *event;
  gboolean has = FALSE;
  for (guint i = 0; !has && (event = gst_pad_get_sticky_event (pad, type, i)); i++) {
    has = !name || gst_event_has_name (event, name);
    gst_event_unref (event);
  }
  return has;
}

/* Tags and an application's sticky events between scans of one batch outlive a sink that takes no
 * more and one that is not linked: whoever is linked next has them. */
GST_START_TEST (test_sticky_events_of_a_batch)
{
  static const GstFlowReturn flows[] = {GST_FLOW_FLUSHING, GST_FLOW_NOT_LINKED};
  for (guint k = 0; k < G_N_ELEMENTS (flows); k++) {
    GstHarness *h = ndt_harness_new ("batch-size", 8, "batch-timeout", 10 * GST_SECOND, NULL);
    g_autoptr (GstPad) src = gst_element_get_static_pad (h->element, "src");
    GstFlowReturn flow = flows[k];

    refuse_buffers (h, &flow);
    fail_unless_equals_int (gst_harness_push (h, ndt_room_scan (0)), GST_FLOW_OK);
    fail_unless_equals_int (gst_harness_push (h, ndt_room_scan (1)), GST_FLOW_OK);
    gst_harness_push_event (h, gst_event_new_tag (gst_tag_list_new (GST_TAG_TITLE, "drive", NULL)));
    gst_harness_push_event (h, gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM_STICKY,
                                   gst_structure_new_empty ("weather")));
    fail_unless_equals_int (gst_harness_push (h, ndt_room_scan (2)), GST_FLOW_OK);
    /* Ends the wait for a batch. */
    g_object_set (h->element, "batch-timeout", G_GUINT64_CONSTANT (0), NULL);
    ndt_wait_for (ndt_harness_count (h, "dropped") == 2);
    ndt_wait_for (has_sticky (src, GST_EVENT_TAG, NULL));
    ndt_wait_for (has_sticky (src, GST_EVENT_CUSTOM_DOWNSTREAM_STICKY, "weather"));
    ndt_harness_free (h);
  }
}
GST_END_TEST

/* After an EOS comes no buffer that could report it. */
GST_START_TEST (test_eos_while_unlinked)
{
  GstHarness *h = ndt_harness_new (NULL, NULL);
  g_autoptr (GstPad) pad = gst_element_get_static_pad (h->element, "src");

  gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (0)));
  gst_pad_unlink (pad, h->sinkpad);
  fail_unless_equals_int (push_until_refused (h), GST_FLOW_NOT_LINKED);
  fail_if (gst_harness_push_event (h, gst_event_new_eos ()));
  g_autoptr (GError) error = ndt_harness_error (h->element, GST_MESSAGE_ERROR);
  fail_unless (g_error_matches (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED));
  ndt_harness_free (h);
}
GST_END_TEST

static GstPadProbeReturn
answer_allocation (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (info);
  if (GST_QUERY_TYPE (query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  gst_query_add_allocation_meta (query, GST_POSE_META_API_TYPE, NULL);
  return GST_PAD_PROBE_HANDLED;
}

GST_START_TEST (test_allocation)
{
  GstHarness *h = ndt_harness_new (NULL, NULL);
  g_autoptr (GstCaps) caps = gst_caps_from_string (NDT_ROOM_CAPS);
  GstQuery *query = gst_query_new_allocation (caps, TRUE);
  guint index;

  gst_pad_add_probe (
      h->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, answer_allocation, NULL, NULL);
  fail_unless (gst_pad_peer_query (h->srcpad, query));
  fail_unless (gst_query_find_allocation_meta (query, GST_POSE_META_API_TYPE, &index));
  gst_query_unref (query);
  ndt_harness_free (h);
}
GST_END_TEST

GST_START_TEST (test_qos_is_counted)
{
  GstHarness *h = ndt_harness_new (NULL, NULL);
  gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (0)));
  gst_harness_push_upstream_event (
      h, gst_event_new_qos (GST_QOS_TYPE_UNDERFLOW, 1.5, GST_SECOND, 0));
  fail_unless_equals_uint64 (ndt_harness_count (h, "qos-events"), 1);
  ndt_harness_free (h);
}
GST_END_TEST

GST_START_TEST (test_buffer_list)
{
  GstHarness *h = ndt_harness_new (NULL, NULL);
  GstBufferList *list = gst_buffer_list_new ();

  for (guint i = 0; i < 5; i++) {
    GstBuffer *scan = ndt_room_scan (i);
    GST_BUFFER_PTS (scan) = i * 100 * GST_MSECOND;
    gst_buffer_list_add (list, scan);
  }
  fail_unless_equals_int (gst_pad_push_list (h->srcpad, list), GST_FLOW_OK);
  for (guint i = 0; i < 5; i++) {
    g_autoptr (GstBuffer) out = gst_harness_pull (h);
    fail_unless_equals_uint64 (ndt_harness_estimate (out)->sequence, i);
  }
  ndt_harness_free (h);
}
GST_END_TEST

/* A state change deactivates the source pad first: what comes until the sink pad follows is refused
 * as flushing. Anything else is an error, which the source upstream would post. */
GST_START_TEST (test_deactivation)
{
  GstHarness *h = ndt_harness_new (NULL, NULL);
  g_autoptr (GstPad) src = gst_element_get_static_pad (h->element, "src");

  fail_unless (gst_pad_set_active (src, FALSE));
  ndt_harness_push_segment (h, GST_FORMAT_TIME, 0);
  fail_unless_equals_int (gst_harness_push (h, ndt_room_scan (0)), GST_FLOW_FLUSHING);
  ndt_harness_free (h);
}
GST_END_TEST

/* A flush comes while the task has the first event in its hands and the next one waits: both
 * outlive it, in their order (GStreamer warns otherwise, which fails). */
GST_START_TEST (test_sticky_order_over_flush)
{
  GstHarness *h = ndt_harness_new (NULL, NULL);
  g_autoptr (GstPad) src = gst_element_get_static_pad (h->element, "src");
  g_autoptr (GstPad) sink = gst_element_get_static_pad (h->element, "sink");
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (sink);

  for (guint i = 0; i < 500; i++) {
    /* Forgets the events of the round before. */
    fail_unless (gst_pad_set_active (src, FALSE) && gst_pad_set_active (src, TRUE));
    fail_unless (gst_harness_push_event (h, gst_event_new_stream_start ("scans")));
    fail_unless (gst_harness_push_event (h, gst_event_new_caps (caps)));
    fail_unless (gst_harness_push_event (h, gst_event_new_flush_start ()));
    fail_unless (gst_harness_push_event (h, gst_event_new_flush_stop (TRUE)));
    g_autoptr (GstEvent) start = gst_pad_get_sticky_event (src, GST_EVENT_STREAM_START, 0);
    g_autoptr (GstCaps) kept = gst_pad_get_current_caps (src);
    fail_unless (start && kept && gst_caps_is_equal (kept, caps));
  }
  ndt_harness_free (h);
}
GST_END_TEST

/* Before the tests fork. */
static void
write_map (void)
{
  ndt_room_map ();
}

/* What is downstream knows the map of each scan that comes. */
GST_START_TEST (test_map_is_told)
{
  GstHarness *h = ndt_harness_new (NULL, NULL);

  for (guint stream = 0; stream < 2; stream++) {
    gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (0)));
    g_autoptr (GstEvent) event = pull_event (h, GST_EVENT_CUSTOM_DOWNSTREAM_STICKY);
    const GstStructure *structure = gst_event_get_structure (event);
    fail_unless (gst_structure_has_name (structure, "ndt-map"));
    fail_unless_equals_string (gst_structure_get_string (structure, "location"), ndt_room_map ());
    gdouble resolution;
    fail_unless (gst_structure_get_double (structure, "resolution", &resolution));
    fail_unless_equals_float (resolution, 1.0); /* as of the room */
    gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (1)));
    drop_events (h);
    fail_unless (gst_harness_push_event (h, gst_event_new_stream_start ("another")));
    ndt_harness_push_segment (h, GST_FORMAT_TIME, 0);
  }
  ndt_harness_free (h);
}
GST_END_TEST

static Suite *
ndtlocalize_events_suite (void)
{
  Suite *suite = suite_create ("ndtlocalize-events");
  TCase *tc = tcase_create ("general");
  suite_add_tcase (suite, tc);
  tcase_add_unchecked_fixture (tc, write_map, ndt_room_remove_map);
  tcase_add_test (tc, test_map_is_told);
  tcase_add_test (tc, test_nonzero_segment);
  tcase_add_test (tc, test_events_in_place);
  tcase_add_test (tc, test_gaps_within_a_batch);
  tcase_add_test (tc, test_eos);
  tcase_add_test (tc, test_flush);
  tcase_add_test (tc, test_deactivation);
  tcase_add_test (tc, test_sticky_order_over_flush);
  tcase_add_test (tc, test_caps_change);
  tcase_add_test (tc, test_relink);
  tcase_add_test (tc, test_events_while_unlinked);
  tcase_add_test (tc, test_eos_while_unlinked);
  tcase_add_test (tc, test_sticky_events_of_a_batch);
  tcase_add_test (tc, test_allocation);
  tcase_add_test (tc, test_qos_is_counted);
  tcase_add_test (tc, test_buffer_list);
  return suite;
}

GST_CHECK_MAIN (ndtlocalize_events)
