/* SPDX-License-Identifier: MIT */
/* Captures made by tests. Times are microseconds. */
#pragma once

#include <glib.h>

/* An IPv4 packet, or a fragment of one from @offset on. */
GByteArray *capture_make_ipv4 (
    guint16 id, guint offset, gboolean more, const guint8 *data, gsize n);
/* A UDP header and @n bytes of @data, from port 1000. */
GByteArray *capture_make_udp (guint16 port, const guint8 *data, gsize n);

/* An empty capture, pcap, of a type of link. */
GByteArray *capture_new (guint32 link);
void capture_add_frame (GByteArray *capture, guint64 time, const guint8 *header, gsize header_size,
    const GByteArray *packet);
/* A datagram of IPv4 on Ethernet. */
void capture_add_udp (GByteArray *capture, guint64 time, guint16 port, const guint8 *data, gsize n);
/* Writes it to a temporary file, whose name is returned. */
gchar *capture_write (const GByteArray *capture);

/* Ethernet's header with an ethertype. */
extern const guint8 capture_ethernet_ipv4[14];
