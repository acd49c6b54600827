/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdio.h>

#include <glib.h>

G_BEGIN_DECLS

/* Frames of a pcapng file. libpcap refuses a file whose interfaces differ in their link or snap
 * length, as "tcpdump -i any" and Wireshark on several interfaces write it. The format is that of
 * draft-ietf-opsawg-pcapng. */
typedef struct _CapturePcapng CapturePcapng;

typedef struct {
  gint link;          /* a LINKTYPE_ value */
  gint64 time;        /* ns since 1970 */
  const guint8 *data; /* until the next frame */
  gsize size;
} CaptureFrame;

/* Whether @file, which is read from its beginning, is one; it is rewound. */
gboolean capture_is_pcapng (FILE *file);

/* Takes @file over. */
CapturePcapng *capture_pcapng_new (FILE *file);
void capture_pcapng_free (CapturePcapng *self);

/* The next frame. FALSE at the end, with @message, which is static, set where that is none. */
gboolean capture_pcapng_next (CapturePcapng *self, CaptureFrame *frame, const gchar **message);

G_END_DECLS
