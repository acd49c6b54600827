/* SPDX-License-Identifier: MIT */
#include "ndt-make-state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "ndtcore/base/ndt-file.h"
#include "ndtcore/base/ndt-hash.h"

#define MAGIC 0x314554415453444eu /* "NDSTATE1" */

typedef struct {
  guint64 magic;
  guint64 body; /* XXH64 of what follows this structure */
  guint64 options;
  guint64 scans;    /* of all scans, one after the other */
  guint64 points;   /* of all points of key scans */
  guint64 n_points; /* bytes of them */
  guint64 n_scans;
  guint64 n_extra;
} Head;

typedef struct {
  guint64 scans; /* Head.scans after the last scan */
  guint64 check; /* XXH64 of @closure */
  NdtClosure closure;
} ClosureRecord;

struct _NdtMakeState {
  gchar *folder;
  int lock;
  FILE *points;
  FILE *closures;
  Head head; /* of what is written */
  guint n_keys;
  guint64 n_to_skip;
  guint64 skipped; /* hash of the scans that were skipped */
  guint64 n_skipped;
  GArray *known;
  int failure; /* errno of writing closures */
};

static gchar *
get_path (const NdtMakeState *state, const gchar *name)
{
  return g_build_filename (state->folder, name, NULL);
}

static gboolean
refuse (const NdtMakeState *state, GError **error, const gchar *why)
{
  g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
      "%s is of a run that cannot be continued: %s; remove the folder to begin anew", state->folder,
      why);
  return FALSE;
}

static gboolean
fail (const NdtMakeState *state, GError **error, int code)
{
  g_set_error (
      error, NDT_ERROR, NDT_ERROR_IO, "%s cannot be used: %s", state->folder, g_strerror (code));
  return FALSE;
}

static guint64
chain (guint64 before, gconstpointer data, gsize size)
{
  const guint64 pair[2] = {before, ndt_hash64 (data, size)};
  return ndt_hash64 (pair, sizeof pair);
}

/* All of a scan that its place in the map depends on. */
static guint64
hash_scan (guint64 before, const NdtScan *scan)
{
  const gsize n = scan->points.n_points;
  g_autofree double *values = g_new (double, 4 * n + 32);
  gsize at = 0;
  for (gsize i = 0; i < n; i++) {
    ndt_cloud_view_get (&scan->points, i, values + at);
    values[at + 3] = scan->times.data ? ndt_time_view_get (&scan->times, i) : 0;
    at += 4;
  }
  values[at++] = (double)scan->time;
  values[at++] = scan->times.data != NULL;
  if (scan->pose) {
    memcpy (values + at, scan->pose, sizeof *scan->pose);
    at += sizeof *scan->pose / sizeof (double);
  }
  if (scan->ends) {
    memcpy (values + at, scan->ends, 2 * sizeof *scan->ends);
    at += 2 * sizeof *scan->ends / sizeof (double);
  }
  return chain (before, values, at * sizeof (double));
}

NdtMakeState *
ndt_make_state_open (const gchar *output, const gchar *options, GError **error)
{
  g_autoptr (NdtMakeState) state = g_new0 (NdtMakeState, 1);
  g_autofree gchar *name = g_strdup (output);
  while (strlen (name) > 1 && g_str_has_suffix (name, "/"))
    name[strlen (name) - 1] = 0;
  state->folder = g_strconcat (name, ".resume", NULL);
  state->lock = -1;
  state->head.magic = MAGIC;
  state->head.options = ndt_hash64 (options, strlen (options));
  if (g_mkdir_with_parents (state->folder, 0777) != 0) {
    fail (state, error, errno);
    return NULL;
  }
  g_autofree gchar *lock = get_path (state, "lock");
  state->lock = g_open (lock, O_CREAT | O_RDWR | O_CLOEXEC, 0666);
  if (state->lock < 0) {
    fail (state, error, errno);
    return NULL;
  }
  if (flock (state->lock, LOCK_EX | LOCK_NB) != 0) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "%s is in use by another run of ndt-map make", state->folder);
    return NULL;
  }
  return g_steal_pointer (&state);
}

void
ndt_make_state_free (NdtMakeState *state)
{
  g_clear_pointer (&state->points, fclose);
  g_clear_pointer (&state->closures, fclose);
  g_clear_pointer (&state->known, g_array_unref);
  if (state->lock >= 0)
    close (state->lock);
  g_free (state->folder);
  g_free (state);
}

/* Opens the file for writing behind its first @size bytes. */
static FILE *
open_at (const NdtMakeState *state, const gchar *name, guint64 size, GError **error)
{
  g_autofree gchar *path = get_path (state, name);
  const int descriptor = g_open (path, O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
  FILE *file = NULL;
  if (descriptor >= 0 && ftruncate (descriptor, (off_t)size) == 0 &&
      lseek (descriptor, (off_t)size, SEEK_SET) >= 0)
    file = fdopen (descriptor, "wb");
  if (!file) {
    fail (state, error, errno);
    if (descriptor >= 0)
      close (descriptor);
  }
  return file;
}

static guint64
hash_keys (const NdtMapMaker *maker, guint first, guint64 before)
{
  const GArray *keys = ndt_map_maker_get_keys (maker);
  for (guint i = first; i < keys->len; i++) {
    const NdtKeyScan *key = &g_array_index (keys, NdtKeyScan, i);
    before = chain (before, key->points, 3 * sizeof (float) * (gsize)key->n_points);
  }
  return before;
}

static gboolean
read_state (NdtMakeState *state, const gchar *text, gsize size, NdtMapMaker *maker,
    GByteArray *extra, GError **error)
{
  NdtSaved saved = {(const guint8 *)text, size};
  g_autoptr (GError) cause = NULL;
  const guint64 options = state->head.options;
  Head head;
  if (!ndt_saved_take (&saved, &head, sizeof head) || head.magic != MAGIC ||
      head.body != ndt_hash64 (saved.data, saved.size) || head.n_extra > saved.size)
    return refuse (state, error, "its file \"state\" is damaged");
  if (head.options != options)
    return refuse (state, error, "it has other options, or is of another version");
  g_autofree gchar *path = get_path (state, "points");
  g_autoptr (GMappedFile) points = g_mapped_file_new (path, FALSE, NULL);
  if (!points || g_mapped_file_get_length (points) < head.n_points)
    return refuse (state, error, "its file \"points\" is damaged");
  NdtSaved floats = {(const guint8 *)g_mapped_file_get_contents (points), head.n_points};
  g_byte_array_append (extra, saved.data, (guint)head.n_extra);
  saved.data += head.n_extra;
  saved.size -= head.n_extra;
  if (!ndt_map_maker_restore (maker, &saved, &floats, &cause))
    return refuse (state, error, cause->message);
  if (hash_keys (maker, 0, 0) != head.points)
    return refuse (state, error, "its file \"points\" is damaged");
  state->head = head;
  state->n_keys = ndt_map_maker_get_keys (maker)->len;
  state->n_to_skip = head.n_scans;
  return TRUE;
}

gboolean
ndt_make_state_restore (NdtMakeState *state, NdtMapMaker *maker, GByteArray *extra, GError **error)
{
  g_autofree gchar *path = get_path (state, "state");
  g_autoptr (GMappedFile) file = NULL;
  if (g_file_test (path, G_FILE_TEST_EXISTS)) {
    if (!(file = g_mapped_file_new (path, FALSE, error)) ||
        !read_state (state, g_mapped_file_get_contents (file), g_mapped_file_get_length (file),
            maker, extra, error))
      return FALSE;
  }
  state->points = open_at (state, "points", state->head.n_points, error);
  return state->points != NULL;
}

gboolean
ndt_make_state_is_behind (const NdtMakeState *state)
{
  return state->n_skipped < state->n_to_skip;
}

gboolean
ndt_make_state_skip (NdtMakeState *state, const NdtScan *scan, GError **error)
{
  if (!scan)
    return refuse (state, error, "there are fewer scans than it had");
  state->skipped = hash_scan (state->skipped, scan);
  if (++state->n_skipped == state->n_to_skip && state->skipped != state->head.scans)
    return refuse (state, error, "the scans, or their poses, are not those that it had");
  return TRUE;
}

typedef struct {
  const Head *head;
  const GByteArray *body;
} Contents;

static gboolean
write_contents (FILE *out, gpointer user_data)
{
  const Contents *contents = user_data;
  return fwrite (contents->head, sizeof *contents->head, 1, out) == 1 &&
         fwrite (contents->body->data, 1, contents->body->len, out) == contents->body->len;
}

/* Points first: the state names how many there are. */
static gboolean
write_points (NdtMakeState *state, const NdtMapMaker *maker, GError **error)
{
  const GArray *keys = ndt_map_maker_get_keys (maker);
  state->head.points = hash_keys (maker, state->n_keys, state->head.points);
  for (; state->n_keys < keys->len; state->n_keys++) {
    const NdtKeyScan *key = &g_array_index (keys, NdtKeyScan, state->n_keys);
    const gsize size = 3 * sizeof (float) * (gsize)key->n_points;
    if (fwrite (key->points, 1, size, state->points) != size)
      return fail (state, error, errno);
    state->head.n_points += size;
  }
  return (fflush (state->points) == 0 && fdatasync (fileno (state->points)) == 0) ||
         fail (state, error, errno);
}

gboolean
ndt_make_state_add (NdtMakeState *state, const NdtScan *scan, const NdtMapMaker *maker,
    const GByteArray *extra, GError **error)
{
  g_autoptr (GByteArray) body = NULL;
  state->head.scans = hash_scan (state->head.scans, scan);
  state->head.n_scans++;
  if (state->head.n_scans % NDT_MAP_MAKER_SAVE_STEP != 0)
    return TRUE;
  body = g_byte_array_new ();
  g_byte_array_append (body, extra->data, extra->len);
  if (!ndt_map_maker_save (maker, body))
    return TRUE;
  if (!write_points (state, maker, error))
    return FALSE;
  state->head.n_extra = extra->len;
  state->head.body = ndt_hash64 (body->data, body->len);
  const Contents contents = {&state->head, body};
  g_autofree gchar *path = get_path (state, "state");
  return ndt_file_replace (path, write_contents, (gpointer)&contents, error);
}

/* ---- Closures ---- */

static void
read_closures (NdtMakeState *state)
{
  g_autofree gchar *path = get_path (state, "closures");
  g_autoptr (GMappedFile) file = g_mapped_file_new (path, FALSE, NULL);
  ClosureRecord record;
  if (!file)
    return;
  NdtSaved saved = {
      (const guint8 *)g_mapped_file_get_contents (file), g_mapped_file_get_length (file)};
  /* The last one may be cut; those of a run that had fewer scans are others. */
  while (ndt_saved_take (&saved, &record, sizeof record) && record.scans == state->head.scans &&
         record.check == ndt_hash64 (&record.closure, sizeof record.closure))
    g_array_append_val (state->known, record.closure);
}

static void
write_closure (const NdtClosure *closure, gpointer user_data)
{
  NdtMakeState *state = user_data;
  ClosureRecord record;
  memset (&record, 0, sizeof record);
  record.scans = state->head.scans;
  memcpy (&record.closure, closure, sizeof *closure);
  record.check = ndt_hash64 (&record.closure, sizeof record.closure);
  if (fwrite (&record, sizeof record, 1, state->closures) != 1 || fflush (state->closures) != 0)
    state->failure = errno;
}

gboolean
ndt_make_state_begin_closures (NdtMakeState *state, NdtMapMaker *maker, GError **error)
{
  state->known = g_array_new (FALSE, FALSE, sizeof (NdtClosure));
  read_closures (state);
  state->closures = open_at (state, "closures", state->known->len * sizeof (ClosureRecord), error);
  ndt_map_maker_set_known_closures (maker, state->known, write_closure, state);
  return state->closures != NULL;
}

gboolean
ndt_make_state_end_closures (NdtMakeState *state, GError **error)
{
  return state->failure == 0 || fail (state, error, state->failure);
}

void
ndt_make_state_remove (NdtMakeState *state)
{
  static const gchar *const names[] = {"state", "points", "closures", "lock"};
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autofree gchar *path = get_path (state, names[i]);
    g_unlink (path);
  }
  g_rmdir (state->folder);
}
