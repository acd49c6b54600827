/* SPDX-License-Identifier: MIT */
#pragma once

#include "velodyne-calibration.h"

G_BEGIN_DECLS

/* The calibration that an HDL-64E S2 or S3 sends along, a byte a packet, over 4160 packets. */
#define VELODYNE_STATUS_SIZE 1820

typedef struct {
  guint8 bytes[VELODYNE_STATUS_SIZE]; /* a ring */
  gsize n;                            /* that came */
  gsize n_same;                       /* of the last ones, the same as a round before */
  gboolean is_s3;
} VelodyneStatus;

/* Takes the two last bytes of a packet. TRUE: @calibration is there, and whole. */
gboolean velodyne_status_add (
    VelodyneStatus *self, guint8 type, guint8 value, VelodyneCalibration *calibration);

G_END_DECLS
