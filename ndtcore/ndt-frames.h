/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

#include "ndt-cloud.h"
#include "ndt-error.h"

G_BEGIN_DECLS

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
 * Not thread-safe.
 */
typedef struct _NdtFrameTree NdtFrameTree;

NdtFrameTree *ndt_frame_tree_new (void);
void ndt_frame_tree_free (NdtFrameTree *tree);
/* Forgets all frames; memory stays. */
void ndt_frame_tree_clear (NdtFrameTree *tree);
guint32 ndt_frame_tree_get_n_frames (const NdtFrameTree *tree);
/* Adds n frames with consecutive numbers, of which the first is returned. @parents has a number
 * that exists already, or of a frame before in the same call, or NDT_FRAME_NONE, for each; NULL:
 * all roots. NDT_FRAME_NONE with NDT_ERROR_INVALID_ARGUMENT, and nothing added, where a parent does
 * not exist or a pose is not finite. */
guint32 ndt_frame_tree_add (
    NdtFrameTree *tree, guint32 n, const guint32 *parents, const NdtPose *poses, GError **error);
/* New poses in their parents of n frames from @first on. FALSE with NDT_ERROR_INVALID_ARGUMENT, and
 * nothing changed, where a frame does not exist or a pose is not finite. */
gboolean ndt_frame_tree_set (
    NdtFrameTree *tree, guint32 first, guint32 n, const NdtPose *poses, GError **error);
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
 * may have been written then
 */
gboolean ndt_frame_tree_transform (NdtFrameTree *tree, guint32 reference,
    const NdtCloudView *points, const guint32 *frames, float *out, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtFrameTree, ndt_frame_tree_free)

G_END_DECLS
