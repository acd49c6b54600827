/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdio.h>

#include "lidar-datagram.h"

G_BEGIN_DECLS

/* A capture, pcap or pcapng, read from its beginning to its end. */
typedef struct _LidarCapture LidarCapture;

typedef enum {
  LIDAR_CAPTURE_ERROR_OPEN,   /* no file, or it may not be read */
  LIDAR_CAPTURE_ERROR_FORMAT, /* no capture, or one of another link than those that are known */
  LIDAR_CAPTURE_ERROR_DAMAGED /* cut off or corrupted after what was read so far */
} LidarCaptureError;

#define LIDAR_CAPTURE_ERROR lidar_capture_error_quark ()
GQuark lidar_capture_error_quark (void);

typedef struct {
  guint64 n_frames;
  guint64 n_other;      /* frames that are no UDP */
  guint64 n_bad;        /* frames that are cut off or contradict themselves */
  guint64 n_incomplete; /* datagrams of which fragments are missing */
} LidarCaptureCounts;

LidarCapture *lidar_capture_open (const gchar *path, GError **error);

/* Takes @file over. */
LidarCapture *lidar_capture_new (FILE *file, GError **error);
void lidar_capture_free (LidarCapture *self);

/* Where *@is_cancelled becomes nonzero, which may be in another thread, lidar_capture_next()
 * returns FALSE without an error. */
void lidar_capture_set_cancellation (LidarCapture *self, const gint *is_cancelled);

/* The next datagram and when it was captured (its last fragment, where it has several), ns since
 * 1970. FALSE at the end, with @error set where that is none. */
gboolean lidar_capture_next (
    LidarCapture *self, LidarDatagram *datagram, gint64 *time, GError **error);
LidarCaptureCounts lidar_capture_get_counts (const LidarCapture *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LidarCapture, lidar_capture_free)

G_END_DECLS
