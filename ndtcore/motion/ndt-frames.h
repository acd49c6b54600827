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
 * Poses in the world are computed for all frames together, level by level. One frame per
 * instant of firing makes motion compensation of it, several sensors' frames under one body
 * merge their clouds, articulated vehicles and scanner arms fit as they are.
 *
 * The CPU computes, or the device of a backend (ndt_frame_tree_set_device()). Poses in the world
 * of trees of at most 32 levels agree to the bit, and so do points where the CPU fuses
 * multiplication and addition; deeper trees, which a device composes in another order, differ by
 * roundings.
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
 * Frames and points that are attached stay, what they were moved to does not. Whatever goes wrong
 * on the device later, the tree logs a warning to the backend's log and goes on on the CPU. Points
 * beyond the backend's memory budget go up in parts.
 */
void ndt_frame_tree_set_device (NdtFrameTree *tree, NdtDeviceFrames *device);
/* Does a device compute? */
gboolean ndt_frame_tree_is_on_device (const NdtFrameTree *tree);
/* Forgets all frames; memory stays. */
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
/* Computes poses in the world now, where any changed; otherwise they are when they are needed. */
void ndt_frame_tree_update (NdtFrameTree *tree);
/* Poses in the world of n frames from @first on: positions (n × 3, m) and orientations (n × 4, x y
 * z w); either may be NULL. */
void ndt_frame_tree_get_world (
    NdtFrameTree *tree, guint32 first, guint32 n, double *positions, double *orientations);

/**
 * ndt_frame_tree_transform:
 * @tree: the tree
 * @reference: frame that points are wanted in; NDT_FRAME_NONE: the world
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
 * Copies points that will be transformed more than once, as their frames move, in place of those
 * attached before. A device keeps them, and what becomes of them.
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
/* What the last ndt_frame_tree_move() made of n points from @first on: packed float x, y, z. FALSE
 * with NDT_ERROR_INVALID_ARGUMENT where there are not so many, or with NDT_ERROR_DEVICE where they
 * were lost with the device: move them again. */
gboolean ndt_frame_tree_get_moved (
    NdtFrameTree *tree, gsize first, gsize n, float *out, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtFrameTree, ndt_frame_tree_free)

G_END_DECLS
