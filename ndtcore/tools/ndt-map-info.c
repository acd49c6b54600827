/* SPDX-License-Identifier: MIT */
/* ndt-map info: says what is in a map. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ndt-map-tool.h"
#include "ndtcore/base/ndt-file.h"
#include "ndtcore/cloudfile/ndt-georeference.h"
#include "ndtcore/mapfile/ndt-map-file.h"
#include "ndtcore/cloudfile/ndt-map-image.h"
#include "ndtcore/mapfile/ndt-map-tiles.h"

typedef struct {
  NdtMapVoxelOptions voxels;
  gchar **inputs;
} Info;

/* Prints number and size of a folder's tiles. */
static gboolean
print_tiles (const gchar *path, const NdtVoxelMapParams *params, GError **error)
{
  double size[2] = {0, 0};
  g_autofree gchar *resolved = ndt_file_resolve (path, error);
  if (!resolved)
    return FALSE;
  if (!g_file_test (resolved, G_FILE_TEST_IS_DIR))
    return TRUE;
  g_autoptr (NdtMapTiles) tiles = ndt_map_tiles_open (path, params, error);
  if (!tiles)
    return FALSE;
  const guint n = ndt_map_tiles_get_n_tiles (tiles);
  for (guint i = 0; i < n; i++) {
    double min[2], max[2];
    ndt_map_tiles_get_box (tiles, i, min, max);
    for (guint k = 0; k < 2; k++)
      size[k] = MAX (size[k], max[k] - min[k]);
  }
  printf ("tiles: %u\n", n);
  printf ("largest tile: %.3f m x %.3f m\n", size[0], size[1]);
  return TRUE;
}

/* Of a finished map: what it was made with, which is what it is opened with. */
static gboolean
print_image (const gchar *path, NdtVoxelMapParams *params, GError **error)
{
  if (!ndt_map_image_is_image (path))
    return TRUE;
  const gint64 start = g_get_monotonic_time ();
  g_autoptr (NdtMapImage) image = ndt_map_image_open (path, error);
  if (!image)
    return FALSE;
  const double milliseconds = (double)(g_get_monotonic_time () - start) * 1e-3;
  *params = *ndt_map_image_get_params (image);
  printf ("version: %d\n", NDT_MAP_IMAGE_VERSION);
  printf ("tiles: %u of %g m\n", ndt_map_image_get_n_tiles (image),
      ndt_map_image_get_tile_size (image));
  printf ("open time: %.2f ms\n", milliseconds);
  return TRUE;
}

/* Where the map is: what lies beside it, or in it. */
static gboolean
print_georeference (const gchar *path, GError **error)
{
  NdtGeoreference georeference;
  if (!ndt_map_image_find_georeference (path, &georeference, error))
    return FALSE;
  if (!ndt_georeference_is_empty (&georeference)) {
    g_autofree gchar *text = ndt_georeference_describe (&georeference);
    printf ("georeference: %s\n", text);
  }
  return TRUE;
}

static int
run_info (const Info *info, GOptionContext *context)
{
  NdtVoxelMapParams params;
  g_autoptr (GError) error = NULL;
  double min[3], max[3];

  if (!info->inputs || info->inputs[1])
    return ndt_map_report_usage (context, "info needs one map");
  /* Parameters out of range are wrong usage (exit status 2), faults of the map are not. */
  if (!ndt_map_voxel_options_get (&info->voxels, &params, &error))
    return ndt_map_report_usage (NULL, error->message);
  if (!print_image (info->inputs[0], &params, &error) ||
      !print_georeference (info->inputs[0], &error))
    return ndt_map_report (error);
  const gint64 start = g_get_monotonic_time ();
  g_autoptr (NdtVoxelMap) map = ndt_map_load (info->inputs[0], &params, &error);
  const double seconds = (double)(g_get_monotonic_time () - start) * 1e-6;
  if (!map || !print_tiles (info->inputs[0], &params, &error))
    return ndt_map_report (error);

  ndt_voxel_map_get_bounds (map, min, max);
  printf ("points: %" G_GUINT64_FORMAT "\n", ndt_voxel_map_get_n_points (map));
  for (guint axis = 0; axis < 3; axis++)
    printf (
        "%c: %.3f to %.3f m (%.3f m)\n", "xyz"[axis], min[axis], max[axis], max[axis] - min[axis]);
  for (guint l = 0; l < ndt_voxel_map_get_n_levels (map); l++) {
    const NdtVoxelLevel *level = ndt_voxel_map_get_level (map, l);
    printf ("voxels of %g m: %u\n", level->resolution, level->n_voxels);
  }
  const gsize bytes = ndt_voxel_map_get_bytes (map);
  printf ("bytes: %" G_GSIZE_FORMAT "\n", bytes);
  printf ("bytes per voxel: %.1f\n",
      (double)bytes / (double)ndt_voxel_map_get_level (map, 0)->n_voxels);
  printf ("load time: %.3f s\n", seconds);
  return EXIT_SUCCESS;
}

int
ndt_map_command_info (int argc, char **argv)
{
  Info info = {.voxels = NDT_MAP_VOXEL_OPTIONS_DEFAULT};
  const GOptionEntry entries[] = {
      NDT_MAP_VOXEL_ENTRIES (info.voxels),
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &info.inputs, NULL, NULL},
      {NULL},
  };
  g_autoptr (GOptionContext) context =
      g_option_context_new ("MAP - loads a map as ndtlocalize does and says what is in it");
  g_autoptr (GError) error = NULL;
  g_option_context_set_summary (
      context, "MAP is a PCD, PLY or LAS file, a folder of them, or an .ndtmap.");
  g_option_context_add_main_entries (context, entries, NULL);
  int status;
  if (!g_option_context_parse (context, &argc, &argv, &error))
    status = ndt_map_report_usage (context, error->message);
  else
    status = run_info (&info, context);
  ndt_map_voxel_options_clear (&info.voxels);
  g_strfreev (info.inputs);
  return status;
}
