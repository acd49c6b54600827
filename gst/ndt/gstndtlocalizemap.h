/* SPDX-License-Identifier: MIT */
/* The map that scans are aligned with, and the tiles of it that follow the vehicle. On the task, or
 * while there is none. */
#pragma once

#include "gstndtlocalizeprivate.h"

G_BEGIN_DECLS

/* The map that scans are aligned with from now on comes from there. */
void gst_ndt_localize_note_map (
    GstNdtLocalize *self, const NdtVoxelMap *map, const gchar *location);
/* Notes whether the map, which comes from there, is sparse for its cells. */
void gst_ndt_localize_check_map (
    GstNdtLocalize *self, const NdtVoxelMap *map, const gchar *location);
/* Sends the event "ndt-map", unless it was sent since the map changed: before the first scan that
 * is aligned with it, and again once its checksums are known. */
void gst_ndt_localize_tell_map (GstNdtLocalize *self);
/* What is in memory from now on; @tiles NULL: all of the map. Takes references. */
void gst_ndt_localize_set_tiles (GstNdtLocalize *self, NdtMapTiles *tiles, NdtVoxelMap *map,
    gdouble radius, const gdouble position[2]);
void gst_ndt_localize_clear_tiles (GstNdtLocalize *self);
/* What is aligned with the first map waits for it, so that poses do not depend on how fast it is
 * read. FALSE with GST_FLOW_OK where nothing waits: there is no map, and the source is live. */
gboolean gst_ndt_localize_wait_for_map (GstNdtLocalize *self, GstFlowReturn *flow);
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

G_END_DECLS
