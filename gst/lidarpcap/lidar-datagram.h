/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

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
} LidarDatagram;

typedef enum {
  LIDAR_FRAME_DATAGRAM, /* a whole datagram */
  LIDAR_FRAME_FRAGMENT, /* kept until its others come */
  LIDAR_FRAME_OTHER,    /* no UDP */
  LIDAR_FRAME_BAD,      /* cut off or contradicts itself */
} LidarFrameKind;

typedef struct _LidarReassembly LidarReassembly;

LidarReassembly *lidar_reassembly_new (void);
void lidar_reassembly_free (LidarReassembly *self);

/* Forgets all fragments. */
void lidar_reassembly_reset (LidarReassembly *self);

/* Datagrams given up because fragments did not come. */
guint64 lidar_reassembly_get_n_incomplete (const LidarReassembly *self);

/* Takes fragment @data, bytes from @offset of a datagram that @key (@key_size bytes, at most 40)
 * tells from others at @time (ns), the last of it where not @more. Returns the whole payload, valid
 * until the next call, with its @size once all came, otherwise NULL. */
const guint8 *lidar_reassembly_add (LidarReassembly *self, const guint8 *key, gsize key_size,
    gsize offset, gboolean more, const guint8 *data, gsize n, gint64 time, gsize *size);

/* Whether frames of this type of link (a LINKTYPE_ value, as captures have it) can be parsed. */
gboolean lidar_link_is_known (gint link);

LidarFrameKind lidar_frame_parse (LidarReassembly *reassembly, gint link, const guint8 *frame,
    gsize size, gint64 time, LidarDatagram *datagram);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LidarReassembly, lidar_reassembly_free)

G_END_DECLS
