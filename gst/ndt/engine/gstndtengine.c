/* SPDX-License-Identifier: MIT */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstndtengine.h"
#include "ndtcore/track/ndt-localizer-step.h"

GST_DEBUG_CATEGORY_EXTERN (gst_ndt_localize_debug);

struct _GstNdtEngine {
  NdtBackendConfig config;
  NdtLocalizer *localizer;
  NdtVoxelMap *map;
  gboolean on_device;
  GError *failure;
  NdtSearchProgress progress;
  gpointer progress_data;

  GMutex closing; /* held where a backend is closed, and where one must not be */
  GMutex lock;    /* of the two below */
  NdtBackend *backend;
  guint cancel;
};

GstNdtEngine *
gst_ndt_engine_open (
    GstNdtBackend choice, const NdtBackendConfig *config, GError **reason, GError **error)
{
  gboolean on_device;
  NdtBackend *backend = gst_ndt_backend_open (choice, config, &on_device, reason, error);
  if (!backend)
    return NULL;

  GstNdtEngine *engine = g_new0 (GstNdtEngine, 1);
  g_mutex_init (&engine->closing);
  g_mutex_init (&engine->lock);
  engine->config = *config;
  engine->backend = backend;
  engine->on_device = on_device;
  engine->localizer = ndt_localizer_new (backend);
  return engine;
}

void
gst_ndt_engine_set_progress (GstNdtEngine *engine, NdtSearchProgress progress, gpointer user_data)
{
  engine->progress = progress;
  engine->progress_data = user_data;
  ndt_backend_set_progress (engine->backend, progress, user_data);
}

void
gst_ndt_engine_close (GstNdtEngine *engine)
{
  ndt_localizer_free (engine->localizer);
  ndt_backend_close (engine->backend);
  g_clear_pointer (&engine->map, ndt_voxel_map_unref);
  g_clear_error (&engine->failure);
  g_mutex_clear (&engine->lock);
  g_mutex_clear (&engine->closing);
  g_free (engine);
}

const gchar *
gst_ndt_engine_get_name (GstNdtEngine *engine)
{
  g_mutex_lock (&engine->lock);
  const gchar *name = ndt_backend_get_name (engine->backend);
  g_mutex_unlock (&engine->lock);
  return name;
}

const gchar *
gst_ndt_engine_get_search_name (GstNdtEngine *engine)
{
  return ndt_localizer_searches_on_device (engine->localizer) ? gst_ndt_engine_get_name (engine)
                                                              : "cpu";
}

void
gst_ndt_engine_get_counters (GstNdtEngine *engine, NdtBackendCounters *counters)
{
  g_mutex_lock (&engine->lock);
  ndt_backend_get_counters (engine->backend, counters);
  g_mutex_unlock (&engine->lock);
}

static NdtBackend *
get_backend (GstNdtEngine *engine)
{
  g_mutex_lock (&engine->lock);
  NdtBackend *backend = engine->backend;
  g_mutex_unlock (&engine->lock);
  return backend;
}

gpointer
gst_ndt_engine_alloc_host (
    GstNdtEngine *engine, gsize size, void (**free_host) (gpointer memory, gsize size))
{
  /* Locking pages takes long: not with the lock that cancelling needs. */
  g_mutex_lock (&engine->closing);
  NdtBackend *backend = get_backend (engine);
  gpointer memory = ndt_backend_alloc_host (backend, size);
  *free_host = backend->klass->free_host;
  g_mutex_unlock (&engine->closing);
  return memory;
}

gboolean
gst_ndt_engine_has_host_memory (GstNdtEngine *engine)
{
  g_mutex_lock (&engine->lock);
  const gboolean has = engine->backend->klass->alloc_host != NULL;
  g_mutex_unlock (&engine->lock);
  return has;
}

void
gst_ndt_engine_cancel (GstNdtEngine *engine, GstNdtCancel cancel, gboolean on)
{
  g_mutex_lock (&engine->lock);
  if (on)
    engine->cancel |= cancel;
  else
    engine->cancel &= ~(guint)cancel;
  ndt_backend_cancel (engine->backend, engine->cancel != 0);
  ndt_localizer_cancel (engine->localizer, engine->cancel != 0);
  g_mutex_unlock (&engine->lock);
}

/* For good. Takes @failure. */
static gboolean
fall_back (GstNdtEngine *engine, GError *failure, GError **error)
{
  g_clear_error (&engine->failure);
  engine->failure = failure;

  g_autoptr (NdtBackend) cpu = ndt_backend_open_cpu (&engine->config, error);
  if (!cpu || (engine->map && !ndt_backend_set_map (cpu, engine->map, error)))
    return FALSE;
  ndt_localizer_set_backend (engine->localizer, cpu);

  g_mutex_lock (&engine->lock);
  NdtBackend *device = engine->backend;
  engine->backend = g_steal_pointer (&cpu);
  ndt_backend_set_progress (engine->backend, engine->progress, engine->progress_data);
  ndt_backend_cancel (engine->backend, engine->cancel != 0);
  g_mutex_unlock (&engine->lock);

  g_mutex_lock (&engine->closing);
  ndt_backend_close (device);
  g_mutex_unlock (&engine->closing);
  engine->on_device = FALSE;
  return TRUE;
}

gboolean
gst_ndt_engine_set_map (GstNdtEngine *engine, NdtVoxelMap *map, GError **error)
{
  GError *failure = NULL;
  NdtVoxelMap *previous = engine->map;

  if (ndt_backend_set_map (engine->backend, map, &failure)) {
    engine->map = ndt_voxel_map_ref (map);
  } else if (engine->on_device && ndt_backend_is_failure (failure)) {
    engine->map = ndt_voxel_map_ref (map);
    if (!fall_back (engine, failure, error)) {
      ndt_voxel_map_unref (map);
      engine->map = previous;
      return FALSE;
    }
  } else {
    g_propagate_error (error, failure);
    return FALSE;
  }
  g_clear_pointer (&previous, ndt_voxel_map_unref);
  return TRUE;
}

void
gst_ndt_engine_reset (GstNdtEngine *engine)
{
  ndt_localizer_reset (engine->localizer);
}

void
gst_ndt_engine_forget_map (GstNdtEngine *engine)
{
  ndt_localizer_forget_map (engine->localizer);
}

gboolean
gst_ndt_engine_set_params (GstNdtEngine *engine, const NdtLocalizerParams *params, GError **error)
{
  return ndt_localizer_set_params (engine->localizer, params, error);
}

void
gst_ndt_engine_set_initial_pose (GstNdtEngine *engine, const NdtPose *pose)
{
  ndt_localizer_set_initial_pose (engine->localizer, pose);
}

void
gst_ndt_engine_set_live (GstNdtEngine *engine, gboolean is_live)
{
  ndt_localizer_set_live (engine->localizer, is_live);
}

NdtPrediction
gst_ndt_engine_predict (GstNdtEngine *engine, const NdtObservation *observation, NdtPose *pose)
{
  return ndt_localizer_predict (engine->localizer, observation, pose);
}

typedef struct {
  NdtLocalizationFunc func;
  gpointer user_data;
  guint n_done;
} Delivery;

static void
deliver (guint index, const NdtLocalization *localization, gpointer user_data)
{
  Delivery *delivery = user_data;
  delivery->func (delivery->n_done++, localization, delivery->user_data);
}

gboolean
gst_ndt_engine_process (GstNdtEngine *engine, const NdtObservation *observations,
    guint n_observations, NdtLocalizationFunc func, gpointer user_data, guint *n_done,
    GError **error)
{
  Delivery delivery = {func, user_data, 0};
  gboolean ok = TRUE;

  while (ok && delivery.n_done < n_observations) {
    GError *failure = NULL;
    if (ndt_localizer_process_batch (engine->localizer, observations + delivery.n_done,
            n_observations - delivery.n_done, deliver, &delivery, &failure))
      break;
    if (engine->on_device && ndt_backend_is_failure (failure)) {
      ok = fall_back (engine, failure, error);
    } else {
      g_propagate_error (error, failure);
      ok = FALSE;
    }
  }
  *n_done = delivery.n_done;
  return ok;
}

gboolean
gst_ndt_engine_measure_distortion (GstNdtEngine *engine, const NdtLocalizerParams *params,
    const NdtCloudView *points, const NdtTimeView *times, const NdtScanMotion *motion,
    const NdtPose *sensor, NdtDistortion *out)
{
  g_autoptr (GError) error = NULL;
  /* With the leaf size that scans are aligned with. */
  const NdtScanFilter filter = ndt_localizer_get_filter (engine->localizer);
  if (ndt_distortion_measure (engine->backend, &params->registration, &filter, points, times,
          motion, sensor, out, &error))
    return TRUE;
  GST_CAT_WARNING (gst_ndt_localize_debug, "a scan could not be measured: %s", error->message);
  return FALSE;
}

GError *
gst_ndt_engine_take_failure (GstNdtEngine *engine)
{
  return g_steal_pointer (&engine->failure);
}

GError *
gst_ndt_engine_take_search_failure (GstNdtEngine *engine)
{
  return ndt_localizer_take_search_failure (engine->localizer);
}
