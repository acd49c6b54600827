/* SPDX-License-Identifier: MIT */
#pragma once

#include "ouster-profile.h"

G_BEGIN_DECLS

#define OUSTER_MAX_BEAMS 128

/* What a sensor's metadata say. Lengths are in m, angles in rad. */
typedef struct {
  gchar product[32];
  guint64 serial;       /* 0 where it is not said */
  gchar clock[32];      /* timestamp_mode, "" where it is not said */
  gboolean has_nmea;    /* the sync pulse's seconds are those of a GNSS receiver */
  gdouble leap_seconds; /* that are added to them */
  OusterProfile profile;
  guint n_beams;        /* rows, from the top */
  guint columns;        /* of a frame */
  guint packet_columns; /* of a packet */
  gdouble altitude[OUSTER_MAX_BEAMS];
  gdouble azimuth[OUSTER_MAX_BEAMS];
  gdouble origin_x, origin_z; /* of a beam in the lidar's frame at azimuth 0 */
  gdouble transform[12];      /* lidar to sensor, the rows above 0 0 0 1 */
} OusterMetadata;

typedef enum {
  OUSTER_ERROR_METADATA,
} OusterError;

#define OUSTER_ERROR ouster_error_quark ()
GQuark ouster_error_quark (void);

/* Parses the JSON of get_sensor_info, get_metadata or the HTTP interface, of any firmware. */
gboolean ouster_metadata_parse (
    OusterMetadata *self, const gchar *text, gssize size, GError **error);

G_END_DECLS
