/* SPDX-License-Identifier: MIT */
#pragma once

#include "gst/common/gstndtposepad.h"
#include "gst/pointcloud/pointcloud.h"
#include "gstndtengine.h"
#include "gstndtfifo.h"
#include "gstndtlocalize.h"
#include "gstndtmaploader.h"
#include "gstndtpool.h"
#include "gstndtsettings.h"
#include "gstndtstats.h"

G_BEGIN_DECLS

GST_DEBUG_CATEGORY_EXTERN (gst_ndt_localize_debug);

/**
 * GstNdtChanges:
 * @settings: properties that were set, bits of their numbers
 *
 * What has been asked for since the task last looked; it takes effect between two scans, in
 * this order: reset, map, settings, initial pose.
 */
typedef struct {
  gboolean reset;
  NdtVoxelMap *map;
  gchar *map_location;
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
  gboolean negotiated;

  /* source pad's task */
  GstNdtBatch *batch;
  GstPointCloudInfo info;
  GstSegment segment;
  guint64 sequence;
  const gchar *state;  /* as last posted, NULL before the first scan */
  GstClockTime warned; /* when the last warning about scans was posted */
  guint n_unwarned;
};

/* gstndtlocalizetask.c: everything that runs on the source pad's task. */
GstNdtBatch *gst_ndt_batch_new (void);
void gst_ndt_batch_free (GstNdtBatch *batch);
void gst_ndt_localize_task (gpointer self);
/* To start state, while there is no task. */
void gst_ndt_localize_reset_task (GstNdtLocalize *self);

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
gboolean gst_ndt_localize_wants_map (gchar **path, NdtVoxelMapParams *params, gpointer self);
void gst_ndt_localize_map_loaded (const gchar *path, const NdtVoxelMapParams *params,
    NdtVoxelMap *map, const GError *error, gpointer self);
/* What the element adds to the latency of what comes. With the object lock held. */
GstClockTime gst_ndt_localize_get_own_latency (const GstNdtLocalize *self);
/* What the element answers to LATENCY queries has changed, if it runs. */
void gst_ndt_localize_post_latency (GstNdtLocalize *self);
/* The "set-initial-pose" and "reset" actions. */
gboolean gst_ndt_localize_set_initial_pose (GstNdtLocalize *self, const gchar *text);
void gst_ndt_localize_reset (GstNdtLocalize *self);
/* Moves changes to @taken. TRUE where there are any. */
gboolean gst_ndt_localize_take (GstNdtLocalize *self, GstNdtTaken *taken);
void gst_ndt_changes_clear (GstNdtChanges *changes);

G_END_DECLS
