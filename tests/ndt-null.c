/* SPDX-License-Identifier: MIT */
#include "ndt-null.h"

#include <string.h>

static gboolean
null_set_map (NdtBackend *backend, NdtVoxelMap *map, GError **error)
{
  return TRUE;
}

static gboolean
null_set_scan (NdtBackend *backend, guint slot, const NdtCloudView *points,
    const NdtScanFilter *filter, GError **error)
{
  return TRUE;
}

static gboolean
null_get_scan (
    NdtBackend *backend, guint slot, float *xyz, guint max_points, guint *n_points, GError **error)
{
  *n_points = 0;
  return TRUE;
}

static gboolean
null_align (NdtBackend *backend, guint slot, const NdtAlignParams *params, const NdtStart *starts,
    guint n_starts, NdtAlignResult *results, GError **error)
{
  memset (results, 0, n_starts * sizeof *results);
  for (guint i = 0; i < n_starts; i++)
    results[i].pose = starts[i].guess;
  return TRUE;
}

static gboolean
null_evaluate (NdtBackend *backend, guint slot, const NdtAlignParams *params, guint level,
    NdtKind kind, const NdtPose *poses, guint n_poses, NdtSums *sums, GError **error)
{
  memset (sums, 0, n_poses * sizeof *sums);
  return TRUE;
}

static void
null_get_counters (NdtBackend *backend, NdtBackendCounters *counters)
{
  memset (counters, 0, sizeof *counters);
}

static void
null_cancel (NdtBackend *backend, gboolean cancelled)
{
}

static void
null_close (NdtBackend *backend)
{
}

static const NdtBackendClass null_class = {
    .name = "null",
    .set_map = null_set_map,
    .set_scan = null_set_scan,
    .get_scan = null_get_scan,
    .align = null_align,
    .evaluate = null_evaluate,
    .get_counters = null_get_counters,
    .cancel = null_cancel,
    .close = null_close,
};

NdtBackend *
ndt_null_open (const NdtBackendConfig *config, GError **error)
{
  static NdtBackend backend = {&null_class};
  return &backend;
}
