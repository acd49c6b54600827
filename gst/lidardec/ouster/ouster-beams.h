/* SPDX-License-Identifier: MIT */
#pragma once

#include "gst/lidardec/packet/packet-cutter.h"
#include "ouster-metadata.h"

G_BEGIN_DECLS

/* Where the beams of a sensor go, in its own frame: that of a row at a column is made from one
 * table of rows and one of columns, which both stay in the cache. */
typedef struct _OusterBeams OusterBeams;

/* How the pixels of a packet's columns have a return. */
typedef struct {
  gsize column_size; /* bytes from a column to the next */
  gsize pixel_size;
  gsize range, reflectivity; /* offsets in a pixel: of 4 bytes and of one */
  guint32 range_mask;
  guint range_unit; /* mm */
} OusterPixels;

OusterBeams *ouster_beams_new (const OusterMetadata *metadata);
void ouster_beams_free (OusterBeams *self);

/* Writes the points of @n columns of a packet, all rows of them, to those of the frame from @column
 * on; @plane begins with the frame's first. Those without a range are NaN. @data may be read up to
 * 3 bytes behind the last reflectivity. @times are s since the scan's first firing. */
void ouster_beams_write (const OusterBeams *self, const OusterPixels *pixels, const guint8 *data,
    guint column, guint n, const gfloat *times, guint8 kind, PacketPoint *plane);
/* Writes points without a range, at time 0, to @n columns. */
void ouster_beams_clear (
    const OusterBeams *self, guint column, guint n, guint8 kind, PacketPoint *plane);

G_END_DECLS
