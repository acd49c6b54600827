/* SPDX-License-Identifier: MIT */
#include "gstndtstats.h"

#include <stdlib.h>
#include <string.h>

#include "ndtcore/align/ndt-backend.h"

/* The 95th percentile is of so many of the latest scans. */
#define WINDOW 512

#define N_STATUS (NDT_TRACK_SKIPPED + 1)
#define N_PREDICTION (NDT_PREDICTION_PRIOR + 1)

typedef struct {
  guint64 n;
  gdouble sum;
  GstClockTime max;
  GstClockTime recent[WINDOW];
} Times;

typedef struct {
  guint64 scans_in;
  guint64 scans_out;
  guint64 dropped;
  guint64 backwards;
  guint64 malformed;
  guint64 late;
  guint64 qos;
  guint64 fallbacks;
  guint64 aligned;
  guint64 status[N_STATUS];
  guint64 reason[NDT_N_REASONS];
  guint64 prediction[N_PREDICTION];
  guint64 iterations;
  guint64 batches;
  guint64 batch_sizes[NDT_MAX_SCANS];
  Times times[GST_NDT_N_TIMES];
  guint64 map_points;
  guint64 map_voxels;
  guint64 map_bytes;
  GstNdtSummary summary;
  NdtMapTilesCounts tiles; /* of all maps so far, but for what is in memory */
} Counts;

struct _GstNdtStats {
  GMutex lock;
  Counts counts;
};

GstNdtStats *
gst_ndt_stats_new (void)
{
  GstNdtStats *stats = g_new0 (GstNdtStats, 1);
  g_mutex_init (&stats->lock);
  gst_ndt_summary_init (&stats->counts.summary);
  return stats;
}

void
gst_ndt_stats_free (GstNdtStats *stats)
{
  g_mutex_clear (&stats->lock);
  g_free (stats);
}

void
gst_ndt_stats_reset (GstNdtStats *stats)
{
  g_mutex_lock (&stats->lock);
  memset (&stats->counts, 0, sizeof stats->counts);
  gst_ndt_summary_init (&stats->counts.summary);
  g_mutex_unlock (&stats->lock);
}

static void
increment (GstNdtStats *stats, guint64 *count)
{
  g_mutex_lock (&stats->lock);
  *count += 1;
  g_mutex_unlock (&stats->lock);
}

void
gst_ndt_stats_scan_in (GstNdtStats *stats)
{
  increment (stats, &stats->counts.scans_in);
}

void
gst_ndt_stats_scan_out (GstNdtStats *stats)
{
  increment (stats, &stats->counts.scans_out);
}

void
gst_ndt_stats_dropped (GstNdtStats *stats)
{
  increment (stats, &stats->counts.dropped);
}

void
gst_ndt_stats_backwards (GstNdtStats *stats)
{
  increment (stats, &stats->counts.backwards);
}

void
gst_ndt_stats_malformed (GstNdtStats *stats)
{
  increment (stats, &stats->counts.malformed);
}

void
gst_ndt_stats_late (GstNdtStats *stats)
{
  increment (stats, &stats->counts.late);
}

void
gst_ndt_stats_qos (GstNdtStats *stats)
{
  increment (stats, &stats->counts.qos);
}

void
gst_ndt_stats_fallback (GstNdtStats *stats)
{
  increment (stats, &stats->counts.fallbacks);
}

void
gst_ndt_stats_batch (GstNdtStats *stats, guint n_scans)
{
  g_mutex_lock (&stats->lock);
  stats->counts.batches++;
  stats->counts.batch_sizes[CLAMP (n_scans, 1, NDT_MAX_SCANS) - 1]++;
  g_mutex_unlock (&stats->lock);
}

void
gst_ndt_stats_localization (GstNdtStats *stats, const NdtLocalization *localization,
    const GstPoseMeta *meta, GstClockTime time)
{
  Counts *counts = &stats->counts;
  const NdtTrackStatus status = localization->status;
  const NdtReason reason = localization->reason;
  const gboolean aligned = reason != NDT_REASON_NO_MAP && reason != NDT_REASON_NO_START &&
                           reason != NDT_REASON_TOO_LATE && reason != NDT_REASON_TOO_FEW_POINTS;

  g_mutex_lock (&stats->lock);
  counts->status[status]++;
  counts->reason[reason]++;
  counts->prediction[localization->prediction]++;
  counts->aligned += aligned;
  counts->iterations += localization->registration.iterations;
  gst_ndt_summary_add (&counts->summary, meta, time);
  g_mutex_unlock (&stats->lock);
}

void
gst_ndt_stats_get_summary (GstNdtStats *stats, GstNdtSummary *summary)
{
  g_mutex_lock (&stats->lock);
  *summary = stats->counts.summary;
  g_mutex_unlock (&stats->lock);
}

void
gst_ndt_stats_time (GstNdtStats *stats, GstNdtTime which, GstClockTime time)
{
  g_mutex_lock (&stats->lock);
  Times *times = &stats->counts.times[which];
  times->recent[times->n % WINDOW] = time;
  times->n++;
  times->sum += (gdouble)time;
  times->max = MAX (times->max, time);
  g_mutex_unlock (&stats->lock);
}

void
gst_ndt_stats_map (GstNdtStats *stats, const NdtVoxelMap *map)
{
  g_mutex_lock (&stats->lock);
  stats->counts.map_points = ndt_voxel_map_get_n_points (map);
  stats->counts.map_voxels = ndt_voxel_map_get_level (map, 0)->n_voxels;
  stats->counts.map_bytes = ndt_voxel_map_get_bytes (map);
  g_mutex_unlock (&stats->lock);
}

void
gst_ndt_stats_tiles (
    GstNdtStats *stats, const NdtMapTilesCounts *before, const NdtMapTilesCounts *now)
{
  g_mutex_lock (&stats->lock);
  NdtMapTilesCounts *counts = &stats->counts.tiles;
  counts->n_used = now->n_used;
  counts->bytes = now->bytes;
  counts->n_loaded += now->n_loaded - before->n_loaded;
  counts->n_dropped += now->n_dropped - before->n_dropped;
  counts->n_failed += now->n_failed - before->n_failed;
  g_mutex_unlock (&stats->lock);
}

static int
compare_times (const void *a, const void *b)
{
  const GstClockTime ta = *(const GstClockTime *)a;
  const GstClockTime tb = *(const GstClockTime *)b;
  return (ta > tb) - (ta < tb);
}

static void
set_uint64 (GstStructure *structure, const gchar *prefix, const gchar *name, guint64 value)
{
  g_autofree gchar *field = g_strconcat (prefix, name, NULL);
  gst_structure_set (structure, field, G_TYPE_UINT64, value, NULL);
}

/* Sorts the copy that it is given. */
static void
set_times (GstStructure *structure, const gchar *prefix, Times *times)
{
  const guint n = (guint)MIN (times->n, WINDOW);
  qsort (times->recent, n, sizeof times->recent[0], compare_times);
  set_uint64 (structure, prefix, "-mean", n ? (guint64)(times->sum / (gdouble)times->n) : 0);
  set_uint64 (structure, prefix, "-p95", n ? times->recent[(n - 1) * 95 / 100] : 0);
  set_uint64 (structure, prefix, "-max", times->max);
}

/* Number of batches of 1, 2, … scans, up to the largest that there was. */
static void
set_batch_histogram (GstStructure *structure, const Counts *counts)
{
  guint n = NDT_MAX_SCANS;
  while (n > 0 && counts->batch_sizes[n - 1] == 0)
    n--;

  GValue array = G_VALUE_INIT;
  gst_value_array_init (&array, n);
  for (guint i = 0; i < n; i++) {
    GValue value = G_VALUE_INIT;
    g_value_init (&value, G_TYPE_UINT64);
    g_value_set_uint64 (&value, counts->batch_sizes[i]);
    gst_value_array_append_and_take_value (&array, &value);
  }
  gst_structure_take_value (structure, "batch-histogram", &array);
}

static void
set_counters (GstStructure *structure, const NdtBackendCounters *counters)
{
  gst_structure_set (structure, "backend-scans", G_TYPE_UINT64, counters->scans,
      "backend-alignments", G_TYPE_UINT64, counters->alignments, "backend-evaluations",
      G_TYPE_UINT64, counters->evaluations, "backend-allocations", G_TYPE_UINT64,
      counters->allocations, "backend-uploads", G_TYPE_UINT64, counters->uploads,
      "backend-upload-bytes", G_TYPE_UINT64, counters->upload_bytes, "backend-downloads",
      G_TYPE_UINT64, counters->downloads, "backend-download-bytes", G_TYPE_UINT64,
      counters->download_bytes, "backend-launches", G_TYPE_UINT64, counters->launches,
      "backend-synchronizations", G_TYPE_UINT64, counters->synchronizations, "backend-device-bytes",
      G_TYPE_UINT64, counters->device_bytes, "backend-host-bytes", G_TYPE_UINT64,
      counters->host_bytes, NULL);
}

GstStructure *
gst_ndt_stats_to_structure (GstNdtStats *stats, const NdtBackendCounters *counters)
{
  g_autofree Counts *counts = g_new (Counts, 1);
  g_mutex_lock (&stats->lock);
  *counts = stats->counts;
  g_mutex_unlock (&stats->lock);

  GstStructure *structure = gst_structure_new ("application/x-ndtlocalize-stats", "scans-in",
      G_TYPE_UINT64, counts->scans_in, "scans-out", G_TYPE_UINT64, counts->scans_out, "dropped",
      G_TYPE_UINT64, counts->dropped, "aligned", G_TYPE_UINT64, counts->aligned, "iterations",
      G_TYPE_UINT64, counts->iterations, "late", G_TYPE_UINT64, counts->late, "backwards",
      G_TYPE_UINT64, counts->backwards, "malformed", G_TYPE_UINT64, counts->malformed, "qos-events",
      G_TYPE_UINT64, counts->qos, "fallbacks", G_TYPE_UINT64, counts->fallbacks, "batches",
      G_TYPE_UINT64, counts->batches, "map-points", G_TYPE_UINT64, counts->map_points, "map-voxels",
      G_TYPE_UINT64, counts->map_voxels, "map-bytes", G_TYPE_UINT64, counts->map_bytes, NULL);
  for (guint i = 0; i < N_STATUS; i++)
    set_uint64 (structure, "", ndt_track_status_to_string (i), counts->status[i]);
  for (guint i = NDT_REASON_NONE + 1; i < NDT_N_REASONS; i++)
    set_uint64 (structure, "rejected-", ndt_reason_to_string (i), counts->reason[i]);
  for (guint i = 0; i < N_PREDICTION; i++)
    set_uint64 (structure, "predicted-", ndt_prediction_to_string (i), counts->prediction[i]);
  gst_ndt_summary_to_structure (&counts->summary, structure);
  set_batch_histogram (structure, counts);
  set_uint64 (structure, "tiles", "", counts->tiles.n_used);
  set_uint64 (structure, "tiles", "-loaded", counts->tiles.n_loaded);
  set_uint64 (structure, "tiles", "-dropped", counts->tiles.n_dropped);
  set_uint64 (structure, "tiles", "-failed", counts->tiles.n_failed);
  set_uint64 (structure, "tiles", "-bytes", counts->tiles.bytes);
  set_times (structure, "wait", &counts->times[GST_NDT_TIME_WAIT]);
  set_times (structure, "upload", &counts->times[GST_NDT_TIME_UPLOAD]);
  set_times (structure, "align", &counts->times[GST_NDT_TIME_ALIGN]);
  set_times (structure, "push", &counts->times[GST_NDT_TIME_PUSH]);
  if (counters)
    set_counters (structure, counters);
  return structure;
}
