/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndt-cloud.h"
#include "ndtcore/base/ndt-error.h"

G_BEGIN_DECLS

/* Rings that can be told apart, numbers from 0. */
#define NDT_CLOUD_FILTER_RINGS 65536

/* Why a point does not stay, in the order in which it is asked. */
typedef enum {
  NDT_CLOUD_FILTER_NOT_FINITE, /* a coordinate is none */
  NDT_CLOUD_FILTER_RANGE,
  NDT_CLOUD_FILTER_BOX,
  NDT_CLOUD_FILTER_INTENSITY,
  NDT_CLOUD_FILTER_RING,
  NDT_CLOUD_FILTER_NTH,
  NDT_CLOUD_FILTER_RANDOM,
  NDT_CLOUD_FILTER_LEAF, /* another point stands for its leaf, or the leaf is 2^20 leaves away */
  NDT_CLOUD_FILTER_N_REASONS,
} NdtCloudFilterReason;

/**
 * NdtCloudFilterRules:
 * @min_range: distance from the origin, metres; 0: any
 * @max_range: 0: any
 * @include: @n_include boxes, six doubles each: smallest x, y, z and largest; a point stays that is
 *   in one of them, faces included. None: it may be anywhere
 * @exclude: @n_exclude boxes that it may not be in
 * @intensities: of each point, nullable: any
 * @min_intensity, @max_intensity: of those that stay
 * @rings: of each point, nullable: any
 * @ring_bits: NDT_CLOUD_FILTER_RINGS bits, 1: such points stay
 * @nth: of those left the first stays, and each n-th after it; 0 and 1: all
 * @fraction: that stays, at random, 0 to 1
 * @seed: the same seed and points give the same choice
 * @leaf: edge of the cubes of which one point stays, metres; 0: all
 * @with_centroids: ndt_cloud_filter_get_centroid() will be asked for
 *
 * Which points stay, all rules in one pass. Leaves are those of ndt-scan-filter.h; of doubles they
 * are counted from the leaf of the first point on.
 */
typedef struct {
  double min_range, max_range;
  const double *include;
  guint n_include;
  const double *exclude;
  guint n_exclude;
  const double *intensities;
  double min_intensity, max_intensity;
  const double *rings;
  const guint32 *ring_bits;
  guint nth;
  double fraction;
  guint64 seed;
  double leaf;
  gboolean with_centroids;
} NdtCloudFilterRules;

/**
 * NdtCloudFilter:
 *
 * Filters clouds one after another; holds memory of a cloud's size that is reused. Not thread-safe.
 */
typedef struct _NdtCloudFilter NdtCloudFilter;

NdtCloudFilter *ndt_cloud_filter_new (void);
void ndt_cloud_filter_free (NdtCloudFilter *filter);

/* Which of @points stay: their indices, rising, in memory of the filter until its next call.
 * @n_removed: added to by reason. FALSE with NDT_ERROR_NO_MEMORY, or with
 * NDT_ERROR_INVALID_ARGUMENT for more than 2^31 points. */
gboolean ndt_cloud_filter_run (NdtCloudFilter *filter, const NdtCloudFilterRules *rules,
    const NdtCloudView *points, const guint32 **indices, gsize *n,
    guint64 n_removed[NDT_CLOUD_FILTER_N_REASONS], GError **error);
/* After a run with @leaf and @with_centroids: that of the leaf of the @i-th point that stayed. */
void ndt_cloud_filter_get_centroid (const NdtCloudFilter *filter, gsize i, double centroid[3]);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtCloudFilter, ndt_cloud_filter_free)

G_END_DECLS
