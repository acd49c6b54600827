/* SPDX-License-Identifier: MIT */
/* ndt-map merge: one map of two, the second one moved to where it fits on the first. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ndt-map-place.h"
#include "ndt-map-points.h"
#include "ndtcore/base/ndt-file.h"
#include "ndtcore/tools/ndt-point-set.h"

typedef struct {
  gchar *output;
  gchar *transform;
  double leaf;
  gint n_threads;
  NdtMapVoxelOptions voxels;
  NdtVoxelMapParams params;
  gchar **inputs;
} Merge;

/* Points of both, in the first one's frame; thinned by @leaf. */
static gboolean
join (const Merge *merge, NdtMapPoints *map, const NdtMapPoints *other, const NdtPose *transform,
    GError **error)
{
  const guint n = ndt_map_points_get_n (other);
  const double *xyz = ndt_map_points_get_xyz (other);
  if (!map->intensities || !other->intensities)
    g_clear_pointer (&map->intensities, g_array_unref);
  for (guint i = 0; i < n; i++) {
    double p[3];
    ndt_pose_transform_point (transform, xyz + 3 * (gsize)i, p);
    g_array_append_vals (map->xyz, p, 3);
  }
  if (map->intensities)
    g_array_append_vals (map->intensities, other->intensities->data, n);
  map->is_wide = map->is_wide || other->is_wide;
  if (!(merge->leaf > 0))
    return TRUE;
  g_autoptr (NdtPointSet) thinned = ndt_point_set_new (merge->leaf);
  for (guint i = 0; i < ndt_map_points_get_n (map); i++)
    if (!ndt_point_set_add (thinned, ndt_map_points_get_xyz (map) + 3 * (gsize)i, error))
      return FALSE;
  g_clear_pointer (&map->intensities, g_array_unref);
  g_array_set_size (map->xyz, 0);
  for (gsize i = 0; i < ndt_point_set_get_n_points (thinned); i++) {
    double p[3];
    ndt_point_set_get (thinned, i, p);
    g_array_append_vals (map->xyz, p, 3);
  }
  return TRUE;
}

static int
work (Merge *merge, const NdtPose *guess)
{
  const NdtBackendConfig config = {-1, (guint)merge->n_threads, 0, NULL};
  g_auto (NdtMapPoints) map = {0}, other = {0};
  g_autoptr (GError) error = NULL;
  gchar *first[] = {merge->inputs[0], NULL}, *second[] = {merge->inputs[1], NULL};
  NdtMapPlacing placing;
  if (!ndt_map_points_read (&map, first, NULL, &error) ||
      !ndt_map_points_read (&other, second, NULL, &error))
    return ndt_map_report (error);
  g_autoptr (NdtBackend) backend = ndt_backend_open_cpu (&config, &error);
  const NdtCloudView view =
      ndt_cloud_view_xyz_f64 (ndt_map_points_get_xyz (&map), ndt_map_points_get_n (&map));
  g_autoptr (NdtVoxelMap) voxels =
      backend ? ndt_voxel_map_new (&merge->params, &view, &error) : NULL;
  if (!voxels || !ndt_backend_set_map (backend, voxels, &error) ||
      !ndt_map_place (backend, ndt_map_points_get_xyz (&other), ndt_map_points_get_n (&other),
          guess, &placing, &error))
    return ndt_map_report (error);
  g_autofree gchar *text = ndt_pose_to_string (&placing.transform);
  printf ("transform of %s: %s\n", merge->inputs[1], text);
  printf ("places: %u tried, %u lie on %s, %u agree; largest residual %.3f m, %.3f degrees\n",
      placing.n_places, placing.n_found, merge->inputs[0], placing.n_agree, placing.residual,
      placing.residual_turn * 180 / G_PI);
  if (guess) {
    double metres, radians;
    ndt_pose_difference (guess, &placing.transform, &metres, &radians);
    printf ("from the given one: %.3f m, %.3f degrees\n", metres, radians * 180 / G_PI);
  }
  const gboolean had = map.intensities && other.intensities;
  if (!join (merge, &map, &other, &placing.transform, &error) ||
      !ndt_map_points_write (&map, merge->output, &merge->params, &error))
    return ndt_map_report (error);
  if (had && !map.intensities)
    g_printerr ("ndt-map: intensities are lost where points are thinned (--leaf)\n");
  printf ("points written: %u\n", ndt_map_points_get_n (&map));
  return EXIT_SUCCESS;
}

static int
run_merge (Merge *merge, GOptionContext *context)
{
  g_autoptr (GError) error = NULL;
  NdtPose guess;
  if (!merge->inputs || g_strv_length (merge->inputs) != 2 || !merge->output)
    return ndt_map_report_usage (context, "merge needs two maps and --output");
  if (!(merge->leaf >= 0) || merge->n_threads < 0 || merge->n_threads > 256)
    return ndt_map_report_usage (context, "--leaf is 0 or more, --n-threads 0 to 256");
  if (merge->transform && !ndt_pose_parse (merge->transform, &guess, &error))
    return ndt_map_report_usage (NULL, error->message);
  if (!ndt_map_voxel_options_get (&merge->voxels, &merge->params, &error))
    return ndt_map_report_usage (NULL, error->message);
  g_autofree gchar *output = ndt_file_resolve (merge->output, &error);
  if (!output)
    return ndt_map_report_usage (NULL, error->message);
  return work (merge, merge->transform ? &guess : NULL);
}

int
ndt_map_command_merge (int argc, char **argv)
{
  Merge merge = {.voxels = NDT_MAP_VOXEL_OPTIONS_DEFAULT};
  const GOptionEntry entries[] = {
      {"output", 'o', 0, G_OPTION_ARG_FILENAME, &merge.output, "PCD or .ndtmap file to write",
          "FILE"},
      {"transform", 't', 0, G_OPTION_ARG_STRING, &merge.transform,
          "About where OTHER is in MAP, to some metres and degrees (default: it is searched for)",
          "X,Y,Z,ROLL,PITCH,YAW"},
      {"leaf", 'l', 0, G_OPTION_ARG_DOUBLE, &merge.leaf,
          "Keep the centroid of each cube of this edge; 0: all points (default)", "METRES"},
      {"n-threads", 0, 0, G_OPTION_ARG_INT, &merge.n_threads,
          "Threads (default 0: one per processor); the map does not depend on it", "N"},
      NDT_MAP_VOXEL_ENTRIES (merge.voxels),
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &merge.inputs, NULL, NULL},
      {NULL},
  };
  g_autoptr (GOptionContext) context =
      g_option_context_new ("MAP OTHER - makes one map of two that overlap");
  g_autoptr (GError) error = NULL;
  g_option_context_set_summary (context,
      "Places of OTHER are aligned to MAP; three at least have to agree on where OTHER lies, or\n"
      "nothing is written. The frame and the georeference are those of MAP. Both have to stand\n"
      "upright.");
  g_option_context_add_main_entries (context, entries, NULL);
  const int status = g_option_context_parse (context, &argc, &argv, &error)
                         ? run_merge (&merge, context)
                         : ndt_map_report_usage (context, error->message);
  g_free (merge.output);
  g_free (merge.transform);
  ndt_map_voxel_options_clear (&merge.voxels);
  g_strfreev (merge.inputs);
  return status;
}
