/* SPDX-License-Identifier: MIT */
/* Odometry that contradicts the motion: what it decides until a scan agrees with it. */
#include "ndtcore/track/ndt-tracker.h"

#include <glib.h>
#include <math.h>

#define MS G_GINT64_CONSTANT (1000000)

/* 10 m/s along x, a scan each 0.1 s. */
static NdtPose
drive (double scan)
{
  const NdtPose pose = {{scan, 0, 0}, {0, 0, 0, 1}};
  return pose;
}

static NdtTrackerInput
observe (guint scan, guint odometry)
{
  const NdtTrackerInput input = {
      .time = 100 * scan * MS, .has_odometry = 1, .odometry = drive (odometry)};
  return input;
}

static NdtTrackerGuess
predict (const NdtTracker *tracker, const NdtTrackerInput *input)
{
  NdtTrackerGuess guess;
  ndt_tracker_predict (tracker, input, &guess);
  return guess;
}

/* Ten scans that are TRACKING, with right odometry. */
static void
begin (NdtTracker *tracker)
{
  ndt_tracker_reset (tracker);
  for (guint i = 0; i < 10; i++) {
    NdtTrackerInput input = observe (i, i);
    const NdtPose pose = drive (i);
    input.has_prior = i == 0;
    input.prior = pose;
    const NdtTrackerGuess guess = predict (tracker, &input);
    ndt_tracker_update (tracker, &input, &guess, NDT_OUTCOME_ACCEPTED, &pose, 2, 0.9, 3);
    ndt_tracker_accept (tracker, &input, &pose, 1);
  }
  g_assert_cmpint (tracker->status, ==, NDT_TRACK_TRACKING);
}

/* It repeats its pose, or jumps, while the body goes on: constant velocity leads, and so it does
 * while odometry is known to be off. */
static void
test_contradiction (void)
{
  const double ways[] = {-1, 40, -0.2, 0.2};
  for (guint k = 0; k < G_N_ELEMENTS (ways); k++) {
    NdtTracker tracker;
    begin (&tracker);
    NdtTrackerInput input = observe (10, 10);
    input.odometry.position[0] += ways[k];
    const NdtTrackerGuess guess = predict (&tracker, &input);
    const gboolean contradicts = fabs (ways[k]) > 0.5;
    g_assert_cmpint (guess.contradicts, ==, contradicts);
    g_assert_cmpint (guess.prediction, ==,
        contradicts ? NDT_PREDICTION_CONSTANT_VELOCITY : NDT_PREDICTION_ODOMETRY);
    g_assert_cmpfloat_with_epsilon (guess.pose.position[0], contradicts ? 10 : 10 + ways[k], 1e-9);
    input = observe (10, 10);
    tracker.is_odometry_off = 1;
    g_assert_cmpint (predict (&tracker, &input).prediction, ==, NDT_PREDICTION_CONSTANT_VELOCITY);
  }
}

/* It stops while the body goes on: it says nothing of where that may be, and what it said at scans
 * accepted meanwhile is no beginning of an increment once it is right again. */
static void
test_reach (void)
{
  for (guint is_accepted = 0; is_accepted < 2; is_accepted++) {
    const double apart[3] = {-1, 0, 0};
    const NdtTrackerInput input = observe (50, 9);
    const NdtPose truth = drive (50), at = drive (10);
    NdtTracker tracker;
    NdtPose around;
    double stddev[6];
    begin (&tracker);
    g_assert_false (ndt_tracker_reaches (&tracker, &input, &truth));
    ndt_tracker_contradict (&tracker, apart, 0.1);
    if (is_accepted) {
      const NdtTrackerInput there = observe (10, 9);
      ndt_tracker_accept (&tracker, &there, &at, 1);
      tracker.is_odometry_off = 0;
    }
    tracker.n_open = 20;
    g_assert_true (ndt_tracker_reaches (&tracker, &input, &truth));
    g_assert_true (ndt_tracker_get_area (&tracker, &input, &around, stddev));
    g_assert_cmpfloat (around.position[0] + 3 * stddev[0], >, truth.position[0]);
  }
}

/* After a jump the place that it names, and those about it, need other scans to confirm them. */
static void
test_gate (void)
{
  const NdtTrackerInput input = observe (10, 109);
  const NdtPose there = drive (109), beyond = drive (123), truth = drive (10);
  NdtTracker tracker;
  begin (&tracker);
  const NdtTrackerGuess guess = predict (&tracker, &input);
  g_assert_true (guess.contradicts);
  g_assert_false (ndt_tracker_in_gate (&tracker, &guess, &there));
  g_assert_false (ndt_tracker_in_gate (&tracker, &guess, &beyond));
  g_assert_true (ndt_tracker_in_gate (&tracker, &guess, &truth));
}

/* Once the velocity is discarded, or the stream is lost, it is one of several guesses. */
static void
test_discarded (void)
{
  const double apart[3] = {1, 0, 0};
  NdtTracker tracker;
  begin (&tracker);
  ndt_tracker_contradict (&tracker, apart, 0.1);
  for (guint i = 10; i < 16; i++) {
    const NdtTrackerInput input = observe (i, 4 * i);
    const NdtPose pose = tracker.pose;
    const NdtTrackerGuess guess = predict (&tracker, &input);
    gboolean has_odometry = FALSE;
    for (gint k = 0; k < guess.n_others; k++)
      has_odometry = has_odometry || guess.others[k].position[0] == guess.odometry.position[0];
    g_assert_cmpint (guess.prediction, ==, NDT_PREDICTION_CONSTANT_VELOCITY);
    g_assert_cmpint (guess.coasts, ==, tracker.has_velocity);
    g_assert_cmpint (guess.far, ==, !guess.coasts);
    g_assert_true (has_odometry);
    ndt_tracker_update (&tracker, &input, &guess, NDT_OUTCOME_REJECTED, &pose, 1, 0.5, 3);
  }
  g_assert_cmpint (tracker.status, ==, NDT_TRACK_LOST);
  g_assert_false (tracker.has_velocity);
}

/* Odometry that stops to the bit, at a speed that no body loses from one scan to the next, and at
 * one that it does; and odometry that goes on by a millimetre, as of a body that creeps. */
static void
test_repeated (void)
{
  const double speeds[] = {4, 0.5, 4}, on[] = {0, 0, 0.001};
  for (guint k = 0; k < G_N_ELEMENTS (speeds); k++) {
    NdtTracker tracker;
    NdtTrackerInput input = {0};
    ndt_tracker_reset (&tracker);
    for (guint i = 0; i < 10; i++) {
      const NdtPose pose = drive (0.1 * speeds[k] * i);
      input = (NdtTrackerInput){.time = 100 * i * MS, .has_odometry = 1, .odometry = pose};
      input.has_prior = i == 0;
      input.prior = pose;
      const NdtTrackerGuess guess = predict (&tracker, &input);
      g_assert_false (guess.contradicts);
      ndt_tracker_update (&tracker, &input, &guess, NDT_OUTCOME_ACCEPTED, &pose, 2, 0.9, 3);
    }
    input.time += 100 * MS;
    input.odometry.position[0] += on[k];
    g_assert_cmpint (predict (&tracker, &input).contradicts, ==, k == 0);
    /* Also where scans do not know the velocity, but odometry did just before. */
    for (guint i = 0; i < 3; i++)
      tracker.drift.velocity[i][i] = 20 * 20;
    g_assert_cmpint (predict (&tracker, &input).contradicts, ==, k == 0);
    tracker.odometry_way = 0;
    g_assert_false (predict (&tracker, &input).contradicts);
  }
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/tracker-odometry/contradiction", test_contradiction);
  g_test_add_func ("/tracker-odometry/reach", test_reach);
  g_test_add_func ("/tracker-odometry/gate", test_gate);
  g_test_add_func ("/tracker-odometry/discarded", test_discarded);
  g_test_add_func ("/tracker-odometry/repeated", test_repeated);
  return g_test_run ();
}
