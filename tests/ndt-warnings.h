/* SPDX-License-Identifier: MIT */
/* Tests run with G_DEBUG=fatal-warnings (tests/meson.build). gst-check's ASSERT_WARNING and
 * ASSERT_CRITICAL do not keep GLib from ending the program then. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Runs @code, a warning or critical of which is not the program's end. */
#define NDT_EXPECT_LOG(code)                                                                       \
  G_STMT_START                                                                                     \
  {                                                                                                \
    const GLogLevelFlags fatal_levels_ = g_log_set_always_fatal (G_LOG_FATAL_MASK);                \
    code;                                                                                          \
    g_log_set_always_fatal (fatal_levels_);                                                        \
  }                                                                                                \
  G_STMT_END

G_END_DECLS
