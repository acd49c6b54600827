/* SPDX-License-Identifier: MIT */
/* The file of the last good pose (pose-file): what it says at the start, and what is kept in it. */
#pragma once

#include "gstndtlocalizeprivate.h"

G_BEGIN_DECLS

/* Of a run. In change of state: reads the file and begins to keep poses in it, where it is asked
 * for. @is_start: whether what is read may be the start, around which the first tiles are read:
 * there is no initial-pose. FALSE with an error where the property is no name of a file. */
gboolean gst_ndt_localize_begin_last_pose (GstNdtLocalize *self, gboolean is_start);
/* Writes what is kept, and ends. */
void gst_ndt_localize_end_last_pose (GstNdtLocalize *self);

/* The others are for the task. */

/* The next scan is aligned with @map, where @tiles is not NULL a part of theirs. The first map says
 * whether the pose that was read is of it, which is then an initial pose. */
void gst_ndt_localize_set_last_map (
    GstNdtLocalize *self, const NdtVoxelMap *map, const NdtMapTiles *tiles);
/* A scan's result, of the scan's time. */
void gst_ndt_localize_keep_last_pose (
    GstNdtLocalize *self, const NdtLocalization *localization, GstClockTime time);
/* What is not in the file yet is put there before this returns. */
void gst_ndt_localize_flush_last_pose (GstNdtLocalize *self);

G_END_DECLS
