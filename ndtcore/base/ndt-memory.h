/* SPDX-License-Identifier: MIT */
/* Allocation of memory whose size depends on input: a failure is reported and does not abort.
 * Private. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* ndt_grow (array, n): enlarges an array to n elements. FALSE: there is not the memory, and the
 * array is unchanged. */
#define ndt_grow(array, n) ndt_grow_bytes ((gpointer *)&(array), (n), sizeof (*(array)))

static inline gboolean
ndt_grow_bytes (gpointer *array, gsize n, gsize size)
{
  gpointer larger = g_try_realloc_n (*array, n, size);
  if (!larger)
    return FALSE;
  *array = larger;
  return TRUE;
}

/* Sets NDT_ERROR_NO_MEMORY: "There is not the memory for …". FALSE, to be returned. */
gboolean ndt_refuse_memory (GError **error, const gchar *format, ...) G_GNUC_PRINTF (2, 3);

G_END_DECLS
