/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/pointcloud/pointcloud.h>

#include "gst/mcap/bag/bag-limits.h"

G_BEGIN_DECLS

typedef enum {
  GST_BAG_TIMESTAMPS_AUTO,
  GST_BAG_TIMESTAMPS_HEADER,
  GST_BAG_TIMESTAMPS_LOG
} GstBagTimestamps;

/* The properties of rosbagsrc and mcapdemux, of which a run of the element has a copy. */
typedef struct {
  gchar **topics; /* patterns; NULL or none: all */
  GstBagTimestamps timestamps;
  GstPoseRole pose_role;
  gboolean attach_poses;
  gboolean raw;
  BagLimits limits;
  guint max_topics;      /* that get pads */
  guint max_names;       /* of frames, fields and keys, that are new to the process */
  GstClockTime from;     /* buffers with earlier time stamps are not sent */
  GstClockTime to;       /* nor those with later ones */
  GstDebugCategory *log; /* the element's */
} GstBagSettings;

/* The defaults of the properties. */
void gst_bag_settings_init (GstBagSettings *self);
/* @self is a copy of @other, to be cleared. */
void gst_bag_settings_copy (GstBagSettings *self, const GstBagSettings *other);
void gst_bag_settings_clear (GstBagSettings *self);

/* A GstValueArray of strings from and to a NULL-terminated list; other values are left out. */
gchar **gst_bag_strings_from_value (const GValue *array);
void gst_bag_strings_to_value (gchar *const *strings, GValue *array);

G_END_DECLS
