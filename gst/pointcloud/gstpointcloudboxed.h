/* SPDX-License-Identifier: MIT */
/* GValues of the library's boxed types that are written as text. Private: not installed. */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/**
 * GstPointCloudBoxedClass:
 * @size: bytes of a value; two values with the same bytes are equal
 * @from_string: a new value, or NULL with an error where the text is none
 * @to_string: text that @from_string reads back to the same bits
 * @table: filled in when registered
 */
typedef struct {
  gsize size;
  gpointer (*from_string) (const gchar *text, GError **error);
  gchar *(*to_string) (gconstpointer boxed);
  GstValueTable table;
} GstPointCloudBoxedClass;

/* Registers how GValues of @type are compared, serialized and made from strings; @klass is static.
 * An empty text is NULL. A text that cannot be read makes no value: gst_value_deserialize() returns
 * FALSE; a transformation, which cannot fail, warns and makes NULL. */
void gst_point_cloud_boxed_register (GType type, GstPointCloudBoxedClass *klass);

G_END_DECLS
