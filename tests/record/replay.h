/* SPDX-License-Identifier: MIT */
/* Recordings that tests of rosbagsrc and mcapdemux make and replay. */
#pragma once

#include <gst/check/gstcheck.h>

/* Of each test its own; recordings are made there. */
extern gchar *replay_folder;

void replay_setup (void);
void replay_teardown (void);

/* What came out of an element named "out", and how the stream went. */
typedef struct {
  GMutex lock;
  GPtrArray *buffers; /* of GstBuffer */
  GPtrArray *caps;    /* of each */
  guint n_warnings;
  gchar *warning; /* the last */
  gchar *error;
} ReplayResult;

void replay_clear (ReplayResult *result);

/* A pipeline that is not started. */
GstElement *replay_launch (const gchar *line, ReplayResult *result);
/* Until EOS, the end of a segment, or an error. */
void replay_wait (GstElement *pipeline, ReplayResult *result);
/* Both, and it is stopped. */
void replay_run (ReplayResult *result, const gchar *format, ...) G_GNUC_PRINTF (2, 3);

/* 20 scans of 0.1 s with true poses and odometry, all that mcapsink records by default. */
#define REPLAY_SOURCE "lidartestsrc world=hall rings=16 num-buffers=20 odometry=true"

/* A file of them in the folder; @options: of mcapsink. */
void replay_record (const gchar *name, const gchar *options);
