/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define NDT_GEOREFERENCE_NAME "map_projector_info.yaml"
#define NDT_GEOREFERENCE_MAX_SIZE (1 << 20)

/**
 * NdtGeoreference:
 * @projector: projector_type: "Local", "MGRS", "LocalCartesianUTM", "LocalCartesian",
 *   "TransverseMercator" or another word; "" where it is not known
 * @vertical_datum: "WGS84", "EGM2008", …; "" where it is not known
 * @mgrs_grid: "54SUE", say; "" where there is none
 * @has_map_origin: the position of the projector's origin is set …
 * @latitude: … degrees
 * @longitude: … degrees
 * @altitude: … metres
 * @origin: easting, northing and height, metres, that were subtracted from the coordinates of the
 *   source: added to the map's coordinates they give the projector's
 *
 * Georeference of a map: Autoware's map_projector_info.yaml with an additional mapping "origin".
 */
typedef struct {
  gchar projector[64];
  gchar vertical_datum[64];
  gchar mgrs_grid[64];
  gboolean has_map_origin;
  double latitude;
  double longitude;
  double altitude;
  double origin[3];
} NdtGeoreference;

/* TRUE where no member is set. */
gboolean ndt_georeference_is_empty (const NdtGeoreference *georeference);

/* Reads the text of a file: lines "key: value", with those of "map_origin" and "origin" indented;
 * other keys are ignored. FALSE with NDT_ERROR_FORMAT, @name and the line. */
gboolean ndt_georeference_parse (const gchar *text, gsize size, const gchar *name,
    NdtGeoreference *georeference, GError **error);
/* The file of that name in the folder @location, or beside the file @location. TRUE and empty where
 * there is none; FALSE with NDT_ERROR_IO or NDT_ERROR_FORMAT. */
gboolean ndt_georeference_find (
    const gchar *location, NdtGeoreference *georeference, GError **error);
/* A georeference of type LocalCartesian about a place: degrees, metres above the ellipsoid. */
void ndt_georeference_set_local (
    NdtGeoreference *georeference, double latitude, double longitude, double altitude);
/* As ndt_georeference_parse() reads it. */
gchar *ndt_georeference_to_text (const NdtGeoreference *georeference);
/* One line for messages: "MGRS 54SUE, origin at easting 388000.00 m, …". */
gchar *ndt_georeference_describe (const NdtGeoreference *georeference);

G_END_DECLS
