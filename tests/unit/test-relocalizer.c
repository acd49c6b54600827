/* SPDX-License-Identifier: MIT */
/* The thread that looks for a stream that is lost. */
#include <math.h>
#include <string.h>

#include "ndtcore/track/ndt-relocalizer.h"
#include "ndtcore/track/ndt-tracker.h"
#include "localizer-stream.h"

/* As that of a localizer that has nothing to start from. */
static NdtRelocalizerTask
make_task (void)
{
  NdtRelocalizerTask task = {.map = yard_map, .anywhere = TRUE, .least_fit = 0.95};
  ndt_registration_params_init (&task.registration);
  return task;
}

static NdtRelocalizerScan
make_scan (guint index, gboolean has_odometry)
{
  NdtRelocalizerScan scan = {.xyz = g_memdup2 (scans[index], 3 * N_POINTS * sizeof (float)),
      .n = N_POINTS,
      .time = observe (index).time,
      .has_odometry = has_odometry};
  if (has_odometry)
    scan.odometry = truths[index];
  return scan;
}

static void
add (NdtRelocalizer *relocalizer, guint first, guint n, gboolean has_odometry)
{
  for (guint i = 0; i < n; i++) {
    NdtRelocalizerScan scan = make_scan (first + i, has_odometry);
    ndt_relocalizer_add (relocalizer, &scan);
  }
}

static void
assert_at (const NdtRelocation *r, guint index)
{
  double metres, radians;
  g_assert_true (r->found);
  ndt_pose_difference (&r->pose, &truths[index], &metres, &radians);
  g_assert_cmpfloat (metres, <, 0.1);
  g_assert_cmpfloat (radians, <, 0.02);
  g_assert_cmpint (r->time, ==, observe (index).time);
}

/* Three scans of a drive agree, with its velocity. Two are not enough. */
static void
test_finds (void)
{
  for (guint has_odometry = 0; has_odometry < 2; has_odometry++) {
    NdtRelocalizer *relocalizer = ndt_relocalizer_new (NULL);
    const NdtRelocalizerTask task = make_task ();
    NdtRelocation r;
    g_assert_false (ndt_relocalizer_get (relocalizer, TRUE, &r));
    ndt_relocalizer_begin (relocalizer, &task);
    add (relocalizer, 10, 2, has_odometry);
    g_assert_true (ndt_relocalizer_get (relocalizer, TRUE, &r));
    g_assert_false (r.found);
    add (relocalizer, 12, 1, has_odometry);
    g_assert_cmpuint (ndt_relocalizer_count (relocalizer), ==, 3);
    g_assert_true (ndt_relocalizer_get (relocalizer, TRUE, &r));
    assert_at (&r, 12);
    g_assert_true (r.has_velocity);
    NdtPose step, truth;
    double metres, radians;
    ndt_pose_exp (r.velocity, &step);
    ndt_pose_between (&truths[11], &truths[12], &truth);
    ndt_pose_difference (&step, &truth, &metres, &radians);
    g_assert_cmpfloat (metres, <, 0.2);
    ndt_relocalizer_free (relocalizer);
  }
}

/* The same bits whenever the scans come. */
static void
test_repeats (void)
{
  NdtRelocation results[2];
  for (guint k = 0; k < 2; k++) {
    NdtRelocalizer *relocalizer = ndt_relocalizer_new (NULL);
    const NdtRelocalizerTask task = make_task ();
    NdtRelocation early;
    memset (&results[k], 0, sizeof results[k]);
    ndt_relocalizer_begin (relocalizer, &task);
    for (guint i = 0; i < 3; i++) {
      add (relocalizer, 20 + i, 1, FALSE);
      if (k == 1)
        g_assert_true (ndt_relocalizer_get (relocalizer, TRUE, &early));
    }
    g_assert_true (ndt_relocalizer_get (relocalizer, TRUE, &results[k]));
    assert_at (&results[k], 22);
    ndt_relocalizer_free (relocalizer);
  }
  g_assert_cmpmem (&results[0].pose, sizeof (NdtPose), &results[1].pose, sizeof (NdtPose));
}

/* A scan 9 m away a tenth of a second later does not go on from the first. */
static void
test_disagree (void)
{
  NdtRelocalizer *relocalizer = ndt_relocalizer_new (NULL);
  NdtRelocalizerTask task = make_task ();
  NdtRelocation r;
  ndt_relocalizer_begin (relocalizer, &task);
  for (guint i = 0; i < 3; i++) {
    NdtRelocalizerScan scan = make_scan (60 * (i % 2), FALSE);
    scan.time = observe (i).time;
    ndt_relocalizer_add (relocalizer, &scan);
  }
  g_assert_true (ndt_relocalizer_get (relocalizer, TRUE, &r));
  g_assert_false (r.found);
  /* And nothing fits as well as that. */
  task.least_fit = 3;
  ndt_relocalizer_begin (relocalizer, &task);
  g_assert_cmpuint (ndt_relocalizer_count (relocalizer), ==, 0);
  add (relocalizer, 10, 3, FALSE);
  g_assert_true (ndt_relocalizer_get (relocalizer, TRUE, &r));
  g_assert_false (r.found);
  g_assert_cmpfloat (r.fit, >, 0.9);
  ndt_relocalizer_free (relocalizer);
}

/* Around a pose alone. */
static void
test_area (void)
{
  NdtRelocalizer *relocalizer = ndt_relocalizer_new (NULL);
  NdtRelocalizerTask task = make_task ();
  static const double delta[6] = {2, -2, 0, 0, 0, 1};
  NdtRelocation r;
  task.anywhere = FALSE;
  task.has_area = task.has_upright = TRUE;
  task.area = (NdtPoseSearch){.stddev = {2, 2, 0.3, 0, 0, 1.5}};
  ndt_pose_retract (&truths[10], delta, &task.around);
  task.upright = truths[10];
  ndt_relocalizer_begin (relocalizer, &task);
  add (relocalizer, 10, 3, FALSE);
  g_assert_true (ndt_relocalizer_get (relocalizer, TRUE, &r));
  assert_at (&r, 12);
  /* What lies on its side is not it. */
  static const double side[6] = {0, 0, 0, G_PI / 2, 0, 0};
  ndt_pose_retract (&truths[10], side, &task.upright);
  ndt_relocalizer_begin (relocalizer, &task);
  add (relocalizer, 10, 3, FALSE);
  g_assert_true (ndt_relocalizer_get (relocalizer, TRUE, &r));
  g_assert_false (r.found);
  ndt_relocalizer_free (relocalizer);
}

static gpointer
cancel (gpointer data)
{
  ndt_relocalizer_cancel (data, TRUE);
  return NULL;
}

/* Whoever waits returns; what is dropped or freed while it runs leaves nothing behind. */
static void
test_ends (void)
{
  for (guint i = 0; i < 20; i++) {
    NdtRelocalizer *relocalizer = ndt_relocalizer_new (NULL);
    const NdtRelocalizerTask task = make_task ();
    NdtRelocation r;
    ndt_relocalizer_begin (relocalizer, &task);
    add (relocalizer, i, 3, FALSE);
    if (i % 4 == 0) {
      GThread *thread = g_thread_new ("cancel", cancel, relocalizer);
      ndt_relocalizer_get (relocalizer, TRUE, &r);
      g_thread_join (thread);
      ndt_relocalizer_cancel (relocalizer, FALSE);
    } else if (i % 4 == 1) {
      ndt_relocalizer_drop (relocalizer);
      g_assert_cmpuint (ndt_relocalizer_count (relocalizer), ==, 0);
    } else if (i % 4 == 2) {
      ndt_relocalizer_begin (relocalizer, &task);
      add (relocalizer, 30, 3, FALSE);
      g_assert_true (ndt_relocalizer_get (relocalizer, TRUE, &r));
      assert_at (&r, 32);
    }
    ndt_relocalizer_free (relocalizer);
  }
}

/* What a search has found leads to the next scan, and that one confirms it. */
static void
test_relocate (void)
{
  NdtTracker tracker;
  NdtTrackerGuess guess;
  NdtTrackerInput input = {.time = 300};
  const NdtPose pose = {{10, 20, 0}, {0, 0, 0, 1}}, next = {{12, 20, 0}, {0, 0, 0, 1}};
  const double velocity[6] = {2, 0, 0, 0, 0, 0};
  ndt_tracker_reset (&tracker);
  tracker.status = NDT_TRACKER_LOST;
  ndt_tracker_relocate (&tracker, &pose, 200, NULL, velocity, 100);
  ndt_tracker_predict (&tracker, &input, &guess);
  g_assert_cmpint (guess.prediction, ==, NDT_TRACKER_FROM_VELOCITY);
  g_assert_false (guess.far);
  g_assert_cmpfloat (fabs (guess.pose.position[0] - 12), <, 1e-9);
  ndt_tracker_update (&tracker, &input, &guess, NDT_OUTCOME_GOOD, &next, 2, 1, 3);
  g_assert_cmpint (tracker.status, ==, NDT_TRACKER_TRACKING);
  /* By odometry, where there is some; a scan that does not fit confirms nothing. */
  ndt_tracker_relocate (&tracker, &pose, 200, &next, NULL, 0);
  input.has_odometry = 1;
  input.odometry = (NdtPose){{15, 20, 0}, {0, 0, 0, 1}};
  ndt_tracker_predict (&tracker, &input, &guess);
  g_assert_cmpint (guess.prediction, ==, NDT_TRACKER_FROM_ODOMETRY);
  g_assert_cmpfloat (fabs (guess.pose.position[0] - 13), <, 1e-9);
  ndt_tracker_update (&tracker, &input, &guess, NDT_OUTCOME_DEGRADED, &next, 1, 1, 3);
  g_assert_cmpint (tracker.status, ==, NDT_TRACKER_DEGRADED);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  make_stream ();
  g_test_add_func ("/relocalizer/finds", test_finds);
  g_test_add_func ("/relocalizer/repeats", test_repeats);
  g_test_add_func ("/relocalizer/disagree", test_disagree);
  g_test_add_func ("/relocalizer/area", test_area);
  g_test_add_func ("/relocalizer/ends", test_ends);
  g_test_add_func ("/relocalizer/tracker", test_relocate);
  const int result = g_test_run ();
  free_stream ();
  return result;
}
