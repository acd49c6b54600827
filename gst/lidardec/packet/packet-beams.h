/* SPDX-License-Identifier: MIT */
#pragma once

#include "packet-angles.h"
#include "packet-bytes.h"
#include "packet-cutter.h"

G_BEGIN_DECLS

#define PACKET_MAX_BEAMS 128

/* The beams of lasers that fire together, as they lie at azimuth 0, in the order in which a packet
 * has them. All turn to the right with the azimuth: (x, y) of a point are those of its beam times
 * the range and those of its lens, turned by -azimuth. */
typedef struct {
  guint n;
  gfloat x[PACKET_MAX_BEAMS], y[PACKET_MAX_BEAMS];           /* of length cos(elevation) */
  gfloat lens_x[PACKET_MAX_BEAMS], lens_y[PACKET_MAX_BEAMS]; /* m */
  gboolean has_lens;                                         /* not all of these are 0 */
} PacketBeams;

/* What does not depend on the azimuth, nor on how fast it changes. */
typedef struct {
  gfloat z[PACKET_MAX_BEAMS];      /* sin(elevation) */
  gfloat lens_z[PACKET_MAX_BEAMS]; /* m */
  gfloat time[PACKET_MAX_BEAMS];   /* s since the firing */
  guint32 ring[PACKET_MAX_BEAMS];
} PacketLasers;

/* How a packet has what a laser measured: two bytes of range and one of intensity, then perhaps
 * one more. */
typedef struct {
  guint size; /* 3 or 4 */
  gboolean is_big_endian;
  gfloat unit; /* m */
} PacketChannelFormat;

/* A firing whose scan it is in for @seconds, all of it. */
typedef struct {
  PacketTurn azimuth;
  gfloat seconds;
  guint8 kind; /* of single returns */
} PacketFiring;

/* Point of laser @i, whose range is @raw units. */
static inline PacketPoint
packet_beams_get_point (const PacketBeams *beams, const PacketLasers *lasers, guint i,
    const PacketFiring *firing, gfloat range, guint8 intensity)
{
  const PacketTurn turn = firing->azimuth;
  gfloat x = range * beams->x[i], y = range * beams->y[i];
  if (beams->has_lens) {
    x += beams->lens_x[i];
    y += beams->lens_y[i];
  }
  return (PacketPoint){.x = x * turn.cosine + y * turn.sine,
      .y = y * turn.cosine - x * turn.sine,
      .z = range * lasers->z[i] + lasers->lens_z[i],
      .intensity = intensity,
      .ring = (guint16)lasers->ring[i],
      .kind = firing->kind,
      .time = firing->seconds + lasers->time[i]};
}

static inline guint
packet_channel_read (const PacketChannelFormat *format, const guint8 *channel)
{
  return format->is_big_endian ? packet_read_be16 (channel) : packet_read_le16 (channel);
}

/* Writes the points of lasers @first to @first + @n - 1, a multiple of 8, of which @channels begins
 * with the first one's; those without a range make none. @points has room for @n. Returns how many
 * there are. */
guint packet_beams_fire (const PacketBeams *beams, const PacketLasers *lasers, guint first, guint n,
    const PacketFiring *firing, const PacketChannelFormat *format, const guint8 *channels,
    PacketPoint *points);

/* What the two returns of a firing are called; both of the same range make one point. */
typedef struct {
  guint8 same;
  guint8 first;
  guint8 farther, nearer; /* the second one, by whether it is the farther one */
} PacketReturnKinds;

/* The same for two returns of each laser, one after the other, with room for 2 @n points. */
guint packet_beams_fire_two (const PacketBeams *beams, const PacketLasers *lasers, guint first,
    guint n, const PacketFiring *firing, const PacketReturnKinds *kinds,
    const PacketChannelFormat *format, const guint8 *channels, const guint8 *second,
    PacketPoint *points);

G_END_DECLS
