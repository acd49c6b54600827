/* SPDX-License-Identifier: MIT */
/* ndtlocalize's pose-file: the last good pose of a run is where the next one starts. */
#include <gst/check/gstcheck.h>

#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ndtcore/posefile/ndt-last-pose.h"
#include "tests/ndt-harness.h"

static gchar *folder, *path;

static void
set_up (void)
{
  folder = g_dir_make_tmp ("ndt-pose-file-XXXXXX", NULL);
  path = g_build_filename (folder, "last", NULL);
}

static void
tear_down (void)
{
  g_unlink (path);
  g_rmdir (folder);
  g_clear_pointer (&path, g_free);
  g_clear_pointer (&folder, g_free);
}

static NdtLastPose
read_last (void)
{
  NdtLastPose last;
  g_autoptr (GError) error = NULL;
  fail_unless (ndt_last_pose_read (path, &last, &error), "%s", error ? error->message : "");
  return last;
}

static void
assert_at (const NdtPose *pose, guint index)
{
  NdtPose truth;
  double metres;
  ndt_room_pose (index, &truth);
  ndt_pose_difference (pose, &truth, &metres, NULL);
  fail_unless (metres < 0.1, "%g m", metres);
}

/* Ends with the file written. */
static void
drive (guint n)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h =
      ndt_harness_new ("resolution", 1.0, "initial-pose", start, "pose-file", path, NULL);
  for (guint i = 0; i < n; i++)
    fail_unless_equals_int (
        ndt_harness_pass_status (h, ndt_room_scan (i)), GST_POSE_STATUS_TRACKING);
  ndt_harness_free (h);
}

static GstMessage *
take_warning (GstHarness *h, const gchar *part)
{
  g_autoptr (GError) error = NULL;
  GstMessage *message = ndt_harness_message (h->element, GST_MESSAGE_WARNING, NULL);
  fail_unless (message != NULL, "no warning that has “%s”", part);
  gst_message_parse_warning (message, &error, NULL);
  fail_unless (
      strstr (error->message, part) && strstr (error->message, "pose-file"), "%s", error->message);
  return message;
}

/* The pose at the end is in the file, with its covariance, and the next run tracks from its first
 * scan, with map-search off: nothing else tells it where it is. */
GST_START_TEST (test_next_run)
{
  drive (8);
  const NdtLastPose last = read_last ();
  assert_at (&last.pose, 7);
  for (guint i = 0; i < 6; i++)
    fail_unless (last.covariance[7 * i] > 0);

  for (guint with = 0; with < 2; with++) {
    GstHarness *h = ndt_harness_new (
        "resolution", 1.0, "map-search", FALSE, "pose-file", with ? path : "", NULL);
    fail_unless_equals_int (
        ndt_harness_pass_status (h, ndt_room_scan (8)) == GST_POSE_STATUS_TRACKING, with);
    ndt_harness_free (h);
  }
}
GST_END_TEST

/* Once a second of the stream, whatever the number of scans, and at its end. */
GST_START_TEST (test_interval)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  GstHarness *h =
      ndt_harness_new ("resolution", 1.0, "initial-pose", start, "pose-file", path, NULL);
  for (guint i = 0; i < 9; i++)
    gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (i)));
  /* Only the first one is due: written by another thread. */
  for (guint i = 0; i < 500 && !g_file_test (path, G_FILE_TEST_EXISTS); i++)
    g_usleep (10000);
  const NdtLastPose first = read_last ();
  assert_at (&first.pose, 0);
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  GstEvent *event;
  while ((event = gst_harness_pull_event (h)) && GST_EVENT_TYPE (event) != GST_EVENT_EOS)
    gst_event_unref (event);
  gst_event_unref (event);
  const NdtLastPose last = read_last ();
  assert_at (&last.pose, 8);
  ndt_harness_free (h);
}
GST_END_TEST

/* It has to fit as an initial pose has to: one of elsewhere does not. */
GST_START_TEST (test_elsewhere)
{
  drive (3);
  NdtLastPose last = read_last ();
  last.pose.position[0] += 30;
  fail_unless (ndt_last_pose_write (path, &last, NULL));
  GstHarness *h = ndt_harness_new ("resolution", 1.0, "map-search", FALSE, "pose-file", path, NULL);
  for (guint i = 0; i < 3; i++)
    fail_if (ndt_harness_pass_status (h, ndt_room_scan (i)) == GST_POSE_STATUS_TRACKING);
  ndt_harness_free (h);
  /* No good pose: the file stays as it was. */
  const NdtLastPose after = read_last ();
  fail_unless (memcmp (&after, &last, sizeof last) == 0);
}
GST_END_TEST

/* Said and not used: of another map, of another resolution, foreign content, cut content. */
GST_START_TEST (test_refused)
{
  static const gchar *const words[] = {"another map", "another map", "not used", "not used"};
  for (guint i = 0; i < G_N_ELEMENTS (words); i++) {
    drive (3);
    NdtLastPose last = read_last ();
    g_autofree gchar *text = NULL;
    gsize size;
    last.map ^= i == 0;
    fail_unless (ndt_last_pose_write (path, &last, NULL));
    fail_unless (g_file_get_contents (path, &text, &size, NULL));
    if (i == 2)
      fail_unless (g_file_set_contents (path, "\0a picture", 10, NULL));
    if (i == 3)
      fail_unless (g_file_set_contents (path, text, (gssize)size - 5, NULL));
    GstHarness *h = ndt_harness_new (
        "resolution", i == 1 ? 2.0 : 1.0, "map-search", FALSE, "pose-file", path, NULL);
    fail_if (ndt_harness_pass_status (h, ndt_room_scan (0)) == GST_POSE_STATUS_TRACKING);
    gst_message_unref (take_warning (h, words[i]));
    ndt_harness_free (h);
  }
}
GST_END_TEST

/* A folder that is not there. */
GST_START_TEST (test_unwritable)
{
  g_autofree gchar *start = ndt_harness_pose (0);
  g_autofree gchar *nowhere = g_build_filename (folder, "no", "such", "folder", NULL);
  GstHarness *h =
      ndt_harness_new ("resolution", 1.0, "initial-pose", start, "pose-file", nowhere, NULL);
  for (guint i = 0; i < 3; i++)
    fail_unless_equals_int (
        ndt_harness_pass_status (h, ndt_room_scan (i)), GST_POSE_STATUS_TRACKING);
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  GstEvent *event;
  while ((event = gst_harness_pull_event (h)) && GST_EVENT_TYPE (event) != GST_EVENT_EOS)
    gst_event_unref (event);
  gst_event_unref (event);
  gst_message_unref (take_warning (h, "cannot be kept"));
  ndt_harness_free (h);
}
GST_END_TEST

/* By all its names it is the same file, and what is none is refused. */
GST_START_TEST (test_names)
{
  static const gchar *const refused[] = {"-", "ftp://example.org/a", "file://elsewhere/a"};
  g_autofree gchar *uri = g_filename_to_uri (path, NULL, NULL);
  const gchar *const names[] = {path, "~/last", uri};
  g_setenv ("HOME", folder, TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autofree gchar *start = ndt_harness_pose (0);
    GstHarness *h =
        ndt_harness_new ("resolution", 1.0, "initial-pose", start, "pose-file", names[i], NULL);
    gst_buffer_unref (ndt_harness_pass (h, ndt_room_scan (0)));
    ndt_harness_free (h);
    read_last ();
    fail_unless_equals_int (g_unlink (path), 0);
  }
  for (guint i = 0; i < G_N_ELEMENTS (refused); i++) {
    GstElement *element = gst_object_ref_sink (gst_element_factory_make ("ndtlocalize", NULL));
    g_autoptr (GstBus) bus = gst_bus_new ();
    gst_element_set_bus (element, bus);
    ndt_harness_set (element, "map-location", ndt_room_map (), "pose-file", refused[i], NULL);
    fail_unless_equals_int (
        gst_element_set_state (element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
    g_autoptr (GstMessage) message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
    g_autoptr (GError) error = NULL;
    gst_message_parse_error (message, &error, NULL);
    fail_unless (g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS) &&
                     strstr (error->message, "pose-file"),
        "%s", error->message);
    gst_element_set_state (element, GST_STATE_NULL);
    gst_element_set_bus (element, NULL);
    gst_object_unref (element);
  }
}
GST_END_TEST

/* Killed in the middle of writing, the file is whole: the one before or the one after. */
GST_START_TEST (test_killed)
{
  drive (3);
  const NdtLastPose before = read_last ();
  for (guint i = 0; i < 20; i++) {
    const pid_t child = fork ();
    if (child == 0) {
      NdtLastPose last = before;
      for (;;) {
        last.time++;
        ndt_last_pose_write (path, &last, NULL);
      }
    }
    fail_unless (child > 0);
    g_usleep (2000 + 1000 * i);
    fail_unless (kill (child, SIGKILL) == 0);
    fail_unless (waitpid (child, NULL, 0) == child);
    const NdtLastPose after = read_last ();
    fail_unless (memcmp (&after.pose, &before.pose, sizeof before.pose) == 0);
  }
  /* What was not renamed is left. */
  GDir *dir = g_dir_open (folder, 0, NULL);
  const gchar *name;
  while ((name = g_dir_read_name (dir))) {
    g_autofree gchar *file = g_build_filename (folder, name, NULL);
    if (strcmp (file, path) != 0)
      g_unlink (file);
  }
  g_dir_close (dir);
}
GST_END_TEST

static Suite *
ndtlocalize_posefile_suite (void)
{
  Suite *suite = suite_create ("ndtlocalize-posefile");
  TCase *cases = tcase_create ("general");
  suite_add_tcase (suite, cases);
  tcase_set_timeout (cases, 120);
  tcase_add_checked_fixture (cases, set_up, tear_down);
  tcase_add_test (cases, test_next_run);
  tcase_add_test (cases, test_interval);
  tcase_add_test (cases, test_elsewhere);
  tcase_add_test (cases, test_refused);
  tcase_add_test (cases, test_unwritable);
  tcase_add_test (cases, test_names);
  tcase_add_test (cases, test_killed);
  return suite;
}

GST_CHECK_MAIN (ndtlocalize_posefile);
