/* SPDX-License-Identifier: MIT */
/* How a body moves while a scan is taken. */
#pragma once

#include "ndtcore/motion/ndt-deskew.h"

G_BEGIN_DECLS

/**
 * NdtCourse:
 * @middle: mean of the points' times, seconds on their axis
 * @half: from there to the first or the last, whichever is farther
 * @time: of the middle, nanoseconds on the axis of observations
 * @has_pose: @pose is the body's there …
 * @pose: … as aligned
 * @has_velocity: @velocity is known
 * @velocity: the body's there, a twist per second
 * @velocity_time: when it was so, as @time: earlier where @is_doubtful
 * @is_doubtful: the way since the scan before and the time do not fit together, and @velocity is an
 *   older one
 * @has_step: @step and @step_time are known
 * @step: mean velocity since the middle of the scan before …
 * @step_time: … half-way between the two
 * @acceleration: change of velocity, a twist per second²; zero where it is not known
 *
 * How the body moves during a scan. An alignment is of the middle of its points: to first order
 * it is right there, whatever velocity they were compensated by, and from one middle to the next
 * the velocity comes out right.
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

/* Of points measured within @span, where @time_on_points is @time on their axis. No velocity. */
void ndt_course_init (
    NdtCourse *course, const NdtTimeSpan *span, gint64 time, double time_on_points);

/* The pose @seconds after the middle, by the pose there. */
NdtPose ndt_course_move (const NdtCourse *course, const NdtPose *pose, double seconds);

/* After the alignment: takes the pose in the middle, and with it the velocity since @last, NULL
 * where the body was elsewhere then; what @last had where that one is not credible. Returns whether
 * points moved by it would lie elsewhere than they do. */
gboolean ndt_course_continue (NdtCourse *course, const NdtCourse *last, const NdtPose *pose);

/* Do points move so far by a change of velocity that it matters? */
gboolean ndt_course_is_change (const NdtCourse *course, const double change[6]);

/* Twist per second that leads from one pose to the other. FALSE where the times, nanoseconds, say
 * nothing. */
gboolean ndt_course_get_velocity (
    const NdtPose *from, gint64 from_time, const NdtPose *to, gint64 to_time, double velocity[6]);

/* The motion of a sensor that is mounted on the body at @mount. */
NdtScanMotion ndt_course_get_motion (const NdtCourse *course, const NdtPose *mount);
/* Takes such a sensor's velocity for the body's. */
void ndt_course_set_velocity (
    NdtCourse *course, const NdtPose *mount, const double sensor_velocity[6]);

G_END_DECLS
