/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define HESAI_MAX_LASERS 128

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

/* Parses the sensor's file of angle corrections: lines of channel, elevation and azimuth in degrees
 * below a header. */
gboolean hesai_calibration_parse (HesaiCalibration *self, const gchar *text, GError **error);

G_END_DECLS
