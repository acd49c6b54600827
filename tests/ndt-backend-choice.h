/* SPDX-License-Identifier: MIT */
/* What elements with a property backend choose, whatever device there is. */
#pragma once

#include <gst/check/gstcheck.h>

#include <string.h>

#include "tests/ndt-device.h"
#include "tests/ndt-harness.h"

static inline void
ndt_assert_backend (GstElement *element, const gchar *expected)
{
  g_autofree gchar *name = NULL;
  g_object_get (element, "active-backend", &name, NULL);
  fail_unless_equals_string (name, expected);
}

static inline NdtBackend *
ndt_no_device (const NdtBackendConfig *config, GError **error)
{
  g_set_error (error, NDT_ERROR, NDT_ERROR_NO_DEVICE, "no CUDA device: driver 12.4, 0 devices");
  return NULL;
}

static inline NdtBackend *
ndt_broken_device (const NdtBackendConfig *config, GError **error)
{
  g_set_error (error, NDT_ERROR, NDT_ERROR_DEVICE, "ECC error");
  return NULL;
}

/* An element that @open opens a device for, in @state, where it has a backend. @active: which. */
static inline void
ndt_try_backend (const gchar *factory, GstState state, GstNdtDeviceOpen open, const gchar *backend,
    const gchar *active, GError **warning, GError **error)
{
  GstElement *element = gst_element_factory_make (factory, NULL);
  g_autoptr (GstBus) bus = gst_bus_new ();

  gst_ndt_device_open = open;
  gst_element_set_bus (element, bus);
  gst_util_set_object_arg (G_OBJECT (element), "backend", backend);
  fail_unless_equals_int (gst_element_set_state (element, state),
      active ? GST_STATE_CHANGE_SUCCESS : GST_STATE_CHANGE_FAILURE);
  ndt_assert_backend (element, active);
  *warning = ndt_harness_error (element, GST_MESSAGE_WARNING);
  *error = ndt_harness_error (element, GST_MESSAGE_ERROR);
  ndt_harness_drop_messages (element);
  gst_element_set_state (element, GST_STATE_NULL);
  ndt_assert_backend (element, NULL);
  ndt_harness_drop_messages (element);
  gst_element_set_bus (element, NULL);
  gst_object_unref (element);
}

static inline void
ndt_check_backend_choice (const gchar *factory, GstState state)
{
  /* Without a device the CPU is no warning; with one that does not work it is. */
  static const struct {
    GstNdtDeviceOpen open;
    const gchar *backend;
    const gchar *active;
    const gchar *warning;
    const gchar *error;
  } cases[] = {
      {ndt_device_open, "auto", "device", NULL, NULL},
      {ndt_device_open, "cpu", "cpu", NULL, NULL},
      {ndt_no_device, "auto", "cpu", NULL, NULL},
      {NULL, "auto", "cpu", NULL, NULL},
      {ndt_broken_device, "auto", "cpu", "ECC error", NULL},
      {ndt_no_device, "cuda", NULL, NULL, "0 devices"},
      {NULL, "cuda", NULL, NULL, "no CUDA backend"},
      {ndt_broken_device, "cuda", NULL, NULL, "ECC error"},
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) warning = NULL;
    g_autoptr (GError) error = NULL;
    ndt_try_backend (
        factory, state, cases[i].open, cases[i].backend, cases[i].active, &warning, &error);
    fail_unless (!warning == !cases[i].warning && !error == !cases[i].error, "case %u", i);
    fail_unless (!warning || strstr (warning->message, cases[i].warning), "case %u", i);
    fail_unless (!error || strstr (error->message, cases[i].error), "case %u: %s", i,
        error ? error->message : "");
    fail_unless (!error || cases[i].open == ndt_broken_device ||
                     g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND),
        "case %u", i);
  }
}
