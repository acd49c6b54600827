/* SPDX-License-Identifier: MIT */
/* A scan seen from above in all directions, and how many of its marks meet one of the map from
 * windows of positions: integers, the same on every processor. Private to ndt_overview_search(). */
#pragma once

#include "ndtcore/map/ndt-overview.h"

G_BEGIN_DECLS

#define NDT_OVERVIEW_FOURS 256

/**
 * NdtOverviewViews:
 * @n_marks: at most %NDT_OVERVIEW_MARKS
 * @n_turns: directions, evenly around the circle
 * @offsets: of each mark in the map's levels, cells, by turn and mark
 * @windows: and in its windows
 * @masks: and the mark's directions
 * @fours: these four times, NDT_OVERVIEW_FOURS for each direction, none after the last mark
 */
typedef struct {
  guint n_marks;
  guint n_turns;
  gint32 *offsets;
  gint32 *windows;
  guint8 *masks;
  guint32 *fours;
} NdtOverviewViews;

/* Directions in which a scan's marks are compared with a map of such cells. */
guint ndt_overview_count_turns (const NdtOverviewMark *marks, guint n, double cell);
/* Direction @turn of @n_turns: cosine, sine, and by how many directions of marks. */
guint ndt_overview_direction (guint turn, guint n_turns, double *c, double *s);

/* FALSE: there is not the memory. */
gboolean ndt_overview_views_init (
    NdtOverviewViews *views, const NdtOverview *overview, const NdtOverviewTask *task);
void ndt_overview_views_clear (NdtOverviewViews *views);

/* Marks that meet one of the map from the window of level 0 or 1 at cell (x, y); 0 where they are
 * fewer than @cut. */
guint ndt_overview_count (const NdtOverviewViews *views, const NdtOverview *overview, gint x,
    gint y, guint turn, guint level, guint cut);

/* The same for the four windows of level 2 in the window of level 3 at (x, y); of all of them where
 * one has so many. */
void ndt_overview_count_quad (const NdtOverviewViews *views, const NdtOverview *overview, gint x,
    gint y, guint turn, guint cut, guint8 counts[4]);

/* The same for all windows of level 3: @counts, @overview->n_windows[0] of each row. */
void ndt_overview_count_all (
    const NdtOverviewViews *views, const NdtOverview *overview, guint turn, guint8 *counts);

G_END_DECLS
