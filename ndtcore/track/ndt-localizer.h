/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndtcore/motion/ndt-deskew.h"
#include "ndtcore/align/ndt-registration.h"

G_BEGIN_DECLS

/**
 * NdtTrackStatus:
 * @NDT_TRACK_INITIALIZING: no pose yet and nothing to start from
 * @NDT_TRACK_TRACKING: the scan is localized and its scores pass
 * @NDT_TRACK_DEGRADED: aligned, but a score is below its threshold or fell; the pose is the
 *   alignment's and is not trusted for prediction beyond @max_skips scans. Or its motion is
 *   compensated by an older velocity, see %NDT_REASON_IMPLAUSIBLE_MOTION; that does not count as
 * skipped
 * @NDT_TRACK_LOST: no trustworthy pose; waits for a prior or an initial pose
 * @NDT_TRACK_SKIPPED: the scan could not be aligned (too few points, not finite …) or was not,
 * being late; the pose is the prediction where there is one
 */
typedef enum {
  NDT_TRACK_INITIALIZING,
  NDT_TRACK_TRACKING,
  NDT_TRACK_DEGRADED,
  NDT_TRACK_LOST,
  NDT_TRACK_SKIPPED,
} NdtTrackStatus;

/**
 * NdtReason:
 * @NDT_REASON_NONE: it is TRACKING
 * @NDT_REASON_BAD_FIT: aligned, but it does not fit the map there: value is the fit
 *   (NdtLocalization.fit), or what else is compared
 * @NDT_REASON_NO_MAP: none of its points lies on the map where it was looked for: value is 0 pairs
 * @NDT_REASON_NO_START: there is no pose to start from: value is 0 poses
 * @NDT_REASON_WEAK_OVERLAP: too little of it lies on the map to tell: value is
 *   NdtLocalization.overlap
 * @NDT_REASON_STALE_PREDICTION: it fits, but nothing tells where the body went since the last scan
 *   that was aligned, and no other one has confirmed the place: value is how many scans have yet
 *   to agree
 * @NDT_REASON_TOO_LATE: its turn came after its deadline: value is the delay, seconds
 * @NDT_REASON_DEGENERATE: its position is open along a direction: value is NdtLocalization.sigma
 * @NDT_REASON_AMBIGUOUS: other places fit about as well: value is NdtRegistration.runner_up
 * @NDT_REASON_IMPLAUSIBLE_MOTION: it fits where no body gets to in the time: value is
 *   NdtLocalization.innovation
 * @NDT_REASON_TOO_FEW_POINTS: value is how many there are, once thinned
 *
 * Why a scan is not TRACKING, with the number that led to it, NdtLocalization.reason_value, and the
 * bound on the wrong side of which it is, reason_bound.
 */
typedef enum {
  NDT_REASON_NONE,
  NDT_REASON_BAD_FIT,
  NDT_REASON_NO_MAP,
  NDT_REASON_NO_START,
  NDT_REASON_WEAK_OVERLAP,
  NDT_REASON_STALE_PREDICTION,
  NDT_REASON_TOO_LATE,
  NDT_REASON_DEGENERATE,
  NDT_REASON_AMBIGUOUS,
  NDT_REASON_IMPLAUSIBLE_MOTION,
  NDT_REASON_TOO_FEW_POINTS,
  NDT_N_REASONS /*< skip >*/
} NdtReason;

typedef enum {
  NDT_PREDICTION_NONE,
  NDT_PREDICTION_INITIAL,
  NDT_PREDICTION_CONSTANT_VELOCITY,
  NDT_PREDICTION_ODOMETRY,
  NDT_PREDICTION_PRIOR,
  NDT_PREDICTION_SEARCH, /* of the whole map */
} NdtPrediction;

/* As the leaf size of a localizer's filter: half a cell of the map. The points near the sensor are
 * many and say little of where it is; without thinning they outvote the rest. */
#define NDT_LEAF_SIZE_AUTO (-1.0f)

/**
 * NdtLocalizerParams:
 * @registration: of each scan; its regularization is not read
 * @filter: thinning before alignment; its leaf_size may be %NDT_LEAF_SIZE_AUTO
 * @deskew: compensate the motion during the scan, where points have times and the velocity is
 *   known. The alignment itself tells it, from the middle of one scan to that of the next, and
 *   where that moves points elsewhere than the prediction did they are moved and aligned again, up
 *   to twice. A scan without another before it tells it by itself, where it moves fast enough
 * @sensor_pose: of the sensor in the body frame; all poses given and reported are the body's
 * @min_points: thinned scans with fewer points are SKIPPED, at least 1
 * @tp_threshold: smallest transformation probability of a TRACKING scan; 0: no check
 * @nvtl_threshold: smallest NVTL; 0: no check
 * @nvtl_threshold_fraction: the same as a fraction of the maximum −d1, [0, 1]
 * @matched_ratio_threshold: smallest matched ratio, [0, 1]
 * @min_fit: smallest fit (NdtLocalization) of a TRACKING scan that is where motion leads, unless
 *   it is its overlap with the map alone that is small …
 * @min_start_fit: … and of one that is elsewhere, or of a start. 0: no check
 * @max_sigma: largest standard deviation of the position of a TRACKING scan, metres. Along
 *   directions that scans leave open the position goes where motion leads. 0: neither
 * @max_skips: consecutive scans that are not TRACKING before the state is LOST. Those whose
 *   scores only fell and that lie where motion leads do not count, a new start counts anew
 * @score_drop: a scan whose NVTL times matched ratio falls below this fraction of the average
 *   of about the last ten TRACKING ones is DEGRADED; one that falls half as far is tried again from
 *   far (NDT_SEARCH_FAR), from all that it may be at, [0, 1]; 0: never
 * @regularization_scale: where the body follows motion, a prior does not say where it is aligned
 *   from, but holds it along its heading, by NdtRegularization with this scale, at least 0; 0:
 * never
 * @start: how well a pose set by hand is known, and a prior that does not say so; by default within
 *   what NDT_SEARCH_FAR reaches. Where it is known less, the scan is searched for around it, and
 *   where it is not found reliably (DEGRADED) around the same pose again with the next ones, or
 *   their prior, over max_skips scans; then it is LOST. A prior whose scan cannot be tried waits
 * for as many; odometry moves what waits where its heading is known
 * @search_map: where nothing says where the body is the whole map is searched for the scan, of a
 *   body that stands upright. Three scans have to agree on what is found before one is TRACKING,
 *   and a scan that fits several places alike is none (NDT_REASON_AMBIGUOUS)
 * @no_ground_margin: metres above the body; points that lie higher in the map are scored by
 *   themselves; 0: none are
 */
typedef struct {
  NdtRegistrationParams registration;
  NdtScanFilter filter;
  gboolean deskew;
  NdtPose sensor_pose;
  guint min_points;
  double tp_threshold;
  double nvtl_threshold;
  double nvtl_threshold_fraction;
  double matched_ratio_threshold;
  double min_fit;
  double min_start_fit;
  double max_sigma;
  guint max_skips;
  double score_drop;
  double regularization_scale;
  NdtPoseSearch start;
  gboolean search_map;
  double no_ground_margin;
} NdtLocalizerParams;

void ndt_localizer_params_init (NdtLocalizerParams *params);
/* FALSE with NDT_ERROR_INVALID_ARGUMENT that names the member out of range. */
gboolean ndt_localizer_params_check (const NdtLocalizerParams *params, GError **error);

/**
 * NdtObservation:
 * @points: the scan, sensor frame; its memory stays valid while the call runs
 * @time: instant that the pose is of, nanoseconds, any epoch; -1: unknown (scans then count
 *   as evenly spaced)
 * @point_times: when each point was measured, if known …
 * @time_on_points: … and @time on the axis of @point_times, seconds
 * @deadline: a scan whose turn comes after this is not aligned (NDT_REASON_TOO_LATE); by
 *   g_get_monotonic_time(), microseconds; 0: none
 * @has_velocity: @velocity is given, for want of a better one: of the body during the scan, a
 *   twist (m, rad) per second in its own frame
 * @has_prior: @prior is given: absolute, in the map
 * @has_prior_stddev: how well it is known is given: @prior_stddev, as of NdtPoseSearch. It counts
 *   where nothing else says where the body is
 * @has_odometry: @odometry is given: a pose in a drifting frame; increments count. Poses that
 *   ndt_pose_normalize() refuses are as if not given
 */
typedef struct {
  NdtCloudView points;
  gint64 time;
  NdtTimeView point_times;
  double time_on_points;
  gint64 deadline;
  gboolean has_velocity;
  double velocity[6];
  gboolean has_prior;
  gboolean has_odometry;
  NdtPose prior;
  gboolean has_prior_stddev;
  double prior_stddev[6];
  NdtPose odometry;
} NdtObservation;

/**
 * NdtLocalization:
 * @registration: pose, scores, covariance; where the scan could not be aligned its pose is
 *   the prediction, from the scans before where a prior or odometry led nowhere (status SKIPPED or
 * LOST) and scores are 0
 * @status: after this scan
 * @previous_status: before it
 * @reason: why it is not TRACKING, if it is not …
 * @reason_value: … the number that led to it …
 * @reason_bound: … and what it is compared with, see NdtReason
 * @prediction: what the guess came from
 * @guess: where alignment started first, valid unless @prediction is NONE or SEARCH
 * @has_pose: @registration.pose means something
 * @fit: NVTL × matched ratio as a fraction of what it comes to in place on this map
 *   (ndt_fit_expected()); 0 where the scan was not aligned …
 * @fit_bound: … and the least that it had to be
 * @overlap: matched ratio as a fraction of what it is in place; 0 where the scan was not aligned
 * @innovation: metres from the prediction to the alignment
 * @sigma: largest standard deviation of the position, metres: it grows along directions that scans
 *   leave open; 0 where there is no pose …
 * @sigma_axis: … and the direction in the map, a unit vector
 * @n_open: directions of the position that the scan leaves open, where it was aligned …
 * @open: … unit vectors in the map
 * @n_skipped: consecutive scans up to this one that are not TRACKING
 * @relocalized: this scan ended a time without TRACKING
 * @deskewed: motion was compensated
 * @upload_time: nanoseconds in which the backend took the scan: filtered it, copied it, began to
 *   upload it …
 * @align_time: … and from then on to this result, scans of the same batch before it not counted
 * @has_no_ground: the scan was aligned and @no_ground_margin is above 0
 * @no_ground_points: thinned points above the margin …
 * @no_ground_transformation_probability: … and their scores alone, 0 where there are none
 * @no_ground_nvtl: as well
 */
typedef struct {
  NdtRegistration registration;
  NdtTrackStatus status;
  NdtTrackStatus previous_status;
  NdtReason reason;
  double reason_value;
  double reason_bound;
  NdtPrediction prediction;
  NdtPose guess;
  gboolean has_pose;
  double fit;
  double fit_bound;
  double overlap;
  double innovation;
  double sigma;
  double sigma_axis[3];
  guint n_open;
  double open[3][3];
  guint n_skipped;
  gboolean relocalized;
  gboolean deskewed;
  gint64 upload_time;
  gint64 align_time;
  gboolean has_no_ground;
  guint no_ground_points;
  double no_ground_transformation_probability;
  double no_ground_nvtl;
} NdtLocalization;

/**
 * NdtLocalizer:
 *
 * Localizes one stream: predicts, registers, judges, remembers. Owns no backend. Not
 * thread-safe; one localizer and its backend belong to one thread at a time.
 */
typedef struct _NdtLocalizer NdtLocalizer;

NdtLocalizer *ndt_localizer_new (NdtBackend *backend);
void ndt_localizer_free (NdtLocalizer *localizer);
/* Another backend from the next scan on (a fall-back); tracking goes on. The backend has
 * to have its map set. */
void ndt_localizer_set_backend (NdtLocalizer *localizer, NdtBackend *backend);
/* From the next scan on. */
gboolean ndt_localizer_set_params (
    NdtLocalizer *localizer, const NdtLocalizerParams *params, GError **error);
/* The next scan that can be tried starts from this pose, from far (NDT_SEARCH_FAR, or around it:
 * NdtLocalizerParams.start), whatever the state, and from a prior that it has; what scores better
 * counts. FALSE, and nothing changes, where
 * ndt_pose_normalize() refuses the pose. */
gboolean ndt_localizer_set_initial_pose (NdtLocalizer *localizer, const NdtPose *pose);
/* Forgets poses and averages; params and backend stay. */
void ndt_localizer_reset (NdtLocalizer *localizer);
/* For another map: what scans score on it is not compared with what they did before. */
void ndt_localizer_forget_scores (NdtLocalizer *localizer);
/* Where the next scan would be looked for, were this one next; the identity with
 * NDT_PREDICTION_NONE. */
NdtPrediction ndt_localizer_predict (
    const NdtLocalizer *localizer, const NdtObservation *observation, NdtPose *pose);
NdtTrackStatus ndt_localizer_get_status (const NdtLocalizer *localizer);

/* Localizes one scan. FALSE only where the backend failed or was cancelled (the error is the
 * backend's, and the state is as before the call); bad scans are a status, not an error. */
gboolean ndt_localizer_process (NdtLocalizer *localizer, const NdtObservation *observation,
    NdtLocalization *out, GError **error);

/**
 * NdtLocalizationFunc:
 * @index: of the observation
 * @localization: its result
 *
 * Called in order, each as soon as it is known.
 */
typedef void (*NdtLocalizationFunc) (
    guint index, const NdtLocalization *localization, gpointer user_data);

/* Localizes several scans in one submission, with results bitwise as from
 * ndt_localizer_process() one by one. On FALSE the observations from the first whose result was
 * not delivered on are as if they had not been given. n_observations 1 to NDT_MAX_SCANS. */
gboolean ndt_localizer_process_batch (NdtLocalizer *localizer, const NdtObservation *observations,
    guint n_observations, NdtLocalizationFunc func, gpointer user_data, GError **error);

const gchar *ndt_track_status_to_string (NdtTrackStatus status);
const gchar *ndt_reason_to_string (NdtReason reason);
const gchar *ndt_prediction_to_string (NdtPrediction prediction);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtLocalizer, ndt_localizer_free)

G_END_DECLS
