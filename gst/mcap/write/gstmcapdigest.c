/* SPDX-License-Identifier: MIT */
#include "gstmcapdigest.h"

#include <stdio.h>
#include <string.h>

#define BLOCK_SIZE (1 << 20)

struct _GstMcapDigest {
  gchar *location;
  gint n_users; /* references of others than the thread, which has one of its own as well */
  gint cancelled;
  gchar *text; /* set once, atomically */
};

static void
digest_file (GstMcapDigest *self, const gchar *path, GString *text)
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
digest_folder (GstMcapDigest *self, const gchar *path, GString *text)
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

static void
clear (gpointer data)
{
  GstMcapDigest *self = data;

  g_free (self->location);
  g_free (self->text);
}

static gpointer
compute (GstMcapDigest *self)
{
  g_autoptr (GString) text = g_string_new (NULL);

  if (g_file_test (self->location, G_FILE_TEST_IS_DIR))
    digest_folder (self, self->location, text);
  else
    digest_file (self, self->location, text);
  if (!g_atomic_int_get (&self->cancelled))
    gst_mcap_digest_set_text (self, text->str);
  g_atomic_rc_box_release_full (self, clear);
  return NULL;
}

GstMcapDigest *
gst_mcap_digest_new (const gchar *location, const gchar *text)
{
  GstMcapDigest *self = g_atomic_rc_box_new0 (GstMcapDigest);

  self->location = g_strdup (location);
  self->text = g_strdup (text);
  self->n_users = 1;
  if (text == NULL)
    g_thread_unref (
        g_thread_new ("mcap-digest", (GThreadFunc)compute, g_atomic_rc_box_acquire (self)));
  return self;
}

GstMcapDigest *
gst_mcap_digest_ref (GstMcapDigest *self)
{
  g_atomic_int_inc (&self->n_users);
  return g_atomic_rc_box_acquire (self);
}

void
gst_mcap_digest_unref (GstMcapDigest *self)
{
  if (g_atomic_int_dec_and_test (&self->n_users))
    g_atomic_int_set (&self->cancelled, TRUE);
  g_atomic_rc_box_release_full (self, clear);
}

const gchar *
gst_mcap_digest_get_location (const GstMcapDigest *self)
{
  return self->location;
}

void
gst_mcap_digest_set_text (GstMcapDigest *self, const gchar *text)
{
  gchar *copy = g_strdup (text);

  if (g_atomic_pointer_compare_and_exchange (&self->text, NULL, copy))
    g_atomic_int_set (&self->cancelled, TRUE); /* another than the thread's */
  else
    g_free (copy);
}

const gchar *
gst_mcap_digest_get_text (GstMcapDigest *self)
{
  return g_atomic_pointer_get (&self->text);
}
