/* SPDX-License-Identifier: MIT */
/* What people write for a property that is a file. */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/**
 * GstLocationUse:
 * @GST_LOCATION_READ: a regular file that is read as a whole when the element starts
 * @GST_LOCATION_READ_FOLDER: such a file or a folder
 * @GST_LOCATION_WRITE: a file to write: one that exists or not, a device, a FIFO that somebody
 * reads
 */
typedef enum { GST_LOCATION_READ, GST_LOCATION_READ_FOLDER, GST_LOCATION_WRITE } GstLocationUse;

/* The absolute path of a location: that of ndt_file_resolve(), where it is relative in the current
 * folder. "~/" is resolved because a shell does not do so within "location=~/a". NULL with
 * GST_RESOURCE_ERROR_SETTINGS where there is no such path, and for what @use cannot take: reading a
 * FIFO or a device may block or never end. Opens nothing; a missing file is reported by the code
 * that opens it. */
gchar *gst_location_resolve (const gchar *location, GstLocationUse use, GError **error);

/* gst_location_resolve(), whose error is posted as one of @element: what it starts with. */
gchar *gst_location_resolve_or_post (
    GstElement *element, const gchar *location, GstLocationUse use);

/* Opens a resolved path for writing, empty, for this descriptor alone: a file that another element
 * or process writes by this function is refused, as two that write one file overwrite each other.
 * -1 with GST_RESOURCE_ERROR_BUSY, GST_RESOURCE_ERROR_OPEN_WRITE or
 * GST_RESOURCE_ERROR_NO_SPACE_LEFT. */
int gst_location_create (const gchar *path, GError **error);

G_END_DECLS
