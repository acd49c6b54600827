/* SPDX-License-Identifier: MIT */
#include "ndt-saved.h"

#include <string.h>

void
ndt_saved_append_array (GByteArray *out, const GArray *array)
{
  const guint64 head[2] = {array->len, g_array_get_element_size ((GArray *)array)};
  g_byte_array_append (out, (const guint8 *)head, sizeof head);
  g_byte_array_append (out, (const guint8 *)array->data, (guint)(head[0] * head[1]));
}

gboolean
ndt_saved_take (NdtSaved *saved, gpointer out, gsize size)
{
  if (size > saved->size)
    return FALSE;
  memcpy (out, saved->data, size);
  saved->data += size;
  saved->size -= size;
  return TRUE;
}

gboolean
ndt_saved_take_array (NdtSaved *saved, GArray *array)
{
  guint64 head[2];
  if (!ndt_saved_take (saved, head, sizeof head) || head[1] != g_array_get_element_size (array) ||
      head[0] > saved->size / head[1])
    return FALSE;
  g_array_set_size (array, (guint)head[0]);
  return ndt_saved_take (saved, array->data, head[0] * head[1]);
}
