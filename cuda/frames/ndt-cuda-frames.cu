/* SPDX-License-Identifier: MIT */
/* Kernels of frame trees. Every result has the operations of ndt-frames.c in their order, and the
 * file is compiled without contraction: trees of few levels and points agree with a CPU that fuses
 * multiplication and addition to the bit. */
#include <cuda_runtime.h>

#include "ndt-cuda-frames.h"
#include "ndtcore/math/ndt-formulas.h"

#define BLOCK 256
#define NONE NDT_CUDA_FRAME_NONE

__device__ __forceinline__ NdtCudaPose
load (const NdtCudaPose *from)
{
  const double2 *v = (const double2 *)from;
  const double2 a = v[0], b = v[1], c = v[2], d = v[3];
  return {{a.x, a.y, b.x}, 0, {c.x, c.y, d.x, d.y}};
}

__device__ __forceinline__ void
store (NdtCudaPose *to, const NdtCudaPose &pose)
{
  double2 *v = (double2 *)to;
  v[0] = make_double2 (pose.position[0], pose.position[1]);
  v[1] = make_double2 (pose.position[2], 0);
  v[2] = make_double2 (pose.orientation[0], pose.orientation[1]);
  v[3] = make_double2 (pose.orientation[2], pose.orientation[3]);
}

/* a ∘ b, as propagate_level() of ndt-frames.c has it. */
__device__ __forceinline__ NdtCudaPose
compose (const NdtCudaPose &a, const NdtCudaPose &b)
{
  NdtCudaPose out;
  const double ax = a.orientation[0], ay = a.orientation[1], az = a.orientation[2],
               aw = a.orientation[3];
  const double bx = b.orientation[0], by = b.orientation[1], bz = b.orientation[2],
               bw = b.orientation[3];
  const double vx = b.position[0], vy = b.position[1], vz = b.position[2];
  const double tx = 2 * (ay * vz - az * vy), ty = 2 * (az * vx - ax * vz),
               tz = 2 * (ax * vy - ay * vx);
  out.position[0] = a.position[0] + vx + aw * tx + ay * tz - az * ty;
  out.position[1] = a.position[1] + vy + aw * ty + az * tx - ax * tz;
  out.position[2] = a.position[2] + vz + aw * tz + ax * ty - ay * tx;
  const double x = aw * bx + ax * bw + ay * bz - az * by;
  const double y = aw * by - ax * bz + ay * bw + az * bx;
  const double z = aw * bz + ax * by - ay * bx + az * bw;
  const double c = aw * bw - ax * bx - ay * by - az * bz;
  const double k = 1 / sqrt (x * x + y * y + z * z + c * c);
  out.unused = 0;
  out.orientation[0] = x * k;
  out.orientation[1] = y * k;
  out.orientation[2] = z * k;
  out.orientation[3] = c * k;
  return out;
}

/* ---- Poses in the world ---- */

/* Frames whose parents are done. */
__global__ void
propagate_level (const uint32_t *frames, uint32_t n, const uint32_t *parents,
    const NdtCudaPose *local, NdtCudaPose *world)
{
  const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n)
    return;
  const uint32_t frame = frames[i], parent = parents[frame];
  const NdtCudaPose pose = load (local + frame);
  store (world + frame, parent == NONE ? pose : compose (load (world + parent), pose));
}

/* One round of doubling: from poses in an ancestor to poses in that ancestor's ancestor, twice as
 * far up. */
__global__ void
double_way (uint32_t n, const uint32_t *ancestors, const NdtCudaPose *poses,
    uint32_t *next_ancestors, NdtCudaPose *next_poses)
{
  const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n)
    return;
  const uint32_t ancestor = ancestors[i];
  const NdtCudaPose pose = load (poses + i);
  if (ancestor == NONE) {
    store (next_poses + i, pose);
    next_ancestors[i] = NONE;
  } else {
    store (next_poses + i, compose (load (poses + ancestor), pose));
    next_ancestors[i] = ancestors[ancestor];
  }
}

static uint32_t
blocks_for (size_t n)
{
  return (uint32_t)((n + BLOCK - 1) / BLOCK);
}

cudaError_t
ndt_cuda_frames_propagate (const NdtCudaFrameTree *tree, uint32_t *n_launches, cudaStream_t stream)
{
  if (tree->n_levels <= NDT_CUDA_FRAMES_BY_LEVEL) {
    uint32_t begin = 0;
    for (uint32_t l = 0; l < tree->n_levels; l++) {
      const uint32_t n = tree->level_ends[l] - begin;
      propagate_level<<<blocks_for (n), BLOCK, 0, stream>>> (
          tree->order + begin, n, tree->parents, tree->local, tree->world);
      begin += n;
      ++*n_launches;
    }
    return cudaGetLastError ();
  }

  uint32_t rounds = 0;
  while (((uint64_t)1 << rounds) < tree->n_levels)
    rounds++;
  const NdtCudaPose *poses = tree->local;
  const uint32_t *ancestors = tree->parents;
  for (uint32_t r = 0; r < rounds; r++) {
    /* The last round writes the poses in the world. */
    const bool last_parity = (rounds - 1 - r) % 2 == 0;
    NdtCudaPose *next_poses = last_parity ? tree->world : tree->other;
    uint32_t *next_ancestors = tree->jumps + (last_parity ? 0 : tree->n);
    double_way<<<blocks_for (tree->n), BLOCK, 0, stream>>> (
        tree->n, ancestors, poses, next_ancestors, next_poses);
    poses = next_poses;
    ancestors = next_ancestors;
    ++*n_launches;
  }
  return cudaGetLastError ();
}

/* ---- Matrices and points ---- */

/* As make_matrices() of ndt-frames.c has it. */
__global__ void
make_matrices (const NdtCudaPose *world, uint32_t n, uint32_t reference, NdtCudaMatrix *matrices)
{
  const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n)
    return;
  NdtPose to = {{0, 0, 0}, {0, 0, 0, 1}};
  if (reference != NONE) {
    const NdtCudaPose r = load (world + reference);
    for (int k = 0; k < 3; k++)
      to.position[k] = r.position[k];
    for (int k = 0; k < 4; k++)
      to.orientation[k] = r.orientation[k];
    to = ndt_pose_inverse (&to);
  }
  const NdtCudaPose pose = load (world + i);
  const double ax = to.orientation[0], ay = to.orientation[1], az = to.orientation[2],
               aw = to.orientation[3];
  const double px = pose.position[0], py = pose.position[1], pz = pose.position[2];
  double q[4];
  ndt_quat_multiply (to.orientation, pose.orientation, q);
  const double x = q[0], y = q[1], z = q[2], c = q[3];
  const double tx = 2 * (ay * pz - az * py), ty = 2 * (az * px - ax * pz),
               tz = 2 * (ax * py - ay * px);
  float4 *row = (float4 *)(matrices + i);
  row[0] = make_float4 ((float)(1 - 2 * (y * y + z * z)), (float)(2 * (x * y - c * z)),
      (float)(2 * (x * z + c * y)), (float)(to.position[0] + px + aw * tx + ay * tz - az * ty));
  row[1] = make_float4 ((float)(2 * (x * y + c * z)), (float)(1 - 2 * (x * x + z * z)),
      (float)(2 * (y * z - c * x)), (float)(to.position[1] + py + aw * ty + az * tx - ax * tz));
  row[2] = make_float4 ((float)(2 * (x * z - c * y)), (float)(2 * (y * z + c * x)),
      (float)(1 - 2 * (x * x + y * y)), (float)(to.position[2] + pz + aw * tz + ax * ty - ay * tx));
}

cudaError_t
ndt_cuda_frames_matrices (const NdtCudaPose *world, uint32_t n, uint32_t reference,
    NdtCudaMatrix *matrices, cudaStream_t stream)
{
  make_matrices<<<blocks_for (n), BLOCK, 0, stream>>> (world, n, reference, matrices);
  return cudaGetLastError ();
}

struct Rows {
  float4 x, y, z;
};

__device__ __forceinline__ Rows
load_rows (const NdtCudaMatrix *matrices, uint32_t frame)
{
  const float4 *row = (const float4 *)(matrices + frame);
  return {__ldg (row), __ldg (row + 1), __ldg (row + 2)};
}

__device__ __forceinline__ void
transform (const Rows &m, float *p)
{
  const float x = p[0], y = p[1], z = p[2];
  p[0] = fmaf (m.x.x, x, fmaf (m.x.y, y, fmaf (m.x.z, z, m.x.w)));
  p[1] = fmaf (m.y.x, x, fmaf (m.y.y, y, fmaf (m.y.z, z, m.y.w)));
  p[2] = fmaf (m.z.x, x, fmaf (m.z.y, y, fmaf (m.z.z, z, m.z.w)));
}

/* A warp takes 128 points, which are 96 × 16 bytes: memory is read and written in whole lines, and
 * distributed to the lanes, four points each, through shared memory. */
__global__ void
__launch_bounds__ (BLOCK) transform_points (const NdtCudaMatrix *matrices, const float *points,
    const uint32_t *frames, size_t n, float *out)
{
  __shared__ float4 tiles[BLOCK / 32][96];
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const size_t first = ((size_t)blockIdx.x * (BLOCK / 32) + warp) * 128;
  if (first + 128 <= n) {
    float4 *tile = tiles[warp];
    const float4 *from = (const float4 *)(points + 3 * first);
    float4 *to = (float4 *)(out + 3 * first);
    for (int k = 0; k < 3; k++)
      tile[lane + 32 * k] = __ldcs (from + lane + 32 * k);
    const uint4 frame = __ldcs ((const uint4 *)(frames + first) + lane);
    __syncwarp ();
    float p[12];
    for (int k = 0; k < 3; k++)
      *(float4 *)(p + 4 * k) = tile[3 * lane + k];
    Rows m = load_rows (matrices, frame.x);
    transform (m, p);
    if (frame.y != frame.x)
      m = load_rows (matrices, frame.y);
    transform (m, p + 3);
    if (frame.z != frame.y)
      m = load_rows (matrices, frame.z);
    transform (m, p + 6);
    if (frame.w != frame.z)
      m = load_rows (matrices, frame.w);
    transform (m, p + 9);
    for (int k = 0; k < 3; k++)
      tile[3 * lane + k] = *(float4 *)(p + 4 * k);
    __syncwarp ();
    for (int k = 0; k < 3; k++)
      __stcs (to + lane + 32 * k, tile[lane + 32 * k]);
    return;
  }
  for (size_t i = first + lane; i < n; i += 32) {
    float p[3] = {points[3 * i], points[3 * i + 1], points[3 * i + 2]};
    transform (load_rows (matrices, frames[i]), p);
    for (int k = 0; k < 3; k++)
      out[3 * i + k] = p[k];
  }
}

cudaError_t
ndt_cuda_frames_transform (const NdtCudaMatrix *matrices, const float *points,
    const uint32_t *frames, size_t n, float *out, cudaStream_t stream)
{
  const uint32_t n_blocks = (uint32_t)((n + 4 * BLOCK - 1) / (4 * BLOCK));
  transform_points<<<n_blocks, BLOCK, 0, stream>>> (matrices, points, frames, n, out);
  return cudaGetLastError ();
}

/* ---- Extraction ---- */

/* One thread per number, since the destination may be host memory. */
__global__ void
extract (
    const NdtCudaPose *world, uint32_t first, uint32_t n, double *positions, double *orientations)
{
  const uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
  if (positions && i < 3 * (uint64_t)n)
    positions[i] = world[first + i / 3].position[i % 3];
  if (orientations && i < 4 * (uint64_t)n)
    orientations[i] = world[first + i / 4].orientation[i % 4];
}

cudaError_t
ndt_cuda_frames_extract (const NdtCudaPose *world, uint32_t first, uint32_t n, double *positions,
    double *orientations, cudaStream_t stream)
{
  extract<<<blocks_for (4 * (size_t)n), BLOCK, 0, stream>>> (
      world, first, n, positions, orientations);
  return cudaGetLastError ();
}
