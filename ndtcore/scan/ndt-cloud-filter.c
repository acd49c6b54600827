/* SPDX-License-Identifier: MIT */
#include "ndt-cloud-filter.h"

#include <string.h>

#include "ndt-scan-filter.h"
#include "ndtcore/base/ndt-memory.h"

#define TABLE_EMPTY G_MAXUINT32

typedef struct {
  guint64 key;
  gint32 index[3];
  guint32 n;
  gint64 sum[3];
} Leaf;

struct _NdtCloudFilter {
  guint32 *indices;
  gsize capacity;
  guint32 *table; /* slots: the number of a leaf each */
  gsize table_size, table_capacity;
  int shift;    /* of hashes, for the table's size */
  Leaf *leaves; /* room for half as many as the table has slots */
  guint32 n_leaves;
  double origin[3];
  float leaf;
  gboolean with_centroids;
};

NdtCloudFilter *
ndt_cloud_filter_new (void)
{
  return g_new0 (NdtCloudFilter, 1);
}

void
ndt_cloud_filter_free (NdtCloudFilter *filter)
{
  if (!filter)
    return;
  g_free (filter->indices);
  g_free (filter->table);
  g_free (filter->leaves);
  g_free (filter);
}

static gboolean
is_in (const double p[3], const double *box)
{
  return p[0] >= box[0] && p[0] <= box[3] && p[1] >= box[1] && p[1] <= box[4] && p[2] >= box[2] &&
         p[2] <= box[5];
}

static gboolean
is_in_any (const double p[3], const double *boxes, guint n)
{
  for (guint i = 0; i < n; i++)
    if (is_in (p, boxes + 6 * i))
      return TRUE;
  return FALSE;
}

/* Steele, Lea and Flood's SplitMix64: a number for each point that depends on nothing else. */
static double
random_of (guint64 seed, guint64 i)
{
  guint64 z = seed + (i + 1) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);

  z = (z ^ z >> 30) * G_GUINT64_CONSTANT (0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * G_GUINT64_CONSTANT (0x94d049bb133111eb);
  z ^= z >> 31;
  return (double)(z >> 11) * 0x1p-53;
}

static gboolean
has_ring (const NdtCloudFilterRules *rules, double ring)
{
  if (!(ring >= 0 && ring < NDT_CLOUD_FILTER_RINGS))
    return FALSE;
  return rules->ring_bits[(guint)ring / 32] >> ((guint)ring % 32) & 1;
}

/* Of the rules that look at a point by itself. N_REASONS: it stays. */
static NdtCloudFilterReason
judge (const NdtCloudFilterRules *rules, gsize i, const double p[3])
{
  const double square = p[0] * p[0] + p[1] * p[1] + p[2] * p[2];

  if (!isfinite (p[0]) || !isfinite (p[1]) || !isfinite (p[2]))
    return NDT_CLOUD_FILTER_NOT_FINITE;
  if (square < rules->min_range * rules->min_range ||
      (rules->max_range > 0 && square > rules->max_range * rules->max_range))
    return NDT_CLOUD_FILTER_RANGE;
  if ((rules->n_include > 0 && !is_in_any (p, rules->include, rules->n_include)) ||
      is_in_any (p, rules->exclude, rules->n_exclude))
    return NDT_CLOUD_FILTER_BOX;
  if (rules->intensities && !(rules->intensities[i] >= rules->min_intensity &&
                                rules->intensities[i] <= rules->max_intensity))
    return NDT_CLOUD_FILTER_INTENSITY;
  if (rules->rings && !has_ring (rules, rules->rings[i]))
    return NDT_CLOUD_FILTER_RING;
  return NDT_CLOUD_FILTER_N_REASONS;
}

static int
table_shift (gsize size)
{
  int shift = 64;

  for (; size > 1; size /= 2)
    shift--;
  return shift;
}

/* Slots for half as many leaves. */
static gboolean
reserve_table (NdtCloudFilter *filter, gsize size)
{
  if (size <= filter->table_capacity)
    return TRUE;
  if (!ndt_grow (filter->table, size) || !ndt_grow (filter->leaves, size / 2))
    return FALSE;
  filter->table_capacity = size;
  return TRUE;
}

/* The slot of a leaf, or the empty one where it would be. */
static gsize
find_slot (const NdtCloudFilter *filter, guint64 key)
{
  gsize slot = ndt_block_hash (key, filter->shift);

  while (filter->table[slot] != TABLE_EMPTY && filter->leaves[filter->table[slot]].key != key)
    slot = (slot + 1) & (filter->table_size - 1);
  return slot;
}

/* Empties the table and enters the leaves that there are. A small one stays in the caches: there
 * are far fewer leaves than points. */
static void
fill_table (NdtCloudFilter *filter, gsize size)
{
  filter->table_size = size;
  filter->shift = table_shift (size);
  memset (filter->table, 0xff, size * sizeof *filter->table);
  for (guint32 i = 0; i < filter->n_leaves; i++)
    filter->table[find_slot (filter, filter->leaves[i].key)] = i;
}

typedef enum { LEAF_NEW, LEAF_KNOWN, LEAF_OUTSIDE, LEAF_NO_MEMORY } LeafState;

/* Adds a point to its leaf. */
static LeafState
add_to_leaf (NdtCloudFilter *filter, const double p[3])
{
  const float inverse = 1 / filter->leaf;
  float q[3];
  gint32 index[3];

  for (guint k = 0; k < 3; k++) {
    q[k] = (float)(p[k] - filter->origin[k]);
    if (!(fabsf (q[k] * inverse) < NDT_KEY_LIMIT))
      return LEAF_OUTSIDE;
    /* ndt_leaf_index() of a number of this size, without a call. */
    index[k] = (gint32)(q[k] * inverse);
    index[k] -= (float)index[k] > q[k] * inverse;
  }
  const guint64 key = ndt_block_key (index[0], index[1], index[2]);
  gsize slot = find_slot (filter, key);
  const gboolean is_new = filter->table[slot] == TABLE_EMPTY;
  if (is_new) {
    if (filter->n_leaves == filter->table_size / 2) {
      if (!reserve_table (filter, 2 * filter->table_size))
        return LEAF_NO_MEMORY;
      fill_table (filter, 2 * filter->table_size);
      slot = find_slot (filter, key);
    }
    Leaf *leaf = &filter->leaves[filter->n_leaves];
    memset (leaf, 0, sizeof *leaf);
    leaf->key = key;
    memcpy (leaf->index, index, sizeof index);
    filter->table[slot] = filter->n_leaves++;
  }
  if (!filter->with_centroids)
    return is_new ? LEAF_NEW : LEAF_KNOWN;
  Leaf *leaf = &filter->leaves[filter->table[slot]];
  for (guint k = 0; k < 3; k++)
    leaf->sum[k] += ndt_leaf_offset (q[k], index[k], filter->leaf, inverse);
  leaf->n++;
  return is_new ? LEAF_NEW : LEAF_KNOWN;
}

/* Of the points that are left the first of each leaf. */
static gboolean
thin (NdtCloudFilter *filter, const NdtCloudView *points, double leaf, gboolean with_centroids,
    gsize *n)
{
  gsize size = 1024, n_left = 0;

  /* As many leaves as the cloud before had, most likely. */
  while (size < 4 * (gsize)filter->n_leaves)
    size *= 2;
  if (!reserve_table (filter, size))
    return FALSE;
  filter->n_leaves = 0;
  fill_table (filter, size);
  filter->leaf = (float)leaf;
  filter->with_centroids = with_centroids;
  memset (filter->origin, 0, sizeof filter->origin);
  if (points->scalar == NDT_SCALAR_F64 && *n > 0) {
    ndt_cloud_view_get (points, filter->indices[0], filter->origin);
    for (guint k = 0; k < 3; k++)
      filter->origin[k] = floor (filter->origin[k] / leaf) * leaf;
  }
  for (gsize i = 0; i < *n; i++) {
    double p[3];
    ndt_cloud_view_get (points, filter->indices[i], p);
    switch (add_to_leaf (filter, p)) {
    case LEAF_NEW:
      filter->indices[n_left++] = filter->indices[i];
      break;
    case LEAF_NO_MEMORY:
      return FALSE;
    default:
      break;
    }
  }
  *n = n_left;
  return TRUE;
}

gboolean
ndt_cloud_filter_run (NdtCloudFilter *filter, const NdtCloudFilterRules *rules,
    const NdtCloudView *points, const guint32 **indices, gsize *n,
    guint64 n_removed[NDT_CLOUD_FILTER_N_REASONS], GError **error)
{
  gsize n_left = 0, n_judged = 0;

  if (points->n_points > (gsize)G_MAXINT32) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "a cloud of %" G_GSIZE_FORMAT " points is too large", points->n_points);
    return FALSE;
  }
  if (points->n_points > filter->capacity) {
    if (!ndt_grow (filter->indices, points->n_points))
      goto no_memory;
    filter->capacity = points->n_points;
  }
  for (gsize i = 0; i < points->n_points; i++) {
    double p[3];
    ndt_cloud_view_get (points, i, p);
    NdtCloudFilterReason reason = judge (rules, i, p);
    if (reason == NDT_CLOUD_FILTER_N_REASONS) {
      if (rules->nth > 1 && n_judged++ % rules->nth != 0)
        reason = NDT_CLOUD_FILTER_NTH;
      else if (rules->fraction < 1 && !(random_of (rules->seed, i) < rules->fraction))
        reason = NDT_CLOUD_FILTER_RANDOM;
    }
    if (reason == NDT_CLOUD_FILTER_N_REASONS)
      filter->indices[n_left++] = (guint32)i;
    else
      n_removed[reason]++;
  }
  if (rules->leaf > 0) {
    const gsize before = n_left;
    if (!thin (filter, points, rules->leaf, rules->with_centroids, &n_left))
      goto no_memory;
    n_removed[NDT_CLOUD_FILTER_LEAF] += before - n_left;
  }
  *indices = filter->indices;
  *n = n_left;
  return TRUE;

no_memory:
  g_set_error (error, NDT_ERROR, NDT_ERROR_NO_MEMORY,
      "there is not the memory to filter a cloud of %" G_GSIZE_FORMAT " points", points->n_points);
  return FALSE;
}

void
ndt_cloud_filter_get_centroid (const NdtCloudFilter *filter, gsize i, double centroid[3])
{
  const Leaf *leaf = &filter->leaves[i];

  for (guint k = 0; k < 3; k++)
    centroid[k] = filter->origin[k] +
                  (double)ndt_leaf_centroid (leaf->sum[k], leaf->n, leaf->index[k], filter->leaf);
}
