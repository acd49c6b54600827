/* SPDX-License-Identifier: MIT */
/* After how many bytes points repeat. Private: not installed. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Bytes of a point as the numbers themselves tell: where coordinates are 4-byte floats, a number
 * and the one a point later are of one field, so that their mean difference is smallest at the true
 * step and its multiples. @step: what is assumed. Returns a step of 12 to 32 bytes that fits much
 * better than @step and is no multiple of it, or @step where there is none or the data are too few.
 */
guint gst_point_cloud_period_find (const guint8 *data, gsize size, guint step);

G_END_DECLS
