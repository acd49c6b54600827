/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef enum {
  VELODYNE_MODEL_AUTO, /* what the first packet says */
  VELODYNE_MODEL_VLP_16,
  VELODYNE_MODEL_PUCK_HI_RES,
  VELODYNE_MODEL_HDL_32E,
  VELODYNE_MODEL_VLP_32C,
  VELODYNE_MODEL_HDL_64E,
  VELODYNE_MODEL_VLS_128,
  VELODYNE_N_MODELS,
} VelodyneModel;

/* How a laser sits in the sensor, as the calibration files of ROS have it: rad and m. */
typedef struct {
  gdouble rotation; /* less than the azimuth */
  gdouble elevation;
  gdouble distance;               /* added to what was measured far away */
  gdouble distance_x, distance_y; /* the same at 2.4 m along x and 1.93 m along y */
  gboolean has_two_points;        /* the last two are there */
  gdouble vertical_offset, horizontal_offset;
  gdouble height; /* where the beam leaves the axis, above the others' mean; manuals only */
} VelodyneLaser;

typedef struct {
  guint n_lasers;
  gdouble resolution; /* m, 0: not said */
  VelodyneLaser lasers[128];
} VelodyneCalibration;

typedef enum {
  VELODYNE_ERROR_CALIBRATION, /* no calibration, or not of this model */
} VelodyneError;

#define VELODYNE_ERROR velodyne_error_quark ()
GQuark velodyne_error_quark (void);

/* The table of the manual. FALSE for the HDL-64E, of which each sends its own. */
gboolean velodyne_calibration_init_nominal (VelodyneCalibration *self, VelodyneModel model);
/* Parses the YAML that ROS's velodyne packages and VeloView have. */
gboolean velodyne_calibration_parse (VelodyneCalibration *self, const gchar *text, GError **error);

G_END_DECLS
