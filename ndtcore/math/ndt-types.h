/* SPDX-License-Identifier: MIT */
/* Plain structures shared by the C code and the kernels. No GLib: nvcc compiles this header. */
#pragma once

#include <stdint.h>

#if defined(__CUDACC__)
#define NDT_INLINE static __host__ __device__ __forceinline__
/* For code that is rarely run: inlined, it would increase the register count of its callers. */
#define NDT_NOINLINE static __host__ __device__ __noinline__
/* For loops over small arrays: the device keeps these in registers only where every index is a
 * constant. */
#define NDT_UNROLL _Pragma ("unroll")
#else
#define NDT_INLINE static inline __attribute__ ((always_inline))
#define NDT_NOINLINE static __attribute__ ((noinline, unused))
#define NDT_UNROLL
#endif

/**
 * NdtPose:
 * @position: x, y, z in metres, in the parent frame
 * @orientation: unit quaternion x, y, z, w
 *
 * A rigid transform: p_parent = R(orientation) p_child + position. Always double: in UTM
 * coordinates a float has steps of centimetres.
 */
typedef struct {
  double position[3];
  double orientation[4];
} NdtPose;

/**
 * NdtVoxel:
 * @mean: mean of the cell's points in metres, from the cell's own corner
 * @icov: inverse covariance in 1/m²: xx, xy, xz, yy, yz, zz
 * @cell: cell index less the level's origin cell
 *
 * The part of a voxel that alignment reads: 48 bytes, three 16-byte loads.
 */
typedef struct {
  float mean[3];
  float icov[6];
  int32_t cell[3];
} NdtVoxel;

/**
 * NdtBlock:
 * @key: ndt_block_key() of the block's coordinates, or %NDT_BLOCK_EMPTY
 * @mask: bit x + 4 y + 16 z is set where the cell (x, y, z) of the block has a voxel
 * @first: index of the voxel of the lowest set bit; the others follow in the order of bits
 * @reserved: zero
 *
 * A slot of a level's hash table: 4×4×4 cells. Two 16-byte loads.
 */
typedef struct {
  uint64_t key;
  uint64_t mask;
  uint32_t first;
  uint32_t reserved[3];
} NdtBlock;

#define NDT_BLOCK_EMPTY UINT64_MAX

/* Coordinates of blocks, or of cells, each within ±2^20. */
#define NDT_KEY_LIMIT 1048576

NDT_INLINE uint64_t
ndt_block_key (int32_t x, int32_t y, int32_t z)
{
  return (uint64_t)(uint32_t)(x + NDT_KEY_LIMIT) | (uint64_t)(uint32_t)(y + NDT_KEY_LIMIT) << 21 |
         (uint64_t)(uint32_t)(z + NDT_KEY_LIMIT) << 42;
}

/* Slot where the search for @key starts in a table of 2^(64 - @shift) slots; linear
 * probing follows. */
NDT_INLINE uint32_t
ndt_block_hash (uint64_t key, int shift)
{
  return (uint32_t)((key * UINT64_C (0x9e3779b97f4a7c15)) >> shift);
}

/* Bit of a cell within its block; cell coordinates relative to the level's origin. */
NDT_INLINE int
ndt_block_bit (int32_t x, int32_t y, int32_t z)
{
  return (x & 3) | (y & 3) << 2 | (z & 3) << 4;
}

/* Index of the voxel of a cell (relative to the level's origin), or -1. */
NDT_INLINE int64_t
ndt_level_find (const NdtBlock *blocks, int shift, int32_t x, int32_t y, int32_t z)
{
  const int32_t bx = x >> 2, by = y >> 2, bz = z >> 2;
  if (bx < -NDT_KEY_LIMIT || bx >= NDT_KEY_LIMIT || by < -NDT_KEY_LIMIT || by >= NDT_KEY_LIMIT ||
      bz < -NDT_KEY_LIMIT || bz >= NDT_KEY_LIMIT)
    return -1;
  const uint64_t key = ndt_block_key (bx, by, bz);
  const uint32_t slots = (uint32_t)1 << (64 - shift);
  uint32_t i = ndt_block_hash (key, shift);
  while (blocks[i].key != key) {
    if (blocks[i].key == NDT_BLOCK_EMPTY)
      return -1;
    i = (i + 1) & (slots - 1);
  }
  const uint64_t bit = (uint64_t)1 << ndt_block_bit (x, y, z);
  if (!(blocks[i].mask & bit))
    return -1;
#if defined(__CUDA_ARCH__)
  return blocks[i].first + __popcll (blocks[i].mask & (bit - 1));
#else
  return blocks[i].first + __builtin_popcountll (blocks[i].mask & (bit - 1));
#endif
}

typedef enum {
  NDT_NEIGHBOURS_RADIUS,  /* voxels whose mean is nearer than the resolution */
  NDT_NEIGHBOURS_DIRECT7, /* the point's own cell and the six that share a face */
  NDT_NEIGHBOURS_DIRECT1, /* the point's own cell */
  NDT_NEIGHBOURS_DIRECT27 /* the point's own cell and the 26 around it */
} NdtNeighbours;

/* What the sums over pairs are made of. */
typedef enum {
  NDT_KIND_SCORE,        /* Magnusson's score, its gradient and Hessian (ndt-formulas.h) */
  NDT_KIND_LEAST_SQUARES /* reweighted point to distribution; approach from far */
} NdtKind;

/* Index of (row, column), row <= column, in the packed upper triangle of a symmetric
 * 6×6 matrix. */
#define NDT_H6(row, col) ((row)*6 - (row) * ((row)-1) / 2 + (col) - (row))

/**
 * NdtSums:
 * @score: Σ −d1 e over all pairs (kind score), Σ w over all pairs (least squares)
 * @gradient: of the score by ndt_pose_retract()'s perturbation (δt, δω)
 * @hessian: packed upper triangle of the score's Hessian (kind score: second derivatives;
 *   least squares: −Σ w JᵀBJ), see %NDT_H6
 * @nvtl: Σ over points with a pair of their best term
 * @n_matched: points with at least one pair
 * @n_pairs: pairs
 *
 * The objective at one pose.
 */
typedef struct {
  double score;
  double gradient[6];
  double hessian[21];
  double nvtl;
  uint64_t n_matched;
  uint64_t n_pairs;
} NdtSums;

/**
 * NdtPoseFactor:
 * @is_set: whether there is a factor; 0: the other members are not read
 * @mean: the pose in the map that the pose is attracted to
 * @information: 6×6, symmetric and positive semidefinite, packed as a Hessian (%NDT_H6): of the
 * position along the map's axes, 1/m², and of the rotation about these through the pose, 1/rad²
 *
 * A penalty ½ rᵀ @information r on the score of a pose, with r its distance from @mean: metres, and
 * twice the vector part of the quaternion from @mean to it, which is the angle in rad where that is
 * small. docs/mathematics.md, "Pose factors".
 */
typedef struct {
  uint32_t is_set;
  NdtPose mean;
  double information[21];
} NdtPoseFactor;

/**
 * NdtExtraValues:
 * @weight: of the terms' costs beside the score; 0: there are none, and the rest is not read
 * @has: bit i: @poses[i] is given
 * @body: the body in the sensor's frame
 * @poses: in the map, of the body: its prior, where odometry leads, where the drive began
 *
 * What the extra terms of an alignment (NdtAlignParams.terms) read.
 */
typedef struct {
  double weight;
  uint32_t has;
  uint32_t reserved;
  NdtPose body;
  NdtPose poses[3];
} NdtExtraValues;

/**
 * NdtRegularization:
 * @target: x, y in the map, metres, that the pose is attracted to …
 * @direction: … along this horizontal unit vector
 * @scale: of the penalty, per pair and m²; 0: there is none
 * @factor: a second penalty, with a weight of its own
 * @extra: a third one, by the terms of the alignment's parameters
 *
 * A penalty w e² on the score of a pose at p, with e = @direction · (@target − p) and w = @scale ×
 * number of pairs: docs/mathematics.md, "Regularization".
 */
typedef struct {
  double target[2];
  double direction[2];
  double scale;
  NdtPoseFactor factor;
  NdtExtraValues extra;
} NdtRegularization;

/**
 * NdtStart:
 * @guess: pose of the sensor in the map to start from
 * @approach: least-squares stages before the score is maximized: 0 none, 1 over cells of the map's
 *   resolution r, 2 over 2r then r, 3 over 4r, 2r, r. Stages over levels that the map does not have
 *   are left out.
 * @regularization: penalty of the pose beside the scan
 */
typedef struct {
  NdtPose guess;
  uint32_t approach;
  NdtRegularization regularization;
} NdtStart;

/* How the score is maximized (ndt-optimizer.h). */
typedef enum {
  NDT_METHOD_NEWTON, /* Newton's method with backtracking */
  NDT_METHOD_LM,     /* Levenberg–Marquardt: a trust region with the score's Hessian */
  NDT_METHOD_LBFGS   /* L-BFGS: values and gradients only */
} NdtMethod;

typedef enum {
  NDT_STOP_CONVERGED,       /* the step fell below both epsilons */
  NDT_STOP_ITERATION_LIMIT, /* it did not within max_iterations */
  NDT_STOP_NO_PAIRS,        /* no point has a voxel: pose is the guess */
  NDT_STOP_NOT_FINITE       /* a sum or a step was not finite: pose is the last finite one */
} NdtStop;
