/* SPDX-License-Identifier: MIT */
/* What a decoder counts and says. */
#pragma once

#include <gst/gst.h>

#include "gst/lidardec/packet/packet-cutter.h"

G_BEGIN_DECLS

/* Kinds of warnings; one of a kind is posted once in five seconds. */
typedef enum {
  GST_LIDAR_WARNING_SIZE = PACKET_ERROR_SIZE,
  GST_LIDAR_WARNING_FOREIGN = PACKET_ERROR_FOREIGN,
  GST_LIDAR_WARNING_MODEL = PACKET_ERROR_MODEL,
  GST_LIDAR_WARNING_CORRUPT = PACKET_ERROR_CORRUPT,
  GST_LIDAR_WARNING_UNCALIBRATED,
  GST_LIDAR_WARNING_WAITING,
  GST_LIDAR_WARNING_SOURCE,
  GST_LIDAR_WARNING_TIME,
  GST_LIDAR_WARNING_ORDER,
  GST_LIDAR_WARNING_RESTART,
  GST_LIDAR_WARNING_STALLED,
  GST_LIDAR_WARNING_SILENCE,
  GST_LIDAR_N_WARNINGS,
} GstLidarWarning;

#define GST_LIDAR_N_BAD (PACKET_ERROR_CORRUPT + 1)

typedef struct {
  guint64 n_packets;
  guint64 n_other;
  guint64 n_other_source;
  guint64 n_uncalibrated;
  guint64 n_bad[GST_LIDAR_N_BAD]; /* by PacketError */
  guint64 n_scans;
  PacketCutterCounts cutter;
} GstLidarCounts;

/* Posts @text, with how often it happened so far, unless one of its kind was posted just now;
 * @last, the times of the last ones, has GST_LIDAR_N_WARNINGS elements. */
void gst_lidar_warn (GstElement *element, gint64 *last, GstLidarWarning kind, guint64 n,
    const gchar *format, ...) G_GNUC_PRINTF (5, 6);

/* Warns of what the cutter counted from @before to @now. */
void gst_lidar_warn_of_cutter (GstElement *element, gint64 *last, const PacketCutterCounts *before,
    const PacketCutterCounts *now);

/* The element's "stats", named @name. */
GstStructure *gst_lidar_counts_to_structure (const GstLidarCounts *self, const gchar *name);

/* What there was in the place of scans: a sentence without its end. @refused: why the last packet
 * that was refused was, or "". To be freed. */
gchar *gst_lidar_counts_explain (const GstLidarCounts *self, const gchar *refused);

#define GST_LIDAR_MAX_REFUSED 160

G_END_DECLS
