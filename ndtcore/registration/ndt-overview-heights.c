/* SPDX-License-Identifier: MIT */
#include "ndt-overview-heights.h"

#include <math.h>
#include <stdlib.h>

/* Heights are compared by steps, metres. */
#define HEIGHT_STEP 0.25
#define MOST_FLATS 128

/* Nor is a body farther above or below the map than this, metres. */
#define HEIGHT_MARGIN 10.0

static int
compare_floats (const void *a, const void *b)
{
  const float p = *(const float *)a, q = *(const float *)b;
  return (p > q) - (p < q);
}

/* All differences of height between flat surfaces of the map and of the scan in the same column,
 * sorted. */
static void
get_heights (const NdtOverview *overview, const GArray *flats, const NdtPose *body, double yaw,
    GArray *heights)
{
  const double c = cos (yaw), s = sin (yaw);
  const guint n = MIN (flats->len, MOST_FLATS);
  g_array_set_size (heights, 0);
  for (guint i = 0; i < n; i++) {
    const NdtOverviewFlat *f = &g_array_index (flats, NdtOverviewFlat, (gsize)i * flats->len / n);
    const double x = body->position[0] + c * (double)f->x - s * (double)f->y - overview->origin[0];
    const double y = body->position[1] + s * (double)f->x + c * (double)f->y - overview->origin[1];
    const gint u = (gint)floor (x / overview->column), v = (gint)floor (y / overview->column);
    if (u < 0 || v < 0 || u >= overview->column_width || v >= overview->column_height)
      continue;
    const gsize column = (gsize)v * (gsize)overview->column_width + (gsize)u;
    for (guint32 k = overview->columns[column]; k < overview->columns[column + 1]; k++) {
      const float height = overview->flats[k] - f->z;
      if ((double)height > overview->lowest - HEIGHT_MARGIN &&
          (double)height < overview->highest + HEIGHT_MARGIN)
        g_array_append_val (heights, height);
    }
  }
  if (heights->len > 0)
    qsort (heights->data, heights->len, sizeof (float), compare_floats);
}

/* The heights of the body with most matches, best first. */
static void
set_heights (const GArray *heights, NdtOverviewPlace *place)
{
  const float *h = (const float *)(gconstpointer)heights->data;
  const guint n = heights->len;
  g_autofree double *sums = g_new (double, n + 1);
  guint counts[NDT_OVERVIEW_HEIGHTS];
  sums[0] = 0;
  for (guint i = 0; i < n; i++)
    sums[i + 1] = sums[i] + (double)h[i];
  place->n_heights = 0;
  /* A sum for each height would take the square of their number. */
  for (guint i = 0, first = 0, last = 0; i < n; i++) {
    while ((double)(h[i] - h[first]) > HEIGHT_STEP)
      first++;
    while (last < n && (double)(h[last] - h[i]) <= HEIGHT_STEP)
      last++;
    const guint count = last - first;
    const double height = (sums[last] - sums[first]) / count;
    guint at = 0;
    /* Of near ones the best. */
    while (at < place->n_heights && fabs (place->heights[at] - height) > 2 * HEIGHT_STEP)
      at++;
    if (at == place->n_heights) {
      if (place->n_heights < NDT_OVERVIEW_HEIGHTS)
        place->n_heights++;
      else if (counts[--at] >= count)
        continue;
    } else if (counts[at] >= count) {
      continue;
    }
    for (; at > 0 && counts[at - 1] < count; at--) {
      counts[at] = counts[at - 1];
      place->heights[at] = place->heights[at - 1];
    }
    counts[at] = count;
    place->heights[at] = height;
  }
}

typedef struct {
  const NdtOverview *overview;
  const GArray *flats;
  const double *yaws;
  NdtOverviewPlace *places;
} Heights;

static void
find_of_place (guint i, gpointer data)
{
  const Heights *task = data;
  const NdtOverview *overview = task->overview;
  NdtOverviewPlace *place = &task->places[i];
  g_autoptr (GArray) heights = g_array_new (FALSE, FALSE, sizeof (float));
  get_heights (overview, task->flats, &place->pose, task->yaws[i], heights);
  set_heights (heights, place);
  if (place->n_heights == 0)
    place->heights[place->n_heights++] = 0.5 * (overview->lowest + overview->highest);
  place->pose.position[2] = place->heights[0];
}

void
ndt_overview_find_heights (const NdtOverview *overview, NdtWorkers *workers, const GArray *flats,
    const double *yaws, NdtOverviewPlace *places, guint n)
{
  Heights task = {overview, flats, yaws, places};
  ndt_workers_run (workers, n, find_of_place, &task);
}
