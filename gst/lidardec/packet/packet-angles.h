/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Cosine and sine of an angle. */
typedef struct {
  gfloat cosine, sine;
} PacketTurn;

/* @angle in rad. */
PacketTurn packet_turn_new (gdouble angle);

static inline PacketTurn
packet_turn_add (PacketTurn a, PacketTurn b)
{
  return (PacketTurn){a.cosine * b.cosine - a.sine * b.sine, a.sine * b.cosine + a.cosine * b.sine};
}

/* Those of 0 to 35999 hundredths of a degree; one table for all decoders. */
const PacketTurn *packet_turn_get_hundredths (void);

/* Numbers lasers from the lowest up; among those of the same elevation by their order. */
void packet_rank (const gdouble *elevations, guint n, guint16 *rings);

G_END_DECLS
