/* SPDX-License-Identifier: MIT */
#include "gstbagsettings.h"

void
gst_bag_settings_init (GstBagSettings *self)
{
  *self = (GstBagSettings){.pose_role = GST_POSE_ROLE_ESTIMATE,
      .attach_poses = TRUE,
      .limits = BAG_LIMITS_INIT,
      .max_names = 4096,
      .max_topics = 4096,
      .to = G_MAXUINT64};
}

void
gst_bag_settings_copy (GstBagSettings *self, const GstBagSettings *other)
{
  *self = *other;
  self->topics = g_strdupv (other->topics);
}

void
gst_bag_settings_clear (GstBagSettings *self)
{
  g_clear_pointer (&self->topics, g_strfreev);
}

gchar **
gst_bag_strings_from_value (const GValue *array)
{
  g_autoptr (GPtrArray) strings = g_ptr_array_new ();
  for (guint i = 0; i < gst_value_array_get_size (array); i++) {
    const GValue *value = gst_value_array_get_value (array, i);
    if (G_VALUE_HOLDS_STRING (value) && g_value_get_string (value))
      g_ptr_array_add (strings, g_value_dup_string (value));
  }
  g_ptr_array_add (strings, NULL);
  return (gchar **)g_ptr_array_steal (strings, NULL);
}

void
gst_bag_strings_to_value (gchar *const *strings, GValue *array)
{
  for (; strings && *strings; strings++) {
    GValue string = G_VALUE_INIT;
    g_value_init (&string, G_TYPE_STRING);
    g_value_set_string (&string, *strings);
    gst_value_array_append_and_take_value (array, &string);
  }
}
