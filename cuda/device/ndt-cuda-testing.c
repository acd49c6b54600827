/* SPDX-License-Identifier: MIT */
#include "ndt-cuda-testing.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

static const gchar *testing[NDT_CUDA_TESTING_LIMITS + 1]; /* atomic, of interned strings */
static gint n_calls; /* atomic; calls since a failure was requested */

static NdtCudaWatch launch_watch; /* atomic, and written after its data */
static gpointer watch_data;

void
ndt_cuda_testing_watch (NdtCudaWatch watch, gpointer user_data)
{
  watch_data = user_data;
  __atomic_store_n (&launch_watch, watch, __ATOMIC_RELEASE);
}

void
ndt_cuda_tell (NdtCudaMoment moment, guint n_blocks)
{
  const NdtCudaWatch watch = __atomic_load_n (&launch_watch, __ATOMIC_ACQUIRE);
  if (watch)
    watch (moment, n_blocks, watch_data);
}

void
ndt_cuda_testing_set (NdtCudaTesting what, const gchar *value)
{
  if (what == NDT_CUDA_TESTING_FAIL)
    g_atomic_int_set (&n_calls, 0);
  g_atomic_pointer_set (&testing[what], (gpointer)g_intern_string (value));
}

const gchar *
ndt_cuda_testing_get (NdtCudaTesting what)
{
  return g_atomic_pointer_get (&testing[what]);
}

guint64
ndt_cuda_testing_get_free_memory (void)
{
  size_t n_free = 0, n_all = 0;
  return cudaMemGetInfo (&n_free, &n_all) == cudaSuccess ? n_free : 0;
}

gboolean
ndt_cuda_inject_failure (const gchar *kind)
{
  const gchar *wish = ndt_cuda_testing_get (NDT_CUDA_TESTING_FAIL);
  const gsize length = strlen (kind);
  return wish && strncmp (wish, kind, length) == 0 && wish[length] == ':' &&
         g_atomic_int_add (&n_calls, 1) + 1 == atoi (wish + length + 1);
}
