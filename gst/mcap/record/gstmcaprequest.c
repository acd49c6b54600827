/* SPDX-License-Identifier: MIT */
#include "gstmcaprequest.h"

#include <string.h>

/* With the object lock. */
static gboolean
is_taken (GstElement *element, GHashTable *reserved, const gchar *name)
{
  if (g_hash_table_contains (reserved, name))
    return TRUE;
  for (GList *l = element->sinkpads; l; l = l->next)
    if (g_str_equal (GST_OBJECT_NAME (l->data), name))
      return TRUE;
  return FALSE;
}

/* A name for a pad that only this thread adds, until release_name(): @wanted, or the first that is
 * free; NULL: @wanted is taken. Threads may request pads at once, and an application may in
 * pad-added, so that no lock is held while a pad is added. */
static gchar *
reserve_name (GstElement *element, GHashTable *reserved, const gchar *prefix, const gchar *wanted)
{
  gchar *name = g_strdup (wanted);

  GST_OBJECT_LOCK (element);
  for (guint index = 0; name == NULL; index++) {
    name = g_strdup_printf ("%s%u", prefix, index);
    if (is_taken (element, reserved, name))
      g_clear_pointer (&name, g_free);
  }
  if (is_taken (element, reserved, name))
    g_clear_pointer (&name, g_free);
  else
    g_hash_table_add (reserved, g_strdup (name));
  GST_OBJECT_UNLOCK (element);
  return name;
}

static void
release_name (GstElement *element, GHashTable *reserved, const gchar *name)
{
  GST_OBJECT_LOCK (element);
  g_hash_table_remove (reserved, name);
  GST_OBJECT_UNLOCK (element);
}

GstPad *
gst_mcap_request_pad (GstElement *element, GHashTable *reserved, GstPadTemplate *templ,
    const gchar *wanted, void (*prepare) (GstElement *element, GstPad *pad))
{
  static const gchar *const prefixes[] = {"cloud_", "pose_", "data_"};
  GstMcapPadKind kind = GST_MCAP_PAD_CLOUD;
  g_autofree gchar *name = NULL;
  gboolean added;
  GstPad *pad;

  while (!g_str_has_prefix (GST_PAD_TEMPLATE_NAME_TEMPLATE (templ), prefixes[kind]))
    kind++;
  if (wanted && !g_str_has_prefix (wanted, prefixes[kind]))
    wanted = NULL;
  name = reserve_name (element, reserved, prefixes[kind], wanted);
  if (name == NULL)
    return NULL;
  pad = gst_mcap_pad_new (
      templ, kind, name, (guint)g_ascii_strtoull (name + strlen (prefixes[kind]), NULL, 10));
  prepare (element, pad);
  gst_pad_set_active (pad, TRUE);
  added = gst_element_add_pad (element, pad);
  release_name (element, reserved, name);
  if (!added)
    return NULL;
  gst_child_proxy_child_added (GST_CHILD_PROXY (element), G_OBJECT (pad), name);
  return pad;
}

static GObject *
get_child_by_index (GstChildProxy *proxy, guint index)
{
  GstPad *pad;

  GST_OBJECT_LOCK (proxy);
  pad = g_list_nth_data (GST_ELEMENT (proxy)->sinkpads, index);
  if (pad)
    gst_object_ref (pad);
  GST_OBJECT_UNLOCK (proxy);
  return (GObject *)pad;
}

static guint
get_children_count (GstChildProxy *proxy)
{
  guint n;

  GST_OBJECT_LOCK (proxy);
  n = GST_ELEMENT (proxy)->numsinkpads;
  GST_OBJECT_UNLOCK (proxy);
  return n;
}

void
gst_mcap_request_child_proxy_init (gpointer data, gpointer user_data)
{
  GstChildProxyInterface *interface = data;

  interface->get_child_by_index = get_child_by_index;
  interface->get_children_count = get_children_count;
}
