/* SPDX-License-Identifier: MIT */
#include "ndtcore/track/ndt-tracker.h"

#include <glib.h>

#include "ndtcore/track/ndt-localizer.h"
#include "tests/ndt-scene.h"

#define MS G_GINT64_CONSTANT (1000000)

static const NdtPose start = {{100, -50, 2}, {0, 0, 0, 1}};

/* Where constant body velocity leads from start in s seconds: 10 m/s in a bend, climbing. */
static NdtPose
drive (double s)
{
  const double twist[6] = {10 * s, 0, 0.5 * s, 0.02 * s, 0, 0.6 * s};
  const NdtPose step = ndt_pose_from_twist (twist);
  return ndt_pose_mul (&start, &step);
}

static void
assert_pose (const NdtPose *a, const NdtPose *b)
{
  double m, r;
  ndt_pose_difference (a, b, &m, &r);
  if (!(m < 1e-9 && r < 1e-9))
    g_error ("poses differ by %g m and %g rad", m, r);
}

static NdtTrackerGuess
predict (const NdtTracker *tracker, const NdtTrackerInput *input)
{
  NdtTrackerGuess guess;
  ndt_tracker_predict (tracker, input, &guess);
  return guess;
}

/* One scan; pose: what the alignment finds. */
static NdtTrackerGuess
step (NdtTracker *tracker, const NdtTrackerInput *input, NdtTrackerOutcome outcome,
    const NdtPose *pose)
{
  const NdtTrackerGuess guess = predict (tracker, input);
  ndt_tracker_update (tracker, input, &guess, outcome, pose, 2, 0.9, 3);
  return guess;
}

static NdtTracker
start_tracking (gint64 time)
{
  NdtTracker tracker;
  const NdtTrackerInput input = {.time = time, .has_prior = 1, .prior = start};
  ndt_tracker_reset (&tracker);
  step (&tracker, &input, NDT_OUTCOME_ACCEPTED, &start);
  g_assert_cmpint (tracker.status, ==, NDT_TRACK_TRACKING);
  return tracker;
}

static void
test_nothing (void)
{
  NdtTracker tracker;
  const NdtTrackerInput input = {.time = 0, .has_odometry = 1, .odometry = start};
  ndt_tracker_reset (&tracker);
  for (guint i = 0; i < 20; i++) {
    /* Odometry alone places nothing on the map. */
    const NdtTrackerGuess guess = step (&tracker, &input, NDT_OUTCOME_NOT_ALIGNED, &start);
    g_assert_cmpint (guess.prediction, ==, NDT_PREDICTION_NONE);
    g_assert_cmpint (tracker.status, ==, NDT_TRACK_INITIALIZING);
    g_assert_false (tracker.has_pose);
  }
}

/* Constant velocity is exact on a screw, whatever the times between scans, up to a second. */
static void
test_constant_velocity (void)
{
  static const gint64 times[] = {0, 100, 200, 250, 400, 1000, 1020, 1100, 2100, 2150};
  NdtTracker tracker = start_tracking (0);
  for (guint i = 1; i < G_N_ELEMENTS (times); i++) {
    const NdtTrackerInput input = {.time = times[i] * MS};
    const NdtPose truth = drive ((double)times[i] / 1000);
    const NdtTrackerGuess guess = step (&tracker, &input, NDT_OUTCOME_ACCEPTED, &truth);
    g_assert_cmpint (guess.prediction, ==, NDT_PREDICTION_CONSTANT_VELOCITY);
    /* No velocity at first: it stands, or is somewhere else. */
    g_assert_cmpint (guess.far, ==, i == 1);
    assert_pose (&guess.pose, i == 1 ? &start : &truth);
  }
}

/* Without times scans count as evenly spaced, those that were skipped too. */
static void
test_without_times (void)
{
  NdtTracker tracker = start_tracking (-1);
  const NdtTrackerInput input = {.time = -1};
  for (guint i = 1; i < 12; i++) {
    const NdtPose truth = drive (0.1 * i);
    const gboolean skip = i == 4 || i == 7 || i == 8;
    const NdtTrackerGuess guess =
        step (&tracker, &input, skip ? NDT_OUTCOME_NOT_ALIGNED : NDT_OUTCOME_ACCEPTED, &truth);
    assert_pose (&guess.pose, i == 1 ? &start : &truth);
  }
}

/* Skipped scans with times: prediction goes on from the prediction. */
static void
test_skipped (void)
{
  static const NdtTrackerOutcome outcomes[] = {NDT_OUTCOME_NOT_ALIGNED, NDT_OUTCOME_NO_POSE};
  for (guint o = 0; o < 2; o++) {
    NdtTracker tracker = start_tracking (0);
    for (guint i = 1; i < 12; i++) {
      const gint64 ms = 100 * i + 10 * (i % 3);
      const NdtTrackerInput input = {.time = ms * MS};
      const NdtPose truth = drive ((double)ms / 1000);
      const gboolean skip = i == 4 || i == 7 || i == 8;
      const NdtTrackerGuess guess =
          step (&tracker, &input, skip ? outcomes[o] : NDT_OUTCOME_ACCEPTED, &truth);
      assert_pose (&guess.pose, i == 1 ? &start : &truth);
      g_assert_cmpint (tracker.status, ==, skip ? NDT_TRACK_SKIPPED : NDT_TRACK_TRACKING);
      g_assert_cmpint (tracker.n_skipped, ==, skip ? (i == 8 ? 2 : 1) : 0);
    }
  }
}

/* A clock that stands, runs backwards or is unknown once: one step as the last. */
static void
test_bad_clock (void)
{
  static const gint64 bad[] = {200, 150, 0, -1};
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++) {
    NdtTracker tracker = start_tracking (0);
    for (guint k = 1; k <= 2; k++) {
      const NdtTrackerInput input = {.time = 100 * k * MS};
      const NdtPose truth = drive (0.1 * k);
      step (&tracker, &input, NDT_OUTCOME_ACCEPTED, &truth);
    }
    const NdtTrackerInput input = {.time = bad[i] < 0 ? -1 : bad[i] * MS};
    const NdtPose expected = drive (0.3);
    NdtTrackerGuess guess = predict (&tracker, &input);
    assert_pose (&guess.pose, &expected);
    ndt_tracker_update (&tracker, &input, &guess, NDT_OUTCOME_ACCEPTED, &expected, 2, 0.9, 3);
    /* It recovers with the clock: one velocity from a bad stamp, 6 m/s too slow, and some scans
     * that are not believed after it. */
    for (guint k = 4; k <= 9; k++) {
      const NdtTrackerInput next = {.time = 100 * k * MS};
      const NdtPose truth = drive (0.1 * k);
      guess = step (&tracker, &next, NDT_OUTCOME_ACCEPTED, &truth);
    }
    const NdtPose last = drive (0.9);
    assert_pose (&guess.pose, &last);
  }
}

/* Stamps that are 80 ms late lead no farther astray than by the way in that time, once it has
 * started; without the limit it is 4 m. */
static void
test_late_stamps (void)
{
  for (guint first = 0; first < 2; first++) {
    NdtTracker tracker = start_tracking (0);
    for (guint i = 1; i <= 40; i++) {
      const NdtTrackerInput input = {.time = (100 * i + (i % 2 == first ? 80 : 0)) * MS};
      const NdtPose truth = drive (0.1 * i);
      const NdtTrackerGuess guess = step (&tracker, &input, NDT_OUTCOME_ACCEPTED, &truth);
      double metres;
      ndt_pose_difference (&guess.pose, &truth, &metres, NULL);
      if (i > 3)
        g_assert_cmpfloat (metres, <, 1);
    }
  }
}

/* What a body can do is followed at once: 2 g, and 40 rad/s² to and fro. */
static void
test_acceleration (void)
{
  NdtTracker tracker = start_tracking (0);
  NdtPose at = start;
  double twist[6] = {0};
  for (guint i = 1; i <= 20; i++) {
    const NdtTrackerInput input = {.time = 100 * i * MS};
    twist[0] += 2 * 0.1;
    twist[5] = i % 2 ? 0.2 : -0.2;
    const NdtPose move = ndt_pose_from_twist (twist);
    at = ndt_pose_mul (&at, &move);
    step (&tracker, &input, NDT_OUTCOME_ACCEPTED, &at);
    for (guint k = 0; k < 6; k++)
      g_assert_cmpfloat_with_epsilon (tracker.velocity[k], twist[k], 1e-9);
  }
}

static void
test_odometry (void)
{
  /* Odometry starts anywhere, turned; only increments count. */
  const NdtPose frame = {{-7, 8, 9}, {0.5, 0.5, -0.5, 0.5}};
  NdtTracker tracker = start_tracking (0);
  gint expected = NDT_PREDICTION_CONSTANT_VELOCITY; /* the first scan had none */
  NdtPose at = start;
  for (guint i = 1; i < 14; i++) {
    /* A path that constant velocity does not know, of a body that can drive it. */
    const double twist[6] = {1 + 0.3 * (i % 3), 0.2, 0, 0, 0, 0.3 * (i % 2)};
    const NdtPose increment = ndt_pose_from_twist (twist);
    at = ndt_pose_mul (&at, &increment);
    const gboolean missing = i == 6;
    const NdtTrackerInput input = {
        .time = 100 * i * MS, .has_odometry = !missing, .odometry = ndt_pose_mul (&frame, &at)};
    const gboolean skip = i == 9 || i == 10;
    const NdtTrackerGuess guess =
        step (&tracker, &input, skip ? NDT_OUTCOME_NO_POSE : NDT_OUTCOME_ACCEPTED, &at);
    g_assert_cmpint (guess.prediction, ==, missing ? NDT_PREDICTION_CONSTANT_VELOCITY : expected);
    if (guess.prediction == NDT_PREDICTION_ODOMETRY)
      assert_pose (&guess.pose, &at);
    expected = missing ? NDT_PREDICTION_CONSTANT_VELOCITY : NDT_PREDICTION_ODOMETRY;
  }
}

static gboolean
has_other (const NdtTrackerGuess *guess, const NdtPose *pose)
{
  for (gint i = 0; i < guess->n_others; i++) {
    double m, r;
    ndt_pose_difference (&guess->others[i], pose, &m, &r);
    if (m < 1e-9 && r < 1e-9)
      return TRUE;
  }
  return FALSE;
}

static NdtPose
beside (const NdtPose *pose, double metres)
{
  NdtPose moved = *pose;
  moved.position[1] += metres;
  return moved;
}

/* An initial pose before a prior before odometry before velocity. */
static void
test_precedence (void)
{
  const NdtPose initial = {{4, 5, 6}, {0, 1, 0, 0}};
  NdtTracker tracker = start_tracking (0);
  NdtTrackerInput input = {.time = 100 * MS, .has_odometry = 1, .odometry = start};
  const NdtPose truth = drive (0.1), next = drive (0.2), near = beside (&next, 1.5);
  step (&tracker, &input, NDT_OUTCOME_ACCEPTED, &truth);
  input.time = 200 * MS;
  input.has_prior = 1;
  input.prior = near;

  NdtTrackerGuess guess = predict (&tracker, &input);
  g_assert_cmpint (guess.prediction, ==, NDT_PREDICTION_PRIOR);
  g_assert_false (guess.far); /* tracking: a prior near by is as good as a prediction */
  assert_pose (&guess.pose, &near);
  g_assert_true (has_other (&guess, &next) && has_other (&guess, &truth));

  /* One that is not what the stream does: that may be right as well. */
  input.prior = beside (&next, 5);
  guess = predict (&tracker, &input);
  g_assert_cmpint (guess.prediction, ==, NDT_PREDICTION_PRIOR);
  g_assert_true (guess.far);
  assert_pose (&guess.pose, &input.prior);
  g_assert_true (has_other (&guess, &next) && has_other (&guess, &truth));

  /* Set by hand: what the stream does is no matter, but a prior is looked at. */
  tracker.has_initial = 1;
  tracker.initial = initial;
  guess = predict (&tracker, &input);
  g_assert_cmpint (guess.prediction, ==, NDT_PREDICTION_INITIAL);
  g_assert_true (guess.far);
  assert_pose (&guess.pose, &initial);
  g_assert_cmpint (guess.n_others, ==, 1);
  g_assert_true (has_other (&guess, &input.prior));
  tracker.has_initial = 0;

  input.has_prior = 0;
  input.odometry = beside (&start, 0.55);
  input.odometry.position[0] += 0.7;
  guess = predict (&tracker, &input);
  g_assert_cmpint (guess.prediction, ==, NDT_PREDICTION_ODOMETRY);
  g_assert_false (guess.far);
  g_assert_true (has_other (&guess, &next));
  /* No body does that. */
  input.odometry = beside (&start, 10);
  guess = predict (&tracker, &input);
  g_assert_cmpint (guess.prediction, ==, NDT_PREDICTION_CONSTANT_VELOCITY);
  g_assert_true (guess.contradicts);
  assert_pose (&guess.pose, &next);
  g_assert_true (has_other (&guess, &guess.odometry));
  input.has_odometry = 0;
  g_assert_cmpint (predict (&tracker, &input).prediction, ==, NDT_PREDICTION_CONSTANT_VELOCITY);
}

/* Ten scans on the way. */
static NdtTracker
drive_ten (void)
{
  NdtTracker tracker = start_tracking (0);
  for (guint i = 1; i < 10; i++) {
    const NdtTrackerInput input = {.time = 100 * i * MS};
    const NdtPose truth = drive (0.1 * i);
    step (&tracker, &input, NDT_OUTCOME_ACCEPTED, &truth);
  }
  return tracker;
}

/* A prior or odometry that leads nowhere moves the stream nowhere. */
static void
test_bad_guess (void)
{
  static const NdtTrackerOutcome outcomes[] = {NDT_OUTCOME_NO_POSE, NDT_OUTCOME_NOT_ALIGNED};
  for (guint o = 0; o < 2; o++)
    for (guint odometry = 0; odometry < 2; odometry++) {
      NdtTracker tracker = drive_ten ();
      NdtTrackerInput input = {.time = 900 * MS, .has_odometry = 1, .odometry = start};
      const NdtPose at = drive (0.9), next = drive (1), last = drive (1.1);
      tracker.has_odometry = 1;
      tracker.odometry = start;
      assert_pose (&tracker.pose, &at);
      input.time = 1000 * MS;
      input.has_prior = !odometry;
      input.prior = beside (&next, 100);
      input.odometry = beside (&start, 500);
      step (&tracker, &input, outcomes[o], &input.prior);
      g_assert_cmpint (tracker.status, ==, NDT_TRACK_SKIPPED);
      assert_pose (&tracker.pose, &next);
      input.time = 1100 * MS;
      input.has_prior = 0;
      input.has_odometry = 0;
      const NdtTrackerGuess guess = predict (&tracker, &input);
      assert_pose (&guess.pose, &last);
    }
}

/* Nobody knows where a body is that was not seen for longer than a second: it stands, or has gone
 * on. */
static void
test_pause (void)
{
  const gint64 pauses[] = {1000, 1001, 3000, 20000};
  for (guint p = 0; p < G_N_ELEMENTS (pauses); p++) {
    const NdtTracker tracker = drive_ten ();
    const NdtTrackerInput input = {.time = (900 + pauses[p]) * MS};
    const NdtTrackerGuess guess = predict (&tracker, &input);
    const NdtPose at = drive (0.9), on = drive (0.9 + 1e-3 * (double)pauses[p]);
    g_assert_cmpint (guess.far, ==, p > 0);
    assert_pose (&guess.pose, p > 0 ? &at : &on);
    g_assert_cmpint (guess.n_others, ==, p < 3);
    if (p < 3)
      assert_pose (&guess.others[0], p > 0 ? &on : &at);
  }
}

/* No velocity across a jump, nor is it taken over it. */
static void
test_jump (void)
{
  NdtTracker tracker = drive_ten ();
  const NdtPose there = {{300, 0, 0}, {0, 0, 0, 1}};
  NdtTrackerInput input = {.time = 1000 * MS, .has_prior = 1, .prior = there};
  step (&tracker, &input, NDT_OUTCOME_ACCEPTED, &there);
  input.time = 1100 * MS;
  input.has_prior = 0;
  const NdtTrackerGuess guess = predict (&tracker, &input);
  assert_pose (&guess.pose, &there);
  g_assert_true (guess.far);
}

/* A start has as many tries as a stream that tracked, however long it has waited. */
static void
test_start_after_waiting (void)
{
  for (guint by_prior = 0; by_prior < 2; by_prior++) {
    NdtTracker tracker;
    NdtTrackerInput input = {.time = 0};
    ndt_tracker_reset (&tracker);
    for (guint i = 0; i < 60; i++)
      step (&tracker, &input, NDT_OUTCOME_NOT_ALIGNED, &start);
    tracker.has_initial = !by_prior;
    tracker.initial = start;
    input.has_prior = (int32_t)by_prior;
    input.prior = start;
    for (guint i = 1; i <= 4; i++) {
      step (&tracker, &input, NDT_OUTCOME_REJECTED, &start);
      g_assert_cmpint (tracker.status, ==, i <= 3 ? NDT_TRACK_DEGRADED : NDT_TRACK_LOST);
      input.has_prior = 0;
    }
  }
}

/* Scans that score worse, yet lie where motion leads, do not make it lost; others do. */
static void
test_doubtful (void)
{
  for (guint jumps = 0; jumps < 2; jumps++) {
    NdtTracker tracker = drive_ten ();
    const double mean = tracker.mean_quality;
    for (guint i = 10; i < 30; i++) {
      const NdtTrackerInput input = {.time = 100 * i * MS};
      NdtPose truth = drive (0.1 * i);
      const NdtTrackerGuess guess = predict (&tracker, &input);
      if (jumps)
        truth = beside (&truth, 3);
      if (i < 13) {
        /* The mean is 1.8. Where motion leads they are no worse than the scan before. */
        g_assert_false (ndt_tracker_needs_search (&tracker, &guess, 0.8, &truth, 2, 0.82));
        g_assert_true (ndt_tracker_needs_search (&tracker, &guess, 0.8, &truth, 2, 0.6));
        g_assert_cmpint (
            ndt_tracker_needs_search (&tracker, &guess, 0.8, &truth, 2, 0.7), ==, i == 10 || jumps);
        g_assert_false (ndt_tracker_needs_search (&tracker, &guess, 0, &truth, 0, 0));
      }
      ndt_tracker_update (&tracker, &input, &guess, NDT_OUTCOME_FELL, &truth, 2, 0.7, 3);
      g_assert_cmpint (tracker.n_skipped, ==, (int32_t)i - 9);
      g_assert_cmpint (tracker.status, ==, jumps && i >= 13 ? NDT_TRACK_LOST : NDT_TRACK_DEGRADED);
      /* They do not lower what is asked for. */
      g_assert_cmpfloat (tracker.mean_quality, ==, mean);
      if (jumps && i == 13)
        break;
    }
  }
}

/* Once a second, constant velocity may be metres off; odometry is not: a wall that a scan is
 * aligned with there is not where the body went, and its score is not what the next ones are held
 * to. */
static void
test_doubtful_with_odometry (void)
{
  for (guint is_off = 0; is_off < 2; is_off++) {
    NdtTracker tracker = start_tracking (0);
    NdtTrackerInput input = {.has_odometry = 1};
    NdtPose truth;
    for (guint i = 1; i <= 3; i++) {
      input.time = 1000 * i * MS;
      input.odometry = truth = drive (i);
      step (&tracker, &input, NDT_OUTCOME_ACCEPTED, &truth);
    }
    const double level = tracker.level;
    input.time = 4000 * MS;
    truth = input.odometry = drive (4);
    const NdtPose pose = is_off ? beside (&truth, 3) : truth;
    const NdtTrackerGuess guess = predict (&tracker, &input);
    g_assert_cmpint (guess.prediction, ==, NDT_PREDICTION_ODOMETRY);
    g_assert_false (guess.far);
    g_assert_true (guess.coasts);
    ndt_tracker_update (&tracker, &input, &guess, NDT_OUTCOME_FELL, &pose, 0.7, 0.8, 3);
    g_assert_cmpint (tracker.in_gate, ==, !is_off);
    g_assert_cmpfloat_with_epsilon (tracker.level, is_off ? level : 0.56, 1e-12);
    g_assert_cmpint (tracker.scans_since_good, ==, is_off ? 1 : 0);

    /* Alone it may well have gone there. */
    tracker = start_tracking (0);
    input.has_odometry = 0;
    for (guint i = 1; i <= 3; i++) {
      input.time = 1000 * i * MS;
      truth = drive (i);
      step (&tracker, &input, NDT_OUTCOME_ACCEPTED, &truth);
    }
    input.time = 4000 * MS;
    step (&tracker, &input, NDT_OUTCOME_FELL, &pose);
    g_assert_true (tracker.in_gate);
  }
}

/* Once a second a body may have begun a turn, or gone aside, since the scan before, ten times a
 * second it has not; and with seconds between scans it is not everywhere for that. */
static void
test_slow_scans (void)
{
  static const double offs[][2] = {
      {0, 0.15}, {0.4, 0.15}, {0, 0.3}, {0.6, 0}, {4, 1.1}, {0, 1.3}, {6, 0}, {18, G_PI}};
  static const gint64 times[] = {100 * MS, 1000 * MS, 2000 * MS, 4000 * MS};
  for (guint n = 0; n < G_N_ELEMENTS (times); n++)
    for (guint k = 0; k < G_N_ELEMENTS (offs); k++) {
      NdtTracker tracker = start_tracking (0);
      NdtTrackerInput input = {0};
      NdtPose turned;
      const gint64 time = times[n];
      const double delta[6] = {0, offs[k][0], 0, 0, 0, offs[k][1]};
      for (guint i = 1; i <= 3; i++) {
        const NdtPose truth = drive (i);
        input.time = i * time;
        step (&tracker, &input, NDT_OUTCOME_ACCEPTED, &truth);
      }
      input.time = 4 * time;
      const NdtTrackerGuess guess = predict (&tracker, &input);
      g_assert_true (guess.coasts);
      ndt_pose_retract (&guess.own, delta, &turned);
      g_assert_cmpint (ndt_tracker_in_gate (&tracker, &guess, &turned), ==, k < (n == 0 ? 2 : 5));
    }
}

/* An initial pose waits while scans cannot be tried, and is used once. */
static void
test_initial_waits (void)
{
  static const NdtTrackerOutcome outcomes[] = {
      NDT_OUTCOME_ACCEPTED, NDT_OUTCOME_REJECTED, NDT_OUTCOME_NO_POSE};
  for (guint o = 0; o < G_N_ELEMENTS (outcomes); o++) {
    NdtTracker tracker;
    const NdtTrackerInput input = {.time = 0};
    ndt_tracker_reset (&tracker);
    tracker.has_initial = 1;
    tracker.initial = start;
    for (guint i = 0; i < 30; i++)
      g_assert_cmpint (step (&tracker, &input, NDT_OUTCOME_NOT_ALIGNED, &start).prediction, ==,
          NDT_PREDICTION_INITIAL);
    g_assert_cmpint (
        step (&tracker, &input, outcomes[o], &start).prediction, ==, NDT_PREDICTION_INITIAL);
    g_assert_cmpint (predict (&tracker, &input).prediction, !=, NDT_PREDICTION_INITIAL);
  }
}

/* Nor is a prior a pose before a scan is aligned from it: it waits for a scan that can be tried, or
 * until another one comes, for as long as others may be skipped. */
static void
test_prior_waits (void)
{
  for (guint again = 0; again < 2; again++) {
    NdtTracker tracker;
    NdtTrackerInput input = {.time = 0, .has_prior = 1, .prior = start};
    ndt_tracker_reset (&tracker);
    step (&tracker, &input, NDT_OUTCOME_NOT_ALIGNED, &start);
    g_assert_cmpint (tracker.status, ==, NDT_TRACK_SKIPPED);
    input.has_prior = (int32_t)again;
    input.prior = beside (&start, 5);
    for (guint i = 1; i < 3; i++) {
      const NdtTrackerGuess guess = step (&tracker, &input, NDT_OUTCOME_NOT_ALIGNED, &start);
      g_assert_cmpint (guess.prediction, ==, again ? NDT_PREDICTION_PRIOR : NDT_PREDICTION_INITIAL);
      g_assert_false (guess.has_own);
      g_assert_true (guess.far);
      assert_pose (&guess.pose, again ? &input.prior : &start);
      g_assert_cmpint (tracker.status, ==, NDT_TRACK_SKIPPED);
    }
    const NdtTracker before = tracker;
    step (&tracker, &input, NDT_OUTCOME_ACCEPTED, &start);
    g_assert_cmpint (tracker.status, ==, NDT_TRACK_TRACKING);
    g_assert_cmpint (tracker.n_tries, ==, 0);
    g_assert_cmpint (predict (&tracker, &input).has_own, ==, 1);
    tracker = before;
    step (&tracker, &input, NDT_OUTCOME_NOT_ALIGNED, &start);
    g_assert_cmpint (tracker.status, ==, NDT_TRACK_LOST);
    input.has_prior = 0;
    g_assert_cmpint (predict (&tracker, &input).prediction, ==, NDT_PREDICTION_NONE);
  }
}

/* What waits, or is tried again, goes where odometry goes, if it is known where that heads. */
static void
test_start_moves (void)
{
  static const NdtTrackerOutcome outcomes[] = {NDT_OUTCOME_NOT_ALIGNED, NDT_OUTCOME_UNCERTAIN};
  for (guint o = 0; o < G_N_ELEMENTS (outcomes); o++)
    for (guint known = 0; known < 2; known++) {
      NdtTracker tracker;
      NdtTrackerInput input = {.time = 0, .has_prior = 1, .prior = start, .has_odometry = 1};
      ndt_tracker_reset (&tracker);
      tracker.initial_stddev[5] = known ? 0.1 : 3;
      for (guint i = 0; i < 4; i++) {
        input.odometry = drive (0.1 * i);
        const NdtPose moved = drive (0.1 * i);
        const NdtTrackerGuess guess = step (&tracker, &input, outcomes[o], &start);
        assert_pose (&guess.pose, known ? &moved : &start);
        input.has_prior = 0;
      }
    }
}

static void
test_lost (void)
{
  NdtTracker tracker = start_tracking (0);
  const NdtPose back = {{500, 0, 0}, {0, 0, 0, 1}};
  for (guint i = 1; i <= 3; i++) {
    const NdtTrackerInput input = {.time = 100 * i * MS, .has_odometry = 1, .odometry = start};
    const NdtPose truth = drive (0.1 * i);
    step (&tracker, &input, NDT_OUTCOME_ACCEPTED, &truth);
  }
  /* Three may say that it is elsewhere, the fourth is one too many; scans that meet nothing say
   * nothing. */
  for (guint i = 4; i <= 10; i++) {
    const NdtTrackerInput input = {.time = 100 * i * MS, .has_odometry = 1, .odometry = start};
    step (&tracker, &input, i % 2 ? NDT_OUTCOME_NO_POSE : NDT_OUTCOME_REJECTED, &start);
    g_assert_cmpint (tracker.status, ==,
        i == 10 ? NDT_TRACK_LOST
        : i % 2 ? NDT_TRACK_SKIPPED
                : NDT_TRACK_DEGRADED);
  }
  /* It is looked for where odometry leads, from far; that alone does not end it. */
  for (guint i = 11; i <= 30; i++) {
    const NdtTrackerInput input = {.time = 100 * i * MS, .has_odometry = 1, .odometry = start};
    const NdtTrackerGuess guess = step (&tracker, &input, NDT_OUTCOME_NOT_ALIGNED, &start);
    g_assert_cmpint (guess.prediction, ==, NDT_PREDICTION_ODOMETRY);
    g_assert_true (guess.far && guess.is_lost);
    g_assert_cmpint (tracker.status, ==, NDT_TRACK_LOST);
  }
  /* A prior that does not fit leaves it lost; one that fits ends it, without velocity across. */
  NdtTrackerInput input = {.time = 4000 * MS, .has_prior = 1, .prior = back};
  g_assert_true (step (&tracker, &input, NDT_OUTCOME_NO_POSE, &back).far);
  g_assert_cmpint (tracker.status, ==, NDT_TRACK_LOST);
  step (&tracker, &input, NDT_OUTCOME_ACCEPTED, &back);
  g_assert_cmpint (tracker.status, ==, NDT_TRACK_TRACKING);
  g_assert_cmpint (tracker.n_skipped, ==, 0);
  input.time = 4100 * MS;
  input.has_prior = 0;
  const NdtTrackerGuess guess = predict (&tracker, &input);
  assert_pose (&guess.pose, &back);
}

/* The bounds of how many scans may be skipped. */
static void
test_max_skips (void)
{
  static const guint32 limits[] = {0, 1, G_MAXINT32, G_MAXUINT32};
  for (guint l = 0; l < G_N_ELEMENTS (limits); l++) {
    NdtTracker tracker = start_tracking (0);
    const NdtTrackerInput input = {.time = 100 * MS};
    for (guint i = 1; i <= 50; i++) {
      const NdtTrackerGuess guess = predict (&tracker, &input);
      ndt_tracker_update (
          &tracker, &input, &guess, NDT_OUTCOME_REJECTED, &start, 2, 0.9, limits[l]);
      g_assert_cmpint (tracker.status, ==, i > limits[l] ? NDT_TRACK_LOST : NDT_TRACK_DEGRADED);
    }
  }
}

/* A start that meets nothing is lost, not skipped. */
static void
test_failed_start (void)
{
  NdtTracker tracker;
  const NdtTrackerInput input = {.time = 0, .has_prior = 1, .prior = start};
  ndt_tracker_reset (&tracker);
  step (&tracker, &input, NDT_OUTCOME_NO_POSE, &start);
  g_assert_cmpint (tracker.status, ==, NDT_TRACK_LOST);
}

static void
test_dropped (void)
{
  NdtTracker tracker = start_tracking (0);
  const NdtTrackerInput input = {.time = -1};
  for (guint i = 0; i < 9; i++) {
    const NdtTrackerGuess guess = predict (&tracker, &input);
    ndt_tracker_update (&tracker, &input, &guess, NDT_OUTCOME_ACCEPTED, &start, 4, 0.5, 3);
  }
  /* Ten scans: (2 · 0.9 + 9 · 4 · 0.5) / 10. */
  NdtTrackerGuess guess = predict (&tracker, &input);
  g_assert_cmpfloat_with_epsilon (tracker.mean_quality, 1.98, 1e-12);
  const NdtPose elsewhere = beside (&start, 1);
  g_assert_false (ndt_tracker_dropped (&tracker, &guess, 0.5, &start, 2, 0.496));
  g_assert_true (ndt_tracker_dropped (&tracker, &guess, 0.5, &start, 2, 0.494));
  /* Half as far where it did not go where motion leads. */
  g_assert_false (ndt_tracker_dropped (&tracker, &guess, 0.5, &elsewhere, 2, 0.743));
  g_assert_true (ndt_tracker_dropped (&tracker, &guess, 0.5, &elsewhere, 2, 0.742));
  g_assert_false (ndt_tracker_dropped (&tracker, &guess, 0, &elsewhere, 0, 0));
  /* Bad scans do not lower the mean. */
  ndt_tracker_update (&tracker, &input, &guess, NDT_OUTCOME_REJECTED, &start, 0, 0, 3);
  g_assert_cmpfloat_with_epsilon (tracker.mean_quality, 1.98, 1e-12);
  /* A pose set by hand may lead to where scans score otherwise, and there begins another mean. */
  tracker.has_initial = 1;
  tracker.initial = start;
  guess = predict (&tracker, &input);
  g_assert_false (ndt_tracker_dropped (&tracker, &guess, 0.5, &start, 1, 0.5));
  ndt_tracker_update (&tracker, &input, &guess, NDT_OUTCOME_ACCEPTED, &start, 1, 0.5, 3);
  g_assert_cmpfloat_with_epsilon (tracker.mean_quality, 0.5, 1e-12);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/tracker/nothing", test_nothing);
  g_test_add_func ("/tracker/constant-velocity", test_constant_velocity);
  g_test_add_func ("/tracker/without-times", test_without_times);
  g_test_add_func ("/tracker/skipped", test_skipped);
  g_test_add_func ("/tracker/bad-clock", test_bad_clock);
  g_test_add_func ("/tracker/late-stamps", test_late_stamps);
  g_test_add_func ("/tracker/acceleration", test_acceleration);
  g_test_add_func ("/tracker/odometry", test_odometry);
  g_test_add_func ("/tracker/precedence", test_precedence);
  g_test_add_func ("/tracker/bad-guess", test_bad_guess);
  g_test_add_func ("/tracker/pause", test_pause);
  g_test_add_func ("/tracker/jump", test_jump);
  g_test_add_func ("/tracker/start-after-waiting", test_start_after_waiting);
  g_test_add_func ("/tracker/doubtful", test_doubtful);
  g_test_add_func ("/tracker/doubtful-with-odometry", test_doubtful_with_odometry);
  g_test_add_func ("/tracker/slow-scans", test_slow_scans);
  g_test_add_func ("/tracker/initial-waits", test_initial_waits);
  g_test_add_func ("/tracker/prior-waits", test_prior_waits);
  g_test_add_func ("/tracker/start-moves", test_start_moves);
  g_test_add_func ("/tracker/lost", test_lost);
  g_test_add_func ("/tracker/max-skips", test_max_skips);
  g_test_add_func ("/tracker/failed-start", test_failed_start);
  g_test_add_func ("/tracker/dropped", test_dropped);
  return g_test_run ();
}
