/* SPDX-License-Identifier: MIT */
/* ndt-map build: joins files of points, or scans, into a map. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ndt-map-tool.h"
#include "ndt-point-set.h"
#include "scans/ndt-scan-source.h"
#include "ndtcore/base/ndt-file.h"
#include "ndtcore/cloudfile/ndt-cloud-file.h"
#include "ndtcore/cloudfile/ndt-pcd.h"

/* Metres from the origin at which a float has steps of 0.5 mm; beyond, the rounding exceeds the
 * noise of a survey. */
#define FLOAT_RANGE 8192.0

typedef struct {
  gchar *output;
  NdtScanOptions scans;
  gchar *encoding;
  double leaf;
  double min_range;
  double max_range;
  gboolean wide;
  NdtMapVoxelOptions voxels;
  NdtVoxelMapParams params;
  gchar **inputs;

  NdtPointSet *points;
  guint64 points_read;
  guint64 n_scans;
  guint64 n_without; /* scans without a pose */
  NdtMapProgress progress;
  guint64 n_files; /* finished files */
} Build;

/* A point in the map. */
static gboolean
add_point (Build *build, const double p[3], GError **error)
{
  if (build->points_read % 65536 == 0)
    ndt_map_progress_step (&build->progress, build->n_files, build->points_read);
  build->points_read++;
  return ndt_point_set_add (build->points, p, error);
}

/* Points of one map. */
static gboolean
add_map (Build *build, const gchar *path, GError **error)
{
  NdtCloudView view;
  g_autoptr (NdtCloudFile) file = ndt_cloud_file_open (path, error);
  if (!file || !ndt_cloud_file_get_points (file, &view, error))
    return FALSE;
  for (gsize i = 0; i < view.n_points; i++) {
    double p[3];
    ndt_cloud_view_get (&view, i, p);
    if (!isfinite (p[0] + p[1] + p[2]) || add_point (build, p, error))
      continue;
    g_autofree gchar *shown = g_filename_display_name (path);
    g_prefix_error (error, "%s: ", shown);
    return FALSE;
  }
  build->n_files++;
  return TRUE;
}

static gboolean
add_maps (Build *build, GError **error)
{
  g_autoptr (GPtrArray) files = ndt_map_list_inputs (build->inputs, NULL, error);
  if (!files)
    return FALSE;
  ndt_map_progress_start (&build->progress, "files", files->len);
  for (guint i = 0; i < files->len; i++)
    if (!add_map (build, g_ptr_array_index (files, i), error))
      return FALSE;
  return TRUE;
}

/* Those of a scan that are in range, moved by its pose. */
static gboolean
add_scan (Build *build, const NdtScan *scan, GArray *moved, GError **error)
{
  const double min2 = build->min_range * build->min_range;
  const double max2 = build->max_range > 0 ? build->max_range * build->max_range : INFINITY;
  g_array_set_size (moved, (guint)(3 * scan->points.n_points));
  double *out = (double *)(gpointer)moved->data;
  ndt_scan_transform (scan, out);
  for (gsize i = 0; i < scan->points.n_points; i++) {
    double p[3];
    ndt_cloud_view_get (&scan->points, i, p);
    const double range2 = p[0] * p[0] + p[1] * p[1] + p[2] * p[2];
    if (!isfinite (range2))
      continue;
    if (range2 < min2 || range2 > max2) {
      build->points_read++;
      continue;
    }
    if (!add_point (build, out + 3 * i, error)) {
      g_prefix_error (error, "%s: ", scan->name);
      return FALSE;
    }
  }
  build->n_scans++;
  return TRUE;
}

static gboolean
add_scans (Build *build, GError **error)
{
  gboolean is_sorted;
  guint64 all;
  const NdtScan *scan;
  GError *failure = NULL;
  g_autoptr (NdtScanSource) source =
      ndt_scan_source_new (build->inputs, &build->scans, &is_sorted, error);
  if (!source)
    return FALSE;
  if (is_sorted) {
    const guint n = ndt_scan_source_get_n_files (source);
    g_autofree gchar *first = g_filename_display_basename (ndt_scan_source_get_file (source, 0));
    g_autofree gchar *last = g_filename_display_basename (ndt_scan_source_get_file (source, n - 1));
    g_printerr (
        "ndt-map: the scans were given in the order of characters; they are taken in that of "
        "their numbers, %s to %s\n",
        first, last);
  }
  if (build->scans.trajectory)
    printf ("poses: %s\n", ndt_scan_source_get_poses (source));
  g_autoptr (GArray) moved = g_array_new (FALSE, FALSE, sizeof (double));
  const gchar *what = ndt_scan_source_get_progress (source, &build->n_files, &all);
  ndt_map_progress_start (&build->progress, what, all);
  while ((scan = ndt_scan_source_next (source, &failure))) {
    ndt_scan_source_get_progress (source, &build->n_files, &all);
    build->n_without += !scan->pose;
    if (scan->pose && !add_scan (build, scan, moved, &failure))
      break;
  }
  if (failure) {
    g_propagate_error (error, failure);
    return FALSE;
  }
  if (!build->scans.trajectory && ndt_scan_source_get_poses (source))
    printf ("poses: %s\n", ndt_scan_source_get_poses (source));
  build->n_files = ndt_scan_source_get_n_files (source);
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
  build->scans.with_poses = build->scans.trajectory || ndt_scan_is_recording (build->inputs[0]);
  if (!build->scans.with_poses && (build->min_range > 0 || build->max_range > 0))
    return ndt_map_report_usage (context, "ranges are of scans, which need a --trajectory");

  g_autofree gchar *output = ndt_file_resolve (build->output, &error);
  if (!output)
    return ndt_map_report_usage (NULL, error->message);
  build->points = ndt_point_set_new (build->leaf);
  const gboolean ok =
      build->scans.with_poses ? add_scans (build, &error) : add_maps (build, &error);
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

  printf ("files: %" G_GUINT64_FORMAT "\n", build->n_files);
  if (build->scans.with_poses)
    printf ("scans with a pose: %" G_GUINT64_FORMAT "\n", build->n_scans);
  if (build->n_without > 0)
    printf ("scans without a pose: %" G_GUINT64_FORMAT "\n", build->n_without);
  printf ("points read: %" G_GUINT64_FORMAT "\n", build->points_read);
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
      {"trajectory", 't', 0, G_OPTION_ARG_FILENAME, &build.scans.trajectory,
          "Inputs are scans; their poses in the map, a line each, of recordings by time (TUM, "
          "KITTI "
          "or named columns)",
          "FILE"},
      {"leaf", 'l', 0, G_OPTION_ARG_DOUBLE, &build.leaf,
          "Keep the centroid of each cube of this edge; 0: keep all points (default)", "METRES"},
      {"min-range", 0, 0, G_OPTION_ARG_DOUBLE, &build.min_range,
          "Leave out points of a scan nearer to the sensor (default 0)", "METRES"},
      {"max-range", 0, 0, G_OPTION_ARG_DOUBLE, &build.max_range,
          "Leave out points of a scan farther from the sensor; 0: none (default)", "METRES"},
      NDT_SCAN_RECORDING_ENTRIES (build.scans),
      NDT_SCAN_POSE_ENTRIES (build.scans),
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
      "Or recordings (MCAP, rosbag2) with poses in them, and captures (pcap) with a --trajectory.\n"
      "A scan without a pose (a line of nan in KITTI, empty cells in CSV) is left out.");
  g_option_context_add_main_entries (context, entries, NULL);
  int status;
  if (!g_option_context_parse (context, &argc, &argv, &error))
    status = ndt_map_report_usage (context, error->message);
  else
    status = run_build (&build, context);
  ndt_point_set_free (build.points);
  g_free (build.output);
  ndt_scan_options_clear (&build.scans);
  g_free (build.encoding);
  ndt_map_voxel_options_clear (&build.voxels);
  g_strfreev (build.inputs);
  return status;
}
