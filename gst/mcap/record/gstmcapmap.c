/* SPDX-License-Identifier: MIT */
#include "gstmcapmap.h"

#include <stdio.h>
#include <string.h>

#define BLOCK_SIZE (1 << 20)

struct _GstMcapMap {
  gchar *location;
  GMutex lock; /* of the thread, which several may wait for */
  GThread *thread;
  gchar *digests; /* the thread's until done */
  gint done;
  gint cancelled;
};

static void
digest_file (GstMcapMap *self, const gchar *path, GString *text)
{
  g_autoptr (GChecksum) checksum = g_checksum_new (G_CHECKSUM_SHA256);
  g_autofree guchar *block = g_malloc (BLOCK_SIZE);
  FILE *file = g_file_test (path, G_FILE_TEST_IS_REGULAR) ? fopen (path, "rbe") : NULL;
  gboolean ok;
  gsize n;

  if (file == NULL)
    return;
  while (!g_atomic_int_get (&self->cancelled) && (n = fread (block, 1, BLOCK_SIZE, file)) > 0)
    g_checksum_update (checksum, block, n);
  ok = !ferror (file) && !g_atomic_int_get (&self->cancelled);
  fclose (file);
  if (ok)
    g_string_append_printf (text, "%s  %s\n", g_checksum_get_string (checksum), path);
}

static gint
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const gchar *const *)a, *(const gchar *const *)b);
}

static void
digest_folder (GstMcapMap *self, const gchar *path, GString *text)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GDir) folder = g_dir_open (path, 0, NULL);
  const gchar *name;

  while (folder && (name = g_dir_read_name (folder)))
    g_ptr_array_add (names, g_strdup (name));
  g_ptr_array_sort (names, compare_names);
  for (guint i = 0; i < names->len; i++) {
    g_autofree gchar *file = g_build_filename (path, g_ptr_array_index (names, i), NULL);

    digest_file (self, file, text);
  }
}

static gpointer
digest_map (GstMcapMap *self)
{
  GString *text = g_string_new (NULL);

  if (g_file_test (self->location, G_FILE_TEST_IS_DIR))
    digest_folder (self, self->location, text);
  else
    digest_file (self, self->location, text);
  self->digests = g_string_free (text, FALSE);
  g_atomic_int_set (&self->done, TRUE);
  return NULL;
}

static void
join (GstMcapMap *self)
{
  g_mutex_lock (&self->lock);
  if (self->thread)
    g_thread_join (g_steal_pointer (&self->thread));
  g_mutex_unlock (&self->lock);
}

GstMcapMap *
gst_mcap_map_new (const gchar *location)
{
  GstMcapMap *self = g_atomic_rc_box_new0 (GstMcapMap);

  self->location = g_strdup (location);
  g_mutex_init (&self->lock);
  self->thread = g_thread_new ("mcap-map", (GThreadFunc)digest_map, self);
  return self;
}

GstMcapMap *
gst_mcap_map_ref (GstMcapMap *self)
{
  return g_atomic_rc_box_acquire (self);
}

static void
clear_map (gpointer data)
{
  GstMcapMap *self = data;

  g_atomic_int_set (&self->cancelled, TRUE);
  join (self);
  g_mutex_clear (&self->lock);
  g_free (self->location);
  g_free (self->digests);
}

void
gst_mcap_map_unref (GstMcapMap *self)
{
  g_atomic_rc_box_release_full (self, clear_map);
}

const gchar *
gst_mcap_map_get_digests (GstMcapMap *self, gboolean wait)
{
  if (wait)
    join (self);
  return g_atomic_int_get (&self->done) ? self->digests : NULL;
}
