/* SPDX-License-Identifier: MIT */
#include "velodyne-packets.h"

#include <string.h>

void
velodyne_write_u16 (guint8 *data, guint value)
{
  data[0] = (guint8)value;
  data[1] = (guint8)(value >> 8);
}

void
velodyne_make_packet (guint8 *packet, guint number, guint8 mode, guint8 product)
{
  const guint returns = mode == DUAL ? 2 : 1;
  const guint64 stamp = (guint64)number * PACKET_NS / returns / 1000;
  memset (packet, 0, SIZE);
  for (guint block = 0; block < 12; block++) {
    guint8 *at = packet + block * 100;
    velodyne_write_u16 (at, 0xeeff);
    velodyne_write_u16 (at + 2, (number * PACKET_AZIMUTH / returns + block / returns * 40) % 36000);
    for (guint i = 0; i < 32; i++) {
      velodyne_write_u16 (at + 4 + 3 * i, 5000);
      at[6 + 3 * i] = (guint8)i;
    }
  }
  for (guint i = 0; i < 4; i++)
    packet[1200 + i] = (guint8)(stamp >> (8 * i));
  packet[1204] = mode;
  packet[1205] = product;
}
