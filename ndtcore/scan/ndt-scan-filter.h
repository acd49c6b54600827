/* SPDX-License-Identifier: MIT */
/* Thinning of a scan, with the same bits in every backend: which points are used, and the centroid
 * of a leaf from integer sums, which do not depend on the order of additions. */
#pragma once

#include <math.h>
#include <stdint.h>

#include "ndtcore/base/ndt-tuning.h"
#include "ndtcore/math/ndt-types.h"

/* Returns 1 where a point is used. x, y, z in the sensor frame; ranges and box as in NdtScanFilter.
 */
NDT_INLINE int
ndt_scan_keep (float x, float y, float z, float min_range, float max_range, int use_box,
    const float box_min[3], const float box_max[3])
{
  /* False for NaN and infinities. */
  if (!(fabsf (x) <= NDT_SCAN_LIMIT && fabsf (y) <= NDT_SCAN_LIMIT && fabsf (z) <= NDT_SCAN_LIMIT))
    return 0;
  const float range2 = fmaf (x, x, fmaf (y, y, z * z));
  if (range2 < min_range * min_range)
    return 0;
  if (max_range > 0 && range2 > max_range * max_range)
    return 0;
  if (use_box && !(x >= box_min[0] && x <= box_max[0] && y >= box_min[1] && y <= box_max[1] &&
                     z >= box_min[2] && z <= box_max[2]))
    return 0;
  return 1;
}

/* Leaf index of a coordinate; inverse_leaf is 1 / leaf_size in float. */
NDT_INLINE int32_t
ndt_leaf_index (float p, float inverse_leaf)
{
  return (int32_t)floorf (p * inverse_leaf);
}

/* Returns 1 where a leaf index is in the range of ndt_block_key(). */
NDT_INLINE int
ndt_leaf_in_range (int32_t index)
{
  return index >= -NDT_KEY_LIMIT && index < NDT_KEY_LIMIT;
}

/* Position within the leaf in NDT_LEAF_STEPS; may lie outside [0, NDT_LEAF_STEPS] by rounding. */
NDT_INLINE int32_t
ndt_leaf_offset (float p, int32_t index, float leaf_size, float inverse_leaf)
{
  return (int32_t)rintf (fmaf (-(float)index, leaf_size, p) * inverse_leaf * NDT_LEAF_STEPS);
}

/* Centroid of a leaf from the sum of its points' offsets. */
NDT_INLINE float
ndt_leaf_centroid (int64_t offset_sum, uint32_t n_points, int32_t index, float leaf_size)
{
  const float mean = (float)((double)offset_sum / (double)n_points) / NDT_LEAF_STEPS;
  return fmaf ((float)index, leaf_size, mean * leaf_size);
}
