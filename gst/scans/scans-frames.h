/* SPDX-License-Identifier: MIT */
/* Where frames are in others over time, as the poses and transforms of a recording say it. */
#pragma once

#include <glib.h>

#include "ndtcore/math/ndt-pose.h"

G_BEGIN_DECLS

/* Poses of a frame in its parent over time. */
typedef struct _ScansFrames ScansFrames;

ScansFrames *scans_frames_new (void);
void scans_frames_free (ScansFrames *self);
/* @pose: of @child in @parent; of all times where @is_static, else at @time, nanoseconds. A leading
 * slash of names, as ROS 1 had it, does not count. A frame has the parent that was named first;
 * FALSE, and nothing is added, for another one. */
gboolean scans_frames_add (ScansFrames *self, const gchar *parent, const gchar *child, gint64 time,
    gboolean is_static, const NdtPose *pose);
/* After the last pose, before the first look-up: any order of times is right. */
void scans_frames_sort (ScansFrames *self);
/* The frame that @frame leads to: "map" where that is on the way, else the last one. NULL: nothing
 * is known of @frame. */
const gchar *scans_frames_find_root (const ScansFrames *self, const gchar *frame);
/* Of @frame in its root. Poses are interpolated over at most a second; FALSE where one of the way
 * is not known at @time. */
gboolean scans_frames_get (const ScansFrames *self, const gchar *frame, gint64 time, NdtPose *pose);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (ScansFrames, scans_frames_free)

G_END_DECLS
