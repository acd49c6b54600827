/* SPDX-License-Identifier: MIT */
/* Elements that read a file: FUZZ_ELEMENT gets it in pieces (pcddec, mcapdemux) or by its location
 * (rosbagsrc). Properties, pieces, flushes and seeks follow from a hash of the file, so that the
 * inputs are files. Clouds that come out are whole points, and the stream ends: by EOS, or by an
 * error. */
#include <gst/pointcloud/pointcloud.h>

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "gst/mcap/replay/gstmcapdemux.h"
#include "gst/mcap/replay/gstrosbagsrc.h"
#include "gst/pcd/gstpcddec.h"

/* Seconds: longer than any bound of rosbagsrc here. */
#define MAX_WAIT 60

typedef struct {
  GstElement *element;
  GPtrArray *peers; /* GstPad; under the lock */
  GMutex lock;
  GCond changed;
  gboolean ended; /* EOS or an error came */
} Run;

/* Frames and fields become quarks, whose table GLib leaks each time that it grows. */
const char *__asan_default_options (void);
const char *
__asan_default_options (void)
{
  return "detect_leaks=0";
}

static void
set_ended (Run *run, gboolean ended)
{
  g_mutex_lock (&run->lock);
  run->ended = ended;
  g_cond_signal (&run->changed);
  g_mutex_unlock (&run->lock);
}

static GstFlowReturn
take_buffer (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (pad);
  volatile guint total = 0;
  GstMapInfo map;

  g_assert_nonnull (caps);
  g_assert_true (gst_buffer_map (buffer, &map, GST_MAP_READ));
  for (gsize i = 0; i < map.size; i++)
    total += map.data[i];
  if (gst_structure_has_name (gst_caps_get_structure (caps, 0), GST_POINT_CLOUD_CAPS_NAME)) {
    GstPointCloudInfo info;
    g_assert_true (gst_point_cloud_info_from_caps (&info, caps, NULL));
    g_assert_cmpuint (map.size % info.point_step, ==, 0);
  }
  gst_buffer_unmap (buffer, &map);
  gst_buffer_unref (buffer);
  return GST_FLOW_OK;
}

static gboolean
take_event (GstPad *pad, GstObject *parent, GstEvent *event)
{
  if (GST_EVENT_TYPE (event) == GST_EVENT_EOS)
    set_ended (gst_pad_get_element_private (pad), TRUE);
  gst_event_unref (event);
  return TRUE;
}

static void
add_peer (GstElement *element, GstPad *pad, Run *run)
{
  GstPad *peer = gst_object_ref_sink (gst_pad_new (NULL, GST_PAD_SINK));

  gst_pad_set_element_private (peer, run);
  gst_pad_set_chain_function (peer, take_buffer);
  gst_pad_set_event_function (peer, take_event);
  gst_pad_set_active (peer, TRUE);
  g_assert_cmpint (gst_pad_link (pad, peer), ==, GST_PAD_LINK_OK);
  g_mutex_lock (&run->lock);
  g_ptr_array_add (run->peers, peer);
  g_mutex_unlock (&run->lock);
}

static void
remove_peer (gpointer peer)
{
  gst_pad_set_active (peer, FALSE);
  gst_object_unref (peer);
}

static GstBusSyncReply
take_message (GstBus *bus, GstMessage *message, gpointer run)
{
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
    set_ended (run, TRUE);
  gst_message_unref (message);
  return GST_BUS_DROP;
}

static void
wait_for_end (Run *run)
{
  const gint64 end = g_get_monotonic_time () + MAX_WAIT * G_USEC_PER_SEC;
  g_mutex_lock (&run->lock);
  while (!run->ended)
    g_assert_true (g_cond_wait_until (&run->changed, &run->lock, end));
  g_mutex_unlock (&run->lock);
}

/* Of recordings. */
static void
set_properties (GstElement *element, guint how)
{
  static const gchar *const topics[] = {"<>", "</points>", "<\"/p*\">", "</tf,/odom>"};

  if (!g_object_class_find_property (G_OBJECT_GET_CLASS (element), "raw"))
    return;
  g_object_set (element, "raw", how & 1, "attach-poses", how >> 1 & 1, "timestamps", how / 4 % 3,
      "pose-role", how / 16 % 4, "max-topics", how / 64 % 4 ? 4096 : 2, "max-names",
      how / 256 % 4 ? 4096 : 3, "max-record-size", (guint64)(how / 1024 % 4 ? 1 << 20 : 4096),
      "max-open-time", MAX_WAIT / 4, NULL);
  gst_util_set_object_arg (G_OBJECT (element), "topics", topics[how / 4096 % 4]);
}

static void
push_file (Run *run, GstPad *sink, const guint8 *data, gsize size, guint how)
{
  static const gsize steps[] = {1, 7, 100, 1000, 4096, G_MAXSIZE};
  GstPad *source = gst_object_ref_sink (gst_pad_new (NULL, GST_PAD_SRC));
  g_autoptr (GstCaps) caps = gst_pad_get_pad_template_caps (sink);
  const gsize step = MAX (steps[how / 16384 % G_N_ELEMENTS (steps)], size / 100 + 1);
  const gboolean is_twice = how / 131072 % 4 == 1;
  GstSegment segment;

  g_assert_cmpint (gst_pad_link (source, sink), ==, GST_PAD_LINK_OK);
  gst_pad_set_active (source, TRUE);
  gst_segment_init (&segment, how / 524288 % 2 ? GST_FORMAT_BYTES : GST_FORMAT_TIME);
  gst_pad_push_event (source, gst_event_new_stream_start ("fuzz"));
  gst_pad_push_event (source, gst_event_new_caps (caps));
  gst_pad_push_event (source, gst_event_new_segment (&segment));
  for (guint round = 0; round < 1u + is_twice; round++) {
    /* The first time a part of it. */
    const gsize end = round == 0 && is_twice ? size - size / 3 : size;
    for (gsize at = 0; at < end; at += MIN (step, end - at)) {
      GstBuffer *buffer = gst_buffer_new_memdup (data + at, MIN (step, end - at));
      if (how / 1048576 % 2)
        GST_BUFFER_PTS (buffer) = at * GST_MSECOND;
      gst_pad_push (source, buffer);
    }
    if (round == 0 && is_twice) {
      gst_pad_push_event (source, gst_event_new_flush_start ());
      gst_pad_push_event (source, gst_event_new_flush_stop (TRUE));
      gst_pad_push_event (source, gst_event_new_segment (&segment));
    }
  }
  gst_pad_push_event (source, gst_event_new_eos ());
  gst_pad_set_active (source, FALSE);
  gst_pad_unlink (source, sink);
  gst_object_unref (source);
}

static void
play_file (Run *run, const guint8 *data, gsize size, guint how)
{
  static gchar *path;
  if (!path)
    path = g_strdup_printf ("%s/fuzz-rosbagsrc-%d", g_get_tmp_dir (), getpid ());
  g_assert_true (g_file_set_contents_full (
      path, (const gchar *)data, (gssize)size, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
  g_object_set (run->element, "location", path, "max-query-time", MAX_WAIT / 4, "max-unpacked-size",
      (guint64)(16 << 20), NULL);
  if (how / 16384 % 4 == 1)
    g_object_set (run->element, "start-time", (guint64)(how % 400) * GST_MSECOND, "stop-time",
        (guint64)(how % 700) * GST_MSECOND, NULL);
  if (gst_element_set_state (run->element, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE) {
    if (how / 65536 % 4 == 1) {
      /* Without a flush what has ended remains so. */
      const gboolean is_flush = how / 262144 % 2;
      if (is_flush)
        set_ended (run, FALSE);
      if (!gst_element_seek (run->element, 1, GST_FORMAT_TIME,
              is_flush ? GST_SEEK_FLAG_FLUSH : GST_SEEK_FLAG_NONE, GST_SEEK_TYPE_SET,
              (gint64)(how % 400) * (gint64)GST_MSECOND, GST_SEEK_TYPE_NONE, 0))
        set_ended (run, TRUE);
    }
    wait_for_end (run);
  }
  gst_element_set_state (run->element, GST_STATE_NULL);
  g_unlink (path);
}

/* FNV-1a. */
static guint
hash (const guint8 *data, gsize size)
{
  guint value = 2166136261u;
  for (gsize i = 0; i < size; i++)
    value = (value ^ data[i]) * 16777619u;
  return value;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  static GstBus *bus;
  Run run = {.peers = g_ptr_array_new_with_free_func (remove_peer)};
  const guint how = hash (data, size);

  if (!bus) {
    gst_init (NULL, NULL);
    gst_element_register_pcddec (NULL);
    gst_element_register_mcapdemux (NULL);
    gst_element_register_rosbagsrc (NULL);
    bus = gst_bus_new ();
  }
  g_mutex_init (&run.lock);
  g_cond_init (&run.changed);
  run.element = gst_object_ref_sink (gst_element_factory_make (FUZZ_ELEMENT, NULL));
  gst_bus_set_sync_handler (bus, take_message, &run, NULL);
  gst_element_set_bus (run.element, bus);
  set_properties (run.element, how);
  g_autoptr (GstPad) sink = gst_element_get_static_pad (run.element, "sink");
  g_autoptr (GstPad) src = gst_element_get_static_pad (run.element, "src");
  if (src)
    add_peer (run.element, src, &run);
  else
    g_signal_connect (run.element, "pad-added", G_CALLBACK (add_peer), &run);
  if (sink) {
    gst_element_set_state (run.element, GST_STATE_PLAYING);
    push_file (&run, sink, data, size, how);
    gst_element_set_state (run.element, GST_STATE_NULL);
  } else {
    play_file (&run, data, size, how);
  }
  gst_element_set_bus (run.element, NULL);
  gst_bus_set_sync_handler (bus, NULL, NULL, NULL);
  g_ptr_array_unref (run.peers);
  gst_object_unref (run.element);
  g_mutex_clear (&run.lock);
  g_cond_clear (&run.changed);
  return 0;
}
