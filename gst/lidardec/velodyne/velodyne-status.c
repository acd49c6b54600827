/* SPDX-License-Identifier: MIT */
#include "velodyne-status.h"

#include <string.h>

#include "gst/lidardec/packet/packet-bytes.h"

#define N_LASERS 64
#define HEADER 7      /* "UNIT#" and two thresholds */
#define LASER_SIZE 28 /* the last 7 are none of the laser's */
#define N_COVERED 20  /* of those the checksum is of, from the second on */

/* An S2 has this constant in the place of an S3's checksum: its bytes are accepted when two cycles
 * are equal. */
#define S2_SUM VELODYNE_STATUS_SIZE

#define DEGREE (G_PI / 180)

/* CRC-16, polynomial 0x8005, from 0 on. */
static guint16
add_to_crc (guint16 crc, const guint8 *data, guint n)
{
  for (guint i = 0; i < n; i++) {
    crc ^= (guint16)(data[i] << 8);
    for (guint bit = 0; bit < 8; bit++)
      crc = (guint16)(crc << 1 ^ (crc & 0x8000 ? 0x8005 : 0));
  }
  return crc;
}

static gdouble
read_signed (const guint8 *data, gdouble unit)
{
  return (gint16)packet_read_le16 (data) * unit;
}

static gboolean
check (const guint8 *bytes, gboolean is_s3, gboolean came_twice)
{
  const guint expected = packet_read_le16 (bytes + VELODYNE_STATUS_SIZE - 2);
  guint16 crc = 0;
  if (memcmp (bytes, "UNIT#", 5) != 0)
    return FALSE;
  for (guint i = 0; i < N_LASERS; i++) {
    const guint8 *laser = bytes + HEADER + i * LASER_SIZE;
    if (laser[0] >= N_LASERS)
      return FALSE;
    crc = add_to_crc (crc, laser + 1, N_COVERED);
  }
  return is_s3 ? expected == crc : expected == S2_SUM && came_twice;
}

static void
read_lasers (const guint8 *bytes, VelodyneCalibration *calibration)
{
  memset (calibration, 0, sizeof *calibration);
  calibration->n_lasers = N_LASERS;
  for (guint i = 0; i < N_LASERS; i++) {
    const guint8 *at = bytes + HEADER + i * LASER_SIZE;
    calibration->lasers[at[0]] = (VelodyneLaser){.elevation = read_signed (at + 1, 0.01 * DEGREE),
        .rotation = read_signed (at + 3, 0.01 * DEGREE),
        .distance = read_signed (at + 5, 1e-3),
        .distance_x = read_signed (at + 7, 1e-3),
        .distance_y = read_signed (at + 9, 1e-3),
        .has_two_points = TRUE,
        .vertical_offset = read_signed (at + 11, 1e-3),
        .horizontal_offset = read_signed (at + 13, 1e-3)};
  }
}

gboolean
velodyne_status_add (
    VelodyneStatus *self, guint8 type, guint8 value, VelodyneCalibration *calibration)
{
  guint8 ordered[VELODYNE_STATUS_SIZE];
  /* Time, place, temperature and version, which come in between. */
  if (type != 0 && strchr ("HMSDNYGTV", type))
    return FALSE;
  self->is_s3 |= type == 'W';
  guint8 *at = &self->bytes[self->n % VELODYNE_STATUS_SIZE];
  self->n_same = self->n++ >= VELODYNE_STATUS_SIZE && *at == value ? self->n_same + 1 : 0;
  *at = value;
  /* The calibration repeats cyclically, seven bytes at a time; a lost packet damages one cycle. */
  if (self->n < VELODYNE_STATUS_SIZE || self->n % 7 != 0)
    return FALSE;
  for (gsize i = 0; i < VELODYNE_STATUS_SIZE; i++) {
    if (self->bytes[i] != 'U')
      continue;
    memcpy (ordered, self->bytes + i, VELODYNE_STATUS_SIZE - i);
    memcpy (ordered + VELODYNE_STATUS_SIZE - i, self->bytes, i);
    if (check (ordered, self->is_s3, self->n_same >= VELODYNE_STATUS_SIZE)) {
      read_lasers (ordered, calibration);
      return TRUE;
    }
  }
  return FALSE;
}
