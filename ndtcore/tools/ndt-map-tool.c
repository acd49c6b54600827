/* SPDX-License-Identifier: MIT */
#include "ndt-map-tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ndtcore/base/ndt-file.h"
#include "ndtcore/cloudfile/ndt-georeference.h"
#include "ndtcore/mapfile/ndt-map-file.h"
#include "ndtcore/cloudfile/ndt-map-image.h"

int
ndt_map_report (const GError *error)
{
  g_printerr ("ndt-map: %s\n", error->message);
  return EXIT_FAILURE;
}

int
ndt_map_report_usage (GOptionContext *context, const gchar *text)
{
  g_autofree gchar *help = context ? g_option_context_get_help (context, TRUE, NULL) : NULL;
  g_printerr ("ndt-map: %s\n", text);
  if (help)
    g_printerr ("\n%s", help);
  return EXIT_USAGE;
}

static gint
compare_collated (const gchar *a, const gchar *b)
{
  return strcoll (a, b);
}

static gboolean
is_in_order (const GPtrArray *files, gint (*compare) (const gchar *, const gchar *))
{
  for (guint i = 1; i < files->len; i++)
    if (compare (g_ptr_array_index (files, i - 1), g_ptr_array_index (files, i)) > 0)
      return FALSE;
  return TRUE;
}

static gint
compare_by_numbers (gconstpointer a, gconstpointer b)
{
  return ndt_file_compare_names (*(const gchar *const *)a, *(const gchar *const *)b);
}

GPtrArray *
ndt_map_list_inputs (gchar **inputs, gboolean *sorted, GError **error)
{
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (g_free);
  guint n_inputs = 0;
  gboolean is_by_shell = FALSE;
  for (gchar **input = inputs; *input; input++, n_inputs++) {
    GPtrArray *some = ndt_map_list_files (*input, error);
    if (!some)
      return NULL;
    g_ptr_array_extend_and_steal (files, some);
  }
  /* One file an input: names that were spelt out, or a pattern's. */
  if (n_inputs > 1 && files->len == n_inputs && !is_in_order (files, ndt_file_compare_names) &&
      (is_in_order (files, g_strcmp0) || is_in_order (files, compare_collated))) {
    g_ptr_array_sort (files, compare_by_numbers);
    is_by_shell = TRUE;
  }
  if (sorted)
    *sorted = is_by_shell;
  return g_steal_pointer (&files);
}

/* ---- Progress ---- */

/* µs before the first line, and between two. */
#define FIRST_LINE 2000000
#define NEXT_LINE 200000

void
ndt_map_progress_start (NdtMapProgress *progress, const gchar *what, guint64 n_all)
{
  progress->what = what;
  progress->n_all = n_all;
  progress->is_terminal = isatty (STDERR_FILENO);
  progress->is_shown = FALSE;
  progress->start = g_get_monotonic_time ();
  progress->last = progress->start + FIRST_LINE - NEXT_LINE;
}

void
ndt_map_progress_step (NdtMapProgress *progress, guint64 n_done, guint64 n_points)
{
  if (!progress->is_terminal)
    return;
  const gint64 now = g_get_monotonic_time ();
  if (now - progress->last < NEXT_LINE)
    return;
  progress->last = now;
  progress->is_shown = TRUE;
  fprintf (stderr, "\r%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " %s", n_done, progress->n_all,
      progress->what);
  if (n_points > 0)
    fprintf (stderr, ", %.1f million points", (double)n_points * 1e-6);
  fprintf (stderr, ", %.0f s\033[K", (double)(now - progress->start) * 1e-6);
  fflush (stderr);
}

void
ndt_map_progress_end (NdtMapProgress *progress)
{
  if (!progress->is_shown)
    return;
  fputs ("\r\033[K", stderr);
  fflush (stderr);
  progress->is_shown = FALSE;
}

/* ---- Voxels ---- */

gboolean
ndt_map_voxel_options_get (
    const NdtMapVoxelOptions *options, NdtVoxelMapParams *params, GError **error)
{
  static const gchar *const names[] = {"unbiased", "autoware", "ndt-omp"};
  const NdtVoxelMapParams defaults = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  guint covariance = 0;

  while (options->covariance && covariance < G_N_ELEMENTS (names) &&
         !g_str_equal (names[covariance], options->covariance))
    covariance++;
  *params = defaults;
  params->resolution = options->resolution;
  params->min_points = (guint)MAX (options->min_points, 0);
  params->n_levels = (guint)MAX (options->levels, 0);
  params->covariance = (NdtCovarianceEstimate)covariance;
  return ndt_voxel_map_params_check (params, error);
}

void
ndt_map_voxel_options_clear (NdtMapVoxelOptions *options)
{
  g_clear_pointer (&options->covariance, g_free);
}

gboolean
ndt_map_is_image_name (const gchar *path)
{
  const gchar *dot = strrchr (path, '.');
  return dot && g_ascii_strcasecmp (dot, ".ndtmap") == 0;
}

gboolean
ndt_map_write_image (const gchar *path, const NdtVoxelMap *map, const gchar *source, GError **error)
{
  NdtGeoreference georeference;
  if (!ndt_georeference_find (source, &georeference, error))
    return FALSE;
  g_autofree gchar *text =
      ndt_georeference_is_empty (&georeference) ? NULL : ndt_georeference_to_text (&georeference);
  return ndt_map_image_write (path, map, text, error);
}
