/* SPDX-License-Identifier: MIT */
#pragma once

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A kernel that occupies a device as a matrix multiplication does: @n_blocks blocks of @ns
 * nanoseconds with @shared_size bytes of shared memory each. @out: device memory, a float. */
cudaError_t bench_shared_load (
    uint32_t n_blocks, uint32_t ns, uint32_t shared_size, float *out, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
