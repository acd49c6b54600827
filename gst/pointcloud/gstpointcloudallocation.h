/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/pointcloud/gstpointcloudinfo.h>

G_BEGIN_DECLS

/**
 * GstPointCloudAllocation: (skip)
 *
 * Puts clouds into the memory that downstream proposes (ALLOCATION query), where it proposes a
 * pool: ndtlocalize on a GPU proposes page-locked memory, which goes up without another copy. For
 * elements whose clouds are of no known size before they are complete. One to a source pad; not
 * thread-safe: for the streaming thread.
 *
 * Since: 0.1
 */
typedef struct _GstPointCloudAllocation GstPointCloudAllocation;

GST_POINT_CLOUD_API GstPointCloudAllocation *gst_point_cloud_allocation_new (GstPad *srcpad);
GST_POINT_CLOUD_API void gst_point_cloud_allocation_free (GstPointCloudAllocation *allocation);
GST_POINT_CLOUD_API void gst_point_cloud_allocation_reset (GstPointCloudAllocation *allocation);
GST_POINT_CLOUD_API GstBuffer *gst_point_cloud_allocation_copy (
    GstPointCloudAllocation *allocation, gconstpointer data, gsize size);
GST_POINT_CLOUD_API GstBuffer *gst_point_cloud_allocation_take (
    GstPointCloudAllocation *allocation, gpointer data, gsize size);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstPointCloudAllocation, gst_point_cloud_allocation_free)

G_END_DECLS
