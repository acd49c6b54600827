/* SPDX-License-Identifier: MIT */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstndtbackend.h"

#ifdef HAVE_NDT_CUDA
#include "cuda/ndt-cuda.h"
GstNdtDeviceOpen gst_ndt_device_open = ndt_cuda_backend_open;
#else
GstNdtDeviceOpen gst_ndt_device_open = NULL;
#endif

/* Plugins that link this file have a copy each, and the type is registered by the one whose class
 * is initialized first. Classes are initialized one at a time. */
static GType
get_enum (const gchar *name, const GEnumValue *values)
{
  const GType type = g_type_from_name (name);
  return type ? type : g_enum_register_static (name, values);
}

GType
gst_ndt_backend_get_type (void)
{
  static const GEnumValue values[] = {
      {GST_NDT_BACKEND_AUTO, "CUDA where a device works, CPU otherwise", "auto"},
      {GST_NDT_BACKEND_CUDA, "CUDA, or an error", "cuda"}, {GST_NDT_BACKEND_CPU, "CPU", "cpu"},
      {0, NULL, NULL}};
  return get_enum ("GstNdtBackend", values);
}

GType
gst_ndt_device_priority_get_type (void)
{
  static const GEnumValue values[] = {
      {NDT_DEVICE_PRIORITY_HIGH,
          "Before work of lower priority that waits; what runs is not interrupted", "high"},
      {NDT_DEVICE_PRIORITY_NORMAL, "That of work without a priority", "normal"}, {0, NULL, NULL}};
  return get_enum ("GstNdtDevicePriority", values);
}

static NdtBackend *
open_device (const NdtBackendConfig *config, GError **error)
{
  if (!gst_ndt_device_open) {
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_NO_DEVICE, "this build has no CUDA backend");
    return NULL;
  }
  return gst_ndt_device_open (config, error);
}

NdtBackend *
gst_ndt_backend_open (GstNdtBackend choice, const NdtBackendConfig *config, gboolean *on_device,
    GError **reason, GError **error)
{
  g_autoptr (GError) failure = NULL;
  NdtBackend *backend = choice == GST_NDT_BACKEND_CPU ? NULL : open_device (config, &failure);

  *on_device = backend != NULL;
  if (backend)
    return backend;
  if (choice == GST_NDT_BACKEND_CUDA) {
    g_propagate_error (error, g_steal_pointer (&failure));
    return NULL;
  }
  if (reason)
    *reason = g_steal_pointer (&failure);
  return ndt_backend_open_cpu (config, error);
}

void
gst_ndt_backend_post_error (GstElement *element, const gchar *what, const GError *error)
{
  GstResourceError code = GST_RESOURCE_ERROR_FAILED;
  if (error->domain == GST_RESOURCE_ERROR) {
    code = (GstResourceError)error->code;
  } else if (error->domain == NDT_ERROR) {
    switch ((NdtError)error->code) {
    case NDT_ERROR_INVALID_ARGUMENT:
      code = GST_RESOURCE_ERROR_SETTINGS;
      break;
    case NDT_ERROR_IO:
      code = GST_RESOURCE_ERROR_OPEN_READ;
      break;
    case NDT_ERROR_FORMAT:
    case NDT_ERROR_EMPTY_MAP:
      code = GST_RESOURCE_ERROR_READ;
      break;
    case NDT_ERROR_NO_DEVICE:
      code = GST_RESOURCE_ERROR_NOT_FOUND;
      break;
    case NDT_ERROR_NO_MEMORY:
      code = GST_RESOURCE_ERROR_NO_SPACE_LEFT;
      break;
    default:
      break;
    }
  }
  gst_element_message_full (element, GST_MESSAGE_ERROR, GST_RESOURCE_ERROR, code,
      g_strdup_printf ("%s: %s.", what, error->message), NULL, __FILE__, GST_FUNCTION, __LINE__);
}

void
gst_ndt_backend_tell_reason (GstElement *element, GstDebugCategory *category, const GError *reason)
{
  if (g_error_matches (reason, NDT_ERROR, NDT_ERROR_NO_DEVICE))
    GST_CAT_INFO_OBJECT (category, element, "aligning on the CPU: %s", reason->message);
  else
    GST_ELEMENT_WARNING (element, RESOURCE, OPEN_READ_WRITE,
        ("The CUDA device does not work, aligning on the CPU: %s.", reason->message), (NULL));
}

void
gst_ndt_backend_tell_search_failure (GstElement *element, const GError *failure)
{
  GST_ELEMENT_WARNING (element, RESOURCE, FAILED,
      ("The search in the background goes on with the CPU, without the device: %s.",
          failure->message),
      (NULL));
}

void
gst_ndt_backend_tell_failure (GstElement *element, const GError *failure)
{
  GST_ELEMENT_WARNING (element, RESOURCE, FAILED,
      ("The device failed, going on with the CPU: %s.", failure->message), (NULL));
}

GstDebugLevel
gst_ndt_backend_get_debug_level (NdtLogLevel level)
{
  static const GstDebugLevel levels[] = {
      [NDT_LOG_NONE] = GST_LEVEL_NONE,
      [NDT_LOG_ERROR] = GST_LEVEL_ERROR,
      [NDT_LOG_WARNING] = GST_LEVEL_WARNING,
      [NDT_LOG_INFO] = GST_LEVEL_INFO,
      [NDT_LOG_DEBUG] = GST_LEVEL_DEBUG,
      [NDT_LOG_TRACE] = GST_LEVEL_LOG,
  };
  return levels[level];
}

NdtLogLevel
gst_ndt_backend_get_log_level (GstDebugCategory *category)
{
  const GstDebugLevel threshold = gst_debug_category_get_threshold (category);
  NdtLogLevel level = NDT_LOG_TRACE;

  while (level > NDT_LOG_NONE && gst_ndt_backend_get_debug_level (level) > threshold)
    level--;
  return level;
}
