/* SPDX-License-Identifier: MIT */
/* ndt-map update: what drives agree to be different from the map. */
#include <errno.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ndt-map-points.h"
#include "ndtcore/base/ndt-file.h"
#include "ndtcore/cloudfile/ndt-pcd.h"
#include "ndtcore/mapping/ndt-map-change.h"
#include "ndtcore/tools/ndt-point-set.h"
#include "ndtcore/tools/scans/ndt-scan-source.h"
#ifdef HAVE_CAIRO
#include "ndtcore/tools/ndt-picture.h"
#endif

/* Scans that are looked at are so far apart, metres or rad. */
#define STEP 1.0
#define TURN 0.2
/* Edge of the cubes that their points are thinned to, metres. */
#define LEAF 0.15
/* Lines of the report. */
#define MOST_SHOWN 10

typedef struct {
  gchar *output;
  gchar *apply;
  gchar **trajectories;
  gint agree;
  double min_range;
  double max_range;
  NdtScanOptions scans;
  NdtMapVoxelOptions voxels;
  NdtVoxelMapParams params;
  gchar **inputs; /* the map, and drives */
} Update;

/* ---- Drives ---- */

static void
clear_key (gpointer key)
{
  g_free (((NdtKeyScan *)key)->points);
}

/* Its points, thinned, as the sensor would see them from @scan's pose. */
static gboolean
add_key (const Update *update, const NdtScan *scan, GArray *keys, GError **error)
{
  const gsize n = scan->points.n_points;
  const double min2 = update->min_range * update->min_range;
  NdtKeyScan key = {.scan = keys->len, .odometry = *scan->pose, .sensor = *scan->pose};
  g_autofree double *moved = g_new (double, 3 * n + 1);
  g_autoptr (NdtPointSet) thinned = ndt_point_set_new (LEAF);
  NdtPose inverse;
  ndt_pose_invert (scan->pose, &inverse);
  ndt_scan_transform (scan, moved);
  for (gsize i = 0; i < n; i++) {
    double p[3];
    ndt_pose_transform_point (&inverse, moved + 3 * i, p);
    const double range2 = p[0] * p[0] + p[1] * p[1] + p[2] * p[2];
    /* Farther points tell that a beam goes on. */
    if (isfinite (range2) && range2 >= min2 && range2 < 1e6 &&
        !ndt_point_set_add (thinned, p, error))
      return FALSE;
  }
  key.n_points = (guint)ndt_point_set_get_n_points (thinned);
  key.points = g_new (float, 3 * (gsize)key.n_points + 1);
  for (guint i = 0; i < key.n_points; i++) {
    double p[3];
    ndt_point_set_get (thinned, i, p);
    for (guint k = 0; k < 3; k++)
      key.points[3 * i + k] = (float)p[k];
  }
  g_array_append_val (keys, key);
  return TRUE;
}

static GArray *
read_drive (const Update *update, const gchar *input, const NdtScanOptions *options, GError **error)
{
  gchar *inputs[] = {(gchar *)input, NULL};
  NdtMapProgress progress;
  guint64 done, all;
  const NdtScan *scan;
  GError *failure = NULL;
  g_autoptr (NdtScanSource) source = ndt_scan_source_new (inputs, options, NULL, error);
  if (!source)
    return NULL;
  g_autoptr (GArray) keys = g_array_new (FALSE, FALSE, sizeof (NdtKeyScan));
  g_array_set_clear_func (keys, clear_key);
  const gchar *what = ndt_scan_source_get_progress (source, &done, &all);
  ndt_map_progress_start (&progress, what, all);
  while (!failure && (scan = ndt_scan_source_next (source, &failure))) {
    double metres = INFINITY, radians = 0;
    ndt_scan_source_get_progress (source, &done, &all);
    ndt_map_progress_step (&progress, done, 0);
    if (!scan->pose)
      continue;
    if (keys->len > 0)
      ndt_pose_difference (
          &g_array_index (keys, NdtKeyScan, keys->len - 1).sensor, scan->pose, &metres, &radians);
    if (metres >= STEP || radians >= TURN)
      add_key (update, scan, keys, &failure);
  }
  ndt_map_progress_end (&progress);
  if (!failure && keys->len == 0)
    g_set_error (&failure, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "%s has no scan with a pose: localize it in the map first (ndt-replay)", input);
  if (failure) {
    g_propagate_error (error, failure);
    return NULL;
  }
  printf ("drive %s: %u scans looked at; poses: %s\n", input, keys->len,
      ndt_scan_source_get_poses (source));
  return g_steal_pointer (&keys);
}

static GPtrArray *
read_drives (Update *update, GError **error)
{
  g_autoptr (GPtrArray) drives = g_ptr_array_new_with_free_func ((GDestroyNotify)g_array_unref);
  for (guint i = 0; update->inputs[i + 1]; i++) {
    NdtScanOptions options = update->scans;
    options.trajectory = update->trajectories ? update->trajectories[i] : NULL;
    GArray *keys = read_drive (update, update->inputs[i + 1], &options, error);
    if (!keys)
      return NULL;
    g_ptr_array_add (drives, keys);
  }
  return g_steal_pointer (&drives);
}

/* ---- What is written ---- */

static gboolean
write_points (const Update *update, const gchar *name, const double *xyz, gsize n, GError **error)
{
  g_autofree gchar *path = g_build_filename (update->output, name, NULL);
  const NdtCloudView view = ndt_cloud_view_xyz_f64 (xyz, n);
  return ndt_pcd_write (path, &view, NDT_PCD_BINARY, error);
}

static double *
get_gone (const NdtMapPoints *map, const NdtMapChanges *changes)
{
  const double *xyz = ndt_map_points_get_xyz (map);
  double *gone = g_new (double, 3 * (gsize)changes->gone->len + 1);
  for (guint i = 0; i < changes->gone->len; i++)
    memcpy (gone + 3 * (gsize)i, xyz + 3 * (gsize)g_array_index (changes->gone, guint32, i),
        3 * sizeof (double));
  return gone;
}

static gboolean
write_list (const Update *update, const NdtMapChanges *changes, GError **error)
{
  g_autofree gchar *path = g_build_filename (update->output, "changes.csv", NULL);
  g_autoptr (GString) text = g_string_new ("change,points,min_x,min_y,min_z,max_x,max_y,max_z\n");
  for (guint i = 0; i < changes->changes->len; i++) {
    const NdtMapChange *change = &g_array_index (changes->changes, NdtMapChange, i);
    g_string_append_printf (text, "%s,%u,%.2f,%.2f,%.2f,%.2f,%.2f,%.2f\n",
        change->is_added ? "added" : "gone", change->n_points, change->min[0], change->min[1],
        change->min[2], change->max[0], change->max[1], change->max[2]);
  }
  return g_file_set_contents (path, text->str, (gssize)text->len, error);
}

#ifdef HAVE_CAIRO
static gboolean
write_picture (const Update *update, const NdtMapPoints *map, const NdtMapChanges *changes,
    const double *gone, GError **error)
{
  const double *xyz = ndt_map_points_get_xyz (map);
  const guint n = ndt_map_points_get_n (map);
  double min[2] = {INFINITY, INFINITY}, max[2] = {-INFINITY, -INFINITY};
  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < 2; k++) {
      min[k] = MIN (min[k], xyz[3 * (gsize)i + k] - 1);
      max[k] = MAX (max[k], xyz[3 * (gsize)i + k] + 1);
    }
  g_autofree gchar *path = g_build_filename (update->output, "changes.png", NULL);
  g_autoptr (NdtPicture) picture = ndt_picture_new (min, max, 1200, 0);
  const NdtCloudView views[] = {ndt_cloud_view_xyz_f64 (xyz, n),
      ndt_cloud_view_xyz_f64 (gone, changes->gone->len),
      ndt_cloud_view_xyz_f64 ((const double *)(gpointer)changes->added->data, changes->added->len)};
  for (guint i = 0; i < G_N_ELEMENTS (views); i++)
    ndt_picture_add_points (picture, &views[i], NDT_PICTURE_DAYS_OF_CHANGE (i));
  ndt_picture_draw_map (picture, NDT_PICTURE_CHANGE, "changes");
  return ndt_picture_write (picture, path, error);
}
#else
static gboolean
write_picture (const Update *update, const NdtMapPoints *map, const NdtMapChanges *changes,
    const double *gone, GError **error)
{
  g_printerr ("ndt-map: built without Cairo (-Dcairo=enabled): there is no picture\n");
  return TRUE;
}
#endif

static gboolean
write_all (
    const Update *update, const NdtMapPoints *map, const NdtMapChanges *changes, GError **error)
{
  g_autofree double *gone = get_gone (map, changes);
  const double *added = (const double *)(gpointer)changes->added->data;
  if (g_mkdir_with_parents (update->output, 0777) != 0) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_IO, "%s cannot be made: %s", update->output,
        g_strerror (errno));
    return FALSE;
  }
  return write_points (update, "gone.pcd", gone, changes->gone->len, error) &&
         write_points (update, "added.pcd", added, changes->added->len, error) &&
         write_list (update, changes, error) && write_picture (update, map, changes, gone, error);
}

static gboolean
apply (const Update *update, NdtMapPoints *map, const NdtMapChanges *changes, GError **error)
{
  const guint n = ndt_map_points_get_n (map);
  g_autofree guint8 *keep = g_malloc (n + 1);
  memset (keep, 1, n + 1);
  for (guint i = 0; i < changes->gone->len; i++)
    keep[g_array_index (changes->gone, guint32, i)] = 0;
  ndt_map_points_keep (map, keep);
  if (changes->added->len > 0 && map->intensities) {
    g_clear_pointer (&map->intensities, g_array_unref);
    g_printerr ("ndt-map: %s has no intensities, since what is added has none\n", update->apply);
  }
  g_array_append_vals (map->xyz, changes->added->data, 3 * changes->added->len);
  return ndt_map_points_write (map, update->apply, &update->params, error);
}

static void
print_report (const Update *update, const NdtMapPoints *map, const NdtMapChanges *changes)
{
  guint counts[2] = {0, 0}, shown[2] = {0, 0};
  for (guint i = 0; i < changes->changes->len; i++)
    counts[g_array_index (changes->changes, NdtMapChange, i).is_added ? 1 : 0]++;
  printf ("points of the map: %u, of these judged by %d drives or more: %" G_GSIZE_FORMAT "\n",
      ndt_map_points_get_n (map), update->agree, changes->n_judged);
  printf ("gone: %u points in %u changes\n", changes->gone->len, counts[0]);
  printf ("added: %u points in %u changes\n", changes->added->len, counts[1]);
  for (guint i = 0; i < changes->changes->len; i++) {
    const NdtMapChange *change = &g_array_index (changes->changes, NdtMapChange, i);
    if (shown[change->is_added ? 1 : 0]++ < MOST_SHOWN)
      printf ("  %s at %.1f, %.1f, %.1f: %.1f m x %.1f m x %.1f m, %u points\n",
          change->is_added ? "added" : "gone", (change->min[0] + change->max[0]) / 2,
          (change->min[1] + change->max[1]) / 2, (change->min[2] + change->max[2]) / 2,
          change->max[0] - change->min[0], change->max[1] - change->min[1],
          change->max[2] - change->min[2], change->n_points);
  }
}

/* ---- The command ---- */

static int
work (Update *update)
{
  g_auto (NdtMapPoints) map = {0};
  g_autoptr (GError) error = NULL;
  gchar *inputs[] = {update->inputs[0], NULL};
  NdtMapChangeParams params = NDT_MAP_CHANGE_PARAMS_DEFAULT;
  NdtMapChanges changes;
  params.agree = (guint)update->agree;
  params.max_range = update->max_range;
  if (!ndt_map_points_read (&map, inputs, NULL, &error))
    return ndt_map_report (error);
  g_autoptr (GPtrArray) drives = read_drives (update, &error);
  if (!drives || !ndt_map_find_changes (ndt_map_points_get_xyz (&map), ndt_map_points_get_n (&map),
                     drives, &params, &changes, &error))
    return ndt_map_report (error);
  gboolean ok = write_all (update, &map, &changes, &error);
  if (ok)
    print_report (update, &map, &changes);
  if (ok && update->apply && (ok = apply (update, &map, &changes, &error)))
    printf ("points written: %u\n", ndt_map_points_get_n (&map));
  ndt_map_changes_clear (&changes);
  return ok ? EXIT_SUCCESS : ndt_map_report (error);
}

static int
run_update (Update *update, GOptionContext *context)
{
  g_autoptr (GError) error = NULL;
  const guint n_drives = update->inputs ? g_strv_length (update->inputs) - 1 : 0;
  const guint n_trajectories = update->trajectories ? g_strv_length (update->trajectories) : 0;
  if (n_drives == 0 || !update->output)
    return ndt_map_report_usage (context, "update needs a map, drives and --output");
  if (update->agree < 1 || update->agree > NDT_MAP_CHANGE_MAX_DRIVES)
    return ndt_map_report_usage (context, "--agree is 1 to 64");
  if (n_drives > NDT_MAP_CHANGE_MAX_DRIVES)
    return ndt_map_report_usage (context, "there are at most 64 drives");
  if (n_drives < (guint)update->agree) {
    g_autofree gchar *text = g_strdup_printf (
        "%d drives have to agree, and %u are given: give more, or a smaller --agree", update->agree,
        n_drives);
    return ndt_map_report_usage (NULL, text);
  }
  if (n_trajectories > 0 && n_trajectories != n_drives)
    return ndt_map_report_usage (context, "a --trajectory for each drive, in their order, or none");
  if (!(update->min_range >= 0 && update->max_range > update->min_range &&
          update->max_range <= 1000))
    return ndt_map_report_usage (context, "the ranges have to be in order, up to 1000");
  if (!ndt_map_voxel_options_get (&update->voxels, &update->params, &error))
    return ndt_map_report_usage (NULL, error->message);
  g_autofree gchar *output = ndt_file_resolve (update->output, &error);
  if (!output)
    return ndt_map_report_usage (NULL, error->message);
  g_free (update->output);
  update->output = g_steal_pointer (&output);
  return work (update);
}

int
ndt_map_command_update (int argc, char **argv)
{
  const NdtMapChangeParams defaults = NDT_MAP_CHANGE_PARAMS_DEFAULT;
  Update update = {.agree = (gint)defaults.agree,
      .min_range = 1,
      .max_range = defaults.max_range,
      .scans = {.period = 0.1, .with_poses = TRUE},
      .voxels = NDT_MAP_VOXEL_OPTIONS_DEFAULT};
  const GOptionEntry entries[] = {
      {"output", 'o', 0, G_OPTION_ARG_FILENAME, &update.output,
          "Folder to write gone.pcd, added.pcd, changes.csv and changes.png to", "FOLDER"},
      {"apply", 'a', 0, G_OPTION_ARG_FILENAME, &update.apply,
          "Also write the map with these changes, a PCD or .ndtmap", "FILE"},
      {"agree", 0, 0, G_OPTION_ARG_INT, &update.agree,
          "Drives that have to see a change (default 2); none may see the contrary", "N"},
      {"trajectory", 't', 0, G_OPTION_ARG_FILENAME_ARRAY, &update.trajectories,
          "Poses of a drive in the map; once for each drive, in their order", "FILE"},
      {"min-range", 0, 0, G_OPTION_ARG_DOUBLE, &update.min_range,
          "Leave out points nearer to the sensor (default 1)", "METRES"},
      {"max-range", 0, 0, G_OPTION_ARG_DOUBLE, &update.max_range,
          "Judge what is nearer to a sensor than this (default 40)", "METRES"},
      NDT_SCAN_RECORDING_ENTRIES (update.scans),
      NDT_SCAN_POSE_ENTRIES (update.scans),
      NDT_MAP_VOXEL_ENTRIES (update.voxels),
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &update.inputs, NULL, NULL},
      {NULL},
  };
  g_autoptr (GOptionContext) context =
      g_option_context_new ("MAP DRIVE... - finds what drives agree to be different");
  g_autoptr (GError) error = NULL;
  g_option_context_set_summary (context,
      "Drives are recordings (MCAP, rosbag2) with poses in the map, as ndt-replay makes them, or "
      "folders\n"
      "of scans with a --trajectory each. What is gone and what is new is proposed; --apply writes "
      "the map.");
  g_option_context_add_main_entries (context, entries, NULL);
  const int status = g_option_context_parse (context, &argc, &argv, &error)
                         ? run_update (&update, context)
                         : ndt_map_report_usage (context, error->message);
  g_free (update.output);
  g_free (update.apply);
  g_strfreev (update.trajectories);
  ndt_scan_options_clear (&update.scans);
  ndt_map_voxel_options_clear (&update.voxels);
  g_strfreev (update.inputs);
  return status;
}
