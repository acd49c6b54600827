/* SPDX-License-Identifier: MIT */
#pragma once

#include "lidar-world.h"

G_BEGIN_DECLS

/* Points of the static surfaces, those inside of solids left out: about one in spacing × spacing
 * metres, moved along the normal by noise with a standard deviation of @noise metres. Returns
 * (transfer full): an array of 3 doubles a point. */
GArray *lidar_map_sample (const LidarWorld *world, double spacing, double noise, guint64 seed);

/* Writes such points as a binary PCD file. @offset: added to them, which are then stored in double;
 * NULL: none, stored in float. FALSE with an error as ndt_pcd_write() gives it. */
gboolean lidar_map_write (const LidarWorld *world, const gchar *path, double spacing, double noise,
    guint64 seed, const double offset[3], GError **error);

G_END_DECLS
