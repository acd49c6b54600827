/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "gstlidardec.h"

#include <math.h>
#include <string.h>

#include "gst/common/gstsinkevents.h"
#include "packet-memory.h"

/* Of the derived class. */
#define GST_CAT_DEFAULT (GST_LIDAR_DEC_GET_CLASS (self)->category)

/* A warning of a kind is posted once in that time. */
#define WARNING_INTERVAL (5 * G_USEC_PER_SEC)

/* Until a round is known: most sensors turn ten times a second. */
#define DEFAULT_PERIOD (100 * GST_MSECOND)

/* Packets that wait for the lasers' angles: three seconds of the fastest sensor. */
#define MAX_WAITING 16384

/* Packets that wait for so long are warned of: the HDL-64E S2 in the tests takes 2.4 s. */
#define WAITING_TIME (3 * GST_SECOND)

#define DEFAULT_FRAME_ID "lidar"

/* What lidarpcapsrc sends, and bytes of no type; streams without caps, as of udpsrc, do as well. */
#define PACKET_CAPS "application/x-udp-payload; application/octet-stream"

enum { PROP_0, PROP_CUT_ANGLE, PROP_FRAME_ID, PROP_STATS };

typedef enum {
  WARNING_SIZE = PACKET_ERROR_SIZE,
  WARNING_FOREIGN = PACKET_ERROR_FOREIGN,
  WARNING_MODEL = PACKET_ERROR_MODEL,
  WARNING_CORRUPT = PACKET_ERROR_CORRUPT,
  WARNING_UNCALIBRATED,
  WARNING_WAITING,
  WARNING_ORDER,
  WARNING_RESTART,
  WARNING_STALLED,
  N_WARNINGS,
} Warning;

typedef struct {
  guint64 n_packets;
  guint64 n_other;
  guint64 n_uncalibrated;
  guint64 n_bad[N_WARNINGS];
  guint64 n_scans;
  PacketCutterCounts cutter;
} Counts;

typedef struct {
  GstPad *sinkpad;
  GstPad *srcpad;

  /* under the object lock */
  gdouble cut_angle;
  gchar *frame_id;
  Counts published;
  GstClockTime period; /* that LATENCY says */

  /* streaming thread */
  GstPointCloudInfo info;
  GstPointCloudTimer *timer;
  GstPointCloudAllocation *allocation;
  PacketCutter *cutter; /* NULL: not open */
  GstCaps *clock;
  gboolean is_calibrated; /* there were points */
  GQueue waiting;         /* of GstBuffer, until it is */
  Counts counts;
  gboolean has_caps;
  gboolean has_segment;
  GstSegment segment; /* as it came */
  gboolean is_discont;
  gint64 last_warning[N_WARNINGS]; /* monotonic, 0: none yet */
} GstLidarDecPrivate;

static GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS (PACKET_CAPS));

static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC,
    GST_PAD_ALWAYS, GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_MAKE (GST_POINT_CLOUD_FORMATS_ALL)));

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (GstLidarDec, gst_lidar_dec, GST_TYPE_ELEMENT)
#define PRIVATE(self) ((GstLidarDecPrivate *)gst_lidar_dec_get_instance_private (self))
#define parent_class gst_lidar_dec_parent_class

/* Posts @text, with how often it happened so far, unless one of its kind was posted just now. */
static void G_GNUC_PRINTF (4, 5)
    warn (GstLidarDec *self, Warning kind, guint64 n, const gchar *format, ...)
{
  GstLidarDecPrivate *priv = PRIVATE (self);
  const gint64 now = g_get_monotonic_time ();
  if (priv->last_warning[kind] > 0 && now - priv->last_warning[kind] < WARNING_INTERVAL)
    return;
  priv->last_warning[kind] = now;
  va_list arguments;
  va_start (arguments, format);
  g_autofree gchar *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  GST_ELEMENT_WARNING (
      self, STREAM, DECODE, ("%s (%" G_GUINT64_FORMAT " so far)", text, n), (NULL));
}

gchar *
gst_lidar_dec_read_file (GstLidarDec *self, const gchar *what, const gchar *path)
{
  g_autoptr (GError) error = NULL;
  gchar *text = NULL;
  if (!g_file_get_contents (path, &text, NULL, &error))
    GST_ELEMENT_ERROR (self, RESOURCE, OPEN_READ,
        ("The %s \"%s\" cannot be read: %s.", what, path, error->message), (NULL));
  return text;
}

static gboolean
open_decoder (GstLidarDec *self)
{
  GstLidarDecPrivate *priv = PRIVATE (self);
  GstPointCloudInfo *info = &priv->info;
  const guint time_offset = G_STRUCT_OFFSET (PacketPoint, time);
  gdouble cut_angle;

  gst_point_cloud_info_init (info);
  info->format = GST_POINT_CLOUD_FORMAT_CUSTOM;
  gst_point_cloud_info_add_field (info, "x", GST_POINT_FIELD_TYPE_FLOAT32, 0, 1);
  gst_point_cloud_info_add_field (info, "y", GST_POINT_FIELD_TYPE_FLOAT32, 4, 1);
  gst_point_cloud_info_add_field (info, "z", GST_POINT_FIELD_TYPE_FLOAT32, 8, 1);
  gst_point_cloud_info_add_field (info, "intensity", GST_POINT_FIELD_TYPE_FLOAT32, 12, 1);
  gst_point_cloud_info_add_field (info, "ring", GST_POINT_FIELD_TYPE_UINT16, 16, 1);
  gst_point_cloud_info_add_field (info, "return", GST_POINT_FIELD_TYPE_UINT8, 18, 1);
  gst_point_cloud_info_add_field (info, "time", GST_POINT_FIELD_TYPE_FLOAT32, time_offset, 1);
  info->point_step = sizeof (PacketPoint);
  GST_OBJECT_LOCK (self);
  if (priv->frame_id && *priv->frame_id)
    info->frame_id = g_quark_from_string (priv->frame_id);
  cut_angle = priv->cut_angle;
  priv->published = (Counts){0};
  priv->period = DEFAULT_PERIOD;
  GST_OBJECT_UNLOCK (self);

  if (!GST_LIDAR_DEC_GET_CLASS (self)->open (self, info))
    return FALSE;
  priv->clock = GST_LIDAR_DEC_GET_CLASS (self)->clock (self);
  priv->cutter = packet_cutter_new (cut_angle);
  priv->counts = (Counts){0};
  priv->has_caps = priv->has_segment = priv->is_calibrated = FALSE;
  priv->is_discont = TRUE;
  memset (priv->last_warning, 0, sizeof priv->last_warning);
  gst_point_cloud_timer_reset (priv->timer);
  return TRUE;
}

static void
close_decoder (GstLidarDec *self)
{
  GstLidarDecPrivate *priv = PRIVATE (self);
  if (!priv->cutter)
    return;
  GST_LIDAR_DEC_GET_CLASS (self)->close (self);
  gst_point_cloud_allocation_reset (priv->allocation);
  g_queue_clear_full (&priv->waiting, (GDestroyNotify)gst_buffer_unref);
  g_clear_pointer (&priv->cutter, packet_cutter_free);
  gst_clear_caps (&priv->clock);
}

static gboolean
push_caps (GstLidarDec *self)
{
  GstLidarDecPrivate *priv = PRIVATE (self);
  if (priv->has_caps)
    return TRUE;
  g_autoptr (GstCaps) caps = gst_point_cloud_info_to_caps (&priv->info);
  priv->has_caps = gst_pad_push_event (priv->srcpad, gst_event_new_caps (caps));
  return priv->has_caps;
}

/* LATENCY is a round; a sensor's rate is steady to a few per mille. */
static void
update_period (GstLidarDec *self)
{
  GstLidarDecPrivate *priv = PRIVATE (self);
  const GstClockTime period = (GstClockTime)packet_cutter_get_period (priv->cutter);
  gboolean changed;
  GST_OBJECT_LOCK (self);
  changed = period > 0 && (period > priv->period + priv->period / 50 ||
                              period < priv->period - priv->period / 50);
  if (changed)
    priv->period = period;
  GST_OBJECT_UNLOCK (self);
  if (changed)
    gst_element_post_message (GST_ELEMENT (self), gst_message_new_latency (GST_OBJECT (self)));
}

/* Takes @scan over. */
static GstFlowReturn
push_scan (GstLidarDec *self, PacketScan *scan)
{
  GstLidarDecPrivate *priv = PRIVATE (self);
  if (!push_caps (self)) {
    packet_scan_free (scan);
    return GST_PAD_IS_FLUSHING (priv->srcpad) ? GST_FLOW_FLUSHING : GST_FLOW_NOT_NEGOTIATED;
  }
  const gsize size = scan->n_points * sizeof (PacketPoint);
  GstBuffer *buffer = gst_point_cloud_allocation_copy (priv->allocation, scan->points, size);
  if (!buffer) {
    PacketPoint *points = g_steal_pointer (&scan->points);
    buffer =
        gst_buffer_new_wrapped_full (0, points, size, 0, size, points, packet_memory_give_back);
  }
  GST_BUFFER_PTS (buffer) = (GstClockTime)scan->pts;
  GST_BUFFER_DURATION (buffer) = (GstClockTime)scan->duration;
  if (!scan->is_organized)
    GST_BUFFER_FLAG_SET (buffer, GST_POINT_CLOUD_BUFFER_FLAG_ALL_FINITE);
  if (priv->is_discont)
    GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_DISCONT);
  priv->is_discont = FALSE;
  if (scan->time >= 0)
    gst_buffer_add_reference_timestamp_meta (
        buffer, priv->clock, (GstClockTime)scan->time, GST_BUFFER_DURATION (buffer));
  packet_scan_free (scan);
  priv->counts.n_scans++;
  return gst_pad_push (priv->srcpad, buffer);
}

static GstFlowReturn
push_scans (GstLidarDec *self)
{
  GstLidarDecPrivate *priv = PRIVATE (self);
  GstFlowReturn flow = GST_FLOW_OK;
  PacketScan *scan;
  while (flow == GST_FLOW_OK && (scan = packet_cutter_pop (priv->cutter))) {
    update_period (self);
    flow = push_scan (self, scan);
  }
  return flow;
}

static void
publish (GstLidarDec *self)
{
  GstLidarDecPrivate *priv = PRIVATE (self);
  const PacketCutterCounts before = priv->counts.cutter;
  const PacketCutterCounts now = packet_cutter_get_counts (priv->cutter);
  priv->counts.cutter = now;
  GST_OBJECT_LOCK (self);
  priv->published = priv->counts;
  GST_OBJECT_UNLOCK (self);
  if (now.n_late > before.n_late)
    warn (self, WARNING_ORDER, now.n_late,
        "A packet came when its scan was pushed already; its points are left out.");
  if (now.n_restarts > before.n_restarts)
    warn (self, WARNING_RESTART, now.n_restarts,
        "The sensor's clock jumped back: it was restarted or synchronized.");
  if (now.n_stalled > before.n_stalled)
    warn (self, WARNING_STALLED, now.n_stalled,
        "The azimuth stands still; points that make no scan are left out.");
}

/* FALSE: the stream cannot go on. */
static gboolean
handle_bad_packet (GstLidarDec *self, const GError *error)
{
  static const gchar *const kinds[] = {[PACKET_ERROR_SIZE] = "A packet has another size",
      [PACKET_ERROR_FOREIGN] = "A packet is not of this kind of sensor",
      [PACKET_ERROR_MODEL] = "A packet is of another model",
      [PACKET_ERROR_CORRUPT] = "A packet is corrupted"};
  GstLidarDecPrivate *priv = PRIVATE (self);
  if (error->domain != PACKET_ERROR) {
    GST_ELEMENT_ERROR (self, STREAM, DECODE, ("Cannot decode: %s.", error->message), (NULL));
    return FALSE;
  }
  const guint64 n = ++priv->counts.n_bad[error->code];
  warn (
      self, (Warning)error->code, n, "%s and is left out: %s.", kinds[error->code], error->message);
  return TRUE;
}

/* Takes @buffer over. */
static GstFlowReturn
decode_packet (GstLidarDec *self, GstBuffer *buffer)
{
  GstLidarDecPrivate *priv = PRIVATE (self);
  const GstClockTime pts = GST_BUFFER_PTS (buffer);
  g_autoptr (GError) error = NULL;
  gboolean is_data = TRUE;
  GstMapInfo map;

  if (!gst_buffer_map (buffer, &map, GST_MAP_READ)) {
    GST_ELEMENT_ERROR (self, RESOURCE, READ, ("A packet cannot be mapped."), (NULL));
    gst_buffer_unref (buffer);
    return GST_FLOW_ERROR;
  }
  if (GST_BUFFER_IS_DISCONT (buffer))
    packet_cutter_set_discont (priv->cutter);
  packet_cutter_set_arrival (priv->cutter, GST_CLOCK_TIME_IS_VALID (pts) ? (gint64)pts : -1);
  const gboolean decoded = GST_LIDAR_DEC_GET_CLASS (self)->decode (
      self, map.data, map.size, priv->cutter, &is_data, &error);
  gst_buffer_unmap (buffer, &map);
  gst_buffer_unref (buffer);
  if (!decoded && !handle_bad_packet (self, error))
    return GST_FLOW_ERROR;
  if (decoded && !is_data)
    priv->counts.n_other++;
  else if (decoded)
    priv->is_calibrated = TRUE;
  return push_scans (self);
}

static GstFlowReturn
decode_waiting (GstLidarDec *self)
{
  GstLidarDecPrivate *priv = PRIVATE (self);
  GstFlowReturn flow = GST_FLOW_OK;
  GstBuffer *buffer;
  while (flow == GST_FLOW_OK && (buffer = g_queue_pop_head (&priv->waiting)))
    flow = decode_packet (self, buffer);
  return flow;
}

/* Packets that will not be decoded for want of angles. */
static void
count_uncalibrated (GstLidarDec *self, guint n)
{
  GstLidarDecPrivate *priv = PRIVATE (self);
  priv->counts.n_uncalibrated += n;
  if (n > 0)
    warn (self, WARNING_UNCALIBRATED, priv->counts.n_uncalibrated,
        "The sensor has not sent its lasers' angles, packets are left out: set the calibration, or "
        "let its packets of the other kind arrive here as well.");
}

/* Whoever waits for scans is told why there are none before packets are lost. */
static void
check_waiting (GstLidarDec *self)
{
  GstLidarDecPrivate *priv = PRIVATE (self);
  const GstClockTime first = GST_BUFFER_PTS ((GstBuffer *)g_queue_peek_head (&priv->waiting));
  const GstClockTime last = GST_BUFFER_PTS ((GstBuffer *)g_queue_peek_tail (&priv->waiting));
  if (GST_CLOCK_TIME_IS_VALID (first) && GST_CLOCK_TIME_IS_VALID (last) &&
      last >= first + WAITING_TIME)
    warn (self, WARNING_WAITING, g_queue_get_length (&priv->waiting),
        "There are no scans yet, packets wait: the sensor has not sent its lasers' angles. Set the "
        "calibration, or let its packets of the other kind arrive here as well.");
}

/* Looks for the lasers' angles in @buffer, which is taken over, and keeps it. */
static GstFlowReturn
wait_for_calibration (GstLidarDec *self, GstBuffer *buffer)
{
  GstLidarDecPrivate *priv = PRIVATE (self);
  GstLidarDecClass *klass = GST_LIDAR_DEC_GET_CLASS (self);
  g_autoptr (GError) error = NULL;
  GstMapInfo map;
  gboolean is_known = TRUE;
  if (klass->calibrate && gst_buffer_map (buffer, &map, GST_MAP_READ)) {
    is_known = klass->calibrate (self, map.data, map.size, &error);
    gst_buffer_unmap (buffer, &map);
  }
  if (error) {
    gst_buffer_unref (buffer);
    return handle_bad_packet (self, error) ? GST_FLOW_OK : GST_FLOW_ERROR;
  }
  g_queue_push_tail (&priv->waiting, buffer);
  if (is_known)
    return decode_waiting (self);
  check_waiting (self);
  if (g_queue_get_length (&priv->waiting) > MAX_WAITING) {
    gst_buffer_unref (g_queue_pop_head (&priv->waiting));
    count_uncalibrated (self, 1);
  }
  return GST_FLOW_OK;
}

static GstFlowReturn
gst_lidar_dec_chain (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  GstLidarDec *self = GST_LIDAR_DEC (parent);
  GstLidarDecPrivate *priv = PRIVATE (self);
  GstFlowReturn flow;
  priv->counts.n_packets++;
  flow = priv->is_calibrated ? decode_packet (self, buffer) : wait_for_calibration (self, buffer);
  publish (self);
  return flow;
}

/* Ends the scan in the making and pushes it. */
static void
drain (GstLidarDec *self)
{
  GstLidarDecPrivate *priv = PRIVATE (self);
  count_uncalibrated (self, g_queue_get_length (&priv->waiting));
  g_queue_clear_full (&priv->waiting, (GDestroyNotify)gst_buffer_unref);
  packet_cutter_flush (priv->cutter);
  if (GST_LIDAR_DEC_GET_CLASS (self)->flush)
    GST_LIDAR_DEC_GET_CLASS (self)->flush (self, priv->cutter);
  push_scans (self);
  publish (self);
}

/* What comes next need not follow what came. */
static void
reset (GstLidarDec *self)
{
  if (GST_LIDAR_DEC_GET_CLASS (self)->reset)
    GST_LIDAR_DEC_GET_CLASS (self)->reset (self);
}

static gboolean
gst_lidar_dec_sink_event (GstPad *pad, GstObject *parent, GstEvent *event)
{
  GstLidarDec *self = GST_LIDAR_DEC (parent);
  GstLidarDecPrivate *priv = PRIVATE (self);
  const GstSegment *segment;

  switch (GST_EVENT_TYPE (event)) {
  case GST_EVENT_CAPS:
    gst_event_unref (event);
    return TRUE;
  case GST_EVENT_FLUSH_STOP:
    gst_point_cloud_allocation_reset (priv->allocation);
    packet_cutter_reset (priv->cutter);
    g_queue_clear_full (&priv->waiting, (GDestroyNotify)gst_buffer_unref);
    reset (self);
    priv->is_discont = TRUE;
    priv->has_segment = FALSE;
    return gst_pad_event_default (pad, parent, event);
  case GST_EVENT_SEGMENT:
    gst_event_parse_segment (event, &segment);
    /* A funnel of a sensor's ports repeats it whenever packets come from another one. */
    if (priv->has_segment && gst_segment_is_equal (segment, &priv->segment)) {
      gst_event_unref (event);
      return TRUE;
    }
    /* What came is of the segment before. */
    if (priv->has_segment) {
      drain (self);
      reset (self);
      packet_cutter_set_discont (priv->cutter);
    }
    push_caps (self);
    gst_segment_copy_into (segment, &priv->segment);
    priv->has_segment = TRUE;
    return gst_pad_push_event (priv->srcpad, gst_point_cloud_timer_segment (priv->timer, event));
  case GST_EVENT_EOS:
    drain (self);
    return gst_pad_event_default (pad, parent, event);
  default:
    /* Caps come after the start of the stream and before all else. */
    if (GST_EVENT_IS_SERIALIZED (event) && GST_EVENT_TYPE (event) > GST_EVENT_CAPS)
      push_caps (self);
    return gst_pad_event_default (pad, parent, event);
  }
}

static gboolean
gst_lidar_dec_sink_query (GstPad *pad, GstObject *parent, GstQuery *query)
{
  /* What downstream offers is for clouds, not for packets. */
  if (GST_QUERY_TYPE (query) == GST_QUERY_ALLOCATION)
    return FALSE;
  return gst_pad_query_default (pad, parent, query);
}

/* The first firing of a scan leaves when its last has come. */
static gboolean
gst_lidar_dec_src_query (GstPad *pad, GstObject *parent, GstQuery *query)
{
  GstLidarDec *self = GST_LIDAR_DEC (parent);
  GstLidarDecPrivate *priv = PRIVATE (self);
  GstClockTime min, max, period;
  gboolean live;

  if (GST_QUERY_TYPE (query) != GST_QUERY_LATENCY)
    return gst_pad_query_default (pad, parent, query);
  if (!gst_pad_peer_query (priv->sinkpad, query))
    return FALSE;
  GST_OBJECT_LOCK (self);
  period = priv->period;
  GST_OBJECT_UNLOCK (self);
  gst_query_parse_latency (query, &live, &min, &max);
  min += period;
  if (GST_CLOCK_TIME_IS_VALID (max))
    max += period;
  gst_query_set_latency (query, live, min, max);
  return TRUE;
}

static GstStateChangeReturn
gst_lidar_dec_change_state (GstElement *element, GstStateChange transition)
{
  GstLidarDec *self = GST_LIDAR_DEC (element);
  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED && !open_decoder (self))
    return GST_STATE_CHANGE_FAILURE;
  const GstStateChangeReturn result =
      GST_ELEMENT_CLASS (parent_class)->change_state (element, transition);
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY ||
      (transition == GST_STATE_CHANGE_READY_TO_PAUSED && result == GST_STATE_CHANGE_FAILURE))
    close_decoder (self);
  return result;
}

static void
gst_lidar_dec_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstLidarDec *self = GST_LIDAR_DEC (object);
  GstLidarDecPrivate *priv = PRIVATE (self);
  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_CUT_ANGLE:
    priv->cut_angle = g_value_get_double (value);
    break;
  case PROP_FRAME_ID:
    g_free (priv->frame_id);
    priv->frame_id = g_value_dup_string (value);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static GstStructure *
make_stats (GstLidarDec *self, const Counts *counts)
{
  g_autofree gchar *name =
      g_strdup_printf ("application/x-%s-stats", gst_debug_category_get_name (GST_CAT_DEFAULT));
  return gst_structure_new (name, "packets", G_TYPE_UINT64, counts->n_packets, "other",
      G_TYPE_UINT64, counts->n_other, "bad-size", G_TYPE_UINT64, counts->n_bad[WARNING_SIZE],
      "foreign", G_TYPE_UINT64, counts->n_bad[WARNING_FOREIGN], "wrong-model", G_TYPE_UINT64,
      counts->n_bad[WARNING_MODEL], "corrupt", G_TYPE_UINT64, counts->n_bad[WARNING_CORRUPT],
      "uncalibrated", G_TYPE_UINT64, counts->n_uncalibrated, "late", G_TYPE_UINT64,
      counts->cutter.n_late, "duplicates", G_TYPE_UINT64, counts->cutter.n_duplicates, "restarts",
      G_TYPE_UINT64, counts->cutter.n_restarts, "gaps", G_TYPE_UINT64, counts->cutter.n_gaps,
      "stalled", G_TYPE_UINT64, counts->cutter.n_stalled, "scans", G_TYPE_UINT64, counts->n_scans,
      NULL);
}

static void
gst_lidar_dec_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstLidarDec *self = GST_LIDAR_DEC (object);
  GstLidarDecPrivate *priv = PRIVATE (self);
  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_CUT_ANGLE:
    g_value_set_double (value, priv->cut_angle);
    break;
  case PROP_FRAME_ID:
    g_value_set_string (value, priv->frame_id);
    break;
  case PROP_STATS:
    g_value_take_boxed (value, make_stats (self, &priv->published));
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_lidar_dec_finalize (GObject *object)
{
  GstLidarDecPrivate *priv = PRIVATE (GST_LIDAR_DEC (object));
  g_free (priv->frame_id);
  gst_point_cloud_allocation_free (priv->allocation);
  gst_point_cloud_timer_free (priv->timer);
  G_OBJECT_CLASS (parent_class)->finalize (object);
}

static void
gst_lidar_dec_init (GstLidarDec *self)
{
  GstLidarDecPrivate *priv = PRIVATE (self);
  priv->sinkpad = gst_pad_new_from_static_template (&sink_template, "sink");
  gst_pad_set_chain_function (priv->sinkpad, gst_lidar_dec_chain);
  gst_pad_set_event_function (priv->sinkpad, gst_lidar_dec_sink_event);
  gst_sink_events_tell_flushing (priv->sinkpad);
  gst_pad_set_query_function (priv->sinkpad, gst_lidar_dec_sink_query);
  gst_element_add_pad (GST_ELEMENT (self), priv->sinkpad);
  priv->srcpad = gst_pad_new_from_static_template (&src_template, "src");
  gst_pad_set_query_function (priv->srcpad, gst_lidar_dec_src_query);
  gst_pad_use_fixed_caps (priv->srcpad);
  gst_element_add_pad (GST_ELEMENT (self), priv->srcpad);
  priv->frame_id = g_strdup (DEFAULT_FRAME_ID);
  priv->timer = gst_point_cloud_timer_new (GST_ELEMENT (self));
  priv->allocation = gst_point_cloud_allocation_new (priv->srcpad);
  priv->period = DEFAULT_PERIOD;
}

static void
gst_lidar_dec_class_init (GstLidarDecClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);

  object_class->set_property = gst_lidar_dec_set_property;
  object_class->get_property = gst_lidar_dec_get_property;
  object_class->finalize = gst_lidar_dec_finalize;
  element_class->change_state = gst_lidar_dec_change_state;

  /**
   * GstLidarDec:cut-angle:
   *
   * Azimuth in degrees, as the sensor counts it, at which a scan ends and the next begins. Sensors
   * that number their scans themselves, Ouster's, cut where they do.
   */
  g_object_class_install_property (object_class, PROP_CUT_ANGLE,
      g_param_spec_double ("cut-angle", "Cut Angle",
          "Azimuth at which scans are cut, degrees as the sensor counts them (0 to 360)", 0, 360, 0,
          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY));
  g_object_class_install_property (object_class, PROP_FRAME_ID,
      g_param_spec_string ("frame-id", "Frame", "Frame of the points, for caps", DEFAULT_FRAME_ID,
          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY));
  /**
   * GstLidarDec:stats:
   *
   * Since the start, all guint64: `packets` that came; `other` ones without points (position,
   * inertia); those left out for `bad-size`, as `foreign`, of a `wrong-model`, `corrupt`,
   * `uncalibrated` (the sensor did not send its lasers' angles), `late`
   * (out of order, their scan pushed already, perhaps only in part) and `duplicates`; `restarts` of
   * the sensor's clock; `gaps` of half a round or more; scans thrown away because the azimuth
   * `stalled`; `scans` pushed.
   */
  g_object_class_install_property (object_class, PROP_STATS,
      g_param_spec_boxed ("stats", "Statistics", "Numbers of packets and scans since the start",
          GST_TYPE_STRUCTURE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));

  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_type_mark_as_plugin_api (GST_TYPE_LIDAR_DEC, 0);
}
