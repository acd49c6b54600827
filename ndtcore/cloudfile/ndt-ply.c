/* SPDX-License-Identifier: MIT */
/* PLY after G. Turk, "The PLY Polygon File Format" (1994), and the names of types that later
 * programs write ("float32"). */
#include "ndt-ply.h"

#include <math.h>
#include <string.h>

#include "ndtcore/base/ndt-memory.h"
#include "ndtcore/base/ndt-text.h"

G_STATIC_ASSERT (G_BYTE_ORDER == G_LITTLE_ENDIAN);

/* Comments of exporters take a few hundred bytes. */
#define MAX_HEADER_SIZE 65536

static const guint8 type_sizes[] = {0, 1, 1, 2, 2, 4, 4, 4, 8};

/* ---- Header ---- */

gboolean
ndt_ply_is_ply (const guint8 *data, gsize size)
{
  return size >= 4 && memcmp (data, "ply", 3) == 0 && strchr ("\r\n\t ", data[3]) && data[3];
}

static NdtPlyType
find_type (const NdtToken *token)
{
  static const gchar *const names[][2] = {{"char", "int8"}, {"uchar", "uint8"}, {"short", "int16"},
      {"ushort", "uint16"}, {"int", "int32"}, {"uint", "uint32"}, {"float", "float32"},
      {"double", "float64"}};
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (ndt_token_equal (token, names[i][0]) || ndt_token_equal (token, names[i][1]))
      return (NdtPlyType)(i + 1);
  return NDT_PLY_NONE;
}

static gboolean
copy_name (const NdtToken *token, gchar name[64], GError **error)
{
  if (token->size >= 64 || !g_utf8_validate_len (token->start, token->size, NULL)) {
    g_autofree gchar *text = ndt_token_dup (token);
    return ndt_text_fail (error, "has a name '%s' that is too long or not UTF-8", text);
  }
  memcpy (name, token->start, token->size);
  name[token->size] = '\0';
  return TRUE;
}

static gboolean
parse_format (NdtPlyHeader *header, NdtToken rest, GError **error)
{
  static const gchar *const names[] = {"ascii", "binary_little_endian", "binary_big_endian"};
  NdtToken name, version;
  if (ndt_text_next_token (&rest, 0, &name) && ndt_text_next_token (&rest, 0, &version))
    for (guint i = 0; i < G_N_ELEMENTS (names); i++)
      if (ndt_token_equal (&name, names[i]) && ndt_token_equal (&version, "1.0")) {
        header->encoding = (NdtPlyEncoding)i;
        return TRUE;
      }
  return ndt_text_fail (error,
      "has no line 'format ascii 1.0', 'format binary_little_endian 1.0' or 'format "
      "binary_big_endian 1.0' after its first");
}

static gboolean
parse_element (NdtPlyHeader *header, NdtToken rest, GError **error)
{
  NdtToken name, number;
  if (header->n_elements == NDT_PLY_MAX_ELEMENTS)
    return ndt_text_fail (error, "has more than %d elements", NDT_PLY_MAX_ELEMENTS);
  NdtPlyElement *element = &header->elements[header->n_elements];
  if (!ndt_text_next_token (&rest, 0, &name) || !ndt_text_next_token (&rest, 0, &number) ||
      !ndt_token_to_uint64 (&number, &element->n))
    return ndt_text_fail (error, "has an element line without a name and a whole number");
  element->first = header->n_properties;
  element->n_properties = 0;
  header->n_elements++;
  return copy_name (&name, element->name, error);
}

static gboolean
parse_property (NdtPlyHeader *header, NdtToken rest, GError **error)
{
  NdtToken token;
  if (header->n_elements == 0)
    return ndt_text_fail (error, "has a property before its first element");
  if (header->n_properties == NDT_PLY_MAX_PROPERTIES)
    return ndt_text_fail (error, "has more than %d properties", NDT_PLY_MAX_PROPERTIES);
  NdtPlyProperty *property = &header->properties[header->n_properties];
  gboolean ok = ndt_text_next_token (&rest, 0, &token);
  if (ok && ndt_token_equal (&token, "list")) {
    ok = ndt_text_next_token (&rest, 0, &token);
    property->count = ok ? find_type (&token) : NDT_PLY_NONE;
    ok = property->count != NDT_PLY_NONE && property->count < NDT_PLY_FLOAT32 &&
         ndt_text_next_token (&rest, 0, &token);
  }
  property->type = ok ? find_type (&token) : NDT_PLY_NONE;
  if (property->type == NDT_PLY_NONE || !ndt_text_next_token (&rest, 0, &token))
    return ndt_text_fail (error,
        "has a property line of element '%s' that is neither 'property TYPE NAME' nor 'property "
        "list TYPE TYPE NAME'",
        header->elements[header->n_elements - 1].name);
  header->n_properties++;
  header->elements[header->n_elements - 1].n_properties++;
  return copy_name (&token, property->name, error);
}

/* A scalar of the vertices by name, upper or lower case; -1 without. */
static gint
find_property (const NdtPlyHeader *header, const gchar *name)
{
  const NdtPlyElement *vertex = &header->elements[header->vertex];
  for (guint i = vertex->first; i < vertex->first + vertex->n_properties; i++)
    if (header->properties[i].count == NDT_PLY_NONE &&
        g_ascii_strcasecmp (header->properties[i].name, name) == 0)
      return (gint)i;
  return -1;
}

static gboolean
find_points (NdtPlyHeader *header, GError **error)
{
  static const gchar *const axes[] = {"x", "y", "z"};
  for (header->vertex = 0; header->vertex < header->n_elements; header->vertex++)
    if (strcmp (header->elements[header->vertex].name, "vertex") == 0)
      break;
  if (header->vertex == header->n_elements)
    return ndt_text_fail (error, "has no element 'vertex', so no points");
  header->scalar = NDT_SCALAR_F32;
  for (guint k = 0; k < 3; k++) {
    const gint index = find_property (header, axes[k]);
    if (index < 0)
      return ndt_text_fail (error, "has vertices without a property '%s'", axes[k]);
    header->xyz[k] = (guint)index;
    const NdtPlyType type = header->properties[index].type;
    if (type == NDT_PLY_FLOAT64 || type == NDT_PLY_INT32 || type == NDT_PLY_UINT32)
      header->scalar = NDT_SCALAR_F64;
  }
  header->intensity = find_property (header, "intensity");
  if (header->intensity < 0)
    header->intensity = find_property (header, "scalar_intensity");
  return TRUE;
}

gboolean
ndt_ply_parse_header (const guint8 *data, gsize size, NdtPlyHeader *header, GError **error)
{
  const gchar *cursor = (const gchar *)data;
  const gchar *end = cursor + MIN (size, MAX_HEADER_SIZE);
  gboolean has_format = FALSE;
  NdtToken line, word;

  memset (header, 0, sizeof *header);
  if (!ndt_ply_is_ply (data, size))
    return ndt_text_fail (error, "is no PLY file");
  ndt_text_next_line (&cursor, end, &line);
  while (cursor < end && memchr (cursor, '\n', (gsize)(end - cursor))) {
    gboolean ok = TRUE;
    ndt_text_next_line (&cursor, end, &line);
    if (!ndt_text_next_token (&line, 0, &word))
      continue;
    if (ndt_token_equal (&word, "comment") || ndt_token_equal (&word, "obj_info"))
      continue;
    if (ndt_token_equal (&word, "format")) {
      ok = parse_format (header, line, error);
      has_format = TRUE;
    } else if (ndt_token_equal (&word, "element")) {
      ok = parse_element (header, line, error);
    } else if (ndt_token_equal (&word, "property")) {
      ok = parse_property (header, line, error);
    } else if (ndt_token_equal (&word, "end_header")) {
      header->data_offset = (gsize)(cursor - (const gchar *)data);
      return (has_format || parse_format (header, (NdtToken){"", 0}, error)) &&
             find_points (header, error);
    } else {
      g_autofree gchar *text = ndt_token_dup (&word);
      return ndt_text_fail (error, "is no PLY file: '%s' is no word of a PLY header", text);
    }
    if (!ok)
      return FALSE;
  }
  if (size >= MAX_HEADER_SIZE)
    return ndt_text_fail (error, "has no line 'end_header' within %d bytes", MAX_HEADER_SIZE);
  return ndt_text_fail (error, "ends within its PLY header: there is no line 'end_header'");
}

/* ---- Data ---- */

/* Position in the data. */
typedef struct {
  const NdtPlyHeader *header;
  const guint8 *at;
  const guint8 *end;
} Reader;

static guint64
load_bits (const Reader *reader, const guint8 *at, guint size)
{
  guint64 bits = 0;
  if (reader->header->encoding == NDT_PLY_LITTLE_ENDIAN)
    memcpy (&bits, at, size);
  else
    for (guint i = 0; i < size; i++)
      bits = bits << 8 | at[i];
  return bits;
}

static double
load_value (const Reader *reader, NdtPlyType type, const guint8 *at)
{
  const guint64 bits = load_bits (reader, at, type_sizes[type]);
  switch (type) {
  case NDT_PLY_INT8:
    return (gint8)bits;
  case NDT_PLY_INT16:
    return (gint16)bits;
  case NDT_PLY_INT32:
    return (gint32)bits;
  case NDT_PLY_FLOAT32: {
    const guint32 narrow = (guint32)bits;
    float value;
    memcpy (&value, &narrow, sizeof value);
    return (double)value;
  }
  case NDT_PLY_FLOAT64: {
    double value;
    memcpy (&value, &bits, sizeof value);
    return value;
  }
  default:
    return (double)bits;
  }
}

/* The values of one binary element; those of the vertices' scalars go into @values. FALSE at the
 * end of the file, or where a list has less than no entries. */
static gboolean
read_binary (Reader *reader, const NdtPlyElement *element, double *values)
{
  for (guint i = 0; i < element->n_properties; i++) {
    const NdtPlyProperty *property = &reader->header->properties[element->first + i];
    const gsize left = (gsize)(reader->end - reader->at);
    if (property->count == NDT_PLY_NONE) {
      if (left < type_sizes[property->type])
        return FALSE;
      if (values)
        values[i] = load_value (reader, property->type, reader->at);
      reader->at += type_sizes[property->type];
      continue;
    }
    const gsize head = type_sizes[property->count];
    if (left < head)
      return FALSE;
    const double n = load_value (reader, property->count, reader->at);
    if (n < 0 || n * type_sizes[property->type] > (double)(left - head))
      return FALSE;
    reader->at += head + (gsize)n * type_sizes[property->type];
  }
  return TRUE;
}

static gboolean
next_line (Reader *reader, NdtToken *line)
{
  const gchar *cursor = (const gchar *)reader->at;
  gboolean found = FALSE;
  while (!found && ndt_text_next_line (&cursor, (const gchar *)reader->end, line)) {
    NdtToken rest = *line, word;
    found = ndt_text_next_token (&rest, 0, &word);
  }
  reader->at = (const guint8 *)cursor;
  return found;
}

static gboolean
read_ascii (Reader *reader, const NdtPlyElement *element, double *values)
{
  NdtToken line, token;
  if (!next_line (reader, &line))
    return FALSE;
  for (guint i = 0; values && i < element->n_properties; i++) {
    const NdtPlyProperty *property = &reader->header->properties[element->first + i];
    guint64 n = 1;
    if (property->count != NDT_PLY_NONE) {
      if (!ndt_text_next_token (&line, 0, &token) || !ndt_token_to_uint64 (&token, &n))
        return FALSE;
    }
    for (guint64 e = 0; e < n; e++) {
      double value;
      if (!ndt_text_next_token (&line, 0, &token))
        return FALSE;
      if (property->count == NDT_PLY_NONE) {
        if (!ndt_token_to_double (&token, &value))
          return FALSE;
        values[i] = value;
      }
    }
  }
  return TRUE;
}

static gboolean
read_element (Reader *reader, const NdtPlyElement *element, double *values)
{
  return reader->header->encoding == NDT_PLY_ASCII ? read_ascii (reader, element, values)
                                                   : read_binary (reader, element, values);
}

/* Least bytes of a binary element, and whether all elements have that size. */
static gsize
least_size (const NdtPlyHeader *header, const NdtPlyElement *element, gboolean *is_fixed)
{
  gsize size = 0;
  *is_fixed = header->encoding != NDT_PLY_ASCII;
  for (guint i = element->first; i < element->first + element->n_properties; i++) {
    const NdtPlyProperty *property = &header->properties[i];
    size += type_sizes[property->count ? property->count : property->type];
    if (property->count)
      *is_fixed = FALSE;
  }
  /* As text each value takes a character and what separates it. */
  return header->encoding == NDT_PLY_ASCII ? 2 * (gsize)element->n_properties : size;
}

/* Skips the elements before the vertices. */
static gboolean
skip_elements (Reader *reader, GError **error)
{
  for (guint i = 0; i < reader->header->vertex; i++) {
    const NdtPlyElement *element = &reader->header->elements[i];
    gboolean is_fixed, ok = TRUE;
    const gsize size = least_size (reader->header, element, &is_fixed);
    if (size == 0)
      continue;
    if (is_fixed) {
      ok = element->n <= (gsize)(reader->end - reader->at) / size;
      if (ok)
        reader->at += element->n * size;
    } else {
      for (guint64 k = 0; ok && k < element->n; k++)
        ok = read_element (reader, element, NULL);
    }
    if (!ok)
      return ndt_text_fail (error,
          "is truncated or damaged in its elements '%s', which come before the vertices",
          element->name);
  }
  return TRUE;
}

static gboolean
fail_truncated (guint64 present, guint64 n, GError **error)
{
  return ndt_text_fail (error,
      "is truncated: %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " points are missing",
      n - present, n);
}

/* Refers to floats or doubles with one stride in the file, without a copy. */
static gboolean
is_view (const NdtPlyHeader *header, gsize offsets[3])
{
  const NdtPlyElement *vertex = &header->elements[header->vertex];
  const NdtPlyType type = header->properties[header->xyz[0]].type;
  gsize offset = 0;
  if (header->encoding != NDT_PLY_LITTLE_ENDIAN || header->intensity >= 0 ||
      (type != NDT_PLY_FLOAT32 && type != NDT_PLY_FLOAT64))
    return FALSE;
  for (guint i = vertex->first; i < vertex->first + vertex->n_properties; i++) {
    if (header->properties[i].count != NDT_PLY_NONE)
      return FALSE;
    for (guint k = 0; k < 3; k++) {
      if (header->xyz[k] == i)
        offsets[k] = offset;
      if (header->xyz[k] == i && header->properties[i].type != type)
        return FALSE;
    }
    offset += type_sizes[header->properties[i].type];
  }
  return TRUE;
}

gboolean
ndt_ply_read (const NdtPlyHeader *header, const guint8 *data, gsize size, NdtCloudPoints *points,
    GError **error)
{
  const NdtPlyElement *vertex = &header->elements[header->vertex];
  const guint64 n = vertex->n;
  Reader reader = {header, data + header->data_offset, data + size};
  gboolean is_fixed;
  gsize offsets[3] = {0, 0, 0};

  memset (points, 0, sizeof *points);
  if (!skip_elements (&reader, error))
    return FALSE;
  const gsize least = least_size (header, vertex, &is_fixed);
  const gsize left = (gsize)(reader.end - reader.at);
  if (is_fixed && n > left / least)
    return fail_truncated (left / least, n, error);
  if (is_view (header, offsets)) {
    points->view =
        ndt_cloud_view (reader.at, n, least, offsets[0], offsets[1], offsets[2], header->scalar);
    return TRUE;
  }
  /* Bounds the memory that a wrong number makes us allocate by the size of the file; the last line
   * may end without a line feed. */
  double values[NDT_PLY_MAX_PROPERTIES];
  if (n > (left + 1) / least) {
    guint64 present = 0;
    while (present < n && read_element (&reader, vertex, values))
      present++;
    return fail_truncated (present, n, error);
  }

  const gboolean wide = header->scalar == NDT_SCALAR_F64;
  const gsize step = 3 * (wide ? sizeof (double) : sizeof (float));
  guint8 *out = g_try_malloc (n * step + 1);
  points->owned = out;
  if (header->intensity >= 0)
    points->intensities = g_try_new (float, n + 1);
  if (!out || (header->intensity >= 0 && !points->intensities)) {
    ndt_cloud_points_clear (points);
    return ndt_refuse_memory (error, "its %" G_GUINT64_FORMAT " points", n);
  }
  for (guint64 i = 0; i < n; i++) {
    if (!read_element (&reader, vertex, values)) {
      ndt_cloud_points_clear (points);
      if (reader.at >= reader.end && header->encoding == NDT_PLY_ASCII)
        return ndt_text_fail (error,
            "is truncated or damaged at vertex %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT, i + 1,
            n);
      return ndt_text_fail (error,
          "vertex %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
          " is cut or has values that are no numbers",
          i + 1, n);
    }
    for (guint k = 0; k < 3; k++) {
      const double value = values[header->xyz[k] - vertex->first];
      const float narrow = (float)value;
      if (wide)
        memcpy (out + i * step + k * sizeof value, &value, sizeof value);
      else
        memcpy (out + i * step + k * sizeof narrow, &narrow, sizeof narrow);
    }
    if (points->intensities)
      points->intensities[i] = (float)values[(guint)header->intensity - vertex->first];
  }
  points->view = wide ? ndt_cloud_view_xyz_f64 ((const double *)(gpointer)out, n)
                      : ndt_cloud_view_xyz_f32 ((const float *)(gpointer)out, n);
  return TRUE;
}
