/* SPDX-License-Identifier: MIT */
#pragma once

#include "capture-reassembly.h"

G_BEGIN_DECLS

/* From frames of a network, as a capture holds them, to the UDP datagrams in them. */

/* Addresses are in network order; those of IPv4 take the first four bytes. */
typedef struct {
  guint version; /* 4 or 6 */
  guint8 source[16];
  guint8 destination[16];
  guint16 source_port;
  guint16 destination_port;
  const guint8 *data; /* the frame's memory or the reassembly's: until the next frame */
  gsize size;
} CaptureDatagram;

typedef enum {
  CAPTURE_FRAME_DATAGRAM, /* a whole datagram */
  CAPTURE_FRAME_FRAGMENT, /* kept until its others come */
  CAPTURE_FRAME_OTHER,    /* no UDP */
  CAPTURE_FRAME_BAD,      /* cut off or contradicts itself */
} CaptureFrameKind;

/* Whether frames of this type of link (a LINKTYPE_ value, as captures have it) can be parsed. */
gboolean capture_link_is_known (gint link);

CaptureFrameKind capture_frame_parse (CaptureReassembly *reassembly, gint link, const guint8 *frame,
    gsize size, gint64 time, CaptureDatagram *datagram);

G_END_DECLS
