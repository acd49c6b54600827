/* SPDX-License-Identifier: MIT */
/* Settings, maps and poses from other threads than the task's. */
#pragma once

#include "gstndtlocalizeprivate.h"

G_BEGIN_DECLS

/* Opens the backend. Posts an error on FALSE. */
gboolean gst_ndt_localize_open (GstNdtLocalize *self);
void gst_ndt_localize_close (GstNdtLocalize *self);
/* Reads the map and prepares what the first scan needs. Posts an error on FALSE. */
gboolean gst_ndt_localize_start (GstNdtLocalize *self);
void gst_ndt_localize_stop (GstNdtLocalize *self);
/* FALSE where the property is none of the settings'. While running, a text that cannot be read is
 * refused with a warning, and the one before stays. */
gboolean gst_ndt_localize_set_setting (
    GstNdtLocalize *self, guint id, const GValue *value, GParamSpec *pspec);
/* The code of progress messages about the first map. */
#define GST_NDT_PROGRESS_MAP "map"
/* … and about a search of many candidates. */
#define GST_NDT_PROGRESS_SEARCH "search"

/* The loader's callbacks. */
void gst_ndt_localize_map_progress (gdouble fraction, gpointer user_data);
gboolean gst_ndt_localize_wants_map (GstNdtMapRequest *request, gpointer self);
void gst_ndt_localize_map_loaded (const GstNdtMapRequest *request, NdtVoxelMap *map,
    NdtMapTiles *tiles, const GError *error, gpointer self);
/* What the element adds to the latency of what comes. With the object lock held. */
GstClockTime gst_ndt_localize_get_own_latency (const GstNdtLocalize *self);
/* How far scans may be ahead of a pose stream before they have to wait outside. */
GstClockTime gst_ndt_localize_get_reach (GstClockTime pose_latency);
/* A LATENCY query to the sources of scans and poses. FALSE where that of scans does not answer. */
gboolean gst_ndt_localize_query_upstream (GstNdtLocalize *self, GstQuery *query);
/* What the element answers to LATENCY queries has changed, if it runs. */
void gst_ndt_localize_post_latency (GstNdtLocalize *self);
/* The "set-initial-pose" and "reset" actions. */
gboolean gst_ndt_localize_set_initial_pose (GstNdtLocalize *self, const gchar *text);
/* Takes a request of gst_pose_request_event_new() and answers it downstream. FALSE: it is none. */
gboolean gst_ndt_localize_request_pose (GstNdtLocalize *self, GstEvent *event);
void gst_ndt_localize_reset (GstNdtLocalize *self);
/* The next scan is not where the one before was. */
void gst_ndt_localize_restart (GstNdtLocalize *self, GstNdtPlace place);
/* Moves changes to @taken. TRUE where there are any. */
gboolean gst_ndt_localize_take (GstNdtLocalize *self, GstNdtTaken *taken);
void gst_ndt_changes_clear (GstNdtChanges *changes);

/* Uses the first map, which has been read. On the task, or while there is none. FALSE where it
 * cannot be used, which an error says. */
gboolean gst_ndt_localize_take_first_map (GstNdtLocalize *self);

G_END_DECLS
