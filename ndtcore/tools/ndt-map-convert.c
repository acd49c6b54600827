/* SPDX-License-Identifier: MIT */
/* ndt-map convert: writes a finished map (.ndtmap), which opens without reading its points. */
#include <stdio.h>
#include <stdlib.h>

#include "ndt-map-tool.h"
#include "ndtcore/base/ndt-file.h"
#include "ndtcore/mapfile/ndt-map-file.h"
#include "ndtcore/cloudfile/ndt-map-image.h"

typedef struct {
  gchar *output;
  NdtMapVoxelOptions voxels;
  gchar **inputs;
} Convert;

static int
run_convert (const Convert *convert, GOptionContext *context)
{
  NdtVoxelMapParams params;
  g_autoptr (GError) error = NULL;

  if (!convert->inputs || convert->inputs[1] || !convert->output)
    return ndt_map_report_usage (context, "convert needs one map and --output");
  if (!ndt_map_voxel_options_get (&convert->voxels, &params, &error))
    return ndt_map_report_usage (NULL, error->message);
  if (!ndt_map_is_image_name (convert->output))
    return ndt_map_report_usage (context, "the output of convert has to end in .ndtmap");
  g_autoptr (NdtVoxelMap) map = ndt_map_load (convert->inputs[0], &params, &error);
  if (!map || !ndt_map_write_image (convert->output, map, convert->inputs[0], &error))
    return ndt_map_report (error);
  printf ("points: %" G_GUINT64_FORMAT "\n", ndt_voxel_map_get_n_points (map));
  printf ("voxels of %g m: %u\n", params.resolution, ndt_voxel_map_get_level (map, 0)->n_voxels);
  return EXIT_SUCCESS;
}

int
ndt_map_command_convert (int argc, char **argv)
{
  Convert convert = {.voxels = NDT_MAP_VOXEL_OPTIONS_DEFAULT};
  const GOptionEntry entries[] = {
      {"output", 'o', 0, G_OPTION_ARG_FILENAME, &convert.output, "File to write", "FILE.ndtmap"},
      NDT_MAP_VOXEL_ENTRIES (convert.voxels),
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &convert.inputs, NULL, NULL},
      {NULL},
  };
  g_autoptr (GOptionContext) context =
      g_option_context_new ("MAP - makes a finished map, which opens at once");
  g_autoptr (GError) error = NULL;
  g_option_context_set_summary (context,
      "MAP is a PCD, PLY or LAS file, or a folder of them. The voxels are those that ndtlocalize "
      "makes\n"
      "of it with the same resolution and covariance-estimate, and give the same poses.");
  g_option_context_add_main_entries (context, entries, NULL);
  const int status = g_option_context_parse (context, &argc, &argv, &error)
                         ? run_convert (&convert, context)
                         : ndt_map_report_usage (context, error->message);
  g_free (convert.output);
  ndt_map_voxel_options_clear (&convert.voxels);
  g_strfreev (convert.inputs);
  return status;
}
