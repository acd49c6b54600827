/* SPDX-License-Identifier: MIT */
#include "ndt-picture.h"

#include <cairo-svg.h>
#include <errno.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "ndtcore/base/ndt-error.h"

#define MARGIN 56.0    /* pixels around the map, for coordinates */
#define LEGEND_LINE 18 /* pixels from line to line */

struct _NdtPicture {
  double min[2];
  double max[2];
  double scale; /* pixels per metre */
  guint columns, rows;
  guint plot_height;
  /* Of each pixel of the map. */
  guint32 *count;
  float *height;
  float *days;
  /* Drawing is recorded, and replayed for PNG or SVG. */
  cairo_surface_t *surface;
  cairo_t *cr;
  guint n_labels;
  gboolean has_status[5]; /* which of the statuses were drawn */
};

/* Five colours of increasing lightness that stay apart for the colour-blind, and in grey; from the
 * palette "viridis" of matplotlib, at 0, 1/4, … 1. */
static const double ramp[][3] = {
    {0.267, 0.005, 0.329},
    {0.230, 0.322, 0.546},
    {0.128, 0.567, 0.551},
    {0.369, 0.789, 0.383},
    {0.993, 0.906, 0.144},
};

static const double palette[][3] = {
    {0.84, 0.15, 0.16},
    {0.12, 0.47, 0.71},
    {1.00, 0.50, 0.05},
    {0.58, 0.40, 0.74},
    {0.89, 0.47, 0.76},
    {0.55, 0.34, 0.29},
};

/* As of pointcloudview, darker for a white ground. */
static const struct {
  const gchar *word;
  double rgb[3];
} statuses[] = {
    {"initializing", {0.20, 0.50, 0.90}},
    {"tracking", {0.10, 0.60, 0.20}},
    {"degraded", {0.95, 0.60, 0.00}},
    {"lost", {0.90, 0.10, 0.10}},
    {"skipped", {0.60, 0.30, 0.90}},
};

NdtPicture *
ndt_picture_new (const double min[2], const double max[2], guint width, guint plot_height)
{
  NdtPicture *picture = g_new0 (NdtPicture, 1);

  g_return_val_if_fail (width >= 100 && width <= 16384, NULL);
  memcpy (picture->min, min, sizeof picture->min);
  memcpy (picture->max, max, sizeof picture->max);
  /* The map's height is limited to 100 to 16384 pixels. */
  picture->scale = MIN (width / (max[0] - min[0]), 16384 / (max[1] - min[1]));
  picture->columns = (guint)CLAMP (ceil ((max[0] - min[0]) * picture->scale), 100, 16384);
  picture->rows = (guint)CLAMP (ceil ((max[1] - min[1]) * picture->scale), 100, 16384);
  picture->plot_height = plot_height;
  picture->count = g_new0 (guint32, (gsize)picture->columns * picture->rows);
  picture->height = g_new (float, (gsize)picture->columns * picture->rows);
  picture->days = g_new (float, (gsize)picture->columns * picture->rows);
  picture->surface = cairo_recording_surface_create (CAIRO_CONTENT_COLOR_ALPHA, NULL);
  picture->cr = cairo_create (picture->surface);
  return picture;
}

void
ndt_picture_free (NdtPicture *picture)
{
  if (!picture)
    return;
  cairo_destroy (picture->cr);
  cairo_surface_destroy (picture->surface);
  g_free (picture->count);
  g_free (picture->height);
  g_free (picture->days);
  g_free (picture);
}

static void
get_size (const NdtPicture *picture, double size[2])
{
  size[0] = picture->columns + 2 * MARGIN;
  size[1] = picture->rows + 2 * MARGIN + picture->plot_height;
}

static double
to_x (const NdtPicture *picture, double x)
{
  return MARGIN + (x - picture->min[0]) * picture->scale;
}

static double
to_y (const NdtPicture *picture, double y)
{
  return MARGIN + picture->rows - (y - picture->min[1]) * picture->scale;
}

void
ndt_picture_add_points (NdtPicture *picture, const NdtCloudView *points, double days)
{
  for (gsize i = 0; i < points->n_points; i++) {
    double p[3];

    ndt_cloud_view_get (points, i, p);
    const double column = floor ((p[0] - picture->min[0]) * picture->scale);
    const double row = floor ((p[1] - picture->min[1]) * picture->scale);
    if (!(column >= 0 && column < picture->columns && row >= 0 && row < picture->rows) ||
        !isfinite (p[2]))
      continue;
    const gsize pixel = (picture->rows - 1 - (gsize)row) * picture->columns + (gsize)column;
    if (picture->count[pixel] == 0 || p[2] > (double)picture->height[pixel])
      picture->height[pixel] = (float)p[2];
    if (picture->count[pixel] == 0 || days < (double)picture->days[pixel])
      picture->days[pixel] = (float)days;
    if (picture->count[pixel] < G_MAXUINT32)
      picture->count[pixel]++;
  }
}

static void
ramp_color (double where, double rgb[3])
{
  const double step = CLAMP (where, 0, 1) * (G_N_ELEMENTS (ramp) - 1);
  const guint below = MIN ((guint)step, (guint)G_N_ELEMENTS (ramp) - 2);

  for (guint c = 0; c < 3; c++)
    rgb[c] = ramp[below][c] + (step - below) * (ramp[below + 1][c] - ramp[below][c]);
}

static float
pixel_value (const NdtPicture *picture, gsize pixel, NdtPictureColor color)
{
  return color == NDT_PICTURE_HEIGHT ? picture->height[pixel]
         : color == NDT_PICTURE_AGE  ? picture->days[pixel]
                                     : log10f ((float)picture->count[pixel]);
}

static int
compare_floats (gconstpointer a, gconstpointer b)
{
  const float x = *(const float *)a, y = *(const float *)b;

  return (x > y) - (x < y);
}

/* The range of colours is that of the values without a hundredth at either end, so that single
 * points do not make all others look alike. FALSE: there are none. */
static gboolean
find_range (const NdtPicture *picture, NdtPictureColor color, double range[2])
{
  const gsize n_pixels = (gsize)picture->columns * picture->rows;
  g_autofree float *values = g_new (float, n_pixels);
  gsize n = 0;

  for (gsize i = 0; i < n_pixels; i++)
    if (picture->count[i] > 0)
      values[n++] = pixel_value (picture, i, color);
  if (n == 0)
    return FALSE;
  qsort (values, n, sizeof *values, compare_floats);
  range[0] = (double)values[n / 100];
  range[1] = MAX ((double)values[n - 1 - n / 100], range[0] + 1e-3);
  return TRUE;
}

static void
change_color (double days, double rgb[3])
{
  static const double colors[3][3] = {{0, 0.6, 0.1}, {0.85, 0, 0}, {0.75, 0.75, 0.75}};
  memcpy (rgb, colors[CLAMP ((gint)days, 0, 2)], 3 * sizeof (double));
}

static void
draw_points (NdtPicture *picture, NdtPictureColor color, const double range[2])
{
  cairo_surface_t *image =
      cairo_image_surface_create (CAIRO_FORMAT_ARGB32, (int)picture->columns, (int)picture->rows);
  guint8 *data = cairo_image_surface_get_data (image);
  const int stride = cairo_image_surface_get_stride (image);

  for (guint row = 0; row < picture->rows && data; row++) {
    guint32 *line = (guint32 *)(gpointer)(data + (gsize)row * (gsize)stride);
    for (guint column = 0; column < picture->columns; column++) {
      const gsize pixel = (gsize)row * picture->columns + column;
      double rgb[3];

      if (picture->count[pixel] == 0)
        continue;
      if (color == NDT_PICTURE_CHANGE)
        change_color ((double)picture->days[pixel], rgb);
      else
        ramp_color (
            ((double)pixel_value (picture, pixel, color) - range[0]) / (range[1] - range[0]), rgb);
      line[column] = 0xff000000u | (guint32)(255 * rgb[0]) << 16 | (guint32)(255 * rgb[1]) << 8 |
                     (guint32)(255 * rgb[2]);
    }
  }
  cairo_surface_mark_dirty (image);
  cairo_set_source_surface (picture->cr, image, MARGIN, MARGIN);
  cairo_paint (picture->cr);
  cairo_surface_destroy (image);
}

static void
set_rgb (cairo_t *cr, const double rgb[3])
{
  cairo_set_source_rgb (cr, rgb[0], rgb[1], rgb[2]);
}

/* @align: 0 left, 0.5 centred, 1 right of @x. */
static void
draw_text (cairo_t *cr, double x, double y, double align, const gchar *text)
{
  cairo_text_extents_t extents;

  cairo_text_extents (cr, text, &extents);
  cairo_move_to (cr, x - align * extents.x_advance, y);
  cairo_show_text (cr, text);
}

/* 1, 2 or 5 times a power of ten: the smallest such step that makes no more than @most steps. */
static double
round_step (double range, double most)
{
  const double least = range / most;
  const double power = pow (10, floor (log10 (least)));

  return least <= power       ? power
         : least <= 2 * power ? 2 * power
         : least <= 5 * power ? 5 * power
                              : 10 * power;
}

static void
draw_line (cairo_t *cr, double x0, double y0, double x1, double y1)
{
  cairo_move_to (cr, x0, y0);
  cairo_line_to (cr, x1, y1);
  cairo_stroke (cr);
}

static void
draw_grid (NdtPicture *picture)
{
  cairo_t *cr = picture->cr;
  const double step = round_step (MAX (picture->columns, picture->rows) / picture->scale, 10);

  cairo_set_line_width (cr, 1);
  for (guint axis = 0; axis < 2; axis++)
    for (double v = ceil (picture->min[axis] / step) * step; v <= picture->max[axis]; v += step) {
      g_autofree gchar *text = g_strdup_printf ("%.10g", fabs (v) < step / 2 ? 0.0 : v);
      const double x = to_x (picture, v), y = to_y (picture, v);

      cairo_set_source_rgba (cr, 0, 0, 0, 0.15);
      if (axis == 0)
        draw_line (cr, x, MARGIN, x, MARGIN + picture->rows);
      else
        draw_line (cr, MARGIN, y, MARGIN + picture->columns, y);
      cairo_set_source_rgb (cr, 0.3, 0.3, 0.3);
      if (axis == 0)
        draw_text (cr, x, MARGIN + picture->rows + 16, 0.5, text);
      else
        draw_text (cr, MARGIN - 6, y + 4, 1, text);
    }
  cairo_set_source_rgb (cr, 0.3, 0.3, 0.3);
  cairo_rectangle (cr, MARGIN, MARGIN, picture->columns, picture->rows);
  cairo_stroke (cr);
}

static void
draw_scale_bar (NdtPicture *picture)
{
  cairo_t *cr = picture->cr;
  const double metres = round_step (picture->columns / picture->scale, 5);
  const double x = MARGIN, y = MARGIN + picture->rows + 36;
  g_autofree gchar *text = g_strdup_printf ("%g m", metres);

  cairo_set_source_rgb (cr, 0, 0, 0);
  cairo_set_line_width (cr, 3);
  draw_line (cr, x, y, x + metres * picture->scale, y);
  draw_text (cr, x + metres * picture->scale + 8, y + 4, 0, text);
}

static void
draw_color_bar (NdtPicture *picture, NdtPictureColor color, const double range[2])
{
  cairo_t *cr = picture->cr;
  const double width = MIN (200, picture->columns / 3.0);
  const double x = MARGIN + picture->columns - width, y = MARGIN + picture->rows + 30;
  cairo_pattern_t *pattern = cairo_pattern_create_linear (x, 0, x + width, 0);
  g_autofree gchar *low = NULL, *high = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (ramp); i++)
    cairo_pattern_add_color_stop_rgb (
        pattern, i / (G_N_ELEMENTS (ramp) - 1.0), ramp[i][0], ramp[i][1], ramp[i][2]);
  cairo_set_source (cr, pattern);
  cairo_rectangle (cr, x, y, width, 8);
  cairo_fill (cr);
  cairo_pattern_destroy (pattern);
  if (color == NDT_PICTURE_HEIGHT) {
    low = g_strdup_printf ("z %.1f m", range[0]);
    high = g_strdup_printf ("%.1f m", range[1]);
  } else if (color == NDT_PICTURE_AGE) {
    low = g_strdup_printf ("%.1f days", range[0]);
    high = g_strdup_printf ("%.1f days old", range[1]);
  } else {
    low = g_strdup_printf ("%.0f", pow (10, range[0]));
    high = g_strdup_printf ("%.0f points a pixel", pow (10, range[1]));
  }
  cairo_set_source_rgb (cr, 0, 0, 0);
  draw_text (cr, x, y + 20, 0, low);
  draw_text (cr, x + width, y + 20, 1, high);
}

void
ndt_picture_draw_map (NdtPicture *picture, NdtPictureColor color, const gchar *title)
{
  cairo_t *cr = picture->cr;
  double size[2], range[2];

  get_size (picture, size);
  cairo_set_source_rgb (cr, 1, 1, 1);
  cairo_rectangle (cr, 0, 0, size[0], size[1]);
  cairo_fill (cr);
  cairo_select_font_face (cr, "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size (cr, 12);
  if (find_range (picture, color, range)) {
    draw_points (picture, color, range);
    if (color != NDT_PICTURE_CHANGE)
      draw_color_bar (picture, color, range);
  }
  draw_grid (picture);
  draw_scale_bar (picture);
  if (title) {
    cairo_set_source_rgb (cr, 0, 0, 0);
    cairo_set_font_size (cr, 16);
    draw_text (cr, MARGIN, MARGIN - 20, 0, title);
    cairo_set_font_size (cr, 12);
  }
}

/* A line of the legend. */
static void
draw_label (NdtPicture *picture, const double rgb[3], const gchar *label)
{
  cairo_t *cr = picture->cr;
  const double y = MARGIN + LEGEND_LINE * (picture->n_labels + 1.0);
  const double x = MARGIN + picture->columns - 10;
  cairo_text_extents_t extents;

  picture->n_labels++;
  cairo_text_extents (cr, label, &extents);
  cairo_set_source_rgba (cr, 1, 1, 1, 0.8);
  cairo_rectangle (cr, x - extents.x_advance - 34, y - 13, extents.x_advance + 40, LEGEND_LINE);
  cairo_fill (cr);
  set_rgb (cr, rgb);
  draw_line (cr, x - extents.x_advance - 30, y - 4, x - extents.x_advance - 8, y - 4);
  cairo_set_source_rgb (cr, 0, 0, 0);
  draw_text (cr, x, y, 1, label);
}

/* Of the colour of a status, of which the legend has a line; @plain where there is none. */
static const double *
status_color (NdtPicture *picture, const gchar *status, const double plain[3])
{
  for (guint i = 0; status && i < G_N_ELEMENTS (statuses); i++)
    if (strcmp (status, statuses[i].word) == 0) {
      picture->has_status[i] = TRUE;
      return statuses[i].rgb;
    }
  return plain;
}

void
ndt_picture_draw_trajectory (
    NdtPicture *picture, const NdtTrajectory *trajectory, guint index, const gchar *label)
{
  cairo_t *cr = picture->cr;
  const double *plain = palette[index % G_N_ELEMENTS (palette)], *rgb = NULL;
  const NdtPose *before = NULL;
  gboolean had_status[G_N_ELEMENTS (statuses)];

  memcpy (had_status, picture->has_status, sizeof had_status);
  cairo_save (cr);
  cairo_rectangle (cr, MARGIN, MARGIN, picture->columns, picture->rows);
  cairo_clip (cr);
  cairo_set_line_width (cr, 2);
  cairo_set_line_join (cr, CAIRO_LINE_JOIN_ROUND);
  /* A line as long as the colour stays, from the last pose of the one before. */
  for (gsize i = 0; i < ndt_trajectory_get_n_poses (trajectory); i++) {
    const NdtPose *pose = ndt_trajectory_get_pose (trajectory, i);
    const double *color = status_color (picture, ndt_trajectory_get_status (trajectory, i), plain);

    if (rgb && (!pose || !before || color != rgb)) {
      set_rgb (cr, rgb);
      cairo_stroke (cr);
      rgb = NULL;
    }
    if (pose && !rgb && before)
      cairo_move_to (cr, to_x (picture, before->position[0]), to_y (picture, before->position[1]));
    if (pose) {
      cairo_line_to (cr, to_x (picture, pose->position[0]), to_y (picture, pose->position[1]));
      rgb = color;
    }
    before = pose;
  }
  if (rgb) {
    set_rgb (cr, rgb);
    cairo_stroke (cr);
  }
  cairo_restore (cr);
  draw_label (picture, plain, label);
  for (guint i = 0; i < G_N_ELEMENTS (statuses); i++)
    if (picture->has_status[i] && !had_status[i])
      draw_label (picture, statuses[i].rgb, statuses[i].word);
}

/* One of two plots side by side: @values over @seconds, from 0 up. */
static void
draw_plot (NdtPicture *picture, guint column, const double *seconds, const double *values, gsize n,
    const gchar *name)
{
  cairo_t *cr = picture->cr;
  const double width = picture->columns / 2.0 - 40;
  const double height = picture->plot_height - 80.0;
  const double x0 = MARGIN + column * (width + 80);
  const double y0 = MARGIN * 2 + picture->rows + height + 40;
  const double span = MAX (seconds[n - 1] - seconds[0], 1e-9);
  double top = 0;

  for (gsize i = 0; i < n; i++)
    top = MAX (top, values[i]);
  top = MAX (top, 1e-6);
  const double step = round_step (top, 4);
  top = ceil (top / step) * step;

  cairo_set_line_width (cr, 1);
  for (double v = 0; v <= top * (1 + 1e-9); v += step) {
    const double y = y0 - height * v / top;
    g_autofree gchar *text = g_strdup_printf ("%g", v);

    cairo_set_source_rgba (cr, 0, 0, 0, 0.15);
    draw_line (cr, x0, y, x0 + width, y);
    cairo_set_source_rgb (cr, 0.3, 0.3, 0.3);
    draw_text (cr, x0 - 6, y + 4, 1, text);
  }
  const double time_step = round_step (span, 8);
  for (double t = 0; t <= span * (1 + 1e-9); t += time_step) {
    g_autofree gchar *text = g_strdup_printf ("%g s", t);
    draw_text (cr, x0 + width * t / span, y0 + 16, 0.5, text);
  }
  set_rgb (cr, palette[column]);
  cairo_set_line_width (cr, 1.5);
  cairo_new_path (cr);
  for (gsize i = 0; i < n; i++)
    cairo_line_to (
        cr, x0 + width * (seconds[i] - seconds[0]) / span, y0 - height * MIN (values[i] / top, 1));
  cairo_stroke (cr);
  cairo_set_source_rgb (cr, 0, 0, 0);
  draw_text (cr, x0, y0 - height - 8, 0, name);
}

void
ndt_picture_draw_errors (NdtPicture *picture, const double *seconds, const double *metres,
    const double *degrees, gsize n)
{
  g_return_if_fail (n > 0 && picture->plot_height > 100);
  draw_plot (picture, 0, seconds, metres, n, "error of position, m");
  draw_plot (picture, 1, seconds, degrees, n, "error of rotation, degrees");
}

static cairo_status_t
append (void *closure, const unsigned char *data, unsigned int size)
{
  g_byte_array_append (closure, data, size);
  return CAIRO_STATUS_SUCCESS;
}

static cairo_status_t
render (const NdtPicture *picture, gboolean is_svg, GByteArray *bytes)
{
  double size[2];
  cairo_status_t status;

  get_size (picture, size);
  cairo_surface_t *surface =
      is_svg ? cairo_svg_surface_create_for_stream (append, bytes, size[0], size[1])
             : cairo_image_surface_create (CAIRO_FORMAT_RGB24, (int)size[0], (int)size[1]);
  cairo_t *cr = cairo_create (surface);
  cairo_set_source_surface (cr, picture->surface, 0, 0);
  cairo_paint (cr);
  status = cairo_status (cr);
  cairo_destroy (cr);
  if (!is_svg && status == CAIRO_STATUS_SUCCESS)
    status = cairo_surface_write_to_png_stream (surface, append, bytes);
  cairo_surface_finish (surface);
  if (status == CAIRO_STATUS_SUCCESS)
    status = cairo_surface_status (surface) == CAIRO_STATUS_SURFACE_FINISHED
                 ? CAIRO_STATUS_SUCCESS
                 : cairo_surface_status (surface);
  cairo_surface_destroy (surface);
  return status;
}

gboolean
ndt_picture_write (NdtPicture *picture, const gchar *path, GError **error)
{
  const gboolean is_svg = g_str_has_suffix (path, ".svg");
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  g_autoptr (GError) cause = NULL;

  if (!is_svg && !g_str_has_suffix (path, ".png")) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "%s: pictures are written as .png or .svg", path);
    return FALSE;
  }
  const cairo_status_t status = render (picture, is_svg, bytes);
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
