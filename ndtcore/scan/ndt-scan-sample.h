/* SPDX-License-Identifier: MIT */
/* A sample of a scan, for a search that aligns it many times, as rules that every backend follows
 * to the bit: the first point of each cube, and of these as many as there should be, spread over
 * their order. A scan of few points is its own sample. */
#pragma once

#include <stdint.h>

#include "ndtcore/base/ndt-tuning.h"
#include "ndtcore/math/ndt-types.h"

/* Of a scan of @n_points, more than NDT_SAMPLE_LEAST. */
NDT_INLINE uint32_t
ndt_sample_most (uint32_t n_points)
{
  const uint32_t n = 2 * n_points / 5;
  return n < NDT_SAMPLE_LEAST ? NDT_SAMPLE_LEAST : n > NDT_SAMPLE_MOST ? NDT_SAMPLE_MOST : n;
}

/* The index that the sample's @i-th point has among the first points of the cubes, one of each of
 * @most parts of equal length, @step. Scans have a period, of as many points as the sensor has
 * rings, say; multiples of the golden ratio have none. */
NDT_INLINE uint32_t
ndt_sample_from (uint32_t i, double step)
{
  const double fraction = (uint32_t)(i * UINT32_C (2654435769)) / 4294967296.0;
  return (uint32_t)((i + fraction) * step);
}
