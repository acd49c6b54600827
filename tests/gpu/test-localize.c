/* SPDX-License-Identifier: MIT */
/* ndtlocalize on a device: what an alignment costs there, and a device that fails in mid-stream. */
#include <gst/check/gstcheck.h>

#include <math.h>

#include "gst/ndt/gstndtlocalize.h"
#include "gpu-device.h"
#include "tests/ndt-harness.h"
#include "tests/ndt-wait.h"

#define N_SCANS 60
#define N_WARM 20

static void
setup (void)
{
  GST_ELEMENT_REGISTER (ndtlocalize, NULL);
}

/* NULL where there is no device. Scans go as they are: thinning would be launches of its own. */
static GstHarness *
device_harness (guint batch_size)
{
  g_autofree gchar *start = ndt_harness_pose (0), *name = NULL;
  GstHarness *h = ndt_harness_new (
      "initial-pose", start, "batch-size", batch_size, "scan-leaf-size", 0.0, NULL);
  g_object_get (h->element, "active-backend", &name, NULL);
  if (g_strcmp0 (name, "cuda") == 0)
    return h;
  g_print ("skipped: no CUDA device\n");
  ndt_harness_free (h);
  return NULL;
}

static GstBuffer *
scan_at (guint index)
{
  GstBuffer *scan = ndt_room_scan (index);
  GST_BUFFER_PTS (scan) = index * 100 * GST_MSECOND;
  GST_BUFFER_DURATION (scan) = 100 * GST_MSECOND;
  return scan;
}

/* A scan and a start go up, a launch, a synchronization, a result comes down, and the same for the
 * covariance; nothing else. */
GST_START_TEST (test_counters)
{
  static const gchar *names[] = {"backend-alignments", "backend-launches",
      "backend-synchronizations", "backend-downloads", "backend-allocations", "backend-uploads"};
  guint64 before[G_N_ELEMENTS (names)];
  GstHarness *h = device_harness (1);
  if (!h)
    return;
  for (guint i = 0; i < N_SCANS; i++) {
    gst_buffer_unref (ndt_harness_pass (h, scan_at (i)));
    for (guint k = 0; i == N_WARM && k < G_N_ELEMENTS (names); k++)
      before[k] = ndt_harness_count (h, names[k]);
  }
  /* Of these three launches, a synchronization and a result for the covariance. */
  static const guint each[] = {1, 4, 2, 2, 0, 2};
  for (guint k = 0; k < G_N_ELEMENTS (names); k++)
    fail_unless (ndt_harness_count (h, names[k]) - before[k] == each[k] * (N_SCANS - N_WARM - 1),
        "%s: %" G_GUINT64_FORMAT, names[k], ndt_harness_count (h, names[k]) - before[k]);
  ndt_harness_free (h);
}
GST_END_TEST

static gpointer
push_all (gpointer data)
{
  for (guint i = 0; i < N_SCANS; i++)
    gst_harness_push (data, scan_at (i));
  return NULL;
}

/* Each scan is localized, by the CPU from the failure on, and there is one warning. */
static void
fail_at (guint n, guint batch_size, NdtPose poses[N_SCANS])
{
  GstHarness *h = device_harness (batch_size);
  if (!h)
    return;
  g_autofree gchar *which = g_strdup_printf ("launch:%u", n);
  TEST_CUDA (FAIL, n > 0 ? which : NULL);
  GThread *thread = g_thread_new ("push", push_all, h);
  for (guint i = 0; i < N_SCANS; i++) {
    g_autoptr (GstBuffer) out = gst_harness_pull (h);
    fail_unless (out != NULL);
    fail_unless_equals_uint64 (GST_BUFFER_PTS (out), i * 100 * GST_MSECOND);
    fail_unless_equals_int (ndt_harness_estimate (out)->status, GST_POSE_STATUS_TRACKING);
    const NdtPose pose = ndt_harness_pose_of (out);
    if (n == 0)
      poses[i] = pose;
    for (guint k = 0; k < 3; k++)
      fail_unless (fabs (pose.position[k] - poses[i].position[k]) < 1e-4,
          "launch %u, scan %u: %g m", n, i, pose.position[k] - poses[i].position[k]);
  }
  g_thread_join (thread);
  TEST_CUDA (FAIL, NULL);
  fail_unless_equals_uint64 (ndt_harness_count (h, "fallbacks"), n > 0);
  if (n > 0) {
    g_autoptr (GError) warning = NULL;
    ndt_wait_for ((warning = ndt_harness_error (h->element, GST_MESSAGE_WARNING)));
    fail_unless (strstr (warning->message, "going on with the CPU"), "%s", warning->message);
  }
  ndt_harness_free (h);
}

GST_START_TEST (test_failures)
{
  NdtPose poses[N_SCANS];
  fail_at (0, 1, poses);
  for (guint batch_size = 1; batch_size <= 16; batch_size *= 4)
    for (guint n = 1; n <= 3; n++)
      fail_at (n, batch_size, poses);
}
GST_END_TEST

/* ---- A start without a pose ---- */

#define BACKEND_CUDA 1
#define BACKEND_CPU 2

/* @n: launch that fails; 0: none. */
static void
start_without_a_pose (gint backend, guint n, NdtHarnessStart *start)
{
  g_autofree gchar *which = g_strdup_printf ("launch:%u", n);
  GstHarness *h = ndt_harness_new ("backend", backend, "scan-leaf-size", 0.0, NULL);
  TEST_CUDA (FAIL, n > 0 ? which : NULL);
  ndt_harness_start (h, backend == BACKEND_CUDA && n == 0 ? "cuda" : "cpu",
      n > 0 ? "The search in the background goes on" : NULL, start);
  TEST_CUDA (FAIL, NULL);
}

/* The backends' alignments end within the same step, of 0.01 m and 0.001 rad. */
static void
assert_near (const NdtHarnessStart *a, const NdtHarnessStart *b, guint n)
{
  for (guint i = 0; i < NDT_HARNESS_N_START; i++) {
    double metres = 0, radians = 0;
    if (a->status[i] == GST_POSE_STATUS_TRACKING)
      ndt_pose_difference (&a->poses[i], &b->poses[i], &metres, &radians);
    fail_unless (a->status[i] == b->status[i] && metres < 0.01 && radians < 0.001,
        "launch %u, scan %u: %d and %d, %g m, %g rad", n, i, a->status[i], b->status[i], metres,
        radians);
  }
}

/* On the device as on the CPU: the same scans are the first ones that are tracking, in the same
 * place, and with the same bits each time; and so where it fails in the middle of the search. */
GST_START_TEST (test_start)
{
  NdtHarnessStart cpu, cuda, again;
  GstHarness *h = device_harness (1);
  if (!h)
    return;
  ndt_harness_free (h);
  start_without_a_pose (BACKEND_CPU, 0, &cpu);
  fail_unless_equals_int (cpu.status[3], GST_POSE_STATUS_TRACKING);
  start_without_a_pose (BACKEND_CUDA, 0, &cuda);
  assert_near (&cuda, &cpu, 0);
  for (guint i = 0; i < 3; i++) {
    start_without_a_pose (BACKEND_CUDA, 0, &again);
    fail_unless (memcmp (again.status, cuda.status, sizeof (cuda.status)) == 0);
    fail_unless (memcmp (again.poses, cuda.poses, sizeof (cuda.poses)) == 0);
  }
  for (guint n = 1; n <= 6; n++) {
    start_without_a_pose (BACKEND_CUDA, n, &again);
    assert_near (&again, &cpu, n);
  }
}
GST_END_TEST

static Suite *
localize_suite (void)
{
  Suite *s = suite_create ("localize");
  TCase *tc = tcase_create ("device");
  suite_add_tcase (s, tc);
  tcase_set_timeout (tc, 300);
  tcase_add_unchecked_fixture (tc, setup, NULL);
  tcase_add_test (tc, test_counters);
  tcase_add_test (tc, test_failures);
  tcase_add_test (tc, test_start);
  return s;
}

GST_CHECK_MAIN (localize);
