/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* UTC in ns since 1970; @date: year, month, day, hour, minute and second. Negative: it is none. */
gint64 packet_date_to_ns (const gint date[6], gint64 microseconds);

/* A clock that counts to @wrap and begins anew, made one that goes on. */
typedef struct {
  gboolean is_set;
  gint64 last;   /* value of the last reading */
  gint64 passed; /* whole wraps before it */
} PacketClock;

gint64 packet_clock_unwrap (PacketClock *clock, gint64 value, gint64 wrap);

G_END_DECLS
