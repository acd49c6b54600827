/* SPDX-License-Identifier: MIT */
#include "capture.h"

#include <glib/gstdio.h>
#include <string.h>

const guint8 capture_ethernet_ipv4[14] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00};

static void
append_be16 (GByteArray *bytes, guint value)
{
  const guint8 data[] = {(guint8)(value >> 8), (guint8)value};
  g_byte_array_append (bytes, data, 2);
}

static void
append_le32 (GByteArray *bytes, guint32 value)
{
  value = GUINT32_TO_LE (value);
  g_byte_array_append (bytes, (const guint8 *)&value, 4);
}

GByteArray *
capture_make_ipv4 (guint16 id, guint offset, gboolean more, const guint8 *data, gsize n)
{
  static const guint8 addresses[] = {192, 168, 1, 201, 192, 168, 1, 100};
  static const guint8 rest[] = {64, 17, 0, 0};
  GByteArray *bytes = g_byte_array_new ();
  append_be16 (bytes, 0x4500);
  append_be16 (bytes, (guint)(20 + n));
  append_be16 (bytes, id);
  append_be16 (bytes, (more ? 0x2000 : 0) | offset / 8);
  g_byte_array_append (bytes, rest, sizeof rest);
  g_byte_array_append (bytes, addresses, sizeof addresses);
  g_byte_array_append (bytes, data, (guint)n);
  return bytes;
}

GByteArray *
capture_make_udp (guint16 port, const guint8 *data, gsize n)
{
  GByteArray *bytes = g_byte_array_new ();
  append_be16 (bytes, 1000);
  append_be16 (bytes, port);
  append_be16 (bytes, (guint)(8 + n));
  append_be16 (bytes, 0);
  g_byte_array_append (bytes, data, (guint)n);
  return bytes;
}

GByteArray *
capture_new (guint32 link)
{
  GByteArray *capture = g_byte_array_new ();
  append_le32 (capture, 0xa1b2c3d4);
  append_le32 (capture, 0x00040002);
  append_le32 (capture, 0);
  append_le32 (capture, 0);
  append_le32 (capture, 65535);
  append_le32 (capture, link);
  return capture;
}

void
capture_add_frame (GByteArray *capture, guint64 time, const guint8 *header, gsize header_size,
    const GByteArray *packet)
{
  append_le32 (capture, (guint32)(1700000000 + time / 1000000));
  append_le32 (capture, (guint32)(time % 1000000));
  append_le32 (capture, (guint32)(header_size + packet->len));
  append_le32 (capture, (guint32)(header_size + packet->len));
  g_byte_array_append (capture, header, (guint)header_size);
  g_byte_array_append (capture, packet->data, packet->len);
}

void
capture_add_udp (GByteArray *capture, guint64 time, guint16 port, const guint8 *data, gsize n)
{
  g_autoptr (GByteArray) udp = capture_make_udp (port, data, n);
  g_autoptr (GByteArray) packet = capture_make_ipv4 (1, 0, FALSE, udp->data, udp->len);
  capture_add_frame (capture, time, capture_ethernet_ipv4, 14, packet);
}

gchar *
capture_write (const GByteArray *capture)
{
  gchar *path = NULL;
  const gint fd = g_file_open_tmp ("capture-XXXXXX.pcap", &path, NULL);
  g_assert_cmpint (fd, >=, 0);
  g_close (fd, NULL);
  g_assert_true (
      g_file_set_contents (path, (const gchar *)capture->data, (gssize)capture->len, NULL));
  return path;
}
