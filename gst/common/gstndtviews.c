/* SPDX-License-Identifier: MIT */
#include "gstndtviews.h"

NdtCloudView
gst_ndt_view_points (const GstPointCloudMap *map)
{
  static const float none[3] = {0, 0, 0};
  if (map->n_points == 0)
    return ndt_cloud_view_xyz_f32 (none, 0);

  const GstPointCloudInfo *info = &map->info;
  const GstPointField *x = gst_point_cloud_info_find_field (info, "x");
  const GstPointField *y = gst_point_cloud_info_find_field (info, "y");
  const GstPointField *z = gst_point_cloud_info_find_field (info, "z");
  return ndt_cloud_view (map->data, map->n_points, info->point_step, x->offset, y->offset,
      z->offset, x->type == GST_POINT_FIELD_TYPE_FLOAT64 ? NDT_SCALAR_F64 : NDT_SCALAR_F32);
}
