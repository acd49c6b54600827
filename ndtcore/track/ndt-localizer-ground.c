/* SPDX-License-Identifier: MIT */
/* What is told by the thinned points of a scan: its scores without the ground, its share beside the
 * map. */
#include <string.h>

#include "ndt-localizer-step.h"
#include "ndtcore/map/ndt-residual.h"
#include "ndtcore/math/ndt-formulas.h"

static gboolean
get_thinned (NdtLocalizer *localizer, guint slot, guint n_points, guint *n, GError **error)
{
  if (n_points > localizer->thinned_capacity) {
    g_free (localizer->thinned);
    localizer->thinned_capacity = n_points + n_points / 4;
    localizer->thinned = g_try_new (float, 3 * (gsize)localizer->thinned_capacity);
    if (!localizer->thinned) {
      localizer->thinned_capacity = 0;
      g_set_error_literal (error, NDT_ERROR, NDT_ERROR_NO_MEMORY,
          "There is not the memory for the points of a scan");
      return FALSE;
    }
  }
  return ndt_backend_get_scan (
      localizer->backend, slot, localizer->thinned, localizer->thinned_capacity, n, error);
}

gboolean
ndt_localizer_get_off_map (
    NdtLocalizer *localizer, guint slot, const NdtPose *sensor, double *off, GError **error)
{
  g_autoptr (NdtVoxelMap) map = ndt_backend_ref_map (localizer->backend);
  guint n = 0;
  *off = 0;
  if (!map)
    return TRUE;
  if (!ndt_backend_get_scan (localizer->backend, slot, NULL, 0, &n, error) ||
      !get_thinned (localizer, slot, n, &n, error))
    return FALSE;
  *off = ndt_residual_off_map (map, localizer->thinned, n, sensor);
  return TRUE;
}

gboolean
ndt_localizer_score_no_ground (NdtLocalizer *localizer, guint slot, const NdtPose *sensor,
    const NdtPose *body, NdtLocalization *out, GError **error)
{
  static const NdtScanFilter no_filter = NDT_SCAN_FILTER_NONE;
  const double lowest = body->position[2] + localizer->params.no_ground_margin;
  guint n = 0, n_kept = 0;
  double r[9];
  if (!get_thinned (localizer, slot, out->registration.n_points, &n, error))
    return FALSE;
  ndt_quat_to_matrix (sensor->orientation, r);
  for (guint i = 0; i < n; i++) {
    const float *p = localizer->thinned + 3 * i;
    if (r[6] * p[0] + r[7] * p[1] + r[8] * p[2] + sensor->position[2] > lowest)
      memmove (localizer->thinned + 3 * n_kept++, p, 3 * sizeof (float));
  }
  out->has_no_ground = TRUE;
  out->no_ground_points = n_kept;
  if (n_kept == 0)
    return TRUE;

  NdtSums sums;
  const NdtCloudView kept = ndt_cloud_view_xyz_f32 (localizer->thinned, n_kept);
  if (!ndt_backend_set_scan (localizer->backend, slot, &kept, &no_filter, error) ||
      !ndt_backend_evaluate (localizer->backend, slot, &localizer->params.registration.align, 0,
          NDT_KIND_SCORE, sensor, 1, &sums, error))
    return FALSE;
  out->no_ground_transformation_probability = sums.score / n_kept;
  out->no_ground_nvtl = sums.n_matched ? sums.nvtl / (double)sums.n_matched : 0;
  return TRUE;
}
