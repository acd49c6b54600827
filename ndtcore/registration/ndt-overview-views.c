/* SPDX-License-Identifier: MIT */
#include "ndt-overview-views.h"

#include <math.h>
#include <string.h>

/* Marks at the far end move by two cells from one direction to the next; of the map they are three
 * cells wide. */
#define TURN_CELLS 2.0
#define LEAST_TURNS 48

/* Marks between two looks whether a window can still reach the cut; divides NDT_OVERVIEW_FOURS. */
#define STRETCH 64

/* Bytes that are compared at once. Compilers split it where registers are shorter. */
typedef guint8 Lanes __attribute__ ((vector_size (NDT_OVERVIEW_LANES)));

static Lanes
load (const guint8 *p)
{
  Lanes lanes;
  memcpy (&lanes, p, sizeof (lanes));
  return lanes;
}

/* ---- The scan ---- */

guint
ndt_overview_count_turns (const NdtOverviewMark *marks, guint n, double cell)
{
  double farthest = 0;
  for (guint i = 0; i < n; i++)
    farthest = MAX (farthest, hypot ((double)marks[i].x, (double)marks[i].y));
  return MAX ((guint)ceil (2 * G_PI * farthest / cell / TURN_CELLS), LEAST_TURNS);
}

guint
ndt_overview_direction (guint turn, guint n_turns, double *c, double *s)
{
  const double angle = 2 * G_PI * turn / n_turns;
  *c = cos (angle);
  *s = sin (angle);
  return (guint)lround (angle / G_PI * NDT_OVERVIEW_DIRECTIONS) % NDT_OVERVIEW_DIRECTIONS;
}

gboolean
ndt_overview_views_init (
    NdtOverviewViews *views, const NdtOverview *overview, const NdtOverviewTask *task)
{
  const guint n = task->n_marks;
  views->n_marks = n;
  views->n_turns = task->n_turns;
  views->offsets = g_try_new (gint32, (gsize)n * views->n_turns);
  views->windows = g_try_new (gint32, (gsize)n * views->n_turns);
  views->masks = g_try_new (guint8, (gsize)n * views->n_turns);
  views->fours = g_try_new0 (guint32, (gsize)NDT_OVERVIEW_FOURS * views->n_turns);
  if (!views->offsets || !views->windows || !views->masks || !views->fours) {
    ndt_overview_views_clear (views);
    return FALSE;
  }
  for (guint t = 0; t < views->n_turns; t++) {
    double c, s;
    const guint by = ndt_overview_direction (t, views->n_turns, &c, &s);
    for (guint i = 0; i < n; i++) {
      const NdtOverviewMark *m = &task->marks[i];
      const gint x = ndt_overview_turned (c, s, m->x, m->y, overview->cell),
                 y = ndt_overview_turned (s, -c, m->x, m->y, overview->cell);
      const gsize at = (gsize)t * n + i;
      views->offsets[at] = y * overview->stride + x;
      views->windows[at] = (gint32)ndt_overview_window (overview, x, y);
      views->masks[at] = ndt_overview_turned_mask (m->mask, by);
      views->fours[(gsize)t * NDT_OVERVIEW_FOURS + i] = views->masks[at] * 0x01010101u;
    }
  }
  return TRUE;
}

void
ndt_overview_views_clear (NdtOverviewViews *views)
{
  g_clear_pointer (&views->offsets, g_free);
  g_clear_pointer (&views->windows, g_free);
  g_clear_pointer (&views->masks, g_free);
  g_clear_pointer (&views->fours, g_free);
}

/* ---- Counts ---- */

guint
ndt_overview_count (const NdtOverviewViews *views, const NdtOverview *overview, gint x, gint y,
    guint turn, guint level, guint cut)
{
  const guint n = views->n_marks;
  const gint32 *offsets = views->offsets + (gsize)turn * n;
  const guint8 *masks = views->masks + (gsize)turn * n;
  const guint8 *at = overview->levels[level] + ndt_overview_at (overview, x, y);
  guint sum = 0;
  for (guint first = 0; first < n; first += STRETCH) {
    const guint last = MIN (first + STRETCH, n);
    for (guint i = first; i < last; i++)
      sum += (at[offsets[i]] & masks[i]) != 0;
    if (sum + (n - last) < cut)
      return 0;
  }
  return sum;
}

void
ndt_overview_count_quad (const NdtOverviewViews *views, const NdtOverview *overview, gint x, gint y,
    guint turn, guint cut, guint8 counts[4])
{
  static const Lanes zero;
  const guint n = views->n_marks;
  const gint32 *offsets = views->offsets + (gsize)turn * n;
  const guint8 *fours = (const guint8 *)(views->fours + (gsize)turn * NDT_OVERVIEW_FOURS);
  const guint8 *at = overview->quads + 4 * ndt_overview_at (overview, x, y);
  guint8 cells[4 * STRETCH] = {0};
  guint misses[4] = {0, 0, 0, 0};
  for (guint first = 0; first < n; first += STRETCH) {
    const guint m = MIN (STRETCH, n - first);
    Lanes sum = zero;
    for (guint i = 0; i < m; i++)
      memcpy (cells + 4 * i, at + 4 * (gssize)offsets[first + i], 4);
    for (guint i = 0; i < 4 * STRETCH; i += NDT_OVERVIEW_LANES)
      sum -= (Lanes)((load (cells + i) & load (fours + 4 * first + i)) == zero);
    for (guint k = 0; k < 4; k++)
      misses[k] += (guint)sum[k] + sum[k + 4] + sum[k + 8] + sum[k + 12] - (STRETCH - m);
    const guint least = MIN (MIN (misses[0], misses[1]), MIN (misses[2], misses[3]));
    if (n - least < cut) {
      memset (counts, 0, 4);
      return;
    }
  }
  for (guint k = 0; k < 4; k++)
    counts[k] = (guint8)(n - misses[k]);
}

void
ndt_overview_count_all (
    const NdtOverviewViews *views, const NdtOverview *overview, guint turn, guint8 *counts)
{
  static const Lanes zero;
  const guint n = views->n_marks;
  const gint32 *offsets = views->windows + (gsize)turn * n;
  const guint8 *masks = views->masks + (gsize)turn * n;
  const gint nx = overview->n_windows[0], ny = overview->n_windows[1];
  const gsize stride = (gsize)overview->window_stride;
  for (gint y = 0; y < ny; y += NDT_OVERVIEW_ROWS)
    for (gint x = 0; x < nx; x += NDT_OVERVIEW_LANES) {
      const guint8 *at = overview->windows + (gsize)y * stride + (gsize)x;
      Lanes a = zero, b = zero, c = zero, d = zero;
      for (guint i = 0; i < n; i++) {
        const guint8 *p = at + offsets[i];
        const Lanes mask = masks[i] - zero;
        a -= (Lanes)((load (p) & mask) == zero);
        b -= (Lanes)((load (p + stride) & mask) == zero);
        c -= (Lanes)((load (p + 2 * stride) & mask) == zero);
        d -= (Lanes)((load (p + 3 * stride) & mask) == zero);
      }
      const Lanes rows[NDT_OVERVIEW_ROWS] = {
          (guint8)n - a, (guint8)n - b, (guint8)n - c, (guint8)n - d};
      for (gint k = 0; k < NDT_OVERVIEW_ROWS && y + k < ny; k++)
        memcpy (counts + (gsize)(y + k) * (gsize)nx + (gsize)x, &rows[k],
            (gsize)MIN (NDT_OVERVIEW_LANES, nx - x));
    }
}
