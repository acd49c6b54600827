/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/gst.h>

#include "gst/ndt/settings/gstndtsettings.h"
#include "ndtcore/registration/ndt-distortion.h"
#include "ndtcore/track/ndt-localizer.h"

G_BEGIN_DECLS

/* Why a running alignment is to return; any of them cancels. */
typedef enum {
  GST_NDT_CANCEL_FLUSH = 1 << 0,      /* somebody wants the task's thread */
  GST_NDT_CANCEL_DOWNSTREAM = 1 << 1, /* nobody takes the results */
} GstNdtCancel;

/**
 * GstNdtEngine:
 *
 * A backend with its map and localizer, which goes on with the CPU when a device fails. Calls
 * come from one thread at a time, but for gst_ndt_engine_cancel(),
 * gst_ndt_engine_alloc_host() and those that get something.
 */
typedef struct _GstNdtEngine GstNdtEngine;

/* As gst_ndt_backend_open(). */
GstNdtEngine *gst_ndt_engine_open (
    GstNdtBackend choice, const NdtBackendConfig *config, GError **reason, GError **error);
void gst_ndt_engine_close (GstNdtEngine *engine);
/* Of the searches of its localizer, on whatever backend. */
void gst_ndt_engine_set_progress (
    GstNdtEngine *engine, NdtSearchProgress progress, gpointer user_data);
const gchar *gst_ndt_engine_get_name (GstNdtEngine *engine);
/* Of the backend on which the next search in the background begins. */
const gchar *gst_ndt_engine_get_search_name (GstNdtEngine *engine);
void gst_ndt_engine_get_counters (GstNdtEngine *engine, NdtBackendCounters *counters);
/* Memory that uploads fast, and how to free it; NULL where there is none to give. Any thread. */
gpointer gst_ndt_engine_alloc_host (
    GstNdtEngine *engine, gsize size, void (**free_host) (gpointer memory, gsize size));
gboolean gst_ndt_engine_has_host_memory (GstNdtEngine *engine);
/* Sticky until taken back. */
void gst_ndt_engine_cancel (GstNdtEngine *engine, GstNdtCancel cancel, gboolean on);

/* From the next scan on. Takes a reference. A device that cannot hold it is given up. */
gboolean gst_ndt_engine_set_map (GstNdtEngine *engine, NdtVoxelMap *map, GError **error);
/* Poses, averages and parameters as if new. */
void gst_ndt_engine_reset (GstNdtEngine *engine);
gboolean gst_ndt_engine_set_params (
    GstNdtEngine *engine, const NdtLocalizerParams *params, GError **error);
/* After another map; not after other tiles of one. */
void gst_ndt_engine_forget_map (GstNdtEngine *engine);
void gst_ndt_engine_set_initial_pose (GstNdtEngine *engine, const NdtPose *pose);

/* As ndt_localizer_set_live(). */
void gst_ndt_engine_set_live (GstNdtEngine *engine, gboolean is_live);
/* As ndt_localizer_predict(). */
NdtPrediction gst_ndt_engine_predict (
    GstNdtEngine *engine, const NdtObservation *observation, NdtPose *pose);
/* As ndt_localizer_process_batch(): when the device fails, what it has not delivered is done
 * on the CPU. @n_done, whatever is returned: results that were delivered. */
gboolean gst_ndt_engine_process (GstNdtEngine *engine, const NdtObservation *observations,
    guint n_observations, NdtLocalizationFunc func, gpointer user_data, guint *n_done,
    GError **error);
/* As ndt_distortion_measure(), between two scans. FALSE where the backend cannot say it: an error
 * of the device is left to the next scan. */
gboolean gst_ndt_engine_measure_distortion (GstNdtEngine *engine, const NdtLocalizerParams *params,
    const NdtCloudView *points, const NdtTimeView *times, const NdtScanMotion *motion,
    const NdtPose *sensor, NdtDistortion *out);
/* Why the engine has left its device since the last call. (transfer full) (nullable) */
GError *gst_ndt_engine_take_failure (GstNdtEngine *engine);
/* The same of its searches in the background. */
GError *gst_ndt_engine_take_search_failure (GstNdtEngine *engine);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstNdtEngine, gst_ndt_engine_close)

G_END_DECLS
