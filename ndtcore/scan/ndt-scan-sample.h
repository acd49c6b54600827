/* SPDX-License-Identifier: MIT */
/* A sample of a scan for a search, which aligns it many times; the same points in every backend:
 * the first point of each cube, and of these the given number, spread over their order. A scan of
 * at most NDT_SAMPLE_LEAST points is its own sample. */
#pragma once

#include <stdint.h>

#include "ndtcore/base/ndt-tuning.h"
#include "ndtcore/math/ndt-types.h"

/* Points of the sample of a scan of @n_points, which is more than NDT_SAMPLE_LEAST. */
NDT_INLINE uint32_t
ndt_sample_most (uint32_t n_points)
{
  const uint32_t n = 2 * n_points / 5;
  return n < NDT_SAMPLE_LEAST ? NDT_SAMPLE_LEAST : n > NDT_SAMPLE_MOST ? NDT_SAMPLE_MOST : n;
}

/* Index of the sample's @i-th point among the first points of the cubes: one in each of @most parts
 * of equal length @step. Its position within a part is a multiple of the golden ratio, since scans
 * have periods (the number of rings) that a constant step could coincide with. */
NDT_INLINE uint32_t
ndt_sample_from (uint32_t i, double step)
{
  const double fraction = (uint32_t)(i * UINT32_C (2654435769)) / 4294967296.0;
  return (uint32_t)((i + fraction) * step);
}
