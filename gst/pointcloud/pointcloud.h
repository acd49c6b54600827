/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/pointcloud/gstpointcloudinfo.h>
#include <gst/pointcloud/gstpointcloudbox.h>
#include <gst/pointcloud/gstpointcloudbuffer.h>
#include <gst/pointcloud/gstpointcloudfilter.h>
#include <gst/pointcloud/gstpointcloudpose.h>
#include <gst/pointcloud/gstpointcloudsegment.h>
#include <gst/pointcloud/gstpointcloudsink.h>
#include <gst/pointcloud/gstposemeta.h>
#include <gst/pointcloud/gstposerequest.h>
