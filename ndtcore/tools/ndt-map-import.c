/* SPDX-License-Identifier: MIT */
/* ndt-map import: moves a foreign map near the origin, where floats resolve it, stores the
 * georeference, and reports probable faults. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ndt-map-judge.h"
#include "edit/ndt-map-points.h"
#include "ndt-map-tool.h"
#include "ndtcore/base/ndt-file.h"
#include "ndtcore/base/ndt-text.h"

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
  NdtMapPoints points;
} Import;

/* The origin that was given, or one that keeps coordinates small. */
static void
choose_origin (Import *import)
{
  const double *xyz = ndt_map_points_get_xyz (&import->points);
  const gsize n = ndt_map_points_get_n (&import->points);
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

static void
scale_points (Import *import)
{
  double *xyz = (double *)(gpointer)import->points.xyz->data;
  for (gsize i = 0; i < import->points.xyz->len; i++)
    xyz[i] *= import->scale;
}

/* In double, before anything is made a float. */
static void
move_points (Import *import)
{
  double *xyz = (double *)(gpointer)import->points.xyz->data;
  for (gsize i = 0; i < import->points.xyz->len; i++)
    xyz[i] -= import->offset[i % 3];
  for (guint k = 0; k < 3; k++)
    import->points.georeference.origin[k] += import->offset[k];
}

static void
print_result (const Import *import, guint n_files, const NdtMapJudgement *judgement)
{
  g_autoptr (GPtrArray) warnings = ndt_map_judgement_warn (judgement, import->params.resolution);
  printf ("files: %u\n", n_files);
  printf ("points: %" G_GSIZE_FORMAT "%s\n", judgement->n_points,
      import->points.intensities && !ndt_map_is_image_name (import->output) ? ", with intensity"
                                                                            : "");
  printf ("size: %.3f m x %.3f m x %.3f m\n", judgement->size[0], judgement->size[1],
      judgement->size[2]);
  printf ("points per cell of %g m: %.0f\n", import->params.resolution, judgement->points_per_cell);
  printf ("surfaces: %u, %.1f %% of them double; walls: %u, %.2f degrees off the vertical\n",
      judgement->n_surfaces, 100 * judgement->double_share, judgement->n_walls,
      judgement->tilt * 180 / G_PI);
  if (!ndt_georeference_is_empty (&import->points.georeference)) {
    g_autofree gchar *text = ndt_georeference_describe (&import->points.georeference);
    printf ("georeference: %s\n", text);
  }
  for (guint i = 0; i < warnings->len; i++)
    g_printerr (
        "ndt-map: the map looks wrong: %s\n", (const gchar *)g_ptr_array_index (warnings, i));
}

static int
run_import (Import *import, GOptionContext *context)
{
  g_autoptr (GError) error = NULL;
  NdtMapJudgement judgement;
  double place[3];
  guint n_files;

  if (!import->inputs || !import->output)
    return ndt_map_report_usage (context, "import needs inputs and --output");
  if (!(import->scale > 0 && isfinite (import->scale)))
    return ndt_map_report_usage (context, "--scale is above 0");
  if (!ndt_map_voxel_options_get (&import->voxels, &import->params, &error))
    return ndt_map_report_usage (NULL, error->message);
  g_autofree gchar *output = ndt_file_resolve (import->output, &error);
  if (!output)
    return ndt_map_report_usage (NULL, error->message);
  import->has_origin = import->origin != NULL;
  if (import->origin && ndt_text_parse_numbers (import->origin, import->offset, 3) != 3)
    return ndt_map_report_usage (context, "--origin is EASTING,NORTHING,HEIGHT");
  if (import->place && (ndt_text_parse_numbers (import->place, place, 3) != 3 ||
                           fabs (place[0]) > 90 || fabs (place[1]) > 360))
    return ndt_map_report_usage (context, "--map-origin is LATITUDE,LONGITUDE,ALTITUDE");

  if (!ndt_map_points_read (&import->points, import->inputs, &n_files, &error))
    return ndt_map_report (error);
  import->points.is_wide = import->wide;
  scale_points (import);
  if (import->place) {
    import->points.georeference.has_map_origin = TRUE;
    import->points.georeference.latitude = place[0];
    import->points.georeference.longitude = place[1];
    import->points.georeference.altitude = place[2];
  }
  choose_origin (import);
  move_points (import);
  const NdtCloudView points = ndt_cloud_view_xyz_f64 (
      ndt_map_points_get_xyz (&import->points), ndt_map_points_get_n (&import->points));
  if (!ndt_map_judge (&points, import->params.resolution, &judgement, &error) ||
      !ndt_map_points_write (&import->points, import->output, &import->params, &error))
    return ndt_map_report (error);
  print_result (import, n_files, &judgement);
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
  ndt_map_points_clear (&import.points);
  g_free (import.output);
  g_free (import.origin);
  g_free (import.place);
  ndt_map_voxel_options_clear (&import.voxels);
  g_strfreev (import.inputs);
  return status;
}
