/* SPDX-License-Identifier: MIT */
#include "ndt-distortion.h"

#include <string.h>

static gboolean
measure (NdtBackend *backend, const NdtRegistrationParams *params, const NdtScanFilter *filter,
    const NdtCloudView *points, const NdtPose *sensor, double *score, GError **error)
{
  NdtRegistrationParams plain = *params;
  NdtRegistration registration;

  plain.covariance = NDT_POSE_COVARIANCE_FIXED;
  memset (&plain.regularization, 0, sizeof plain.regularization);
  if (!ndt_backend_set_scan (backend, NDT_SEARCH_SLOT, points, filter, error) ||
      !ndt_register (
          backend, NDT_SEARCH_SLOT, &plain, NDT_SEARCH_LOCAL, sensor, 1, &registration, error))
    return FALSE;
  *score = registration.transformation_probability;
  return TRUE;
}

gboolean
ndt_distortion_measure (NdtBackend *backend, const NdtRegistrationParams *params,
    const NdtScanFilter *filter, const NdtCloudView *points, const NdtTimeView *times,
    const NdtScanMotion *motion, const NdtPose *sensor, NdtDistortion *out, GError **error)
{
  g_autofree float *moved = g_try_new (float, 3 * points->n_points);
  if (!moved) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_NO_MEMORY,
        "There is not the memory to move the %" G_GSIZE_FORMAT " points of a scan",
        points->n_points);
    return FALSE;
  }
  g_autoptr (NdtDeskewer) deskewer = ndt_deskewer_new ();
  ndt_deskew_motion (deskewer, points, times, motion, moved);
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (moved, points->n_points);
  return measure (backend, params, filter, points, sensor, &out->as_it_is, error) &&
         measure (backend, params, filter, &view, sensor, &out->moved, error);
}
