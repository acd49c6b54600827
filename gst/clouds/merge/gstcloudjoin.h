/* SPDX-License-Identifier: MIT */
/* Brings the points of one sensor's scan to one instant and to the body's frame. */
#pragma once

#include "gstcloudmergepad.h"

G_BEGIN_DECLS

/* Memory that is reused from scan to scan. Not thread-safe. */
typedef struct _GstCloudJoin GstCloudJoin;

GstCloudJoin *gst_cloud_join_new (void);
void gst_cloud_join_free (GstCloudJoin *join);

/**
 * gst_cloud_join_add:
 * @pad: that @scan came by, with its layout, mount and copy
 * @scan: measured from @begin on, running time
 * @tick: of the cloud that leaves
 * @curve: (nullable): the body's motion by running time; points are brought to the end of @tick.
 *   NULL: they stay as they were seen
 * @layout: of the cloud that leaves
 * @out: room for the points of @scan
 * @n_left: added to: points whose motion is not known, which stay as they were seen
 *
 * Times of points become times from the begin of @tick on.
 *
 * Returns: FALSE with an error where the scan is none, or there is not the memory for it
 */
gboolean gst_cloud_join_add (GstCloudJoin *join, GstCloudMergePad *pad, GstBuffer *scan,
    gint64 begin, const GstCloudSpan *tick, NdtPoseCurve *curve, const GstCloudLayout *layout,
    guint8 *out, guint64 *n_left, GError **error);

/* The field of times that a layout has, or NULL. */
const GstPointField *gst_cloud_join_find_time (const GstPointCloudInfo *info);

G_END_DECLS
