/* SPDX-License-Identifier: MIT */
#pragma once

#include "capture-datagram.h"

G_BEGIN_DECLS

/* Datagrams of a sensor among others. */
typedef struct {
  guint16 port;     /* that they were sent to, 0: any */
  guint version;    /* of the sender's address, 0: any address */
  guint8 bytes[16]; /* the address */
} CaptureFilter;

/* @address: of IPv4 or IPv6, NULL or empty for any. FALSE: it is none. */
gboolean capture_filter_init (CaptureFilter *self, guint port, const gchar *address);
gboolean capture_filter_passes (const CaptureFilter *self, const CaptureDatagram *datagram);

G_END_DECLS
