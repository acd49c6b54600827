/* SPDX-License-Identifier: MIT */
#include "bag-merger.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bag-files.h"
#include "bag-sqlite.h"
#include "gst/mcap/container/mcap-format.h"
#include "gst/mcap/container/mcap-unpack.h"
#include "gst/mcap/remote/remote-file.h"

/* One file. It is closed while none of its messages are at hand, so that recordings of more files
 * than a process may have open can be read. */
typedef struct {
  BagMerger *merger;
  gchar *name; /* as the user knows it, and may be shown; NULL: not a file */
  gchar *path; /* of what is read: unpacked, for zstd */
  gboolean is_temporary;
  gboolean is_packed; /* each message by zstd */
  int fd;
  RemoteFile *remote; /* NULL: a file of this machine */
  McapReader *mcap;
  BagSqlite *sqlite;
  gboolean is_sqlite;
  gboolean has_range;
  guint64 start;
  guint64 end;
  GHashTable *channels; /* by their numbers in the file: BagChannel */

  gboolean is_done;
  gboolean is_active;
  McapMessage head; /* next message of an active file */
} BagFile;

struct _BagMerger {
  BagLimits limits;
  gint64 deadline; /* monotonic time by which it is to be open; 0: none */
  gint is_cancelled;
  GPtrArray *files;
  BagChannels channels;
  BagFile *used; /* whose head was given out */
  guint64 from;
  GByteArray *unpacked;
  guint64 n_damaged; /* beside those that the MCAP readers count */
  gchar *warning;
};

/* Prefixes the error with the file's name. */
static gboolean
fail (const BagFile *file, GError **error)
{
  if (file->name) {
    g_autofree gchar *name = g_filename_display_name (file->name);
    g_prefix_error (error, "\"%s\" cannot be read: ", name);
  }
  return FALSE;
}

static void
close_file (BagFile *file)
{
  if (file->fd >= 0)
    close (file->fd);
  file->fd = -1;
  g_clear_pointer (&file->sqlite, bag_sqlite_free);
  file->is_active = FALSE;
}

static void
free_file (gpointer data)
{
  BagFile *file = data;
  close_file (file);
  g_clear_pointer (&file->mcap, mcap_reader_free);
  g_clear_pointer (&file->remote, remote_file_free);
  if (file->is_temporary)
    g_unlink (file->path);
  g_free (file->name);
  g_free (file->path);
  g_clear_pointer (&file->channels, g_hash_table_unref);
  g_free (file);
}

static gssize
read_file (gpointer user_data, guint64 offset, guint8 *data, gsize size, GError **error)
{
  BagFile *file = user_data;
  BagMerger *self = file->merger;
  gssize n;

  if (g_atomic_int_get (&self->is_cancelled)) {
    g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_CANCELLED, "reading was stopped");
    return -1;
  }
  if (self->deadline != 0 && g_get_monotonic_time () > self->deadline) {
    g_set_error (error, MCAP_ERROR, MCAP_ERROR_UNSUPPORTED,
        "opening it takes longer than %u s (property max-open-time)", self->limits.max_open_time);
    return -1;
  }
  if (file->remote)
    return remote_file_read (file->remote, offset, data, size, error);
  if (file->fd < 0)
    file->fd = open (file->path, O_RDONLY | O_CLOEXEC);
  do
    n = file->fd < 0 ? -1 : pread (file->fd, data, size, (off_t)offset);
  while (n < 0 && errno == EINTR);
  if (n < 0)
    g_set_error (error, MCAP_ERROR, MCAP_ERROR_READ, "%s", g_strerror (errno));
  return n;
}

static const McapTable *
get_table (const BagFile *file)
{
  return file->is_sqlite ? bag_sqlite_get_table (file->sqlite) : mcap_reader_get_table (file->mcap);
}

static const BagChannel *
find_channel (BagMerger *self, BagFile *file, guint id)
{
  const BagChannel *channel = g_hash_table_lookup (file->channels, GUINT_TO_POINTER (id));
  if (channel)
    return channel;
  const McapTable *table = get_table (file);
  const McapChannel *found = mcap_table_get_channel (table, id);
  if (!found)
    return NULL;
  channel = bag_channels_add (&self->channels, table, found);
  g_hash_table_insert (file->channels, GUINT_TO_POINTER (id), (gpointer)channel);
  return channel;
}

static gint
compare_numbers (gconstpointer a, gconstpointer b)
{
  return GPOINTER_TO_UINT (a) < GPOINTER_TO_UINT (b) ? -1 : 1;
}

/* Takes the channels that are known, in the order of their numbers. */
static void
take_channels (BagMerger *self, BagFile *file)
{
  GList *ids = g_hash_table_get_keys (get_table (file)->channels);
  ids = g_list_sort (ids, compare_numbers);
  for (GList *l = ids; l; l = l->next)
    find_channel (self, file, GPOINTER_TO_UINT (l->data));
  g_list_free (ids);
}

static gboolean
take_warning (BagMerger *self, BagFile *file)
{
  g_autofree gchar *warning = file->mcap ? mcap_reader_take_warning (file->mcap) : NULL;
  if (warning && !self->warning)
    self->warning = file->name ? g_strdup_printf ("\"%s\": %s", file->name, warning)
                               : g_steal_pointer (&warning);
  return TRUE;
}

static BagFile *
file_new (BagMerger *self)
{
  BagFile *file = g_new0 (BagFile, 1);
  file->merger = self;
  file->fd = -1;
  file->channels = g_hash_table_new (NULL, NULL);
  return file;
}

static gboolean
open_mcap (BagMerger *self, BagFile *file, guint64 size, GError **error)
{
  file->mcap = mcap_reader_new (read_file, file, size, error);
  if (!file->mcap)
    return FALSE;
  mcap_reader_set_limit (file->mcap, self->limits.max_record_size);
  file->has_range = mcap_reader_get_range (file->mcap, &file->start, &file->end);
  return TRUE;
}

/* By its parts: what needs all of a file (SQLite, what is compressed as a whole) has to be fetched
 * by its user. */
static gboolean
open_remote (BagMerger *self, BagFile *file, GError **error)
{
  guint8 magic[MCAP_MAGIC_SIZE];

  file->remote = remote_file_open (file->path, self->limits.cache, &self->is_cancelled, error);
  if (!file->remote)
    return FALSE;
  if (remote_file_read (file->remote, 0, magic, sizeof magic, error) == sizeof magic &&
      memcmp (magic, MCAP_MAGIC, sizeof magic) == 0)
    return open_mcap (self, file, remote_file_get_size (file->remote), error);
  if (error && !*error)
    g_set_error_literal (error, MCAP_ERROR, MCAP_ERROR_UNSUPPORTED,
        "of files on servers only MCAP is read: fetch it first");
  return FALSE;
}

static gboolean
open_file (BagMerger *self, BagFolders *folders, BagFile *file, GError **error)
{
  GStatBuf status;
  if (remote_is_location (file->path))
    return open_remote (self, file, error);
  BagFileKind kind = bag_file_get_kind (file->path, error);

  if (kind == BAG_FILE_ZSTD) {
    gchar *unpacked = bag_file_unpack (file->path, self->limits.max_unpacked_size, error);
    if (!unpacked)
      return FALSE;
    g_free (file->path);
    file->path = unpacked;
    file->is_temporary = TRUE;
    kind = bag_file_get_kind (file->path, error);
  }
  file->is_packed = bag_folders_have_packed_messages (folders, file->name);
  if (kind == BAG_FILE_SQLITE) {
    file->is_sqlite = TRUE;
    file->sqlite =
        bag_sqlite_new (file->path, &self->limits, &self->is_cancelled, &self->deadline, error);
    if (!file->sqlite)
      return FALSE;
    return bag_sqlite_get_range (file->sqlite, &file->has_range, &file->start, &file->end, error);
  }
  if (kind != BAG_FILE_MCAP) {
    if (error && !*error)
      g_set_error_literal (
          error, MCAP_ERROR, MCAP_ERROR_FORMAT, "what is compressed in it is no recording");
    return FALSE;
  }
  if (g_stat (file->path, &status) != 0) {
    g_set_error (error, MCAP_ERROR, MCAP_ERROR_READ, "%s", g_strerror (errno));
    return FALSE;
  }
  return open_mcap (self, file, (guint64)status.st_size, error);
}

static BagMerger *
merger_new (const BagLimits *limits)
{
  static const BagLimits defaults = BAG_LIMITS_INIT;
  BagMerger *self = g_new0 (BagMerger, 1);
  self->limits = limits ? *limits : defaults;
  self->deadline = g_get_monotonic_time () + self->limits.max_open_time * G_USEC_PER_SEC;
  self->limits.max_record_size = MIN (self->limits.max_record_size, MCAP_MAX_READ_LIMIT);
  self->files = g_ptr_array_new_with_free_func (free_file);
  self->unpacked = g_byte_array_new ();
  bag_channels_init (&self->channels);
  return self;
}

BagMerger *
bag_merger_new (const GPtrArray *paths, const BagLimits *limits, GError **error)
{
  g_autoptr (BagMerger) self = merger_new (limits);
  g_autoptr (BagFolders) folders = bag_folders_new ();
  for (guint i = 0; i < paths->len; i++) {
    BagFile *file = file_new (self);
    g_ptr_array_add (self->files, file);
    file->path = g_strdup (g_ptr_array_index (paths, i));
    file->name = remote_redact (file->path);
    if (!open_file (self, folders, file, error)) {
      fail (file, error);
      return NULL;
    }
    take_channels (self, file);
    take_warning (self, file);
    close_file (file);
  }
  self->limits.cache = NULL; /* the caller's */
  return g_steal_pointer (&self);
}

BagMerger *
bag_merger_new_mcap (
    McapReadFunc read, gpointer user_data, guint64 size, const BagLimits *limits, GError **error)
{
  g_autoptr (BagMerger) self = merger_new (limits);
  BagFile *file = file_new (self);
  g_ptr_array_add (self->files, file);
  file->mcap = mcap_reader_new (read, user_data, size, error);
  if (!file->mcap)
    return NULL;
  mcap_reader_set_limit (file->mcap, self->limits.max_record_size);
  file->has_range = mcap_reader_get_range (file->mcap, &file->start, &file->end);
  take_channels (self, file);
  take_warning (self, file);
  return g_steal_pointer (&self);
}

void
bag_merger_end_opening (BagMerger *self)
{
  self->deadline = 0;
}

void
bag_merger_cancel (BagMerger *self)
{
  g_atomic_int_set (&self->is_cancelled, TRUE);
}

void
bag_merger_free (BagMerger *self)
{
  g_ptr_array_unref (self->files);
  bag_channels_clear (&self->channels);
  g_byte_array_unref (self->unpacked);
  g_free (self->warning);
  g_free (self);
}

gboolean
bag_merger_get_range (const BagMerger *self, guint64 *start, guint64 *end)
{
  gboolean has_range = FALSE;
  for (guint i = 0; i < self->files->len; i++) {
    const BagFile *file = g_ptr_array_index (self->files, i);
    if (!file->has_range)
      continue;
    *start = has_range ? MIN (*start, file->start) : file->start;
    *end = has_range ? MAX (*end, file->end) : file->end;
    has_range = TRUE;
  }
  return has_range;
}

guint
bag_merger_get_n_channels (const BagMerger *self)
{
  return self->channels.channels->len;
}

const BagChannel *
bag_merger_get_channel (const BagMerger *self, guint number)
{
  return g_ptr_array_index (self->channels.channels, number);
}

gboolean
bag_merger_has_all_channels (const BagMerger *self)
{
  for (guint i = 0; i < self->files->len; i++) {
    const BagFile *file = g_ptr_array_index (self->files, i);
    McapReaderStats stats = {.has_all_channels = TRUE};
    if (file->mcap)
      mcap_reader_get_stats (file->mcap, &stats);
    if (!stats.has_all_channels)
      return FALSE;
  }
  return TRUE;
}

guint64
bag_merger_get_n_damaged (const BagMerger *self)
{
  guint64 n = self->n_damaged;
  for (guint i = 0; i < self->files->len; i++) {
    const BagFile *file = g_ptr_array_index (self->files, i);
    McapReaderStats stats = {0};
    if (file->mcap)
      mcap_reader_get_stats (file->mcap, &stats);
    n += stats.n_damaged;
  }
  return n;
}

gchar *
bag_merger_take_warning (BagMerger *self)
{
  return g_steal_pointer (&self->warning);
}

gboolean
bag_merger_seek (BagMerger *self, guint64 time, GError **error)
{
  self->used = NULL;
  self->from = time;
  for (guint i = 0; i < self->files->len; i++) {
    BagFile *file = g_ptr_array_index (self->files, i);
    close_file (file);
    file->is_done = !file->has_range || file->end < time;
    if (file->mcap)
      mcap_reader_seek (file->mcap, time);
  }
  return TRUE;
}

/* Reads the next message of a file; it is done when there is none. */
static gboolean
advance (BagMerger *self, BagFile *file, GError **error)
{
  GError *failure = NULL;
  const gboolean found = file->is_sqlite ? bag_sqlite_next (file->sqlite, &file->head, &failure)
                                         : mcap_reader_next (file->mcap, &file->head, &failure);
  take_warning (self, file);
  if (failure) {
    g_propagate_error (error, failure);
    return fail (file, error);
  }
  file->is_active = found;
  if (!found) {
    close_file (file);
    file->is_done = TRUE;
  }
  return TRUE;
}

static gboolean
activate (BagMerger *self, BagFile *file, GError **error)
{
  if (file->is_sqlite) {
    file->sqlite =
        bag_sqlite_new (file->path, &self->limits, &self->is_cancelled, &self->deadline, error);
    if (!file->sqlite || !bag_sqlite_seek (file->sqlite, self->from, error))
      return fail (file, error);
  }
  return advance (self, file, error);
}

/* The active file whose message has the earliest log time, after all files that may begin before
 * it were opened. */
static gboolean
choose_file (BagMerger *self, BagFile **chosen, GError **error)
{
  for (;;) {
    BagFile *first = NULL, *waiting = NULL;
    for (guint i = 0; i < self->files->len; i++) {
      BagFile *file = g_ptr_array_index (self->files, i);
      if (file->is_active && (!first || file->head.log_time < first->head.log_time))
        first = file;
      if (!file->is_active && !file->is_done && (!waiting || file->start < waiting->start))
        waiting = file;
    }
    *chosen = first;
    if (!waiting || (first && first->head.log_time < waiting->start))
      return TRUE;
    if (!activate (self, waiting, error))
      return FALSE;
  }
}

static void
add_damage (BagMerger *self, const BagFile *file, const gchar *what)
{
  self->n_damaged++;
  if (!self->warning)
    self->warning =
        g_strdup_printf ("\"%s\": %s; it is left out.", file->name ? file->name : "MCAP", what);
}

gboolean
bag_merger_next (BagMerger *self, BagMessage *message, GError **error)
{
  for (;;) {
    BagFile *file;
    if (self->used && self->used->is_active && !advance (self, self->used, error))
      return FALSE;
    self->used = NULL;
    if (!choose_file (self, &file, error) || !file)
      return FALSE;
    self->used = file;

    message->channel = find_channel (self, file, file->head.channel_id);
    message->sequence = file->head.sequence;
    message->log_time = file->head.log_time;
    message->publish_time = file->head.publish_time;
    message->data = file->head.data;
    message->size = file->head.size;
    if (!message->channel) {
      add_damage (self, file, "A message is of a topic that there is not");
      continue;
    }
    if (file->is_packed) {
      g_autoptr (GError) damage = NULL;
      g_byte_array_set_size (self->unpacked, 0);
      if (!mcap_unpack_zstd (message->data, message->size, self->limits.max_record_size,
              self->unpacked, &damage)) {
        add_damage (self, file, "A message is compressed and damaged");
        continue;
      }
      message->data = self->unpacked->data;
      message->size = self->unpacked->len;
    }
    return TRUE;
  }
}

gboolean
bag_merger_has_record (BagMerger *self, guint8 opcode)
{
  gboolean found = FALSE;
  for (guint i = 0; i < self->files->len && !found; i++) {
    BagFile *file = g_ptr_array_index (self->files, i);
    found = file->mcap && mcap_reader_has_record (file->mcap, opcode);
    if (!file->is_active)
      close_file (file);
  }
  return found;
}

gboolean
bag_merger_foreach_record (BagMerger *self, McapRecordFunc func, gpointer user_data, GError **error)
{
  gboolean done = TRUE;
  for (guint i = 0; i < self->files->len && done; i++) {
    BagFile *file = g_ptr_array_index (self->files, i);
    if (!file->mcap)
      continue;
    done = mcap_reader_foreach_record (file->mcap, func, user_data, error) || fail (file, error);
    take_warning (self, file);
    if (!file->is_active)
      close_file (file);
  }
  return done;
}
