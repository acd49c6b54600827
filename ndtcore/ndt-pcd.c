/* SPDX-License-Identifier: MIT */
#include "ndt-pcd.h"

#include <liblzf/lzf.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ndt-text.h"

G_STATIC_ASSERT (G_BYTE_ORDER == G_LITTLE_ENDIAN);

/* FIELDS, SIZE, TYPE and COUNT of 64 fields fit many times. */
#define MAX_HEADER_SIZE 65536
#define MAX_POINT_STEP (1u << 24)
/* What an LZF back reference of three bytes can stand for, over three. */
#define MAX_LZF_RATIO 88
#define LZF_SIZES 8

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

G_GNUC_PRINTF (2, 3)
static gboolean
fail (GError **error, const gchar *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree gchar *message = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error_literal (error, NDT_ERROR, NDT_ERROR_FORMAT, message);
  return FALSE;
}

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
      return fail (error, "has no field '%s'", names[set][i]);
    if (field->type != 'F')
      return fail (error, "field '%s' is of TYPE %c, not F", field->name, field->type);
    if (field->count != 1)
      return fail (error, "field '%s' has COUNT %u, not 1", field->name, field->count);
    xyz[i] = field;
  }
  if (xyz[0]->size != xyz[1]->size || xyz[0]->size != xyz[2]->size)
    return fail (error, "x, y and z have different SIZEs: %u, %u and %u", xyz[0]->size,
        xyz[1]->size, xyz[2]->size);
  return TRUE;
}

/* Header */

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

/* A line that is not there in full can already show that this is no PCD. */
static gboolean
check_line_start (const gchar *start, const gchar *end, GError **error)
{
  gsize blank = 0;
  for (const gchar *p = start; p < end; p++) {
    if ((guchar)*p < 0x20 && *p != '\t' && *p != '\r')
      return fail (error, "is no PCD file: binary bytes where the header should be");
    if (blank == 0 && (*p == ' ' || *p == '\t' || *p == '\r'))
      blank = (gsize)(p - start);
  }
  const gsize size = blank ? blank : (gsize)(end - start);
  const NdtToken token = {start, size};
  const gboolean whole = blank > 0 || size > strlen ("VIEWPOINT");
  if (size > 0 && *start != '#' && *start != ' ' && *start != '\t' && whole &&
      find_key (&token) < 0) {
    g_autofree gchar *text = ndt_token_dup (&token);
    return fail (error, "is no PCD file: '%s' is no word of a PCD header", text);
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
      return fail (error, "is no PCD file: '%s' is no word of a PCD header", text);
    }
    if (values[key].start)
      return fail (error, "has two %s lines", key_names[key]);
    values[key] = line;
    n_keys++;
    if (key == KEY_DATA) {
      *data_offset = (gsize)(cursor - (const gchar *)data);
      return TRUE;
    }
  }
  if (size >= MAX_HEADER_SIZE)
    return fail (error, "has no DATA line within %u bytes%s", MAX_HEADER_SIZE,
        n_keys == 0 ? " and is no PCD file" : "");
  return FALSE;
}

static gboolean
parse_fields (NdtPcdHeader *header, NdtToken rest, GError **error)
{
  NdtToken token;
  if (!rest.start)
    return fail (error, "has no FIELDS line");
  while (ndt_text_next_token (&rest, 0, &token)) {
    if (header->n_fields == NDT_PCD_MAX_FIELDS)
      return fail (error, "has more than %d FIELDS", NDT_PCD_MAX_FIELDS);
    NdtPcdField *field = &header->fields[header->n_fields];
    if (token.size >= sizeof field->name || !g_utf8_validate_len (token.start, token.size, NULL)) {
      g_autofree gchar *text = ndt_token_dup (&token);
      return fail (error, "field name '%s' is too long or not UTF-8", text);
    }
    memcpy (field->name, token.start, token.size);
    field->name[token.size] = '\0';
    field->type = 'F';
    field->size = 4;
    field->count = 1;
    header->n_fields++;
  }
  return header->n_fields > 0 || fail (error, "has an empty FIELDS line");
}

static gboolean
parse_field_value (NdtPcdField *field, Key key, const NdtToken *token)
{
  guint64 value;
  if (key == KEY_TYPE) {
    field->type = (gchar)g_ascii_toupper (token->start[0]);
    return token->size == 1 && strchr ("FIU", field->type) != NULL;
  }
  if (!ndt_token_to_uint64 (token, &value) || value == 0 || value > MAX_POINT_STEP)
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
      return fail (
          error, "%s of field '%s' cannot be '%s'", key_names[key], header->fields[n].name, text);
    }
  }
  if (n != header->n_fields)
    return fail (error, "has %u FIELDS but %u values in %s", header->n_fields, n, key_names[key]);
  return TRUE;
}

static gboolean
lay_out_fields (NdtPcdHeader *header, GError **error)
{
  guint64 step = 0;
  for (guint i = 0; i < header->n_fields; i++) {
    NdtPcdField *field = &header->fields[i];
    const guint size = field->size;
    const gboolean is_float = field->type == 'F';
    if (!(size == 4 || size == 8 || (!is_float && (size == 1 || size == 2))))
      return fail (
          error, "field '%s' of TYPE %c cannot have SIZE %u", field->name, field->type, size);
    field->offset = (guint)step;
    step += (guint64)size * field->count;
    if (step > MAX_POINT_STEP)
      return fail (error, "points take more than %u bytes each", MAX_POINT_STEP);
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
    return fail (error, "has a %s line without one whole number", key_names[key]);
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
    return fail (error, "has neither a WIDTH nor a POINTS line");
  if (!has_width) {
    if (height == 0 || points % height != 0)
      return fail (error,
          "POINTS is %" G_GUINT64_FORMAT ", which is not divided by HEIGHT %" G_GUINT64_FORMAT,
          points, height);
    width = points / height;
  }
  if (height != 0 && width > (guint64)G_MAXSSIZE / height / header->point_step)
    return fail (error,
        "%" G_GUINT64_FORMAT " × %" G_GUINT64_FORMAT " points of %u bytes are too many", width,
        height, header->point_step);
  if (has_points && width * height != points)
    return fail (error, "WIDTH × HEIGHT is %" G_GUINT64_FORMAT " but POINTS is %" G_GUINT64_FORMAT,
        width * height, points);
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
      return fail (error, "has a VIEWPOINT line without seven numbers");
  if (ndt_text_next_token (&rest, 0, &token))
    return fail (error, "has a VIEWPOINT line with more than seven numbers");
  return TRUE;
}

static gboolean
parse_encoding (NdtPcdHeader *header, NdtToken rest, GError **error)
{
  NdtToken token;
  if (!ndt_text_next_token (&rest, 0, &token))
    return fail (error, "has an empty DATA line");
  if (ndt_token_equal (&token, "ascii")) {
    header->encoding = NDT_PCD_ASCII;
  } else if (ndt_token_equal (&token, "binary")) {
    header->encoding = NDT_PCD_BINARY;
  } else if (ndt_token_equal (&token, "binary_compressed")) {
    header->encoding = NDT_PCD_BINARY_COMPRESSED;
  } else {
    g_autofree gchar *text = ndt_token_dup (&token);
    return fail (error, "has DATA '%s', not ascii, binary or binary_compressed", text);
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

/* Data */

static guint32
read_u32 (const guint8 *data)
{
  guint32 value;
  memcpy (&value, data, sizeof value);
  return value;
}

/* Blank lines and comments are no points. */
static gboolean
next_data_line (const gchar **cursor, const gchar *end, NdtToken *line, guint64 *number)
{
  while (ndt_text_next_line (cursor, end, line)) {
    NdtToken rest = *line, word;
    (*number)++;
    if (ndt_text_next_token (&rest, 0, &word) && word.start[0] != '#')
      return TRUE;
  }
  return FALSE;
}

gboolean
ndt_pcd_find_end (
    const NdtPcdHeader *header, const guint8 *data, gsize size, NdtPcdCursor *cursor, gsize *end)
{
  const guint64 n_points = ndt_pcd_header_get_n_points (header);
  *end = 0;
  if (n_points == 0)
    return TRUE;

  switch (header->encoding) {
  case NDT_PCD_BINARY:
    *end = (gsize)n_points * header->point_step;
    return size >= *end;
  case NDT_PCD_BINARY_COMPRESSED:
    if (size < LZF_SIZES)
      return FALSE;
    *end = LZF_SIZES + (gsize)read_u32 (data);
    return size >= *end;
  case NDT_PCD_ASCII:
    break;
  }

  const gchar *start = (const gchar *)data;
  while (cursor->n_lines < n_points) {
    const gchar *p = start + cursor->offset;
    NdtToken line, word;
    if (cursor->offset >= size || memchr (p, '\n', size - cursor->offset) == NULL)
      return FALSE;
    ndt_text_next_line (&p, start + size, &line);
    if (ndt_text_next_token (&line, 0, &word) && word.start[0] != '#')
      cursor->n_lines++;
    cursor->offset = (gsize)(p - start);
  }
  *end = cursor->offset;
  return TRUE;
}

static gboolean
store_integer (const NdtPcdField *field, const NdtToken *token, guint8 *out)
{
  const guint bits = field->size * 8;
  guint64 raw = 0;
  if (field->type == 'U') {
    if (!ndt_token_to_uint64 (token, &raw)) {
      double value;
      /* "1.0" and "2e3" are whole numbers too; PCL writes and reads nan as 0 here. */
      if (!ndt_token_to_double (token, &value))
        return FALSE;
      if (isnan (value))
        value = 0;
      if (value != floor (value) || value < 0 || value >= 18446744073709551616.0)
        return FALSE;
      raw = (guint64)value;
    }
    if (bits < 64 && raw >> bits != 0)
      return FALSE;
  } else {
    gint64 number;
    if (!ndt_token_to_int64 (token, &number)) {
      double value;
      if (!ndt_token_to_double (token, &value))
        return FALSE;
      if (isnan (value))
        value = 0;
      if (value != floor (value) || value < -9223372036854775808.0 ||
          value >= 9223372036854775808.0)
        return FALSE;
      number = (gint64)value;
    }
    const gint64 limit = bits < 64 ? (G_GINT64_CONSTANT (1) << (bits - 1)) - 1 : G_MAXINT64;
    if (number > limit || number < -limit - 1)
      return FALSE;
    raw = (guint64)number;
  }
  memcpy (out, &raw, field->size);
  return TRUE;
}

static gboolean
store_value (const NdtPcdField *field, const NdtToken *token, guint8 *out)
{
  if (field->type != 'F')
    return store_integer (field, token, out);
  double value;
  if (!ndt_token_to_double (token, &value))
    return FALSE;
  if (field->size == 4) {
    float narrow = (float)value;
    memcpy (out, &narrow, sizeof narrow);
  } else {
    memcpy (out, &value, sizeof value);
  }
  return TRUE;
}

static gboolean
decode_line (
    const NdtPcdHeader *header, NdtToken line, guint64 number, guint8 *point, GError **error)
{
  NdtToken token;
  for (guint i = 0; i < header->n_fields; i++) {
    const NdtPcdField *field = &header->fields[i];
    for (guint e = 0; e < field->count; e++) {
      if (!ndt_text_next_token (&line, 0, &token))
        return fail (error, "line %" G_GUINT64_FORMAT " of the data ends before field '%s'", number,
            field->name);
      if (!store_value (field, &token, point + field->offset + (gsize)e * field->size)) {
        g_autofree gchar *text = ndt_token_dup (&token);
        return fail (error,
            "line %" G_GUINT64_FORMAT " of the data has '%s' in field '%s' of TYPE %c, SIZE %u",
            number, text, field->name, field->type, field->size);
      }
    }
  }
  if (ndt_text_next_token (&line, 0, &token))
    return fail (
        error, "line %" G_GUINT64_FORMAT " of the data has more values than FIELDS", number);
  return TRUE;
}

static guint8 *
allocate (gsize size, GError **error)
{
  guint8 *memory = g_try_malloc (MAX (size, 1));
  if (!memory)
    g_set_error (
        error, NDT_ERROR, NDT_ERROR_NO_MEMORY, "cannot allocate %" G_GSIZE_FORMAT " bytes", size);
  return memory;
}

static gboolean
fail_truncated (const NdtPcdHeader *header, guint64 present, GError **error)
{
  const guint64 n_points = ndt_pcd_header_get_n_points (header);
  return fail (error,
      "is truncated: %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " points are missing",
      n_points - present, n_points);
}

/* Text that was read need not stay in memory: a file mapping can read it again. Returns where to go
 * on releasing. */
static const gchar *
release_mapping (const gchar *from, const gchar *to)
{
  const gsize page = (gsize)sysconf (_SC_PAGESIZE);
  const gchar *start = from + (page - (guintptr)from % page) % page;
  const gchar *end = to - (guintptr)to % page;
  if (end <= start)
    return from;
  madvise ((gpointer)start, (gsize)(end - start), MADV_DONTNEED);
  return end;
}

/* @is_mapping: data are a file's mapping, of which no more than necessary is kept in memory */
static guint8 *
decode_ascii (
    const NdtPcdHeader *header, const guint8 *data, gsize size, gboolean is_mapping, GError **error)
{
  const gsize n_points = ndt_pcd_header_get_n_points (header);
  const gchar *cursor = (const gchar *)data;
  const gchar *end = cursor + size;
  const gchar *released = cursor;
  guint64 number = 0;
  NdtToken line;

  /* Each value takes a character and a separator at least, which bounds what a wrong header can
   * make us allocate. */
  guint64 values = 0;
  for (guint i = 0; i < header->n_fields; i++)
    values += header->fields[i].count;
  if (n_points > 0 && n_points > (size / 2 + 1) / values) {
    NdtPcdCursor at = {0, 0};
    gsize unused;
    ndt_pcd_find_end (header, data, size, &at, &unused);
    fail_truncated (header, MIN (at.n_lines, n_points - 1), error);
    return NULL;
  }

  g_autofree guint8 *points = allocate (n_points * header->point_step, error);
  if (!points)
    return NULL;
  for (gsize i = 0; i < n_points; i++) {
    if (!next_data_line (&cursor, end, &line, &number)) {
      fail_truncated (header, i, error);
      return NULL;
    }
    if (!decode_line (header, line, number, points + i * header->point_step, error))
      return NULL;
    if (is_mapping && cursor - released > 4 << 20)
      released = release_mapping (released, cursor);
  }
  if (next_data_line (&cursor, end, &line, &number)) {
    fail (error, "has more lines of data than its %" G_GSIZE_FORMAT " points", n_points);
    return NULL;
  }
  return g_steal_pointer (&points);
}

static gboolean
check_binary (const NdtPcdHeader *header, gsize size, GError **error)
{
  const gsize n_points = ndt_pcd_header_get_n_points (header);
  const gsize needed = n_points * header->point_step;
  if (size >= needed)
    return TRUE;
  return fail (error,
      "is truncated: %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT " bytes of data, so %" G_GSIZE_FORMAT
      " of %" G_GSIZE_FORMAT " points, are missing",
      needed - size, needed, n_points - size / header->point_step, n_points);
}

/* The decompressed bytes: all values of the first field, then all of the second, and so on. */
static guint8 *
decompress (const NdtPcdHeader *header, const guint8 *data, gsize size, GError **error)
{
  const gsize needed = ndt_pcd_header_get_n_points (header) * header->point_step;
  if (needed == 0)
    return allocate (0, error);
  if (size < LZF_SIZES) {
    fail (error, "is truncated: the sizes of its compressed data are missing");
    return NULL;
  }
  const guint32 packed = read_u32 (data);
  const guint32 unpacked = read_u32 (data + 4);
  if (size - LZF_SIZES < packed) {
    fail (error, "is truncated: %" G_GSIZE_FORMAT " of %u bytes of compressed data are missing",
        packed - (size - LZF_SIZES), packed);
    return NULL;
  }
  if (unpacked != needed) {
    fail (error, "has compressed data of %u bytes where its points take %" G_GSIZE_FORMAT " bytes",
        unpacked, needed);
    return NULL;
  }
  if (needed / MAX_LZF_RATIO > packed) {
    fail (error, "has compressed data of %u bytes that cannot hold %" G_GSIZE_FORMAT " bytes",
        packed, needed);
    return NULL;
  }
  g_autofree guint8 *columns = allocate (needed, error);
  if (!columns)
    return NULL;
  if (lzf_decompress (data + LZF_SIZES, packed, columns, unpacked) != unpacked) {
    fail (error, "has damaged compressed data");
    return NULL;
  }
  return g_steal_pointer (&columns);
}

static void
interleave (guint8 *out, gsize step, const guint8 *in, gsize size, gsize n)
{
  switch (size) {
  case 4:
    for (gsize i = 0; i < n; i++)
      memcpy (out + i * step, in + i * 4, 4);
    break;
  case 8:
    for (gsize i = 0; i < n; i++)
      memcpy (out + i * step, in + i * 8, 8);
    break;
  default:
    for (gsize i = 0; i < n; i++)
      memcpy (out + i * step, in + i * size, size);
    break;
  }
}

guint8 *
ndt_pcd_decode (
    const NdtPcdHeader *header, const guint8 *data, gsize size, gsize *n_points, GError **error)
{
  const gsize n = ndt_pcd_header_get_n_points (header);
  const gsize step = header->point_step;
  g_autofree guint8 *points = NULL;

  switch (header->encoding) {
  case NDT_PCD_ASCII:
    points = decode_ascii (header, data, size, FALSE, error);
    break;
  case NDT_PCD_BINARY:
    if (check_binary (header, size, error) && (points = allocate (n * step, error)) && n > 0)
      memcpy (points, data, n * step);
    break;
  case NDT_PCD_BINARY_COMPRESSED: {
    g_autofree guint8 *columns = decompress (header, data, size, error);
    if (!columns || !(points = allocate (n * step, error)))
      break;
    for (guint i = 0; i < header->n_fields; i++) {
      const NdtPcdField *field = &header->fields[i];
      interleave (points + field->offset, step, columns + n * field->offset,
          (gsize)field->size * field->count, n);
    }
    break;
  }
  }
  if (points)
    *n_points = n;
  return g_steal_pointer (&points);
}

/* Files */

struct _NdtPcdFile {
  gchar *path;
  GMappedFile *mapping;
  NdtPcdHeader header;
  guint8 *owned; /* decoded points, where the mapping itself does not do */
};

NdtPcdFile *
ndt_pcd_file_open (const gchar *path, GError **error)
{
  g_autoptr (GError) cause = NULL;
  g_autoptr (NdtPcdFile) file = g_new0 (NdtPcdFile, 1);
  file->path = g_filename_display_name (path);
  /* Opening a pipe would wait for somebody who writes. */
  if (g_file_test (path, G_FILE_TEST_EXISTS) && !g_file_test (path, G_FILE_TEST_IS_REGULAR)) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_IO, "%s is not a regular file", file->path);
    return NULL;
  }
  file->mapping = g_mapped_file_new (path, FALSE, &cause);
  if (!file->mapping) {
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_IO, cause->message);
    return NULL;
  }
  const guint8 *data = (const guint8 *)g_mapped_file_get_contents (file->mapping);
  const gsize size = g_mapped_file_get_length (file->mapping);
  if (size == 0)
    fail (&cause, "is empty");
  else if (!ndt_pcd_parse_header (data, size, &file->header, &cause) && !cause)
    fail (&cause, "ends within its PCD header: there is no DATA line");
  if (cause) {
    g_propagate_prefixed_error (error, g_steal_pointer (&cause), "%s ", file->path);
    return NULL;
  }
  return g_steal_pointer (&file);
}

void
ndt_pcd_file_free (NdtPcdFile *file)
{
  if (!file)
    return;
  g_clear_pointer (&file->mapping, g_mapped_file_unref);
  g_free (file->owned);
  g_free (file->path);
  g_free (file);
}

const NdtPcdHeader *
ndt_pcd_file_get_header (const NdtPcdFile *file)
{
  return &file->header;
}

static gboolean
load_points (NdtPcdFile *file, GError **error)
{
  const NdtPcdHeader *header = &file->header;
  const guint8 *data =
      (const guint8 *)g_mapped_file_get_contents (file->mapping) + header->data_offset;
  const gsize size = g_mapped_file_get_length (file->mapping) - header->data_offset;

  if (header->encoding == NDT_PCD_BINARY)
    return check_binary (header, size, error);
  /* Columns serve as well as points do, and save a copy. */
  file->owned = header->encoding == NDT_PCD_ASCII ? decode_ascii (header, data, size, TRUE, error)
                                                  : decompress (header, data, size, error);
  if (!file->owned)
    return FALSE;
  g_clear_pointer (&file->mapping, g_mapped_file_unref);
  return TRUE;
}

gboolean
ndt_pcd_file_get_points (NdtPcdFile *file, NdtCloudView *view, GError **error)
{
  const NdtPcdHeader *header = &file->header;
  const gsize n_points = ndt_pcd_header_get_n_points (header);
  const NdtPcdField *xyz[3];
  if (!ndt_pcd_header_find_xyz (header, xyz, error) ||
      (!file->owned && !load_points (file, error))) {
    g_prefix_error (error, "%s ", file->path);
    return FALSE;
  }

  const NdtScalar scalar = xyz[0]->size == 4 ? NDT_SCALAR_F32 : NDT_SCALAR_F64;
  if (header->encoding == NDT_PCD_BINARY_COMPRESSED) {
    *view = ndt_cloud_view (file->owned, n_points, xyz[0]->size, n_points * xyz[0]->offset,
        n_points * xyz[1]->offset, n_points * xyz[2]->offset, scalar);
  } else {
    const guint8 *points =
        file->owned
            ? file->owned
            : (const guint8 *)g_mapped_file_get_contents (file->mapping) + header->data_offset;
    *view = ndt_cloud_view (points, n_points, header->point_step, xyz[0]->offset, xyz[1]->offset,
        xyz[2]->offset, scalar);
  }
  return TRUE;
}
