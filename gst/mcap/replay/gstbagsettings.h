/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/pointcloud/pointcloud.h>

G_BEGIN_DECLS

/* Pads of what is no message. */
#define GST_BAG_ATTACHMENTS_PAD "attachments"
#define GST_BAG_METADATA_PAD "metadata"

typedef enum { GST_BAG_TIMESTAMPS_HEADER, GST_BAG_TIMESTAMPS_LOG } GstBagTimestamps;

/* Properties of both elements; a snapshot is taken on start. */
typedef struct {
  gchar *topics;
  GstBagTimestamps timestamps;
  GstPoseRole pose_role;
  gboolean attach_poses;
  gboolean raw;
  GstClockTime from; /* buffers with earlier time stamps are not sent */
  GstClockTime to;   /* nor those with later ones */
} GstBagSettings;

void gst_bag_settings_init (GstBagSettings *self);
void gst_bag_settings_clear (GstBagSettings *self);
/* Installs them with numbers from @first on. Returns the first number that is free then. */
guint gst_bag_settings_install (GObjectClass *object_class, guint first);
/* @id counts from @first. FALSE where it is none of these. To be called with the object locked. */
gboolean gst_bag_settings_set (GstBagSettings *self, guint id, const GValue *value);
gboolean gst_bag_settings_get (const GstBagSettings *self, guint id, GValue *value);
void gst_bag_settings_add_templates (GstElementClass *element_class);

G_END_DECLS
