/* SPDX-License-Identifier: MIT */
#pragma once

#include "gst/lidardec/packet/packet-cutter.h"
#include "velodyne-calibration.h"

G_BEGIN_DECLS

typedef struct _Velodyne Velodyne;

/* With the nominal calibration where @calibration is NULL, that of the HDL-64E from its packets. */
Velodyne *velodyne_new (
    VelodyneModel model, const VelodyneCalibration *calibration, GError **error);
void velodyne_free (Velodyne *self);

/* Name of the model that packets are of; NULL: none told it yet. */
const gchar *velodyne_get_model (const Velodyne *self);
/* A sentence on the calibration, once the model is known; NULL: there is none. */
const gchar *velodyne_get_remark (const Velodyne *self);

/* Other packets follow, of the same sensor: from elsewhere in its hours. */
void velodyne_reset (Velodyne *self);

/* Takes what an HDL-64E's packet has of its calibration. FALSE: it is needed, and not whole yet;
 * @error is set where the packet is of no HDL-64E. */
gboolean velodyne_calibrate (Velodyne *self, const guint8 *data, gsize size, GError **error);

/* Decodes a packet into firings; @is_data says whether it held any, or was one of the sensor's
 * other packets. */
gboolean velodyne_decode (Velodyne *self, const guint8 *data, gsize size, PacketCutter *cutter,
    gboolean *is_data, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Velodyne, velodyne_free)

G_END_DECLS
