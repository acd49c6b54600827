/* SPDX-License-Identifier: MIT */
#include "render-canvas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Points that are placed at a time: their places stay in the first cache. */
#define BATCH 256
/* Points of a block, and the edge of the cubes by which they are ordered, metres. */
#define BLOCK 2048
#define CUBE 4.0f

void
render_canvas_init (RenderCanvas *canvas, guint width, guint height)
{
  canvas->width = width;
  canvas->height = height;
  canvas->pixels = g_new (guint32, (gsize)width * height);
  canvas->depth = g_new (float, (gsize)width *height);
}

void
render_canvas_clear (RenderCanvas *canvas)
{
  g_clear_pointer (&canvas->pixels, g_free);
  g_clear_pointer (&canvas->depth, g_free);
  canvas->width = canvas->height = 0;
}

void
render_canvas_fill (RenderCanvas *canvas, guint32 color)
{
  const gsize n = (gsize)canvas->width * canvas->height;

  for (gsize i = 0; i < n; i++)
    canvas->pixels[i] = color;
  for (gsize i = 0; i < n; i++)
    canvas->depth[i] = INFINITY;
}

void
render_canvas_copy (RenderCanvas *to, const RenderCanvas *from)
{
  const gsize n = (gsize)from->width * from->height;

  memcpy (to->pixels, from->pixels, n * sizeof *to->pixels);
  memcpy (to->depth, from->depth, n * sizeof *to->depth);
}

/* Points */

/* Where points of a batch are in the picture. */
typedef struct {
  float x[BATCH]; /* pixels */
  float y[BATCH];
  float depth[BATCH];
  float w[BATCH];
} Places;

/* A loop without branches, for vectors. */
static void
place (Places *places, const RenderCanvas *canvas, const RenderMatrix *matrix, const float *xyz,
    guint n)
{
  const float (*m)[4] = matrix->m;
  const float half_width = 0.5f * (float)canvas->width;
  const float half_height = 0.5f * (float)canvas->height;

  for (guint i = 0; i < n; i++) {
    const float x = xyz[3 * i], y = xyz[3 * i + 1], z = xyz[3 * i + 2];
    const float w = m[3][0] * x + m[3][1] * y + m[3][2] * z + m[3][3];
    const float inverse = 1 / w;
    places->w[i] = w;
    places->depth[i] = m[2][0] * x + m[2][1] * y + m[2][2] * z + m[2][3];
    places->x[i] =
        half_width + half_width * inverse * (m[0][0] * x + m[0][1] * y + m[0][2] * z + m[0][3]);
    places->y[i] =
        half_height - half_height * inverse * (m[1][0] * x + m[1][1] * y + m[1][2] * z + m[1][3]);
  }
}

static inline void
draw_pixel (RenderCanvas *canvas, gsize at, float depth, guint32 color)
{
  if (depth < canvas->depth[at]) {
    canvas->depth[at] = depth;
    canvas->pixels[at] = color;
  }
}

static void
draw_square (RenderCanvas *canvas, int x, int y, int size, float depth, guint32 color)
{
  const int x0 = MAX (x - (size - 1) / 2, 0), y0 = MAX (y - (size - 1) / 2, 0);
  const int x1 = MIN (x + size / 2, (int)canvas->width - 1);
  const int y1 = MIN (y + size / 2, (int)canvas->height - 1);

  for (int row = y0; row <= y1; row++)
    for (int column = x0; column <= x1; column++)
      draw_pixel (canvas, (gsize)row * canvas->width + (gsize)column, depth, color);
}

static void
draw_range (RenderCanvas *canvas, const RenderMatrix *matrix, const RenderCloud *cloud, guint first,
    guint n, float size, guint min_size, guint max_size)
{
  const float width = (float)canvas->width, height = (float)canvas->height;
  Places places;

  for (guint done = 0; done < n; done += BATCH) {
    const guint at = first + done, count = MIN (n - done, BATCH);

    place (&places, canvas, matrix, cloud->xyz + 3 * (gsize)at, count);
    for (guint i = 0; i < count; i++) {
      const float x = places.x[i], y = places.y[i];
      /* NaN is in no comparison. */
      if (!(places.w[i] > matrix->near && x >= 0 && x < width && y >= 0 && y < height))
        continue;
      const float wanted = size / places.w[i];
      const guint32 color = cloud->color[at + i];
      if (max_size == 1 || (min_size == 1 && wanted < 1.5f))
        draw_pixel (canvas, (gsize)(guint)y * canvas->width + (guint)x, places.depth[i], color);
      else
        draw_square (canvas, (int)x, (int)y,
            (int)CLAMP (wanted + 0.5f, (float)min_size, (float)max_size), places.depth[i], color);
    }
  }
}

/* FALSE: all corners lie beyond one edge of the picture. */
static gboolean
is_seen (const RenderMatrix *matrix, const RenderBlock *block)
{
  guint beyond[5] = {0};

  for (guint corner = 0; corner < 8; corner++) {
    float p[3], c[4];

    for (guint axis = 0; axis < 3; axis++)
      p[axis] = corner >> axis & 1 ? block->max[axis] : block->min[axis];
    for (guint row = 0; row < 4; row++)
      c[row] = matrix->m[row][0] * p[0] + matrix->m[row][1] * p[1] + matrix->m[row][2] * p[2] +
               matrix->m[row][3];
    beyond[0] += c[0] < -c[3];
    beyond[1] += c[0] > c[3];
    beyond[2] += c[1] < -c[3];
    beyond[3] += c[1] > c[3];
    beyond[4] += c[3] < matrix->near;
  }
  for (guint i = 0; i < G_N_ELEMENTS (beyond); i++)
    if (beyond[i] == 8)
      return FALSE;
  return TRUE;
}

void
render_canvas_draw_points (RenderCanvas *canvas, const RenderMatrix *matrix,
    const RenderCloud *cloud, float size, guint min_size, guint max_size)
{
  if (!cloud->blocks)
    draw_range (canvas, matrix, cloud, 0, cloud->n, size, min_size, max_size);
  for (guint i = 0; i < cloud->n_blocks; i++) {
    const RenderBlock *block = &cloud->blocks[i];
    if (is_seen (matrix, block))
      draw_range (canvas, matrix, cloud, block->first, block->n, size, min_size, max_size);
  }
}

/* Lines */

static void
transform (const RenderMatrix *matrix, const double p[3], double out[4])
{
  for (guint row = 0; row < 4; row++)
    out[row] = (double)matrix->m[row][0] * p[0] + (double)matrix->m[row][1] * p[1] +
               (double)matrix->m[row][2] * p[2] + (double)matrix->m[row][3];
}

/* Cuts the part off whose distance to an edge, linear along the line, is negative. FALSE: all. */
static gboolean
cut (double from, double to, double *first, double *last)
{
  if (from < 0 && to < 0)
    return FALSE;
  if (from < 0)
    *first = MAX (*first, from / (from - to));
  else if (to < 0)
    *last = MIN (*last, from / (from - to));
  return *first < *last;
}

void
render_canvas_draw_line (RenderCanvas *canvas, const RenderMatrix *matrix, const double from[3],
    const double to[3], guint32 color)
{
  double a[4], b[4], ends[2][2], first = 0, last = 1;

  transform (matrix, from, a);
  transform (matrix, to, b);
  if (!cut (a[3] - (double)matrix->near, b[3] - (double)matrix->near, &first, &last))
    return;
  for (guint axis = 0; axis < 2; axis++)
    if (!cut (a[3] - a[axis], b[3] - b[axis], &first, &last) ||
        !cut (a[3] + a[axis], b[3] + b[axis], &first, &last))
      return;
  for (guint end = 0; end < 2; end++) {
    const double t = end ? last : first;
    const double w = a[3] + t * (b[3] - a[3]);
    ends[end][0] = (1 + (a[0] + t * (b[0] - a[0])) / w) * canvas->width / 2;
    ends[end][1] = (1 - (a[1] + t * (b[1] - a[1])) / w) * canvas->height / 2;
  }
  const double dx = ends[1][0] - ends[0][0], dy = ends[1][1] - ends[0][1];
  const guint steps = (guint)MAX (fabs (dx), fabs (dy)) + 1;
  for (guint i = 0; i <= steps; i++)
    draw_square (canvas, (int)(ends[0][0] + dx * i / steps), (int)(ends[0][1] + dy * i / steps), 2,
        -INFINITY, color);
}

/* Clouds */

typedef struct {
  guint64 key;
  guint index;
} Ordered;

/* Bits of the number with two between each: z, y, x of cubes, one after the other. */
static guint64
spread (guint32 value)
{
  guint64 bits = value & 0x1fffff;

  bits = (bits | bits << 32) & G_GUINT64_CONSTANT (0x1f00000000ffff);
  bits = (bits | bits << 16) & G_GUINT64_CONSTANT (0x1f0000ff0000ff);
  bits = (bits | bits << 8) & G_GUINT64_CONSTANT (0x100f00f00f00f00f);
  bits = (bits | bits << 4) & G_GUINT64_CONSTANT (0x10c30c30c30c30c3);
  return (bits | bits << 2) & G_GUINT64_CONSTANT (0x1249249249249249);
}

static int
compare (gconstpointer a, gconstpointer b)
{
  const Ordered *x = a, *y = b;

  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

/* Along a Morton curve, so that what lies side by side is near. */
static void
order (RenderCloud *cloud)
{
  g_autofree Ordered *ordered = g_new (Ordered, cloud->n);
  float *xyz = g_new (float, 3 * (gsize)cloud->n);
  guint32 *color = g_new (guint32, cloud->n);

  for (guint i = 0; i < cloud->n; i++) {
    ordered[i].index = i;
    ordered[i].key = 0;
    for (guint axis = 0; axis < 3; axis++) {
      const float cube = floorf (cloud->xyz[3 * (gsize)i + axis] / CUBE);
      const guint32 index = (guint32)((gint32)CLAMP (cube, -1048576, 1048575) + 1048576);
      ordered[i].key |= spread (index) << axis;
    }
  }
  qsort (ordered, cloud->n, sizeof *ordered, compare);
  for (guint i = 0; i < cloud->n; i++) {
    memcpy (xyz + 3 * (gsize)i, cloud->xyz + 3 * (gsize)ordered[i].index, 3 * sizeof *xyz);
    color[i] = cloud->color[ordered[i].index];
  }
  g_free (cloud->xyz);
  g_free (cloud->color);
  cloud->xyz = xyz;
  cloud->color = color;
}

RenderCloud *
render_cloud_new (float *xyz, guint32 *color, guint n)
{
  RenderCloud *cloud = g_new0 (RenderCloud, 1);

  cloud->xyz = xyz;
  cloud->color = color;
  cloud->n = n;
  order (cloud);
  cloud->n_blocks = (n + BLOCK - 1) / BLOCK;
  cloud->blocks = g_new (RenderBlock, cloud->n_blocks + 1);
  for (guint b = 0; b < cloud->n_blocks; b++) {
    RenderBlock *block = &cloud->blocks[b];

    block->first = b * BLOCK;
    block->n = MIN (n - block->first, BLOCK);
    for (guint axis = 0; axis < 3; axis++) {
      block->min[axis] = INFINITY;
      block->max[axis] = -INFINITY;
      for (guint i = block->first; i < block->first + block->n; i++) {
        block->min[axis] = MIN (block->min[axis], cloud->xyz[3 * (gsize)i + axis]);
        block->max[axis] = MAX (block->max[axis], cloud->xyz[3 * (gsize)i + axis]);
      }
    }
  }
  return cloud;
}

void
render_cloud_free (RenderCloud *cloud)
{
  if (!cloud)
    return;
  g_free (cloud->xyz);
  g_free (cloud->color);
  g_free (cloud->blocks);
  g_free (cloud);
}
