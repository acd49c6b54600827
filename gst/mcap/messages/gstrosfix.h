/* SPDX-License-Identifier: MIT */
#pragma once

/* sensor_msgs/NavSatFix, in CDR. */

#include <glib.h>

G_BEGIN_DECLS

/* position_covariance_type, as sensor_msgs names them. */
typedef enum {
  ROS_FIX_COVARIANCE_UNKNOWN,
  ROS_FIX_COVARIANCE_APPROXIMATED,
  ROS_FIX_COVARIANCE_DIAGONAL_KNOWN,
  ROS_FIX_COVARIANCE_KNOWN,
} RosFixCovariance;

/**
 * RosFix:
 * @stamp: of the header, ns since the epoch
 * @frame: of the header: the antenna
 * @status: -1: no fix, 0: fix, 1 and 2: with augmentation
 * @latitude: WGS84, degrees
 * @longitude: see @latitude
 * @altitude: above the ellipsoid, metres; may be NAN
 * @covariance: row-major 3×3 of east, north, up about the position, m²
 * @covariance_type: how much of @covariance is to be believed
 */
typedef struct {
  gint64 stamp;
  gchar *frame;
  gint status;
  gdouble latitude;
  gdouble longitude;
  gdouble altitude;
  gdouble covariance[9];
  RosFixCovariance covariance_type;
} RosFix;

void ros_fix_clear (RosFix *self);
/* On failure nothing has to be cleared. */
gboolean ros_read_fix (RosFix *self, const guint8 *data, gsize size, GError **error);
/* TRUE where there is a position: a fix, with numbers that are a place on Earth. */
gboolean ros_fix_has_position (const RosFix *self);
/* Standard deviation along (0) east, (1) north, (2) up, metres; 0: not known. */
gdouble ros_fix_get_sigma (const RosFix *self, guint axis);

G_END_DECLS
