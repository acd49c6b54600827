/* SPDX-License-Identifier: MIT */
#pragma once

#include "gst/mcap/bag/bag-merger.h"

G_BEGIN_DECLS

/* Poses of a recording as a CSV file (ndt_trajectory_write_line()), a row for each in the order of
 * their stamps, with the status of estimates that mcapsink recorded; estimates without a pose have
 * empty cells. @topic: (nullable): of the poses; NULL: the first with estimates, else the first
 * with poses. NULL with the error of reading, or where there are none. */
gchar *ndt_bag_read_poses (BagMerger *recording, const gchar *topic, GError **error);

G_END_DECLS
