/* SPDX-License-Identifier: MIT */
#include "gsttrajectoryfile.h"

#include <errno.h>
#include <unistd.h>

#include "gst/common/gstlocation.h"

void
gst_trajectory_file_init (GstTrajectoryFile *file)
{
  file->fd = -1;
  file->shown = NULL;
  file->line = g_string_new (NULL);
}

void
gst_trajectory_file_clear (GstTrajectoryFile *file)
{
  gst_trajectory_file_close (file);
  g_string_free (file->line, TRUE);
}

void
gst_trajectory_file_close (GstTrajectoryFile *file)
{
  if (file->fd >= 0)
    close (file->fd);
  file->fd = -1;
  g_clear_pointer (&file->shown, g_free);
  g_string_truncate (file->line, 0);
}

static void
set_error (GstTrajectoryFile *file, GError **error)
{
  if (errno == ENOSPC || errno == EDQUOT)
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT,
        "No space left for “%s”", file->shown);
  else
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_WRITE, "“%s” cannot be written: %s",
        file->shown, g_strerror (errno));
}

static gboolean
write_line (GstTrajectoryFile *file, GError **error)
{
  const gchar *data = file->line->str;
  gsize left = file->fd >= 0 ? file->line->len : 0;
  while (left > 0) {
    const gssize n = write (file->fd, data, left);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0) {
      set_error (file, error);
      return FALSE;
    }
    data += n;
    left -= (gsize)n;
  }
  g_string_truncate (file->line, 0);
  return TRUE;
}

gboolean
gst_trajectory_file_open (
    GstTrajectoryFile *file, const gchar *location, NdtTrajectoryFormat format, GError **error)
{
  g_autofree gchar *path = NULL;
  gst_trajectory_file_close (file);
  file->format = format;
  if (!location)
    return TRUE;
  path = gst_location_resolve (location, GST_LOCATION_WRITE, error);
  file->fd = path ? gst_location_create (path, error) : -1;
  if (file->fd < 0)
    return FALSE;
  file->shown = g_filename_display_name (path);
  ndt_trajectory_write_header (file->line, format);
  return write_line (file, error);
}

gboolean
gst_trajectory_file_write (
    GstTrajectoryFile *file, const NdtTrajectoryRecord *record, GError **error)
{
  ndt_trajectory_write_line (file->line, file->format, record);
  return write_line (file, error);
}

gboolean
gst_trajectory_file_sync (GstTrajectoryFile *file, GError **error)
{
  /* Pipes and devices cannot be synchronized; that is no error. */
  if (file->fd < 0 || fsync (file->fd) == 0 || (errno != EIO && errno != ENOSPC))
    return TRUE;
  set_error (file, error);
  return FALSE;
}
