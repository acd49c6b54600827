/* SPDX-License-Identifier: MIT */
#include "capture-datagram.h"

#include <string.h>

#define LINK_NULL 0
#define LINK_ETHERNET 1
#define LINK_RAW_BSD 12
#define LINK_RAW 101
#define LINK_SLL 113
#define LINK_IPV4 228
#define LINK_IPV6 229
#define LINK_SLL2 276

#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_IPV6 0x86dd

#define PROTOCOL_HOP_BY_HOP 0
#define PROTOCOL_UDP 17
#define PROTOCOL_ROUTING 43
#define PROTOCOL_FRAGMENT 44
#define PROTOCOL_DESTINATION 60

/* Bytes of a frame that are not parsed yet. */
typedef struct {
  const guint8 *data;
  gsize size;
} Rest;

static guint
read_u16 (const guint8 *data)
{
  return (guint)data[0] << 8 | data[1];
}

static gboolean
skip (Rest *rest, gsize n)
{
  if (rest->size < n)
    return FALSE;
  rest->data += n;
  rest->size -= n;
  return TRUE;
}

static gboolean
is_vlan (guint ethertype)
{
  return ethertype == 0x8100 || ethertype == 0x88a8 || ethertype == 0x9100;
}

/* Takes the link's header off; FALSE where it is cut off. @ethertype is 0 where the version of IP
 * says what follows. */
static gboolean
take_link (gint link, Rest *rest, guint *ethertype)
{
  gsize header = 0;
  *ethertype = 0;
  switch (link) {
  case LINK_ETHERNET:
    if (rest->size < 14)
      return FALSE;
    *ethertype = read_u16 (rest->data + 12);
    header = 14;
    break;
  case LINK_SLL:
    if (rest->size < 16)
      return FALSE;
    *ethertype = read_u16 (rest->data + 14);
    header = 16;
    break;
  case LINK_SLL2:
    if (rest->size < 20)
      return FALSE;
    *ethertype = read_u16 (rest->data);
    header = 20;
    break;
  case LINK_NULL:
    header = 4;
    break;
  default:
    break;
  }
  if (!skip (rest, header))
    return FALSE;
  while (is_vlan (*ethertype)) {
    if (rest->size < 4)
      return FALSE;
    *ethertype = read_u16 (rest->data + 2);
    skip (rest, 4);
  }
  if (*ethertype == 0 && rest->size > 0)
    *ethertype = rest->data[0] >> 4 == 6 ? ETHERTYPE_IPV6 : ETHERTYPE_IPV4;
  return TRUE;
}

static CaptureFrameKind
parse_udp (Rest rest, CaptureDatagram *datagram)
{
  if (rest.size < 8)
    return CAPTURE_FRAME_BAD;
  const gsize size = read_u16 (rest.data + 4);
  if (size < 8 || size > rest.size)
    return CAPTURE_FRAME_BAD;
  datagram->source_port = (guint16)read_u16 (rest.data);
  datagram->destination_port = (guint16)read_u16 (rest.data + 2);
  datagram->data = rest.data + 8;
  datagram->size = size - 8;
  return CAPTURE_FRAME_DATAGRAM;
}

static guint64
add_words (guint64 sum, const guint8 *data, gsize size)
{
  for (gsize i = 0; i + 1 < size; i += 2)
    sum += read_u16 (data + i);
  return size % 2 ? sum + ((guint64)data[size - 1] << 8) : sum;
}

/* The checksum of a datagram that came in fragments, where it has one: a sender's system makes it
 * before it cuts the datagram up, so that it is there in captures of the sender's machine as well.
 * Datagrams in one piece are not looked at, as there network cards make it. */
static gboolean
has_good_checksum (const guint8 *addresses, gsize addresses_size, Rest udp)
{
  guint64 sum;

  if (udp.size < 8 || read_u16 (udp.data + 6) == 0)
    return TRUE;
  sum = add_words (PROTOCOL_UDP + read_u16 (udp.data + 4), addresses, addresses_size);
  sum = add_words (sum, udp.data, MIN (read_u16 (udp.data + 4), udp.size));
  while (sum > 0xffff)
    sum = (sum & 0xffff) + (sum >> 16);
  return sum == 0xffff;
}

static CaptureFrameKind
take_fragment (
    CaptureReassembly *reassembly, const CaptureFragment *fragment, CaptureDatagram *datagram)
{
  Rest whole = {NULL, 0};
  /* All but the last are of whole units of 8 bytes, and the last has a byte at least. */
  if (fragment->size == 0 || (fragment->more && fragment->size % 8 != 0) ||
      fragment->offset + fragment->size > G_MAXUINT16)
    return CAPTURE_FRAME_BAD;
  whole.data = capture_reassembly_add (reassembly, fragment, &whole.size);
  if (!whole.data)
    return CAPTURE_FRAME_FRAGMENT;
  if (!has_good_checksum (fragment->key, fragment->addresses_size, whole))
    return CAPTURE_FRAME_BAD;
  return parse_udp (whole, datagram);
}

static CaptureFrameKind
parse_ipv4 (CaptureReassembly *reassembly, Rest rest, gint64 time, CaptureDatagram *datagram)
{
  if (rest.size < 20)
    return CAPTURE_FRAME_BAD;
  const guint8 *header = rest.data;
  const gsize header_size = (gsize)(header[0] & 15) * 4;
  const gsize size = read_u16 (header + 2);
  if (header[0] >> 4 != 4 || header_size < 20 || size < header_size || size > rest.size)
    return CAPTURE_FRAME_BAD;
  if (header[9] != PROTOCOL_UDP)
    return CAPTURE_FRAME_OTHER;
  /* Short frames are padded: what IP does not count is no payload. */
  rest.size = size;
  skip (&rest, header_size);
  datagram->version = 4;
  memcpy (datagram->source, header + 12, 4);
  memcpy (datagram->destination, header + 16, 4);

  const guint flags = read_u16 (header + 6);
  const gboolean more = (flags & 0x2000) != 0;
  const gsize offset = (gsize)(flags & 0x1fff) * 8;
  if (!more && offset == 0)
    return parse_udp (rest, datagram);
  guint8 key[10];
  memcpy (key, header + 12, 8);
  memcpy (key + 8, header + 4, 2);
  const CaptureFragment fragment = {key, sizeof key, 8, offset, more, rest.data, rest.size, time};
  return take_fragment (reassembly, &fragment, datagram);
}

static CaptureFrameKind
parse_ipv6 (CaptureReassembly *reassembly, Rest rest, gint64 time, CaptureDatagram *datagram)
{
  if (rest.size < 40)
    return CAPTURE_FRAME_BAD;
  const guint8 *header = rest.data;
  const gsize size = read_u16 (header + 4);
  guint next = header[6];
  if (header[0] >> 4 != 6 || size > rest.size - 40)
    return CAPTURE_FRAME_BAD;
  skip (&rest, 40);
  rest.size = size;
  datagram->version = 6;
  memcpy (datagram->source, header + 8, 16);
  memcpy (datagram->destination, header + 24, 16);

  while (next == PROTOCOL_HOP_BY_HOP || next == PROTOCOL_ROUTING || next == PROTOCOL_DESTINATION) {
    if (rest.size < 8)
      return CAPTURE_FRAME_BAD;
    next = rest.data[0];
    if (!skip (&rest, 8 + (gsize)rest.data[1] * 8))
      return CAPTURE_FRAME_BAD;
  }
  if (next == PROTOCOL_UDP)
    return parse_udp (rest, datagram);
  if (next != PROTOCOL_FRAGMENT)
    return CAPTURE_FRAME_OTHER;
  if (rest.size < 8)
    return CAPTURE_FRAME_BAD;
  if (rest.data[0] != PROTOCOL_UDP)
    return CAPTURE_FRAME_OTHER;
  const guint flags = read_u16 (rest.data + 2);
  guint8 key[36];
  memcpy (key, header + 8, 32);
  memcpy (key + 32, rest.data + 4, 4);
  skip (&rest, 8);
  const CaptureFragment fragment = {
      key, sizeof key, 32, flags & 0xfff8, flags & 1, rest.data, rest.size, time};
  return take_fragment (reassembly, &fragment, datagram);
}

gboolean
capture_link_is_known (gint link)
{
  switch (link) {
  case LINK_NULL:
  case LINK_ETHERNET:
  case LINK_RAW_BSD:
  case LINK_RAW:
  case LINK_SLL:
  case LINK_IPV4:
  case LINK_IPV6:
  case LINK_SLL2:
    return TRUE;
  default:
    return FALSE;
  }
}

CaptureFrameKind
capture_frame_parse (CaptureReassembly *reassembly, gint link, const guint8 *frame, gsize size,
    gint64 time, CaptureDatagram *datagram)
{
  Rest rest = {frame, size};
  guint ethertype;
  if (!take_link (link, &rest, &ethertype))
    return CAPTURE_FRAME_BAD;
  if (ethertype == ETHERTYPE_IPV4)
    return parse_ipv4 (reassembly, rest, time, datagram);
  if (ethertype == ETHERTYPE_IPV6)
    return parse_ipv6 (reassembly, rest, time, datagram);
  return ethertype == 0 ? CAPTURE_FRAME_BAD : CAPTURE_FRAME_OTHER;
}
