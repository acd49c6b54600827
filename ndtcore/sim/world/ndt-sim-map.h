/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndt-sim-world.h"

G_BEGIN_DECLS

/* Points of the static surfaces, those inside of solids left out: about one in spacing × spacing
 * metres, moved along the normal by noise with a standard deviation of @noise metres. Returns
 * (transfer full): an array of 3 doubles a point. */
GArray *ndt_sim_map_sample (const NdtSimWorld *world, double spacing, double noise, guint64 seed);

/* Seed of a map's noise for lidartestsrc's property noise-seed: map and scans have independent
 * noise. */
guint64 ndt_sim_map_noise_seed (guint noise_seed);

/* Writes such points as a binary PCD file; the array is overwritten. @offset: metres that are added
 * to them, which are then stored in double; NULL: none, stored in float. FALSE with an error as
 * ndt_pcd_write() gives it. */
gboolean ndt_sim_map_write (
    GArray *points, const gchar *path, const double offset[3], GError **error);

/* "x,y,z": three finite numbers of metres, whatever the locale. */
gboolean ndt_sim_map_parse_offset (const gchar *text, double out[3]);

G_END_DECLS
