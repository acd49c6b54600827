/* SPDX-License-Identifier: MIT */
/* What runs on the source pad's task: scans, events and queries that were queued. */
#pragma once

#include "gstndtlocalizeprivate.h"

G_BEGIN_DECLS

GstNdtBatch *gst_ndt_batch_new (void);
void gst_ndt_batch_free (GstNdtBatch *batch);
void gst_ndt_localize_task (gpointer self);
/* The scans that follow. On the task, or while there is none. */
void gst_ndt_localize_set_task_caps (GstNdtLocalize *self, GstCaps *caps);
/* To start state, while there is no task. */
void gst_ndt_localize_reset_task (GstNdtLocalize *self);

G_END_DECLS
