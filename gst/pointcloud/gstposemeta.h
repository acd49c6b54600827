/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/pointcloud/pointcloud-prelude.h>

G_BEGIN_DECLS

/**
 * GST_POSE_CAPS_NAME:
 *
 * Caps of a stream of poses: each buffer carries one or more #GstPoseMeta; its bytes, if any, mean
 * nothing. A pose is of the instant in its meta, or of the buffer's PTS where there is none.
 *
 * Since: 0.1
 */
#define GST_POSE_CAPS_NAME "pose/x-raw"

/**
 * GstPoseRole:
 * @GST_POSE_ROLE_ESTIMATE: what a localizer found
 * @GST_POSE_ROLE_PRIOR: an absolute pose in the map from elsewhere (GNSS, a person)
 * @GST_POSE_ROLE_ODOMETRY: a pose in a drifting frame; only increments mean something
 * @GST_POSE_ROLE_GROUND_TRUTH: the true pose
 *
 * Since: 0.1
 */
typedef enum {
  GST_POSE_ROLE_ESTIMATE,
  GST_POSE_ROLE_PRIOR,
  GST_POSE_ROLE_ODOMETRY,
  GST_POSE_ROLE_GROUND_TRUTH,
} GstPoseRole;

/**
 * GstPoseStatus:
 * @GST_POSE_STATUS_NONE: not said
 * @GST_POSE_STATUS_INITIALIZING: nothing to start from yet
 * @GST_POSE_STATUS_TRACKING: localized
 * @GST_POSE_STATUS_DEGRADED: localized with scores below their thresholds
 * @GST_POSE_STATUS_LOST: not localized; the pose is at best a prediction
 * @GST_POSE_STATUS_SKIPPED: this scan was not aligned; the pose is a prediction
 *
 * Since: 0.1
 */
typedef enum {
  GST_POSE_STATUS_NONE,
  GST_POSE_STATUS_INITIALIZING,
  GST_POSE_STATUS_TRACKING,
  GST_POSE_STATUS_DEGRADED,
  GST_POSE_STATUS_LOST,
  GST_POSE_STATUS_SKIPPED,
} GstPoseStatus;

#define GST_TYPE_POSE_ROLE (gst_pose_role_get_type ())
GST_POINT_CLOUD_API GType gst_pose_role_get_type (void);
#define GST_TYPE_POSE_STATUS (gst_pose_status_get_type ())
GST_POINT_CLOUD_API GType gst_pose_status_get_type (void);

typedef struct _GstPoseMeta GstPoseMeta;

/**
 * GstPoseMeta:
 * @meta: parent
 * @role: what kind of pose
 * @status: of an estimate
 * @has_pose: @position and @orientation mean something (a lost scan may have none)
 * @position: x, y, z in metres in the parent frame
 * @orientation: unit quaternion x, y, z, w
 * @has_covariance: @covariance means something
 * @covariance: row-major 6×6 as ROS has it: position in the parent frame (m²), rotation about
 *   the parent's axes through the pose (rad²)
 * @parent_frame: "map", usually; 0: not said
 * @child_frame: 0: not said
 * @timestamp: instant that the pose is of, on the buffer's PTS axis; GST_CLOCK_TIME_NONE: not said
 * @sequence: number of the scan in its stream
 * @transformation_probability: of an estimate, 0 otherwise
 * @nvtl: nearest voxel transformation likelihood of an estimate
 * @matched_ratio: of an estimate, 0 to 1
 * @iterations: of an estimate
 * @has_no_ground: the points of an estimate's scan above the ground were scored by themselves
 * @no_ground_points: how many there are …
 * @no_ground_transformation_probability: … and their scores, 0 where there are none
 * @no_ground_nvtl: as well
 *
 * Since: 0.1
 */
struct _GstPoseMeta {
  GstMeta meta;

  GstPoseRole role;
  GstPoseStatus status;
  gboolean has_pose;
  gdouble position[3];
  gdouble orientation[4];
  gboolean has_covariance;
  gdouble covariance[36];
  GQuark parent_frame;
  GQuark child_frame;
  GstClockTime timestamp;
  guint64 sequence;
  gdouble transformation_probability;
  gdouble nvtl;
  gdouble matched_ratio;
  guint iterations;
  gboolean has_no_ground;
  guint no_ground_points;
  gdouble no_ground_transformation_probability;
  gdouble no_ground_nvtl;
};

#define GST_POSE_META_API_TYPE (gst_pose_meta_api_get_type ())
GST_POINT_CLOUD_API GType gst_pose_meta_api_get_type (void);
#define GST_POSE_META_INFO (gst_pose_meta_get_info ())
GST_POINT_CLOUD_API const GstMetaInfo *gst_pose_meta_get_info (void);

GST_POINT_CLOUD_API GstPoseMeta *gst_buffer_add_pose_meta (
    GstBuffer *buffer, GstPoseRole role, const gdouble *position, const gdouble *orientation);
GST_POINT_CLOUD_API GstPoseMeta *gst_buffer_add_pose_meta_from_structure (
    GstBuffer *buffer, const GstStructure *structure);
GST_POINT_CLOUD_API GstPoseMeta *gst_buffer_get_pose_meta (GstBuffer *buffer, GstPoseRole role);
GST_POINT_CLOUD_API GstClockTime gst_pose_meta_get_time (
    const GstPoseMeta *meta, GstBuffer *buffer);
GST_POINT_CLOUD_API GstStructure *gst_pose_meta_to_structure (const GstPoseMeta *meta);
GST_POINT_CLOUD_API GstStructure *gst_buffer_get_pose_structure (
    GstBuffer *buffer, GstPoseRole role);

G_END_DECLS
