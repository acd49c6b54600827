/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndtcore/motion/ndt-deskew.h"
#include "ndtcore/registration/ndt-registration.h"
#include "ndtcore/map/ndt-map-rays.h"

G_BEGIN_DECLS

/**
 * NdtTrackStatus:
 * @NDT_TRACK_INITIALIZING: no pose yet and nothing to start from
 * @NDT_TRACK_TRACKING: the scan is localized and its scores pass
 * @NDT_TRACK_DEGRADED: aligned, but a score is below its threshold or fell; the pose is the
 *   alignment's, and predictions are based on it for at most @max_skips scans. Or its motion is
 *   compensated by an older velocity, see %NDT_REASON_IMPLAUSIBLE_MOTION; that does not count as
 *   skipped
 * @NDT_TRACK_LOST: there is no reliable pose
 * @NDT_TRACK_SKIPPED: the scan could not be aligned (too few points, not finite …), or was late;
 *   the pose is the prediction where there is one
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
 * @NDT_REASON_WEAK_OVERLAP: too few of its points lie on the map: value is NdtLocalization.overlap
 * @NDT_REASON_STALE_PREDICTION: it fits, but there is no prediction since the last aligned scan,
 *   and no other scan has confirmed the place: value is the number of scans that still have to
 *   agree
 * @NDT_REASON_TOO_LATE: its turn came after its deadline: value is the delay, seconds
 * @NDT_REASON_DEGENERATE: its position is open along a direction: value is NdtLocalization.sigma
 * @NDT_REASON_AMBIGUOUS: other places fit about as well: value is NdtRegistration.runner_up
 * @NDT_REASON_IMPLAUSIBLE_MOTION: it fits in a place that no body reaches in the time: value is
 *   NdtLocalization.innovation
 * @NDT_REASON_TOO_FEW_POINTS: value is their number after thinning
 *
 * Why a scan is not TRACKING, with the number that led to it, NdtLocalization.reason_value, and the
 * bound that it is compared with, reason_bound.
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

/* The reasons that say that the scan does not fit where it is. */
static inline gboolean
ndt_reason_is_misfit (NdtReason reason)
{
  return reason == NDT_REASON_BAD_FIT || reason == NDT_REASON_WEAK_OVERLAP ||
         reason == NDT_REASON_NO_MAP;
}

typedef enum {
  NDT_PREDICTION_NONE,
  NDT_PREDICTION_INITIAL,
  NDT_PREDICTION_CONSTANT_VELOCITY,
  NDT_PREDICTION_ODOMETRY,
  NDT_PREDICTION_PRIOR,
} NdtPrediction;

/* Leaf size of half a cell of the map. The many points near the sensor have little information
 * about its pose, and without thinning they would outweigh the others. */
#define NDT_LEAF_SIZE_AUTO (-1.0f)

/**
 * NdtLocalizerParams:
 * @registration: of each scan; its regularization is not read
 * @filter: thinning before alignment; its leaf_size may be %NDT_LEAF_SIZE_AUTO
 * @deskew: compensate the motion during the scan, where points have times and the velocity is
 *   known. It follows from the alignments, from the middle of one scan to that of the next; where
 *   it differs from the prediction's, the scan is compensated and aligned again, up to twice.
 *   Without a scan before, it is estimated from the scan itself, where the motion is fast enough
 * @sensor_pose: of the sensor in the body frame; all poses given and reported are the body's
 * @min_points: thinned scans with fewer points are SKIPPED, at least 1
 * @tp_threshold: smallest transformation probability of a TRACKING scan; 0: no check
 * @nvtl_threshold: smallest NVTL; 0: no check
 * @nvtl_threshold_fraction: the same as a fraction of the maximum −d1, [0, 1]
 * @matched_ratio_threshold: smallest matched ratio, of the level by which the fit is judged, [0, 1]
 * @min_fit: smallest fit (NdtLocalization) of a TRACKING scan that is at its prediction, unless
 *   only its overlap with the map is small …
 * @min_start_fit: … and of one that is elsewhere, or of a start. 0: no check
 * @max_sigma: largest standard deviation of the position of a TRACKING scan, metres. Along
 *   directions that scans leave open the position is predicted. 0: no check, and no prediction
 *   along open directions
 * @max_skips: consecutive scans that are not TRACKING before the state is LOST. Scans at their
 *   prediction whose scores only fell do not count; a new start resets the number
 * @score_drop: a scan whose NVTL times matched ratio falls below this fraction of the average of
 *   about the last ten TRACKING ones is DEGRADED; one that falls half as far is searched for from
 *   far (NDT_SEARCH_FAR), from all guesses, [0, 1]; 0: never
 * @regularization_scale: a prior of a scan with a prediction by motion is not its guess, but part
 *   of the objective along the heading, by NdtRegularization with this scale, at least 0; 0: never
 * @prior_factor: a prior with a covariance, of a scan with a prediction by motion, is not its
 * guess, but part of the objective by that covariance (NdtPoseFactor)
 * @odometry_factor: so is the pose that odometry predicts, with 2 % of the way and the variance
 *   before it
 * @planar: so are the height and the tilt of the first scan that was localized: a robot on a floor
 * @start: standard deviations of a pose set by hand, and of a prior without its own; by default
 *   within the range of NDT_SEARCH_FAR. With larger ones the scan is searched for around it. While
 *   the result is not reliable (DEGRADED) the next scans are searched for around the same pose, or
 *   their prior, for max_skips scans; then the state is LOST. A prior whose scan cannot be aligned
 *   is kept for as many; it is moved by odometry where its heading is known
 * @search_map: where nothing says where the body is, and where scans do not fit where motion leads,
 *   a thread of its own looks for it: around the last pose that counted, and then on the whole map,
 *   of a body that stands upright. What it finds in a scan has to hold for the two after it, and
 *   takes effect with the next one
 * @max_search_passes: passes that a scan takes at most, one over a sample of it counting for its
 *   part of the points: where its alignment does not fit it is searched for with what is left, and
 *   what that does not suffice for is left to @search_map; 0: no bound. One and a half times as
 *   many where the scan is compensated, and three times for the first two of a start and where a
 *   prior contradicts motion. There is no bound for a start that is searched for around, nor where
 *   nothing else would find it: without @search_map, or where the map is on the device alone
 * @no_ground_margin: metres above the body; points that lie higher in the map are also scored
 *   separately; 0: none
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
  gboolean prior_factor;
  gboolean odometry_factor;
  gboolean planar;
  NdtPoseSearch start;
  gboolean search_map;
  double max_search_passes;
  double no_ground_margin;
} NdtLocalizerParams;

void ndt_localizer_params_init (NdtLocalizerParams *params);
/* FALSE with NDT_ERROR_INVALID_ARGUMENT that names the member out of range. */
gboolean ndt_localizer_params_check (const NdtLocalizerParams *params, GError **error);

/**
 * NdtObservation:
 * @points: the scan, sensor frame; its memory stays valid while the call runs
 * @time: instant that the pose is of, nanoseconds, any epoch; -1: unknown (scans then count as
 *   evenly spaced)
 * @point_times: when each point was measured, if known …
 * @time_on_points: … and @time on the axis of @point_times, seconds
 * @deadline: a scan whose turn comes after this is not aligned (NDT_REASON_TOO_LATE); by
 *   g_get_monotonic_time(), microseconds; 0: none
 * @has_velocity: @velocity is given, and used where the localizer has none: of the body during the
 *   scan, a twist (m, rad) per second in its own frame
 * @has_prior: @prior is given: absolute, in the map
 * @has_prior_stddev: its standard deviations are given: @prior_stddev, as in NdtPoseSearch. They
 *   are used where there is no other prediction
 * @has_odometry: @odometry is given: a pose in a drifting frame; increments count. Poses that
 *   ndt_pose_normalize() refuses are ignored
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
 * @registration: pose, scores, covariance; where the scan could not be aligned (status SKIPPED or
 *   LOST) its pose is the prediction, by the scans before where a prior or odometry could not be
 *   aligned, and scores are 0
 * @status: after this scan
 * @previous_status: before it
 * @reason: why it is not TRACKING, if it is not …
 * @reason_value: … the number that led to it …
 * @reason_bound: … and what it is compared with, see NdtReason
 * @prediction: what the guess came from
 * @guess: where alignment started first, valid unless @prediction is NONE
 * @has_pose: @registration.pose is set
 * @fit: NVTL × matched ratio as a fraction of its expected value on this map (ndt_fit_expected());
 *   0 where the scan was not aligned …
 * @fit_bound: … and the least that it had to be
 * @overlap: matched ratio as a fraction of its usual value; 0 where the scan was not aligned
 * @innovation: metres from the prediction to the alignment
 * @sigma: largest standard deviation of the position, metres: it grows along open directions; 0
 *   where there is no pose …
 * @sigma_axis: … and the direction in the map, a unit vector
 * @n_open: directions of the position that the scan leaves open, where it was aligned …
 * @open: … unit vectors in the map
 * @has_confidence: @confidence is known …
 * @confidence: … the probability that the pose is right to 0.5 m and 2 degrees: ndt_confidence()
 * @rays: whether the scan can have been measured there, by its rays through the map; @rays.n is 0
 *   where it was not aligned, or the map is not in the host's memory
 * @n_skipped: consecutive scans up to this one that are not TRACKING
 * @relocalized: it is TRACKING after a scan that was not
 * @is_odometry_off: odometry has contradicted the motion, and is not used until a scan that leaves
 *   no direction open is where it leads …
 * @odometry_apart: … and by so many metres, of the scan with which that began; otherwise 0
 * @searched: the guess is what a search of the map has found
 * @is_searched_for: the map is searched in the background, or will be with this scan and others
 * @deskewed: motion was compensated
 * @upload_time: nanoseconds for setting the scan in the backend: filtering, copying, the begin of
 *   an upload …
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
  gboolean has_confidence;
  double confidence;
  NdtMapRays rays;
  guint n_open;
  double open[3][3];
  guint n_skipped;
  gboolean relocalized;
  gboolean is_odometry_off;
  double odometry_apart;
  gboolean searched;
  gboolean is_searched_for;
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
 * Localizes the scans of one stream: prediction, registration, decision, state. Does not own its
 * backend. Not thread-safe: a localizer and its backend are used by one thread at a time.
 */
typedef struct _NdtLocalizer NdtLocalizer;

NdtLocalizer *ndt_localizer_new (NdtBackend *backend);
void ndt_localizer_free (NdtLocalizer *localizer);
/* Sets another backend from the next scan on, for a fall-back; the tracking state is kept. The
 * backend has to have its map. Before the one there was is closed. */
void ndt_localizer_set_backend (NdtLocalizer *localizer, NdtBackend *backend);
/* Sets the parameters from the next scan on. */
gboolean ndt_localizer_set_params (
    NdtLocalizer *localizer, const NdtLocalizerParams *params, GError **error);
/* The next scan that can be aligned is searched for from this pose (NDT_SEARCH_FAR, or around it:
 * NdtLocalizerParams.start), in any state, and from its prior; the better score is the result.
 * FALSE, and nothing changes, where ndt_pose_normalize() refuses the pose. */
gboolean ndt_localizer_set_initial_pose (NdtLocalizer *localizer, const NdtPose *pose);
/* Whether scans go on while the map is searched until the result is there, rather than wait for it
 * at a scan that does not depend on timing, which is the default: poses are reproducible then. */
void ndt_localizer_set_live (NdtLocalizer *localizer, gboolean is_live);
/* Any thread: whoever waits for a search returns with NDT_ERROR_CANCELLED, until it is called with
 * FALSE. */
void ndt_localizer_cancel (NdtLocalizer *localizer, gboolean cancelled);
/* As ndt_relocalizer_is_on_device() and ndt_relocalizer_take_failure(), of the searches in the
 * background. Any thread. */
gboolean ndt_localizer_searches_on_device (const NdtLocalizer *localizer);
GError *ndt_localizer_take_search_failure (NdtLocalizer *localizer);
/* Resets poses and averages, not parameters and backend. */
void ndt_localizer_reset (NdtLocalizer *localizer);
/* Resets averages, where scores are not comparable with those before. */
void ndt_localizer_forget_scores (NdtLocalizer *localizer);
/* The backend has another map: as ndt_localizer_forget_scores(), and gives up the search in the
 * background, whose result would be of the one before. Other tiles of a map are no other map: they
 * have its coordinates, and what was found in those before is checked by the scans that follow. */
void ndt_localizer_forget_map (NdtLocalizer *localizer);
/* The guess of @observation if it were the next scan, without what a search finds until then; the
 * identity with NDT_PREDICTION_NONE. */
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

/* Localizes several scans in one submission, with results bitwise as from ndt_localizer_process()
 * one by one. On FALSE the observations whose results have not been delivered had no effect.
 * n_observations 1 to NDT_MAX_SCANS. */
gboolean ndt_localizer_process_batch (NdtLocalizer *localizer, const NdtObservation *observations,
    guint n_observations, NdtLocalizationFunc func, gpointer user_data, GError **error);

const gchar *ndt_track_status_to_string (NdtTrackStatus status);
const gchar *ndt_reason_to_string (NdtReason reason);
const gchar *ndt_prediction_to_string (NdtPrediction prediction);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtLocalizer, ndt_localizer_free)

G_END_DECLS
