/* SPDX-License-Identifier: MIT */
/* The state of a map maker between two scans of the drive. */
#include <string.h>

#include "ndt-map-maker-private.h"

typedef struct {
  double way;
  NdtPose last;
  guint32 has_last;
  guint32 reserved;
} Head;

gboolean
ndt_map_maker_save (const NdtMapMaker *maker, GByteArray *out)
{
  Head head;
  if (!maker->is_settled)
    return FALSE;
  memset (&head, 0, sizeof head);
  head.way = maker->way;
  head.last = maker->last;
  head.has_last = (guint32)maker->has_last;
  g_byte_array_append (out, (const guint8 *)&head, sizeof head);
  ndt_saved_append_array (out, maker->scans);
  ndt_saved_append_array (out, maker->keys);
  ndt_saved_append_array (out, maker->submaps);
  ndt_saved_append_array (out, maker->given);
  ndt_odometry_save (maker->odometry, out);
  return TRUE;
}

static gboolean
refuse (GError **error)
{
  g_set_error_literal (
      error, NDT_ERROR, NDT_ERROR_FORMAT, "This is no state of a drive that this version saved");
  return FALSE;
}

/* Their pointers are of the program that wrote them. */
static gboolean
take_points (NdtMapMaker *maker, NdtSaved *points)
{
  gboolean ok = TRUE;
  for (guint i = 0; i < maker->keys->len; i++) {
    NdtKeyScan *key = ndt_map_maker_get_key (maker, i);
    const gsize size = 3 * sizeof (float) * (gsize)key->n_points;
    key->points = ok && size <= points->size ? g_try_malloc (size + 1) : NULL;
    ok = key->points && ndt_saved_take (points, key->points, size);
  }
  return ok;
}

/* Numbers of keys and submaps are those of some. */
static gboolean
is_consistent (const NdtMapMaker *maker)
{
  const guint n_keys = maker->keys->len, n_submaps = maker->submaps->len;
  guint n = 0;
  for (guint i = 0; i < n_submaps; i++) {
    const NdtSubmap *submap = ndt_map_maker_get_submap (maker, i);
    if (submap->first_key != n || submap->n_keys == 0 || submap->n_keys > n_keys - n)
      return FALSE;
    n += submap->n_keys;
  }
  for (guint i = 0; i < n_keys; i++)
    if (ndt_map_maker_get_key (maker, i)->scan >= maker->scans->len)
      return FALSE;
  for (guint i = 0; i < maker->scans->len; i++) {
    const guint submap = g_array_index (maker->scans, NdtMapScan, i).submap;
    if (submap >= MAX (n_submaps, 1))
      return FALSE;
  }
  for (guint i = 0; i < maker->given->len; i++) {
    const NdtGiven *given = &g_array_index (maker->given, NdtGiven, i);
    if (given->key >= n_keys || given->submap >= n_submaps)
      return FALSE;
  }
  return n == n_keys;
}

gboolean
ndt_map_maker_restore (NdtMapMaker *maker, NdtSaved *saved, NdtSaved *points, GError **error)
{
  Head head;
  g_return_val_if_fail (maker->scans->len == 0 && maker->keys->len == 0, FALSE);
  if (!ndt_saved_take (saved, &head, sizeof head) || !ndt_saved_take_array (saved, maker->scans) ||
      !ndt_saved_take_array (saved, maker->keys))
    return refuse (error);
  if (!take_points (maker, points) || !ndt_saved_take_array (saved, maker->submaps) ||
      !ndt_saved_take_array (saved, maker->given) || !is_consistent (maker))
    return refuse (error);
  maker->way = head.way;
  maker->last = head.last;
  maker->has_last = head.has_last != 0;
  maker->is_settled = TRUE;
  return ndt_odometry_restore (maker->odometry, saved, error);
}
