/* SPDX-License-Identifier: MIT */
/* What kernel-record writes for each chunk, voxels and blocks of the level after it. */
#pragma once

#include "ndtcore/align/ndt-kernel.h"

/* Pointers in @level and @args are none. */
typedef struct {
  NdtVoxelLevel level;
  guint64 n_blocks;
  NdtKernelArgs args;
  guint n;
  float x[NDT_CHUNK];
  float y[NDT_CHUNK];
  float z[NDT_CHUNK];
  NdtSums sums;
} KernelRecord;
