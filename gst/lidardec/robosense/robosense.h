/* SPDX-License-Identifier: MIT */
#pragma once

#include "gst/lidardec/packet/packet-cutter.h"
#include "robosense-calibration.h"

G_BEGIN_DECLS

typedef enum {
  ROBOSENSE_MODEL_AUTO, /* what the first packet says */
  ROBOSENSE_MODEL_HELIOS,
  ROBOSENSE_MODEL_HELIOS_16P,
  ROBOSENSE_MODEL_BPEARL,
  ROBOSENSE_MODEL_BPEARL_4, /* protocol 4; BPEARL and AUTO take it for what it is */
  ROBOSENSE_N_MODELS,
} RobosenseModel;

typedef struct _Robosense Robosense;

/* Without a calibration, which is copied, the angles are those of the sensor's DIFOP packets. */
Robosense *robosense_new (
    RobosenseModel model, const RobosenseCalibration *calibration, GError **error);
void robosense_free (Robosense *self);

/* Name of the model that packets are of; NULL: none told it yet. */
const gchar *robosense_get_model (const Robosense *self);

/* Takes angles from a packet that has them. Whether there are some, from whichever; @error is set
 * where there are none and the packet is not one that waits for them. */
gboolean robosense_calibrate (Robosense *self, const guint8 *data, gsize size, GError **error);

/* Decodes a packet into firings, once there are angles; @is_data says whether it held any, or was
 * one of the sensor's other packets. */
gboolean robosense_decode (Robosense *self, const guint8 *data, gsize size, PacketCutter *cutter,
    gboolean *is_data, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Robosense, robosense_free)

G_END_DECLS
