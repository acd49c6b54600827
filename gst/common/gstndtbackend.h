/* SPDX-License-Identifier: MIT */
/* The choice of what aligns, of elements that align. */
#pragma once

#include <gst/gst.h>

#include "ndtcore/align/ndt-backend.h"

G_BEGIN_DECLS

typedef enum {
  GST_NDT_BACKEND_AUTO,
  GST_NDT_BACKEND_CUDA,
  GST_NDT_BACKEND_CPU,
} GstNdtBackend;

/* Enumerations of the properties "backend" (GstNdtBackend) and "device-priority"
 * (NdtDevicePriority). For class_init. */
#define GST_TYPE_NDT_BACKEND (gst_ndt_backend_get_type ())
GType gst_ndt_backend_get_type (void);
#define GST_TYPE_NDT_DEVICE_PRIORITY (gst_ndt_device_priority_get_type ())
GType gst_ndt_device_priority_get_type (void);

/* Opens the device backend: the CUDA backend, where it is built, NULL otherwise. A variable
 * so that tests can put a device there that fails. */
typedef NdtBackend *(*GstNdtDeviceOpen) (const NdtBackendConfig *config, GError **error);
extern GstNdtDeviceOpen gst_ndt_device_open;

/* Errors: NDT_ERROR_NO_DEVICE and others of the device for "cuda". With "auto", @reason
 * (nullable) receives why the CPU was taken, NULL if it was not. @on_device: (out). */
NdtBackend *gst_ndt_backend_open (GstNdtBackend choice, const NdtBackendConfig *config,
    gboolean *on_device, GError **reason, GError **error);

/* With the code of GST_RESOURCE_ERROR that fits: "@what: message." */
void gst_ndt_backend_post_error (GstElement *element, const gchar *what, const GError *error);
/* Why "auto" took the CPU: a warning, but where there is just no device. */
void gst_ndt_backend_tell_reason (
    GstElement *element, GstDebugCategory *category, const GError *reason);
/* That searches in the background left the device of the element. */
void gst_ndt_backend_tell_search_failure (GstElement *element, const GError *failure);
/* That the element left its device. */
void gst_ndt_backend_tell_failure (GstElement *element, const GError *failure);

/* ndtcore's levels are GStreamer's but for FIXME, and its last is of each scan. */
GstDebugLevel gst_ndt_backend_get_debug_level (NdtLogLevel level);
/* The last level that a category shows. */
NdtLogLevel gst_ndt_backend_get_log_level (GstDebugCategory *category);

G_END_DECLS
