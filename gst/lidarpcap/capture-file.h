/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdio.h>

#include "capture-datagram.h"

G_BEGIN_DECLS

/* A capture, pcap or pcapng, read from its beginning to its end. */
typedef struct _CaptureFile CaptureFile;

typedef enum {
  CAPTURE_FILE_ERROR_OPEN,   /* no file, or it may not be read */
  CAPTURE_FILE_ERROR_FORMAT, /* no capture */
  CAPTURE_FILE_ERROR_LINK,   /* none of its links carries IP that is known */
  CAPTURE_FILE_ERROR_DAMAGED /* cut off or corrupted after what was read so far */
} CaptureFileError;

#define CAPTURE_FILE_ERROR capture_file_error_quark ()
GQuark capture_file_error_quark (void);

typedef struct {
  guint64 n_frames;
  guint64 n_other;      /* frames that are no UDP */
  guint64 n_bad;        /* frames that are cut off or contradict themselves */
  guint64 n_incomplete; /* datagrams of which fragments are missing */
} CaptureFileCounts;

CaptureFile *capture_file_open (const gchar *path, GError **error);

/* Takes @file over. */
CaptureFile *capture_file_new (FILE *file, GError **error);
void capture_file_free (CaptureFile *self);

/* Where *@is_cancelled becomes nonzero, which may be in another thread, capture_file_next()
 * returns FALSE without an error. */
void capture_file_set_cancellation (CaptureFile *self, const gint *is_cancelled);

/* The next datagram and when it was captured (its last fragment, where it has several), ns since
 * 1970. FALSE at the end, with @error set where that is none. */
gboolean capture_file_next (
    CaptureFile *self, CaptureDatagram *datagram, gint64 *time, GError **error);
CaptureFileCounts capture_file_get_counts (const CaptureFile *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (CaptureFile, capture_file_free)

G_END_DECLS
