/* SPDX-License-Identifier: MIT */
/* Order, origin and sums of a map's cells, the same in every map builder (CPU, CUDA). Compile
 * without contraction, so that both give the same bits. */
#pragma once

#include "ndt-types.h"

/* Origins of maps are multiples of this many cells at the finest level: that is 4 cells two levels
 * up, so that blocks of all levels align. Cell indices relative to the origin are below 2^21, so
 * that the range above a map's least cell is shorter by this many cells. */
#define NDT_ORIGIN_STEP 16

/* Sort key of a cell whose indices from the level's origin are in [0, 2^21): block (z, y, x), then
 * bit. */
NDT_INLINE uint64_t
ndt_cell_order (const int32_t c[3])
{
  return ((uint64_t)(c[2] >> 2) << 38 | (uint64_t)(c[1] >> 2) << 19 | (uint64_t)(c[0] >> 2)) << 6 |
         (uint64_t)ndt_block_bit (c[0], c[1], c[2]);
}

NDT_INLINE void
ndt_cell_from_order (uint64_t order, int32_t c[3])
{
  const int32_t bit = (int32_t)(order & 63);
  const uint64_t block = order >> 6;
  c[0] = (int32_t)(block & 0x7ffff) << 2 | (bit & 3);
  c[1] = (int32_t)(block >> 19 & 0x7ffff) << 2 | (bit >> 2 & 3);
  c[2] = (int32_t)(block >> 38 & 0x7ffff) << 2 | (bit >> 4 & 3);
}

/* Sums of one cell's points. Coordinates are relative to the cell's corner: far from the map's
 * origin the differences of large sums would cancel. */
typedef struct {
  double n;
  double s[3];
  double ss[6];
} NdtCellSums;

/* Adds sums of a cell whose corner is at @o, metres, from the other's corner. */
NDT_INLINE void
ndt_cell_sums_add (NdtCellSums *to, const NdtCellSums *from, const double o[3])
{
  const double n = from->n;
  const double *s = from->s;
  to->n += n;
  for (int i = 0; i < 3; i++)
    to->s[i] += s[i] + n * o[i];
  to->ss[0] += from->ss[0] + 2 * o[0] * s[0] + n * o[0] * o[0];
  to->ss[1] += from->ss[1] + o[0] * s[1] + o[1] * s[0] + n * o[0] * o[1];
  to->ss[2] += from->ss[2] + o[0] * s[2] + o[2] * s[0] + n * o[0] * o[2];
  to->ss[3] += from->ss[3] + 2 * o[1] * s[1] + n * o[1] * o[1];
  to->ss[4] += from->ss[4] + o[1] * s[2] + o[2] * s[1] + n * o[1] * o[2];
  to->ss[5] += from->ss[5] + 2 * o[2] * s[2] + n * o[2] * o[2];
}
