/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* XXH64 with the seed 0 (Collet, "xxHash fast digest algorithm", version 0.1.1): finds damage, at
 * the speed of memory; it is no protection against intent. */
guint64 ndt_hash64 (gconstpointer data, gsize size);

G_END_DECLS
