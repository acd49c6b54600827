/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* GLib never frees quarks and interned strings. Names in a recording (frames, fields, metadata
 * keys) become quarks, so their number is bounded. */
typedef struct {
  guint left;      /* names that may still be added */
  guint n_refused; /* that were not */
} GstBagNames;

/* Longer names are refused. */
#define GST_BAG_NAME_MAX_LENGTH 1024

/* The quark of @name; FALSE where it is none yet and the bound is reached. Of NULL and "" it is 0.
 * @self: NULL for no bound. */
gboolean gst_bag_names_take (GstBagNames *self, const gchar *name, GQuark *quark);
/* Takes @n names from the bound for text that is parsed as a whole. FALSE where fewer are left. */
gboolean gst_bag_names_take_some (GstBagNames *self, guint n);

G_END_DECLS
