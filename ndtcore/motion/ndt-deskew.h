/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>
#include <string.h>

#include "ndt-frames.h"
#include "ndtcore/base/ndt-workers.h"

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
 * The time of each point, in memory of another owner, from an origin that the caller chooses. @data
 * is NULL where there are no times.
 */
typedef struct {
  const guint8 *data;
  gsize stride;
  NdtTimeType type;
} NdtTimeView;

/**
 * NdtTimeSpan:
 * @n_points: points that are finite and have a finite time; 0: the other members are undefined
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
static inline double
ndt_time_view_get (const NdtTimeView *times, gsize i)
{
  const guint8 *p = times->data + i * times->stride;
  float f;
  double d;
  guint32 u;
  switch (times->type) {
  case NDT_TIME_F32:
    memcpy (&f, p, sizeof f);
    return (double)f;
  case NDT_TIME_F64:
    memcpy (&d, p, sizeof d);
    return d;
  default:
    memcpy (&u, p, sizeof u);
    return 1e-9 * u;
  }
}

/* @workers: (nullable): do it together; the result is the same */
NdtTimeSpan ndt_time_span (
    const NdtCloudView *points, const NdtTimeView *times, NdtWorkers *workers);

/**
 * NdtDeskewer:
 *
 * Motion compensation: transforms the points of a scan into the sensor's frame at one instant. Owns
 * memory that is reused from scan to scan and does not depend on a scan's size. Not thread-safe.
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
 * @motion: called for at most %NDT_DESKEW_SLOTS instants over the scan; in a scan of 0.1 s each
 *   point is at most 25 µs from one
 * @out: packed float x, y, z in the sensor's frame at @reference; points without a finite time, or
 *   at whose time there is no pose, are copied unchanged
 *
 * Returns: how many points were transformed
 */
gsize ndt_deskew (NdtDeskewer *deskewer, const NdtCloudView *points, const NdtTimeView *times,
    double reference, NdtMotionFunc motion, gpointer user_data, float *out);

/* The same with packed double x, y, z, for coordinates that a float does not resolve. */
gsize ndt_deskew_f64 (NdtDeskewer *deskewer, const NdtCloudView *points, const NdtTimeView *times,
    double reference, NdtMotionFunc motion, gpointer user_data, double *out);

/**
 * NdtScanMotion:
 * @reference: the instant whose frame points are transformed into, seconds on the axis of their
 *   times
 * @velocity: of the sensor in its own frame at the reference, m/s and rad/s
 * @acceleration: its change per second, the same over the scan
 *
 * The sensor's pose at an instant t, in its frame at the reference, is exp (dt (velocity + dt/2
 * acceleration)) with dt = t − reference.
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
