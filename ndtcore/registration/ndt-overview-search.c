/* SPDX-License-Identifier: MIT */
#include "ndt-overview-search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ndt-overview-views.h"
#include "ndtcore/base/ndt-error.h"
#include "ndtcore/math/ndt-pose.h"

/* Fewest marks of a scan that is searched for. */
#define LEAST_MARKS 12

/* Fewest points of a voxel of the scan. */
#define LEAST_POINTS 3

/* Places nearer than this to a better one, in cells and rad, are in the range of its alignment. */
#define APART_CELLS 4.0
#define APART_RADIANS 0.15

/* Least share of a place as a fraction of the best one's, and least share of the scan's marks. */
#define AS_GOOD 0.8
#define LEAST_SHARE 0.25

/* Most nodes that are split; then the search ends with the places so far. */
#define MOST_SPLIT (4 << 20)

/* Windows of the coarsest level are taken up by their counts, at first at least so many, then each
 * time so many times more. */
#define FIRST_WINDOWS 16384
#define MORE_WINDOWS 4

/* Nodes that a thread splits at a time. */
#define NODES_PER_TASK 128

/* Heights are compared by steps, metres. */
#define HEIGHT_STEP 0.25
#define MOST_FLATS 128

/* Nor is a body farther above or below the map than this, metres. */
#define HEIGHT_MARGIN 10.0

/* Of NDT_OVERVIEW_MARKS and none. */
#define N_COUNTS (NDT_OVERVIEW_MARKS + 1)

/* Level of the windows that the search begins with, and of places. */
#define TOP 3

/* x and y: cells. */
typedef struct {
  gint32 x;
  gint32 y;
  guint16 turn;
  guint16 level;
} Node;

/**
 * Search:
 * @counts: of marks, of each window of the coarsest level, by turn, y and x
 * @n_of: windows with each count, by turn and count
 * @first: index among the taken windows of the first one, by turn and count
 * @taken: windows with counts of @lowest and more but fewer than those taken before, by count from
 *   the highest, turn, y and x
 * @queues: nodes to split, by their count
 * @places: nodes of level 0, by their count
 * @batch: nodes that are split
 * @parts: counts of their four parts
 */
typedef struct {
  const NdtOverview *overview;
  NdtWorkers *workers;
  NdtOverviewViews views;
  guint8 *counts;
  guint32 *n_of;
  guint32 *first;
  Node *taken;
  guint lowest;
  guint highest;
  GArray *queues[N_COUNTS];
  GArray *places[N_COUNTS];
  GArray *batch;
  GArray *parts;
  guint n_nodes;
  guint n_split;
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
  if (kept > NDT_OVERVIEW_MARKS) {
    for (guint i = 0; i < NDT_OVERVIEW_MARKS; i++)
      m[i] = m[(gsize)i * kept / NDT_OVERVIEW_MARKS];
    kept = NDT_OVERVIEW_MARKS;
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

/* ---- Branch and bound ---- */

static gsize
windows_of_turn (const Search *search)
{
  return (gsize)search->overview->n_windows[0] * (gsize)search->overview->n_windows[1];
}

static void
count_turn (guint turn, gpointer data)
{
  const Search *search = data;
  const gsize n = windows_of_turn (search);
  guint8 *counts = search->counts + turn * n;
  guint32 *n_of = search->n_of + (gsize)turn * N_COUNTS;
  ndt_overview_count_all (&search->views, search->overview, turn, counts);
  for (gsize i = 0; i < n; i++)
    n_of[counts[i]]++;
}

static void
take_turn (guint turn, gpointer data)
{
  const Search *search = data;
  const gsize n = windows_of_turn (search);
  const gint nx = search->overview->n_windows[0];
  const guint8 *counts = search->counts + turn * n;
  guint32 *first = search->first + (gsize)turn * N_COUNTS;
  const guint lowest = search->lowest, range = search->highest - lowest;
  for (gsize i = 0; i < n; i++)
    if ((guint)counts[i] - lowest < range)
      search->taken[first[counts[i]]++] = (Node){(gint32)(i % (gsize)nx) * NDT_OVERVIEW_WINDOW,
          (gint32)(i / (gsize)nx) * NDT_OVERVIEW_WINDOW, (guint16)turn, TOP};
}

/* Takes up the windows with counts below those that are taken, down to some count. FALSE: there are
 * more than may be split, or there is not the memory. */
static gboolean
take (Search *search)
{
  const guint n_turns = search->views.n_turns;
  const gsize wanted = search->n_split == 0 ? FIRST_WINDOWS : MORE_WINDOWS * (gsize)search->n_split;
  gsize n = 0;
  search->highest = search->lowest;
  while (n < wanted && search->lowest > MAX (search->cut, 1)) {
    gsize more = n;
    for (guint t = 0; t < n_turns; t++) {
      const gsize at = (gsize)t * N_COUNTS + search->lowest - 1;
      search->first[at] = (guint32)more;
      more += search->n_of[at];
    }
    if (more > MOST_SPLIT)
      break;
    n = more;
    search->lowest--;
  }
  g_clear_pointer (&search->taken, g_free);
  if (search->lowest == search->highest)
    return FALSE;
  search->taken = g_try_new (Node, MAX (n, 1));
  if (!search->taken)
    return FALSE;
  ndt_workers_run (search->workers, n_turns, take_turn, search);
  return TRUE;
}

static void
split (guint task, gpointer data)
{
  const Search *search = data;
  const Node *nodes = (const Node *)(gconstpointer)search->batch->data;
  guint8 *parts = (guint8 *)search->parts->data;
  const guint last = MIN ((task + 1) * NODES_PER_TASK, search->batch->len);
  for (guint i = task * NODES_PER_TASK; i < last; i++) {
    const Node *node = &nodes[i];
    if (node->level == TOP) {
      ndt_overview_count_quad (&search->views, search->overview, node->x, node->y, node->turn,
          search->cut, parts + 4 * (gsize)i);
      continue;
    }
    const gint half = 1 << (node->level - 1);
    for (gint k = 0; k < 4; k++)
      parts[4 * (gsize)i + (gsize)k] =
          (guint8)ndt_overview_count (&search->views, search->overview, node->x + k % 2 * half,
              node->y + k / 2 * half, node->turn, node->level - 1u, search->cut);
  }
}

static void
push (GArray **queue, const Node *node)
{
  if (!*queue)
    *queue = g_array_new (FALSE, FALSE, sizeof (Node));
  g_array_append_val (*queue, *node);
}

/* Splits the batch into the queues. */
static void
split_batch (Search *search)
{
  const NdtOverview *overview = search->overview;
  const guint n = search->batch->len;
  if (n == 0)
    return;
  g_array_set_size (search->parts, 4 * n);
  ndt_workers_run (search->workers, (n + NODES_PER_TASK - 1) / NODES_PER_TASK, split, search);
  for (guint i = 0; i < 4 * n; i++) {
    const guint count = ((const guint8 *)search->parts->data)[i];
    Node node = g_array_index (search->batch, Node, i / 4);
    if (count < MAX (search->cut, 1))
      continue;
    node.level--;
    node.x += (gint32)(i % 2) << node.level;
    node.y += (gint32)(i / 2 % 2) << node.level;
    if (node.x < overview->width && node.y < overview->height)
      push (node.level == 0 ? &search->places[count] : &search->queues[count], &node);
  }
  search->n_split += n;
  search->n_nodes += 4 * n;
  g_array_set_size (search->batch, 0);
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

static void
add_to_batch (Search *search, const Node *nodes, guint n, const Node *found, guint n_found)
{
  for (guint i = 0; i < n; i++)
    if (is_new (search, &nodes[i], found, n_found))
      g_array_append_val (search->batch, nodes[i]);
}

static int
compare_nodes (const void *a, const void *b)
{
  const Node *p = a, *q = b;
  if (p->turn != q->turn)
    return p->turn < q->turn ? -1 : 1;
  if (p->y != q->y)
    return p->y < q->y ? -1 : 1;
  return (p->x > q->x) - (p->x < q->x);
}

/* The middle of the places as good as one that are in its range, so that of a plateau not the
 * corner that comes first is taken. */
static Node
get_middle (const Search *search, const Node *place, const GArray *places)
{
  const gint n_turns = (gint)search->views.n_turns;
  gint64 sum[3] = {0, 0, 0};
  gint n = 0;
  for (guint i = 0; i < places->len; i++) {
    const Node *other = &g_array_index (places, Node, i);
    if (is_new (search, other, place, 1))
      continue;
    gint turn = other->turn - place->turn;
    turn += turn < -n_turns / 2 ? n_turns : turn > n_turns / 2 ? -n_turns : 0;
    sum[0] += other->x - place->x;
    sum[1] += other->y - place->y;
    sum[2] += turn;
    n++;
  }
  Node middle = *place;
  middle.x += (gint)floor ((double)sum[0] / n + 0.5);
  middle.y += (gint)floor ((double)sum[1] / n + 0.5);
  const gint turn = place->turn + (gint)floor ((double)sum[2] / n + 0.5);
  middle.turn = (guint16)((turn + n_turns) % n_turns);
  return middle;
}

/* Splits all nodes with so many marks, and what of that has as many. FALSE: as of take(), or more
 * were split than may be. */
static gboolean
split_all (Search *search, guint count, const Node *found, guint n_found)
{
  if (count < search->lowest && !take (search))
    return FALSE;
  const guint32 *ends = search->first + count;
  const guint last_turn = search->views.n_turns - 1;
  const guint from = count + 1 < search->highest ? ends[(gsize)last_turn * N_COUNTS + 1] : 0;
  add_to_batch (
      search, search->taken + from, ends[(gsize)last_turn * N_COUNTS] - from, found, n_found);
  for (;;) {
    GArray *queue = search->queues[count];
    if (queue) {
      add_to_batch (search, (const Node *)(gpointer)queue->data, queue->len, found, n_found);
      g_array_set_size (queue, 0);
    }
    if (search->batch->len == 0)
      return TRUE;
    if (search->n_split + search->batch->len > MOST_SPLIT)
      return FALSE;
    split_batch (search);
  }
}

/* Places by their counts; of equal ones that with the first direction, then y, then x, whatever
 * the order they were found in. */
static guint
branch (Search *search, guint most, Node *found, guint *shares)
{
  guint n = 0;
  ndt_workers_run (search->workers, search->views.n_turns, count_turn, search);
  search->n_nodes = search->views.n_turns * (guint)windows_of_turn (search);
  search->lowest = search->views.n_marks + 1;
  for (guint b = search->views.n_marks; b >= MAX (search->cut, 1) && n < most; b--) {
    if (!split_all (search, b, found, n))
      return n;
    GArray *places = search->places[b];
    if (!places)
      continue;
    g_array_sort (places, compare_nodes);
    for (guint i = 0; i < places->len && n < most; i++) {
      const Node *place = &g_array_index (places, Node, i);
      if (!is_new (search, place, found, n))
        continue;
      found[n] = get_middle (search, place, places);
      shares[n++] = b;
      if (n == 1)
        search->cut = (guint)(AS_GOOD * b);
    }
  }
  return n;
}

static gboolean
search_init (Search *search, const GArray *marks)
{
  if (!ndt_overview_views_init (&search->views, search->overview, marks))
    return FALSE;
  const gsize n_turns = search->views.n_turns;
  search->counts = g_try_new (guint8, MAX (n_turns * windows_of_turn (search), 1));
  search->n_of = g_try_new0 (guint32, n_turns * N_COUNTS);
  search->first = g_try_new0 (guint32, n_turns * N_COUNTS);
  search->batch = g_array_new (FALSE, FALSE, sizeof (Node));
  search->parts = g_array_new (FALSE, FALSE, 1);
  search->cut = (guint)(LEAST_SHARE * marks->len);
  return search->counts && search->n_of && search->first;
}

static void
search_clear (Search *search)
{
  ndt_overview_views_clear (&search->views);
  g_free (search->counts);
  g_free (search->n_of);
  g_free (search->first);
  g_free (search->taken);
  for (guint i = 0; i < N_COUNTS; i++) {
    g_clear_pointer (&search->queues[i], g_array_unref);
    g_clear_pointer (&search->places[i], g_array_unref);
  }
  g_clear_pointer (&search->batch, g_array_unref);
  g_clear_pointer (&search->parts, g_array_unref);
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
ndt_overview_search (const NdtOverview *overview, NdtWorkers *workers, const float *xyz, guint n,
    guint most, NdtOverviewPlace *places, guint *n_places, guint *n_nodes, GError **error)
{
  g_autoptr (GArray) marks = g_array_new (FALSE, FALSE, sizeof (NdtOverviewMark));
  g_autoptr (GArray) flats = g_array_new (FALSE, FALSE, sizeof (NdtOverviewFlat));
  g_autofree Node *found = g_new (Node, MAX (most, 1));
  g_autofree guint *shares = g_new (guint, MAX (most, 1));
  Search search = {.overview = overview, .workers = workers};
  *n_places = *n_nodes = 0;
  if (!extract_scan (overview, xyz, n, marks, flats, error))
    return FALSE;
  if (marks->len < LEAST_MARKS)
    return TRUE;
  const gboolean ok = search_init (&search, marks);
  if (ok) {
    *n_places = branch (&search, most, found, shares);
    *n_nodes = search.n_nodes;
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
  search_clear (&search);
  return ok;
}
