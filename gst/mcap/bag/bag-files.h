/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* The files of a recording in their folders. */

/* @location is a file on a server (http://, https://, s3://), which is taken as it is, or a path or
 * a file: URI (~/ at its beginning is the home folder): a file, a folder (those that its
 * metadata.yaml lists, or all .mcap and .db3 files in it) or a pattern with * and
 * ?. Adds the paths to @paths; FALSE where there are none. */
gboolean bag_files_find (const gchar *location, GPtrArray *paths, GError **error);

typedef enum { BAG_FILE_UNKNOWN, BAG_FILE_MCAP, BAG_FILE_SQLITE, BAG_FILE_ZSTD } BagFileKind;

/* By its first bytes. */
BagFileKind bag_file_get_kind (const gchar *path, GError **error);

/* Unpacks a file of zstd into a temporary one of no more than @limit bytes; returns its path, the
 * caller's to remove. */
gchar *bag_file_unpack (const gchar *path, guint64 limit, GError **error);

/* The metadata.yaml of folders, each read once. */
typedef struct _BagFolders BagFolders;

BagFolders *bag_folders_new (void);
void bag_folders_free (BagFolders *self);
/* Whether the metadata.yaml beside a file says that each of its messages is compressed by zstd. */
gboolean bag_folders_have_packed_messages (BagFolders *self, const gchar *path);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (BagFolders, bag_folders_free)

G_END_DECLS
