/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/pointcloud/pointcloud-prelude.h>

G_BEGIN_DECLS

/**
 * GstPointCloudBox:
 * @min: smallest x, y, z in metres
 * @max: largest, none of them below that of @min
 *
 * A box along the axes of a frame, its faces included: the value of properties such as
 * ndtlocalize's "crop-box".
 *
 * Since: 0.2
 */
typedef struct {
  gdouble min[3];
  gdouble max[3];
} GstPointCloudBox;

#define GST_TYPE_POINT_CLOUD_BOX (gst_point_cloud_box_get_type ())
GST_POINT_CLOUD_API GType gst_point_cloud_box_get_type (void);

GST_POINT_CLOUD_API GstPointCloudBox *gst_point_cloud_box_new_from_string (
    const gchar *text, GError **error);
GST_POINT_CLOUD_API GstPointCloudBox *gst_point_cloud_box_copy (const GstPointCloudBox *box);
GST_POINT_CLOUD_API void gst_point_cloud_box_free (GstPointCloudBox *box);
GST_POINT_CLOUD_API gchar *gst_point_cloud_box_to_string (const GstPointCloudBox *box);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstPointCloudBox, gst_point_cloud_box_free)

G_END_DECLS
