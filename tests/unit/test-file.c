/* SPDX-License-Identifier: MIT */
/* Names of files, their order, and numbers in text. */
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#include "ndtcore/base/ndt-error.h"
#include "ndtcore/base/ndt-file.h"
#include "ndtcore/base/ndt-text.h"

/* Each is before those after it; the order is one of all names. */
static void
test_order (void)
{
  static const gchar *const names[] = {"", "-1", "0", "00", "1", "01", "001", "2", "10",
      "18446744073709551616", "18446744073709551617", "100000000000000000000", "A2", "A10", "a",
      "a/9", "a/10", "a-1", "a-1x", "a-02", "a1b2", "a1b10", "a2b1", "b"};
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    for (guint j = 0; j < G_N_ELEMENTS (names); j++) {
      const gint order = ndt_file_compare_names (names[i], names[j]);
      if ((i < j) != (order < 0) || (i == j) != (order == 0))
        g_error ("'%s' and '%s': %d", names[i], names[j], order);
    }
}

static void
test_resolve (void)
{
  static const struct {
    const gchar *name, *path;
  } cases[] = {{"a.pcd", "a.pcd"}, {"/a/b", "/a/b"}, {"a:b", "a:b"}, {"c:/x", "c:/x"},
      {"~x~", NULL}, {"a~", "a~"}, {"file:///a/b%20c", "/a/b c"}, {"FILE:///a", "/a"},
      {"file:///K%F6ln", "/K\xf6ln"}, {"file://localhost/a", "/a"}, {"file://elsewhere/a", NULL},
      {"file:///a%2", NULL}, {"file:///a%00b", NULL}, {"http://a/b", NULL}, {"s3://a/b", NULL},
      {"-", NULL}, {"", NULL}, {"./-", "./-"}, {"K\xf6ln.pcd", "K\xf6ln.pcd"}};
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autofree gchar *path = ndt_file_resolve (cases[i].name, &error);
    g_assert_cmpstr (path, ==, cases[i].path);
    if (cases[i].path)
      g_assert_no_error (error);
    else
      g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
    g_assert_true (!error || g_utf8_validate (error->message, -1, NULL));
  }
  g_autofree gchar *home = ndt_file_resolve ("~/a", NULL);
  g_autofree gchar *expected = g_build_filename (g_get_home_dir (), "a", NULL);
  g_assert_cmpstr (home, ==, expected);
}

static void
test_read (void)
{
  g_autofree gchar *folder = g_dir_make_tmp ("ndt-file-XXXXXX", NULL);
  g_autofree gchar *file = g_build_filename (folder, "a", NULL);
  g_autofree gchar *pipe = g_build_filename (folder, "p", NULL);
  const gchar *const wrong[] = {folder, pipe, "/dev/zero", "/nonexistent"};
  gchar *text = NULL;
  gsize size = 0;
  g_assert_true (g_file_set_contents (file, "ab\0c", 4, NULL));
  g_assert_cmpint (mkfifo (pipe, 0600), ==, 0);
  g_assert_true (ndt_file_read (file, 4, &text, &size, NULL));
  g_assert_cmpmem (text, size + 1, "ab\0c\0", 5);
  g_clear_pointer (&text, g_free);
  g_autoptr (GError) large = NULL;
  g_assert_false (ndt_file_read (file, 3, &text, &size, &large));
  g_assert_error (large, NDT_ERROR, NDT_ERROR_IO);
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++) {
    g_autoptr (GError) error = NULL;
    g_assert_false (ndt_file_read (wrong[i], 100, &text, &size, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_IO);
    g_assert_true (i == 3 || strstr (error->message, "not a regular file"));
  }
  g_assert_null (text);
  g_unlink (file);
  g_unlink (pipe);
  g_rmdir (folder);
}

static void
test_scaled (void)
{
  static const struct {
    const gchar *text;
    gint exponent;
    gint64 value;
  } good[] = {{"1.5", 9, 1500000000}, {"-1.5", 9, -1500000000}, {"0", 9, 0}, {"000.000", 3, 0},
      {"1403636580.838555648", 9, G_GINT64_CONSTANT (1403636580838555648)},
      {"1.403636580838555648e+18", 0, G_GINT64_CONSTANT (1403636580838555648)},
      {"1403636580838555648", 0, G_GINT64_CONSTANT (1403636580838555648)}, {".5", 0, 1},
      {"0.49999999999999999999", 0, 0}, {"0.0000000005", 9, 1}, {"0.00000000049", 9, 0},
      {"1e-3", 6, 1000}, {"+7.", 0, 7}, {"12345e-3", 3, 12345},
      {"9223372036854775807", 0, G_MAXINT64},
      {"0.00000000000000000000000000000000000000000000000000000000000000000000000000000001", 9, 0}};
  static const gchar *const bad[] = {"", ".", "-", "1e", "1e+", "x", "1x", "0x10", "nan", "inf",
      "1,5", "1.2.3", "9223372036854775808", "1e19", "1e999999", " 1",
      "100000000000000000000000000000000000000000000000000000000000000000000"};
  for (guint i = 0; i < G_N_ELEMENTS (good); i++) {
    const NdtToken token = {good[i].text, strlen (good[i].text)};
    gint64 value = -1;
    g_assert_true (ndt_token_to_scaled (&token, good[i].exponent, &value));
    g_assert_cmpint (value, ==, good[i].value);
  }
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++) {
    const NdtToken token = {bad[i], strlen (bad[i])};
    gint64 value;
    g_assert_false (ndt_token_to_scaled (&token, 0, &value));
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/file/order", test_order);
  g_test_add_func ("/file/resolve", test_resolve);
  g_test_add_func ("/file/read", test_read);
  g_test_add_func ("/file/scaled", test_scaled);
  return g_test_run ();
}
