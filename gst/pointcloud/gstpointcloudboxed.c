/* SPDX-License-Identifier: MIT */
#include "gstpointcloudboxed.h"

#include <string.h>

static GQuark
class_quark (void)
{
  return g_quark_from_static_string ("GstPointCloudBoxedClass");
}

static const GstPointCloudBoxedClass *
get_class (const GValue *value)
{
  return g_type_get_qdata (G_VALUE_TYPE (value), class_quark ());
}

static gboolean
is_blank (const gchar *text)
{
  return text[strspn (text, " \t\r\n")] == '\0';
}

/* In quotes: in a structure or caps a bare comma ends a value. */
static gchar *
serialize (const GValue *value)
{
  gconstpointer boxed = g_value_get_boxed (value);
  g_autofree gchar *text = boxed ? get_class (value)->to_string (boxed) : NULL;
  return g_strdup_printf ("\"%s\"", text ? text : "");
}

static gboolean
deserialize (GValue *value, const gchar *text)
{
  const gsize size = strlen (text);
  const gboolean quoted = size > 1 && text[0] == '"' && text[size - 1] == '"';
  g_autofree gchar *bare = quoted ? g_strndup (text + 1, size - 2) : g_strdup (text);
  g_autoptr (GError) error = NULL;
  gpointer boxed = is_blank (bare) ? NULL : get_class (value)->from_string (bare, &error);

  if (error) {
    GST_WARNING ("%s", error->message);
    return FALSE;
  }
  g_value_take_boxed (value, boxed);
  return TRUE;
}

static void
from_text (const GValue *text, GValue *value)
{
  const gchar *string = g_value_get_string (text);
  g_autoptr (GError) error = NULL;
  gpointer boxed =
      !string || is_blank (string) ? NULL : get_class (value)->from_string (string, &error);

  if (error)
    g_warning ("%s", error->message);
  g_value_take_boxed (value, boxed);
}

static void
to_text (const GValue *value, GValue *text)
{
  gconstpointer boxed = g_value_get_boxed (value);
  g_value_take_string (text, boxed ? get_class (value)->to_string (boxed) : NULL);
}

static gint
compare (const GValue *a, const GValue *b)
{
  gconstpointer x = g_value_get_boxed (a), y = g_value_get_boxed (b);
  const gboolean equal = x && y ? memcmp (x, y, get_class (a)->size) == 0 : x == y;
  return equal ? GST_VALUE_EQUAL : GST_VALUE_UNORDERED;
}

void
gst_point_cloud_boxed_register (GType type, GstPointCloudBoxedClass *klass)
{
  /* gst_value_register() keeps the pointer. */
  klass->table = (GstValueTable){
      .type = type, .compare = compare, .serialize = serialize, .deserialize = deserialize};
  g_type_set_qdata (type, class_quark (), klass);
  gst_value_register (&klass->table);
  g_value_register_transform_func (G_TYPE_STRING, type, from_text);
  g_value_register_transform_func (type, G_TYPE_STRING, to_text);
}
