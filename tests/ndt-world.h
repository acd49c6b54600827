/* SPDX-License-Identifier: MIT */
/* Maps of the worlds of lidartestsrc, written by ndt-map simulate. */
#pragma once

#include "ndtcore/sim/world/ndt-sim-map.h"

/* World of seed 0 with the tool's defaults. Aborts where the file cannot be written. */
static inline void
ndt_world_write_map (NdtSimWorldKind kind, const gchar *path)
{
  g_autoptr (NdtSimWorld) world = ndt_sim_world_new (kind, 0);
  g_autoptr (GArray) points = ndt_sim_map_sample (world, 0.25, 0.02, ndt_sim_map_noise_seed (0));
  g_autoptr (GError) error = NULL;

  if (!ndt_sim_map_write (points, path, NULL, &error))
    g_error ("%s", error->message);
}
