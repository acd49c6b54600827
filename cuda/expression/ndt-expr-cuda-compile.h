/* SPDX-License-Identifier: MIT */
/* CUDA source to code of a device, by NVRTC, which is opened when it is first needed. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* A header of the project's that sources include; name 0: the end. */
typedef struct {
  const char *name;
  const char *text;
} NdtExprCudaHeader;

extern const NdtExprCudaHeader ndt_expr_cuda_headers[];

/**
 * ndt_expr_cuda_compile:
 * @source: as of ndt_expr_cuda_source()
 * @architecture: of the device: 10 × major + minor of its compute capability
 *
 * Opens libnvrtc.so, of CUDA 13, 12 or 11, by the loader's path or in /usr/local/cuda. Nothing of
 * CUDA is linked.
 *
 * Returns: (transfer full) (nullable): a cubin; NULL with %NDT_ERROR_NO_DEVICE where there is no
 *   NVRTC, %NDT_ERROR_FAILED with the compiler's words where it does not compile
 */
GBytes *ndt_expr_cuda_compile (const gchar *source, guint architecture, GError **error);

G_END_DECLS
