/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndt-cloud-points.h"

G_BEGIN_DECLS

/**
 * NdtLasHeader:
 * @version: minor one: 0 to 4
 * @format: of points, 0 to 10
 * @n_points: records that the header counts
 * @data_offset: bytes before the first record …
 * @record_size: … and of each
 * @scale: of the records' whole numbers, per axis …
 * @offset: … and what is added, metres (or the unit of the file's coordinate system)
 *
 * The members of a LAS header that points need. Variable length records are not read.
 */
typedef struct {
  guint version;
  guint format;
  guint64 n_points;
  gsize data_offset;
  gsize record_size;
  double scale[3];
  double offset[3];
} NdtLasHeader;

gboolean ndt_las_is_las (const guint8 *data, gsize size);

/* Parses the header of LAS 1.0 to 1.4. FALSE with NDT_ERROR_FORMAT, also for LAZ, which is not read
 * (the message follows the file's name and says what converts it). */
gboolean ndt_las_parse_header (
    const guint8 *data, gsize size, NdtLasHeader *header, GError **error);

/* Reads the points of a whole file as doubles (number · scale + offset), and their intensities.
 * FALSE with NDT_ERROR_FORMAT where the file is shorter than its header says, or
 * NDT_ERROR_NO_MEMORY. */
gboolean ndt_las_read (const NdtLasHeader *header, const guint8 *data, gsize size,
    NdtCloudPoints *points, GError **error);

/* For messages: what makes LAS of a format that is not read. */
#define NDT_CLOUD_CONVERTER "pipelines/convert_cloud.py IN OUT.las"

G_END_DECLS
