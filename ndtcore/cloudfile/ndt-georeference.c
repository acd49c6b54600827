/* SPDX-License-Identifier: MIT */
#include "ndt-georeference.h"

#include <math.h>
#include <string.h>

#include "ndtcore/base/ndt-file.h"
#include "ndtcore/base/ndt-text.h"

gboolean
ndt_georeference_is_empty (const NdtGeoreference *georeference)
{
  static const NdtGeoreference none;
  return memcmp (georeference, &none, sizeof none) == 0;
}

/* ---- Reading ---- */

static gboolean
is_key (const NdtToken *key, const gchar *section, const gchar *wanted_section, const gchar *wanted)
{
  return strcmp (section, wanted_section) == 0 && ndt_token_equal (key, wanted);
}

/* A value without quotes. */
static NdtToken
unquote (NdtToken value)
{
  if (value.size >= 2 && (value.start[0] == '"' || value.start[0] == '\'') &&
      value.start[value.size - 1] == value.start[0]) {
    value.start++;
    value.size -= 2;
  }
  return value;
}

static gboolean
take_text (const NdtToken *value, gchar out[64])
{
  if (value->size >= 64 || !g_utf8_validate_len (value->start, value->size, NULL))
    return FALSE;
  memset (out, 0, 64);
  memcpy (out, value->start, value->size);
  return TRUE;
}

static gboolean
take_number (const NdtToken *value, double *out)
{
  return ndt_token_to_double (value, out) && isfinite (*out);
}

/* TRUE for unknown keys as well. */
static gboolean
take (NdtGeoreference *g, const gchar *section, const NdtToken *key, const NdtToken *value)
{
  if (is_key (key, section, "", "projector_type"))
    return take_text (value, g->projector);
  if (is_key (key, section, "", "vertical_datum"))
    return take_text (value, g->vertical_datum);
  if (is_key (key, section, "", "mgrs_grid"))
    return take_text (value, g->mgrs_grid);
  if (is_key (key, section, "map_origin", "latitude")) {
    g->has_map_origin = TRUE;
    return take_number (value, &g->latitude) && fabs (g->latitude) <= 90;
  }
  if (is_key (key, section, "map_origin", "longitude")) {
    g->has_map_origin = TRUE;
    return take_number (value, &g->longitude) && fabs (g->longitude) <= 360;
  }
  if (is_key (key, section, "map_origin", "altitude"))
    return take_number (value, &g->altitude);
  if (is_key (key, section, "origin", "easting"))
    return take_number (value, &g->origin[0]);
  if (is_key (key, section, "origin", "northing"))
    return take_number (value, &g->origin[1]);
  if (is_key (key, section, "origin", "height"))
    return take_number (value, &g->origin[2]);
  return TRUE;
}

/* Without what is behind a "#" that begins a word. */
static NdtToken
without_comment (NdtToken line)
{
  for (gsize i = 0; i < line.size; i++)
    if (line.start[i] == '#' && (i == 0 || line.start[i - 1] == ' ' || line.start[i - 1] == '\t'))
      line.size = i;
  while (line.size > 0 && g_ascii_isspace (line.start[line.size - 1]))
    line.size--;
  return line;
}

gboolean
ndt_georeference_parse (
    const gchar *text, gsize size, const gchar *name, NdtGeoreference *georeference, GError **error)
{
  const gchar *cursor = text, *end = text + size;
  gchar section[64] = "";
  guint number = 0;
  NdtToken line;

  memset (georeference, 0, sizeof *georeference);
  while (ndt_text_next_line (&cursor, end, &line)) {
    number++;
    line = without_comment (line);
    gsize indent = 0;
    while (indent < line.size && line.start[indent] == ' ')
      indent++;
    line.start += indent;
    line.size -= indent;
    if (line.size == 0 || (line.size == 3 && memcmp (line.start, "---", 3) == 0))
      continue;
    const gchar *colon = memchr (line.start, ':', line.size);
    NdtToken key = {line.start, colon ? (gsize)(colon - line.start) : 0};
    if (key.size == 0 || memchr (key.start, '{', key.size) || memchr (key.start, '[', key.size))
      return ndt_text_fail (error, "%s, line %u: no “key: value”", name, number);
    key = unquote (key);
    NdtToken value = {colon + 1, line.size - (gsize)(colon + 1 - line.start)};
    while (value.size > 0 && g_ascii_isspace (value.start[0])) {
      value.start++;
      value.size--;
    }
    value = unquote (value);
    if (indent == 0)
      section[0] = '\0';
    if (value.size == 0) { /* a section, or a value that is empty */
      if (indent == 0 && !take_text (&key, section))
        section[0] = '\0';
      continue;
    }
    if (!take (georeference, section, &key, &value)) {
      g_autofree gchar *shown_key = ndt_token_dup (&key);
      g_autofree gchar *shown = ndt_token_dup (&value);
      return ndt_text_fail (
          error, "%s, line %u: “%s” cannot be “%s”", name, number, shown_key, shown);
    }
  }
  return TRUE;
}

gboolean
ndt_georeference_find (const gchar *location, NdtGeoreference *georeference, GError **error)
{
  memset (georeference, 0, sizeof *georeference);
  g_autofree gchar *path = ndt_file_resolve (location, error);
  if (!path)
    return FALSE;
  g_autofree gchar *folder =
      g_file_test (path, G_FILE_TEST_IS_DIR) ? g_strdup (path) : g_path_get_dirname (path);
  g_autofree gchar *file = g_build_filename (folder, NDT_GEOREFERENCE_NAME, NULL);
  g_autofree gchar *shown = g_filename_display_name (file);
  g_autofree gchar *text = NULL;
  gsize size;
  if (!g_file_test (file, G_FILE_TEST_EXISTS))
    return TRUE;
  return ndt_file_read (file, NDT_GEOREFERENCE_MAX_SIZE, &text, &size, error) &&
         ndt_georeference_parse (text, size, shown, georeference, error);
}

/* ---- Writing ---- */

static const gchar *
format (gchar text[G_ASCII_DTOSTR_BUF_SIZE], double value)
{
  g_ascii_formatd (text, G_ASCII_DTOSTR_BUF_SIZE, "%.15g", value);
  return text;
}

gchar *
ndt_georeference_to_text (const NdtGeoreference *g)
{
  gchar a[G_ASCII_DTOSTR_BUF_SIZE], b[G_ASCII_DTOSTR_BUF_SIZE], c[G_ASCII_DTOSTR_BUF_SIZE];
  GString *text = g_string_new (NULL);
  g_string_append_printf (text, "projector_type: %s\n", *g->projector ? g->projector : "Local");
  if (*g->vertical_datum)
    g_string_append_printf (text, "vertical_datum: %s\n", g->vertical_datum);
  if (*g->mgrs_grid)
    g_string_append_printf (text, "mgrs_grid: %s\n", g->mgrs_grid);
  if (g->has_map_origin)
    g_string_append_printf (text, "map_origin:\n  latitude: %s\n  longitude: %s\n  altitude: %s\n",
        format (a, g->latitude), format (b, g->longitude), format (c, g->altitude));
  if (g->origin[0] != 0 || g->origin[1] != 0 || g->origin[2] != 0)
    g_string_append_printf (text,
        "# metres that were taken off the coordinates\n"
        "origin:\n  easting: %s\n  northing: %s\n  height: %s\n",
        format (a, g->origin[0]), format (b, g->origin[1]), format (c, g->origin[2]));
  return g_string_free (text, FALSE);
}

gchar *
ndt_georeference_describe (const NdtGeoreference *g)
{
  gchar a[G_ASCII_DTOSTR_BUF_SIZE], b[G_ASCII_DTOSTR_BUF_SIZE], c[G_ASCII_DTOSTR_BUF_SIZE];
  GString *text = g_string_new (*g->projector ? g->projector : "Local");
  if (*g->mgrs_grid)
    g_string_append_printf (text, " %s", g->mgrs_grid);
  if (*g->vertical_datum)
    g_string_append_printf (text, ", heights of %s", g->vertical_datum);
  if (g->has_map_origin)
    g_string_append_printf (text, ", projected from latitude %s, longitude %s, altitude %s m",
        format (a, g->latitude), format (b, g->longitude), format (c, g->altitude));
  if (g->origin[0] != 0 || g->origin[1] != 0 || g->origin[2] != 0)
    g_string_append_printf (text, ", origin at easting %s m, northing %s m, height %s m",
        format (a, g->origin[0]), format (b, g->origin[1]), format (c, g->origin[2]));
  return g_string_free (text, FALSE);
}

void
ndt_georeference_set_local (
    NdtGeoreference *georeference, double latitude, double longitude, double altitude)
{
  memset (georeference, 0, sizeof *georeference);
  g_strlcpy (georeference->projector, "LocalCartesian", sizeof georeference->projector);
  g_strlcpy (georeference->vertical_datum, "WGS84", sizeof georeference->vertical_datum);
  georeference->has_map_origin = TRUE;
  georeference->latitude = latitude;
  georeference->longitude = longitude;
  georeference->altitude = altitude;
}
