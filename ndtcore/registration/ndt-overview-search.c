/* SPDX-License-Identifier: MIT */
#include "ndt-overview-search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ndt-overview-heights.h"
#include "ndt-overview-views.h"
#include "ndtcore/base/ndt-error.h"
#include "ndtcore/math/ndt-pose.h"

/* Fewest marks of a scan that is searched for. */
#define LEAST_MARKS 12

/* Fewest points of a voxel of the scan. */
#define LEAST_POINTS 3

/* Places nearer than this to a better one, rad, and nearer than 4 cells (ndt_overview_is_near()),
 * are in the range of its alignment. */
#define APART_RADIANS 0.15

/* Least share of the scan's marks. */
#define LEAST_SHARE 0.25

/* Windows of the coarsest level are taken up by their counts, at first at least so many, then each
 * time so many times more. */
#define FIRST_WINDOWS 16384
#define MORE_WINDOWS 4

/* Nodes that a thread splits at a time. */
#define NODES_PER_TASK 128

/* Of NDT_OVERVIEW_MARKS and none. */
#define N_COUNTS (NDT_OVERVIEW_MARKS + 1)

typedef NdtOverviewNode Node;

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
  gint range;
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
          (gint32)(i / (gsize)nx) * NDT_OVERVIEW_WINDOW, (guint16)turn, NDT_OVERVIEW_TOP};
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
    if (more > NDT_OVERVIEW_MOST_SPLIT)
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
    if (node->level == NDT_OVERVIEW_TOP) {
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
  for (guint i = 0; i < n; i++)
    if (ndt_overview_is_near (node, &found[i], (gint)search->views.n_turns, search->range))
      return FALSE;
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
    sum[0] += other->x - place->x;
    sum[1] += other->y - place->y;
    sum[2] += ndt_overview_turn_to (other, place, n_turns);
    n++;
  }
  return ndt_overview_middle (place, sum, n, n_turns);
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
    if (search->n_split + search->batch->len > NDT_OVERVIEW_MOST_SPLIT)
      return FALSE;
    split_batch (search);
  }
}

/* Places by their counts; of equal ones that with the first direction, then y, then x, whatever
 * the order they were found in. */
static void
branch (Search *search, guint most, NdtOverviewFound *found)
{
  ndt_workers_run (search->workers, search->views.n_turns, count_turn, search);
  search->n_nodes = search->views.n_turns * (guint)windows_of_turn (search);
  search->lowest = search->views.n_marks + 1;
  for (guint b = search->views.n_marks; b >= MAX (search->cut, 1) && found->n < most; b--) {
    if (!split_all (search, b, found->places, found->n))
      return;
    GArray *places = search->places[b];
    if (!places)
      continue;
    g_array_sort (places, compare_nodes);
    for (guint i = 0; i < places->len && found->n < most; i++) {
      const Node *place = &g_array_index (places, Node, i);
      if (!is_new (search, place, found->places, found->n))
        continue;
      found->places[found->n] = get_middle (search, place, places);
      found->counts[found->n++] = b;
      if (found->n == 1)
        search->cut = (guint)(NDT_OVERVIEW_AS_GOOD * b);
    }
  }
}

static gboolean
search_init (Search *search, const NdtOverviewTask *task)
{
  if (!ndt_overview_views_init (&search->views, search->overview, task))
    return FALSE;
  const gsize n_turns = search->views.n_turns;
  search->counts = g_try_new (guint8, MAX (n_turns * windows_of_turn (search), 1));
  search->n_of = g_try_new0 (guint32, n_turns * N_COUNTS);
  search->first = g_try_new0 (guint32, n_turns * N_COUNTS);
  search->batch = g_array_new (FALSE, FALSE, sizeof (Node));
  search->parts = g_array_new (FALSE, FALSE, 1);
  search->cut = task->cut;
  search->range = task->range;
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

/* ---- The scan, and where it may be ---- */

static gboolean
find_on_host (const NdtOverview *overview, NdtWorkers *workers, const NdtOverviewTask *task,
    NdtOverviewFound *found, GError **error)
{
  Search search = {.overview = overview, .workers = workers};
  const gboolean ok = search_init (&search, task);
  if (ok)
    branch (&search, task->most, found);
  else
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_NO_MEMORY,
        "There is not the memory to search the whole map for a scan");
  found->n_nodes = search.n_nodes;
  search_clear (&search);
  return ok;
}

/* Of the task, all but the most places. */
static void
set_task (NdtOverviewTask *task, const NdtOverview *overview, const GArray *marks)
{
  task->marks = (const NdtOverviewMark *)(gconstpointer)marks->data;
  task->n_marks = marks->len;
  task->n_turns = ndt_overview_count_turns (task->marks, task->n_marks, overview->cell);
  task->cut = (guint)(LEAST_SHARE * marks->len);
  task->range = 0;
  while ((task->range + 1) * (2 * G_PI / task->n_turns) < APART_RADIANS)
    task->range++;
}

gboolean
ndt_overview_search (NdtOverview *overview, NdtBackend *backend, NdtWorkers *workers,
    const float *xyz, guint n, guint most, NdtOverviewPlace *places, guint *n_places,
    guint *n_nodes, GError **error)
{
  g_autoptr (GArray) marks = g_array_new (FALSE, FALSE, sizeof (NdtOverviewMark));
  g_autoptr (GArray) flats = g_array_new (FALSE, FALSE, sizeof (NdtOverviewFlat));
  NdtOverviewTask task = {.most = MIN (most, NDT_OVERVIEW_MOST)};
  NdtOverviewFound found = {0};
  double yaws[NDT_OVERVIEW_MOST];
  gboolean done = FALSE;
  *n_places = *n_nodes = 0;
  if (!extract_scan (overview, xyz, n, marks, flats, error))
    return FALSE;
  if (marks->len < LEAST_MARKS)
    return TRUE;
  set_task (&task, overview, marks);
  if (backend && backend->klass->search_overview &&
      !backend->klass->search_overview (backend, overview, &task, &found, &done, error))
    return FALSE;
  if (!done && !find_on_host (overview, workers, &task, &found, error))
    return FALSE;
  *n_nodes = found.n_nodes;
  *n_places = found.n;
  for (guint i = 0; i < found.n; i++) {
    const NdtOverviewNode *at = &found.places[i];
    const double position[3] = {overview->origin[0] + (at->x + 0.5) * overview->cell,
        overview->origin[1] + (at->y + 0.5) * overview->cell, 0};
    yaws[i] = 2 * G_PI * at->turn / task.n_turns;
    ndt_pose_from_rpy (position, 0, 0, yaws[i], &places[i].pose);
    places[i].share = (double)found.counts[i] / marks->len;
  }
  ndt_overview_find_heights (overview, workers, flats, yaws, places, found.n);
  return TRUE;
}
