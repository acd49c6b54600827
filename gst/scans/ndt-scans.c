/* SPDX-License-Identifier: MIT */
/* ndt-scans: what ndt-map starts to read recordings and captures, since ndtcore knows neither. */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gst/common/gstndtviews.h"
#include "gst/common/gstpointtimes.h"
#include "ndt-scans.h"
#include "ndtcore/tools/scans/ndt-scan-record.h"

typedef struct {
  const ScansOptions *options;
  ScansFrames *frames; /* NULL: no poses */
  ScansFixes *fixes;   /* NULL: they are poses */
  gchar *frame;
  FILE *out;
  GstCaps *caps; /* what @info and @times are of */
  GstPointCloudInfo info;
  GstPointTimes *times;
  gboolean is_compensated;
  GArray *floats; /* of the scan at hand */
} Writer;

/* Of a capture the sensor's own time, where it is one of day. */
static gint64
get_time (const Writer *self, GstBuffer *buffer)
{
  gpointer state = NULL;
  GstMeta *meta;
  while (self->options->decoder && (meta = gst_buffer_iterate_meta_filtered (
                                        buffer, &state, GST_REFERENCE_TIMESTAMP_META_API_TYPE))) {
    const GstReferenceTimestampMeta *stamp = (const GstReferenceTimestampMeta *)meta;
    const GstStructure *structure = gst_caps_get_structure (stamp->reference, 0);
    if (gst_structure_has_name (structure, "timestamp/x-unix") &&
        !gst_structure_has_field (structure, "source"))
      return (gint64)stamp->timestamp;
  }
  return (gint64)GST_BUFFER_PTS (buffer);
}

static gint64
add_seconds (gint64 time, double seconds)
{
  return time + (gint64)llround (1e9 * seconds);
}

static void
set_poses (const Writer *self, NdtScanRecord *record)
{
  if (!self->frames)
    return;
  record->has_pose = scans_frames_get (self->frames, self->frame, record->time, &record->pose);
  record->has_origin = self->fixes != NULL;
  if (self->fixes) {
    memcpy (record->origin, self->fixes->origin, sizeof record->origin);
    scans_fixes_get_sigma (self->fixes, record->time, record->sigma);
  }
  record->has_ends = record->has_times &&
                     scans_frames_get (self->frames, self->frame,
                         add_seconds (record->time, record->first), &record->ends[0]) &&
                     scans_frames_get (self->frames, self->frame,
                         add_seconds (record->time, record->last), &record->ends[1]);
}

/* Its points without those that are not finite. */
static void
gather (Writer *self, const NdtCloudView *points, const NdtTimeView *times, guint n_columns)
{
  g_array_set_size (self->floats, 0);
  for (gsize i = 0; i < points->n_points; i++) {
    double p[3];
    ndt_cloud_view_get (points, i, p);
    const float row[4] = {(float)p[0], (float)p[1], (float)p[2],
        n_columns == 4 ? (float)ndt_time_view_get (times, i) : 0};
    if (isfinite (row[0]) && isfinite (row[1]) && isfinite (row[2]))
      g_array_append_vals (self->floats, row, n_columns);
  }
}

static gboolean
take_caps (Writer *self, GstElement *sink, GstCaps *caps)
{
  g_autoptr (GError) error = NULL;
  if (self->caps && (self->caps == caps || gst_caps_is_equal (self->caps, caps)))
    return TRUE;
  if (!gst_point_cloud_info_from_caps (&self->info, caps, &error) ||
      !gst_point_cloud_info_has_xyz (&self->info, &error)) {
    GST_ELEMENT_ERROR (sink, STREAM, WRONG_TYPE, ("%s.", error->message), (NULL));
    return FALSE;
  }
  gst_caps_replace (&self->caps, caps);
  self->is_compensated = FALSE;
  gst_structure_get_boolean (
      gst_caps_get_structure (caps, 0), "motion-compensated", &self->is_compensated);
  if (!self->times)
    self->times = gst_point_times_new (sink);
  gst_point_times_set_info (self->times, &self->info);
  return TRUE;
}

static gboolean
write_scan (GstElement *sink, GstCaps *caps, GstBuffer *buffer, double done, gpointer user_data)
{
  Writer *self = user_data;
  NdtScanRecord record = {.kind = NDT_SCAN_RECORD_SCAN, .done = done};
  NdtPointTimes times = {0};
  GstPointCloudMap map = {0};
  g_autoptr (GError) error = NULL;
  if (!take_caps (self, sink, caps))
    return FALSE;
  if (!GST_BUFFER_PTS_IS_VALID (buffer) || gst_buffer_get_size (buffer) == 0)
    return TRUE;
  if (!gst_point_cloud_map (&map, &self->info, buffer, GST_MAP_READ, &error)) {
    g_printerr (
        "ndt-map: %s: a scan cannot be read: %s\n", self->options->recording, error->message);
    return TRUE;
  }
  const NdtCloudView points = gst_ndt_view_points (&map);
  gst_point_times_read (self->times, &map, buffer, &times);
  record.time = get_time (self, buffer);
  record.has_times = !self->is_compensated && times.view.data && times.span.last > times.span.first;
  record.first = record.has_times ? times.span.first : 0;
  record.last = record.has_times ? times.span.last : 0;
  const guint n_columns = record.has_times ? 4 : 3;
  gather (self, &points, &times.view, n_columns);
  ndt_point_times_clear (&times);
  gst_point_cloud_unmap (&map);
  set_poses (self, &record);
  record.n_points = self->floats->len / n_columns;
  return fwrite (&record, sizeof record, 1, self->out) == 1 &&
         fwrite (self->floats->data, sizeof (float), self->floats->len, self->out) ==
             self->floats->len;
}

static int
end (FILE *out, NdtScanRecordKind kind, const gchar *text)
{
  const NdtScanRecord record = {.kind = kind, .n_points = (guint32)strlen (text)};
  const gboolean ok = fwrite (&record, sizeof record, 1, out) == 1 &&
                      fwrite (text, 1, strlen (text), out) == strlen (text) && fflush (out) == 0;
  return ok && kind == NDT_SCAN_RECORD_END ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int
run (const ScansOptions *options, FILE *out)
{
  g_autoptr (GError) error = NULL;
  g_autofree gchar *what = g_strdup ("none");
  Writer writer = {.options = options, .out = out};
  const ScansReader reader = {write_scan, NULL, NULL, &writer};
  if (fputs (NDT_SCAN_STREAM_MAGIC, out) == EOF)
    return EXIT_FAILURE;
  if (options->with_poses && !options->decoder) {
    g_clear_pointer (&what, g_free);
    writer.frames = scans_poses_read (options, &writer.frame, &what, &writer.fixes, &error);
    if (!writer.frames)
      return end (out, NDT_SCAN_RECORD_FAILED, error->message);
  }
  writer.floats = g_array_new (FALSE, FALSE, sizeof (float));
  const gboolean ok = scans_run (options, &reader, &error);
  const int status =
      ok ? end (out, NDT_SCAN_RECORD_END, what) : end (out, NDT_SCAN_RECORD_FAILED, error->message);
  g_array_unref (writer.floats);
  g_clear_pointer (&writer.times, gst_point_times_free);
  gst_clear_caps (&writer.caps);
  g_clear_pointer (&writer.frames, scans_frames_free);
  g_clear_pointer (&writer.fixes, scans_fixes_free);
  g_free (writer.frame);
  return status;
}

int
main (int argc, char **argv)
{
  ScansOptions options = {0};
  gboolean version = FALSE;
  const GOptionEntry entries[] = {
      {"decoder", 0, 0, G_OPTION_ARG_STRING, &options.decoder,
          "Of a capture (pcap), as on a launch line: \"velodynedec\"", "ELEMENT"},
      {"topic", 0, 0, G_OPTION_ARG_STRING, &options.topic, "Of the clouds (default: the first)",
          "TOPIC"},
      {"poses", 0, 0, G_OPTION_ARG_NONE, &options.with_poses, "With the sensor's poses", NULL},
      {"fixes", 0, 0, G_OPTION_ARG_NONE, &options.with_fixes,
          "The same, or positions of a satellite receiver (NavSatFix)", NULL},
      {"map-origin", 0, 0, G_OPTION_ARG_STRING, &options.map_origin,
          "Where on Earth these are counted from (default: the first one)", "LAT,LON,ALT"},
      {"pose-topic", 0, 0, G_OPTION_ARG_STRING, &options.pose_topic,
          "Of the poses (default: those of the clouds, else the first topic of poses, else "
          "transforms)",
          "TOPIC"},
      {"sensor-pose", 0, 0, G_OPTION_ARG_STRING, &options.sensor_pose,
          "Of the sensor on what the poses are of: \"x,y,z,roll,pitch,yaw\", metres, degrees",
          "POSE"},
      {"version", 0, 0, G_OPTION_ARG_NONE, &version, "Print the version", NULL},
      {NULL, 0, 0, 0, NULL, NULL, NULL},
  };
  g_autoptr (GOptionContext) context =
      g_option_context_new ("RECORDING - hands the scans of a recording to ndt-map");
  g_autoptr (GError) error = NULL;
  int status = 2;

  setlocale (LC_ALL, "");
  setlocale (LC_NUMERIC, "C");
  /* ndt-map may end before the recording does. */
  signal (SIGPIPE, SIG_IGN);
  g_option_context_set_summary (context,
      "RECORDING is an MCAP file, rosbag2 (a file, a folder), or with --decoder a capture of "
      "packets.\n"
      "Its scans and their poses go to standard output, in the form that ndt-map, which starts "
      "this\n"
      "program by itself, reads.");
  g_option_context_add_main_entries (context, entries, NULL);
  g_option_context_add_group (context, gst_init_get_option_group ());
  if (!g_option_context_parse (context, &argc, &argv, &error)) {
    g_printerr ("ndt-scans: %s\n", error->message);
  } else if (version) {
    puts ("ndt-scans " VERSION);
    status = EXIT_SUCCESS;
  } else if (argc != 2) {
    g_printerr ("ndt-scans: one RECORDING is needed; ndt-map build and make start this program\n");
  } else {
    /* What libraries print must not get among the scans. */
    FILE *out = fdopen (dup (STDOUT_FILENO), "wb");
    dup2 (STDERR_FILENO, STDOUT_FILENO);
    options.recording = g_strdup (argv[1]);
    options.with_poses = options.with_poses || options.with_fixes;
    status = out ? run (&options, out) : EXIT_FAILURE;
    if (out && fclose (out) != 0)
      status = EXIT_FAILURE;
  }
  g_free (options.recording);
  g_free (options.decoder);
  g_free (options.topic);
  g_free (options.pose_topic);
  g_free (options.sensor_pose);
  g_free (options.map_origin);
  return status;
}
