/* SPDX-License-Identifier: MIT */
/* What ndtlocalize costs beside aligning: with a backend that does nothing, next to
 * queue ! identity, in nanoseconds per scan. */
#include <gst/gst.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gst/ndt/gstndtengine.h"
#include "gst/ndt/gstndtlocalize.h"
#include "tests/ndt-room.h"

#define N_SCANS 40000
#define N_RUNS 7

static gboolean
null_set_map (NdtBackend *backend, NdtVoxelMap *map, GError **error)
{
  return TRUE;
}

static gboolean
null_set_scan (NdtBackend *backend, guint slot, const NdtCloudView *points,
    const NdtScanFilter *filter, GError **error)
{
  return TRUE;
}

static gboolean
null_get_scan (
    NdtBackend *backend, guint slot, float *xyz, guint max_points, guint *n_points, GError **error)
{
  *n_points = 0;
  return TRUE;
}

static gboolean
null_align (NdtBackend *backend, guint slot, const NdtAlignParams *params, const NdtStart *starts,
    guint n_starts, NdtAlignResult *results, GError **error)
{
  memset (results, 0, n_starts * sizeof *results);
  for (guint i = 0; i < n_starts; i++)
    results[i].pose = starts[i].guess;
  return TRUE;
}

static gboolean
null_evaluate (NdtBackend *backend, guint slot, const NdtAlignParams *params, guint level,
    NdtKind kind, const NdtPose *poses, guint n_poses, NdtSums *sums, GError **error)
{
  memset (sums, 0, n_poses * sizeof *sums);
  return TRUE;
}

static void
null_get_counters (NdtBackend *backend, NdtBackendCounters *counters)
{
  memset (counters, 0, sizeof *counters);
}

static void
null_cancel (NdtBackend *backend, gboolean cancelled)
{
}

static void
null_close (NdtBackend *backend)
{
}

static const NdtBackendClass null_class = {
    .name = "null",
    .set_map = null_set_map,
    .set_scan = null_set_scan,
    .get_scan = null_get_scan,
    .align = null_align,
    .evaluate = null_evaluate,
    .get_counters = null_get_counters,
    .cancel = null_cancel,
    .close = null_close,
};

static NdtBackend *
null_open (const NdtBackendConfig *config, GError **error)
{
  static NdtBackend backend = {&null_class};
  return &backend;
}

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
  g_autofree gchar *text =
      g_strdup_printf ("fakesrc num-buffers=%d sizetype=fixed sizemax=8400 filltype=nothing "
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

int
main (int argc, char **argv)
{
  gst_init (&argc, &argv);
  GST_ELEMENT_REGISTER (ndtlocalize, NULL);
  gst_ndt_device_open = null_open;

  static const guint batch_sizes[] = {0, 1, 8, 64}; /* 0: queue ! identity */
  gdouble times[G_N_ELEMENTS (batch_sizes)][N_RUNS], processor[G_N_ELEMENTS (batch_sizes)][N_RUNS];
  for (guint r = 0; r < N_RUNS; r++) {
    for (guint i = 0; i < G_N_ELEMENTS (batch_sizes); i++) {
      g_autofree gchar *localizer = g_strdup_printf (
          "ndtlocalize backend=cuda map=%s batch-size=%u", ndt_room_map (), batch_sizes[i]);
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
  ndt_room_remove_map ();
  return 0;
}
