/* SPDX-License-Identifier: MIT */
/* What ndtlocalize costs beside aligning: with a backend that does nothing, next to
 * queue ! identity, in nanoseconds per scan. Then what batches gain on a stream that is faster than
 * the backend: "bench-element cuda" measures that on a device. */
#include <gst/check/gstharness.h>
#include <gst/gst.h>
#include <stdlib.h>
#include <time.h>

#include "gst/ndt/engine/gstndtengine.h"
#include "gst/ndt/gstndtlocalize.h"
#include "gst/pointcloud/pointcloud.h"
#include "tests/ndt-null.h"
#include "tests/ndt-room.h"

#define N_SCANS 40000
#define N_RUNS 7

/* Of the stream that is faster than the backend: there and back along the room's path. */
#define N_PLACES 100
#define N_ALIGNED 400

static gdouble
processor_time (void)
{
  struct timespec time;
  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &time);
  return (gdouble)time.tv_sec * 1e9 + (gdouble)time.tv_nsec;
}

/* Nanoseconds per scan of a pipeline with @between: by the clock, and of the processors. */
static void
run (const gchar *between, gdouble *clock_ns, gdouble *processor_ns)
{
  g_autofree gchar *text = g_strdup_printf (
      "fakesrc num-buffers=%d sizetype=fixed sizemax=8400 filltype=zero datarate=84000 "
      "format=time ! pointcloud/x-raw,format=XYZ_F32LE,framerate=10/1 ! %s "
      "! fakesink sync=false enable-last-sample=false",
      N_SCANS, between);
  g_autoptr (GError) error = NULL;
  g_autoptr (GstElement) pipeline = gst_parse_launch (text, &error);
  if (!pipeline || error)
    g_error ("%s", error->message);
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);

  gst_element_set_state (pipeline, GST_STATE_PAUSED);
  gst_element_get_state (pipeline, NULL, NULL, GST_CLOCK_TIME_NONE);
  const GstClockTime start = gst_util_get_timestamp ();
  const gdouble start_processor = processor_time ();
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  g_autoptr (GstMessage) message =
      gst_bus_timed_pop_filtered (bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  *processor_ns = (processor_time () - start_processor) / N_SCANS;
  *clock_ns = (gdouble)(gst_util_get_timestamp () - start) / N_SCANS;
  if (GST_MESSAGE_TYPE (message) != GST_MESSAGE_EOS)
    g_error ("the pipeline failed");
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

static int
compare (const void *a, const void *b)
{
  const gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;
  return (x > y) - (x < y);
}

static gdouble
mean_wait (GstHarness *h)
{
  g_autoptr (GstStructure) stats = NULL;
  guint64 mean = 0;
  g_object_get (h->element, "stats", &stats, NULL);
  gst_structure_get_uint64 (stats, "wait-mean", &mean);
  return (gdouble)mean;
}

static GstBuffer *
scan_at (GstBuffer *place, guint index)
{
  GstBuffer *scan = gst_buffer_copy (place);
  GST_BUFFER_PTS (scan) = index * 100 * GST_MSECOND;
  return scan;
}

/* Pushes scans as fast as they are taken. */
static void
run_fast (const gchar *backend, guint batch_size, GstBuffer **scans, gdouble *clock_ns,
    gdouble *processor_ns, gdouble *wait_ns)
{
  NdtPose pose;
  ndt_room_pose (0, &pose);
  g_autofree gchar *start = ndt_pose_to_string (&pose);
  GstElement *element = gst_element_factory_make ("ndtlocalize", NULL);
  g_object_set (element, "map-location", ndt_room_map (), "resolution", 1.0, "n-threads", 1,
      "batch-size", batch_size, NULL);
  gst_util_set_object_arg (G_OBJECT (element), "initial-pose", start);
  gst_util_set_object_arg (G_OBJECT (element), "backend", backend);
  GstHarness *h = gst_harness_new_with_element (element, "sink", "src");
  gst_object_unref (element);
  gst_harness_set_src_caps_str (h, NDT_ROOM_CAPS);
  if (gst_harness_push (h, scan_at (scans[0], 0)) != GST_FLOW_OK)
    g_error ("backend %s does not work", backend);
  gst_buffer_unref (gst_harness_pull (h));

  const GstClockTime begin = gst_util_get_timestamp ();
  const gdouble begin_processor = processor_time ();
  for (guint i = 1; i < N_ALIGNED; i++) {
    const guint turn = i % (2 * N_PLACES);
    gst_harness_push (h, scan_at (scans[turn < N_PLACES ? turn : 2 * N_PLACES - 1 - turn], i));
  }
  for (guint i = 1; i < N_ALIGNED; i++) {
    GstBuffer *out = gst_harness_pull (h);
    if (gst_buffer_get_pose_meta (out, GST_POSE_ROLE_ESTIMATE)->status != GST_POSE_STATUS_TRACKING)
      g_error ("scan %u is not tracked", i);
    gst_buffer_unref (out);
  }
  *clock_ns = (gdouble)(gst_util_get_timestamp () - begin) / (N_ALIGNED - 1);
  *processor_ns = (processor_time () - begin_processor) / (N_ALIGNED - 1);
  *wait_ns = mean_wait (h);
  gst_harness_teardown (h);
}

static void
measure_fast (const gchar *backend)
{
  static const guint sizes[] = {1, 2, 8, 64};
  gdouble times[G_N_ELEMENTS (sizes)][N_RUNS], processor[G_N_ELEMENTS (sizes)][N_RUNS];
  gdouble waits[G_N_ELEMENTS (sizes)][N_RUNS];
  GstBuffer *scans[N_PLACES];

  for (guint i = 0; i < N_PLACES; i++)
    scans[i] = ndt_room_scan (i);
  for (guint r = 0; r < N_RUNS; r++)
    for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
      run_fast (backend, sizes[i], scans, &times[i][r], &processor[i][r], &waits[i][r]);
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    qsort (times[i], N_RUNS, sizeof times[i][0], compare);
    qsort (processor[i], N_RUNS, sizeof processor[i][0], compare);
    qsort (waits[i], N_RUNS, sizeof waits[i][0], compare);
  }

  const guint m = N_RUNS / 2;
  g_print ("\n%-28s %12s %6s %16s %6s %12s\n", "stream faster than backend", "us per scan", "ratio",
      "of processors", "ratio", "waited us");
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    g_autofree gchar *name = g_strdup_printf ("%s batch-size=%u", backend, sizes[i]);
    g_print ("%-28s %12.1f %6.2f %16.1f %6.2f %12.0f\n", name, times[i][m] / 1e3,
        times[i][m] / times[0][m], processor[i][m] / 1e3, processor[i][m] / processor[0][m],
        waits[i][m] / 1e3);
  }
  for (guint i = 0; i < N_PLACES; i++)
    gst_buffer_unref (scans[i]);
}

int
main (int argc, char **argv)
{
  gst_init (&argc, &argv);
  GST_ELEMENT_REGISTER (ndtlocalize, NULL);
  const GstNdtDeviceOpen device_open = gst_ndt_device_open;
  gst_ndt_device_open = ndt_null_open;

  static const guint batch_sizes[] = {0, 1, 8, 64}; /* 0: queue ! identity */
  gdouble times[G_N_ELEMENTS (batch_sizes)][N_RUNS], processor[G_N_ELEMENTS (batch_sizes)][N_RUNS];
  for (guint r = 0; r < N_RUNS; r++) {
    for (guint i = 0; i < G_N_ELEMENTS (batch_sizes); i++) {
      g_autofree gchar *localizer =
          g_strdup_printf ("ndtlocalize backend=cuda map-location=%s batch-size=%u",
              ndt_room_map (), batch_sizes[i]);
      run (batch_sizes[i] == 0 ? "queue ! identity" : localizer, &times[i][r], &processor[i][r]);
    }
  }
  for (guint i = 0; i < G_N_ELEMENTS (batch_sizes); i++) {
    qsort (times[i], N_RUNS, sizeof times[i][0], compare);
    qsort (processor[i], N_RUNS, sizeof processor[i][0], compare);
  }

  const guint m = N_RUNS / 2;
  g_print ("%-28s %12s %6s %16s %6s\n", "", "ns per scan", "ratio", "of processors", "ratio");
  for (guint i = 0; i < G_N_ELEMENTS (batch_sizes); i++) {
    g_autofree gchar *name = batch_sizes[i] == 0
                                 ? g_strdup ("queue ! identity")
                                 : g_strdup_printf ("ndtlocalize batch-size=%u", batch_sizes[i]);
    g_print ("%-28s %12.0f %6.2f %16.0f %6.2f\n", name, times[i][m], times[i][m] / times[0][m],
        processor[i][m], processor[i][m] / processor[0][m]);
  }

  gst_ndt_device_open = device_open;
  measure_fast (argc > 1 ? argv[1] : "cpu");
  ndt_room_remove_map ();
  return 0;
}
