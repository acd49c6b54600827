/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/gst.h>

#ifndef GST_POINT_CLOUD_API
#ifdef BUILDING_GST_POINT_CLOUD
#define GST_POINT_CLOUD_API GST_API_EXPORT
#else
#define GST_POINT_CLOUD_API GST_API_IMPORT
#endif
#endif
