/* SPDX-License-Identifier: MIT */
#include "hesai-calibration.h"

#include <math.h>
#include <string.h>

#define DEGREE (G_PI / 180)

G_DEFINE_QUARK (hesai - error, hesai_error)

/* "channel,elevation,azimuth", perhaps with more behind. */
static gboolean
parse_line (const gchar *line, guint channel, gdouble *elevation, gdouble *azimuth)
{
  gchar *end;
  if (g_ascii_strtoull (line, &end, 10) != channel || *end != ',')
    return FALSE;
  line = end + 1;
  *elevation = g_ascii_strtod (line, &end);
  if (end == line || *end != ',')
    return FALSE;
  line = end + 1;
  *azimuth = g_ascii_strtod (line, &end);
  return end != line && fabs (*elevation) <= 90 && fabs (*azimuth) <= 360;
}

gboolean
hesai_calibration_parse (HesaiCalibration *self, const gchar *text, GError **error)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", HESAI_MAX_LASERS + 3);
  memset (self, 0, sizeof *self);
  for (guint i = 0; lines[i]; i++) {
    const gchar *line = g_strstrip (lines[i]);
    gdouble elevation, azimuth;
    /* A header and what comes behind the table are no numbers. */
    if (!g_ascii_isdigit (*line))
      continue;
    if (self->n_lasers == HESAI_MAX_LASERS ||
        !parse_line (line, self->n_lasers + 1, &elevation, &azimuth)) {
      g_set_error (error, HESAI_ERROR, HESAI_ERROR_CALIBRATION,
          "its line %u is not \"%u,elevation,azimuth\" in degrees", i + 1, self->n_lasers + 1);
      return FALSE;
    }
    self->elevation[self->n_lasers] = elevation * DEGREE;
    self->azimuth[self->n_lasers++] = azimuth * DEGREE;
  }
  if (self->n_lasers > 0)
    return TRUE;
  g_set_error_literal (error, HESAI_ERROR, HESAI_ERROR_CALIBRATION,
      "it has no lines of channel, elevation and azimuth");
  return FALSE;
}
