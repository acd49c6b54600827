/* SPDX-License-Identifier: MIT */
#pragma once

/* Records of MCAP appended to an array of bytes. */

#include "mcap-format.h"

G_BEGIN_DECLS

static inline void
mcap_put_u16 (GByteArray *out, guint16 value)
{
  guint8 bytes[2];
  mcap_set_u16 (bytes, value);
  g_byte_array_append (out, bytes, sizeof bytes);
}

static inline void
mcap_put_u32 (GByteArray *out, guint32 value)
{
  guint8 bytes[4];
  mcap_set_u32 (bytes, value);
  g_byte_array_append (out, bytes, sizeof bytes);
}

static inline void
mcap_put_u64 (GByteArray *out, guint64 value)
{
  guint8 bytes[8];
  mcap_set_u64 (bytes, value);
  g_byte_array_append (out, bytes, sizeof bytes);
}

/* NULL is "". What is no UTF-8 is made so: readers refuse a whole file for one such string. */
static inline void
mcap_put_string (GByteArray *out, const gchar *value)
{
  g_autofree gchar *valid =
      value && !g_utf8_validate (value, -1, NULL) ? g_utf8_make_valid (value, -1) : NULL;
  const gchar *text = valid ? valid : value;
  gsize size = text ? strlen (text) : 0;

  mcap_put_u32 (out, size);
  if (size > 0)
    g_byte_array_append (out, (const guint8 *)text, size);
}

/* String → string, in the order of the keys; NULL is empty. */
static inline void
mcap_put_map (GByteArray *out, GHashTable *map)
{
  g_autoptr (GList) keys = map ? g_hash_table_get_keys (map) : NULL;
  gsize start = out->len;

  keys = g_list_sort (keys, (GCompareFunc)strcmp);
  mcap_put_u32 (out, 0);
  for (GList *k = keys; k; k = k->next) {
    mcap_put_string (out, k->data);
    mcap_put_string (out, g_hash_table_lookup (map, k->data));
  }
  mcap_set_u32 (out->data + start, out->len - start - 4);
}

static inline void
mcap_put_record_header (GByteArray *out, McapOpcode opcode, guint64 size)
{
  guint8 op = opcode;

  g_byte_array_append (out, &op, 1);
  mcap_put_u64 (out, size);
}

static inline void
mcap_put_record (GByteArray *out, McapOpcode opcode, const GByteArray *content)
{
  mcap_put_record_header (out, opcode, content->len);
  g_byte_array_append (out, content->data, content->len);
}

/* Begins a record whose content is appended next; mcap_end_record() takes what this returns. */
static inline gsize
mcap_begin_record (GByteArray *out, McapOpcode opcode)
{
  mcap_put_record_header (out, opcode, 0);
  return out->len;
}

static inline void
mcap_end_record (GByteArray *out, gsize start)
{
  mcap_set_u64 (out->data + start - 8, out->len - start);
}

G_END_DECLS
