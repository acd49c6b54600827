/* SPDX-License-Identifier: MIT */
/* Where packets come from, and when they came by the time of day. */
#pragma once

#include <gio/gio.h>
#include <gst/gst.h>

G_BEGIN_DECLS

/* An address of IPv4 (4 bytes) or IPv6 (16); 0 bytes: it is not known. */
typedef struct {
  guint n;
  guint8 bytes[16];
} GstLidarAddress;

gboolean gst_lidar_address_parse (GstLidarAddress *self, const gchar *text);
gboolean gst_lidar_address_is_equal (const GstLidarAddress *a, const GstLidarAddress *b);
/* To be freed. */
gchar *gst_lidar_address_to_string (const GstLidarAddress *self);

/* Packets of one sensor: that of a given address, or of the first whose packet is decoded. */
typedef struct {
  gboolean is_given;
  GstLidarAddress address;    /* that is decoded */
  gint64 last_time;           /* ns: when something of it came */
  gint64 time;                /* of the last packet */
  const GSocketAddress *ours; /* the last packet's, where it is of that address */
  GSocketAddress *seen;       /* of the last packet, and … */
  GstLidarAddress current;    /* … its address */
} GstLidarSource;

/* @address: NULL or empty: the first one's. FALSE: it is none. */
gboolean gst_lidar_source_open (GstLidarSource *self, const gchar *address);
void gst_lidar_source_close (GstLidarSource *self);

/* Whether @buffer is to be decoded, by its GstNetAddressMeta; without one it is. */
gboolean gst_lidar_source_check (GstLidarSource *self, GstBuffer *buffer);
/* The packet checked last is one of the sensor's. TRUE: this is another address than before. */
gboolean gst_lidar_source_lock (GstLidarSource *self);

/* The time of day of a running packet less its PTS, ns: from its GstReferenceTimestampMeta
 * timestamp/x-unix, as lidarpcapsrc has it, or where the pipeline is live from the wall clock.
 * FALSE: it is not known. */
gboolean gst_lidar_get_time_of_day (GstElement *element, GstBuffer *buffer,
    const GstSegment *segment, gboolean is_live, gint64 *offset);

/* Whether upstream of @pad is live. */
gboolean gst_lidar_is_live (GstPad *pad);

/* Names of the elements upstream that have a port, with it; "" where none has. To be freed. */
gchar *gst_lidar_describe_upstream (GstPad *pad);

G_END_DECLS
