/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* In the order of GStreamer's levels. Each level includes those before it. */
typedef enum {
  NDT_LOG_NONE,
  NDT_LOG_ERROR,   /* an operation failed */
  NDT_LOG_WARNING, /* an operation was refused, or succeeded by a slower way */
  NDT_LOG_INFO,    /* once per map, device or run */
  NDT_LOG_DEBUG,   /* each decision, with its numbers */
  NDT_LOG_TRACE,   /* each scan */
} NdtLogLevel;

/**
 * NdtLogFunc:
 * @category: what the message is about: "backend", "cuda", "map", "frames", "search", …; a static
 *   string
 * @message: one line without a line feed, valid during the call
 *
 * Receives messages. Threads that use the object with this log call it concurrently, and may have
 * locks of ndtcore: it must not call functions of that object.
 */
typedef void (*NdtLogFunc) (
    NdtLogLevel level, const gchar *category, const gchar *message, gpointer user_data);

/**
 * NdtLog:
 * @func: receives the messages
 * @user_data: for @func
 * @level: the last #NdtLogLevel that @func is called for; may be changed by any thread at any time
 *   with ndt_log_set_level()
 *
 * A receiver of messages, owned by the caller; it has to outlive all objects that it was given to.
 * There is no global log: an object without a log (NULL) is silent.
 */
typedef struct {
  NdtLogFunc func;
  gpointer user_data;
  gint level;
} NdtLog;

void ndt_log_set_level (NdtLog *log, NdtLogLevel level);

/* TRUE where a message of @lvl would be received. */
#define ndt_log_wants(log, lvl)                                                                    \
  G_UNLIKELY ((log) != NULL && __atomic_load_n (&(log)->level, __ATOMIC_RELAXED) >= (gint)(lvl))

/* ndt_log (log, level, category, format, ...): @log may be NULL. Arguments are evaluated only where
 * the message is wanted. */
#define ndt_log(log, lvl, ...)                                                                     \
  G_STMT_START                                                                                     \
  {                                                                                                \
    if (ndt_log_wants (log, lvl))                                                                  \
      ndt_log_message (log, lvl, __VA_ARGS__);                                                     \
  }                                                                                                \
  G_STMT_END

/* For ndt_log(): calls the function whatever the level. */
void ndt_log_message (const NdtLog *log, NdtLogLevel level, const gchar *category,
    const gchar *format, ...) G_GNUC_PRINTF (4, 5);

G_END_DECLS
