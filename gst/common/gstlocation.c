/* SPDX-License-Identifier: MIT */
#include "gstlocation.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ndtcore/base/ndt-file.h"

/* @format has one %s, the location as it can be shown. */
static void refuse (GError **error, gint code, const gchar *location, const gchar *format)
    G_GNUC_PRINTF (4, 0);

static void
refuse (GError **error, gint code, const gchar *location, const gchar *format)
{
  g_autofree gchar *shown = g_filename_display_name (location);

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  g_set_error (error, GST_RESOURCE_ERROR, code, format, shown);
#pragma GCC diagnostic pop
}

static gboolean
check_use (const gchar *path, GstLocationUse use, GError **error)
{
  GStatBuf info;

  if (g_stat (path, &info) != 0 || S_ISREG (info.st_mode))
    return TRUE;
  if (S_ISDIR (info.st_mode)) {
    if (use == GST_LOCATION_READ_FOLDER)
      return TRUE;
    refuse (error, GST_RESOURCE_ERROR_SETTINGS, path, "“%s” is a folder: give a file");
    return FALSE;
  }
  if (use == GST_LOCATION_WRITE)
    return TRUE;
  refuse (error, GST_RESOURCE_ERROR_SETTINGS, path,
      "“%s” is a pipe or device, and no file that can be read as a whole: write its data to a file "
      "first");
  return FALSE;
}

gchar *
gst_location_resolve (const gchar *location, GstLocationUse use, GError **error)
{
  g_autoptr (GError) reason = NULL;
  g_autofree gchar *path = NULL, *here = NULL;

  g_return_val_if_fail (location != NULL, NULL);

  path = ndt_file_resolve (location, &reason);
  if (!path) {
    g_set_error_literal (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, reason->message);
    return NULL;
  }
  if (!check_use (path, use, error))
    return NULL;
  if (g_path_is_absolute (path))
    return g_steal_pointer (&path);
  here = g_get_current_dir ();
  return g_build_filename (here, path, NULL);
}

gchar *
gst_location_resolve_or_post (GstElement *element, const gchar *location, GstLocationUse use)
{
  g_autoptr (GError) error = NULL;
  gchar *path = gst_location_resolve (location, use, &error);

  if (!path)
    GST_ELEMENT_ERROR (element, RESOURCE, SETTINGS, ("%s.", error->message), (NULL));
  return path;
}

static void
set_open_error (const gchar *path, int number, GError **error)
{
  g_autofree gchar *shown = g_filename_display_name (path);

  if (number == EWOULDBLOCK)
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_BUSY,
        "“%s” is being written by another element: give each a file of its own", shown);
  else if (number == ENXIO)
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_WRITE,
        "“%s” is a FIFO that nobody reads: start its reader first", shown);
  else
    g_set_error (error, GST_RESOURCE_ERROR,
        number == ENOSPC || number == EDQUOT ? GST_RESOURCE_ERROR_NO_SPACE_LEFT
                                             : GST_RESOURCE_ERROR_OPEN_WRITE,
        "“%s” cannot be opened for writing: %s", shown, g_strerror (number));
}

/* Emptied only once nobody else writes it. Devices and FIFOs have no content to be spoilt. */
static gboolean
take_file (int fd)
{
  struct stat info;

  if (fstat (fd, &info) != 0)
    return FALSE;
  if (!S_ISREG (info.st_mode))
    return fcntl (fd, F_SETFL, fcntl (fd, F_GETFL) & ~O_NONBLOCK) == 0;
  /* File systems without locks have none to break. */
  if (flock (fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return FALSE;
  return ftruncate (fd, 0) == 0;
}

int
gst_location_create (const gchar *path, GError **error)
{
  /* Without O_NONBLOCK a FIFO would hold up the change of state until somebody reads it. */
  const int fd = g_open (path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);

  if (fd >= 0 && take_file (fd))
    return fd;
  set_open_error (path, errno, error);
  if (fd >= 0)
    close (fd);
  return -1;
}
