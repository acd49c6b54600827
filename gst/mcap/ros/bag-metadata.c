/* SPDX-License-Identifier: MIT */
#include "bag-metadata.h"

#include <string.h>

/* The value after "key:", without quotes; NULL where the line has another key. */
static gchar *
get_value (const gchar *line, const gchar *key)
{
  const gsize length = strlen (key);
  if (strncmp (line, key, length) != 0 || line[length] != ':')
    return NULL;
  g_autofree gchar *value = g_strstrip (g_strdup (line + length + 1));
  const gsize size = strlen (value);
  if (size >= 2 && (value[0] == '"' || value[0] == '\'') && value[size - 1] == value[0])
    return g_strndup (value + 1, size - 2);
  return g_steal_pointer (&value);
}

void
bag_metadata_parse (BagMetadata *metadata, const gchar *text)
{
  gboolean in_paths = FALSE, has_mode = FALSE, is_zstd = FALSE;
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  metadata->paths = g_ptr_array_new_with_free_func (g_free);
  for (gchar **l = lines; *l; l++) {
    const gchar *line = g_strstrip (*l);
    if (in_paths && g_str_has_prefix (line, "- ")) {
      g_autofree gchar *entry = g_strconcat ("-:", line + 1, NULL);
      g_ptr_array_add (metadata->paths, get_value (entry, "-"));
      continue;
    }
    in_paths = strcmp (line, "relative_file_paths:") == 0;
    g_autofree gchar *format = get_value (line, "compression_format");
    g_autofree gchar *mode = get_value (line, "compression_mode");
    is_zstd = is_zstd || (format && strcmp (format, "zstd") == 0);
    has_mode = has_mode || (mode && g_ascii_strcasecmp (mode, "message") == 0);
  }
  metadata->messages_are_packed = is_zstd && has_mode;
}

void
bag_metadata_clear (BagMetadata *metadata)
{
  g_clear_pointer (&metadata->paths, g_ptr_array_unref);
}
