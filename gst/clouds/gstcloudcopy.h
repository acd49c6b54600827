/* SPDX-License-Identifier: MIT */
/* Copies points from one layout to another. */
#pragma once

#include "gstcloudlayout.h"

G_BEGIN_DECLS

/* For one pair of layouts. Immutable. */
typedef struct _GstCloudCopy GstCloudCopy;

/* Fields are found by name. A name of @renames ("from:to,from:to", nullable) is looked for as that
 * first; a field of times (GST_POINT_TIMES_FIELDS) takes any other such field, and turns seconds
 * (floats) into nanoseconds (integers) or back. What @from lacks is 0. NULL with
 * GST_CORE_ERROR_NEGOTIATION where @renames is no such list, or x, y and z cannot be had. */
GstCloudCopy *gst_cloud_copy_new (
    const GstCloudLayout *from, const GstCloudLayout *to, const gchar *renames, GError **error);
void gst_cloud_copy_free (GstCloudCopy *copy);
/* Names of fields that the layout copied to has and the other lacks, with ", " between them; NULL:
 * none. */
const gchar *gst_cloud_copy_get_missing (const GstCloudCopy *copy);
/* Copies @n points. Returns: values that were changed as gst_cloud_field_write() says. */
guint64 gst_cloud_copy_run (const GstCloudCopy *copy, const guint8 *from, guint8 *to, gsize n);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstCloudCopy, gst_cloud_copy_free)

G_END_DECLS
