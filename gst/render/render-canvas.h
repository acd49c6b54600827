/* SPDX-License-Identifier: MIT */
/* Pixels with a depth each, and points and lines that are drawn into them by the processor. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/**
 * RenderCanvas:
 * @pixels: @width × @height, rows from the top, 0x00RRGGBB
 * @depth: of each, metres along the view; INFINITY: nothing was drawn
 */
typedef struct {
  guint width;
  guint height;
  guint32 *pixels;
  float *depth;
} RenderCanvas;

/**
 * RenderMatrix:
 * @m: row-major. Of a point (x, y, z, 1) rows 0 and 1 give x and y of the picture times w, −w to w
 *   from left to right and from bottom to top; row 2 the depth in metres; row 3 w
 * @near: points of a smaller w are not drawn
 */
typedef struct {
  float m[4][4];
  float near;
} RenderMatrix;

/* Points of a cloud that lie side by side. */
typedef struct {
  guint first;
  guint n;
  float min[3];
  float max[3];
} RenderBlock;

/**
 * RenderCloud:
 * @xyz: @n points, three floats each, metres
 * @color: of each, 0x00RRGGBB
 * @blocks: of all points; what is out of the picture is left out by them. NULL: all are looked at
 */
typedef struct {
  guint n;
  float *xyz;
  guint32 *color;
  guint n_blocks;
  RenderBlock *blocks;
} RenderCloud;

void render_canvas_init (RenderCanvas *canvas, guint width, guint height);
void render_canvas_clear (RenderCanvas *canvas);
void render_canvas_fill (RenderCanvas *canvas, guint32 color);
/* Of the same size. */
void render_canvas_copy (RenderCanvas *to, const RenderCanvas *from);

/**
 * render_canvas_draw_points:
 * @size: edge of a point in pixels times its w; it is no less than @min_size pixels and no more
 * than
 *   @max_size
 *
 * Draws squares, the nearest of a pixel. Points need not be finite.
 */
void render_canvas_draw_points (RenderCanvas *canvas, const RenderMatrix *matrix,
    const RenderCloud *cloud, float size, guint min_size, guint max_size);
/* A line of 2 pixels before everything else; what is nearer than the matrix's near is cut off. */
void render_canvas_draw_line (RenderCanvas *canvas, const RenderMatrix *matrix,
    const double from[3], const double to[3], guint32 color);

/* Takes the arrays, brings the points into an order of places, and makes blocks. */
RenderCloud *render_cloud_new (float *xyz, guint32 *color, guint n);
void render_cloud_free (RenderCloud *cloud);

G_END_DECLS
