/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-lidarpcapsrc
 * @title: lidarpcapsrc
 * @short_description: packets of a lidar from a capture
 *
 * Reads a capture (pcap or pcapng, as tcpdump and Wireshark write them) and pushes the payload of
 * each UDP datagram in a buffer, as udpsrc does on a network. Datagrams that were sent in fragments
 * are put together.
 *
 * PTS is the time of capture since the first datagram that #GstLidarPcapSrc:dst-port and
 * #GstLidarPcapSrc:src-ip let through. The same PTS come at full speed, which is the default, and
 * with #GstLidarPcapSrc:is-live at the rate of the capture.
 *
 * Each buffer has the address of its sender in a #GstNetAddressMeta, as those of udpsrc, and the
 * time of its capture in a #GstReferenceTimestampMeta, `timestamp/x-unix`.
 *
 * A capture that is cut off or damaged ends there with a warning; what came before is pushed. One
 * of which nothing passes is an error.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 lidarpcapsrc location=velodyne/mrpt/sample_velodyne_hdl32.pcap dst-port=2368 !
 * velodynedec ! fakesink
 * ]|
 */
#include "config.h"

#include "gstlidarpcapsrc.h"

#include <gio/gio.h>
#include <gst/net/net.h>
#include <string.h>

#include "capture-file.h"
#include "capture-filter.h"
#include "gst/common/gstlocation.h"
#include "gst/common/gstrenamed.h"

GST_DEBUG_CATEGORY_STATIC (lidar_pcap_src_debug);
#define GST_CAT_DEFAULT lidar_pcap_src_debug

/* Ports named in the warning that no datagram passed. */
#define MAX_PORTS 8

/* Senders whose address objects are kept: a sensor sends from two or three ports by turns. */
#define N_SENDERS 4

enum {
  PROP_0,
  PROP_LOCATION,
  PROP_DST_PORT,
  PROP_SRC_IP,
  PROP_IS_LIVE,
  PROP_LOOP,
  PROP_STATS,
  PROP_RENAMED
};

typedef struct {
  GSocketAddress *object; /* NULL: an unused entry */
  guint version;
  guint16 port;
  guint8 bytes[16];
} Sender;

struct _GstLidarPcapSrc {
  GstPushSrc parent;

  /* under the object lock */
  gchar *location;
  guint dst_port;
  gchar *src_ip;
  gboolean loop;
  guint64 n_datagrams;
  guint64 n_filtered;
  guint64 n_empty;
  CaptureFileCounts counts;
  GstClockTime duration; /* NONE: not known yet */
  GstClockID wait;       /* for a datagram's time, NULL: none */
  gint is_unlocked;      /* atomic as well */
  gboolean is_started;
  GThread *look; /* for the duration; NULL: nobody asked yet */

  gint is_stopping; /* atomic */

  /* streaming thread, made on start; the look for the duration reads the path and the filter */
  gchar *path, *name; /* opened and shown */
  CaptureFilter filter;
  CaptureFile *capture;
  gint64 first_time;      /* ns since 1970 of the first datagram that passed; -1: none has */
  GstClockTime round_pts; /* of that datagram in this round of the loop */
  GstClockTime last_pts;
  GstClockTime interval; /* between the last two datagrams */
  GstClockTime skip_to;  /* what comes earlier is passed over after a seek */
  gboolean is_discont;
  GstBuffer *waiting; /* whose wait was interrupted */
  Sender senders[N_SENDERS];
  guint next_sender;       /* to be replaced */
  GArray *other_ports;     /* of guint16, of datagrams that did not pass */
  CaptureFileCounts ended; /* of captures that were read to the end */
};

static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE (
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS ("application/x-udp-payload"));

#define gst_lidar_pcap_src_parent_class parent_class
G_DEFINE_TYPE (GstLidarPcapSrc, gst_lidar_pcap_src, GST_TYPE_PUSH_SRC)
GST_ELEMENT_REGISTER_DEFINE (lidarpcapsrc, "lidarpcapsrc", GST_RANK_NONE, GST_TYPE_LIDAR_PCAP_SRC)

static gboolean
open_capture (GstLidarPcapSrc *self)
{
  g_autoptr (GError) error = NULL;
  g_clear_pointer (&self->capture, capture_file_free);
  self->capture = capture_file_open (self->path, &error);
  if (self->capture) {
    GST_INFO_OBJECT (self, "reading \"%s\"", self->name);
    capture_file_set_cancellation (self->capture, &self->is_unlocked);
    return TRUE;
  }
  if (g_error_matches (error, CAPTURE_FILE_ERROR, CAPTURE_FILE_ERROR_OPEN))
    GST_ELEMENT_ERROR (self, RESOURCE, OPEN_READ,
        ("The capture \"%s\" cannot be opened: %s.", self->name, error->message), (NULL));
  else
    GST_ELEMENT_ERROR (self, STREAM, WRONG_TYPE,
        ("\"%s\" is no capture that can be read: %s.", self->name, error->message), (NULL));
  return FALSE;
}

static gboolean
gst_lidar_pcap_src_stop (GstBaseSrc *base)
{
  GstLidarPcapSrc *self = GST_LIDAR_PCAP_SRC (base);
  GThread *look;
  g_atomic_int_set (&self->is_stopping, TRUE);
  GST_OBJECT_LOCK (self);
  self->is_started = FALSE;
  look = g_steal_pointer (&self->look);
  GST_OBJECT_UNLOCK (self);
  g_clear_pointer (&look, g_thread_join);
  g_clear_pointer (&self->capture, capture_file_free);
  gst_clear_buffer (&self->waiting);
  g_clear_pointer (&self->path, g_free);
  g_clear_pointer (&self->name, g_free);
  return TRUE;
}

static gboolean
gst_lidar_pcap_src_start (GstBaseSrc *base)
{
  GstLidarPcapSrc *self = GST_LIDAR_PCAP_SRC (base);
  g_autofree gchar *address = NULL, *location = NULL;
  guint port;
  GST_OBJECT_LOCK (self);
  location = g_strdup (self->location);
  address = g_strdup (self->src_ip);
  port = self->dst_port;
  self->n_datagrams = self->n_filtered = self->n_empty = 0;
  self->counts = (CaptureFileCounts){0};
  self->duration = GST_CLOCK_TIME_NONE;
  GST_OBJECT_UNLOCK (self);

  self->first_time = -1;
  self->round_pts = self->last_pts = self->interval = self->skip_to = 0;
  self->is_discont = TRUE;
  self->ended = (CaptureFileCounts){0};
  g_array_set_size (self->other_ports, 0);
  if (!location || !*location) {
    GST_ELEMENT_ERROR (self, RESOURCE, NOT_FOUND,
        ("No capture is named: set \"location\" to a pcap or pcapng file."), (NULL));
    return FALSE;
  }
  self->path = gst_location_resolve_or_post (GST_ELEMENT (self), location, GST_LOCATION_READ);
  self->name = self->path ? g_filename_display_name (self->path) : NULL;
  if (self->path && !capture_filter_init (&self->filter, port, address))
    GST_ELEMENT_ERROR (self, RESOURCE, SETTINGS,
        ("The src-ip \"%s\" is no address of IPv4 or IPv6, like 192.168.1.201.", address), (NULL));
  else if (self->path && open_capture (self)) {
    g_atomic_int_set (&self->is_stopping, FALSE);
    GST_OBJECT_LOCK (self);
    self->is_started = TRUE;
    GST_OBJECT_UNLOCK (self);
    return TRUE;
  }
  gst_lidar_pcap_src_stop (base);
  return FALSE;
}

static CaptureFileCounts
add_counts (CaptureFileCounts a, CaptureFileCounts b)
{
  return (CaptureFileCounts){.n_frames = a.n_frames + b.n_frames,
      .n_other = a.n_other + b.n_other,
      .n_bad = a.n_bad + b.n_bad,
      .n_incomplete = a.n_incomplete + b.n_incomplete};
}

static void
publish_counts (GstLidarPcapSrc *self, guint n_pushed, guint n_filtered, guint n_empty)
{
  const CaptureFileCounts counts =
      add_counts (self->ended, capture_file_get_counts (self->capture));
  GST_OBJECT_LOCK (self);
  self->counts = counts;
  self->n_datagrams += n_pushed;
  self->n_filtered += n_filtered;
  self->n_empty += n_empty;
  GST_OBJECT_UNLOCK (self);
}

static void
note_other_port (GstLidarPcapSrc *self, guint16 port)
{
  for (guint i = 0; i < self->other_ports->len; i++)
    if (g_array_index (self->other_ports, guint16, i) == port)
      return;
  if (self->other_ports->len < MAX_PORTS)
    g_array_append_val (self->other_ports, port);
}

static void
post_nothing (GstLidarPcapSrc *self, const GError *error)
{
  g_autoptr (GString) ports = g_string_new (NULL);
  if (g_error_matches (error, CAPTURE_FILE_ERROR, CAPTURE_FILE_ERROR_LINK)) {
    GST_ELEMENT_ERROR (self, STREAM, WRONG_TYPE,
        ("\"%s\" is no capture that can be read: %s.", self->name, error->message), (NULL));
    return;
  }
  for (guint i = 0; i < self->other_ports->len; i++)
    g_string_append_printf (
        ports, "%s%u", i > 0 ? ", " : "", g_array_index (self->other_ports, guint16, i));
  GST_ELEMENT_ERROR (self, STREAM, WRONG_TYPE,
      ("The capture \"%s\" has no datagram that dst-port and src-ip let through; it has %s%s.",
          self->name, ports->len > 0 ? "some for port " : "no UDP at all", ports->str),
      (NULL));
}

/* The end of the file. TRUE where it is read once more. */
static gboolean
handle_end (GstLidarPcapSrc *self, const GError *error)
{
  gboolean again;
  if (error && !g_error_matches (error, CAPTURE_FILE_ERROR, CAPTURE_FILE_ERROR_LINK))
    GST_ELEMENT_WARNING (self, STREAM, DEMUX,
        ("The capture \"%s\" is cut off or damaged and ends early: %s.", self->name,
            error->message),
        (NULL));
  if (self->first_time < 0) {
    post_nothing (self, error);
    g_clear_pointer (&self->capture, capture_file_free);
    return FALSE;
  }
  GST_OBJECT_LOCK (self);
  again = self->loop;
  GST_OBJECT_UNLOCK (self);
  if (!again)
    return FALSE;
  self->ended = add_counts (self->ended, capture_file_get_counts (self->capture));
  GST_DEBUG_OBJECT (self, "once more from its beginning");
  self->round_pts = self->last_pts + MAX (self->interval, 1);
  self->is_discont = TRUE;
  return open_capture (self);
}

/* Sets the time of a datagram; stamps before the first one's are taken for the first one's. */
static GstClockTime
take_time (GstLidarPcapSrc *self, gint64 time)
{
  if (self->first_time < 0)
    self->first_time = MAX (time, 0);
  const GstClockTime pts =
      self->round_pts + (time > self->first_time ? (GstClockTime)(time - self->first_time) : 0);
  if (pts > self->last_pts)
    self->interval = pts - self->last_pts;
  self->last_pts = pts;
  return pts;
}

/* The address of a datagram's sender, owned by @self. */
static GSocketAddress *
get_sender (GstLidarPcapSrc *self, const CaptureDatagram *datagram)
{
  const gsize size = datagram->version == 4 ? 4 : 16;
  for (guint i = 0; i < N_SENDERS; i++) {
    const Sender *sender = &self->senders[i];
    if (sender->object && sender->version == datagram->version &&
        sender->port == datagram->source_port &&
        memcmp (sender->bytes, datagram->source, size) == 0)
      return sender->object;
  }
  Sender *sender = &self->senders[self->next_sender];
  g_autoptr (GInetAddress) address = g_inet_address_new_from_bytes (
      datagram->source, datagram->version == 4 ? G_SOCKET_FAMILY_IPV4 : G_SOCKET_FAMILY_IPV6);
  self->next_sender = (self->next_sender + 1) % N_SENDERS;
  g_clear_object (&sender->object);
  sender->object = g_inet_socket_address_new (address, datagram->source_port);
  sender->version = datagram->version;
  sender->port = datagram->source_port;
  memcpy (sender->bytes, datagram->source, size);
  return sender->object;
}

/* As udpsrc has it: where the datagram came from; and the time of day of its capture. */
static void
add_meta (GstLidarPcapSrc *self, GstBuffer *buffer, const CaptureDatagram *datagram, gint64 time)
{
  static GstStaticCaps unix_caps = GST_STATIC_CAPS ("timestamp/x-unix");
  g_autoptr (GstCaps) caps = gst_static_caps_get (&unix_caps);
  gst_buffer_add_net_address_meta (buffer, get_sender (self, datagram));
  if (time >= 0)
    gst_buffer_add_reference_timestamp_meta (buffer, caps, (GstClockTime)time, GST_CLOCK_TIME_NONE);
}

/* The next datagram that passes. */
static GstFlowReturn
read_buffer (GstLidarPcapSrc *self, GstBuffer **buffer)
{
  CaptureDatagram datagram;
  gint64 time;
  guint n_filtered = 0, n_empty = 0;

  if (!self->capture)
    return GST_FLOW_ERROR;
  while (TRUE) {
    g_autoptr (GError) error = NULL;
    if (!capture_file_next (self->capture, &datagram, &time, &error)) {
      publish_counts (self, 0, n_filtered, n_empty);
      n_filtered = n_empty = 0;
      if (!error && g_atomic_int_get (&self->is_unlocked))
        return GST_FLOW_FLUSHING;
      if (handle_end (self, error))
        continue;
      return self->capture ? GST_FLOW_EOS : GST_FLOW_ERROR;
    }
    if (!capture_filter_passes (&self->filter, &datagram)) {
      n_filtered++;
      note_other_port (self, datagram.destination_port);
      continue;
    }
    /* A datagram without a payload is no packet of any sensor. */
    if (datagram.size == 0) {
      n_empty++;
      continue;
    }
    const GstClockTime pts = take_time (self, time);
    if (pts < self->skip_to)
      continue;
    *buffer = gst_buffer_new_memdup (datagram.data, datagram.size);
    GST_BUFFER_PTS (*buffer) = pts;
    add_meta (self, *buffer, &datagram, time);
    if (self->is_discont)
      GST_BUFFER_FLAG_SET (*buffer, GST_BUFFER_FLAG_DISCONT);
    self->is_discont = FALSE;
    publish_counts (self, 1, n_filtered, n_empty);
    return GST_FLOW_OK;
  }
}

/* Waits until it is time for @buffer. GstBaseSrc could, but adds what a pipeline took to start to
 * all stamps. */
static gboolean
wait_for_time (GstLidarPcapSrc *self, GstBuffer *buffer)
{
  GstBaseSrc *base = GST_BASE_SRC (self);
  const GstClockTime running =
      gst_segment_to_running_time (&base->segment, GST_FORMAT_TIME, GST_BUFFER_PTS (buffer));
  g_autoptr (GstClock) clock = gst_element_get_clock (GST_ELEMENT (self));
  const GstClockTime base_time = gst_element_get_base_time (GST_ELEMENT (self));
  GstClockReturn result = GST_CLOCK_UNSCHEDULED;
  GstClockID id;
  if (!clock || !GST_CLOCK_TIME_IS_VALID (running))
    return TRUE;
  id = gst_clock_new_single_shot_id (clock, base_time + running);
  GST_OBJECT_LOCK (self);
  const gboolean waits = !g_atomic_int_get (&self->is_unlocked);
  if (waits)
    self->wait = id;
  GST_OBJECT_UNLOCK (self);
  if (waits)
    result = gst_clock_id_wait (id, NULL);
  GST_OBJECT_LOCK (self);
  self->wait = NULL;
  GST_OBJECT_UNLOCK (self);
  gst_clock_id_unref (id);
  return result != GST_CLOCK_UNSCHEDULED;
}

static gboolean
gst_lidar_pcap_src_unlock (GstBaseSrc *base)
{
  GstLidarPcapSrc *self = GST_LIDAR_PCAP_SRC (base);
  GST_OBJECT_LOCK (self);
  g_atomic_int_set (&self->is_unlocked, TRUE);
  if (self->wait)
    gst_clock_id_unschedule (self->wait);
  GST_OBJECT_UNLOCK (self);
  return TRUE;
}

static gboolean
gst_lidar_pcap_src_unlock_stop (GstBaseSrc *base)
{
  GstLidarPcapSrc *self = GST_LIDAR_PCAP_SRC (base);
  GST_OBJECT_LOCK (self);
  g_atomic_int_set (&self->is_unlocked, FALSE);
  GST_OBJECT_UNLOCK (self);
  return TRUE;
}

static GstFlowReturn
gst_lidar_pcap_src_create (GstPushSrc *push, GstBuffer **buffer)
{
  GstLidarPcapSrc *self = GST_LIDAR_PCAP_SRC (push);
  GstBuffer *next = g_steal_pointer (&self->waiting);
  if (!next) {
    const GstFlowReturn flow = read_buffer (self, &next);
    if (flow != GST_FLOW_OK)
      return flow;
  }
  if (gst_base_src_is_live (GST_BASE_SRC (self)) && !wait_for_time (self, next)) {
    self->waiting = next;
    return GST_FLOW_FLUSHING;
  }
  *buffer = next;
  return GST_FLOW_OK;
}

static gboolean
gst_lidar_pcap_src_is_seekable (GstBaseSrc *base)
{
  return TRUE;
}

/* A capture cannot be played backwards. GstBaseSrc asks gst_lidar_pcap_src_do_seek() only after it
 * has flushed, and goes on without a segment where that refuses. */
static gboolean
gst_lidar_pcap_src_event (GstBaseSrc *base, GstEvent *event)
{
  gdouble rate = 1;
  if (GST_EVENT_TYPE (event) == GST_EVENT_SEEK)
    gst_event_parse_seek (event, &rate, NULL, NULL, NULL, NULL, NULL, NULL);
  return rate > 0 && GST_BASE_SRC_CLASS (parent_class)->event (base, event);
}

/* The file is read from its beginning: fragments and the first stamp are needed. */
static gboolean
gst_lidar_pcap_src_do_seek (GstBaseSrc *base, GstSegment *segment)
{
  GstLidarPcapSrc *self = GST_LIDAR_PCAP_SRC (base);
  /* The first segment comes when nothing was read yet. */
  if (self->first_time >= 0) {
    /* It is not open where the last seek could not read it again. */
    if (self->capture)
      self->ended = add_counts (self->ended, capture_file_get_counts (self->capture));
    if (!open_capture (self))
      return FALSE;
  }
  self->round_pts = self->last_pts = self->interval = 0;
  gst_clear_buffer (&self->waiting);
  GST_DEBUG_OBJECT (self, "from %" GST_TIME_FORMAT " on", GST_TIME_ARGS (segment->start));
  self->skip_to = segment->start;
  self->is_discont = TRUE;
  segment->position = segment->time = segment->start;
  return TRUE;
}

/* Reads the whole file for the time from the first datagram to the last: in a thread of its own. */
static gpointer
look_for_duration (gpointer data)
{
  GstLidarPcapSrc *self = data;
  CaptureDatagram datagram;
  gint64 time, first = -1, last = -1;
  g_autoptr (CaptureFile) capture = capture_file_open (self->path, NULL);
  if (!capture)
    return NULL;
  capture_file_set_cancellation (capture, &self->is_stopping);
  while (capture_file_next (capture, &datagram, &time, NULL)) {
    if (!capture_filter_passes (&self->filter, &datagram))
      continue;
    if (first < 0)
      first = MAX (time, 0);
    last = MAX (last, time);
  }
  if (g_atomic_int_get (&self->is_stopping))
    return NULL;
  GST_OBJECT_LOCK (self);
  self->duration = first >= 0 && last > first ? (GstClockTime)(last - first) : 0;
  GST_OBJECT_UNLOCK (self);
  gst_element_post_message (
      GST_ELEMENT (self), gst_message_new_duration_changed (GST_OBJECT (self)));
  return NULL;
}

/* NONE where it is not known, or not yet: the first question has the file read, as it takes seconds
 * that only those who ask should pay for. */
static GstClockTime
get_duration (GstLidarPcapSrc *self)
{
  GstClockTime duration = GST_CLOCK_TIME_NONE;
  GST_OBJECT_LOCK (self);
  if (self->is_started && !self->loop) {
    duration = self->duration;
    if (!self->look)
      self->look = g_thread_try_new ("lidarpcapsrc", look_for_duration, self, NULL);
  }
  GST_OBJECT_UNLOCK (self);
  return duration;
}

static gboolean
gst_lidar_pcap_src_query (GstBaseSrc *base, GstQuery *query)
{
  GstLidarPcapSrc *self = GST_LIDAR_PCAP_SRC (base);
  GstFormat format;
  switch (GST_QUERY_TYPE (query)) {
  case GST_QUERY_DURATION:
    gst_query_parse_duration (query, &format, NULL);
    if (format != GST_FORMAT_TIME)
      return FALSE;
    const GstClockTime duration = get_duration (self);
    gst_query_set_duration (query, GST_FORMAT_TIME, (gint64)duration);
    return GST_CLOCK_TIME_IS_VALID (duration);
  case GST_QUERY_LATENCY:
    /* A file can wait: there is no maximum. */
    gst_query_set_latency (query, gst_base_src_is_live (base), 0, GST_CLOCK_TIME_NONE);
    return TRUE;
  default:
    return GST_BASE_SRC_CLASS (parent_class)->query (base, query);
  }
}

static void
gst_lidar_pcap_src_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstLidarPcapSrc *self = GST_LIDAR_PCAP_SRC (object);
  if (id == PROP_IS_LIVE) {
    gst_base_src_set_live (GST_BASE_SRC (self), g_value_get_boolean (value));
    return;
  }
  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_LOCATION:
    g_free (self->location);
    self->location = g_value_dup_string (value);
    break;
  case PROP_DST_PORT:
    self->dst_port = g_value_get_uint (value);
    break;
  case PROP_SRC_IP:
    g_free (self->src_ip);
    self->src_ip = g_value_dup_string (value);
    break;
  case PROP_LOOP:
    self->loop = g_value_get_boolean (value);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static GstStructure *
make_stats (GstLidarPcapSrc *self)
{
  return gst_structure_new ("application/x-lidarpcapsrc-stats", "datagrams", G_TYPE_UINT64,
      self->n_datagrams, "filtered", G_TYPE_UINT64, self->n_filtered, "empty", G_TYPE_UINT64,
      self->n_empty, "other", G_TYPE_UINT64, self->counts.n_other, "bad", G_TYPE_UINT64,
      self->counts.n_bad, "incomplete", G_TYPE_UINT64, self->counts.n_incomplete, NULL);
}

static void
gst_lidar_pcap_src_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstLidarPcapSrc *self = GST_LIDAR_PCAP_SRC (object);
  if (id == PROP_IS_LIVE) {
    g_value_set_boolean (value, gst_base_src_is_live (GST_BASE_SRC (self)));
    return;
  }
  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_LOCATION:
    g_value_set_string (value, self->location);
    break;
  case PROP_DST_PORT:
    g_value_set_uint (value, self->dst_port);
    break;
  case PROP_SRC_IP:
    g_value_set_string (value, self->src_ip);
    break;
  case PROP_LOOP:
    g_value_set_boolean (value, self->loop);
    break;
  case PROP_STATS:
    g_value_take_boxed (value, make_stats (self));
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_lidar_pcap_src_finalize (GObject *object)
{
  GstLidarPcapSrc *self = GST_LIDAR_PCAP_SRC (object);
  g_free (self->location);
  g_free (self->src_ip);
  for (guint i = 0; i < N_SENDERS; i++)
    g_clear_object (&self->senders[i].object);
  g_array_unref (self->other_ports);
  G_OBJECT_CLASS (parent_class)->finalize (object);
}

static void
gst_lidar_pcap_src_init (GstLidarPcapSrc *self)
{
  self->duration = GST_CLOCK_TIME_NONE;
  self->other_ports = g_array_new (FALSE, FALSE, sizeof (guint16));
  gst_base_src_set_format (GST_BASE_SRC (self), GST_FORMAT_TIME);
}

static const GstRenamedProperty renamed[] = {
    {"port", G_TYPE_UINT, "is called “dst-port” since 0.2"},
    {"address", G_TYPE_STRING, "is called “src-ip” since 0.2"},
};

static void
install_properties (GObjectClass *object_class)
{
  const GParamFlags ready = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY;

  g_object_class_install_property (object_class, PROP_LOCATION,
      g_param_spec_string (
          "location", "Location", "The capture, a pcap or pcapng file", NULL, ready));
  g_object_class_install_property (object_class, PROP_DST_PORT,
      g_param_spec_uint ("dst-port", "Destination Port",
          "UDP port that datagrams were sent to, as of udpsrc; 0: any", 0, G_MAXUINT16, 0, ready));
  g_object_class_install_property (object_class, PROP_SRC_IP,
      g_param_spec_string ("src-ip", "Source IP",
          "IPv4 or IPv6 address that datagrams came from, the sensor's; NULL: any", NULL, ready));
  g_object_class_install_property (object_class, PROP_IS_LIVE,
      g_param_spec_boolean ("is-live", "Is Live",
          "Push each datagram when it was captured, by the pipeline's clock, not as fast as can be",
          FALSE, ready));
  /**
   * GstLidarPcapSrc:loop:
   *
   * Begin anew at the end; stamps go on.
   */
  g_object_class_install_property (object_class, PROP_LOOP,
      g_param_spec_boolean ("loop", "Loop", "Begin anew at the end; time stamps go on", FALSE,
          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING));
  /**
   * GstLidarPcapSrc:stats:
   *
   * Since the start, all guint64: `datagrams` pushed, those `filtered` out by dst-port and
   * src-ip, those that are `empty` and left out, `other` frames that are no UDP, `bad` ones that
   * are cut off or contradict themselves, and datagrams that were `incomplete` because fragments
   * are missing.
   */
  g_object_class_install_property (object_class, PROP_STATS,
      g_param_spec_boxed ("stats", "Statistics", "Numbers of datagrams and frames since the start",
          GST_TYPE_STRUCTURE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
}

static void
gst_lidar_pcap_src_class_init (GstLidarPcapSrcClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseSrcClass *base_class = GST_BASE_SRC_CLASS (klass);

  GST_DEBUG_CATEGORY_INIT (lidar_pcap_src_debug, "lidarpcapsrc", 0, "captures of lidars");
  object_class->set_property = gst_lidar_pcap_src_set_property;
  object_class->get_property = gst_lidar_pcap_src_get_property;
  object_class->finalize = gst_lidar_pcap_src_finalize;
  install_properties (object_class);

  gst_element_class_set_static_metadata (element_class, "Lidar capture source",
      "Source/File/PointCloud", "UDP payloads of a capture (pcap, pcapng), as udpsrc has them",
      "The gst-ndt developers");
  gst_element_class_add_static_pad_template (element_class, &src_template);

  base_class->start = gst_lidar_pcap_src_start;
  base_class->stop = gst_lidar_pcap_src_stop;
  base_class->is_seekable = gst_lidar_pcap_src_is_seekable;
  base_class->event = gst_lidar_pcap_src_event;
  base_class->do_seek = gst_lidar_pcap_src_do_seek;
  base_class->unlock = gst_lidar_pcap_src_unlock;
  base_class->unlock_stop = gst_lidar_pcap_src_unlock_stop;
  base_class->query = gst_lidar_pcap_src_query;
  GST_PUSH_SRC_CLASS (klass)->create = gst_lidar_pcap_src_create;
  gst_renamed_properties_install (object_class, PROP_RENAMED, renamed, G_N_ELEMENTS (renamed));
}
