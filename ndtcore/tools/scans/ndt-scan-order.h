/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndtcore/base/ndt-error.h"
#include "ndtcore/posefile/ndt-trajectory.h"

G_BEGIN_DECLS

/* The time in the name of a scan's file, nanoseconds since 1970: a whole number of s, ms, µs or ns
 * (10, 13, 16 or 19 digits) with, after 10, a "." and decimals or a "_" and nanoseconds. Words
 * before it may end in "_" or "-". FALSE where the name is no time. */
gboolean ndt_scan_order_get_time (const gchar *path, gint64 *time);

/**
 * ndt_scan_order_match:
 * @files: (element-type filename): as many as @trajectory has poses; is sorted into the order of
 *   its poses
 * @shown: the trajectory's name, for messages
 *
 * Sorts by the times of names where all are times, and else keeps the order. Where the poses have
 * times of the same clock as well (the first ones are less than a day apart), the pose of each scan
 * has to be the nearest in time.
 *
 * Returns: FALSE with %NDT_ERROR_INVALID_ARGUMENT where it is not; the message names the scan
 */
gboolean ndt_scan_order_match (
    GPtrArray *files, const NdtTrajectory *trajectory, const gchar *shown, GError **error);

G_END_DECLS
