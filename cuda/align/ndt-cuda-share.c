/* SPDX-License-Identifier: MIT */
/* Backends of one device side by side. */
#include "ndt-cuda-private.h"
#include "ndtcore/base/ndt-tuning.h"

static GMutex share_lock;
static GSList *sharing; /* of NdtCudaBackend */

void
ndt_cuda_share_join (NdtCudaBackend *cuda)
{
  g_mutex_lock (&share_lock);
  sharing = g_slist_prepend (sharing, cuda);
  g_mutex_unlock (&share_lock);
}

void
ndt_cuda_share_leave (NdtCudaBackend *cuda)
{
  g_mutex_lock (&share_lock);
  sharing = g_slist_remove (sharing, cuda);
  g_mutex_unlock (&share_lock);
}

/* @times: of equal shares; 0: not shared with others that are not in the background */
static guint
get_share (const NdtCudaBackend *cuda, guint times)
{
  const gint64 now = g_get_monotonic_time ();
  const guint n_processors = (guint)cuda->limits.n_processors;
  guint n = 1, n_background = 1, occupied = 0;
  g_mutex_lock (&share_lock);
  for (const GSList *l = sharing; l; l = l->next) {
    const NdtCudaBackend *other = l->data;
    if (other == cuda || other->device != cuda->device)
      continue;
    if (other->is_background) {
      n_background++;
      occupied += (guint)g_atomic_int_get (&other->occupied);
    } else {
      n += now - __atomic_load_n (&other->began_at, __ATOMIC_RELAXED) < NDT_CUDA_AT_WORK;
    }
  }
  g_mutex_unlock (&share_lock);
  if (cuda->is_background)
    return MAX (n_processors / 2 / n_background, 1);
  /* More than half are occupied where a launch began before others were in the background, and by
   * the least grids of many: then a small part of the device, for which it has to wait. */
  const guint left = n_processors - MIN (occupied, n_processors - MAX (n_processors / 8, 1));
  return times > 0 ? MIN (times * n_processors / n, left) : left;
}

guint
ndt_cuda_share_get (const NdtCudaBackend *cuda, guint times)
{
  return get_share (cuda, times);
}

guint
ndt_cuda_share_get_left (const NdtCudaBackend *cuda)
{
  return get_share (cuda, 0);
}

void
ndt_cuda_share_begin (NdtCudaBackend *cuda, guint n_blocks)
{
  __atomic_store_n (&cuda->began_at, g_get_monotonic_time (), __ATOMIC_RELAXED);
  if (cuda->is_background)
    g_atomic_int_set (&cuda->occupied, (gint)n_blocks);
}

void
ndt_cuda_share_end (NdtCudaBackend *cuda)
{
  g_atomic_int_set (&cuda->occupied, 0);
}
