/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-pcdenc
 * @title: pcdenc
 * @short_description: encodes point clouds as PCD files
 *
 * Each buffer that leaves is a whole file with all fields of the points, in one of PCD's three
 * encodings: what multifilesink writes as files, and pcddec and other programs read.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 lidartestsrc num-buffers=3 ! pcdenc encoding=binary_compressed ! \
 *     multifilesink location=%06d.pcd
 * ]|
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstpcdenc.h"

#include "gst/common/gstsinkevents.h"
#include "gstpcddec.h"
#include "gstpcdwrite.h"

GST_DEBUG_CATEGORY_STATIC (gst_pcd_enc_debug);
#define GST_CAT_DEFAULT gst_pcd_enc_debug

enum { PROP_0, PROP_ENCODING, PROP_STATS };

struct _GstPcdEnc {
  GstBaseTransform parent;

  /* under the object lock */
  NdtPcdEncoding encoding;
  guint64 n_scans;
  guint64 n_bad;

  /* streaming thread */
  GstPointCloudInfo info;
};

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK,
    GST_PAD_ALWAYS, GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_MAKE (GST_POINT_CLOUD_FORMATS_ALL)));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE (
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS (GST_PCD_CAPS_NAME));

G_DEFINE_TYPE (GstPcdEnc, gst_pcd_enc, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE (pcdenc, "pcdenc", GST_RANK_NONE, GST_TYPE_PCD_ENC)

static GType
encoding_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {{NDT_PCD_ASCII, "Text", "ascii"},
      {NDT_PCD_BINARY, "Points as they are in memory", "binary"},
      {NDT_PCD_BINARY_COMPRESSED, "Fields one after the other, compressed", "binary_compressed"},
      {0, NULL, NULL}};
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstPcdEncEncoding", values));
  return type;
}

static GstCaps *
gst_pcd_enc_transform_caps (
    GstBaseTransform *transform, GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  GstCaps *out = gst_caps_new_empty ();

  /* The framerate goes through: pcddec stamps files by it. */
  for (guint i = 0; i < gst_caps_get_size (caps); i++) {
    const GstStructure *structure = gst_caps_get_structure (caps, i);
    const GValue *framerate = gst_structure_get_value (structure, "framerate");
    GstStructure *other = direction == GST_PAD_SINK
                              ? gst_structure_new_empty (GST_PCD_CAPS_NAME)
                              : gst_structure_new_from_string (
                                    GST_POINT_CLOUD_CAPS_MAKE (GST_POINT_CLOUD_FORMATS_ALL));
    if (framerate)
      gst_structure_set_value (other, "framerate", framerate);
    out = gst_caps_merge_structure (out, other);
  }
  if (filter) {
    GstCaps *filtered = gst_caps_intersect_full (filter, out, GST_CAPS_INTERSECT_FIRST);
    gst_caps_unref (out);
    out = filtered;
  }
  return out;
}

static gboolean
gst_pcd_enc_set_caps (GstBaseTransform *transform, GstCaps *in_caps, GstCaps *out_caps)
{
  GstPcdEnc *self = GST_PCD_ENC (transform);
  g_autoptr (GError) error = NULL;

  if (gst_point_cloud_info_from_caps (&self->info, in_caps, &error))
    return TRUE;
  GST_ELEMENT_ERROR (
      self, STREAM, FORMAT, ("The caps describe no clouds: %s.", error->message), (NULL));
  return FALSE;
}

static gboolean
gst_pcd_enc_sink_event (GstBaseTransform *transform, GstEvent *event)
{
  if (GST_EVENT_TYPE (event) == GST_EVENT_SEGMENT &&
      !gst_point_cloud_require_time_segment (GST_ELEMENT (transform), event)) {
    gst_event_unref (event);
    return FALSE;
  }
  return GST_BASE_TRANSFORM_CLASS (gst_pcd_enc_parent_class)->sink_event (transform, event);
}

/* (transfer full) of @scan; NULL where it is left out. */
static GstBuffer *
encode (GstPcdEnc *self, GstBuffer *scan, GError **error)
{
  g_autoptr (GBytes) bytes = NULL;
  GstPointCloudMap map;
  GstBuffer *file = NULL;

  scan = gst_point_cloud_element_take_scan (GST_ELEMENT (self), &self->info, scan);
  GST_OBJECT_LOCK (self);
  const NdtPcdEncoding encoding = self->encoding;
  self->n_scans++;
  GST_OBJECT_UNLOCK (self);
  if (gst_point_cloud_map (&map, &self->info, scan, GST_MAP_READ, error)) {
    bytes = gst_pcd_write (&map, encoding, error);
    gst_point_cloud_unmap (&map);
  }
  if (bytes) {
    file = gst_buffer_new_wrapped_bytes (bytes);
    gst_buffer_copy_into (file, scan,
        GST_BUFFER_COPY_FLAGS | GST_BUFFER_COPY_TIMESTAMPS | GST_BUFFER_COPY_META, 0, -1);
    GST_BUFFER_FLAG_UNSET (file, GST_POINT_CLOUD_BUFFER_FLAG_ALL_FINITE);
  }
  gst_buffer_unref (scan);
  return file;
}

static GstFlowReturn
gst_pcd_enc_generate_output (GstBaseTransform *transform, GstBuffer **out)
{
  GstPcdEnc *self = GST_PCD_ENC (transform);
  GstBuffer *scan = g_steal_pointer (&transform->queued_buf);
  g_autoptr (GError) error = NULL;

  *out = scan ? encode (self, scan, &error) : NULL;
  if (error && g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT)) {
    GST_ELEMENT_ERROR (self, RESOURCE, NO_SPACE_LEFT, ("%s.", error->message), (NULL));
    return GST_FLOW_ERROR;
  }
  if (error) {
    GST_OBJECT_LOCK (self);
    self->n_bad++;
    GST_OBJECT_UNLOCK (self);
    GST_ELEMENT_WARNING (self, STREAM, ENCODE, ("A scan is left out: %s.", error->message), (NULL));
  }
  return GST_FLOW_OK;
}

static gboolean
gst_pcd_enc_start (GstBaseTransform *transform)
{
  GstPcdEnc *self = GST_PCD_ENC (transform);

  GST_OBJECT_LOCK (self);
  self->n_scans = self->n_bad = 0;
  GST_OBJECT_UNLOCK (self);
  return TRUE;
}

static void
gst_pcd_enc_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstPcdEnc *self = GST_PCD_ENC (object);

  if (id != PROP_ENCODING) {
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    return;
  }
  GST_OBJECT_LOCK (self);
  self->encoding = (NdtPcdEncoding)g_value_get_enum (value);
  GST_OBJECT_UNLOCK (self);
}

static void
gst_pcd_enc_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstPcdEnc *self = GST_PCD_ENC (object);

  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_ENCODING:
    g_value_set_enum (value, (gint)self->encoding);
    break;
  case PROP_STATS:
    g_value_take_boxed (
        value, gst_structure_new ("application/x-pcdenc-stats", "scans", G_TYPE_UINT64,
                   self->n_scans, "bad", G_TYPE_UINT64, self->n_bad, "cut", G_TYPE_UINT64,
                   gst_point_cloud_element_get_n_cut (GST_ELEMENT (self)), NULL));
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_pcd_enc_class_init (GstPcdEncClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS (klass);

  object_class->set_property = gst_pcd_enc_set_property;
  object_class->get_property = gst_pcd_enc_get_property;
  g_object_class_install_property (object_class, PROP_ENCODING,
      g_param_spec_enum ("encoding", "Encoding", "How points are written", encoding_get_type (),
          NDT_PCD_BINARY, G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING));
  g_object_class_install_property (object_class, PROP_STATS,
      g_param_spec_boxed ("stats", "Statistics",
          "Counts since the start: scans, bad (of these, left out)", GST_TYPE_STRUCTURE,
          G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
  gst_type_mark_as_plugin_api (encoding_get_type (), 0);

  gst_element_class_set_static_metadata (element_class, "PCD encoder", "Codec/Encoder/PointCloud",
      "Encodes point clouds as PCD files", "The gst-ndt developers");
  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);

  transform_class->passthrough_on_same_caps = FALSE;
  transform_class->transform_caps = gst_pcd_enc_transform_caps;
  transform_class->set_caps = gst_pcd_enc_set_caps;
  transform_class->sink_event = gst_pcd_enc_sink_event;
  transform_class->generate_output = gst_pcd_enc_generate_output;
  transform_class->start = gst_pcd_enc_start;

  GST_DEBUG_CATEGORY_INIT (gst_pcd_enc_debug, "pcdenc", 0, "PCD encoder");
}

static void
gst_pcd_enc_init (GstPcdEnc *self)
{
  self->encoding = NDT_PCD_BINARY;
  gst_sink_events_tell_flushing (GST_BASE_TRANSFORM_SINK_PAD (self));
}
