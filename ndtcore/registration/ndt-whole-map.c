/* SPDX-License-Identifier: MIT */
#include "ndt-whole-map.h"

#include <math.h>
#include <string.h>

#include "ndt-overview-search.h"
#include "ndt-places.h"
#include "ndt-search.h"
#include "ndtcore/map/ndt-residual.h"
#include "ndtcore/math/ndt-mount.h"

/* Places that are aligned: the right one is among the first seven of 375 scans of five maps. */
#define MOST_PLACES 24

/* Edge, in cells, of the cubes of the sample that heights are compared with. */
#define HEIGHT_LEAF 2.0

/* What each share of points off the map adds to the fit of the second place, and at most. */
#define OFF_MAP_WEIGHT 3.0
#define OFF_MAP_MOST 0.08

/* The scan's points in the body's frame. */
static gboolean
get_points (
    NdtBackend *backend, guint slot, const NdtPose *mount, float **xyz, guint *n, GError **error)
{
  if (!ndt_backend_get_scan (backend, slot, NULL, 0, n, error))
    return FALSE;
  *xyz = g_try_new (float, 3 * (gsize)MAX (*n, 1));
  if (!*xyz) {
    g_set_error_literal (
        error, NDT_ERROR, NDT_ERROR_NO_MEMORY, "There is not the memory for the points of a scan");
    return FALSE;
  }
  if (!ndt_backend_get_scan (backend, slot, *xyz, *n, n, error))
    return FALSE;
  for (guint i = 0; mount && i < *n; i++) {
    float *p = *xyz + 3 * (gsize)i;
    const double in[3] = {(double)p[0], (double)p[1], (double)p[2]};
    double out[3];
    ndt_pose_transform_point (mount, in, out);
    for (guint k = 0; k < 3; k++)
      p[k] = (float)out[k];
  }
  return TRUE;
}

/* The sensor's pose at each place, at the height with the best fit of a sample to the map's voxels.
 */
static gboolean
choose_heights (NdtBackend *backend, guint slot, const NdtAlignParams *params, const NdtPose *mount,
    const NdtOverviewPlace *places, guint n, NdtPose *sensors, guint32 *evaluations, GError **error)
{
  NdtPose poses[MOST_PLACES * NDT_OVERVIEW_HEIGHTS];
  NdtSums sums[MOST_PLACES * NDT_OVERVIEW_HEIGHTS];
  const guint batch = ndt_backend_get_batch (backend);
  guint m = 0;
  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < places[i].n_heights; k++) {
      NdtPose body = places[i].pose;
      body.position[2] = places[i].heights[k];
      poses[m++] = ndt_mount_sensor_of_body (mount, &body);
    }
  if (!ndt_search_set_sample (
          backend, slot, (float)(HEIGHT_LEAF * ndt_backend_get_resolution (backend)), error))
    return FALSE;
  for (guint first = 0; first < m; first += batch)
    if (!ndt_backend_evaluate (backend, NDT_SEARCH_SLOT, params, 0, NDT_KIND_LEAST_SQUARES,
            poses + first, MIN (batch, m - first), sums + first, error))
      return FALSE;
  *evaluations += m;
  m = 0;
  for (guint i = 0; i < n; i++) {
    guint best = m;
    for (guint k = 0; k < places[i].n_heights; k++, m++)
      if (sums[m].score > sums[best].score)
        best = m;
    sensors[i] = poses[best];
  }
  return TRUE;
}

/* Of the points at @pose, of the body; 0 where the map is not in the host's memory. */
static double
get_off_map (NdtBackend *backend, const float *xyz, guint n_points, const NdtPose *pose)
{
  g_autoptr (NdtVoxelMap) map = ndt_backend_ref_map (backend);
  return map ? ndt_residual_off_map (map, xyz, n_points, pose) : 0;
}

gboolean
ndt_whole_map_search (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    const NdtPose *mount, NdtAlignResult *best, double *runner_up, gboolean *is_ambiguous,
    guint32 *n_places, guint32 *evaluations, GError **error)
{
  NdtOverviewPlace places[MOST_PLACES];
  NdtPose sensors[MOST_PLACES];
  guint n_points, n = 0, n_nodes;
  g_autofree float *xyz = NULL;
  g_autoptr (NdtWorkers) workers = ndt_workers_new (backend->n_threads);
  g_autoptr (NdtOverview) overview = ndt_backend_get_overview (backend, error);
  memset (best, 0, sizeof (*best));
  ndt_pose_set_identity (&best->pose);
  best->stop = NDT_STOP_NO_PAIRS;
  *runner_up = 0;
  *is_ambiguous = FALSE;
  *n_places = 0;
  if (!overview || !get_points (backend, slot, mount, &xyz, &n_points, error) ||
      !ndt_overview_search (
          overview, backend, workers, xyz, n_points, MOST_PLACES, places, &n, &n_nodes, error))
    return FALSE;
  best->n_points = n_points;
  *n_places = n;
  if (ndt_log_wants (ndt_backend_get_log (backend), NDT_LOG_DEBUG))
    ndt_log_message (ndt_backend_get_log (backend), NDT_LOG_DEBUG, "search",
        "The whole map: %u nodes, %u places, the best with %.2f of what stands upright", n_nodes, n,
        n > 0 ? places[0].share : 0);
  if (n == 0)
    return TRUE;
  if (!choose_heights (backend, slot, params, mount, places, n, sensors, evaluations, error) ||
      !ndt_places_choose (backend, slot, params, sensors, n, NULL, NULL, best, runner_up,
          is_ambiguous, evaluations, error))
    return FALSE;
  /* In another place of the same kind a scan fits nearly as well, but of its points several times
   * as many lie beside the voxels, of which the mean of the fit tells little. */
  const NdtPose body = ndt_mount_body_of_sensor (mount, &best->pose);
  const double off = get_off_map (backend, xyz, n_points, &body);
  if (*runner_up > 0)
    *runner_up += MIN (OFF_MAP_WEIGHT * off, OFF_MAP_MOST);
  *is_ambiguous = *is_ambiguous || *runner_up >= NDT_AMBIGUOUS;
  return TRUE;
}
