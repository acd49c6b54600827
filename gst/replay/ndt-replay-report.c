/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "gst/mcap/remote/remote-file.h"
#include "ndt-replay.h"

/* Raised when a member changes its meaning. */
#define FORMAT 1

/* Digests */

static gchar *
digest_file (const gchar *path, guint64 *size, GError **error)
{
  g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);
  g_autofree guint8 *bytes = g_malloc (1 << 20);
  const int fd = open (path, O_RDONLY | O_CLOEXEC);
  gssize n = fd < 0 ? -1 : 1;

  while (n > 0) {
    n = read (fd, bytes, 1 << 20);
    if (n > 0) {
      g_checksum_update (sum, bytes, n);
      *size += (guint64)n;
    } else if (n < 0 && errno == EINTR) {
      n = 1;
    }
  }
  const int code = errno;
  if (fd >= 0)
    close (fd);
  if (n < 0) {
    g_set_error (
        error, G_FILE_ERROR, g_file_error_from_errno (code), "%s: %s", path, g_strerror (code));
    return NULL;
  }
  return g_strdup (g_checksum_get_string (sum));
}

static gint
compare_strings (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const gchar *const *)a, *(const gchar *const *)b);
}

gchar *
ndt_replay_digest (const gchar *path, const gchar *cache, guint64 *size, GError **error)
{
  *size = 0;
  if (remote_is_location (path)) {
    g_autoptr (RemoteFile) file = remote_file_open (path, cache, NULL, error);
    if (!file)
      return NULL;
    *size = remote_file_get_size (file);
    const gchar *etag = remote_file_get_etag (file);
    return etag ? g_strconcat ("etag:", etag, NULL) : NULL;
  }
  if (!g_file_test (path, G_FILE_TEST_IS_DIR))
    return digest_file (path, size, error);

  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);
  g_autoptr (GDir) dir = g_dir_open (path, 0, error);
  const gchar *name;
  if (!dir)
    return NULL;
  while ((name = g_dir_read_name (dir)))
    g_ptr_array_add (names, g_strdup (name));
  g_ptr_array_sort (names, compare_strings);
  for (guint i = 0; i < names->len; i++) {
    g_autofree gchar *file = g_build_filename (path, names->pdata[i], NULL);
    if (!g_file_test (file, G_FILE_TEST_IS_REGULAR))
      continue;
    g_autofree gchar *digest = digest_file (file, size, error);
    if (!digest)
      return NULL;
    g_autofree gchar *line = g_strdup_printf ("%s  %s\n", digest, (gchar *)names->pdata[i]);
    g_checksum_update (sum, (const guint8 *)line, -1);
  }
  return g_strdup (g_checksum_get_string (sum));
}

/* The report */

static void
add_string (JsonBuilder *json, const gchar *name, const gchar *value)
{
  json_builder_set_member_name (json, name);
  if (value) {
    g_autofree gchar *valid = g_utf8_make_valid (value, -1);
    json_builder_add_string_value (json, valid);
  } else {
    json_builder_add_null_value (json);
  }
}

static void
add_int (JsonBuilder *json, const gchar *name, guint64 value)
{
  json_builder_set_member_name (json, name);
  json_builder_add_int_value (json, (gint64)value);
}

/* JSON has no number that is none. */
static void
add_double (JsonBuilder *json, const gchar *name, gdouble value)
{
  json_builder_set_member_name (json, name);
  if (isfinite (value))
    json_builder_add_double_value (json, value);
  else
    json_builder_add_null_value (json);
}

/* Seconds since the first scan; null where there is no time. */
static gdouble
since (const NdtReplayRun *run, GstClockTime time)
{
  const GstClockTime first = g_array_index (run->scans, NdtReplayScan, 0).time;

  if (!GST_CLOCK_TIME_IS_VALID (time) || !GST_CLOCK_TIME_IS_VALID (first))
    return NAN;
  return time >= first ? (gdouble)(time - first) * 1e-9 : -((gdouble)(first - time) * 1e-9);
}

static gint
compare_doubles (gconstpointer a, gconstpointer b)
{
  const gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;

  return (x > y) - (x < y);
}

/* The number at rank ⌈q·n⌉ of those sorted. */
static void
add_quantiles (JsonBuilder *json, const gchar *name, GArray *values)
{
  static const struct {
    const gchar *name;
    gdouble q;
  } quantiles[] = {{"p05", 0.05}, {"p50", 0.5}, {"p95", 0.95}, {"p99", 0.99}, {"max", 1}};

  json_builder_set_member_name (json, name);
  json_builder_begin_object (json);
  g_array_sort (values, compare_doubles);
  for (guint i = 0; values->len > 0 && i < G_N_ELEMENTS (quantiles); i++) {
    const guint rank = (guint)ceil (quantiles[i].q * values->len);
    add_double (json, quantiles[i].name, g_array_index (values, gdouble, MAX (rank, 1) - 1));
  }
  json_builder_end_object (json);
}

static void
add_statuses (JsonBuilder *json, const NdtReplayRun *run)
{
  g_autoptr (GEnumClass) statuses = g_type_class_ref (GST_TYPE_POSE_STATUS);
  const guint64 n = ndt_replay_get_count (run, "scans");

  json_builder_set_member_name (json, "status");
  json_builder_begin_object (json);
  for (guint i = 0; i < statuses->n_values; i++) {
    if (statuses->values[i].value == GST_POSE_STATUS_NONE)
      continue;
    const guint64 count = ndt_replay_get_count (run, statuses->values[i].value_nick);
    json_builder_set_member_name (json, statuses->values[i].value_nick);
    json_builder_begin_object (json);
    add_int (json, "scans", count);
    add_double (json, "share", n > 0 ? (gdouble)count / (gdouble)n : NAN);
    json_builder_end_object (json);
  }
  json_builder_end_object (json);
}

static gdouble
get_first_loss (const NdtReplayRun *run)
{
  guint64 scan;

  if (!run->summary || !gst_structure_get_uint64 (run->summary, "first-loss", &scan) ||
      scan >= run->scans->len)
    return NAN;
  return since (run, g_array_index (run->scans, NdtReplayScan, scan).time);
}

/* Speeds are between neighbouring scans that are tracked. */
static void
add_drive (JsonBuilder *json, const NdtReplayRun *run)
{
  static const struct {
    const gchar *name;
    gsize offset;
  } fits[] = {
      {"transformation_probability", G_STRUCT_OFFSET (NdtReplayScan, transformation_probability)},
      {"nvtl", G_STRUCT_OFFSET (NdtReplayScan, nvtl)},
      {"matched_ratio", G_STRUCT_OFFSET (NdtReplayScan, matched_ratio)},
  };
  g_autoptr (GArray) values = g_array_new (FALSE, FALSE, sizeof (gdouble));
  const NdtReplayScan *before = NULL;
  gdouble distance = 0, duration = NAN;

  for (guint i = 0; i < run->scans->len; i++) {
    const NdtReplayScan *scan = &g_array_index (run->scans, NdtReplayScan, i);
    const gdouble time = since (run, scan->time);
    const gboolean is_tracked = scan->status == GST_POSE_STATUS_TRACKING && scan->has_pose;
    duration = time;
    if (is_tracked && before) {
      const gdouble dt = time - since (run, before->time);
      gdouble square = 0;
      for (guint j = 0; j < 3; j++)
        square +=
            (scan->position[j] - before->position[j]) * (scan->position[j] - before->position[j]);
      distance += sqrt (square);
      if (dt > 0) {
        const gdouble speed = sqrt (square) / dt;
        g_array_append_val (values, speed);
      }
    }
    before = is_tracked ? scan : NULL;
  }
  add_double (json, "duration_s", duration);
  add_double (json, "distance_m", distance);
  add_double (json, "largest_gap_s",
      run->summary ? (gdouble)ndt_replay_get_count (run, "largest-gap") * 1e-9 : NAN);
  add_double (json, "first_loss_s", get_first_loss (run));
  add_quantiles (json, "speed_mps", values);
  json_builder_set_member_name (json, "fit");
  json_builder_begin_object (json);
  for (guint f = 0; f < G_N_ELEMENTS (fits); f++) {
    g_array_set_size (values, 0);
    for (guint i = 0; i < run->scans->len; i++) {
      const NdtReplayScan *scan = &g_array_index (run->scans, NdtReplayScan, i);
      if (scan->status == GST_POSE_STATUS_TRACKING || scan->status == GST_POSE_STATUS_DEGRADED)
        g_array_append_vals (values, G_STRUCT_MEMBER_P (scan, fits[f].offset), 1);
    }
    add_quantiles (json, fits[f].name, values);
  }
  json_builder_end_object (json);
}

void
ndt_replay_read_errors (const gchar *folder, NdtReplayErrors *errors)
{
  g_autofree gchar *path = g_build_filename (folder, "trajectory.csv", NULL);
  g_autofree gchar *text = NULL;
  gint error_m = -1, error_deg = -1, status = -1;

  *errors = (NdtReplayErrors){0};
  if (!g_file_get_contents (path, &text, NULL, NULL))
    return;
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i]; i++) {
    g_auto (GStrv) cells = g_strsplit (lines[i], ",", -1);
    const gint n_cells = (gint)g_strv_length (cells);
    for (gint c = 0; i == 0 && c < n_cells; c++) {
      error_m = g_str_equal (cells[c], "error_m") ? c : error_m;
      error_deg = g_str_equal (cells[c], "error_deg") ? c : error_deg;
      status = g_str_equal (cells[c], "status") ? c : status;
    }
    if (i == 0 || error_m < 0 || error_deg < 0 || status < 0 ||
        n_cells <= MAX (MAX (error_m, error_deg), status) || !*cells[error_m] ||
        !g_str_equal (cells[status], "tracking"))
      continue;
    const gdouble error = g_ascii_strtod (cells[error_m], NULL);
    errors->mean_m += error;
    errors->mean_deg += g_ascii_strtod (cells[error_deg], NULL);
    errors->max_m = MAX (errors->max_m, error);
    errors->n++;
  }
  if (errors->n > 0) {
    errors->mean_m /= errors->n;
    errors->mean_deg /= errors->n;
  }
}

static void
add_errors (JsonBuilder *json, const gchar *folder)
{
  NdtReplayErrors errors;

  ndt_replay_read_errors (folder, &errors);
  if (errors.n == 0)
    return;
  json_builder_set_member_name (json, "error");
  json_builder_begin_object (json);
  add_int (json, "scans", errors.n);
  add_double (json, "mean_m", errors.mean_m);
  add_double (json, "mean_deg", errors.mean_deg);
  add_double (json, "max_m", errors.max_m);
  json_builder_end_object (json);
}

/* A member for each field; what JSON has no type for is a string. */
static gboolean
add_field (GQuark field, const GValue *value, gpointer user_data)
{
  JsonBuilder *json = user_data;
  const gchar *name = g_quark_to_string (field);

  if (G_VALUE_HOLDS_BOOLEAN (value)) {
    json_builder_set_member_name (json, name);
    json_builder_add_boolean_value (json, g_value_get_boolean (value));
  } else if (G_VALUE_HOLDS_STRING (value)) {
    add_string (json, name, g_value_get_string (value));
  } else if (G_VALUE_HOLDS_UINT64 (value)) {
    const guint64 integer = g_value_get_uint64 (value);
    if (integer == GST_CLOCK_TIME_NONE)
      add_string (json, name, NULL);
    else
      add_int (json, name, integer);
  } else if (G_VALUE_HOLDS_DOUBLE (value)) {
    add_double (json, name, g_value_get_double (value));
  } else {
    g_autofree gchar *text = gst_value_serialize (value);
    add_string (json, name, text);
  }
  return TRUE;
}

static void
add_file (
    JsonBuilder *json, const gchar *name, const gchar *path, const gchar *sha256, guint64 size)
{
  g_autofree gchar *shown = remote_redact (path);

  json_builder_set_member_name (json, name);
  json_builder_begin_object (json);
  add_string (json, "path", shown);
  add_string (json, "sha256", sha256);
  add_int (json, "bytes", size);
  json_builder_end_object (json);
}

/* What a drive depends on, so that its end is known where it is the same. */
static void
add_inputs (JsonBuilder *json, const NdtReplayReport *self)
{
  const NdtReplayOptions *options = self->options;
  g_autofree gchar *gstreamer = gst_version_string ();
  g_autofree gchar *rate = g_strdup_printf ("%.17g", options->rate);

  json_builder_begin_object (json);
  add_file (json, "recording", options->recording, self->recording_sha256, self->recording_size);
  add_file (json, "map", options->map, self->map_sha256, self->map_size);
  json_builder_set_member_name (json, "parameters");
  json_builder_begin_object (json);
  add_string (json, "start", options->start);
  add_string (json, "starts", options->starts);
  add_string (json, "start-topic", options->start_topic);
  add_string (json, "topic", options->topic);
  add_string (json, "prefix", options->prefix);
  add_string (json, "decoder", options->decoder);
  add_string (json, "rate", rate);
  add_string (json, "reference", options->reference);
  json_builder_set_member_name (json, "ndtlocalize");
  json_builder_begin_array (json);
  for (guint i = 0; options->properties[i]; i++) {
    g_autofree gchar *valid = g_utf8_make_valid (options->properties[i], -1);
    json_builder_add_string_value (json, valid);
  }
  json_builder_end_array (json);
  json_builder_end_object (json);
  json_builder_set_member_name (json, "versions");
  json_builder_begin_object (json);
  add_string (json, "gst-ndt", VERSION);
  add_string (json, "gstreamer", gstreamer);
  json_builder_end_object (json);
  json_builder_end_object (json);
}

static gchar *
to_text (JsonBuilder *json)
{
  g_autoptr (JsonGenerator) generator = json_generator_new ();
  g_autoptr (JsonNode) root = json_builder_get_root (json);

  json_generator_set_root (generator, root);
  json_generator_set_pretty (generator, TRUE);
  g_autofree gchar *text = json_generator_to_data (generator, NULL);
  return g_strconcat (text, "\n", NULL);
}

gchar *
ndt_replay_report_to_json (const NdtReplayReport *self)
{
  g_autoptr (JsonBuilder) json = json_builder_new ();
  const NdtReplayRun *run = self->run;

  json_builder_begin_object (json);
  add_int (json, "format", FORMAT);
  add_string (json, "result", ndt_replay_result_get_name (self->result));
  add_int (json, "exit_status", self->result);
  add_string (json, "problem", self->problem);
  json_builder_set_member_name (json, "inputs");
  add_inputs (json, self);
  json_builder_set_member_name (json, "start");
  json_builder_begin_object (json);
  add_string (json, "source", self->start->source);
  add_string (json, "detail", self->start->detail);
  add_string (json, "pose", self->start->pose);
  if (self->start->uncertainty)
    add_string (json, "uncertainty", self->start->uncertainty);
  json_builder_end_object (json);
  add_string (json, "backend", run->backend);
  add_int (json, "warnings", run->n_warnings);
  add_string (json, "warning", run->warning);
  add_int (json, "scans", run->scans ? run->scans->len : 0);
  if (run->summary)
    add_statuses (json, run);
  if (run->scans) {
    add_drive (json, run);
    add_errors (json, self->options->folder);
  }
  if (run->summary) {
    json_builder_set_member_name (json, "summary");
    json_builder_begin_object (json);
    gst_structure_foreach (run->summary, add_field, json);
    json_builder_end_object (json);
  }
  json_builder_end_object (json);
  return to_text (json);
}

gboolean
ndt_replay_report_is_done (const NdtReplayReport *self, NdtReplayResult *result)
{
  g_autofree gchar *path = g_build_filename (self->options->folder, "report.json", NULL);
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autoptr (JsonBuilder) builder = json_builder_new ();

  /* What is not known by its bytes may be another drive: it is run again. */
  if (!self->recording_sha256 || !self->map_sha256 ||
      !json_parser_load_from_file (parser, path, NULL))
    return FALSE;
  JsonNode *root = json_parser_get_root (parser);
  JsonObject *report = root && JSON_NODE_HOLDS_OBJECT (root) ? json_node_get_object (root) : NULL;
  JsonNode *inputs = report ? json_object_get_member (report, "inputs") : NULL;
  JsonNode *status = report ? json_object_get_member (report, "exit_status") : NULL;
  if (!inputs || !status || !JSON_NODE_HOLDS_VALUE (status))
    return FALSE;
  add_inputs (builder, self);
  g_autoptr (JsonNode) now = json_builder_get_root (builder);
  *result = (NdtReplayResult)json_node_get_int (status);
  return json_node_equal (inputs, now) &&
         (*result == NDT_REPLAY_LOCALIZED || *result == NDT_REPLAY_NOT_LOCALIZED ||
             *result == NDT_REPLAY_BAD_INPUT || *result == NDT_REPLAY_NO_MAP);
}
