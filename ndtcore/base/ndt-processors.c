/* SPDX-License-Identifier: MIT */
#include "ndt-processors.h"

#include <string.h>

/* Processors of a quota of @quota microseconds each @period; G_MAXUINT: no limit. */
static guint
from_quota (gint64 quota, gint64 period)
{
  if (quota <= 0 || period <= 0)
    return G_MAXUINT;
  return (guint)MIN ((quota - 1) / period + 1, G_MAXINT);
}

static gchar *
read_file (const gchar *folder, const gchar *name)
{
  g_autofree gchar *path = g_build_filename (folder, name, NULL);
  gchar *text = NULL;
  g_file_get_contents (path, &text, NULL, NULL);
  return text;
}

/* Of one control group of version 2. "max" is no limit, and so is the root's missing file. */
static guint
read_v2 (const gchar *folder)
{
  g_autofree gchar *text = read_file (folder, "cpu.max");
  gchar *end;
  if (!text || g_str_has_prefix (text, "max"))
    return G_MAXUINT;
  const gint64 quota = g_ascii_strtoll (text, &end, 10);
  return from_quota (quota, g_ascii_strtoll (end, NULL, 10));
}

/* Of one control group of version 1: −1 is no limit. */
static guint
read_v1 (const gchar *folder)
{
  g_autofree gchar *quota = read_file (folder, "cpu.cfs_quota_us");
  g_autofree gchar *period = read_file (folder, "cpu.cfs_period_us");
  if (!quota || !period)
    return G_MAXUINT;
  return from_quota (g_ascii_strtoll (quota, NULL, 10), g_ascii_strtoll (period, NULL, 10));
}

/* Whether a list separated by commas has @word. */
static gboolean
has_word (const gchar *list, const gchar *word)
{
  g_auto (GStrv) words = g_strsplit (list, ",", -1);
  return g_strv_contains ((const gchar *const *)words, word);
}

/* The least quota of a group and of those above it, up to the mount. In a container the path may
 * be one of the host's: its own folders do not exist, and the mount is the container's group. */
static guint
walk_up (const gchar *mount, const gchar *group, gboolean is_v2)
{
  guint least = G_MAXUINT;
  g_autofree gchar *path = g_strdup (group);
  for (;;) {
    g_autofree gchar *folder = g_build_filename (mount, path, NULL);
    least = MIN (least, is_v2 ? read_v2 (folder) : read_v1 (folder));
    gchar *slash = strrchr (path, '/');
    if (!slash)
      return least;
    *slash = 0;
  }
}

/* Where the hierarchy is mounted, by proc(5), "mountinfo": ID PARENT DEVICE ROOT MOUNT OPTIONS
 * [TAGS…] - TYPE SOURCE SUPER-OPTIONS. NULL: it is not. */
static gchar *
find_mount (const gchar *mountinfo, gboolean is_v2)
{
  g_auto (GStrv) lines = g_strsplit (mountinfo, "\n", -1);
  for (guint i = 0; lines[i]; i++) {
    const gchar *type = strstr (lines[i], " - ");
    g_auto (GStrv) fields = g_strsplit (lines[i], " ", 6);
    if (!type || g_strv_length (fields) < 6)
      continue;
    g_auto (GStrv) rest = g_strsplit (type + 3, " ", 3);
    if (g_strv_length (rest) < 3)
      continue;
    g_strchomp (rest[2]);
    if (is_v2 ? g_str_equal (rest[0], "cgroup2")
              : g_str_equal (rest[0], "cgroup") && has_word (rest[2], "cpu"))
      return g_strdup (fields[4]);
  }
  return NULL;
}

guint
ndt_processors_get_quota (const gchar *root)
{
  guint least = G_MAXUINT;
  root = root ? root : "/";
  g_autofree gchar *groups = read_file (root, "proc/self/cgroup");
  g_autofree gchar *mountinfo = read_file (root, "proc/self/mountinfo");
  if (!groups || !mountinfo)
    return least;
  /* HIERARCHY:CONTROLLERS:PATH; version 2 has hierarchy 0 and no controllers. */
  g_auto (GStrv) lines = g_strsplit (groups, "\n", -1);
  for (guint i = 0; lines[i]; i++) {
    g_auto (GStrv) fields = g_strsplit (lines[i], ":", 3);
    if (g_strv_length (fields) < 3)
      continue;
    const gboolean is_v2 = *fields[1] == 0;
    if (!is_v2 && !has_word (fields[1], "cpu"))
      continue;
    g_autofree gchar *mount = find_mount (mountinfo, is_v2);
    if (!mount)
      continue;
    g_autofree gchar *folder = g_build_filename (root, mount, NULL);
    least = MIN (least, walk_up (folder, fields[2], is_v2));
  }
  return least;
}

guint
ndt_processors_count (const gchar *root)
{
  return MAX (MIN (g_get_num_processors (), ndt_processors_get_quota (root)), 1);
}
