/* SPDX-License-Identifier: MIT */
#include "ndt-point-set.h"

#include <math.h>
#include <string.h>

/* Sums are relative to the cell's corner: in UTM coordinates, differences of large sums would
 * cancel. */
typedef struct {
  gint32 cell[3]; /* relative to the origin cell */
  guint32 n;
  double sum[3];
} Cell;

struct _NdtPointSet {
  double leaf;
  double origin[3]; /* index of the first point's cell, whole numbers */
  GArray *cells;    /* of Cell, with a leaf */
  GArray *points;   /* of double[3], without */
  guint32 *slots;   /* index of a cell plus one, 0: free */
  gint shift;       /* 64 less the logarithm of the number of slots */
};

#define FIRST_BITS 16
/* GArray has room for 4 GiB. */
#define MAX_POINTS 100000000u

NdtPointSet *
ndt_point_set_new (double leaf)
{
  NdtPointSet *set = g_new0 (NdtPointSet, 1);
  set->leaf = leaf;
  if (leaf > 0) {
    set->cells = g_array_new (FALSE, FALSE, sizeof (Cell));
    set->shift = 64 - FIRST_BITS;
    set->slots = g_new0 (guint32, (gsize)1 << FIRST_BITS);
  } else {
    set->points = g_array_new (FALSE, FALSE, 3 * sizeof (double));
  }
  return set;
}

void
ndt_point_set_free (NdtPointSet *set)
{
  if (!set)
    return;
  g_clear_pointer (&set->cells, g_array_unref);
  g_clear_pointer (&set->points, g_array_unref);
  g_free (set->slots);
  g_free (set);
}

static gsize
n_slots (const NdtPointSet *set)
{
  return (gsize)1 << (64 - set->shift);
}

/* The slot of a cell, or the free one where it belongs. */
static gsize
find_slot (const NdtPointSet *set, const gint32 cell[3])
{
  const gsize mask = n_slots (set) - 1;
  gsize slot = ndt_block_hash (ndt_block_key (cell[0], cell[1], cell[2]), set->shift);
  for (; set->slots[slot] != 0; slot = (slot + 1) & mask) {
    const Cell *there = &g_array_index (set->cells, Cell, set->slots[slot] - 1);
    if (memcmp (there->cell, cell, sizeof there->cell) == 0)
      break;
  }
  return slot;
}

static void
grow (NdtPointSet *set)
{
  set->shift--;
  g_free (set->slots);
  set->slots = g_new0 (guint32, n_slots (set));
  for (guint i = 0; i < set->cells->len; i++)
    set->slots[find_slot (set, g_array_index (set->cells, Cell, i).cell)] = i + 1;
}

gboolean
ndt_point_set_add (NdtPointSet *set, const double point[3], GError **error)
{
  if (ndt_point_set_get_n_points (set) >= MAX_POINTS) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT, "more than %u points are too many",
        MAX_POINTS);
    return FALSE;
  }
  if (set->points) {
    g_array_append_vals (set->points, point, 1);
    return TRUE;
  }

  gint32 cell[3];
  double offset[3];
  for (guint axis = 0; axis < 3; axis++) {
    const double index = floor (point[axis] / set->leaf);
    if (set->cells->len == 0)
      set->origin[axis] = index;
    const double relative = index - set->origin[axis];
    if (!(fabs (relative) < NDT_KEY_LIMIT)) {
      g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
          "points lie more than %d leaves of %g m apart", NDT_KEY_LIMIT, set->leaf);
      return FALSE;
    }
    cell[axis] = (gint32)relative;
    offset[axis] = point[axis] - index * set->leaf;
  }

  gsize slot = find_slot (set, cell);
  if (set->slots[slot] == 0) {
    const Cell added = {.cell = {cell[0], cell[1], cell[2]}};
    g_array_append_val (set->cells, added);
    set->slots[slot] = set->cells->len;
    if ((gsize)set->cells->len * 2 > n_slots (set)) {
      grow (set);
      slot = find_slot (set, cell);
    }
  }
  Cell *sums = &g_array_index (set->cells, Cell, set->slots[slot] - 1);
  sums->n++;
  for (guint axis = 0; axis < 3; axis++)
    sums->sum[axis] += offset[axis];
  return TRUE;
}

gsize
ndt_point_set_get_n_points (const NdtPointSet *set)
{
  return set->points ? set->points->len : set->cells->len;
}

void
ndt_point_set_get (const NdtPointSet *set, gsize index, double point[3])
{
  if (set->points) {
    memcpy (point, (const double *)(gpointer)set->points->data + 3 * index, 3 * sizeof (double));
    return;
  }
  const Cell *cell = &g_array_index (set->cells, Cell, index);
  for (guint axis = 0; axis < 3; axis++)
    point[axis] = (set->origin[axis] + cell->cell[axis]) * set->leaf + cell->sum[axis] / cell->n;
}
