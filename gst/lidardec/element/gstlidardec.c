/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "gstlidardec.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "gst/common/gstlocation.h"
#include "gst/common/gstsinkevents.h"
#include "gstlidardecprivate.h"

/* Of the derived class. */
#define GST_CAT_DEFAULT (GST_LIDAR_DEC_GET_CLASS (self)->category)

/* Until a round is known: most sensors turn ten times a second. */
#define DEFAULT_PERIOD (100 * GST_MSECOND)

#define DEFAULT_FRAME_ID "lidar"

/* What lidarpcapsrc sends, and bytes of no type; streams without caps, as of udpsrc, do as well. */
#define PACKET_CAPS "application/x-udp-payload; application/octet-stream"

/* Of a file that a property names. */
#define MAX_FILE_SIZE (16 << 20)

enum { PROP_0, PROP_CUT_ANGLE, PROP_FRAME_ID, PROP_SRC_IP, PROP_STATS };

static GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS (PACKET_CAPS));

/* All fields, those of XYZIRT (the same bytes, of which it names all but the return's), and the
 * first of them. */
static GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC, GST_PAD_ALWAYS,
        GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_MAKE ("{ CUSTOM, XYZIRT, XYZI_F32LE, XYZ_F32LE }")));

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (GstLidarDec, gst_lidar_dec, GST_TYPE_ELEMENT)
#define PRIVATE(self) ((GstLidarDecPrivate *)gst_lidar_dec_get_instance_private (self))
#define parent_class gst_lidar_dec_parent_class

GstLidarDecPrivate *
gst_lidar_dec_get_private (GstLidarDec *self)
{
  return PRIVATE (self);
}

gchar *
gst_lidar_dec_read_file (GstLidarDec *self, const gchar *what, const gchar *location)
{
  g_autoptr (GError) error = NULL;
  g_autofree gchar *path =
      gst_location_resolve_or_post (GST_ELEMENT (self), location, GST_LOCATION_READ);
  g_autofree gchar *shown = path ? g_filename_display_name (path) : NULL;
  gchar *text = NULL;
  GStatBuf about;

  if (!path)
    return NULL;
  if (g_stat (path, &about) == 0 && about.st_size > MAX_FILE_SIZE)
    GST_ELEMENT_ERROR (self, RESOURCE, OPEN_READ,
        ("The %s \"%s\" is no regular file of at most 16 MiB.", what, shown), (NULL));
  else if (!g_file_get_contents (path, &text, NULL, &error))
    GST_ELEMENT_ERROR (self, RESOURCE, OPEN_READ,
        ("The %s \"%s\" cannot be read: %s.", what, shown, error->message), (NULL));
  return text;
}

static gboolean
open_decoder (GstLidarDec *self)
{
  GstLidarDecPrivate *priv = PRIVATE (self);
  GstPointCloudInfo *info = &priv->info;
  const guint time_offset = G_STRUCT_OFFSET (PacketPoint, time);
  g_autofree gchar *src_ip = NULL;
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
  src_ip = g_strdup (priv->src_ip);
  priv->published = (GstLidarCounts){0};
  *priv->refused = 0;
  priv->period = DEFAULT_PERIOD;
  GST_OBJECT_UNLOCK (self);

  if (!gst_lidar_source_open (&priv->source, src_ip)) {
    GST_ELEMENT_ERROR (self, RESOURCE, SETTINGS,
        ("The src-ip \"%s\" is no address of IPv4 or IPv6, like 192.168.1.201.", src_ip), (NULL));
    return FALSE;
  }
  if (!GST_LIDAR_DEC_GET_CLASS (self)->open (self, info))
    return FALSE;
  priv->clock = GST_LIDAR_DEC_GET_CLASS (self)->clock (self);
  priv->cutter = packet_cutter_new (cut_angle);
  priv->counts = (GstLidarCounts){0};
  priv->has_caps = priv->has_segment = priv->is_calibrated = FALSE;
  priv->knows_live = priv->has_time_of_day = FALSE;
  priv->model = NULL;
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
  gst_lidar_source_close (&priv->source);
  g_queue_clear_full (&priv->waiting, (GDestroyNotify)gst_buffer_unref);
  g_queue_clear_full (&priv->held, (GDestroyNotify)gst_buffer_unref);
  g_clear_pointer (&priv->cutter, packet_cutter_free);
  gst_clear_caps (&priv->clock);
}

/* Resets what the vendor's decoder keeps between packets. */
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
    g_queue_clear_full (&priv->held, (GDestroyNotify)gst_buffer_unref);
    GST_DEBUG_OBJECT (self, "flushed");
    reset (self);
    priv->is_discont = TRUE;
    priv->has_segment = FALSE;
    return gst_pad_event_default (pad, parent, event);
  case GST_EVENT_SEGMENT:
    gst_event_parse_segment (event, &segment);
    /* A funnel in front of two ports sends the same segment again at each change of pads. */
    if (priv->has_segment && gst_segment_is_equal (segment, &priv->segment)) {
      gst_event_unref (event);
      return TRUE;
    }
    /* The scan in the making belongs to the segment before. */
    if (priv->has_segment) {
      gst_lidar_dec_drain (self);
      reset (self);
      packet_cutter_set_discont (priv->cutter);
    }
    gst_lidar_dec_push_caps (self);
    GST_DEBUG_OBJECT (self, "segment %" GST_SEGMENT_FORMAT, segment);
    gst_segment_copy_into (segment, &priv->segment);
    priv->has_segment = TRUE;
    return gst_pad_push_event (priv->srcpad, gst_point_cloud_timer_segment (priv->timer, event));
  case GST_EVENT_EOS:
    gst_lidar_dec_drain (self);
    gst_lidar_dec_check_end (self);
    return gst_pad_event_default (pad, parent, event);
  default:
    /* Caps come after the start of the stream and before all else. */
    if (GST_EVENT_IS_SERIALIZED (event) && GST_EVENT_TYPE (event) > GST_EVENT_CAPS)
      gst_lidar_dec_push_caps (self);
    return gst_pad_event_default (pad, parent, event);
  }
}

static gboolean
gst_lidar_dec_sink_query (GstPad *pad, GstObject *parent, GstQuery *query)
{
  /* Downstream's pools are for clouds, not for packets. */
  if (GST_QUERY_TYPE (query) == GST_QUERY_ALLOCATION)
    return FALSE;
  return gst_pad_query_default (pad, parent, query);
}

/* A scan is pushed when its last packet came: a turn of latency. */
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

static void
get_counts (GstElement *element, GstLidarCounts *counts, gchar *refused)
{
  GST_OBJECT_LOCK (element);
  *counts = PRIVATE (GST_LIDAR_DEC (element))->published;
  g_strlcpy (refused, PRIVATE (GST_LIDAR_DEC (element))->refused, GST_LIDAR_MAX_REFUSED);
  GST_OBJECT_UNLOCK (element);
}

static GstStateChangeReturn
gst_lidar_dec_change_state (GstElement *element, GstStateChange transition)
{
  GstLidarDec *self = GST_LIDAR_DEC (element);
  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED && !open_decoder (self))
    return GST_STATE_CHANGE_FAILURE;
  if (transition == GST_STATE_CHANGE_PAUSED_TO_PLAYING)
    gst_lidar_watch_start (&PRIVATE (self)->watch);
  if (transition == GST_STATE_CHANGE_PLAYING_TO_PAUSED)
    gst_lidar_watch_stop (&PRIVATE (self)->watch);
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
  case PROP_SRC_IP:
    g_free (priv->src_ip);
    priv->src_ip = g_value_dup_string (value);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static GstStructure *
make_stats (GstLidarDec *self, const GstLidarCounts *counts)
{
  g_autofree gchar *name =
      g_strdup_printf ("application/x-%s-stats", gst_debug_category_get_name (GST_CAT_DEFAULT));
  return gst_lidar_counts_to_structure (counts, name);
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
  case PROP_SRC_IP:
    g_value_set_string (value, priv->src_ip);
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
  g_free (priv->src_ip);
  g_mutex_clear (&priv->watch.mutex);
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
  priv->watch.element = GST_ELEMENT (self);
  priv->watch.pad = priv->sinkpad;
  priv->watch.get_counts = get_counts;
  g_mutex_init (&priv->watch.mutex);
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
   * GstLidarDec:src-ip:
   *
   * Address of the sensor whose packets are decoded, where packets say theirs (a GstNetAddressMeta,
   * as udpsrc and lidarpcapsrc add it). NULL: that of the first packet that can be decoded. Those
   * of others are counted as `other-source` and left out, as scans of several sensors would mix.
   */
  g_object_class_install_property (object_class, PROP_SRC_IP,
      g_param_spec_string ("src-ip", "Source IP",
          "IPv4 or IPv6 address of the sensor; NULL: the first one whose packets can be decoded",
          NULL, G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY));
  /**
   * GstLidarDec:stats:
   *
   * Since the start, all guint64: `packets` that came; `other` ones without points (position,
   * inertia); those left out from an `other-source`, for `bad-size`, as `foreign`, of a
   * `wrong-model`, `corrupt`, `uncalibrated` (the sensor did not send its lasers' angles), `late`
   * (out of order, their scan pushed already, perhaps only in part), `duplicates` and of a
   * `bad-time` that follows on nothing; `restarts`: jumps of the sensor's clock, and packets of a
   * numbered frame that were `skipped` as the clock was set within it; `gaps` of half a
   * round or more; scans thrown away because the azimuth `stalled`; `scans` pushed.
   */
  g_object_class_install_property (object_class, PROP_STATS,
      g_param_spec_boxed ("stats", "Statistics", "Numbers of packets and scans since the start",
          GST_TYPE_STRUCTURE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));

  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_type_mark_as_plugin_api (GST_TYPE_LIDAR_DEC, 0);
}
