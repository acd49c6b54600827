/* SPDX-License-Identifier: MIT */
#pragma once

#include "gst/lidardec/packet/packet-cutter.h"
#include "hesai-calibration.h"

G_BEGIN_DECLS

typedef enum {
  HESAI_MODEL_AUTO, /* what the first packet says */
  HESAI_MODEL_PANDAR_40P,
  HESAI_MODEL_PANDAR_64,
  HESAI_MODEL_QT64,
  HESAI_MODEL_QT128,
  HESAI_MODEL_XT16,
  HESAI_MODEL_XT32,
  HESAI_MODEL_XT32M,
  HESAI_N_MODELS,
} HesaiModel;

typedef struct _Hesai Hesai;

/* With the nominal calibration where @calibration is NULL. */
Hesai *hesai_new (HesaiModel model, const HesaiCalibration *calibration, GError **error);
void hesai_free (Hesai *self);

/* Name of the model that packets are of; NULL: none told it yet. */
const gchar *hesai_get_model (const Hesai *self);

/* Decodes a packet into firings; @is_data says whether it held any, or was one of the sensor's
 * other packets. */
gboolean hesai_decode (Hesai *self, const guint8 *data, gsize size, PacketCutter *cutter,
    gboolean *is_data, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Hesai, hesai_free)

G_END_DECLS
