/* SPDX-License-Identifier: MIT */
#include "ndt-calibrate-picture.h"

#include <cairo-svg.h>
#include <cairo.h>
#include <math.h>

#include "ndtcore/base/ndt-error.h"

#define WIDTH 960
#define ROW 260
#define MARGIN 50
#define BINS 60

static cairo_status_t
append (void *closure, const unsigned char *data, unsigned int length)
{
  g_byte_array_append (closure, data, length);
  return CAIRO_STATUS_SUCCESS;
}

static void
draw_text (cairo_t *cr, double x, double y, const gchar *text)
{
  cairo_set_source_rgb (cr, 0.1, 0.1, 0.1);
  cairo_move_to (cr, x, y);
  cairo_show_text (cr, text);
}

/* Bars of @values, scaled to the largest, in a frame with the labels of its ends. */
static void
draw_bars (cairo_t *cr, double x, double y, double width, const double *values, const gchar *title,
    const gchar *left, const gchar *right)
{
  const double height = ROW - 2 * MARGIN;
  double most = 0;
  for (guint i = 0; i < BINS; i++)
    most = MAX (most, values[i]);
  cairo_set_source_rgb (cr, 0.2, 0.45, 0.7);
  for (guint i = 0; i < BINS && most > 0; i++) {
    const double h = height * values[i] / most;
    cairo_rectangle (cr, x + width * i / BINS, y + height - h, width / BINS - 1, h);
  }
  cairo_fill (cr);
  cairo_set_source_rgb (cr, 0.5, 0.5, 0.5);
  cairo_set_line_width (cr, 1);
  cairo_rectangle (cr, x, y, width, height);
  cairo_stroke (cr);
  draw_text (cr, x, y - 8, title);
  draw_text (cr, x, y + height + 16, left);
  draw_text (cr, x + width - 60, y + height + 16, right);
}

static void
draw_plot (cairo_t *cr, double y, const NdtCalibratePlot *plot)
{
  const double width = (WIDTH - 3.0 * MARGIN) / 2, reach = MAX (5 * plot->sigma, 1e-4);
  double counts[BINS] = {0}, sums[BINS] = {0}, numbers[BINS] = {0}, end = 1e-9;

  for (gsize i = 0; i < plot->n; i++)
    end = MAX (end, plot->times[i]);
  for (gsize i = 0; i < plot->n; i++) {
    const double at = floor ((plot->residuals[i] / reach + 1) / 2 * BINS);
    const double when = floor (plot->times[i] / end * BINS);
    if (at >= 0 && at < BINS)
      counts[(guint)at]++;
    const guint bin = (guint)CLAMP (when, 0, BINS - 1);
    sums[bin] += plot->residuals[i] * plot->residuals[i];
    numbers[bin]++;
  }
  double most = 0;
  for (guint i = 0; i < BINS; i++) {
    sums[i] = numbers[i] > 0 ? sqrt (sums[i] / numbers[i]) : 0;
    most = MAX (most, sums[i]);
  }
  g_autofree gchar *title = g_strdup_printf ("%s: distances from planes, %" G_GSIZE_FORMAT
                                             " points, standard deviation %.1f mm",
      plot->name, plot->n, 1000 * plot->sigma);
  g_autofree gchar *left = g_strdup_printf ("%.0f mm", -1000 * reach);
  g_autofree gchar *right = g_strdup_printf ("%.0f mm", 1000 * reach);
  g_autofree gchar *over =
      g_strdup_printf ("root mean square over time, up to %.1f mm", 1000 * most);
  g_autofree gchar *seconds = g_strdup_printf ("%.0f s", end);
  draw_bars (cr, MARGIN, y + MARGIN, width, counts, title, left, right);
  draw_bars (cr, 2 * MARGIN + width, y + MARGIN, width, sums, over, "0 s", seconds);
}

gboolean
ndt_calibrate_picture_write (
    const gchar *path, const NdtCalibratePlot *plots, guint n_plots, GError **error)
{
  const gboolean is_svg = g_str_has_suffix (path, ".svg");
  const int height = ROW * (int)MAX (n_plots, 1);
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  g_autoptr (GError) cause = NULL;

  if (!is_svg && !g_str_has_suffix (path, ".png")) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "%s: pictures are written as .png or .svg", path);
    return FALSE;
  }
  cairo_surface_t *surface =
      is_svg ? cairo_svg_surface_create_for_stream (append, bytes, WIDTH, height)
             : cairo_image_surface_create (CAIRO_FORMAT_RGB24, WIDTH, height);
  cairo_t *cr = cairo_create (surface);
  cairo_set_source_rgb (cr, 1, 1, 1);
  cairo_paint (cr);
  cairo_set_font_size (cr, 12);
  for (guint i = 0; i < n_plots; i++)
    draw_plot (cr, ROW * (double)i, &plots[i]);
  cairo_status_t status = cairo_status (cr);
  cairo_destroy (cr);
  if (!is_svg && status == CAIRO_STATUS_SUCCESS)
    status = cairo_surface_write_to_png_stream (surface, append, bytes);
  cairo_surface_destroy (surface);
  if (status != CAIRO_STATUS_SUCCESS) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_IO, "%s: the picture cannot be drawn: %s", path,
        cairo_status_to_string (status));
    return FALSE;
  }
  if (g_file_set_contents (path, (const gchar *)bytes->data, bytes->len, &cause))
    return TRUE;
  g_set_error_literal (error, NDT_ERROR, NDT_ERROR_IO, cause->message);
  return FALSE;
}
