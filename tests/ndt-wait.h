/* SPDX-License-Identifier: MIT */
/* Waiting in tests. */
#pragma once

#include <glib.h>

/* Timeout of events that have to occur: far above the needs of a slow, loaded machine, and below
 * the timeout of a test. */
#define NDT_WAIT_SECONDS 120

/* Polls @condition until it is true; a timeout fails the test. */
#define ndt_wait_for(condition)                                                                    \
  G_STMT_START                                                                                     \
  {                                                                                                \
    const gint64 wait_end = g_get_monotonic_time () + NDT_WAIT_SECONDS * G_TIME_SPAN_SECOND;       \
    while (!(condition)) {                                                                         \
      if (g_get_monotonic_time () > wait_end)                                                      \
        g_error ("%s:%d: waited in vain for: %s", __FILE__, __LINE__, #condition);                 \
      g_usleep (1000);                                                                             \
    }                                                                                              \
  }                                                                                                \
  G_STMT_END
