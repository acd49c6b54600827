/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/pointcloud/pointcloud.h>

G_BEGIN_DECLS

/* Puts clouds into the memory that downstream proposes (ALLOCATION query), where it proposes a
 * pool: ndtlocalize on a GPU proposes page-locked memory, which goes up without another copy. For
 * elements whose clouds are of no known size before they are complete. One to a source pad; not
 * thread-safe: for the streaming thread. */
typedef struct _GstPointCloudAllocation GstPointCloudAllocation;

GstPointCloudAllocation *gst_point_cloud_allocation_new (GstPad *srcpad);
void gst_point_cloud_allocation_free (GstPointCloudAllocation *allocation);
void gst_point_cloud_allocation_reset (GstPointCloudAllocation *allocation);
GstBuffer *gst_point_cloud_allocation_copy (
    GstPointCloudAllocation *allocation, gconstpointer data, gsize size);
GstBuffer *gst_point_cloud_allocation_take (
    GstPointCloudAllocation *allocation, gpointer data, gsize size);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstPointCloudAllocation, gst_point_cloud_allocation_free)

G_END_DECLS
