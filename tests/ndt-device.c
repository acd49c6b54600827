/* SPDX-License-Identifier: MIT */
#include "ndt-device.h"

#include <string.h>

#include "ndt-wait.h"

typedef struct {
  NdtBackend parent;
  NdtBackend *cpu;
} Device;

NdtDevice ndt_device;

static gboolean
device_set_map (NdtBackend *backend, NdtVoxelMap *map, GError **error)
{
  if (g_atomic_int_get (&ndt_device.fails_map)) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_NO_MEMORY, "the map does not fit");
    return FALSE;
  }
  return ndt_backend_set_map (((Device *)backend)->cpu, map, error);
}

static gboolean
device_set_scan (NdtBackend *backend, guint slot, const NdtCloudView *points,
    const NdtScanFilter *filter, GError **error)
{
  return ndt_backend_set_scan (((Device *)backend)->cpu, slot, points, filter, error);
}

static gboolean
device_get_scan (
    NdtBackend *backend, guint slot, float *xyz, guint max_points, guint *n_points, GError **error)
{
  return ndt_backend_get_scan (((Device *)backend)->cpu, slot, xyz, max_points, n_points, error);
}

static gboolean
is_held (gint number)
{
  const gint holds_at = g_atomic_int_get (&ndt_device.holds_at);
  return holds_at > 0 && number >= holds_at;
}

static gboolean
device_align (NdtBackend *backend, guint slot, const NdtAlignParams *params, const NdtStart *starts,
    guint n_starts, NdtAlignResult *results, GError **error)
{
  const gint number = g_atomic_int_add (&ndt_device.n_aligned, 1) + 1;
  const gint fails_at = g_atomic_int_get (&ndt_device.fails_at);

  g_atomic_int_inc (&ndt_device.n_waiting);
  for (gint i = 0; i < g_atomic_int_get (&ndt_device.delay_ms) || is_held (number); i++) {
    if (g_atomic_int_get (&ndt_device.cancelled))
      break;
    g_usleep (1000);
  }
  g_atomic_int_add (&ndt_device.n_waiting, -1);
  if (g_atomic_int_get (&ndt_device.cancelled)) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_CANCELLED, "cancelled");
    return FALSE;
  }
  if (fails_at > 0 && number >= fails_at) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_DEVICE, "the device is lost");
    return FALSE;
  }
  return ndt_backend_align (
      ((Device *)backend)->cpu, slot, params, starts, n_starts, results, error);
}

static gboolean
device_evaluate (NdtBackend *backend, guint slot, const NdtAlignParams *params, guint level,
    NdtKind kind, const NdtPose *poses, guint n_poses, NdtSums *sums, GError **error)
{
  return ndt_backend_evaluate (
      ((Device *)backend)->cpu, slot, params, level, kind, poses, n_poses, sums, error);
}

static void
device_get_counters (NdtBackend *backend, NdtBackendCounters *counters)
{
  ndt_backend_get_counters (((Device *)backend)->cpu, counters);
}

/* ---- In the background: another CPU backend, with failures ---- */

static gboolean
fails_search (NdtDeviceSearch how)
{
  return g_atomic_int_get (&ndt_device.fails_search) == (gint)how;
}

static gboolean
search_set_map (NdtBackend *backend, NdtVoxelMap *map, GError **error)
{
  if (!fails_search (NDT_DEVICE_SEARCH_NO_MAP))
    return ndt_backend_set_map (((Device *)backend)->cpu, map, error);
  g_set_error (error, NDT_ERROR, NDT_ERROR_NO_MEMORY, "the map does not fit beside the stream");
  return FALSE;
}

static gboolean
search_align (NdtBackend *backend, guint slot, const NdtAlignParams *params, const NdtStart *starts,
    guint n_starts, NdtAlignResult *results, GError **error)
{
  const gint number = g_atomic_int_add (&ndt_device.n_search_calls, 1) + 1;
  if (!fails_search (NDT_DEVICE_SEARCH_NO_ALIGNMENT) ||
      number < g_atomic_int_get (&ndt_device.fails_search_at))
    return ndt_backend_align (
        ((Device *)backend)->cpu, slot, params, starts, n_starts, results, error);
  g_set_error (error, NDT_ERROR, NDT_ERROR_DEVICE, "the device is lost in the background");
  return FALSE;
}

static void
search_cancel (NdtBackend *backend, gboolean cancelled)
{
  ndt_backend_cancel (((Device *)backend)->cpu, cancelled);
}

static void
search_close (NdtBackend *backend)
{
  g_atomic_int_add (&ndt_device.n_searching, -1);
  ndt_backend_close (((Device *)backend)->cpu);
  g_free (backend);
}

static NdtBackend *
device_open_background (NdtBackend *backend, GError **error)
{
  static const NdtBackendClass search_class = {
      .name = "device",
      .set_map = search_set_map,
      .set_scan = device_set_scan,
      .get_scan = device_get_scan,
      .align = search_align,
      .evaluate = device_evaluate,
      .get_counters = device_get_counters,
      .cancel = search_cancel,
      .close = search_close,
  };
  NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  if (fails_search (NDT_DEVICE_SEARCH_NOT_OPENED)) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_NO_MEMORY, "no memory beside the stream");
    return NULL;
  }
  Device *self = g_new0 (Device, 1);
  config.n_threads = 1;
  self->parent.klass = &search_class;
  self->parent.n_threads = 1;
  self->cpu = ndt_backend_open_cpu (&config, error);
  g_atomic_int_inc (&ndt_device.n_searches);
  g_atomic_int_inc (&ndt_device.n_searching);
  return &self->parent;
}

/* ---- The stream's ---- */

static gpointer
device_alloc_host (NdtBackend *backend, gsize size)
{
  if (g_atomic_int_add (&ndt_device.n_host, -1) > 0)
    return g_malloc (size);
  g_atomic_int_inc (&ndt_device.n_host);
  return NULL;
}

static void
device_free_host (gpointer memory, gsize size)
{
  g_atomic_int_inc (&ndt_device.n_host);
  g_free (memory);
}

static void
device_cancel (NdtBackend *backend, gboolean cancelled)
{
  g_atomic_int_set (&ndt_device.cancelled, cancelled);
  ndt_backend_cancel (((Device *)backend)->cpu, cancelled);
}

static void
device_close (NdtBackend *backend)
{
  ndt_backend_close (((Device *)backend)->cpu);
  g_free (backend);
}

static const NdtBackendClass device_class = {
    .name = "device",
    .set_map = device_set_map,
    .set_scan = device_set_scan,
    .get_scan = device_get_scan,
    .align = device_align,
    .evaluate = device_evaluate,
    .open_background = device_open_background,
    .alloc_host = device_alloc_host,
    .free_host = device_free_host,
    .get_counters = device_get_counters,
    .cancel = device_cancel,
    .close = device_close,
};

NdtBackend *
ndt_device_open (const NdtBackendConfig *config, GError **error)
{
  Device *self = g_new0 (Device, 1);
  self->parent.klass = &device_class;
  self->cpu = ndt_backend_open_cpu (config, error);
  return &self->parent;
}

void
ndt_device_install (void)
{
  memset (&ndt_device, 0, sizeof ndt_device);
  gst_ndt_device_open = ndt_device_open;
}

void
ndt_device_hold (void)
{
  g_atomic_int_set (&ndt_device.holds_at, g_atomic_int_get (&ndt_device.n_aligned) + 1);
}

void
ndt_device_release (void)
{
  g_atomic_int_set (&ndt_device.holds_at, 0);
}

void
ndt_device_wait (void)
{
  ndt_wait_for (g_atomic_int_get (&ndt_device.n_waiting) > 0);
}
