/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/**
 * ndt_processors_count:
 * @root: (nullable): folder that has proc/ and the control groups' mounts; NULL: "/"
 *
 * Processors that this process may keep busy: those that the calling thread may run on, and not
 * more than the CPU quota of its control group and of those above it, rounded up. Quotas are
 * cpu.max of version 2 and cpu.cfs_quota_us of version 1 (Linux, Documentation/admin-guide/
 * cgroup-v2.rst and Documentation/scheduler/sched-bwc.rst).
 *
 * Returns: at least 1
 */
guint ndt_processors_count (const gchar *root);

/* Of the quotas alone; G_MAXUINT: there are none. */
guint ndt_processors_get_quota (const gchar *root);

G_END_DECLS
