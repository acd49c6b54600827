/* SPDX-License-Identifier: MIT */
#pragma once

#include "gst/common/gstpointtimes.h"

G_BEGIN_DECLS

/**
 * GstNdtAhead:
 * @map: of the buffer, which stays alive and is not written to meanwhile
 * @times: of its points
 *
 * A scan that the sink pad's streaming thread has mapped and whose times it has read, while the
 * task works on those before.
 */
typedef struct {
  GstPointCloudMap map;
  NdtPointTimes times;
} GstNdtAhead;

/* NULL where points have no times, and for a buffer that is no whole scan, of which the task tells
 * at its turn. @times: of this thread; tells nothing. */
GstNdtAhead *gst_ndt_ahead_open (
    GstPointTimes *times, const GstPointCloudInfo *info, GstBuffer *buffer);
/* @ahead: (nullable) */
void gst_ndt_ahead_free (GstNdtAhead *ahead);

G_END_DECLS
