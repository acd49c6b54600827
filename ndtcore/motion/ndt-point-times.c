/* SPDX-License-Identifier: MIT */
#include "ndt-point-times.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Values that the unit is chosen by. */
#define N_SAMPLES 1024

/* Longest scan where its duration is not known, seconds: sensors turn once a second at least. */
#define LONGEST_SCAN 1.0

/* Largest distance of a time from the scan's stamp, in durations: stamps may be of the scan's end,
 * and a scan may take half as long again as the one before. */
#define MAX_DURATIONS 1.5

/* Least part of the scan that times in another unit than the expected one span: in a unit a
 * thousand times too large they span a thousandth. */
#define MIN_FILL 0.2

/* Times from an instant farther away than this, seconds, are times of a clock, and not relative to
 * the scan. */
#define MIN_CLOCK 10.0

static double
get_value (const NdtPointTimeField *field, gsize i)
{
  const guint8 *at = field->data + i * field->stride;
  float f;
  double d;
  guint32 u;
  gint32 s;
  switch (field->type) {
  case NDT_POINT_TIME_F32:
    memcpy (&f, at, sizeof f);
    return (double)f;
  case NDT_POINT_TIME_F64:
    memcpy (&d, at, sizeof d);
    return d;
  case NDT_POINT_TIME_U32:
    memcpy (&u, at, sizeof u);
    return u;
  default:
    memcpy (&s, at, sizeof s);
    return s;
  }
}

static double
expected_unit (NdtPointTimeType type)
{
  return type == NDT_POINT_TIME_F32 || type == NDT_POINT_TIME_F64 ? 1 : 1e-9;
}

static int
compare (const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Range of the middle 90 % of the values, and of all. */
typedef struct {
  double low, middle, high;
} Quantiles;

static gboolean
look_at (const NdtPointTimeField *field, gsize n_points, NdtPointTimes *times, Quantiles *quantiles)
{
  double samples[N_SAMPLES];
  const gsize step = n_points / N_SAMPLES + 1;
  guint n = 0;
  times->min = INFINITY;
  times->max = -INFINITY;
  for (gsize i = 0; i < n_points; i++) {
    const double value = get_value (field, i);
    if (!isfinite (value))
      continue;
    times->min = MIN (times->min, value);
    times->max = MAX (times->max, value);
    if (i % step == 0)
      samples[n++] = value;
  }
  if (n == 0)
    return FALSE;
  qsort (samples, n, sizeof *samples, compare);
  quantiles->low = samples[n / 20];
  quantiles->middle = samples[n / 2];
  quantiles->high = samples[n - 1 - n / 20];
  return TRUE;
}

/* The scan's stamp on the clock of the values, in their unit. */
static gboolean
find_clock (const NdtPointTimes *times, const Quantiles *q, double unit, double reach,
    const double *stamps, guint n_stamps, double *clock, gboolean *by_stamp)
{
  *by_stamp = TRUE;
  for (guint i = 0; i < n_stamps; i++) {
    *clock = stamps[i] / unit;
    if (fabs (q->middle - *clock) * unit <= reach)
      return TRUE;
  }
  *by_stamp = FALSE;
  *clock = q->low - times->min < q->high - q->low ? times->min : q->low;
  return fabs (q->middle) * unit >= MIN_CLOCK;
}

/* Chooses unit and clock of the values. FALSE where they are no times within a scan. */
static gboolean
find_unit (const NdtPointTimeField *field, const Quantiles *q, double duration, double reach,
    const double *stamps, guint n_stamps, NdtPointTimes *times)
{
  static const double units[] = {1, 1e-3, 1e-6, 1e-9};
  const double expected = expected_unit (field->type);
  const double spread = q->high - q->low;
  const double fill = MIN_FILL * (duration > 0 ? duration : 0.01 * LONGEST_SCAN);

  times->unit = expected;
  times->is_clock = FALSE;
  if (fabs (q->low) * expected <= reach && fabs (q->high) * expected <= reach)
    return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (units); i++) {
    times->unit = units[i];
    if (spread * units[i] >= fill && fabs (q->low) * units[i] <= reach &&
        fabs (q->high) * units[i] <= reach)
      return TRUE;
  }
  times->is_clock = TRUE;
  for (guint i = 0; field->type == NDT_POINT_TIME_F64 && i < G_N_ELEMENTS (units); i++) {
    times->unit = units[i];
    if (spread * units[i] >= fill && spread * units[i] <= reach &&
        find_clock (times, q, units[i], reach, stamps, n_stamps, &times->clock, &times->by_stamp))
      return TRUE;
  }
  times->unit = expected;
  times->is_clock = FALSE;
  return FALSE;
}

/* Seconds from the stamp on; NAN where they lie outside the scan. */
static void
convert (const NdtPointTimeField *field, gsize n_points, double reach, NdtPointTimes *times)
{
  const double offset = times->is_clock ? times->clock : 0;
  times->converted = g_try_new (double, n_points);
  if (!times->converted)
    return;
  for (gsize i = 0; i < n_points; i++) {
    const double value = get_value (field, i);
    double seconds = (value - offset) * times->unit;
    if (field->type == NDT_POINT_TIME_U32 && seconds > reach)
      seconds = (value - 0x1p32) * times->unit;
    times->n_outside += isfinite (seconds) && fabs (seconds) > reach;
    times->converted[i] = fabs (seconds) <= reach ? seconds : NAN;
  }
  times->view = (NdtTimeView){(const guint8 *)times->converted, sizeof (double), NDT_TIME_F64};
}

/* Uses the field without a copy, where nothing has to be converted. */
static gboolean
view_directly (const NdtPointTimeField *field, NdtTimeView *view)
{
  static const NdtTimeType types[] = {NDT_TIME_F32, NDT_TIME_F64, NDT_TIME_U32};
  if (field->type == NDT_POINT_TIME_I32)
    return FALSE;
  *view = (NdtTimeView){field->data, field->stride, types[field->type]};
  return TRUE;
}

void
ndt_point_times_read (const NdtCloudView *points, const NdtPointTimeField *field, double duration,
    const double *stamps, guint n_stamps, NdtWorkers *workers, NdtPointTimes *times)
{
  const double reach = duration > 0 ? MAX_DURATIONS * duration : LONGEST_SCAN;
  Quantiles quantiles;

  memset (times, 0, sizeof *times);
  times->unit = expected_unit (field->type);
  if (view_directly (field, &times->view)) {
    times->span = ndt_time_span (points, &times->view, workers);
    times->min = times->span.first / times->unit;
    times->max = times->span.last / times->unit;
    if (times->span.n_points > 0 && fabs (times->span.first) <= reach &&
        fabs (times->span.last) <= reach)
      return;
  }
  times->view.data = NULL;
  times->span.n_points = 0;
  if (!look_at (field, points->n_points, times, &quantiles)) {
    times->verdict = NDT_POINT_TIMES_NOT_FINITE;
    return;
  }
  times->verdict = NDT_POINT_TIMES_UNUSABLE;
  if (!find_unit (field, &quantiles, duration, reach, stamps, n_stamps, times))
    return;
  convert (field, points->n_points, reach, times);
  times->span = ndt_time_span (points, &times->view, workers);
  if (times->span.n_points == 0) {
    times->view.data = NULL;
    times->verdict = NDT_POINT_TIMES_NOT_FINITE;
  } else if (times->is_clock || times->unit != expected_unit (field->type)) {
    times->verdict = NDT_POINT_TIMES_CONVERTED;
  } else {
    times->verdict = NDT_POINT_TIMES_AS_EXPECTED;
  }
}

void
ndt_point_times_clear (NdtPointTimes *times)
{
  g_clear_pointer (&times->converted, g_free);
  times->view.data = NULL;
}
