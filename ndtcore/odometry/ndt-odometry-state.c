/* SPDX-License-Identifier: MIT */
/* The state of odometry between two scans. */
#include <string.h>

#include "ndt-odometry-private.h"

gboolean
ndt_odometry_settle (NdtOdometry *odometry, GError **error)
{
  g_autoptr (GError) local = NULL;
  if (ndt_odometry_use_map (odometry, 1, &local))
    return TRUE;
  if (!g_error_matches (local, NDT_ERROR, NDT_ERROR_EMPTY_MAP))
    g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

void
ndt_odometry_save (const NdtOdometry *odometry, GByteArray *out)
{
  NdtOdometry copy;
  memcpy (&copy, odometry, sizeof copy);
  copy.backend = NULL;
  copy.moving = NULL;
  copy.map = NULL;
  copy.points = NULL;
  copy.n_points = copy.capacity = 0;
  g_byte_array_append (out, (const guint8 *)&copy, sizeof copy);
  ndt_odometry_map_save (odometry->map, out);
}

gboolean
ndt_odometry_restore (NdtOdometry *odometry, NdtSaved *saved, GError **error)
{
  NdtOdometry copy;
  if (!ndt_saved_take (saved, &copy, sizeof copy) || copy.n_levels > NDT_MAX_LEVELS ||
      !ndt_odometry_map_restore (odometry->map, saved)) {
    ndt_odometry_reset (odometry);
    g_set_error_literal (
        error, NDT_ERROR, NDT_ERROR_FORMAT, "This is no state of odometry that this version saved");
    return FALSE;
  }
  copy.backend = odometry->backend;
  copy.params = odometry->params;
  copy.moving = odometry->moving;
  copy.map = odometry->map;
  copy.points = odometry->points;
  copy.n_points = odometry->n_points;
  copy.capacity = odometry->capacity;
  memcpy (odometry, &copy, sizeof copy);
  odometry->n_levels = 0;
  return copy.n_levels == 0 || ndt_odometry_use_map (odometry, copy.n_levels, error);
}
