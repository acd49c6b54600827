/* SPDX-License-Identifier: MIT */
/* lidarodometry's choice of what aligns, and a device that fails. */
#include <gst/check/gstcheck.h>

#include <string.h>

#include "gst/odometry/gstlidarodometry.h"
#include "tests/ndt-backend-choice.h"

#define N_SCANS 12
/* Cells and leaves for the room, whose scans have 700 points. */
#define LINE "lidarodometry resolution=2 leaf-size=0.05 min-range=0.1 "

static void
setup (void)
{
  ndt_device_install ();
  GST_ELEMENT_REGISTER (lidarodometry, NULL);
}

GST_START_TEST (test_choice_of_backend)
{
  ndt_check_backend_choice ("lidarodometry", GST_STATE_PAUSED);
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
  ndt_assert_backend (element, active);
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
  ndt_try_backend (
      "lidarodometry", GST_STATE_PAUSED, ndt_device_open, "auto", "cpu", &warning, &error);
  fail_unless (warning && strstr (warning->message, "does not fit") && !error);
  g_clear_error (&warning);
}
GST_END_TEST

static NdtBackend *
talking_device (const NdtBackendConfig *config, GError **error)
{
  ndt_log (config->log, NDT_LOG_WARNING, "cuda", "page-locked memory instead");
  return ndt_device_open (config, error);
}

static void
count_warning (GstDebugCategory *category, GstDebugLevel level, const gchar *file,
    const gchar *function, gint line, GObject *object, GstDebugMessage *message, gpointer user_data)
{
  if (level == GST_LEVEL_WARNING &&
      g_str_equal (gst_debug_category_get_name (category), "lidarodometry") &&
      strstr (gst_debug_message_get (message), "page-locked"))
    ++*(guint *)user_data;
}

/* What the backend says is in the element's category. */
GST_START_TEST (test_log)
{
  GError *warning, *error;
  guint n = 0;
  gst_debug_add_log_function (count_warning, &n, NULL);
  gst_debug_set_threshold_for_name ("lidarodometry", GST_LEVEL_WARNING);
  ndt_try_backend (
      "lidarodometry", GST_STATE_PAUSED, talking_device, "auto", "device", &warning, &error);
  gst_debug_unset_threshold_for_name ("lidarodometry");
  gst_debug_remove_log_function (count_warning);
  fail_if (warning || error);
  fail_unless_equals_int (n, 1);
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
  tcase_add_test (test_case, test_log);
  tcase_add_test (test_case, test_failing_device);
  tcase_add_test (test_case, test_map_does_not_fit);
  return suite;
}

GST_CHECK_MAIN (lidarodometry_backend)
