/* SPDX-License-Identifier: MIT */
/* Why an estimate is not tracking, in words: docs/contract.md has the table. */
#include "gstposemeta.h"

/**
 * gst_pose_reason_get_advice:
 * @reason: a reason
 *
 * Returns: what to do about it, a sentence that names the properties of `ndtlocalize` to change;
 *   empty for %GST_POSE_REASON_NONE and for values that are not known
 *
 * Since: 0.2
 */
const gchar *
gst_pose_reason_get_advice (GstPoseReason reason)
{
  switch (reason) {
  case GST_POSE_REASON_BAD_FIT:
    return "the map is of another place or has changed, or the pose is wrong; check map-location, "
           "initial-pose, the frame of the points and sensor-pose, or set min-fit and "
           "min-start-fit";
  case GST_POSE_REASON_NO_MAP:
    return "check initial-pose and map-location";
  case GST_POSE_REASON_NO_START:
    return "set initial-pose, give a scan a pose of role prior, or leave map-search on and wait";
  case GST_POSE_REASON_WEAK_OVERLAP:
    return "check whether map-location covers the place, and whether initial-pose is right";
  case GST_POSE_REASON_STALE_PREDICTION:
    return "wait for scans that agree, or give it odometry or poses of role prior";
  case GST_POSE_REASON_TOO_LATE:
    return "give it fewer points by scan-leaf-size or max-range, a faster backend, or a larger "
           "max-lateness";
  case GST_POSE_REASON_DEGENERATE:
    return "scans say nothing of the way there; give it odometry or poses of role prior, or set "
           "max-sigma";
  case GST_POSE_REASON_AMBIGUOUS:
    return "say better where it starts by initial-pose, or check whether map-location is of there "
           "and sensor-pose says how the sensor is turned";
  case GST_POSE_REASON_IMPLAUSIBLE_MOTION:
    return "check initial-pose, priors and odometry, and stamp scans by the sensor's clock, not by "
           "arrival";
  case GST_POSE_REASON_TOO_FEW_POINTS:
    return "check min-range, max-range, scan-leaf-size and the sensor, or set min-points";
  default:
    return "";
  }
}

/**
 * gst_pose_meta_describe_reason:
 * @meta: a pose
 *
 * The reason with its numbers, such as "its fit is 0.55, below 0.9". What to do is
 * gst_pose_reason_get_advice().
 *
 * Returns: (transfer full) (nullable): part of a sentence, or %NULL where there is no reason
 *
 * Since: 0.2
 */
gchar *
gst_pose_meta_describe_reason (const GstPoseMeta *meta)
{
  g_return_val_if_fail (meta != NULL, NULL);
  const gdouble value = meta->reason_value, bound = meta->reason_bound;
  const gdouble *d = meta->open_directions;

  switch (meta->reason) {
  case GST_POSE_REASON_BAD_FIT:
    return g_strdup_printf ("its fit is %.2f, below %.2f", value, bound);
  case GST_POSE_REASON_NO_MAP:
    return g_strdup ("none of its points lies near the map from where it was looked for");
  case GST_POSE_REASON_NO_START:
    return g_strdup ("there is no pose to start from");
  case GST_POSE_REASON_WEAK_OVERLAP:
    return meta->has_fit
               ? g_strdup_printf ("only %.0f %% of its points lie on the map, below %.0f %%, and "
                                  "its fit is %.2f",
                     100 * value, 100 * bound, meta->fit)
               : g_strdup_printf ("only %.0f %% of its points lie on the map, below %.0f %%",
                     100 * value, 100 * bound);
  case GST_POSE_REASON_STALE_PREDICTION:
    return g_strdup_printf ("nothing tells where the sensor went since the last scan that was "
                            "aligned, and %.0f more have to agree on the place",
        value);
  case GST_POSE_REASON_TOO_LATE:
    return g_strdup_printf ("its turn came %.3f s too late", value);
  case GST_POSE_REASON_DEGENERATE:
    return meta->n_open > 0
               ? g_strdup_printf ("its position is known to %.2f m along (%.2f, %.2f, %.2f), above "
                                  "%.2f m",
                     value, d[0], d[1], d[2], bound)
               : g_strdup_printf ("its position is known to %.2f m, above %.2f m", value, bound);
  case GST_POSE_REASON_AMBIGUOUS:
    return g_strdup_printf (
        "the next best place fits %.2f as well as it, above %.2f", value, bound);
  case GST_POSE_REASON_IMPLAUSIBLE_MOTION:
    return g_strdup_printf ("it fits %.1f m from where it was expected", value);
  case GST_POSE_REASON_TOO_FEW_POINTS:
    return g_strdup_printf ("it has %.0f finite points in range, below %.0f", value, bound);
  default:
    return NULL;
  }
}
