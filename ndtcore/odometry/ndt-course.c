/* SPDX-License-Identifier: MIT */
#include "ndt-course.h"

#include <math.h>
#include <string.h>

#include "ndtcore/math/ndt-formulas.h"

/* Longest time, ns, between two scans that give a velocity. */
#define MAX_STEP 1000000000

/* Changes of velocity that displace no point by more than this, metres and rad, are ignored. */
#define MOTION_EPSILON 0.01
#define TURN_EPSILON 5e-4

/* How a velocity changes at most, m/s² and rad/s², as a mean over the time from scan to scan: twice
 * what brakes do and as much as drones with a lidar do, and more than a hand that turns one by 30
 * degrees to and fro twice a second. A faster change is accepted some scans later. */
#define MAX_ACCELERATION 20
#define MAX_TURN_ACCELERATION 50

/* Errors of two poses in the distance between them, metres and rad. */
#define POSE_ERROR 0.1
#define TURN_ERROR 0.02

void
ndt_course_init (NdtCourse *course, const NdtTimeSpan *span, gint64 time, double time_on_points)
{
  memset (course, 0, sizeof (*course));
  course->middle = span->mean;
  course->half = MAX (span->last - span->mean, span->mean - span->first);
  course->time = time + (gint64)llround (1e9 * (course->middle - time_on_points));
}

NdtPose
ndt_course_move (const NdtCourse *course, const NdtPose *pose, double seconds)
{
  double twist[6];
  for (guint i = 0; i < 6; i++)
    twist[i] = seconds * (course->velocity[i] + 0.5 * seconds * course->acceleration[i]);
  const NdtPose step = ndt_pose_from_twist (twist);
  return ndt_pose_mul (pose, &step);
}

gboolean
ndt_course_get_velocity (
    const NdtPose *from, gint64 from_time, const NdtPose *to, gint64 to_time, double velocity[6])
{
  const gint64 elapsed = to_time - from_time;
  if (from_time < 0 || to_time < 0 || elapsed <= 0 || elapsed > MAX_STEP)
    return FALSE;
  const NdtPose inverse = ndt_pose_inverse (from);
  const NdtPose step = ndt_pose_mul (&inverse, to);
  ndt_pose_to_twist (&step, velocity);
  for (guint i = 0; i < 6; i++)
    velocity[i] /= 1e-9 * (double)elapsed;
  return TRUE;
}

gboolean
ndt_course_is_change (const NdtCourse *course, const double change[6])
{
  double translation = 0, rotation = 0;
  for (guint i = 0; i < 6; i++)
    *(i < 3 ? &translation : &rotation) += change[i] * change[i];
  return sqrt (translation) * course->half > MOTION_EPSILON ||
         sqrt (rotation) * course->half > TURN_EPSILON;
}

/* Returns TRUE where the times decrease, by less than after a reset of the clock. */
static gboolean
swaps (gint64 first, gint64 second)
{
  return first >= 0 && second >= 0 && second <= first && second > first - MAX_STEP;
}

gboolean
ndt_course_is_credible (
    const double velocity[6], double elapsed, const double last[6], double since)
{
  double translation = 0, rotation = 0;
  for (int i = 0; i < 3; i++) {
    translation += (velocity[i] - last[i]) * (velocity[i] - last[i]);
    rotation += (velocity[3 + i] - last[3 + i]) * (velocity[3 + i] - last[3 + i]);
  }
  return sqrt (translation) <= MAX_ACCELERATION * since + POSE_ERROR / elapsed &&
         sqrt (rotation) <= MAX_TURN_ACCELERATION * since + TURN_ERROR / elapsed;
}

/* Returns TRUE where course->step is credible for the time since @last. */
static gboolean
is_credible (const NdtCourse *course, const NdtCourse *last)
{
  const gint64 since = MIN (last->velocity_time, last->time);
  return ndt_course_is_credible (course->step, 1e-9 * (double)(course->time - last->time),
      last->velocity, 1e-9 * (double)(course->time - since));
}

/* Uses the velocity of @last. */
static gboolean
keep_velocity (NdtCourse *course, const NdtCourse *last)
{
  double change[6];
  course->is_doubtful = TRUE;
  course->has_step = FALSE;
  course->has_velocity = TRUE;
  course->velocity_time = last->velocity_time;
  for (guint i = 0; i < 6; i++) {
    change[i] = last->velocity[i] - course->velocity[i];
    course->velocity[i] = last->velocity[i];
    course->acceleration[i] = 0;
  }
  return ndt_course_is_change (course, change);
}

gboolean
ndt_course_continue (NdtCourse *course, const NdtCourse *last, const NdtPose *pose)
{
  double change[6];
  course->has_pose = TRUE;
  course->pose = *pose;
  course->is_doubtful = FALSE;
  if (!last || !last->has_pose)
    return FALSE;
  if (!ndt_course_get_velocity (&last->pose, last->time, pose, course->time, course->step))
    return last->has_velocity && swaps (last->time, course->time) && keep_velocity (course, last);
  if (last->has_velocity && !is_credible (course, last))
    return keep_velocity (course, last);
  course->has_velocity = TRUE;
  course->velocity_time = course->time;
  /* The velocity from a scan without compensation is approximate. */
  course->has_step = last->has_velocity;
  course->step_time = last->time + (course->time - last->time) / 2;
  for (guint i = 0; i < 6; i++) {
    double velocity = course->step[i];
    course->acceleration[i] = 0;
    if (course->has_step && last->has_step) {
      course->acceleration[i] = (course->step[i] - last->step[i]) /
                                (1e-9 * (double)(course->step_time - last->step_time));
      velocity += course->acceleration[i] * 1e-9 * (double)(course->time - course->step_time);
    }
    change[i] = velocity - course->velocity[i];
    course->velocity[i] = velocity;
  }
  return ndt_course_is_change (course, change);
}

/* Transforms a twist to a frame whose pose in the twist's frame is @pose. */
static void
twist_at (const NdtPose *pose, const double twist[6], double out[6])
{
  const NdtPose inverse = ndt_pose_inverse (pose);
  const double *l = pose->position, *w = twist + 3;
  const double v[3] = {twist[0] + w[1] * l[2] - w[2] * l[1], twist[1] + w[2] * l[0] - w[0] * l[2],
      twist[2] + w[0] * l[1] - w[1] * l[0]};
  ndt_quat_rotate (inverse.orientation, v, out);
  ndt_quat_rotate (inverse.orientation, w, out + 3);
}

NdtScanMotion
ndt_course_get_motion (const NdtCourse *course, const NdtPose *mount)
{
  NdtScanMotion motion = {.reference = course->middle};
  twist_at (mount, course->velocity, motion.velocity);
  twist_at (mount, course->acceleration, motion.acceleration);
  return motion;
}

void
ndt_course_set_velocity (NdtCourse *course, const NdtPose *mount, const double sensor_velocity[6])
{
  const NdtPose body = ndt_pose_inverse (mount);
  course->has_velocity = TRUE;
  course->velocity_time = course->time;
  twist_at (&body, sensor_velocity, course->velocity);
}
