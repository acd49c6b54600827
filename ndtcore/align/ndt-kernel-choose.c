/* SPDX-License-Identifier: MIT */
#include "ndt-kernel.h"

NdtKernel
ndt_kernel_choose (const gchar **name)
{
  const gchar *wish = g_getenv ("NDT_KERNEL");
#ifdef NDT_HAVE_X86_KERNELS
  const gboolean avx2 = __builtin_cpu_supports ("avx2") && __builtin_cpu_supports ("fma");
  const gboolean avx512 =
      avx2 && __builtin_cpu_supports ("avx512f") && __builtin_cpu_supports ("avx512dq") &&
      __builtin_cpu_supports ("avx512bw") && __builtin_cpu_supports ("avx512vl");
  if (avx512 && (!wish || g_str_equal (wish, "avx512"))) {
    *name = "avx512";
    return ndt_kernel_avx512;
  }
  if (avx2 && (!wish || !g_str_equal (wish, "generic"))) {
    *name = "avx2";
    return ndt_kernel_avx2;
  }
#else
  (void)wish;
#endif
  *name = "generic";
  return ndt_kernel_generic;
}
