/* SPDX-License-Identifier: MIT */
#include "ndt-projector.h"

#include <math.h>
#include <string.h>

#ifdef HAVE_PROJ
#include <proj.h>
#endif

/* Edge of a square of MGRS, and after how many northings its letters repeat, metres. */
#define SQUARE 1e5
#define MGRS_CYCLE 2e6

#ifdef HAVE_PROJ

struct _NdtProjector {
  PJ_CONTEXT *context;
  PJ *pipeline;
  double shift[3]; /* taken off what the pipeline gives */
  gboolean is_mgrs;
};

gboolean
ndt_projector_is_available (void)
{
  return TRUE;
}

static gboolean
is_type (const NdtGeoreference *georeference, const gchar *type)
{
  return g_ascii_strcasecmp (georeference->projector, type) == 0;
}

/* Zone, south of the equator, and the south-western corner of "54SUE"; northings but for multiples
 * of MGRS_CYCLE. Letters: NGA.STND.0037, "The Universal Grids". */
static gboolean
parse_square (const gchar *grid, int *zone, gboolean *is_south, double corner[2])
{
  static const gchar letters[] = "ABCDEFGHJKLMNPQRSTUVWXYZ"; /* without I and O */
  gchar *end;
  *zone = (int)g_ascii_strtoull (grid, &end, 10);
  if (*zone < 1 || *zone > 60 || strlen (end) != 3)
    return FALSE;
  const gchar band = g_ascii_toupper (end[0]);
  const gchar *column = strchr (letters, g_ascii_toupper (end[1]));
  const gchar *row = strchr (letters, g_ascii_toupper (end[2]));
  if (band < 'C' || band > 'X' || !column || !row || row - letters >= 20)
    return FALSE;
  *is_south = band < 'N';
  /* Eight letters a zone, from A, J and S on; rows from A on, in even zones from F on. */
  const int e = (int)(column - letters) - 8 * ((*zone - 1) % 3);
  const int n = (int)(row - letters) - (*zone % 2 == 0 ? 5 : 0);
  corner[0] = (e + 1) * SQUARE;
  corner[1] = (n + 20) % 20 * SQUARE;
  return e >= 0 && e < 8;
}

static gchar *
describe_utm (int zone, gboolean is_south)
{
  return g_strdup_printf ("+proj=utm +zone=%d %s+ellps=WGS84", zone, is_south ? "+south " : "");
}

/* Of standard zones, with the exceptions of Norway and Svalbard, as GeographicLib chooses them. */
static int
get_zone (double latitude, double longitude)
{
  const int degrees = (int)floor (fmod (longitude + 540, 360)) - 180;
  int zone = (degrees + 186) / 6;
  if (latitude >= 56 && latitude < 64 && zone == 31 && degrees >= 3)
    zone = 32;
  else if (latitude >= 72 && latitude < 84 && degrees >= 0 && degrees < 42)
    zone = 2 * ((degrees + 183) / 12) + 1;
  return zone;
}

static gboolean
transform (
    NdtProjector *projector, double latitude, double longitude, double altitude, double out[3])
{
  const PJ_COORD in =
      proj_coord (proj_torad (longitude), proj_torad (latitude), altitude, HUGE_VAL);
  const PJ_COORD to = proj_trans (projector->pipeline, PJ_FWD, in);
  out[0] = to.xyz.x;
  out[1] = to.xyz.y;
  out[2] = to.xyz.z;
  return isfinite (out[0]) && isfinite (out[1]) && isfinite (out[2]);
}

static gchar *
describe (const NdtGeoreference *g, NdtProjector *projector, GError **error)
{
  int zone;
  gboolean is_south;
  if (is_type (g, "MGRS")) {
    projector->is_mgrs = TRUE;
    if (parse_square (g->mgrs_grid, &zone, &is_south, projector->shift))
      return describe_utm (zone, is_south);
    g_set_error (error, NDT_ERROR, NDT_ERROR_FORMAT,
        "The map's mgrs_grid \"%s\" is none: zone, band and two letters", g->mgrs_grid);
    return NULL;
  }
  if (!is_type (g, "LocalCartesian") && !is_type (g, "LocalCartesianUTM")) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_FAILED,
        "Positions on Earth are not converted into a map of projector_type \"%s\": LocalCartesian, "
        "LocalCartesianUTM and MGRS are",
        g->projector);
    return NULL;
  }
  if (!g->has_map_origin || !(fabs (g->latitude) <= 90) || !(fabs (g->longitude) <= 360)) {
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_FORMAT,
        "The map's georeference has no map_origin, which its projector_type needs");
    return NULL;
  }
  if (is_type (g, "LocalCartesianUTM"))
    return describe_utm (get_zone (g->latitude, g->longitude), g->latitude < 0);
  gchar numbers[3][G_ASCII_DTOSTR_BUF_SIZE];
  g_ascii_dtostr (numbers[0], sizeof numbers[0], g->latitude);
  g_ascii_dtostr (numbers[1], sizeof numbers[1], g->longitude);
  g_ascii_dtostr (numbers[2], sizeof numbers[2], g->altitude);
  return g_strdup_printf ("+proj=pipeline +step +proj=cart +ellps=WGS84 +step +proj=topocentric "
                          "+ellps=WGS84 +lat_0=%s +lon_0=%s +h_0=%s",
      numbers[0], numbers[1], numbers[2]);
}

NdtProjector *
ndt_projector_new (const NdtGeoreference *georeference, GError **error)
{
  g_autoptr (NdtProjector) projector = g_new0 (NdtProjector, 1);
  if (georeference->vertical_datum[0] &&
      g_ascii_strcasecmp (georeference->vertical_datum, "WGS84") != 0) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_FAILED,
        "Heights of positions on Earth are above the ellipsoid of WGS84, and those of the map of "
        "the vertical datum \"%s\", which they are not converted to",
        georeference->vertical_datum);
    return NULL;
  }
  g_autofree gchar *pipeline = describe (georeference, projector, error);
  if (!pipeline)
    return NULL;
  projector->context = proj_context_create ();
  proj_log_level (projector->context, PJ_LOG_NONE);
  projector->pipeline = proj_create (projector->context, pipeline);
  if (!projector->pipeline) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_FAILED, "PROJ does not know \"%s\": %s", pipeline,
        proj_context_errno_string (projector->context, proj_context_errno (projector->context)));
    return NULL;
  }
  if (is_type (georeference, "LocalCartesianUTM")) {
    double origin[3];
    if (!transform (projector, georeference->latitude, georeference->longitude, 0, origin)) {
      g_set_error_literal (
          error, NDT_ERROR, NDT_ERROR_FORMAT, "The map's map_origin has no coordinates in UTM");
      return NULL;
    }
    projector->shift[0] = origin[0];
    projector->shift[1] = origin[1];
    projector->shift[2] = georeference->altitude;
  }
  for (guint k = 0; k < 3; k++)
    projector->shift[k] += georeference->origin[k];
  return g_steal_pointer (&projector);
}

void
ndt_projector_free (NdtProjector *projector)
{
  if (projector->pipeline)
    proj_destroy (projector->pipeline);
  if (projector->context)
    proj_context_destroy (projector->context);
  g_free (projector);
}

gboolean
ndt_projector_forward (
    NdtProjector *projector, double latitude, double longitude, double altitude, double out[3])
{
  if (!transform (projector, latitude, longitude, altitude, out))
    return FALSE;
  for (guint k = 0; k < 3; k++)
    out[k] -= projector->shift[k];
  /* The letters of a square say nothing of which cycle of northings it is in: the near one. */
  if (projector->is_mgrs)
    out[1] -= MGRS_CYCLE * round (out[1] / MGRS_CYCLE);
  return TRUE;
}

#else

struct _NdtProjector {
  int unused;
};

gboolean
ndt_projector_is_available (void)
{
  return FALSE;
}

NdtProjector *
ndt_projector_new (const NdtGeoreference *georeference, GError **error)
{
  (void)georeference;
  g_set_error_literal (error, NDT_ERROR, NDT_ERROR_FAILED,
      "Positions on Earth cannot be converted: this build is without PROJ (-Dproj=enabled)");
  return NULL;
}

void
ndt_projector_free (NdtProjector *projector)
{
  g_free (projector);
}

gboolean
ndt_projector_forward (
    NdtProjector *projector, double latitude, double longitude, double altitude, double out[3])
{
  (void)projector;
  (void)latitude;
  (void)longitude;
  (void)altitude;
  (void)out;
  return FALSE;
}

#endif
