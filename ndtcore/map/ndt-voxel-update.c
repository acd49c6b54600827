/* SPDX-License-Identifier: MIT */
#include "ndt-voxel-update.h"

#include <stdlib.h>
#include <string.h>

#include "ndt-voxel-levels.h"
#include "ndtcore/math/ndt-formulas.h"

#define NONE G_MAXUINT32

/* A cell of a region. Orders of cells are relative to a base that no build changes. */
typedef struct {
  guint64 order;
  guint32 handle; /* of the region */
  guint32 cell;
} Part;

/* A cell of a level: @first is its first part, at the finest level. */
typedef struct {
  guint64 order;
  guint32 slot;
  guint32 first;
} Entry;

/* A region, by its handle; NULL: dropped. */
typedef struct {
  guint64 id;
  const NdtCellRegion *region;
} Handle;

/* Of each slot: a voxel, the number of its points, 0 where the cell has none, and above the finest
 * level the cell's sums. */
typedef struct {
  GArray *entries; /* Entry, by order */
  GArray *voxels;  /* NdtVoxel */
  GArray *counts;  /* guint32 */
  GArray *sums;    /* NdtCellSums */
  GArray *unused;  /* guint32: slots */
} Level;

struct _NdtVoxelUpdate {
  GArray *handles; /* Handle */
  GArray *parts;   /* Part, by order and id of the region */
  Level levels[NDT_MAX_LEVELS];
  gint64 base[3];
};

NdtVoxelUpdate *
ndt_voxel_update_new (void)
{
  NdtVoxelUpdate *update = g_new0 (NdtVoxelUpdate, 1);
  update->handles = g_array_new (FALSE, FALSE, sizeof (Handle));
  update->parts = g_array_new (FALSE, FALSE, sizeof (Part));
  for (guint l = 0; l < NDT_MAX_LEVELS; l++) {
    Level *level = &update->levels[l];
    level->entries = g_array_new (FALSE, FALSE, sizeof (Entry));
    level->voxels = g_array_new (FALSE, FALSE, sizeof (NdtVoxel));
    level->counts = g_array_new (FALSE, FALSE, sizeof (guint32));
    level->sums = g_array_new (FALSE, FALSE, sizeof (NdtCellSums));
    level->unused = g_array_new (FALSE, FALSE, sizeof (guint32));
  }
  return update;
}

void
ndt_voxel_update_free (NdtVoxelUpdate *update)
{
  g_array_unref (update->handles);
  g_array_unref (update->parts);
  for (guint l = 0; l < NDT_MAX_LEVELS; l++) {
    Level *level = &update->levels[l];
    g_array_unref (level->entries);
    g_array_unref (level->voxels);
    g_array_unref (level->counts);
    g_array_unref (level->sums);
    g_array_unref (level->unused);
  }
  g_free (update);
}

gsize
ndt_voxel_update_get_bytes (const NdtVoxelUpdate *update)
{
  gsize bytes = update->parts->len * sizeof (Part);
  for (guint l = 0; l < NDT_MAX_LEVELS; l++) {
    const Level *level = &update->levels[l];
    bytes += level->entries->len * (sizeof (Entry) + sizeof (NdtVoxel) + sizeof (guint32) +
                                       (l > 0 ? sizeof (NdtCellSums) : 0));
  }
  return bytes;
}

void
ndt_voxel_update_drop (NdtVoxelUpdate *update, NdtCellRegion *region)
{
  if (region->handle > 0)
    g_array_index (update->handles, Handle, region->handle - 1).region = NULL;
  region->handle = 0;
}

/* ---- Slots ---- */

static guint32
take_slot (Level *level, gboolean with_sums)
{
  if (level->unused->len > 0) {
    const guint32 slot = g_array_index (level->unused, guint32, level->unused->len - 1);
    g_array_set_size (level->unused, level->unused->len - 1);
    return slot;
  }
  const guint32 slot = level->voxels->len;
  g_array_set_size (level->voxels, slot + 1);
  g_array_set_size (level->counts, slot + 1);
  if (with_sums)
    g_array_set_size (level->sums, slot + 1);
  return slot;
}

static void
set_voxel (Level *level, guint32 slot, const NdtVoxelMapParams *params, double resolution,
    const NdtCellSums *sums)
{
  NdtVoxel *voxel = &g_array_index (level->voxels, NdtVoxel, slot);
  double mean[3], cov[6], icov[6];
  const gboolean is_voxel = ndt_cell_to_voxel (sums, (int)params->covariance, params->min_points,
      params->eigenvalue_ratio, resolution, mean, cov, icov);
  g_array_index (level->counts, guint32, slot) = is_voxel ? (guint32)sums->n : 0;
  for (guint k = 0; k < 3 && is_voxel; k++)
    voxel->mean[k] = (float)mean[k];
  for (guint k = 0; k < 6 && is_voxel; k++)
    voxel->icov[k] = (float)icov[k];
}

/* ---- The finest level ---- */

static guint64
get_id (const NdtVoxelUpdate *update, const Part *part)
{
  return g_array_index (update->handles, Handle, part->handle).id;
}

static gint
compare_parts (gconstpointer a, gconstpointer b, gpointer user_data)
{
  const Part *x = a, *y = b;
  if (x->order != y->order)
    return x->order < y->order ? -1 : 1;
  const guint64 p = get_id (user_data, x), q = get_id (user_data, y);
  return p < q ? -1 : p > q;
}

/* The cells of regions without a handle, which get one. */
static GArray *
take_new_regions (NdtVoxelUpdate *update, const GPtrArray *regions, const gint64 first[3])
{
  GArray *parts = g_array_new (FALSE, FALSE, sizeof (Part));
  gint32 shift[3];
  for (guint k = 0; k < 3; k++)
    shift[k] = (gint32)(first[k] - update->base[k]) - NDT_KEY_LIMIT;
  for (guint i = 0; i < regions->len; i++) {
    NdtCellRegion *region = g_ptr_array_index (regions, i);
    if (region->handle > 0)
      continue;
    const Handle handle = {region->id, region};
    g_array_append_val (update->handles, handle);
    region->handle = update->handles->len;
    for (guint32 j = 0; j < region->n_cells; j++) {
      Part part = {0, region->handle - 1, j};
      gint32 c[3];
      for (guint k = 0; k < 3; k++)
        c[k] = (gint32)(region->cells[j].key >> (21 * k) & 0x1fffff) + shift[k];
      part.order = ndt_cell_order (c);
      g_array_append_val (parts, part);
    }
  }
  g_array_sort_with_data (parts, compare_parts, update);
  return parts;
}

/* The sums of a cell over its regions, in their order. */
static NdtCellSums
add_parts (const NdtVoxelUpdate *update, const Part *parts, guint n)
{
  static const double no_shift[3] = {0, 0, 0};
  NdtCellSums sums = {0};
  for (guint i = 0; i < n; i++) {
    const NdtCellRegion *region = g_array_index (update->handles, Handle, parts[i].handle).region;
    if (i == 0)
      sums = region->cells[parts[i].cell].sums;
    else
      ndt_cell_sums_add (&sums, &region->cells[parts[i].cell].sums, no_shift);
  }
  return sums;
}

/* Merges the cells of new regions with those of the build before, without those of dropped ones.
 * Returns the orders of cells that have changed, sorted. */
static GArray *
update_finest (NdtVoxelUpdate *update, const NdtVoxelMapParams *params, const GArray *added)
{
  Level *level = &update->levels[0];
  GArray *before = update->parts, *entries_before = level->entries;
  GArray *parts = g_array_sized_new (FALSE, FALSE, sizeof (Part), before->len + added->len);
  GArray *entries =
      g_array_sized_new (FALSE, FALSE, sizeof (Entry), entries_before->len + added->len);
  GArray *changed = g_array_new (FALSE, FALSE, sizeof (guint64));
  const Part *a = (const Part *)(gpointer)before->data, *a_end = a + before->len;
  const Part *b = (const Part *)(gpointer)added->data, *b_end = b + added->len;
  guint e = 0;
  while (a < a_end || b < b_end) {
    const guint64 order = b == b_end || (a < a_end && a->order <= b->order) ? a->order : b->order;
    const gboolean was_there = a < a_end && a->order == order;
    const guint first = parts->len;
    gboolean changes = FALSE;
    for (;;) {
      const gboolean from_a = a < a_end && a->order == order;
      const gboolean from_b = b < b_end && b->order == order;
      if (from_a && (!from_b || get_id (update, a) <= get_id (update, b))) {
        if (g_array_index (update->handles, Handle, a->handle).region)
          g_array_append_vals (parts, a, 1);
        else
          changes = TRUE;
        a++;
      } else if (from_b) {
        g_array_append_vals (parts, b++, 1);
        changes = TRUE;
      } else {
        break;
      }
    }
    const guint n = parts->len - first;
    Entry entry = {order, NONE, first};
    if (was_there)
      entry.slot = g_array_index (entries_before, Entry, e++).slot;
    if (changes)
      g_array_append_val (changed, order);
    if (n == 0) {
      g_array_append_val (level->unused, entry.slot);
      continue;
    }
    if (entry.slot == NONE)
      entry.slot = take_slot (level, FALSE);
    if (changes) {
      const NdtCellSums sums = add_parts (update, &g_array_index (parts, Part, first), n);
      set_voxel (level, entry.slot, params, params->resolution, &sums);
    }
    g_array_append_val (entries, entry);
  }
  g_array_unref (before);
  g_array_unref (entries_before);
  update->parts = parts;
  level->entries = entries;
  return changed;
}

/* ---- The levels above ---- */

static guint64
get_parent (guint64 order)
{
  gint32 c[3];
  ndt_cell_from_order (order, c);
  for (guint k = 0; k < 3; k++)
    c[k] >>= 1;
  return ndt_cell_order (c);
}

static gint
compare_orders (gconstpointer a, gconstpointer b)
{
  const guint64 x = *(const guint64 *)a, y = *(const guint64 *)b;
  return x < y ? -1 : x > y;
}

/* Replaces the orders of cells by those of their parents, each once. */
static void
get_parents (GArray *orders)
{
  guint n = 0;
  guint64 *all = (guint64 *)(gpointer)orders->data;
  for (guint i = 0; i < orders->len; i++)
    all[i] = get_parent (all[i]);
  g_array_sort (orders, compare_orders);
  all = (guint64 *)(gpointer)orders->data;
  for (guint i = 0; i < orders->len; i++)
    if (n == 0 || all[n - 1] != all[i])
      all[n++] = all[i];
  g_array_set_size (orders, n);
}

/* Index of the first entry at or above an order. */
static guint
find_entry (const GArray *entries, guint64 order)
{
  guint low = 0, high = entries->len;
  while (low < high) {
    const guint middle = (low + high) / 2;
    if (g_array_index (entries, Entry, middle).order < order)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Sums of a cell of level @l over its children, which are in one block, in their order. */
static NdtCellSums
add_children (const NdtVoxelUpdate *update, guint l, guint64 order, double resolution)
{
  const Level *below = &update->levels[l - 1];
  NdtCellSums sums = {0};
  gint32 c[3];
  ndt_cell_from_order (order, c);
  for (guint k = 0; k < 3; k++)
    c[k] <<= 1;
  const guint64 block = ndt_cell_order (c) >> 6;
  for (guint i = find_entry (below->entries, block << 6); i < below->entries->len; i++) {
    const Entry *entry = &g_array_index (below->entries, Entry, i);
    gint32 child[3];
    double shift[3];
    if (entry->order >> 6 != block)
      break;
    ndt_cell_from_order (entry->order, child);
    if (child[0] >> 1 != c[0] >> 1 || child[1] >> 1 != c[1] >> 1 || child[2] >> 1 != c[2] >> 1)
      continue;
    for (guint k = 0; k < 3; k++)
      shift[k] = (child[k] & 1) * resolution;
    if (l == 1) {
      const guint end = i + 1 < below->entries->len
                            ? g_array_index (below->entries, Entry, i + 1).first
                            : update->parts->len;
      const NdtCellSums of_child = add_parts (
          update, &g_array_index (update->parts, Part, entry->first), end - entry->first);
      ndt_cell_sums_add (&sums, &of_child, shift);
    } else {
      ndt_cell_sums_add (&sums, &g_array_index (below->sums, NdtCellSums, entry->slot), shift);
    }
  }
  return sums;
}

/* @changed: orders of the cells of this level that have changed, sorted. @resolution: of the level
 * below. */
static void
update_level (NdtVoxelUpdate *update, guint l, const NdtVoxelMapParams *params, double resolution,
    const GArray *changed)
{
  Level *level = &update->levels[l];
  GArray *before = level->entries;
  GArray *entries = g_array_sized_new (FALSE, FALSE, sizeof (Entry), before->len + changed->len);
  guint e = 0;
  for (guint i = 0; i < changed->len; i++) {
    const guint64 order = g_array_index (changed, guint64, i);
    const guint from = e;
    Entry entry = {order, NONE, 0};
    while (e < before->len && g_array_index (before, Entry, e).order < order)
      e++;
    g_array_append_vals (entries, &g_array_index (before, Entry, from), e - from);
    if (e < before->len && g_array_index (before, Entry, e).order == order)
      entry.slot = g_array_index (before, Entry, e++).slot;
    const NdtCellSums sums = add_children (update, l, order, resolution);
    if (sums.n == 0) {
      if (entry.slot != NONE)
        g_array_append_val (level->unused, entry.slot);
      continue;
    }
    if (entry.slot == NONE)
      entry.slot = take_slot (level, TRUE);
    g_array_index (level->sums, NdtCellSums, entry.slot) = sums;
    set_voxel (level, entry.slot, params, 2 * resolution, &sums);
    g_array_append_val (entries, entry);
  }
  if (e < before->len)
    g_array_append_vals (entries, &g_array_index (before, Entry, e), before->len - e);
  g_array_unref (before);
  level->entries = entries;
}

/* ---- Results ---- */

/* @shift: the level's origin, relative to the base. FALSE: there is not the memory. */
static gboolean
write_level (const Level *level, const gint32 shift[3], NdtVoxelLevel *out)
{
  guint32 n = 0;
  for (guint k = 0; k < 3; k++) {
    out->cell_min[k] = G_MAXINT32;
    out->cell_max[k] = G_MININT32;
  }
  for (guint i = 0; i < level->entries->len; i++)
    n += g_array_index (level->counts, guint32, g_array_index (level->entries, Entry, i).slot) > 0;
  NdtVoxel *voxels = g_try_new (NdtVoxel, MAX (n, 1));
  if (!voxels)
    return FALSE;
  out->voxels = voxels;
  out->n_voxels = n;
  for (guint i = 0; i < level->entries->len; i++) {
    const Entry *entry = &g_array_index (level->entries, Entry, i);
    const guint32 count = g_array_index (level->counts, guint32, entry->slot);
    if (count == 0)
      continue;
    *voxels = g_array_index (level->voxels, NdtVoxel, entry->slot);
    ndt_cell_from_order (entry->order, voxels->cell);
    for (guint k = 0; k < 3; k++) {
      voxels->cell[k] -= shift[k];
      out->cell_min[k] = MIN (out->cell_min[k], voxels->cell[k]);
      out->cell_max[k] = MAX (out->cell_max[k], voxels->cell[k]);
    }
    out->n_points += count;
    voxels++;
  }
  return ndt_voxel_level_build_blocks (out);
}

/* The origin of the finest level, relative to the base: a function of the cells alone. */
static void
get_origin (const NdtVoxelUpdate *update, gint32 origin[3])
{
  const GArray *entries = update->levels[0].entries;
  for (guint k = 0; k < 3; k++)
    origin[k] = entries->len > 0 ? G_MAXINT32 : 0;
  for (guint i = 0; i < entries->len; i++) {
    gint32 c[3];
    ndt_cell_from_order (g_array_index (entries, Entry, i).order, c);
    for (guint k = 0; k < 3; k++)
      origin[k] = MIN (origin[k], c[k]);
  }
  for (guint k = 0; k < 3; k++)
    origin[k] -= origin[k] & (NDT_ORIGIN_STEP - 1);
}

gboolean
ndt_voxel_update_build (NdtVoxelUpdate *update, const NdtVoxelMapParams *params,
    const GPtrArray *regions, const gint64 first[3], NdtVoxelLevel levels[NDT_MAX_LEVELS])
{
  gint32 origin[3];
  /* Without parts nothing depends on the base. It is a multiple of the step of origins, so that
   * blocks and parents are those of any of them. */
  for (guint k = 0; k < 3 && update->parts->len == 0; k++) {
    const gint64 least = first[k] - NDT_KEY_LIMIT;
    update->base[k] = least - (least & (NDT_ORIGIN_STEP - 1));
  }
  g_autoptr (GArray) added = take_new_regions (update, regions, first);
  g_autoptr (GArray) changed = update_finest (update, params, added);
  get_origin (update, origin);
  for (guint l = 0; l < params->n_levels; l++) {
    const double resolution = params->resolution * (1 << l);
    const gint32 shift[3] = {origin[0] >> l, origin[1] >> l, origin[2] >> l};
    if (l > 0) {
      get_parents (changed);
      update_level (update, l, params, 0.5 * resolution, changed);
    }
    levels[l].resolution = resolution;
    for (guint k = 0; k < 3; k++)
      levels[l].origin[k] = (update->base[k] + origin[k]) / (1 << l);
    if (!write_level (&update->levels[l], shift, &levels[l]))
      return FALSE;
  }
  return TRUE;
}
