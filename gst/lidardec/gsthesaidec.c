/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-hesaidec
 * @title: hesaidec
 * @short_description: decodes packets of Hesai lidars
 *
 * Makes scans of the packets of Pandar40P, Pandar64, PandarQT (64 lasers), PandarXT-16, PandarXT-32
 * and PandarXT-32M, with one or two returns.
 *
 * Points are in the sensor's frame: y forward (azimuth 0), x right, z up.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 lidarpcapsrc location=nebula/xt32/xt32.pcap !
 * hesaidec calibration=nebula/calibration/PandarXT32.csv ! fakesink
 * ]|
 */
#include "config.h"

#include "gsthesaidec.h"

#include "hesai.h"

enum { PROP_0, PROP_MODEL, PROP_CALIBRATION };

struct _GstHesaiDec {
  GstLidarDec parent;

  HesaiModel model;   /* object lock */
  gchar *calibration; /* object lock */
  Hesai *hesai;
};

G_DEFINE_TYPE (GstHesaiDec, gst_hesai_dec, GST_TYPE_LIDAR_DEC)
GST_ELEMENT_REGISTER_DEFINE (hesaidec, "hesaidec", GST_RANK_NONE, GST_TYPE_HESAI_DEC)

#define GST_TYPE_HESAI_DEC_MODEL (gst_hesai_dec_model_get_type ())
static GType
gst_hesai_dec_model_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
      {HESAI_MODEL_AUTO, "What the first packet says", "auto"},
      {HESAI_MODEL_PANDAR_40P, "Pandar40P; needs a calibration", "pandar-40p"},
      {HESAI_MODEL_PANDAR_64, "Pandar64; needs a calibration", "pandar-64"},
      {HESAI_MODEL_QT64, "PandarQT; needs a calibration", "qt64"},
      {HESAI_MODEL_XT16, "PandarXT-16", "xt16"},
      {HESAI_MODEL_XT32, "PandarXT-32", "xt32"},
      {HESAI_MODEL_XT32M, "PandarXT-32M", "xt32m"},
      {0, NULL, NULL},
  };
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstHesaiDecModel", values));
  return type;
}

static gboolean
gst_hesai_dec_open (GstLidarDec *dec, GstPointCloudInfo *info)
{
  GstHesaiDec *self = GST_HESAI_DEC (dec);
  g_autoptr (GError) error = NULL;
  g_autofree gchar *path = NULL, *text = NULL;
  HesaiCalibration calibration;
  HesaiModel model;

  GST_OBJECT_LOCK (self);
  model = self->model;
  path = g_strdup (self->calibration);
  GST_OBJECT_UNLOCK (self);
  if (path && *path) {
    text = gst_lidar_dec_read_file (dec, "calibration", path);
    if (!text)
      return FALSE;
    if (!hesai_calibration_parse (&calibration, text, &error)) {
      GST_ELEMENT_ERROR (self, RESOURCE, SETTINGS,
          ("\"%s\" is no calibration of a Hesai lidar: %s.", path, error->message), (NULL));
      return FALSE;
    }
  }
  self->hesai = hesai_new (model, text ? &calibration : NULL, &error);
  if (!self->hesai)
    GST_ELEMENT_ERROR (self, RESOURCE, SETTINGS,
        ("Cannot decode packets of a %s: %s.", hesai_model_get_name (model), error->message),
        (NULL));
  return self->hesai != NULL;
}

static void
gst_hesai_dec_close (GstLidarDec *dec)
{
  g_clear_pointer (&GST_HESAI_DEC (dec)->hesai, hesai_free);
}

static gboolean
gst_hesai_dec_decode (GstLidarDec *dec, const guint8 *data, gsize size, LidarCutter *cutter,
    gboolean *is_data, GError **error)
{
  return hesai_decode (GST_HESAI_DEC (dec)->hesai, data, size, cutter, is_data, error);
}

/* UTC, or what the sensor takes for it where nothing tells it. */
static GstCaps *
gst_hesai_dec_clock (GstLidarDec *dec)
{
  return gst_caps_new_empty_simple ("timestamp/x-unix");
}

static void
gst_hesai_dec_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstHesaiDec *self = GST_HESAI_DEC (object);
  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_MODEL:
    self->model = (HesaiModel)g_value_get_enum (value);
    break;
  case PROP_CALIBRATION:
    g_free (self->calibration);
    self->calibration = g_value_dup_string (value);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_hesai_dec_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstHesaiDec *self = GST_HESAI_DEC (object);
  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_MODEL:
    g_value_set_enum (value, (gint)self->model);
    break;
  case PROP_CALIBRATION:
    g_value_set_string (value, self->calibration);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_hesai_dec_finalize (GObject *object)
{
  g_free (GST_HESAI_DEC (object)->calibration);
  G_OBJECT_CLASS (gst_hesai_dec_parent_class)->finalize (object);
}

static void
gst_hesai_dec_init (GstHesaiDec *self)
{
}

static void
gst_hesai_dec_class_init (GstHesaiDecClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstLidarDecClass *dec_class = GST_LIDAR_DEC_CLASS (klass);
  const GParamFlags ready = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY;

  object_class->set_property = gst_hesai_dec_set_property;
  object_class->get_property = gst_hesai_dec_get_property;
  object_class->finalize = gst_hesai_dec_finalize;
  g_object_class_install_property (object_class, PROP_MODEL,
      g_param_spec_enum ("model", "Model", "Model of the sensor; packets of others are left out",
          GST_TYPE_HESAI_DEC_MODEL, HESAI_MODEL_AUTO, ready));
  g_object_class_install_property (object_class, PROP_CALIBRATION,
      g_param_spec_string ("calibration", "Calibration",
          "The sensor's file of angle corrections (CSV); NULL: the manual's angles", NULL, ready));

  dec_class->open = gst_hesai_dec_open;
  dec_class->close = gst_hesai_dec_close;
  dec_class->decode = gst_hesai_dec_decode;
  dec_class->clock = gst_hesai_dec_clock;
  gst_element_class_set_static_metadata (GST_ELEMENT_CLASS (klass), "Hesai decoder",
      "Codec/Decoder/PointCloud", "Decodes packets of Hesai lidars into scans", "gst-ndt");
  gst_type_mark_as_plugin_api (GST_TYPE_HESAI_DEC_MODEL, 0);
}
