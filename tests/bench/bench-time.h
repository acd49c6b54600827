/* SPDX-License-Identifier: MIT */
/* The clock of the benchmarks of CUDA, and what they say of many times. */
#pragma once

#include <glib.h>
#include <stdlib.h>
#include <time.h>

/* Microseconds since some instant, by a clock that is never set. */
static inline double
bench_now_us (void)
{
  struct timespec t;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static inline int
bench_compare (const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

/* @p: 0 to 1. Sorts @values; @n: at least 1. */
static inline double
bench_percentile (double *values, guint n, double p)
{
  qsort (values, n, sizeof (double), bench_compare);
  return values[MIN (n - 1, (guint)(p * n))];
}
