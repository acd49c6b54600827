/* SPDX-License-Identifier: MIT */
/* The map that clouds are aligned with, read beside the stream and thinned, to be recorded. */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/**
 * GstMcapMap:
 *
 * Reference-counted; for any thread.
 */
typedef struct _GstMcapMap GstMcapMap;

/* @element: posts a warning where a map cannot be read; borrowed until gst_mcap_map_stop(). */
GstMcapMap *gst_mcap_map_new (GstElement *element, guint max_points);
GstMcapMap *gst_mcap_map_ref (GstMcapMap *self);
void gst_mcap_map_unref (GstMcapMap *self);
/* Ends reading, and every wait from now on. Returns whether something was being read. */
gboolean gst_mcap_map_stop (GstMcapMap *self);

/* Begins to read a file of points or a folder of them; nothing where it is the one before. */
void gst_mcap_map_show (GstMcapMap *self, const gchar *location);
/* Waits until what is read is read, or the pad flushes. Without @always not in a live pipeline,
 * whose buffers are not to wait. */
void gst_mcap_map_wait (GstMcapMap *self, GstPad *pad, gboolean always);
/* Threads that wait look again whether their pad flushes. */
void gst_mcap_map_wake (GstMcapMap *self);
/* Points of the newest map that was read, three doubles each; NULL: none. */
GBytes *gst_mcap_map_get_points (GstMcapMap *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstMcapMap, gst_mcap_map_unref)

G_END_DECLS
