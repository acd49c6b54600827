/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/pointcloud/pointcloud.h>

#include "gst/mcap/container/mcap-writer.h"
#include "gstmcapstamps.h"

G_BEGIN_DECLS

typedef enum {
  GST_MCAP_LOG_TIME_AUTO,
  GST_MCAP_LOG_TIME_PTS,
  GST_MCAP_LOG_TIME_CLOCK,
} GstMcapLogTime;

typedef enum {
  GST_MCAP_TF_MODE_POSE,
  GST_MCAP_TF_MODE_MAP_ODOM,
} GstMcapTfMode;

typedef enum {
  GST_MCAP_RECORD_MAP_NONE,
  GST_MCAP_RECORD_MAP_AUTO,
} GstMcapRecordMap;

/* Properties that mcapsink and mcapmux share. Their owner guards them by its object lock. */
typedef struct {
  McapWriterCompression compression;
  guint chunk_size;       /* bytes */
  guint64 chunk_duration; /* ns */
  guint64 max_memory;     /* bytes; 0: any */
  gchar *tf_topic;
  GstPoseRole tf_role;
  GstMcapTfMode tf_mode;
  gchar *diagnostics_topic;
  GstMcapLogTime log_time;
  GstMcapHeaderStamp header_stamp;
  GstStructure *metadata;
  gboolean attach_pipeline;
  GstMcapRecordMap map;
  guint max_map_points;
} GstMcapSettings;

/* All at their defaults. */
void gst_mcap_settings_init (GstMcapSettings *self);
void gst_mcap_settings_clear (GstMcapSettings *self);
/* @to is initialized; what it had is freed. */
void gst_mcap_settings_copy (GstMcapSettings *to, const GstMcapSettings *from);
/* Properties are numbered from @first on; returns the first number that is free. */
guint gst_mcap_settings_install (GObjectClass *klass, guint first);
/* FALSE: none of these. @id: counted from that of the first. */
gboolean gst_mcap_settings_set (GstMcapSettings *self, guint id, const GValue *value);
gboolean gst_mcap_settings_get (const GstMcapSettings *self, guint id, GValue *value);

G_END_DECLS
