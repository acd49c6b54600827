/* SPDX-License-Identifier: MIT */
#include "ndt-moving-scan.h"

#include <math.h>
#include <string.h>

#include "ndtcore/base/ndt-memory.h"

struct _NdtMovingScan {
  NdtBackend *backend;
  guint slot;
  NdtCloudView points;
  NdtTimeView times;
  NdtTimeSpan span;
  NdtDeskewer *deskewer;
  float *moved;
  gsize capacity;
  float *parted;   /* points, part after part */
  guint8 *part_of; /* of each point; NDT_MOVING_SCAN_MAX_PARTS: none */
  gsize part_capacity;
  gsize part_first[NDT_MOVING_SCAN_MAX_PARTS];
  NdtTimeSpan part_spans[NDT_MOVING_SCAN_MAX_PARTS];
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
  g_free (scan->parted);
  g_free (scan->part_of);
  g_free (scan);
}

gboolean
ndt_moving_scan_announce (NdtBackend *backend, guint slot, const NdtCloudView *points,
    const NdtTimeView *times, GError **error)
{
  return !backend->klass->set_moving_scan ||
         ndt_backend_set_moving_scan (backend, slot, points, times, NULL, error);
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
    *span = ndt_time_span (points, times, NULL);
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

/* Room for the parts of @n points. */
static gboolean
reserve_parts (NdtMovingScan *scan, gsize n, GError **error)
{
  if (n <= scan->part_capacity)
    return TRUE;
  g_free (scan->parted);
  g_free (scan->part_of);
  scan->part_capacity = n + n / 4;
  scan->parted = g_try_new (float, 3 * scan->part_capacity);
  scan->part_of = g_try_new (guint8, scan->part_capacity);
  if (scan->parted && scan->part_of)
    return TRUE;
  g_clear_pointer (&scan->parted, g_free);
  g_clear_pointer (&scan->part_of, g_free);
  scan->part_capacity = 0;
  return ndt_refuse_memory (error, "the parts of a scan of %" G_GSIZE_FORMAT " points", n);
}

gboolean
ndt_moving_scan_divide (
    NdtMovingScan *scan, const NdtScanMotion *motion, guint n_parts, GError **error)
{
  const gsize n = scan->points.n_points;
  const double per_second = n_parts / (scan->span.last - scan->span.first);
  const guint no_part = NDT_MOVING_SCAN_MAX_PARTS;
  double sums[NDT_MOVING_SCAN_MAX_PARTS] = {0};
  gsize at[NDT_MOVING_SCAN_MAX_PARTS];
  g_return_val_if_fail (n_parts > 0 && n_parts <= NDT_MOVING_SCAN_MAX_PARTS, FALSE);
  if (!move_points (scan, motion, error) || !reserve_parts (scan, n, error))
    return FALSE;
  for (guint i = 0; i < n_parts; i++)
    scan->part_spans[i] = (NdtTimeSpan){0, INFINITY, -INFINITY, 0};
  for (gsize i = 0; i < n; i++) {
    const float *p = scan->moved + 3 * i;
    const double t = ndt_time_view_get (&scan->times, i);
    scan->part_of[i] = (guint8)no_part;
    if (!isfinite (t) || !isfinite (p[0] + p[1] + p[2]))
      continue;
    const double part = MIN (floor ((t - scan->span.first) * per_second), n_parts - 1);
    /* None where all times are the same. */
    if (!(part >= 0))
      continue;
    NdtTimeSpan *span = &scan->part_spans[(guint)part];
    scan->part_of[i] = (guint8)part;
    span->first = MIN (span->first, t);
    span->last = MAX (span->last, t);
    span->n_points++;
    sums[(guint)part] += t;
  }
  gsize n_before = 0;
  for (guint i = 0; i < n_parts; i++) {
    NdtTimeSpan *span = &scan->part_spans[i];
    scan->part_first[i] = at[i] = n_before;
    n_before += span->n_points;
    if (span->n_points > 0)
      span->mean = sums[i] / (double)span->n_points;
  }
  for (gsize i = 0; i < n; i++)
    if (scan->part_of[i] != no_part)
      memcpy (scan->parted + 3 * at[scan->part_of[i]]++, scan->moved + 3 * i, 3 * sizeof (float));
  return TRUE;
}

gboolean
ndt_moving_scan_set_part (NdtMovingScan *scan, guint slot, guint part, const NdtScanFilter *filter,
    NdtTimeSpan *span, GError **error)
{
  *span = scan->part_spans[part];
  if (span->n_points == 0)
    return TRUE;
  const NdtCloudView points =
      ndt_cloud_view_xyz_f32 (scan->parted + 3 * scan->part_first[part], span->n_points);
  return ndt_backend_set_scan (scan->backend, slot, &points, filter, error);
}
