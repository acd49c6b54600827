/* SPDX-License-Identifier: MIT */
/* State of a run in memory, as the same build reads it again. Private. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* What is left to be read. */
typedef struct {
  const guint8 *data;
  gsize size;
} NdtSaved;

/* A GArray's elements, their number and size before them. */
void ndt_saved_append_array (GByteArray *out, const GArray *array);
/* FALSE where fewer than @size bytes are left; @out is then unchanged. */
gboolean ndt_saved_take (NdtSaved *saved, gpointer out, gsize size);
/* Replaces the contents of @array; FALSE where its elements have another size, or too few bytes are
 * left. */
gboolean ndt_saved_take_array (NdtSaved *saved, GArray *array);

G_END_DECLS
