/* SPDX-License-Identifier: MIT */
/* Words over a picture, drawn by Cairo. */
#pragma once

#include "gst/scene/scene-points.h"

G_BEGIN_DECLS

/* The colour of a status, 0x00RRGGBB. */
guint32 render_status_color (guint status);
/* Status, position, heading, deviation, score, share of points matched and time of a scan, in the
 * upper left corner; @metres_per_pixel: of a scale bar in the lower left, 0: none. */
void render_words (
    guint32 *pixels, guint width, guint height, const SceneScan *scan, double metres_per_pixel);

G_END_DECLS
