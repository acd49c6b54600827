/* SPDX-License-Identifier: MIT */
/* GValues of the library's boxed types that people write as numbers. Private: not installed. */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

typedef gpointer (*GstPointCloudFromString) (const gchar *text, GError **error);
typedef gchar *(*GstPointCloudToString) (gconstpointer boxed);

/* What the functions of a boxed type's GstValueTable and transformations do. A text that cannot be
 * read makes no value: FALSE from deserialize, NULL with a warning from a transformation, which
 * cannot fail. An empty text is NULL. */
gchar *gst_point_cloud_boxed_serialize (const GValue *value, GstPointCloudToString to_string);
gboolean gst_point_cloud_boxed_deserialize (
    GValue *value, const gchar *text, GstPointCloudFromString from_string);
void gst_point_cloud_boxed_from_text (
    const GValue *text, GValue *value, GstPointCloudFromString from_string);
/* GST_VALUE_EQUAL where both are NULL or the same @size bytes, else GST_VALUE_UNORDERED. */
gint gst_point_cloud_boxed_compare (const GValue *a, const GValue *b, gsize size);

G_END_DECLS
