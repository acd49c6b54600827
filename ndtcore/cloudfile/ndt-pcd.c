/* SPDX-License-Identifier: MIT */
#include "ndt-pcd.h"

#include <liblzf/lzf.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ndtcore/base/ndt-file.h"
#include "ndtcore/base/ndt-text.h"

G_STATIC_ASSERT (G_BYTE_ORDER == G_LITTLE_ENDIAN);

/* Largest ratio of LZF: a back reference of 3 bytes stands for up to 264. */
#define MAX_LZF_RATIO 88
#define LZF_SIZES 8

/* Data */

static guint32
read_u32 (const guint8 *data)
{
  guint32 value;
  memcpy (&value, data, sizeof value);
  return value;
}

/* Skips blank lines and comments. */
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
        return ndt_text_fail (error,
            "line %" G_GUINT64_FORMAT " of the data ends before field '%s'", number, field->name);
      if (!store_value (field, &token, point + field->offset + (gsize)e * field->size)) {
        g_autofree gchar *text = ndt_token_dup (&token);
        return ndt_text_fail (error,
            "line %" G_GUINT64_FORMAT " of the data has '%s' in field '%s' of TYPE %c, SIZE %u",
            number, text, field->name, field->type, field->size);
      }
    }
  }
  if (ndt_text_next_token (&line, 0, &token))
    return ndt_text_fail (
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
  return ndt_text_fail (error,
      "is truncated: %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " points are missing",
      n_points - present, n_points);
}

/* Releases the pages of text that has been read, which a file mapping can read again. Returns where
 * the next release begins. */
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

/* @is_mapping: @data is a file's mapping, whose pages are released after they have been read */
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

  /* Each value takes a character and a separator at least, which bounds the memory that a wrong
   * header makes us allocate. */
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
    ndt_text_fail (error, "has more lines of data than its %" G_GSIZE_FORMAT " points", n_points);
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
  return ndt_text_fail (error,
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
    ndt_text_fail (error, "is truncated: the sizes of its compressed data are missing");
    return NULL;
  }
  const guint32 packed = read_u32 (data);
  const guint32 unpacked = read_u32 (data + 4);
  if (size - LZF_SIZES < packed) {
    ndt_text_fail (error,
        "is truncated: %" G_GSIZE_FORMAT " of %u bytes of compressed data are missing",
        packed - (size - LZF_SIZES), packed);
    return NULL;
  }
  if (unpacked != needed) {
    ndt_text_fail (error,
        "has compressed data of %u bytes where its points take %" G_GSIZE_FORMAT " bytes", unpacked,
        needed);
    return NULL;
  }
  if (needed / MAX_LZF_RATIO > packed) {
    ndt_text_fail (error,
        "has compressed data of %u bytes that cannot hold %" G_GSIZE_FORMAT " bytes", packed,
        needed);
    return NULL;
  }
  g_autofree guint8 *columns = allocate (needed, error);
  if (!columns)
    return NULL;
  if (lzf_decompress (data + LZF_SIZES, packed, columns, unpacked) != unpacked) {
    ndt_text_fail (error, "has damaged compressed data");
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
  guint8 *owned; /* decoded points, where a view cannot refer to the mapping */
};

NdtPcdFile *
ndt_pcd_file_open (const gchar *path, GError **error)
{
  g_autoptr (GError) cause = NULL;
  g_autoptr (NdtPcdFile) file = g_new0 (NdtPcdFile, 1);
  file->path = g_filename_display_name (path);
  const int fd = ndt_file_open (path, error);
  if (fd < 0)
    return NULL;
  file->mapping = g_mapped_file_new_from_fd (fd, FALSE, &cause);
  close (fd);
  if (!file->mapping) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_IO, "%s: %s", file->path, cause->message);
    return NULL;
  }
  const guint8 *data = (const guint8 *)g_mapped_file_get_contents (file->mapping);
  const gsize size = g_mapped_file_get_length (file->mapping);
  if (size == 0)
    ndt_text_fail (&cause, "is empty");
  else if (!ndt_pcd_parse_header (data, size, &file->header, &cause) && !cause)
    ndt_text_fail (&cause, "ends within its PCD header: there is no DATA line");
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
  /* A view can refer to columns as well, which saves a copy. */
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

static double
load_value (const NdtPcdField *field, const guint8 *at)
{
  guint64 bits = 0;
  memcpy (&bits, at, field->size);
  if (field->type == 'U')
    return (double)bits;
  if (field->type == 'I') {
    const guint unused = 64 - 8 * field->size;
    return (double)((gint64)(bits << unused) >> unused);
  }
  if (field->size == 4) {
    float narrow;
    memcpy (&narrow, at, sizeof narrow);
    return (double)narrow;
  }
  double value;
  memcpy (&value, at, sizeof value);
  return value;
}

float *
ndt_pcd_file_dup_intensities (const NdtPcdFile *file)
{
  const NdtPcdHeader *header = &file->header;
  const gsize n_points = ndt_pcd_header_get_n_points (header);
  const NdtPcdField *field = ndt_pcd_header_find_field (header, "intensity");
  if (!field)
    field = ndt_pcd_header_find_field (header, "i");
  if (!field || field->count != 1)
    return NULL;
  const gboolean columns = header->encoding == NDT_PCD_BINARY_COMPRESSED;
  const guint8 *data = file->owned ? file->owned
                                   : (const guint8 *)g_mapped_file_get_contents (file->mapping) +
                                         header->data_offset;
  float *values = g_try_new (float, n_points + 1);
  for (gsize i = 0; values && i < n_points; i++)
    values[i] =
        (float)load_value (field, columns ? data + n_points * field->offset + i * field->size
                                          : data + i * header->point_step + field->offset);
  return values;
}
