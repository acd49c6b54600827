/* SPDX-License-Identifier: MIT */
/* Data that tests read from outside the tree. NDT_TEST_ROOT is the source folder. */
#pragma once

#include <glib.h>

/* The folder that @variable names, or @fallback beside the source. */
static inline gchar *
ndt_test_folder (const gchar *variable, const gchar *fallback)
{
  const gchar *value = g_getenv (variable);
  if (value && *value)
    return g_strdup (value);
  return g_build_filename (NDT_TEST_ROOT, "..", "shared", fallback, NULL);
}

/* Path of a file below NDT_TEST_DATA; NULL where it is missing, which ends the test with
 * an error when CI is true: nobody would notice skipped tests there. Free it. */
static inline gchar *
ndt_test_data (const gchar *name)
{
  g_autofree gchar *folder = ndt_test_folder ("NDT_TEST_DATA", "data");
  g_autofree gchar *path = g_build_filename (folder, name, NULL);
  if (g_file_test (path, G_FILE_TEST_EXISTS))
    return g_steal_pointer (&path);
  if (g_strcmp0 (g_getenv ("CI"), "true") == 0)
    g_error ("%s is missing", path);
  return NULL;
}

/* The same for NDT_TEST_REFERENCE. */
static inline gchar *
ndt_test_reference (const gchar *name)
{
  g_autofree gchar *folder = ndt_test_folder ("NDT_TEST_REFERENCE", "reference");
  g_autofree gchar *path = g_build_filename (folder, name, NULL);
  if (g_file_test (path, G_FILE_TEST_EXISTS))
    return g_steal_pointer (&path);
  if (g_strcmp0 (g_getenv ("CI"), "true") == 0)
    g_error ("%s is missing", path);
  return NULL;
}
