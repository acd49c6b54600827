/* SPDX-License-Identifier: MIT */
#include "gstndtdigest.h"

#include <stdio.h>
#include <string.h>

#define BLOCK_SIZE (1 << 20)

void (*gst_ndt_digest_before_reading) (void);

struct _GstNdtDigest {
  gint references; /* atomic: the user's and the thread's */
  gchar *location;
  gint cancelled; /* atomic */
  gchar *text;    /* atomic; set once */
};

static void
release (GstNdtDigest *digest)
{
  if (!g_atomic_int_dec_and_test (&digest->references))
    return;
  g_free (digest->location);
  g_free (digest->text);
  g_free (digest);
}

static gboolean
is_cancelled (GstNdtDigest *digest)
{
  return g_atomic_int_get (&digest->cancelled);
}

static void
add_file (GstNdtDigest *digest, const gchar *path, guint8 *block, GString *text)
{
  g_autoptr (GChecksum) checksum = g_checksum_new (G_CHECKSUM_SHA256);
  FILE *file = g_file_test (path, G_FILE_TEST_IS_REGULAR) ? fopen (path, "rbe") : NULL;
  gsize n;

  if (!file)
    return;
  while (!is_cancelled (digest) && (n = fread (block, 1, BLOCK_SIZE, file)) > 0)
    g_checksum_update (checksum, block, (gssize)n);
  if (!ferror (file) && !is_cancelled (digest))
    g_string_append_printf (text, "%s  %s\n", g_checksum_get_string (checksum), path);
  fclose (file);
}

static gint
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const gchar *const *)a, *(const gchar *const *)b);
}

static void
add_folder (GstNdtDigest *digest, guint8 *block, GString *text)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GDir) folder = g_dir_open (digest->location, 0, NULL);
  const gchar *name;

  while (folder && (name = g_dir_read_name (folder)))
    g_ptr_array_add (names, g_strdup (name));
  g_ptr_array_sort (names, compare_names);
  for (guint i = 0; i < names->len && !is_cancelled (digest); i++) {
    g_autofree gchar *path =
        g_build_filename (digest->location, g_ptr_array_index (names, i), NULL);
    add_file (digest, path, block, text);
  }
}

static gpointer
compute (gpointer data)
{
  GstNdtDigest *digest = data;
  g_autofree guint8 *block = g_malloc (BLOCK_SIZE);
  GString *text = g_string_new (NULL);

  if (gst_ndt_digest_before_reading)
    gst_ndt_digest_before_reading ();
  if (g_file_test (digest->location, G_FILE_TEST_IS_DIR))
    add_folder (digest, block, text);
  else
    add_file (digest, digest->location, block, text);
  if (is_cancelled (digest))
    g_string_free (text, TRUE);
  else
    g_atomic_pointer_set (&digest->text, g_string_free (text, FALSE));
  release (digest);
  return NULL;
}

GstNdtDigest *
gst_ndt_digest_new (const gchar *location)
{
  GstNdtDigest *digest = g_new0 (GstNdtDigest, 1);
  digest->references = 2;
  digest->location = g_strdup (location);
  g_thread_unref (g_thread_new ("ndt-digest", compute, digest));
  return digest;
}

void
gst_ndt_digest_free (GstNdtDigest *digest)
{
  g_atomic_int_set (&digest->cancelled, TRUE);
  release (digest);
}

const gchar *
gst_ndt_digest_get (GstNdtDigest *digest)
{
  return g_atomic_pointer_get (&digest->text);
}
