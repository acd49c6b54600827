/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndt-cloud-points.h"

G_BEGIN_DECLS

#define NDT_PLY_MAX_ELEMENTS 32
#define NDT_PLY_MAX_PROPERTIES 256

/* Scalar types of PLY, by both of their names ("uchar" and "uint8"). */
typedef enum {
  NDT_PLY_NONE,
  NDT_PLY_INT8,
  NDT_PLY_UINT8,
  NDT_PLY_INT16,
  NDT_PLY_UINT16,
  NDT_PLY_INT32,
  NDT_PLY_UINT32,
  NDT_PLY_FLOAT32,
  NDT_PLY_FLOAT64,
} NdtPlyType;

typedef enum { NDT_PLY_ASCII, NDT_PLY_LITTLE_ENDIAN, NDT_PLY_BIG_ENDIAN } NdtPlyEncoding;

/* @count: of a list the type of its length, NDT_PLY_NONE of a scalar. */
typedef struct {
  gchar name[64];
  NdtPlyType type;
  NdtPlyType count;
} NdtPlyProperty;

/* Its properties are those from @first on. */
typedef struct {
  gchar name[64];
  guint64 n;
  guint first;
  guint n_properties;
} NdtPlyElement;

/**
 * NdtPlyHeader:
 * @vertex: index of the element "vertex"
 * @xyz: indices of its properties x, y and z
 * @intensity: index of one called intensity or scalar_intensity (CloudCompare); -1 without
 * @scalar: of the coordinates: F32 where all three are floats or at most 16-bit integers
 * @data_offset: bytes before the data
 *
 * The header of a PLY file that has points.
 */
typedef struct {
  NdtPlyEncoding encoding;
  guint n_elements;
  NdtPlyElement elements[NDT_PLY_MAX_ELEMENTS];
  guint n_properties;
  NdtPlyProperty properties[NDT_PLY_MAX_PROPERTIES];
  guint vertex;
  guint xyz[3];
  gint intensity;
  NdtScalar scalar;
  gsize data_offset;
} NdtPlyHeader;

/* Whether bytes begin as a PLY file does. */
gboolean ndt_ply_is_ply (const guint8 *data, gsize size);

/* Parses a header. FALSE with NDT_ERROR_FORMAT, also where the file has no vertices with x, y and
 * z; the message follows the file's name. */
gboolean ndt_ply_parse_header (
    const guint8 *data, gsize size, NdtPlyHeader *header, GError **error);

/* Reads the vertices of a whole file, elements and properties in any order, lists skipped. Points
 * whose layout is that of a view are not copied: @data has to live as long as @points. FALSE with
 * NDT_ERROR_FORMAT (truncated, wrong; the message follows the file's name) or
 * NDT_ERROR_NO_MEMORY. */
gboolean ndt_ply_read (const NdtPlyHeader *header, const guint8 *data, gsize size,
    NdtCloudPoints *points, GError **error);

G_END_DECLS
