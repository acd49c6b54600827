/* SPDX-License-Identifier: MIT */
#include "gstmcapprovenance.h"

#include <stdio.h>
#include <string.h>

#define BLOCK_SIZE (1 << 20)

struct _GstMcapProvenance {
  GPtrArray *maps; /* paths */
  GThread *thread;
  gchar *digests; /* the thread's until done */
  gint done;
  gint cancelled;
};

static GstElement *
get_top (GstElement *element)
{
  GstObject *top = gst_object_ref (GST_OBJECT (element));
  GstObject *parent;

  while ((parent = gst_object_get_parent (top))) {
    gst_object_unref (top);
    top = parent;
  }
  return GST_ELEMENT (top);
}

/* Elements with a string property "map" that is set, which is how ndtlocalize names its map. */
static void
find_map (const GValue *item, gpointer maps)
{
  GObject *element = g_value_get_object (item);
  GParamSpec *spec = g_object_class_find_property (G_OBJECT_GET_CLASS (element), "map");
  g_autofree gchar *map = NULL;

  if (spec == NULL || spec->value_type != G_TYPE_STRING)
    return;
  g_object_get (element, "map", &map, NULL);
  if (map && *map && !g_ptr_array_find_with_equal_func (maps, map, g_str_equal, NULL))
    g_ptr_array_add (maps, g_steal_pointer (&map));
}

static void
digest_file (GstMcapProvenance *self, const gchar *path, GString *text)
{
  g_autoptr (GChecksum) checksum = g_checksum_new (G_CHECKSUM_SHA256);
  g_autofree guchar *block = g_malloc (BLOCK_SIZE);
  FILE *file = fopen (path, "rbe");
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
digest_folder (GstMcapProvenance *self, const gchar *path, GString *text)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GDir) folder = g_dir_open (path, 0, NULL);
  const gchar *name;

  while (folder && (name = g_dir_read_name (folder)))
    g_ptr_array_add (names, g_strdup (name));
  g_ptr_array_sort (names, compare_names);
  for (guint i = 0; i < names->len; i++) {
    g_autofree gchar *file = g_build_filename (path, g_ptr_array_index (names, i), NULL);

    if (g_file_test (file, G_FILE_TEST_IS_REGULAR))
      digest_file (self, file, text);
  }
}

static gpointer
digest_maps (GstMcapProvenance *self)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < self->maps->len; i++) {
    const gchar *path = g_ptr_array_index (self->maps, i);

    if (g_file_test (path, G_FILE_TEST_IS_DIR))
      digest_folder (self, path, text);
    else
      digest_file (self, path, text);
  }
  self->digests = g_string_free (text, FALSE);
  g_atomic_int_set (&self->done, TRUE);
  return NULL;
}

GstMcapProvenance *
gst_mcap_provenance_new (GstElement *element)
{
  GstMcapProvenance *self = g_new0 (GstMcapProvenance, 1);
  GstElement *top = get_top (element);

  self->maps = g_ptr_array_new_with_free_func (g_free);
  if (GST_IS_BIN (top)) {
    GstIterator *elements = gst_bin_iterate_recurse (GST_BIN (top));

    while (gst_iterator_foreach (elements, find_map, self->maps) == GST_ITERATOR_RESYNC)
      gst_iterator_resync (elements);
    gst_iterator_free (elements);
  }
  gst_object_unref (top);
  if (self->maps->len > 0)
    self->thread = g_thread_new ("mcap-maps", (GThreadFunc)digest_maps, self);
  return self;
}

static void
join (GstMcapProvenance *self)
{
  if (self->thread)
    g_thread_join (g_steal_pointer (&self->thread));
}

void
gst_mcap_provenance_free (GstMcapProvenance *self)
{
  g_atomic_int_set (&self->cancelled, TRUE);
  join (self);
  g_free (self->digests);
  g_ptr_array_unref (self->maps);
  g_free (self);
}

const gchar *
gst_mcap_provenance_get_maps (GstMcapProvenance *self, gboolean wait)
{
  if (wait)
    join (self);
  if (!g_atomic_int_get (&self->done) || *self->digests == '\0')
    return NULL;
  return self->digests;
}
