/* SPDX-License-Identifier: MIT */
/* Writes what the plain kernel computes on this processor, with all that it reads, for
 * kernel-replay on another one.
 *
 *   kernel-record FILE */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ndtcore/math/ndt-formulas.h"
#include "tests/ndt-scene.h"
#include "kernel-record.h"

#define N_SCAN (8 * NDT_CHUNK - 5)

static void
record (FILE *file, const NdtVoxelLevel *level, NdtKind kind, NdtNeighbours neighbours,
    const NdtPose *pose, const float *scan, guint first)
{
  static NdtChunkCache cache;
  KernelRecord r;
  memset (&r, 0, sizeof (r));
  const NdtGauss gauss = ndt_gauss (0.55, level->resolution);
  r.level = *level;
  r.n_blocks = (guint64)1 << (64 - level->block_shift);
  r.args = (NdtKernelArgs){.level = level,
      .tag = 1,
      .kind = kind,
      .neighbours = neighbours,
      .faces_only = neighbours == NDT_NEIGHBOURS_DIRECT7 || neighbours == NDT_NEIGHBOURS_DIRECT1,
      .resolution = (float)level->resolution,
      .inverse_resolution = (float)(1 / level->resolution),
      .d1 = (float)gauss.d1,
      .d2 = (float)gauss.d2};
  g_assert_true (ndt_transform_f_init (
      &r.args.transform, pose, pose->position, level->resolution, level->origin));
  r.n = MIN (NDT_CHUNK, N_SCAN - first);
  for (guint i = 0; i < r.n; i++) {
    r.x[i] = scan[3 * (first + i)];
    r.y[i] = scan[3 * (first + i) + 1];
    r.z[i] = scan[3 * (first + i) + 2];
  }
  cache.tag = 0;
  ndt_kernel_generic (&r.args, r.x, r.y, r.z, r.n, &cache, &r.sums);
  fwrite (&r, sizeof (r), 1, file);
  fwrite (level->voxels, sizeof (NdtVoxel), level->n_voxels, file);
  fwrite (level->blocks, sizeof (NdtBlock), r.n_blocks, file);
}

int
main (int argc, char **argv)
{
  NdtPose pose = {{1.5, -2.25, 1.4}, {0, 0, 0.2, 0.9}};
  FILE *file = argc == 2 ? fopen (argv[1], "wb") : NULL;
  if (!file) {
    fprintf (stderr, "kernel-record FILE\n");
    return 2;
  }
  ndt_pose_normalize (&pose);
  g_autoptr (NdtVoxelMap) map = ndt_test_scene_map (NDT_TEST_YARD, 60000, 1);
  g_autofree float *scan = ndt_test_scene_scan (NDT_TEST_YARD, &pose, N_SCAN, 7);
  pose.position[0] += 0.05;
  for (guint first = 0; first < N_SCAN; first += NDT_CHUNK) {
    for (guint n = NDT_NEIGHBOURS_RADIUS; n <= NDT_NEIGHBOURS_DIRECT27; n++)
      record (file, ndt_voxel_map_get_level (map, 0), NDT_KIND_SCORE, n, &pose, scan, first);
    for (guint level = 0; level < 3; level++)
      record (file, ndt_voxel_map_get_level (map, level), NDT_KIND_LEAST_SQUARES,
          NDT_NEIGHBOURS_DIRECT7, &pose, scan, first);
  }
  return fclose (file) != 0;
}
