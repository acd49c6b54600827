/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Names of numbered files: a pattern with one %d, %5d or %05d; %% is a percent sign. */

/* FALSE: not a name and no pattern. @numbered: it has a number. */
gboolean mcap_location_check (const gchar *location, gboolean *numbered);
/* Of a location that mcap_location_check() took. */
gchar *mcap_location_format (const gchar *location, guint number);

G_END_DECLS
