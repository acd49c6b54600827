/* SPDX-License-Identifier: MIT */
/* A CPU backend with a map and a scan. */
#pragma once

#include <math.h>
#include <string.h>

#include "ndtcore/align/ndt-backend.h"
#include "tests/ndt-scene.h"

static const NdtScanFilter no_filter = NDT_SCAN_FILTER_NONE;
static const NdtAlignParams default_params = NDT_ALIGN_PARAMS_DEFAULT;
static const NdtPose truth = {{1.5, -2.25, 1.8}, {0, 0, 0.14943813247359922, 0.98877107793604224}};

static inline NdtBackend *
open_backend (guint n_threads, NdtVoxelMap *map)
{
  const NdtBackendConfig config = {-1, n_threads, 0};
  GError *error = NULL;
  NdtBackend *backend = ndt_backend_open_cpu (&config, &error);
  g_assert_no_error (error);
  if (map)
    g_assert_true (ndt_backend_set_map (backend, map, NULL));
  return backend;
}

static inline void
set_scan (NdtBackend *backend, guint slot, const float *xyz, guint n)
{
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (xyz, n);
  g_assert_true (ndt_backend_set_scan (backend, slot, &view, &no_filter, NULL));
}

static inline NdtSums
evaluate (NdtBackend *backend, guint slot, const NdtAlignParams *params, guint level, NdtKind kind,
    const NdtPose *pose)
{
  GError *error = NULL;
  NdtSums sums;
  ndt_backend_evaluate (backend, slot, params, level, kind, pose, 1, &sums, &error);
  g_assert_no_error (error);
  return sums;
}

static inline NdtAlignResult
align (NdtBackend *backend, guint slot, const NdtPose *guess, guint approach)
{
  const NdtStart start = {.guess = *guess, .approach = approach};
  GError *error = NULL;
  NdtAlignResult result;
  ndt_backend_align (backend, slot, &default_params, &start, 1, &result, &error);
  g_assert_no_error (error);
  return result;
}

static inline void
assert_same_result (const NdtAlignResult *a, const NdtAlignResult *b)
{
  g_assert_true (memcmp (&a->pose, &b->pose, sizeof a->pose) == 0);
  g_assert_true (memcmp (&a->sums, &b->sums, sizeof a->sums) == 0);
  g_assert_cmpuint (a->iterations, ==, b->iterations);
  g_assert_cmpuint (a->evaluations, ==, b->evaluations);
  g_assert_cmpuint (a->oscillation, ==, b->oscillation);
  g_assert_cmpuint (a->stop, ==, b->stop);
}
