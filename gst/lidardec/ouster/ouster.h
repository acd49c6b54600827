/* SPDX-License-Identifier: MIT */
#pragma once

#include "gst/lidardec/common/lidar-cutter.h"

G_BEGIN_DECLS

#define OUSTER_MAX_BEAMS 128

typedef enum {
  OUSTER_PROFILE_LEGACY,
  OUSTER_PROFILE_RNG15_RFL8_NIR8,
  OUSTER_PROFILE_RNG15_RFL8_NIR8_DUAL,
  OUSTER_PROFILE_RNG15_RFL8_NIR8_ZONE16,
  OUSTER_PROFILE_RNG15_RFL8_WIN8,
  OUSTER_PROFILE_RNG19_RFL8_SIG16_NIR16,
  OUSTER_PROFILE_RNG19_RFL8_SIG16_NIR16_DUAL,
  OUSTER_PROFILE_RNG19_RFL8_SIG16_NIR16_ZONE16,
  OUSTER_PROFILE_RNG19_RFL8_SIG16_ZONE16_DUAL,
  OUSTER_PROFILE_FIVE_WORD_PIXEL,
  OUSTER_PROFILE_FUSA_RNG15_RFL8_NIR8_DUAL,
  OUSTER_N_PROFILES,
} OusterProfile;

/* What a sensor's metadata say. Lengths are in m, angles in rad. */
typedef struct {
  gchar product[32];
  guint64 serial;  /* 0 where it is not said */
  gchar clock[32]; /* timestamp_mode, "" where it is not said */
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

const gchar *ouster_profile_get_name (OusterProfile profile);
gboolean ouster_profile_from_name (const gchar *name, OusterProfile *profile);
guint ouster_profile_get_n_returns (OusterProfile profile);

typedef struct _Ouster Ouster;

Ouster *ouster_new (const OusterMetadata *metadata);
void ouster_free (Ouster *self);

/* Decodes a packet; finished scans go to @cutter. @is_data says whether it held points, or was one
 * of the sensor's other packets. */
gboolean ouster_decode (Ouster *self, const guint8 *data, gsize size, LidarCutter *cutter,
    gboolean *is_data, GError **error);
/* Ends the scan in the making. */
void ouster_flush (Ouster *self, LidarCutter *cutter);
/* Forgets it. */
void ouster_reset (Ouster *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Ouster, ouster_free)

G_END_DECLS
