/* SPDX-License-Identifier: MIT */
/* Both backends, for tests that compare them. */
#pragma once

#include "ndtcore/align/ndt-backend.h"

#ifdef HAVE_NDT_CUDA
#include "cuda/device/ndt-cuda-testing.h"
#include "cuda/ndt-cuda.h"
#define TEST_CUDA(what, value) ndt_cuda_testing_set (NDT_CUDA_TESTING_##what, value)
#else
#define TEST_CUDA(what, value) (void)(value)
#endif

static inline NdtBackend *
open_cpu (void)
{
  const NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  g_autoptr (GError) error = NULL;
  NdtBackend *backend = ndt_backend_open_cpu (&config, &error);
  g_assert_no_error (error);
  return backend;
}

/* NULL: the test is skipped. */
static inline NdtBackend *
open_cuda_config (const NdtBackendConfig *config)
{
#ifdef HAVE_NDT_CUDA
  g_autoptr (GError) error = NULL;
  NdtBackend *backend = ndt_cuda_backend_open (config, &error);
  if (!backend)
    g_test_skip (error->message);
  return backend;
#else
  g_test_skip ("built without CUDA");
  return NULL;
#endif
}

static inline NdtBackend *
open_cuda (guint64 budget)
{
  NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  config.memory_budget = budget;
  return open_cuda_config (&config);
}
