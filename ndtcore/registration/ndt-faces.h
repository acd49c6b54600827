/* SPDX-License-Identifier: MIT */
/* Walls of a map with two faces closer together than a cell, of which a scan sees the nearer one.
 * docs/tracking.md, "Walls with two faces"; docs/tracking-figures.md has the measurements. */
#pragma once

#include "ndtcore/align/ndt-backend.h"
#include "ndtcore/map/ndt-voxel-map.h"
#include "ndtcore/math/ndt-pose.h"

G_BEGIN_DECLS

/* Whether a map has many such walls, by a sample of the voxels of its finest level: once a map, by
 * the first call. Any thread. */
gboolean ndt_faces_are_in (NdtVoxelMap *map);

/* Owns 155 kB, which are reused from scan to scan: more than threads' stacks have room for (musl's
 * are 128 kB). Not thread-safe. */
typedef struct _NdtFaces NdtFaces;

NdtFaces *ndt_faces_new (void);
void ndt_faces_free (NdtFaces *faces);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtFaces, ndt_faces_free)

/**
 * ndt_faces_get_shift:
 * @faces: memory
 * @map: its finest level is looked at
 * @points: of the scan, in the sensor's frame
 * @filter: of the points that count; its leaves are not used
 * @sensor: the scan's pose in the map, an optimum of the score
 * @d2: of the objective (#NdtGauss)
 * @shift: metres, map frame
 *
 * Where points lie on the farther one of two faces, or about the mean of both, the score's maximum
 * is beside the true pose, and its curvature there does not show it. @shift is the step of Newton's
 * method that the score would take if these points were drawn to the nearer face instead, the
 * rotation held, of a sample of the points.
 *
 * Returns: FALSE where it is less than a twentieth of a cell; @shift is 0 then
 */
gboolean ndt_faces_get_shift (NdtFaces *faces, const NdtVoxelMap *map, const NdtCloudView *points,
    const NdtScanFilter *filter, const NdtPose *sensor, double d2, double shift[3]);

/* Raises the variance along @shift, in a 6×6 covariance that begins with the position, to its
 * square. */
void ndt_faces_raise (const double shift[3], double covariance[36]);

G_END_DECLS
