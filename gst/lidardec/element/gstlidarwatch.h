/* SPDX-License-Identifier: MIT */
/* Looks every three seconds whether a live stream brings scans, as nothing else runs where no
 * packet comes. */
#pragma once

#include "gstlidarreport.h"

G_BEGIN_DECLS

typedef struct {
  GstElement *element; /* whose scans they are */
  GstPad *pad;         /* its sink pad */
  /* From any thread; @refused has GST_LIDAR_MAX_REFUSED bytes. */
  void (*get_counts) (GstElement *element, GstLidarCounts *counts, gchar *refused);

  GMutex mutex;
  GstClockID id;         /* NULL: it does not look */
  GstLidarCounts before; /* at the last look */
  gboolean is_silent;    /* that was said already */
} GstLidarWatch;

/* While the element is PLAYING. */
void gst_lidar_watch_start (GstLidarWatch *self);
void gst_lidar_watch_stop (GstLidarWatch *self);

G_END_DECLS
