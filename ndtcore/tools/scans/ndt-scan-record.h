/* SPDX-License-Identifier: MIT */
/* How ndt-scans hands the scans of a recording to ndt-map, over a pipe: both programs are of one
 * build and one machine, so that structures go as they lie in memory. */
#pragma once

#include <glib.h>

#include "ndtcore/math/ndt-types.h"

G_BEGIN_DECLS

/* The first bytes of the stream, its version with it. */
#define NDT_SCAN_STREAM_MAGIC "ndtscans2\n"

typedef enum {
  NDT_SCAN_RECORD_SCAN = 0x4e414353,
  NDT_SCAN_RECORD_FAILED, /* @n_points bytes of a message follow; nothing after them */
  NDT_SCAN_RECORD_END,    /* @n_points bytes follow: what the poses were taken from */
} NdtScanRecordKind;

/**
 * NdtScanRecord:
 * @kind: NdtScanRecordKind
 * @n_points: points that follow: floats x, y, z in the sensor's frame, and with @has_times their
 *   time in seconds from @time on (NAN: not known)
 * @time: of the scan, nanoseconds: as recorded, of a capture its sensor's clock where that is known
 * @has_times: see @n_points
 * @has_pose: @pose is the sensor's at @time
 * @has_ends: @ends are the sensor's poses at @first and @last
 * @has_origin: @pose is a position alone, of a satellite receiver, in axes to east, north and up
 *   at @origin
 * @sigma: its standard deviations, horizontal and vertical, metres; 0: not known
 * @origin: latitude and longitude, degrees, and height above the ellipsoid of WGS84, metres
 * @first: the first of the points' times, seconds
 * @last: the last
 * @done: how much of the recording is done, 0 to 1; NAN: not known
 */
typedef struct {
  guint32 kind;
  guint32 n_points;
  gint64 time;
  guint32 has_times;
  guint32 has_pose;
  guint32 has_ends;
  guint32 has_origin;
  NdtPose pose;
  NdtPose ends[2];
  double sigma[2];
  double origin[3];
  double first;
  double last;
  double done;
} NdtScanRecord;

G_END_DECLS
