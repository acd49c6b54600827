/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "fuzz.h"
#include "gst/mcap/bag/bag-metadata.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autofree gchar *text = g_strndup ((const gchar *)data, size);
  BagMetadata metadata;

  bag_metadata_parse (&metadata, text);
  /* A path is text of the file. */
  for (guint i = 0; i < metadata.paths->len; i++) {
    const gchar *path = g_ptr_array_index (metadata.paths, i);
    g_assert_nonnull (path);
    g_assert_nonnull (strstr (text, path));
  }
  g_assert_true (!metadata.messages_are_packed || strstr (text, "zstd"));
  bag_metadata_clear (&metadata);
  return 0;
}
