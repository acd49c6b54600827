/* SPDX-License-Identifier: MIT */
#include "ndt-file.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ndt-error.h"

static gchar *
refuse (const gchar *name, const gchar *what, GError **error)
{
  g_autofree gchar *shown = g_filename_display_name (name);
  g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT, "“%s” %s", shown, what);
  return NULL;
}

/* The length of a URI's scheme, 0 where there is none. */
static gsize
scheme_length (const gchar *name)
{
  gsize n = 0;
  while (g_ascii_isalnum (name[n]) || (n > 0 && strchr ("+-.", name[n]) && name[n]))
    n++;
  return n > 1 && strncmp (name + n, "://", 3) == 0 ? n : 0;
}

gchar *
ndt_file_resolve (const gchar *name, GError **error)
{
  if (name[0] == '\0')
    return refuse (name, "is no name of a file", error);
  if (strcmp (name, "-") == 0)
    return refuse (
        name, "is no file: standard input is not read, and standard output is /dev/stdout", error);
  const gsize scheme = scheme_length (name);
  if ((scheme == 0 && name[0] != '~') || g_file_test (name, G_FILE_TEST_EXISTS))
    return g_strdup (name);
  if (name[0] == '~') {
    if (name[1] != '/' && name[1] != '\0')
      return refuse (
          name, "names another user's home: give the path, or ./~… for a file of this name", error);
    return g_build_filename (g_get_home_dir (), name + 1, NULL);
  }
  if (scheme != 4 || g_ascii_strncasecmp (name, "file", 4) != 0)
    return refuse (name, "is a URI that is no file's: give a path, or a URI file:///…", error);
  g_autoptr (GError) cause = NULL;
  g_autofree gchar *host = NULL;
  g_autofree gchar *path = g_filename_from_uri (name, &host, &cause);
  if (!path)
    return refuse (name, "is no valid URI of a file (file:///folder/name)", error);
  if (host && g_ascii_strcasecmp (host, "localhost") != 0)
    return refuse (name, "is a file of another host: give a path, or a URI file:///…", error);
  return g_steal_pointer (&path);
}

static gboolean
fail (const gchar *shown, const gchar *what, GError **error)
{
  g_set_error (error, NDT_ERROR, NDT_ERROR_IO, "%s: %s", shown, what);
  return FALSE;
}

int
ndt_file_open (const gchar *name, GError **error)
{
  struct stat status;
  g_autofree gchar *path = ndt_file_resolve (name, error);
  if (!path)
    return -1;
  g_autofree gchar *shown = g_filename_display_name (path);
  /* Without O_NONBLOCK opening a pipe blocks until another process opens it for writing. */
  const int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    fail (shown, g_strerror (errno), error);
    return -1;
  }
  const gboolean known = fstat (fd, &status) == 0;
  if (known && S_ISREG (status.st_mode))
    return fd;
  if (known)
    g_set_error (error, NDT_ERROR, NDT_ERROR_IO, "%s is not a regular file but %s", shown,
        S_ISDIR (status.st_mode) ? "a folder"
                                 : "a pipe or a device: copy what it gives to a file first");
  else
    fail (shown, g_strerror (errno), error);
  close (fd);
  return -1;
}

static gboolean
read_all (int fd, guint64 max_size, const gchar *shown, gchar **text, gsize *size, GError **error)
{
  struct stat status;
  if (fstat (fd, &status) != 0)
    return fail (shown, g_strerror (errno), error);
  if ((guint64)status.st_size > max_size) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_IO, "%s: larger than %" G_GUINT64_FORMAT " MiB", shown,
        max_size >> 20);
    return FALSE;
  }
  const gsize room = (gsize)status.st_size;
  gsize n = 0;
  g_autofree gchar *bytes = g_try_malloc (room + 1);
  if (!bytes) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_NO_MEMORY, "%s: no memory", shown);
    return FALSE;
  }
  /* Bytes appended after fstat() are not read. */
  while (n < room) {
    const gssize got = read (fd, bytes + n, room - n);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return fail (shown, g_strerror (errno), error);
    if (got == 0)
      break;
    n += (gsize)got;
  }
  bytes[n] = '\0';
  *text = g_steal_pointer (&bytes);
  *size = n;
  return TRUE;
}

gboolean
ndt_file_read (const gchar *name, guint64 max_size, gchar **text, gsize *size, GError **error)
{
  g_autofree gchar *shown = g_filename_display_name (name);
  const int fd = ndt_file_open (name, error);
  if (fd < 0)
    return FALSE;
  const gboolean ok = read_all (fd, max_size, shown, text, size, error);
  close (fd);
  return ok;
}

gint
ndt_file_compare_names (const gchar *a, const gchar *b)
{
  const gchar *p = a, *q = b;
  gint tie = 0;
  while (*p && *q) {
    if (g_ascii_isdigit (*p) && g_ascii_isdigit (*q)) {
      gsize zeros_p = 0, zeros_q = 0, n_p = 0, n_q = 0;
      while (p[zeros_p] == '0')
        zeros_p++;
      while (q[zeros_q] == '0')
        zeros_q++;
      while (g_ascii_isdigit (p[zeros_p + n_p]))
        n_p++;
      while (g_ascii_isdigit (q[zeros_q + n_q]))
        n_q++;
      const gint order = n_p != n_q ? (n_p < n_q ? -1 : 1) : memcmp (p + zeros_p, q + zeros_q, n_p);
      if (order != 0)
        return order < 0 ? -1 : 1;
      if (tie == 0 && zeros_p != zeros_q)
        tie = zeros_p < zeros_q ? -1 : 1;
      p += zeros_p + n_p;
      q += zeros_q + n_q;
      continue;
    }
    if (*p != *q) {
      /* '/' sorts before all other characters. */
      if (*p == '/' || *q == '/')
        return *p == '/' ? -1 : 1;
      return (guchar)*p < (guchar)*q ? -1 : 1;
    }
    p++;
    q++;
  }
  if (*p || *q)
    return *p ? 1 : -1;
  return tie;
}

gboolean
ndt_file_is_points (const gchar *name)
{
  static const gchar *const ends[] = {".pcd", ".ply", ".las", ".laz", ".e57"};
  const gchar *dot = strrchr (name, '.');
  for (guint i = 0; dot && i < G_N_ELEMENTS (ends); i++)
    if (g_ascii_strcasecmp (dot, ends[i]) == 0)
      return TRUE;
  return FALSE;
}

gboolean
ndt_file_replace (const gchar *name, gboolean (*write) (FILE *out, gpointer user_data),
    gpointer user_data, GError **error)
{
  g_autofree gchar *path = ndt_file_resolve (name, error);
  if (!path)
    return FALSE;
  g_autofree gchar *shown = g_filename_display_name (path);
  /* A pipe or a device would be replaced by a file. */
  if (g_file_test (path, G_FILE_TEST_EXISTS) && !g_file_test (path, G_FILE_TEST_IS_REGULAR)) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_IO, "cannot write %s: not a regular file", shown);
    return FALSE;
  }
  g_autofree gchar *temporary = g_strconcat (path, ".XXXXXX", NULL);
  int fd = g_mkstemp_full (temporary, O_RDWR | O_CLOEXEC, 0666);
  if (fd < 0) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_IO, "cannot write %s: %s", shown, g_strerror (errno));
    return FALSE;
  }
  FILE *out = fdopen (fd, "wb");
  if (!out)
    close (fd);
  /* On the disk before the name is given to it: a crash leaves the old file or the new. */
  gboolean ok = out && write (out, user_data) && fflush (out) == 0 && fsync (fileno (out)) == 0;
  int cause = errno;
  if (out && fclose (out) != 0 && ok) {
    ok = FALSE;
    cause = errno;
  }
  if (ok && g_rename (temporary, path) != 0) {
    ok = FALSE;
    cause = errno;
  }
  if (!ok) {
    g_unlink (temporary);
    g_set_error (error, NDT_ERROR, NDT_ERROR_IO, "cannot write %s: %s", shown, g_strerror (cause));
  }
  return ok;
}
