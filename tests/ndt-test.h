/* SPDX-License-Identifier: MIT */
/* Paths of test data outside of the tree. NDT_TEST_ROOT is the source folder. */
#pragma once

#include <glib.h>

/* Exit status of a skipped program, which prints a line with the reason before. Programs of g_test
 * use g_test_skip(). */
#define NDT_TEST_SKIP 77

/* Path of @name below the folder that @variable names, by default shared/@fallback beside the
 * source. NULL, after a line with the reason, where it does not exist. With CI=true the program
 * fails instead, since skipped tests would not be noticed there. */
static inline gchar *
ndt_test_find (const gchar *variable, const gchar *fallback, const gchar *name)
{
  const gchar *value = g_getenv (variable);
  g_autofree gchar *folder = value && *value
                                 ? g_strdup (value)
                                 : g_build_filename (NDT_TEST_ROOT, "..", "shared", fallback, NULL);
  g_autofree gchar *path = g_build_filename (folder, name, NULL);

  if (g_file_test (path, G_FILE_TEST_EXISTS))
    return g_steal_pointer (&path);
  if (g_strcmp0 (g_getenv ("CI"), "true") == 0)
    g_error ("%s is missing: set %s", path, variable);
  g_printerr ("%s is missing: set %s\n", path, variable);
  return NULL;
}

/* A file or folder of recorded scans, such as "seq_kitti_drive0005". Free it; NULL: skip. */
static inline gchar *
ndt_test_data (const gchar *name)
{
  return ndt_test_find ("NDT_TEST_DATA", "data", name);
}

/* The same for numbers of other programs, such as "reference.json". */
static inline gchar *
ndt_test_reference (const gchar *name)
{
  return ndt_test_find ("NDT_TEST_REFERENCE", "reference", name);
}
