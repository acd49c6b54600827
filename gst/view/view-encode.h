/* SPDX-License-Identifier: MIT */
/* What the page gets, as bytes: little-endian, each kind begins with its number (guint32). Lengths
 * are metres, points 16-bit multiples of a scale. page/view.js reads it. */
#pragma once

#include "gst/scene/scene-points.h"
#include "view-server.h"

G_BEGIN_DECLS

/* Points of a part of the map. */
#define VIEW_CHUNK_POINTS 60000u

/* Versions of a scan: all points, every fourth, every sixteenth. */
void view_encode_scan (const SceneScan *scan, GBytes *levels[VIEW_LEVELS]);
/* The way driven so far. */
GBytes *view_encode_steps (const SceneStep *steps, guint n);
/* A map of @n points (three doubles each) as messages, in the order of points. */
GPtrArray *view_encode_map (const double *xyz, gsize n);

G_END_DECLS
