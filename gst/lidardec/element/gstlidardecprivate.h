/* SPDX-License-Identifier: MIT */
/* What the files of the decoders' base class share: gstlidardec.c is the element, gstlidarscans.c
 * makes scans of packets. */
#pragma once

#include "gst/common/gstpointcloudallocation.h"
#include "gst/common/gstpointcloudtimer.h"
#include "gstlidardec.h"
#include "gstlidarreport.h"
#include "gstlidarsource.h"
#include "gstlidarwatch.h"

G_BEGIN_DECLS

typedef struct {
  GstPad *sinkpad;
  GstPad *srcpad;

  /* under the object lock */
  gdouble cut_angle;
  gchar *frame_id;
  gchar *src_ip;
  GstLidarCounts published;
  gchar refused[GST_LIDAR_MAX_REFUSED]; /* why the last packet that was refused was */
  GstClockTime period;                  /* that LATENCY says */

  GstLidarWatch watch;

  /* streaming thread */
  GstPointCloudInfo info;
  GstPointCloudTimer *timer;
  GstPointCloudAllocation *allocation;
  PacketCutter *cutter; /* NULL: not open */
  GstCaps *clock;
  gboolean is_calibrated; /* there were points */
  GQueue waiting;         /* of GstBuffer, until it is */
  GQueue held;            /* of GstBuffer: packets whose times fit nothing so far */
  GstLidarSource source;
  gboolean is_live;
  gboolean knows_live;
  gboolean has_time_of_day;
  gint64 time_of_day; /* less PTS */
  const gchar *model; /* recognized; NULL: not yet */
  GstLidarCounts counts;
  gboolean has_caps;
  gboolean has_segment;
  GstSegment segment; /* as it came */
  gboolean is_discont;
  gint64 last_warning[GST_LIDAR_N_WARNINGS]; /* monotonic, 0: none yet */
} GstLidarDecPrivate;

GstLidarDecPrivate *gst_lidar_dec_get_private (GstLidarDec *self);

/* In the streaming thread. */
gboolean gst_lidar_dec_push_caps (GstLidarDec *self);
GstFlowReturn gst_lidar_dec_chain (GstPad *pad, GstObject *parent, GstBuffer *buffer);
/* Ends the scan in the making and pushes it. */
void gst_lidar_dec_drain (GstLidarDec *self);
/* A stream that ends without a scan is an error. */
void gst_lidar_dec_check_end (GstLidarDec *self);

G_END_DECLS
