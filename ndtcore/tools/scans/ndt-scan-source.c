/* SPDX-License-Identifier: MIT */
#include "ndt-scan-source.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ndt-scan-order.h"
#include "ndt-scan-process.h"
#include "ndtcore/base/ndt-file.h"
#include "ndtcore/cloudfile/ndt-cloud-file.h"
#include "ndtcore/cloudfile/ndt-pcd.h"
#include "ndtcore/posefile/ndt-trajectory.h"
#include "ndtcore/tools/ndt-map-tool.h"

/* Poses of a trajectory are interpolated over so much, ns, at most. */
#define MAX_GAP G_GINT64_CONSTANT (1000000000)

struct _NdtScanSource {
  const NdtScanOptions *options;
  GPtrArray *files; /* of points, or recordings */
  gboolean is_recording;
  guint next;
  gint64 *times; /* of files */
  NdtTrajectory *trajectory;

  NdtPcdFile *pcd;
  NdtCloudFile *cloud;
  NdtScanProcess *process;
  NdtScanRecord record;
  NdtPose ends[2];
  NdtPose pose;
  gchar *name;
  gchar *poses;
  NdtScan scan;
};

void
ndt_scan_options_clear (NdtScanOptions *options)
{
  g_clear_pointer (&options->map_origin, g_free);
  g_clear_pointer (&options->trajectory, g_free);
  g_clear_pointer (&options->topic, g_free);
  g_clear_pointer (&options->pose_topic, g_free);
  g_clear_pointer (&options->sensor_pose, g_free);
  g_clear_pointer (&options->decoder, g_free);
}

/* ---- What an input is ---- */

static gboolean
has_magic (const gchar *path, const gchar *const *magics, const gsize *sizes, guint n)
{
  char bytes[16] = {0};
  /* Opening a pipe could wait forever. */
  FILE *file = g_file_test (path, G_FILE_TEST_IS_REGULAR) ? fopen (path, "rb") : NULL;
  const gsize n_read = file ? fread (bytes, 1, sizeof bytes, file) : 0;
  gboolean found = FALSE;
  if (file)
    fclose (file);
  for (guint i = 0; i < n; i++)
    found = found || (n_read >= sizes[i] && memcmp (bytes, magics[i], sizes[i]) == 0);
  return found;
}

static gboolean
is_capture (const gchar *path)
{
  static const gchar *const magics[] = {"\xd4\xc3\xb2\xa1", "\xa1\xb2\xc3\xd4", "\x4d\x3c\xb2\xa1",
      "\xa1\xb2\x3c\x4d", "\x0a\x0d\x0d\x0a"};
  static const gsize sizes[] = {4, 4, 4, 4, 4};
  return has_magic (path, magics, sizes, G_N_ELEMENTS (magics));
}

/* MCAP, SQLite, or either within zstd, as rosbag2 compresses files. */
static gboolean
is_bag_file (const gchar *path)
{
  static const gchar *const magics[] = {"\x89MCAP", "SQLite format 3", "\x28\xb5\x2f\xfd"};
  static const gsize sizes[] = {5, 15, 4};
  return has_magic (path, magics, sizes, G_N_ELEMENTS (magics));
}

gboolean
ndt_scan_is_recording (const gchar *input)
{
  g_autofree gchar *path = ndt_file_resolve (input, NULL);
  const gchar *name;
  gboolean found = FALSE;
  if (!path)
    return FALSE;
  if (!g_file_test (path, G_FILE_TEST_IS_DIR))
    return is_bag_file (path) || is_capture (path);
  g_autoptr (GDir) folder = g_dir_open (path, 0, NULL);
  while (folder && !found && (name = g_dir_read_name (folder))) {
    g_autofree gchar *file = g_build_filename (path, name, NULL);
    found = is_bag_file (file);
  }
  return found;
}

/* ---- Files ---- */

/* Those of names where all are times, which are in their order then. */
static gint64 *
get_times (const NdtScanSource *source)
{
  const GPtrArray *files = source->files;
  gint64 *times = g_new (gint64, MAX (files->len, 1));
  gboolean named = TRUE;
  for (guint i = 0; i < files->len && named; i++)
    named = ndt_scan_order_get_time (g_ptr_array_index (files, i), &times[i]) &&
            (i == 0 || times[i] > times[i - 1]);
  for (guint i = 0; i < files->len && !named; i++)
    times[i] = (gint64)llround (1e9 * source->options->period * i);
  return times;
}

/* The field of points' times, seconds as floats or nanoseconds as integers, of a file whose points
 * lie side by side. */
static void
find_times (const NdtPcdHeader *header, const NdtCloudView *points, NdtTimeView *times)
{
  static const struct {
    const gchar *name;
    gchar type;
    guint size;
    NdtTimeType as;
  } known[] = {
      {"time", 'F', 4, NDT_TIME_F32}, {"time", 'F', 8, NDT_TIME_F64}, {"t", 'U', 4, NDT_TIME_U32}};
  const NdtPcdField *x = ndt_pcd_header_find_field (header, "x");
  memset (times, 0, sizeof (*times));
  if (header->encoding != NDT_PCD_BINARY || !x || points->stride != header->point_step)
    return;
  for (guint i = 0; i < G_N_ELEMENTS (known) && !times->data; i++) {
    const NdtPcdField *field = ndt_pcd_header_find_field (header, known[i].name);
    if (field && field->type == known[i].type && field->size == known[i].size && field->count == 1)
      *times = (NdtTimeView){points->x - x->offset + field->offset, points->stride, known[i].as};
  }
}

static void
close_file (NdtScanSource *source)
{
  g_clear_pointer (&source->pcd, ndt_pcd_file_free);
  g_clear_pointer (&source->cloud, ndt_cloud_file_free);
}

static gboolean
open_file (NdtScanSource *source, const gchar *path, GError **error)
{
  g_autofree gchar *lower = g_ascii_strdown (path, -1);
  NdtScan *scan = &source->scan;
  close_file (source);
  if (!g_str_has_suffix (lower, ".pcd"))
    return (source->cloud = ndt_cloud_file_open (path, error)) &&
           ndt_cloud_file_get_points (source->cloud, &scan->points, error);
  source->pcd = ndt_pcd_file_open (path, error);
  if (!source->pcd || !ndt_pcd_file_get_points (source->pcd, &scan->points, error))
    return FALSE;
  find_times (ndt_pcd_file_get_header (source->pcd), &scan->points, &scan->times);
  if (scan->times.data) {
    const NdtTimeSpan span = ndt_time_span (&scan->points, &scan->times, NULL);
    /* Times of a clock, or of a cloud of one instant, are none. */
    if (span.n_points == 0 || !(span.last > span.first) || fabs (span.last) > 1)
      scan->times.data = NULL;
  }
  return TRUE;
}

static const NdtScan *
next_file (NdtScanSource *source, GError **error)
{
  if (source->next == source->files->len)
    return NULL;
  const guint i = source->next++;
  const gchar *path = g_ptr_array_index (source->files, i);
  source->scan = (NdtScan){.time = source->times[i]};
  if (source->trajectory)
    source->scan.pose = ndt_trajectory_get_pose (source->trajectory, i);
  g_free (source->name);
  source->name = g_filename_display_name (path);
  source->scan.name = source->name;
  return open_file (source, path, error) ? &source->scan : NULL;
}

/* ---- Recordings ---- */

static gboolean
start_recording (NdtScanSource *source, GError **error)
{
  const gchar *path = g_ptr_array_index (source->files, source->next);
  source->process = ndt_scan_process_new (path, source->options, error);
  g_free (source->name);
  source->name = g_filename_display_name (path);
  return source->process != NULL;
}

static gint64
add_seconds (gint64 time, double seconds)
{
  return time + (gint64)llround (1e9 * seconds);
}

static void
set_poses (NdtScanSource *source, NdtScan *scan)
{
  const NdtScanRecord *record = &source->record;
  const NdtTrajectory *trajectory = source->trajectory;
  if (!trajectory) {
    scan->pose = record->has_pose ? &record->pose : NULL;
    scan->ends = record->has_ends ? record->ends : NULL;
    scan->origin = record->has_origin ? record->origin : NULL;
    memcpy (scan->sigma, record->sigma, sizeof scan->sigma);
    return;
  }
  scan->pose = ndt_trajectory_interpolate (trajectory, record->time, MAX_GAP, &source->pose)
                   ? &source->pose
                   : NULL;
  scan->ends = scan->times.data &&
                       ndt_trajectory_interpolate (trajectory,
                           add_seconds (record->time, record->first), MAX_GAP, &source->ends[0]) &&
                       ndt_trajectory_interpolate (trajectory,
                           add_seconds (record->time, record->last), MAX_GAP, &source->ends[1])
                   ? source->ends
                   : NULL;
}

static const NdtScan *
next_of_recording (NdtScanSource *source, GError **error)
{
  NdtScanRecord *record = &source->record;
  NdtScan *scan = &source->scan;
  const float *values;
  GError *failure = NULL;
  for (;;) {
    if (!source->process &&
        (source->next == source->files->len || !start_recording (source, error)))
      return NULL;
    if (ndt_scan_process_next (source->process, record, &values, &failure))
      break;
    if (failure) {
      g_propagate_error (error, failure);
      return NULL;
    }
    g_free (source->poses);
    source->poses = g_strdup (ndt_scan_process_get_poses (source->process));
    g_clear_pointer (&source->process, ndt_scan_process_free);
    source->next++;
  }
  const gsize size = sizeof (float) * (record->has_times ? 4 : 3);
  *scan = (NdtScan){.name = source->name,
      .time = record->time,
      .points = ndt_cloud_view (values, record->n_points, size, 0, 4, 8, NDT_SCALAR_F32),
      .first = record->first,
      .last = record->last};
  if (record->has_times)
    scan->times = (NdtTimeView){(const guint8 *)(values + 3), size, NDT_TIME_F32};
  set_poses (source, scan);
  return scan;
}

/* ---- Either ---- */

static gboolean
list_recordings (NdtScanSource *source, gchar **inputs, GError **error)
{
  source->files = g_ptr_array_new_with_free_func (g_free);
  for (; *inputs; inputs++) {
    g_autofree gchar *path = ndt_file_resolve (*inputs, error);
    if (!path)
      return FALSE;
    if (!ndt_scan_is_recording (path)) {
      g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
          "%s is no recording, as the first input is: give either recordings or files of points",
          *inputs);
      return FALSE;
    }
    if (is_capture (path) != (source->options->decoder != NULL)) {
      g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
          source->options->decoder ? "%s is no capture of packets, which --decoder is for"
                                   : "%s is a capture of packets: --decoder of ndt-map names their "
                                     "decoder, velodynedec, ousterdec, hesaidec or robosensedec, "
                                     "with its properties; ndt-calibrate takes a recording of its "
                                     "clouds (lidarpcapsrc ! decoder ! mcapsink)",
          *inputs);
      return FALSE;
    }
    if (source->options->decoder && source->options->with_poses && !source->trajectory) {
      g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
          "%s is a capture of packets, which has no poses: give them by --trajectory", *inputs);
      return FALSE;
    }
    g_ptr_array_add (source->files, g_steal_pointer (&path));
  }
  if (source->trajectory && !ndt_trajectory_has_times (source->trajectory)) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "%s has no times, by which poses are found for the scans of a recording",
        source->options->trajectory);
    return FALSE;
  }
  return TRUE;
}

static gboolean
list_files (NdtScanSource *source, gchar **inputs, gboolean *sorted, GError **error)
{
  source->files = ndt_map_list_inputs (inputs, sorted, error);
  if (!source->files)
    return FALSE;
  if (source->options->with_poses && !source->trajectory) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "%s has no poses: give them by --trajectory", inputs[0]);
    return FALSE;
  }
  if (source->trajectory) {
    g_autofree gchar *shown = g_filename_display_name (source->options->trajectory);
    const gsize n_poses = ndt_trajectory_get_n_poses (source->trajectory);
    if (n_poses != source->files->len) {
      g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
          "%s has %" G_GSIZE_FORMAT " poses for %u scans; it needs one for each scan, in the order "
          "of names (numbers in them by their value) or of the times that they are",
          shown, n_poses, source->files->len);
      return FALSE;
    }
    if (!ndt_scan_order_match (source->files, source->trajectory, shown, error))
      return FALSE;
  }
  source->times = get_times (source);
  return TRUE;
}

NdtScanSource *
ndt_scan_source_new (
    gchar **inputs, const NdtScanOptions *options, gboolean *sorted, GError **error)
{
  g_autoptr (NdtScanSource) source = g_new0 (NdtScanSource, 1);
  source->options = options;
  source->is_recording = inputs[0] && ndt_scan_is_recording (inputs[0]);
  if (sorted)
    *sorted = FALSE;
  if (options->trajectory) {
    source->trajectory = ndt_trajectory_load (options->trajectory, NDT_TRAJECTORY_AUTO, error);
    if (!source->trajectory)
      return NULL;
    source->poses = g_strdup (ndt_trajectory_get_description (source->trajectory));
  }
  if (!(source->is_recording ? list_recordings (source, inputs, error)
                             : list_files (source, inputs, sorted, error)))
    return NULL;
  return g_steal_pointer (&source);
}

void
ndt_scan_source_free (NdtScanSource *source)
{
  close_file (source);
  g_clear_pointer (&source->process, ndt_scan_process_free);
  g_clear_pointer (&source->files, g_ptr_array_unref);
  g_clear_pointer (&source->trajectory, ndt_trajectory_free);
  g_free (source->times);
  g_free (source->name);
  g_free (source->poses);
  g_free (source);
}

const NdtScan *
ndt_scan_source_next (NdtScanSource *source, GError **error)
{
  return source->is_recording ? next_of_recording (source, error) : next_file (source, error);
}

const gchar *
ndt_scan_source_get_progress (const NdtScanSource *source, guint64 *done, guint64 *all)
{
  if (!source->is_recording) {
    *done = source->next;
    *all = source->files->len;
    return "files";
  }
  const double part = source->process && isfinite (source->record.done) ? source->record.done : 0;
  *done = (guint64)(100 * (source->next + part) / source->files->len);
  *all = 100;
  return "percent";
}

const gchar *
ndt_scan_source_get_poses (const NdtScanSource *source)
{
  return source->poses;
}

guint
ndt_scan_source_get_n_files (const NdtScanSource *source)
{
  return source->files->len;
}

const gchar *
ndt_scan_source_get_file (const NdtScanSource *source, guint index)
{
  return g_ptr_array_index (source->files, index);
}

void
ndt_scan_transform (const NdtScan *scan, double *out)
{
  for (gsize i = 0; i < scan->points.n_points; i++) {
    NdtPose pose = *scan->pose;
    double p[3];
    ndt_cloud_view_get (&scan->points, i, p);
    if (scan->ends && scan->times.data) {
      const double part =
          (ndt_time_view_get (&scan->times, i) - scan->first) / (scan->last - scan->first);
      if (isfinite (part))
        ndt_pose_interpolate (&scan->ends[0], &scan->ends[1], CLAMP (part, 0, 1), &pose);
    }
    ndt_pose_transform_point (&pose, p, out + 3 * i);
  }
}
