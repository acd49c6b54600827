/* SPDX-License-Identifier: MIT */
#include "render-words.h"

#include <cairo.h>
#include <math.h>

#define N_LINES 7

static const struct {
  const gchar *word;
  guint32 color;
} statuses[] = {
    {"no localizer", 0x99a6b3},
    {"initializing", 0x66b3ff},
    {"tracking", 0x4de666},
    {"degraded", 0xffbf33},
    {"lost", 0xff4d4d},
    {"skipped", 0xcc99ff},
};

guint32
render_status_color (guint status)
{
  return statuses[status < G_N_ELEMENTS (statuses) ? status : 0].color;
}

static void
set_color (cairo_t *cr, guint32 color)
{
  cairo_set_source_rgb (
      cr, (color >> 16) / 255.0, (color >> 8 & 255) / 255.0, (color & 255) / 255.0);
}

static double
get_heading (const double q[4])
{
  return atan2 (2 * (q[3] * q[2] + q[0] * q[1]), 1 - 2 * (q[1] * q[1] + q[2] * q[2]));
}

/* Texts of the lines below the status; NULL where there is nothing to say. */
static void
make_lines (const SceneScan *scan, gchar *lines[N_LINES])
{
  const double *p = scan->pose.position, *c = scan->covariance;
  guint n = 0;

  if (scan->has_pose) {
    lines[n++] = g_strdup_printf ("position  %.2f  %.2f  %.2f m", p[0], p[1], p[2]);
    lines[n++] =
        g_strdup_printf ("heading  %.1f°", get_heading (scan->pose.orientation) * 180 / G_PI);
  }
  if (scan->has_covariance)
    lines[n++] = g_strdup_printf ("deviation  %.3f m  %.2f°", sqrt (fmax (fmax (c[0], c[2]), 0)),
        sqrt (fmax (c[4], 0)) * 180 / G_PI);
  if (scan->nvtl > 0) {
    lines[n++] = g_strdup_printf ("score  %.2f  (%u iterations)", scan->nvtl, scan->iterations);
    lines[n++] = g_strdup_printf ("matched  %.0f %%", 100 * scan->matched_ratio);
  }
  if (isfinite (scan->seconds))
    lines[n++] =
        g_strdup_printf ("scan  %" G_GUINT64_FORMAT "  %.1f s", scan->sequence, scan->seconds);
}

static void
draw_panel (cairo_t *cr, const SceneScan *scan, double size)
{
  gchar *lines[N_LINES] = {NULL};
  cairo_text_extents_t extents;
  double widest = 0;
  guint n = 0;

  make_lines (scan, lines);
  cairo_set_font_size (cr, size);
  for (; n < N_LINES && lines[n]; n++) {
    cairo_text_extents (cr, lines[n], &extents);
    widest = fmax (widest, extents.x_advance);
  }
  const gchar *word = statuses[scan->status < G_N_ELEMENTS (statuses) ? scan->status : 0].word;
  cairo_set_font_size (cr, 1.5 * size);
  cairo_text_extents (cr, word, &extents);
  widest = fmax (widest, extents.x_advance);
  cairo_set_source_rgba (cr, 0.10, 0.125, 0.16, 0.8);
  cairo_rectangle (cr, size, size, widest + 2 * size, (3 + 1.4 * n) * size);
  cairo_fill (cr);
  set_color (cr, render_status_color (scan->status));
  cairo_move_to (cr, 2 * size, 2.9 * size);
  cairo_show_text (cr, word);
  cairo_set_font_size (cr, size);
  cairo_set_source_rgb (cr, 0.87, 0.89, 0.92);
  for (guint i = 0; i < n; i++) {
    cairo_move_to (cr, 2 * size, (4.6 + 1.4 * i) * size);
    cairo_show_text (cr, lines[i]);
    g_free (lines[i]);
  }
}

/* 1, 2 or 5 times a power of ten metres, a fifth of the width at the most. */
static void
draw_scale (cairo_t *cr, guint width, guint height, double metres_per_pixel, double size)
{
  const double most = metres_per_pixel * width / 5;
  const double power = pow (10, floor (log10 (most)));
  const double metres = most >= 5 * power ? 5 * power : most >= 2 * power ? 2 * power : power;
  const double x = 2 * size, y = height - 2 * size;
  g_autofree gchar *text = g_strdup_printf ("%g m", metres);

  cairo_set_source_rgb (cr, 0.87, 0.89, 0.92);
  cairo_rectangle (cr, x, y, metres / metres_per_pixel, fmax (size / 4, 2));
  cairo_fill (cr);
  cairo_move_to (cr, x, y - size / 2);
  cairo_show_text (cr, text);
}

void
render_words (
    guint32 *pixels, guint width, guint height, const SceneScan *scan, double metres_per_pixel)
{
  cairo_surface_t *surface = cairo_image_surface_create_for_data (
      (guint8 *)(gpointer)pixels, CAIRO_FORMAT_RGB24, (int)width, (int)height, (int)(4 * width));
  cairo_t *cr = cairo_create (surface);
  const double size = fmax (height / 48.0, 9);

  cairo_select_font_face (cr, "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
  draw_panel (cr, scan, size);
  if (metres_per_pixel > 0)
    draw_scale (cr, width, height, metres_per_pixel, size);
  cairo_destroy (cr);
  cairo_surface_flush (surface);
  cairo_surface_destroy (surface);
}
