/* SPDX-License-Identifier: MIT */
#pragma once

#include "gst/lidardec/common/lidar-cutter.h"

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

const gchar *velodyne_model_get_name (VelodyneModel model);

/* The table of the manual. FALSE for the HDL-64E, of which each sends its own. */
gboolean velodyne_calibration_init_nominal (VelodyneCalibration *self, VelodyneModel model);
/* Parses the YAML that ROS's velodyne packages and VeloView have. */
gboolean velodyne_calibration_parse (VelodyneCalibration *self, const gchar *text, GError **error);

typedef struct _Velodyne Velodyne;

/* With the nominal calibration where @calibration is NULL, that of the HDL-64E from its packets. */
Velodyne *velodyne_new (
    VelodyneModel model, const VelodyneCalibration *calibration, GError **error);
void velodyne_free (Velodyne *self);

/* Other packets follow, of the same sensor: from elsewhere in its hours. */
void velodyne_reset (Velodyne *self);

/* Takes what an HDL-64E's packet has of its calibration. FALSE: it is needed, and not whole yet;
 * @error is set where the packet is of no HDL-64E. */
gboolean velodyne_calibrate (Velodyne *self, const guint8 *data, gsize size, GError **error);

/* Decodes a packet into firings; @is_data says whether it held any, or was one of the sensor's
 * other packets. */
gboolean velodyne_decode (Velodyne *self, const guint8 *data, gsize size, LidarCutter *cutter,
    gboolean *is_data, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Velodyne, velodyne_free)

G_END_DECLS
