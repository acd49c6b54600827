/* SPDX-License-Identifier: MIT */
#include "packet-vendor.h"

#include <string.h>

static gboolean
begins_with (const guint8 *data, gsize size, const gchar *bytes, gsize n)
{
  return size >= n && memcmp (data, bytes, n) == 0;
}

const gchar *
packet_guess_vendor (const guint8 *data, gsize size)
{
  if (size == 1206 && begins_with (data, size, "\xff\xee", 2))
    return "a Velodyne's: use velodynedec";
  if (size == 1248 && (begins_with (data, size, "\x55\xaa\x05", 3) ||
                          begins_with (data, size, "\xa5\xff\x00\x5a", 4)))
    return "a RoboSense's: use robosensedec";
  if (begins_with (data, size, "\xee\xff", 2) ||
      ((size == 1262 || size == 1266) && begins_with (data, size, "\xff\xee", 2)))
    return "a Hesai's: use hesaidec";
  /* The type of the packet, 1, and a frame of at least 16 beams; or the sizes of old firmware. */
  if ((size > 1000 && begins_with (data, size, "\x01\x00", 2)) || size == 3392 || size == 6464 ||
      size == 12608 || size == 24896)
    return "an Ouster's: use ousterdec";
  return NULL;
}
