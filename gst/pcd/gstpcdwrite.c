/* SPDX-License-Identifier: MIT */
#include "gstpcdwrite.h"

#include <liblzf/lzf.h>
#include <math.h>
#include <string.h>

/* TYPE of a field in the header. */
static gchar
type_letter (GstPointFieldType type)
{
  switch (type) {
  case GST_POINT_FIELD_TYPE_INT8:
  case GST_POINT_FIELD_TYPE_INT16:
  case GST_POINT_FIELD_TYPE_INT32:
    return 'I';
  case GST_POINT_FIELD_TYPE_FLOAT32:
  case GST_POINT_FIELD_TYPE_FLOAT64:
    return 'F';
  default:
    return 'U';
  }
}

static gsize
field_size (const GstPointField *field)
{
  return (gsize)field->count * gst_point_field_type_get_size (field->type);
}

/* Bytes of a point without gaps. */
static gsize
packed_step (const GstPointCloudInfo *info)
{
  gsize step = 0;

  for (guint i = 0; i < info->n_fields; i++)
    step += field_size (&info->fields[i]);
  return step;
}

/* PCD names end at blanks. */
static void
append_name (GByteArray *file, const gchar *name)
{
  g_autofree gchar *word = g_strdup (name);

  g_strdelimit (word, " \t\r\n", '_');
  g_byte_array_append (file, (const guint8 *)" ", 1);
  g_byte_array_append (file, (const guint8 *)word, (guint)strlen (word));
}

static void append (GByteArray *file, const gchar *format, ...) G_GNUC_PRINTF (2, 3);

static void
append (GByteArray *file, const gchar *format, ...)
{
  g_autofree gchar *text = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  g_byte_array_append (file, (const guint8 *)text, (guint)strlen (text));
}

static void
append_header (GByteArray *file, const GstPointCloudMap *map, NdtPcdEncoding encoding)
{
  static const gchar *const names[] = {"ascii", "binary", "binary_compressed"};
  const GstPointCloudInfo *info = &map->info;
  const gsize width = info->width > 0 ? info->width : map->n_points;

  append (file, "# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\nFIELDS");
  for (guint i = 0; i < info->n_fields; i++)
    append_name (file, info->fields[i].name);
  append (file, "\nSIZE");
  for (guint i = 0; i < info->n_fields; i++)
    append (file, " %u", gst_point_field_type_get_size (info->fields[i].type));
  append (file, "\nTYPE");
  for (guint i = 0; i < info->n_fields; i++)
    append (file, " %c", type_letter (info->fields[i].type));
  append (file, "\nCOUNT");
  for (guint i = 0; i < info->n_fields; i++)
    append (file, " %u", info->fields[i].count);
  append (file,
      "\nWIDTH %" G_GSIZE_FORMAT "\nHEIGHT %u\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS %" G_GSIZE_FORMAT
      "\nDATA %s\n",
      width, info->width > 0 ? info->height : 1, map->n_points, names[encoding]);
}

static void
append_value (GByteArray *file, gdouble value, GstPointFieldType type)
{
  gchar text[G_ASCII_DTOSTR_BUF_SIZE];

  if (isnan (value)) {
    append (file, "nan");
  } else if (isinf (value)) {
    append (file, value < 0 ? "-inf" : "inf");
  } else {
    /* Integers have ten digits at most. */
    g_ascii_formatd (
        text, sizeof text, type == GST_POINT_FIELD_TYPE_FLOAT32 ? "%.9g" : "%.17g", value);
    g_byte_array_append (file, (const guint8 *)text, (guint)strlen (text));
  }
}

static void
append_ascii (GByteArray *file, const GstPointCloudMap *map)
{
  const GstPointCloudInfo *info = &map->info;

  for (gsize i = 0; i < map->n_points; i++) {
    for (guint f = 0; f < info->n_fields; f++)
      for (guint k = 0; k < info->fields[f].count; k++) {
        if (f > 0 || k > 0)
          g_byte_array_append (file, (const guint8 *)" ", 1);
        append_value (file, gst_point_cloud_map_get_value (map, &info->fields[f], i, k),
            info->fields[f].type);
      }
    g_byte_array_append (file, (const guint8 *)"\n", 1);
  }
}

/* Point after point, or (@columns) field after field. */
static void
pack (const GstPointCloudMap *map, gboolean columns, guint8 *out)
{
  const GstPointCloudInfo *info = &map->info;
  const gsize step = packed_step (info);
  gsize before = 0;

  for (guint f = 0; f < info->n_fields; f++) {
    const gsize size = field_size (&info->fields[f]);
    const guint8 *from = map->data + info->fields[f].offset;
    guint8 *to = columns ? out + before * map->n_points : out + before;
    for (gsize i = 0; i < map->n_points; i++, from += info->point_step, to += columns ? size : step)
      memcpy (to, from, size);
    before += size;
  }
}

static void
refuse_memory (GError **error, gsize n_points)
{
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT,
      "There is not the memory to encode a cloud of %" G_GSIZE_FORMAT " points", n_points);
}

static gboolean
append_compressed (GByteArray *file, const GstPointCloudMap *map, GError **error)
{
  const gsize size = packed_step (&map->info) * map->n_points;
  /* LZF adds a byte to each run of 32 that it cannot shorten. */
  const gsize room = size + size / 16 + 64;
  guint32 sizes[2] = {0, (guint32)size};

  if (room > G_MAXUINT32 - 4096) {
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT,
        "A cloud of %" G_GSIZE_FORMAT
        " points is too large for a compressed PCD file (4 GiB): set encoding=binary",
        map->n_points);
    return FALSE;
  }
  g_autofree guint8 *columns = g_try_malloc (size + 1);
  g_autofree guint8 *packed = g_try_malloc (room);
  if (!columns || !packed) {
    refuse_memory (error, map->n_points);
    return FALSE;
  }
  pack (map, TRUE, columns);
  if (size > 0)
    sizes[0] = lzf_compress (columns, (guint)size, packed, (guint)room);
  g_byte_array_append (file, (const guint8 *)sizes, sizeof sizes);
  g_byte_array_append (file, packed, sizes[0]);
  return TRUE;
}

GBytes *
gst_pcd_write (const GstPointCloudMap *map, NdtPcdEncoding encoding, GError **error)
{
  const gsize size = packed_step (&map->info) * map->n_points;
  g_autoptr (GByteArray) file = g_byte_array_new ();

  append_header (file, map, encoding);
  if (encoding == NDT_PCD_ASCII) {
    append_ascii (file, map);
  } else if (encoding == NDT_PCD_BINARY_COMPRESSED) {
    if (!append_compressed (file, map, error))
      return NULL;
  } else {
    const guint header = file->len;
    /* GByteArray counts in unsigned integers. */
    if (size > G_MAXUINT - header - 4096) {
      refuse_memory (error, map->n_points);
      return NULL;
    }
    g_byte_array_set_size (file, header + (guint)size);
    pack (map, FALSE, file->data + header);
  }
  return g_byte_array_free_to_bytes (g_steal_pointer (&file));
}
