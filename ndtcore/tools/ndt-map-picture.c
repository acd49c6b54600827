/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <glib/gstdio.h>

#include "ndt-map-tool.h"
#include "ndt-picture.h"
#include "ndtcore/cloudfile/ndt-cloud-file.h"
#include "ndtcore/cloudfile/ndt-map-image.h"
#include "ndtcore/posefile/ndt-trajectory.h"

#define PLOT_HEIGHT 240

typedef struct {
  gchar *output;
  gchar **trajectories;
  gchar *errors;
  gchar *color;
  gint width;
  gchar **inputs;
} Options;

static void
stretch (double min[2], double max[2], const double p[3])
{
  for (guint axis = 0; axis < 2; axis++) {
    min[axis] = MIN (min[axis], p[axis]);
    max[axis] = MAX (max[axis], p[axis]);
  }
}

/* Since the file was written; 0 where that is not known. */
static double
get_age (const gchar *path)
{
  GStatBuf status;

  return g_stat (path, &status) == 0 ? difftime (time (NULL), status.st_mtime) / 86400 : 0;
}

/* Bounds of the points, where @min and @max are not NULL; adds them to @picture otherwise. */
static gboolean
read_files (GPtrArray *files, double min[2], double max[2], NdtPicture *picture,
    NdtMapProgress *progress, GError **error)
{
  guint64 n_read = 0;

  for (guint f = 0; f < files->len; f++) {
    const gchar *path = g_ptr_array_index (files, f);
    NdtCloudView points;
    g_autoptr (NdtCloudFile) file = NULL;
    g_autofree double *means = NULL;

    ndt_map_progress_step (progress, f + (picture ? files->len : 0), n_read);
    if (ndt_map_image_is_image (path)) {
      g_autoptr (NdtMapImage) image = ndt_map_image_open (path, error);
      gsize n;
      if (!image || !(means = ndt_map_image_dup_means (image, &n, error)))
        return FALSE;
      points = ndt_cloud_view_xyz_f64 (means, n);
    } else {
      file = ndt_cloud_file_open (path, error);
      if (!file || !ndt_cloud_file_get_points (file, &points, error))
        return FALSE;
    }
    n_read += points.n_points;
    if (picture) {
      ndt_picture_add_points (picture, &points, get_age (path));
      continue;
    }
    for (gsize i = 0; i < points.n_points; i++) {
      double p[3];

      ndt_cloud_view_get (&points, i, p);
      if (isfinite (p[0]) && isfinite (p[1]) && isfinite (p[2]))
        stretch (min, max, p);
    }
  }
  return TRUE;
}

/* Whether it begins as MCAP does. */
static gboolean
is_mcap (const gchar *path)
{
  static const gchar magic[] = "\x89MCAP0\r\n";
  gchar head[8];
  FILE *file = fopen (path, "rb");
  const gboolean is =
      file && fread (head, sizeof head, 1, file) == 1 && memcmp (head, magic, sizeof head) == 0;

  if (file)
    fclose (file);
  return is;
}

/* The poses of a recording, by ndt-bag, which knows them: no part of ndtcore does. */
static NdtTrajectory *
load_recording (const gchar *path, GError **error)
{
  const gchar *arguments[] = {"ndt-bag", "poses", "--", path, NULL};
  g_autofree gchar *text = NULL, *fault = NULL;
  g_autoptr (GError) cause = NULL;
  gint status;

  if (!g_spawn_sync (NULL, (gchar **)arguments, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &text,
          &fault, &status, &cause)) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_IO,
        "%s: ndt-bag, which reads recordings, cannot be run: %s", path, cause->message);
    return NULL;
  }
  if (!g_spawn_check_wait_status (status, NULL) && (!text || !*text)) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_FORMAT, "%s: its poses cannot be read: %s", path,
        g_strstrip (fault));
    return NULL;
  }
  return ndt_trajectory_parse (text, strlen (text), path, NDT_TRAJECTORY_CSV, error);
}

static NdtTrajectory *
load_trajectory (const gchar *path, double min[2], double max[2], GError **error)
{
  NdtTrajectory *trajectory = is_mcap (path)
                                  ? load_recording (path, error)
                                  : ndt_trajectory_load (path, NDT_TRAJECTORY_AUTO, error);

  for (gsize i = 0; trajectory && i < ndt_trajectory_get_n_poses (trajectory); i++) {
    const NdtPose *pose = ndt_trajectory_get_pose (trajectory, i);
    if (pose)
      stretch (min, max, pose->position);
  }
  return trajectory;
}

/* The true pose for a line: at its time where both files have times, else that of the same line. */
static gboolean
find_truth (const NdtTrajectory *poses, const NdtTrajectory *truth, gsize index, NdtPose *out)
{
  if (ndt_trajectory_has_times (poses) && ndt_trajectory_has_times (truth))
    return ndt_trajectory_interpolate (
        truth, ndt_trajectory_get_time (poses, index), G_GINT64_CONSTANT (1000000000), out);
  if (index >= ndt_trajectory_get_n_poses (truth) || !ndt_trajectory_get_pose (truth, index))
    return FALSE;
  *out = *ndt_trajectory_get_pose (truth, index);
  return TRUE;
}

static gboolean
draw_errors (
    NdtPicture *picture, const NdtTrajectory *poses, const NdtTrajectory *truth, GError **error)
{
  const gsize n = ndt_trajectory_get_n_poses (poses);
  g_autofree double *seconds = g_new (double, n + 1), *metres = g_new (double, n + 1),
                    *degrees = g_new (double, n + 1);
  NdtPoseErrors errors = {0};

  for (gsize i = 0; i < n; i++) {
    const NdtPose *pose = ndt_trajectory_get_pose (poses, i);
    NdtPose true_pose;
    double radians;

    if (!pose || !find_truth (poses, truth, i, &true_pose))
      continue;
    ndt_pose_errors_add (&errors, pose, &true_pose, &metres[errors.n], &radians);
    degrees[errors.n - 1] = radians * 180 / G_PI;
    seconds[errors.n - 1] = ndt_trajectory_has_times (poses)
                                ? 1e-9 * (double)ndt_trajectory_get_time (poses, i)
                                : (double)i;
  }
  if (errors.n == 0) {
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "no pose of the first --trajectory has a true one at its time (within 1 s) or in its "
        "line: are the times of one clock?");
    return FALSE;
  }
  ndt_picture_draw_errors (picture, seconds, metres, degrees, errors.n);
  printf ("poses compared: %" G_GUINT64_FORMAT "\n", errors.n);
  printf ("mean error: %.4f m, %.4f degrees\n", errors.sum_m / (double)errors.n,
      errors.sum_rad / (double)errors.n * 180 / G_PI);
  printf ("largest error: %.4f m, %.4f degrees\n", errors.max_m, errors.max_rad * 180 / G_PI);
  return TRUE;
}

static gboolean
draw (const Options *options, NdtPictureColor color, GPtrArray *files, NdtMapProgress *progress,
    GError **error)
{
  g_autoptr (GPtrArray) trajectories =
      g_ptr_array_new_with_free_func ((GDestroyNotify)ndt_trajectory_free);
  g_autoptr (NdtTrajectory) truth = NULL;
  double min[2] = {INFINITY, INFINITY}, max[2] = {-INFINITY, -INFINITY};

  if (!read_files (files, min, max, NULL, progress, error))
    return FALSE;
  for (gchar **path = options->trajectories; path && *path; path++) {
    NdtTrajectory *trajectory = load_trajectory (*path, min, max, error);
    if (!trajectory)
      return FALSE;
    g_ptr_array_add (trajectories, trajectory);
  }
  if (options->errors && !(truth = load_trajectory (options->errors, min, max, error)))
    return FALSE;
  if (!(min[0] <= max[0])) {
    g_set_error_literal (
        error, NDT_ERROR, NDT_ERROR_EMPTY_MAP, "there are no points to draw; nothing is written");
    return FALSE;
  }
  for (guint axis = 0; axis < 2; axis++) {
    const double edge = 0.02 * MAX (max[0] - min[0], max[1] - min[1]) + 0.5;
    min[axis] -= edge;
    max[axis] += edge;
  }

  g_autoptr (NdtPicture) picture =
      ndt_picture_new (min, max, (guint)options->width, truth ? PLOT_HEIGHT : 0);
  g_autofree gchar *title = g_path_get_basename (options->inputs[0]);
  if (!read_files (files, NULL, NULL, picture, progress, error))
    return FALSE;
  g_autofree gchar *shown = g_filename_display_name (title);
  ndt_picture_draw_map (picture, color, shown);
  for (guint i = 0; i < trajectories->len; i++) {
    g_autofree gchar *name = g_filename_display_basename (options->trajectories[i]);
    ndt_picture_draw_trajectory (picture, g_ptr_array_index (trajectories, i), i, name);
  }
  if (truth && !draw_errors (picture, g_ptr_array_index (trajectories, 0), truth, error))
    return FALSE;
  return ndt_picture_write (picture, options->output, error);
}

static int
run_picture (const Options *options, GOptionContext *context)
{
  NdtPictureColor color = NDT_PICTURE_HEIGHT;
  g_autoptr (GError) error = NULL;

  if (!options->inputs || !options->output)
    return ndt_map_report_usage (context, "picture needs a map and --output");
  if (options->width < 100 || options->width > 16384)
    return ndt_map_report_usage (context, "--width is pixels, 100 to 16384");
  if (g_strcmp0 (options->color, "density") == 0)
    color = NDT_PICTURE_DENSITY;
  else if (g_strcmp0 (options->color, "age") == 0)
    color = NDT_PICTURE_AGE;
  else if (options->color && !g_str_equal (options->color, "height"))
    return ndt_map_report_usage (context, "--color is height, density or age");
  if (options->errors && !options->trajectories)
    return ndt_map_report_usage (context, "--errors needs a --trajectory to compare");

  g_autoptr (GPtrArray) files = ndt_map_list_inputs (options->inputs, NULL, &error);
  NdtMapProgress progress;
  if (!files)
    return ndt_map_report (error);
  ndt_map_progress_start (&progress, "files", 2 * files->len);
  const gboolean ok = draw (options, color, files, &progress, &error);
  ndt_map_progress_end (&progress);
  if (!ok)
    return ndt_map_report (error);
  printf ("picture: %s\n", options->output);
  return EXIT_SUCCESS;
}

int
ndt_map_command_picture (int argc, char **argv)
{
  Options options = {.width = 1200};
  const GOptionEntry entries[] = {
      {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output, "Picture to write, .png or .svg",
          "FILE"},
      {"trajectory", 't', 0, G_OPTION_ARG_FILENAME_ARRAY, &options.trajectories,
          "Poses to draw (TUM, KITTI, CSV, or a recording in MCAP); may be given several times",
          "FILE"},
      {"errors", 'e', 0, G_OPTION_ARG_FILENAME, &options.errors,
          "True poses: plots the errors of the first trajectory", "FILE"},
      {"color", 'c', 0, G_OPTION_ARG_STRING, &options.color,
          "height (default), density, or age: of the files", "NAME"},
      {"width", 'w', 0, G_OPTION_ARG_INT, &options.width,
          "Width of the map, 100 to 16384 (default 1200)", "PIXELS"},
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options.inputs, NULL, NULL},
      {NULL},
  };
  g_autoptr (GOptionContext) context =
      g_option_context_new ("MAP... - draws a map as seen from above");
  g_autoptr (GError) error = NULL;
  g_option_context_set_summary (context,
      "MAP is a PCD, PLY or LAS file, a folder of them, or an .ndtmap. The picture has a grid in "
      "metres, a "
      "scale bar, and\n"
      "trajectories, those of CSV files and recordings by status; with --errors also how far the "
      "first of them is from the true one.");
  g_option_context_add_main_entries (context, entries, NULL);
  const int status = g_option_context_parse (context, &argc, &argv, &error)
                         ? run_picture (&options, context)
                         : ndt_map_report_usage (context, error->message);
  g_free (options.output);
  g_strfreev (options.trajectories);
  g_free (options.errors);
  g_free (options.color);
  g_strfreev (options.inputs);
  return status;
}
