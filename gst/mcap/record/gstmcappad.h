/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/pointcloud/pointcloud.h>

#include "gstmcapdigest.h"
#include "gstmcapstamps.h"

G_BEGIN_DECLS

typedef enum {
  GST_MCAP_PAD_CLOUD,
  GST_MCAP_PAD_POSE,
  GST_MCAP_PAD_DATA,
} GstMcapPadKind;

#define GST_MCAP_N_ROLES (GST_POSE_ROLE_GROUND_TRUTH + 1)

#define GST_TYPE_MCAP_PAD (gst_mcap_pad_get_type ())
G_DECLARE_FINAL_TYPE (GstMcapPad, gst_mcap_pad, GST, MCAP_PAD, GstPad)

/* An input of mcapsink and mcapmux. */
struct _GstMcapPad {
  GstPad parent;

  GstMcapPadKind kind;
  guint index; /* of the pad's name */

  /* properties, under the object lock */
  gchar *topic;
  gchar *pose_topic;
  gchar *frame_id;
  gchar *parent_frame_id;
  gboolean changed; /* any of them, since the names below were made */

  /* under the lock of the file */
  GstPointCloudInfo info;
  GstCaps *caps;
  gboolean is_attachment; /* its buffers are MCAP's attachments, or metadata records: no messages */
  gboolean is_metadata;
  GstSegment segment;
  guint64 last_time;
  GstMcapClock clock;   /* the sensor's */
  GstMcapDigest *map;   /* what clouds that come were aligned with; NULL: not known */
  guint map_generation; /* the file that this has been noted for */
  gboolean eos;         /* under the object lock of the element */
  gboolean flushing;    /* mcapmux's */
  gboolean warned;

  /* Channels, names and frames, as the file with number generation has them. */
  guint generation;
  gchar *main_topic;
  gchar *poses_topic;
  gchar *cloud_frame;
  gchar *pose_parent_frame;
  guint16 main_channel;
  guint16 pose_channels[GST_MCAP_N_ROLES];
  guint have_pose_channels; /* bit: role */
  gboolean is_copy;         /* buffers are messages of a recording, written as they stand */
  guint16 diagnostics_channel;
  gboolean have_diagnostics_channel;
  guint16 duration_channel;
  gboolean have_duration_channel;
  guint16 tf_channel;
  gboolean have_tf_channel;
};

GstPad *gst_mcap_pad_new (
    GstPadTemplate *templ, GstMcapPadKind kind, const gchar *name, guint index);
/* With the lock of the file. FALSE and GST_STREAM_ERROR: they are of nothing that can be recorded.
 */
gboolean gst_mcap_pad_set_caps (GstMcapPad *self, GstCaps *caps, GError **error);
/* Forgets a stream: caps, segment, end. */
void gst_mcap_pad_reset (GstMcapPad *self);

G_END_DECLS
