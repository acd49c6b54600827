/* SPDX-License-Identifier: MIT */
#include "ndt-log.h"

void
ndt_log_set_level (NdtLog *log, NdtLogLevel level)
{
  __atomic_store_n (&log->level, (gint)level, __ATOMIC_RELAXED);
}

void
ndt_log_message (
    const NdtLog *log, NdtLogLevel level, const gchar *category, const gchar *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree gchar *message = g_strdup_vprintf (format, args);
  va_end (args);
  log->func (level, category, message, log->user_data);
}
