/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "ndt-deskew.h"

/* Sums that do not wait for one another: a sum of doubles takes four cycles. */
#define LANES 4

/* Points that are taken for finite until one is not. */
#define AT_ONCE 128

/* Points that are asked for ahead: a processor itself looks no farther than a page, of which a scan
 * has hundreds. Out of memory, eight threads read 129,000 points of 24 bytes in 86 µs so, in 120
 * without (a Xeon host of an H200); with 128 and 256 points ahead in 87 and 80, and one thread in
 * 439 and 449 instead of 335. */
#define AHEAD (4 * AT_ONCE)

#define INLINE static inline __attribute__ ((always_inline))

typedef float Four __attribute__ ((vector_size (16)));
typedef double Two __attribute__ ((vector_size (16)));
typedef gint64 Longs __attribute__ ((vector_size (16)));
typedef gint32 Ints __attribute__ ((vector_size (16)));

/* Points of a block that has sums of its own, and most blocks: neither depends on the number of
 * threads, so that the mean does not. */
#define MIN_BLOCK 8192
#define MAX_BLOCKS 64
/* A thread is woken for so many, which take about as long as a few wakes. */
#define BLOCKS_OF_TASK 2

typedef struct {
  const NdtCloudView *points;
  const NdtTimeView *times;
  gsize block;
  guint n_blocks;
  NdtTimeSpan parts[MAX_BLOCKS]; /* mean is the sum */
} Job;

/* Sums of every LANESth point each. */
typedef struct {
  double first[LANES];
  double last[LANES];
  double sum[LANES];
  gsize n;
} Lanes;

INLINE void
add_points (
    const NdtCloudView *points, const NdtTimeView *times, gsize begin, gsize end, Lanes *lanes)
{
  for (gsize i = begin; i < end; i += LANES) {
    const gsize n_lanes = MIN (end - i, LANES);
    for (gsize l = 0; l < n_lanes; l++) {
      const double time = ndt_time_view_get (times, i + l);
      double p[3];
      ndt_cloud_view_get (points, i + l, p);
      /* A difference of what is not finite with itself is NAN. */
      const gboolean use = (time - time) + (p[0] - p[0]) + (p[1] - p[1]) + (p[2] - p[2]) == 0;
      const double low = use ? time : INFINITY, high = use ? time : -INFINITY;
      lanes->first[l] = low < lanes->first[l] ? low : lanes->first[l];
      lanes->last[l] = high > lanes->last[l] ? high : lanes->last[l];
      lanes->sum[l] += use ? time : 0;
      lanes->n += (gsize)use;
    }
  }
}

INLINE Two
choose (Longs mask, Two yes, Two no)
{
  return (Two)((mask & (Longs)yes) | (~mask & (Longs)no));
}

INLINE Four
choose_four (Ints mask, Four yes, Four no)
{
  return (Four)((mask & (Ints)yes) | (~mask & (Ints)no));
}

INLINE float
get_f32 (const NdtTimeView *times, gsize i)
{
  float value;
  memcpy (&value, times->data + i * times->stride, sizeof value);
  return value;
}

/* Of AT_ONCE points a lane's coordinates, in @sums, and its times, in @sum, are finite where these
 * are. The fourth of a point's floats is something else. */
INLINE gboolean
are_finite (const Four sums[LANES], const Two sum[LANES / 2])
{
  gboolean finite = TRUE;
  for (guint l = 0; l < LANES; l++)
    finite = finite && isfinite (sums[l][0]) && isfinite (sums[l][1]) && isfinite (sums[l][2]) &&
             isfinite (sum[l / 2][l % 2]);
  return finite;
}

/* Sums of coordinates, for are_finite(): where finite ones are too large for it, points are added
 * one by one for nothing. */
INLINE void
add_coordinates (const NdtCloudView *points, gsize i, Four sums[LANES])
{
  for (gsize l = 0; l < LANES; l++) {
    Four p;
    memcpy (&p, points->x + (i + l) * points->stride, sizeof p);
    sums[l] += p;
  }
}

/* As add_points(), of a multiple of LANES points whose x, y and z are floats in this order, with
 * four bytes more that can be read. FALSE, and nothing is added, where one is not finite. */
INLINE gboolean
add_finite (
    const NdtCloudView *points, const NdtTimeView *times, gsize begin, gsize end, Lanes *lanes)
{
  Two first[LANES / 2], last[LANES / 2], sum[LANES / 2];
  Four sums[LANES] = {{0}};
  memcpy (first, lanes->first, sizeof first);
  memcpy (last, lanes->last, sizeof last);
  memcpy (sum, lanes->sum, sizeof sum);
  for (gsize i = begin; i < end; i += LANES) {
    add_coordinates (points, i, sums);
    for (gsize k = 0; k < LANES / 2; k++) {
      const Two time = {
          ndt_time_view_get (times, i + 2 * k), ndt_time_view_get (times, i + 2 * k + 1)};
      first[k] = choose (time < first[k], time, first[k]);
      last[k] = choose (time > last[k], time, last[k]);
      sum[k] += time;
    }
  }
  if (!are_finite (sums, sum))
    return FALSE;
  memcpy (lanes->first, first, sizeof first);
  memcpy (lanes->last, last, sizeof last);
  memcpy (lanes->sum, sum, sizeof sum);
  lanes->n += end - begin;
  return TRUE;
}

/* As add_finite(), of times that are floats: all of LANES points are compared at once. */
INLINE gboolean
add_finite_f32 (
    const NdtCloudView *points, const NdtTimeView *times, gsize begin, gsize end, Lanes *lanes)
{
  Two sum[LANES / 2];
  Four sums[LANES] = {{0}}, first, last;
  G_STATIC_ASSERT (LANES == 4);
  first = last = (Four){get_f32 (times, begin), get_f32 (times, begin + 1),
      get_f32 (times, begin + 2), get_f32 (times, begin + 3)};
  memcpy (sum, lanes->sum, sizeof sum);
  for (gsize i = begin; i < end; i += LANES) {
    const Four time = {
        get_f32 (times, i), get_f32 (times, i + 1), get_f32 (times, i + 2), get_f32 (times, i + 3)};
    add_coordinates (points, i, sums);
    first = choose_four (time < first, time, first);
    last = choose_four (time > last, time, last);
    sum[0] += (Two){(double)time[0], (double)time[1]};
    sum[1] += (Two){(double)time[2], (double)time[3]};
  }
  if (!are_finite (sums, sum))
    return FALSE;
  for (guint l = 0; l < LANES; l++) {
    lanes->first[l] = MIN ((double)first[l], lanes->first[l]);
    lanes->last[l] = MAX ((double)last[l], lanes->last[l]);
  }
  memcpy (lanes->sum, sum, sizeof sum);
  lanes->n += end - begin;
  return TRUE;
}

/* The records of the points a while after @i, where there are any. */
INLINE void
prefetch (const NdtCloudView *points, gsize i)
{
  if (i + AHEAD + AT_ONCE > points->n_points)
    return;
  const guint8 *record = points->x + (i + AHEAD) * points->stride;
  for (gsize at = 0; at < AT_ONCE * points->stride; at += 64)
    __builtin_prefetch (record + at);
}

/* Inlined where @scalar and @type are constants, so that no point asks for them. */
INLINE void
reduce (
    const Job *job, gsize begin, gsize end, NdtScalar scalar, NdtTimeType type, NdtTimeSpan *part)
{
  NdtCloudView points = *job->points;
  NdtTimeView times = *job->times;
  const gboolean is_packed = scalar == NDT_SCALAR_F32 && points.y == points.x + 4 &&
                             points.z == points.x + 8 && points.stride >= sizeof (Four);
  Lanes lanes = {.n = 0};

  points.scalar = scalar;
  times.type = type;
  for (guint l = 0; l < LANES; l++) {
    lanes.first[l] = INFINITY;
    lanes.last[l] = -INFINITY;
  }
  for (gsize i = begin; i < end; i += AT_ONCE) {
    const gsize to = MIN (i + AT_ONCE, end);
    /* Behind the last point nothing can be read. */
    const gboolean is_whole = to - i == AT_ONCE && to < points.n_points;
    gboolean is_added = is_packed && is_whole;
    if (is_added)
      prefetch (&points, i);
    if (is_added)
      is_added = type == NDT_TIME_F32 ? add_finite_f32 (&points, &times, i, to, &lanes)
                                      : add_finite (&points, &times, i, to, &lanes);
    if (!is_added)
      add_points (&points, &times, i, to, &lanes);
  }
  *part = (NdtTimeSpan){lanes.n, INFINITY, -INFINITY, 0};
  for (guint l = 0; l < LANES; l++) {
    part->first = MIN (part->first, lanes.first[l]);
    part->last = MAX (part->last, lanes.last[l]);
    part->mean += lanes.sum[l];
  }
}

static void
reduce_block (Job *job, guint block)
{
  const gsize begin = block * job->block;
  const gsize end = MIN (begin + job->block, job->points->n_points);
  NdtTimeSpan *part = &job->parts[block];

  if (job->points->scalar != NDT_SCALAR_F32)
    reduce (job, begin, end, NDT_SCALAR_F64, job->times->type, part);
  else if (job->times->type == NDT_TIME_F32)
    reduce (job, begin, end, NDT_SCALAR_F32, NDT_TIME_F32, part);
  else if (job->times->type == NDT_TIME_F64)
    reduce (job, begin, end, NDT_SCALAR_F32, NDT_TIME_F64, part);
  else
    reduce (job, begin, end, NDT_SCALAR_F32, NDT_TIME_U32, part);
}

static void
run_task (guint task, gpointer data)
{
  Job *job = (Job *)data;
  const guint begin = task * BLOCKS_OF_TASK, end = MIN (begin + BLOCKS_OF_TASK, job->n_blocks);
  for (guint i = begin; i < end; i++)
    reduce_block (job, i);
}

NdtTimeSpan
ndt_time_span (const NdtCloudView *points, const NdtTimeView *times, NdtWorkers *workers)
{
  const gsize n = points->n_points;
  const gsize block = MAX ((gsize)MIN_BLOCK, (n + MAX_BLOCKS - 1) / MAX_BLOCKS);
  const guint n_blocks = (guint)((n + block - 1) / block);
  const guint n_tasks = (n_blocks + BLOCKS_OF_TASK - 1) / BLOCKS_OF_TASK;
  Job job = {.points = points, .times = times, .block = block, .n_blocks = n_blocks};
  NdtTimeSpan span = {0, INFINITY, -INFINITY, 0};

  if (workers && n_tasks > 1) {
    ndt_workers_run (workers, n_tasks, run_task, &job);
  } else {
    for (guint i = 0; i < n_blocks; i++)
      reduce_block (&job, i);
  }
  for (guint i = 0; i < n_blocks; i++) {
    span.first = MIN (span.first, job.parts[i].first);
    span.last = MAX (span.last, job.parts[i].last);
    span.mean += job.parts[i].mean;
    span.n_points += job.parts[i].n_points;
  }
  span.mean /= (double)MAX (span.n_points, 1);
  return span;
}
