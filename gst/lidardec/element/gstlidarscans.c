/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <string.h>

#include "gstlidardecprivate.h"
#include "gst/lidardec/packet/packet-memory.h"
#include "gst/lidardec/packet/packet-vendor.h"

/* Of the derived class. */
#define GST_CAT_DEFAULT (GST_LIDAR_DEC_GET_CLASS (self)->category)

/* Packets that wait for the lasers' angles: three seconds of the fastest sensor. */
#define MAX_WAITING 16384

/* Packets that wait for so long are warned of: the HDL-64E S2 in the tests takes 2.4 s. */
#define WAITING_TIME (3 * GST_SECOND)

#define warn(self, kind, n, ...)                                                                   \
  gst_lidar_warn (                                                                                 \
      GST_ELEMENT (self), gst_lidar_dec_get_private (self)->last_warning, kind, n, __VA_ARGS__)

/* Fields of what localization with motion compensation reads, and their bytes. */
#define TIMED_FIELDS "x:F32:0,y:F32:4,z:F32:8,time:F32:12"
#define TIMED_STEP 16
#define TIMED_OFFSET 12

/* Coordinates and times alone, where downstream's caps are those. */
static void
choose_fields (GstPointCloudInfo *info, const GstStructure *allowed)
{
  gint step;
  if (g_strcmp0 (gst_structure_get_string (allowed, "fields"), TIMED_FIELDS) != 0 ||
      !gst_structure_get_int (allowed, "point-step", &step) || step != TIMED_STEP)
    return;
  info->n_fields = 3; /* x, y and z remain */
  gst_point_cloud_info_add_field (info, "time", GST_POINT_FIELD_TYPE_FLOAT32, TIMED_OFFSET, 1);
  info->point_step = TIMED_STEP;
}

/* The first format of the pad's template that downstream takes: CUSTOM has all fields, unless its
 * caps name fewer. FALSE: it takes none. */
static gboolean
negotiate (GstLidarDec *self)
{
  GstLidarDecPrivate *priv = gst_lidar_dec_get_private (self);
  g_autoptr (GstCaps) allowed = gst_pad_get_allowed_caps (priv->srcpad);
  if (!allowed)
    return TRUE;
  if (gst_caps_is_empty (allowed))
    return FALSE;
  allowed = gst_caps_fixate (g_steal_pointer (&allowed));
  const GstStructure *structure = gst_caps_get_structure (allowed, 0);
  const gchar *name = gst_structure_get_string (structure, "format");
  const GstPointCloudFormat format = gst_point_cloud_format_from_string (name ? name : "");
  if (format != GST_POINT_CLOUD_FORMAT_CUSTOM)
    return gst_point_cloud_info_set_format (&priv->info, format);
  choose_fields (&priv->info, structure);
  return TRUE;
}

gboolean
gst_lidar_dec_push_caps (GstLidarDec *self)
{
  GstLidarDecPrivate *priv = gst_lidar_dec_get_private (self);
  if (priv->has_caps)
    return TRUE;
  if (!negotiate (self))
    return FALSE;
  g_autoptr (GstCaps) caps = gst_point_cloud_info_to_caps (&priv->info);
  gst_caps_set_simple (caps, "motion-compensated", G_TYPE_BOOLEAN, FALSE, NULL);
  GST_INFO_OBJECT (self, "caps %" GST_PTR_FORMAT, caps);
  priv->has_caps = gst_pad_push_event (priv->srcpad, gst_event_new_caps (caps));
  return priv->has_caps;
}

/* Leaves the first bytes of each point, which are those of the smaller formats; or coordinates and
 * time. */
static void
pack (PacketScan *scan, const GstPointCloudInfo *info)
{
  const guint step = info->point_step;
  const gboolean is_timed =
      info->format == GST_POINT_CLOUD_FORMAT_CUSTOM && step < sizeof (PacketPoint);
  guint8 *to = (guint8 *)scan->points;
  if (step == sizeof (PacketPoint))
    return;
  for (gsize i = 0; i < scan->n_points; i++, to += step) {
    const gfloat time = scan->points[i].time;
    memmove (to, &scan->points[i], step);
    if (is_timed)
      memcpy (to + TIMED_OFFSET, &time, sizeof (time));
  }
}

/* LATENCY is a turn; changes below 2 % are noise. */
static void
update_period (GstLidarDec *self)
{
  GstLidarDecPrivate *priv = gst_lidar_dec_get_private (self);
  const GstClockTime period = (GstClockTime)packet_cutter_get_period (priv->cutter);
  gboolean changed;
  GST_OBJECT_LOCK (self);
  changed = period > 0 && (period > priv->period + priv->period / 50 ||
                              period < priv->period - priv->period / 50);
  if (changed)
    priv->period = period;
  GST_OBJECT_UNLOCK (self);
  if (!changed)
    return;
  GST_DEBUG_OBJECT (self, "a turn, and latency, of %" GST_TIME_FORMAT, GST_TIME_ARGS (period));
  gst_element_post_message (GST_ELEMENT (self), gst_message_new_latency (GST_OBJECT (self)));
}

/* The time of day at PTS, beside the sensor's own. */
static void
add_time_of_day (GstLidarDec *self, GstBuffer *buffer)
{
  static GstStaticCaps arrival_caps = GST_STATIC_CAPS ("timestamp/x-unix, source=(string)arrival");
  GstLidarDecPrivate *priv = gst_lidar_dec_get_private (self);
  const gint64 time = (gint64)GST_BUFFER_PTS (buffer) + priv->time_of_day;
  if (!priv->has_time_of_day || time < 0)
    return;
  g_autoptr (GstCaps) caps = gst_static_caps_get (&arrival_caps);
  gst_buffer_add_reference_timestamp_meta (
      buffer, caps, (GstClockTime)time, GST_BUFFER_DURATION (buffer));
}

/* Takes @scan over. */
static GstFlowReturn
push_scan (GstLidarDec *self, PacketScan *scan)
{
  GstLidarDecPrivate *priv = gst_lidar_dec_get_private (self);
  if (!gst_lidar_dec_push_caps (self)) {
    packet_scan_free (scan);
    return GST_PAD_IS_FLUSHING (priv->srcpad) ? GST_FLOW_FLUSHING : GST_FLOW_NOT_NEGOTIATED;
  }
  const gsize size = scan->n_points * priv->info.point_step;
  pack (scan, &priv->info);
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
  add_time_of_day (self, buffer);
  GST_LOG_OBJECT (self,
      "scan %" G_GUINT64_FORMAT ": %" G_GSIZE_FORMAT " points, %" GST_TIME_FORMAT
      " long, at %" GST_TIME_FORMAT ", by the sensor's clock %" GST_STIME_FORMAT,
      priv->counts.n_scans, scan->n_points, GST_TIME_ARGS (GST_BUFFER_DURATION (buffer)),
      GST_TIME_ARGS (GST_BUFFER_PTS (buffer)), GST_STIME_ARGS (scan->time));
  packet_scan_free (scan);
  priv->counts.n_scans++;
  return gst_pad_push (priv->srcpad, buffer);
}

static GstFlowReturn
push_scans (GstLidarDec *self)
{
  GstLidarDecPrivate *priv = gst_lidar_dec_get_private (self);
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
  GstLidarDecPrivate *priv = gst_lidar_dec_get_private (self);
  const PacketCutterCounts before = priv->counts.cutter;
  const PacketCutterCounts now = packet_cutter_get_counts (priv->cutter);
  priv->counts.cutter = now;
  GST_OBJECT_LOCK (self);
  priv->published = priv->counts;
  GST_OBJECT_UNLOCK (self);
  if (now.n_restarts > before.n_restarts)
    GST_INFO_OBJECT (
        self, "the sensor's clock jumped by %" GST_STIME_FORMAT, GST_STIME_ARGS (now.jump));
  if (now.n_late > before.n_late || now.n_duplicates > before.n_duplicates ||
      now.n_bad_times > before.n_bad_times || now.n_gaps > before.n_gaps)
    GST_DEBUG_OBJECT (self,
        "packets late %" G_GUINT64_FORMAT ", twice %" G_GUINT64_FORMAT
        ", of other times %" G_GUINT64_FORMAT "; gaps %" G_GUINT64_FORMAT,
        now.n_late, now.n_duplicates, now.n_bad_times, now.n_gaps);
  gst_lidar_warn_of_cutter (GST_ELEMENT (self), priv->last_warning, &before, &now);
}

/* FALSE: the stream cannot go on. */
static gboolean
handle_bad_packet (GstLidarDec *self, const GError *error, const guint8 *data, gsize size)
{
  static const gchar *const kinds[] = {[PACKET_ERROR_SIZE] = "A packet has another size",
      [PACKET_ERROR_FOREIGN] = "A packet is not of this kind of sensor",
      [PACKET_ERROR_MODEL] = "A packet is of another model",
      [PACKET_ERROR_CORRUPT] = "A packet is corrupted"};
  GstLidarDecPrivate *priv = gst_lidar_dec_get_private (self);
  const gchar *vendor = NULL;
  if (error->domain != PACKET_ERROR) {
    GST_ELEMENT_ERROR (self, STREAM, DECODE, ("Cannot decode: %s.", error->message), (NULL));
    return FALSE;
  }
  const guint64 n = ++priv->counts.n_bad[error->code];
  if (error->code == PACKET_ERROR_SIZE || error->code == PACKET_ERROR_FOREIGN)
    vendor = packet_guess_vendor (data, size);
  /* Its own decoder does not know its own packet: the guess is wrong, or the packet is damaged. */
  if (vendor && strstr (vendor, gst_debug_category_get_name (GST_CAT_DEFAULT)))
    vendor = NULL;
  GST_OBJECT_LOCK (self);
  g_snprintf (priv->refused, sizeof priv->refused, "%s%s%s", error->message,
      vendor ? "; it looks like " : "", vendor ? vendor : "");
  GST_OBJECT_UNLOCK (self);
  GST_DEBUG_OBJECT (self, "%s: %s", kinds[error->code], priv->refused);
  warn (self, (GstLidarWarning)error->code, n, "%s and is left out: %s.", kinds[error->code],
      priv->refused);
  return TRUE;
}

/* Whether @buffer is of the sensor that is decoded. */
static gboolean
check_source (GstLidarDec *self, GstBuffer *buffer)
{
  GstLidarDecPrivate *priv = gst_lidar_dec_get_private (self);
  if (gst_lidar_source_check (&priv->source, buffer))
    return TRUE;
  g_autofree gchar *ours = gst_lidar_address_to_string (&priv->source.address);
  g_autofree gchar *theirs = gst_lidar_address_to_string (&priv->source.current);
  const guint64 n = ++priv->counts.n_other_source;
  GST_DEBUG_OBJECT (self, "packet of %s, not of %s", theirs, ours);
  warn (self, GST_LIDAR_WARNING_SOURCE, n,
      "Packets of %s are left out, as those of %s are decoded. Set \"src-ip\" to the sensor that "
      "is "
      "meant, or let each send to a port of its own.",
      theirs, ours);
  return FALSE;
}

/* The packet that was looked at last is one of a sensor of this kind. */
static void
lock_source (GstLidarDec *self)
{
  GstLidarDecPrivate *priv = gst_lidar_dec_get_private (self);
  if (!gst_lidar_source_lock (&priv->source))
    return;
  g_autofree gchar *address = gst_lidar_address_to_string (&priv->source.address);
  GST_INFO_OBJECT (self, "packets of %s are decoded", address);
}

static void
tell_model (GstLidarDec *self)
{
  GstLidarDecPrivate *priv = gst_lidar_dec_get_private (self);
  GstLidarDecClass *klass = GST_LIDAR_DEC_GET_CLASS (self);
  const gchar *model = klass->get_model ? klass->get_model (self) : NULL;
  if (model == priv->model)
    return;
  priv->model = model;
  GST_INFO_OBJECT (self, "the sensor is a %s", model);
  const gchar *remark = klass->get_remark ? klass->get_remark (self) : NULL;
  if (remark)
    GST_ELEMENT_WARNING (self, RESOURCE, SETTINGS, ("%s", remark), (NULL));
}

static void
learn_time_of_day (GstLidarDec *self, GstBuffer *buffer)
{
  GstLidarDecPrivate *priv = gst_lidar_dec_get_private (self);
  if (!priv->knows_live) {
    priv->is_live = gst_lidar_is_live (priv->sinkpad);
    priv->knows_live = TRUE;
  }
  priv->has_time_of_day = gst_lidar_get_time_of_day (
      GST_ELEMENT (self), buffer, &priv->segment, priv->is_live, &priv->time_of_day);
}

/* FALSE: the stream cannot go on. */
static gboolean
decode_mapped (GstLidarDec *self, GstBuffer *buffer, const guint8 *data, gsize size)
{
  GstLidarDecPrivate *priv = gst_lidar_dec_get_private (self);
  const GstClockTime pts = GST_BUFFER_PTS (buffer);
  g_autoptr (GError) error = NULL;
  gboolean is_data = TRUE;
  if (GST_BUFFER_IS_DISCONT (buffer))
    packet_cutter_set_discont (priv->cutter);
  packet_cutter_set_arrival (priv->cutter, GST_CLOCK_TIME_IS_VALID (pts) ? (gint64)pts : -1);
  if (!GST_LIDAR_DEC_GET_CLASS (self)->decode (self, data, size, priv->cutter, &is_data, &error))
    return handle_bad_packet (self, error, data, size);
  priv->counts.n_other += !is_data;
  if (!is_data || packet_cutter_is_held (priv->cutter))
    return TRUE;
  priv->is_calibrated = TRUE;
  lock_source (self);
  if (!priv->model)
    tell_model (self);
  if (!priv->knows_live || packet_cutter_has_finished (priv->cutter))
    learn_time_of_day (self, buffer);
  return TRUE;
}

static GstFlowReturn
decode_one (GstLidarDec *self, GstBuffer *buffer)
{
  GstMapInfo map;
  gboolean goes_on;
  if (!gst_buffer_map (buffer, &map, GST_MAP_READ)) {
    GST_ELEMENT_ERROR (self, RESOURCE, READ, ("A packet cannot be mapped."), (NULL));
    return GST_FLOW_ERROR;
  }
  goes_on = decode_mapped (self, buffer, map.data, map.size);
  gst_buffer_unmap (buffer, &map);
  return goes_on ? push_scans (self) : GST_FLOW_ERROR;
}

/* Counts all but the last @n of the packets that are held as foreign ones. */
static void
drop_held (GstLidarDec *self, guint n)
{
  GstLidarDecPrivate *priv = gst_lidar_dec_get_private (self);
  while (g_queue_get_length (&priv->held) > n) {
    packet_cutter_count_bad_times (priv->cutter, 1);
    gst_buffer_unref (g_queue_pop_head (&priv->held));
  }
}

/* Takes @buffer over. A packet whose time follows on nothing is kept until those behind it tell
 * whether the sensor's clock was set. */
static GstFlowReturn
decode_packet (GstLidarDec *self, GstBuffer *buffer)
{
  GstLidarDecPrivate *priv = gst_lidar_dec_get_private (self);
  if (!check_source (self, buffer)) {
    gst_buffer_unref (buffer);
    return GST_FLOW_OK;
  }
  GstFlowReturn flow = decode_one (self, buffer);
  if (packet_cutter_is_held (priv->cutter))
    g_queue_push_tail (&priv->held, buffer);
  else
    gst_buffer_unref (buffer);
  drop_held (self, packet_cutter_get_n_kept (priv->cutter));
  if (packet_cutter_has_jumped (priv->cutter))
    while (flow == GST_FLOW_OK && (buffer = g_queue_pop_head (&priv->held))) {
      flow = decode_one (self, buffer);
      gst_buffer_unref (buffer);
    }
  return flow;
}

static GstFlowReturn
decode_waiting (GstLidarDec *self)
{
  GstLidarDecPrivate *priv = gst_lidar_dec_get_private (self);
  GstFlowReturn flow = GST_FLOW_OK;
  GstBuffer *buffer;
  while (flow == GST_FLOW_OK && (buffer = g_queue_pop_head (&priv->waiting)))
    flow = decode_packet (self, buffer);
  return flow;
}

/* Counts packets that are dropped because no angles came. */
static void
count_uncalibrated (GstLidarDec *self, guint n)
{
  GstLidarDecPrivate *priv = gst_lidar_dec_get_private (self);
  priv->counts.n_uncalibrated += n;
  if (n > 0)
    warn (self, GST_LIDAR_WARNING_UNCALIBRATED, priv->counts.n_uncalibrated,
        "The sensor has not sent its lasers' angles, packets are left out: set "
        "\"calibration-location\", or let its packets of the other kind arrive here as well.");
}

/* Warns that packets wait for angles, long before any of them is dropped. */
static void
check_waiting (GstLidarDec *self)
{
  GstLidarDecPrivate *priv = gst_lidar_dec_get_private (self);
  const GstClockTime first = GST_BUFFER_PTS ((GstBuffer *)g_queue_peek_head (&priv->waiting));
  const GstClockTime last = GST_BUFFER_PTS ((GstBuffer *)g_queue_peek_tail (&priv->waiting));
  if (GST_CLOCK_TIME_IS_VALID (first) && GST_CLOCK_TIME_IS_VALID (last) &&
      last >= first + WAITING_TIME)
    warn (self, GST_LIDAR_WARNING_WAITING, g_queue_get_length (&priv->waiting),
        "There are no scans yet, packets wait: the sensor has not sent its lasers' angles. Set "
        "\"calibration-location\", or let its packets of the other kind arrive here as well.");
}

/* Looks for the lasers' angles in @buffer, which is taken over, and keeps it. */
static GstFlowReturn
wait_for_calibration (GstLidarDec *self, GstBuffer *buffer)
{
  GstLidarDecPrivate *priv = gst_lidar_dec_get_private (self);
  GstLidarDecClass *klass = GST_LIDAR_DEC_GET_CLASS (self);
  g_autoptr (GError) error = NULL;
  GstMapInfo map;
  gboolean is_known = TRUE, goes_on = TRUE;
  if (!check_source (self, buffer)) {
    gst_buffer_unref (buffer);
    return GST_FLOW_OK;
  }
  if (klass->calibrate && gst_buffer_map (buffer, &map, GST_MAP_READ)) {
    is_known = klass->calibrate (self, map.data, map.size, &error);
    goes_on = !error || handle_bad_packet (self, error, map.data, map.size);
    gst_buffer_unmap (buffer, &map);
  }
  if (error) {
    gst_buffer_unref (buffer);
    return goes_on ? GST_FLOW_OK : GST_FLOW_ERROR;
  }
  g_queue_push_tail (&priv->waiting, buffer);
  if (is_known)
    return decode_waiting (self);
  /* Angles are those of the sensor whose packets wait for them. */
  lock_source (self);
  check_waiting (self);
  if (g_queue_get_length (&priv->waiting) > MAX_WAITING) {
    gst_buffer_unref (g_queue_pop_head (&priv->waiting));
    count_uncalibrated (self, 1);
  }
  return GST_FLOW_OK;
}

GstFlowReturn
gst_lidar_dec_chain (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  GstLidarDec *self = GST_LIDAR_DEC (parent);
  GstLidarDecPrivate *priv = gst_lidar_dec_get_private (self);
  GstFlowReturn flow;
  priv->counts.n_packets++;
  flow = priv->is_calibrated ? decode_packet (self, buffer) : wait_for_calibration (self, buffer);
  publish (self);
  return flow;
}

void
gst_lidar_dec_drain (GstLidarDec *self)
{
  GstLidarDecPrivate *priv = gst_lidar_dec_get_private (self);
  drop_held (self, 0);
  count_uncalibrated (self, g_queue_get_length (&priv->waiting));
  g_queue_clear_full (&priv->waiting, (GDestroyNotify)gst_buffer_unref);
  packet_cutter_flush (priv->cutter);
  if (GST_LIDAR_DEC_GET_CLASS (self)->flush)
    GST_LIDAR_DEC_GET_CLASS (self)->flush (self, priv->cutter);
  push_scans (self);
  publish (self);
}

void
gst_lidar_dec_check_end (GstLidarDec *self)
{
  GstLidarDecPrivate *priv = gst_lidar_dec_get_private (self);
  const guint64 n = priv->counts.n_packets;
  if (priv->counts.n_scans > 0 || (n == 0 && !gst_lidar_is_live (priv->sinkpad)))
    return;
  g_autofree gchar *cause = gst_lidar_counts_explain (&priv->counts, priv->refused);
  g_autofree gchar *upstream = n > 0 ? g_strdup ("") : gst_lidar_describe_upstream (priv->sinkpad);
  GST_ELEMENT_ERROR (self, STREAM, DECODE,
      ("Not a single scan came of %" G_GUINT64_FORMAT " packets: %s%s%s.", n, cause,
          *upstream ? "; " : "", upstream),
      (NULL));
}
