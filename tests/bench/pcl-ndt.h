/* SPDX-License-Identifier: MIT */
/* C interface of PCL's NDT and of its VoxelGrid. One thread. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct PclNdt PclNdt;

/* Builds the voxels of @n packed points. Parameters are PCL's: @epsilon is compared with a squared
 * length. NULL where there is no valid voxel. */
PclNdt *pcl_ndt_new (const float *xyz, size_t n, double resolution, double step, double epsilon,
    int max_iterations, double outlier_ratio);
void pcl_ndt_free (PclNdt *ndt);
void pcl_ndt_set_scan (PclNdt *ndt, const float *xyz, size_t n);
/* Row-major 4×4 matrices. Returns the iterations. */
int pcl_ndt_align (PclNdt *ndt, const double guess[16], double result[16]);
/* Score with gradient and Hessian at a pose, the transformation of the scan included. Returns the
 * score; only after pcl_ndt_align(). */
double pcl_ndt_evaluate (PclNdt *ndt, const double pose[16]);
/* Pairs of points and voxels at a pose. */
size_t pcl_ndt_count_pairs (PclNdt *ndt, const double pose[16]);

typedef struct PclThin PclThin;

/* Copies @n packed points into a cloud of PCL's, which is not part of what is timed. */
PclThin *pcl_thin_new (const float *xyz, size_t n, float leaf_size);
/* pcl::VoxelGrid::filter(). Returns the number of leaves. */
size_t pcl_thin_run (PclThin *thin);
void pcl_thin_free (PclThin *thin);

const char *pcl_ndt_version (void);

#ifdef __cplusplus
}
#endif
