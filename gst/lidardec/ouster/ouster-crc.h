/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* CRC-64 as xz has it, of the packets of firmware 3.1 and later. */
guint64 ouster_crc (const guint8 *data, gsize n);

G_END_DECLS
