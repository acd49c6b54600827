/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndtcore/ndt-backend.h"

G_BEGIN_DECLS

/**
 * ndt_cuda_backend_open:
 * @config: device_id names a CUDA device; n_threads is not used
 *
 * Opens a backend with a stream, buffers and a map of its own on a CUDA device; several may share
 * one. Takes some 300 MB of device memory for CUDA itself when it is the process's first.
 *
 * For tests, the environment variable NDT_CUDA_SHAPE = "cluster:SIZE:THREADS[:SLOTS]" or
 * "grid:SIZE:THREADS[:SLOTS]" fixes how alignments are spread over the device (the results are
 * the same, to the bit), NDT_CUDA_REUSE how far a point may move, in cells, before the voxels near
 * it are looked up again (default 0.125, 0: always, at most 0.25), NDT_CUDA_LANES = 1, 2 or 4
 * how many lanes work on a point (which does change the last bits), and NDT_CUDA_FAIL = "alloc:N"
 * makes the N-th allocation after the start of the process fail, "launch:N" the N-th launch.
 *
 * Returns: NULL with %NDT_ERROR_NO_DEVICE, %NDT_ERROR_NO_MEMORY or %NDT_ERROR_INVALID_ARGUMENT
 */
__attribute__ ((visibility ("default"))) NdtBackend *ndt_cuda_backend_open (
    const NdtBackendConfig *config, GError **error);

G_END_DECLS
