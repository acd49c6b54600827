/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Numbers of both byte orders in packets, at any address. */

static inline guint
packet_read_le16 (const guint8 *data)
{
  return data[0] | (guint)data[1] << 8;
}

static inline guint32
packet_read_le32 (const guint8 *data)
{
  return packet_read_le16 (data) | (guint32)packet_read_le16 (data + 2) << 16;
}

static inline guint64
packet_read_le64 (const guint8 *data)
{
  return packet_read_le32 (data) | (guint64)packet_read_le32 (data + 4) << 32;
}

static inline guint
packet_read_be16 (const guint8 *data)
{
  return (guint)data[0] << 8 | data[1];
}

static inline guint32
packet_read_be32 (const guint8 *data)
{
  return (guint32)packet_read_be16 (data) << 16 | packet_read_be16 (data + 2);
}

G_END_DECLS
