/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

#include "ndtcore/base/ndt-instructions.h"
#include "ndtcore/scan/ndt-cloud.h"
#include "ndtcore/math/ndt-types.h"

G_BEGIN_DECLS

#define NDT_MAX_LEVELS 3

/**
 * NdtCovarianceEstimate:
 * @NDT_COVARIANCE_UNBIASED: Σ(x−μ)(x−μ)ᵀ/(n−1)
 * @NDT_COVARIANCE_AUTOWARE: the same with I/(n−1) added (m²), as Autoware's sums start from the
 *   identity
 * @NDT_COVARIANCE_NDT_OMP: ((I + Σxxᵀ − 2nμμᵀ)/n + μμᵀ)(n−1)/n, as ndt_omp computes it
 *
 * The last two are for comparisons with those programs. Their identity matrix is in m².
 */
typedef enum {
  NDT_COVARIANCE_UNBIASED,
  NDT_COVARIANCE_AUTOWARE,
  NDT_COVARIANCE_NDT_OMP,
} NdtCovarianceEstimate;

/**
 * NdtVoxelMapParams:
 * @resolution: edge of a cell in metres, 0.01 to 1000
 * @min_points: fewest points of a voxel, at least 3
 * @eigenvalue_ratio: smaller eigenvalues are lifted to this fraction of the largest, 1e-6 to 1:
 * below this ratio, inverses in float and sums of their products lose their digits
 * @covariance: the estimate
 * @n_levels: 1 to %NDT_MAX_LEVELS; level l has cells of resolution · 2^l, made from the sums of the
 *   finest level's cells
 * @keep_details: keep counts and double-precision means and covariances of the finest level
 *   (%NdtVoxelDetail), for inspection and for the reference objective
 */
typedef struct {
  double resolution;
  guint min_points;
  double eigenvalue_ratio;
  NdtCovarianceEstimate covariance;
  guint n_levels;
  gboolean keep_details;
} NdtVoxelMapParams;

#define NDT_VOXEL_MAP_PARAMS_DEFAULT                                                               \
  {                                                                                                \
    2.0, 6, 0.01, NDT_COVARIANCE_UNBIASED, 3, FALSE                                                \
  }

/* Beside NdtVoxel, in the same order, where details are kept. mean is from the cell's corner;
 * covariance after lifting, and its inverse: xx, xy, xz, yy, yz, zz. */
typedef struct {
  guint32 n_points;
  double mean[3];
  double cov[6];
  double icov[6];
} NdtVoxelDetail;

/**
 * NdtVoxelLevel:
 * @resolution: edge of this level's cells in metres
 * @origin: absolute index of the origin cell: cell (i, j, k) of @voxels spans [(origin + i) r,
 *   (origin + i + 1) r) and so on; multiples of 4
 * @n_points: points in its voxels; 0 where it is not known, as of voxels made by a device
 * @n_voxels: number of @voxels, ordered by block key and bit
 * @block_shift: 64 − log2 of the number of @blocks
 * @blocks: the hash table
 * @cell_min: smallest voxel index of each axis, relative to @origin
 * @cell_max: largest, inclusive
 */
typedef struct {
  double resolution;
  gint64 origin[3];
  guint64 n_points;
  guint32 n_voxels;
  guint32 n_blocks_used;
  int block_shift;
  const NdtVoxel *voxels;
  const NdtBlock *blocks;
  const NdtVoxelDetail *details; /* NULL unless kept; finest level only */
  gint32 cell_min[3];
  gint32 cell_max[3];
} NdtVoxelLevel;

/**
 * NdtVoxelMap:
 *
 * An immutable, reference-counted map; safe to share between threads.
 */
typedef struct _NdtVoxelMap NdtVoxelMap;
typedef struct _NdtVoxelMapBuilder NdtVoxelMapBuilder;

NdtVoxelMap *ndt_voxel_map_ref (NdtVoxelMap *map);
void ndt_voxel_map_unref (NdtVoxelMap *map);
/**
 * ndt_voxel_map_share:
 * @map: (transfer full): that nobody else has
 *
 * Several streams of a process that read the same map have it in memory once, with what is made of
 * it. A pass over the finest level, and one over both maps where there is another one. Any thread.
 *
 * Returns: (transfer full): the map of an earlier call that is the same to the bit, while that
 *   exists, or @map
 */
NdtVoxelMap *ndt_voxel_map_share (NdtVoxelMap *map);

typedef gpointer (*NdtVoxelMapMake) (const NdtVoxelMap *map, GError **error);
/* What @make makes of a map: by the first call, for which others wait; it is the map's and freed
 * with it by @release. All calls have the same @make, or NULL: then nothing is made, and @release
 * is not used. NULL with its error, and the next call makes it. Any thread. */
gpointer ndt_voxel_map_get_made (
    NdtVoxelMap *map, NdtVoxelMapMake make, GDestroyNotify release, GError **error);
const NdtVoxelMapParams *ndt_voxel_map_get_params (const NdtVoxelMap *map);
guint ndt_voxel_map_get_n_levels (const NdtVoxelMap *map);
/* level 0 is the finest; NULL where there is none. */
const NdtVoxelLevel *ndt_voxel_map_get_level (const NdtVoxelMap *map, guint level);
/* Fraction of the map's points that lie in voxels of a level; 1 where it is not known. */
double ndt_voxel_map_get_share (const NdtVoxelMap *map, guint level);
/* The level by which scans are compared with the map: the finest that is not sparse, that is, whose
 * voxels have NDT_LEAST_SHARE of the map's points, and otherwise the one with the greatest share:
 * in a sparse level it depends on how surfaces lie in the cells which points of a scan have a
 * voxel. */
#define NDT_LEAST_SHARE 0.8
guint ndt_voxel_map_get_fit_level (const NdtVoxelMap *map);
/* Index of the voxel of a cell relative to the level's origin, or -1. */
gint64 ndt_voxel_level_find (const NdtVoxelLevel *level, gint32 x, gint32 y, gint32 z);
/* For ndt_map_rays(): a word for each slot of the finest level's blocks, to be read and written
 * atomically, 0 until a ray comes to the block. */
guint64 *ndt_voxel_map_get_steep (const NdtVoxelMap *map);
/* For ndt_faces_are_in(): what it has found, to be read and written atomically, 0 before. */
gint *ndt_voxel_map_get_faces (NdtVoxelMap *map);
/* For ndt_map_rays(): ndt_instructions_choose() when the map was made. */
NdtInstructions ndt_voxel_map_get_instructions (const NdtVoxelMap *map);
/* Finite points that the map was made from. */
guint64 ndt_voxel_map_get_n_points (const NdtVoxelMap *map);
/* Bounds of those points in metres, map frame. */
void ndt_voxel_map_get_bounds (const NdtVoxelMap *map, double min[3], double max[3]);
/* Bytes of the voxels and hash tables of all levels, without details. */
gsize ndt_voxel_map_get_bytes (const NdtVoxelMap *map);
gsize ndt_voxel_map_get_detail_bytes (const NdtVoxelMap *map);
/* Of the finest level's voxels, at the speed of memory: whether two maps are the same. */
guint64 ndt_voxel_map_hash (const NdtVoxelMap *map);

/* The map of a single cloud. (transfer full). Errors: those of the builder. */
NdtVoxelMap *ndt_voxel_map_new (
    const NdtVoxelMapParams *params, const NdtCloudView *points, GError **error);
/* From voxels that a device has computed: takes ownership of the arrays of each level (g_free),
 * blocks included. */
NdtVoxelMap *ndt_voxel_map_new_from_levels (const NdtVoxelMapParams *params, guint n_levels,
    NdtVoxelLevel *levels, guint64 n_points, const double min[3], const double max[3]);

/* From arrays of another owner; @release (@owner) is called when the map is not needed any more. */
NdtVoxelMap *ndt_voxel_map_new_static (const NdtVoxelMapParams *params, guint n_levels,
    const NdtVoxelLevel *levels, guint64 n_points, const double min[3], const double max[3],
    GDestroyNotify release, gpointer owner);
/* FALSE with NDT_ERROR_INVALID_ARGUMENT that says which member is out of range. */
gboolean ndt_voxel_map_params_check (const NdtVoxelMapParams *params, GError **error);

/**
 * ndt_voxel_map_builder_new:
 *
 * A builder has each region's sums per cell. Regions (tiles of a map, for instance) can be added
 * and removed; the map depends, to the bit, on the regions that are present alone.
 *
 * Returns: (transfer full): NULL with %NDT_ERROR_INVALID_ARGUMENT if @params are out of range
 */
NdtVoxelMapBuilder *ndt_voxel_map_builder_new (const NdtVoxelMapParams *params, GError **error);
void ndt_voxel_map_builder_free (NdtVoxelMapBuilder *builder);
/* Lets each build begin with the voxels of the one before, so that it computes those of new regions
 * and of cells that lie in changed ones, for maps of which parts come and go. Takes about as much
 * memory again as the sums; the maps are the same, to the bit. No effect with keep_details. */
void ndt_voxel_map_builder_keep_voxels (NdtVoxelMapBuilder *builder);
/* Adds points to a region, which is made where there is none; @pose (nullable) transforms them into
 * the map. Non-finite points are dropped. FALSE with NDT_ERROR_INVALID_ARGUMENT where a point is
 * about 2^20 cells or more from the builder's first point, with NDT_ERROR_NO_MEMORY where there is
 * not the memory for one more cell; the points before it are in the region then. */
gboolean ndt_voxel_map_builder_add (NdtVoxelMapBuilder *builder, guint64 region,
    const NdtCloudView *points, const NdtPose *pose, GError **error);
/* FALSE where there is no such region. */
gboolean ndt_voxel_map_builder_remove (NdtVoxelMapBuilder *builder, guint64 region);
/* Bytes of the regions' sums. */
gsize ndt_voxel_map_builder_get_bytes (const NdtVoxelMapBuilder *builder);
/* The map of all regions, which are kept. (transfer full). NULL with NDT_ERROR_EMPTY_MAP without
 * one valid voxel, with NDT_ERROR_NO_MEMORY where it does not fit. */
NdtVoxelMap *ndt_voxel_map_builder_build (NdtVoxelMapBuilder *builder, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtVoxelMap, ndt_voxel_map_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtVoxelMapBuilder, ndt_voxel_map_builder_free)

G_END_DECLS
