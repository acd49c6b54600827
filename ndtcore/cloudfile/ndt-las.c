/* SPDX-License-Identifier: MIT */
/* LAS 1.0 to 1.4: ASPRS, "LAS Specification 1.4 – R15" (2019), tables 3 and 5 to 19, and those of
 * the versions before it. */
#include "ndt-las.h"

#include <math.h>
#include <string.h>

#include "ndtcore/base/ndt-memory.h"
#include "ndtcore/base/ndt-text.h"

G_STATIC_ASSERT (G_BYTE_ORDER == G_LITTLE_ENDIAN);

#define HEADER_SIZE 227 /* of 1.0 to 1.2 */
#define HEADER_SIZE_14 375
#define INTENSITY_OFFSET 12 /* in records of all formats */

/* Bits of the point format that LASzip sets. */
#define COMPRESSED 0xc0

static const guint8 least_sizes[] = {20, 28, 26, 34, 57, 63, 30, 36, 38, 59, 67};

static guint64
load (const guint8 *data, gsize offset, gsize size)
{
  guint64 value = 0;
  memcpy (&value, data + offset, size);
  return value;
}

gboolean
ndt_las_is_las (const guint8 *data, gsize size)
{
  return size >= 4 && memcmp (data, "LASF", 4) == 0;
}

gboolean
ndt_las_parse_header (const guint8 *data, gsize size, NdtLasHeader *header, GError **error)
{
  memset (header, 0, sizeof *header);
  if (!ndt_las_is_las (data, size))
    return ndt_text_fail (error, "is no LAS file");
  if (size < HEADER_SIZE)
    return ndt_text_fail (error, "ends within its LAS header");
  const guint major = data[24];
  header->version = data[25];
  if (major != 1 || header->version > 4)
    return ndt_text_fail (error, "is of LAS version %u.%u, not 1.0 to 1.4", major, header->version);
  if (header->version == 4 && size < HEADER_SIZE_14)
    return ndt_text_fail (error, "ends within its LAS header");
  if (data[104] & COMPRESSED)
    return ndt_text_fail (
        error, "is a LAZ file, which is not read: make a LAS file of it by " NDT_CLOUD_CONVERTER);
  header->format = data[104];
  if (header->format >= G_N_ELEMENTS (least_sizes))
    return ndt_text_fail (error, "has points of format %u, not 0 to 10", header->format);
  header->data_offset = load (data, 96, 4);
  header->record_size = load (data, 105, 2);
  header->n_points = load (data, 107, 4);
  if (header->version == 4)
    header->n_points = load (data, 247, 8);
  if (header->record_size < least_sizes[header->format])
    return ndt_text_fail (error,
        "has points of %" G_GSIZE_FORMAT " bytes, where those of format %u take %u",
        header->record_size, header->format, least_sizes[header->format]);
  if (header->data_offset < HEADER_SIZE)
    return ndt_text_fail (error, "has its points at byte %" G_GSIZE_FORMAT ", within its header",
        header->data_offset);
  memcpy (header->scale, data + 131, sizeof header->scale);
  memcpy (header->offset, data + 155, sizeof header->offset);
  for (guint k = 0; k < 3; k++)
    if (!isfinite (header->scale[k]) || header->scale[k] == 0 || !isfinite (header->offset[k]))
      return ndt_text_fail (error, "has a scale of %g and an offset of %g for %c", header->scale[k],
          header->offset[k], "xyz"[k]);
  return TRUE;
}

gboolean
ndt_las_read (const NdtLasHeader *header, const guint8 *data, gsize size, NdtCloudPoints *points,
    GError **error)
{
  const guint64 n = header->n_points;
  const guint64 present =
      size > header->data_offset ? (size - header->data_offset) / header->record_size : 0;

  memset (points, 0, sizeof *points);
  if (n > present)
    return ndt_text_fail (error,
        "is truncated: %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " points are missing",
        n - present, n);
  double *xyz = g_try_new (double, 3 * n + 1);
  points->owned = xyz;
  points->intensities = g_try_new (float, n + 1);
  if (!xyz || !points->intensities) {
    ndt_cloud_points_clear (points);
    return ndt_refuse_memory (error, "its %" G_GUINT64_FORMAT " points", n);
  }
  for (guint64 i = 0; i < n; i++) {
    const guint8 *record = data + header->data_offset + i * header->record_size;
    gint32 whole[3];
    guint16 intensity;
    memcpy (whole, record, sizeof whole);
    memcpy (&intensity, record + INTENSITY_OFFSET, sizeof intensity);
    for (guint k = 0; k < 3; k++)
      xyz[3 * i + k] = whole[k] * header->scale[k] + header->offset[k];
    points->intensities[i] = intensity;
  }
  points->view = ndt_cloud_view_xyz_f64 (xyz, n);
  return TRUE;
}
