/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "ndt-map-tool.h"
#include "ndtcore/sim/world/ndt-sim-map.h"

typedef struct {
  gchar *world;
  gint64 seed;
  gint64 noise_seed;
  double range_noise;
  double map_spacing;
  gchar *offset;
  gchar **outputs;
} Simulation;

static gboolean
is_seed (gint64 seed)
{
  return seed >= 0 && seed <= G_MAXUINT;
}

static int
run_simulate (const Simulation *simulation, GOptionContext *context)
{
  const gchar *name = simulation->world ? simulation->world : "town";
  g_autoptr (GError) error = NULL;
  NdtSimWorldKind kind;
  double offset[3];

  if (!simulation->outputs || simulation->outputs[1])
    return ndt_map_report_usage (context, "simulate needs one PCD file to write");
  if (!ndt_sim_world_kind_from_name (name, &kind))
    return ndt_map_report_usage (context, "--world is town, tunnel, highway, hall or blocks");
  if (!is_seed (simulation->seed) || !is_seed (simulation->noise_seed))
    return ndt_map_report_usage (context, "seeds are from 0 to 4294967295");
  if (!(simulation->range_noise >= 0 && simulation->range_noise <= 1))
    return ndt_map_report_usage (context, "--range-noise is metres, 0 to 1");
  if (!(simulation->map_spacing >= 0.1 && simulation->map_spacing <= 10))
    return ndt_map_report_usage (context, "--map-spacing is metres, 0.1 to 10");
  if (simulation->offset && !ndt_sim_map_parse_offset (simulation->offset, offset))
    return ndt_map_report_usage (
        context, "--offset is three numbers of metres like 388096,3948996,0");

  g_autoptr (NdtSimWorld) world = ndt_sim_world_new (kind, (guint64)simulation->seed);
  g_autoptr (GArray) points = ndt_sim_map_sample (world, simulation->map_spacing,
      simulation->range_noise, ndt_sim_map_noise_seed ((guint)simulation->noise_seed));
  const guint n_points = points->len;
  if (!ndt_sim_map_write (
          points, simulation->outputs[0], simulation->offset ? offset : NULL, &error))
    return ndt_map_report (error);
  printf ("points written: %u\n", n_points);
  return EXIT_SUCCESS;
}

int
ndt_map_command_simulate (int argc, char **argv)
{
  Simulation simulation = {.range_noise = 0.02, .map_spacing = 0.25};
  const GOptionEntry entries[] = {
      {"world", 'w', 0, G_OPTION_ARG_STRING, &simulation.world,
          "town (default), tunnel, highway, hall or blocks", "NAME"},
      {"seed", 0, 0, G_OPTION_ARG_INT64, &simulation.seed, "Seed of the world (default 0)", "N"},
      {"noise-seed", 0, 0, G_OPTION_ARG_INT64, &simulation.noise_seed,
          "Seed of the points' noise (default 0)", "N"},
      {"range-noise", 0, 0, G_OPTION_ARG_DOUBLE, &simulation.range_noise,
          "Standard deviation of the points along the surface's normal, 0 to 1 (default 0.02)",
          "METRES"},
      {"map-spacing", 0, 0, G_OPTION_ARG_DOUBLE, &simulation.map_spacing,
          "Distance between points on a surface, 0.1 to 10 (default 0.25)", "METRES"},
      {"offset", 0, 0, G_OPTION_ARG_STRING, &simulation.offset,
          "Coordinates of the world's origin in the map, which is stored in double then", "X,Y,Z"},
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &simulation.outputs, NULL, NULL},
      {NULL},
  };
  g_autoptr (GOptionContext) context =
      g_option_context_new ("OUT.pcd - writes a map of a world that lidartestsrc drives through");
  g_autoptr (GError) error = NULL;
  g_option_context_set_summary (context, "Options are named like the properties of lidartestsrc, "
                                         "and have the same defaults. The same\n"
                                         "options give the same bytes on every machine.");
  g_option_context_add_main_entries (context, entries, NULL);
  const int status = g_option_context_parse (context, &argc, &argv, &error)
                         ? run_simulate (&simulation, context)
                         : ndt_map_report_usage (context, error->message);
  g_free (simulation.world);
  g_free (simulation.offset);
  g_strfreev (simulation.outputs);
  return status;
}
