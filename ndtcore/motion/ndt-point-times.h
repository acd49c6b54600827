/* SPDX-License-Identifier: MIT */
/* Times of points as written by other software, validated against the duration of their scan. */
#pragma once

#include "ndt-deskew.h"

G_BEGIN_DECLS

typedef enum {
  NDT_POINT_TIME_F32,
  NDT_POINT_TIME_F64,
  NDT_POINT_TIME_U32,
  NDT_POINT_TIME_I32,
} NdtPointTimeType;

/**
 * NdtPointTimeField:
 * @data: of the first point
 * @stride: bytes from one point to the next
 * @type: of a value. Floats are expected in seconds, integers in nanoseconds, both from the scan's
 *   stamp on
 */
typedef struct {
  const guint8 *data;
  gsize stride;
  NdtPointTimeType type;
} NdtPointTimeField;

typedef enum {
  NDT_POINT_TIMES_AS_EXPECTED, /* all finite ones lie within the scan */
  NDT_POINT_TIMES_CONVERTED,   /* in another unit, or of a clock */
  NDT_POINT_TIMES_UNUSABLE,    /* no unit or clock places them within the scan */
  NDT_POINT_TIMES_NOT_FINITE,  /* there is no finite value, or no point */
} NdtPointTimesVerdict;

/**
 * NdtPointTimes:
 * @view: seconds or nanoseconds from the scan's stamp on; its data is NULL where the times cannot
 *   be used. Times outside of the scan are NAN
 * @span: of the finite ones of finite points; n_points is 0 where there is none
 * @verdict: whether the times are used, and how
 * @unit: seconds of a unit of the field
 * @is_clock: the field has times of a clock …
 * @clock: … on which this is the scan's stamp, in the field's unit
 * @by_stamp: @clock is one of the stamps given, not the time of the first point
 * @min: smallest finite value of the field, in its unit
 * @max: largest
 * @n_outside: finite values that are not used since they lie outside the scan
 * @converted: (nullable): memory that @view points to
 *
 * To be cleared by ndt_point_times_clear().
 */
typedef struct {
  NdtTimeView view;
  NdtTimeSpan span;
  NdtPointTimesVerdict verdict;
  double unit;
  gboolean is_clock;
  double clock;
  gboolean by_stamp;
  double min;
  double max;
  gsize n_outside;
  double *converted;
} NdtPointTimes;

/**
 * ndt_point_times_read:
 * @points: of the scan
 * @field: of as many values
 * @duration: of the scan, seconds; 0: not known, at most 1 s
 * @stamps: the scan's stamp on the clocks that the field may have, seconds
 * @n_stamps: how many
 * @workers: (nullable): look at a large scan together; the result is the same
 * @times: (out): the result
 *
 * A time lies within a scan where it is at most one and a half durations before or after its stamp:
 * some drivers stamp a scan's end. Where that is not so in the expected unit, another one is chosen
 * by the middle 90 % of the values: seconds, ms, µs or ns, relative to the scan's stamp or of a
 * clock (doubles only: a float does not resolve one). 32-bit integers may have wrapped below 0.
 */
void ndt_point_times_read (const NdtCloudView *points, const NdtPointTimeField *field,
    double duration, const double *stamps, guint n_stamps, NdtWorkers *workers,
    NdtPointTimes *times);
void ndt_point_times_clear (NdtPointTimes *times);

G_END_DECLS
