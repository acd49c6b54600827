/* SPDX-License-Identifier: MIT */
/* Processors that a process may use, with control groups in a folder of their own. */
#include <glib/gstdio.h>

#include "ndtcore/base/ndt-processors.h"

static gchar *root;

/* @path below the root, folders included. */
static void
write_file (const gchar *path, const gchar *text)
{
  g_autofree gchar *full = g_build_filename (root, path, NULL);
  g_autofree gchar *folder = g_path_get_dirname (full);
  g_autoptr (GError) error = NULL;
  g_assert_cmpint (g_mkdir_with_parents (folder, 0700), ==, 0);
  g_file_set_contents (full, text, -1, &error);
  g_assert_no_error (error);
}

static void
remove_all (const gchar *path)
{
  GDir *dir = g_dir_open (path, 0, NULL);
  const gchar *name;
  while (dir && (name = g_dir_read_name (dir))) {
    g_autofree gchar *child = g_build_filename (path, name, NULL);
    remove_all (child);
  }
  g_clear_pointer (&dir, g_dir_close);
  g_assert_cmpint (g_remove (path), ==, 0);
}

static void
begin (const gchar *groups, const gchar *mountinfo)
{
  g_autoptr (GError) error = NULL;
  root = g_dir_make_tmp ("ndt-XXXXXX", &error);
  g_assert_no_error (error);
  write_file ("proc/self/cgroup", groups);
  write_file ("proc/self/mountinfo", mountinfo);
}

static void
end (guint expected)
{
  g_assert_cmpuint (ndt_processors_get_quota (root), ==, expected);
  g_assert_cmpuint (ndt_processors_count (root), ==, MIN (expected, g_get_num_processors ()));
  remove_all (root);
  g_clear_pointer (&root, g_free);
}

#define V2_MOUNT                                                                                   \
  "21 28 0:19 / /sys rw,nosuid - sysfs sysfs rw\n"                                                 \
  "31 24 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 "        \
  "rw,nsdelegate\n"
#define V1_MOUNT                                                                                   \
  "31 24 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"                     \
  "33 24 0:28 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw,relatime master:11 - cgroup cgroup "       \
  "rw,cpu,cpuacct\n"

static void
test_v2 (void)
{
  begin ("0::/a/b\n", V2_MOUNT);
  write_file ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  end (G_MAXUINT);

  begin ("0::/a/b\n", V2_MOUNT);
  write_file ("sys/fs/cgroup/a/b/cpu.max", "200000 100000\n");
  end (2);

  /* One above counts as well; half a processor more is one more. */
  begin ("0::/a/b\n", V2_MOUNT);
  write_file ("sys/fs/cgroup/a/b/cpu.max", "800000 100000\n");
  write_file ("sys/fs/cgroup/a/cpu.max", "250000 100000\n");
  end (3);

  /* In a container its own group is the root. */
  begin ("0::/\n", V2_MOUNT);
  write_file ("sys/fs/cgroup/cpu.max", "10000 100000\n");
  end (1);
}

static void
test_v1 (void)
{
  begin ("12:memory:/a\n7:cpu,cpuacct:/a/b\n", V1_MOUNT);
  write_file ("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n");
  write_file ("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n");
  end (G_MAXUINT);

  begin ("12:memory:/a\n7:cpu,cpuacct:/a/b\n", V1_MOUNT);
  write_file ("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "400000\n");
  write_file ("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  write_file ("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "150000\n");
  write_file ("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "50000\n");
  end (3);

  /* The path is one of the host's, and the mount is the container's own group. */
  begin ("7:cpu,cpuacct:/docker/abc\n0::/system.slice\n", V1_MOUNT V2_MOUNT);
  write_file ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "200000\n");
  write_file ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  end (2);
}

static void
test_odd (void)
{
  static const gchar *texts[] = {
      "", "x\n", "0 100000\n", "100000 0\n", "-5 100000\n", "100000\n", "99999999999999999999 1\n"};
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
    begin ("0::/a\n", V2_MOUNT);
    write_file ("sys/fs/cgroup/a/cpu.max", texts[i]);
    end (i == 6 ? G_MAXINT : G_MAXUINT);
  }
  begin ("::\n\n0:\n3:cpu\n0::nothing\n", "31 24\n - cgroup2\n31 24 0:26 / /x rw - cgroup2\n");
  end (G_MAXUINT);
  g_assert_cmpuint (ndt_processors_get_quota ("/nowhere"), ==, G_MAXUINT);
  g_assert_cmpuint (ndt_processors_count (NULL), >=, 1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/processors/version-2", test_v2);
  g_test_add_func ("/processors/version-1", test_v1);
  g_test_add_func ("/processors/odd", test_odd);
  return g_test_run ();
}
