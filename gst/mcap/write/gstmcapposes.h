/* SPDX-License-Identifier: MIT */
#pragma once

#include "gst/mcap/container/mcap-writer.h"
#include "gstmcapodometry.h"
#include "gstmcappad.h"
#include "gstmcapsettings.h"

G_BEGIN_DECLS

/* Poses on buffers, and what follows from them, as messages of a file. */
typedef struct {
  McapWriter *writer;              /* borrowed; of the file at hand, NULL: none */
  const GstMcapSettings *settings; /* borrowed; of the file at hand */
  GByteArray *scratch;
  GstMcapOdometry odometry;   /* of the recording; used with tf-mode=map-odom */
  GPtrArray *paths;           /* of the file */
  GHashTable *parents;        /* of the recording's transforms: child → parent */
  gchar *conflict;            /* a child with two parents, as text; NULL: none was found */
  guint64 n_without_odometry; /* estimates that gave no transform for want of it */
} GstMcapPoses;

void gst_mcap_poses_init (GstMcapPoses *self);
void gst_mcap_poses_clear (GstMcapPoses *self);
/* Forgets odometry. */
void gst_mcap_poses_reset (GstMcapPoses *self);
/* Begins a file. */
void gst_mcap_poses_open (GstMcapPoses *self, McapWriter *writer, const GstMcapSettings *settings);

/* Poses of all roles. @stamp: of the buffer's PTS. */
gboolean gst_mcap_poses_add (GstMcapPoses *self, GstMcapPad *pad, GstBuffer *buffer,
    guint64 log_time, gint64 stamp, GError **error);
/* Of a buffer that is recorded as the message that it was: transforms alone. @is_tf: the message is
 * one of transforms. */
gboolean gst_mcap_poses_add_transforms (GstMcapPoses *self, GstMcapPad *pad, GstBuffer *buffer,
    gboolean is_tf, guint64 log_time, gint64 stamp, GError **error);
/* Once a file, before the first cloud that has it: where the sensor is on the body. */
gboolean gst_mcap_poses_add_mount (
    GstMcapPoses *self, GstMcapPad *pad, guint64 log_time, gint64 stamp, GError **error);
/* Paths, at the end of a file. */
gboolean gst_mcap_poses_add_paths (GstMcapPoses *self, GError **error);

G_END_DECLS
