/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-hesaidec
 * @title: hesaidec
 * @short_description: decodes packets of Hesai lidars
 *
 * Makes scans of the packets of Pandar40P, Pandar64, PandarQT (64 lasers), QT128, PandarXT-16,
 * PandarXT-32 and PandarXT-32M, with one or two returns, of the latter with three as well.
 *
 * Points are in the sensor's frame: y forward (azimuth 0), x right, z up.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 lidarpcapsrc location=nebula/xt32/xt32.pcap !
 * hesaidec calibration-location=nebula/calibration/PandarXT32.csv ! fakesink
 * ]|
 */
#include "config.h"

#include "gsthesaidec.h"

#include "hesai.h"

struct _GstHesaiDec {
  GstLidarModelDec parent;
};

GST_DEBUG_CATEGORY_STATIC (hesaidec_debug);

G_DEFINE_TYPE (GstHesaiDec, gst_hesai_dec, GST_TYPE_LIDAR_MODEL_DEC)
GST_ELEMENT_REGISTER_DEFINE (hesaidec, "hesaidec", GST_RANK_NONE, GST_TYPE_HESAI_DEC)

#define GST_TYPE_HESAI_DEC_MODEL (gst_hesai_dec_model_get_type ())
static GType
gst_hesai_dec_model_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
      {HESAI_MODEL_AUTO, "What the first packet says", "auto"},
      {HESAI_MODEL_PANDAR_40P, "Pandar40P", "pandar-40p"},
      {HESAI_MODEL_PANDAR_64, "Pandar64", "pandar-64"},
      {HESAI_MODEL_QT64, "PandarQT", "qt64"},
      {HESAI_MODEL_QT128, "QT128", "qt128"},
      {HESAI_MODEL_XT16, "PandarXT-16", "xt16"},
      {HESAI_MODEL_XT32, "PandarXT-32", "xt32"},
      {HESAI_MODEL_XT32M, "PandarXT-32M", "xt32m"},
      {0, NULL, NULL},
  };
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstHesaiDecModel", values));
  return type;
}

static gpointer
gst_hesai_dec_create (gint model, const gchar *text, GError **error)
{
  HesaiCalibration calibration;
  if (text && !hesai_calibration_parse (&calibration, text, error))
    return NULL;
  return hesai_new ((HesaiModel)model, text ? &calibration : NULL, error);
}

static void
gst_hesai_dec_destroy (gpointer decoder)
{
  hesai_free (decoder);
}

static const gchar *
gst_hesai_dec_get_model (gpointer decoder)
{
  return hesai_get_model (decoder);
}

static gboolean
gst_hesai_dec_decode (gpointer decoder, const guint8 *data, gsize size, PacketCutter *cutter,
    gboolean *is_data, GError **error)
{
  return hesai_decode (decoder, data, size, cutter, is_data, error);
}

/* UTC, or what the sensor takes for it where nothing tells it. */
static GstCaps *
gst_hesai_dec_clock (GstLidarDec *dec)
{
  return gst_caps_new_empty_simple ("timestamp/x-unix");
}

static void
gst_hesai_dec_init (GstHesaiDec *self)
{
}

static void
gst_hesai_dec_class_init (GstHesaiDecClass *klass)
{
  GstLidarModelDecClass *model_class = GST_LIDAR_MODEL_DEC_CLASS (klass);

  GST_DEBUG_CATEGORY_INIT (hesaidec_debug, "hesaidec", 0, "Hesai decoder");
  GST_LIDAR_DEC_CLASS (klass)->category = hesaidec_debug;
  model_class->create = gst_hesai_dec_create;
  model_class->destroy = gst_hesai_dec_destroy;
  model_class->get_model = gst_hesai_dec_get_model;
  model_class->decode = gst_hesai_dec_decode;
  GST_LIDAR_DEC_CLASS (klass)->clock = gst_hesai_dec_clock;
  gst_lidar_model_dec_class_install (model_class, GST_TYPE_HESAI_DEC_MODEL,
      "The sensor's file of angle corrections (CSV); NULL: the manual's angles");
  gst_element_class_set_static_metadata (GST_ELEMENT_CLASS (klass), "Hesai decoder",
      "Codec/Decoder/PointCloud", "Decodes packets of Hesai lidars into scans",
      "The gst-ndt developers");
}
