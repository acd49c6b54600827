/* SPDX-License-Identifier: MIT */
#include "ndt-memory.h"

#include "ndt-error.h"

gboolean
ndt_refuse_memory (GError **error, const gchar *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree gchar *what = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, NDT_ERROR, NDT_ERROR_NO_MEMORY, "There is not the memory for %s", what);
  return FALSE;
}
