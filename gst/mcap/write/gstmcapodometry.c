/* SPDX-License-Identifier: MIT */
#include "gstmcapodometry.h"

#include <math.h>
#include <string.h>

#include "gstmcapstamps.h"

/* Kept: a few seconds of an IMU's rate; estimates come later than odometry by what aligning takes.
 */
#define MAX_POSES 1024
#define MAX_GAP ((gint64)GST_SECOND)

typedef struct {
  gint64 time;
  GstPointCloudPose pose;
} Entry;

/* Quaternions are x, y, z, w. */

static void
multiply (const gdouble a[4], const gdouble b[4], gdouble out[4])
{
  const gdouble product[4] = {
      a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
      a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
      a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3],
      a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
  };

  memcpy (out, product, sizeof product);
}

static void
rotate (const gdouble q[4], const gdouble v[3], gdouble out[3])
{
  const gdouble conjugate[4] = {-q[0], -q[1], -q[2], q[3]};
  gdouble p[4] = {v[0], v[1], v[2], 0};

  multiply (q, p, p);
  multiply (p, conjugate, p);
  memcpy (out, p, 3 * sizeof *out);
}

void
gst_mcap_pose_compose (
    const GstPointCloudPose *a, const GstPointCloudPose *b, GstPointCloudPose *out)
{
  GstPointCloudPose result;

  rotate (a->orientation, b->position, result.position);
  for (guint i = 0; i < 3; i++)
    result.position[i] += a->position[i];
  multiply (a->orientation, b->orientation, result.orientation);
  *out = result;
}

void
gst_mcap_pose_invert (const GstPointCloudPose *pose, GstPointCloudPose *out)
{
  const gdouble *q = pose->orientation;
  GstPointCloudPose result = {.orientation = {-q[0], -q[1], -q[2], q[3]}};

  rotate (result.orientation, pose->position, result.position);
  for (guint i = 0; i < 3; i++)
    result.position[i] = -result.position[i];
  *out = result;
}

void
gst_mcap_pose_get_twist (const GstPointCloudPose *before, const GstPointCloudPose *after,
    gdouble seconds, gdouble twist[6])
{
  GstPointCloudPose inverse, step;
  gdouble *q = step.orientation;
  gdouble sine, angle;

  /* The step in the frame of its end. */
  gst_mcap_pose_invert (after, &inverse);
  gst_mcap_pose_compose (&inverse, before, &step);
  gst_mcap_pose_invert (&step, &step);
  rotate (inverse.orientation,
      (const gdouble[]){after->position[0] - before->position[0],
          after->position[1] - before->position[1], after->position[2] - before->position[2]},
      twist);
  if (q[3] < 0)
    for (guint i = 0; i < 4; i++)
      q[i] = -q[i];
  sine = sqrt (q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
  angle = 2 * atan2 (sine, q[3]);
  for (guint i = 0; i < 3; i++) {
    twist[i] /= seconds;
    twist[3 + i] = sine > 0 ? q[i] / sine * angle / seconds : 0;
  }
}

void
gst_mcap_odometry_init (GstMcapOdometry *self)
{
  *self = (GstMcapOdometry){.poses = g_array_new (FALSE, FALSE, sizeof (Entry))};
}

void
gst_mcap_odometry_clear (GstMcapOdometry *self)
{
  g_clear_pointer (&self->parent, g_free);
  g_clear_pointer (&self->child, g_free);
  g_clear_pointer (&self->poses, g_array_unref);
}

void
gst_mcap_odometry_add (GstMcapOdometry *self, gint64 time, const gchar *parent, const gchar *child,
    const GstPointCloudPose *pose)
{
  const Entry entry = {time, *pose};

  if (g_strcmp0 (self->parent, parent) != 0 || g_strcmp0 (self->child, child) != 0 ||
      (self->poses->len > 0 &&
          g_array_index (self->poses, Entry, self->poses->len - 1).time >= time)) {
    g_array_set_size (self->poses, 0);
    g_free (self->parent);
    g_free (self->child);
    self->parent = g_strdup (parent);
    self->child = g_strdup (child);
  }
  if (self->poses->len >= MAX_POSES)
    g_array_remove_range (self->poses, 0, MAX_POSES / 2);
  g_array_append_val (self->poses, entry);
}

static void
interpolate (const Entry *a, const Entry *b, gint64 time, GstPointCloudPose *out)
{
  const gdouble t = (gdouble)(time - a->time) / (gdouble)(b->time - a->time);
  const gdouble *p = a->pose.orientation, *q = b->pose.orientation;
  const gdouble sign = p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3] < 0 ? -1 : 1;
  gdouble norm = 0;

  for (guint i = 0; i < 3; i++)
    out->position[i] = (1 - t) * a->pose.position[i] + t * b->pose.position[i];
  /* Normalized linear interpolation: within 1e-4 rad of the great arc for steps below 0.2 rad. */
  for (guint i = 0; i < 4; i++) {
    out->orientation[i] = (1 - t) * p[i] + t * sign * q[i];
    norm += out->orientation[i] * out->orientation[i];
  }
  norm = sqrt (norm);
  for (guint i = 0; i < 4; i++)
    out->orientation[i] /= norm;
}

gboolean
gst_mcap_odometry_get (const GstMcapOdometry *self, gint64 time, GstPointCloudPose *out)
{
  guint after = self->poses->len;

  while (after > 0 && g_array_index (self->poses, Entry, after - 1).time > time)
    after--;
  if (after > 0 && g_array_index (self->poses, Entry, after - 1).time == time) {
    *out = g_array_index (self->poses, Entry, after - 1).pose;
    return TRUE;
  }
  if (after == 0 || after == self->poses->len)
    return FALSE;
  const Entry *a = &g_array_index (self->poses, Entry, after - 1), *b = a + 1;
  if (gst_mcap_time_subtract (b->time, a->time) > MAX_GAP)
    return FALSE;
  interpolate (a, b, time, out);
  return TRUE;
}
