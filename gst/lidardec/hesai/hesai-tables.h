/* SPDX-License-Identifier: MIT */
#pragma once

#include "hesai.h"

G_BEGIN_DECLS

/* The table of the manual; a sensor's own file is some tenths of a degree better. FALSE for AUTO.
 */
gboolean hesai_calibration_init_nominal (HesaiCalibration *self, HesaiModel model);
/* ns from the time of a block to when a laser fires; the QT128's take turns in two loops. */
gint64 hesai_get_laser_time (HesaiModel model, guint loop, guint laser);

G_END_DECLS
