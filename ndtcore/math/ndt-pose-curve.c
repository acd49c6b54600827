/* SPDX-License-Identifier: MIT */
#include "ndt-pose-curve.h"

void
ndt_pose_curve_init (
    NdtPoseCurve *curve, const NdtTimedPose *poses, gsize n_poses, gint64 max_gap, gint64 reach)
{
  curve->poses = poses;
  curve->n_poses = n_poses;
  curve->max_gap = max_gap > 0 ? max_gap : G_MAXINT64;
  curve->reach = reach;
  curve->at = 0;
  curve->n = 0;
}

static gboolean
is_near (const NdtPoseCurve *curve, gsize i)
{
  return curve->poses[i + 1].time - curve->poses[i].time <= curve->max_gap;
}

/* Twist from pose @at to pose @i, and the seconds between them. */
static void
add (NdtPoseCurve *curve, gsize i)
{
  const NdtTimedPose *base = &curve->poses[curve->at];
  NdtPose step;
  ndt_pose_between (&base->pose, &curve->poses[i].pose, &step);
  curve->times[curve->n] = 1e-9 * (double)(curve->poses[i].time - base->time);
  ndt_pose_log (&step, curve->twists[curve->n++]);
}

/* FALSE where the poses around @time are too far apart. */
static gboolean
find (NdtPoseCurve *curve, gint64 time)
{
  const NdtTimedPose *p = curve->poses;
  gsize low = 0, high = curve->n_poses - 1;
  while (high - low > 1) {
    const gsize middle = low + (high - low) / 2;
    if (p[middle].time <= time)
      low = middle;
    else
      high = middle;
  }
  if (curve->n > 0 && curve->at == low)
    return TRUE;
  curve->n = 0;
  if (!is_near (curve, low))
    return FALSE;
  curve->at = low;
  if (low > 0 && is_near (curve, low - 1))
    add (curve, low - 1);
  add (curve, low);
  add (curve, low + 1);
  if (low + 2 < curve->n_poses && is_near (curve, low + 1))
    add (curve, low + 2);
  return TRUE;
}

gboolean
ndt_pose_curve_get (NdtPoseCurve *curve, gint64 time, NdtPose *pose)
{
  const NdtTimedPose *p = curve->poses;
  double twist[6] = {0};
  if (curve->n_poses == 0 || time < p[0].time - curve->reach ||
      time > p[curve->n_poses - 1].time + curve->reach)
    return FALSE;
  if (curve->n_poses == 1) {
    *pose = p[0].pose;
    return time == p[0].time;
  }
  if (!find (curve, time)) {
    /* At the instant of a pose a gap beside it does not matter. */
    for (gsize i = 0; i < curve->n_poses && p[i].time <= time; i++)
      if (p[i].time == time) {
        *pose = p[i].pose;
        return TRUE;
      }
    return FALSE;
  }
  /* Lagrange's polynomial through the twists. */
  const double t = 1e-9 * (double)(time - p[curve->at].time);
  for (guint i = 0; i < curve->n; i++) {
    double weight = 1;
    for (guint k = 0; k < curve->n; k++)
      if (k != i)
        weight *= (t - curve->times[k]) / (curve->times[i] - curve->times[k]);
    for (guint k = 0; k < 6; k++)
      twist[k] += weight * curve->twists[i][k];
  }
  NdtPose step;
  ndt_pose_exp (twist, &step);
  ndt_pose_compose (&p[curve->at].pose, &step, pose);
  return TRUE;
}
