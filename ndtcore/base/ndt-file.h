/* SPDX-License-Identifier: MIT */
/* Resolving and ordering names of files; reading files of moderate size. Private. */
#pragma once

#include <glib.h>
#include <stdio.h>

G_BEGIN_DECLS

/**
 * ndt_file_resolve:
 * @name: a path in the encoding of file names, as it is; "~" and "~/…" are the home of the user;
 *   "file:///…" is a path in a URI
 *
 * Resolves what a shell or a file dialog would resolve. An existing file whose name is @name
 * unchanged has precedence over "~" and URIs.
 *
 * Returns: (transfer full): a path, absolute or relative as @name is; NULL with
 *   %NDT_ERROR_INVALID_ARGUMENT for a URI of another scheme or host, "~user", "-" (standard input
 *   or output) and an empty name
 */
gchar *ndt_file_resolve (const gchar *name, GError **error);

/* Opens a regular file for reading; @name goes through ndt_file_resolve(). -1 with NDT_ERROR_IO
 * where it is missing, unreadable or no regular file: reading a pipe could wait forever. The caller
 * closes the descriptor. */
int ndt_file_open (const gchar *name, GError **error);
/* Reads a whole regular file of at most @max_size bytes. @text (transfer full) has @size bytes and
 * a NUL after them. Errors: those of ndt_file_open(), NDT_ERROR_IO for a larger file,
 * NDT_ERROR_NO_MEMORY. */
gboolean ndt_file_read (
    const gchar *name, guint64 max_size, gchar **text, gsize *size, GError **error);

/* Compares names with the numbers in them by value ("2" before "10"), equal numbers by their number
 * of digits, so that only equal names compare equal. Paths are compared folder by folder. Returns
 * as strcmp() does. */
gint ndt_file_compare_names (const gchar *a, const gchar *b);

/* Writes a file: @write puts all of it into @out, FALSE with errno where it cannot. It appears
 * under
 * @name, which goes through ndt_file_resolve(), when it is whole and on the disk; until then, and
 * where something fails, what was there before is. NDT_ERROR_IO, also where @name is no regular
 * file. */
gboolean ndt_file_replace (const gchar *name, gboolean (*write) (FILE *out, gpointer user_data),
    gpointer user_data, GError **error);

/* TRUE where the name ends in .pcd, .ply or .las, in upper or lower case. Also for .laz and .e57:
 * opening them fails, whereas skipping them would leave out part of a folder without an error. */
gboolean ndt_file_is_points (const gchar *name);

G_END_DECLS
