/* SPDX-License-Identifier: MIT */
#include "packet-angles.h"

#include <math.h>

PacketTurn
packet_turn_new (gdouble angle)
{
  return (PacketTurn){(gfloat)cos (angle), (gfloat)sin (angle)};
}

const PacketTurn *
packet_turn_get_hundredths (void)
{
  static PacketTurn table[36000];
  static gsize is_made = 0;
  if (g_once_init_enter (&is_made)) {
    for (guint i = 0; i < G_N_ELEMENTS (table); i++)
      table[i] = packet_turn_new (i * G_PI / 18000);
    g_once_init_leave (&is_made, 1);
  }
  return table;
}

void
packet_rank (const gdouble *elevations, guint n, guint16 *rings)
{
  for (guint i = 0; i < n; i++) {
    guint16 ring = 0;
    for (guint j = 0; j < n; j++)
      ring = (guint16)(ring + (elevations[j] < elevations[i] ||
                                  (elevations[j] == elevations[i] && j < i)));
    rings[i] = ring;
  }
}
