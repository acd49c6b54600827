/* SPDX-License-Identifier: MIT */
/* Points of a frame tree: the loops over them. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Floats of a 3×4 matrix, column by column. */
#define NDT_FRAME_MATRIX 12

/* Packed x, y, z of @n points, each by the matrix of its frame. One float after the last of
 * @matrices is read. @in and @out may not overlap. A point's bits depend on it and its matrix
 * alone, and on whether the processor fuses multiplication and addition. */
void ndt_frame_points_transform (
    const float *matrices, const float *in, const guint32 *frames, gsize n, float *out);

/* Points before the first of which packed x, y, z at @out begin a cache line. */
gsize ndt_frame_points_before_line (const float *out);

/* Copies @n floats past the caches, where the processor can, to @out, which begins a cache line.
 * Others see them after ndt_frame_points_written(). */
void ndt_frame_points_write (float *out, const float *in, gsize n);
void ndt_frame_points_written (void);

G_END_DECLS
