/* SPDX-License-Identifier: MIT */
#include "ndt-pcd.h"

#include <math.h>
#include <string.h>

#include "ndtcore/base/ndt-text.h"

/* FIELDS, SIZE, TYPE and COUNT of 64 fields fit many times. */
#define MAX_HEADER_SIZE 65536
#define MAX_POINT_STEP (1u << 24)

typedef enum {
  KEY_VERSION,
  KEY_FIELDS,
  KEY_SIZE,
  KEY_TYPE,
  KEY_COUNT,
  KEY_WIDTH,
  KEY_HEIGHT,
  KEY_VIEWPOINT,
  KEY_POINTS,
  KEY_DATA,
  N_KEYS
} Key;

static const gchar *const key_names[N_KEYS] = {
    "VERSION", "FIELDS", "SIZE", "TYPE", "COUNT", "WIDTH", "HEIGHT", "VIEWPOINT", "POINTS", "DATA"};

guint64
ndt_pcd_header_get_n_points (const NdtPcdHeader *header)
{
  return header->width * header->height;
}

const NdtPcdField *
ndt_pcd_header_find_field (const NdtPcdHeader *header, const gchar *name)
{
  for (guint i = 0; i < header->n_fields; i++)
    if (strcmp (header->fields[i].name, name) == 0)
      return &header->fields[i];
  return NULL;
}

gboolean
ndt_pcd_header_find_xyz (const NdtPcdHeader *header, const NdtPcdField *xyz[3], GError **error)
{
  static const gchar *const names[2][3] = {{"x", "y", "z"}, {"X", "Y", "Z"}};
  const guint set = ndt_pcd_header_find_field (header, "x") == NULL &&
                    ndt_pcd_header_find_field (header, "X") != NULL;
  for (guint i = 0; i < 3; i++) {
    const NdtPcdField *field = ndt_pcd_header_find_field (header, names[set][i]);
    if (!field)
      return ndt_text_fail (error, "has no field '%s'", names[set][i]);
    if (field->type != 'F')
      return ndt_text_fail (error, "field '%s' is of TYPE %c, not F", field->name, field->type);
    if (field->count != 1)
      return ndt_text_fail (error, "field '%s' has COUNT %u, not 1", field->name, field->count);
    xyz[i] = field;
  }
  if (xyz[0]->size != xyz[1]->size || xyz[0]->size != xyz[2]->size)
    return ndt_text_fail (error, "x, y and z have different SIZEs: %u, %u and %u", xyz[0]->size,
        xyz[1]->size, xyz[2]->size);
  return TRUE;
}

static gint
find_key (const NdtToken *token)
{
  if (ndt_token_equal (token, "COLUMNS"))
    return KEY_FIELDS;
  for (gint i = 0; i < N_KEYS; i++)
    if (ndt_token_equal (token, key_names[i]))
      return i;
  return -1;
}

/* An incomplete line can already show that this is no PCD. */
static gboolean
check_line_start (const gchar *start, const gchar *end, GError **error)
{
  gsize blank = 0;
  for (const gchar *p = start; p < end; p++) {
    if ((guchar)*p < 0x20 && *p != '\t' && *p != '\r')
      return ndt_text_fail (error, "is no PCD file: binary bytes where the header should be");
    if (blank == 0 && (*p == ' ' || *p == '\t' || *p == '\r'))
      blank = (gsize)(p - start);
  }
  const gsize size = blank ? blank : (gsize)(end - start);
  const NdtToken token = {start, size};
  const gboolean whole = blank > 0 || size > strlen ("VIEWPOINT");
  if (size > 0 && *start != '#' && *start != ' ' && *start != '\t' && whole &&
      find_key (&token) < 0) {
    g_autofree gchar *text = ndt_token_dup (&token);
    return ndt_text_fail (error, "is no PCD file: '%s' is no word of a PCD header", text);
  }
  return TRUE;
}

/* Finds the values of all header lines. */
static gboolean
collect_lines (
    const guint8 *data, gsize size, NdtToken values[N_KEYS], gsize *data_offset, GError **error)
{
  const gchar *cursor = (const gchar *)data;
  const gchar *end = cursor + MIN (size, MAX_HEADER_SIZE);
  guint n_keys = 0;

  while (cursor < end) {
    const gchar *start = cursor;
    NdtToken line, word;
    if (memchr (start, '\n', (gsize)(end - start)) == NULL) {
      if (!check_line_start (start, end, error))
        return FALSE;
      break;
    }
    ndt_text_next_line (&cursor, end, &line);
    if (!check_line_start (line.start, line.start + line.size, error))
      return FALSE;
    if (!ndt_text_next_token (&line, 0, &word) || word.start[0] == '#')
      continue;
    gint key = find_key (&word);
    if (key < 0) {
      g_autofree gchar *text = ndt_token_dup (&word);
      return ndt_text_fail (error, "is no PCD file: '%s' is no word of a PCD header", text);
    }
    if (values[key].start)
      return ndt_text_fail (error, "has two %s lines", key_names[key]);
    values[key] = line;
    n_keys++;
    if (key == KEY_DATA) {
      *data_offset = (gsize)(cursor - (const gchar *)data);
      return TRUE;
    }
  }
  if (size >= MAX_HEADER_SIZE)
    return ndt_text_fail (error, "has no DATA line within %u bytes%s", MAX_HEADER_SIZE,
        n_keys == 0 ? " and is no PCD file" : "");
  return FALSE;
}

static gboolean
parse_fields (NdtPcdHeader *header, NdtToken rest, GError **error)
{
  NdtToken token;
  if (!rest.start)
    return ndt_text_fail (error, "has no FIELDS line");
  while (ndt_text_next_token (&rest, 0, &token)) {
    if (header->n_fields == NDT_PCD_MAX_FIELDS)
      return ndt_text_fail (error, "has more than %d FIELDS", NDT_PCD_MAX_FIELDS);
    NdtPcdField *field = &header->fields[header->n_fields];
    if (token.size >= sizeof field->name || !g_utf8_validate_len (token.start, token.size, NULL)) {
      g_autofree gchar *text = ndt_token_dup (&token);
      return ndt_text_fail (error, "field name '%s' is too long or not UTF-8", text);
    }
    memcpy (field->name, token.start, token.size);
    field->name[token.size] = '\0';
    field->type = 'F';
    field->size = 4;
    field->count = 1;
    header->n_fields++;
  }
  return header->n_fields > 0 || ndt_text_fail (error, "has an empty FIELDS line");
}

static gboolean
parse_field_value (NdtPcdField *field, Key key, const NdtToken *token)
{
  guint64 value;
  if (key == KEY_TYPE) {
    field->type = (gchar)g_ascii_toupper (token->start[0]);
    return token->size == 1 && strchr ("FIU", field->type) != NULL;
  }
  /* Padding of no bytes: writers that pad every field to the next have it. For other fields it is
   * ambiguous: 0 means none or, in old files of PCL, one. */
  const gboolean may_be_none = strcmp (field->name, "_") == 0;
  if (!ndt_token_to_uint64 (token, &value) || (value == 0 && !may_be_none) ||
      value > MAX_POINT_STEP)
    return FALSE;
  if (key == KEY_COUNT)
    field->count = (guint)value;
  else
    field->size = (guint)value;
  return TRUE;
}

/* SIZE, TYPE or COUNT: a value for each field. */
static gboolean
parse_per_field (NdtPcdHeader *header, Key key, NdtToken rest, GError **error)
{
  NdtToken token;
  guint n = 0;
  if (!rest.start)
    return TRUE;
  for (; ndt_text_next_token (&rest, 0, &token); n++) {
    if (n < header->n_fields && !parse_field_value (&header->fields[n], key, &token)) {
      g_autofree gchar *text = ndt_token_dup (&token);
      return ndt_text_fail (
          error, "%s of field '%s' cannot be '%s'", key_names[key], header->fields[n].name, text);
    }
  }
  if (n != header->n_fields)
    return ndt_text_fail (
        error, "has %u FIELDS but %u values in %s", header->n_fields, n, key_names[key]);
  return TRUE;
}

static gboolean
lay_out_fields (NdtPcdHeader *header, GError **error)
{
  guint64 step = 0;
  guint n = 0;
  for (guint i = 0; i < header->n_fields; i++)
    if (header->fields[i].count > 0 && header->fields[i].size > 0)
      header->fields[n++] = header->fields[i];
  header->n_fields = n;
  if (n == 0)
    return ndt_text_fail (error, "has no fields but empty ones");
  for (guint i = 0; i < header->n_fields; i++) {
    NdtPcdField *field = &header->fields[i];
    const guint size = field->size;
    const gboolean is_float = field->type == 'F';
    if (!(size == 4 || size == 8 || (!is_float && (size == 1 || size == 2))))
      return ndt_text_fail (
          error, "field '%s' of TYPE %c cannot have SIZE %u", field->name, field->type, size);
    field->offset = (guint)step;
    step += (guint64)size * field->count;
    if (step > MAX_POINT_STEP)
      return ndt_text_fail (error, "points take more than %u bytes each", MAX_POINT_STEP);
  }
  header->point_step = (guint)step;
  return TRUE;
}

/* TRUE with *present FALSE where the line is missing. */
static gboolean
parse_number_line (Key key, NdtToken rest, guint64 *value, gboolean *present, GError **error)
{
  NdtToken token, more;
  *present = rest.start != NULL;
  if (!rest.start)
    return TRUE;
  if (!ndt_text_next_token (&rest, 0, &token) || !ndt_token_to_uint64 (&token, value) ||
      ndt_text_next_token (&rest, 0, &more))
    return ndt_text_fail (error, "has a %s line without one whole number", key_names[key]);
  return TRUE;
}

static gboolean
parse_counts (NdtPcdHeader *header, const NdtToken values[N_KEYS], GError **error)
{
  guint64 width = 0, height = 1, points = 0;
  gboolean has_width, has_height, has_points;
  if (!parse_number_line (KEY_WIDTH, values[KEY_WIDTH], &width, &has_width, error) ||
      !parse_number_line (KEY_HEIGHT, values[KEY_HEIGHT], &height, &has_height, error) ||
      !parse_number_line (KEY_POINTS, values[KEY_POINTS], &points, &has_points, error))
    return FALSE;
  if (!has_width && !has_points)
    return ndt_text_fail (error, "has neither a WIDTH nor a POINTS line");
  if (!has_width) {
    if (height == 0 || points % height != 0)
      return ndt_text_fail (error,
          "POINTS is %" G_GUINT64_FORMAT ", which is not divided by HEIGHT %" G_GUINT64_FORMAT,
          points, height);
    width = points / height;
  }
  if (height != 0 && width > (guint64)G_MAXSSIZE / height / header->point_step)
    return ndt_text_fail (error,
        "%" G_GUINT64_FORMAT " × %" G_GUINT64_FORMAT " points of %u bytes are too many", width,
        height, header->point_step);
  if (has_points && width * height != points)
    return ndt_text_fail (error,
        "WIDTH × HEIGHT is %" G_GUINT64_FORMAT " but POINTS is %" G_GUINT64_FORMAT, width * height,
        points);
  header->width = width;
  header->height = height;
  return TRUE;
}

static gboolean
parse_viewpoint (NdtPcdHeader *header, NdtToken rest, GError **error)
{
  NdtToken token;
  if (!rest.start) {
    header->viewpoint[3] = 1;
    return TRUE;
  }
  for (guint i = 0; i < 7; i++)
    if (!ndt_text_next_token (&rest, 0, &token) ||
        !ndt_token_to_double (&token, &header->viewpoint[i]) || !isfinite (header->viewpoint[i]))
      return ndt_text_fail (error, "has a VIEWPOINT line without seven numbers");
  if (ndt_text_next_token (&rest, 0, &token))
    return ndt_text_fail (error, "has a VIEWPOINT line with more than seven numbers");
  return TRUE;
}

static gboolean
parse_encoding (NdtPcdHeader *header, NdtToken rest, GError **error)
{
  NdtToken token;
  if (!ndt_text_next_token (&rest, 0, &token))
    return ndt_text_fail (error, "has an empty DATA line");
  if (ndt_token_equal (&token, "ascii")) {
    header->encoding = NDT_PCD_ASCII;
  } else if (ndt_token_equal (&token, "binary")) {
    header->encoding = NDT_PCD_BINARY;
  } else if (ndt_token_equal (&token, "binary_compressed")) {
    header->encoding = NDT_PCD_BINARY_COMPRESSED;
  } else {
    g_autofree gchar *text = ndt_token_dup (&token);
    return ndt_text_fail (error, "has DATA '%s', not ascii, binary or binary_compressed", text);
  }
  return TRUE;
}

gboolean
ndt_pcd_parse_header (const guint8 *data, gsize size, NdtPcdHeader *header, GError **error)
{
  NdtToken values[N_KEYS] = {{NULL, 0}};
  memset (header, 0, sizeof *header);
  if (!collect_lines (data, size, values, &header->data_offset, error))
    return FALSE;
  return parse_fields (header, values[KEY_FIELDS], error) &&
         parse_per_field (header, KEY_SIZE, values[KEY_SIZE], error) &&
         parse_per_field (header, KEY_TYPE, values[KEY_TYPE], error) &&
         parse_per_field (header, KEY_COUNT, values[KEY_COUNT], error) &&
         lay_out_fields (header, error) && parse_counts (header, values, error) &&
         parse_viewpoint (header, values[KEY_VIEWPOINT], error) &&
         parse_encoding (header, values[KEY_DATA], error);
}
