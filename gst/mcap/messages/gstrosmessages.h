/* SPDX-License-Identifier: MIT */
#pragma once

/* ROS 2's messages for clouds and poses, in CDR. Stamps are nanoseconds of
 * the epoch or of whatever axis the recording has. */

#include <gst/pointcloud/pointcloud.h>

#include "gst/mcap/ros/ros-schemas.h"
#include "gstbagnames.h"

G_BEGIN_DECLS

#define ROS_MESSAGE_ERROR (ros_message_error_quark ())
GQuark ros_message_error_quark (void);

/* @ROS_MESSAGE_ERROR_DAMAGED: runs past its end or contradicts itself
 * @ROS_MESSAGE_ERROR_UNSUPPORTED: valid, but nothing that a GstPointCloudInfo can hold */
typedef enum {
  ROS_MESSAGE_ERROR_DAMAGED,
  ROS_MESSAGE_ERROR_UNSUPPORTED,
} RosMessageError;

/* Appends a PointCloud2 up to its data's length; the points' bytes, info->point_step × @n_points,
 * follow, and then one byte, is_dense (1: no coordinate is NaN or infinite). */
void ros_write_point_cloud2_head (GByteArray *out, gint64 stamp, const gchar *frame_id,
    const GstPointCloudInfo *info, gsize n_points);

typedef struct {
  gint64 stamp;
  gchar *frame_id;
  guint32 height;
  guint32 width; /* points of a row */
  /* point_step and fields, CUSTOM or the known format that they are. Organized where height > 1. */
  GstPointCloudInfo info;
  /* Bytes, at least width × point_step; that, where the data are as long as rows without padding.
   */
  guint32 row_step;
  const guint8 *data; /* inside the message */
  gsize data_size;    /* at least (height − 1) × row_step + width × point_step */
  gboolean is_dense;
} RosPointCloud2;

/* @names bounds how many names of fields and frames may be new; NULL: no bound. On failure nothing
 * has to be cleared. */
gboolean ros_read_point_cloud2 (
    RosPointCloud2 *self, const guint8 *data, gsize size, GstBagNames *names, GError **error);
void ros_point_cloud2_clear (RosPointCloud2 *self);

/* A pose of a child frame in a parent frame. Of a meta without a covariance zeros are written. */
void ros_write_pose (
    GByteArray *out, gint64 stamp, const gchar *parent_frame, const GstPoseMeta *meta);
/* The same as a TFMessage of one transform. */
void ros_write_tf (GByteArray *out, gint64 stamp, const gchar *parent_frame,
    const gchar *child_frame, const GstPoseMeta *meta);
/* All of a meta but pose, covariance and the stamp, as a DiagnosticArray of one status. @name is
 * what it is a diagnosis of. The keys of its values are the fields of
 * gst_pose_meta_to_structure(), "has-pose" and "has-covariance" ("true", "false"). */
void ros_write_diagnostics (
    GByteArray *out, gint64 stamp, const gchar *name, const GstPoseMeta *meta);

/* A builtin_interfaces/msg/Duration in ns, which a scan's DURATION is recorded as. */
void ros_write_duration (GByteArray *out, GstClockTime duration);
gboolean ros_read_duration (GstClockTime *duration, const guint8 *data, gsize size, GError **error);

typedef struct {
  gint64 stamp;
  gchar *parent_frame;
  gchar *child_frame; /* NULL: the message has none (PoseWithCovarianceStamped) */
  gdouble position[3];
  gdouble orientation[4]; /* x, y, z, w as it stands in the message */
  gdouble covariance[36]; /* zeros of a transform */
} RosPose;

void ros_pose_clear (RosPose *self);
/* On failure nothing has to be cleared. */
gboolean ros_read_pose (RosPose *self, const guint8 *data, gsize size, GError **error);
/* RosPose each, in order; free by g_array_unref(). */
GArray *ros_read_tf (const guint8 *data, gsize size, GError **error);
/* Sets what ros_write_diagnostics() wrote, child_frame included, in @meta; keys that are not there
 * leave it as it was. FALSE without an error: a DiagnosticArray of something else. */
gboolean ros_read_diagnostics (GstPoseMeta *meta, gint64 *stamp, const guint8 *data, gsize size,
    GstBagNames *names, GError **error);
/* ROS_MESSAGE_ERROR_UNSUPPORTED: the bound of names is reached. */
gboolean ros_set_too_many_names (GError **error);

G_END_DECLS
