/* SPDX-License-Identifier: MIT */
#pragma once

#include "gst/pointcloud/pointcloud.h"

G_BEGIN_DECLS

#define GST_TYPE_LIDAR_ODOMETRY (gst_lidar_odometry_get_type ())
G_DECLARE_FINAL_TYPE (
    GstLidarOdometry, gst_lidar_odometry, GST, LIDAR_ODOMETRY, GstPointCloudFilter)

GST_ELEMENT_REGISTER_DECLARE (lidarodometry)

G_END_DECLS
