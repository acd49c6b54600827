/* SPDX-License-Identifier: MIT */
#include "gstpointcloudboxed.h"

#include <string.h>

static gboolean
is_blank (const gchar *text)
{
  return text[strspn (text, " \t\r\n")] == '\0';
}

/* In quotes: in a structure or caps a bare comma ends a value. */
gchar *
gst_point_cloud_boxed_serialize (const GValue *value, GstPointCloudToString to_string)
{
  gconstpointer boxed = g_value_get_boxed (value);
  g_autofree gchar *text = boxed ? to_string (boxed) : NULL;
  return g_strdup_printf ("\"%s\"", text ? text : "");
}

gboolean
gst_point_cloud_boxed_deserialize (
    GValue *value, const gchar *text, GstPointCloudFromString from_string)
{
  const gsize size = strlen (text);
  const gboolean quoted = size > 1 && text[0] == '"' && text[size - 1] == '"';
  g_autofree gchar *bare = quoted ? g_strndup (text + 1, size - 2) : g_strdup (text);
  g_autoptr (GError) error = NULL;
  gpointer boxed = is_blank (bare) ? NULL : from_string (bare, &error);

  if (error) {
    GST_WARNING ("%s", error->message);
    return FALSE;
  }
  g_value_take_boxed (value, boxed);
  return TRUE;
}

void
gst_point_cloud_boxed_from_text (
    const GValue *text, GValue *value, GstPointCloudFromString from_string)
{
  const gchar *string = g_value_get_string (text);
  g_autoptr (GError) error = NULL;
  gpointer boxed = !string || is_blank (string) ? NULL : from_string (string, &error);

  if (error)
    g_warning ("%s", error->message);
  g_value_take_boxed (value, boxed);
}

gint
gst_point_cloud_boxed_compare (const GValue *a, const GValue *b, gsize size)
{
  gconstpointer x = g_value_get_boxed (a), y = g_value_get_boxed (b);
  const gboolean equal = x && y ? memcmp (x, y, size) == 0 : x == y;
  return equal ? GST_VALUE_EQUAL : GST_VALUE_UNORDERED;
}
