/* SPDX-License-Identifier: MIT */
/* What people write for a property that is a file. */
#include <gst/check/gstcheck.h>

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gst/common/gstlocation.h"

static gchar *folder;

static void
setup (void)
{
  folder = g_dir_make_tmp ("location-XXXXXX", NULL);
}

static void
teardown (void)
{
  g_rmdir (folder);
  g_free (folder);
}

static void
check (const gchar *location, const gchar *expected)
{
  g_autoptr (GError) error = NULL;
  g_autofree gchar *path = gst_location_resolve (location, GST_LOCATION_WRITE, &error);

  fail_unless (path != NULL, "%s: %s", location, error ? error->message : "");
  fail_unless_equals_string (path, expected);
}

static void
check_refused (const gchar *location, GstLocationUse use, const gchar *reason)
{
  g_autoptr (GError) error = NULL;
  g_autofree gchar *path = gst_location_resolve (location, use, &error);

  fail_unless (path == NULL, "%s: %s", location, path);
  fail_unless (g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS));
  fail_unless (strstr (error->message, reason) != NULL, "%s", error->message);
  fail_unless (g_utf8_validate (error->message, -1, NULL));
}

GST_START_TEST (test_taken)
{
  g_autofree gchar *here = g_get_current_dir ();
  g_autofree gchar *relative = g_build_filename (here, "a/b.txt", NULL);
  g_autofree gchar *of_home = g_build_filename (g_get_home_dir (), "a b.txt", NULL);
  g_autofree gchar *tilde = g_build_filename (here, "./~a", NULL);

  check ("/tmp/a.txt", "/tmp/a.txt");
  check ("a/b.txt", relative);
  check ("~/a b.txt", of_home);
  check ("./~a", tilde);
  check ("file:///tmp/a%20b.txt", "/tmp/a b.txt");
  check ("file://localhost/tmp/a.txt", "/tmp/a.txt");
  /* Latin-1: bytes of a name are the file system's. */
  check ("/tmp/M\xfcnchen.txt", "/tmp/M\xfcnchen.txt");
  check ("file:///tmp/M%FCnchen.txt", "/tmp/M\xfcnchen.txt");
  check ("/dev/null", "/dev/null");
}
GST_END_TEST;

/* Where a program changes its folder later on, what was resolved stays. */
GST_START_TEST (test_relative)
{
  g_autofree gchar *here = g_get_current_dir ();
  g_autofree gchar *expected = g_build_filename (folder, "a.txt", NULL);
  g_autofree gchar *path = NULL;

  fail_unless_equals_int (g_chdir (folder), 0);
  path = gst_location_resolve ("a.txt", GST_LOCATION_READ, NULL);
  fail_unless_equals_int (g_chdir (here), 0);
  fail_unless_equals_string (path, expected);
}
GST_END_TEST;

GST_START_TEST (test_refused)
{
  g_autofree gchar *fifo = g_build_filename (folder, "M\xfcnchen", NULL);

  check_refused ("", GST_LOCATION_READ, "no name of a file");
  check_refused ("-", GST_LOCATION_READ, "/dev/stdout");
  check_refused ("~user/a.txt", GST_LOCATION_READ, "another user's home");
  check_refused ("http://example.org/a.txt", GST_LOCATION_READ, "file:///");
  check_refused ("file://elsewhere/a.txt", GST_LOCATION_READ, "file:///");
  check_refused (folder, GST_LOCATION_READ, "is a folder");
  check_refused (folder, GST_LOCATION_WRITE, "is a folder");
  check_refused ("/dev/zero", GST_LOCATION_READ, "pipe or device");
  fail_unless_equals_int (mkfifo (fifo, 0600), 0);
  check_refused (fifo, GST_LOCATION_READ, "pipe or device");
  check_refused (fifo, GST_LOCATION_READ_FOLDER, "pipe or device");
  g_unlink (fifo);
  g_autofree gchar *taken = gst_location_resolve (folder, GST_LOCATION_READ_FOLDER, NULL);
  fail_unless_equals_string (taken, folder);
}
GST_END_TEST;

static void
check_busy (const gchar *path, gint code)
{
  g_autoptr (GError) error = NULL;

  fail_unless_equals_int (gst_location_create (path, &error), -1);
  fail_unless (g_error_matches (error, GST_RESOURCE_ERROR, code), "%s", error->message);
}

GST_START_TEST (test_create)
{
  g_autofree gchar *path = g_build_filename (folder, "a.txt", NULL);
  g_autofree gchar *text = NULL;
  GError *error = NULL;
  gint fd = gst_location_create (path, &error);

  fail_unless (fd >= 0, "%s", error ? error->message : "");
  fail_unless_equals_int (write (fd, "first", 5), 5);
  check_busy (path, GST_RESOURCE_ERROR_BUSY);
  /* It was not emptied by the one that was refused. */
  fail_unless (g_file_get_contents (path, &text, NULL, NULL));
  fail_unless_equals_string (text, "first");
  close (fd);
  fd = gst_location_create (path, NULL);
  fail_unless (fd >= 0);
  fail_unless_equals_int (lseek (fd, 0, SEEK_END), 0);
  close (fd);
  g_unlink (path);

  /* Devices are nobody's. */
  const gint a = gst_location_create ("/dev/null", NULL),
             b = gst_location_create ("/dev/null", NULL);
  fail_unless (a >= 0 && b >= 0);
  close (a);
  close (b);
}
GST_END_TEST;

GST_START_TEST (test_fifo)
{
  g_autofree gchar *path = g_build_filename (folder, "fifo", NULL);

  fail_unless_equals_int (mkfifo (path, 0600), 0);
  check_busy (path, GST_RESOURCE_ERROR_OPEN_WRITE);
  const gint reader = g_open (path, O_RDONLY | O_NONBLOCK, 0);
  const gint writer = gst_location_create (path, NULL);
  fail_unless (reader >= 0 && writer >= 0);
  fail_if (fcntl (writer, F_GETFL) & O_NONBLOCK);
  close (writer);
  close (reader);
  g_unlink (path);
}
GST_END_TEST;

static Suite *
location_suite (void)
{
  Suite *suite = suite_create ("location");
  TCase *tests = tcase_create ("general");

  suite_add_tcase (suite, tests);
  tcase_add_checked_fixture (tests, setup, teardown);
  tcase_add_test (tests, test_taken);
  tcase_add_test (tests, test_relative);
  tcase_add_test (tests, test_refused);
  tcase_add_test (tests, test_create);
  tcase_add_test (tests, test_fifo);
  return suite;
}

GST_CHECK_MAIN (location);
