/* SPDX-License-Identifier: MIT */
#pragma once

#include "gst/lidardec/common/lidar-cutter.h"

G_BEGIN_DECLS

#define HESAI_MAX_LASERS 128

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

typedef struct {
  guint n_lasers;
  gdouble elevation[HESAI_MAX_LASERS]; /* rad */
  gdouble azimuth[HESAI_MAX_LASERS];   /* rad, added to the block's */
} HesaiCalibration;

typedef enum {
  HESAI_ERROR_CALIBRATION, /* no calibration, or not of this model */
} HesaiError;

#define HESAI_ERROR hesai_error_quark ()
GQuark hesai_error_quark (void);

const gchar *hesai_model_get_name (HesaiModel model);

/* The table of the manual; a sensor's own file is some tenths of a degree better. FALSE for AUTO.
 */
gboolean hesai_calibration_init_nominal (HesaiCalibration *self, HesaiModel model);
/* ns from the time of a block to when a laser fires; the QT128's take turns in two loops. */
gint64 hesai_get_laser_time (HesaiModel model, guint loop, guint laser);
/* Parses the sensor's file of angle corrections: lines of channel, elevation and azimuth in degrees
 * below a header. */
gboolean hesai_calibration_parse (HesaiCalibration *self, const gchar *text, GError **error);

typedef struct _Hesai Hesai;

/* With the nominal calibration where @calibration is NULL. */
Hesai *hesai_new (HesaiModel model, const HesaiCalibration *calibration, GError **error);
void hesai_free (Hesai *self);

/* Decodes a packet into firings; @is_data says whether it held any, or was one of the sensor's
 * other packets. */
gboolean hesai_decode (Hesai *self, const guint8 *data, gsize size, LidarCutter *cutter,
    gboolean *is_data, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Hesai, hesai_free)

G_END_DECLS
