/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

#include "ndtcore/scan/ndt-cloud.h"
#include "ndtcore/base/ndt-error.h"

G_BEGIN_DECLS

typedef struct _NdtDeviceFrames NdtDeviceFrames;

/* No frame: the parent of a root. */
#define NDT_FRAME_NONE G_MAXUINT32

/**
 * NdtFrameTree:
 *
 * Frames with parents, each given by its pose in its parent; roots by their pose in the world.
 * Poses in the world are computed for all frames together, level by level. Examples: one frame per
 * instant of firing (motion compensation), several sensors under one body (merging clouds),
 * articulated vehicles and scanner arms.
 *
 * Computed by the CPU or the device of a backend (ndt_frame_tree_set_device()). In trees of at most
 * 32 levels both give the same bits for poses in the world, and for points where the CPU has fused
 * multiply-add; deeper trees, which a device composes in another order, differ by rounding.
 *
 * Not thread-safe.
 */
typedef struct _NdtFrameTree NdtFrameTree;

NdtFrameTree *ndt_frame_tree_new (void);
void ndt_frame_tree_free (NdtFrameTree *tree);
/**
 * ndt_frame_tree_set_device:
 * @device: (transfer full) (nullable): where to compute, of ndt_backend_open_frames(); its backend
 *   has to outlive the tree, or another device to be set before the backend is closed, and to be
 *   used by the tree's thread alone meanwhile. NULL: the CPU
 *
 * Frames and attached points are kept, results of ndt_frame_tree_move() are not. After an error of
 * the device the tree logs a warning to the backend's log and computes on the CPU. Points beyond
 * the backend's memory budget are uploaded in parts.
 */
void ndt_frame_tree_set_device (NdtFrameTree *tree, NdtDeviceFrames *device);
/* Returns: TRUE where a device computes. */
gboolean ndt_frame_tree_is_on_device (const NdtFrameTree *tree);
/* Removes all frames and keeps the memory. */
void ndt_frame_tree_clear (NdtFrameTree *tree);
guint32 ndt_frame_tree_get_n_frames (const NdtFrameTree *tree);
/* Adds n frames with consecutive numbers, of which the first is returned. @parents has a number
 * that exists already, or of a frame before in the same call, or NDT_FRAME_NONE, for each; NULL:
 * all roots. NDT_FRAME_NONE with NDT_ERROR_INVALID_ARGUMENT, and nothing added, where a parent does
 * not exist or a pose is not finite, with NDT_ERROR_NO_MEMORY where they do not fit. */
guint32 ndt_frame_tree_add (
    NdtFrameTree *tree, guint32 n, const guint32 *parents, const NdtPose *poses, GError **error);
/* New poses in their parents of n frames from @first on. FALSE with NDT_ERROR_INVALID_ARGUMENT, and
 * nothing changed, where a frame does not exist or a pose is not finite. */
gboolean ndt_frame_tree_set (
    NdtFrameTree *tree, guint32 first, guint32 n, const NdtPose *poses, GError **error);
/* Computes poses in the world where a pose has changed. The functions below do so where it is
 * needed. */
void ndt_frame_tree_update (NdtFrameTree *tree);
/* Poses in the world of n frames from @first on: positions (n × 3, m) and orientations (n × 4, x y
 * z w); either may be NULL. */
void ndt_frame_tree_get_world (
    NdtFrameTree *tree, guint32 first, guint32 n, double *positions, double *orientations);

/**
 * ndt_frame_tree_transform:
 * @tree: the tree
 * @reference: frame of the result; NDT_FRAME_NONE: the world
 * @points: each in its own frame, metres
 * @frames: number of the frame of each point
 * @out: packed float x, y, z; may be the memory of @points where that is packed float
 *
 * Non-finite points stay non-finite. Several clouds may be transformed one after another:
 * propagation and matrices are computed once, after a pose has changed or for another reference.
 *
 * Returns: FALSE with %NDT_ERROR_INVALID_ARGUMENT where a frame does not exist; some points of @out
 * may have been written then. With %NDT_ERROR_NO_MEMORY where the frames' matrices do not fit
 */
gboolean ndt_frame_tree_transform (NdtFrameTree *tree, guint32 reference,
    const NdtCloudView *points, const guint32 *frames, float *out, GError **error);

/**
 * ndt_frame_tree_attach:
 * @points: each in its own frame, metres
 * @frames: number of the frame of each point
 *
 * Replaces the attached points by a copy of @points, for points that are transformed several times
 * while their frames move. With a device, they and their results are stored there.
 *
 * Returns: FALSE with %NDT_ERROR_INVALID_ARGUMENT where a frame does not exist, with
 * %NDT_ERROR_NO_MEMORY where they do not fit; then there are none
 */
gboolean ndt_frame_tree_attach (
    NdtFrameTree *tree, const NdtCloudView *points, const guint32 *frames, GError **error);
/* Transforms the attached points to @reference, as ndt_frame_tree_transform() does others. FALSE
 * with NDT_ERROR_INVALID_ARGUMENT where there is no such frame, with NDT_ERROR_NO_MEMORY where they
 * do not fit twice. */
gboolean ndt_frame_tree_move (NdtFrameTree *tree, guint32 reference, GError **error);
/* Copies the results of the last ndt_frame_tree_move() for n points from @first on: packed float x,
 * y, z. FALSE with NDT_ERROR_INVALID_ARGUMENT where there are not so many, or with NDT_ERROR_DEVICE
 * where they were lost with the device: move them again. */
gboolean ndt_frame_tree_get_moved (
    NdtFrameTree *tree, gsize first, gsize n, float *out, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtFrameTree, ndt_frame_tree_free)

G_END_DECLS
