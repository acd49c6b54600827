/* SPDX-License-Identifier: MIT */
#include "robosense-calibration.h"

#include <math.h>
#include <string.h>

#define DEGREE (G_PI / 180)

G_DEFINE_QUARK (robosense - error, robosense_error)

/* "elevation,azimuth" or "elevation". */
static gboolean
parse_line (const gchar *line, gdouble *elevation, gdouble *azimuth)
{
  gchar *end;
  *elevation = g_ascii_strtod (line, &end);
  *azimuth = 0;
  if (end == line || !(fabs (*elevation) <= 90))
    return FALSE;
  if (*end == 0)
    return TRUE;
  if (*end != ',')
    return FALSE;
  line = end + 1;
  *azimuth = g_ascii_strtod (line, &end);
  return end != line && *end == 0 && fabs (*azimuth) <= 360;
}

gboolean
robosense_calibration_parse (RobosenseCalibration *self, const gchar *text, GError **error)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", 0);
  memset (self, 0, sizeof *self);
  for (guint i = 0; lines[i]; i++) {
    const gchar *line = g_strstrip (lines[i]);
    gdouble elevation, azimuth;
    if (*line == 0)
      continue;
    if (self->n_lasers == ROBOSENSE_MAX_LASERS || !parse_line (line, &elevation, &azimuth)) {
      g_set_error (error, ROBOSENSE_ERROR, ROBOSENSE_ERROR_CALIBRATION,
          "its line %u is not \"elevation,azimuth\", in degrees, of a laser of %d", i + 1,
          ROBOSENSE_MAX_LASERS);
      return FALSE;
    }
    self->elevation[self->n_lasers] = elevation * DEGREE;
    self->azimuth[self->n_lasers++] = azimuth * DEGREE;
  }
  if (self->n_lasers > 0)
    return TRUE;
  g_set_error_literal (error, ROBOSENSE_ERROR, ROBOSENSE_ERROR_CALIBRATION,
      "it has no lines of elevation and azimuth");
  return FALSE;
}
