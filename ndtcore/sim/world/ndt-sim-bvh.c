/* SPDX-License-Identifier: MIT */
#include "ndt-sim-bvh.h"

#define MAX_LEAF 3
#define MAX_DEPTH 64
/* Metres by which a node's bounds exceed those of its shapes: more than the rounding of the float
 * bounds, and of the float test against them, for coordinates and distances of some kilometres. */
#define PADDING 0.002
/* Replaces zero components of directions, so that their reciprocals are finite. */
#define TINY 1e-20f

typedef struct {
  float min[3], max[3];
  guint32 first; /* leaf: first entry of order; inner node: left child, the right one follows */
  guint32 count; /* shapes of a leaf; 0: inner node */
} Node;

struct _NdtSimBvh {
  const NdtSimShape *shapes;
  guint32 *order; /* indices of shapes, leaf by leaf */
  Node *nodes;
  guint n_nodes;
};

typedef struct {
  double min[3], max[3];
} Bounds;

typedef struct {
  const Bounds *bounds; /* of each shape */
  guint axis;
} SortContext;

static gint
compare_centres (gconstpointer a, gconstpointer b, gpointer user_data)
{
  const SortContext *context = user_data;
  const guint32 i = *(const guint32 *)a, j = *(const guint32 *)b;
  const Bounds *p = &context->bounds[i], *q = &context->bounds[j];
  const double x = p->min[context->axis] + p->max[context->axis];
  const double y = q->min[context->axis] + q->max[context->axis];

  if (x != y)
    return x < y ? -1 : 1;
  return i < j ? -1 : i > j;
}

static void
bounds_add (Bounds *bounds, const Bounds *other)
{
  guint i;
  for (i = 0; i < 3; i++) {
    bounds->min[i] = MIN (bounds->min[i], other->min[i]);
    bounds->max[i] = MAX (bounds->max[i], other->max[i]);
  }
}

static const Bounds empty_bounds = {
    {INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};

static double
bounds_area (const Bounds *bounds)
{
  const double x = bounds->max[0] - bounds->min[0], y = bounds->max[1] - bounds->min[1],
               z = bounds->max[2] - bounds->min[2];
  return x * y + y * z + z * x;
}

static void
sort_along (const Bounds *bounds, guint32 *order, guint n, guint axis)
{
  SortContext context = {bounds, axis};

  g_qsort_with_data (order, (gint)n, sizeof *order, compare_centres, &context);
}

/* Least expected cost (area × number on both sides) of a cut through entries in this order, and
 * how many it leaves on the left. @areas is scratch. */
static double
best_cut (const Bounds *bounds, const guint32 *order, guint n, double *areas, guint *cut)
{
  Bounds side = empty_bounds;
  double best = INFINITY;
  guint i;

  for (i = n - 1; i > 0; i--) {
    bounds_add (&side, &bounds[order[i]]);
    areas[i] = bounds_area (&side) * (n - i);
  }
  side = empty_bounds;
  for (i = 1; i < n; i++) {
    double cost;

    bounds_add (&side, &bounds[order[i - 1]]);
    cost = bounds_area (&side) * i + areas[i];
    if (cost < best) {
      best = cost;
      *cut = i;
    }
  }
  return best;
}

/* Sorts the entries along an axis and returns how many go left. Large sets are cut across their
 * longest side, small ones where it costs least. */
static guint
split (const Bounds *bounds, guint32 *order, guint n, const Bounds *all, double *areas)
{
  double best = INFINITY;
  guint best_axis = 0, cut = n / 2, axis;

  if (n > 64) {
    for (axis = 1; axis < 3; axis++)
      if (all->max[axis] - all->min[axis] > all->max[best_axis] - all->min[best_axis])
        best_axis = axis;
  } else {
    for (axis = 0; axis < 3; axis++) {
      double cost;

      sort_along (bounds, order, n, axis);
      cost = best_cut (bounds, order, n, areas, &cut);
      if (cost < best) {
        best = cost;
        best_axis = axis;
      }
    }
  }
  sort_along (bounds, order, n, best_axis);
  best_cut (bounds, order, n, areas, &cut);
  return cut;
}

static void
build (NdtSimBvh *bvh, const Bounds *bounds, guint node_index, guint first, guint n, guint depth,
    double *areas)
{
  Node *node = &bvh->nodes[node_index];
  Bounds all = empty_bounds;
  guint i, left, n_left;

  for (i = first; i < first + n; i++)
    bounds_add (&all, &bounds[bvh->order[i]]);
  for (i = 0; i < 3; i++) {
    node->min[i] = (float)(all.min[i] - PADDING);
    node->max[i] = (float)(all.max[i] + PADDING);
  }
  if (n <= MAX_LEAF) {
    node->first = first;
    node->count = n;
    return;
  }
  n_left = split (bounds, bvh->order + first, n, &all, areas);
  /* Uneven cuts could make a chain; far down, halve. */
  if (depth > MAX_DEPTH / 2)
    n_left = n / 2;
  left = bvh->n_nodes;
  bvh->n_nodes += 2;
  node->first = left;
  node->count = 0;
  build (bvh, bounds, left, first, n_left, depth + 1, areas);
  build (bvh, bounds, left + 1, first + n_left, n - n_left, depth + 1, areas);
}

NdtSimBvh *
ndt_sim_bvh_new (const NdtSimShape *shapes, guint n_shapes)
{
  NdtSimBvh *bvh = g_new0 (NdtSimBvh, 1);
  g_autofree Bounds *bounds = g_new (Bounds, n_shapes);
  g_autofree double *areas = g_new (double, n_shapes);
  guint i;

  bvh->shapes = shapes;
  bvh->order = g_new (guint32, n_shapes);
  for (i = 0; i < n_shapes; i++) {
    bvh->order[i] = i;
    ndt_sim_shape_bounds (&shapes[i], bounds[i].min, bounds[i].max);
  }
  if (n_shapes > 0) {
    bvh->nodes = g_new (Node, 2 * n_shapes);
    bvh->n_nodes = 1;
    build (bvh, bounds, 0, 0, n_shapes, 0, areas);
  }
  return bvh;
}

void
ndt_sim_bvh_free (NdtSimBvh *bvh)
{
  if (bvh == NULL)
    return;
  g_free (bvh->order);
  g_free (bvh->nodes);
  g_free (bvh);
}

/* Where the ray enters the node; INFINITY where it misses or enters beyond @far. */
static inline float
enter_node (const Node *node, const float origin[3], const float inverse[3], float far)
{
  const float x0 = (node->min[0] - origin[0]) * inverse[0];
  const float x1 = (node->max[0] - origin[0]) * inverse[0];
  const float y0 = (node->min[1] - origin[1]) * inverse[1];
  const float y1 = (node->max[1] - origin[1]) * inverse[1];
  const float z0 = (node->min[2] - origin[2]) * inverse[2];
  const float z1 = (node->max[2] - origin[2]) * inverse[2];
  float enter = MAX (MIN (x0, x1), MIN (y0, y1));
  float leave = MIN (MAX (x0, x1), MAX (y0, y1));

  enter = MAX (enter, MIN (z0, z1));
  leave = MIN (leave, MAX (z0, z1));
  enter = MAX (enter, 0);
  leave = MIN (leave, far);
  return enter <= leave ? enter : INFINITY;
}

double
ndt_sim_bvh_intersect (
    const NdtSimBvh *bvh, const NdtSimRay *ray, double near, double far, const NdtSimShape **shape)
{
  struct {
    guint32 node;
    float enter;
  } stack[MAX_DEPTH];
  float origin[3], inverse[3];
  double best = far;
  guint32 best_index = G_MAXUINT32;
  guint n_stack = 0, i;

  *shape = NULL;
  if (bvh->n_nodes == 0)
    return INFINITY;
  for (i = 0; i < 3; i++) {
    const float d = (float)ray->direction[i];
    origin[i] = (float)ray->origin[i];
    inverse[i] = 1 / (fabsf (d) < TINY ? TINY : d);
  }
  stack[n_stack].node = 0;
  stack[n_stack++].enter = enter_node (&bvh->nodes[0], origin, inverse, (float)far);
  while (n_stack > 0) {
    const Node *node;
    float limit;

    n_stack--;
    /* Nodes are entered early by their padding: one that is entered beyond the best distance has no
     * shape that is nearer or equally near. */
    if (stack[n_stack].enter > best)
      continue;
    node = &bvh->nodes[stack[n_stack].node];
    while (node->count == 0) {
      const Node *left = &bvh->nodes[node->first], *right = left + 1;
      float enter_left, enter_right;

      limit = (float)best + (float)PADDING;
      enter_left = enter_node (left, origin, inverse, limit);
      enter_right = enter_node (right, origin, inverse, limit);
      if (enter_left == INFINITY && enter_right == INFINITY)
        break;
      if (enter_right == INFINITY) {
        node = left;
      } else if (enter_left == INFINITY) {
        node = right;
      } else if (enter_left <= enter_right) {
        stack[n_stack].node = node->first + 1;
        stack[n_stack++].enter = enter_right;
        node = left;
      } else {
        stack[n_stack].node = node->first;
        stack[n_stack++].enter = enter_left;
        node = right;
      }
    }
    for (i = 0; i < node->count; i++) {
      const guint32 index = bvh->order[node->first + i];
      const double t = ndt_sim_shape_intersect (&bvh->shapes[index], ray, near);
      if (t < best || (t == best && index < best_index)) {
        best = t;
        best_index = index;
      }
    }
  }
  if (best_index == G_MAXUINT32)
    return INFINITY;
  *shape = &bvh->shapes[best_index];
  return best;
}

gboolean
ndt_sim_bvh_foreach_at (const NdtSimBvh *bvh, const double point[3], double margin,
    NdtSimBvhFunc func, gpointer user_data)
{
  guint32 stack[MAX_DEPTH];
  guint n_stack = 0, i;

  if (bvh->n_nodes > 0)
    stack[n_stack++] = 0;
  while (n_stack > 0) {
    const Node *node = &bvh->nodes[stack[--n_stack]];
    gboolean inside = TRUE;

    for (i = 0; i < 3; i++)
      inside = inside && point[i] >= node->min[i] - margin && point[i] <= node->max[i] + margin;
    if (!inside)
      continue;
    if (node->count == 0) {
      stack[n_stack++] = node->first;
      stack[n_stack++] = node->first + 1;
      continue;
    }
    for (i = 0; i < node->count; i++) {
      const guint32 index = bvh->order[node->first + i];
      if (func (&bvh->shapes[index], index, user_data))
        return TRUE;
    }
  }
  return FALSE;
}
