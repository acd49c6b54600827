/* SPDX-License-Identifier: MIT */
/* Where a sensor goes, by its scans alone: each is aligned to a map of those before. */
#pragma once

#include "ndtcore/base/ndt-saved.h"
#include "ndtcore/registration/ndt-registration.h"
#include "ndtcore/motion/ndt-deskew.h"

G_BEGIN_DECLS

typedef enum {
  NDT_ODOMETRY_STARTED,   /* the first scan with points: its pose is where poses are counted from */
  NDT_ODOMETRY_TRACKED,   /* aligned, and it fits as those before did */
  NDT_ODOMETRY_DEGRADED,  /* aligned, but open along a direction, or fits clearly worse */
  NDT_ODOMETRY_RESTARTED, /* fits nowhere: the pose is predicted, and the map begins anew with it */
  NDT_ODOMETRY_SKIPPED,   /* too few points, or fits nowhere: the pose is predicted */
} NdtOdometryStatus;

/**
 * NdtOdometryParams:
 * @resolution: edge of the map's cells, metres, 0.05 to 100
 * @leaf_size: edge of the cubes that scans are thinned to, metres, > 0
 * @min_range: nearer points are dropped, metres, 0 or above
 * @max_range: farther points are dropped, and cells of the map that are farther, metres
 * @map_step: the map takes a scan where its sensor has moved by so much since the one before it
 *   took, metres …
 * @map_turn: … or has turned by so much, rad
 * @min_points: thinned scans with fewer points are SKIPPED
 * @deskew: compensate the motion during the scan where points have times
 * @sensor_pose: of the sensor in the body frame; poses are the body's, and the first is the
 *   identity
 * @align: of each alignment
 */
typedef struct {
  double resolution;
  double leaf_size;
  double min_range;
  double max_range;
  double map_step;
  double map_turn;
  guint min_points;
  gboolean deskew;
  NdtPose sensor_pose;
  NdtAlignParams align;
} NdtOdometryParams;

void ndt_odometry_params_init (NdtOdometryParams *params);
/* FALSE with %NDT_ERROR_INVALID_ARGUMENT that names the member out of range. */
gboolean ndt_odometry_params_check (const NdtOdometryParams *params, GError **error);

/**
 * NdtOdometryScan:
 * @points: sensor frame; their memory stays valid while the call runs
 * @time: instant that the pose is of, nanoseconds, any epoch; -1: unknown (scans then count as
 *   evenly spaced)
 * @point_times: when each point was measured, if known …
 * @time_on_points: … and @time on the axis of @point_times, seconds
 */
typedef struct {
  NdtCloudView points;
  gint64 time;
  NdtTimeView point_times;
  double time_on_points;
} NdtOdometryScan;

/**
 * NdtOdometryResult:
 * @status: what became of the scan
 * @pose: of the body at the scan's time, from where it was at the first scan
 * @covariance: of @pose, row-major 6×6: position (m²) then rotation (rad²) about the parent's axes
 *   through the pose: what has gathered since the first scan
 * @registration: of the sensor where the scan was aligned; its covariance is that of this
 *   alignment alone
 * @fit: NVTL × matched ratio as a fraction of what that was in the last scans; 0 where the scan was
 *   not aligned
 * @deskewed: motion was compensated
 * @searched: the scan was searched for beyond its prediction
 */
typedef struct {
  NdtOdometryStatus status;
  NdtPose pose;
  double covariance[36];
  NdtRegistration registration;
  double fit;
  gboolean deskewed;
  gboolean searched;
} NdtOdometryResult;

/**
 * NdtOdometry:
 *
 * One stream's odometry. Owns no backend, but sets its map. Not thread-safe; it and its backend
 * belong to one thread at a time. The same scans give the same bits, on one backend.
 */
typedef struct _NdtOdometry NdtOdometry;

/* NULL with an error of ndt_odometry_params_check() or of the backend. */
NdtOdometry *ndt_odometry_new (
    NdtBackend *backend, const NdtOdometryParams *params, GError **error);
void ndt_odometry_free (NdtOdometry *odometry);
/* The next scan is the first. */
void ndt_odometry_reset (NdtOdometry *odometry);
/* Goes on with another backend, which it gives the map. FALSE with an error of the backend; then
 * the one before is kept. */
gboolean ndt_odometry_set_backend (NdtOdometry *odometry, NdtBackend *backend, GError **error);
/* FALSE only where the backend failed (the error is its own), or without memory. Where the backend
 * failed, nothing has changed: the scan may be processed again, with another backend. */
gboolean ndt_odometry_process (
    NdtOdometry *odometry, const NdtOdometryScan *scan, NdtOdometryResult *result, GError **error);
/* The points of the scan that was processed last, thinned and compensated, as the sensor sees them
 * in the middle of its scan, and the sensor's pose there, from where the body was at first.
 * (transfer none): packed x, y, z; valid until the next call. */
const float *ndt_odometry_get_points (
    const NdtOdometry *odometry, guint *n_points, NdtPose *sensor);
/* Velocity of the body in the last scan, a twist per second. FALSE where it is not known: of the
 * first scan, and of scans whose times are not. */
gboolean ndt_odometry_get_velocity (const NdtOdometry *odometry, double velocity[6]);
/* Gives the backend the map of all scans so far. Points are ordered by the map that the backend
 * has, so that bits depend on when it was given: state is saved after this alone, and a run that is
 * to equal one which is restored calls it at the same scans. FALSE without an error: there is no
 * map yet, and state cannot be saved. */
gboolean ndt_odometry_settle (NdtOdometry *odometry, GError **error);
/* All that later scans depend on, for the same build. */
void ndt_odometry_save (const NdtOdometry *odometry, GByteArray *out);
/* Into an odometry of the same parameters, which then goes on as the saved one. FALSE with
 * %NDT_ERROR_FORMAT where the bytes are none of it. */
gboolean ndt_odometry_restore (NdtOdometry *odometry, NdtSaved *saved, GError **error);
/* Of the map, without the last scan where the map is still taking that in. */
guint ndt_odometry_get_n_cells (const NdtOdometry *odometry);
const gchar *ndt_odometry_status_to_string (NdtOdometryStatus status);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtOdometry, ndt_odometry_free)

G_END_DECLS
