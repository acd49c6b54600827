/* SPDX-License-Identifier: MIT */
/* What is aligned: maps, scans and starts with the true poses. */
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

/* Every case, or the one that is called @name; not more than max_starts starts each, spread over
 * all of them. Empty where there is no such case or no data. Elements are freed with the array. */
GPtrArray *bench_cases_load (const gchar *name, guint max_starts);
