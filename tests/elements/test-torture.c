/* SPDX-License-Identifier: MIT */
/* Every element of ours with one input or as a source, while threads of their own stream into it,
 * set and read its properties, ask it, request pads of it and seek it, and its state goes up and
 * down: nothing is said of its output, but that it stops, without a warning of GLib or GStreamer
 * (which is a failure of any test here) and without what sanitizers see. */
#include <gst/check/gstcheck.h>

#include <glib/gstdio.h>
#include <string.h>

#include "tests/ndt-room.h"

#define N_CYCLES 25
#define N_BUFFERS 12

/* Clouds, poses, attachments and metadata, in the corpus of the fuzzers. */
#define RECORDING "rosbagsrc/drive.mcap"

typedef struct {
  GstElement *element;
  GstPad *source; /* linked to "sink"; NULL: it is a source */
  gboolean is_pulled;
  GstCaps *caps;
  GPtrArray *peers; /* GstPad, of the source pads; under the object lock of the element */
  GBytes *recording;
  GRWLock lock; /* read: something is pushed; written: the state leaves READY */
  gint generation;
  gint is_starting;
  gint stop;
} Torture;

static GstBuffer *
make_buffer (const Torture *torture, guint i)
{
  const GstStructure *structure = gst_caps_get_structure (torture->caps, 0);
  GstBuffer *buffer;

  if (gst_structure_has_name (structure, "pointcloud/x-raw"))
    buffer = gst_buffer_make_writable (ndt_room_scan (i % 3));
  else if (gst_structure_has_name (structure, "application/x-mcap")) {
    /* In pieces, of which the last is all that is left. */
    const gsize size = g_bytes_get_size (torture->recording), from = MIN (size, i * 500u);
    const gsize n = i < N_BUFFERS - 1 ? MIN (500, size - from) : size - from;
    g_autoptr (GBytes) piece = g_bytes_new_from_bytes (torture->recording, from, n);

    return gst_buffer_new_wrapped_bytes (piece);
  } else {
    /* Packets of a Velodyne that turns by 30 degrees each, foreign ones to other decoders; some are
     * cut. */
    guint8 packet[1206] = {0};

    for (guint k = 0; k < 12; k++) {
      const guint azimuth = (i * 3000 + k * 250) % 36000;
      packet[100 * k] = 0xff;
      packet[100 * k + 1] = 0xee;
      packet[100 * k + 2] = (guint8)azimuth;
      packet[100 * k + 3] = (guint8)(azimuth >> 8);
      memset (packet + 100 * k + 4, 7, 96);
    }
    packet[1202] = (guint8)i;
    packet[1204] = 0x37;
    packet[1205] = 0x22;
    buffer = gst_buffer_new_memdup (packet, i % 5 ? sizeof packet : 100);
  }
  GST_BUFFER_PTS (buffer) = i * 100 * GST_MSECOND;
  GST_BUFFER_DURATION (buffer) = 100 * GST_MSECOND;
  return buffer;
}

/* One push, unless the element was started anew since @generation: what it got before is gone. */
static gboolean
push (Torture *torture, gint generation, GstEvent *event, GstBuffer *buffer)
{
  gboolean goes_on;

  while (g_atomic_int_get (&torture->is_starting))
    g_usleep (100);
  g_rw_lock_reader_lock (&torture->lock);
  goes_on = g_atomic_int_get (&torture->generation) == generation;
  if (!goes_on && event)
    gst_event_unref (event);
  else if (!goes_on)
    gst_buffer_unref (buffer);
  else if (event)
    gst_pad_push_event (torture->source, event);
  else
    gst_pad_push (torture->source, buffer);
  g_rw_lock_reader_unlock (&torture->lock);
  return goes_on && !g_atomic_int_get (&torture->stop);
}

/* ---- Where the element pulls ---- */

static GstFlowReturn
get_range (GstPad *pad, GstObject *parent, guint64 offset, guint size, GstBuffer **buffer)
{
  const Torture *torture = gst_pad_get_element_private (pad);
  const gsize end = g_bytes_get_size (torture->recording);

  if (offset >= end)
    return GST_FLOW_EOS;
  g_autoptr (GBytes) piece =
      g_bytes_new_from_bytes (torture->recording, (gsize)offset, MIN (size, end - (gsize)offset));
  *buffer = gst_buffer_new_wrapped_bytes (piece);
  return GST_FLOW_OK;
}

static gboolean
answer_pulling (GstPad *pad, GstObject *parent, GstQuery *query)
{
  const Torture *torture = gst_pad_get_element_private (pad);

  if (GST_QUERY_TYPE (query) == GST_QUERY_SCHEDULING) {
    gst_query_set_scheduling (query, GST_SCHEDULING_FLAG_SEEKABLE, 1, -1, 0);
    gst_query_add_scheduling_mode (query, GST_PAD_MODE_PULL);
    return TRUE;
  }
  if (GST_QUERY_TYPE (query) == GST_QUERY_DURATION) {
    GstFormat format;

    gst_query_parse_duration (query, &format, NULL);
    if (format != GST_FORMAT_BYTES)
      return FALSE;
    gst_query_set_duration (query, GST_FORMAT_BYTES, (gint64)g_bytes_get_size (torture->recording));
    return TRUE;
  }
  return gst_pad_query_default (pad, parent, query);
}

/* ---- Threads ---- */

static gpointer
stream (gpointer user_data)
{
  Torture *torture = user_data;

  for (guint round = 0; !g_atomic_int_get (&torture->stop); round++) {
    const gint generation = g_atomic_int_get (&torture->generation);
    const gboolean is_time =
        !gst_caps_is_any (torture->caps) &&
        gst_structure_has_name (gst_caps_get_structure (torture->caps, 0), "pointcloud/x-raw");
    GstSegment segment;
    gboolean goes_on;

    gst_segment_init (&segment, is_time || round % 2 ? GST_FORMAT_TIME : GST_FORMAT_BYTES);
    goes_on = push (torture, generation, gst_event_new_stream_start ("torture"), NULL) &&
              push (torture, generation, gst_event_new_caps (torture->caps), NULL) &&
              push (torture, generation, gst_event_new_segment (&segment), NULL);
    for (guint i = 0; goes_on && i < N_BUFFERS; i++)
      goes_on = push (torture, generation, NULL, make_buffer (torture, i));
    if (goes_on && round % 3 == 0)
      goes_on = push (torture, generation, gst_event_new_gap (2 * GST_SECOND, GST_SECOND), NULL);
    if (goes_on && round % 2)
      goes_on = push (torture, generation, gst_event_new_eos (), NULL);
    goes_on = goes_on && push (torture, generation, gst_event_new_flush_start (), NULL);
    if (goes_on)
      push (torture, generation, gst_event_new_flush_stop (TRUE), NULL);
  }
  return NULL;
}

/* Numbers and switches that may change while PLAYING, to their default and their least; all are
 * read. */
static gpointer
set_properties (gpointer user_data)
{
  Torture *torture = user_data;
  guint n;
  g_autofree GParamSpec **properties =
      g_object_class_list_properties (G_OBJECT_GET_CLASS (torture->element), &n);

  for (guint round = 0; !g_atomic_int_get (&torture->stop); round++) {
    for (guint i = 0; i < n; i++) {
      GParamSpec *property = properties[i];
      GValue value = G_VALUE_INIT;

      if (property->flags & G_PARAM_DEPRECATED ||
          property->owner_type != G_OBJECT_TYPE (torture->element))
        continue;
      g_value_init (&value, property->value_type);
      if (property->flags & G_PARAM_READABLE)
        g_object_get_property (G_OBJECT (torture->element), property->name, &value);
      if (property->flags & GST_PARAM_MUTABLE_PLAYING && property->flags & G_PARAM_WRITABLE &&
          !G_IS_PARAM_SPEC_STRING (property)) {
        g_param_value_set_default (property, &value);
        if (round % 2 && G_IS_PARAM_SPEC_DOUBLE (property))
          g_value_set_double (&value, ((GParamSpecDouble *)property)->minimum);
        else if (round % 2 && G_IS_PARAM_SPEC_BOOLEAN (property))
          g_value_set_boolean (&value, !((GParamSpecBoolean *)property)->default_value);
        g_object_set_property (G_OBJECT (torture->element), property->name, &value);
      }
      g_value_unset (&value);
    }
    g_usleep (500);
  }
  return NULL;
}

static void
request_pad (GstElement *element)
{
  for (const GList *l = gst_element_class_get_pad_template_list (GST_ELEMENT_GET_CLASS (element));
       l; l = l->next) {
    GstPad *pad;

    if (GST_PAD_TEMPLATE_PRESENCE (l->data) != GST_PAD_REQUEST)
      continue;
    pad = gst_element_request_pad (element, l->data, NULL, NULL);
    if (!pad)
      continue;
    gst_element_release_request_pad (element, pad);
    gst_object_unref (pad);
  }
}

static gpointer
ask (gpointer user_data)
{
  Torture *torture = user_data;

  for (guint round = 0; !g_atomic_int_get (&torture->stop); round++) {
    g_autoptr (GstQuery) latency = gst_query_new_latency ();
    gint64 value;

    gst_element_query (torture->element, latency);
    gst_element_query_duration (torture->element, GST_FORMAT_TIME, &value);
    gst_element_query_position (torture->element, GST_FORMAT_TIME, &value);
    request_pad (torture->element);
    if ((!torture->source || torture->is_pulled) && round % 4 == 0)
      gst_element_seek (torture->element, 1, GST_FORMAT_TIME,
          round % 8 ? GST_SEEK_FLAG_FLUSH : GST_SEEK_FLAG_NONE, GST_SEEK_TYPE_SET,
          round % 3 * 100 * GST_MSECOND, GST_SEEK_TYPE_NONE, 0);
    g_usleep (500);
  }
  return NULL;
}

static GstFlowReturn
drop (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  gst_buffer_unref (buffer);
  return GST_FLOW_OK;
}

static void
add_peer (GstElement *element, GstPad *pad, Torture *torture)
{
  GstPad *peer;

  if (gst_pad_get_direction (pad) == GST_PAD_SINK)
    return;
  peer = gst_object_ref_sink (gst_pad_new (NULL, GST_PAD_SINK));
  gst_pad_set_chain_function (peer, drop);
  gst_pad_set_active (peer, TRUE);
  gst_pad_link (pad, peer);
  GST_OBJECT_LOCK (element);
  g_ptr_array_add (torture->peers, peer);
  GST_OBJECT_UNLOCK (element);
}

static void
remove_peer (gpointer peer)
{
  gst_pad_set_active (peer, FALSE);
  gst_object_unref (peer);
}

static void
torment (Torture *torture)
{
  GThread *threads[3];
  guint n_threads = 0;

  if (torture->is_pulled) /* other seeks */
    threads[n_threads++] = g_thread_new ("ask", ask, torture);
  else if (torture->source)
    threads[n_threads++] = g_thread_new ("stream", stream, torture);
  threads[n_threads++] = g_thread_new ("properties", set_properties, torture);
  threads[n_threads++] = g_thread_new ("ask", ask, torture);
  for (guint i = 0; i < N_CYCLES; i++) {
    g_atomic_int_set (&torture->is_starting, TRUE);
    g_rw_lock_writer_lock (&torture->lock);
    g_atomic_int_inc (&torture->generation);
    gst_element_set_state (torture->element, i % 3 ? GST_STATE_PLAYING : GST_STATE_PAUSED);
    g_atomic_int_set (&torture->is_starting, FALSE);
    g_rw_lock_writer_unlock (&torture->lock);
    g_usleep (3000);
    if (i % 4 == 1)
      gst_element_set_state (torture->element, GST_STATE_PAUSED);
    gst_element_set_state (torture->element, i % 5 ? GST_STATE_READY : GST_STATE_NULL);
  }
  g_atomic_int_set (&torture->stop, TRUE);
  gst_element_set_state (torture->element, GST_STATE_READY);
  for (guint i = 0; i < n_threads; i++)
    g_thread_join (threads[i]);
  fail_unless_equals_int (
      gst_element_set_state (torture->element, GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
}

static const struct {
  const gchar *name, *caps; /* NULL: a source */
  gboolean is_pulled;
} elements[] = {
    {"hesaidec", "application/x-udp-payload"},
    {"lidarodometry", NDT_ROOM_CAPS},
    {"lidarpcapsrc", NULL},
    {"lidartestsrc", NULL},
    {"mcapdemux", "application/x-mcap"},
    {"mcapdemux", "application/x-mcap", TRUE},
    {"mcapmux", NULL},
    {"mcapsink", NULL},
    {"ndtlocalize", NDT_ROOM_CAPS},
    {"ousterdec", "application/x-udp-payload"},
    {"pcddec", "pointcloud/x-pcd"},
    {"pcdenc", NDT_ROOM_CAPS},
    {"pointcloudconvert", NDT_ROOM_CAPS},
    {"pointclouddeskew", NDT_ROOM_CAPS},
    {"pointcloudfilter", NDT_ROOM_CAPS},
    {"pointcloudmerge", NDT_ROOM_CAPS},
    {"pointcloudrender", NDT_ROOM_CAPS},
    {"pointcloudview", NDT_ROOM_CAPS},
    {"poseinject", NDT_ROOM_CAPS},
    {"rawpointcloudparse", NDT_ROOM_CAPS},
    {"robosensedec", "application/x-udp-payload"},
    {"rosbagsrc", NULL},
    {"trajectorysink", NDT_ROOM_CAPS},
    {"velodynedec", "application/x-udp-payload"},
};

static gchar *
find_input (const gchar *name)
{
  const gchar *root = g_getenv ("NDT_TEST_ROOT");

  return g_build_filename (root ? root : NDT_TEST_ROOT, "tests/fuzz/corpus", name, NULL);
}

/* What an element needs to run. */
static void
prepare (GstElement *element, const gchar *name, const gchar *file)
{
  if (g_str_equal (name, "ndtlocalize")) {
    g_object_set (element, "map-location", ndt_room_map (), NULL);
  } else if (g_str_equal (name, "poseinject")) {
    fail_unless (g_file_set_contents (file, "0 0 0 0 0 0 0 1\n", -1, NULL));
    g_object_set (element, "location", file, NULL);
  } else if (g_str_equal (name, "ousterdec")) {
    fail_unless (g_file_set_contents (file,
        "{\"beam_altitude_angles\": [5, 0], \"beam_azimuth_angles\": [1, -1], "
        "\"prod_line\": \"OS-1-2\", \"lidar_mode\": \"32x10\"}",
        -1, NULL));
    g_object_set (element, "metadata-location", file, NULL);
  } else if (g_str_equal (name, "lidarpcapsrc")) {
    g_autofree gchar *path = find_input ("capture/ethernet.pcap");
    g_object_set (element, "location", path, NULL);
  } else if (g_str_equal (name, "rosbagsrc")) {
    g_autofree gchar *path = find_input (RECORDING);
    g_object_set (element, "location", path, NULL);
  } else if (g_str_equal (name, "pointcloudview")) {
    g_object_set (element, "port", 0, "map-location", ndt_room_map (), "async", FALSE, NULL);
  } else if (g_str_equal (name, "pointcloudrender")) {
    g_object_set (element, "map-location", ndt_room_map (), NULL);
  } else if (g_str_equal (name, "trajectorysink")) {
    g_object_set (element, "location", file, "async", FALSE, NULL);
  } else if (g_str_equal (name, "mcapsink")) {
    g_object_set (element, "location", file, "overwrite", TRUE, NULL);
  }
}

GST_START_TEST (test_torture)
{
  const gchar *name = elements[__i__].name;
  Torture torture = {.element = gst_element_factory_make (name, NULL)};
  g_autofree gchar *folder = g_dir_make_tmp ("torture-XXXXXX", NULL);
  g_autofree gchar *file = g_build_filename (folder, "file", NULL);
  g_autofree gchar *path = find_input (RECORDING);
  GstPad *sink = gst_element_get_static_pad (torture.element, "sink");
  GstPad *src = gst_element_get_static_pad (torture.element, "src");
  gchar *content;
  gsize size;

  gst_object_ref_sink (torture.element);
  g_rw_lock_init (&torture.lock);
  fail_unless (g_file_get_contents (path, &content, &size, NULL));
  torture.recording = g_bytes_new_take (content, size);
  torture.peers = g_ptr_array_new_with_free_func (remove_peer);
  prepare (torture.element, name, file);
  if (!sink && elements[__i__].caps)
    sink = gst_element_request_pad_simple (torture.element, "sink_%u");
  if (sink) {
    torture.caps = gst_caps_from_string (elements[__i__].caps);
    torture.source = gst_object_ref_sink (gst_pad_new ("source", GST_PAD_SRC));
    torture.is_pulled = elements[__i__].is_pulled;
    gst_pad_set_element_private (torture.source, &torture);
    if (torture.is_pulled) {
      gst_pad_set_getrange_function (torture.source, get_range);
      gst_pad_set_query_function (torture.source, answer_pulling);
    } else {
      gst_pad_set_active (torture.source, TRUE);
    }
    fail_unless_equals_int (gst_pad_link (torture.source, sink), GST_PAD_LINK_OK);
  }
  if (src)
    add_peer (torture.element, src, &torture);
  else
    g_signal_connect (torture.element, "pad-added", G_CALLBACK (add_peer), &torture);
  torment (&torture);
  g_ptr_array_unref (torture.peers);
  if (torture.source)
    gst_pad_set_active (torture.source, FALSE);
  gst_clear_object (&torture.source);
  gst_clear_caps (&torture.caps);
  gst_clear_object (&sink);
  gst_clear_object (&src);
  gst_object_unref (torture.element);
  g_bytes_unref (torture.recording);
  g_rw_lock_clear (&torture.lock);
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
torture_suite (void)
{
  Suite *suite = suite_create ("torture");
  TCase *tests = tcase_create ("general");

  suite_add_tcase (suite, tests);
  tcase_add_unchecked_fixture (tests, write_map, ndt_room_remove_map);
  tcase_add_loop_test (tests, test_torture, 0, G_N_ELEMENTS (elements));
  return suite;
}

GST_CHECK_MAIN (torture);
