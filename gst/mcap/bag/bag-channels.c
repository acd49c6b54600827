/* SPDX-License-Identifier: MIT */
#include "bag-channels.h"

static void
free_channel (gpointer data)
{
  BagChannel *channel = data;
  g_free (channel->topic);
  g_free (channel->message_encoding);
  g_free (channel->schema_name);
  g_free (channel->schema_encoding);
  g_clear_pointer (&channel->schema_data, g_bytes_unref);
  g_hash_table_unref (channel->metadata);
  g_free (channel);
}

void
bag_channels_init (BagChannels *self)
{
  self->channels = g_ptr_array_new_with_free_func (free_channel);
  self->by_topic =
      g_hash_table_new_full (g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_ptr_array_unref);
}

void
bag_channels_clear (BagChannels *self)
{
  g_clear_pointer (&self->by_topic, g_hash_table_unref);
  g_clear_pointer (&self->channels, g_ptr_array_unref);
}

static gboolean
maps_are_equal (GHashTable *a, GHashTable *b)
{
  GHashTableIter iter;
  gpointer key, value;
  if (g_hash_table_size (a) != g_hash_table_size (b))
    return FALSE;
  g_hash_table_iter_init (&iter, a);
  while (g_hash_table_iter_next (&iter, &key, &value))
    if (g_strcmp0 (g_hash_table_lookup (b, key), value) != 0)
      return FALSE;
  return TRUE;
}

static gboolean
says_the_same (const BagChannel *known, const McapChannel *channel, const McapSchema *schema)
{
  if (g_strcmp0 (known->topic, channel->topic) != 0 ||
      g_strcmp0 (known->message_encoding, channel->message_encoding) != 0 ||
      !maps_are_equal (known->metadata, channel->metadata))
    return FALSE;
  if (!schema)
    return known->schema_name == NULL;
  return g_strcmp0 (known->schema_name, schema->name) == 0 &&
         g_strcmp0 (known->schema_encoding, schema->encoding) == 0 && known->schema_data &&
         g_bytes_equal (known->schema_data, schema->data);
}

const BagChannel *
bag_channels_add (BagChannels *self, const McapTable *table, const McapChannel *channel)
{
  const McapSchema *schema = mcap_table_get_schema (table, channel);
  GPtrArray *known = g_hash_table_lookup (self->by_topic, channel->topic);
  for (guint i = 0; known && i < known->len; i++)
    if (says_the_same (g_ptr_array_index (known, i), channel, schema))
      return g_ptr_array_index (known, i);

  BagChannel *added = g_new0 (BagChannel, 1);
  added->number = self->channels->len;
  added->topic = g_strdup (channel->topic);
  added->message_encoding = g_strdup (channel->message_encoding);
  if (schema) {
    added->schema_name = g_strdup (schema->name);
    added->schema_encoding = g_strdup (schema->encoding);
    added->schema_data = g_bytes_ref (schema->data);
  }
  added->metadata = g_hash_table_ref (channel->metadata);
  g_ptr_array_add (self->channels, added);
  if (!known) {
    known = g_ptr_array_new ();
    g_hash_table_insert (self->by_topic, added->topic, known);
  }
  g_ptr_array_add (known, added);
  return added;
}
