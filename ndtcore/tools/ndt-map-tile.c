/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ndt-map-tool.h"
#include "ndt-tile-cutter.h"
#include "ndtcore/base/ndt-file.h"
#include "ndtcore/mapfile/ndt-map-metadata.h"
#include "ndtcore/cloudfile/ndt-cloud-file.h"

#define POINTS_AT_ONCE ((gsize)1 << 20)

typedef struct {
  double size;
  gchar *output;
  gchar **inputs;
} Tiling;

/* Makes the folder, or takes one without tiles: those of two maps would be mixed. */
static gboolean
prepare_folder (const gchar *path, GError **error)
{
  g_autoptr (GError) cause = NULL;
  g_autofree gchar *shown = g_filename_display_name (path);
  if (g_mkdir_with_parents (path, 0777) != 0) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_IO, "cannot make %s: %s", shown, g_strerror (errno));
    return FALSE;
  }
  g_autoptr (GDir) folder = g_dir_open (path, 0, &cause);
  if (!folder) {
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_IO, cause->message);
    return FALSE;
  }
  const gchar *name;
  while ((name = g_dir_read_name (folder)))
    if (ndt_file_is_points (name) || g_str_equal (name, NDT_MAP_METADATA_NAME)) {
      g_autofree gchar *shown_name = g_filename_display_name (name);
      g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
          "%s has a map in it already (%s): choose an empty folder", shown, shown_name);
      return FALSE;
    }
  return TRUE;
}

/* Doubles where one of the files has doubles, so that no coordinate is rounded. */
static gboolean
find_scalar (GPtrArray *files, NdtScalar *scalar, GError **error)
{
  *scalar = NDT_SCALAR_F32;
  for (guint i = 0; i < files->len; i++) {
    g_autoptr (NdtCloudFile) file = ndt_cloud_file_open (g_ptr_array_index (files, i), error);
    if (!file)
      return FALSE;
    if (ndt_cloud_file_get_scalar (file) == NDT_SCALAR_F64)
      *scalar = NDT_SCALAR_F64;
  }
  return TRUE;
}

static gboolean
cut (NdtTileCutter *cutter, GPtrArray *files, NdtMapProgress *progress, GError **error)
{
  for (guint i = 0; i < files->len; i++) {
    ndt_map_progress_step (progress, i, ndt_tile_cutter_get_n_points (cutter));
    NdtCloudView points;
    g_autoptr (NdtCloudFile) file = ndt_cloud_file_open (g_ptr_array_index (files, i), error);
    if (!file || !ndt_cloud_file_get_points (file, &points, error))
      return FALSE;
    /* In parts, for the progress of a large file. */
    for (gsize first = 0; first < points.n_points; first += POINTS_AT_ONCE) {
      const NdtCloudView part =
          ndt_cloud_view_part (&points, first, MIN (POINTS_AT_ONCE, points.n_points - first));
      if (!ndt_tile_cutter_add (cutter, &part, error)) {
        g_autofree gchar *shown = g_filename_display_name (g_ptr_array_index (files, i));
        g_prefix_error (error, "%s: ", shown);
        return FALSE;
      }
      ndt_map_progress_step (progress, i, ndt_tile_cutter_get_n_points (cutter));
    }
  }
  if (ndt_tile_cutter_get_n_points (cutter) == 0) {
    g_set_error_literal (
        error, NDT_ERROR, NDT_ERROR_EMPTY_MAP, "there are no points; nothing is written");
    return FALSE;
  }
  return ndt_tile_cutter_finish (cutter, error);
}

static int
run_tile (const Tiling *tiling, GOptionContext *context)
{
  g_autoptr (GError) error = NULL;
  NdtScalar scalar;

  if (!tiling->inputs || !tiling->output)
    return ndt_map_report_usage (context, "tile needs inputs and --output");
  if (!(tiling->size >= 0.01 && isfinite (tiling->size)))
    return ndt_map_report_usage (context, "--size is metres, 0.01 or more");
  g_autofree gchar *output = ndt_file_resolve (tiling->output, &error);
  if (!output)
    return ndt_map_report_usage (NULL, error->message);
  g_autoptr (GPtrArray) files = ndt_map_list_inputs (tiling->inputs, NULL, &error);
  if (!files || !find_scalar (files, &scalar, &error) || !prepare_folder (output, &error))
    return ndt_map_report (error);

  g_autoptr (NdtTileCutter) cutter = ndt_tile_cutter_new (output, tiling->size, scalar);
  NdtMapProgress progress;
  ndt_map_progress_start (&progress, "files", files->len);
  const gboolean ok = cut (cutter, files, &progress, &error);
  ndt_map_progress_end (&progress);
  if (!ok)
    return ndt_map_report (error);
  printf ("files: %u\n", files->len);
  printf ("tiles: %u\n", ndt_tile_cutter_get_n_tiles (cutter));
  printf ("points: %" G_GUINT64_FORMAT "\n", ndt_tile_cutter_get_n_points (cutter));
  return EXIT_SUCCESS;
}

int
ndt_map_command_tile (int argc, char **argv)
{
  Tiling tiling = {.size = 20};
  const GOptionEntry entries[] = {
      {"output", 'o', 0, G_OPTION_ARG_FILENAME, &tiling.output,
          "Folder to write, without a map in it", "FOLDER"},
      {"size", 's', 0, G_OPTION_ARG_DOUBLE, &tiling.size, "Edge of a tile (default 20)", "METRES"},
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &tiling.inputs, NULL, NULL},
      {NULL},
  };
  g_autoptr (GOptionContext) context = g_option_context_new ("INPUT... - cuts a map into tiles");
  g_autoptr (GError) error = NULL;
  g_option_context_set_summary (context,
      "Inputs are PCD, PLY or LAS files, or folders of them. Each tile becomes a binary PCD file\n"
      "with the points as they were, and " NDT_MAP_METADATA_NAME
      " says where it lies, as Autoware has it:\n"
      "what ndtlocalize's map-radius takes.");
  g_option_context_add_main_entries (context, entries, NULL);
  const int status = g_option_context_parse (context, &argc, &argv, &error)
                         ? run_tile (&tiling, context)
                         : ndt_map_report_usage (context, error->message);
  g_free (tiling.output);
  g_strfreev (tiling.inputs);
  return status;
}
