/* SPDX-License-Identifier: MIT */
#include "gstndtcompensation.h"

#include <math.h>
#include <string.h>

GST_DEBUG_CATEGORY_EXTERN (gst_ndt_localize_debug);
#define GST_CAT_DEFAULT gst_ndt_localize_debug

/* A scan is measured where its motion moves points that are this far away, metres … */
#define MIN_SHIFT 0.5
/* … at this distance, metres. */
#define LEVER 15.0

/* Both versions of a scan fit alike within this part of their scores. */
#define MIN_DIFFERENCE 0.01

/* More votes for one than for the other decide. A scan has one for each MIN_DIFFERENCE, so that one
 * scan decides at 20 m/s. In the simulated town at 8 and 20 m/s, with 16, 32 and 64 rings, every
 * scan that was measured voted for what it was, by 1.2 to 17 %. */
#define N_VOTES 3

/* The way between two poses tells a velocity where the time is shorter, nanoseconds. */
#define MAX_STEP GST_SECOND

/* Scans that each way of turning is measured on. */
#define N_TURN_SCANS 2

enum { TOLD_NO_TIMES = 1 << 0, TOLD_FORCED = 1 << 1, TOLD_TURNS = 1 << 2 };

static GstNdtPoseTime
parse_instant (const gchar *text)
{
  if (g_strcmp0 (text, "middle") == 0)
    return GST_NDT_POSE_TIME_MIDDLE;
  return g_strcmp0 (text, "end") == 0 ? GST_NDT_POSE_TIME_END : GST_NDT_POSE_TIME_START;
}

void
gst_ndt_compensation_clear (GstNdtCompensation *compensation)
{
  gst_clear_caps (&compensation->caps);
  memset (compensation, 0, sizeof *compensation);
}

void
gst_ndt_compensation_set_caps (GstNdtCompensation *compensation, GstCaps *caps, gboolean has_times)
{
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  gboolean compensated;

  if (compensation->caps && gst_caps_is_equal (compensation->caps, caps))
    return;
  gst_ndt_compensation_clear (compensation);
  compensation->caps = gst_caps_ref (caps);
  compensation->has_times = has_times;
  if (gst_structure_get_boolean (structure, GST_NDT_CAPS_COMPENSATED, &compensated))
    compensation->said = compensated ? GST_NDT_SCANS_COMPENSATED : GST_NDT_SCANS_DISTORTED;
  compensation->instant =
      parse_instant (gst_structure_get_string (structure, GST_NDT_CAPS_INSTANT));
}

static gboolean
tell (GstNdtCompensation *compensation, guint what)
{
  const gboolean is_new = !(compensation->told & what);
  compensation->told |= what;
  return is_new;
}

void
gst_ndt_compensation_get_instants (GstNdtCompensation *compensation, GstElement *element,
    const GstNdtScanSettings *settings, GstNdtInstants *instants)
{
  const gboolean forced = settings->deskew == GST_NDT_DESKEW_TRUE;

  if (forced && !compensation->has_times && tell (compensation, TOLD_NO_TIMES))
    GST_ELEMENT_WARNING (element, STREAM, FORMAT,
        ("deskew=true, but the points have none of the fields " GST_POINT_TIMES_FIELDS
         ": the motion during scans is not compensated."),
        (NULL));
  if (forced && compensation->said == GST_NDT_SCANS_COMPENSATED && tell (compensation, TOLD_FORCED))
    GST_ELEMENT_WARNING (element, STREAM, FORMAT,
        ("deskew=true, but caps say that the motion during scans was compensated before: it is "
         "twice. Use deskew=auto."),
        (NULL));
  instants->pose_time = settings->pose_time;
  instants->stamp_position = settings->stamp_position;
  instants->instant = compensation->instant;
  instants->is_compensated = !forced && (compensation->said == GST_NDT_SCANS_COMPENSATED ||
                                            compensation->shown == GST_NDT_SCANS_COMPENSATED);
  /* Clouds of others whose points have times are mostly as the sensor measured them. */
  instants->compensates =
      compensation->has_times &&
      (forced || (settings->deskew == GST_NDT_DESKEW_AUTO && !instants->is_compensated));
}

/* The sensor's velocity since the last pose, a twist per second in its own frame. */
static gboolean
get_velocity (
    const GstNdtCompensation *compensation, const NdtPose *sensor, gint64 time, gdouble velocity[6])
{
  const gint64 step = time - compensation->last_time;
  NdtPose way;

  if (!compensation->has_last || step <= 0 || step > (gint64)MAX_STEP)
    return FALSE;
  ndt_pose_between (&compensation->last, sensor, &way);
  ndt_pose_log (&way, velocity);
  for (guint i = 0; i < 6; i++)
    velocity[i] *= (gdouble)GST_SECOND / (gdouble)step;
  return TRUE;
}

static gdouble
get_shift (const gdouble velocity[6], gdouble seconds)
{
  const gdouble *v = velocity, *w = velocity + 3;
  return seconds * (sqrt (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) +
                       LEVER * sqrt (w[0] * w[0] + w[1] * w[1] + w[2] * w[2]));
}

gboolean
gst_ndt_compensation_is_open (
    const GstNdtCompensation *compensation, GstNdtDeskew deskew, const GstNdtInput *input)
{
  const NdtTimeSpan *span = &input->times.span;

  return deskew == GST_NDT_DESKEW_AUTO && compensation->said == GST_NDT_SCANS_UNKNOWN &&
         compensation->shown == GST_NDT_SCANS_UNKNOWN && span->n_points > 0 &&
         span->last > span->first && GST_CLOCK_TIME_IS_VALID (input->about.pts);
}

gboolean
gst_ndt_compensation_is_open_for_turns (
    const GstNdtCompensation *compensation, GstNdtDeskew deskew, const GstNdtInput *input)
{
  return deskew != GST_NDT_DESKEW_FALSE && !compensation->has_times &&
         compensation->said != GST_NDT_SCANS_COMPENSATED && !(compensation->told & TOLD_TURNS) &&
         input->mapped && input->map.n_points > 0 && GST_CLOCK_TIME_IS_VALID (input->about.pts) &&
         GST_CLOCK_TIME_IS_VALID (input->about.duration);
}

gboolean
gst_ndt_compensation_see (GstNdtCompensation *compensation, const GstNdtInput *input,
    NdtPose *sensor, NdtScanMotion *motion)
{
  const NdtTimeSpan *span = &input->times.span;
  const gint64 time = (gint64)input->about.pose_time;
  const gdouble duration = (gdouble)input->about.duration / GST_SECOND;

  memset (motion, 0, sizeof *motion);
  motion->reference = span->n_points > 0 ? span->mean : duration / 2;
  const gboolean known = sensor && get_velocity (compensation, sensor, time, motion->velocity);
  compensation->has_last = sensor != NULL;
  if (sensor) {
    compensation->last = *sensor;
    compensation->last_time = time;
  }
  if (known) {
    const gdouble seconds = (gdouble)((gint64)input->mean_time - time) / GST_SECOND;
    gdouble back[6];
    NdtPose way;
    for (guint i = 0; i < 6; i++)
      back[i] = seconds * motion->velocity[i];
    ndt_pose_exp (back, &way);
    ndt_pose_compose (sensor, &way, sensor);
  }
  return known && get_shift (motion->velocity,
                      span->n_points > 0 ? span->last - span->first : duration) >= MIN_SHIFT;
}

void
gst_ndt_compensation_take (
    GstNdtCompensation *compensation, GstElement *element, const NdtDistortion *distortion)
{
  const gdouble difference =
      (distortion->moved - distortion->as_it_is) / MAX (distortion->moved, distortion->as_it_is);

  GST_DEBUG_OBJECT (element, "a scan fits by %.4g as it is, by %.4g compensated: %+.2f %%",
      distortion->as_it_is, distortion->moved, 100 * difference);
  if (fabs (difference) < MIN_DIFFERENCE)
    return;
  compensation->votes += (gint)CLAMP (difference / MIN_DIFFERENCE, -N_VOTES, N_VOTES);
  if (ABS (compensation->votes) < N_VOTES)
    return;
  compensation->shown =
      compensation->votes > 0 ? GST_NDT_SCANS_DISTORTED : GST_NDT_SCANS_COMPENSATED;
  if (compensation->shown == GST_NDT_SCANS_DISTORTED)
    GST_INFO_OBJECT (element, "scans fit better compensated: their motion is");
  else
    GST_ELEMENT_WARNING (element, STREAM, FORMAT,
        ("The points have times, but the scans fit the map better as they are: their motion was "
         "compensated before, and is not compensated again. Say so with the caps field "
         "motion-compensated=true, or with deskew=false."),
        ("as it is %.4g, compensated %.4g", distortion->as_it_is, distortion->moved));
}

gfloat *
gst_ndt_compensation_make_times (const NdtCloudView *points, gdouble duration, guint turn)
{
  const gdouble begin = 0.25 * (turn / 2), direction = turn % 2 ? -1 : 1;
  gfloat *times = g_try_new (gfloat, points->n_points);

  for (gsize i = 0; times && i < points->n_points; i++) {
    double p[3];
    ndt_cloud_view_get (points, i, p);
    const gdouble part = direction * atan2 (p[1], p[0]) / (2 * G_PI) - begin;
    times[i] = (gfloat)(duration * (part - floor (part)));
  }
  return times;
}

void
gst_ndt_compensation_take_turn (GstNdtCompensation *compensation, GstElement *element, guint turn,
    const NdtDistortion *distortion, gdouble duration, gdouble speed)
{
  const gdouble gain =
      (distortion->moved - distortion->as_it_is) / MAX (distortion->moved, distortion->as_it_is);
  gdouble best = 0;

  GST_DEBUG_OBJECT (element,
      "a scan fits by %.4g as it is, by %.4g as if turned in way %u: %+.2f %%",
      distortion->as_it_is, distortion->moved, turn, 100 * gain);
  compensation->turn_sums[turn] += gain;
  compensation->n_turns[turn]++;
  for (guint i = 0; i < GST_NDT_N_TURNS; i++) {
    if (compensation->n_turns[i] < N_TURN_SCANS)
      return;
    best = MAX (best, compensation->turn_sums[i] / compensation->n_turns[i]);
  }
  compensation->told |= TOLD_TURNS;
  if (best < MIN_DIFFERENCE)
    return;
  GST_ELEMENT_WARNING (element, STREAM, FORMAT,
      ("The points bear no times, but scans fit the map better as taken by a sensor that turned "
       "while "
       "the vehicle moved: at %.1f m/s poses may be %.2f m off. Let the source say when each point "
       "was "
       "measured, or set stamp-position.",
          speed, 0.5 * speed * duration),
      ("gain %.2f %%", 100 * best));
}
