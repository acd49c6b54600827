/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

#include "ndtcore/scan/ndt-cloud.h"
#include "ndtcore/base/ndt-error.h"

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
 * The header of a PCD file, version 0.5 to 0.7; width · height is the number of points.
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

/* width · height. */
guint64 ndt_pcd_header_get_n_points (const NdtPcdHeader *header);
/* The first field of that name, or NULL. */
const NdtPcdField *ndt_pcd_header_find_field (const NdtPcdHeader *header, const gchar *name);
/* Fields x, y, z of a header, also where they are called X, Y, Z (PDAL). NDT_ERROR_FORMAT where
 * one is missing, has a COUNT, is not floating-point or of a size unlike the others'. */
gboolean ndt_pcd_header_find_xyz (
    const NdtPcdHeader *header, const NdtPcdField *xyz[3], GError **error);

/* Parses a header, with WIDTH or POINTS, HEIGHT, SIZE, TYPE, COUNT and VIEWPOINT optional. Returns
 * TRUE when it is complete. On FALSE without an error more bytes are needed; with
 * NDT_ERROR_FORMAT the bytes are no PCD header (the message says why). */
gboolean ndt_pcd_parse_header (
    const guint8 *data, gsize size, NdtPcdHeader *header, GError **error);

/**
 * NdtPcdCursor:
 *
 * Progress of ndt_pcd_find_end(); to be zeroed for each file.
 */
typedef struct {
  gsize offset;
  guint64 n_lines;
} NdtPcdCursor;

/* Finds where the data of a file end, for streams that come in pieces or hold several files.
 * @data are the bytes after the header that have been received; a later call has the same bytes and
 *   more. TRUE sets @end to the number of bytes that are data; FALSE: more are needed. */
gboolean ndt_pcd_find_end (
    const NdtPcdHeader *header, const guint8 *data, gsize size, NdtPcdCursor *cursor, gsize *end);

/* Decodes the data after the header into interleaved points (point_step bytes each, fields in
 * file order without padding). Bytes after binary data are ignored, since some writers pad.
 *
 * Returns: (transfer full): g_free() it, not NULL for an empty cloud; NULL with NDT_ERROR_FORMAT
 *   when @size bytes are too few (the message says how many are missing) or wrong,
 *   NDT_ERROR_NO_MEMORY */
guint8 *ndt_pcd_decode (
    const NdtPcdHeader *header, const guint8 *data, gsize size, gsize *n_points, GError **error);

/**
 * NdtPcdFile:
 *
 * A PCD file opened for reading its coordinates; binary files are mapped, not copied so that the
 * file must not shrink while it is open.
 */
typedef struct _NdtPcdFile NdtPcdFile;
NdtPcdFile *ndt_pcd_file_open (const gchar *path, GError **error);
void ndt_pcd_file_free (NdtPcdFile *file);
const NdtPcdHeader *ndt_pcd_file_get_header (const NdtPcdFile *file);
/* x, y, z of all points, in memory that the file owns. Errors: those of ndt_pcd_header_find_xyz()
 * and ndt_pcd_decode(), preceded by the path. */
gboolean ndt_pcd_file_get_points (NdtPcdFile *file, NdtCloudView *view, GError **error);
/* The field "intensity", or "i", one value a point; NULL where there is none, or several values a
 * point. To be called after ndt_pcd_file_get_points(); (transfer full). */
float *ndt_pcd_file_dup_intensities (const NdtPcdFile *file);

/* Writes x, y, z in the view's scalar to a temporary file, which is renamed to @path when it is
 * complete. Text is read back to the same bits. NDT_ERROR_IO, or NDT_ERROR_INVALID_ARGUMENT where
 * compressed data would not fit PCD's limit of 4 GiB. */
gboolean ndt_pcd_write (
    const gchar *path, const NdtCloudView *points, NdtPcdEncoding encoding, GError **error);

/* The same with a field "intensity" of floats, a value a point; @intensities: (nullable). */
gboolean ndt_pcd_write_intensities (const gchar *path, const NdtCloudView *points,
    const float *intensities, NdtPcdEncoding encoding, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtPcdFile, ndt_pcd_file_free)

G_END_DECLS
