/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-pointcloudconvert
 * @title: pointcloudconvert
 * @short_description: makes points of one layout into points of another
 *
 * What downstream's caps ask for decides the layout: fields are found by their names, widened,
 * narrowed with saturation, left out or, where nothing tells them, 0. Takes and makes the clouds
 * of EdgeFirst (`application/x-pointcloud2`) and of DL Streamer (`application/x-lidar`) too.
 * Where nothing is to be done scans pass as they are.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 lidartestsrc num-buffers=5 ! pointcloudconvert ! \
 *     pointcloud/x-raw,format=XYZ_F64LE ! fakesink
 * ]|
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstpointcloudconvert.h"

#include "gst/common/gstsinkevents.h"
#include "gstcloudcaps.h"
#include "gstcloudcopy.h"

GST_DEBUG_CATEGORY_STATIC (gst_point_cloud_convert_debug);
#define GST_CAT_DEFAULT gst_point_cloud_convert_debug

enum { PROP_0, PROP_RENAME, PROP_ORGANIZED, PROP_FIELDS, PROP_STATS };

struct _GstPointCloudConvert {
  GstBaseTransform parent;

  /* under the object lock */
  gchar *rename;
  gchar *fields;
  gboolean organized;
  guint64 n_scans;
  guint64 n_bad;
  guint64 n_saturated;

  /* streaming thread */
  GstCloudLayout in, out;
  GstCloudCopy *copy;
  gboolean saturation_told;
  gchar *missing_told; /* the fields that the last warning named */
};

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS (GST_CLOUD_CAPS_SINK));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE (
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS (GST_CLOUD_CAPS_SRC));

G_DEFINE_TYPE (GstPointCloudConvert, gst_point_cloud_convert, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE (
    pointcloudconvert, "pointcloudconvert", GST_RANK_NONE, GST_TYPE_POINT_CLOUD_CONVERT)

static gboolean
get_organized (GstPointCloudConvert *self)
{
  GST_OBJECT_LOCK (self);
  const gboolean organized = self->organized;
  GST_OBJECT_UNLOCK (self);
  return organized;
}

static gchar *
dup_fields (GstPointCloudConvert *self)
{
  GST_OBJECT_LOCK (self);
  gchar *fields = g_strdup (self->fields);
  GST_OBJECT_UNLOCK (self);
  return fields;
}

static GstCaps *
gst_point_cloud_convert_transform_caps (
    GstBaseTransform *transform, GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  GstCaps *out = gst_cloud_caps_transform (
      caps, direction, get_organized (GST_POINT_CLOUD_CONVERT (transform)));

  if (filter) {
    GstCaps *filtered = gst_caps_intersect_full (filter, out, GST_CAPS_INTERSECT_FIRST);
    gst_caps_unref (out);
    out = filtered;
  }
  return out;
}

static GstCaps *
gst_point_cloud_convert_fixate_caps (
    GstBaseTransform *transform, GstPadDirection direction, GstCaps *caps, GstCaps *other)
{
  GstPointCloudConvert *self = GST_POINT_CLOUD_CONVERT (transform);
  g_autofree gchar *fields = dup_fields (self);
  GstCloudLayout layout;

  if (direction == GST_PAD_SINK && gst_cloud_layout_from_caps (&layout, caps, fields, NULL))
    return gst_cloud_caps_fixate (caps, &layout, other, get_organized (self));
  return gst_caps_fixate (gst_caps_truncate (other));
}

/* Of caps that came or were chosen; an error message where they are none. */
static gboolean
read_layout (GstPointCloudConvert *self, GstCaps *caps, GstCloudLayout *layout)
{
  g_autofree gchar *fields = dup_fields (self);
  g_autoptr (GError) error = NULL;

  if (gst_cloud_layout_from_caps (layout, caps, fields, &error))
    return TRUE;
  GST_ELEMENT_ERROR (
      self, STREAM, FORMAT, ("The caps describe no clouds: %s.", error->message), (NULL));
  return FALSE;
}

/* Caps that have the number of points change with each scan: once for the same fields. */
static void
tell_missing (GstPointCloudConvert *self, const gchar *missing)
{
  if (g_strcmp0 (missing, self->missing_told) == 0)
    return;
  g_free (self->missing_told);
  self->missing_told = g_strdup (missing);
  if (missing)
    GST_ELEMENT_WARNING (self, STREAM, FORMAT,
        ("The clouds that come do not have %s: in what leaves these fields are 0. If they have "
         "another name, set the property “rename”.",
            missing),
        (NULL));
}

static gboolean
gst_point_cloud_convert_set_caps (GstBaseTransform *transform, GstCaps *in_caps, GstCaps *out_caps)
{
  GstPointCloudConvert *self = GST_POINT_CLOUD_CONVERT (transform);
  g_autoptr (GError) error = NULL;

  GST_OBJECT_LOCK (self);
  g_autofree gchar *rename = g_strdup (self->rename);
  GST_OBJECT_UNLOCK (self);
  g_clear_pointer (&self->copy, gst_cloud_copy_free);
  if (!read_layout (self, in_caps, &self->in))
    return FALSE;
  /* The text ANY of EdgeFirst's templates asks for no layout: it stays. */
  if (!gst_cloud_layout_from_caps (&self->out, out_caps, NULL, NULL)) {
    if (!gst_structure_has_name (gst_caps_get_structure (out_caps, 0), GST_CLOUD_CAPS_POINTCLOUD2))
      return read_layout (self, out_caps, &self->out);
    self->out = self->in;
    self->out.counted = TRUE;
  }
  self->copy = gst_cloud_copy_new (&self->in, &self->out, rename, &error);
  if (!self->copy) {
    GST_ELEMENT_ERROR (
        self, STREAM, FORMAT, ("The clouds cannot be converted: %s.", error->message), (NULL));
    return FALSE;
  }
  const gboolean nothing_to_do =
      gst_caps_is_equal (in_caps, out_caps) ||
      (gst_cloud_layout_has_same_points (&self->in, &self->out) && !self->out.counted && !rename);
  gst_base_transform_set_passthrough (transform, nothing_to_do);
  GST_INFO_OBJECT (self, "%s %" GST_PTR_FORMAT " to %" GST_PTR_FORMAT,
      nothing_to_do ? "pass" : "convert", in_caps, out_caps);
  tell_missing (self, gst_cloud_copy_get_missing (self->copy));
  return TRUE;
}

static gboolean
gst_point_cloud_convert_transform_size (GstBaseTransform *transform, GstPadDirection direction,
    GstCaps *caps, gsize size, GstCaps *other_caps, gsize *other_size)
{
  GstPointCloudConvert *self = GST_POINT_CLOUD_CONVERT (transform);

  /* Whether the size is that of a cloud is seen to where it is converted. */
  if (direction == GST_PAD_SINK)
    *other_size = size / self->in.info.point_step * self->out.info.point_step;
  else
    *other_size = size / self->out.info.point_step * self->in.info.point_step;
  return TRUE;
}

static GstFlowReturn
leave_out (GstPointCloudConvert *self, const gchar *reason)
{
  GST_OBJECT_LOCK (self);
  self->n_bad++;
  GST_OBJECT_UNLOCK (self);
  GST_ELEMENT_WARNING (self, STREAM, DECODE, ("A scan is left out: %s.", reason), (NULL));
  return GST_BASE_TRANSFORM_FLOW_DROPPED;
}

/* GLib ends the process where memory cannot be had: a layout with a large step is refused. */
static GstFlowReturn
gst_point_cloud_convert_prepare_output_buffer (
    GstBaseTransform *transform, GstBuffer *in, GstBuffer **out)
{
  GstPointCloudConvert *self = GST_POINT_CLOUD_CONVERT (transform);
  /* GstBaseTransform lets scans through after caps that were refused. */
  if (!self->copy)
    return GST_FLOW_NOT_NEGOTIATED;
  const gsize n = gst_buffer_get_size (in) / self->in.info.point_step;

  if (!gst_base_transform_is_passthrough (transform) && n > G_MAXINT / self->out.info.point_step) {
    g_autofree gchar *reason =
        g_strdup_printf ("%" G_GSIZE_FORMAT " points of the %u bytes that downstream's caps "
                         "ask for (point-step) are more than 2 GiB",
            n, self->out.info.point_step);
    return leave_out (self, reason);
  }
  return GST_BASE_TRANSFORM_CLASS (gst_point_cloud_convert_parent_class)
      ->prepare_output_buffer (transform, in, out);
}

/* Caps of EdgeFirst have the number of points: they change with it. */
static gboolean
count_points (GstPointCloudConvert *self, gsize n)
{
  GstBaseTransform *transform = GST_BASE_TRANSFORM (self);
  const GstPointCloudInfo *info = &self->in.info;
  g_autoptr (GstCaps) current = gst_pad_get_current_caps (GST_BASE_TRANSFORM_SRC_PAD (self));
  g_autoptr (GstCaps) caps = NULL;

  if (!current)
    return FALSE;
  caps = gst_caps_copy (current);
  const gboolean organized = info->width > 0 && get_organized (self);
  gst_caps_set_simple (caps, "width", G_TYPE_INT, organized ? (gint)info->width : (gint)n, "height",
      G_TYPE_INT, organized ? (gint)info->height : 1, NULL);
  return gst_caps_is_equal (caps, current) || gst_base_transform_update_src_caps (transform, caps);
}

static void
tell_saturation (GstPointCloudConvert *self, guint64 n)
{
  GST_OBJECT_LOCK (self);
  self->n_saturated += n;
  GST_OBJECT_UNLOCK (self);
  if (n == 0 || self->saturation_told)
    return;
  self->saturation_told = TRUE;
  GST_ELEMENT_WARNING (self, STREAM, FORMAT,
      ("Values do not fit the types of the fields that downstream's caps ask for: "
       "%" G_GUINT64_FORMAT " of a scan became the nearest that do.",
          n),
      (NULL));
}

static GstFlowReturn
gst_point_cloud_convert_transform (GstBaseTransform *transform, GstBuffer *in, GstBuffer *out)
{
  GstPointCloudConvert *self = GST_POINT_CLOUD_CONVERT (transform);
  g_autoptr (GError) error = NULL;
  GstPointCloudMap map;
  GstMapInfo out_map;

  GST_OBJECT_LOCK (self);
  self->n_scans++;
  GST_OBJECT_UNLOCK (self);
  if (!gst_point_cloud_map (&map, &self->in.info, in, GST_MAP_READ, &error))
    return leave_out (self, error->message);
  const gsize n = map.n_points;
  if (self->out.info.width > 0 && n != (gsize)self->out.info.width * self->out.info.height) {
    g_autofree gchar *reason =
        g_strdup_printf ("it has %" G_GSIZE_FORMAT " points, and downstream's caps ask for %u × %u",
            n, self->out.info.width, self->out.info.height);
    gst_point_cloud_unmap (&map);
    return leave_out (self, reason);
  }
  if (self->out.counted && (n == 0 || n > G_MAXINT || !count_points (self, n))) {
    gst_point_cloud_unmap (&map);
    if (n > 0)
      return GST_FLOW_NOT_NEGOTIATED;
    gst_pad_push_event (GST_BASE_TRANSFORM_SRC_PAD (self),
        gst_event_new_gap (GST_BUFFER_PTS (in), GST_BUFFER_DURATION (in)));
    return GST_BASE_TRANSFORM_FLOW_DROPPED;
  }
  if (!gst_buffer_map (out, &out_map, GST_MAP_WRITE)) {
    gst_point_cloud_unmap (&map);
    GST_ELEMENT_ERROR (self, RESOURCE, WRITE,
        ("The memory that the next element offers for a scan of %" G_GSIZE_FORMAT
         " points cannot be written.",
            n),
        (NULL));
    return GST_FLOW_ERROR;
  }
  const guint64 n_changed = gst_cloud_copy_run (self->copy, map.data, out_map.data, n);
  gst_buffer_unmap (out, &out_map);
  gst_point_cloud_unmap (&map);
  tell_saturation (self, n_changed);
  GST_LOG_OBJECT (self,
      "scan at %" GST_TIME_FORMAT ": %" G_GSIZE_FORMAT " points, %" G_GUINT64_FORMAT
      " values saturated",
      GST_TIME_ARGS (GST_BUFFER_PTS (in)), n, n_changed);
  return GST_FLOW_OK;
}

/* Of layouts that are the same, too, whose scans pass as they are. */
static GstFlowReturn
gst_point_cloud_convert_submit_input_buffer (
    GstBaseTransform *transform, gboolean is_discont, GstBuffer *input)
{
  GstPointCloudConvert *self = GST_POINT_CLOUD_CONVERT (transform);

  if (self->copy)
    input = gst_point_cloud_element_take_scan (GST_ELEMENT (self), &self->in.info, input);
  return GST_BASE_TRANSFORM_CLASS (gst_point_cloud_convert_parent_class)
      ->submit_input_buffer (transform, is_discont, input);
}

static gboolean
gst_point_cloud_convert_sink_event (GstBaseTransform *transform, GstEvent *event)
{
  if (GST_EVENT_TYPE (event) == GST_EVENT_SEGMENT &&
      !gst_point_cloud_require_time_segment (GST_ELEMENT (transform), event)) {
    gst_event_unref (event);
    return FALSE;
  }
  return GST_BASE_TRANSFORM_CLASS (gst_point_cloud_convert_parent_class)
      ->sink_event (transform, event);
}

static gboolean
gst_point_cloud_convert_start (GstBaseTransform *transform)
{
  GstPointCloudConvert *self = GST_POINT_CLOUD_CONVERT (transform);

  GST_OBJECT_LOCK (self);
  self->n_scans = self->n_bad = self->n_saturated = 0;
  GST_OBJECT_UNLOCK (self);
  self->saturation_told = FALSE;
  g_clear_pointer (&self->missing_told, g_free);
  return TRUE;
}

static gboolean
gst_point_cloud_convert_stop (GstBaseTransform *transform)
{
  g_clear_pointer (&GST_POINT_CLOUD_CONVERT (transform)->copy, gst_cloud_copy_free);
  return TRUE;
}

/* ---- Properties ---- */

static void
gst_point_cloud_convert_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstPointCloudConvert *self = GST_POINT_CLOUD_CONVERT (object);

  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_RENAME:
    g_free (self->rename);
    self->rename = g_value_dup_string (value);
    break;
  case PROP_ORGANIZED:
    self->organized = g_value_get_boolean (value);
    break;
  case PROP_FIELDS:
    g_free (self->fields);
    self->fields = g_value_dup_string (value);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_point_cloud_convert_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstPointCloudConvert *self = GST_POINT_CLOUD_CONVERT (object);

  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_RENAME:
    g_value_set_string (value, self->rename);
    break;
  case PROP_ORGANIZED:
    g_value_set_boolean (value, self->organized);
    break;
  case PROP_FIELDS:
    g_value_set_string (value, self->fields);
    break;
  case PROP_STATS:
    g_value_take_boxed (
        value, gst_structure_new ("application/x-pointcloudconvert-stats", "scans", G_TYPE_UINT64,
                   self->n_scans, "bad", G_TYPE_UINT64, self->n_bad, "saturated", G_TYPE_UINT64,
                   self->n_saturated, "cut", G_TYPE_UINT64,
                   gst_point_cloud_element_get_n_cut (GST_ELEMENT (self)), NULL));
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_point_cloud_convert_finalize (GObject *object)
{
  GstPointCloudConvert *self = GST_POINT_CLOUD_CONVERT (object);

  g_clear_pointer (&self->copy, gst_cloud_copy_free);
  g_free (self->missing_told);
  g_free (self->rename);
  g_free (self->fields);
  G_OBJECT_CLASS (gst_point_cloud_convert_parent_class)->finalize (object);
}

static void
gst_point_cloud_convert_class_init (GstPointCloudConvertClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS (klass);
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY;

  object_class->set_property = gst_point_cloud_convert_set_property;
  object_class->get_property = gst_point_cloud_convert_get_property;
  object_class->finalize = gst_point_cloud_convert_finalize;

  g_object_class_install_property (object_class, PROP_RENAME,
      g_param_spec_string ("rename", "Rename",
          "Fields that get another name, as \"from:to,from:to\", for example "
          "\"reflectivity:intensity\" (unset = none)",
          NULL, flags));
  g_object_class_install_property (object_class, PROP_ORGANIZED,
      g_param_spec_boolean ("organized", "Organized",
          "Whether clouds that have width and height keep them; their points stay either way", TRUE,
          flags));
  g_object_class_install_property (object_class, PROP_FIELDS,
      g_param_spec_string ("fields", "Fields",
          "Fields of clouds that come with caps application/x-pointcloud2 without fields, as in "
          "caps: \"x:F32:0,y:F32:4,z:F32:8\" (unset = such caps are refused)",
          NULL, flags));
  g_object_class_install_property (object_class, PROP_STATS,
      g_param_spec_boxed ("stats", "Statistics",
          "Counts since the start: scans that were converted or left out, bad (of those, left "
          "out), saturated (values that did not fit their new type)",
          GST_TYPE_STRUCTURE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));

  gst_element_class_set_static_metadata (element_class, "Point cloud converter",
      "Filter/Converter/PointCloud", "Makes points of one layout into points of another",
      "The gst-ndt developers");
  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);

  transform_class->passthrough_on_same_caps = FALSE;
  transform_class->transform_caps = gst_point_cloud_convert_transform_caps;
  transform_class->fixate_caps = gst_point_cloud_convert_fixate_caps;
  transform_class->set_caps = gst_point_cloud_convert_set_caps;
  transform_class->transform_size = gst_point_cloud_convert_transform_size;
  transform_class->submit_input_buffer = gst_point_cloud_convert_submit_input_buffer;
  transform_class->prepare_output_buffer = gst_point_cloud_convert_prepare_output_buffer;
  transform_class->transform = gst_point_cloud_convert_transform;
  transform_class->sink_event = gst_point_cloud_convert_sink_event;
  transform_class->start = gst_point_cloud_convert_start;
  transform_class->stop = gst_point_cloud_convert_stop;

  GST_DEBUG_CATEGORY_INIT (
      gst_point_cloud_convert_debug, "pointcloudconvert", 0, "layouts of point clouds");
}

static void
gst_point_cloud_convert_init (GstPointCloudConvert *self)
{
  self->organized = TRUE;
  gst_sink_events_tell_flushing (GST_BASE_TRANSFORM_SINK_PAD (self));
}
