/* SPDX-License-Identifier: MIT */
/* Inputs of the benchmarks: maps, scans, and starts with their true poses. */
#pragma once

#include <glib.h>

#include "ndtcore/math/ndt-pose.h"

/* Packed float x, y, z. */
typedef struct {
  float *xyz;
  gsize n;
} BenchCloud;

typedef struct {
  guint scan; /* index into scans */
  NdtPose guess;
  NdtPose truth;
} BenchStart;

typedef struct {
  gchar *name;
  double resolution; /* of the map, metres */
  gboolean far;      /* starts outside the score's basin: within ±2 m and ±10° */
  BenchCloud map;
  BenchCloud *scans;
  guint n_scans;
  BenchStart *starts;
  guint n_starts;
} BenchCase;

/* All cases, or the one called @name, with at most @max_starts starts each, evenly chosen. Empty
 * where there is no such case or no data. The array owns its elements. */
GPtrArray *bench_cases_load (const gchar *name, guint max_starts);
