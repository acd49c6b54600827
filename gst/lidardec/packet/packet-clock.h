/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* UTC in ns since 1970; @date: year, month, day, hour, minute and second. Negative: it is none. */
gint64 packet_date_to_ns (const gint date[6], gint64 microseconds);

G_END_DECLS
