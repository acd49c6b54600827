/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/gst.h>
#include <gst/pointcloud/pointcloud.h>

#include "gst/lidardec/packet/packet-cutter.h"

G_BEGIN_DECLS

#define GST_TYPE_LIDAR_DEC (gst_lidar_dec_get_type ())
G_DECLARE_DERIVABLE_TYPE (GstLidarDec, gst_lidar_dec, GST, LIDAR_DEC, GstElement)

/**
 * GstLidarDecClass:
 * @category: of the element's log; it is named as the element
 * @open: makes the vendor's decoder from properties and sets @info's width and height for
 *   organized clouds; posts an error where it cannot
 * @close: frees it
 * @calibrate: looks for the lasers' angles in a packet, until it returns that they are known;
 *   packets are held back so long and decoded then, except those that it refuses with an error of
 *   PACKET_ERROR. NULL: they are known from the start
 * @decode: decodes a packet into the cutter; @is_data says whether it held points or was one of the
 *   sensor's other packets. Errors of another domain than PACKET_ERROR end the stream.
 * @flush: ends the scan in the making, where that is not the cutter's; may be NULL
 * @reset: forgets it; may be NULL
 * @get_model: name of the sensor's model, of static memory; NULL: not known yet; may be NULL
 * @get_remark: a sentence to warn of once the model is known, of memory that stays as long as the
 *   decoder; NULL: there is none; may be NULL
 * @clock: names the epoch of the sensor's clock, caps of the GstReferenceTimestampMeta
 *
 * Base class of decoders of lidars' packets. Subclasses add their model's properties and set
 * metadata.
 */
struct _GstLidarDecClass {
  GstElementClass parent_class;

  GstDebugCategory *category;

  gboolean (*open) (GstLidarDec *self, GstPointCloudInfo *info);
  void (*close) (GstLidarDec *self);
  gboolean (*calibrate) (GstLidarDec *self, const guint8 *data, gsize size, GError **error);
  gboolean (*decode) (GstLidarDec *self, const guint8 *data, gsize size, PacketCutter *cutter,
      gboolean *is_data, GError **error);
  void (*flush) (GstLidarDec *self, PacketCutter *cutter);
  void (*reset) (GstLidarDec *self);
  const gchar *(*get_model) (GstLidarDec *self);
  const gchar *(*get_remark) (GstLidarDec *self);
  GstCaps *(*clock) (GstLidarDec *self);
};

/* Reads a file that a property names and posts an error where it cannot. */
gchar *gst_lidar_dec_read_file (GstLidarDec *self, const gchar *what, const gchar *location);

G_END_DECLS
