/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define ROBOSENSE_MAX_LASERS 32

typedef struct {
  guint n_lasers;
  gdouble elevation[ROBOSENSE_MAX_LASERS]; /* rad */
  gdouble azimuth[ROBOSENSE_MAX_LASERS];   /* rad, added to the block's */
} RobosenseCalibration;

typedef enum {
  ROBOSENSE_ERROR_CALIBRATION, /* no calibration, or not of this model */
} RobosenseError;

#define ROBOSENSE_ERROR robosense_error_quark ()
GQuark robosense_error_quark (void);

/* Parses RoboSense's file of angles: a line of elevation and azimuth, in degrees, for each laser.
 */
gboolean robosense_calibration_parse (
    RobosenseCalibration *self, const gchar *text, GError **error);

G_END_DECLS
