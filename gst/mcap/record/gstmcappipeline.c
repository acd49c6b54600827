/* SPDX-License-Identifier: MIT */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* gst_debug_bin_to_dot_data() is not used: a recording goes to people whom a pipeline's secrets do
 * not concern, and GStreamer prints the properties of all elements or of none, no user and password
 * left out. It prints addresses of memory and whole type definitions (in caps) as well, and nothing
 * at all where GStreamer is built without its debug system. */

#include "gstmcappipeline.h"

#include <string.h>

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

static gboolean
is_own (GstElement *element)
{
  GstElementFactory *factory = gst_element_get_factory (element);
  GstPlugin *plugin = factory ? gst_plugin_feature_get_plugin (GST_PLUGIN_FEATURE (factory)) : NULL;
  const gboolean own = plugin && g_strcmp0 (gst_plugin_get_source (plugin), PACKAGE) == 0;

  g_clear_pointer (&plugin, gst_object_unref);
  return own;
}

/* The end of the word at @text: a blank, a quote or the end of the string. */
static const gchar *
find_word_end (const gchar *text)
{
  while (*text && *text != '"' && !g_ascii_isspace (*text))
    text++;
  return text;
}

/* Valid UTF-8 (names of files need not be) without what may be a user and a password: as much as
 * there can be between :// and the last @ of a word. In time proportional to the text. */
static gchar *
hide_user (const gchar *text)
{
  g_autofree gchar *valid = g_utf8_make_valid (text, -1);
  GString *shown = g_string_new (NULL);
  const gchar *rest = valid, *scheme;

  while ((scheme = strstr (rest, "://"))) {
    const gchar *start = scheme + 3, *end = find_word_end (start);
    const gchar *at = g_strrstr_len (start, end - start, "@");

    g_string_append_len (shown, rest, start - rest);
    if (at)
      g_string_append (shown, "***");
    rest = at ? at : start;
  }
  g_string_append (shown, rest);
  return g_string_free (shown, FALSE);
}

/* As it may stand in quotes. */
static void
append_text (GString *to, const gchar *text)
{
  for (const gchar *c = text; *c; c++) {
    if (*c == '\n') {
      g_string_append (to, "\\l");
    } else {
      if (*c == '"' || *c == '\\')
        g_string_append_c (to, '\\');
      g_string_append_c (to, *c);
    }
  }
}

static void
append_line (GString *label, const gchar *prefix, const gchar *text)
{
  append_text (label, prefix);
  append_text (label, text);
  g_string_append (label, "\\l");
}

static void
append_id (GString *text, GstElement *element)
{
  g_autofree gchar *path = gst_object_get_path_string (GST_OBJECT (element));

  g_string_append_c (text, '"');
  append_text (text, path);
  g_string_append_c (text, '"');
}

static void
append_property (GString *label, const gchar *prefix, GObject *object, GParamSpec *spec)
{
  g_autofree gchar *name = g_strdup_printf ("%s%s=", prefix, spec->name);
  g_autofree gchar *text = NULL;
  g_autofree gchar *shown = NULL;
  g_auto (GValue) value = G_VALUE_INIT;

  g_value_init (&value, spec->value_type);
  g_object_get_property (object, spec->name, &value);
  if (g_param_value_defaults (spec, &value))
    return;
  text = G_VALUE_HOLDS_STRING (&value) ? g_value_dup_string (&value) : gst_value_serialize (&value);
  if (text == NULL)
    return;
  shown = hide_user (text);
  append_line (label, name, shown);
}

/* Those of @object that are not @base's as well. */
static void
append_properties (GString *label, const gchar *prefix, GObject *object, GType base)
{
  g_autofree GParamSpec **specs = NULL;
  guint n;

  specs = g_object_class_list_properties (G_OBJECT_GET_CLASS (object), &n);
  for (guint i = 0; i < n; i++)
    if ((specs[i]->flags & G_PARAM_READWRITE) == G_PARAM_READWRITE &&
        !g_type_is_a (base, specs[i]->owner_type) &&
        !g_type_is_a (specs[i]->value_type, G_TYPE_OBJECT))
      append_property (label, prefix, object, specs[i]);
}

static GList *
copy_objects (gpointer parent, GList *const *objects)
{
  GList *copy;

  GST_OBJECT_LOCK (parent);
  copy = g_list_copy_deep (*objects, (GCopyFunc)gst_object_ref, NULL);
  GST_OBJECT_UNLOCK (parent);
  return copy;
}

static void
free_objects (GList *objects)
{
  g_list_free_full (objects, gst_object_unref);
}

/* The input behind the ghost pads of bins that @src leads to. */
static GstPad *
get_input (GstPad *src)
{
  GstPad *pad = gst_pad_get_peer (src);

  while (pad && GST_IS_PROXY_PAD (pad)) {
    GstPad *next;

    if (GST_IS_GHOST_PAD (pad)) { /* into a bin */
      next = gst_ghost_pad_get_target (GST_GHOST_PAD (pad));
    } else { /* out of one */
      GstPad *ghost = GST_PAD (gst_proxy_pad_get_internal (GST_PROXY_PAD (pad)));
      next = ghost ? gst_pad_get_peer (ghost) : NULL;
      g_clear_pointer (&ghost, gst_object_unref);
    }
    gst_object_unref (pad);
    pad = next;
  }
  return pad;
}

/* Definitions of types, codecs and the like are long, and say nothing to a reader. */
static gboolean
is_no_buffer (GQuark field, GValue *value, gpointer user_data)
{
  return !GST_VALUE_HOLDS_BUFFER (value);
}

static void
append_caps (GString *label, GstCaps *caps)
{
  GstCaps *shown = gst_caps_copy (caps);
  g_autofree gchar *text = NULL;

  for (guint i = 0; i < gst_caps_get_size (shown); i++)
    gst_structure_filter_and_map_in_place (gst_caps_get_structure (shown, i), is_no_buffer, NULL);
  text = gst_caps_to_string (shown);
  append_line (label, "", text);
  gst_caps_unref (shown);
}

static void
append_link (GString *text, GstPad *src)
{
  GstPad *input = get_input (src);
  GstElement *from = gst_pad_get_parent_element (src);
  GstElement *to = input ? gst_pad_get_parent_element (input) : NULL;
  GstCaps *caps = gst_pad_get_current_caps (src);

  if (from && to) {
    g_autoptr (GString) label = g_string_new (NULL);
    g_autofree gchar *pads = g_strdup_printf ("%s to %s", GST_PAD_NAME (src), GST_PAD_NAME (input));

    append_line (label, "", pads);
    if (caps)
      append_caps (label, caps);
    g_string_append (text, "  ");
    append_id (text, from);
    g_string_append (text, " -> ");
    append_id (text, to);
    g_string_append_printf (text, " [label=\"%s\"];\n", label->str);
  }
  gst_clear_caps (&caps);
  g_clear_pointer (&from, gst_object_unref);
  g_clear_pointer (&to, gst_object_unref);
  g_clear_pointer (&input, gst_object_unref);
}

static void
append_element (GString *text, GstElement *element)
{
  g_autoptr (GString) label = g_string_new (NULL);
  g_autofree gchar *name = gst_object_get_name (GST_OBJECT (element));
  GstElementFactory *factory = gst_element_get_factory (element);

  append_line (label, "", name);
  append_line (label, "", factory ? GST_OBJECT_NAME (factory) : "");
  append_line (label, "", G_OBJECT_TYPE_NAME (element));
  if (is_own (element)) {
    GList *pads = copy_objects (element, &element->pads);

    append_properties (label, "", G_OBJECT (element), GST_TYPE_ELEMENT);
    for (GList *l = pads; l; l = l->next) {
      g_autofree gchar *prefix = g_strdup_printf ("%s::", GST_PAD_NAME (l->data));
      append_properties (label, prefix, l->data, GST_TYPE_PAD);
    }
    free_objects (pads);
  }
  g_string_append (text, "  ");
  append_id (text, element);
  g_string_append_printf (text, " [label=\"%s\"];\n", label->str);
}

static void
append_bin (GString *text, GstBin *bin)
{
  GList *children = copy_objects (bin, &bin->children);

  g_autofree gchar *path = gst_object_get_path_string (GST_OBJECT (bin));

  g_string_append (text, "  subgraph \"cluster_");
  append_text (text, path);
  g_string_append (text, "\" {\n  label=\"");
  append_line (text, "", GST_OBJECT_NAME (bin));
  append_line (text, "", G_OBJECT_TYPE_NAME (bin));
  g_string_append (text, "\";\n");
  for (GList *l = children; l; l = l->next) {
    if (GST_IS_BIN (l->data))
      append_bin (text, l->data);
    else
      append_element (text, l->data);
  }
  g_string_append (text, "  }\n");
  for (GList *l = children; l; l = l->next) {
    GstElement *element = l->data;
    GList *pads = GST_IS_BIN (element) ? NULL : copy_objects (element, &element->srcpads);

    for (GList *p = pads; p; p = p->next)
      append_link (text, p->data);
    free_objects (pads);
  }
  free_objects (children);
}

gchar *
gst_mcap_pipeline_describe (GstElement *element)
{
  GstElement *top = get_top (element);
  GString *text = NULL;
  gchar *valid;

  if (GST_IS_BIN (top)) {
    text = g_string_new ("digraph pipeline {\n  rankdir=LR;\n  node [shape=box];\n");
    append_bin (text, GST_BIN (top));
    g_string_append (text, "}\n");
  }
  gst_object_unref (top);
  if (text == NULL)
    return NULL;
  valid = g_utf8_make_valid (text->str, (gssize)text->len);
  g_string_free (text, TRUE);
  return valid;
}
