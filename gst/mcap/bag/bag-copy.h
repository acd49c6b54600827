/* SPDX-License-Identifier: MIT */
#pragma once

#include <gio/gio.h>

#include "bag-merger.h"
#include "gst/mcap/container/mcap-writer.h"

G_BEGIN_DECLS

typedef struct {
  guint64 messages;
  guint64 records; /* attachments and metadata records */
  guint64 damaged; /* parts of the inputs that are left out */
} BagCopyCounts;

/* @cache: as of BagLimits. Makes the MCAP file @path of the recordings @inputs (NULL-terminated,
 * each a location as of bag_files_find()): all messages as they stand, in the order of log times,
 * of equal ones in the order of inputs, with their channels, schemas, sequence numbers and both
 * times; attachments and metadata records of the first @n_records inputs. @metadata is added as a
 * record of the name
 * @metadata_name; NULL: none. The bytes depend on nothing but these. An existing file is replaced,
 * once the new one is whole; until then that is PATH.part. @warning: the first thing that was left
 * out, the caller's to free; NULL: nothing was. FALSE where an input cannot be read or the output
 * cannot be written, and with G_IO_ERROR_CANCELLED. */
gboolean bag_copy_files (gchar *const *inputs, guint n_records, const gchar *path,
    McapWriterCompression compression, const gchar *cache, const gchar *metadata_name,
    GHashTable *metadata, GCancellable *cancellable, BagCopyCounts *counts, gchar **warning,
    GError **error);

G_END_DECLS
