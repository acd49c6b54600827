/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/pointcloud/pointcloud.h>

G_BEGIN_DECLS

#define GST_TYPE_TRAJECTORY_SINK (gst_trajectory_sink_get_type ())
G_DECLARE_FINAL_TYPE (
    GstTrajectorySink, gst_trajectory_sink, GST, TRAJECTORY_SINK, GstPointCloudSink)

GST_ELEMENT_REGISTER_DECLARE (trajectorysink)

G_END_DECLS
