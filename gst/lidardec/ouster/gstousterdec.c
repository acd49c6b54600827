/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-ousterdec
 * @title: ousterdec
 * @short_description: decodes packets of Ouster lidars
 *
 * Makes organized scans of the lidar packets of OS0, OS1 and OS2, of every profile of firmware 1 to
 * 3. The sensor's metadata, a JSON file, say which, and where its beams are.
 *
 * A scan has a row for each beam, from the top, and a column for each of the sensor's measurements,
 * in the order in which they are taken; the second return follows as rows of its own. Where nothing
 * came back points are NaN.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 lidarpcapsrc location=ouster/pcaps/OS-0-128-U1_v2.3.0_1024x10.pcap dst-port=7502 !
 * ousterdec metadata-location=ouster/pcaps/OS-0-128-U1_v2.3.0_1024x10.json ! fakesink
 * ]|
 */
#include "config.h"

#include "gstousterdec.h"

#include <string.h>

#include "gst/common/gstrenamed.h"

#include "ouster.h"

#define TAI_OFFSET 37 /* s ahead of UTC since 2017 */

enum { PROP_0, PROP_METADATA_LOCATION, PROP_RENAMED };

struct _GstOusterDec {
  GstLidarDec parent;

  gchar *metadata_location; /* object lock */
  GstCaps *clock;           /* while it is open */
  Ouster *ouster;
};

GST_DEBUG_CATEGORY_STATIC (ousterdec_debug);
#define GST_CAT_DEFAULT ousterdec_debug

G_DEFINE_TYPE (GstOusterDec, gst_ouster_dec, GST_TYPE_LIDAR_DEC)
GST_ELEMENT_REGISTER_DEFINE (ousterdec, "ousterdec", GST_RANK_NONE, GST_TYPE_OUSTER_DEC)

/* Ouster's manual: PTP's time; that of a pulse, whose seconds are those of NMEA messages where the
 * multipurpose IO reads them, with leap seconds added (37 make TAI of UTC), and else are counted;
 * the time since power-on. */
static GstCaps *
make_clock (const OusterMetadata *metadata)
{
  const gboolean is_pulse = strcmp (metadata->clock, "TIME_FROM_SYNC_PULSE_IN") == 0;
  const gchar *epoch = is_pulse ? "sync-pulse" : "power-on";
  /* The metadata do not say the domain; 0 is the default of IEEE 1588. */
  if (strcmp (metadata->clock, "TIME_FROM_PTP_1588") == 0)
    return gst_caps_new_simple ("timestamp/x-ptp", "version", G_TYPE_STRING, "IEEE1588-2008",
        "domain", G_TYPE_INT, 0, NULL);
  if (is_pulse && metadata->has_nmea && metadata->leap_seconds == 0)
    return gst_caps_new_empty_simple ("timestamp/x-unix");
  if (is_pulse && metadata->has_nmea && metadata->leap_seconds == TAI_OFFSET)
    epoch = "tai";
  return gst_caps_new_simple ("timestamp/x-lidar", "epoch", G_TYPE_STRING, epoch, NULL);
}

static gboolean
gst_ouster_dec_open (GstLidarDec *dec, GstPointCloudInfo *info)
{
  GstOusterDec *self = GST_OUSTER_DEC (dec);
  g_autoptr (GError) error = NULL;
  g_autofree gchar *path = NULL, *shown = NULL, *text = NULL;
  OusterMetadata metadata;

  GST_OBJECT_LOCK (self);
  path = g_strdup (self->metadata_location);
  GST_OBJECT_UNLOCK (self);
  if (!path || !*path) {
    GST_ELEMENT_ERROR (self, RESOURCE, SETTINGS,
        ("No metadata are named: set \"metadata-location\" to the sensor's JSON file, which "
         "http://SENSOR/api/v1/sensor/metadata gives."),
        (NULL));
    return FALSE;
  }
  text = gst_lidar_dec_read_file (dec, "metadata", path);
  if (!text)
    return FALSE;
  shown = g_filename_display_name (path);
  if (!ouster_metadata_parse (&metadata, text, (gssize)strlen (text), &error)) {
    GST_ELEMENT_ERROR (self, RESOURCE, SETTINGS,
        ("\"%s\" are no metadata of an Ouster lidar: %s.", shown, error->message), (NULL));
    return FALSE;
  }
  self->ouster = ouster_new (&metadata);
  self->clock = make_clock (&metadata);
  GST_INFO_OBJECT (self, "%s: %s, %u beams, %u columns, %s", shown,
      *metadata.product ? metadata.product : "a sensor without a name", metadata.n_beams,
      metadata.columns, ouster_profile_get_name (metadata.profile));
  info->width = metadata.columns;
  info->height = metadata.n_beams * ouster_profile_get_layout (metadata.profile)->n_returns;
  return TRUE;
}

static void
gst_ouster_dec_close (GstLidarDec *dec)
{
  g_clear_pointer (&GST_OUSTER_DEC (dec)->ouster, ouster_free);
  gst_clear_caps (&GST_OUSTER_DEC (dec)->clock);
}

static gboolean
gst_ouster_dec_decode (GstLidarDec *dec, const guint8 *data, gsize size, PacketCutter *cutter,
    gboolean *is_data, GError **error)
{
  return ouster_decode (GST_OUSTER_DEC (dec)->ouster, data, size, cutter, is_data, error);
}

static void
gst_ouster_dec_flush (GstLidarDec *dec, PacketCutter *cutter)
{
  ouster_flush (GST_OUSTER_DEC (dec)->ouster, cutter);
}

static void
gst_ouster_dec_reset (GstLidarDec *dec)
{
  ouster_reset (GST_OUSTER_DEC (dec)->ouster);
}

static GstCaps *
gst_ouster_dec_clock (GstLidarDec *dec)
{
  return gst_caps_ref (GST_OUSTER_DEC (dec)->clock);
}

static void
gst_ouster_dec_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstOusterDec *self = GST_OUSTER_DEC (object);
  if (id != PROP_METADATA_LOCATION) {
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    return;
  }
  GST_OBJECT_LOCK (self);
  g_free (self->metadata_location);
  self->metadata_location = g_value_dup_string (value);
  GST_OBJECT_UNLOCK (self);
}

static void
gst_ouster_dec_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstOusterDec *self = GST_OUSTER_DEC (object);
  if (id != PROP_METADATA_LOCATION) {
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    return;
  }
  GST_OBJECT_LOCK (self);
  g_value_set_string (value, self->metadata_location);
  GST_OBJECT_UNLOCK (self);
}

static void
gst_ouster_dec_finalize (GObject *object)
{
  g_free (GST_OUSTER_DEC (object)->metadata_location);
  G_OBJECT_CLASS (gst_ouster_dec_parent_class)->finalize (object);
}

static void
gst_ouster_dec_init (GstOusterDec *self)
{
}

static const GstRenamedProperty renamed[] = {
    {"metadata", G_TYPE_STRING, "is called “metadata-location” since 0.2"},
};

static void
gst_ouster_dec_class_init (GstOusterDecClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstLidarDecClass *dec_class = GST_LIDAR_DEC_CLASS (klass);

  GST_DEBUG_CATEGORY_INIT (ousterdec_debug, "ousterdec", 0, "Ouster decoder");
  dec_class->category = ousterdec_debug;
  object_class->set_property = gst_ouster_dec_set_property;
  object_class->get_property = gst_ouster_dec_get_property;
  object_class->finalize = gst_ouster_dec_finalize;
  g_object_class_install_property (object_class, PROP_METADATA_LOCATION,
      g_param_spec_string ("metadata-location", "Metadata Location",
          "The sensor's metadata, a JSON file as its HTTP interface and ouster-sdk give it", NULL,
          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY));

  dec_class->open = gst_ouster_dec_open;
  dec_class->close = gst_ouster_dec_close;
  dec_class->decode = gst_ouster_dec_decode;
  dec_class->flush = gst_ouster_dec_flush;
  dec_class->reset = gst_ouster_dec_reset;
  dec_class->clock = gst_ouster_dec_clock;
  gst_element_class_set_static_metadata (GST_ELEMENT_CLASS (klass), "Ouster decoder",
      "Codec/Decoder/PointCloud", "Decodes packets of Ouster lidars into organized scans",
      "The gst-ndt developers");
  gst_renamed_properties_install (object_class, PROP_RENAMED, renamed, G_N_ELEMENTS (renamed));
}
