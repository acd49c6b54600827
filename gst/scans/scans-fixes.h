/* SPDX-License-Identifier: MIT */
/* Positions of a satellite receiver (NavSatFix) on a map's axes. */
#pragma once

#include <gst/gst.h>

#include "scans-frames.h"

G_BEGIN_DECLS

/* One, as it was recorded: WGS84, degrees, metres; standard deviations east, north and up, 0: not
 * known. */
typedef struct {
  gint64 time;
  double latitude;
  double longitude;
  double altitude;
  double sigma[3];
} ScansFix;

/* Reads a message pad's buffer: FALSE where it is no NavSatFix, or has no position. */
gboolean scans_fix_read (GstCaps *caps, GstBuffer *buffer, ScansFix *fix);

/* Those of one topic. */
typedef struct {
  double origin[3];
  GArray *fixes; /* of ScansFix, in time */
} ScansFixes;

/* @fixes: of ScansFix, in any order. @map_origin: "LAT,LON,ALT"; NULL: the first one in time. Adds
 * them to @frames as poses of @frame in "map". NULL with an error that is a sentence. */
ScansFixes *scans_fixes_new (const GArray *fixes, const gchar *map_origin, ScansFrames *frames,
    const gchar *frame, GError **error);
void scans_fixes_free (ScansFixes *self);
/* Horizontal and vertical standard deviation of the position at a time: of the worse of both
 * neighbours; 0: not known. */
void scans_fixes_get_sigma (const ScansFixes *self, gint64 time, double sigma[2]);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (ScansFixes, scans_fixes_free)

G_END_DECLS
