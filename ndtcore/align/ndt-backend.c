/* SPDX-License-Identifier: MIT */
#include "ndt-backend.h"

#include <math.h>

static gboolean
refuse (GError **error, const gchar *what)
{
  g_set_error_literal (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT, what);
  return FALSE;
}

gboolean
ndt_align_result_is_better (const NdtAlignResult *a, const NdtAlignResult *b)
{
  const gboolean a_finite = a->stop != NDT_STOP_NOT_FINITE;
  const gboolean b_finite = b->stop != NDT_STOP_NOT_FINITE;
  if (a_finite != b_finite)
    return a_finite;
  return a->objective > b->objective;
}

gboolean
ndt_align_params_check (const NdtAlignParams *params, GError **error)
{
  if (!(params->outlier_ratio > 0 && params->outlier_ratio < 1))
    return refuse (error, "outlier-ratio has to be above 0 and below 1");
  if (params->neighbours > NDT_NEIGHBOURS_DIRECT27)
    return refuse (error, "unknown neighbour search");
  if (params->max_iterations < 1 || params->max_iterations > 10000)
    return refuse (error, "max-iterations has to be 1 to 10000");
  if (params->max_evaluations > G_MAXINT32)
    return refuse (error, "the bound of evaluations is too large");
  if (!(params->translation_epsilon >= 1e-9) || !(params->rotation_epsilon >= 1e-9))
    return refuse (error, "epsilons have to be at least 1e-9 (m, rad)");
  if (!(params->max_translation_step > 0) || !(params->max_rotation_step > 0))
    return refuse (error, "step limits have to be above 0");
  if (params->method > NDT_METHOD_LBFGS)
    return refuse (error, "unknown optimizer");
  return TRUE;
}

gboolean
ndt_align_params_equal (const NdtAlignParams *a, const NdtAlignParams *b)
{
  return a->outlier_ratio == b->outlier_ratio && a->neighbours == b->neighbours &&
         a->max_iterations == b->max_iterations && a->max_evaluations == b->max_evaluations &&
         a->translation_epsilon == b->translation_epsilon &&
         a->rotation_epsilon == b->rotation_epsilon &&
         a->max_translation_step == b->max_translation_step &&
         a->max_rotation_step == b->max_rotation_step && a->method == b->method &&
         a->clusters == b->clusters && a->terms == b->terms;
}

static gboolean
check_slot (guint slot, GError **error)
{
  return slot < NDT_N_SLOTS || refuse (error, "scan slot out of range");
}

static gboolean
check_size (const NdtCloudView *points, GError **error)
{
  return points->n_points <= G_MAXINT32 / 8 ||
         refuse (error, "a scan of more than 268 million points");
}

gboolean
ndt_scan_filter_check (const NdtScanFilter *filter, GError **error)
{
  if (!(filter->min_range >= 0) || !(filter->max_range >= 0))
    return refuse (error, "ranges of the scan filter have to be 0 or above");
  if (filter->max_range > 0 && filter->min_range >= filter->max_range) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "min-range, %g m, has to be below max-range, %g m: no point would be left",
        (double)filter->min_range, (double)filter->max_range);
    return FALSE;
  }
  if (filter->leaf_size != 0 && !(filter->leaf_size >= 0.001f && filter->leaf_size <= 1000))
    return refuse (error, "the scan's leaf size has to be 0 or 0.001 m to 1000 m");
  return TRUE;
}

static gboolean
check_pose (const NdtPose *pose, GError **error)
{
  const double *p = pose->position, *q = pose->orientation;
  const double n2 = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
  return (isfinite (p[0] + p[1] + p[2]) && fabs (n2 - 1) < 1e-6) ||
         refuse (error, "a pose is not finite or its quaternion not of unit length");
}

/* That it is not negative is the caller's to see to: a sum of squares. Its diagonal tells the
 * worst. */
static gboolean
check_factor (const NdtPoseFactor *factor, GError **error)
{
  double sum = 0;
  gboolean negative = FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (factor->information); i++)
    sum += fabs (factor->information[i]);
  for (guint i = 0; i < 6; i++)
    negative |= factor->information[NDT_H6 (i, i)] < 0;
  return check_pose (&factor->mean, error) &&
         ((isfinite (sum) && !negative) ||
             refuse (error, "the information of a pose factor is not finite or negative"));
}

static gboolean
check_extra (const NdtExtraValues *extra, GError **error)
{
  if (!(extra->weight > 0 && isfinite (extra->weight)))
    return refuse (error, "the weight of extra terms is negative or not finite");
  for (guint i = 0; i < G_N_ELEMENTS (extra->poses); i++)
    if (extra->has >> i & 1 && !check_pose (&extra->poses[i], error))
      return FALSE;
  return check_pose (&extra->body, error);
}

static gboolean
check_start (const NdtStart *start, GError **error)
{
  const NdtRegularization *r = &start->regularization;
  const double *d = r->direction;
  if (!check_pose (&start->guess, error) ||
      (r->factor.is_set && !check_factor (&r->factor, error)) ||
      (r->extra.weight != 0 && !check_extra (&r->extra, error)))
    return FALSE;
  if (r->scale == 0)
    return TRUE;
  return (r->scale > 0 && isfinite (r->scale + r->target[0] + r->target[1]) &&
             fabs (d[0] * d[0] + d[1] * d[1] - 1) < 1e-6) ||
         refuse (error,
             "a regularization is not finite, of negative scale, or its direction not of "
             "unit length");
}

void
ndt_backend_close (NdtBackend *backend)
{
  g_clear_pointer (&backend->map, ndt_voxel_map_unref);
  g_mutex_clear (&backend->map_lock);
  backend->klass->close (backend);
}

const gchar *
ndt_backend_get_name (const NdtBackend *backend)
{
  return backend->klass->name;
}

void
ndt_backend_set_progress (NdtBackend *backend, NdtSearchProgress progress, gpointer user_data)
{
  backend->progress = progress;
  backend->progress_data = user_data;
}

const NdtLog *
ndt_backend_get_log (const NdtBackend *backend)
{
  return backend->log;
}

/* @map: NULL where it exists on the device only. */
static void
note_map (NdtBackend *backend, const NdtVoxelMapParams *params, NdtVoxelMap *map)
{
  g_mutex_lock (&backend->map_lock);
  NdtVoxelMap *before = backend->map;
  backend->map = map ? ndt_voxel_map_ref (map) : NULL;
  g_mutex_unlock (&backend->map_lock);
  g_clear_pointer (&before, ndt_voxel_map_unref);
  for (guint l = 0; l < NDT_MAX_LEVELS; l++) {
    const NdtVoxelLevel *level = map ? ndt_voxel_map_get_level (map, l) : NULL;
    double share = 1, density = 100;
    if (level && level->n_points > 0) {
      share = ndt_voxel_map_get_share (map, l);
      density = (double)level->n_points / (double)level->n_voxels;
    }
    g_atomic_int_set (&backend->share_ppm[l], (gint)(share * 1e6));
    g_atomic_int_set (&backend->density_milli[l], (gint)MIN (density * 1e3, G_MAXINT));
  }
  g_atomic_int_set (&backend->fit_level, map ? (gint)ndt_voxel_map_get_fit_level (map) : 0);
  g_atomic_int_set (&backend->resolution_um, (gint)MIN (params->resolution * 1e6, G_MAXINT));
  if (!ndt_log_wants (backend->log, NDT_LOG_INFO))
    return;
  if (!map) {
    ndt_log_message (backend->log, NDT_LOG_INFO, "map",
        "%s backend: a map of %g m cells, %u levels, made on the device", backend->klass->name,
        params->resolution, params->n_levels);
    return;
  }
  double min[3], max[3];
  ndt_voxel_map_get_bounds (map, min, max);
  ndt_log_message (backend->log, NDT_LOG_INFO, "map",
      "%s backend: a map of %u voxels of %g m, %u levels, %.1f MB, from %" G_GUINT64_FORMAT
      " points within (%.1f, %.1f, %.1f) to (%.1f, %.1f, %.1f) m",
      backend->klass->name, ndt_voxel_map_get_level (map, 0)->n_voxels, params->resolution,
      ndt_voxel_map_get_n_levels (map), (double)ndt_voxel_map_get_bytes (map) * 1e-6,
      ndt_voxel_map_get_n_points (map), min[0], min[1], min[2], max[0], max[1], max[2]);
}

gboolean
ndt_backend_set_map (NdtBackend *backend, NdtVoxelMap *map, GError **error)
{
  if (!backend->klass->set_map (backend, map, error))
    return FALSE;
  note_map (backend, ndt_voxel_map_get_params (map), map);
  return TRUE;
}

gboolean
ndt_backend_set_map_from_points (NdtBackend *backend, const NdtVoxelMapParams *params,
    const NdtCloudView *points, NdtVoxelMap **out_map, GError **error)
{
  if (backend->klass->set_map_from_points) {
    if (!backend->klass->set_map_from_points (backend, params, points, out_map, error))
      return FALSE;
    note_map (backend, params, out_map ? *out_map : NULL);
    return TRUE;
  }
  g_autoptr (NdtVoxelMap) map = ndt_voxel_map_new (params, points, error);
  if (!map || !ndt_backend_set_map (backend, map, error))
    return FALSE;
  if (out_map)
    *out_map = g_steal_pointer (&map);
  return TRUE;
}

NdtVoxelMap *
ndt_backend_ref_map (NdtBackend *backend)
{
  g_mutex_lock (&backend->map_lock);
  NdtVoxelMap *map = backend->map ? ndt_voxel_map_ref (backend->map) : NULL;
  g_mutex_unlock (&backend->map_lock);
  return map;
}

NdtOverview *
ndt_backend_get_overview (NdtBackend *backend, GError **error)
{
  g_autoptr (NdtVoxelMap) map = ndt_backend_ref_map (backend);
  if (!map) {
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_NO_MAP, "No map is set that can be searched");
    return NULL;
  }
  return ndt_overview_of_map (map, error);
}

double
ndt_backend_get_resolution (const NdtBackend *backend)
{
  return g_atomic_int_get (&backend->resolution_um) * 1e-6;
}

void
ndt_backend_get_map_density (const NdtBackend *backend, double *share, double *density)
{
  *share = g_atomic_int_get (&backend->share_ppm[0]) * 1e-6;
  *density = g_atomic_int_get (&backend->density_milli[0]) * 1e-3;
}

guint
ndt_backend_get_fit_level (
    const NdtBackend *backend, double *resolution, double *share, double *density)
{
  const gint level = g_atomic_int_get (&backend->fit_level);
  *resolution = ndt_backend_get_resolution (backend) * (1 << level);
  *share = g_atomic_int_get (&backend->share_ppm[level]) * 1e-6;
  *density = g_atomic_int_get (&backend->density_milli[level]) * 1e-3;
  return (guint)level;
}

gboolean
ndt_backend_set_scan (NdtBackend *backend, guint slot, const NdtCloudView *points,
    const NdtScanFilter *filter, GError **error)
{
  return check_slot (slot, error) && check_size (points, error) &&
         ndt_scan_filter_check (filter, error) &&
         backend->klass->set_scan (backend, slot, points, filter, error);
}

gboolean
ndt_backend_set_moving_scan (NdtBackend *backend, guint slot, const NdtCloudView *points,
    const NdtTimeView *times, NdtTimeSpan *span, GError **error)
{
  return check_slot (slot, error) && check_size (points, error) &&
         backend->klass->set_moving_scan (backend, slot, points, times, span, error);
}

gboolean
ndt_backend_move_scan (NdtBackend *backend, guint slot, const NdtScanMotion *motion,
    const NdtScanFilter *filter, GError **error)
{
  return check_slot (slot, error) && ndt_scan_filter_check (filter, error) &&
         backend->klass->move_scan (backend, slot, motion, filter, error);
}

gboolean
ndt_backend_get_scan (
    NdtBackend *backend, guint slot, float *xyz, guint max_points, guint *n_points, GError **error)
{
  return check_slot (slot, error) &&
         backend->klass->get_scan (backend, slot, xyz, max_points, n_points, error);
}

gboolean
ndt_backend_align (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    const NdtStart *starts, guint n_starts, NdtAlignResult *results, GError **error)
{
  if (!check_slot (slot, error) || !ndt_align_params_check (params, error))
    return FALSE;
  for (guint i = 0; i < n_starts; i++)
    if (!check_start (&starts[i], error))
      return FALSE;
  return backend->klass->align (backend, slot, params, starts, n_starts, results, error);
}

gboolean
ndt_backend_align_begin (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    const NdtStart *start, guint n_following, GError **error)
{
  if (!check_slot (slot, error) || !ndt_align_params_check (params, error) ||
      !check_start (start, error))
    return FALSE;
  backend->begun_slot = slot;
  backend->begun_params = *params;
  backend->begun_start = *start;
  return !backend->klass->align_begin ||
         backend->klass->align_begin (backend, slot, params, start,
             slot < NDT_MAX_SCANS ? MIN (n_following, NDT_MAX_SCANS - 1 - slot) : 0, error);
}

gboolean
ndt_backend_align_end (NdtBackend *backend, NdtAlignResult *result, GError **error)
{
  if (backend->klass->align_end)
    return backend->klass->align_end (backend, result, error);
  return backend->klass->align (backend, backend->begun_slot, &backend->begun_params,
      &backend->begun_start, 1, result, error);
}

void
ndt_backend_align_stop (NdtBackend *backend)
{
  if (backend->klass->align_stop)
    backend->klass->align_stop (backend);
}

guint
ndt_backend_get_batch (const NdtBackend *backend)
{
  return backend->klass->batch ? backend->klass->batch : 64;
}

gboolean
ndt_backend_spread (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    NdtAlignResult *result, GError **error)
{
  return check_slot (slot, error) &&
         (!backend->klass->spread || result->n_clusters > 0 || result->sums.n_pairs == 0 ||
             backend->klass->spread (backend, slot, params, result, error));
}

gboolean
ndt_backend_evaluate (NdtBackend *backend, guint slot, const NdtAlignParams *params, guint level,
    NdtKind kind, const NdtPose *poses, guint n_poses, NdtSums *sums, GError **error)
{
  if (!check_slot (slot, error) || !ndt_align_params_check (params, error))
    return FALSE;
  for (guint i = 0; i < n_poses; i++)
    if (!check_pose (&poses[i], error))
      return FALSE;
  return backend->klass->evaluate (backend, slot, params, level, kind, poses, n_poses, sums, error);
}

gboolean
ndt_backend_is_failure (const GError *error)
{
  return !g_error_matches (error, NDT_ERROR, NDT_ERROR_CANCELLED) &&
         !g_error_matches (error, NDT_ERROR, NDT_ERROR_NO_MAP) &&
         !g_error_matches (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
}

gboolean
ndt_backend_can_open_background (const NdtBackend *backend)
{
  return backend->klass->open_background != NULL;
}

NdtBackend *
ndt_backend_open_background (NdtBackend *backend, GError **error)
{
  if (backend->klass->open_background)
    return backend->klass->open_background (backend, error);
  g_set_error (error, NDT_ERROR, NDT_ERROR_NO_DEVICE,
      "The %s backend has no device for searches in the background", backend->klass->name);
  return NULL;
}

NdtDeviceFrames *
ndt_backend_open_frames (NdtBackend *backend, GError **error)
{
  if (!backend->klass->open_frames) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_NO_DEVICE, "The %s backend has no device for frames",
        backend->klass->name);
    return NULL;
  }
  NdtDeviceFrames *frames = backend->klass->open_frames (backend, error);
  if (frames)
    frames->log = backend->log;
  return frames;
}

gpointer
ndt_backend_alloc_host (NdtBackend *backend, gsize size)
{
  return backend->klass->alloc_host ? backend->klass->alloc_host (backend, size) : NULL;
}

void
ndt_backend_get_counters (NdtBackend *backend, NdtBackendCounters *counters)
{
  backend->klass->get_counters (backend, counters);
}

void
ndt_backend_cancel (NdtBackend *backend, gboolean cancelled)
{
  backend->klass->cancel (backend, cancelled);
}
