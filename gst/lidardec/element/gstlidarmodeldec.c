/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "gstlidarmodeldec.h"

#include "gst/common/gstrenamed.h"

enum { PROP_0, PROP_MODEL, PROP_CALIBRATION_LOCATION, PROP_RENAMED };

typedef struct {
  gint model;                  /* object lock */
  gchar *calibration_location; /* object lock */
  gpointer decoder;
} GstLidarModelDecPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (GstLidarModelDec, gst_lidar_model_dec, GST_TYPE_LIDAR_DEC)
#define PRIVATE(self)                                                                              \
  ((GstLidarModelDecPrivate *)gst_lidar_model_dec_get_instance_private (GST_LIDAR_MODEL_DEC (self)))

static gboolean
gst_lidar_model_dec_open (GstLidarDec *dec, GstPointCloudInfo *info)
{
  GstLidarModelDecPrivate *priv = PRIVATE (dec);
  g_autoptr (GError) error = NULL;
  g_autofree gchar *path = NULL, *shown = NULL, *text = NULL;
  gint model;

  GST_OBJECT_LOCK (dec);
  model = priv->model;
  path = g_strdup (priv->calibration_location);
  GST_OBJECT_UNLOCK (dec);
  if (path && *path) {
    text = gst_lidar_dec_read_file (dec, "calibration", path);
    if (!text)
      return FALSE;
  }
  priv->decoder = GST_LIDAR_MODEL_DEC_GET_CLASS (dec)->create (model, text, &error);
  shown = path ? g_filename_display_name (path) : NULL;
  if (!priv->decoder && text)
    GST_ELEMENT_ERROR (dec, RESOURCE, SETTINGS,
        ("The calibration \"%s\" cannot be used: %s.", shown, error->message), (NULL));
  else if (!priv->decoder)
    GST_ELEMENT_ERROR (
        dec, RESOURCE, SETTINGS, ("The model cannot be decoded: %s.", error->message), (NULL));
  if (priv->decoder)
    GST_CAT_INFO_OBJECT (GST_LIDAR_DEC_GET_CLASS (dec)->category, dec, "calibration: %s",
        text ? shown : "none named");
  return priv->decoder != NULL;
}

static void
gst_lidar_model_dec_close (GstLidarDec *dec)
{
  g_clear_pointer (&PRIVATE (dec)->decoder, GST_LIDAR_MODEL_DEC_GET_CLASS (dec)->destroy);
}

static const gchar *
gst_lidar_model_dec_get_model (GstLidarDec *dec)
{
  return GST_LIDAR_MODEL_DEC_GET_CLASS (dec)->get_model (PRIVATE (dec)->decoder);
}

static const gchar *
gst_lidar_model_dec_get_remark (GstLidarDec *dec)
{
  GstLidarModelDecClass *klass = GST_LIDAR_MODEL_DEC_GET_CLASS (dec);
  return klass->get_remark ? klass->get_remark (PRIVATE (dec)->decoder) : NULL;
}

static gboolean
gst_lidar_model_dec_decode (GstLidarDec *dec, const guint8 *data, gsize size, PacketCutter *cutter,
    gboolean *is_data, GError **error)
{
  return GST_LIDAR_MODEL_DEC_GET_CLASS (dec)->decode (
      PRIVATE (dec)->decoder, data, size, cutter, is_data, error);
}

static gboolean
gst_lidar_model_dec_calibrate (GstLidarDec *dec, const guint8 *data, gsize size, GError **error)
{
  GstLidarModelDecClass *klass = GST_LIDAR_MODEL_DEC_GET_CLASS (dec);
  return !klass->calibrate || klass->calibrate (PRIVATE (dec)->decoder, data, size, error);
}

static void
gst_lidar_model_dec_reset (GstLidarDec *dec)
{
  GstLidarModelDecClass *klass = GST_LIDAR_MODEL_DEC_GET_CLASS (dec);
  if (klass->reset)
    klass->reset (PRIVATE (dec)->decoder);
}

static void
gst_lidar_model_dec_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstLidarModelDecPrivate *priv = PRIVATE (object);
  GST_OBJECT_LOCK (object);
  switch (id) {
  case PROP_MODEL:
    priv->model = g_value_get_enum (value);
    break;
  case PROP_CALIBRATION_LOCATION:
    g_free (priv->calibration_location);
    priv->calibration_location = g_value_dup_string (value);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (object);
}

static void
gst_lidar_model_dec_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstLidarModelDecPrivate *priv = PRIVATE (object);
  GST_OBJECT_LOCK (object);
  switch (id) {
  case PROP_MODEL:
    g_value_set_enum (value, priv->model);
    break;
  case PROP_CALIBRATION_LOCATION:
    g_value_set_string (value, priv->calibration_location);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (object);
}

static void
gst_lidar_model_dec_finalize (GObject *object)
{
  g_free (PRIVATE (object)->calibration_location);
  G_OBJECT_CLASS (gst_lidar_model_dec_parent_class)->finalize (object);
}

static void
gst_lidar_model_dec_init (GstLidarModelDec *self)
{
}

static void
gst_lidar_model_dec_class_init (GstLidarModelDecClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstLidarDecClass *dec_class = GST_LIDAR_DEC_CLASS (klass);

  object_class->finalize = gst_lidar_model_dec_finalize;
  dec_class->open = gst_lidar_model_dec_open;
  dec_class->close = gst_lidar_model_dec_close;
  dec_class->get_model = gst_lidar_model_dec_get_model;
  dec_class->get_remark = gst_lidar_model_dec_get_remark;
  dec_class->decode = gst_lidar_model_dec_decode;
  dec_class->calibrate = gst_lidar_model_dec_calibrate;
  dec_class->reset = gst_lidar_model_dec_reset;
  gst_type_mark_as_plugin_api (GST_TYPE_LIDAR_MODEL_DEC, 0);
}

static const GstRenamedProperty renamed[] = {
    {"calibration", G_TYPE_STRING, "is called “calibration-location” since 0.2"},
};

void
gst_lidar_model_dec_class_install (GstLidarModelDecClass *klass, GType models, const gchar *blurb)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  const GParamFlags ready = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY;
  /* GObject wants them of the class that has the properties. */
  object_class->set_property = gst_lidar_model_dec_set_property;
  object_class->get_property = gst_lidar_model_dec_get_property;
  g_object_class_install_property (object_class, PROP_MODEL,
      g_param_spec_enum ("model", "Model", "Model of the sensor; packets of others are left out",
          models, 0, ready));
  g_object_class_install_property (object_class, PROP_CALIBRATION_LOCATION,
      g_param_spec_string ("calibration-location", "Calibration Location", blurb, NULL, ready));
  gst_type_mark_as_plugin_api (models, 0);
  gst_renamed_properties_install (object_class, PROP_RENAMED, renamed, G_N_ELEMENTS (renamed));
}
