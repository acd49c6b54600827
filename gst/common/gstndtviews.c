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

const GstPointField *
gst_ndt_find_times (const GstPointCloudInfo *info, NdtTimeType *type)
{
  const GstPointField *field = gst_point_cloud_info_find_field (info, "time");
  const GstPointField *nanoseconds = gst_point_cloud_info_find_field (info, "t");
  if (field && field->type == GST_POINT_FIELD_TYPE_FLOAT32)
    *type = NDT_TIME_F32;
  else if (field && field->type == GST_POINT_FIELD_TYPE_FLOAT64)
    *type = NDT_TIME_F64;
  else if ((field = nanoseconds) && field->type == GST_POINT_FIELD_TYPE_UINT32)
    *type = NDT_TIME_U32;
  else
    return NULL;
  return field;
}

NdtTimeView
gst_ndt_view_times (const GstPointCloudMap *map)
{
  NdtTimeView times = {NULL, map->info.point_step, NDT_TIME_F32};
  const GstPointField *field = gst_ndt_find_times (&map->info, &times.type);
  if (field && map->n_points > 0)
    times.data = map->data + field->offset;
  return times;
}
