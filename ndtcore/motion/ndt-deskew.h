/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

#include "ndt-frames.h"

G_BEGIN_DECLS

typedef enum {
  NDT_TIME_F32, /* seconds */
  NDT_TIME_F64, /* seconds */
  NDT_TIME_U32  /* nanoseconds */
} NdtTimeType;

/**
 * NdtTimeView:
 * @data: first point's time
 * @stride: bytes from one point to the next
 * @type: of a time
 *
 * When each point was measured, from an origin that is the caller's. NULL @data: not known.
 */
typedef struct {
  const guint8 *data;
  gsize stride;
  NdtTimeType type;
} NdtTimeView;

/**
 * NdtTimeSpan:
 * @n_points: that are finite and have a finite time; where there is none, the rest means nothing
 * @first: the first of their times, seconds
 * @last: the last
 * @mean: of all of them
 */
typedef struct {
  gsize n_points;
  double first;
  double last;
  double mean;
} NdtTimeSpan;

/* The time of point @i, seconds. */
double ndt_time_view_get (const NdtTimeView *times, gsize i);

NdtTimeSpan ndt_time_span (const NdtCloudView *points, const NdtTimeView *times);

/**
 * NdtDeskewer:
 *
 * Motion compensation: brings the points of a scan to where they are seen from at one instant.
 * Holds memory that is reused from scan to scan, none of a scan's size. Not thread-safe.
 */
typedef struct _NdtDeskewer NdtDeskewer;

NdtDeskewer *ndt_deskewer_new (void);
void ndt_deskewer_free (NdtDeskewer *deskewer);

/**
 * NdtMotionFunc:
 * @time: seconds, on the axis of the points' times
 * @pose: (out): of the sensor at @time, in any frame
 *
 * Returns: FALSE where the pose is not known
 */
typedef gboolean (*NdtMotionFunc) (double time, NdtPose *pose, gpointer user_data);

/**
 * ndt_deskew:
 * @points: each as seen when it was measured, metres
 * @times: one for each point
 * @reference: the instant, seconds
 * @motion: where the sensor was; asked for at most 2,048 instants over the scan, which are
 *   nearer than 25 µs to any point's of a scan of 0.1 s
 * @out: packed float x, y, z, as seen at @reference; points whose time is not finite or where the
 * pose is not known are as they were
 *
 * Returns: how many points were brought to @reference
 */
gsize ndt_deskew (NdtDeskewer *deskewer, const NdtCloudView *points, const NdtTimeView *times,
    double reference, NdtMotionFunc motion, gpointer user_data, float *out);

/* The same in double precision, packed double x, y, z: for points far from their origin, where a
 * float is too coarse. */
gsize ndt_deskew_f64 (NdtDeskewer *deskewer, const NdtCloudView *points, const NdtTimeView *times,
    double reference, NdtMotionFunc motion, gpointer user_data, double *out);

/**
 * NdtScanMotion:
 * @reference: the instant that points are brought to, seconds on the axis of their times
 * @velocity: of the sensor in its own frame at the reference, m/s and rad/s
 * @acceleration: its change per second, the same over the scan
 *
 * At an instant t the sensor is at exp (dt (velocity + dt/2 acceleration)) from where it is at the
 * reference, dt = t − reference.
 */
typedef struct {
  double reference;
  double velocity[6];
  double acceleration[6];
} NdtScanMotion;

/* ndt_deskew() by such a motion. */
gsize ndt_deskew_motion (NdtDeskewer *deskewer, const NdtCloudView *points,
    const NdtTimeView *times, const NdtScanMotion *motion, float *out);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtDeskewer, ndt_deskewer_free)

G_END_DECLS
