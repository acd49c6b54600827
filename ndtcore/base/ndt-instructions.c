/* SPDX-License-Identifier: MIT */
#include "ndt-instructions.h"

NdtInstructions
ndt_instructions_choose (void)
{
#ifdef NDT_HAVE_X86_KERNELS
  const gchar *wish = g_getenv ("NDT_KERNEL");
  const gboolean avx2 = __builtin_cpu_supports ("avx2") && __builtin_cpu_supports ("fma");
  const gboolean avx512 =
      avx2 && __builtin_cpu_supports ("avx512f") && __builtin_cpu_supports ("avx512dq") &&
      __builtin_cpu_supports ("avx512bw") && __builtin_cpu_supports ("avx512vl");
  if (avx512 && (!wish || g_str_equal (wish, "avx512")))
    return NDT_INSTRUCTIONS_AVX512;
  if (avx2 && (!wish || !g_str_equal (wish, "generic")))
    return NDT_INSTRUCTIONS_AVX2;
#endif
  return NDT_INSTRUCTIONS_GENERIC;
}
