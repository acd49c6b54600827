/* SPDX-License-Identifier: MIT */
/* ndt-map crop: a part of a map. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ndt-map-points.h"
#include "ndtcore/base/ndt-file.h"
#include "ndtcore/base/ndt-text.h"
#include "ndtcore/posefile/ndt-trajectory.h"

/* Corners of a polygon. */
#define MAX_CORNERS 256

typedef struct {
  gchar *output;
  gchar *box;
  gchar *polygon;
  gchar *trajectory;
  double radius;
  gboolean outside;
  NdtMapVoxelOptions voxels;
  NdtVoxelMapParams params;
  gchar **inputs;

  double bounds[6]; /* of the box: min and max of x, y, z */
  double corners[2 * MAX_CORNERS];
  guint n_corners;
  GHashTable *squares; /* of @radius, with poses in them: GArray of x and y */
} Crop;

/* "X0,Y0,X1,Y1" or "X0,Y0,Z0,X1,Y1,Z1". */
static gboolean
parse_box (Crop *crop)
{
  double values[6];
  const gint n = ndt_text_parse_numbers (crop->box, values, 6);
  if (n != 4 && n != 6)
    return FALSE;
  const double low[3] = {values[0], values[1], n == 6 ? values[2] : -INFINITY};
  const double high[3] = {values[n / 2], values[n / 2 + 1], n == 6 ? values[5] : INFINITY};
  for (guint k = 0; k < 3; k++) {
    crop->bounds[2 * k] = low[k];
    crop->bounds[2 * k + 1] = high[k];
    if (!(low[k] < high[k]))
      return FALSE;
  }
  return TRUE;
}

static gint64
square_of (const Crop *crop, const double p[2], gint column, gint row)
{
  const guint64 x = (guint64)((gint64)floor (p[0] / crop->radius) + column);
  const guint64 y = (guint64)((gint64)floor (p[1] / crop->radius) + row);
  return (gint64)(x << 32 | (y & 0xffffffff));
}

static gboolean
read_way (Crop *crop, GError **error)
{
  g_autoptr (NdtTrajectory) way =
      ndt_trajectory_load (crop->trajectory, NDT_TRAJECTORY_AUTO, error);
  if (!way)
    return FALSE;
  crop->squares =
      g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, (GDestroyNotify)g_array_unref);
  for (gsize i = 0; i < ndt_trajectory_get_n_poses (way); i++) {
    const NdtPose *pose = ndt_trajectory_get_pose (way, i);
    if (!pose)
      continue;
    const gint64 key = square_of (crop, pose->position, 0, 0);
    GArray *square = g_hash_table_lookup (crop->squares, &key);
    if (!square) {
      square = g_array_new (FALSE, FALSE, 2 * sizeof (double));
      g_hash_table_insert (crop->squares, g_memdup2 (&key, sizeof key), square);
    }
    g_array_append_vals (square, pose->position, 1);
  }
  return TRUE;
}

static gboolean
is_by_way (const Crop *crop, const double p[3])
{
  for (gint column = -1; column <= 1; column++)
    for (gint row = -1; row <= 1; row++) {
      const gint64 key = square_of (crop, p, column, row);
      const GArray *square = g_hash_table_lookup (crop->squares, &key);
      const double *at = square ? (const double *)(gpointer)square->data : NULL;
      for (guint i = 0; square && i < square->len; i++)
        if (hypot (p[0] - at[2 * i], p[1] - at[2 * i + 1]) <= crop->radius)
          return TRUE;
    }
  return FALSE;
}

/* By the edges that a line along x from the point on crosses. */
static gboolean
is_in_polygon (const Crop *crop, const double p[3])
{
  gboolean in = FALSE;
  for (guint i = 0, j = crop->n_corners - 1; i < crop->n_corners; j = i++) {
    const double *a = &crop->corners[2 * i], *b = &crop->corners[2 * j];
    if ((a[1] > p[1]) != (b[1] > p[1]) &&
        p[0] < (b[0] - a[0]) * (p[1] - a[1]) / (b[1] - a[1]) + a[0])
      in = !in;
  }
  return in;
}

static gboolean
is_in (const Crop *crop, const double p[3])
{
  if (crop->squares)
    return is_by_way (crop, p);
  if (crop->polygon)
    return is_in_polygon (crop, p);
  for (guint k = 0; k < 3; k++)
    if (!(p[k] >= crop->bounds[2 * k] && p[k] < crop->bounds[2 * k + 1]))
      return FALSE;
  return TRUE;
}

static int
work (Crop *crop)
{
  g_auto (NdtMapPoints) map = {0};
  g_autoptr (GError) error = NULL;
  if ((crop->trajectory && !read_way (crop, &error)) ||
      !ndt_map_points_read (&map, crop->inputs, NULL, &error))
    return ndt_map_report (error);
  const guint n = ndt_map_points_get_n (&map);
  const double *xyz = ndt_map_points_get_xyz (&map);
  g_autofree guint8 *keep = g_malloc (n + 1);
  for (guint i = 0; i < n; i++)
    keep[i] = is_in (crop, xyz + 3 * (gsize)i) != crop->outside;
  ndt_map_points_keep (&map, keep);
  if (ndt_map_points_get_n (&map) == 0) {
    g_printerr ("ndt-map: no points are left; nothing is written\n");
    return EXIT_FAILURE;
  }
  if (!ndt_map_points_write (&map, crop->output, &crop->params, &error))
    return ndt_map_report (error);
  printf ("points read: %u\n", n);
  printf ("points written: %u\n", ndt_map_points_get_n (&map));
  return EXIT_SUCCESS;
}

static int
run_crop (Crop *crop, GOptionContext *context)
{
  g_autoptr (GError) error = NULL;
  const guint n_ways = (crop->box != NULL) + (crop->polygon != NULL) + (crop->trajectory != NULL);
  if (!crop->inputs || !crop->output)
    return ndt_map_report_usage (context, "crop needs a map and --output");
  if (n_ways != 1)
    return ndt_map_report_usage (context, "one of --box, --polygon and --trajectory is needed");
  if (crop->box && !parse_box (crop))
    return ndt_map_report_usage (
        context, "--box is X0,Y0,X1,Y1 or X0,Y0,Z0,X1,Y1,Z1, the smaller ones first");
  if (crop->polygon) {
    const gint n = ndt_text_parse_numbers (crop->polygon, crop->corners, 2 * MAX_CORNERS);
    if (n < 6 || n % 2 != 0)
      return ndt_map_report_usage (context, "--polygon is X,Y,X,Y,X,Y...: 3 to 256 corners");
    crop->n_corners = (guint)n / 2;
  }
  if (!(crop->radius >= 0.1 && crop->radius <= 10000))
    return ndt_map_report_usage (context, "--radius is 0.1 to 10000 metres");
  if (!ndt_map_voxel_options_get (&crop->voxels, &crop->params, &error))
    return ndt_map_report_usage (NULL, error->message);
  g_autofree gchar *output = ndt_file_resolve (crop->output, &error);
  if (!output)
    return ndt_map_report_usage (NULL, error->message);
  return work (crop);
}

int
ndt_map_command_crop (int argc, char **argv)
{
  Crop crop = {.radius = 50, .voxels = NDT_MAP_VOXEL_OPTIONS_DEFAULT};
  const GOptionEntry entries[] = {
      {"output", 'o', 0, G_OPTION_ARG_FILENAME, &crop.output, "PCD or .ndtmap file to write",
          "FILE"},
      {"box", 'b', 0, G_OPTION_ARG_STRING, &crop.box, "What lies in it, with Z0 and Z1 or without",
          "X0,Y0,X1,Y1"},
      {"polygon", 'p', 0, G_OPTION_ARG_STRING, &crop.polygon, "What lies in it, seen from above",
          "X,Y,X,Y,X,Y..."},
      {"trajectory", 't', 0, G_OPTION_ARG_FILENAME, &crop.trajectory,
          "What lies within --radius of its poses, seen from above", "FILE"},
      {"radius", 'r', 0, G_OPTION_ARG_DOUBLE, &crop.radius, "See --trajectory (default 50)",
          "METRES"},
      {"outside", 0, 0, G_OPTION_ARG_NONE, &crop.outside, "All but that", NULL},
      {"resolution", 0, 0, G_OPTION_ARG_DOUBLE, &crop.voxels.resolution,
          "Of an .ndtmap: edge of a voxel, 0.01 to 1000 (default 2)", "METRES"},
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &crop.inputs, NULL, NULL},
      {NULL},
  };
  g_autoptr (GOptionContext) context = g_option_context_new ("MAP... - writes a part of a map");
  g_autoptr (GError) error = NULL;
  g_option_context_set_summary (context,
      "MAP is a PCD, PLY or LAS file, or a folder of them. Points stay as they are, with their\n"
      "intensities, and the georeference goes with them.");
  g_option_context_add_main_entries (context, entries, NULL);
  const int status = g_option_context_parse (context, &argc, &argv, &error)
                         ? run_crop (&crop, context)
                         : ndt_map_report_usage (context, error->message);
  g_clear_pointer (&crop.squares, g_hash_table_unref);
  g_free (crop.output);
  g_free (crop.box);
  g_free (crop.polygon);
  g_free (crop.trajectory);
  ndt_map_voxel_options_clear (&crop.voxels);
  g_strfreev (crop.inputs);
  return status;
}
