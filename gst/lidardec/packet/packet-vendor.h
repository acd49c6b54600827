/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Whose packet it looks like, by its size and first bytes: "a Velodyne's: use velodynedec" or the
 * like; NULL: nobody's that is known. It is for messages, and wrong at times. */
const gchar *packet_guess_vendor (const guint8 *data, gsize size);

G_END_DECLS
