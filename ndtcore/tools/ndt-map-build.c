/* SPDX-License-Identifier: MIT */
/* ndt-map build: joins files of points, or scans, into a map. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ndt-map-tool.h"
#include "ndt-point-set.h"
#include "ndt-scan-order.h"
#include "ndtcore/base/ndt-file.h"
#include "ndtcore/cloudfile/ndt-cloud-file.h"
#include "ndtcore/cloudfile/ndt-pcd.h"
#include "ndtcore/posefile/ndt-trajectory.h"

/* Metres from the origin at which a float has steps of 0.5 mm; beyond, the rounding exceeds the
 * noise of a survey. */
#define FLOAT_RANGE 8192.0

typedef struct {
  gchar *output;
  gchar *trajectory;
  gchar *encoding;
  double leaf;
  double min_range;
  double max_range;
  gboolean wide;
  NdtMapVoxelOptions voxels;
  NdtVoxelMapParams params;
  gchar **inputs;

  NdtPointSet *points;
  guint64 n_read;
  guint64 n_scans;
  NdtMapProgress progress;
  guint64 n_files; /* finished files */
} Build;

/* Points of one file, moved by @pose (nullable), those out of range left out. */
static gboolean
add_points (Build *build, const NdtCloudView *view, const NdtPose *pose, GError **error)
{
  const double min2 = build->min_range * build->min_range;
  const double max2 = build->max_range > 0 ? build->max_range * build->max_range : INFINITY;
  for (gsize i = 0; i < view->n_points; i++) {
    double p[3];
    if (i % 65536 == 0)
      ndt_map_progress_step (&build->progress, build->n_files, build->n_read);
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
  g_autoptr (NdtCloudFile) file = ndt_cloud_file_open (path, error);
  if (!file || !ndt_cloud_file_get_points (file, &view, error))
    return FALSE;
  if (add_points (build, &view, pose, error)) {
    build->n_files++;
    return TRUE;
  }
  g_autofree gchar *shown = g_filename_display_name (path);
  g_prefix_error (error, "%s: ", shown);
  return FALSE;
}

static gboolean
add_scans (Build *build, GPtrArray *files, GError **error)
{
  g_autofree gchar *shown = g_filename_display_name (build->trajectory);
  g_autoptr (NdtTrajectory) trajectory =
      ndt_trajectory_load (build->trajectory, NDT_TRAJECTORY_AUTO, error);
  if (!trajectory)
    return FALSE;
  const gsize n_poses = ndt_trajectory_get_n_poses (trajectory);
  if (n_poses != files->len) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "%s has %" G_GSIZE_FORMAT " poses for %u scans; it needs one for each scan, in the order "
        "of names (numbers in them by their value) or of the times that they are",
        shown, n_poses, files->len);
    return FALSE;
  }
  printf ("poses: %s\n", ndt_trajectory_get_description (trajectory));
  if (!ndt_scan_order_match (files, trajectory, shown, error))
    return FALSE;
  for (guint i = 0; i < files->len; i++) {
    const NdtPose *pose = ndt_trajectory_get_pose (trajectory, i);
    if (!pose) {
      build->n_files++;
      continue;
    }
    if (!add_file (build, g_ptr_array_index (files, i), pose, error))
      return FALSE;
    build->n_scans++;
  }
  return TRUE;
}

static gboolean
add_all (Build *build, GPtrArray *files, GError **error)
{
  if (build->trajectory)
    return add_scans (build, files, error);
  for (guint i = 0; i < files->len; i++)
    if (!add_file (build, g_ptr_array_index (files, i), NULL, error))
      return FALSE;
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
  if (!ndt_map_is_image_name (build->output))
    return ndt_pcd_write (build->output, &view, encoding, error);
  g_autoptr (NdtVoxelMap) map = ndt_voxel_map_new (&build->params, &view, error);
  return map && ndt_map_write_image (build->output, map, build->inputs[0], error);
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
  if (!ndt_map_voxel_options_get (&build->voxels, &build->params, &error))
    return ndt_map_report_usage (NULL, error->message);
  if (!(build->leaf >= 0) || !(build->min_range >= 0) || !(build->max_range >= 0) ||
      (build->max_range > 0 && build->max_range <= build->min_range))
    return ndt_map_report_usage (context, "lengths have to be positive, and the ranges in order");
  if (!build->trajectory && (build->min_range > 0 || build->max_range > 0))
    return ndt_map_report_usage (context, "ranges are of scans, which need a --trajectory");

  gboolean is_sorted;
  g_autofree gchar *output = ndt_file_resolve (build->output, &error);
  if (!output)
    return ndt_map_report_usage (NULL, error->message);
  g_autoptr (GPtrArray) files = ndt_map_list_inputs (build->inputs, &is_sorted, &error);
  if (!files)
    return ndt_map_report (error);
  if (is_sorted && build->trajectory) {
    g_autofree gchar *first = g_filename_display_basename (g_ptr_array_index (files, 0));
    g_autofree gchar *last =
        g_filename_display_basename (g_ptr_array_index (files, files->len - 1));
    g_printerr (
        "ndt-map: the scans were given in the order of characters; they are taken in that of "
        "their numbers, %s to %s\n",
        first, last);
  }
  build->points = ndt_point_set_new (build->leaf);
  ndt_map_progress_start (&build->progress, "files", files->len);
  const gboolean ok = add_all (build, files, &error);
  ndt_map_progress_end (&build->progress);
  if (!ok)
    return ndt_map_report (error);
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

int
ndt_map_command_build (int argc, char **argv)
{
  Build build = {.voxels = NDT_MAP_VOXEL_OPTIONS_DEFAULT};
  const GOptionEntry entries[] = {
      {"output", 'o', 0, G_OPTION_ARG_FILENAME, &build.output, "PCD or .ndtmap file to write",
          "FILE"},
      {"trajectory", 't', 0, G_OPTION_ARG_FILENAME, &build.trajectory,
          "Inputs are scans; their poses in the map, a line each (TUM, KITTI or named columns)",
          "FILE"},
      {"leaf", 'l', 0, G_OPTION_ARG_DOUBLE, &build.leaf,
          "Keep the centroid of each cube of this edge; 0: keep all points (default)", "METRES"},
      {"min-range", 0, 0, G_OPTION_ARG_DOUBLE, &build.min_range,
          "Leave out points of a scan nearer to the sensor (default 0)", "METRES"},
      {"max-range", 0, 0, G_OPTION_ARG_DOUBLE, &build.max_range,
          "Leave out points of a scan farther from the sensor; 0: none (default)", "METRES"},
      {"double", 'd', 0, G_OPTION_ARG_NONE, &build.wide,
          "Write doubles: for UTM and other coordinates far from their origin", NULL},
      {"encoding", 'e', 0, G_OPTION_ARG_STRING, &build.encoding,
          "Of a PCD: ascii, binary (default) or binary_compressed", "NAME"},
      NDT_MAP_VOXEL_ENTRIES (build.voxels),
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &build.inputs, NULL, NULL},
      {NULL},
  };
  g_autoptr (GOptionContext) context =
      g_option_context_new ("INPUT... - joins files of points into a map");
  g_autoptr (GError) error = NULL;
  g_option_context_set_summary (context,
      "Inputs are PCD, PLY or LAS files, or folders of them, taken in the order of names, numbers "
      "by\n"
      "their value (or of times, where the names of scans are times): maps,\n"
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
  ndt_map_voxel_options_clear (&build.voxels);
  g_strfreev (build.inputs);
  return status;
}
