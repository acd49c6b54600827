/* SPDX-License-Identifier: MIT */
/* ndt-calibrate: where sensors are on the body, and how late their clocks are, from a drive. Exit
 * status 0: done, 1: failed, 2: wrong usage. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../ndt-map-tool.h"
#include "../scans/ndt-scan-order.h"
#include "../scans/ndt-scan-source.h"
#ifdef HAVE_CAIRO
#include "ndt-calibrate-picture.h"
#endif
#include "ndtcore/base/ndt-file.h"
#include "ndtcore/calibration/ndt-calibration.h"
#include "ndtcore/mapfile/ndt-map-file.h"

typedef struct {
  gchar *name;
  gchar *path;
  NdtPose start;
  gboolean is_reference; /* its scans are the map */
  NdtCalibration *calibration;
  NdtCalibrationResult result;
} Sensor;

typedef struct {
  gchar *map_path, *trajectory_path, *output, *picture;
  gchar **starts, **inputs;
  double resolution, period;
  gint points, threads;
  double min_range, max_range;
  gboolean no_time;

  GArray *sensors; /* Sensor */
  NdtTimedPose *body;
  gsize n_body;
  NdtVoxelMapBuilder *builder; /* of the map of the first sensor */
  NdtVoxelMap *map;
} Calibrate;

static int
report (const GError *error)
{
  g_printerr ("ndt-calibrate: %s\n", error->message);
  return error->code == NDT_ERROR_INVALID_ARGUMENT ? EXIT_USAGE : EXIT_FAILURE;
}

static gboolean
refuse (GError **error, const gchar *format, const gchar *text)
{
  g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT, format, text);
  return FALSE;
}

static void
clear_sensor (gpointer data)
{
  Sensor *sensor = data;
  g_free (sensor->name);
  g_free (sensor->path);
  ndt_calibration_free (sensor->calibration);
}

/* "NAME=VALUE"; a name is of letters, digits, underscores and hyphens, as it goes into YAML. */
static gboolean
split (const gchar *text, gchar **name, const gchar **value, GError **error)
{
  const gchar *equals = strchr (text, '=');
  gsize n = 0;
  while (g_ascii_isalnum (text[n]) || text[n] == '_' || text[n] == '-')
    n++;
  if (!equals || n == 0 || text + n != equals || !equals[1])
    return refuse (error,
        "\"%s\" is not NAME=VALUE with a name of letters, digits, underscores and hyphens", text);
  *name = g_strndup (text, n);
  *value = equals + 1;
  return TRUE;
}

static Sensor *
find_sensor (Calibrate *c, const gchar *name)
{
  for (guint i = 0; i < c->sensors->len; i++) {
    Sensor *sensor = &g_array_index (c->sensors, Sensor, i);
    if (strcmp (sensor->name, name) == 0)
      return sensor;
  }
  return NULL;
}

static gboolean
read_sensors (Calibrate *c, GError **error)
{
  for (gchar **input = c->inputs; *input; input++) {
    Sensor sensor = {.start = NDT_POSE_IDENTITY};
    const gchar *path;
    if (!split (*input, &sensor.name, &path, error))
      return FALSE;
    if (find_sensor (c, sensor.name)) {
      g_free (sensor.name);
      return refuse (error, "\"%s\": a sensor of this name was given before", *input);
    }
    sensor.path = g_strdup (path);
    g_array_append_val (c->sensors, sensor);
  }
  for (gchar **start = c->starts; start && *start; start++) {
    g_autofree gchar *name = NULL;
    const gchar *pose;
    if (!split (*start, &name, &pose, error))
      return FALSE;
    Sensor *sensor = find_sensor (c, name);
    if (!sensor)
      return refuse (error, "--start: there is no sensor \"%s\"", name);
    if (!ndt_pose_parse (pose, &sensor->start, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
read_trajectory (Calibrate *c, GError **error)
{
  g_autoptr (NdtTrajectory) trajectory =
      ndt_trajectory_load (c->trajectory_path, NDT_TRAJECTORY_AUTO, error);
  if (!trajectory)
    return FALSE;
  if (!ndt_trajectory_has_times (trajectory))
    return refuse (error, "%s has no times", c->trajectory_path);
  const gsize n = ndt_trajectory_get_n_poses (trajectory);
  c->body = g_new (NdtTimedPose, MAX (n, 1));
  for (gsize i = 0; i < n; i++) {
    const NdtPose *pose = ndt_trajectory_get_pose (trajectory, i);
    const gint64 time = ndt_trajectory_get_time (trajectory, i);
    if (pose && (c->n_body == 0 || time > c->body[c->n_body - 1].time))
      c->body[c->n_body++] = (NdtTimedPose){time, *pose};
  }
  if (c->n_body < 2)
    return refuse (error, "%s has fewer than two poses at different times", c->trajectory_path);
  return TRUE;
}

/* Calls @take for each scan with its stamp by the clock of the trajectory. */
typedef gboolean (*TakeScan) (
    Calibrate *c, Sensor *sensor, gint64 time, const NdtScan *scan, GError **error);

/* Scans without a pose tell nothing, and usually mean that two clocks are not the same. */
static gboolean
check_times (const Calibrate *c, const Sensor *sensor, gint64 first, gint64 last, GError **error)
{
  const gint64 begin = c->body[0].time, end = c->body[c->n_body - 1].time;
  if (first > last || (first <= end && last >= begin))
    return TRUE;
  g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
      "no scan of %s has a pose: its scans are of %.3f to %.3f s, %s of %.3f to %.3f s; are they "
      "of one clock?",
      sensor->path, 1e-9 * (double)first, 1e-9 * (double)last, c->trajectory_path,
      1e-9 * (double)begin, 1e-9 * (double)end);
  return FALSE;
}

static gboolean
read_scans (Calibrate *c, Sensor *sensor, TakeScan take, GError **error)
{
  gint64 first = G_MAXINT64, last = G_MININT64;
  gchar *inputs[] = {sensor->path, NULL};
  const NdtScanOptions options = {.period = c->period};
  const gboolean is_recording = ndt_scan_is_recording (sensor->path);
  GError *failure = NULL;
  const NdtScan *scan;
  guint index = 0;
  g_autoptr (NdtScanSource) source = ndt_scan_source_new (inputs, &options, NULL, error);

  if (!source)
    return FALSE;
  const gboolean one_each = ndt_scan_source_get_n_files (source) == c->n_body;
  while (!failure && (scan = ndt_scan_source_next (source, &failure))) {
    gint64 time = scan->time;
    gint64 named;
    if (!is_recording && !ndt_scan_order_get_time (scan->name, &named)) {
      if (c->period > 0) {
        time += c->body[0].time;
      } else if (one_each) {
        time = c->body[index].time;
      } else {
        g_set_error (&failure, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
            "the names of the scans in %s are no times, and there are not as many as poses: give "
            "their --period",
            sensor->path);
        break;
      }
    }
    index++;
    first = MIN (first, time);
    last = MAX (last, time);
    take (c, sensor, time, scan, &failure);
  }
  if (!failure)
    return check_times (c, sensor, first, last, error);
  g_propagate_error (error, failure);
  return FALSE;
}

static NdtVoxelMapParams
map_params (const Calibrate *c)
{
  NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  params.resolution = c->resolution;
  /* The variance across a plane is not to be lifted. */
  params.eigenvalue_ratio = 1e-4;
  return params;
}

/* ---- The map of the first sensor ---- */

static gboolean
add_to_map (Calibrate *c, Sensor *sensor, gint64 time, const NdtScan *scan, GError **error)
{
  NdtPoseCurve curve;
  NdtPose body, pose;
  ndt_pose_curve_init (&curve, c->body, c->n_body, 0, 0);
  if (!ndt_pose_curve_get (&curve, time, &body))
    return TRUE;
  ndt_pose_compose (&body, &sensor->start, &pose);
  return ndt_voxel_map_builder_add (c->builder, 0, &scan->points, &pose, error);
}

static gboolean
make_map (Calibrate *c, GError **error)
{
  Sensor *sensor = &g_array_index (c->sensors, Sensor, 0);
  const NdtVoxelMapParams params = map_params (c);

  if (c->sensors->len < 2)
    return refuse (error, "%s",
        "without a --map the first sensor's scans are the map: a second sensor is missing");
  sensor->is_reference = TRUE;
  c->builder = ndt_voxel_map_builder_new (&params, error);
  if (c->builder && read_scans (c, sensor, add_to_map, error))
    c->map = ndt_voxel_map_builder_build (c->builder, error);
  g_clear_pointer (&c->builder, ndt_voxel_map_builder_free);
  return c->map != NULL;
}

/* ---- Calibration ---- */

static gboolean
take_scan (Calibrate *c, Sensor *sensor, gint64 time, const NdtScan *scan, GError **error)
{
  ndt_calibration_add_scan (sensor->calibration, time, &scan->points, &scan->times);
  return TRUE;
}

static gboolean
solve (Calibrate *c, Sensor *sensor, GError **error)
{
  const NdtCalibrationParams params = {.estimate_time = !c->no_time,
      .points_per_scan = (guint)c->points,
      .min_range = c->min_range,
      .max_range = c->max_range,
      .n_threads = (guint)c->threads};
  NdtCalibrationDrive drive;
  NdtCalibrationResult *r = &sensor->result;

  sensor->calibration = ndt_calibration_new (c->map, c->body, c->n_body, &params);
  if (!read_scans (c, sensor, take_scan, error) ||
      !ndt_calibration_solve (sensor->calibration, &sensor->start, r, error)) {
    g_prefix_error (error, "%s: ", sensor->name);
    return FALSE;
  }
  printf ("%s: %u scans, %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT
          " points on planes, residuals %.1f mm, %u rounds%s\n",
      sensor->name, ndt_calibration_get_n_scans (sensor->calibration), r->n_rows, r->n_points,
      1000 * r->sigma, r->n_iterations, r->is_converged ? "" : ", not converged");
  ndt_calibration_describe_drive (c->body, c->n_body, &drive);
  for (guint i = 0; i < NDT_CALIBRATION_N - (c->no_time ? 1 : 0); i++) {
    g_autofree gchar *text = ndt_calibration_explain (r, i, &drive);
    printf ("  %s\n", text);
  }
  return TRUE;
}

/* ---- Results ---- */

static void
write_sensor (FILE *out, const Calibrate *c, const Sensor *sensor)
{
  static const gchar *const words[] = {"yes", "weakly", "no"};
  const NdtPose *pose = sensor->is_reference ? &sensor->start : &sensor->result.pose;
  const double degree = 180 / G_PI;
  double roll, pitch, yaw;

  ndt_pose_to_rpy (pose, &roll, &pitch, &yaw);
  fprintf (out, "  %s:\n", sensor->name);
  fprintf (out, "    # x, y, z, roll, pitch, yaw: m, degrees\n");
  fprintf (out, "    sensor-pose: \"%.6f,%.6f,%.6f,%.6f,%.6f,%.6f\"\n", pose->position[0],
      pose->position[1], pose->position[2], roll * degree, pitch * degree, yaw * degree);
  fprintf (out, "    orientation: [%.9f, %.9f, %.9f, %.9f] # x, y, z, w\n", pose->orientation[0],
      pose->orientation[1], pose->orientation[2], pose->orientation[3]);
  if (sensor->is_reference) {
    fprintf (out, "    reference: true # as it was given: its scans are the map\n");
    return;
  }
  fprintf (out, "    time-offset: %.9f # s: its stamps are so late\n", sensor->result.time_offset);
  fprintf (out, "    standard-deviations: # m, degrees, s\n");
  for (guint i = 0; i < NDT_CALIBRATION_N; i++) {
    const double sigma =
        sqrt (sensor->result.covariance[(NDT_CALIBRATION_N + 1) * i]) * (i / 3 == 1 ? degree : 1);
    if (isfinite (sigma))
      fprintf (
          out, "      %s: %.3g\n", i == 6 ? "time" : ndt_calibration_parameter_name (i), sigma);
    else
      fprintf (out, "      %s: .inf\n", i == 6 ? "time" : ndt_calibration_parameter_name (i));
  }
  fprintf (out, "    observed:\n");
  for (guint i = 0; i < NDT_CALIBRATION_N; i++)
    fprintf (out, "      %s: \"%s\"\n", i == 6 ? "time" : ndt_calibration_parameter_name (i),
        i == 6 && c->no_time ? "not estimated" : words[sensor->result.observed[i]]);
  fprintf (out, "    residuals: %.6f # m\n", sensor->result.sigma);
  fprintf (out, "    converged: %s\n", sensor->result.is_converged ? "true" : "false");
}

static gboolean
write_yaml (FILE *out, gpointer data)
{
  const Calibrate *c = data;
  fprintf (out, "# Sensors on the body, by ndt-calibrate.\nsensors:\n");
  for (guint i = 0; i < c->sensors->len; i++)
    write_sensor (out, c, &g_array_index (c->sensors, Sensor, i));
  return !ferror (out);
}

static gboolean
write_picture (const Calibrate *c, GError **error)
{
#ifdef HAVE_CAIRO
  g_autofree NdtCalibratePlot *plots = g_new0 (NdtCalibratePlot, c->sensors->len);
  guint n = 0;
  for (guint i = 0; i < c->sensors->len; i++) {
    const Sensor *sensor = &g_array_index (c->sensors, Sensor, i);
    double *residuals, *times;
    if (sensor->is_reference)
      continue;
    const gsize n_rows = ndt_calibration_get_residuals (sensor->calibration, &residuals, &times);
    plots[n++] = (NdtCalibratePlot){sensor->name, residuals, times, n_rows, sensor->result.sigma};
  }
  const gboolean ok = ndt_calibrate_picture_write (c->picture, plots, n, error);
  for (guint i = 0; i < n; i++) {
    g_free ((gpointer)plots[i].residuals);
    g_free ((gpointer)plots[i].times);
  }
  return ok;
#else
  g_set_error_literal (error, NDT_ERROR, NDT_ERROR_FAILED,
      "built without Cairo (-Dcairo=enabled), so that it draws no --picture");
  return FALSE;
#endif
}

static gboolean
check_options (const Calibrate *c, GError **error)
{
  if (!c->trajectory_path || !c->output || !c->inputs)
    return refuse (error, "%s", "--trajectory, --output and at least one NAME=SCANS are needed");
  if (!(c->resolution >= 0.01 && c->resolution <= 1000))
    return refuse (error, "%s", "--resolution is 0.01 to 1000 metres");
  if (c->points < 100 || c->points > 1000000)
    return refuse (error, "%s", "--points is 100 to 1000000");
  if (c->threads < 0 || c->threads > 1024)
    return refuse (error, "%s", "--threads is 0 to 1024");
  if (!(c->period >= 0) || !(c->min_range >= 0) || !(c->max_range >= 0) ||
      (c->max_range > 0 && c->max_range <= c->min_range))
    return refuse (error, "%s", "lengths and times are not negative, and the ranges in order");
  return TRUE;
}

static int
run (Calibrate *c)
{
  g_autoptr (GError) error = NULL;
  const NdtVoxelMapParams params = map_params (c);

  if (!check_options (c, &error) || !read_sensors (c, &error) || !read_trajectory (c, &error))
    return report (error);
  if (c->map_path)
    c->map = ndt_map_load (c->map_path, &params, &error);
  else
    make_map (c, &error);
  if (!c->map)
    return report (error);
  for (guint i = 0; i < c->sensors->len; i++) {
    Sensor *sensor = &g_array_index (c->sensors, Sensor, i);
    if (!sensor->is_reference && !solve (c, sensor, &error))
      return report (error);
  }
  if (!ndt_file_replace (c->output, write_yaml, c, &error) ||
      (c->picture && !write_picture (c, &error)))
    return report (error);
  return EXIT_SUCCESS;
}

int
main (int argc, char **argv)
{
  Calibrate c = {.resolution = 1, .points = 1500, .min_range = 1, .max_range = 60};
  gboolean version = FALSE;
  const GOptionEntry entries[] = {
      {"map", 'm', 0, G_OPTION_ARG_FILENAME, &c.map_path,
          "Map in whose frame the trajectory is (PCD, PLY, LAS or a folder); without it the first "
          "sensor's scans are the map, and its --start is right",
          "MAP"},
      {"trajectory", 't', 0, G_OPTION_ARG_FILENAME, &c.trajectory_path,
          "Poses of the body in the map, with times (TUM or named columns)", "FILE"},
      {"output", 'o', 0, G_OPTION_ARG_FILENAME, &c.output, "YAML file to write", "FILE"},
      {"picture", 'p', 0, G_OPTION_ARG_FILENAME, &c.picture,
          "Picture of the residuals to write, .png or .svg", "FILE"},
      {"start", 's', 0, G_OPTION_ARG_STRING_ARRAY, &c.starts,
          "Where a sensor is on the body, about (default 0,0,0); once a sensor",
          "NAME=X,Y,Z,ROLL,PITCH,YAW"},
      {"period", 0, 0, G_OPTION_ARG_DOUBLE, &c.period,
          "From scan to scan where the names of files are no times (default: a pose each)",
          "SECONDS"},
      {"no-time-offset", 0, 0, G_OPTION_ARG_NONE, &c.no_time, "All clocks are the same", NULL},
      {"resolution", 'r', 0, G_OPTION_ARG_DOUBLE, &c.resolution,
          "Edge of the map's cells (default 1)", "METRES"},
      {"points", 0, 0, G_OPTION_ARG_INT, &c.points, "Most points of a scan (default 1500)", "N"},
      {"min-range", 0, 0, G_OPTION_ARG_DOUBLE, &c.min_range,
          "Leave out points nearer to the sensor (default 1)", "METRES"},
      {"max-range", 0, 0, G_OPTION_ARG_DOUBLE, &c.max_range,
          "Leave out points farther from the sensor; 0: none (default 60)", "METRES"},
      {"threads", 0, 0, G_OPTION_ARG_INT, &c.threads, "0: one a processor (default)", "N"},
      {"version", 0, 0, G_OPTION_ARG_NONE, &version, "Say the version", NULL},
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_STRING_ARRAY, &c.inputs, NULL, NULL},
      {NULL},
  };
  g_autoptr (GOptionContext) context =
      g_option_context_new ("NAME=SCANS... - finds the poses of sensors on a body");
  g_autoptr (GError) error = NULL;

  setlocale (LC_ALL, "");
  setlocale (LC_NUMERIC, "C");
  g_option_context_set_summary (context,
      "SCANS is a folder of PCD, PLY or LAS files whose names are times, or a recording. The "
      "sensors are found\n"
      "one by one: some scans are registered in the map from the sensor's --start, which may be "
      "off by\n"
      "metres and ten degrees; then the distances of all points from the planes of the map are "
      "minimized\n"
      "over the pose on the body and the time offset. It says which of these the drive tells.");
  g_option_context_add_main_entries (context, entries, NULL);
  int status;
  if (!g_option_context_parse (context, &argc, &argv, &error)) {
    g_printerr ("ndt-calibrate: %s\n", error->message);
    status = EXIT_USAGE;
  } else if (version) {
    puts ("ndt-calibrate " VERSION);
    status = EXIT_SUCCESS;
  } else {
    c.sensors = g_array_new (FALSE, FALSE, sizeof (Sensor));
    g_array_set_clear_func (c.sensors, clear_sensor);
    status = run (&c);
    g_array_unref (c.sensors);
  }
  g_clear_pointer (&c.map, ndt_voxel_map_unref);
  g_free (c.body);
  g_free (c.map_path);
  g_free (c.trajectory_path);
  g_free (c.output);
  g_free (c.picture);
  g_strfreev (c.starts);
  g_strfreev (c.inputs);
  return status;
}
