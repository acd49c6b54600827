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

/* What a pad writes beside its own channel. */
typedef enum {
  GST_MCAP_CHANNEL_DURATION,
  GST_MCAP_CHANNEL_DIAGNOSTICS,
  GST_MCAP_CHANNEL_TF,
  GST_MCAP_CHANNEL_TF_STATIC,
  GST_MCAP_CHANNEL_ODOMETRY,
  GST_MCAP_CHANNEL_POSES, /* of each role */
  GST_MCAP_N_CHANNELS = GST_MCAP_CHANNEL_POSES + GST_MCAP_N_ROLES,
} GstMcapChannel;

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
  gchar *odometry_topic;
  gchar *path_topic;
  gboolean changed; /* any of them, since the names below were made */

  /* under the lock of the file */
  GstPointCloudInfo info;
  GstCaps *caps;
  gboolean is_attachment; /* its buffers are MCAP's attachments, or metadata records: no messages */
  gboolean is_metadata;
  GstSegment segment;
  guint64 last_time;
  GstMcapClock clock;       /* the sensor's */
  GstMcapDigest *map;       /* what clouds that come were aligned with; NULL: not known */
  guint map_generation;     /* the file that this has been noted for */
  GstPointCloudPose *mount; /* of the sensor on the body; NULL: not known */
  gchar *mount_parent;      /* the body's frame */
  gboolean has_last_pose;   /* of the last estimate, which was found */
  GstPointCloudPose last_pose;
  gint64 last_stamp;
  gboolean eos;      /* under the object lock of the element */
  gboolean flushing; /* mcapmux's */
  gboolean warned;

  /* Channels, names and frames, as the file with number generation has them. */
  guint generation;
  gchar *main_topic;
  gchar *poses_topic;
  gchar *cloud_frame;
  gchar *pose_parent_frame;
  gchar *odometry_name; /* topics; empty or NULL: they are not recorded */
  gchar *path_name;
  guint16 main_channel;
  gboolean is_copy; /* buffers are messages of a recording, written as they stand */
  guint16 channels[GST_MCAP_N_CHANNELS];
  guint have_channels; /* bits */
  gboolean have_mount; /* it is in the file */
};

GstPad *gst_mcap_pad_new (
    GstPadTemplate *templ, GstMcapPadKind kind, const gchar *name, guint index);
/* With the lock of the file. FALSE and GST_STREAM_ERROR: they are of nothing that can be recorded.
 */
gboolean gst_mcap_pad_set_caps (GstMcapPad *self, GstCaps *caps, GError **error);
/* With the lock of the file. @structure: of an event "sensor-pose": where the sensor is on the body
 * (docs/contract.md). */
void gst_mcap_pad_set_mount (GstMcapPad *self, const GstStructure *structure);
/* Forgets a stream: caps, segment, end. */
void gst_mcap_pad_reset (GstMcapPad *self);

G_END_DECLS
