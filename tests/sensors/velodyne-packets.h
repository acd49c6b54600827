/* SPDX-License-Identifier: MIT */
/* Packets of Velodyne sensors. */
#pragma once

#include <glib.h>

#define SIZE 1206
#define STRONGEST 0x37
#define DUAL 0x39
#define VLP_16 0x22
#define VLP_32C 0x28

/* A VLP-16 at 10 Hz: 0.4 degrees a block, 1.32 ms a packet. */
#define PACKET_NS 1327104
#define PACKET_AZIMUTH 480

void velodyne_write_u16 (guint8 *data, guint value);
/* Packet @number of a steady turn: all at 10 m (5000 units), intensity is the laser. */
void velodyne_make_packet (guint8 *packet, guint number, guint8 mode, guint8 product);
