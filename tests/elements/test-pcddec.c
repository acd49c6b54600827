/* SPDX-License-Identifier: MIT */
#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>
#include <gst/pointcloud/pointcloud.h>

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "ndtcore/cloudfile/ndt-pcd.h"
#include "tests/ndt-harness.h"

static GstHarness *harness;
static GstBus *bus;

static void
setup (void)
{
  harness = gst_harness_new ("pcddec");
  bus = gst_bus_new ();
  gst_element_set_bus (harness->element, bus);
}

static void
teardown (void)
{
  gst_element_set_bus (harness->element, NULL);
  gst_object_unref (bus);
  gst_harness_teardown (harness);
}

/* What filesrc and multifilesrc send first; caps are there where a source has the property. */
static void
begin_stream (const gchar *caps)
{
  GstSegment segment;
  gst_segment_init (&segment, GST_FORMAT_BYTES);
  fail_unless (gst_harness_push_event (harness, gst_event_new_stream_start ("test")));
  if (caps) {
    g_autoptr (GstCaps) parsed = gst_caps_from_string (caps);
    fail_unless (gst_harness_push_event (harness, gst_event_new_caps (parsed)));
  }
  fail_unless (gst_harness_push_event (harness, gst_event_new_segment (&segment)));
}

/* A file of n points (i + first, 2, nan). */
static GBytes *
make_file (NdtPcdEncoding encoding, guint n, guint first)
{
  g_autofree float *xyz = g_new (float, 3 * n + 1);
  g_autofree gchar *path = NULL;
  gchar *data;
  gsize size;
  for (guint i = 0; i < n; i++) {
    xyz[3 * i] = (float)(i + first);
    xyz[3 * i + 1] = 2;
    xyz[3 * i + 2] = NAN;
  }
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (xyz, n);
  g_close (g_file_open_tmp ("pcddec-XXXXXX", &path, NULL), NULL);
  fail_unless (ndt_pcd_write (path, &view, encoding, NULL));
  fail_unless (g_file_get_contents (path, &data, &size, NULL));
  g_unlink (path);
  return g_bytes_new_take (data, size);
}

static GBytes *
make_text (const gchar *text)
{
  return g_bytes_new (text, strlen (text));
}

static GstFlowReturn
push_file (GBytes *file)
{
  return gst_harness_push (harness,
      g_bytes_get_size (file) > 0 ? gst_buffer_new_wrapped_bytes (file) : gst_buffer_new ());
}

static GstFlowReturn
push_text (const gchar *text)
{
  g_autoptr (GBytes) file = make_text (text);
  return push_file (file);
}

/* The next cloud is one of make_file(). */
static void
check_cloud (guint n, guint start, GstClockTime pts)
{
  GstBuffer *cloud = gst_harness_try_pull (harness);
  GstMapInfo map;
  fail_unless (cloud != NULL);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (cloud), pts);
  fail_unless_equals_uint64 (gst_buffer_get_size (cloud), n * 12);
  gst_buffer_map (cloud, &map, GST_MAP_READ);
  for (guint i = 0; i < n; i++) {
    float xyz[3];
    memcpy (xyz, map.data + 12 * i, sizeof xyz);
    fail_unless_equals_float (xyz[0], i + start);
    fail_unless_equals_float (xyz[1], 2);
    fail_unless (isnan (xyz[2]));
  }
  gst_buffer_unmap (cloud, &map);
  gst_buffer_unref (cloud);
}

static void
check_caps (const gchar *text)
{
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (harness->sinkpad);
  g_autoptr (GstCaps) expected = gst_caps_from_string (text);
  g_autofree gchar *have = caps ? gst_caps_to_string (caps) : NULL;
  fail_unless (caps && gst_caps_is_subset (caps, expected), "%s is not %s", have, text);
}

static void
check_stats (guint64 decoded, guint64 bad)
{
  g_autoptr (GstStructure) stats = NULL;
  guint64 n_decoded, n_bad;
  g_object_get (harness->element, "stats", &stats, NULL);
  fail_unless (gst_structure_get (
      stats, "decoded", G_TYPE_UINT64, &n_decoded, "bad", G_TYPE_UINT64, &n_bad, NULL));
  fail_unless_equals_uint64 (n_decoded, decoded);
  fail_unless_equals_uint64 (n_bad, bad);
}

GST_START_TEST (test_file_per_buffer)
{
  gst_util_set_object_arg (G_OBJECT (harness->element), "framerate", "4/1");
  begin_stream (NULL);
  for (guint i = 0; i < 6; i++) {
    g_autoptr (GBytes) file = make_file ((NdtPcdEncoding)(i % 3), 5 + i, i);
    fail_unless_equals_int (push_file (file), GST_FLOW_OK);
    /* Nothing waits for what comes after. */
    check_cloud (5 + i, i, i * GST_SECOND / 4);
  }
  check_caps ("pointcloud/x-raw,format=XYZ_F32LE,point-step=12,framerate=4/1");
  fail_if (gst_harness_try_pull (harness));

  g_autoptr (GstEvent) event = gst_pad_get_sticky_event (harness->sinkpad, GST_EVENT_SEGMENT, 0);
  const GstSegment *segment;
  gst_event_parse_segment (event, &segment);
  fail_unless_equals_int (segment->format, GST_FORMAT_TIME);
  fail_unless (gst_harness_push_event (harness, gst_event_new_eos ()));
  check_stats (6, 0);
  fail_unless_equals_int (ndt_harness_count_messages (bus, GST_MESSAGE_WARNING, ""), 0);
}
GST_END_TEST;

/* Binary points stay in the memory that came. */
GST_START_TEST (test_no_copy)
{
  g_autoptr (GBytes) file = make_file (NDT_PCD_BINARY, 1000, 0);
  gsize size;
  const guint8 *data = g_bytes_get_data (file, &size);
  GstMapInfo map;
  begin_stream ("pointcloud/x-pcd,framerate=1/1");
  fail_unless_equals_int (push_file (file), GST_FLOW_OK);
  g_autoptr (GstBuffer) cloud = gst_harness_pull (harness);
  gst_buffer_map (cloud, &map, GST_MAP_READ);
  fail_unless (map.data == data + size - 12000);
  gst_buffer_unmap (cloud, &map);
}
GST_END_TEST;

/* Files of all encodings behind each other, one of them padded, in pieces of any size. */
GST_START_TEST (test_pieces)
{
  static const gsize sizes[] = {1, 2, 3, 7, 50, 117, 256, 4096, 1 << 20};
  const guint8 padding[300] = {0};
  g_autoptr (GByteArray) stream = g_byte_array_new ();
  for (guint i = 0; i < 7; i++) {
    g_autoptr (GBytes) file = make_file ((NdtPcdEncoding)(i % 3), 20 + i, i);
    gsize size;
    const guint8 *data = g_bytes_get_data (file, &size);
    g_byte_array_append (stream, data, (guint)size);
    if (i == 1)
      g_byte_array_append (stream, padding, sizeof padding);
  }
  const guint piece = (guint)sizes[__i__];
  begin_stream ("pointcloud/x-pcd,framerate=10/1");
  for (guint at = 0; at < stream->len; at += piece) {
    const guint n = MIN (piece, stream->len - at);
    GstBuffer *buffer = gst_buffer_new_memdup (stream->data + at, n);
    fail_unless_equals_int (gst_harness_push (harness, buffer), GST_FLOW_OK);
  }
  fail_unless (gst_harness_push_event (harness, gst_event_new_eos ()));
  for (guint i = 0; i < 7; i++)
    check_cloud (20 + i, i, i * GST_SECOND / 10);
  check_stats (7, 0);
}
GST_END_TEST;

/* Text whose last line has no end is whole when no more comes, or another file does. */
GST_START_TEST (test_text_without_line_end)
{
  begin_stream ("pointcloud/x-pcd,framerate=1/1");
  const gchar *text = "FIELDS x y z\nWIDTH 2\nDATA ascii\n0 2 nan\n1 2 nan";
  for (guint i = 0; i < 3; i++)
    fail_unless_equals_int (push_text (text), GST_FLOW_OK);
  fail_unless (gst_harness_push_event (harness, gst_event_new_eos ()));
  for (guint i = 0; i < 3; i++)
    check_cloud (2, 0, i * GST_SECOND);
  check_stats (3, 0);
}
GST_END_TEST;

GST_START_TEST (test_fields)
{
  static const struct {
    const gchar *header, *line, *caps, *warning;
  } cases[] = {
      {"FIELDS x y z intensity\nWIDTH 1\n", "1 2 3 4",
          "pointcloud/x-raw,format=XYZI_F32LE,point-step=16", NULL},
      {"FIELDS x y z\nSIZE 8 8 8\nWIDTH 1\n", "1 2 3",
          "pointcloud/x-raw,format=XYZ_F64LE,point-step=24", NULL},
      {"FIELDS x y z intensity ring _ time\nSIZE 4 4 4 4 2 1 4\nTYPE F F F F U U F\n"
       "COUNT 1 1 1 1 1 2 1\nWIDTH 1\n",
          "1 2 3 4 5 0 0 7", "pointcloud/x-raw,format=XYZIRT,point-step=24", NULL},
      {"FIELDS x y z h t\nSIZE 4 4 4 1 8\nTYPE F F F I F\nCOUNT 1 1 1 3 1\nWIDTH 1\n",
          "1 2 3 4 5 6 7",
          "pointcloud/x-raw,format=CUSTOM,point-step=23,"
          "fields=\"x:F32:0,y:F32:4,z:F32:8,h:I8:12:3,t:F64:15\"",
          NULL},
      {"FIELDS X Y Z\nWIDTH 1\n", "1 2 3", "pointcloud/x-raw,format=XYZ_F32LE", NULL},
      {"FIELDS x y z _ _\nWIDTH 1\n", "1 2 3 4 5",
          "pointcloud/x-raw,format=CUSTOM,point-step=20,fields=\"x:F32:0,y:F32:4,z:F32:8\"", NULL},
      {"FIELDS x y z\nWIDTH 2\nHEIGHT 3\n", "1 2 3\n1 2 3\n1 2 3\n1 2 3\n1 2 3\n1 2 3",
          "pointcloud/x-raw,format=XYZ_F32LE,width=2,height=3", NULL},
      {"FIELDS x y z id\nSIZE 4 4 4 8\nTYPE F F F U\nWIDTH 1\n", "1 2 3 4",
          "pointcloud/x-raw,format=CUSTOM,point-step=20,fields=\"x:F32:0,y:F32:4,z:F32:8\"",
          "'id' (its type has 8-byte integers)"},
      {"FIELDS x y z x a:b\nWIDTH 1\n", "1 2 3 4 5",
          "pointcloud/x-raw,format=CUSTOM,point-step=20,fields=\"x:F32:0,y:F32:4,z:F32:8\"",
          "'x' (its name is there twice), 'a:b' (its name has a comma or colon)"},
  };
  begin_stream ("pointcloud/x-pcd,framerate=1/1");
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree gchar *text =
        g_strconcat (cases[i].header, "DATA ascii\n", cases[i].line, "\n", NULL);
    fail_unless_equals_int (push_text (text), GST_FLOW_OK);
    check_caps (cases[i].caps);
    fail_unless_equals_int (ndt_harness_count_messages (bus, GST_MESSAGE_WARNING,
                                cases[i].warning ? cases[i].warning : "none"),
        cases[i].warning != NULL);
    gst_buffer_unref (gst_harness_pull (harness));
  }
  /* More than caps hold. */
  g_autoptr (GString) many = g_string_new ("FIELDS");
  for (guint i = 0; i < 40; i++)
    g_string_append_printf (many, " f%u", i);
  g_string_append (many, "\nWIDTH 0\nDATA ascii\n");
  fail_unless_equals_int (push_text (many->str), GST_FLOW_OK);
  fail_unless_equals_int (
      ndt_harness_count_messages (bus, GST_MESSAGE_WARNING, "'f39' (there are too many fields)"),
      1);
  g_autoptr (GstBuffer) empty = gst_harness_pull (harness);
  fail_unless_equals_uint64 (gst_buffer_get_size (empty), 0);
}
GST_END_TEST;

GST_START_TEST (test_no_field_left)
{
  begin_stream (NULL);
  fail_unless_equals_int (
      push_text ("FIELDS _\nWIDTH 1\nDATA ascii\n1\n"), GST_FLOW_NOT_NEGOTIATED);
  fail_unless_equals_int (ndt_harness_count_messages (bus, GST_MESSAGE_ERROR, "no field"), 1);
}
GST_END_TEST;

/* As long as nothing was decoded the stream may be anything. */
GST_START_TEST (test_first_file_bad)
{
  static const gchar *const texts[][2] = {{"\x89PNG\r\n\x1a\n", "is no PCD file"}, {"", "is empty"},
      {"VERSION .7\nFIELDS x\nDATA ascii\n", "neither a WIDTH nor"},
      {"FIELDS x\nWIDTH 1\nDATA ascii\nword\n", "'word'"}};
  begin_stream (NULL);
  fail_unless_equals_int (push_text (texts[__i__][0]), GST_FLOW_ERROR);
  fail_unless_equals_int (ndt_harness_count_messages (bus, GST_MESSAGE_ERROR, texts[__i__][1]), 1);
}
GST_END_TEST;

GST_START_TEST (test_eos_in_first_file)
{
  static const gchar *const texts[][2] = {{"FIELDS x\nWIDTH 2\nDATA ascii\n1\n", "is truncated"},
      {"VERSION .7\nFIELDS x", "ends within its header"}, {" \n", "holds no PCD"}};
  begin_stream (NULL);
  fail_unless_equals_int (push_text (texts[__i__][0]), GST_FLOW_OK);
  fail_unless (gst_harness_push_event (harness, gst_event_new_eos ()));
  fail_unless_equals_int (ndt_harness_count_messages (bus, GST_MESSAGE_ERROR, texts[__i__][1]), 1);
}
GST_END_TEST;

/* After an error the end of the stream comes: nothing is left of the file that it could decode. */
GST_START_TEST (test_too_large)
{
  begin_stream ("pointcloud/x-pcd,framerate=10/1");
  fail_unless_equals_int (
      push_text ("FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH 200000000\nHEIGHT 1\n"
                 "POINTS 200000000\nDATA binary\n0123456789abcdef"),
      GST_FLOW_ERROR);
  fail_unless_equals_int (
      ndt_harness_count_messages (bus, GST_MESSAGE_ERROR, "is larger than 2 GiB"), 1);
  gst_harness_push_event (harness, gst_event_new_eos ());
  fail_unless_equals_int (ndt_harness_count_messages (bus, GST_MESSAGE_ERROR, ""), 0);
  fail_if (gst_harness_try_pull (harness));
  check_stats (0, 1);
}
GST_END_TEST;

/* A bad file among good ones costs itself only, and the others keep their times. */
GST_START_TEST (test_bad_file_between)
{
  g_autoptr (GBytes) good = make_file (NDT_PCD_BINARY, 10, 0);
  g_autoptr (GBytes) packed = make_file (NDT_PCD_BINARY_COMPRESSED, 10, 0);
  gsize size, packed_size;
  const guint8 *data = g_bytes_get_data (good, &size);
  const guint8 *packed_data = g_bytes_get_data (packed, &packed_size);
  g_autoptr (GBytes) cut = g_bytes_new (data, size - 5);
  g_autoptr (GBytes) cut_in_header = g_bytes_new (data, 100);
  g_autoptr (GBytes) cut_packed = g_bytes_new (packed_data, packed_size - 5);
  g_autoptr (GBytes) empty = g_bytes_new (NULL, 0);
  g_autoptr (GBytes) foreign = make_text ("\x89PNG\r\n\x1a\n, for instance");
  g_autoptr (GBytes) word = make_text ("FIELDS x y z\nWIDTH 1\nDATA ascii\n1 2 word\n");
  g_autoptr (GBytes) lies = make_text ("FIELDS x y z\nWIDTH 1\nPOINTS 2\nDATA ascii\n1 2 3\n");
  const struct {
    GBytes *file;
    const gchar *because;
  } cases[] = {{cut, "1 of 10 points, are missing"}, {cut_in_header, "ends within its header"},
      {cut_packed, "5 of "}, {empty, "is empty"}, {foreign, "is no PCD file"}, {word, "'word'"},
      {lies, "WIDTH × HEIGHT is 1 but POINTS is 2"}};

  begin_stream ("pointcloud/x-pcd,framerate=10/1");
  fail_unless_equals_int (push_file (good), GST_FLOW_OK);
  fail_unless_equals_int (push_file (cases[__i__].file), GST_FLOW_OK);
  fail_unless_equals_int (push_file (good), GST_FLOW_OK);
  fail_unless_equals_int (push_file (good), GST_FLOW_OK);
  check_cloud (10, 0, 0);
  check_cloud (10, 0, 200 * GST_MSECOND);
  check_cloud (10, 0, 300 * GST_MSECOND);
  check_stats (3, 1);
  fail_unless_equals_int (
      ndt_harness_count_messages (bus, GST_MESSAGE_WARNING, cases[__i__].because), 1);

  GstEvent *event;
  guint n_gaps = 0;
  while ((event = gst_harness_try_pull_event (harness))) {
    if (GST_EVENT_TYPE (event) == GST_EVENT_GAP) {
      GstClockTime time, duration;
      gst_event_parse_gap (event, &time, &duration);
      fail_unless_equals_uint64 (time, 100 * GST_MSECOND);
      fail_unless_equals_uint64 (duration, 100 * GST_MSECOND);
      n_gaps++;
    }
    gst_event_unref (event);
  }
  fail_unless_equals_int (n_gaps, 1);
}
GST_END_TEST;

/* In a stream of pieces the next file is found by its first words. */
GST_START_TEST (test_bad_file_in_pieces)
{
  g_autoptr (GBytes) good = make_file (NDT_PCD_BINARY, 10, 0);
  g_autoptr (GByteArray) stream = g_byte_array_new ();
  const gchar *bad = "FIELDS x y z\nWIDTH 1\nDATA ascii\n1 2 3\n4 5 6\n7 8 9\n";
  gsize size;
  const guint8 *data = g_bytes_get_data (good, &size);
  g_byte_array_append (stream, data, (guint)size);
  g_byte_array_append (stream, (const guint8 *)bad, (guint)strlen (bad));
  g_byte_array_append (stream, data, (guint)size);
  begin_stream ("pointcloud/x-pcd,framerate=10/1");
  for (guint at = 0; at < stream->len; at += 11)
    fail_unless_equals_int (gst_harness_push (harness, gst_buffer_new_memdup (stream->data + at,
                                                           MIN (11, stream->len - at))),
        GST_FLOW_OK);
  fail_unless (gst_harness_push_event (harness, gst_event_new_eos ()));
  check_cloud (10, 0, 0);
  gst_buffer_unref (gst_harness_pull (harness));
  check_cloud (10, 0, 300 * GST_MSECOND);
  check_stats (3, 1);
  fail_unless_equals_int (
      ndt_harness_count_messages (bus, GST_MESSAGE_WARNING, "does not count"), 1);
}
GST_END_TEST;

GST_START_TEST (test_times)
{
  g_autoptr (GBytes) file = make_file (NDT_PCD_BINARY, 1, 0);
  g_autofree gchar *path = NULL;
  g_close (g_file_open_tmp ("pcddec-XXXXXX", &path, NULL), NULL);
  fail_unless (g_file_set_contents (path, "5.5\n6.25\n", -1, NULL));
  gst_element_set_state (harness->element, GST_STATE_NULL);
  g_object_set (harness->element, "times-location", path, NULL);
  gst_element_set_state (harness->element, GST_STATE_PLAYING);
  begin_stream ("pointcloud/x-pcd,framerate=10/1");
  push_file (file);
  check_cloud (1, 0, 5500 * GST_MSECOND);
  push_file (file);
  check_cloud (1, 0, 6250 * GST_MSECOND);
  /* A PTS that is there stays. */
  GstBuffer *stamped = gst_buffer_new_wrapped_bytes (file);
  GST_BUFFER_PTS (stamped) = 42;
  GST_BUFFER_DURATION (stamped) = 7;
  gst_harness_push (harness, stamped);
  GstBuffer *cloud = gst_harness_pull (harness);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (cloud), 42);
  fail_unless_equals_uint64 (GST_BUFFER_DURATION (cloud), 7);
  gst_buffer_unref (cloud);

  gst_element_set_state (harness->element, GST_STATE_NULL);
  g_object_set (harness->element, "times-location", "/nonexistent", NULL);
  fail_unless_equals_int (
      gst_element_set_state (harness->element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
  fail_unless_equals_int (ndt_harness_count_messages (bus, GST_MESSAGE_ERROR, "/nonexistent"), 1);
  g_unlink (path);
}
GST_END_TEST;

GST_START_TEST (test_flush)
{
  g_autoptr (GBytes) file = make_file (NDT_PCD_BINARY, 3, 0);
  GstSegment segment;
  begin_stream ("pointcloud/x-pcd,framerate=10/1");
  push_file (file);
  push_file (file);
  check_cloud (3, 0, 0);
  check_cloud (3, 0, 100 * GST_MSECOND);
  /* The half file before the flush is forgotten. */
  push_text ("FIELDS x\nWIDTH 9\nDATA ascii\n1\n");
  fail_unless (gst_harness_push_event (harness, gst_event_new_flush_start ()));
  fail_unless (gst_harness_push_event (harness, gst_event_new_flush_stop (TRUE)));
  gst_segment_init (&segment, GST_FORMAT_BYTES);
  fail_unless (gst_harness_push_event (harness, gst_event_new_segment (&segment)));
  push_file (file);
  check_cloud (3, 0, 0);
  check_stats (3, 0);
}
GST_END_TEST;

/* Events that come before the first cloud follow its caps; a segment's start is kept. */
GST_START_TEST (test_events)
{
  static const GstEventType order[] = {
      GST_EVENT_STREAM_START, GST_EVENT_CAPS, GST_EVENT_SEGMENT, GST_EVENT_TAG, GST_EVENT_GAP};
  g_autoptr (GBytes) file = make_file (NDT_PCD_BINARY, 3, 0);
  GstSegment segment;
  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.start = segment.time = 3 * GST_SECOND;
  fail_unless (gst_harness_push_event (harness, gst_event_new_stream_start ("test")));
  fail_unless (gst_harness_push_event (harness, gst_event_new_segment (&segment)));
  fail_unless (gst_harness_push_event (
      harness, gst_event_new_tag (gst_tag_list_new (GST_TAG_TITLE, "drive", NULL))));
  fail_unless (gst_harness_push_event (harness, gst_event_new_gap (0, GST_SECOND)));
  push_file (file);
  for (guint i = 0; i < G_N_ELEMENTS (order); i++) {
    g_autoptr (GstEvent) event = gst_harness_try_pull_event (harness);
    fail_unless (event != NULL);
    fail_unless_equals_int (GST_EVENT_TYPE (event), order[i]);
  }
  check_cloud (3, 0, 3 * GST_SECOND);
  gst_harness_set_upstream_latency (harness, 20 * GST_MSECOND);
  fail_unless_equals_uint64 (gst_harness_query_latency (harness), 20 * GST_MSECOND);
}
GST_END_TEST;

GST_START_TEST (test_negotiation)
{
  g_autoptr (GstCaps) caps = gst_caps_new_empty_simple ("pointcloud/x-pcd");
  g_autoptr (GstQuery) query = gst_query_new_allocation (caps, FALSE);
  g_autoptr (GBytes) file = make_file (NDT_PCD_BINARY, 3, 0);
  g_autoptr (GstCaps) video = gst_caps_new_empty_simple ("video/x-raw");
  fail_unless (gst_pad_peer_query_accept_caps (harness->srcpad, caps));
  fail_if (gst_pad_peer_query_accept_caps (harness->srcpad, video));
  fail_if (gst_pad_peer_query (harness->srcpad, query));
  /* The property wins over the caps that come; without both there is a warning. */
  begin_stream (NULL);
  push_file (file);
  check_cloud (3, 0, 0);
  fail_unless_equals_int (ndt_harness_count_messages (bus, GST_MESSAGE_WARNING, "framerate"), 1);
  gst_util_set_object_arg (G_OBJECT (harness->element), "framerate", "5/1");
  push_file (file);
  check_cloud (3, 0, 100 * GST_MSECOND);
  check_caps ("pointcloud/x-raw,framerate=5/1");
}
GST_END_TEST;

/* Found by its first bytes, and chosen for it. */
GST_START_TEST (test_decodebin)
{
  static const gchar *const head = "# .PCD v0.7 - Point Cloud Data file format\n";
  g_autoptr (GBytes) file = make_file ((NdtPcdEncoding)__i__, 300, 0);
  g_autofree gchar *path = NULL;
  g_autofree gchar *line = NULL;
  gsize size;
  const gchar *data = g_bytes_get_data (file, &size);
  fail_unless (g_str_has_prefix (data, head));
  g_close (g_file_open_tmp ("pcddec-XXXXXX", &path, NULL), NULL);
  /* The first comment is no must. */
  fail_unless (
      g_file_set_contents (path, data + strlen (head), (gssize)(size - strlen (head)), NULL));
  line = g_strdup_printf ("filesrc location=%s ! decodebin caps=pointcloud/x-raw ! "
                          "fakesink name=sink num-buffers=-1",
      path);
  g_autoptr (GstElement) pipeline = gst_parse_launch (line, NULL);
  g_autoptr (GstBus) pipeline_bus = gst_element_get_bus (pipeline);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  g_autoptr (GstMessage) message = gst_bus_timed_pop_filtered (
      pipeline_bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  fail_unless_equals_int (GST_MESSAGE_TYPE (message), GST_MESSAGE_EOS);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  g_unlink (path);
}
GST_END_TEST;

static Suite *
pcddec_suite (void)
{
  Suite *suite = suite_create ("pcddec");
  TCase *tests = tcase_create ("general");
  suite_add_tcase (suite, tests);
  tcase_add_checked_fixture (tests, setup, teardown);
  tcase_add_test (tests, test_file_per_buffer);
  tcase_add_test (tests, test_no_copy);
  tcase_add_loop_test (tests, test_pieces, 0, 9);
  tcase_add_test (tests, test_text_without_line_end);
  tcase_add_test (tests, test_fields);
  tcase_add_test (tests, test_no_field_left);
  tcase_add_loop_test (tests, test_first_file_bad, 0, 4);
  tcase_add_loop_test (tests, test_eos_in_first_file, 0, 3);
  tcase_add_loop_test (tests, test_bad_file_between, 0, 7);
  tcase_add_test (tests, test_bad_file_in_pieces);
  tcase_add_test (tests, test_too_large);
  tcase_add_test (tests, test_times);
  tcase_add_test (tests, test_flush);
  tcase_add_test (tests, test_events);
  tcase_add_test (tests, test_negotiation);
  tcase_add_loop_test (tests, test_decodebin, 0, 3);
  return suite;
}

GST_CHECK_MAIN (pcddec);
