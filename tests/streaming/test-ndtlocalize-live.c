/* SPDX-License-Identifier: MIT */
/* Two live sensors of 20 Hz by a clock that the test moves: no scan is lost, out of order or late,
 * and memory stays. 30 seconds of stream time, ten minutes as a test of the suite "soak";
 * NDT_TEST_SOAK=N makes it N seconds. Also runs with GStreamer's latency tracer. */
#include <gst/check/gstcheck.h>
#include <gst/check/gsttestclock.h>

#include <glib/gstdio.h>
#include <malloc.h>
#include <string.h>

#include "gst/ndt/gstndtlocalize.h"
#include "tests/ndt-harness.h"
#include "tests/ndt-wait.h"
#include "tests/ndt-world.h"

#define N_STREAMS 2
#define PERIOD (50 * GST_MSECOND)

static gboolean
has_latency_tracer (void)
{
  const gchar *tracers = g_getenv ("GST_TRACERS");
  return tracers && strstr (tracers, "latency");
}

static guint
rounds (void)
{
  const gchar *text = g_getenv ("NDT_TEST_SOAK");
  if (!text)
    text = g_getenv ("NDT_TEST_SECONDS");
  const gdouble seconds = text ? g_ascii_strtod (text, NULL) : 0;
  /* ThreadSanitizer takes ten times as long for each second. */
  const gdouble least = g_strcmp0 (g_getenv ("NDT_TEST_SANITIZER"), "thread") == 0 ? 5 : 30;
  return (guint)(MAX (seconds, least) * GST_SECOND / PERIOD);
}

static void
setup (void)
{
  GST_ELEMENT_REGISTER (ndtlocalize, NULL);
}

/* A world's map and where the path starts in it. */
static gchar *
write_world (void)
{
  g_autofree gchar *folder = g_dir_make_tmp ("ndt-live-XXXXXX", NULL);
  gchar *map = g_build_filename (folder, "map.pcd", NULL);

  ndt_world_write_map (NDT_SIM_WORLD_HALL, map);
  return map;
}

typedef struct {
  guint64 next;
  guint n_tracking;
  gint n_probes;
} Stream;

/* What GStreamer's latency tracer puts between buffers. */
static GstPadProbeReturn
count_probe (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  Stream *stream = user_data;
  const GstStructure *structure = gst_event_get_structure (GST_PAD_PROBE_INFO_EVENT (info));
  if (structure && g_str_has_suffix (gst_structure_get_name (structure), "latency_probe.id"))
    g_atomic_int_inc (&stream->n_probes);
  return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn
check_scan (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  Stream *stream = user_data;
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  const GstPoseMeta *meta = ndt_harness_estimate (buffer);

  fail_unless_equals_uint64 (meta->sequence, stream->next);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), stream->next * PERIOD);
  stream->n_tracking += meta->status == GST_POSE_STATUS_TRACKING;
  stream->next++;
  return GST_PAD_PROBE_OK;
}

/* The first scan has no pose to start from but its true one, as a prior. */
static GstPadProbeReturn
add_prior (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  GstBuffer *buffer = gst_buffer_make_writable (GST_PAD_PROBE_INFO_BUFFER (info));
  const GstPoseMeta *truth = gst_buffer_get_pose_meta (buffer, GST_POSE_ROLE_GROUND_TRUTH);

  GST_PAD_PROBE_INFO_DATA (info) = buffer;
  gst_buffer_add_pose_meta (buffer, GST_POSE_ROLE_PRIOR, truth->position, truth->orientation);
  return GST_PAD_PROBE_REMOVE;
}

static GstElement *
pipeline_new (const gchar *map, Stream *streams)
{
  GString *text = g_string_new (NULL);
  for (guint i = 0; i < N_STREAMS; i++)
    g_string_append_printf (text,
        "lidartestsrc name=source%u is-live=true world=hall rings=16 columns=90 n-threads=1 "
        "start-offset=%u ! pointcloud/x-raw,framerate=20/1 "
        "! queue max-size-buffers=64 max-size-bytes=0 max-size-time=0 "
        "! ndtlocalize name=localizer%u n-threads=1 resolution=1 batch-size=%u map-location=%s "
        "! fakesink name=sink%u sync=true max-lateness=0 ",
        i, 3 * i, i, 1 + 3 * i, map, i);
  g_autoptr (GError) error = NULL;
  GstElement *pipeline = gst_parse_launch (text->str, &error);
  fail_unless (pipeline && !error);
  g_string_free (text, TRUE);

  for (guint i = 0; i < N_STREAMS; i++) {
    g_autofree gchar *source = g_strdup_printf ("source%u", i);
    g_autofree gchar *sink = g_strdup_printf ("sink%u", i);
    g_autoptr (GstElement) source_element = gst_bin_get_by_name (GST_BIN (pipeline), source);
    g_autoptr (GstElement) sink_element = gst_bin_get_by_name (GST_BIN (pipeline), sink);
    g_autoptr (GstPad) source_pad = gst_element_get_static_pad (source_element, "src");
    g_autoptr (GstPad) sink_pad = gst_element_get_static_pad (sink_element, "sink");
    gst_pad_add_probe (source_pad, GST_PAD_PROBE_TYPE_BUFFER, add_prior, NULL, NULL);
    gst_pad_add_probe (sink_pad, GST_PAD_PROBE_TYPE_BUFFER, check_scan, &streams[i], NULL);
    gst_pad_add_probe (
        sink_pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, count_probe, &streams[i], NULL);
  }
  return pipeline;
}

/* Waits until so many threads wait for the clock, and moves it to the earliest of them. */
static void
advance (GstTestClock *clock, guint n_waiting)
{
  GstClockID next = NULL;

  gst_test_clock_wait_for_multiple_pending_ids (clock, n_waiting, NULL);
  fail_unless (gst_test_clock_peek_next_pending_id (clock, &next));
  const GstClockTime time = gst_clock_id_get_time (next);
  gst_clock_id_unref (next);
  if (time > gst_clock_get_time (GST_CLOCK (clock)))
    gst_test_clock_set_time (clock, time);
  while (gst_test_clock_peek_next_pending_id (clock, &next)) {
    const gboolean due = gst_clock_id_get_time (next) <= time;
    gst_clock_id_unref (next);
    if (!due)
      break;
    gst_clock_id_unref (gst_test_clock_process_next_clock_id (clock));
  }
}

static guint64
dropped (GstElement *pipeline, guint i, guint64 *rendered)
{
  g_autofree gchar *name = g_strdup_printf ("sink%u", i);
  g_autoptr (GstElement) sink = gst_bin_get_by_name (GST_BIN (pipeline), name);
  g_autoptr (GstStructure) stats = NULL;
  guint64 value;

  g_object_get (sink, "stats", &stats, NULL);
  fail_unless (gst_structure_get_uint64 (stats, "rendered", rendered));
  fail_unless (gst_structure_get_uint64 (stats, "dropped", &value));
  return value;
}

static guint64
n_rendered (GstElement *pipeline, guint i)
{
  guint64 rendered;
  dropped (pipeline, i, &rendered);
  return rendered;
}

static void
assert_no_complaints (GstElement *pipeline)
{
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  for (GstMessage *message = gst_bus_pop (bus); message; message = gst_bus_pop (bus)) {
    fail_if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR ||
             GST_MESSAGE_TYPE (message) == GST_MESSAGE_WARNING);
    gst_message_unref (message);
  }
}

/* The second half of the rounds is so many parts, and the least that was used in each. Which scans
 * are on their way when it is measured, and a pool that has one more of them, changes some of
 * these; a leak changes each. */
#define N_PARTS 5

static void
note_used (gsize *used, guint round, guint n)
{
  if (round < n / 2)
    return;
  gsize *least = &used[(round - n / 2) * N_PARTS / (n - n / 2)];
  const gsize now = mallinfo2 ().uordblks;
  *least = *least > 0 ? MIN (*least, now) : now;
}

GST_START_TEST (test_live)
{
  g_autofree gchar *map = write_world ();
  g_autofree gchar *folder = g_path_get_dirname (map);
  Stream streams[N_STREAMS] = {{0}};
  GstClock *clock = gst_test_clock_new ();
  GstElement *pipeline = pipeline_new (map, streams);
  const guint n = rounds ();
  gsize used[N_PARTS] = {0}, grown = G_MAXSIZE;

  gst_pipeline_use_clock (GST_PIPELINE (pipeline), clock);
  fail_unless (gst_element_set_state (pipeline, GST_STATE_PAUSED) != GST_STATE_CHANGE_FAILURE);
  ndt_harness_wait_for_map (pipeline);
  fail_unless (gst_element_set_state (pipeline, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE);
  for (guint round = 0; round < n; round++) {
    advance (GST_TEST_CLOCK (clock), N_STREAMS);     /* the sources: a scan is over */
    advance (GST_TEST_CLOCK (clock), 2 * N_STREAMS); /* the sinks: it is shown */
    assert_no_complaints (pipeline);
    note_used (used, round, n);
  }
  for (guint part = 1; part < N_PARTS; part++)
    grown = MIN (grown, MAX (used[part], used[part - 1]) - used[part - 1]);
  const guint n_scans = N_STREAMS * n / 2 / N_PARTS;
  g_print ("%u scans of each of %u streams; memory grew by %" G_GSIZE_FORMAT
           " bytes at least with each %u\n",
      n, N_STREAMS, grown, n_scans);
  /* A leak of 100 bytes a scan would be more. */
  fail_unless (grown < 100 * n_scans, "%" G_GSIZE_FORMAT " bytes more", grown);
  for (guint i = 0; i < N_STREAMS; i++) {
    guint64 rendered = 0;
    /* The sinks were just told that the last one is due. */
    ndt_wait_for (n_rendered (pipeline, i) >= n);
    fail_unless_equals_uint64 (dropped (pipeline, i, &rendered), 0);
    fail_unless_equals_uint64 (rendered, n);
    fail_unless_equals_uint64 (streams[i].next, n);
    fail_unless_equals_int (streams[i].n_tracking, n);
    /* The tracer's events come through the element, one for each scan at least. */
    if (has_latency_tracer ())
      fail_unless (g_atomic_int_get (&streams[i].n_probes) >= (gint)n, "%d events for %u scans",
          g_atomic_int_get (&streams[i].n_probes), n);
    else
      fail_unless_equals_int (g_atomic_int_get (&streams[i].n_probes), 0);
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
  gst_object_unref (clock);
  g_unlink (map);
  g_rmdir (folder);
}
GST_END_TEST

static GstPadProbeReturn
check_tracking (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  gint *n_scans = user_data;
  const GstPoseMeta *meta = ndt_harness_estimate (GST_PAD_PROBE_INFO_BUFFER (info));
  fail_unless_equals_int (meta->status, GST_POSE_STATUS_TRACKING);
  g_atomic_int_inc (n_scans);
  return GST_PAD_PROBE_OK;
}

/* The pipeline's latency is a minute, as if another branch needed it, and the sink holds scans for
 * so long: they wait in the queue upstream for longer than the deadline, and have no backlog. */
GST_START_TEST (test_held_by_the_sink)
{
  g_autofree gchar *map = write_world ();
  g_autofree gchar *folder = g_path_get_dirname (map);
  g_autofree gchar *text = g_strdup_printf (
      "lidartestsrc name=source is-live=true world=hall rings=16 columns=90 n-threads=1 speed=0.1 "
      "! pointcloud/x-raw,framerate=1/1 "
      "! queue max-size-buffers=100 max-size-bytes=0 max-size-time=0 "
      "! ndtlocalize n-threads=1 resolution=1 batch-size=1 max-lateness=20000000000 "
      "map-location=%s "
      "! fakesink name=sink sync=true",
      map);
  g_autoptr (GstElement) pipeline = gst_parse_launch (text, NULL);
  g_autoptr (GstElement) source = gst_bin_get_by_name (GST_BIN (pipeline), "source");
  g_autoptr (GstElement) sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  g_autoptr (GstPad) source_pad = gst_element_get_static_pad (source, "src");
  g_autoptr (GstPad) sink_pad = gst_element_get_static_pad (sink, "sink");
  GstClock *clock = gst_test_clock_new ();
  gint n_scans = 0;

  gst_pad_add_probe (source_pad, GST_PAD_PROBE_TYPE_BUFFER, add_prior, NULL, NULL);
  gst_pad_add_probe (sink_pad, GST_PAD_PROBE_TYPE_BUFFER, check_tracking, &n_scans, NULL);
  gst_pipeline_use_clock (GST_PIPELINE (pipeline), clock);
  gst_pipeline_set_latency (GST_PIPELINE (pipeline), 60 * GST_SECOND);
  fail_unless (gst_element_set_state (pipeline, GST_STATE_PAUSED) != GST_STATE_CHANGE_FAILURE);
  ndt_harness_wait_for_map (pipeline);
  fail_unless (gst_element_set_state (pipeline, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE);
  /* Whoever is waited for first: the source, or the sink. */
  advance (GST_TEST_CLOCK (clock), 1);
  while (g_atomic_int_get (&n_scans) < 20)
    advance (GST_TEST_CLOCK (clock), 2);
  assert_no_complaints (pipeline);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (clock);
  g_unlink (map);
  g_rmdir (folder);
}
GST_END_TEST

static Suite *
ndtlocalize_live_suite (void)
{
  Suite *suite = suite_create ("ndtlocalize-live");
  TCase *tc = tcase_create ("general");
  tcase_set_timeout (tc, 300 + rounds ());
  suite_add_tcase (suite, tc);
  tcase_add_checked_fixture (tc, setup, NULL);
  tcase_add_test (tc, test_live);
  tcase_add_test (tc, test_held_by_the_sink);
  return suite;
}

GST_CHECK_MAIN (ndtlocalize_live)
