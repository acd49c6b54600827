/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* strchrnul() */
#include "bag-metadata.h"

#include <string.h>

/* The value after "key:" of a line, without quotes; NULL where the line has another key. */
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

/* What has been seen of a file, line by line. */
typedef struct {
  BagMetadata *metadata;
  gboolean in_paths;
  gboolean has_mode;
  gboolean is_zstd;
} Parser;

static void
take_line (Parser *self, const gchar *line)
{
  if (self->in_paths && g_str_has_prefix (line, "- ")) {
    g_autofree gchar *entry = g_strconcat ("-:", line + 1, NULL);
    gchar *path = get_value (entry, "-");
    g_ptr_array_add (self->metadata->paths, path);
    g_hash_table_add (self->metadata->names, g_path_get_basename (path));
    return;
  }
  self->in_paths = strcmp (line, "relative_file_paths:") == 0;
  g_autofree gchar *format = get_value (line, "compression_format");
  g_autofree gchar *mode = get_value (line, "compression_mode");
  self->is_zstd |= format && strcmp (format, "zstd") == 0;
  self->has_mode |= mode && g_ascii_strcasecmp (mode, "message") == 0;
}

/* Other lines are not copied: a hostile file has millions. */
static gboolean
is_of_interest (const gchar *line)
{
  return g_str_has_prefix (line, "- ") || g_str_has_prefix (line, "relative_file_paths:") ||
         g_str_has_prefix (line, "compression_");
}

void
bag_metadata_parse (BagMetadata *metadata, const gchar *text)
{
  Parser parser = {metadata, FALSE, FALSE, FALSE};

  metadata->paths = g_ptr_array_new_with_free_func (g_free);
  metadata->names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  while (*text) {
    const gchar *end = strchrnul (text, '\n');
    while (text < end && g_ascii_isspace (*text))
      text++;
    if (is_of_interest (text)) {
      g_autofree gchar *line = g_strstrip (g_strndup (text, (gsize)(end - text)));
      take_line (&parser, line);
    } else {
      parser.in_paths = FALSE;
    }
    text = *end ? end + 1 : end;
  }
  metadata->messages_are_packed = parser.is_zstd && parser.has_mode;
}

void
bag_metadata_clear (BagMetadata *metadata)
{
  g_clear_pointer (&metadata->paths, g_ptr_array_unref);
  g_clear_pointer (&metadata->names, g_hash_table_unref);
}
