/* SPDX-License-Identifier: MIT */
/* What ndtlocalize costs beside aligning: with a backend that does nothing, next to
 * queue ! identity. */
#include <gst/check/gstcheck.h>

#include <time.h>

#include "gst/ndt/gstndtlocalize.h"
#include "tests/ndt-harness.h"
#include "gst/ndt/engine/gstndtengine.h"
#include "tests/ndt-null.h"

#define N_SCANS 10000

/* Other programs make a run slower, never faster: the best of several is compared, and there are
 * more of them while it is too slow. */
#define MIN_ROUNDS 10
#define MAX_TIME (60 * GST_SECOND)
#define MAX_RATIO 2.0

typedef struct {
  gdouble clock;     /* nanoseconds per scan */
  gdouble processor; /* the same of processors' time, all threads together */
} Cost;

static gdouble
processor_time (void)
{
  struct timespec time;
  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &time);
  return (gdouble)time.tv_sec * 1e9 + (gdouble)time.tv_nsec;
}

/* Runs scans through @between; @best becomes the best so far. */
static void
run (const gchar *between, Cost *best)
{
  g_autofree gchar *text = g_strdup_printf (
      "fakesrc num-buffers=%d sizetype=fixed sizemax=8400 filltype=zero datarate=84000 "
      "format=time ! pointcloud/x-raw,format=XYZ_F32LE,framerate=10/1 ! %s "
      "! fakesink sync=false enable-last-sample=false",
      N_SCANS, between);
  g_autoptr (GstElement) pipeline = gst_parse_launch (text, NULL);

  gst_element_set_state (pipeline, GST_STATE_PAUSED);
  gst_element_get_state (pipeline, NULL, NULL, GST_CLOCK_TIME_NONE);
  const GstClockTime start = gst_util_get_timestamp ();
  const gdouble start_processor = processor_time ();
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  ndt_harness_wait_for_eos (pipeline);
  const gdouble processor = (processor_time () - start_processor) / N_SCANS;
  const gdouble clock = (gdouble)(gst_util_get_timestamp () - start) / N_SCANS;
  gst_element_set_state (pipeline, GST_STATE_NULL);

  best->clock = best->clock > 0 ? MIN (best->clock, clock) : clock;
  best->processor = best->processor > 0 ? MIN (best->processor, processor) : processor;
}

/* At most twice as much, by the clock and of the processors, with the default batch size. */
GST_START_TEST (test_cost)
{
  g_autofree gchar *localizer =
      g_strdup_printf ("ndtlocalize backend=cuda map-location=%s", ndt_room_map ());
  Cost queue = {0}, ours = {0};

  const GstClockTime end = gst_util_get_timestamp () + MAX_TIME;
  for (guint round = 0;
       round < MIN_ROUNDS ||
       (gst_util_get_timestamp () < end &&
           (ours.clock > MAX_RATIO * queue.clock || ours.processor > MAX_RATIO * queue.processor));
       round++) {
    run ("queue ! identity", &queue);
    run (localizer, &ours);
  }
  g_print ("queue ! identity %.0f ns per scan, of processors %.0f; ndtlocalize %.2f and %.2f times "
           "that\n",
      queue.clock, queue.processor, ours.clock / queue.clock, ours.processor / queue.processor);
  fail_unless (
      ours.clock <= MAX_RATIO * queue.clock, "%.2f times by the clock", ours.clock / queue.clock);
  fail_unless (ours.processor <= MAX_RATIO * queue.processor, "%.2f times of the processors",
      ours.processor / queue.processor);
}
GST_END_TEST

#define N_HELD 64

static GstPadProbeReturn
note_memory (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  GPtrArray *memories = user_data;
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);

  fail_unless_equals_int (gst_buffer_n_memory (buffer), 1);
  g_ptr_array_add (memories, gst_memory_ref (gst_buffer_peek_memory (buffer, 0)));
  return GST_PAD_PROBE_OK;
}

/* The memory that comes out is the memory that went in, also where somebody else holds the scan. */
GST_START_TEST (test_no_copy)
{
  GstHarness *h = ndt_harness_new ("backend", 1, "batch-size", 8, NULL);
  g_autoptr (GPtrArray) in = g_ptr_array_new_with_free_func ((GDestroyNotify)gst_memory_unref);
  g_autoptr (GPtrArray) out = g_ptr_array_new_with_free_func ((GDestroyNotify)gst_memory_unref);
  g_autoptr (GstPad) sink = gst_element_get_static_pad (h->element, "sink");
  g_autoptr (GstPad) src = gst_element_get_static_pad (h->element, "src");
  GstBuffer *held[N_HELD];

  gst_pad_add_probe (sink, GST_PAD_PROBE_TYPE_BUFFER, note_memory, in, NULL);
  gst_pad_add_probe (src, GST_PAD_PROBE_TYPE_BUFFER, note_memory, out, NULL);
  for (guint i = 0; i < N_HELD; i++) {
    held[i] = gst_buffer_new_allocate (NULL, 3600, NULL);
    gst_buffer_memset (held[i], 0, 0, 3600);
    fail_unless_equals_int (
        gst_harness_push (h, i % 2 ? gst_buffer_ref (held[i]) : g_steal_pointer (&held[i])),
        GST_FLOW_OK);
  }
  for (guint i = 0; i < N_HELD; i++)
    gst_buffer_unref (gst_harness_pull (h));
  fail_unless_equals_int (in->len, N_HELD);
  fail_unless_equals_int (out->len, N_HELD);
  for (guint i = 0; i < in->len; i++)
    fail_unless (g_ptr_array_index (in, i) == g_ptr_array_index (out, i), "memory %u", i);
  for (guint i = 0; i < N_HELD; i++)
    gst_clear_buffer (&held[i]);
  ndt_harness_free (h);
}
GST_END_TEST

static void
setup (void)
{
  GST_ELEMENT_REGISTER (ndtlocalize, NULL);
  gst_ndt_device_open = ndt_null_open;
}

/* Before the tests fork. */
static void
write_map (void)
{
  ndt_room_map ();
}

static Suite *
ndtlocalize_cost_suite (void)
{
  Suite *suite = suite_create ("ndtlocalize-cost");
  TCase *tc = tcase_create ("general");
  suite_add_tcase (suite, tc);
  tcase_add_unchecked_fixture (tc, write_map, ndt_room_remove_map);
  tcase_add_checked_fixture (tc, setup, NULL);
  tcase_add_test (tc, test_no_copy);
  /* Sanitizers cost more than what is measured. */
  if (!g_getenv ("NDT_TEST_SANITIZER"))
    tcase_add_test (tc, test_cost);
  return suite;
}

GST_CHECK_MAIN (ndtlocalize_cost)
