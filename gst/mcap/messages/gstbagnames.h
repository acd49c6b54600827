/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* GLib's quarks and interned strings stay for the life of the process. Names out of a recording
 * (frames, fields, keys) become such, so that how many may is bounded. */
typedef struct {
  guint left; /* names that may still be added */
} GstBagNames;

/* Longer names are refused. */
#define GST_BAG_NAME_MAX_LENGTH 1024

/* The quark of @name; FALSE where it is none yet and the bound is reached. Of NULL and "" it is 0.
 * @self: NULL for no bound. */
gboolean gst_bag_names_take (GstBagNames *self, const gchar *name, GQuark *quark);
/* Whether @n names that are not looked at one by one may be added; they count then. */
gboolean gst_bag_names_take_some (GstBagNames *self, guint n);

G_END_DECLS
