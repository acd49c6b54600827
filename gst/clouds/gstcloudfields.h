/* SPDX-License-Identifier: MIT */
/* Values of a field of many points. */
#pragma once

#include <gst/pointcloud/pointcloud.h>

G_BEGIN_DECLS

/* Reads element 0 of @n points as doubles, which hold every type exactly. @data: of the first
 * point, any alignment; @step: bytes to the next; @swap: big-endian. */
void gst_cloud_field_read (const guint8 *data, gsize step, GstPointFieldType type, gboolean swap,
    gsize n, gdouble *values);

/* Writes @n values, integers rounded to the nearest (halves to even). What the type cannot hold
 * becomes the nearest value that it can, NaN as an integer 0; infinities stay in floats.
 * Returns: how many values were changed so */
guint64 gst_cloud_field_write (guint8 *data, gsize step, GstPointFieldType type, gboolean swap,
    gsize n, const gdouble *values);

G_END_DECLS
