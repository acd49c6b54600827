/* SPDX-License-Identifier: MIT */
/* A map that takes long to be read holds no change of state up, and no pose depends on when it is
 * there. */
#include <gst/check/gstcheck.h>

#include <glib/gstdio.h>
#include <string.h>

#include "gst/ndt/engine/gstndtmaploader.h"
#include "gst/ndt/gstndtlocalize.h"
#include "gst/ndt/gstndtlocalizemap.h"
#include "ndtcore/base/ndt-error.h"
#include "ndtcore/cloudfile/ndt-map-image.h"
#include "tests/ndt-harness.h"
#include "tests/ndt-tiles.h"
#include "tests/ndt-wait.h"

/* What a change of state may take, whatever the map. The least of some is asked for, since others
 * use the machine. */
#define LIMIT (100 * G_TIME_SPAN_MILLISECOND)
/* More than wait in the element. */
#define N_SCANS 40

/* ---- The loader's thread, held up before it reads ---- */

static GMutex gate_lock;
static GCond gate_cond;
static gboolean gate_closed;
static gint n_waiting;
static gint n_read;

static void
before_read (void)
{
  g_mutex_lock (&gate_lock);
  n_waiting++;
  while (gate_closed)
    g_cond_wait (&gate_cond, &gate_lock);
  n_waiting--;
  n_read++;
  g_mutex_unlock (&gate_lock);
}

static void
set_gate (gboolean closed)
{
  g_mutex_lock (&gate_lock);
  gate_closed = closed;
  g_cond_broadcast (&gate_cond);
  g_mutex_unlock (&gate_lock);
}

static gint
get_locked (const gint *number)
{
  g_mutex_lock (&gate_lock);
  const gint value = *number;
  g_mutex_unlock (&gate_lock);
  return value;
}

static void
setup (void)
{
  GST_ELEMENT_REGISTER (ndtlocalize, NULL);
  gst_ndt_map_loader_before_read = before_read;
}

static void
teardown (void)
{
  ndt_room_remove_map ();
}

/* ---- The element ---- */

static GstHarness *
open_harness (const gchar *map)
{
  GstElement *element = gst_element_factory_make ("ndtlocalize", NULL);
  g_autoptr (GstBus) bus = gst_bus_new ();
  g_autofree gchar *pose = ndt_harness_pose (0);

  gst_element_set_bus (element, bus);
  ndt_harness_set (element, "map-location", map, "resolution", 1.0, "n-threads", 1, "backend", 2,
      "initial-pose", pose, NULL);
  GstHarness *h = gst_harness_new_with_element (element, "sink", "src");
  gst_harness_set_live (h, FALSE);
  ndt_harness_stamp (h->srcpad, element);
  gst_harness_set_src_caps_str (h, NDT_ROOM_CAPS);
  gst_object_unref (element);
  return h;
}

/* The next one that is not on the way. */
static GstProgressType
pop_progress (GstElement *element)
{
  GstProgressType type;
  do {
    g_autofree gchar *code = NULL;
    g_autofree gchar *text = NULL;
    g_autoptr (GstMessage) message = NULL;
    ndt_wait_for ((message = ndt_harness_message (element, GST_MESSAGE_PROGRESS, NULL)));
    gst_message_parse_progress (message, &type, &code, &text);
    fail_unless_equals_string (code, "map");
    fail_unless (text != NULL && *text != '\0');
  } while (type == GST_PROGRESS_TYPE_CONTINUE);
  return type;
}

static void
assert_no_progress (GstElement *element)
{
  g_autoptr (GstMessage) message = ndt_harness_message (element, GST_MESSAGE_PROGRESS, NULL);
  fail_unless (message == NULL);
}

static gpointer
push_scans (gpointer user_data)
{
  GstHarness *h = user_data;
  GstFlowReturn flow = GST_FLOW_OK;
  for (guint i = 0; i < N_SCANS && flow == GST_FLOW_OK; i++)
    flow = gst_harness_push (h, ndt_room_scan (i));
  return GINT_TO_POINTER (flow);
}

static void
pull_poses (GstHarness *h, NdtPose poses[N_SCANS])
{
  for (guint i = 0; i < N_SCANS; i++) {
    GstBuffer *buffer = gst_harness_pull (h);
    fail_unless (buffer != NULL);
    fail_unless_equals_int (ndt_harness_estimate (buffer)->status, GST_POSE_STATUS_TRACKING);
    poses[i] = ndt_harness_pose_of (buffer);
    gst_buffer_unref (buffer);
  }
}

/* Scans wait for the map, and have the poses to the bit that they have where it is there at once.
 */
GST_START_TEST (test_poses)
{
  NdtPose at_once[N_SCANS], late[N_SCANS];

  set_gate (FALSE);
  GstHarness *h = open_harness (ndt_room_map ());
  push_scans (h);
  pull_poses (h, at_once);
  ndt_harness_free (h);

  set_gate (TRUE);
  h = open_harness (ndt_room_map ());
  fail_unless_equals_int (pop_progress (h->element), GST_PROGRESS_TYPE_START);
  GThread *pushing = g_thread_new ("push", push_scans, h);
  ndt_wait_for (ndt_harness_count (h, "scans-in") > 0 && get_locked (&n_waiting) == 1);
  assert_no_progress (h->element);
  fail_unless_equals_uint64 (ndt_harness_count (h, "scans-out"), 0);
  set_gate (FALSE);
  pull_poses (h, late);
  fail_unless_equals_int (GPOINTER_TO_INT (g_thread_join (pushing)), GST_FLOW_OK);
  fail_unless_equals_int (pop_progress (h->element), GST_PROGRESS_TYPE_COMPLETE);
  fail_unless (memcmp (at_once, late, sizeof late) == 0);
  ndt_harness_free (h);
}
GST_END_TEST

/* Live scans do not wait, and are given back with the reason. */
GST_START_TEST (test_live)
{
  set_gate (TRUE);
  GstHarness *h = open_harness (ndt_room_map ());
  gst_harness_set_live (h, TRUE);
  fail_unless_equals_int (pop_progress (h->element), GST_PROGRESS_TYPE_START);
  for (guint i = 0; i < 3; i++) {
    GstBuffer *buffer = ndt_harness_pass (h, ndt_room_scan (i));
    const GstPoseMeta *meta = ndt_harness_estimate (buffer);
    fail_unless_equals_int (meta->status, GST_POSE_STATUS_SKIPPED);
    fail_unless_equals_int (meta->reason, GST_POSE_REASON_NO_MAP);
    fail_if (meta->has_pose);
    fail_unless_equals_uint64 (meta->sequence, i);
    gst_buffer_unref (buffer);
  }
  g_autoptr (GError) warning = ndt_harness_error (h->element, GST_MESSAGE_WARNING);
  fail_unless (warning && strstr (warning->message, "the map is still being read") != NULL);
  set_gate (FALSE);
  fail_unless_equals_int (pop_progress (h->element), GST_PROGRESS_TYPE_COMPLETE);
  GstBuffer *buffer = ndt_harness_pass (h, ndt_room_scan (0));
  fail_unless_equals_int (ndt_harness_estimate (buffer)->status, GST_POSE_STATUS_TRACKING);
  fail_unless_equals_uint64 (ndt_harness_estimate (buffer)->sequence, 3);
  gst_buffer_unref (buffer);
  ndt_harness_free (h);
}
GST_END_TEST

/* A change of state cancels, at once; what was being read goes unnoticed, whether the element is
 * there when it ends or not, and when it has started again meanwhile. */
GST_START_TEST (test_cancel)
{
  set_gate (TRUE);
  const gint n_before = get_locked (&n_read);
  GstHarness *h = open_harness (ndt_room_map ());
  fail_unless_equals_int (pop_progress (h->element), GST_PROGRESS_TYPE_START);
  GThread *pushing = g_thread_new ("push", push_scans, h);
  ndt_wait_for (ndt_harness_count (h, "scans-in") > 0);

  for (guint i = 0; i < 2; i++) {
    fail_unless_equals_int (
        gst_element_set_state (h->element, GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
    fail_unless_equals_int (pop_progress (h->element), GST_PROGRESS_TYPE_CANCELED);
    if (pushing)
      fail_unless_equals_int (GPOINTER_TO_INT (g_thread_join (pushing)), GST_FLOW_FLUSHING);
    pushing = NULL;
    fail_unless_equals_int (
        gst_element_set_state (h->element, GST_STATE_PLAYING), GST_STATE_CHANGE_SUCCESS);
    fail_unless_equals_int (pop_progress (h->element), GST_PROGRESS_TYPE_START);
  }
  ndt_wait_for (get_locked (&n_waiting) == 3);
  ndt_harness_free (h);
  set_gate (FALSE);
  ndt_wait_for (get_locked (&n_read) == n_before + 3);
}
GST_END_TEST

/* However long the map takes: it is not read before the end. */
GST_START_TEST (test_limit)
{
  gint64 up = G_MAXINT64, down = G_MAXINT64;
  set_gate (TRUE);
  const gint n_before = get_locked (&n_read);
  GstHarness *h = open_harness (ndt_room_map ());
  for (guint i = 0; i < 5; i++) {
    gint64 begin = g_get_monotonic_time ();
    fail_unless_equals_int (
        gst_element_set_state (h->element, GST_STATE_READY), GST_STATE_CHANGE_SUCCESS);
    down = MIN (down, g_get_monotonic_time () - begin);
    begin = g_get_monotonic_time ();
    fail_unless_equals_int (
        gst_element_set_state (h->element, GST_STATE_PLAYING), GST_STATE_CHANGE_SUCCESS);
    up = MIN (up, g_get_monotonic_time () - begin);
  }
  g_print (
      "to PLAYING in %.1f ms, to READY in %.1f ms\n", (gdouble)up * 1e-3, (gdouble)down * 1e-3);
  fail_unless (up < LIMIT && down < LIMIT);
  fail_unless_equals_int (get_locked (&n_read), n_before);
  ndt_wait_for (get_locked (&n_waiting) == 6);
  ndt_harness_free (h);
  set_gate (FALSE);
  ndt_wait_for (get_locked (&n_read) == n_before + 6);
}
GST_END_TEST

/* What is wrong with it ends the stream. */
GST_START_TEST (test_error)
{
  g_autofree gchar *folder = g_dir_make_tmp ("ndt-opening-XXXXXX", NULL);
  g_autofree gchar *bad = g_build_filename (folder, "bad.pcd", NULL);
  g_assert_true (g_file_set_contents (bad, "FIELDS x y z\nWIDTH 9\nDATA binary\n1234", -1, NULL));
  set_gate (TRUE);
  GstHarness *h = open_harness (bad);
  fail_unless_equals_int (pop_progress (h->element), GST_PROGRESS_TYPE_START);
  set_gate (FALSE);
  fail_unless_equals_int (pop_progress (h->element), GST_PROGRESS_TYPE_ERROR);
  ndt_wait_for (gst_harness_push (h, ndt_room_scan (0)) == GST_FLOW_ERROR);
  g_autoptr (GError) error = ndt_harness_error (h->element, GST_MESSAGE_ERROR);
  fail_unless (g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ));
  fail_unless (strstr (error->message, "is truncated") != NULL, "%s", error->message);
  ndt_harness_free (h);
  g_unlink (bad);
  g_rmdir (folder);
}
GST_END_TEST

/* A wrong name that is set right before it was looked at is no error. */
GST_START_TEST (test_another)
{
  set_gate (TRUE);
  GstHarness *h = open_harness ("/nonexistent.pcd");
  fail_unless_equals_int (pop_progress (h->element), GST_PROGRESS_TYPE_START);
  g_object_set (h->element, "map-location", ndt_room_map (), NULL);
  set_gate (FALSE);
  fail_unless_equals_int (pop_progress (h->element), GST_PROGRESS_TYPE_COMPLETE);
  GstBuffer *buffer = ndt_harness_pass (h, ndt_room_scan (0));
  fail_unless_equals_int (ndt_harness_estimate (buffer)->status, GST_POSE_STATUS_TRACKING);
  gst_buffer_unref (buffer);
  fail_unless (ndt_harness_error (h->element, GST_MESSAGE_ERROR) == NULL);
  ndt_harness_free (h);
}
GST_END_TEST

/* A flush ends the wait of a scan, and the next one waits again. */
GST_START_TEST (test_flush)
{
  GstSegment segment;
  set_gate (TRUE);
  GstHarness *h = open_harness (ndt_room_map ());
  GThread *pushing = g_thread_new ("push", push_scans, h);
  ndt_wait_for (ndt_harness_count (h, "scans-in") > 0);
  gst_harness_push_event (h, gst_event_new_flush_start ());
  fail_unless_equals_int (GPOINTER_TO_INT (g_thread_join (pushing)), GST_FLOW_FLUSHING);
  gst_harness_push_event (h, gst_event_new_flush_stop (TRUE));
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_harness_push_event (h, gst_event_new_segment (&segment));
  pushing = g_thread_new ("push", push_scans, h);
  set_gate (FALSE);
  NdtPose poses[N_SCANS];
  pull_poses (h, poses);
  fail_unless_equals_int (GPOINTER_TO_INT (g_thread_join (pushing)), GST_FLOW_OK);
  ndt_harness_free (h);
}
GST_END_TEST

static gboolean
stop (gdouble fraction, gpointer user_data)
{
  gint *n_steps = user_data;
  fail_unless (fraction >= 0 && fraction <= 1);
  return --*n_steps > 0;
}

/* Reading ends where the watch says so: at the first look, and at the last. */
GST_START_TEST (test_watch)
{
  NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  g_autoptr (GError) error = NULL;
  gint n_steps = 1000;
  const NdtMapWatch watch = {stop, &n_steps};
  g_autoptr (NdtVoxelMap) map = ndt_map_load_watched (ndt_room_map (), &params, &watch, NULL);
  fail_unless (map != NULL && n_steps < 999);
  n_steps = 1000 - n_steps;
  fail_unless (ndt_map_load_watched (ndt_room_map (), &params, &watch, &error) == NULL);
  fail_unless (g_error_matches (error, NDT_ERROR, NDT_ERROR_CANCELLED));
  g_clear_error (&error);
  n_steps = 1;
  fail_unless (ndt_map_load_watched (ndt_room_map (), &params, &watch, &error) == NULL);
  fail_unless (g_error_matches (error, NDT_ERROR, NDT_ERROR_CANCELLED));
}
GST_END_TEST

/* ---- Several elements ---- */

/* Of a loader: is a search wanted, and the map that it has read. */
typedef struct {
  gboolean is_searched;
  NdtVoxelMap *map;
} Reader;

static gboolean
reader_wants (GstNdtMapRequest *request, gpointer user_data)
{
  const NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  request->path = g_strdup (ndt_room_map ());
  request->params = params;
  request->is_searched = ((Reader *)user_data)->is_searched;
  return TRUE;
}

static void
reader_takes (const GstNdtMapRequest *request, NdtVoxelMap *map, NdtMapTiles *tiles,
    const GError *error, gpointer user_data)
{
  fail_unless (map && !tiles && !error);
  ((Reader *)user_data)->map = map;
}

static void
reader_progress (gdouble fraction, gpointer user_data)
{
}

static gboolean
has_overview (NdtVoxelMap *map)
{
  return ndt_voxel_map_get_made (map, NULL, NULL, NULL) != NULL;
}

/* Two elements with the same map have one in memory; what a search of it needs is made once it was
 * handed over, where one wants it, and for both. */
GST_START_TEST (test_shared)
{
  static const GstNdtMapCallbacks callbacks = {reader_wants, reader_takes, reader_progress};
  const NdtLog log = {NULL};
  Reader readers[2] = {{FALSE, NULL}, {TRUE, NULL}};
  GstNdtMapLoader *loaders[2];

  for (guint i = 0; i < 2; i++) {
    loaders[i] = gst_ndt_map_loader_new (&callbacks, &log, &readers[i]);
    gst_ndt_map_loader_request (loaders[i]);
    fail_unless (gst_ndt_map_loader_wait (loaders[i], -1));
    if (i == 0)
      fail_unless (!has_overview (readers[0].map));
  }
  fail_unless (readers[0].map == readers[1].map);
  for (guint i = 0; i < 10000 && !has_overview (readers[0].map); i++)
    g_usleep (1000);
  fail_unless (has_overview (readers[0].map));
  for (guint i = 0; i < 2; i++) {
    gst_ndt_map_loader_free (loaders[i]);
    ndt_voxel_map_unref (readers[i].map);
  }
}
GST_END_TEST

/* ---- Sparse maps ---- */

/* 100 points, @n_used of them in one cell, the others alone. */
static NdtVoxelMap *
make_map (guint n_used)
{
  const NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  float xyz[300];
  for (guint i = 0; i < G_N_ELEMENTS (xyz); i++)
    xyz[i] = (float)g_rand_double_range (rand, 0.2, 1.8);
  for (guint i = n_used; i < 100; i++)
    xyz[3 * i] += (float)(10 * i);
  const NdtCloudView points = ndt_cloud_view_xyz_f32 (xyz, 100);
  return ndt_voxel_map_new (&params, &points, NULL);
}

/* What is said of a sparse map names the resolution to set; an .ndtmap has to be made again with
 * that. */
GST_START_TEST (test_sparse)
{
  GstElement *element = gst_element_factory_make ("ndtlocalize", NULL);
  GstNdtLocalize *self = (GstNdtLocalize *)element;
  g_autofree gchar *folder = g_dir_make_tmp ("ndt-sparse-XXXXXX", NULL);
  g_autofree gchar *image = g_build_filename (folder, "sparse.ndtmap", NULL);
  g_autoptr (NdtVoxelMap) sparse = make_map (89);
  g_autoptr (NdtVoxelMap) dense = make_map (91);
  fail_unless (ndt_map_image_write (image, sparse, NULL, NULL));
  gst_ndt_localize_check_map (self, sparse, ndt_room_map ());
  fail_unless (strstr (self->sparse_map, ": set resolution=4, or"), "%s", self->sparse_map);
  gst_ndt_localize_check_map (self, dense, ndt_room_map ());
  fail_unless (self->sparse_map == NULL);
  gst_ndt_localize_check_map (self, sparse, image);
  fail_unless (strstr (self->sparse_map,
                   ": make the .ndtmap by ndt-map convert --resolution 4 and set resolution=4"),
      "%s", self->sparse_map);
  gst_object_unref (element);
  ndt_test_remove_folder (folder);
}
GST_END_TEST

static Suite *
ndtlocalize_opening_suite (void)
{
  Suite *s = suite_create ("ndtlocalize-opening");
  TCase *tc = tcase_create ("general");
  suite_add_tcase (s, tc);
  tcase_add_unchecked_fixture (tc, setup, teardown);
  tcase_add_test (tc, test_poses);
  tcase_add_test (tc, test_live);
  tcase_add_test (tc, test_cancel);
  tcase_add_test (tc, test_limit);
  tcase_add_test (tc, test_error);
  tcase_add_test (tc, test_another);
  tcase_add_test (tc, test_flush);
  tcase_add_test (tc, test_watch);
  tcase_add_test (tc, test_shared);
  tcase_add_test (tc, test_sparse);
  return s;
}

GST_CHECK_MAIN (ndtlocalize_opening)
