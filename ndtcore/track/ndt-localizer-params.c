/* SPDX-License-Identifier: MIT */
/* Parameters of a localizer, and names of its enumerations. */
#include <math.h>
#include <string.h>

#include "ndtcore/odometry/ndt-drift.h"
#include "ndtcore/registration/ndt-initial-pose.h"
#include "ndt-localizer.h"

void
ndt_localizer_params_init (NdtLocalizerParams *params)
{
  static const NdtScanFilter no_filter = NDT_SCAN_FILTER_NONE;
  memset (params, 0, sizeof (*params));
  ndt_registration_params_init (&params->registration);
  params->registration.clustering = NDT_DRIFT_CLUSTERING;
  params->filter = no_filter;
  params->filter.leaf_size = NDT_LEAF_SIZE_AUTO;
  ndt_pose_set_identity (&params->sensor_pose);
  params->min_points = 64;
  params->matched_ratio_threshold = 0.2;
  params->min_fit = 0.6;
  params->min_start_fit = 0.9;
  params->max_sigma = 0.5;
  params->max_skips = 10;
  params->score_drop = 0.8;
  params->search_map = TRUE;
  params->max_search_passes = 28;
}

gboolean
ndt_localizer_params_check (const NdtLocalizerParams *params, GError **error)
{
  const NdtRegistrationParams *r = &params->registration;
  const gchar *what = NULL;
  NdtScanFilter filter = params->filter;
  if (filter.leaf_size == NDT_LEAF_SIZE_AUTO)
    filter.leaf_size = 0;
  if (!ndt_align_params_check (&r->align, error) || !ndt_scan_filter_check (&filter, error) ||
      !ndt_pose_search_check (&params->start, error))
    return FALSE;
  if (r->covariance > NDT_POSE_COVARIANCE_MULTI_NDT_SCORE)
    what = "unknown covariance estimate";
  else if (!(r->covariance_scale > 0 && isfinite (r->covariance_scale)))
    what = "covariance-scale has to be above 0 and finite";
  else if (!(r->temperature > 0))
    what = "the softmax temperature has to be above 0";
  else if (r->n_offsets > NDT_MAX_OFFSETS)
    what = "at most 32 offset poses";
  else if (params->min_points < 1)
    what = "min-points has to be at least 1";
  else if (!(params->tp_threshold >= 0) || !(params->nvtl_threshold >= 0))
    what = "score thresholds have to be 0 or above";
  else if (!(params->nvtl_threshold_fraction >= 0 && params->nvtl_threshold_fraction <= 1) ||
           !(params->matched_ratio_threshold >= 0 && params->matched_ratio_threshold <= 1) ||
           !(params->score_drop >= 0 && params->score_drop <= 1) ||
           !(params->min_fit >= 0 && params->min_fit <= 1) ||
           !(params->min_start_fit >= 0 && params->min_start_fit <= 1))
    what = "fractions have to be 0 to 1";
  if (!what && !(params->max_sigma >= 0 && isfinite (params->max_sigma)))
    what = "max-sigma has to be 0 or above and finite";
  if (!what && !(params->max_search_passes >= 0 && isfinite (params->max_search_passes)))
    what = "max-search-passes has to be 0 or above and finite";
  if (!what && !(params->no_ground_margin >= 0 && isfinite (params->no_ground_margin)))
    what = "no-ground-margin has to be 0 or above and finite";
  if (!what && !(params->regularization_scale >= 0 && isfinite (params->regularization_scale)))
    what = "regularization-scale has to be 0 or above and finite";
  NdtPose mount = params->sensor_pose;
  if (!what && !ndt_pose_normalize (&mount))
    what = "the sensor's pose is not finite";
  for (guint i = 0; i < 6 && !what; i++)
    if (!(r->fixed_variance[i] > 0 && isfinite (r->fixed_variance[i])))
      what = "fixed variances have to be above 0 and finite";
  for (guint i = 0; i < MIN (r->n_offsets, NDT_MAX_OFFSETS) && !what; i++)
    if (!isfinite (r->offset_x[i]) || !isfinite (r->offset_y[i]))
      what = "offset poses have to be finite";
  if (what)
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT, what);
  return what == NULL;
}

const gchar *
ndt_track_status_to_string (NdtTrackStatus status)
{
  static const gchar *const names[] = {"initializing", "tracking", "degraded", "lost", "skipped"};
  return status < G_N_ELEMENTS (names) ? names[status] : "unknown";
}

const gchar *
ndt_reason_to_string (NdtReason reason)
{
  static const gchar *const names[] = {"none", "bad-fit", "no-map", "no-start", "weak-overlap",
      "stale-prediction", "too-late", "degenerate", "ambiguous", "implausible-motion",
      "too-few-points"};
  return reason < G_N_ELEMENTS (names) ? names[reason] : "unknown";
}

const gchar *
ndt_prediction_to_string (NdtPrediction prediction)
{
  static const gchar *const names[] = {"none", "initial", "constant-velocity", "odometry", "prior"};
  return prediction < G_N_ELEMENTS (names) ? names[prediction] : "unknown";
}
