/* SPDX-License-Identifier: MIT */
/* Record of kernel-record for each chunk, followed by the voxels and blocks of the level. */
#pragma once

#include "ndtcore/align/ndt-kernel.h"

/* Pointers in @level and @args are undefined. */
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
