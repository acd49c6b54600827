/* SPDX-License-Identifier: MIT */
#include "ndt-reference.h"

#include <math.h>
#include <string.h>

#include "ndtcore/math/ndt-formulas.h"

GArray *
ndt_reference_pairs (
    const NdtVoxelMap *map, const float *xyz, gsize n_points, NdtNeighbours neighbours)
{
  const NdtVoxelLevel *level = ndt_voxel_map_get_level (map, 0);
  const float r = (float)level->resolution;
  const float inverse = 1.0f / r;
  const gint32 reach = neighbours == NDT_NEIGHBOURS_DIRECT1 ? 0 : 1;
  GArray *pairs = g_array_new (FALSE, FALSE, sizeof (NdtPair));

  for (gsize i = 0; i < n_points; i++) {
    const float *p = xyz + 3 * i;
    gint64 cell[3];
    for (guint k = 0; k < 3; k++)
      cell[k] = (gint64)floorf (p[k] * inverse) - level->origin[k];
    for (gint32 dz = -reach; dz <= reach; dz++)
      for (gint32 dy = -reach; dy <= reach; dy++)
        for (gint32 dx = -reach; dx <= reach; dx++) {
          if (neighbours == NDT_NEIGHBOURS_DIRECT7 && (dx != 0) + (dy != 0) + (dz != 0) > 1)
            continue;
          const gint64 voxel = ndt_voxel_level_find (
              level, (gint32)cell[0] + dx, (gint32)cell[1] + dy, (gint32)cell[2] + dz);
          if (voxel < 0)
            continue;
          if (neighbours == NDT_NEIGHBOURS_RADIUS) {
            const gint32 *c = level->voxels[voxel].cell;
            float square = 0;
            for (guint k = 0; k < 3; k++) {
              const double mean = level->details ? level->details[voxel].mean[k]
                                                 : (double)level->voxels[voxel].mean[k];
              const float d =
                  p[k] - (float)((double)(c[k] + level->origin[k]) * level->resolution + mean);
              square += d * d;
            }
            if (!(square < r * r))
              continue;
          }
          const NdtPair pair = {(guint32)i, (guint32)voxel};
          g_array_append_val (pairs, pair);
        }
  }
  return pairs;
}

void
ndt_reference_sums (const NdtVoxelMap *map, const GArray *pairs, const double *xyz,
    const double *arms, double outlier_ratio, NdtSums *sums)
{
  const NdtVoxelLevel *level = ndt_voxel_map_get_level (map, 0);
  const NdtGauss gauss = ndt_gauss (outlier_ratio, level->resolution);
  memset (sums, 0, sizeof (*sums));
  g_return_if_fail (level->details != NULL);

  for (guint i = 0; i < pairs->len;) {
    const guint32 point = g_array_index (pairs, NdtPair, i).point;
    NdtPairSums_d s = {0};
    double best = 0, gradient[6], hessian[21];
    for (; i < pairs->len && g_array_index (pairs, NdtPair, i).point == point; i++) {
      const guint32 voxel = g_array_index (pairs, NdtPair, i).voxel;
      double q[3];
      for (guint k = 0; k < 3; k++) {
        const double corner =
            (double)(level->voxels[voxel].cell[k] + level->origin[k]) * level->resolution;
        q[k] = xyz[3 * (gsize)point + k] - corner - level->details[voxel].mean[k];
      }
      const double term = ndt_pair_score_d (&s, q, level->details[voxel].icov, gauss.d1, gauss.d2);
      best = MAX (best, term);
      sums->n_pairs++;
    }
    ndt_point_derivatives_d (&s, arms + 3 * (gsize)point, 1, gradient, hessian);
    sums->score += s.s;
    for (guint k = 0; k < 6; k++)
      sums->gradient[k] += gradient[k];
    for (guint k = 0; k < 21; k++)
      sums->hessian[k] += hessian[k];
    sums->nvtl += best;
    sums->n_matched++;
  }
}
