/* SPDX-License-Identifier: MIT */
/* ndt-map import: moves a foreign map near the origin, where floats resolve it, stores the
 * georeference, and reports probable faults. */
#include <errno.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ndt-map-judge.h"
#include "ndt-map-tool.h"
#include "ndtcore/base/ndt-file.h"
#include "ndtcore/base/ndt-text.h"
#include "ndtcore/cloudfile/ndt-cloud-file.h"
#include "ndtcore/cloudfile/ndt-georeference.h"
#include "ndtcore/cloudfile/ndt-map-image.h"
#include "ndtcore/cloudfile/ndt-pcd.h"

/* Farther from zero than this a float steps by more than 0.5 mm: the map gets an origin … */
#define FLOAT_RANGE 8192.0
/* … at a multiple of this, metres, which tiles and cells are parts of. */
#define ORIGIN_STEP 1000.0

typedef struct {
  gchar *output;
  gchar *origin;
  gchar *place;
  double scale;
  gboolean wide;
  NdtMapVoxelOptions voxels;
  gchar **inputs;

  NdtVoxelMapParams params;
  gboolean has_origin;
  double offset[3]; /* subtracted */
  NdtGeoreference georeference;
  GArray *xyz;         /* doubles, three a point */
  GArray *intensities; /* floats; NULL: some file has none */
} Import;

static gboolean
read_file (Import *import, const gchar *path, GError **error)
{
  NdtCloudView view;
  g_autoptr (NdtCloudFile) file = ndt_cloud_file_open (path, error);
  if (!file || !ndt_cloud_file_get_points (file, &view, error))
    return FALSE;
  const float *intensities = ndt_cloud_file_get_intensities (file);
  if (!intensities)
    g_clear_pointer (&import->intensities, g_array_unref);
  for (gsize i = 0; i < view.n_points; i++) {
    double p[3];
    ndt_cloud_view_get (&view, i, p);
    if (!isfinite (p[0]) || !isfinite (p[1]) || !isfinite (p[2]))
      continue;
    for (guint k = 0; k < 3; k++)
      p[k] *= import->scale;
    if (import->xyz->len / 3 >= G_MAXUINT32 / 64) {
      g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
          "more than %u points are too many: import parts of the map one by one, with the same "
          "--origin",
          G_MAXUINT32 / 64);
      return FALSE;
    }
    g_array_append_vals (import->xyz, p, 3);
    if (import->intensities)
      g_array_append_val (import->intensities, intensities[i]);
  }
  return TRUE;
}

/* The origin that was given, or one that keeps coordinates small. */
static void
choose_origin (Import *import)
{
  const double *xyz = (const double *)(gpointer)import->xyz->data;
  const gsize n = import->xyz->len / 3;
  for (guint k = 0; k < 3 && !import->has_origin; k++) {
    double min = INFINITY, max = -INFINITY;
    for (gsize i = 0; i < n; i++) {
      min = MIN (min, xyz[3 * i + k]);
      max = MAX (max, xyz[3 * i + k]);
    }
    if (MAX (fabs (min), fabs (max)) > FLOAT_RANGE)
      import->offset[k] = round ((min + max) / 2 / ORIGIN_STEP) * ORIGIN_STEP;
  }
}

/* In double, before anything is made a float. */
static void
move_points (Import *import)
{
  double *xyz = (double *)(gpointer)import->xyz->data;
  for (gsize i = 0; i < import->xyz->len; i++)
    xyz[i] -= import->offset[i % 3];
  for (guint k = 0; k < 3; k++)
    import->georeference.origin[k] += import->offset[k];
}

static gboolean
write_map (Import *import, const NdtCloudView *points, GError **error)
{
  const float *intensities =
      import->intensities ? (const float *)(gpointer)import->intensities->data : NULL;
  const gsize n = points->n_points;
  g_autofree float *narrow = import->wide ? NULL : g_try_new (float, 3 * n + 1);
  NdtCloudView view = *points;
  if (!import->wide) {
    if (!narrow) {
      g_set_error (
          error, NDT_ERROR, NDT_ERROR_NO_MEMORY, "no memory for %" G_GSIZE_FORMAT " points", n);
      return FALSE;
    }
    for (gsize i = 0; i < 3 * n; i++)
      narrow[i] = (float)g_array_index (import->xyz, double, i);
    view = ndt_cloud_view_xyz_f32 (narrow, n);
  }
  if (!ndt_map_is_image_name (import->output))
    return ndt_pcd_write_intensities (import->output, &view, intensities, NDT_PCD_BINARY, error);
  g_autofree gchar *text = ndt_georeference_to_text (&import->georeference);
  g_autoptr (NdtVoxelMap) map = ndt_voxel_map_new (&import->params, &view, error);
  return map && ndt_map_image_write (import->output, map, text, error);
}

static gboolean
put_text (FILE *out, gpointer user_data)
{
  return fputs (user_data, out) >= 0;
}

/* Beside the map, as Autoware places it. An .ndtmap contains it. */
static gboolean
write_georeference (Import *import, GError **error)
{
  if (ndt_map_is_image_name (import->output) || ndt_georeference_is_empty (&import->georeference))
    return TRUE;
  g_autofree gchar *path = ndt_file_resolve (import->output, error);
  if (!path)
    return FALSE;
  g_autofree gchar *folder = g_path_get_dirname (path);
  g_autofree gchar *file = g_build_filename (folder, NDT_GEOREFERENCE_NAME, NULL);
  g_autofree gchar *text = ndt_georeference_to_text (&import->georeference);
  return ndt_file_replace (file, put_text, text, error);
}

/* Refuses to overwrite the georeference of another map. */
static gboolean
check_georeference (const Import *import, GError **error)
{
  NdtGeoreference there;
  if (ndt_map_is_image_name (import->output))
    return TRUE;
  if (!ndt_georeference_find (import->output, &there, error))
    return FALSE;
  g_autofree gchar *ours = ndt_georeference_to_text (&import->georeference);
  g_autofree gchar *theirs = ndt_georeference_to_text (&there);
  if (ndt_georeference_is_empty (&there) || g_str_equal (ours, theirs))
    return TRUE;
  g_autofree gchar *shown = ndt_georeference_describe (&there);
  g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
      "the folder of the output has a " NDT_GEOREFERENCE_NAME
      " of another map (%s): write into another folder, or give its --origin",
      shown);
  return FALSE;
}

static gboolean
read_all (Import *import, GPtrArray *files, GError **error)
{
  NdtMapProgress progress;
  gboolean ok = TRUE;
  import->xyz = g_array_new (FALSE, FALSE, sizeof (double));
  import->intensities = g_array_new (FALSE, FALSE, sizeof (float));
  ndt_map_progress_start (&progress, "files", files->len);
  for (guint i = 0; ok && i < files->len; i++) {
    ok = read_file (import, g_ptr_array_index (files, i), error);
    ndt_map_progress_step (&progress, i + 1, import->xyz->len / 3);
  }
  ndt_map_progress_end (&progress);
  if (ok && import->xyz->len == 0) {
    g_set_error_literal (
        error, NDT_ERROR, NDT_ERROR_EMPTY_MAP, "there are no points; nothing is written");
    return FALSE;
  }
  return ok;
}

static void
print_result (const Import *import, guint n_files, const NdtMapJudgement *judgement)
{
  g_autoptr (GPtrArray) warnings = ndt_map_judgement_warn (judgement, import->params.resolution);
  printf ("files: %u\n", n_files);
  printf ("points: %" G_GSIZE_FORMAT "%s\n", judgement->n_points,
      import->intensities && !ndt_map_is_image_name (import->output) ? ", with intensity" : "");
  printf ("size: %.3f m x %.3f m x %.3f m\n", judgement->size[0], judgement->size[1],
      judgement->size[2]);
  printf ("points per cell of %g m: %.0f\n", import->params.resolution, judgement->points_per_cell);
  printf ("surfaces: %u, %.1f %% of them double; walls: %u, %.2f degrees off the vertical\n",
      judgement->n_surfaces, 100 * judgement->double_share, judgement->n_walls,
      judgement->tilt * 180 / G_PI);
  if (!ndt_georeference_is_empty (&import->georeference)) {
    g_autofree gchar *text = ndt_georeference_describe (&import->georeference);
    printf ("georeference: %s\n", text);
  }
  for (guint i = 0; i < warnings->len; i++)
    g_printerr (
        "ndt-map: the map looks wrong: %s\n", (const gchar *)g_ptr_array_index (warnings, i));
}

/* Folders that are not there are made, so that a map can have one of its own. */
static gboolean
make_folder (const Import *import, GError **error)
{
  g_autofree gchar *path = ndt_file_resolve (import->output, error);
  if (!path)
    return FALSE;
  g_autofree gchar *folder = g_path_get_dirname (path);
  if (g_mkdir_with_parents (folder, 0777) == 0)
    return TRUE;
  g_autofree gchar *shown = g_filename_display_name (folder);
  g_set_error (error, NDT_ERROR, NDT_ERROR_IO, "cannot make %s: %s", shown, g_strerror (errno));
  return FALSE;
}

static int
run_import (Import *import, GOptionContext *context)
{
  g_autoptr (GError) error = NULL;
  NdtMapJudgement judgement;
  double place[3];

  if (!import->inputs || !import->output)
    return ndt_map_report_usage (context, "import needs inputs and --output");
  if (!(import->scale > 0 && isfinite (import->scale)))
    return ndt_map_report_usage (context, "--scale is above 0");
  if (!ndt_map_voxel_options_get (&import->voxels, &import->params, &error))
    return ndt_map_report_usage (NULL, error->message);
  import->has_origin = import->origin != NULL;
  if (import->origin && ndt_text_parse_numbers (import->origin, import->offset, 3) != 3)
    return ndt_map_report_usage (context, "--origin is EASTING,NORTHING,HEIGHT");
  if (import->place && (ndt_text_parse_numbers (import->place, place, 3) != 3 ||
                           fabs (place[0]) > 90 || fabs (place[1]) > 360))
    return ndt_map_report_usage (context, "--map-origin is LATITUDE,LONGITUDE,ALTITUDE");

  g_autoptr (GPtrArray) files = ndt_map_list_inputs (import->inputs, NULL, &error);
  if (!files || !ndt_georeference_find (import->inputs[0], &import->georeference, &error) ||
      !read_all (import, files, &error))
    return ndt_map_report (error);
  if (import->place) {
    import->georeference.has_map_origin = TRUE;
    import->georeference.latitude = place[0];
    import->georeference.longitude = place[1];
    import->georeference.altitude = place[2];
  }
  choose_origin (import);
  move_points (import);
  const NdtCloudView points =
      ndt_cloud_view_xyz_f64 ((const double *)(gpointer)import->xyz->data, import->xyz->len / 3);
  if (!check_georeference (import, &error) ||
      !ndt_map_judge (&points, import->params.resolution, &judgement, &error) ||
      !make_folder (import, &error) || !write_map (import, &points, &error) ||
      !write_georeference (import, &error))
    return ndt_map_report (error);
  print_result (import, files->len, &judgement);
  return EXIT_SUCCESS;
}

int
ndt_map_command_import (int argc, char **argv)
{
  Import import = {.scale = 1, .voxels = NDT_MAP_VOXEL_OPTIONS_DEFAULT};
  const GOptionEntry entries[] = {
      {"output", 'o', 0, G_OPTION_ARG_FILENAME, &import.output, "PCD or .ndtmap file to write",
          "FILE"},
      {"origin", 0, 0, G_OPTION_ARG_STRING, &import.origin,
          "Taken off the coordinates, in metres (default: 0, or near the middle where they are far "
          "from it)",
          "EASTING,NORTHING,HEIGHT"},
      {"map-origin", 0, 0, G_OPTION_ARG_STRING, &import.place,
          "Where on Earth the source's zero is", "LATITUDE,LONGITUDE,ALTITUDE"},
      {"scale", 0, 0, G_OPTION_ARG_DOUBLE, &import.scale,
          "Metres in a unit of the source (default 1)", "NUMBER"},
      {"double", 'd', 0, G_OPTION_ARG_NONE, &import.wide, "Write doubles", NULL},
      NDT_MAP_VOXEL_ENTRIES (import.voxels),
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &import.inputs, NULL, NULL},
      {NULL},
  };
  g_autoptr (GOptionContext) context =
      g_option_context_new ("INPUT... - makes a map of one that others made");
  g_autoptr (GError) error = NULL;
  g_option_context_set_summary (context,
      "Inputs are PCD, PLY or LAS files, or folders of them, with a " NDT_GEOREFERENCE_NAME "\n"
      "beside the first or without. An origin is taken off in double, and remembered in a file of\n"
      "that name beside the output, or in the .ndtmap. Warns of what looks wrong with the map.");
  g_option_context_add_main_entries (context, entries, NULL);
  const int status = g_option_context_parse (context, &argc, &argv, &error)
                         ? run_import (&import, context)
                         : ndt_map_report_usage (context, error->message);
  g_clear_pointer (&import.xyz, g_array_unref);
  g_clear_pointer (&import.intensities, g_array_unref);
  g_free (import.output);
  g_free (import.origin);
  g_free (import.place);
  ndt_map_voxel_options_clear (&import.voxels);
  g_strfreev (import.inputs);
  return status;
}
