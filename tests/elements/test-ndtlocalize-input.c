/* SPDX-License-Identifier: MIT */
/* What ndtlocalize does with maps, caps and scans that are not what they should be. */
#include <gst/check/gstcheck.h>

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ndtcore/cloudfile/ndt-pcd.h"
#include "tests/ndt-harness.h"
#include "tests/ndt-limit.h"

/* Starts an element with this map and returns the error that it posts. */
static GError *
start_error (const gchar *map)
{
  GstElement *element = gst_element_factory_make ("ndtlocalize", NULL);
  g_autoptr (GstBus) bus = gst_bus_new ();

  gst_element_set_bus (element, bus);
  g_object_set (element, "map-location", map, NULL);
  fail_unless_equals_int (
      gst_element_set_state (element, GST_STATE_READY), GST_STATE_CHANGE_SUCCESS);
  ndt_harness_refuse_map (element);
  GError *error = ndt_harness_error (element, GST_MESSAGE_ERROR);
  fail_unless (error != NULL, "no error message");
  ndt_harness_drop_messages (element);
  gst_element_set_bus (element, NULL);
  gst_element_set_state (element, GST_STATE_NULL);
  gst_object_unref (element);
  return error;
}

/* The text names the map and holds @why. */
static void
assert_start_error (const gchar *map, GstResourceError code, const gchar *why)
{
  g_autoptr (GError) error = start_error (map);
  fail_unless (g_error_matches (error, GST_RESOURCE_ERROR, code), "%s: %s, %d: %s", map,
      g_quark_to_string (error->domain), error->code, error->message);
  if (map && *map)
    fail_unless (
        strstr (error->message, map) != NULL, "\"%s\" does not name %s", error->message, map);
  fail_unless (
      strstr (error->message, why) != NULL, "\"%s\" does not say: %s", error->message, why);
}

GST_START_TEST (test_no_map)
{
  assert_start_error (NULL, GST_RESOURCE_ERROR_SETTINGS, "map-location");
  assert_start_error ("", GST_RESOURCE_ERROR_SETTINGS, "map-location");
}
GST_END_TEST

GST_START_TEST (test_missing_map)
{
  assert_start_error ("/nowhere/map.pcd", GST_RESOURCE_ERROR_OPEN_READ, "No such file");

  /* Nobody waits for a pipe's other end. */
  g_autofree gchar *folder = g_dir_make_tmp ("ndt-map-XXXXXX", NULL);
  g_autofree gchar *path = g_build_filename (folder, "map.pcd", NULL);
  fail_unless_equals_int (mkfifo (path, 0600), 0);
  assert_start_error (path, GST_RESOURCE_ERROR_OPEN_READ, "not a regular file");
  g_unlink (path);
  g_rmdir (folder);
}
GST_END_TEST

static void
assert_map_of_bytes (const gchar *bytes, gssize length, const gchar *why)
{
  g_autofree gchar *path = NULL;
  g_autoptr (GError) error = NULL;
  const gint fd = g_file_open_tmp ("ndt-map-XXXXXX.pcd", &path, &error);

  fail_unless (fd >= 0);
  g_close (fd, NULL);
  fail_unless (g_file_set_contents (path, bytes, length, NULL));
  assert_start_error (path, GST_RESOURCE_ERROR_READ, why);
  g_unlink (path);
}

GST_START_TEST (test_unreadable_maps)
{
  g_autofree gchar *bytes = NULL;
  gsize length;

  assert_map_of_bytes ("", 0, "is empty");
  assert_map_of_bytes ("ply\nformat ascii 1.0\n", -1, "PLY header");
  fail_unless (g_file_get_contents (ndt_room_map (), &bytes, &length, NULL));
  assert_map_of_bytes (bytes, (gssize)(length / 2), "is truncated");
  assert_map_of_bytes (bytes, 40, "PCD header");
  /* Five points make no voxel. */
  assert_map_of_bytes ("VERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\n"
                       "WIDTH 5\nHEIGHT 1\nPOINTS 5\nDATA ascii\n"
                       "0 0 0\n0 0.1 0\n0.1 0 0\n0.1 0.1 0\n0 0 0.1\n",
      -1, "no valid voxel");
  assert_map_of_bytes ("VERSION 0.7\nFIELDS a b\nSIZE 4 4\nTYPE F F\nCOUNT 1 1\n"
                       "WIDTH 1\nHEIGHT 1\nPOINTS 1\nDATA ascii\n0 0\n",
      -1, "no field 'x'");
}
GST_END_TEST

/* A folder without a map in it, and one with. */
GST_START_TEST (test_map_folder)
{
  g_autofree gchar *empty = g_dir_make_tmp ("ndt-maps-XXXXXX", NULL);
  g_autofree gchar *folder = g_path_get_dirname (ndt_room_map ());
  g_autofree gchar *start = ndt_harness_pose (0);

  g_autoptr (GError) error = start_error (empty);
  fail_unless (error->domain == GST_RESOURCE_ERROR);
  fail_unless (
      strstr (error->message, "has no PCD, PLY or LAS files") != NULL, "%s", error->message);
  g_rmdir (empty);

  GstHarness *h = ndt_harness_new ("map-location", folder, "initial-pose", start, NULL);
  fail_unless_equals_int (ndt_harness_pass_status (h, ndt_room_scan (0)), GST_POSE_STATUS_TRACKING);
  ndt_harness_free (h);
}
GST_END_TEST

/* After a failed start the element starts with a better map. */
GST_START_TEST (test_recovers_from_failed_start)
{
  GstElement *element = gst_element_factory_make ("ndtlocalize", NULL);

  fail_unless_equals_int (
      gst_element_set_state (element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
  g_object_set (element, "map-location", ndt_room_map (), NULL);
  fail_unless_equals_int (
      gst_element_set_state (element, GST_STATE_PLAYING), GST_STATE_CHANGE_SUCCESS);
  gst_element_set_state (element, GST_STATE_NULL);
  gst_object_unref (element);
}
GST_END_TEST

GST_START_TEST (test_refused_caps)
{
  static const gchar *caps[] = {
      "pointcloud/x-raw,format=CUSTOM,point-step=8,fields=\"a:F32:0,b:F32:4\",framerate=10/1",
      "pointcloud/x-raw,format=CUSTOM,point-step=12,fields=\"x:F32:0,y:F32:4\",framerate=10/1",
      "pointcloud/x-raw,format=CUSTOM,point-step=8,fields=\"x:F32:0,y:F32:4,z:F32:8\","
      "framerate=10/1",
      "pointcloud/x-raw,format=CUSTOM,point-step=12,fields=\"x:I32:0,y:I32:4,z:I32:8\","
      "framerate=10/1",
  };

  for (guint i = 0; i < G_N_ELEMENTS (caps); i++) {
    GstHarness *h = ndt_harness_new (NULL, NULL);
    g_autoptr (GstCaps) parsed = gst_caps_from_string (caps[i]);

    fail_unless (parsed != NULL);
    gst_harness_push_event (h, gst_event_new_caps (parsed));
    g_autoptr (GError) error = ndt_harness_error (h->element, GST_MESSAGE_ERROR);
    fail_unless (error != NULL, "%s: no error", caps[i]);
    fail_unless_equals_int (gst_harness_push (h, ndt_room_scan (0)), GST_FLOW_NOT_NEGOTIATED);
    ndt_harness_free (h);
  }
}
GST_END_TEST

GST_START_TEST (test_no_caps)
{
  GstElement *element = gst_element_factory_make ("ndtlocalize", NULL);
  g_autoptr (GstBus) bus = gst_bus_new ();
  GstSegment segment;

  gst_element_set_bus (element, bus);
  g_object_set (element, "map-location", ndt_room_map (), NULL);
  GstHarness *h = gst_harness_new_with_element (element, "sink", "src");
  gst_harness_play (h);
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_harness_push_event (h, gst_event_new_stream_start ("s"));
  gst_harness_push_event (h, gst_event_new_segment (&segment));
  fail_unless_equals_int (gst_harness_push (h, ndt_room_scan (0)), GST_FLOW_NOT_NEGOTIATED);
  g_autoptr (GError) error = ndt_harness_error (element, GST_MESSAGE_ERROR);
  fail_unless (g_error_matches (error, GST_CORE_ERROR, GST_CORE_ERROR_NEGOTIATION));
  ndt_harness_free (h);
  gst_object_unref (element);
}
GST_END_TEST

static GstBuffer *
scan_of_size (gsize size, float value)
{
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, size, NULL);
  GstMapInfo map;
  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
  for (gsize i = 0; i + sizeof value <= size; i += sizeof value)
    memcpy (map.data + i, &value, sizeof value);
  gst_buffer_unmap (buffer, &map);
  return buffer;
}

/* Scans that cannot be aligned pass, without a last point that is not whole, and the next good one
 * is tracked. */
GST_START_TEST (test_bad_scans)
{
  static const struct {
    gsize size;
    float value;
  } scans[] = {
      {0, 0},
      {12, 1},
      {60, 1},
      {1200, NAN},
      {1200, INFINITY},
      {1201, 1},
      {11, 1},
  };
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("initial-pose", start, NULL);
  guint64 n_cut = 0;

  fail_unless_equals_int (ndt_harness_pass_status (h, ndt_room_scan (0)), GST_POSE_STATUS_TRACKING);
  for (guint i = 0; i < G_N_ELEMENTS (scans); i++) {
    g_autoptr (GstBuffer) out = ndt_harness_pass (h, scan_of_size (scans[i].size, scans[i].value));
    fail_unless_equals_uint64 (gst_buffer_get_size (out), scans[i].size / 12 * 12);
    fail_unless_equals_int (ndt_harness_estimate (out)->status, GST_POSE_STATUS_SKIPPED);
    n_cut += scans[i].size % 12 != 0;
    fail_unless_equals_uint64 (ndt_harness_count (h, "cut"), n_cut);
    fail_unless_equals_uint64 (ndt_harness_count (h, "rejected-too-few-points"), i + 1);

    g_autoptr (GstBuffer) next = ndt_harness_pass (h, ndt_room_scan (0));
    fail_unless_equals_int (ndt_harness_estimate (next)->status, GST_POSE_STATUS_TRACKING);
  }
  /* One warning for all of them, and one for those that were cut. */
  g_autoptr (GError) warning = ndt_harness_error (h->element, GST_MESSAGE_WARNING);
  fail_unless (warning != NULL);
  fail_unless (strstr (warning->message,
                   "Scan 1 passes without alignment: it has 0 finite points in range") != NULL,
      "%s", warning->message);
  g_autoptr (GError) cut = ndt_harness_error (h->element, GST_MESSAGE_WARNING);
  fail_unless (
      cut != NULL && strstr (cut->message, "A scan of 1201 bytes is no whole number") != NULL);
  fail_unless (ndt_harness_message (h->element, GST_MESSAGE_WARNING, NULL) == NULL);
  fail_unless (ndt_harness_message (h->element, GST_MESSAGE_ERROR, NULL) == NULL);
  ndt_harness_free (h);
}
GST_END_TEST

/* An organized cloud of another size passes as it is. */
GST_START_TEST (test_malformed)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("initial-pose", start, NULL);

  gst_harness_set_src_caps_str (h, NDT_ROOM_CAPS ",width=10,height=10");
  g_autoptr (GstBuffer) out = ndt_harness_pass (h, scan_of_size (99 * 12, 1));
  fail_unless_equals_uint64 (gst_buffer_get_size (out), 99 * 12);
  fail_unless_equals_int (ndt_harness_estimate (out)->status, GST_POSE_STATUS_SKIPPED);
  fail_unless_equals_uint64 (ndt_harness_count (h, "malformed"), 1);
  g_autoptr (GError) warning = ndt_harness_error (h->element, GST_MESSAGE_WARNING);
  fail_unless (warning != NULL && strstr (warning->message, "does not have the 10 × 10") != NULL);
  ndt_harness_free (h);
}
GST_END_TEST

/* A scan for which there is not the memory ends the stream by an error, not the process. */
GST_START_TEST (test_no_memory)
{
  enum { N = 1500000 };
  if (g_getenv ("NDT_TEST_SANITIZER"))
    return; /* they reserve more address space than a limit leaves */
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h =
      ndt_harness_new ("initial-pose", start, "backend", 2 /* cpu */, "scan-leaf-size", 0.0, NULL);
  GstBuffer *scan = gst_buffer_new_allocate (NULL, 12 * N, NULL);
  g_autoptr (GstBus) bus = gst_element_get_bus (h->element);
  g_autoptr (GError) error = NULL;

  g_object_set (h->element, "post-messages", FALSE, NULL);
  fail_unless_equals_int (ndt_harness_pass_status (h, ndt_room_scan (0)), GST_POSE_STATUS_TRACKING);
  gst_buffer_memset (scan, 0, 0, 12 * N);
  /* Room for the points and not for what their alignment takes. */
  const struct rlimit before = ndt_test_limit_memory (ndt_test_used_memory () + (300 << 20));
  fail_unless_equals_int (gst_harness_push (h, scan), GST_FLOW_OK);
  g_autoptr (GstMessage) message =
      gst_bus_timed_pop_filtered (bus, 60 * GST_SECOND, GST_MESSAGE_ERROR);
  fail_unless_equals_int (setrlimit (RLIMIT_AS, &before), 0);
  fail_unless (message != NULL);
  gst_message_parse_error (message, &error, NULL);
  fail_unless (g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT), "%s",
      error->message);
  fail_unless (strstr (error->message, "1500000 points") != NULL, "%s", error->message);
  ndt_harness_free (h);
}
GST_END_TEST

/* Single points that are not finite are dropped, not the scan. */
GST_START_TEST (test_some_points_not_finite)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("initial-pose", start, NULL);
  GstBuffer *scan = ndt_room_scan (0);
  GstMapInfo map;

  fail_unless (gst_buffer_map (scan, &map, GST_MAP_READWRITE));
  for (guint i = 0; i < NDT_ROOM_POINTS; i += 3) {
    const float value = i % 2 ? NAN : -INFINITY;
    memcpy (map.data + 12 * i + 4 * (i % 3), &value, sizeof value);
  }
  gst_buffer_unmap (scan, &map);
  fail_unless_equals_int (ndt_harness_pass_status (h, scan), GST_POSE_STATUS_TRACKING);
  ndt_harness_free (h);
}
GST_END_TEST

/* A scan of doubles in a wide point gives the pose of the same scan in floats, to the bit. */
GST_START_TEST (test_layouts)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("initial-pose", start, NULL);
  g_autoptr (GstBuffer) plain = ndt_room_scan (0);
  GstBuffer *wide = gst_buffer_new_allocate (NULL, 40 * NDT_ROOM_POINTS, NULL);
  GstMapInfo from, to;
  NdtPose poses[2];

  gst_buffer_map (plain, &from, GST_MAP_READ);
  gst_buffer_map (wide, &to, GST_MAP_WRITE);
  memset (to.data, 0xa5, to.size);
  for (guint i = 0; i < NDT_ROOM_POINTS; i++) {
    for (guint k = 0; k < 3; k++) {
      const double value = (double)((const float *)from.data)[3 * i + k];
      memcpy (to.data + 40 * i + 3 + 8 * (2 - k), &value, sizeof value);
    }
  }
  gst_buffer_unmap (wide, &to);
  gst_buffer_unmap (plain, &from);

  for (guint i = 0; i < 2; i++) {
    if (i == 1) {
      gst_harness_set_src_caps_str (h, "pointcloud/x-raw,format=CUSTOM,point-step=40,"
                                       "fields=\"z:F64:3,y:F64:11,x:F64:19,ring:U8:30\","
                                       "framerate=10/1");
      g_signal_emit_by_name (h->element, "reset");
    }
    g_autoptr (GstBuffer) out = ndt_harness_pass (h, i ? wide : gst_buffer_ref (plain));
    fail_unless_equals_int (ndt_harness_estimate (out)->status, GST_POSE_STATUS_TRACKING);
    poses[i] = ndt_harness_pose_of (out);
  }
  fail_unless (memcmp (&poses[0], &poses[1], sizeof poses[0]) == 0);
  ndt_harness_free (h);
}
GST_END_TEST

GST_START_TEST (test_unusable_poses_on_buffers)
{
  static const gdouble nowhere[3] = {NAN, 0, 0}, here[3] = {1, 2, 3}, none[4] = {0, 0, 0, 0};
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("initial-pose", start, NULL);

  for (guint i = 0; i < 2; i++) {
    GstBuffer *scan = ndt_room_scan (i);
    GstPoseMeta *meta = gst_buffer_add_pose_meta (scan, GST_POSE_ROLE_PRIOR, NULL, NULL);
    memcpy (meta->position, i ? nowhere : here, sizeof meta->position);
    if (i == 0)
      memcpy (meta->orientation, none, sizeof meta->orientation);
    fail_unless_equals_int (ndt_harness_pass_status (h, scan), GST_POSE_STATUS_TRACKING);
  }
  fail_unless_equals_uint64 (ndt_harness_count (h, "predicted-prior"), 0);
  ndt_harness_free (h);
}
GST_END_TEST

/* What only rawpointcloudparse can stamp is refused with its name. */
GST_START_TEST (test_no_time_stamps)
{
  GstHarness *h = ndt_harness_new (NULL, NULL);
  GstSegment segment;
  gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (0)));
  g_autoptr (GstPad) sink = gst_element_get_static_pad (h->element, "sink");
  gst_segment_init (&segment, GST_FORMAT_BYTES);
  fail_if (gst_pad_send_event (sink, gst_event_new_segment (&segment)));
  g_autoptr (GError) error = ndt_harness_error (h->element, GST_MESSAGE_ERROR);
  fail_unless (g_error_matches (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT));
  fail_unless (strstr (error->message, "rawpointcloudparse") != NULL, "%s", error->message);

  fail_unless_equals_int (gst_pad_chain (sink, ndt_room_scan (1)), GST_FLOW_ERROR);
  g_autoptr (GError) again = ndt_harness_error (h->element, GST_MESSAGE_ERROR);
  fail_unless (g_error_matches (again, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT));
  fail_unless (strstr (again->message, "rawpointcloudparse") != NULL, "%s", again->message);
  ndt_harness_free (h);
}
GST_END_TEST

/* Time stamps stay, also those that run backwards, and are counted and predicted over: the vehicle
 * goes on and is tracked, as it is over one that is missing, which gets its time by the framerate.
 */
GST_START_TEST (test_backwards)
{
  static const struct {
    GstClockTime in;
    GstClockTime out;
  } times[] = {{7000, 7000}, {7100, 7100}, {7200, 7200}, {6000, 6000}, {6100, 6100}, {-1, 6200},
      {6300, 6300}, {6250, 6250}, {6350, 6350}, {9000, 9000}};
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h = ndt_harness_new ("initial-pose", start, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (times); i++) {
    GstBuffer *scan = ndt_room_scan (i);
    GST_BUFFER_PTS (scan) =
        times[i].in == (GstClockTime)-1 ? GST_CLOCK_TIME_NONE : times[i].in * GST_MSECOND;
    g_autoptr (GstBuffer) out = ndt_harness_pass (h, scan);
    fail_unless_equals_uint64 (GST_BUFFER_PTS (out), times[i].out * GST_MSECOND);
    fail_unless_equals_int (ndt_harness_estimate (out)->status, GST_POSE_STATUS_TRACKING);
    NdtPose truth, pose = ndt_harness_pose_of (out);
    gdouble metres;
    ndt_room_pose (i, &truth);
    ndt_pose_difference (&truth, &pose, &metres, NULL);
    fail_unless (metres < 0.03, "scan %u is %g m off", i, metres); /* as in test_tracks */
  }
  fail_unless_equals_uint64 (ndt_harness_count (h, "backwards"), 2);
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
ndtlocalize_input_suite (void)
{
  Suite *suite = suite_create ("ndtlocalize-input");
  TCase *tc = tcase_create ("general");
  suite_add_tcase (suite, tc);
  tcase_add_unchecked_fixture (tc, write_map, ndt_room_remove_map);
  tcase_add_test (tc, test_no_map);
  tcase_add_test (tc, test_missing_map);
  tcase_add_test (tc, test_unreadable_maps);
  tcase_add_test (tc, test_map_folder);
  tcase_add_test (tc, test_recovers_from_failed_start);
  tcase_add_test (tc, test_refused_caps);
  tcase_add_test (tc, test_no_caps);
  tcase_add_test (tc, test_bad_scans);
  tcase_add_test (tc, test_malformed);
  tcase_add_test (tc, test_no_memory);
  tcase_add_test (tc, test_some_points_not_finite);
  tcase_add_test (tc, test_layouts);
  tcase_add_test (tc, test_unusable_poses_on_buffers);
  tcase_add_test (tc, test_no_time_stamps);
  tcase_add_test (tc, test_backwards);
  return suite;
}

GST_CHECK_MAIN (ndtlocalize_input)
