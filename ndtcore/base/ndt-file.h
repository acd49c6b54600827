/* SPDX-License-Identifier: MIT */
/* Names of files as people and programs give them, and files of moderate size. Private. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/**
 * ndt_file_resolve:
 * @name: a path in the encoding of file names, as it is; "~" and "~/…" are the home of the user;
 *   "file:///…" is a path in a URI
 *
 * What a shell or a file dialog would have made of a name. A file that exists under the name as it
 * is goes before both.
 *
 * Returns: (transfer full): a path; NULL with %NDT_ERROR_INVALID_ARGUMENT where there is none: a
 *   URI of another scheme or host, "~user", "-" (standard input or output), an empty name
 */
gchar *ndt_file_resolve (const gchar *name, GError **error);

/* Opens a regular file for reading; @name goes through ndt_file_resolve(). -1 with NDT_ERROR_IO
 * where it is missing, unreadable or no regular file: a pipe's writer might never come. */
int ndt_file_open (const gchar *name, GError **error);
/* All of a regular file, followed by a NUL. NDT_ERROR_IO also where it has more than @max_size
 * bytes. */
gboolean ndt_file_read (
    const gchar *name, guint64 max_size, gchar **text, gsize *size, GError **error);

/* Order of names by the numbers in them: "2" before "10"; equal numbers by their length, so that
 * the order is one of all names. As qsort's; for paths: folder by folder. */
gint ndt_file_compare_names (const gchar *a, const gchar *b);

/* TRUE where a file is called as files of points are: .pcd, .ply, .las, in upper or lower case.
 * Also .laz and .e57, which are refused when they are opened, so that no part of a folder is left
 * out. */
gboolean ndt_file_is_points (const gchar *name);

G_END_DECLS
