/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-velodynedec
 * @title: velodynedec
 * @short_description: decodes packets of Velodyne lidars
 *
 * Makes scans of the data packets (1206 bytes) of the VLP-16, Puck Hi-Res, HDL-32E, VLP-32C,
 * HDL-64E S2 and S3, and VLS-128 (Alpha Prime), one of the strongest, the last or both returns.
 * Position packets (512 bytes) are passed over.
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

enum { PROP_0, PROP_MODEL, PROP_CALIBRATION };

struct _GstVelodyneDec {
  GstLidarDec parent;

  VelodyneModel model; /* object lock */
  gchar *calibration;  /* object lock */
  Velodyne *velodyne;
};

G_DEFINE_TYPE (GstVelodyneDec, gst_velodyne_dec, GST_TYPE_LIDAR_DEC)
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
      {VELODYNE_MODEL_HDL_64E, "HDL-64E S2 and S3; needs a calibration", "hdl-64e"},
      {VELODYNE_MODEL_VLS_128, "VLS-128 (Alpha Prime)", "vls-128"},
      {0, NULL, NULL},
  };
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstVelodyneDecModel", values));
  return type;
}

static gboolean
gst_velodyne_dec_open (GstLidarDec *dec, GstPointCloudInfo *info)
{
  GstVelodyneDec *self = GST_VELODYNE_DEC (dec);
  g_autoptr (GError) error = NULL;
  g_autofree gchar *path = NULL, *text = NULL;
  VelodyneCalibration calibration;
  VelodyneModel model;

  GST_OBJECT_LOCK (self);
  model = self->model;
  path = g_strdup (self->calibration);
  GST_OBJECT_UNLOCK (self);
  if (path && *path) {
    text = gst_lidar_dec_read_file (dec, "calibration", path);
    if (!text)
      return FALSE;
    if (!velodyne_calibration_parse (&calibration, text, &error)) {
      GST_ELEMENT_ERROR (self, RESOURCE, SETTINGS,
          ("\"%s\" is no calibration of a Velodyne lidar: %s.", path, error->message), (NULL));
      return FALSE;
    }
  }
  self->velodyne = velodyne_new (model, text ? &calibration : NULL, &error);
  if (!self->velodyne)
    GST_ELEMENT_ERROR (self, RESOURCE, SETTINGS,
        ("Cannot decode packets of a %s: %s.", velodyne_model_get_name (model), error->message),
        (NULL));
  return self->velodyne != NULL;
}

static void
gst_velodyne_dec_close (GstLidarDec *dec)
{
  g_clear_pointer (&GST_VELODYNE_DEC (dec)->velodyne, velodyne_free);
}

static gboolean
gst_velodyne_dec_decode (GstLidarDec *dec, const guint8 *data, gsize size, LidarCutter *cutter,
    gboolean *is_data, GError **error)
{
  return velodyne_decode (GST_VELODYNE_DEC (dec)->velodyne, data, size, cutter, is_data, error);
}

/* Packets have the time since the full hour, of UTC where the sensor has a GPS receiver. */
static GstCaps *
gst_velodyne_dec_clock (GstLidarDec *dec)
{
  return gst_caps_new_simple ("timestamp/x-lidar", "epoch", G_TYPE_STRING, "hour", NULL);
}

static void
gst_velodyne_dec_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstVelodyneDec *self = GST_VELODYNE_DEC (object);
  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_MODEL:
    self->model = (VelodyneModel)g_value_get_enum (value);
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
gst_velodyne_dec_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstVelodyneDec *self = GST_VELODYNE_DEC (object);
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
gst_velodyne_dec_finalize (GObject *object)
{
  g_free (GST_VELODYNE_DEC (object)->calibration);
  G_OBJECT_CLASS (gst_velodyne_dec_parent_class)->finalize (object);
}

static void
gst_velodyne_dec_init (GstVelodyneDec *self)
{
}

static void
gst_velodyne_dec_class_init (GstVelodyneDecClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstLidarDecClass *dec_class = GST_LIDAR_DEC_CLASS (klass);
  const GParamFlags ready = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY;

  object_class->set_property = gst_velodyne_dec_set_property;
  object_class->get_property = gst_velodyne_dec_get_property;
  object_class->finalize = gst_velodyne_dec_finalize;
  g_object_class_install_property (object_class, PROP_MODEL,
      g_param_spec_enum ("model", "Model", "Model of the sensor; packets of others are left out",
          GST_TYPE_VELODYNE_DEC_MODEL, VELODYNE_MODEL_AUTO, ready));
  g_object_class_install_property (object_class, PROP_CALIBRATION,
      g_param_spec_string ("calibration", "Calibration",
          "Calibration file (YAML as ROS's velodyne packages have it); NULL: the manual's angles",
          NULL, ready));

  dec_class->open = gst_velodyne_dec_open;
  dec_class->close = gst_velodyne_dec_close;
  dec_class->decode = gst_velodyne_dec_decode;
  dec_class->clock = gst_velodyne_dec_clock;
  gst_element_class_set_static_metadata (GST_ELEMENT_CLASS (klass), "Velodyne decoder",
      "Codec/Decoder/PointCloud", "Decodes packets of Velodyne lidars into scans", "gst-ndt");
  gst_type_mark_as_plugin_api (GST_TYPE_VELODYNE_DEC_MODEL, 0);
}
