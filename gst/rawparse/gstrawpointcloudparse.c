/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-rawpointcloudparse
 * @title: rawpointcloudparse
 * @short_description: makes scans of bytes that have no header and no time stamps
 *
 * Clouds in GStreamer have caps, a TIME segment and a PTS. Files of bare points, KITTI's `.bin` for
 * one, have none of these: this element gives them, as rawvideoparse does for images.
 *
 * The layout of a point, the size of an organized cloud, the frame and the rate are those of the
 * `pointcloud/x-raw` caps that come (multifilesrc has a property for them), each replaced by the
 * property of its name where that is set. Each buffer is a scan, as multifilesrc makes one of each
 * file; a stream of bytes, as filesrc sends it, is cut by
 * #GstRawPointCloudParse:points-per-scan.
 *
 * A scan without PTS gets its number over the framerate, or the line of
 * #GstRawPointCloudParse:times-location; a valid PTS and a TIME segment pass as they are.
 *
 * A first scan that does not fit the layout is an error that says which would fit; a later one is
 * left out with a warning and a GAP event in its place.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 lidartestsrc num-buffers=3 ! pointcloud/x-raw,format=XYZI_F32LE ! \
 *     multifilesink location=%06d.bin
 * gst-launch-1.0 multifilesrc location=%06d.bin ! \
 *     rawpointcloudparse format=XYZI_F32LE framerate=10/1 ! fakesink
 * ]|
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstrawpointcloudparse.h"

#include <gst/base/gstadapter.h>
#include <gst/pointcloud/pointcloud.h>

#include "gst/common/gstpointcloudtimer.h"
#include "gst/common/gstsinkevents.h"
#include "gst/pointcloud/gstpointcloudperiod.h"

GST_DEBUG_CATEGORY_STATIC (gst_raw_point_cloud_parse_debug);
#define GST_CAT_DEFAULT gst_raw_point_cloud_parse_debug

enum {
  PROP_0,
  PROP_FORMAT,
  PROP_FIELDS,
  PROP_POINT_STEP,
  PROP_WIDTH,
  PROP_HEIGHT,
  PROP_FRAME_ID,
  PROP_FRAMERATE,
  PROP_POINTS_PER_SCAN,
  PROP_TIMES_LOCATION,
  PROP_STATS
};

struct _GstRawPointCloudParse {
  GstElement parent;
  GstPad *sinkpad;
  GstPad *srcpad;

  /* properties and what stats reads, under the object lock */
  GstPointCloudFormat format; /* UNKNOWN: as in caps */
  gchar *fields;
  guint point_step;
  guint width;
  guint height;
  gchar *frame_id;
  gint fps_n;
  gint fps_d;
  guint points_per_scan;
  gchar *times_location;
  guint64 n_scans;
  guint64 n_bad;

  /* streaming thread */
  GstPointCloudTimer *timer;
  GstAdapter *adapter; /* of a stream that is cut */
  GstPointCloudInfo info;
  gboolean has_info;
  gboolean discont;
  guint cut; /* points_per_scan of this stream */
};

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK,
    GST_PAD_ALWAYS, GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_NAME "; application/octet-stream"));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC,
    GST_PAD_ALWAYS, GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_MAKE (GST_POINT_CLOUD_FORMATS_ALL)));

G_DEFINE_TYPE (GstRawPointCloudParse, gst_raw_point_cloud_parse, GST_TYPE_ELEMENT)
GST_ELEMENT_REGISTER_DEFINE (
    rawpointcloudparse, "rawpointcloudparse", GST_RANK_NONE, GST_TYPE_RAW_POINT_CLOUD_PARSE)

#define TYPE_FORMAT (format_get_type ())
static GType
format_get_type (void)
{
  static const GEnumValue values[] = {
      {GST_POINT_CLOUD_FORMAT_UNKNOWN, "That of the caps that come", "caps"},
      {GST_POINT_CLOUD_FORMAT_CUSTOM, "As fields and point-step say", "CUSTOM"},
      {GST_POINT_CLOUD_FORMAT_XYZ_F32LE, "x, y, z; 12 bytes", "XYZ_F32LE"},
      {GST_POINT_CLOUD_FORMAT_XYZI_F32LE, "x, y, z, intensity; 16 bytes", "XYZI_F32LE"},
      {GST_POINT_CLOUD_FORMAT_XYZ_F64LE, "x, y, z as doubles; 24 bytes", "XYZ_F64LE"},
      {GST_POINT_CLOUD_FORMAT_XYZIRT, "x, y, z, intensity, ring, time; 24 bytes", "XYZIRT"},
      {0, NULL, NULL},
  };
  static gsize type = 0;
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstRawPointCloudParseFormat", values));
  return type;
}

static void
reset_stream (GstRawPointCloudParse *self)
{
  gst_adapter_clear (self->adapter);
  self->discont = TRUE;
  gst_point_cloud_timer_reset (self->timer);
}

/* ---- Layout ---- */

/* The caps that came, with what properties replace. */
static GstCaps *
make_caps (GstRawPointCloudParse *self, GstCaps *received)
{
  GstCaps *caps = received && gst_structure_has_name (
                                  gst_caps_get_structure (received, 0), GST_POINT_CLOUD_CAPS_NAME)
                      ? gst_caps_copy (received)
                      : gst_caps_new_empty_simple (GST_POINT_CLOUD_CAPS_NAME);
  GST_OBJECT_LOCK (self);
  if (self->format != GST_POINT_CLOUD_FORMAT_UNKNOWN || self->fields) {
    gst_structure_remove_fields (
        gst_caps_get_structure (caps, 0), "format", "fields", "point-step", NULL);
    gst_caps_set_simple (caps, "format", G_TYPE_STRING,
        gst_point_cloud_format_to_string (self->format != GST_POINT_CLOUD_FORMAT_UNKNOWN
                                              ? self->format
                                              : GST_POINT_CLOUD_FORMAT_CUSTOM),
        NULL);
  }
  if (self->fields)
    gst_caps_set_simple (caps, "fields", G_TYPE_STRING, self->fields, NULL);
  if (self->point_step)
    gst_caps_set_simple (caps, "point-step", G_TYPE_INT, (gint)self->point_step, NULL);
  if (self->width)
    gst_caps_set_simple (caps, "width", G_TYPE_INT, (gint)self->width, NULL);
  if (self->height)
    gst_caps_set_simple (caps, "height", G_TYPE_INT, (gint)self->height, NULL);
  if (self->frame_id)
    gst_caps_set_simple (caps, "frame-id", G_TYPE_STRING, self->frame_id, NULL);
  if (self->fps_n)
    gst_caps_set_simple (caps, "framerate", GST_TYPE_FRACTION, self->fps_n, self->fps_d, NULL);
  GST_OBJECT_UNLOCK (self);
  return caps;
}

/* Sends caps on. @received: nullable. FALSE after an error message. */
static gboolean
negotiate (GstRawPointCloudParse *self, GstCaps *received)
{
  g_autoptr (GstCaps) asked = make_caps (self, received), caps = NULL;
  g_autoptr (GError) error = NULL;
  GstPointCloudInfo info;

  if (!gst_structure_has_field (gst_caps_get_structure (asked, 0), "format")) {
    GST_ELEMENT_ERROR (self, STREAM, FORMAT,
        ("The layout of the points is not known: set the property \"format\" of this element, for "
         "example format=XYZI_F32LE, or \"fields\" and \"point-step\"."),
        (NULL));
    return FALSE;
  }
  if (!gst_point_cloud_info_from_caps (&info, asked, &error) ||
      !gst_point_cloud_info_has_xyz (&info, &error)) {
    GST_ELEMENT_ERROR (self, STREAM, FORMAT, ("These are no points: %s.", error->message), (NULL));
    return FALSE;
  }
  gst_point_cloud_timer_set_info (self->timer, &info);
  self->info = info;
  self->has_info = TRUE;
  caps = gst_point_cloud_info_to_caps (&info);
  GST_INFO_OBJECT (self, "caps %" GST_PTR_FORMAT, caps);
  return gst_pad_push_event (self->srcpad, gst_event_new_caps (caps));
}

/* "XYZ_F32LE (12 bytes), …": formats of which @size bytes are a whole number of points. */
static gchar *
dup_formats_of_size (gsize size)
{
  g_autoptr (GString) text = g_string_new (NULL);
  for (guint i = GST_POINT_CLOUD_FORMAT_XYZ_F32LE; i <= GST_POINT_CLOUD_FORMAT_XYZIRT; i++) {
    GstPointCloudInfo info;
    gst_point_cloud_info_init (&info);
    gst_point_cloud_info_set_format (&info, (GstPointCloudFormat)i);
    if (size % info.point_step == 0)
      g_string_append_printf (text, "%s%s (%u bytes)", text->len > 0 ? ", " : "",
          gst_point_cloud_format_to_string (info.format), info.point_step);
  }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* What fits the bytes of a scan better than the layout that was given: the end of a sentence. */
static gchar *
dup_proposal (const guint8 *data, gsize size, guint step)
{
  const guint period = data ? gst_point_cloud_period_find (data, size, step) : step;
  if (period != step)
    return g_strdup_printf ("its numbers repeat every %u bytes%s", period,
        period == 12   ? ", as those of XYZ_F32LE"
        : period == 16 ? ", as those of XYZI_F32LE"
        : period == 24 ? ", as those of XYZIRT"
                       : "");
  g_autofree gchar *formats = dup_formats_of_size (size);
  return *formats ? g_strdup_printf ("its size would fit %s", formats)
                  : g_strdup ("no known format fits its size: give fields and point-step");
}

/* Whether the bytes are points of the layout at hand. The numbers are looked at in the first scan
 * only: later ones have the layout that it has. */
static gboolean
check_scan (GstRawPointCloudParse *self, GstBuffer *scan, gboolean first, GError **error)
{
  g_autofree gchar *proposal = NULL;
  g_autoptr (GError) cause = NULL;
  GstPointCloudMap map;
  GstMapInfo bytes;

  if (gst_point_cloud_map (&map, &self->info, scan, GST_MAP_READ, &cause)) {
    gboolean good = TRUE;
    if (first && map.n_points > 0) {
      good = gst_point_cloud_map_check (&map, &cause) &&
             gst_point_cloud_period_find (map.data, map.map.size, self->info.point_step) ==
                 self->info.point_step;
      if (!good)
        proposal = dup_proposal (map.data, map.map.size, self->info.point_step);
    }
    gst_point_cloud_unmap (&map);
    if (good)
      return TRUE;
  } else if (gst_buffer_map (scan, &bytes, GST_MAP_READ)) {
    proposal = dup_proposal (bytes.data, bytes.size, self->info.point_step);
    gst_buffer_unmap (scan, &bytes);
  }
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, "%s; %s",
      cause ? cause->message : "its numbers are not those of such points",
      proposal ? proposal : "it cannot be read");
  return FALSE;
}

/* ---- Streaming ---- */

/* A scan that is left out keeps its place in time. */
static GstFlowReturn
handle_bad_scan (GstRawPointCloudParse *self, GstBuffer *scan, const gchar *why)
{
  guint64 n_scans, number;
  GST_OBJECT_LOCK (self);
  n_scans = self->n_scans;
  number = n_scans + self->n_bad++;
  GST_OBJECT_UNLOCK (self);

  if (n_scans == 0) {
    GST_ELEMENT_ERROR (self, STREAM, FORMAT,
        ("The first scan is not as format=%s with points of %u bytes says: %s. Set \"format\", or "
         "\"fields\" and \"point-step\".",
            gst_point_cloud_format_to_string (self->info.format), self->info.point_step, why),
        (NULL));
    gst_buffer_unref (scan);
    return GST_FLOW_ERROR;
  }
  GST_ELEMENT_WARNING (
      self, STREAM, DECODE, ("Scan %" G_GUINT64_FORMAT " is left out: %s.", number, why), (NULL));
  scan = gst_point_cloud_timer_stamp (self->timer, scan);
  gst_pad_push_event (
      self->srcpad, gst_event_new_gap (GST_BUFFER_PTS (scan), GST_BUFFER_DURATION (scan)));
  gst_buffer_unref (scan);
  self->discont = TRUE;
  return GST_FLOW_OK;
}

static GstFlowReturn
push_scan (GstRawPointCloudParse *self, GstBuffer *scan)
{
  g_autoptr (GError) error = NULL;
  GST_OBJECT_LOCK (self);
  const gboolean first = self->n_scans == 0;
  GST_OBJECT_UNLOCK (self);

  if (!check_scan (self, scan, first, &error))
    return handle_bad_scan (self, scan, error->message);
  scan = gst_point_cloud_timer_stamp (self->timer, scan);
  if (self->discont != GST_BUFFER_FLAG_IS_SET (scan, GST_BUFFER_FLAG_DISCONT)) {
    scan = gst_buffer_make_writable (scan);
    if (self->discont)
      GST_BUFFER_FLAG_SET (scan, GST_BUFFER_FLAG_DISCONT);
    else
      GST_BUFFER_FLAG_UNSET (scan, GST_BUFFER_FLAG_DISCONT);
  }
  self->discont = FALSE;
  GST_OBJECT_LOCK (self);
  self->n_scans++;
  GST_OBJECT_UNLOCK (self);
  GST_LOG_OBJECT (self, "scan of %" G_GSIZE_FORMAT " bytes at %" GST_TIME_FORMAT,
      gst_buffer_get_size (scan), GST_TIME_ARGS (GST_BUFFER_PTS (scan)));
  return gst_pad_push (self->srcpad, scan);
}

/* The scans that are whole; a PTS is that of a scan where its first byte begins the buffer. */
static GstFlowReturn
cut_scans (GstRawPointCloudParse *self)
{
  const gsize size = (gsize)self->cut * self->info.point_step;
  GstFlowReturn flow = GST_FLOW_OK;
  while (flow == GST_FLOW_OK && gst_adapter_available (self->adapter) >= size) {
    guint64 distance;
    const GstClockTime pts = gst_adapter_prev_pts (self->adapter, &distance);
    GstBuffer *scan = gst_adapter_take_buffer (self->adapter, size);
    scan = gst_buffer_make_writable (scan);
    GST_BUFFER_PTS (scan) = distance == 0 ? pts : GST_CLOCK_TIME_NONE;
    GST_BUFFER_DURATION (scan) = GST_CLOCK_TIME_NONE;
    flow = push_scan (self, scan);
  }
  return flow;
}

static GstFlowReturn
gst_raw_point_cloud_parse_chain (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  GstRawPointCloudParse *self = GST_RAW_POINT_CLOUD_PARSE (parent);
  if (!self->has_info) {
    gst_buffer_unref (buffer);
    return GST_FLOW_NOT_NEGOTIATED;
  }
  if (self->cut == 0)
    return push_scan (self, buffer);
  gst_adapter_push (self->adapter, buffer);
  return cut_scans (self);
}

/* A source that can be read anywhere is one file, whose buffers are pieces of any size. */
static gboolean
check_source (GstRawPointCloudParse *self)
{
  g_autoptr (GstQuery) query = gst_query_new_scheduling ();
  if (self->cut > 0 || !gst_pad_peer_query (self->sinkpad, query) ||
      !gst_query_has_scheduling_mode (query, GST_PAD_MODE_PULL))
    return TRUE;
  GST_ELEMENT_ERROR (self, STREAM, FORMAT,
      ("The source sends a file in pieces of any size: set \"points-per-scan\", or read a file for "
       "each scan with multifilesrc."),
      (NULL));
  return FALSE;
}

static gboolean
handle_segment (GstRawPointCloudParse *self, GstEvent *event)
{
  const GstSegment *segment;
  GST_OBJECT_LOCK (self);
  self->cut = self->points_per_scan;
  GST_OBJECT_UNLOCK (self);
  gst_event_parse_segment (event, &segment);
  if ((segment->format == GST_FORMAT_BYTES && !check_source (self)) ||
      (!self->has_info && !negotiate (self, NULL))) {
    gst_event_unref (event);
    return FALSE;
  }
  event = gst_point_cloud_timer_segment (self->timer, event);
  GST_DEBUG_OBJECT (
      self, "segment %" GST_SEGMENT_FORMAT, gst_point_cloud_timer_get_segment (self->timer));
  return gst_pad_push_event (self->srcpad, event);
}

static void
warn_of_rest (GstRawPointCloudParse *self)
{
  const gsize rest = gst_adapter_available (self->adapter);
  if (rest > 0)
    GST_ELEMENT_WARNING (self, STREAM, DECODE,
        ("The stream ends within a scan: %" G_GSIZE_FORMAT " bytes are left over from scans of %u "
         "points of %u bytes. Check \"points-per-scan\" and the layout.",
            rest, self->cut, self->info.point_step),
        (NULL));
  gst_adapter_clear (self->adapter);
}

static gboolean
gst_raw_point_cloud_parse_sink_event (GstPad *pad, GstObject *parent, GstEvent *event)
{
  GstRawPointCloudParse *self = GST_RAW_POINT_CLOUD_PARSE (parent);
  GstCaps *caps;
  gboolean done;

  switch (GST_EVENT_TYPE (event)) {
  case GST_EVENT_CAPS:
    gst_event_parse_caps (event, &caps);
    done = negotiate (self, caps);
    gst_event_unref (event);
    return done;
  case GST_EVENT_SEGMENT:
    return handle_segment (self, event);
  case GST_EVENT_FLUSH_STOP:
    GST_DEBUG_OBJECT (self, "flush");
    reset_stream (self);
    break;
  case GST_EVENT_EOS:
    warn_of_rest (self);
    break;
  default:
    break;
  }
  return gst_pad_event_default (pad, parent, event);
}

static gboolean
gst_raw_point_cloud_parse_sink_query (GstPad *pad, GstObject *parent, GstQuery *query)
{
  GstRawPointCloudParse *self = GST_RAW_POINT_CLOUD_PARSE (parent);
  GstCaps *filter, *caps;

  /* Bytes of any origin: what downstream takes says nothing of them. */
  if (GST_QUERY_TYPE (query) == GST_QUERY_CAPS) {
    g_autoptr (GstCaps) all = gst_pad_get_pad_template_caps (pad);
    gst_query_parse_caps (query, &filter);
    caps = filter ? gst_caps_intersect_full (filter, all, GST_CAPS_INTERSECT_FIRST)
                  : gst_caps_ref (all);
    gst_query_set_caps_result (query, caps);
    gst_caps_unref (caps);
    return TRUE;
  }
  /* Memory that downstream offers is for scans, which pieces of a stream are not. */
  if (GST_QUERY_TYPE (query) == GST_QUERY_ALLOCATION && self->cut > 0)
    return FALSE;
  return gst_pad_query_default (pad, parent, query);
}

static gboolean
start (GstRawPointCloudParse *self)
{
  g_autoptr (GError) error = NULL;
  g_autofree gchar *location = NULL;
  GST_OBJECT_LOCK (self);
  location = g_strdup (self->times_location);
  self->n_scans = self->n_bad = 0;
  GST_OBJECT_UNLOCK (self);
  reset_stream (self);
  self->has_info = FALSE;
  if (gst_point_cloud_timer_set_times_location (self->timer, location, &error))
    return TRUE;
  gst_element_message_full (GST_ELEMENT (self), GST_MESSAGE_ERROR, error->domain, error->code,
      g_strdup (error->message), NULL, __FILE__, GST_FUNCTION, __LINE__);
  return FALSE;
}

static GstStateChangeReturn
gst_raw_point_cloud_parse_change_state (GstElement *element, GstStateChange transition)
{
  GstRawPointCloudParse *self = GST_RAW_POINT_CLOUD_PARSE (element);
  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED && !start (self))
    return GST_STATE_CHANGE_FAILURE;
  const GstStateChangeReturn result = GST_ELEMENT_CLASS (gst_raw_point_cloud_parse_parent_class)
                                          ->change_state (element, transition);
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
    reset_stream (self);
  return result;
}

/* ---- Properties ---- */

static void
take_string (gchar **to, const GValue *value)
{
  const gchar *text = g_value_get_string (value);
  g_free (*to);
  *to = text && *text ? g_strdup (text) : NULL;
}

static void
gst_raw_point_cloud_parse_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstRawPointCloudParse *self = GST_RAW_POINT_CLOUD_PARSE (object);
  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_FORMAT:
    self->format = (GstPointCloudFormat)g_value_get_enum (value);
    break;
  case PROP_FIELDS:
    take_string (&self->fields, value);
    break;
  case PROP_POINT_STEP:
    self->point_step = g_value_get_uint (value);
    break;
  case PROP_WIDTH:
    self->width = g_value_get_uint (value);
    break;
  case PROP_HEIGHT:
    self->height = g_value_get_uint (value);
    break;
  case PROP_FRAME_ID:
    take_string (&self->frame_id, value);
    break;
  case PROP_FRAMERATE:
    self->fps_n = gst_value_get_fraction_numerator (value);
    self->fps_d = gst_value_get_fraction_denominator (value);
    break;
  case PROP_POINTS_PER_SCAN:
    self->points_per_scan = g_value_get_uint (value);
    break;
  case PROP_TIMES_LOCATION:
    take_string (&self->times_location, value);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_raw_point_cloud_parse_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstRawPointCloudParse *self = GST_RAW_POINT_CLOUD_PARSE (object);
  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_FORMAT:
    g_value_set_enum (value, (gint)self->format);
    break;
  case PROP_FIELDS:
    g_value_set_string (value, self->fields);
    break;
  case PROP_POINT_STEP:
    g_value_set_uint (value, self->point_step);
    break;
  case PROP_WIDTH:
    g_value_set_uint (value, self->width);
    break;
  case PROP_HEIGHT:
    g_value_set_uint (value, self->height);
    break;
  case PROP_FRAME_ID:
    g_value_set_string (value, self->frame_id);
    break;
  case PROP_FRAMERATE:
    gst_value_set_fraction (value, self->fps_n, self->fps_d);
    break;
  case PROP_POINTS_PER_SCAN:
    g_value_set_uint (value, self->points_per_scan);
    break;
  case PROP_TIMES_LOCATION:
    g_value_set_string (value, self->times_location);
    break;
  case PROP_STATS:
    g_value_take_boxed (
        value, gst_structure_new ("application/x-rawpointcloudparse-stats", "scans", G_TYPE_UINT64,
                   self->n_scans, "bad", G_TYPE_UINT64, self->n_bad, NULL));
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_raw_point_cloud_parse_finalize (GObject *object)
{
  GstRawPointCloudParse *self = GST_RAW_POINT_CLOUD_PARSE (object);
  gst_point_cloud_timer_free (self->timer);
  g_object_unref (self->adapter);
  g_free (self->fields);
  g_free (self->frame_id);
  g_free (self->times_location);
  G_OBJECT_CLASS (gst_raw_point_cloud_parse_parent_class)->finalize (object);
}

static void
gst_raw_point_cloud_parse_init (GstRawPointCloudParse *self)
{
  self->sinkpad = gst_pad_new_from_static_template (&sink_template, "sink");
  gst_pad_set_chain_function (self->sinkpad, gst_raw_point_cloud_parse_chain);
  gst_pad_set_event_function (self->sinkpad, gst_raw_point_cloud_parse_sink_event);
  gst_sink_events_tell_flushing (self->sinkpad);
  gst_pad_set_query_function (self->sinkpad, gst_raw_point_cloud_parse_sink_query);
  gst_element_add_pad (GST_ELEMENT (self), self->sinkpad);
  self->srcpad = gst_pad_new_from_static_template (&src_template, "src");
  gst_pad_use_fixed_caps (self->srcpad);
  gst_element_add_pad (GST_ELEMENT (self), self->srcpad);

  self->fps_d = 1;
  self->adapter = gst_adapter_new ();
  self->timer = gst_point_cloud_timer_new (GST_ELEMENT (self));
}

static void
install_properties (GObjectClass *klass)
{
  const GParamFlags flags =
      (GParamFlags)(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY);

  g_object_class_install_property (klass, PROP_FORMAT,
      g_param_spec_enum ("format", "Format", "Layout of a point", TYPE_FORMAT,
          GST_POINT_CLOUD_FORMAT_UNKNOWN, flags));
  g_object_class_install_property (klass, PROP_FIELDS,
      g_param_spec_string ("fields", "Fields",
          "Fields of a point of format CUSTOM, \"name:type:offset,…\" as in caps, for example "
          "\"x:F32:0,y:F32:4,z:F32:8,ring:U16:12\"; needs point-step (unset = those of the caps)",
          NULL, flags));
  g_object_class_install_property (klass, PROP_POINT_STEP,
      g_param_spec_uint ("point-step", "Point Step",
          "Bytes of a point of format CUSTOM (0 = those of the caps)", 0, G_MAXINT, 0, flags));
  g_object_class_install_property (klass, PROP_WIDTH,
      g_param_spec_uint ("width", "Width",
          "Points of a row of an organized cloud (0 = as the caps that come say)", 0, G_MAXINT, 0,
          flags));
  g_object_class_install_property (klass, PROP_HEIGHT,
      g_param_spec_uint ("height", "Height",
          "Rows of an organized cloud (0 = as the caps that come say)", 0, G_MAXINT, 0, flags));
  g_object_class_install_property (klass, PROP_FRAME_ID,
      g_param_spec_string ("frame-id", "Frame Id",
          "Name of the frame of the points (unset = that of the caps)", NULL, flags));
  g_object_class_install_property (klass, PROP_FRAMERATE,
      gst_param_spec_fraction ("framerate", "Framerate",
          "Scans per second, for caps and for the time stamps of scans that have none (0/1 = that "
          "of the caps that come, else 10/1 with a warning)",
          0, 1, G_MAXINT, 1, 0, 1, flags));
  /**
   * GstRawPointCloudParse:points-per-scan:
   *
   * Where the stream is to be cut. 0: each buffer is a scan.
   */
  g_object_class_install_property (klass, PROP_POINTS_PER_SCAN,
      g_param_spec_uint ("points-per-scan", "Points per Scan",
          "Points of each scan of a stream of bytes, as filesrc sends it (0 = each buffer is a "
          "scan)",
          0, G_MAXINT / 64, 0, flags));
  /**
   * GstRawPointCloudParse:times-location:
   *
   * A text file with a time in seconds in the first column of each line, for the scans of the
   * stream in their order; '#' begins a comment. The segment begins at the earliest of them.
   */
  g_object_class_install_property (klass, PROP_TIMES_LOCATION,
      g_param_spec_string ("times-location", "Times Location",
          "File with the time of each scan in seconds, one a line, for scans without PTS (unset = "
          "from the framerate)",
          NULL, flags));
  /**
   * GstRawPointCloudParse:stats:
   *
   * Since the start: `scans` sent on and `bad` ones that were left out (guint64).
   */
  g_object_class_install_property (klass, PROP_STATS,
      g_param_spec_boxed ("stats", "Statistics",
          "Counts since the start: scans (sent on), bad (left out)", GST_TYPE_STRUCTURE,
          G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
}

static void
gst_raw_point_cloud_parse_class_init (GstRawPointCloudParseClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);

  GST_DEBUG_CATEGORY_INIT (
      gst_raw_point_cloud_parse_debug, "rawpointcloudparse", 0, "scans of bytes without a header");
  object_class->set_property = gst_raw_point_cloud_parse_set_property;
  object_class->get_property = gst_raw_point_cloud_parse_get_property;
  object_class->finalize = gst_raw_point_cloud_parse_finalize;
  element_class->change_state = gst_raw_point_cloud_parse_change_state;
  install_properties (object_class);

  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "Raw point cloud parser",
      "Codec/Parser/PointCloud", "Makes time-stamped scans of points without a header",
      "The gst-ndt developers");
  gst_type_mark_as_plugin_api (TYPE_FORMAT, 0);
}
