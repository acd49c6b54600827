/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* fallocate() */
#endif
#include "mcap-output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* Reserved beyond what is needed, so that not every chunk asks the file system: a part of the file,
 * so that a small one keeps little from others on a small disk, and so much at most. */
#define RESERVE_PART 8
#define MAX_RESERVE_AHEAD (G_GUINT64_CONSTANT (16) << 20)

#define MAX_PARTS 4

struct _McapOutput {
  gchar *path;
  int fd;
  guint64 reserved; /* offset that room is reserved to */
  gboolean cannot_reserve;
  gboolean is_regular; /* no device */
  gboolean is_lost;

  GThread *thread;
  gint64 sync_interval;
  GMutex lock;
  GCond cond;
  /* under the lock */
  guint64 position;
  guint64 synced;
  gint sync_errno;
  gboolean stop;
};

G_DEFINE_QUARK (mcap - output - error - quark, mcap_output_error)

static void
set_error (GError **error, const gchar *path, const gchar *what, gint code, gint number)
{
  gboolean full = number == ENOSPC || number == EDQUOT || number == EFBIG;
  g_autofree gchar *shown = g_filename_display_name (path);

  g_set_error (error, MCAP_OUTPUT_ERROR, full ? MCAP_OUTPUT_ERROR_FULL : code, "%s \"%s\": %s",
      what, path, g_strerror (number));
}

static gint
sync_data (int fd)
{
  while (fdatasync (fd) != 0) {
    /* Pipes and some devices have nothing to wait for. */
    if (errno == EINVAL || errno == EROFS)
      return 0;
    if (errno != EINTR)
      return errno;
  }
  return 0;
}

static gpointer
sync_thread (McapOutput *self)
{
  g_mutex_lock (&self->lock);
  while (!self->stop) {
    gint64 until = g_get_monotonic_time () + self->sync_interval;
    guint64 position;
    gint number;

    while (!self->stop && g_cond_wait_until (&self->cond, &self->lock, until))
      ;
    position = self->position;
    if (self->stop || position == self->synced)
      continue;
    g_mutex_unlock (&self->lock);
    number = sync_data (self->fd);
    g_mutex_lock (&self->lock);
    if (number == 0)
      self->synced = position;
    else
      self->sync_errno = number;
  }
  g_mutex_unlock (&self->lock);
  return NULL;
}

/* The name in its folder survives a power loss as well. */
static void
sync_folder (const gchar *path)
{
  g_autofree gchar *folder = g_path_get_dirname (path);
  int fd = open (folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

  if (fd < 0)
    return;
  (void)!fsync (fd);
  close (fd);
}

/* Only once nobody else writes it: gst_location_create() locks as well. File systems without locks
 * have none to break, and devices have no content. */
static gboolean
empty_file (int fd)
{
  struct stat about;

  if (fstat (fd, &about) != 0)
    return FALSE;
  if (!S_ISREG (about.st_mode))
    return TRUE;
  if (flock (fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return FALSE;
  return about.st_size == 0 || ftruncate (fd, 0) == 0;
}

McapOutput *
mcap_output_open (const gchar *path, gboolean overwrite, gint64 sync_interval, GError **error)
{
  /* Waits for nobody, as opening a pipe would. */
  int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | (overwrite ? 0 : O_EXCL);
  McapOutput *self;
  g_autofree gchar *shown = g_filename_display_name (path);
  struct stat about;
  int fd = open (path, flags, 0666);

  if (overwrite && stat (path, &about) == 0 && S_ISFIFO (about.st_mode)) {
    g_set_error (error, MCAP_OUTPUT_ERROR, MCAP_OUTPUT_ERROR_OPEN,
        "\"%s\" is a pipe: mcapmux and a sink for bytes record to those", shown);
    if (fd >= 0)
      close (fd);
    return NULL;
  }
  if (fd < 0) {
    if (errno == EEXIST)
      g_set_error (error, MCAP_OUTPUT_ERROR, MCAP_OUTPUT_ERROR_EXISTS,
          "\"%s\" exists: choose another location or set overwrite=true", shown);
    else
      set_error (error, path, "Could not open", MCAP_OUTPUT_ERROR_OPEN, errno);
    return NULL;
  }
  if (!empty_file (fd)) {
    if (errno == EWOULDBLOCK)
      g_set_error (error, MCAP_OUTPUT_ERROR, MCAP_OUTPUT_ERROR_BUSY,
          "\"%s\" is being written by another recorder: choose another location", shown);
    else
      set_error (error, path, "Could not open", MCAP_OUTPUT_ERROR_OPEN, errno);
    close (fd);
    return NULL;
  }
  self = g_new0 (McapOutput, 1);
  self->path = g_strdup (path);
  self->fd = fd;
  self->sync_interval = sync_interval;
  self->is_regular = fstat (fd, &about) == 0 && S_ISREG (about.st_mode);
  g_mutex_init (&self->lock);
  g_cond_init (&self->cond);
  if (sync_interval > 0) {
    sync_folder (path);
    self->thread = g_thread_new ("mcap-sync", (GThreadFunc)sync_thread, self);
  }
  return self;
}

static gint
try_reserve (McapOutput *self, guint64 end)
{
  struct rlimit limit;

  /* What is reserved without becoming the file's size is not held against the limit. */
  if (end > G_MAXINT64 || (getrlimit (RLIMIT_FSIZE, &limit) == 0 && end > limit.rlim_cur))
    return EFBIG;
  while (fallocate (self->fd, FALLOC_FL_KEEP_SIZE, self->reserved, end - self->reserved) != 0)
    if (errno != EINTR)
      return errno;
  self->reserved = end;
  return 0;
}

gboolean
mcap_output_reserve (McapOutput *self, guint64 size, GError **error)
{
  guint64 end = self->position + size;
  gint number;

  if (self->cannot_reserve || end <= self->reserved)
    return TRUE;
  number = try_reserve (self, end + MIN (end / RESERVE_PART, MAX_RESERVE_AHEAD));
  if (number == ENOSPC || number == EDQUOT || number == EFBIG)
    number = try_reserve (self, end);
  if (number == ENOSPC || number == EDQUOT || number == EFBIG) {
    set_error (error, self->path, "No room to record in", MCAP_OUTPUT_ERROR_WRITE, number);
    return FALSE;
  }
  /* A file system that knows no reservation: writing shows what fits. */
  if (number != 0)
    self->cannot_reserve = TRUE;
  return TRUE;
}

static gint
write_all (int fd, struct iovec *iov, gint n)
{
  while (n > 0) {
    ssize_t written = writev (fd, iov, n);

    if (written < 0) {
      if (errno == EINTR)
        continue;
      return errno;
    }
    while (n > 0 && (gsize)written >= iov->iov_len) {
      written -= iov->iov_len;
      iov++;
      n--;
    }
    if (n > 0) {
      iov->iov_base = (guint8 *)iov->iov_base + written;
      iov->iov_len -= written;
    }
  }
  return 0;
}

/* What was written is under its name and as long as it was. */
static gboolean
check_file (McapOutput *self, GError **error)
{
  const gchar *what = NULL;
  struct stat about;

  if (!self->is_regular || fstat (self->fd, &about) != 0)
    return TRUE;
  if (about.st_nlink == 0)
    what = "deleted or replaced";
  else if ((guint64)about.st_size < self->position)
    what = "cut";
  else if ((guint64)about.st_size > self->position)
    what = "written to";
  if (what) {
    g_autofree gchar *shown = g_filename_display_name (self->path);

    self->is_lost = TRUE;
    g_set_error (error, MCAP_OUTPUT_ERROR, MCAP_OUTPUT_ERROR_LOST,
        "\"%s\" was %s by another program while it was recorded, after %" G_GUINT64_FORMAT " bytes",
        shown, what, self->position);
  }
  return what == NULL;
}

/* The error of the disk that was not told yet. */
static gint
take_sync_errno (McapOutput *self)
{
  gint number;

  g_mutex_lock (&self->lock);
  number = self->sync_errno;
  self->sync_errno = 0;
  g_mutex_unlock (&self->lock);
  return number;
}

gboolean
mcap_output_write (McapOutput *self, const McapPart *parts, guint n_parts, GError **error)
{
  struct iovec iov[MAX_PARTS];
  guint64 size = 0;
  gint number;

  g_return_val_if_fail (n_parts <= MAX_PARTS, FALSE);

  for (guint i = 0; i < n_parts; i++) {
    iov[i].iov_base = (void *)parts[i].data;
    iov[i].iov_len = parts[i].size;
    size += parts[i].size;
  }
  if (self->is_lost) {
    set_error (error, self->path, "Could not write to", MCAP_OUTPUT_ERROR_LOST, EIO);
    return FALSE;
  }
  if (!check_file (self, error))
    return FALSE;
  number = take_sync_errno (self);
  if (number == 0)
    number = write_all (self->fd, iov, n_parts);
  if (number != 0) {
    set_error (error, self->path, "Could not write to", MCAP_OUTPUT_ERROR_WRITE, number);
    /* What stands there stays readable to the last byte. */
    if (ftruncate (self->fd, self->position) == 0)
      lseek (self->fd, self->position, SEEK_SET);
    return FALSE;
  }
  g_mutex_lock (&self->lock);
  self->position += size;
  g_mutex_unlock (&self->lock);
  return TRUE;
}

gboolean
mcap_output_close (McapOutput *self, GError **error)
{
  gboolean ok = TRUE;
  gint number = 0;

  if (self->thread) {
    g_mutex_lock (&self->lock);
    self->stop = TRUE;
    g_cond_signal (&self->cond);
    g_mutex_unlock (&self->lock);
    g_thread_join (self->thread);
    number = self->sync_errno;
  }
  if (!self->is_lost)
    ok = check_file (self, error);
  if (!self->is_lost && self->reserved > self->position &&
      ftruncate (self->fd, self->position) != 0 && number == 0)
    number = errno;
  if (self->sync_interval > 0 && number == 0)
    number = sync_data (self->fd);
  if (close (self->fd) != 0 && errno != EINTR && number == 0)
    number = errno;
  if (self->is_regular && self->position == 0 && !self->is_lost)
    unlink (self->path);
  if (ok && number != 0)
    set_error (error, self->path, "Could not finish", MCAP_OUTPUT_ERROR_CLOSE, number);
  g_mutex_clear (&self->lock);
  g_cond_clear (&self->cond);
  g_free (self->path);
  g_free (self);
  return ok && number == 0;
}

guint64
mcap_output_get_position (const McapOutput *self)
{
  return self->position;
}

guint64
mcap_output_get_synced (McapOutput *self)
{
  guint64 synced;

  g_mutex_lock (&self->lock);
  synced = self->synced;
  g_mutex_unlock (&self->lock);
  return synced;
}
