/* SPDX-License-Identifier: MIT */
/* A scan whose last point is not whole: every element that takes clouds goes on with the others,
 * says so once and counts it; what comes out of it is whole points. rawpointcloudparse is not among
 * them: a size that does not fit is how it finds that the layout which it was given is wrong. */
#include <gst/check/gstcheck.h>
#include <gst/pointcloud/pointcloud.h>

#include <glib/gstdio.h>
#include <string.h>

#include "tests/ndt-room.h"

/* Bytes that are missing. */
#define MISSING 5
#define N_SCANS 4

typedef struct {
  gint n, n_torn;
} Out;

static const struct {
  const gchar *name;
  const gchar *wanted; /* caps downstream; NULL: any */
  const gchar *out;    /* of stats: scans that were taken; NULL: what comes out is counted */
} elements[] = {
    {"lidarodometry", NULL, "scans"},
    {"mcapmux", NULL, "messages"},
    {"mcapsink", NULL, "messages"},
    {"ndtlocalize", NULL, "aligned"},
    {"pcdenc", NULL, "scans"},
    {"pointcloudconvert", NULL, NULL}, /* passes them */
    {"pointcloudconvert", "pointcloud/x-raw,format=XYZ_F64LE", "scans"},
    {"pointclouddeskew", NULL, "scans"},
    {"pointcloudfilter", NULL, "scans"},
    {"pointcloudmerge", NULL, "clouds"},
    {"pointcloudrender", "video/x-raw,width=64,height=48,framerate=10/1", "scans"},
    {"pointcloudview", NULL, "scans"},
    {"poseinject", NULL, "scans"},
};

static GstFlowReturn
take_out (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  Out *out = gst_pad_get_element_private (pad);
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (pad);
  GstPointCloudInfo info;

  g_atomic_int_inc (&out->n);
  if (caps && gst_point_cloud_info_from_caps (&info, caps, NULL))
    out->n_torn += gst_buffer_get_size (buffer) % info.point_step != 0;
  gst_buffer_unref (buffer);
  return GST_FLOW_OK;
}

static gboolean
answer (GstPad *pad, GstObject *parent, GstQuery *query)
{
  const gchar *wanted = g_object_get_data (G_OBJECT (pad), "wanted");

  if (GST_QUERY_TYPE (query) != GST_QUERY_CAPS || !wanted)
    return gst_pad_query_default (pad, parent, query);
  g_autoptr (GstCaps) caps = gst_caps_from_string (wanted);
  gst_query_set_caps_result (query, caps);
  return TRUE;
}

static GstElement *
create (const gchar *name, const gchar *file)
{
  GstElement *element = gst_object_ref_sink (gst_element_factory_make (name, NULL));
  g_autofree gchar *start = NULL;
  NdtPose pose;

  ndt_room_pose (0, &pose);
  start = g_strdup_printf ("%f,%f,%f", pose.position[0], pose.position[1], pose.position[2]);
  if (g_str_equal (name, "ndtlocalize")) {
    g_object_set (element, "map-location", ndt_room_map (), NULL);
    gst_util_set_object_arg (G_OBJECT (element), "initial-pose", start);
  } else if (g_str_equal (name, "pointcloudrender")) {
    g_object_set (element, "map-location", ndt_room_map (), NULL);
  } else if (g_str_equal (name, "poseinject")) {
    fail_unless (g_file_set_contents (file, "0 0 0 0 0 0 0 1\n", -1, NULL));
    g_object_set (element, "location", file, NULL);
  } else if (g_str_equal (name, "mcapsink")) {
    g_object_set (element, "location", file, NULL);
  } else if (g_str_equal (name, "pointcloudview")) {
    g_object_set (element, "port", 0, "async", FALSE, NULL);
  }
  return element;
}

static GstPad *
get_sink (GstElement *element)
{
  static const gchar *const names[] = {"sink_%u", "cloud_%u"};
  GstPad *sink = gst_element_get_static_pad (element, "sink");

  for (guint i = 0; i < G_N_ELEMENTS (names) && !sink; i++)
    sink = gst_element_request_pad_simple (element, names[i]);
  fail_unless (sink != NULL);
  return sink;
}

static guint64
get_count (GstElement *element, const gchar *field)
{
  g_autoptr (GstStructure) stats = NULL;
  guint64 value;

  g_object_get (element, "stats", &stats, NULL);
  fail_unless (gst_structure_get_uint64 (stats, field, &value), "%s of %s", field,
      GST_OBJECT_NAME (element));
  return value;
}

/* The second is torn, and so is the fourth, of which no second warning comes. */
static void
push_scans (GstPad *source)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string (NDT_ROOM_CAPS);
  GstSegment segment;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  fail_unless (gst_pad_push_event (source, gst_event_new_stream_start ("whole")));
  fail_unless (gst_pad_push_event (source, gst_event_new_caps (caps)));
  fail_unless (gst_pad_push_event (source, gst_event_new_segment (&segment)));
  for (guint i = 0; i < N_SCANS; i++) {
    GstBuffer *scan = gst_buffer_make_writable (ndt_room_scan (i));

    GST_BUFFER_PTS (scan) = i * 100 * GST_MSECOND;
    GST_BUFFER_DURATION (scan) = 100 * GST_MSECOND;
    if (i % 2)
      gst_buffer_set_size (scan, (gssize)gst_buffer_get_size (scan) - MISSING);
    fail_unless_equals_int (gst_pad_push (source, scan), GST_FLOW_OK);
  }
  fail_unless (gst_pad_push_event (source, gst_event_new_eos ()));
}

static guint64
get_n_taken (GstElement *element, const gchar *field, const Out *out)
{
  return field ? get_count (element, field) : (guint)g_atomic_int_get (&out->n);
}

static void
check_messages (GstBus *bus)
{
  guint n_warnings = 0;
  GstMessage *message;

  while ((message = gst_bus_pop_filtered (bus, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR))) {
    g_autoptr (GError) error = NULL;

    fail_unless_equals_int (GST_MESSAGE_TYPE (message), GST_MESSAGE_WARNING);
    gst_message_parse_warning (message, &error, NULL);
    if (strstr (error->message, "no whole number of points of 12 bytes: the last 7 bytes"))
      n_warnings++;
    else
      fail_if (strstr (error->message, "no whole number") != NULL, "%s", error->message);
    gst_message_unref (message);
  }
  fail_unless_equals_int (n_warnings, 1);
}

GST_START_TEST (test_whole_points)
{
  const gchar *name = elements[__i__].name, *field = elements[__i__].out;
  g_autofree gchar *folder = g_dir_make_tmp ("whole-XXXXXX", NULL);
  g_autofree gchar *file = g_build_filename (folder, "file", NULL);
  GstElement *element = create (name, file);
  g_autoptr (GstBus) bus = gst_bus_new ();
  GstPad *source = gst_object_ref_sink (gst_pad_new ("source", GST_PAD_SRC));
  GstPad *sink = get_sink (element), *src = gst_element_get_static_pad (element, "src");
  GstPad *peer = NULL;
  Out out = {0};

  gst_element_set_bus (element, bus);
  if (src) {
    peer = gst_object_ref_sink (gst_pad_new ("peer", GST_PAD_SINK));
    gst_pad_set_element_private (peer, &out);
    g_object_set_data (G_OBJECT (peer), "wanted", (gpointer)elements[__i__].wanted);
    gst_pad_set_chain_function (peer, take_out);
    gst_pad_set_query_function (peer, answer);
    gst_pad_set_active (peer, TRUE);
    fail_unless_equals_int (gst_pad_link (src, peer), GST_PAD_LINK_OK);
  }
  fail_unless_equals_int (gst_pad_link (source, sink), GST_PAD_LINK_OK);
  gst_pad_set_active (source, TRUE);
  gst_element_set_state (element, GST_STATE_PLAYING);
  push_scans (source);
  /* Some have threads of their own. */
  for (guint i = 0; get_count (element, "cut") < N_SCANS / 2 && i < 1000; i++)
    g_usleep (10000);
  fail_unless_equals_uint64 (get_count (element, "cut"), N_SCANS / 2);
  for (guint i = 0; get_n_taken (element, field, &out) < N_SCANS && i < 1000; i++)
    g_usleep (10000);
  fail_unless (get_n_taken (element, field, &out) >= N_SCANS);
  gst_pad_set_active (source, FALSE);
  gst_element_set_state (element, GST_STATE_NULL);
  fail_unless_equals_int (out.n_torn, 0);
  check_messages (bus);
  gst_element_set_bus (element, NULL);
  if (peer)
    gst_pad_set_active (peer, FALSE);
  gst_clear_object (&peer);
  gst_clear_object (&src);
  gst_object_unref (source);
  gst_object_unref (sink);
  gst_object_unref (element);
  g_unlink (file);
  fail_unless_equals_int (g_rmdir (folder), 0);
}
GST_END_TEST;

/* Before the tests fork. */
static void
write_map (void)
{
  ndt_room_map ();
}

static Suite *
whole_points_suite (void)
{
  Suite *suite = suite_create ("whole-points");
  TCase *tests = tcase_create ("general");

  suite_add_tcase (suite, tests);
  tcase_add_unchecked_fixture (tests, write_map, ndt_room_remove_map);
  tcase_add_loop_test (tests, test_whole_points, 0, G_N_ELEMENTS (elements));
  return suite;
}

GST_CHECK_MAIN (whole_points);
