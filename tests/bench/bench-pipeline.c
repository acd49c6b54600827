/* SPDX-License-Identifier: MIT */
/* What each part of the GPU's path brings to a whole pipeline, on and off side by side:
 *
 *   bench-pipeline [BACKEND [SCANS [WORD]]]      default: cuda 600; WORD: only cases with it in
 * "SCANS: CASE", or with one of several: WORD|WORD; WORD$: that end with it
 *
 * First scans of a generated town that wait in memory, pushed into ndtlocalize as fast as it takes
 * them, so that nothing but the localizer limits; each is copied once on the way, as a decoder
 * would, into the memory that is proposed or into any. Then the source of the town itself before
 * it. Scans per second, the median of five runs and their extremes, starts not counted. */
#include <glib/gstdio.h>
#include <gst/check/gstharness.h>
#include <gst/gst.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_NDT_CUDA
#include "cuda/device/ndt-cuda-testing.h"
#endif
#include "gst/ndt/engine/gstndtengine.h"
#include "gst/ndt/gstndtlocalize.h"
#include "gst/pointcloud/pointcloud.h"
#include "ndtcore/cloudfile/ndt-map-image.h"
#include "ndtcore/mapfile/ndt-map-file.h"
#include "tests/ndt-world.h"

#define N_RUNS 5
#define N_PLACES 120
#define N_WARM 130 /* scans until everything is allocated */
#define MAX_STREAMS 8
#define SPEED 3 /* m/s: 0.3 m a scan, so that turning round on the spot does not lose the track */

/**
 * Case:
 * @pinned: scans lie in the memory that is proposed
 * @reuse: NDT_CUDA_TESTING_REUSE; NULL: as it is
 * @n_streams: pipelines side by side
 * @shape: NDT_CUDA_TESTING_SHAPE; NULL: as it is
 * @deskew: points are compensated by their times
 */
typedef struct {
  const gchar *name;
  gboolean pinned;
  guint batch_size;
  const gchar *reuse;
  guint n_streams;
  const gchar *shape;
  gboolean deskew;
} Case;

/* One pipeline. */
typedef struct {
  const Case *c;
  GstHarness *h;
  GstBuffer **placed;
} Stream;

static const gchar *backend;
static guint n_scans = 600;
static const gchar *only;
static gchar *map_path;
static gchar *finished_path;
static gfloat leaf_size;
static GstCaps *caps;
static GstBuffer *scans[N_PLACES];
static gchar *initial_pose;

/* Finished, so that each pipeline opens it at once. */
static void
write_map (void)
{
  const NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  g_autoptr (GError) error = NULL;
  ndt_world_write_map (NDT_SIM_WORLD_TOWN, map_path);
  g_autoptr (NdtVoxelMap) map = ndt_map_load (map_path, &params, &error);
  if (!map || !ndt_map_image_write (finished_path, map, NULL, &error))
    g_error ("%s", error->message);
}

/* Drives through the town, and keeps what the sensor sees. */
static void
record (guint rings, guint columns)
{
  g_autofree gchar *text = g_strdup_printf ("lidartestsrc world=town rings=%u columns=%u speed=%d "
                                            "range-noise=0.02",
      rings, columns, SPEED);
  GstHarness *h = gst_harness_new_parse (text);
  gst_harness_play (h);
  for (guint i = 0; i < N_PLACES; i++) {
    gst_clear_buffer (&scans[i]);
    g_autoptr (GstBuffer) scan = gst_harness_pull (h);
    scans[i] = gst_buffer_copy_deep (scan);
  }
  gst_caps_replace (&caps, NULL);
  caps = gst_pad_get_current_caps (h->sinkpad);
  const GstPoseMeta *truth = gst_buffer_get_pose_meta (scans[0], GST_POSE_ROLE_GROUND_TRUTH);
  NdtPose pose;
  memcpy (pose.position, truth->position, sizeof pose.position);
  memcpy (pose.orientation, truth->orientation, sizeof pose.orientation);
  g_free (initial_pose);
  initial_pose = ndt_pose_to_string (&pose);
  gst_harness_teardown (h);
}

/* Leaves only the coordinates, 12 bytes a point, for a source that sends no more. */
static void
keep_coordinates (void)
{
  GstPointCloudInfo info;
  gst_point_cloud_info_from_caps (&info, caps, NULL);
  for (guint i = 0; i < N_PLACES; i++) {
    GstMapInfo map;
    gst_buffer_map (scans[i], &map, GST_MAP_READ);
    const gsize n = map.size / info.point_step;
    GstBuffer *packed = gst_buffer_new_allocate (NULL, 12 * n, NULL);
    GstMapInfo to;
    gst_buffer_map (packed, &to, GST_MAP_WRITE);
    /* The source's records begin with x, y and z. */
    for (gsize k = 0; k < n; k++)
      memcpy (to.data + 12 * k, map.data + k * info.point_step, 12);
    gst_buffer_unmap (packed, &to);
    gst_buffer_unmap (scans[i], &map);
    gst_buffer_replace (&scans[i], packed);
    gst_buffer_unref (packed);
  }
  gst_caps_replace (&caps, NULL);
  caps = gst_caps_from_string (
      "pointcloud/x-raw,format=CUSTOM,point-step=12,fields=\"x:F32:0,y:F32:4,z:F32:8\"");
}

/* Scans before it would not be aligned. A map that is read at once has no messages. */
static void
wait_for_map (GstBus *bus)
{
  gint n_reading = 0;
  GstMessage *message;
  while ((message = gst_bus_timed_pop (bus, n_reading > 0 ? 60 * GST_SECOND : 0))) {
    GstProgressType type;
    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
      g_error ("the map is not read");
    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_PROGRESS) {
      gst_message_parse_progress (message, &type, NULL, NULL);
      if (type != GST_PROGRESS_TYPE_CONTINUE)
        n_reading += type == GST_PROGRESS_TYPE_START ? 1 : -1;
    }
    gst_message_unref (message);
  }
}

static void
stream_open (Stream *stream)
{
  GstElement *element = gst_element_factory_make ("ndtlocalize", NULL);
  g_autoptr (GstBus) bus = gst_bus_new ();
  gst_element_set_bus (element, bus);
  g_object_set (element, "map-location", finished_path, "batch-size", stream->c->batch_size,
      "scan-leaf-size", (gdouble)leaf_size, NULL);
  gst_util_set_object_arg (G_OBJECT (element), "deskew", stream->c->deskew ? "true" : "false");
  gst_util_set_object_arg (G_OBJECT (element), "backend", backend);
  gst_util_set_object_arg (G_OBJECT (element), "initial-pose", initial_pose);
  stream->h = gst_harness_new_with_element (element, "sink", "src");
  wait_for_map (bus);
  gst_element_set_bus (element, NULL);
  gst_object_unref (element);
  gst_harness_set_drop_buffers (stream->h, TRUE);
  gst_harness_set_src_caps (stream->h, gst_caps_ref (caps));
}

static guint64
count (Stream *stream, const gchar *name)
{
  g_autoptr (GstStructure) stats = NULL;
  guint64 n = 0;
  g_object_get (stream->h->element, "stats", &stats, NULL);
  if (!gst_structure_get_uint64 (stats, name, &n))
    g_error ("stats have no %s", name);
  return n;
}

/* The scans in memory of what the element proposes; plain where it proposes none. */
static void
place_scans (Stream *stream, GstBuffer *placed[N_PLACES])
{
  g_autoptr (GstQuery) query = gst_query_new_allocation (caps, TRUE);
  g_autoptr (GstAllocator) allocator = NULL;
  GstAllocationParams params;
  gst_allocation_params_init (&params);
  if (stream->c->pinned && gst_pad_peer_query (stream->h->srcpad, query) &&
      gst_query_get_n_allocation_params (query) > 0)
    gst_query_parse_nth_allocation_param (query, 0, &allocator, &params);
  for (guint i = 0; i < N_PLACES; i++) {
    const gsize size = gst_buffer_get_size (scans[i]);
    GstMapInfo map;
    placed[i] = gst_buffer_new_allocate (allocator, size, &params);
    gst_buffer_map (placed[i], &map, GST_MAP_WRITE);
    gst_buffer_extract (scans[i], 0, map.data, size);
    gst_buffer_unmap (placed[i], &map);
  }
}

static void
push_scans (Stream *stream, guint first, guint n)
{
  for (guint i = first; i < first + n; i++) {
    const guint turn = i % (2 * N_PLACES);
    GstBuffer *scan =
        gst_buffer_copy (stream->placed[turn < N_PLACES ? turn : 2 * N_PLACES - 1 - turn]);
    GST_BUFFER_PTS (scan) = i * 100 * GST_MSECOND;
    GST_BUFFER_DURATION (scan) = 100 * GST_MSECOND;
    if (gst_pad_push (stream->h->srcpad, scan) != GST_FLOW_OK)
      g_error ("backend %s does not work", backend);
  }
  while (count (stream, "scans-out") < first + n)
    g_usleep (100);
}

static gpointer
stream_run (gpointer data)
{
  push_scans (data, N_WARM, n_scans);
  return NULL;
}

static void
set_testing (const gchar *reuse, const gchar *shape)
{
#ifdef HAVE_NDT_CUDA
  ndt_cuda_testing_set (NDT_CUDA_TESTING_REUSE, reuse);
  ndt_cuda_testing_set (NDT_CUDA_TESTING_SHAPE, shape);
#endif
}

/* Scans per second of all streams together. */
static gdouble
run_case (const Case *c, gdouble *tracked)
{
  Stream streams[MAX_STREAMS];
  GThread *threads[MAX_STREAMS];
  GstBuffer *placed[N_PLACES];
  set_testing (c->reuse, c->shape);
  for (guint i = 0; i < c->n_streams; i++) {
    streams[i] = (Stream){.c = c};
    stream_open (&streams[i]);
  }
  set_testing (NULL, NULL);
  place_scans (&streams[0], placed);
  for (guint i = 0; i < c->n_streams; i++) {
    streams[i].placed = placed;
    push_scans (&streams[i], 0, N_WARM);
  }
  const gint64 start = g_get_monotonic_time ();
  for (guint i = 0; i < c->n_streams; i++)
    threads[i] = g_thread_new ("stream", stream_run, &streams[i]);
  for (guint i = 0; i < c->n_streams; i++)
    g_thread_join (threads[i]);
  const gint64 end = g_get_monotonic_time ();
  *tracked = 0;
  for (guint i = 0; i < c->n_streams; i++) {
    *tracked += (gdouble)count (&streams[i], "tracking") / (n_scans + N_WARM) / c->n_streams;
    gst_harness_teardown (streams[i].h);
  }
  for (guint i = 0; i < N_PLACES; i++)
    gst_buffer_unref (placed[i]);
  return (gdouble)n_scans * c->n_streams / ((gdouble)(end - start) * 1e-6);
}

static gint
compare (gconstpointer a, gconstpointer b)
{
  const gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;
  return (x > y) - (x < y);
}

static void
print_rates (const gchar *name, gdouble rates[N_RUNS])
{
  qsort (rates, N_RUNS, sizeof (gdouble), compare);
  g_print ("%-44s %10.0f %10.1f %8.1f .. %.1f", name, rates[N_RUNS / 2], 1e6 / rates[N_RUNS / 2],
      1e6 / rates[N_RUNS - 1], 1e6 / rates[0]);
}

static gboolean
is_wanted (const gchar *name)
{
  g_auto (GStrv) words = g_strsplit (only ? only : "", "|", -1);
  gboolean wanted = !only;
  g_autofree gchar *whole = g_strconcat (name, "$", NULL);
  for (guint i = 0; words[i]; i++)
    wanted = wanted || strstr (whole, words[i]);
  return wanted;
}

static void
report_case (const gchar *what, const Case *c)
{
  gdouble rates[N_RUNS], tracked = 0;
  g_autofree gchar *name = g_strdup_printf ("%s: %s", what, c->name);
  if (!is_wanted (name) || (c->shape && strcmp (backend, "cuda") != 0))
    return;
  for (guint r = 0; r < N_RUNS; r++)
    rates[r] = run_case (c, &tracked);
  print_rates (c->name, rates);
  g_print (" %9.1f%%\n", 100 * tracked);
}

static void
run_cases (const gchar *what)
{
  static const gchar *shapes[][2] = {{"as it is", NULL}, {"128 blocks", "grid:128:256"},
      {"64 blocks", "grid:64:256"}, {"32 blocks", "grid:32:256"}, {"16 blocks", "grid:16:256"},
      {"a cluster of 16", "cluster:16:512"}};
  static const Case cases[] = {
      {"pinned, batch-size=64", TRUE, 64, NULL, 1, NULL},
      {"pinned, batch-size=8", TRUE, 8, NULL, 1, NULL},
      {"pinned, batch-size=1", TRUE, 1, NULL, 1, NULL},
      {"plain memory, batch-size=64", FALSE, 64, NULL, 1, NULL},
      {"plain memory, batch-size=1", FALSE, 1, NULL, 1, NULL},
      {"pinned, batch-size=1, no voxels kept", TRUE, 1, "0", 1, NULL},
      {"pinned, batch-size=64, no voxels kept", TRUE, 64, "0", 1, NULL},
      {"pinned, batch-size=64, compensated", TRUE, 64, NULL, 1, NULL, TRUE},
      {"pinned, batch-size=1, compensated", TRUE, 1, NULL, 1, NULL, TRUE},
  };
  gsize n_points = 0;
  GstPointCloudInfo info;
  gst_point_cloud_info_from_caps (&info, caps, NULL);
  for (guint i = 0; i < N_PLACES; i++)
    n_points += gst_buffer_get_size (scans[i]) / info.point_step / N_PLACES;
  g_print ("\n%s, about %" G_GSIZE_FORMAT " points, backend %s\n", what, n_points, backend);
  g_print ("%-44s %10s %10s %18s %10s\n", "", "scans/s", "us a scan", "of five runs", "tracked");
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    report_case (what, &cases[i]);
  /* Several pipelines, and what part of the device each of their alignments takes. */
  for (guint n = 1; n <= MAX_STREAMS; n *= 2)
    for (guint batch = 1; batch <= 64; batch *= 64)
      for (guint k = 0; k < G_N_ELEMENTS (shapes); k++) {
        if (leaf_size > 0 && k > 1)
          continue;
        g_autofree gchar *name =
            g_strdup_printf ("%u pipelines, batch-size=%u, %s", n, batch, shapes[k][0]);
        report_case (what, &(Case){name, TRUE, batch, NULL, n, shapes[k][1]});
      }
}

/* The source itself; the start until the first scan has left is not counted. */
static GstPadProbeReturn
note_first (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  gint64 *times = user_data;
  times[1] = g_get_monotonic_time ();
  if (times[0] == 0)
    times[0] = times[1];
  return GST_PAD_PROBE_OK;
}

static void
run_source (const gchar *name, const gchar *localizer)
{
  gdouble rates[N_RUNS];
  for (guint r = 0; r < N_RUNS; r++) {
    g_autofree gchar *text = g_strdup_printf (
        "lidartestsrc world=town rings=16 num-buffers=%u ! queue %s ! fakesink name=sink "
        "sync=false",
        n_scans, localizer);
    g_autoptr (GError) error = NULL;
    g_autoptr (GstElement) pipeline = gst_parse_launch (text, &error);
    if (!pipeline || error)
      g_error ("%s", error->message);
    g_autoptr (GstElement) sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
    g_autoptr (GstPad) pad = gst_element_get_static_pad (sink, "sink");
    g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
    gint64 times[2] = {0, 0};
    gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, note_first, times, NULL);
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    g_autoptr (GstMessage) message =
        gst_bus_timed_pop_filtered (bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
    if (GST_MESSAGE_TYPE (message) != GST_MESSAGE_EOS)
      g_error ("the pipeline failed");
    gst_element_set_state (pipeline, GST_STATE_NULL);
    rates[r] = (n_scans - 1) / ((gdouble)(times[1] - times[0]) * 1e-6);
  }
  print_rates (name, rates);
  g_print ("\n");
}

int
main (int argc, char **argv)
{
  /* Each row when it is there, to a file as well. */
  setvbuf (stdout, NULL, _IOLBF, 0);
  gst_init (&argc, &argv);
  GST_ELEMENT_REGISTER (ndtlocalize, NULL);
  backend = argc > 1 ? argv[1] : "cuda";
  if (argc > 2)
    n_scans = (guint)CLAMP (atoi (argv[2]), 2, 100000);
  only = argc > 3 ? argv[3] : NULL;
  g_autofree gchar *folder = g_dir_make_tmp ("ndt-XXXXXX", NULL);
  map_path = g_build_filename (folder, "town.pcd", NULL);
  finished_path = g_build_filename (folder, "town.ndtmap", NULL);
  write_map ();

  record (16, 360);
  leaf_size = 0;
  run_cases ("Scans as they are");
  record (64, 2048);
  leaf_size = 0.5f;
  run_cases ("Raw scans, thinned to a point per half metre");
  keep_coordinates ();
  run_cases ("The same, coordinates only");

  g_autofree gchar *localize = g_strdup_printf (
      "! ndtlocalize backend=%s map-location=%s initial-pose=0,0,1.8", backend, map_path);
  g_autofree gchar *on_cpu =
      g_strdup_printf ("! ndtlocalize backend=cpu map-location=%s initial-pose=0,0,1.8", map_path);
  if (!only) {
    g_print ("\nlidartestsrc world=town rings=16 ! queue ! ndtlocalize ! fakesink\n");
    g_print ("%-44s %10s %10s %18s\n", "", "scans/s", "us a scan", "of five runs");
    run_source ("the source alone", "");
    run_source (backend, localize);
    run_source ("cpu", on_cpu);
  }

  for (guint i = 0; i < N_PLACES; i++)
    gst_clear_buffer (&scans[i]);
  gst_clear_caps (&caps);
  g_remove (map_path);
  g_remove (finished_path);
  g_rmdir (folder);
  g_free (map_path);
  g_free (finished_path);
  g_free (initial_pose);
  return 0;
}
