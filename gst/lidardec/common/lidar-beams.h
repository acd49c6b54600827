/* SPDX-License-Identifier: MIT */
#pragma once

#include "lidar-cutter.h"
#include "lidar-vendor.h"

G_BEGIN_DECLS

#define LIDAR_MAX_BEAMS 128

/* The beams of lasers that fire together, as they lie at azimuth 0, in the order in which a packet
 * has them. All turn to the right with the azimuth: (x, y) of a point are those of its beam times
 * the range and those of its lens, turned by -azimuth. */
typedef struct {
  guint n;
  gfloat x[LIDAR_MAX_BEAMS], y[LIDAR_MAX_BEAMS];           /* of length cos(elevation) */
  gfloat lens_x[LIDAR_MAX_BEAMS], lens_y[LIDAR_MAX_BEAMS]; /* m */
  gboolean has_lens;                                       /* not all of these are 0 */
} LidarBeams;

/* What does not depend on the azimuth, nor on how fast it changes. */
typedef struct {
  gfloat z[LIDAR_MAX_BEAMS];      /* sin(elevation) */
  gfloat lens_z[LIDAR_MAX_BEAMS]; /* m */
  gfloat time[LIDAR_MAX_BEAMS];   /* s since the firing */
  guint32 ring[LIDAR_MAX_BEAMS];
} LidarLasers;

/* How a packet has what a laser measured: two bytes of range and one of intensity, then perhaps
 * one more. */
typedef struct {
  guint size; /* 3 or 4 */
  gboolean is_big_endian;
  gfloat unit; /* m */
} LidarChannelFormat;

/* A firing whose scan it is in for @seconds, all of it. */
typedef struct {
  LidarTurn azimuth;
  gfloat seconds;
  guint8 kind; /* of single returns */
} LidarFiring;

/* Point of laser @i, whose range is @raw units. */
static inline LidarPoint
lidar_beams_get_point (const LidarBeams *beams, const LidarLasers *lasers, guint i,
    const LidarFiring *firing, gfloat range, guint8 intensity)
{
  const LidarTurn turn = firing->azimuth;
  gfloat x = range * beams->x[i], y = range * beams->y[i];
  if (beams->has_lens) {
    x += beams->lens_x[i];
    y += beams->lens_y[i];
  }
  return (LidarPoint){.x = x * turn.cosine + y * turn.sine,
      .y = y * turn.cosine - x * turn.sine,
      .z = range * lasers->z[i] + lasers->lens_z[i],
      .intensity = intensity,
      .ring = (guint16)lasers->ring[i],
      .kind = firing->kind,
      .time = firing->seconds + lasers->time[i]};
}

static inline guint
lidar_channel_read (const LidarChannelFormat *format, const guint8 *channel)
{
  return format->is_big_endian ? lidar_read_be16 (channel) : lidar_read_le16 (channel);
}

/* Writes the points of lasers @first to @first + @n - 1, a multiple of 8, of which @channels begins
 * with the first one's; those without a range make none. @points has room for @n. Returns how many
 * there are. */
guint lidar_beams_fire (const LidarBeams *beams, const LidarLasers *lasers, guint first, guint n,
    const LidarFiring *firing, const LidarChannelFormat *format, const guint8 *channels,
    LidarPoint *points);

/* What the two returns of a firing are called; both of the same range make one point. */
typedef struct {
  guint8 same;
  guint8 first;
  guint8 farther, nearer; /* the second one, by whether it is the farther one */
} LidarReturnKinds;

/* The same for two returns of each laser, one after the other, with room for 2 @n points. */
guint lidar_beams_fire_two (const LidarBeams *beams, const LidarLasers *lasers, guint first,
    guint n, const LidarFiring *firing, const LidarReturnKinds *kinds,
    const LidarChannelFormat *format, const guint8 *channels, const guint8 *second,
    LidarPoint *points);

G_END_DECLS
