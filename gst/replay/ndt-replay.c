/* SPDX-License-Identifier: MIT */
/* ndt-replay: a recorded drive through ndtlocalize; a recording, trajectories and a report come
 * out. */
#include "ndt-replay.h"
#include "ndtcore/base/ndt-file.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gst/mcap/bag/bag-copy.h"
#include "gst/mcap/remote/remote-file.h"

static const gchar summary[] =
    "Localizes the drive RECORDING in MAP. RECORDING is an MCAP file or rosbag2 (a file, a folder, "
    "a\n"
    "pattern; of https://... and s3://BUCKET/KEY parts of an MCAP file are fetched), a pcap "
    "capture\n"
    "(with --decoder), or a folder of PCD files. START is where the "
    "drive\n"
    "begins: \"x,y,z\" or \"x,y,z,yaw\" (metres, degrees), \"search\" (the whole map), or "
    "\"auto\", the\n"
    "default: the line of --starts that names the recording, or the first pose on --start-topic "
    "or\n"
    "transform from \"map\" on /tf in its first 10 s, or the whole map. PROPERTY=VALUE is one of\n"
    "ndtlocalize. FOLDER (default: replay) gets\n"
    "\n"
    "  replay.mcap       of an MCAP file or rosbag2: all that it has, as it stands, and the new "
    "poses;\n"
    "                    of others the clouds with their poses\n"
    "  trajectory.txt    TUM: time x y z qx qy qz qw\n"
    "  trajectory.csv    a row a scan: status, pose, scores, error\n"
    "  report.json       inputs with sha256, result, statuses, gaps, fits, speeds; written last\n"
    "\n"
    "The same inputs, version and backend give the same bytes. The exit status is 0: localized, 3: "
    "not\n"
    "localized (no scan, less than half tracked, or lost at the end), 4: bad input, 5: no map, 6: "
    "the\n"
    "environment (disk, memory, device, plugins), 2: wrong usage, 130: interrupted.";

G_DEFINE_QUARK (ndt - replay - error - quark, ndt_replay_error)

const gchar *
ndt_replay_result_get_name (NdtReplayResult result)
{
  switch (result) {
  case NDT_REPLAY_LOCALIZED:
    return "localized";
  case NDT_REPLAY_USAGE:
    return "usage";
  case NDT_REPLAY_NOT_LOCALIZED:
    return "not-localized";
  case NDT_REPLAY_BAD_INPUT:
    return "bad-input";
  case NDT_REPLAY_NO_MAP:
    return "no-map";
  case NDT_REPLAY_ENVIRONMENT:
    return "environment";
  case NDT_REPLAY_INTERRUPTED:
    return "interrupted";
  case NDT_REPLAY_FAILED:
    break;
  }
  return "failed";
}

static NdtReplayResult
get_result (const GError *error)
{
  if (error->domain == NDT_REPLAY_ERROR)
    return (NdtReplayResult)error->code;
  return NDT_REPLAY_FAILED;
}

static gboolean
is_property (const gchar *argument)
{
  return g_regex_match_simple ("^[a-z][a-z0-9-]*=", argument, 0, 0);
}

static gboolean
take_arguments (NdtReplayOptions *options, gchar *const *arguments, GError **error)
{
  gchar **const places[] = {&options->recording, &options->map, &options->start, &options->folder};
  g_autoptr (GStrvBuilder) properties = g_strv_builder_new ();
  guint n = 0;

  for (guint i = 1; arguments[i]; i++) {
    if (is_property (arguments[i])) {
      g_strv_builder_add (properties, arguments[i]);
    } else if (n < G_N_ELEMENTS (places)) {
      *places[n++] = g_strstrip (g_strdup (arguments[i]));
    } else {
      g_set_error (error, NDT_REPLAY_ERROR, NDT_REPLAY_USAGE,
          "\"%s\" is not PROPERTY=VALUE of ndtlocalize", arguments[i]);
      return FALSE;
    }
  }
  options->properties = g_strv_builder_end (properties);
  if (n < 2)
    g_set_error (error, NDT_REPLAY_ERROR, NDT_REPLAY_USAGE, "RECORDING and MAP are needed");
  if (!options->start)
    options->start = g_strdup ("auto");
  if (!options->folder)
    options->folder = g_strdup ("replay");
  if (!options->prefix)
    options->prefix = g_strdup ("/ndt");
  if (!options->start_topic)
    options->start_topic = g_strdup ("/initialpose");
  return n >= 2;
}

static void
clear_options (NdtReplayOptions *options)
{
  gchar *const strings[] = {options->recording, options->map, options->start, options->folder,
      options->topic, options->prefix, options->start_topic, options->starts, options->decoder,
      options->reference, options->cache};

  for (guint i = 0; i < G_N_ELEMENTS (strings); i++)
    g_free (strings[i]);
  g_strfreev (options->properties);
}

/* Names as all elements and tools take them. What is no file or folder is not opened: a pipe or a
 * device may be waited for, or have no end. @location: replaced by the path. */
static gboolean
resolve (gchar **location, NdtReplayResult code, GError **error)
{
  g_autoptr (GError) failure = NULL;

  if (!*location || remote_is_location (*location))
    return TRUE;
  gchar *path = ndt_file_resolve (*location, &failure);
  if (!path) {
    g_set_error_literal (error, NDT_REPLAY_ERROR, code, failure->message);
    return FALSE;
  }
  g_free (*location);
  *location = path;
  if (!g_file_test (path, G_FILE_TEST_EXISTS) || g_file_test (path, G_FILE_TEST_IS_DIR) ||
      g_file_test (path, G_FILE_TEST_IS_REGULAR))
    return TRUE;
  g_set_error (error, NDT_REPLAY_ERROR, code,
      "%s is not a regular file but a pipe or a device: copy what it gives to a file first", path);
  return FALSE;
}

static gboolean
resolve_inputs (NdtReplayOptions *options, GError **error)
{
  return resolve (&options->recording, NDT_REPLAY_BAD_INPUT, error) &&
         resolve (&options->map, NDT_REPLAY_NO_MAP, error) &&
         resolve (&options->reference, NDT_REPLAY_USAGE, error) &&
         resolve (&options->starts, NDT_REPLAY_USAGE, error);
}

/* What can be told before anything is opened. */
static gboolean
check (const NdtReplayOptions *options, NdtReplayKind *kind, GError **error)
{
  g_autoptr (GError) failure = NULL;

  if (!g_str_equal (options->start, "auto") && !g_str_equal (options->start, "search")) {
    g_autoptr (GstPointCloudPose) pose =
        gst_point_cloud_pose_new_from_string (options->start, &failure);
    if (!pose) {
      g_set_error (error, NDT_REPLAY_ERROR, NDT_REPLAY_USAGE, "START \"%s\": %s", options->start,
          failure->message);
      return FALSE;
    }
  }
  if (!g_file_test (options->map, G_FILE_TEST_EXISTS)) {
    g_set_error (error, NDT_REPLAY_ERROR, NDT_REPLAY_NO_MAP, "there is no map %s", options->map);
    return FALSE;
  }
  if (options->reference && !g_file_test (options->reference, G_FILE_TEST_IS_REGULAR)) {
    g_set_error (error, NDT_REPLAY_ERROR, NDT_REPLAY_USAGE, "there is no file %s to compare with",
        options->reference);
    return FALSE;
  }
  if (!ndt_replay_find_kind (options->recording, kind, &failure)) {
    g_set_error_literal (error, NDT_REPLAY_ERROR, NDT_REPLAY_BAD_INPUT, failure->message);
    return FALSE;
  }
  if (*kind == NDT_REPLAY_CAPTURE && !options->decoder) {
    g_set_error (error, NDT_REPLAY_ERROR, NDT_REPLAY_USAGE,
        "%s is a capture of packets: --decoder names their decoder, velodynedec, ousterdec, "
        "hesaidec "
        "or robosensedec, with its properties",
        options->recording);
    return FALSE;
  }
  if (*kind == NDT_REPLAY_FOLDER && !(options->rate > 0)) {
    g_set_error (error, NDT_REPLAY_ERROR, NDT_REPLAY_USAGE,
        "%s is a folder of PCD files: --rate says how many scans a second there are",
        options->recording);
    return FALSE;
  }
  return TRUE;
}

/* All that a bag has with the poses between: not before both are whole. */
static gboolean
merge (const NdtReplayReport *report, const gchar *recorded, const gchar *output, GError **error)
{
  const NdtReplayOptions *options = report->options;
  gchar *const inputs[] = {options->recording, (gchar *)recorded, NULL};
  g_autoptr (GHashTable) about = g_hash_table_new (g_str_hash, g_str_equal);
  g_autofree gchar *properties = g_strjoinv (" ", options->properties);
  g_autofree gchar *warning = NULL;
  g_autoptr (GError) failure = NULL;
  BagCopyCounts counts;

  g_hash_table_insert (about, (gpointer) "version", (gpointer)VERSION);
  g_hash_table_insert (about, (gpointer) "backend", report->run->backend);
  g_hash_table_insert (about, (gpointer) "recording-sha256", report->recording_sha256);
  g_hash_table_insert (about, (gpointer) "map-sha256", report->map_sha256);
  g_hash_table_insert (about, (gpointer) "ndtlocalize", properties);
  if (!bag_copy_files (inputs, 1, output, MCAP_WRITER_COMPRESSION_LZ4, options->cache, "ndt-replay",
          about, NULL, &counts, &warning, &failure)) {
    g_set_error_literal (error, NDT_REPLAY_ERROR, NDT_REPLAY_ENVIRONMENT, failure->message);
    return FALSE;
  }
  return TRUE;
}

static gboolean
replay (NdtReplayReport *report, NdtReplayRun *run, NdtReplayStart *start, NdtReplayKind kind,
    GError **error)
{
  const NdtReplayOptions *options = report->options;
  g_autofree gchar *output = g_build_filename (options->folder, "replay.mcap", NULL);
  g_autofree gchar *poses = g_build_filename (options->folder, "poses.mcap.part", NULL);
  g_autofree gchar *clouds = g_build_filename (options->folder, "replay.mcap.part", NULL);
  const gchar *recorded = kind == NDT_REPLAY_BAG ? poses : clouds;
  g_autoptr (GError) failure = NULL;
  gboolean ok;

  g_remove (output);
  if (!ndt_replay_find_start (start, options, kind, &failure)) {
    g_set_error_literal (error, NDT_REPLAY_ERROR, NDT_REPLAY_BAD_INPUT, failure->message);
    return FALSE;
  }
  ok = ndt_replay_run (run, options, kind, start, recorded, error);
  if (ok && kind == NDT_REPLAY_BAG)
    ok = merge (report, recorded, output, error);
  else if (ok && g_rename (recorded, output) != 0) {
    g_set_error (
        error, NDT_REPLAY_ERROR, NDT_REPLAY_ENVIRONMENT, "%s: %s", output, g_strerror (errno));
    ok = FALSE;
  }
  g_remove (recorded);
  return ok;
}

/* The last line, for people and programs. */
static void
print_line (const NdtReplayReport *report)
{
  const NdtReplayRun *run = report->run;
  const guint n_scans = run->scans ? run->scans->len : 0;
  NdtReplayErrors errors;

  printf ("result=%s scans=%u tracked=%" G_GUINT64_FORMAT " degraded=%" G_GUINT64_FORMAT
          " predicted=%" G_GUINT64_FORMAT " lost=%" G_GUINT64_FORMAT,
      ndt_replay_result_get_name (report->result), n_scans, ndt_replay_get_count (run, "tracking"),
      ndt_replay_get_count (run, "degraded"), ndt_replay_get_count (run, "skipped"),
      ndt_replay_get_count (run, "lost") + ndt_replay_get_count (run, "initializing"));
  ndt_replay_read_errors (report->options->folder, &errors);
  if (n_scans > 0 && errors.n > 0)
    printf (" compared=%u mean_error_m=%.4f mean_error_deg=%.4f max_error_m=%.4f", errors.n,
        errors.mean_m, errors.mean_deg, errors.max_m);
  puts ("");
}

/* What is fetched of a recording is fetched once, though it is read twice: for its clouds, and for
 * all that it has. */
static gboolean
make_cache (NdtReplayOptions *options)
{
  if (!remote_is_location (options->recording))
    return TRUE;
  options->cache = g_build_filename (options->folder, "fetched.part", NULL);
  return g_mkdir_with_parents (options->cache, 0700) == 0;
}

static void
remove_folder (const gchar *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const gchar *name;

  while (dir && (name = g_dir_read_name (dir))) {
    g_autofree gchar *path = g_build_filename (folder, name, NULL);
    if (g_remove (path) != 0 && errno != ENOENT)
      remove_folder (path);
  }
  g_rmdir (folder);
}

static NdtReplayResult
run_drive (NdtReplayOptions *options)
{
  NdtReplayRun run = {0};
  NdtReplayStart start = {.source = "search"};
  NdtReplayReport report = {.options = options, .start = &start, .run = &run};
  NdtReplayKind kind = NDT_REPLAY_BAG;
  g_autofree gchar *path = g_build_filename (options->folder, "report.json", NULL);
  g_autofree gchar *json = NULL;
  g_autoptr (GError) error = NULL;

  if (g_mkdir_with_parents (options->folder, 0777) != 0 || !make_cache (options)) {
    fprintf (stderr, "ndt-replay: %s: %s\n", options->folder, g_strerror (errno));
    return NDT_REPLAY_ENVIRONMENT;
  }
  g_autoptr (GError) unread = NULL;
  const gboolean is_resolved = resolve_inputs (options, &error);
  if (is_resolved) {
    report.recording_sha256 =
        ndt_replay_digest (options->recording, options->cache, &report.recording_size, &unread);
    report.map_sha256 = ndt_replay_digest (options->map, NULL, &report.map_size, NULL);
  }
  gboolean done = options->resume && ndt_replay_report_is_done (&report, &report.result);
  if (done) {
    printf ("result=%s done before, see %s\n", ndt_replay_result_get_name (report.result), path);
  } else {
    g_remove (path);
    if (!is_resolved || !check (options, &kind, &error) ||
        !replay (&report, &run, &start, kind, &error)) {
      /* A server that does not answer may do so another time; the recording is not to blame. */
      report.result = g_error_matches (unread, REMOTE_ERROR, REMOTE_ERROR_UNREACHABLE)
                          ? NDT_REPLAY_ENVIRONMENT
                          : get_result (error);
      report.problem = error->message;
    } else if (run.interrupted) {
      report.result = NDT_REPLAY_INTERRUPTED;
      report.problem = "interrupted: the results end there";
    } else if (!ndt_replay_judge (&run, &report.problem)) {
      report.result = NDT_REPLAY_NOT_LOCALIZED;
    }
    if (report.problem)
      fprintf (stderr, "ndt-replay: %s\n", report.problem);
    json = ndt_replay_report_to_json (&report);
    g_clear_error (&error);
    /* Written beside it and renamed: a report that is there is whole. */
    if (!g_file_set_contents (path, json, -1, &error)) {
      fprintf (stderr, "ndt-replay: %s\n", error->message);
      report.result = NDT_REPLAY_ENVIRONMENT;
    }
    print_line (&report);
  }
  if (options->cache)
    remove_folder (options->cache);
  g_free (report.recording_sha256);
  g_free (report.map_sha256);
  ndt_replay_start_clear (&start);
  ndt_replay_run_clear (&run);
  return report.result;
}

/* With FOLDER on a server the results are made here and sent when all is done. */
static NdtReplayResult
run_and_send (NdtReplayOptions *options)
{
  g_autofree gchar *location = g_steal_pointer (&options->folder);
  g_autofree gchar *shown = remote_redact (location);
  g_autoptr (GError) error = NULL;

  options->folder = g_dir_make_tmp ("ndt-replay-XXXXXX", &error);
  if (!options->folder) {
    fprintf (stderr, "ndt-replay: %s\n", error->message);
    return NDT_REPLAY_ENVIRONMENT;
  }
  options->resume = options->resume && ndt_replay_fetch_report (location, options->folder);
  NdtReplayResult result = run_drive (options);
  if (!ndt_replay_send_results (options->folder, location, &error)) {
    fprintf (stderr, "ndt-replay: results cannot be sent to %s: %s\n", shown, error->message);
    result = NDT_REPLAY_ENVIRONMENT;
  }
  remove_folder (options->folder);
  return result;
}

int
main (int argc, char **argv)
{
  NdtReplayOptions options = {0};
  gboolean version = FALSE;
  const GOptionEntry entries[] = {
      {"topic", 0, 0, G_OPTION_ARG_STRING, &options.topic, "Of the clouds (default: the first)",
          "TOPIC"},
      {"decoder", 0, 0, G_OPTION_ARG_STRING, &options.decoder,
          "Of a capture, as on a launch line: \"hesaidec calibration-location=at128.dat\"",
          "ELEMENT"},
      {"rate", 0, 0, G_OPTION_ARG_DOUBLE, &options.rate, "Scans a second of a folder of PCD files",
          "HZ"},
      {"starts", 0, 0, G_OPTION_ARG_FILENAME, &options.starts,
          "Table of first poses: lines RECORDING,x,y,z[,yaw]", "FILE"},
      {"start-topic", 0, 0, G_OPTION_ARG_STRING, &options.start_topic,
          "Of a first pose in the recording (default: /initialpose)", "TOPIC"},
      {"prefix", 0, 0, G_OPTION_ARG_STRING, &options.prefix,
          "Of the topics that are added: pose, odom, tf, diagnostics (default: /ndt)", "TOPIC"},
      {"reference", 0, 0, G_OPTION_ARG_FILENAME, &options.reference,
          "Trajectory that errors are computed against, by time (default: the recording's true "
          "poses)",
          "FILE"},
      {"realtime", 0, 0, G_OPTION_ARG_NONE, &options.realtime,
          "At the speed of the recording, not as fast as it goes", NULL},
      {"resume", 0, 0, G_OPTION_ARG_NONE, &options.resume,
          "Do nothing where FOLDER has the report of the same inputs; what was killed starts over",
          NULL},
      {"version", 0, 0, G_OPTION_ARG_NONE, &version, "Print the version", NULL},
      {NULL, 0, 0, 0, NULL, NULL, NULL},
  };
  NdtReplayResult result = NDT_REPLAY_USAGE;
  g_autoptr (GError) error = NULL;

  setlocale (LC_ALL, "");
  setlocale (LC_NUMERIC, "C");
  g_autoptr (GOptionContext) context = g_option_context_new (
      "RECORDING MAP [START [FOLDER]] [PROPERTY=VALUE...] - localizes a recorded drive");
  g_option_context_set_summary (context, summary);
  g_option_context_add_main_entries (context, entries, NULL);
  /* A pose may begin with a minus, and is no option. */
  g_auto (GStrv) arguments = g_new0 (gchar *, argc + 1);
  for (gint i = 0; i < argc; i++) {
    const gboolean is_number = argv[i][0] == '-' && strspn (argv[i] + 1, "0123456789.") > 0;
    arguments[i] = g_strconcat (is_number ? " " : "", argv[i], NULL);
  }
  if (g_option_context_parse_strv (context, &arguments, &error) && version) {
    puts ("ndt-replay " VERSION);
    result = NDT_REPLAY_LOCALIZED;
  } else if (error || !take_arguments (&options, arguments, &error) ||
             !resolve (&options.folder, NDT_REPLAY_USAGE, &error)) {
    fprintf (stderr, "ndt-replay: %s; --help lists what there is\n", error->message);
  } else {
    gst_init (NULL, NULL);
    result = remote_is_location (options.folder) ? run_and_send (&options) : run_drive (&options);
  }
  clear_options (&options);
  return (int)result;
}
