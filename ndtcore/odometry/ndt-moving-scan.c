/* SPDX-License-Identifier: MIT */
#include "ndt-moving-scan.h"

#include <math.h>
#include <string.h>

struct _NdtMovingScan {
  NdtBackend *backend;
  guint slot;
  NdtCloudView points;
  NdtTimeView times;
  NdtTimeSpan span;
  NdtDeskewer *deskewer;
  float *moved;
  gsize capacity;
};

NdtMovingScan *
ndt_moving_scan_new (void)
{
  return g_new0 (NdtMovingScan, 1);
}

void
ndt_moving_scan_free (NdtMovingScan *scan)
{
  g_clear_pointer (&scan->deskewer, ndt_deskewer_free);
  g_free (scan->moved);
  g_free (scan);
}

gboolean
ndt_moving_scan_set (NdtMovingScan *scan, NdtBackend *backend, guint slot,
    const NdtCloudView *points, const NdtTimeView *times, NdtTimeSpan *span, GError **error)
{
  scan->backend = backend;
  scan->slot = slot;
  scan->points = *points;
  scan->times = *times;
  if (!backend->klass->set_moving_scan)
    *span = ndt_time_span (points, times);
  else if (!ndt_backend_set_moving_scan (backend, slot, points, times, span, error))
    return FALSE;
  scan->span = *span;
  return TRUE;
}

/* All points, packed. */
static gboolean
move_points (NdtMovingScan *scan, const NdtScanMotion *motion, GError **error)
{
  const gsize n = scan->points.n_points;
  if (!scan->deskewer)
    scan->deskewer = ndt_deskewer_new ();
  if (n > scan->capacity) {
    g_free (scan->moved);
    scan->capacity = n + n / 4;
    scan->moved = g_try_new (float, 3 * scan->capacity);
    if (!scan->moved) {
      scan->capacity = 0;
      g_set_error (error, NDT_ERROR, NDT_ERROR_NO_MEMORY,
          "There is not the memory to move the %" G_GSIZE_FORMAT " points of a scan", n);
      return FALSE;
    }
  }
  ndt_deskew_motion (scan->deskewer, &scan->points, &scan->times, motion, scan->moved);
  return TRUE;
}

gboolean
ndt_moving_scan_move (
    NdtMovingScan *scan, const NdtScanMotion *motion, const NdtScanFilter *filter, GError **error)
{
  NdtCloudView points = scan->points;
  if (scan->backend->klass->move_scan)
    return ndt_backend_move_scan (scan->backend, scan->slot, motion, filter, error);
  if (motion) {
    if (!move_points (scan, motion, error))
      return FALSE;
    points = ndt_cloud_view_xyz_f32 (scan->moved, points.n_points);
  }
  return ndt_backend_set_scan (scan->backend, scan->slot, &points, filter, error);
}

gboolean
ndt_moving_scan_set_part (NdtMovingScan *scan, guint slot, const NdtScanMotion *motion, guint part,
    guint n_parts, const NdtScanFilter *filter, NdtTimeSpan *span, GError **error)
{
  const double per_second = n_parts / (scan->span.last - scan->span.first);
  double sum = 0;
  gsize n = 0;
  *span = (NdtTimeSpan){0, INFINITY, -INFINITY, 0};
  if (!move_points (scan, motion, error))
    return FALSE;
  for (gsize i = 0; i < scan->points.n_points; i++) {
    const float *p = scan->moved + 3 * i;
    const double t = ndt_time_view_get (&scan->times, i);
    if (!isfinite (t) || !isfinite (p[0] + p[1] + p[2]))
      continue;
    const double at = floor ((t - scan->span.first) * per_second);
    if (MIN (at, n_parts - 1) != part)
      continue;
    memmove (scan->moved + 3 * n++, p, 3 * sizeof (float));
    span->first = MIN (span->first, t);
    span->last = MAX (span->last, t);
    sum += t;
  }
  span->n_points = n;
  if (n == 0)
    return TRUE;
  span->mean = sum / (double)n;
  const NdtCloudView points = ndt_cloud_view_xyz_f32 (scan->moved, n);
  return ndt_backend_set_scan (scan->backend, slot, &points, filter, error);
}
