/* SPDX-License-Identifier: MIT */
/* ndtlocalize while everything around it moves: states, seeks, maps, properties. Each test runs for
 * a second; NDT_TEST_SOAK=N makes it N seconds. */
#include <gst/check/gstcheck.h>

#include <stdlib.h>
#include <string.h>

#include "gst/ndt/gstndtlocalize.h"
#include "tests/ndt-device.h"
#include "tests/ndt-harness.h"
#include "tests/ndt-wait.h"

static GstClockTime
duration (void)
{
  const gchar *text = g_getenv ("NDT_TEST_SOAK");
  const gdouble seconds = text ? g_ascii_strtod (text, NULL) : 0;
  return (GstClockTime)(MAX (seconds, 1) * GST_SECOND);
}

static void
setup (void)
{
  ndt_device_install ();
  GST_ELEMENT_REGISTER (ndtlocalize, NULL);
}

static GstElement *
pipeline_new (const gchar *between)
{
  g_autofree gchar *text =
      g_strdup_printf ("lidartestsrc name=source world=hall rings=16 columns=64 n-threads=1 %s "
                       "! ndtlocalize name=localizer n-threads=1 batch-size=4 map-location=%s "
                       "! fakesink name=sink sync=false",
          between, ndt_room_map ());
  g_autoptr (GError) error = NULL;
  GstElement *pipeline = gst_parse_launch (text, &error);
  fail_unless (pipeline && !error, "%s", error ? error->message : "");
  g_autoptr (GstElement) source = gst_bin_get_by_name (GST_BIN (pipeline), "source");
  g_autoptr (GstPad) pad = gst_element_get_static_pad (source, "src");
  ndt_harness_add_priors (pad);
  return pipeline;
}

static void
assert_no_error (GstElement *pipeline)
{
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  for (GstMessage *message = gst_bus_pop (bus); message; message = gst_bus_pop (bus)) {
    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR) {
      g_autoptr (GError) error = NULL;
      gst_message_parse_error (message, &error, NULL);
      fail ("%s", error->message);
    }
    gst_message_unref (message);
  }
}

/* Disturbances, and scans that have to come through them, however slow the machine is. */
#define N_DISTURBED 10

typedef struct {
  guint64 next; /* number of the scan that has to come */
  gboolean in_order;
  gboolean forwards; /* some may be missing */
  gint n_scans;
  guint64 n_in;
  guint64 n_out;
} Order;

static GstPadProbeReturn
check_order (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  Order *order = user_data;
  const GstPoseMeta *meta = ndt_harness_estimate (GST_PAD_PROBE_INFO_BUFFER (info));
  order->in_order &= meta->sequence == order->next;
  order->forwards &= meta->sequence >= order->next;
  order->next = meta->sequence + 1;
  g_atomic_int_inc (&order->n_scans);
  return GST_PAD_PROBE_OK;
}

static void
wait_for_state (GstElement *pipeline)
{
  fail_unless_equals_int (
      gst_element_get_state (pipeline, NULL, NULL, NDT_WAIT_SECONDS * GST_SECOND),
      GST_STATE_CHANGE_SUCCESS);
}

/* Disturbs a stream for a while, and until some scans have come, then lets it end. */
static void
run (GstElement *pipeline, Order *order, void (*disturb) (GstElement *, GRand *), gulong pause)
{
  g_autoptr (GstElement) localizer = gst_bin_get_by_name (GST_BIN (pipeline), "localizer");
  g_autoptr (GstPad) pad = gst_element_get_static_pad (localizer, "src");
  g_autoptr (GRand) random = g_rand_new_with_seed (6);
  g_autoptr (GstStructure) stats = NULL;

  *order = (Order){0, TRUE, TRUE, 0, 0, 0};
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, check_order, order, NULL);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  const GstClockTime end = gst_util_get_timestamp () + duration ();
  for (guint i = 0; i < N_DISTURBED || gst_util_get_timestamp () < end ||
                    g_atomic_int_get (&order->n_scans) <= N_DISTURBED;
       i++) {
    disturb (localizer, random);
    g_usleep (pause);
    assert_no_error (pipeline);
  }
  /* What was flushed plays again when the sink has a scan, which cannot come while the source waits
   * for its turn to end. */
  wait_for_state (pipeline);
  gst_element_send_event (pipeline, gst_event_new_eos ());
  ndt_harness_wait_for_eos (pipeline);
  g_object_get (localizer, "stats", &stats, NULL);
  gst_structure_get_uint64 (stats, "scans-in", &order->n_in);
  gst_structure_get_uint64 (stats, "scans-out", &order->n_out);
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

static gpointer
change_states (gpointer user_data)
{
  GstElement *pipeline = user_data;
  g_autoptr (GRand) random = g_rand_new_with_seed (5);
  const GstClockTime end = gst_util_get_timestamp () + duration ();

  while (gst_util_get_timestamp () < end) {
    const GstState state = (GstState)g_rand_int_range (random, GST_STATE_NULL, 5);
    fail_unless (gst_element_set_state (pipeline, state) != GST_STATE_CHANGE_FAILURE);
    g_usleep ((gulong)g_rand_int_range (random, 0, 20000));
  }
  fail_unless_equals_int (
      gst_element_set_state (pipeline, GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
  return NULL;
}

static void
ask (GstElement *localizer, GRand *random)
{
  g_autoptr (GstStructure) stats = NULL;
  g_autofree gchar *backend = NULL;

  g_object_get (localizer, "stats", &stats, "active-backend", &backend, NULL);
  fail_unless (stats != NULL);
  g_object_set (localizer, "max-range", g_rand_double_range (random, 5, 50), NULL);
}

/* State changes at random moments from another thread, while this one asks and sets: none fails or
 * waits, nothing is an error, and the pipeline then works as a new one does. */
GST_START_TEST (test_states)
{
  GstElement *pipeline = pipeline_new ("! queue max-size-buffers=4");
  g_autoptr (GstElement) localizer = gst_bin_get_by_name (GST_BIN (pipeline), "localizer");
  g_autoptr (GRand) random = g_rand_new_with_seed (7);
  const GstClockTime end = gst_util_get_timestamp () + duration ();
  Order order;

  g_atomic_int_set (&ndt_device.delay_ms, 3);
  GThread *thread = g_thread_new ("states", change_states, pipeline);
  while (gst_util_get_timestamp () < end) {
    ask (localizer, random);
    assert_no_error (pipeline);
    g_usleep (1000);
  }
  g_thread_join (thread);
  run (pipeline, &order, ask, 1000);
  fail_unless_equals_uint64 (order.n_in, order.n_out);
  fail_unless_equals_uint64 (order.n_out, (guint64)order.n_scans);
  fail_unless (order.in_order && order.n_scans > 10);
  gst_object_unref (pipeline);
}
GST_END_TEST

static guint64
n_scans_out (GstElement *localizer)
{
  g_autoptr (GstStructure) stats = NULL;
  guint64 n;

  g_object_get (localizer, "stats", &stats, NULL);
  fail_unless (gst_structure_get_uint64 (stats, "scans-out", &n));
  return n;
}

/* What a flushing seek sends, after some scan and in the middle of an alignment: the simulated
 * sensor itself takes none. */
static void
flush (GstElement *localizer, GRand *random)
{
  g_autoptr (GstObject) pipeline = gst_object_get_parent (GST_OBJECT (localizer));
  g_autoptr (GstElement) source = gst_bin_get_by_name (GST_BIN (pipeline), "source");

  /* A flush takes the sink's state away. Another one before it is back would be of a pipeline that
   * may then stay paused. */
  wait_for_state (GST_ELEMENT (pipeline));
  const guint64 n = n_scans_out (localizer);
  ndt_wait_for (n_scans_out (localizer) > n);
  ndt_device_wait ();
  fail_unless (gst_element_send_event (source, gst_event_new_flush_start ()));
  g_usleep ((gulong)g_rand_int_range (random, 0, 2000));
  fail_unless (gst_element_send_event (source, gst_event_new_flush_stop (TRUE)));
}

static GstPadProbeReturn
count_flush (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) == GST_EVENT_FLUSH_STOP)
    g_atomic_int_inc ((gint *)user_data);
  return GST_PAD_PROBE_OK;
}

/* Flushes in the middle of batches, with a queue before: what waits is dropped, nothing comes twice
 * or after what came later, and the stream goes on. */
GST_START_TEST (test_flushes)
{
  GstElement *pipeline = pipeline_new ("! queue max-size-buffers=4");
  g_autoptr (GstElement) sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  g_autoptr (GstPad) pad = gst_element_get_static_pad (sink, "sink");
  gint n_flushes = 0;
  Order order;

  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_EVENT_FLUSH, count_flush, &n_flushes, NULL);
  g_atomic_int_set (&ndt_device.delay_ms, 5);
  run (pipeline, &order, flush, 15000);
  fail_unless (order.forwards);
  fail_unless (g_atomic_int_get (&n_flushes) >= 5);
  /* Some were dropped, or there was nothing in the middle of which a flush could come. One that was
   * on its way out when it was dropped has been counted there. */
  fail_unless (order.n_in > (guint64)order.n_scans && order.n_in >= order.n_out &&
                   order.n_out >= (guint64)order.n_scans,
      "%" G_GUINT64_FORMAT " scans in, %" G_GUINT64_FORMAT " out, %d seen, %d flushes", order.n_in,
      order.n_out, order.n_scans, n_flushes);
  gst_object_unref (pipeline);
}
GST_END_TEST

static void
replace_map (GstElement *localizer, GRand *random)
{
  g_object_set (localizer, "map-location", ndt_room_map (), "resolution",
      g_rand_boolean (random) ? 1.0 : 2.0, NULL);
}

/* Maps replaced while scans are aligned: none is lost or out of order. */
GST_START_TEST (test_maps)
{
  GstElement *pipeline = pipeline_new ("");
  Order order;

  run (pipeline, &order, replace_map, 30000);
  fail_unless_equals_uint64 (order.n_in, order.n_out);
  fail_unless (order.in_order);
  gst_object_unref (pipeline);
}
GST_END_TEST

static void
write_properties (GstElement *localizer, GRand *random)
{
  gboolean accepted;

  ndt_harness_set (localizer, "max-range", g_rand_double_range (random, 5, 50), "batch-size",
      g_rand_int_range (random, 1, 65), "post-messages", g_rand_boolean (random), "outlier-ratio",
      g_rand_double_range (random, 0.1, 0.9), "map-frame",
      g_rand_boolean (random) ? "map" : "world", "initial-pose",
      g_rand_boolean (random) ? "8,6,1.5" : "9,6,1.5,10", NULL);
  if (g_rand_int_range (random, 0, 10) == 0)
    g_signal_emit_by_name (localizer, "set-initial-pose", "8,6,1.5", &accepted);
  if (g_rand_int_range (random, 0, 10) == 0)
    g_signal_emit_by_name (localizer, "reset");
}

/* Properties and actions at 1 kHz. */
GST_START_TEST (test_properties)
{
  GstElement *pipeline = pipeline_new ("");
  Order order;

  run (pipeline, &order, write_properties, 1000);
  fail_unless_equals_uint64 (order.n_in, order.n_out);
  fail_unless (order.in_order);
  gst_object_unref (pipeline);
}
GST_END_TEST

/* ---- A search in the background ---- */

static void
start_without_a_pose (
    gint backend, NdtHarnessStart *start, const gchar *search_backend, const gchar *warning)
{
  ndt_harness_start (ndt_harness_new ("backend", backend, NULL), search_backend, warning, start);
}

static void
assert_same_start (const NdtHarnessStart *a, const NdtHarnessStart *b)
{
  for (guint i = 0; i < NDT_HARNESS_N_START; i++) {
    fail_unless_equals_int (a->status[i], b->status[i]);
    fail_unless (memcmp (&a->poses[i], &b->poses[i], sizeof (NdtPose)) == 0, "scan %u", i);
  }
}

/* A start without a pose beside a device takes the same scans and has the same poses as one on the
 * CPU, whenever the device fails in the background, of which there is one warning. */
GST_START_TEST (test_search_fails)
{
  NdtHarnessStart cpu, start;
  start_without_a_pose (2 /* cpu */, &cpu, "cpu", NULL);
  fail_unless_equals_int (cpu.status[0], GST_POSE_STATUS_INITIALIZING);
  fail_unless_equals_int (cpu.status[3], GST_POSE_STATUS_TRACKING);

  start_without_a_pose (0 /* auto */, &start, "device", NULL);
  assert_same_start (&start, &cpu);
  fail_unless_equals_int (g_atomic_int_get (&ndt_device.n_searches), 1);
  fail_unless_equals_int (g_atomic_int_get (&ndt_device.n_searching), 0);
  const gint n_calls = g_atomic_int_get (&ndt_device.n_search_calls);
  fail_unless (n_calls >= 3, "%d calls", n_calls);

  for (gint at = 0; at <= n_calls; at++) {
    ndt_device_install ();
    ndt_device.fails_search = at > 0 ? NDT_DEVICE_SEARCH_NO_ALIGNMENT : NDT_DEVICE_SEARCH_NO_MAP;
    ndt_device.fails_search_at = at;
    start_without_a_pose (0, &start, "cpu", "The search in the background goes on with the CPU");
    assert_same_start (&start, &cpu);
    fail_unless_equals_int (g_atomic_int_get (&ndt_device.n_searching), 0);
  }
  ndt_device_install ();
  ndt_device.fails_search = NDT_DEVICE_SEARCH_NOT_OPENED;
  start_without_a_pose (0, &start, "cpu", "no memory beside the stream");
  assert_same_start (&start, &cpu);
}
GST_END_TEST

/* Before the tests fork. */
static void
write_map (void)
{
  ndt_room_map ();
}

static Suite *
ndtlocalize_faults_suite (void)
{
  Suite *suite = suite_create ("ndtlocalize-faults");
  TCase *tc = tcase_create ("general");
  tcase_set_timeout (tc, 300 + 10 * (gdouble)duration () / GST_SECOND);
  suite_add_tcase (suite, tc);
  tcase_add_unchecked_fixture (tc, write_map, ndt_room_remove_map);
  tcase_add_checked_fixture (tc, setup, NULL);
  tcase_add_test (tc, test_search_fails);
  tcase_add_test (tc, test_states);
  tcase_add_test (tc, test_flushes);
  tcase_add_test (tc, test_maps);
  tcase_add_test (tc, test_properties);
  return suite;
}

GST_CHECK_MAIN (ndtlocalize_faults)
