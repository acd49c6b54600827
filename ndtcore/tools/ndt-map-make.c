/* SPDX-License-Identifier: MIT */
/* ndt-map make: a map of a drive, without poses from elsewhere. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <glib/gstdio.h>

#include "ndt-make-state.h"
#include "ndt-map-tool.h"
#include "ndt-point-set.h"
#include "scans/ndt-scan-source.h"
#include "ndtcore/base/ndt-file.h"
#include "ndtcore/cloudfile/ndt-georeference.h"
#include "ndtcore/cloudfile/ndt-pcd.h"
#include "ndtcore/posefile/ndt-trajectory.h"
#include "ndtcore/mapping/ndt-map-clean.h"
#include "ndtcore/mapping/ndt-map-maker.h"

/* Metres around a sensor that points are judged in, whether they moved. */
#define CLEAN_RANGE 40.0
/* Standard deviation of given positions that do not say it, metres. */
#define DEFAULT_SIGMA 0.5
/* Receivers promise more than they keep: the least that is believed, metres. */
#define LEAST_SIGMA 0.01
/* Metres from the origin at which a float has steps of 0.5 mm: maps that go farther have doubles.
 */
#define FLOAT_RANGE 8192.0

typedef struct {
  gchar *output;
  double leaf;
  double resolution;
  double min_range;
  double max_range;
  gboolean keep_moved;
  double sigma;      /* NAN: what the recording says, else DEFAULT_SIGMA */
  double sigma_turn; /* degrees; 0: rotations are not used */
  guint n_threads;
  gboolean resume;
  NdtScanOptions scans;
  gchar **inputs;

  GArray *times; /* gint64, of the scans */
  NdtMapProgress progress;
  guint64 n_points;
  guint counts[NDT_ODOMETRY_SKIPPED + 1];
  gboolean has_times;    /* of points */
  double mean_deviation; /* standard deviation of positions, metres */
  double worst_deviation;
  NdtGeoreference georeference; /* of a recording's fixes */
  NdtMakeState *state;          /* NULL: not kept */
} Make;

/* What is kept of this structure for a run that goes on. */
typedef struct {
  guint64 n_points;
  guint counts[NDT_ODOMETRY_SKIPPED + 1];
  guint has_times;
  NdtGeoreference georeference;
} Kept;

static GByteArray *
keep (const Make *make)
{
  GByteArray *out = g_byte_array_new ();
  Kept kept;
  memset (&kept, 0, sizeof kept);
  kept.n_points = make->n_points;
  memcpy (kept.counts, make->counts, sizeof kept.counts);
  kept.has_times = (guint)make->has_times;
  kept.georeference = make->georeference;
  g_byte_array_append (out, (const guint8 *)&kept, sizeof kept);
  ndt_saved_append_array (out, make->times);
  return out;
}

/* From where an earlier run was, if there is one. */
static gboolean
resume (Make *make, NdtMapMaker *maker, GError **error)
{
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  Kept kept;
  if (!ndt_make_state_restore (make->state, maker, bytes, error))
    return FALSE;
  NdtSaved saved = {bytes->data, bytes->len};
  if (!ndt_saved_take (&saved, &kept, sizeof kept) || !ndt_saved_take_array (&saved, make->times))
    return TRUE;
  make->n_points = kept.n_points;
  memcpy (make->counts, kept.counts, sizeof kept.counts);
  make->has_times = kept.has_times != 0;
  make->georeference = kept.georeference;
  g_printerr (
      "ndt-map: an earlier run had %u scans: goes on there\n", ndt_map_maker_get_n_scans (maker));
  return TRUE;
}

/* The pose that is given for a scan; of a scan with motion the one in its middle. */
static void
add_fix (Make *make, NdtMapMaker *maker, const NdtScan *scan)
{
  NdtPose pose;
  if (!scan->pose)
    return;
  if (scan->ends)
    ndt_pose_interpolate (&scan->ends[0], &scan->ends[1], 0.5, &pose);
  else
    pose = *scan->pose;
  double sigma[2];
  for (guint k = 0; k < 2; k++)
    sigma[k] = !isnan (make->sigma) ? make->sigma
               : scan->sigma[k] > 0 ? MAX (scan->sigma[k], LEAST_SIGMA)
                                    : DEFAULT_SIGMA;
  /* A receiver tells no rotation. */
  const double turn =
      make->sigma_turn > 0 && !scan->origin ? make->sigma_turn * G_PI / 180 : INFINITY;
  ndt_map_maker_add_fix (maker, &pose, sigma[0], sigma[1], turn);
  if (scan->origin && !make->georeference.has_map_origin)
    ndt_georeference_set_local (
        &make->georeference, scan->origin[0], scan->origin[1], scan->origin[2]);
}

static gboolean
add_scan (Make *make, NdtMapMaker *maker, const NdtScan *scan, GError **error)
{
  const NdtOdometryScan in = {
      .points = scan->points, .time = scan->time, .point_times = scan->times};
  NdtOdometryResult result;
  make->has_times = make->has_times || scan->times.data;
  make->n_points += scan->points.n_points;
  g_array_append_val (make->times, scan->time);
  if (!ndt_map_maker_add (maker, &in, &result, error))
    return FALSE;
  make->counts[result.status]++;
  add_fix (make, maker, scan);
  if (!make->state)
    return TRUE;
  g_autoptr (GByteArray) kept = keep (make);
  return ndt_make_state_add (make->state, scan, maker, kept, error);
}

/* ---- What is written ---- */

static gboolean
write_text (const Make *make, const gchar *name, const GString *text, GError **error)
{
  g_autofree gchar *path = g_build_filename (make->output, name, NULL);
  return g_file_set_contents (path, text->str, (gssize)text->len, error);
}

static gboolean
write_poses (const Make *make, const NdtMapMaker *maker, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  for (guint i = 0; i < ndt_map_maker_get_n_scans (maker); i++) {
    NdtPose pose;
    NdtTrajectoryRecord record = {
        .index = i, .time = g_array_index (make->times, gint64, i), .status = "tracking"};
    if (ndt_map_maker_get_pose (maker, i, &pose))
      record.pose = &pose;
    ndt_trajectory_write_line (text, NDT_TRAJECTORY_TUM, &record);
  }
  return write_text (make, "poses.txt", text, error);
}

/* The upper triangle, row by row, of x, y, z and the rotations about these. */
static gboolean
write_covariances (Make *make, const NdtMapMaker *maker, GError **error)
{
  static const gchar axes[] = "xyzabc";
  const guint n = ndt_map_maker_get_n_scans (maker);
  g_autoptr (GString) text = g_string_new ("scan");
  double sum = 0;
  for (guint i = 0; i < 6; i++)
    for (guint j = i; j < 6; j++)
      g_string_append_printf (text, ",%c%c", axes[i], axes[j]);
  g_string_append_c (text, '\n');
  for (guint k = 0; k < n; k++) {
    double c[36];
    ndt_map_maker_get_covariance (maker, k, c);
    g_string_append_printf (text, "%u", k);
    for (guint i = 0; i < 6; i++)
      for (guint j = i; j < 6; j++)
        g_string_append_printf (text, ",%.6g", c[6 * i + j]);
    g_string_append_c (text, '\n');
    const double deviation = sqrt (MAX (c[0] + c[7] + c[14], 0));
    sum += deviation;
    make->worst_deviation = MAX (make->worst_deviation, deviation);
  }
  make->mean_deviation = sum / MAX (n, 1);
  return write_text (make, "covariances.csv", text, error);
}

static void
append_edge (
    GString *text, const gchar *kind, const NdtPoseEdge *edge, const gchar *verdict, double fit)
{
  g_string_append_printf (text, "%s,%u,%u,%s,%.3f,%.4f,%.3f\n", kind, edge->a, edge->b, verdict,
      fit, edge->residual, edge->residual_turn * 180 / G_PI);
}

static gboolean
write_edges (const Make *make, const NdtMapMaker *maker, GError **error)
{
  const GArray *edges = ndt_map_maker_get_edges (maker);
  const GArray *closures = ndt_map_maker_get_closures (maker);
  const GArray *fixes = ndt_map_maker_get_fixes (maker);
  g_autoptr (GString) text = g_string_new ("kind,from,to,verdict,fit,residual_m,residual_deg\n");
  for (guint i = 0; i < edges->len; i++)
    append_edge (text, "odometry", &g_array_index (edges, NdtPoseEdge, i), "accepted", 1);
  for (guint i = 0; i < fixes->len; i++)
    append_edge (text, "pose", &g_array_index (fixes, NdtPoseEdge, i), "accepted", 1);
  for (guint i = 0; i < closures->len; i++) {
    const NdtClosure *closure = &g_array_index (closures, NdtClosure, i);
    append_edge (text, "closure", &closure->edge, ndt_closure_verdict_to_string (closure->verdict),
        closure->fit);
  }
  return write_text (make, "edges.csv", text, error);
}

/* The points of all key scans in the map. */
static double *
join_points (const Make *make, const GArray *keys, gsize *n, GError **error)
{
  g_autoptr (NdtPointSet) set = ndt_point_set_new (make->leaf);
  for (guint i = 0; i < keys->len; i++) {
    const NdtKeyScan *key = &g_array_index (keys, NdtKeyScan, i);
    for (guint k = 0; k < key->n_points; k++) {
      const float *f = key->points + 3 * k;
      double p[3] = {(double)f[0], (double)f[1], (double)f[2]};
      ndt_pose_transform_point (&key->sensor, p, p);
      if (!ndt_point_set_add (set, p, error))
        return NULL;
    }
  }
  *n = ndt_point_set_get_n_points (set);
  double *xyz = g_new (double, 3 * *n + 1);
  for (gsize i = 0; i < *n; i++)
    ndt_point_set_get (set, i, xyz + 3 * i);
  return xyz;
}

static gboolean
write_map (
    const Make *make, const NdtMapMaker *maker, gsize *n_written, gsize *n_moved, GError **error)
{
  const GArray *keys = ndt_map_maker_get_keys (maker);
  gsize n, kept = 0;
  g_autofree double *xyz = join_points (make, keys, &n, error);
  if (!xyz)
    return FALSE;
  g_autofree guint8 *moved = g_new0 (guint8, n + 1);
  *n_moved = make->keep_moved ? 0 : ndt_map_clean (xyz, n, keys, CLEAN_RANGE, moved);
  double farthest = 0;
  for (gsize i = 0; i < n; i++) {
    if (moved[i])
      continue;
    for (guint k = 0; k < 3; k++) {
      xyz[3 * kept + k] = xyz[3 * i + k];
      farthest = MAX (farthest, fabs (xyz[3 * i + k]));
    }
    kept++;
  }
  *n_written = kept;
  g_autofree gchar *path = g_build_filename (make->output, "map.pcd", NULL);
  if (farthest > FLOAT_RANGE) {
    const NdtCloudView wide = ndt_cloud_view_xyz_f64 (xyz, kept);
    return ndt_pcd_write (path, &wide, NDT_PCD_BINARY, error);
  }
  g_autofree float *out = g_new (float, 3 * kept + 1);
  for (gsize i = 0; i < 3 * kept; i++)
    out[i] = (float)xyz[i];
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (out, kept);
  return ndt_pcd_write (path, &view, NDT_PCD_BINARY, error);
}

/* That of the poses, which the map is in. */
static gboolean
write_georeference (const Make *make, GError **error)
{
  NdtGeoreference georeference = make->georeference;
  if (make->scans.trajectory &&
      !ndt_georeference_find (make->scans.trajectory, &georeference, error))
    return FALSE;
  if (ndt_georeference_is_empty (&georeference))
    return TRUE;
  g_autofree gchar *contents = ndt_georeference_to_text (&georeference);
  g_autoptr (GString) text = g_string_new (contents);
  return write_text (make, NDT_GEOREFERENCE_NAME, text, error);
}

static void
print_fixes (const NdtMapMaker *maker)
{
  const GArray *fixes = ndt_map_maker_get_fixes (maker);
  double sum = 0, worst = 0;
  for (guint i = 0; i < fixes->len; i++) {
    const double residual = g_array_index (fixes, NdtPoseEdge, i).residual;
    sum += residual;
    worst = MAX (worst, residual);
  }
  printf ("given poses: %u used; residuals %.3f m in the mean, %.3f m at most\n", fixes->len,
      sum / MAX (fixes->len, 1), worst);
}

static void
print_report (const Make *make, const NdtMapMaker *maker, gsize n_written, gsize n_moved)
{
  const GArray *closures = ndt_map_maker_get_closures (maker);
  guint n_closed = 0;
  double worst = 0, worst_turn = 0;
  for (guint i = 0; i < closures->len; i++) {
    const NdtClosure *closure = &g_array_index (closures, NdtClosure, i);
    if (closure->verdict != NDT_CLOSURE_ACCEPTED)
      continue;
    n_closed++;
    worst = MAX (worst, closure->edge.residual);
    worst_turn = MAX (worst_turn, closure->edge.residual_turn);
  }
  printf ("scans: %u, of these tracked %u, degraded %u, skipped %u, restarted %u\n",
      ndt_map_maker_get_n_scans (maker),
      make->counts[NDT_ODOMETRY_TRACKED] + make->counts[NDT_ODOMETRY_STARTED],
      make->counts[NDT_ODOMETRY_DEGRADED], make->counts[NDT_ODOMETRY_SKIPPED],
      make->counts[NDT_ODOMETRY_RESTARTED]);
  printf ("motion within scans: %s\n",
      make->has_times ? "compensated" : "not compensated, points have no times");
  printf ("closures: %u accepted, %u refused; largest residual %.3f m, %.3f degrees\n", n_closed,
      closures->len - n_closed, worst, worst_turn * 180 / G_PI);
  if (make->scans.with_poses)
    print_fixes (maker);
  printf ("standard deviation of positions: %.3f m in the mean, %.3f m at most\n",
      make->mean_deviation, make->worst_deviation);
  printf ("points that moved: %" G_GSIZE_FORMAT "\n", n_moved);
  printf ("points written: %" G_GSIZE_FORMAT "\n", n_written);
}

/* ---- The command ---- */

static void
show_progress (guint done, guint all, gpointer data)
{
  Make *make = data;
  make->progress.n_all = all;
  ndt_map_progress_step (&make->progress, done, 0);
}

static gboolean
make_map (Make *make, NdtMapMaker *maker, NdtScanSource *source, GError **error)
{
  guint64 done, all;
  const NdtScan *scan;
  GError *failure = NULL;
  const gchar *what = ndt_scan_source_get_progress (source, &done, &all);
  ndt_map_progress_start (&make->progress, what, all);
  while (!failure && make->state && ndt_make_state_is_behind (make->state)) {
    scan = ndt_scan_source_next (source, &failure);
    if (!failure)
      ndt_make_state_skip (make->state, scan, &failure);
  }
  while (!failure && (scan = ndt_scan_source_next (source, &failure))) {
    ndt_scan_source_get_progress (source, &done, &all);
    ndt_map_progress_step (&make->progress, done, make->n_points);
    add_scan (make, maker, scan, &failure);
  }
  ndt_map_progress_end (&make->progress);
  if (failure) {
    g_propagate_error (error, failure);
    return FALSE;
  }
  ndt_map_progress_start (&make->progress, "places", 0);
  if (!make->state)
    return ndt_map_maker_close (maker, show_progress, make, error);
  return ndt_make_state_begin_closures (make->state, maker, error) &&
         ndt_map_maker_close (maker, show_progress, make, error) &&
         ndt_make_state_end_closures (make->state, error);
}

static int
run_make (Make *make, GOptionContext *context)
{
  NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  NdtMapMakerParams params;
  gsize n_written, n_moved;
  g_autoptr (GError) error = NULL;

  if (!make->inputs || !make->output)
    return ndt_map_report_usage (context, "make needs scans and --output");
  if (!(make->leaf >= 0) || !(make->scans.period > 0 && make->scans.period <= 3600))
    return ndt_map_report_usage (context, "--leaf is 0 or more, --period more than 0");
  if (!(isnan (make->sigma) || (make->sigma > 0 && make->sigma <= 1000)) ||
      !(make->sigma_turn >= 0 && make->sigma_turn <= 180))
    return ndt_map_report_usage (context, "--sigma is above 0, --sigma-turn 0 to 180");
  make->scans.with_fixes = TRUE;
  make->scans.with_poses = make->scans.with_poses || make->scans.trajectory;
  ndt_map_maker_params_init (&params);
  params.odometry.resolution = make->resolution;
  params.odometry.leaf_size = make->resolution / 3;
  params.odometry.min_range = make->min_range;
  params.odometry.max_range = make->max_range;
  if (!ndt_odometry_params_check (&params.odometry, &error))
    return ndt_map_report_usage (context, error->message);
  config.n_threads = make->n_threads;

  g_autofree gchar *output = ndt_file_resolve (make->output, &error);
  if (!output)
    return ndt_map_report_usage (NULL, error->message);
  g_free (make->output);
  make->output = g_steal_pointer (&output);
  g_autoptr (NdtScanSource) source = ndt_scan_source_new (make->inputs, &make->scans, NULL, &error);
  if (!source)
    return ndt_map_report (error);
  if (g_mkdir_with_parents (make->output, 0777) != 0) {
    g_printerr ("ndt-map: %s cannot be made: %s\n", make->output, g_strerror (errno));
    return EXIT_FAILURE;
  }
  g_autoptr (NdtBackend) backend = ndt_backend_open_cpu (&config, &error);
  g_autoptr (NdtMapMaker) maker = backend ? ndt_map_maker_new (backend, &params, &error) : NULL;
  if (!maker)
    return ndt_map_report (error);
  if (make->resume) {
    /* The options that poses depend on; those that scans depend on are told by the scans. */
    g_autofree gchar *options = g_strdup_printf (VERSION " %.17g %.17g %.17g %.17g %.17g",
        make->resolution, make->min_range, make->max_range, make->sigma, make->sigma_turn);
    make->state = ndt_make_state_open (make->output, options, &error);
    if (!make->state || !resume (make, maker, &error))
      return ndt_map_report (error);
  }
  const gboolean made = make_map (make, maker, source, &error);
  ndt_map_progress_end (&make->progress);
  if (!made || !write_map (make, maker, &n_written, &n_moved, &error) ||
      !write_poses (make, maker, &error) || !write_edges (make, maker, &error) ||
      !write_covariances (make, maker, &error) || !write_georeference (make, &error))
    return ndt_map_report (error);
  if (make->state)
    ndt_make_state_remove (make->state);
  print_report (make, maker, n_written, n_moved);
  if (make->counts[NDT_ODOMETRY_RESTARTED] > 0)
    g_printerr (
        "ndt-map: %u times scans fit nowhere on those before, and the poses around them are "
        "predictions: drive slower there, or set another --resolution\n",
        make->counts[NDT_ODOMETRY_RESTARTED]);
  return EXIT_SUCCESS;
}

int
ndt_map_command_make (int argc, char **argv)
{
  NdtMapMakerParams defaults;
  ndt_map_maker_params_init (&defaults);
  gint n_threads = 0;
  Make make = {.leaf = 0.2,
      .scans = {.period = 0.1},
      .resolution = defaults.odometry.resolution,
      .min_range = defaults.odometry.min_range,
      .max_range = defaults.odometry.max_range,
      .sigma = NAN};
  const GOptionEntry entries[] = {
      {"output", 'o', 0, G_OPTION_ARG_FILENAME, &make.output,
          "Folder to write map.pcd, poses.txt, covariances.csv and edges.csv to", "FOLDER"},
      {"leaf", 'l', 0, G_OPTION_ARG_DOUBLE, &make.leaf,
          "Keep the centroid of each cube of this edge (default 0.2); 0: all points", "METRES"},
      {"period", 'p', 0, G_OPTION_ARG_DOUBLE, &make.scans.period,
          "From scan to scan (default 0.1), where names are no times", "SECONDS"},
      NDT_SCAN_RECORDING_ENTRIES (make.scans),
      {"resolution", 0, 0, G_OPTION_ARG_DOUBLE, &make.resolution,
          "Edge of the cells that scans are aligned to (default 1.2); smaller indoors", "METRES"},
      {"min-range", 0, 0, G_OPTION_ARG_DOUBLE, &make.min_range,
          "Leave out points nearer to the sensor (default 1)", "METRES"},
      {"max-range", 0, 0, G_OPTION_ARG_DOUBLE, &make.max_range,
          "Leave out points farther from the sensor (default 100)", "METRES"},
      {"trajectory", 't', 0, G_OPTION_ARG_FILENAME, &make.scans.trajectory,
          "Poses of the sensor from elsewhere (GNSS, a survey): the map is in their frame", "FILE"},
      {"recorded-poses", 0, 0, G_OPTION_ARG_NONE, &make.scans.with_poses,
          "The same of those that are in the recording: poses, else NavSatFix, else transforms",
          NULL},
      {"map-origin", 0, 0, G_OPTION_ARG_STRING, &make.scans.map_origin,
          "Where on Earth NavSatFix are counted from (default: the first one)", "LAT,LON,ALT"},
      {"sigma", 0, 0, G_OPTION_ARG_DOUBLE, &make.sigma,
          "Standard deviation of these positions (default: as recorded, else 0.5)", "METRES"},
      {"sigma-turn", 0, 0, G_OPTION_ARG_DOUBLE, &make.sigma_turn,
          "Of these rotations; 0: they are not used (default)", "DEGREES"},
      NDT_SCAN_POSE_ENTRIES (make.scans),
      {"keep-moved", 0, 0, G_OPTION_ARG_NONE, &make.keep_moved,
          "Keep points of what moved meanwhile", NULL},
      {"resume", 0, 0, G_OPTION_ARG_NONE, &make.resume,
          "Keep what is done in FOLDER.resume until the map is written, and go on where an "
          "interrupted run was",
          NULL},
      {"n-threads", 0, 0, G_OPTION_ARG_INT, &n_threads,
          "Threads (default 0: one per processor); the map does not depend on it", "N"},
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &make.inputs, NULL, NULL},
      {NULL},
  };
  g_autoptr (GOptionContext) context =
      g_option_context_new ("SCAN... - makes a map of a drive from its scans alone");
  g_autoptr (GError) error = NULL;
  g_option_context_set_summary (context,
      "Scans are PCD files, or folders of them, taken in the order of names, numbers by their\n"
      "value, or a recording (MCAP, rosbag2), or a capture (pcap) with its --decoder. Odometry, "
      "closures where the drive comes by a place again, and a map without what\n"
      "moved. The map's origin is the sensor at the first scan.");
  g_option_context_add_main_entries (context, entries, NULL);
  int status;
  make.times = g_array_new (FALSE, FALSE, sizeof (gint64));
  if (!g_option_context_parse (context, &argc, &argv, &error))
    status = ndt_map_report_usage (context, error->message);
  else if (n_threads < 0 || n_threads > 256)
    status = ndt_map_report_usage (context, "--n-threads is 0 to 256");
  else {
    make.n_threads = (guint)n_threads;
    status = run_make (&make, context);
  }
  g_clear_pointer (&make.state, ndt_make_state_free);
  g_array_unref (make.times);
  g_free (make.output);
  ndt_scan_options_clear (&make.scans);
  g_strfreev (make.inputs);
  return status;
}
