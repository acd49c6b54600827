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

/**
 * GstPoseReason:
 * @GST_POSE_REASON_NONE: it is tracking, or it is not said
 * @GST_POSE_REASON_BAD_FIT: it does not fit the map there. The number is the fit: what its points
 *   contribute as a fraction of what they do in place
 * @GST_POSE_REASON_NO_MAP: none of its points lies on the map where it was looked for
 * @GST_POSE_REASON_NO_START: there is no pose to start from
 * @GST_POSE_REASON_WEAK_OVERLAP: too little of it lies on the map to tell. The number is the share
 *   of its points that do, as a fraction of that in place
 * @GST_POSE_REASON_STALE_PREDICTION: nothing tells where the sensor went since the last scan that
 *   was aligned, and no other one has confirmed the place. The number is how many have yet to agree
 * @GST_POSE_REASON_TOO_LATE: its turn came too late. The number is by how much, seconds
 * @GST_POSE_REASON_DEGENERATE: its position is open along a direction. The number is the standard
 *   deviation along it, metres
 * @GST_POSE_REASON_AMBIGUOUS: other places fit about as well. The number is what the next best has
 *   as a fraction of the best
 * @GST_POSE_REASON_IMPLAUSIBLE_MOTION: it fits where no body gets to in the time. The number is how
 *   far that is from where motion leads, metres
 * @GST_POSE_REASON_TOO_FEW_POINTS: it has too few points. The number is how many
 *
 * Why an estimate is not tracking; #GstPoseMeta.reason_value is the number that led to it, and
 * #GstPoseMeta.reason_bound what it is compared with. gst_pose_reason_get_advice() says what to do.
 *
 * Since: 0.2
 */
typedef enum {
  GST_POSE_REASON_NONE,
  GST_POSE_REASON_BAD_FIT,
  GST_POSE_REASON_NO_MAP,
  GST_POSE_REASON_NO_START,
  GST_POSE_REASON_WEAK_OVERLAP,
  GST_POSE_REASON_STALE_PREDICTION,
  GST_POSE_REASON_TOO_LATE,
  GST_POSE_REASON_DEGENERATE,
  GST_POSE_REASON_AMBIGUOUS,
  GST_POSE_REASON_IMPLAUSIBLE_MOTION,
  GST_POSE_REASON_TOO_FEW_POINTS,
} GstPoseReason;

#define GST_TYPE_POSE_REASON (gst_pose_reason_get_type ())
GST_POINT_CLOUD_API GType gst_pose_reason_get_type (void);
GST_POINT_CLOUD_API const gchar *gst_pose_reason_get_advice (GstPoseReason reason);
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
 * @reason: why an estimate is not tracking (Since: 0.2)
 * @reason_value: the number that led to it … (Since: 0.2)
 * @reason_bound: … and what that is compared with (Since: 0.2)
 * @has_fit: @fit means something (Since: 0.2)
 * @fit: what an estimate's points contribute as a fraction of what they do in place, about 1 where
 *   they fit (Since: 0.2)
 * @sigma: largest standard deviation of an estimate's position along a direction, metres; 0: not
 *   known (Since: 0.2)
 * @degenerate: the scan leaves directions of the position open (Since: 0.2)
 * @n_open: how many, 0 to 3 … (Since: 0.2)
 * @open_directions: … unit vectors in the parent frame, one after another (Since: 0.2)
 * @has_confidence: @confidence and @unexplained are known (Since: 0.2)
 * @confidence: probability that an estimate is right to 0.5 m and 2 degrees (Since: 0.2)
 * @unexplained: share of the scan's points that lie on nothing that the map has there (Since: 0.2)
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
  GstPoseReason reason;
  gdouble reason_value;
  gdouble reason_bound;
  gboolean has_fit;
  gdouble fit;
  gdouble sigma;
  gboolean degenerate;
  guint n_open;
  gdouble open_directions[9];
  gboolean has_confidence;
  gdouble confidence;
  gdouble unexplained;
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
GST_POINT_CLOUD_API gchar *gst_pose_meta_describe_reason (const GstPoseMeta *meta);
GST_POINT_CLOUD_API GstStructure *gst_pose_meta_to_structure (const GstPoseMeta *meta);
GST_POINT_CLOUD_API GstStructure *gst_buffer_get_pose_structure (
    GstBuffer *buffer, GstPoseRole role);

G_END_DECLS
