/* SPDX-License-Identifier: MIT */
#include "ndt-kernel.h"
#include "ndt-scan-kernel.h"
#include "ndtcore/base/ndt-instructions.h"

NdtKernel
ndt_kernel_choose (const gchar **name)
{
  switch (ndt_instructions_choose ()) {
#ifdef NDT_HAVE_X86_KERNELS
  case NDT_INSTRUCTIONS_AVX512:
    *name = "avx512";
    return ndt_kernel_avx512;
  case NDT_INSTRUCTIONS_AVX2:
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
  switch (ndt_instructions_choose ()) {
#ifdef NDT_HAVE_X86_KERNELS
  case NDT_INSTRUCTIONS_AVX512:
    return &ndt_scan_kernel_avx512;
  case NDT_INSTRUCTIONS_AVX2:
    return &ndt_scan_kernel_avx2;
#endif
  default:
    return &ndt_scan_kernel_generic;
  }
}
