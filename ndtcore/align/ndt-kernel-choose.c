/* SPDX-License-Identifier: MIT */
#include "ndt-kernel.h"
#include "ndt-scan-kernel.h"

typedef enum { SET_GENERIC, SET_AVX2, SET_AVX512 } Set;

static Set
choose (void)
{
  const gchar *wish = g_getenv ("NDT_KERNEL");
#ifdef NDT_HAVE_X86_KERNELS
  const gboolean avx2 = __builtin_cpu_supports ("avx2") && __builtin_cpu_supports ("fma");
  const gboolean avx512 =
      avx2 && __builtin_cpu_supports ("avx512f") && __builtin_cpu_supports ("avx512dq") &&
      __builtin_cpu_supports ("avx512bw") && __builtin_cpu_supports ("avx512vl");
  if (avx512 && (!wish || g_str_equal (wish, "avx512")))
    return SET_AVX512;
  if (avx2 && (!wish || !g_str_equal (wish, "generic")))
    return SET_AVX2;
#else
  (void)wish;
#endif
  return SET_GENERIC;
}

NdtKernel
ndt_kernel_choose (const gchar **name)
{
  switch (choose ()) {
#ifdef NDT_HAVE_X86_KERNELS
  case SET_AVX512:
    *name = "avx512";
    return ndt_kernel_avx512;
  case SET_AVX2:
    *name = "avx2";
    return ndt_kernel_avx2;
#endif
  default:
    *name = "generic";
    return ndt_kernel_generic;
  }
}

const NdtScanKernel *
ndt_scan_kernel_choose (void)
{
  switch (choose ()) {
#ifdef NDT_HAVE_X86_KERNELS
  case SET_AVX512:
    return &ndt_scan_kernel_avx512;
  case SET_AVX2:
    return &ndt_scan_kernel_avx2;
#endif
  default:
    return &ndt_scan_kernel_generic;
  }
}
