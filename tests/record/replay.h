/* SPDX-License-Identifier: MIT */
/* Recording and replaying, for the tests of rosbagsrc and mcapdemux. */
#pragma once

#include <gst/check/gstcheck.h>

/* Folder of recordings, a new one for each test. */
extern gchar *replay_folder;

void replay_setup (void);
void replay_teardown (void);

/* Output of an element named "out", and messages of its pipeline. */
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
/* Plays until EOS, the end of a segment, or an error. */
void replay_wait (GstElement *pipeline, ReplayResult *result);
/* Launches, waits and stops. */
void replay_run (ReplayResult *result, const gchar *format, ...) G_GNUC_PRINTF (2, 3);

/* 20 scans of 0.1 s with true poses and odometry, all that mcapsink records by default. */
#define REPLAY_SOURCE "lidartestsrc world=hall rings=16 num-buffers=20 odometry=true"

/* Records REPLAY_SOURCE in the folder; @options: of mcapsink. */
void replay_record (const gchar *name, const gchar *options);
