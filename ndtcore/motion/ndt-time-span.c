/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "ndt-deskew.h"

/* Sums that do not wait for one another: a sum of doubles takes four cycles. */
#define LANES 4

/* Points of a task, and most tasks: neither depends on the number of threads, so that the mean does
 * not. */
#define MIN_BLOCK 8192
#define MAX_BLOCKS 64

typedef struct {
  const NdtCloudView *points;
  const NdtTimeView *times;
  gsize block;
  NdtTimeSpan parts[MAX_BLOCKS]; /* mean is the sum */
} Job;

/* Inlined where @scalar and @type are constants, so that no point asks for them. */
static inline __attribute__ ((always_inline)) void
reduce (
    const Job *job, gsize begin, gsize end, NdtScalar scalar, NdtTimeType type, NdtTimeSpan *part)
{
  double first[LANES], last[LANES], sum[LANES];
  gsize n[LANES];
  NdtCloudView points = *job->points;
  NdtTimeView times = *job->times;

  points.scalar = scalar;
  times.type = type;
  for (guint l = 0; l < LANES; l++) {
    first[l] = INFINITY;
    last[l] = -INFINITY;
    sum[l] = 0;
    n[l] = 0;
  }
  for (gsize i = begin; i < end; i += LANES) {
    const gsize n_lanes = MIN (end - i, LANES);
    for (gsize l = 0; l < n_lanes; l++) {
      const double time = ndt_time_view_get (&times, i + l);
      double p[3];
      ndt_cloud_view_get (&points, i + l, p);
      /* A difference of what is not finite with itself is NAN. */
      const gboolean use = (time - time) + (p[0] - p[0]) + (p[1] - p[1]) + (p[2] - p[2]) == 0;
      const double low = use ? time : INFINITY, high = use ? time : -INFINITY;
      first[l] = low < first[l] ? low : first[l];
      last[l] = high > last[l] ? high : last[l];
      sum[l] += use ? time : 0;
      n[l] += (gsize)use;
    }
  }
  *part = (NdtTimeSpan){0, INFINITY, -INFINITY, 0};
  for (guint l = 0; l < LANES; l++) {
    part->first = MIN (part->first, first[l]);
    part->last = MAX (part->last, last[l]);
    part->mean += sum[l];
    part->n_points += n[l];
  }
}

static void
reduce_block (guint task, gpointer data)
{
  Job *job = (Job *)data;
  const gsize begin = task * job->block;
  const gsize end = MIN (begin + job->block, job->points->n_points);
  NdtTimeSpan *part = &job->parts[task];

  if (job->points->scalar != NDT_SCALAR_F32)
    reduce (job, begin, end, NDT_SCALAR_F64, job->times->type, part);
  else if (job->times->type == NDT_TIME_F32)
    reduce (job, begin, end, NDT_SCALAR_F32, NDT_TIME_F32, part);
  else if (job->times->type == NDT_TIME_F64)
    reduce (job, begin, end, NDT_SCALAR_F32, NDT_TIME_F64, part);
  else
    reduce (job, begin, end, NDT_SCALAR_F32, NDT_TIME_U32, part);
}

NdtTimeSpan
ndt_time_span (const NdtCloudView *points, const NdtTimeView *times, NdtWorkers *workers)
{
  const gsize n = points->n_points;
  const gsize block = MAX ((gsize)MIN_BLOCK, (n + MAX_BLOCKS - 1) / MAX_BLOCKS);
  const guint n_blocks = (guint)((n + block - 1) / block);
  Job job = {.points = points, .times = times, .block = block};
  NdtTimeSpan span = {0, INFINITY, -INFINITY, 0};

  if (workers && n_blocks > 1) {
    ndt_workers_run (workers, n_blocks, reduce_block, &job);
  } else {
    for (guint i = 0; i < n_blocks; i++)
      reduce_block (i, &job);
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
