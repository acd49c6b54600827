/* SPDX-License-Identifier: MIT */
/* Loops over the points of a frame tree. Private. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Floats of a 3×4 matrix, column by column. */
#define NDT_FRAME_MATRIX 12

/* Packed x, y, z of @n points, each by the matrix of its frame. One float after the last of
 * @matrices is read. @in and @out may not overlap. The result of a point depends on the point and
 *   its matrix alone, and in the last bit on whether the processor has fused multiply-add. */
void ndt_frame_points_transform (
    const float *matrices, const float *in, const guint32 *frames, gsize n, float *out);

/* Number of points before the first one whose x, in packed x, y, z at @out, begins a cache line. */
gsize ndt_frame_points_before_line (const float *out);

/* Copies @n floats past the caches, where the processor can, to @out, which begins a cache line.
 * Others see them after ndt_frame_points_written(). */
void ndt_frame_points_write (float *out, const float *in, gsize n);
void ndt_frame_points_written (void);

G_END_DECLS
