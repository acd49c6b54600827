/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndtcore/align/ndt-backend.h"

G_BEGIN_DECLS

/**
 * ndt_cuda_backend_open:
 * @config: device_id names a CUDA device; n_threads is not used
 *
 * Opens a backend with a stream, buffers and a map of its own on a CUDA device; several may share
 * one. The first one of a process takes about 300 MB of device memory for CUDA's context.
 *
 * Returns: NULL with %NDT_ERROR_NO_DEVICE, %NDT_ERROR_NO_MEMORY or %NDT_ERROR_INVALID_ARGUMENT
 */
__attribute__ ((visibility ("default"))) NdtBackend *ndt_cuda_backend_open (
    const NdtBackendConfig *config, GError **error);

G_END_DECLS
