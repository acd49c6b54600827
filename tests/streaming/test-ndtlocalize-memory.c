/* SPDX-License-Identifier: MIT */
/* Memory that a device uploads fast, proposed upstream; and that of scans that wait, which are
 * mapped where their points have times. */
#include <gst/check/gstcheck.h>

#include <glib/gstdio.h>
#include <string.h>

#include "gst/ndt/gstndtlocalize.h"
#include "gst/ndt/engine/gstndtpool.h"
#include "ndtcore/cloudfile/ndt-pcd.h"
#include "tests/ndt-device.h"
#include "tests/ndt-harness.h"
#include "tests/ndt-wait.h"

static void
setup (void)
{
  ndt_device_install ();
  GST_ELEMENT_REGISTER (ndtlocalize, NULL);
}

static gboolean
is_pinned (GstBuffer *buffer)
{
  return gst_memory_is_type (gst_buffer_peek_memory (buffer, 0), GST_NDT_MEMORY_TYPE);
}

static GstHarness *
harness_new (gint n_host)
{
  g_atomic_int_set (&ndt_device.n_host, n_host);
  GstHarness *h = ndt_harness_new (NULL, NULL);
  gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (0)));
  return h;
}

static GstQuery *
query_allocation (GstHarness *h)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string (NDT_ROOM_CAPS);
  GstQuery *query = gst_query_new_allocation (caps, TRUE);
  fail_unless (gst_pad_peer_query (h->srcpad, query));
  return query;
}

/* The proposed pool, as upstream configures it. */
static GstBufferPool *
take_pool (GstHarness *h, guint size)
{
  GstQuery *query = query_allocation (h);
  g_autoptr (GstCaps) caps = gst_caps_from_string (NDT_ROOM_CAPS);
  GstBufferPool *pool;
  guint proposed, min, max;

  fail_unless_equals_int (gst_query_get_n_allocation_pools (query), 1);
  gst_query_parse_nth_allocation_pool (query, 0, &pool, &proposed, &min, &max);
  gst_query_unref (query);
  GstStructure *config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_set_params (config, caps, size, min, max);
  fail_unless (gst_buffer_pool_set_config (pool, config));
  fail_unless (gst_buffer_pool_set_active (pool, TRUE));
  return pool;
}

GST_START_TEST (test_pool)
{
  GstHarness *h = harness_new (1000);
  GstBufferPool *pool = take_pool (h, 12 * NDT_ROOM_POINTS);
  GstBuffer *held[40];
  guint n_pinned = 0;

  /* All at once, as a recorder holds them: none waits. */
  for (guint round = 0; round < 3; round++) {
    n_pinned = 0;
    for (guint i = 0; i < G_N_ELEMENTS (held); i++) {
      fail_unless_equals_int (gst_buffer_pool_acquire_buffer (pool, &held[i], NULL), GST_FLOW_OK);
      fail_unless_equals_uint64 (gst_buffer_get_size (held[i]), 12 * NDT_ROOM_POINTS);
      n_pinned += is_pinned (held[i]);
    }
    for (guint i = 0; i < G_N_ELEMENTS (held); i++) {
      gst_buffer_memset (held[i], 0, (guint8)i, 12 * NDT_ROOM_POINTS);
      gst_buffer_resize (held[i], 0, 12 * (i + 1)); /* scans differ in size */
      gst_buffer_unref (held[i]);
    }
    fail_unless_equals_int (n_pinned, 16);
  }
  /* The same memory again and again. */
  fail_unless_equals_uint64 (ndt_harness_count (h, "pinned-memories"), 16);
  fail_unless_equals_uint64 (ndt_harness_count (h, "plain-memories"), 3 * 24);

  gst_buffer_pool_set_active (pool, FALSE);
  gst_object_unref (pool);
  ndt_harness_free (h);
  fail_unless_equals_int (g_atomic_int_get (&ndt_device.n_host), 1000);
}
GST_END_TEST

/* A device that cannot lock so much: the rest is plain. */
GST_START_TEST (test_exhausted)
{
  GstHarness *h = harness_new (3);
  GstBufferPool *pool = take_pool (h, 1000);
  GstBuffer *held[8];
  guint n_pinned = 0;

  for (guint i = 0; i < G_N_ELEMENTS (held); i++) {
    fail_unless_equals_int (gst_buffer_pool_acquire_buffer (pool, &held[i], NULL), GST_FLOW_OK);
    n_pinned += is_pinned (held[i]);
  }
  fail_unless_equals_int (n_pinned, 3);
  for (guint i = 0; i < G_N_ELEMENTS (held); i++)
    gst_buffer_unref (held[i]);
  gst_buffer_pool_set_active (pool, FALSE);
  gst_object_unref (pool);
  ndt_harness_free (h);
}
GST_END_TEST

/* Pool and buffers outlive the element. */
GST_START_TEST (test_outlives)
{
  GstHarness *h = harness_new (100);
  GstBufferPool *pool = take_pool (h, 1000);
  GstBuffer *buffer, *part, *later[4];

  fail_unless_equals_int (gst_buffer_pool_acquire_buffer (pool, &buffer, NULL), GST_FLOW_OK);
  fail_unless (is_pinned (buffer));
  gst_buffer_memset (buffer, 0, 7, 1000);
  part = gst_buffer_copy_region (buffer, GST_BUFFER_COPY_MEMORY, 100, 50);
  ndt_harness_free (h);

  guint8 bytes[50];
  fail_unless_equals_int (gst_buffer_extract (part, 0, bytes, 50), 50);
  fail_unless (bytes[0] == 7 && bytes[49] == 7);
  for (guint i = 0; i < G_N_ELEMENTS (later); i++)
    fail_unless_equals_int (gst_buffer_pool_acquire_buffer (pool, &later[i], NULL), GST_FLOW_OK);
  fail_if (is_pinned (later[3]));
  for (guint i = 0; i < G_N_ELEMENTS (later); i++)
    gst_buffer_unref (later[i]);
  gst_buffer_unref (buffer);
  gst_buffer_unref (part);
  gst_buffer_pool_set_active (pool, FALSE);
  gst_object_unref (pool);
  fail_unless_equals_int (g_atomic_int_get (&ndt_device.n_host), 100);
}
GST_END_TEST

static GstPadProbeReturn
propose (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (info);
  if (GST_QUERY_TYPE (query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  gst_query_add_allocation_pool (query, user_data, 4321, 1, 5);
  GstAllocationParams params;
  gst_allocation_params_init (&params);
  gst_query_add_allocation_param (query, NULL, &params);
  return GST_PAD_PROBE_HANDLED;
}

/* What downstream proposes comes after ours; without a device it is all there is. */
GST_START_TEST (test_before_downstream)
{
  GstHarness *h = harness_new (100);
  g_autoptr (GstBufferPool) theirs = gst_buffer_pool_new ();
  GstBufferPool *pool;
  guint size, min, max;

  gst_pad_add_probe (h->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, propose, theirs, NULL);
  GstQuery *query = query_allocation (h);
  fail_unless_equals_int (gst_query_get_n_allocation_pools (query), 2);
  fail_unless_equals_int (gst_query_get_n_allocation_params (query), 2);
  gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &min, &max);
  fail_unless (GST_IS_NDT_POOL (pool));
  fail_unless_equals_int (size, 4321);
  gst_object_unref (pool);
  gst_query_parse_nth_allocation_pool (query, 1, &pool, &size, &min, &max);
  fail_unless (pool == theirs && size == 4321 && min == 1 && max == 5);
  gst_object_unref (pool);
  gst_query_unref (query);

  gst_element_set_state (h->element, GST_STATE_READY);
  gst_util_set_object_arg (G_OBJECT (h->element), "backend", "cpu");
  gst_element_set_state (h->element, GST_STATE_PLAYING);
  query = query_allocation (h);
  fail_unless_equals_int (gst_query_get_n_allocation_pools (query), 1);
  gst_query_unref (query);
  ndt_harness_free (h);
}
GST_END_TEST

/* Runs "@source ! queue ! ndtlocalize" to the end: all scans lie in the memory proposed, down to
 * the sink, and the localizer allocated few of them. Fewer can wait than the pool has: a source
 * that is faster than the localizer would get plain memory for the others. */
static void
check_source (const gchar *source)
{
  g_autofree gchar *text = g_strdup_printf (
      "%s ! queue max-size-buffers=4 ! ndtlocalize name=localizer "
      "n-threads=1 batch-size=1 map-search=false map-location=%s ! fakesink name=sink",
      source, ndt_room_map ());
  g_atomic_int_set (&ndt_device.n_host, 1000);
  g_autoptr (GError) error = NULL;
  g_autoptr (GstElement) pipeline = gst_parse_launch (text, &error);
  g_assert_no_error (error);
  g_autoptr (GstElement) localizer = gst_bin_get_by_name (GST_BIN (pipeline), "localizer");
  g_autoptr (GstElement) sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  g_autoptr (GstStructure) stats = NULL;
  g_autoptr (GstSample) sample = NULL;
  guint64 n_pinned;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  ndt_harness_wait_for_eos (pipeline);
  g_object_get (sink, "last-sample", &sample, NULL);
  fail_unless (is_pinned (gst_sample_get_buffer (sample)));
  g_object_get (localizer, "stats", &stats, NULL);
  gst_structure_get_uint64 (stats, "pinned-memories", &n_pinned);
  fail_unless (n_pinned >= 2 && n_pinned <= 16, "%" G_GUINT64_FORMAT, n_pinned);
  g_clear_pointer (&sample, gst_sample_unref);
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

/* Our sources take it. */
GST_START_TEST (test_source_takes_it)
{
  check_source ("lidartestsrc world=hall rings=16 columns=64 n-threads=1 num-buffers=40");
}
GST_END_TEST

/* Decoders as well, of whatever encoding the files are. */
GST_START_TEST (test_decoder_takes_it)
{
  static const NdtPcdEncoding encodings[] = {
      NDT_PCD_ASCII, NDT_PCD_BINARY, NDT_PCD_BINARY_COMPRESSED};
  g_autofree gchar *folder = g_dir_make_tmp ("ndt-XXXXXX", NULL);

  for (guint e = 0; e < G_N_ELEMENTS (encodings); e++) {
    for (guint i = 0; i < 40; i++) {
      g_autofree gchar *path = g_strdup_printf ("%s/%02u.pcd", folder, i);
      g_autoptr (GstBuffer) scan = ndt_room_scan (i);
      g_autoptr (GError) error = NULL;
      GstMapInfo map;
      gst_buffer_map (scan, &map, GST_MAP_READ);
      /* Scans differ in size. */
      const NdtCloudView view =
          ndt_cloud_view_xyz_f32 ((const float *)map.data, map.size / 12 - 10 * (i % 3));
      ndt_pcd_write (path, &view, encodings[e], &error);
      g_assert_no_error (error);
      gst_buffer_unmap (scan, &map);
    }
    g_autofree gchar *source =
        g_strdup_printf ("multifilesrc location=%s/%%02d.pcd ! pcddec framerate=10/1", folder);
    check_source (source);
  }
  for (guint i = 0; i < 40; i++) {
    g_autofree gchar *path = g_strdup_printf ("%s/%02u.pcd", folder, i);
    g_remove (path);
  }
  g_rmdir (folder);
}
GST_END_TEST

/* ---- Scans that wait ---- */

#define N_WAITING 6
#define CAPS_F32                                                                                   \
  "pointcloud/x-raw,format=CUSTOM,point-step=16,"                                                  \
  "fields=(string)\"x:F32:0,y:F32:4,z:F32:8,time:F32:12\",framerate=10/1"
#define CAPS_U32                                                                                   \
  "pointcloud/x-raw,format=CUSTOM,point-step=20,"                                                  \
  "fields=(string)\"t:U32:0,x:F32:8,y:F32:12,z:F32:16\",framerate=10/1"

static gint n_alive;

static void
free_scan (gpointer data)
{
  g_free (data);
  g_atomic_int_add (&n_alive, -1);
}

/* Of CAPS_F32, or of CAPS_U32; all points are of one instant, whatever their times tell. */
static GstBuffer *
timed_scan (guint i, gboolean is_u32)
{
  g_autoptr (GstBuffer) room = ndt_room_scan (i);
  const gsize step = is_u32 ? 20 : 16;
  float xyz[3 * NDT_ROOM_POINTS];
  guint8 *out = g_malloc0 (step * NDT_ROOM_POINTS);
  gst_buffer_extract (room, 0, xyz, sizeof xyz);
  for (guint k = 0; k < NDT_ROOM_POINTS; k++) {
    const gdouble seconds = 1e-4 * k;
    const float as_float = (float)seconds;
    const guint32 as_count = (guint32)(1e9 * seconds);
    memcpy (out + step * k + (is_u32 ? 8 : 0), xyz + 3 * k, 12);
    if (is_u32)
      memcpy (out + step * k, &as_count, 4);
    else
      memcpy (out + step * k + 12, &as_float, 4);
  }
  g_atomic_int_inc (&n_alive);
  return gst_buffer_new_wrapped_full (
      0, out, step * NDT_ROOM_POINTS, 0, step * NDT_ROOM_POINTS, out, free_scan);
}

/* Tracks the first scan; the next ones wait for the second. */
static GstHarness *
hold_harness (void)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new (
      "initial-pose", start, "batch-size", 2, "scan-leaf-size", 0.0, "deskew", 0, NULL);
  gst_harness_set_src_caps_str (h, CAPS_F32);
  fail_unless_equals_int (
      ndt_harness_pass_status (h, timed_scan (0, FALSE)), GST_POSE_STATUS_TRACKING);
  fail_unless_equals_int (g_atomic_int_get (&n_alive), 0);
  ndt_device_hold ();
  return h;
}

static gpointer
push_until_refused (gpointer user_data)
{
  GstFlowReturn flow = GST_FLOW_OK;
  for (guint i = 1; flow == GST_FLOW_OK; i++)
    flow = gst_harness_push (user_data, timed_scan (i, FALSE));
  return GINT_TO_POINTER (flow);
}

/* With some in the task's hands, some in the queue, and one before it: none stays mapped, which
 * would keep its memory. */
GST_START_TEST (test_waiting_flushed)
{
  for (guint how = 0; how < 3; how++) {
    GstHarness *h = hold_harness ();
    GThread *thread = g_thread_new ("push", push_until_refused, h);
    ndt_device_wait ();
    /* One or two, two, and one. */
    ndt_wait_for (g_atomic_int_get (&n_alive) >= 4);
    if (how == 0)
      fail_unless (gst_harness_push_event (h, gst_event_new_flush_start ()));
    else
      gst_element_set_state (h->element, how == 1 ? GST_STATE_READY : GST_STATE_NULL);
    fail_unless_equals_int (GPOINTER_TO_INT (g_thread_join (thread)), GST_FLOW_FLUSHING);
    fail_unless_equals_int (g_atomic_int_get (&n_alive), 0);
    ndt_device_release ();
    if (how == 0) {
      fail_unless (gst_harness_push_event (h, gst_event_new_flush_stop (TRUE)));
      ndt_harness_push_segment (h, GST_FORMAT_TIME, 0);
      gst_buffer_unref (ndt_harness_pass (h, timed_scan (1, FALSE)));
      fail_unless_equals_int (g_atomic_int_get (&n_alive), 0);
    }
    ndt_harness_free (h);
  }
}
GST_END_TEST

static gpointer
push_of_all_caps (gpointer user_data)
{
  static const gchar *const caps[] = {CAPS_F32, NDT_ROOM_CAPS, CAPS_U32};
  for (guint i = 1; i <= N_WAITING; i++) {
    gst_harness_set_src_caps_str (user_data, caps[i % 3]);
    fail_unless_equals_int (
        gst_harness_push (user_data, i % 3 == 1 ? ndt_room_scan (i) : timed_scan (i, i % 3 == 2)),
        GST_FLOW_OK);
  }
  return NULL;
}

/* Caps that change while scans of others wait: each is read as its own are. */
GST_START_TEST (test_waiting_of_other_caps)
{
  GstHarness *h = hold_harness ();
  GThread *thread = g_thread_new ("push", push_of_all_caps, h);
  ndt_device_wait ();
  ndt_wait_for (g_atomic_int_get (&n_alive) > 0);
  ndt_device_release ();
  for (guint i = 1; i <= N_WAITING; i++) {
    g_autoptr (GstBuffer) out = gst_harness_pull (h);
    const GstPoseMeta *meta = ndt_harness_estimate (out);
    fail_unless_equals_int (meta->status, GST_POSE_STATUS_TRACKING);
    /* In the middle of the points' times, or where nothing tells of them of the scan. */
    const gdouble ms = (gdouble)(meta->timestamp - GST_BUFFER_PTS (out)) / GST_MSECOND;
    fail_unless (
        ABS (ms - (i % 3 == 1 ? 0 : 0.05 * (NDT_ROOM_POINTS - 1))) < 0.01, "scan %u: %g ms", i, ms);
  }
  g_thread_join (thread);
  fail_unless_equals_uint64 (ndt_harness_count (h, "malformed"), 0);
  fail_unless_equals_int (g_atomic_int_get (&n_alive), 0);
  ndt_harness_free (h);
}
GST_END_TEST

/* Before the tests fork. */
static void
write_map (void)
{
  ndt_room_map ();
}

static Suite *
ndtlocalize_memory_suite (void)
{
  Suite *suite = suite_create ("ndtlocalize-memory");
  TCase *tc = tcase_create ("general");
  suite_add_tcase (suite, tc);
  tcase_add_unchecked_fixture (tc, write_map, ndt_room_remove_map);
  tcase_add_checked_fixture (tc, setup, NULL);
  tcase_add_test (tc, test_pool);
  tcase_add_test (tc, test_exhausted);
  tcase_add_test (tc, test_outlives);
  tcase_add_test (tc, test_before_downstream);
  tcase_add_test (tc, test_source_takes_it);
  tcase_add_test (tc, test_decoder_takes_it);
  tcase_add_test (tc, test_waiting_flushed);
  tcase_add_test (tc, test_waiting_of_other_caps);
  return suite;
}

GST_CHECK_MAIN (ndtlocalize_memory)
