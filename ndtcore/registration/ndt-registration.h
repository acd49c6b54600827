/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndtcore/align/ndt-backend.h"
#include "ndtcore/align/ndt-observability.h"

G_BEGIN_DECLS

/**
 * NdtPoseCovariance:
 * @NDT_POSE_COVARIANCE_LAPLACE: the full inverse of −H (Laplace's approximation, marginal)
 * @NDT_POSE_COVARIANCE_FIXED: a configured diagonal in the body frame, rotated by the pose
 * @NDT_POSE_COVARIANCE_MULTI_NDT: sample covariance of alignments from offset poses
 * @NDT_POSE_COVARIANCE_MULTI_NDT_SCORE: offset poses weighted by a softmax of their NVTL
 */
typedef enum {
  NDT_POSE_COVARIANCE_LAPLACE,
  NDT_POSE_COVARIANCE_FIXED,
  NDT_POSE_COVARIANCE_MULTI_NDT,
  NDT_POSE_COVARIANCE_MULTI_NDT_SCORE,
} NdtPoseCovariance;

#define NDT_MAX_OFFSETS 32

/**
 * NdtRegistrationParams:
 * @align: of each alignment
 * @regularization: of the scan; none by default; not read by ndt_register_around()
 * @has_mount: @mount is set @mount: pose of the sensor in the body frame; without it the sensor is
 *   the body
 * @covariance: kind of covariance
 * @covariance_scale: factor on the estimate, > 0
 * @clustering: of "laplace": errors of neighbouring points are correlated, and variances are this
 *   many times those of independent points, or, where the alignment knows how far clusters of
 *   points differ (NdtAlignResult.spread), what follows from that; 0: points are independent
 * @fixed_variance: of "fixed": x, y, z (m²), rotations about x, y, z (rad²), body frame; also the
 *   floor of the multi-ndt estimates' xy block
 * @temperature: of the softmax of "multi-ndt-score"
 * @max_passes: bound of NdtRegistration.passes of ndt_register(): an alignment ends with it, and
 *   %NDT_SEARCH_FAR tries fewer candidates; 0: none
 * @n_offsets: offset poses of the multi-ndt estimates
 * @offset_x: metres, body frame
 * @offset_y: metres, body frame
 */
typedef struct {
  NdtAlignParams align;
  NdtRegularization regularization;
  gboolean has_mount;
  NdtPose mount;
  NdtPoseCovariance covariance;
  double covariance_scale;
  double clustering;
  double fixed_variance[6];
  double temperature;
  double max_passes;
  guint n_offsets;
  double offset_x[NDT_MAX_OFFSETS];
  double offset_y[NDT_MAX_OFFSETS];
} NdtRegistrationParams;

void ndt_registration_params_init (NdtRegistrationParams *params);

/**
 * NdtRegistration:
 * @pose: of the sensor in the map
 * @covariance: of the body's pose (the sensor's, where there is no mount), row-major 6×6: position
 *   (m) then rotation (rad) about the parent's axes through the pose. With a regularization it
 *   includes the penalty
 * @covariance_kind: kind of @covariance; FIXED where the configured one does not exist
 * @score: Σ −d1 e; this and the scores below are without a penalty
 * @objective: the maximized value: the score less the penalty of the regularization
 * @transformation_probability: score / number of points
 * @nvtl: mean over matched points of their best term; 0 without one
 * @max_nvtl: the value that @nvtl cannot exceed at the map's resolution, −d1
 * @matched_ratio: points with a pair / points, 0 to 1
 * @fit_nvtl, @fit_max_nvtl, @fit_matched_ratio: the same at the level of the map by which the fit
 * is judged, of ndt_fit_measure(); 0 before
 * @n_points: points of the thinned scan
 * @n_pairs: pairs at @pose
 * @iterations: steps from the guess to @pose
 * @evaluations: passes over the scan, or over its sample, of all alignments
 * @passes: of ndt_register(): the same, one over a sample counting for its part of the points, and
 *   one over a scan of fewer than 600 points for its part of these
 * @n_starts: candidates for @pose, 1 or 4 for each guess; with those that were skipped since others
 *   agreed, and, around a pose, those that were ranked only
 * @oscillation: see NdtAlignResult
 * @stop: see NdtAlignResult
 * @runner_up: of ndt_register_around(): NVTL times matched ratio of the best alignment that ended
 *   elsewhere, as a fraction of this one's (above 1 where a sample fits better there); 0 without
 *   one. Of ndt_register_anywhere() it is raised, by up to 0.08, where more points than usual lie
 *   off the map
 * @is_ambiguous: of ndt_register_around(): @runner_up is NDT_AMBIGUOUS or more, or too few
 *   alignments from around @pose end there
 * @observability: information of the scan about the position, by direction
 * @n_degenerate: directions that the score's Hessian does not constrain, 0 to 6
 * @degenerate: unit directions, rows of 6: a shift of the body (the sensor, where there is no
 * mount) and a rotation about the parent's axes through its pose, in rad times @degenerate_lever
 * @degenerate_lever: √(mean curvature by rotation / mean curvature by translation) of the Hessian:
 *   about the distance of the points, metres
 */
typedef struct {
  NdtPose pose;
  double covariance[36];
  NdtPoseCovariance covariance_kind;
  double score;
  double objective;
  double transformation_probability;
  double nvtl;
  double max_nvtl;
  double matched_ratio;
  double fit_nvtl;
  double fit_max_nvtl;
  double fit_matched_ratio;
  guint32 n_points;
  guint64 n_pairs;
  guint32 iterations;
  guint32 evaluations;
  double passes;
  guint32 n_starts;
  guint32 oscillation;
  NdtStop stop;
  double runner_up;
  gboolean is_ambiguous;
  NdtObservability observability;
  guint n_degenerate;
  double degenerate[36];
  double degenerate_lever;
} NdtRegistration;

typedef enum {
  NDT_SEARCH_LOCAL, /* the score's Newton iteration from the guess only */
  NDT_SEARCH_FAR /* four candidates from each guess, with a sample; the best score is the result */
} NdtSearch;

/* Registers the scan in a slot of the backend, from one guess or the best of several.
 * n_guesses 1 to 1024. */
gboolean ndt_register (NdtBackend *backend, guint slot, const NdtRegistrationParams *params,
    NdtSearch search, const NdtPose *guesses, guint n_guesses, NdtRegistration *out,
    GError **error);

/**
 * NdtPoseSearch:
 * @stddev: standard deviations of a pose: x, y, z (m, along the map's axes), rotations about the
 *   map's axes through the body (rad), each 0 or above. Poses within 2.5 of them are searched;
 *   every yaw from 72° on; for roll and pitch at most 0.1 rad is used
 * @n_candidates: number of poses, at most a million; 0: by the volume and the map's resolution, 64
 *   to 50,000
 * @seed: selects the poses
 *
 * The region to be searched around a pose with an error of metres, and perhaps without a yaw.
 */
typedef struct {
  double stddev[6];
  guint n_candidates;
  guint64 seed;
} NdtPoseSearch;

/* Least fit of the second place, as a fraction of the best one's, with which the result of a search
 * around a pose is ambiguous. */
#define NDT_AMBIGUOUS 0.88

/* Registers the scan at the pose with the highest NVTL times matched ratio around a pose of the
 * body (of the sensor, where there is no mount). The result is reliable if its scores exceed the
 * map's thresholds and @out is not ambiguous. The same input gives the same bits on one backend. */
gboolean ndt_register_around (NdtBackend *backend, guint slot, const NdtRegistrationParams *params,
    const NdtPose *around, const NdtPoseSearch *search, NdtRegistration *out, GError **error);

/* Registers the scan where it fits best on the whole map, of a body (of the sensor, where there is
 * no mount) that stands upright to some degrees; its roll and pitch are then aligned. It is found
 * where it is as of ndt_register_around(). Without a place @out has no pairs. NDT_ERROR_NO_MAP
 * where the map is on the device alone. */
gboolean ndt_register_anywhere (NdtBackend *backend, guint slot,
    const NdtRegistrationParams *params, NdtRegistration *out, GError **error);

/* ndt_register() with NDT_SEARCH_LOCAL from one guess in three steps, for several scans one after
 * the other: begin and end as ndt_backend_align_begin() and ndt_backend_align_end(), which set all
 * members of @out except covariance and degenerate directions; complete sets these, and uses the
 * backend by ndt_backend_spread(), and for the multi-ndt estimates by others. Where the former
 * fails the covariance is that without clusters. */
gboolean ndt_register_begin (NdtBackend *backend, guint slot, const NdtRegistrationParams *params,
    const NdtPose *guess, guint n_following, GError **error);
gboolean ndt_register_end (
    NdtBackend *backend, NdtAlignResult *result, NdtRegistration *out, GError **error);
gboolean ndt_register_complete (NdtBackend *backend, guint slot,
    const NdtRegistrationParams *params, const NdtAlignResult *result, NdtRegistration *out,
    GError **error);

/* NVTL times matched ratio: the mean contribution of all points. It compares places, since the
 * score counts a point once for each of its voxels. */
static inline double
ndt_registration_get_quality (const NdtRegistration *registration)
{
  return registration->nvtl * registration->matched_ratio;
}

/* Sets the fixed covariance of a body's pose, for a pose without an alignment. */
void ndt_registration_set_fixed_covariance (
    NdtRegistration *registration, const NdtRegistrationParams *params, const NdtPose *body);

/* Gradient (6) and row-major Hessian (36) by (x, y, z, roll, pitch, yaw) with
 * R = Rx Ry Rz, from those by ndt_pose_retract()'s perturbation at the same pose. Either output
 * may be NULL. Undefined at pitch = ±90°. */
void ndt_sums_to_xyz_euler (
    const NdtSums *sums, double roll, double pitch, double yaw, double *gradient, double *hessian);

G_END_DECLS
