/* SPDX-License-Identifier: MIT */
/* Motion of a body during a scan. */
#pragma once

#include "ndtcore/motion/ndt-deskew.h"

G_BEGIN_DECLS

/**
 * NdtCourse:
 * @middle: mean of the points' times, seconds on their axis
 * @half: seconds from there to the first or the last time, whichever is more
 * @time: of the middle, nanoseconds on the axis of observations
 * @has_pose: @pose is set … @pose: … the aligned pose of the body at the middle
 * @has_velocity: @velocity is known
 * @velocity: of the body at the middle, a twist per second
 * @velocity_time: time of @velocity, on the axis of @time: earlier where @is_doubtful
 * @is_doubtful: the velocity from the scan before is not credible, and @velocity is an older one
 * @has_step: @step and @step_time are known
 * @step: mean velocity since the middle of the scan before …
 * @step_time: … half-way between the two
 * @acceleration: change of velocity, a twist per second²; zero where there is none
 *
 * Motion of the body during a scan. The alignment is at the mean time of the points: there the pose
 * is correct to first order, whatever velocity was used for compensation, so that two such poses
 * give the correct velocity.
 */
typedef struct {
  double middle;
  double half;
  gint64 time;
  gboolean has_pose;
  NdtPose pose;
  gboolean has_velocity;
  double velocity[6];
  gint64 velocity_time;
  gboolean is_doubtful;
  gboolean has_step;
  double step[6];
  gint64 step_time;
  double acceleration[6];
} NdtCourse;

/* For points with the times @span, where @time_on_points is @time on their axis. Without a
 * velocity. */
void ndt_course_init (
    NdtCourse *course, const NdtTimeSpan *span, gint64 time, double time_on_points);

/* The pose @seconds after the middle, from the pose at the middle. */
NdtPose ndt_course_move (const NdtCourse *course, const NdtPose *pose, double seconds);

/* After the alignment: sets the pose at the middle, and the velocity since @last, or that of @last
 * where it is not credible; @last is NULL where there is no previous pose. Returns TRUE where the
 * points have to be compensated again. */
gboolean ndt_course_continue (NdtCourse *course, const NdtCourse *last, const NdtPose *pose);

/* Returns TRUE where a change of velocity displaces points by more than the limits. */
gboolean ndt_course_is_change (const NdtCourse *course, const double change[6]);

/* Twist per second from one pose to the other. FALSE where the times, nanoseconds, are not
 * increasing or too far apart. */
gboolean ndt_course_get_velocity (
    const NdtPose *from, gint64 from_time, const NdtPose *to, gint64 to_time, double velocity[6]);

/* Returns TRUE where @velocity, measured over @elapsed seconds, is credible @since seconds after
 * @last. Twists per second. Otherwise a time stamp or a pose is wrong. */
gboolean ndt_course_is_credible (
    const double velocity[6], double elapsed, const double last[6], double since);

/* The motion of a sensor whose pose on the body is @mount. */
NdtScanMotion ndt_course_get_motion (const NdtCourse *course, const NdtPose *mount);
/* Sets the velocity from that of such a sensor. */
void ndt_course_set_velocity (
    NdtCourse *course, const NdtPose *mount, const double sensor_velocity[6]);

G_END_DECLS
