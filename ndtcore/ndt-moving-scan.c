/* SPDX-License-Identifier: MIT */
#include "ndt-moving-scan.h"

struct _NdtMovingScan {
  NdtBackend *backend;
  guint slot;
  NdtCloudView points;
  NdtTimeView times;
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
  if (backend->klass->set_moving_scan)
    return ndt_backend_set_moving_scan (backend, slot, points, times, span, error);
  *span = ndt_time_span (points, times);
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
    if (!scan->deskewer)
      scan->deskewer = ndt_deskewer_new ();
    if (points.n_points > scan->capacity) {
      scan->capacity = points.n_points + points.n_points / 4;
      scan->moved = g_renew (float, scan->moved, 3 * scan->capacity);
    }
    ndt_deskew_motion (scan->deskewer, &points, &scan->times, motion, scan->moved);
    points = ndt_cloud_view_xyz_f32 (scan->moved, points.n_points);
  }
  return ndt_backend_set_scan (scan->backend, scan->slot, &points, filter, error);
}
