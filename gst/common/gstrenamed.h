/* SPDX-License-Identifier: MIT */
/* Properties that had another name in an earlier release. */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/**
 * GstRenamedProperty:
 * @old_name: the name that was
 * @type: fundamental type that the property had (G_TYPE_STRING, G_TYPE_UINT, G_TYPE_UINT64,
 *   G_TYPE_INT64, G_TYPE_DOUBLE, G_TYPE_FLOAT or G_TYPE_BOOLEAN), so that g_object_set() with the
 *   old name reads its arguments as they are
 * @advice: what to use in its place: the end of the sentence "The property “old” …", for example
 *   "is called “map-location” since 0.2"
 */
typedef struct {
  const gchar *old_name;
  GType type;
  const gchar *advice;
} GstRenamedProperty;

/* Gives the elements of @klass write-only, deprecated properties of the old names. Setting one is
 * an error: the element then refuses to leave NULL, with a GST_ELEMENT_ERROR (RESOURCE, SETTINGS)
 * that is the sentence. To be called last in class_init, once in a hierarchy of classes; @first_id
 * is a property number that the class does not use, and none above it is used. @renamed has
 * @n elements and stays as long as the process. */
void gst_renamed_properties_install (
    GObjectClass *klass, guint first_id, const GstRenamedProperty *renamed, guint n);

G_END_DECLS
