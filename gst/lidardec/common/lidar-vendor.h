/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* What the decoders of the vendors share: bytes, angles and dates. */

static inline guint
lidar_read_le16 (const guint8 *data)
{
  return data[0] | (guint)data[1] << 8;
}

static inline guint32
lidar_read_le32 (const guint8 *data)
{
  return lidar_read_le16 (data) | (guint32)lidar_read_le16 (data + 2) << 16;
}

static inline guint64
lidar_read_le64 (const guint8 *data)
{
  return lidar_read_le32 (data) | (guint64)lidar_read_le32 (data + 4) << 32;
}

static inline guint
lidar_read_be16 (const guint8 *data)
{
  return (guint)data[0] << 8 | data[1];
}

static inline guint32
lidar_read_be32 (const guint8 *data)
{
  return (guint32)lidar_read_be16 (data) << 16 | lidar_read_be16 (data + 2);
}

/* An angle, ready to turn by. */
typedef struct {
  gfloat cosine, sine;
} LidarTurn;

/* @angle in rad. */
LidarTurn lidar_turn_new (gdouble angle);

static inline LidarTurn
lidar_turn_add (LidarTurn a, LidarTurn b)
{
  return (LidarTurn){a.cosine * b.cosine - a.sine * b.sine, a.sine * b.cosine + a.cosine * b.sine};
}

/* Those of 0 to 35999 hundredths of a degree; one table for all decoders. */
const LidarTurn *lidar_turn_get_hundredths (void);

/* Numbers lasers from the lowest up; among those of the same elevation by their order. */
void lidar_rank (const gdouble *elevations, guint n, guint16 *rings);

/* UTC in ns since 1970; @date: year, month, day, hour, minute and second. Negative: it is none. */
gint64 lidar_date_to_ns (const gint date[6], gint64 microseconds);

G_END_DECLS
