/* SPDX-License-Identifier: MIT */
/* When the points of a scan were measured, as its element's caps and fields say it. */
#pragma once

#include "gst/pointcloud/pointcloud.h"
#include "ndtcore/motion/ndt-point-times.h"

G_BEGIN_DECLS

/* Fields that are read, the first that there is: "time", "t", "timestamp", "time_stamp",
 * "timeStamp", "offset_time", "time_offset"; floats in seconds, integers in nanoseconds, from the
 * PTS on. */
#define GST_POINT_TIMES_FIELDS "time, t, timestamp, time_stamp, timeStamp, offset_time, time_offset"

/* For one stream. Not thread-safe. */
typedef struct _GstPointTimes GstPointTimes;

/* @element: posts the warnings: one for each kind of trouble, until caps change. */
GstPointTimes *gst_point_times_new (GstElement *element);
void gst_point_times_free (GstPointTimes *times);
/* Those that look at a large scan, 0: one per processor. At first one: a backend on the processor
 * has its threads for the next scan. */
void gst_point_times_set_threads (GstPointTimes *times, guint n_threads);
/* The scans that follow. FALSE where no field tells when points were measured. */
gboolean gst_point_times_set_info (GstPointTimes *times, const GstPointCloudInfo *info);
gboolean gst_point_times_has_field (const GstPointTimes *times);
/* Of a scan's points, which @map has. @out: (out): without data where they are not known;
 * ndt_point_times_clear() it before @map is unmapped. */
void gst_point_times_read (
    GstPointTimes *times, const GstPointCloudMap *map, GstBuffer *buffer, NdtPointTimes *out);
/* Its two parts, which may be those of two threads, each with its own @times: the second one posts
 * what there is to say. */
void gst_point_times_look (
    const GstPointTimes *times, const GstPointCloudMap *map, GstBuffer *buffer, NdtPointTimes *out);
void gst_point_times_tell (
    GstPointTimes *times, const GstPointCloudMap *map, GstBuffer *buffer, const NdtPointTimes *out);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstPointTimes, gst_point_times_free)

G_END_DECLS
