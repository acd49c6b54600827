/* SPDX-License-Identifier: MIT */
#include "ndt-pcd.h"

#include <errno.h>
#include <liblzf/lzf.h>
#include <stdio.h>
#include <string.h>

#include "ndtcore/base/ndt-file.h"

/* Points per call of fwrite(). */
#define CHUNK 16384

typedef struct {
  const NdtCloudView *points;
  const float *intensities; /* nullable */
  NdtPcdEncoding encoding;
} Cloud;

static gsize
scalar_size (NdtScalar scalar)
{
  return scalar == NDT_SCALAR_F32 ? sizeof (float) : sizeof (double);
}

/* Bytes of a point. */
static gsize
point_size (const Cloud *cloud)
{
  return 3 * scalar_size (cloud->points->scalar) + (cloud->intensities ? sizeof (float) : 0);
}

static gboolean
write_header (FILE *out, const Cloud *cloud)
{
  const NdtCloudView *points = cloud->points;
  const gboolean more = cloud->intensities != NULL;
  static const gchar *const names[] = {"ascii", "binary", "binary_compressed"};
  const guint size = (guint)scalar_size (points->scalar);
  return fprintf (out,
             "# .PCD v0.7 - Point Cloud Data file format\n"
             "VERSION 0.7\n"
             "FIELDS x y z%s\n"
             "SIZE %u %u %u%s\n"
             "TYPE F F F%s\n"
             "COUNT 1 1 1%s\n"
             "WIDTH %" G_GSIZE_FORMAT "\n"
             "HEIGHT 1\n"
             "VIEWPOINT 0 0 0 1 0 0 0\n"
             "POINTS %" G_GSIZE_FORMAT "\n"
             "DATA %s\n",
             more ? " intensity" : "", size, size, size, more ? " 4" : "", more ? " F" : "",
             more ? " 1" : "", points->n_points, points->n_points, names[cloud->encoding]) > 0;
}

static gboolean
write_ascii (FILE *out, const Cloud *cloud)
{
  const NdtCloudView *points = cloud->points;
  const gchar *format = points->scalar == NDT_SCALAR_F32 ? "%.9g" : "%.17g";
  for (gsize i = 0; i < points->n_points; i++) {
    double p[3];
    gchar text[3][G_ASCII_DTOSTR_BUF_SIZE];
    ndt_cloud_view_get (points, i, p);
    for (guint axis = 0; axis < 3; axis++)
      g_ascii_formatd (text[axis], sizeof text[axis], format, p[axis]);
    if (fprintf (out, "%s %s %s", text[0], text[1], text[2]) < 0)
      return FALSE;
    if (cloud->intensities) {
      g_ascii_formatd (text[0], sizeof text[0], "%.9g", (double)cloud->intensities[i]);
      if (fprintf (out, " %s", text[0]) < 0)
        return FALSE;
    }
    if (fputc ('\n', out) == EOF)
      return FALSE;
  }
  return TRUE;
}

static gboolean
write_binary (FILE *out, const Cloud *cloud)
{
  const NdtCloudView *points = cloud->points;
  const gsize size = scalar_size (points->scalar);
  const gsize step = point_size (cloud);
  g_autofree guint8 *chunk = g_malloc (CHUNK * step);
  for (gsize first = 0; first < points->n_points; first += CHUNK) {
    const gsize n = MIN (CHUNK, points->n_points - first);
    guint8 *to = chunk;
    for (gsize i = first; i < first + n; i++) {
      memcpy (to, points->x + i * points->stride, size);
      memcpy (to + size, points->y + i * points->stride, size);
      memcpy (to + 2 * size, points->z + i * points->stride, size);
      if (cloud->intensities)
        memcpy (to + 3 * size, &cloud->intensities[i], sizeof (float));
      to += step;
    }
    if (fwrite (chunk, step, n, out) != n)
      return FALSE;
  }
  return TRUE;
}

static gboolean
write_compressed (FILE *out, const Cloud *cloud)
{
  const NdtCloudView *points = cloud->points;
  const gsize size = scalar_size (points->scalar);
  const gsize n = points->n_points;
  const guint8 *const axes[3] = {points->x, points->y, points->z};
  const gsize unpacked = n * point_size (cloud);
  /* LZF adds a byte to each run of 32 that it cannot shorten. */
  const gsize room = unpacked + unpacked / 16 + 64;
  g_autofree guint8 *columns = g_try_malloc (unpacked + 1);
  g_autofree guint8 *packed = g_try_malloc (room);
  if (!columns || !packed) {
    errno = ENOMEM;
    return FALSE;
  }
  for (guint axis = 0; axis < 3; axis++)
    for (gsize i = 0; i < n; i++)
      memcpy (columns + (axis * n + i) * size, axes[axis] + i * points->stride, size);
  if (cloud->intensities && n > 0)
    memcpy (columns + 3 * n * size, cloud->intensities, n * sizeof (float));

  guint32 sizes[2] = {0, (guint32)unpacked};
  if (unpacked > 0)
    sizes[0] =
        lzf_compress (columns, (guint)unpacked, packed, (guint)MIN (room, (gsize)G_MAXUINT32));
  return fwrite (sizes, sizeof sizes, 1, out) == 1 && fwrite (packed, 1, sizes[0], out) == sizes[0];
}

static gboolean
write_all (FILE *out, gpointer user_data)
{
  const Cloud *cloud = user_data;
  gboolean ok = write_header (out, cloud);
  switch (cloud->encoding) {
  case NDT_PCD_ASCII:
    ok = ok && write_ascii (out, cloud);
    break;
  case NDT_PCD_BINARY:
    ok = ok && write_binary (out, cloud);
    break;
  case NDT_PCD_BINARY_COMPRESSED:
    ok = ok && write_compressed (out, cloud);
    break;
  }
  return ok;
}

gboolean
ndt_pcd_write_intensities (const gchar *name, const NdtCloudView *points, const float *intensities,
    NdtPcdEncoding encoding, GError **error)
{
  Cloud cloud = {points, intensities, encoding};
  if (encoding == NDT_PCD_BINARY_COMPRESSED &&
      points->n_points > (gsize)(G_MAXUINT32 - 64) / 17 * 16 / point_size (&cloud)) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "%" G_GSIZE_FORMAT " points are too many for a compressed PCD (4 GiB); write it binary",
        points->n_points);
    return FALSE;
  }
  return ndt_file_replace (name, write_all, &cloud, error);
}

gboolean
ndt_pcd_write (
    const gchar *name, const NdtCloudView *points, NdtPcdEncoding encoding, GError **error)
{
  return ndt_pcd_write_intensities (name, points, NULL, encoding, error);
}
