/* SPDX-License-Identifier: MIT */
/* lidarodometry's choice of what aligns, and a device that fails. */
#include <gst/check/gstcheck.h>

#include <string.h>

#include "gst/odometry/gstlidarodometry.h"
#include "tests/ndt-device.h"
#include "tests/ndt-harness.h"

#define N_SCANS 12
/* Cells and leaves for the room, whose scans have 700 points. */
#define LINE "lidarodometry resolution=2 leaf-size=0.05 min-range=0.1 "

static void
setup (void)
{
  ndt_device_install ();
  GST_ELEMENT_REGISTER (lidarodometry, NULL);
}

static NdtBackend *
no_device (const NdtBackendConfig *config, GError **error)
{
  g_set_error (error, NDT_ERROR, NDT_ERROR_NO_DEVICE, "no CUDA device: driver 12.4, 0 devices");
  return NULL;
}

static NdtBackend *
broken_device (const NdtBackendConfig *config, GError **error)
{
  g_set_error (error, NDT_ERROR, NDT_ERROR_DEVICE, "ECC error");
  return NULL;
}

static void
assert_backend (GstElement *element, const gchar *expected)
{
  g_autofree gchar *name = NULL;
  g_object_get (element, "active-backend", &name, NULL);
  fail_unless_equals_string (name, expected);
}

static void
try_backend (GstNdtDeviceOpen open, const gchar *backend, GstStateChangeReturn expected,
    const gchar *active, GError **warning, GError **error)
{
  GstElement *element = gst_element_factory_make ("lidarodometry", NULL);
  g_autoptr (GstBus) bus = gst_bus_new ();

  gst_ndt_device_open = open;
  gst_element_set_bus (element, bus);
  gst_util_set_object_arg (G_OBJECT (element), "backend", backend);
  fail_unless_equals_int (gst_element_set_state (element, GST_STATE_PAUSED), expected);
  assert_backend (element, active);
  *warning = ndt_harness_error (element, GST_MESSAGE_WARNING);
  *error = ndt_harness_error (element, GST_MESSAGE_ERROR);
  ndt_harness_drop_messages (element);
  gst_element_set_state (element, GST_STATE_NULL);
  assert_backend (element, NULL);
  ndt_harness_drop_messages (element);
  gst_element_set_bus (element, NULL);
  gst_object_unref (element);
}

GST_START_TEST (test_choice_of_backend)
{
  GError *warning, *error;

  try_backend (ndt_device_open, "auto", GST_STATE_CHANGE_SUCCESS, "device", &warning, &error);
  fail_if (warning || error);
  try_backend (ndt_device_open, "cpu", GST_STATE_CHANGE_SUCCESS, "cpu", &warning, &error);
  fail_if (warning || error);
  /* Without a device the CPU is no warning; with one that does not work it is. */
  try_backend (no_device, "auto", GST_STATE_CHANGE_SUCCESS, "cpu", &warning, &error);
  fail_if (warning || error);
  try_backend (NULL, "auto", GST_STATE_CHANGE_SUCCESS, "cpu", &warning, &error);
  fail_if (warning || error);
  try_backend (broken_device, "auto", GST_STATE_CHANGE_SUCCESS, "cpu", &warning, &error);
  fail_unless (warning && strstr (warning->message, "ECC error") && !error);
  g_clear_error (&warning);

  try_backend (no_device, "cuda", GST_STATE_CHANGE_FAILURE, NULL, &warning, &error);
  fail_unless (g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND));
  fail_unless (strstr (error->message, "0 devices") != NULL);
  g_clear_error (&error);
  try_backend (NULL, "cuda", GST_STATE_CHANGE_FAILURE, NULL, &warning, &error);
  fail_unless (g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND));
  fail_unless (strstr (error->message, "no CUDA backend") != NULL);
  g_clear_error (&error);
}
GST_END_TEST

/* The room's scans through the element. @active: the backend at the end. Returns the warnings. */
static guint
pass_scans (const gchar *backend, const gchar *active, NdtPose poses[N_SCANS])
{
  g_autofree gchar *line = g_strdup_printf (LINE "backend=%s", backend);
  GstHarness *h = gst_harness_new_parse (line);
  GstElement *element = gst_harness_find_element (h, "lidarodometry");
  g_autoptr (GstBus) bus = gst_bus_new ();

  gst_element_set_bus (element, bus);
  gst_harness_set_src_caps_str (h, NDT_ROOM_CAPS);
  for (guint i = 0; i < N_SCANS; i++) {
    GstBuffer *scan = ndt_room_scan (i);
    GST_BUFFER_PTS (scan) = i * GST_SECOND / 10;
    fail_unless_equals_int (gst_harness_push (h, scan), GST_FLOW_OK);
    g_autoptr (GstBuffer) out = gst_harness_pull (h);
    const GstPoseMeta *meta = gst_buffer_get_pose_meta (out, GST_POSE_ROLE_ODOMETRY);
    fail_unless (meta != NULL);
    fail_unless_equals_int (meta->status, GST_POSE_STATUS_TRACKING);
    memcpy (poses[i].position, meta->position, sizeof poses[i].position);
    memcpy (poses[i].orientation, meta->orientation, sizeof poses[i].orientation);
  }
  assert_backend (element, active);
  const guint n = ndt_harness_count_messages (bus, GST_MESSAGE_WARNING, "going on with the CPU");
  gst_element_set_bus (element, NULL);
  gst_object_unref (element);
  gst_harness_teardown (h);
  return n;
}

/* A device that fails at any alignment: no scan is lost, and poses are those of the CPU. */
GST_START_TEST (test_failing_device)
{
  NdtPose expected[N_SCANS], poses[N_SCANS];

  fail_unless_equals_int (pass_scans ("cpu", "cpu", expected), 0);
  fail_unless_equals_int (pass_scans ("cuda", "device", poses), 0);
  fail_unless (memcmp (poses, expected, sizeof poses) == 0);
  for (gint at = 1; at <= N_SCANS - 1; at += 2) {
    ndt_device_install ();
    g_atomic_int_set (&ndt_device.fails_at, at);
    fail_unless_equals_int (pass_scans ("auto", "cpu", poses), 1);
    fail_unless (memcmp (poses, expected, sizeof poses) == 0);
  }
}
GST_END_TEST

/* A device that cannot hold the first map is not begun with. */
GST_START_TEST (test_map_does_not_fit)
{
  g_atomic_int_set (&ndt_device.fails_map, TRUE);
  GError *warning, *error;
  try_backend (ndt_device_open, "auto", GST_STATE_CHANGE_SUCCESS, "cpu", &warning, &error);
  fail_unless (warning && strstr (warning->message, "does not fit") && !error);
  g_clear_error (&warning);
}
GST_END_TEST

static Suite *
lidarodometry_backend_suite (void)
{
  Suite *suite = suite_create ("lidarodometry-backend");
  TCase *test_case = tcase_create ("general");
  suite_add_tcase (suite, test_case);
  tcase_add_checked_fixture (test_case, setup, NULL);
  tcase_add_test (test_case, test_choice_of_backend);
  tcase_add_test (test_case, test_failing_device);
  tcase_add_test (test_case, test_map_does_not_fit);
  return suite;
}

GST_CHECK_MAIN (lidarodometry_backend)
