/* SPDX-License-Identifier: MIT */
#include "bag-topics.h"

#include <string.h>

struct _BagTopics {
  GPtrArray *topics;   /* BagTopic */
  GHashTable *by_key;  /* kind, cloud and name of the topic: BagTopic */
  GPtrArray *patterns; /* GPatternSpec; NULL: all */
  gboolean raw;
  gboolean attach_poses;
  guint n_pads[3]; /* of clouds, poses, messages */
  guint n_pads_left;
  guint n_refused;
};

static void
free_topic (gpointer data)
{
  BagTopic *topic = data;
  g_free (topic->cloud);
  g_free (topic->pad);
  g_free (topic);
}

BagTopics *
bag_topics_new (gchar *const *patterns, gboolean raw, gboolean attach_poses, guint max_pads)
{
  BagTopics *self = g_new0 (BagTopics, 1);
  self->topics = g_ptr_array_new_with_free_func (free_topic);
  self->by_key = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->raw = raw;
  self->attach_poses = attach_poses;
  self->n_pads_left = max_pads;
  if (patterns && *patterns)
    self->patterns = g_ptr_array_new_with_free_func ((GDestroyNotify)g_pattern_spec_free);
  for (; self->patterns && *patterns; patterns++)
    g_ptr_array_add (self->patterns, g_pattern_spec_new (*patterns));
  return self;
}

void
bag_topics_free (BagTopics *self)
{
  g_hash_table_unref (self->by_key);
  g_ptr_array_unref (self->topics);
  g_clear_pointer (&self->patterns, g_ptr_array_unref);
  g_free (self);
}

static gboolean
is_wanted (const BagTopics *self, const gchar *topic)
{
  for (guint i = 0; self->patterns && i < self->patterns->len; i++)
    if (g_pattern_spec_match_string (g_ptr_array_index (self->patterns, i), topic))
      return TRUE;
  return self->patterns == NULL;
}

static guint
get_group (BagKind kind)
{
  return kind == BAG_KIND_CLOUD ? 0 : kind == BAG_KIND_MESSAGE ? 2 : 1;
}

const gchar *
bag_kind_get_pad_template (BagKind kind)
{
  static const gchar *const templates[] = {"cloud_%u", "pose_%u", "message_%u"};
  return templates[get_group (kind)];
}

const BagTopic *
bag_topics_add (BagTopics *self, const BagChannel *channel)
{
  static const gchar *const names[] = {"cloud", "pose", "message"};
  const gchar *cloud = self->attach_poses && !self->raw ? bag_channel_get_cloud (channel) : NULL;
  BagKind kind = self->raw ? BAG_KIND_MESSAGE : bag_channel_get_kind (channel);
  if (kind <= BAG_KIND_CLOUD)
    cloud = NULL;
  if ((kind == BAG_KIND_DIAGNOSTICS || kind == BAG_KIND_DURATION) && !cloud)
    kind = BAG_KIND_MESSAGE;

  /* Lengths keep names that contain the separator apart. */
  g_autofree gchar *key = g_strdup_printf ("%d %" G_GSIZE_FORMAT " %s %s", kind,
      cloud ? strlen (cloud) + 1 : 0, cloud ? cloud : "", channel->topic);
  BagTopic *topic = g_hash_table_lookup (self->by_key, key);
  if (topic)
    return topic;
  topic = g_new0 (BagTopic, 1);
  topic->number = self->topics->len;
  topic->kind = kind;
  topic->channel = channel;
  topic->cloud = g_strdup (cloud);
  if (!cloud && is_wanted (self, channel->topic)) {
    if (self->n_pads_left > 0)
      topic->pad =
          g_strdup_printf ("%s_%u", names[get_group (kind)], self->n_pads[get_group (kind)]++);
    else
      self->n_refused++;
    self->n_pads_left -= self->n_pads_left > 0;
  }
  g_ptr_array_add (self->topics, topic);
  g_hash_table_insert (self->by_key, g_steal_pointer (&key), topic);
  return topic;
}

guint
bag_topics_get_n_refused (const BagTopics *self)
{
  return self->n_refused;
}

guint
bag_topics_get_n (const BagTopics *self)
{
  return self->topics->len;
}

const BagTopic *
bag_topics_get (const BagTopics *self, guint number)
{
  return g_ptr_array_index (self->topics, number);
}
