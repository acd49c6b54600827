/* SPDX-License-Identifier: MIT */
/* What a localizer looks for in the background: a scan that counts although it fits worse than
 * those before, and a stream that is lost. */
#include "ndtcore/track/ndt-localizer-step.h"
#include "localizer-stream.h"

/* Scan @i as the stream has it: aligned at the truth, in the middle of its motion. */
static void
make_step (NdtLocalizer *localizer, guint i, NdtObservation *o, NdtLocalizerStep *step)
{
  static const NdtScanFilter no_filter = NDT_SCAN_FILTER_NONE;
  *o = observe (i);
  memset (step, 0, sizeof (*step));
  step->observation = o;
  step->input.time = o->time;
  step->tried = TRUE;
  step->guess.prediction = NDT_PREDICTION_CONSTANT_VELOCITY;
  step->out.registration.pose = truths[i];
  step->out.registration.nvtl = 2;
  step->out.registration.matched_ratio = 0.9;
  g_assert_true (ndt_backend_set_scan (localizer->backend, 0, &o->points, &no_filter, NULL));
}

/* A stream that was accepted at scan 19. */
static NdtLocalizer *
make_localizer (NdtBackend *backend)
{
  NdtLocalizer *localizer = ndt_localizer_new (backend);
  const NdtTrackerInput input = {.time = observe (19).time};
  ndt_tracker_accept (&localizer->tracker, &input, &truths[19], 1);
  localizer->tracker.status = NDT_TRACK_TRACKING;
  return localizer;
}

static void
search (NdtLocalizer *localizer, const NdtLocalizerStep *step)
{
  GError *error = NULL;
  ndt_localizer_step_search (localizer, step, &error);
  g_assert_no_error (error);
}

/* Looks for a scan that counts, with the two after it. The body is @ahead at the scans' ends. */
static gboolean
is_elsewhere (NdtLocalizer *localizer, double ahead, double aside)
{
  GError *error = NULL;
  for (guint i = 0; i < NDT_RELOCALIZER_SCANS; i++) {
    NdtObservation o;
    NdtLocalizerStep step;
    const double delta[6] = {ahead * cos (0.04 * (20 + i)), ahead * sin (0.04 * (20 + i))};
    make_step (localizer, 20 + i, &o, &step);
    step.is_questioned = i == 0;
    step.input.has_odometry = TRUE;
    step.input.odometry = truths[20 + i];
    step.out.registration.pose.position[0] += aside;
    ndt_pose_retract (&truths[20 + i], delta, &localizer->tracker.pose);
    search (localizer, &step);
  }
  g_assert_cmpuint (ndt_relocalizer_count (localizer->relocalizer), ==, NDT_RELOCALIZER_SCANS);
  ndt_localizer_relocate (localizer, &error);
  g_assert_no_error (error);
  return localizer->is_found;
}

/* With motion compensation a scan is aligned in its middle, where a search finds it, and the stream
 * is at its end, half a scan's way on: no other place. */
static void
test_middle (void)
{
  static const double ahead[] = {1.5, 0}, aside[] = {0, 2};
  g_autoptr (NdtBackend) backend = open_backend (1);
  for (guint k = 0; k < 2; k++)
    for (guint m = 0; m < 2; m++) {
      g_autoptr (NdtLocalizer) localizer = make_localizer (backend);
      const gboolean found = is_elsewhere (localizer, ahead[k], aside[m]);
      g_assert_cmpint (found, ==, aside[m] > 0);
    }
}

/* Odometry that has contradicted the motion does not move scans of a search, nor what it finds. */
static void
test_odometry_off (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1);
  for (gint is_off = 0; is_off < 2; is_off++) {
    g_autoptr (NdtLocalizer) localizer = make_localizer (backend);
    localizer->tracker.is_odometry_off = is_off;
    g_assert_true (is_elsewhere (localizer, 0, 2));
    g_assert_cmpint (localizer->tracker.has_odometry, ==, !is_off);
  }
}

/* Along a road that was open a place far from where motion led is one of many that fit: it says so,
 * and one near to that does not. */
static void
test_road (void)
{
  static const double ahead[] = {50, 5};
  g_autoptr (NdtBackend) backend = open_backend (1);
  for (guint k = 0; k < 2; k++)
    for (gint n_open = 0; n_open < 2; n_open++) {
      g_autoptr (NdtLocalizer) localizer = make_localizer (backend);
      const NdtTracker *tracker = &localizer->tracker;
      double axis[3];
      ndt_drift_reset (&localizer->tracker.open_drift, 1);
      localizer->tracker.n_open = n_open;
      localizer->tracker.n_closed = 2 * n_open;
      g_assert_true (is_elsewhere (localizer, ahead[k], 2));
      /* Scans in another place do not tell that this one's direction is closed. */
      g_assert_cmpint (tracker->n_closed, ==, 0);
      g_assert_cmpint (tracker->is_from_far, ==, n_open && k == 0);
      const double sigma = ndt_drift_get_sigma (&tracker->open_drift, axis);
      g_assert_cmpfloat_with_epsilon (
          sigma, n_open ? hypot (1, ahead[k]) : NDT_LOCALIZER_NEW_PLACE, 0.2);
      /* A start is no place that a search has found. */
      const NdtTrackerInput input = {.time = observe (23).time};
      NdtTrackerGuess guess = {
          .prediction = NDT_PREDICTION_INITIAL, .far = TRUE, .pose = truths[23]};
      localizer->tracker.n_closed = 2;
      ndt_tracker_update (
          &localizer->tracker, &input, &guess, NDT_OUTCOME_ACCEPTED, &truths[23], 2, 0.9, 10);
      g_assert_false (tracker->is_from_far);
      g_assert_cmpint (tracker->n_closed, ==, 0);
    }
}

/* Scans in a row have to tell where along the road it is: one that does not fit is none of them.
 * One that could not be aligned says nothing. */
static void
test_road_misfit (void)
{
  static const NdtTrackerOutcome outcomes[] = {NDT_OUTCOME_FELL, NDT_OUTCOME_UNCERTAIN,
      NDT_OUTCOME_REJECTED, NDT_OUTCOME_NO_POSE, NDT_OUTCOME_NOT_ALIGNED};
  g_autoptr (NdtBackend) backend = open_backend (1);
  for (guint i = 0; i < G_N_ELEMENTS (outcomes); i++) {
    g_autoptr (NdtLocalizer) localizer = make_localizer (backend);
    NdtTracker *tracker = &localizer->tracker;
    const NdtTrackerInput input = {.time = observe (20).time};
    NdtTrackerGuess guess;
    tracker->n_open = 5;
    tracker->n_closed = 2;
    ndt_tracker_predict (tracker, &input, &guess);
    ndt_tracker_update (tracker, &input, &guess, outcomes[i], &truths[20], 2, 0.9, 10);
    g_assert_cmpint (tracker->n_closed, ==, outcomes[i] <= NDT_OUTCOME_REJECTED ? 0 : 2);
  }
}

/* What could not be aligned is no evidence that the stream's place fits worse than another one. */
static void
test_no_evidence (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1);
  for (guint k = 0; k < 3; k++) {
    g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
    ndt_localizer_set_initial_pose (localizer, &truths[0]);
    for (guint i = 0; i < 5; i++) {
      const NdtObservation o = observe (i);
      const NdtLocalization l = process (localizer, &o);
      assert_tracks (&l, &truths[i]);
    }
    const double quality = localizer->quality;
    g_assert_cmpfloat (quality, >, 0);
    NdtObservation o = observe (5);
    g_autofree float *far = g_memdup2 (scans[5], 12 * N_POINTS);
    for (guint i = 0; i < N_POINTS; i++)
      far[3 * i + 2] += 1000;
    if (k == 0)
      o.deadline = 1; /* too late */
    else if (k == 1)
      o.points.n_points = 0;
    else
      o.points = ndt_cloud_view_xyz_f32 (far, N_POINTS);
    process (localizer, &o);
    g_assert_cmpfloat (localizer->quality, ==, quality);
  }
}

/* Searches around scans that counted, and found nothing, are no failures on the map: the stream is
 * looked for with its first scan that does not fit. */
static void
test_no_delay (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = make_localizer (backend);
  NdtObservation o;
  NdtLocalizerStep step;
  for (guint questioned = 0; questioned < 2; questioned++) {
    localizer->is_questioned = questioned > 0;
    localizer->n_failed = 4;
    localizer->rest = 2.4;
    localizer->last_time = -1;
    localizer->has_failure = TRUE;
    make_step (localizer, 20, &o, &step);
    step.reason = NDT_REASON_BAD_FIT;
    localizer->tracker.status = NDT_TRACK_DEGRADED;
    search (localizer, &step);
    g_assert_cmpuint (ndt_relocalizer_count (localizer->relocalizer), ==, questioned);
    g_assert_cmpfloat_with_epsilon (localizer->rest, questioned ? 0 : 2.3, 1e-12);
    g_assert_cmpint (localizer->has_failure, ==, !questioned);
  }
}

/* What fits where nothing led, as a scan of a start that did not fit does elsewhere, is looked for
 * at once: the search on the whole map alone can find it. */
static void
test_elsewhere (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = make_localizer (backend);
  NdtObservation o;
  NdtLocalizerStep step;
  make_step (localizer, 20, &o, &step);
  step.reason = NDT_REASON_IMPLAUSIBLE_MOTION;
  localizer->tracker.status = NDT_TRACK_DEGRADED;
  search (localizer, &step);
  g_assert_cmpuint (ndt_relocalizer_count (localizer->relocalizer), ==, 1);
}

/* Searches rest for a time of the stream, whatever its rate. */
static void
test_rest (void)
{
  static const guint ms[] = {100, 400, 1000}, n_resting[] = {6, 2, 1};
  g_autoptr (NdtBackend) backend = open_backend (1);
  for (guint k = 0; k < G_N_ELEMENTS (ms); k++) {
    g_autoptr (NdtLocalizer) localizer = make_localizer (backend);
    guint n = 0;
    localizer->n_failed = 2;
    localizer->rest = 0.6;
    localizer->last_time = 0;
    while (ndt_relocalizer_count (localizer->relocalizer) == 0) {
      NdtObservation o;
      NdtLocalizerStep step;
      make_step (localizer, 20, &o, &step);
      step.input.time = ms[k] * ++n * MS;
      step.reason = NDT_REASON_BAD_FIT;
      localizer->tracker.status = NDT_TRACK_LOST;
      search (localizer, &step);
    }
    g_assert_cmpuint (n, ==, n_resting[k] + 1);
  }
}

/* The time of scans that cannot be searched for counts as that of others. */
static void
test_rest_without_scans (void)
{
  static const NdtReason reasons[] = {
      NDT_REASON_BAD_FIT, NDT_REASON_TOO_LATE, NDT_REASON_TOO_FEW_POINTS, NDT_REASON_NONE};
  g_autoptr (NdtBackend) backend = open_backend (1);
  for (guint k = 0; k < G_N_ELEMENTS (reasons); k++) {
    g_autoptr (NdtLocalizer) localizer = make_localizer (backend);
    g_assert_cmpint (localizer->last_time, ==, -1);
    localizer->rest = 0.6;
    localizer->last_time = 0;
    guint n = 0;
    while (ndt_relocalizer_count (localizer->relocalizer) == 0) {
      NdtObservation o;
      NdtLocalizerStep step;
      make_step (localizer, 20, &o, &step);
      step.input.time = 100 * ++n * MS;
      const gboolean is_such = n > 1 && n < 6;
      step.reason = is_such ? reasons[k] : NDT_REASON_BAD_FIT;
      /* A road that is open, and a scan that is not tracking, but fits. */
      const gboolean fits = step.reason == NDT_REASON_NONE;
      localizer->tracker.status = fits ? NDT_TRACK_DEGRADED : NDT_TRACK_LOST;
      localizer->tracker.n_unconfirmed = fits ? 1 : 0;
      if (step.reason == NDT_REASON_TOO_FEW_POINTS) {
        static const NdtScanFilter no_filter = NDT_SCAN_FILTER_NONE;
        o.points.n_points = 2;
        g_assert_true (ndt_backend_set_scan (backend, 0, &o.points, &no_filter, NULL));
      }
      search (localizer, &step);
    }
    g_assert_cmpuint (n, ==, 7);
  }
}

/* A start that did not fit is searched around where it has an uncertainty, and else not at all:
 * a place in its neighbourhood may have rivals in the rest of the map. Nor does time take it
 * further away than it may be off. */
static void
test_area_of_start (void)
{
  const NdtPose start = {{100, -50, 2}, {0, 0, 0, 1}};
  const NdtTrackerInput input = {.time = 0}, next = {.time = 100 * MS}, later = {.time = 1400 * MS};
  NdtTracker tracker;
  NdtPose around, off = start;
  double stddev[6];
  for (guint wide = 0; wide < 2; wide++) {
    NdtTrackerGuess guess;
    ndt_tracker_reset (&tracker);
    tracker.has_initial = 1;
    tracker.initial = start;
    for (guint k = 0; k < 2; k++)
      tracker.initial_stddev[k] = wide ? 5 : 0;
    off.position[0] = 103;
    ndt_tracker_predict (&tracker, &input, &guess);
    ndt_tracker_update (&tracker, &input, &guess, NDT_OUTCOME_REJECTED, &off, 2, 0.9, 3);
    g_assert_false (tracker.anchor.is_accepted);
    off.position[0] = 102.9;
    g_assert_true (ndt_tracker_reaches (&tracker, &later, &off));
    off.position[0] = 103.1;
    g_assert_false (ndt_tracker_reaches (&tracker, &later, &off));
    g_assert_cmpint (ndt_tracker_get_area (&tracker, &next, &around, stddev), ==, wide);
    if (wide) {
      g_assert_cmpfloat (around.position[0], ==, 100);
      g_assert_cmpfloat (stddev[0], ==, 5);
    }
  }
  /* Of a stream that tracked it is around its last pose. */
  ndt_tracker_accept (&tracker, &input, &start, 1);
  g_assert_cmpint (ndt_tracker_get_area (&tracker, &next, &around, stddev), ==, 1);
}

/* A prior that leads where motion does contradicts nothing: scans of a stream in trouble take no
 * more passes with it, but for those of starts. */
static void
test_priors (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  g_autofree float *elsewhere = g_new (float, 3 * N_POINTS);
  NdtLocalizerParams params;
  ndt_localizer_params_init (&params);
  for (guint k = 0; k < N_POINTS; k++) {
    elsewhere[3 * k] = 3 * (float)sin (1.7 * k);
    elsewhere[3 * k + 1] = 3 * (float)cos (2.3 * k);
    elsewhere[3 * k + 2] = 0.3f * (float)(k % 7) - 1;
  }
  for (guint i = 0; i < 30; i++) {
    NdtObservation o = observe (i);
    const gboolean is_tracking = i < 3, is_lost = localizer->tracker.status == NDT_TRACK_LOST;
    o.has_prior = TRUE;
    o.prior = truths[i];
    if (!is_tracking)
      o.points = ndt_cloud_view_xyz_f32 (elsewhere, N_POINTS);
    const NdtLocalization l = process (localizer, &o);
    g_assert_cmpint (l.status == NDT_TRACK_TRACKING, ==, is_tracking);
    if (!is_tracking && !is_lost)
      g_assert_cmpfloat (l.registration.passes, <=, params.max_search_passes + 1);
  }
}

/* Of each ring of a scan whose points come column by column about as many points are taken, in
 * whatever groups. */
static void
test_rings (void)
{
  static const guint rings[] = {16, 20, 32, 40, 48, 63, 64, 70, 80, 96, 128, 210};
  for (gsize size = 1; size <= 16; size++) {
    for (guint k = 0; k < G_N_ELEMENTS (rings); k++) {
      const gsize n_columns = 2048, n = rings[k] * n_columns / size;
      g_autofree guint *taken = g_new0 (guint, rings[k]);
      for (gsize i = 0; i < n; i++) {
        const gsize at = ndt_localizer_pick_point (i, size);
        g_assert_cmpuint (at / size, ==, i);
        taken[at % rings[k]]++;
      }
      for (guint ring = 0; ring < rings[k]; ring++) {
        g_assert_cmpuint (taken[ring], >=, n_columns / size / 2);
        g_assert_cmpuint (taken[ring], <=, n_columns / size * 2);
      }
    }
  }
}

/* What was searched for in one map says nothing of another one: with the result of the first scans
 * the fourth would be localized. */
static void
test_other_map (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  for (guint changes = 0; changes < 2; changes++) {
    ndt_localizer_reset (localizer);
    for (guint i = 0; i <= NDT_RELOCALIZER_SCANS; i++) {
      const NdtObservation o = observe (i);
      if (i == NDT_RELOCALIZER_SCANS && changes)
        ndt_localizer_forget_map (localizer);
      const NdtLocalization l = process (localizer, &o);
      const gboolean is_found = i == NDT_RELOCALIZER_SCANS && !changes;
      g_assert_cmpuint (l.status, ==, is_found ? NDT_TRACK_TRACKING : NDT_TRACK_INITIALIZING);
      g_assert_cmpint (l.is_searched_for, ==, !is_found);
    }
    g_assert_cmpuint (ndt_relocalizer_count (localizer->relocalizer), ==, changes);
  }
}

/* Scans fit where the body is, which is too far from the start: the search that confirms it begins
 * with the first of them. */
static void
test_start_aside (void)
{
  static const double aside[6] = {3.6, 0, 0, 0, 0, 0};
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  NdtPose start;
  ndt_pose_retract (&truths[0], aside, &start);
  g_assert_true (ndt_localizer_set_initial_pose (localizer, &start));
  for (guint i = 0; i <= NDT_RELOCALIZER_SCANS; i++) {
    const NdtObservation o = observe (i);
    const NdtLocalization l = process (localizer, &o);
    if (i == 0) {
      double metres;
      ndt_pose_difference (&l.registration.pose, &truths[0], &metres, NULL);
      g_assert_cmpfloat (metres, <, 0.05);
      g_assert_cmpuint (l.reason, ==, NDT_REASON_IMPLAUSIBLE_MOTION);
      /* Of the start, not of motion. */
      g_assert_cmpfloat_with_epsilon (l.reason_value, aside[0], 0.05);
    }
    if (i == NDT_RELOCALIZER_SCANS)
      assert_tracks (&l, &truths[i]);
  }
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  make_stream ();
  g_test_add_func ("/localizer-search/middle", test_middle);
  g_test_add_func ("/localizer-search/odometry-off", test_odometry_off);
  g_test_add_func ("/localizer-search/road", test_road);
  g_test_add_func ("/localizer-search/road-misfit", test_road_misfit);
  g_test_add_func ("/localizer-search/no-evidence", test_no_evidence);
  g_test_add_func ("/localizer-search/no-delay", test_no_delay);
  g_test_add_func ("/localizer-search/elsewhere", test_elsewhere);
  g_test_add_func ("/localizer-search/rest", test_rest);
  g_test_add_func ("/localizer-search/rest-without-scans", test_rest_without_scans);
  g_test_add_func ("/localizer-search/area-of-start", test_area_of_start);
  g_test_add_func ("/localizer-search/priors", test_priors);
  g_test_add_func ("/localizer-search/rings", test_rings);
  g_test_add_func ("/localizer-search/other-map", test_other_map);
  g_test_add_func ("/localizer-search/start-aside", test_start_aside);
  const int result = g_test_run ();
  free_stream ();
  return result;
}
