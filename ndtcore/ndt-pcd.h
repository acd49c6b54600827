/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

#include "ndt-cloud.h"
#include "ndt-error.h"

G_BEGIN_DECLS

#define NDT_PCD_MAX_FIELDS 64

/* TYPE and SIZE of a PCD field. */
typedef struct {
  gchar name[64];
  gchar type;   /* 'F', 'I' or 'U' */
  guint size;   /* bytes of one element: 1, 2, 4, 8 */
  guint count;  /* elements */
  guint offset; /* bytes from the start of an interleaved point */
} NdtPcdField;

typedef enum { NDT_PCD_ASCII, NDT_PCD_BINARY, NDT_PCD_BINARY_COMPRESSED } NdtPcdEncoding;

/**
 * NdtPcdHeader:
 *
 * The header of a PCD file, version 0.6 and 0.7; width · height is the number of points.
 */
typedef struct {
  guint n_fields;
  NdtPcdField fields[NDT_PCD_MAX_FIELDS];
  guint64 width;
  guint64 height;
  guint point_step;    /* bytes of one interleaved point */
  double viewpoint[7]; /* x y z qw qx qy qz, as in the file */
  NdtPcdEncoding encoding;
  gsize data_offset; /* bytes before the data */
} NdtPcdHeader;

/* Parses a header. Returns TRUE when it is complete. On FALSE without an error more bytes
 * are needed; with NDT_ERROR_FORMAT the bytes are no PCD header (the message says why). */
gboolean ndt_pcd_parse_header (
    const guint8 *data, gsize size, NdtPcdHeader *header, GError **error);

/* Decodes the data after the header into interleaved points (g_malloc'd, point_step bytes each,
 * fields in file order without padding). NDT_ERROR_FORMAT when @size bytes are too few or wrong. */
guint8 *ndt_pcd_decode (
    const NdtPcdHeader *header, const guint8 *data, gsize size, gsize *n_points, GError **error);

/**
 * NdtPcdFile:
 *
 * A PCD file opened for reading its coordinates; binary files are mapped, not copied.
 */
typedef struct _NdtPcdFile NdtPcdFile;
NdtPcdFile *ndt_pcd_file_open (const gchar *path, GError **error);
void ndt_pcd_file_free (NdtPcdFile *file);
const NdtPcdHeader *ndt_pcd_file_get_header (const NdtPcdFile *file);
/* x, y, z of all points, in memory that the file owns. NDT_ERROR_FORMAT where x, y or z is
 * missing, not floating-point or of different sizes. */
gboolean ndt_pcd_file_get_points (NdtPcdFile *file, NdtCloudView *view, GError **error);

/* Writes x, y, z (float or double as the view's scalar) as a binary or compressed PCD, through a
 * temporary file that replaces @path when whole. */
gboolean ndt_pcd_write (
    const gchar *path, const NdtCloudView *points, NdtPcdEncoding encoding, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtPcdFile, ndt_pcd_file_free)

G_END_DECLS
