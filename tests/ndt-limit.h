/* SPDX-License-Identifier: MIT */
/* Limits the memory of a process. Not under sanitizers, which reserve more address space than a
 * limit leaves: they set NDT_TEST_SANITIZER. */
#pragma once

#include <glib.h>
#include <sys/resource.h>
#include <unistd.h>

static inline gsize
ndt_test_used_memory (void)
{
  g_autofree gchar *statm = NULL;
  g_assert_true (g_file_get_contents ("/proc/self/statm", &statm, NULL, NULL));
  return g_ascii_strtoull (statm, NULL, 10) * (gsize)sysconf (_SC_PAGESIZE);
}

/* Limits the address space to this many bytes. Returns the limit before, for setrlimit(). */
static inline struct rlimit
ndt_test_limit_memory (gsize bytes)
{
  struct rlimit before;
  g_assert_cmpint (getrlimit (RLIMIT_AS, &before), ==, 0);
  const struct rlimit limit = {bytes, before.rlim_max};
  g_assert_cmpint (setrlimit (RLIMIT_AS, &limit), ==, 0);
  return before;
}
