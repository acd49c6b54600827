/* SPDX-License-Identifier: MIT */
/* Which of the variants of a kernel runs that are compiled for several instruction sets. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef enum {
  NDT_INSTRUCTIONS_GENERIC,
  NDT_INSTRUCTIONS_AVX2,
  NDT_INSTRUCTIONS_AVX512
} NdtInstructions;

/* The widest set of this processor, or the one that the environment variable NDT_KERNEL (generic,
 * avx2, avx512) names, where the processor has it. */
NdtInstructions ndt_instructions_choose (void);

G_END_DECLS
