/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/base/gstpushsrc.h>

G_BEGIN_DECLS

#define GST_TYPE_LIDAR_TEST_SRC (gst_lidar_test_src_get_type ())
G_DECLARE_FINAL_TYPE (GstLidarTestSrc, gst_lidar_test_src, GST, LIDAR_TEST_SRC, GstPushSrc)

GST_ELEMENT_REGISTER_DECLARE (lidartestsrc)

G_END_DECLS
