/* SPDX-License-Identifier: MIT */
#pragma once

#include "gstlidardec.h"

G_BEGIN_DECLS

#define GST_TYPE_LIDAR_MODEL_DEC (gst_lidar_model_dec_get_type ())
G_DECLARE_DERIVABLE_TYPE (GstLidarModelDec, gst_lidar_model_dec, GST, LIDAR_MODEL_DEC, GstLidarDec)

/**
 * GstLidarModelDecClass:
 * @create: makes the decoder of a model, with the text of a calibration or NULL for none
 * @destroy: frees it
 * @get_model: see #GstLidarDecClass
 * @get_remark: see #GstLidarDecClass; may be NULL
 * @decode: see #GstLidarDecClass
 * @calibrate: see #GstLidarDecClass; may be NULL
 * @reset: forgets what it keeps from packet to packet, but not the model and angles; may be NULL
 *
 * Base class of decoders of vendors whose models are told apart by a property, each with a table of
 * its lasers' angles.
 */
struct _GstLidarModelDecClass {
  GstLidarDecClass parent_class;

  gpointer (*create) (gint model, const gchar *calibration, GError **error);
  void (*destroy) (gpointer decoder);
  const gchar *(*get_model) (gpointer decoder);
  const gchar *(*get_remark) (gpointer decoder);
  gboolean (*decode) (gpointer decoder, const guint8 *data, gsize size, PacketCutter *cutter,
      gboolean *is_data, GError **error);
  gboolean (*calibrate) (gpointer decoder, const guint8 *data, gsize size, GError **error);
  void (*reset) (gpointer decoder);
};

/* Installs the properties: "model", one of @models with 0 for what packets say, and
 * "calibration-location",
 * of which @blurb says what file it is. */
void gst_lidar_model_dec_class_install (
    GstLidarModelDecClass *klass, GType models, const gchar *blurb);

G_END_DECLS
