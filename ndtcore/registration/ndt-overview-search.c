/* SPDX-License-Identifier: MIT */
#include "ndt-overview-search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ndtcore/base/ndt-error.h"
#include "ndtcore/math/ndt-pose.h"

/* Most marks of a scan. */
#define MOST_MARKS 256
#define LEAST_MARKS 12

/* Fewest points of a voxel of the scan. */
#define LEAST_POINTS 3

/* Marks at the far end move by two cells from one direction to the next; of the map they are three
 * cells wide. */
#define TURN_CELLS 2.0
#define LEAST_TURNS 48

/* Places nearer than this to a better one, in cells and rad, are in the range of its alignment. */
#define APART_CELLS 4.0
#define APART_RADIANS 0.15

/* Least share of a place as a fraction of the best one's, and least share of the scan's marks. */
#define AS_GOOD 0.8
#define LEAST_SHARE 0.25

/* Most nodes; then the search ends with the places so far. */
#define MOST_NODES (3 << 20)

/* Heights are compared by steps, metres. */
#define HEIGHT_STEP 0.25
#define MOST_FLATS 128

/* Nor is a body farther above or below the map than this, metres. */
#define HEIGHT_MARGIN 10.0

#define N_DIRECTIONS 8

/* The scan in all directions. */
typedef struct {
  guint n_marks;
  guint n_turns;
  gint32 *offsets; /* cells, by turn and mark */
  guint8 *masks;
} Views;

typedef struct {
  gint32 x;
  gint32 y;
  guint16 turn;
  guint16 level;
} Node;

typedef struct {
  const NdtOverview *overview;
  Views views;
  GArray **queue; /* by bound */
  guint n_nodes;
  guint cut; /* least number of marks of a place */
} Search;

/* ---- The scan ---- */

static int
compare_marks (const void *a, const void *b)
{
  const NdtOverviewMark *p = a, *q = b;
  if (p->y != q->y)
    return p->y < q->y ? -1 : 1;
  if (p->x != q->x)
    return p->x < q->x ? -1 : 1;
  return p->mask - q->mask;
}

/* One of each cell and direction, within reach, at most so many, spread over the scan. */
static void
thin_marks (GArray *marks, double cell)
{
  guint n = 0;
  NdtOverviewMark *m = (NdtOverviewMark *)(gpointer)marks->data;
  for (guint i = 0; i < marks->len; i++) {
    if (hypot ((double)m[i].x, (double)m[i].y) > NDT_OVERVIEW_REACH * cell)
      continue;
    const NdtOverviewMark mark = {(float)((floor ((double)m[i].x / cell) + 0.5) * cell),
        (float)((floor ((double)m[i].y / cell) + 0.5) * cell), m[i].mask};
    m[n++] = mark;
  }
  if (n > 0)
    qsort (m, n, sizeof (*m), compare_marks);
  guint kept = 0;
  for (guint i = 0; i < n; i++)
    if (kept == 0 || compare_marks (&m[kept - 1], &m[i]) != 0)
      m[kept++] = m[i];
  if (kept > MOST_MARKS) {
    for (guint i = 0; i < MOST_MARKS; i++)
      m[i] = m[(gsize)i * kept / MOST_MARKS];
    kept = MOST_MARKS;
  }
  /* In random order, so that the first ones are a sample of all. */
  guint32 random = 1;
  for (guint i = kept; i > 1; i--) {
    random = random * 1664525u + 1013904223u;
    const guint k = (guint)((guint64)random * i >> 32);
    const NdtOverviewMark mark = m[i - 1];
    m[i - 1] = m[k];
    m[k] = mark;
  }
  g_array_set_size (marks, kept);
}

static gboolean
extract_scan (const NdtOverview *overview, const float *xyz, guint n, GArray *marks, GArray *flats,
    GError **error)
{
  static const double origin[2] = {0, 0};
  NdtVoxelMapParams params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (xyz, n);
  g_autoptr (GError) failure = NULL;
  params.resolution = 2 * overview->cell;
  params.min_points = LEAST_POINTS;
  params.n_levels = 1;
  g_autoptr (NdtVoxelMap) map = ndt_voxel_map_new (&params, &view, &failure);
  if (!map && g_error_matches (failure, NDT_ERROR, NDT_ERROR_NO_MEMORY)) {
    g_propagate_error (error, g_steal_pointer (&failure));
    return FALSE;
  }
  if (map)
    ndt_overview_extract (ndt_voxel_map_get_level (map, 0), overview->cell, origin, marks, flats);
  thin_marks (marks, overview->cell);
  return TRUE;
}

static guint
count_turns (const GArray *marks, double cell)
{
  double farthest = 0;
  for (guint i = 0; i < marks->len; i++) {
    const NdtOverviewMark *m = &g_array_index (marks, NdtOverviewMark, i);
    farthest = MAX (farthest, hypot ((double)m->x, (double)m->y));
  }
  return MAX ((guint)ceil (2 * G_PI * farthest / cell / TURN_CELLS), LEAST_TURNS);
}

static gboolean
make_views (const NdtOverview *overview, const GArray *marks, Views *views)
{
  const guint n = marks->len;
  views->n_marks = n;
  views->n_turns = count_turns (marks, overview->cell);
  views->offsets = g_try_new (gint32, (gsize)n * views->n_turns);
  views->masks = g_try_new (guint8, (gsize)n * views->n_turns);
  if (!views->offsets || !views->masks)
    return FALSE;
  for (guint t = 0; t < views->n_turns; t++) {
    const double angle = 2 * G_PI * t / views->n_turns, c = cos (angle), s = sin (angle);
    const guint by = (guint)lround (angle / G_PI * N_DIRECTIONS) % N_DIRECTIONS;
    for (guint i = 0; i < n; i++) {
      const NdtOverviewMark *m = &g_array_index (marks, NdtOverviewMark, i);
      const double x = (c * (double)m->x - s * (double)m->y) / overview->cell,
                   y = (s * (double)m->x + c * (double)m->y) / overview->cell;
      views->offsets[(gsize)t * n + i] =
          (gint32)floor (y + 0.5) * overview->stride + (gint32)floor (x + 0.5);
      views->masks[(gsize)t * n + i] = (guint8)(m->mask << by | m->mask >> (N_DIRECTIONS - by));
    }
  }
  return TRUE;
}

/* ---- Branch and bound ---- */

/* Upper bound of the marks that meet one of the map for any position of the node; 0 where that is
 * below the cut. */
static guint
bound (const Search *search, gint x, gint y, guint turn, guint level)
{
  const Views *views = &search->views;
  const guint n = views->n_marks;
  const gint32 *offsets = views->offsets + (gsize)turn * n;
  const guint8 *masks = views->masks + (gsize)turn * n;
  const guint8 *at = search->overview->levels[level] + ndt_overview_at (search->overview, x, y);
  guint sum = 0;
  for (guint first = 0; first < n; first += 64) {
    const guint last = MIN (first + 64, n);
    for (guint i = first; i < last; i++)
      sum += (at[offsets[i]] & masks[i]) != 0;
    if (sum + (n - last) < search->cut)
      return 0;
  }
  return sum;
}

static void
push (Search *search, gint x, gint y, guint turn, guint level)
{
  if (x >= search->overview->width || y >= search->overview->height)
    return;
  const guint most = bound (search, x, y, turn, level);
  search->n_nodes++;
  if (most < MAX (search->cut, 1))
    return;
  const Node node = {x, y, (guint16)turn, (guint16)level};
  if (!search->queue[most])
    search->queue[most] = g_array_new (FALSE, FALSE, sizeof (Node));
  g_array_append_val (search->queue[most], node);
}

static gboolean
is_new (const Search *search, const Node *node, const Node *found, guint n)
{
  const double turn = 2 * G_PI / search->views.n_turns;
  const double half = 0.5 * (1 << node->level) - 0.5;
  for (guint i = 0; i < n; i++) {
    double angle = fabs ((double)node->turn - (double)found[i].turn);
    angle = MIN (angle, search->views.n_turns - angle) * turn;
    if (angle < APART_RADIANS &&
        hypot (node->x + half - found[i].x, node->y + half - found[i].y) + M_SQRT2 * half <
            APART_CELLS)
      return FALSE;
  }
  return TRUE;
}

static guint
branch (Search *search, guint most, Node *found, guint *shares)
{
  const NdtOverview *overview = search->overview;
  const guint top = overview->n_levels - 1;
  guint n = 0;
  for (guint t = 0; t < search->views.n_turns; t++)
    for (gint y = 0; y < overview->height; y += 1 << top)
      for (gint x = 0; x < overview->width; x += 1 << top)
        push (search, x, y, t, top);
  for (guint b = search->views.n_marks; b >= MAX (search->cut, 1) && n < most; b--) {
    GArray *nodes = search->queue[b];
    while (nodes && nodes->len > 0 && n < most) {
      const Node node = g_array_index (nodes, Node, nodes->len - 1);
      g_array_set_size (nodes, nodes->len - 1);
      if (!is_new (search, &node, found, n))
        continue;
      if (node.level == 0) {
        found[n] = node;
        shares[n++] = b;
        if (n == 1)
          search->cut = (guint)(AS_GOOD * b);
        continue;
      }
      if (search->n_nodes > MOST_NODES)
        return n;
      const gint half = 1 << (node.level - 1);
      for (gint i = 3; i >= 0; i--)
        push (
            search, node.x + (i & 1) * half, node.y + (i >> 1) * half, node.turn, node.level - 1u);
      /* A child may have the bound of its parent, so that the queue may have been reallocated. */
      nodes = search->queue[b];
    }
  }
  return n;
}

/* ---- Heights ---- */

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
find_heights (const GArray *heights, NdtOverviewPlace *place)
{
  const float *h = (const float *)(gconstpointer)heights->data;
  const guint n = heights->len;
  guint counts[NDT_OVERVIEW_HEIGHTS];
  place->n_heights = 0;
  for (guint i = 0, first = 0, last = 0; i < n; i++) {
    double sum = 0;
    while ((double)(h[i] - h[first]) > HEIGHT_STEP)
      first++;
    while (last < n && (double)(h[last] - h[i]) <= HEIGHT_STEP)
      last++;
    for (guint k = first; k < last; k++)
      sum += (double)h[k];
    const guint count = last - first;
    const double height = sum / count;
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

gboolean
ndt_overview_search (const NdtOverview *overview, const float *xyz, guint n, guint most,
    NdtOverviewPlace *places, guint *n_places, guint *n_nodes, GError **error)
{
  g_autoptr (GArray) marks = g_array_new (FALSE, FALSE, sizeof (NdtOverviewMark));
  g_autoptr (GArray) flats = g_array_new (FALSE, FALSE, sizeof (NdtOverviewFlat));
  g_autofree Node *found = g_new (Node, MAX (most, 1));
  g_autofree guint *shares = g_new (guint, MAX (most, 1));
  Search search = {.overview = overview};
  gboolean ok = extract_scan (overview, xyz, n, marks, flats, error);
  *n_places = *n_nodes = 0;
  if (!ok || marks->len < LEAST_MARKS)
    return ok;
  ok = make_views (overview, marks, &search.views);
  if (ok) {
    search.cut = (guint)(LEAST_SHARE * marks->len);
    search.queue = g_new0 (GArray *, marks->len + 1);
    *n_places = branch (&search, most, found, shares);
    *n_nodes = search.n_nodes;
    for (guint i = 0; i <= marks->len; i++)
      g_clear_pointer (&search.queue[i], g_array_unref);
    g_free (search.queue);
  } else {
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_NO_MEMORY,
        "There is not the memory to search the whole map for a scan");
  }
  g_autoptr (GArray) heights = g_array_new (FALSE, FALSE, sizeof (float));
  const double middle = 0.5 * (overview->lowest + overview->highest);
  for (guint i = 0; i < *n_places; i++) {
    NdtOverviewPlace *place = &places[i];
    const double yaw = 2 * G_PI * found[i].turn / search.views.n_turns;
    const double at[3] = {overview->origin[0] + (found[i].x + 0.5) * overview->cell,
        overview->origin[1] + (found[i].y + 0.5) * overview->cell, middle};
    ndt_pose_from_rpy (at, 0, 0, yaw, &place->pose);
    place->share = (double)shares[i] / marks->len;
    get_heights (overview, flats, &place->pose, yaw, heights);
    find_heights (heights, place);
    if (place->n_heights > 0)
      place->pose.position[2] = place->heights[0];
    else
      place->heights[place->n_heights++] = middle;
  }
  g_free (search.views.offsets);
  g_free (search.views.masks);
  return ok;
}
