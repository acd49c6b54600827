/* SPDX-License-Identifier: MIT */
/* A corridor along the map's x, without ends, and a scan in slot 0 of a CPU backend: along it the
 * walls do not say where the scan is. */
#pragma once

#include "ndtcore/align/ndt-backend.h"
#include "tests/ndt-scene.h"

typedef struct {
  NdtVoxelMap *map;
  NdtBackend *backend;
  NdtPose truth;
} Corridor;

static inline void
corridor_init (Corridor *c)
{
  static const NdtScanFilter no_filter = NDT_SCAN_FILTER_NONE;
  const NdtBackendConfig config = {-1, 1, 0};
  const NdtPose pose = {{1.5, 0.3, 1.4}, {0, 0, 0, 1}};
  c->truth = pose;
  c->map = ndt_test_scene_map (NDT_TEST_CORRIDOR, 120000, 2);
  c->backend = ndt_backend_open_cpu (&config, NULL);
  g_assert_true (ndt_backend_set_map (c->backend, c->map, NULL));
  g_autofree float *scan = ndt_test_scene_scan (NDT_TEST_CORRIDOR, &pose, 2000, 7);
  const NdtCloudView points = ndt_cloud_view_xyz_f32 (scan, 2000);
  g_assert_true (ndt_backend_set_scan (c->backend, 0, &points, &no_filter, NULL));
}

static inline void
corridor_clear (Corridor *c)
{
  ndt_backend_close (c->backend);
  ndt_voxel_map_unref (c->map);
}
