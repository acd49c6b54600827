/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-velodynedec
 * @title: velodynedec
 * @short_description: decodes packets of Velodyne lidars
 *
 * Makes scans of the data packets (1206 bytes) of the VLP-16, Puck Hi-Res, HDL-32E, VLP-32C,
 * HDL-64E S2 and S3, and VLS-128 (Alpha Prime), one of the strongest, the last or both returns.
 * Position packets (512 bytes) are passed over. An HDL-64E sends its calibration along, a byte a
 * packet; without a file the packets wait for it, 1.2 s (S3) or 2.4 s (S2), longer where some were
 * lost.
 *
 * Points are in the sensor's frame as ROS has it: x forward (azimuth 0), y left, z up.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 lidarpcapsrc location=velodyne/mrpt/sample_velodyne_vlp16_gps.pcap !
 * velodynedec ! fakesink
 * ]|
 */
#include "config.h"

#include "gstvelodynedec.h"

#include "velodyne.h"

struct _GstVelodyneDec {
  GstLidarModelDec parent;
};

GST_DEBUG_CATEGORY_STATIC (velodynedec_debug);

G_DEFINE_TYPE (GstVelodyneDec, gst_velodyne_dec, GST_TYPE_LIDAR_MODEL_DEC)
GST_ELEMENT_REGISTER_DEFINE (velodynedec, "velodynedec", GST_RANK_NONE, GST_TYPE_VELODYNE_DEC)

#define GST_TYPE_VELODYNE_DEC_MODEL (gst_velodyne_dec_model_get_type ())
static GType
gst_velodyne_dec_model_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
      {VELODYNE_MODEL_AUTO, "What the first packet says", "auto"},
      {VELODYNE_MODEL_VLP_16, "VLP-16 (Puck, Puck LITE)", "vlp-16"},
      {VELODYNE_MODEL_PUCK_HI_RES, "Puck Hi-Res", "puck-hi-res"},
      {VELODYNE_MODEL_HDL_32E, "HDL-32E", "hdl-32e"},
      {VELODYNE_MODEL_VLP_32C, "VLP-32C (Ultra Puck)", "vlp-32c"},
      {VELODYNE_MODEL_HDL_64E, "HDL-64E S2 and S3", "hdl-64e"},
      {VELODYNE_MODEL_VLS_128, "VLS-128 (Alpha Prime)", "vls-128"},
      {0, NULL, NULL},
  };
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstVelodyneDecModel", values));
  return type;
}

static gpointer
gst_velodyne_dec_create (gint model, const gchar *text, GError **error)
{
  VelodyneCalibration calibration;
  if (text && !velodyne_calibration_parse (&calibration, text, error))
    return NULL;
  return velodyne_new ((VelodyneModel)model, text ? &calibration : NULL, error);
}

static void
gst_velodyne_dec_destroy (gpointer decoder)
{
  velodyne_free (decoder);
}

static const gchar *
gst_velodyne_dec_get_model (gpointer decoder)
{
  return velodyne_get_model (decoder);
}

static const gchar *
gst_velodyne_dec_get_remark (gpointer decoder)
{
  return velodyne_get_remark (decoder);
}

static gboolean
gst_velodyne_dec_decode (gpointer decoder, const guint8 *data, gsize size, PacketCutter *cutter,
    gboolean *is_data, GError **error)
{
  return velodyne_decode (decoder, data, size, cutter, is_data, error);
}

static gboolean
gst_velodyne_dec_calibrate (gpointer decoder, const guint8 *data, gsize size, GError **error)
{
  return velodyne_calibrate (decoder, data, size, error);
}

static void
gst_velodyne_dec_reset (gpointer decoder)
{
  velodyne_reset (decoder);
}

/* Packets have the time since the full hour, of UTC where the sensor has a GPS receiver. */
static GstCaps *
gst_velodyne_dec_clock (GstLidarDec *dec)
{
  return gst_caps_new_simple ("timestamp/x-lidar", "epoch", G_TYPE_STRING, "hour", NULL);
}

static void
gst_velodyne_dec_init (GstVelodyneDec *self)
{
}

static void
gst_velodyne_dec_class_init (GstVelodyneDecClass *klass)
{
  GstLidarModelDecClass *model_class = GST_LIDAR_MODEL_DEC_CLASS (klass);

  GST_DEBUG_CATEGORY_INIT (velodynedec_debug, "velodynedec", 0, "Velodyne decoder");
  GST_LIDAR_DEC_CLASS (klass)->category = velodynedec_debug;
  model_class->create = gst_velodyne_dec_create;
  model_class->destroy = gst_velodyne_dec_destroy;
  model_class->get_model = gst_velodyne_dec_get_model;
  model_class->get_remark = gst_velodyne_dec_get_remark;
  model_class->decode = gst_velodyne_dec_decode;
  model_class->calibrate = gst_velodyne_dec_calibrate;
  model_class->reset = gst_velodyne_dec_reset;
  GST_LIDAR_DEC_CLASS (klass)->clock = gst_velodyne_dec_clock;
  gst_lidar_model_dec_class_install (model_class, GST_TYPE_VELODYNE_DEC_MODEL,
      "Calibration file (YAML as ROS's velodyne packages have it); NULL: the manual's angles, and "
      "of "
      "the HDL-64E those in its packets");
  gst_element_class_set_static_metadata (GST_ELEMENT_CLASS (klass), "Velodyne decoder",
      "Codec/Decoder/PointCloud", "Decodes packets of Velodyne lidars into scans",
      "The gst-ndt developers");
}
