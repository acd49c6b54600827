/* SPDX-License-Identifier: MIT */
#include "gstbagnames.h"

#include <string.h>

gboolean
gst_bag_names_take_some (GstBagNames *self, guint n)
{
  if (!self)
    return TRUE;
  if (n > self->left) {
    self->n_refused += n;
    return FALSE;
  }
  self->left -= n;
  return TRUE;
}

gboolean
gst_bag_names_take (GstBagNames *self, const gchar *name, GQuark *quark)
{
  *quark = 0;
  if (!name || !*name)
    return TRUE;
  *quark = g_quark_try_string (name);
  if (*quark != 0)
    return TRUE;
  if (strlen (name) > GST_BAG_NAME_MAX_LENGTH) {
    if (self)
      self->n_refused++;
    return FALSE;
  }
  if (!gst_bag_names_take_some (self, 1))
    return FALSE;
  *quark = g_quark_from_string (name);
  return TRUE;
}
