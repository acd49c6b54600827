/* SPDX-License-Identifier: MIT */
#pragma once

#include "gst/common/gstposequeuepad.h"
#include "gst/common/gstpointcloudtimer.h"
#include "gst/pointcloud/pointcloud.h"
#include "gst/ndt/engine/gstndtdigest.h"
#include "gst/ndt/engine/gstndtengine.h"
#include "gst/ndt/queue/gstndtfifo.h"
#include "gstndtcompensation.h"
#include "gstndtlocalize.h"
#include "gst/ndt/engine/gstndtmaploader.h"
#include "gst/ndt/queue/gstndtplace.h"
#include "gst/ndt/engine/gstndtpool.h"
#include "gst/ndt/engine/gstndtposekeeper.h"
#include "gst/ndt/settings/gstndtsettings.h"
#include "gst/ndt/queue/gstndtstats.h"

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

/**
 * GstNdtLast:
 * @keeper: of the file; NULL: none is asked for
 * @is_read: the file had a pose, @read, that no map was compared with yet
 * @map: ndt_voxel_map_hash() of the map in use, or ndt_map_tiles_get_hash()
 * @good: pose of the last scan that was tracking …
 * @waits: … which was not given to @keeper, …
 * @put_time: … as that of this time was
 * @has_failed: a warning that the file cannot be written was posted
 *
 * The file of the last good pose.
 */
typedef struct {
  GstNdtPoseKeeper *keeper;
  gboolean is_read;
  NdtLastPose read;
  guint64 map;
  NdtLastPose good;
  gboolean waits;
  GstClockTime put_time;
  gboolean has_failed;
} GstNdtLast;

/* The map that was wanted when the element started. */
typedef enum {
  GST_NDT_FIRST_MAP_NONE, /* the element does not run */
  GST_NDT_FIRST_MAP_READING,
  GST_NDT_FIRST_MAP_READ, /* it is in the changes, unless the engine has it already */
  GST_NDT_FIRST_MAP_FAILED,
} GstNdtFirstMap;

typedef struct _GstNdtBatch GstNdtBatch;

struct _GstNdtLocalize {
  GstElement parent;

  GstPad *sinkpad;
  GstPad *srcpad;
  NdtLog log; /* of ndtcore, forwarded to the element's category */
  GstNdtFifo *fifo;
  GstNdtStats *stats;
  GstNdtMapLoader *loader;
  GstPoseQueue *poses;

  /* under the object lock */
  GstNdtSettings settings;      /* while running, all can be used: what cannot was refused */
  gchar *map;                   /* while running, what was last read … */
  NdtVoxelMapParams map_params; /* … and how */
  gdouble map_radius;           /* what of it is in memory; 0: all */
  gdouble position[2];          /* of the vehicle, where it is not all */
  GstNdtFirstMap first_map;
  gboolean start_waits;    /* for the first map, and takes what comes of it */
  GError *start_error;     /* why there is none, where it waits */
  gboolean tells_progress; /* of the first map */
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
  GstSegment sink_segment;
  GstClockTime last_pts;
  GstNdtPlayback playback;
  gboolean negotiated;
  GstPointCloudInfo sink_info; /* of the caps that came */
  gboolean checked;            /* the first scan of these has come */
  GstPointTimes *sink_times;   /* looks at scans before they wait */

  /* source pad's task */
  GstNdtBatch *batch;
  gboolean tells_search; /* a progress message of a search was posted, and none of its end */
  GstPointCloudInfo info;
  GstSegment segment;
  GstNdtTiles tiles;
  GstNdtLast last;
  NdtLocalizerParams params; /* as the engine has them */
  GstPointTimes *times;
  GstNdtCompensation compensation;
  guint64 sequence;
  gboolean has_map;        /* the engine has one of this run */
  gchar *sparse_map;       /* (nullable): what warnings of scans that do not fit say of it */
  gchar *used_map;         /* where it comes from */
  gdouble used_resolution; /* of its finest voxels, metres */
  gboolean has_told_map;   /* downstream */
  GstNdtDigest *digest;    /* of @used_map, NULL: of tiles */
  gboolean has_told_digest;
  gboolean has_told_sensor_pose;
  const gchar *state;  /* as last posted, NULL before the first scan */
  GstClockTime warned; /* when the last warning about scans was posted */
  guint n_unwarned;
};

G_END_DECLS
