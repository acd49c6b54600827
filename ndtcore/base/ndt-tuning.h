/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#define NDT_POSE_STEP_LIMIT 50.0
#define NDT_TRAJECTORY_MAX_SIZE (UINT64_C (1) << 32)
#define NDT_METADATA_MAX_SIZE (UINT64_C (1) << 26)
#define NDT_METADATA_MAX_DEPTH 16
