/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndtcore/posefile/ndt-last-pose.h"

G_BEGIN_DECLS

/* Writes poses into a file, on a thread of its own: a disk may take seconds. */
typedef struct _GstNdtPoseKeeper GstNdtPoseKeeper;

GstNdtPoseKeeper *gst_ndt_pose_keeper_new (const gchar *name);
/* Waits until the last pose that was put is in the file. Nullable. */
void gst_ndt_pose_keeper_free (GstNdtPoseKeeper *keeper);
/* Does not wait; of poses that were put while one was written the last is written next. */
void gst_ndt_pose_keeper_put (GstNdtPoseKeeper *keeper, const NdtLastPose *last);
/* (transfer full): why the last one could not be written, where that was not taken yet; NULL:
 * none. */
GError *gst_ndt_pose_keeper_take_error (GstNdtPoseKeeper *keeper);
/* Waits as gst_ndt_pose_keeper_free(). */
void gst_ndt_pose_keeper_flush (GstNdtPoseKeeper *keeper);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstNdtPoseKeeper, gst_ndt_pose_keeper_free)

G_END_DECLS
