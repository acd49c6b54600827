/* SPDX-License-Identifier: MIT */
#pragma once

#include "gst/common/gstndtposepad.h"
#include "gst/pointcloud/pointcloud.h"
#include "gstndtengine.h"
#include "gstndtfifo.h"
#include "gstndtlocalize.h"
#include "gstndtmaploader.h"
#include "gstndtplace.h"
#include "gstndtpool.h"
#include "gstndtsettings.h"
#include "gstndtstats.h"

G_BEGIN_DECLS

GST_DEBUG_CATEGORY_EXTERN (gst_ndt_localize_debug);

/**
 * GstNdtChanges:
 * @map: nullable, with @map_location, and where not all of it is in memory @tiles, with the radius
 *   and the position that they lie around
 * @settings: properties that were set, bits of their numbers
 *
 * What has been asked for since the task last looked; it takes effect between two scans, in
 * this order: reset, map, settings, initial pose.
 */
typedef struct {
  gboolean reset;
  NdtVoxelMap *map;
  gchar *map_location;
  NdtMapTiles *tiles;
  gdouble radius;
  gdouble position[2];
  guint64 settings;
  gboolean has_initial_pose;
  NdtPose initial_pose;
} GstNdtChanges;

/**
 * GstNdtTaken:
 * @changes: what has been asked for
 * @settings: the values of the properties that were set, as a structure "ndt-settings"; NULL: none
 * @params: as the properties are now, where there are @settings
 * @scans: as the properties are now
 * @is_live: whether scans come from a live source, as last answered to a LATENCY query …
 * @upstream_latency: … and their least latency when they come
 * @spare_latency: by how much the pipeline's latency is more than that and this element's own
 *
 * What is so from the next scan on, all of the same instant.
 */
typedef struct {
  GstNdtChanges changes;
  GstStructure *settings;
  NdtLocalizerParams params;
  GstNdtScanSettings scans;
  gboolean is_live;
  GstClockTime upstream_latency;
  GstClockTime spare_latency;
} GstNdtTaken;

/**
 * GstNdtTiles:
 * @tiles: NULL: all of the map is in memory
 * @map: of them, as the engine has it
 * @radius: of what is in memory …
 * @center: … around this position; both in metres
 * @counts: as last counted
 * @is_moving: another position has been asked for: @next …
 * @due: … which takes effect with the scan of this number
 * @has_failed: the last move could not read a tile, and has warned …
 * @is_empty: … or found no voxel
 *
 * What is in memory of a map that follows the vehicle.
 */
typedef struct {
  NdtMapTiles *tiles;
  NdtVoxelMap *map;
  gdouble radius;
  gdouble center[2];
  NdtMapTilesCounts counts;
  gboolean is_moving;
  gdouble next[2];
  guint64 due;
  gboolean has_failed;
  gboolean is_empty;
} GstNdtTiles;

typedef struct _GstNdtBatch GstNdtBatch;

struct _GstNdtLocalize {
  GstElement parent;

  GstPad *sinkpad;
  GstPad *srcpad;
  GstNdtFifo *fifo;
  GstNdtStats *stats;
  GstNdtMapLoader *loader;
  GstNdtPoses *poses;

  /* under the object lock */
  GstNdtSettings settings;      /* while running, all can be used: what cannot was refused */
  gchar *map;                   /* while running, what was last read … */
  NdtVoxelMapParams map_params; /* … and how */
  gdouble map_radius;           /* what of it is in memory; 0: all */
  gdouble position[2];          /* of the vehicle, where it is not all */
  GstNdtChanges changes;
  gboolean running;           /* between READY → PAUSED and back: changes are for the task */
  GstNdtEngine *engine;       /* set and freed while there is no task; NULL in NULL */
  GstNdtAllocator *allocator; /* of the engine; NULL where it has no memory to give */
  gboolean backend_changed;   /* since it was opened */
  GstClockTime scan_duration; /* from caps; NONE if unknown */
  gboolean is_live;           /* see GstNdtTaken */
  GstClockTime upstream_latency;
  GstClockTime pipeline_latency; /* as the last LATENCY event said; 0: there was none */

  /* sink pad's streaming thread */
  GstPointCloudTimer *timer;
  GstNdtPlayback playback;
  gboolean negotiated;

  /* source pad's task */
  GstNdtBatch *batch;
  GstPointCloudInfo info;
  GstSegment segment;
  GstNdtTiles tiles;
  guint64 sequence;
  gchar *used_map;       /* where it comes from */
  gboolean has_told_map; /* downstream */
  const gchar *state;    /* as last posted, NULL before the first scan */
  GstClockTime warned;   /* when the last warning about scans was posted */
  guint n_unwarned;
};

/* gstndtlocalizetask.c: everything that runs on the source pad's task. */
GstNdtBatch *gst_ndt_batch_new (void);
void gst_ndt_batch_free (GstNdtBatch *batch);
void gst_ndt_localize_task (gpointer self);
/* To start state, while there is no task. */
void gst_ndt_localize_reset_task (GstNdtLocalize *self);
/* What takes effect with a scan. @structure: transfer full. */
void gst_ndt_localize_post_change (GstNdtLocalize *self, guint64 scan, GstStructure *structure);

/* The map that scans are aligned with from now on comes from there. On the task, or while there is
 * none. */
void gst_ndt_localize_note_map (GstNdtLocalize *self, const gchar *location);

/* gstndtlocalizetiles.c: maps that follow the vehicle. On the task, or while there is none. */

/* What is in memory from now on; @tiles NULL: all of the map. Takes references. */
void gst_ndt_localize_set_tiles (GstNdtLocalize *self, NdtMapTiles *tiles, NdtVoxelMap *map,
    gdouble radius, const gdouble position[2]);
void gst_ndt_localize_clear_tiles (GstNdtLocalize *self);
/* Uses the map of @changes. */
void gst_ndt_localize_change_map (GstNdtLocalize *self, const GstNdtChanges *changes);
/* Has the map ready that a scan is to be aligned with. FALSE: flushing. */
gboolean gst_ndt_localize_follow (
    GstNdtLocalize *self, guint64 scan, const NdtObservation *observations, gboolean is_live);
/* How many of @n scans from that one on are aligned with the same map. */
guint gst_ndt_localize_count_followed (
    GstNdtLocalize *self, guint64 scan, const NdtObservation *observations, guint n);
/* In order, with each scan's result. */
void gst_ndt_localize_scan_done (
    GstNdtLocalize *self, guint64 scan, const NdtLocalization *localization);

/* gstndtlocalizecontrol.c: settings, maps and poses from other threads. */

/* Opens the backend. Posts an error on FALSE. */
gboolean gst_ndt_localize_open (GstNdtLocalize *self);
void gst_ndt_localize_close (GstNdtLocalize *self);
/* Reads the map and prepares what the first scan needs. Posts an error on FALSE. */
gboolean gst_ndt_localize_start (GstNdtLocalize *self);
void gst_ndt_localize_stop (GstNdtLocalize *self);
/* Says so where the engine has left its device. Whoever uses the engine calls it. */
void gst_ndt_localize_report_failure (GstNdtLocalize *self);
/* FALSE where the property is none of the settings'. While running, a text that cannot be read is
 * refused with a warning, and the one before stays. */
gboolean gst_ndt_localize_set_setting (
    GstNdtLocalize *self, guint id, const GValue *value, GParamSpec *pspec);
/* The loader's callbacks. */
gboolean gst_ndt_localize_wants_map (GstNdtMapRequest *request, gpointer self);
void gst_ndt_localize_map_loaded (const GstNdtMapRequest *request, NdtVoxelMap *map,
    NdtMapTiles *tiles, const GError *error, gpointer self);
/* What the element adds to the latency of what comes. With the object lock held. */
GstClockTime gst_ndt_localize_get_own_latency (const GstNdtLocalize *self);
/* How far scans may be ahead of a pose stream before they have to wait outside. */
GstClockTime gst_ndt_localize_get_reach (GstClockTime pose_timeout);
/* A LATENCY query to the sources of scans and poses. FALSE where that of scans does not answer. */
gboolean gst_ndt_localize_query_upstream (GstNdtLocalize *self, GstQuery *query);
/* What the element answers to LATENCY queries has changed, if it runs. */
void gst_ndt_localize_post_latency (GstNdtLocalize *self);
/* The "set-initial-pose" and "reset" actions. */
gboolean gst_ndt_localize_set_initial_pose (GstNdtLocalize *self, const gchar *text);
void gst_ndt_localize_reset (GstNdtLocalize *self);
/* The next scan is not where the one before was. */
void gst_ndt_localize_restart (GstNdtLocalize *self, GstNdtPlace place);
/* Moves changes to @taken. TRUE where there are any. */
gboolean gst_ndt_localize_take (GstNdtLocalize *self, GstNdtTaken *taken);
void gst_ndt_changes_clear (GstNdtChanges *changes);

G_END_DECLS
