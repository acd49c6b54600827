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

/* More votes for one than for the other decide. */
#define N_VOTES 3

/* The way between two poses tells a velocity where the time is shorter, nanoseconds. */
#define MAX_STEP GST_SECOND

enum { TOLD_NO_TIMES = 1 << 0, TOLD_FORCED = 1 << 1 };

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
  instants->compensates = compensation->has_times &&
                          (forced || (settings->deskew == GST_NDT_DESKEW_AUTO &&
                                         (compensation->said == GST_NDT_SCANS_DISTORTED ||
                                             compensation->shown == GST_NDT_SCANS_DISTORTED)));
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
gst_ndt_compensation_see (GstNdtCompensation *compensation, const GstNdtInput *input,
    const NdtPose *sensor, NdtScanMotion *motion)
{
  const NdtTimeSpan *span = &input->times.span;
  const gint64 time = (gint64)input->mean_time;

  memset (motion, 0, sizeof *motion);
  motion->reference = span->mean;
  const gboolean known = sensor && get_velocity (compensation, sensor, time, motion->velocity);
  compensation->has_last = sensor != NULL;
  if (sensor) {
    compensation->last = *sensor;
    compensation->last_time = time;
  }
  return known && get_shift (motion->velocity, span->last - span->first) >= MIN_SHIFT;
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
  compensation->votes += difference > 0 ? 1 : -1;
  if (ABS (compensation->votes) < N_VOTES)
    return;
  compensation->shown =
      compensation->votes > 0 ? GST_NDT_SCANS_DISTORTED : GST_NDT_SCANS_COMPENSATED;
  if (compensation->shown == GST_NDT_SCANS_DISTORTED)
    GST_INFO_OBJECT (element, "scans fit better compensated: from now on their motion is");
  else
    GST_ELEMENT_WARNING (element, STREAM, FORMAT,
        ("The points have times, but the scans fit the map better as they are: their motion was "
         "compensated before, and is not compensated again. Say so with the caps field "
         "motion-compensated=true, or with deskew=false."),
        ("as it is %.4g, compensated %.4g", distortion->as_it_is, distortion->moved));
}
