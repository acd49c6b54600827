/* SPDX-License-Identifier: MIT */
/* ndt-map: builds, cuts and inspects maps. Exit status 0: done, 1: failed, 2: wrong usage. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ndt-map-tool.h"
#include "ndtcore/io/ndt-map-file.h"
#include "ndtcore/io/ndt-map-tiles.h"
#include "ndtcore/io/ndt-pcd.h"
#include "ndtcore/io/ndt-trajectory.h"
#include "ndt-point-set.h"

/* A float steps by 0.5 mm here; farther from the origin a map loses what it was measured to. */
#define FLOAT_RANGE 8192.0

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

/* Build */

typedef struct {
  gchar *output;
  gchar *trajectory;
  gchar *encoding;
  double leaf;
  double min_range;
  double max_range;
  gboolean wide;
  gchar **inputs;

  NdtPointSet *points;
  guint64 n_read;
  guint64 n_scans;
} Build;

/* Points of one file, moved by @pose (nullable), those out of range left out. */
static gboolean
add_points (Build *build, const NdtCloudView *view, const NdtPose *pose, GError **error)
{
  const double min2 = build->min_range * build->min_range;
  const double max2 = build->max_range > 0 ? build->max_range * build->max_range : INFINITY;
  for (gsize i = 0; i < view->n_points; i++) {
    double p[3];
    ndt_cloud_view_get (view, i, p);
    const double range2 = p[0] * p[0] + p[1] * p[1] + p[2] * p[2];
    if (!isfinite (range2))
      continue;
    build->n_read++;
    if (pose) {
      if (range2 < min2 || range2 > max2)
        continue;
      ndt_pose_transform_point (pose, p, p);
    }
    if (!ndt_point_set_add (build->points, p, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
add_file (Build *build, const gchar *path, const NdtPose *pose, GError **error)
{
  NdtCloudView view;
  g_autoptr (NdtPcdFile) file = ndt_pcd_file_open (path, error);
  if (!file || !ndt_pcd_file_get_points (file, &view, error))
    return FALSE;
  if (add_points (build, &view, pose, error))
    return TRUE;
  g_prefix_error (error, "%s: ", path);
  return FALSE;
}

GPtrArray *
ndt_map_list_inputs (gchar **inputs, GError **error)
{
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (g_free);
  for (gchar **input = inputs; *input; input++) {
    GPtrArray *some = ndt_map_list_files (*input, error);
    if (!some)
      return NULL;
    g_ptr_array_extend_and_steal (files, some);
  }
  return g_steal_pointer (&files);
}

static gboolean
add_scans (Build *build, GPtrArray *files, GError **error)
{
  g_autoptr (NdtTrajectory) trajectory =
      ndt_trajectory_load (build->trajectory, NDT_TRAJECTORY_AUTO, error);
  if (!trajectory)
    return FALSE;
  const gsize n_poses = ndt_trajectory_get_n_poses (trajectory);
  if (n_poses != files->len) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "%s has %" G_GSIZE_FORMAT " lines for %u scans; it needs one for each scan, in the order "
        "of names",
        build->trajectory, n_poses, files->len);
    return FALSE;
  }
  for (guint i = 0; i < files->len; i++) {
    const NdtPose *pose = ndt_trajectory_get_pose (trajectory, i);
    if (!pose)
      continue;
    if (!add_file (build, g_ptr_array_index (files, i), pose, error))
      return FALSE;
    build->n_scans++;
  }
  return TRUE;
}

/* All points in one array, as float or double. */
static gboolean
write_map (Build *build, NdtPcdEncoding encoding, double *farthest, GError **error)
{
  const gsize n = ndt_point_set_get_n_points (build->points);
  const gsize size = build->wide ? sizeof (double) : sizeof (float);
  g_autofree guint8 *xyz = g_try_malloc (n * 3 * size + 1);
  if (!xyz) {
    g_set_error (
        error, NDT_ERROR, NDT_ERROR_NO_MEMORY, "no memory for %" G_GSIZE_FORMAT " points", n);
    return FALSE;
  }
  *farthest = 0;
  for (gsize i = 0; i < n; i++) {
    double p[3];
    ndt_point_set_get (build->points, i, p);
    for (guint axis = 0; axis < 3; axis++) {
      *farthest = MAX (*farthest, fabs (p[axis]));
      if (build->wide)
        memcpy (xyz + (3 * i + axis) * size, &p[axis], size);
      else
        ((float *)(gpointer)xyz)[3 * i + axis] = (float)p[axis];
    }
  }
  g_clear_pointer (&build->points, ndt_point_set_free);
  const NdtCloudView view = build->wide ? ndt_cloud_view_xyz_f64 ((const double *)(gpointer)xyz, n)
                                        : ndt_cloud_view_xyz_f32 ((const float *)(gpointer)xyz, n);
  return ndt_pcd_write (build->output, &view, encoding, error);
}

static gboolean
parse_encoding (const gchar *text, NdtPcdEncoding *encoding)
{
  static const gchar *const names[] = {"ascii", "binary", "binary_compressed"};
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    if (g_strcmp0 (text, names[i]) == 0) {
      *encoding = (NdtPcdEncoding)i;
      return TRUE;
    }
  }
  return FALSE;
}

static int
run_build (Build *build, GOptionContext *context)
{
  NdtPcdEncoding encoding = NDT_PCD_BINARY;
  g_autoptr (GError) error = NULL;
  double farthest;

  if (!build->inputs || !build->output)
    return ndt_map_report_usage (context, "build needs inputs and --output");
  if (build->encoding && !parse_encoding (build->encoding, &encoding))
    return ndt_map_report_usage (context, "--encoding is ascii, binary or binary_compressed");
  if (!(build->leaf >= 0) || !(build->min_range >= 0) || !(build->max_range >= 0) ||
      (build->max_range > 0 && build->max_range <= build->min_range))
    return ndt_map_report_usage (context, "lengths have to be positive, and the ranges in order");
  if (!build->trajectory && (build->min_range > 0 || build->max_range > 0))
    return ndt_map_report_usage (context, "ranges are of scans, which need a --trajectory");

  g_autoptr (GPtrArray) files = ndt_map_list_inputs (build->inputs, &error);
  if (!files)
    return ndt_map_report (error);
  build->points = ndt_point_set_new (build->leaf);
  if (build->trajectory) {
    if (!add_scans (build, files, &error))
      return ndt_map_report (error);
  } else {
    for (guint i = 0; i < files->len; i++)
      if (!add_file (build, g_ptr_array_index (files, i), NULL, &error))
        return ndt_map_report (error);
  }
  const gsize n_points = ndt_point_set_get_n_points (build->points);
  if (n_points == 0) {
    g_printerr ("ndt-map: no points are left; nothing is written\n");
    return EXIT_FAILURE;
  }
  if (!write_map (build, encoding, &farthest, &error))
    return ndt_map_report (error);

  printf ("files: %u\n", files->len);
  if (build->trajectory)
    printf ("scans with a pose: %" G_GUINT64_FORMAT "\n", build->n_scans);
  printf ("points read: %" G_GUINT64_FORMAT "\n", build->n_read);
  printf ("points written: %" G_GSIZE_FORMAT "\n", n_points);
  if (!build->wide && farthest > FLOAT_RANGE)
    g_printerr ("ndt-map: coordinates go up to %.0f m, where a float steps by %.2g m: use "
                "--double\n",
        farthest, (double)(nextafterf ((float)farthest, INFINITY) - (float)farthest));
  return EXIT_SUCCESS;
}

static int
command_build (int argc, char **argv)
{
  Build build = {0};
  const GOptionEntry entries[] = {
      {"output", 'o', 0, G_OPTION_ARG_FILENAME, &build.output, "PCD file to write", "FILE"},
      {"trajectory", 't', 0, G_OPTION_ARG_FILENAME, &build.trajectory,
          "Inputs are scans; their poses in the map, a line each (TUM, KITTI or CSV)", "FILE"},
      {"leaf", 'l', 0, G_OPTION_ARG_DOUBLE, &build.leaf,
          "Keep the centroid of each cube of this edge; 0: keep all points (default)", "METRES"},
      {"min-range", 0, 0, G_OPTION_ARG_DOUBLE, &build.min_range,
          "Leave out points of a scan nearer to the sensor (default 0)", "METRES"},
      {"max-range", 0, 0, G_OPTION_ARG_DOUBLE, &build.max_range,
          "Leave out points of a scan farther from the sensor; 0: none (default)", "METRES"},
      {"double", 'd', 0, G_OPTION_ARG_NONE, &build.wide,
          "Write doubles: for UTM and other coordinates far from their origin", NULL},
      {"encoding", 'e', 0, G_OPTION_ARG_STRING, &build.encoding,
          "ascii, binary (default) or binary_compressed", "NAME"},
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &build.inputs, NULL, NULL},
      {NULL},
  };
  g_autoptr (GOptionContext) context =
      g_option_context_new ("INPUT... - joins PCD files into a map");
  g_autoptr (GError) error = NULL;
  g_option_context_set_summary (context,
      "Inputs are PCD files, or folders whose PCD files are taken in the order of names: maps,\n"
      "which are joined as they are, or with --trajectory scans, which are moved by their poses.\n"
      "A scan without a pose (a line of nan in KITTI, empty cells in CSV) is left out.");
  g_option_context_add_main_entries (context, entries, NULL);
  int status;
  if (!g_option_context_parse (context, &argc, &argv, &error))
    status = ndt_map_report_usage (context, error->message);
  else
    status = run_build (&build, context);
  ndt_point_set_free (build.points);
  g_free (build.output);
  g_free (build.trajectory);
  g_free (build.encoding);
  g_strfreev (build.inputs);
  return status;
}

/* Info */

typedef struct {
  double resolution;
  gint min_points;
  gint levels;
  gchar **inputs;
} Info;

/* Of a folder: how many tiles there are, and how large. */
static gboolean
print_tiles (const gchar *path, const NdtVoxelMapParams *params, GError **error)
{
  double size[2] = {0, 0};
  if (!g_file_test (path, G_FILE_TEST_IS_DIR))
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

static int
run_info (const Info *info, GOptionContext *context)
{
  NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  g_autoptr (GError) error = NULL;
  double min[3], max[3];

  if (!info->inputs || info->inputs[1])
    return ndt_map_report_usage (context, "info needs one map");
  params.resolution = info->resolution;
  params.min_points = (guint)MAX (info->min_points, 0);
  params.n_levels = (guint)MAX (info->levels, 0);
  const gint64 start = g_get_monotonic_time ();
  g_autoptr (NdtVoxelMap) map = ndt_map_load (info->inputs[0], &params, &error);
  const double seconds = (double)(g_get_monotonic_time () - start) * 1e-6;
  if (!map && g_error_matches (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT))
    return ndt_map_report_usage (NULL, error->message);
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

static int
command_info (int argc, char **argv)
{
  Info info = {.resolution = 2, .min_points = 6, .levels = 3};
  const GOptionEntry entries[] = {
      {"resolution", 'r', 0, G_OPTION_ARG_DOUBLE, &info.resolution,
          "Edge of a voxel, 0.01 to 1000 (default 2)", "METRES"},
      {"levels", 0, 0, G_OPTION_ARG_INT, &info.levels,
          "Levels, each of twice the edge, 1 to 3 (default 3)", "N"},
      {"min-points", 0, 0, G_OPTION_ARG_INT, &info.min_points,
          "Points that make a voxel, from 3 on (default 6)", "N"},
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &info.inputs, NULL, NULL},
      {NULL},
  };
  g_autoptr (GOptionContext) context =
      g_option_context_new ("MAP - loads a map as ndtlocalize does and says what is in it");
  g_autoptr (GError) error = NULL;
  g_option_context_set_summary (context, "MAP is a PCD file or a folder of PCD files.");
  g_option_context_add_main_entries (context, entries, NULL);
  int status;
  if (!g_option_context_parse (context, &argc, &argv, &error))
    status = ndt_map_report_usage (context, error->message);
  else
    status = run_info (&info, context);
  g_strfreev (info.inputs);
  return status;
}

static const gchar usage[] =
    "Usage:\n"
    "  ndt-map build [OPTION...] -o MAP.pcd INPUT...   joins PCD files or scans into a map\n"
    "  ndt-map tile [OPTION...] -o FOLDER INPUT...     cuts a map into tiles\n"
    "  ndt-map info [OPTION...] MAP                    says what is in a map\n"
    "  ndt-map COMMAND --help                          options of a command\n"
    "  ndt-map --version\n";

int
main (int argc, char **argv)
{
  const gchar *command = argc > 1 ? argv[1] : "";
  /* For names of files; numbers have a point wherever one is. */
  setlocale (LC_ALL, "");
  setlocale (LC_NUMERIC, "C");
  if (strcmp (command, "--help") == 0 || strcmp (command, "-h") == 0) {
    fputs (usage, stdout);
    return EXIT_SUCCESS;
  }
  if (strcmp (command, "--version") == 0) {
    puts ("ndt-map " VERSION);
    return EXIT_SUCCESS;
  }
  int (*run) (int, char **) = strcmp (command, "build") == 0  ? command_build
                              : strcmp (command, "tile") == 0 ? ndt_map_command_tile
                              : strcmp (command, "info") == 0 ? command_info
                                                              : NULL;
  if (!run) {
    fputs (usage, stderr);
    return EXIT_USAGE;
  }
  g_autofree gchar *name = g_strconcat ("ndt-map ", command, NULL);
  g_set_prgname (name);
  return run (argc - 1, argv + 1);
}
