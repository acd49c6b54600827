/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-robosensedec
 * @title: robosensedec
 * @short_description: decodes packets of RoboSense lidars
 *
 * Makes scans of the MSOP packets of the Helios series and of the Bpearl, with one or two returns.
 * The angles of the lasers are those of the sensor's DIFOP packets, which go to another port: both
 * kinds have to arrive. What comes before the first of them is held back until then. A file of
 * angles does as well.
 *
 * Points are in the sensor's frame: x forward (azimuth 0), y left, z up.
 *
 * ## Example launch lines
 * |[
 * GST_DEBUG=2 gst-launch-1.0 funnel name=packets forward-sticky-events=false ! robosensedec !
 * fakesink
 * udpsrc port=6699 ! packets. udpsrc port=7788 ! packets.
 * ]|
 */
#include "config.h"

#include "gstrobosensedec.h"

#include "robosense.h"

struct _GstRobosenseDec {
  GstLidarModelDec parent;
};

GST_DEBUG_CATEGORY_STATIC (robosensedec_debug);

G_DEFINE_TYPE (GstRobosenseDec, gst_robosense_dec, GST_TYPE_LIDAR_MODEL_DEC)
GST_ELEMENT_REGISTER_DEFINE (robosensedec, "robosensedec", GST_RANK_NONE, GST_TYPE_ROBOSENSE_DEC)

#define GST_TYPE_ROBOSENSE_DEC_MODEL (gst_robosense_dec_model_get_type ())
static GType
gst_robosense_dec_model_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
      {ROBOSENSE_MODEL_AUTO, "What the first packet says", "auto"},
      {ROBOSENSE_MODEL_HELIOS, "Helios of 32 lasers (5515, 1615, 1610)", "helios"},
      {ROBOSENSE_MODEL_HELIOS_16P, "Helios-16P", "helios-16p"},
      {ROBOSENSE_MODEL_BPEARL, "Bpearl", "bpearl"},
      {0, NULL, NULL},
  };
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstRobosenseDecModel", values));
  return type;
}

static gpointer
gst_robosense_dec_create (gint model, const gchar *text, GError **error)
{
  RobosenseCalibration calibration;
  if (text && !robosense_calibration_parse (&calibration, text, error))
    return NULL;
  return robosense_new ((RobosenseModel)model, text ? &calibration : NULL, error);
}

static void
gst_robosense_dec_destroy (gpointer decoder)
{
  robosense_free (decoder);
}

static const gchar *
gst_robosense_dec_get_model (gpointer decoder)
{
  return robosense_get_model (decoder);
}

static gboolean
gst_robosense_dec_decode (gpointer decoder, const guint8 *data, gsize size, PacketCutter *cutter,
    gboolean *is_data, GError **error)
{
  return robosense_decode (decoder, data, size, cutter, is_data, error);
}

static gboolean
gst_robosense_dec_calibrate (gpointer decoder, const guint8 *data, gsize size, GError **error)
{
  return robosense_calibrate (decoder, data, size, error);
}

/* UTC, or what the sensor takes for it where nothing tells it. */
static GstCaps *
gst_robosense_dec_clock (GstLidarDec *dec)
{
  return gst_caps_new_empty_simple ("timestamp/x-unix");
}

static void
gst_robosense_dec_init (GstRobosenseDec *self)
{
}

static void
gst_robosense_dec_class_init (GstRobosenseDecClass *klass)
{
  GstLidarModelDecClass *model_class = GST_LIDAR_MODEL_DEC_CLASS (klass);

  GST_DEBUG_CATEGORY_INIT (robosensedec_debug, "robosensedec", 0, "RoboSense decoder");
  GST_LIDAR_DEC_CLASS (klass)->category = robosensedec_debug;
  model_class->create = gst_robosense_dec_create;
  model_class->destroy = gst_robosense_dec_destroy;
  model_class->get_model = gst_robosense_dec_get_model;
  model_class->decode = gst_robosense_dec_decode;
  model_class->calibrate = gst_robosense_dec_calibrate;
  GST_LIDAR_DEC_CLASS (klass)->clock = gst_robosense_dec_clock;
  gst_lidar_model_dec_class_install (model_class, GST_TYPE_ROBOSENSE_DEC_MODEL,
      "The sensor's file of angles (CSV); NULL: those of its DIFOP packets");
  gst_element_class_set_static_metadata (GST_ELEMENT_CLASS (klass), "RoboSense decoder",
      "Codec/Decoder/PointCloud", "Decodes packets of RoboSense lidars into scans",
      "The gst-ndt developers");
}
