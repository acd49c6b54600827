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
  NdtRelocalizerTask task = {
      .map = yard_map, .anywhere = TRUE, .least_fit = 0.95, .least_follow_fit = 0.9};
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

/* The first scan is the best of many places, and has to fit by more than those that go on from it,
 * a part of whose points the map does not have. */
static void
test_followers (void)
{
  for (guint is_strict = 0; is_strict < 2; is_strict++) {
    NdtRelocalizer *relocalizer = ndt_relocalizer_new (NULL);
    NdtRelocalizerTask task = make_task ();
    NdtRelocation r;
    ndt_relocalizer_begin (relocalizer, &task);
    add (relocalizer, 10, 1, FALSE);
    g_assert_true (ndt_relocalizer_get (relocalizer, TRUE, &r));
    task.least_fit = 0.97 * r.fit;
    task.least_follow_fit = is_strict ? task.least_fit : 0.8 * r.fit;
    ndt_relocalizer_begin (relocalizer, &task);
    for (guint i = 10; i < 13; i++) {
      NdtRelocalizerScan scan = make_scan (i, FALSE);
      for (guint k = 0; i > 10 && k < N_POINTS; k += 12)
        scan.xyz[3 * k + 2] += 1000;
      ndt_relocalizer_add (relocalizer, &scan);
    }
    g_assert_true (ndt_relocalizer_get (relocalizer, TRUE, &r));
    g_assert_cmpint (r.found, ==, !is_strict);
    if (!is_strict)
      assert_at (&r, 12);
    ndt_relocalizer_free (relocalizer);
  }
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

/* ---- Beside a device ---- */

/* Backends of the CPU with methods of their own. */
static const NdtBackendClass *cpu_class;
static NdtBackendClass stream_class, search_class;
/* Calls of align and evaluate, or of set_map, of the backend in the background; the one that fails,
 * 0: none; backends that are open; the one that is waited for in a call, until it is cancelled. */
static gint n_calls, n_maps, fails_at, fails_map_at, n_open, n_opened, holds, n_held;
static NdtBackend *opened_beside; /* the last one that was opened */

static gboolean
fails (gint *n, gint at, NdtError code, GError **error)
{
  if (g_atomic_int_add (n, 1) + 1 != at)
    return FALSE;
  g_set_error (error, NDT_ERROR, code, "the device failed");
  return TRUE;
}

static gboolean
search_set_map (NdtBackend *backend, NdtVoxelMap *map, GError **error)
{
  return !fails (&n_maps, fails_map_at, NDT_ERROR_NO_MEMORY, error) &&
         cpu_class->set_map (backend, map, error);
}

static gboolean
search_align (NdtBackend *backend, guint slot, const NdtAlignParams *params, const NdtStart *starts,
    guint n_starts, NdtAlignResult *results, GError **error)
{
  if (g_atomic_int_get (&holds)) {
    g_atomic_int_inc (&n_held);
    while (g_atomic_int_get (&holds))
      g_usleep (100);
  }
  return !fails (&n_calls, fails_at, NDT_ERROR_DEVICE, error) &&
         cpu_class->align (backend, slot, params, starts, n_starts, results, error);
}

static gboolean
search_evaluate (NdtBackend *backend, guint slot, const NdtAlignParams *params, guint level,
    NdtKind kind, const NdtPose *poses, guint n_poses, NdtSums *sums, GError **error)
{
  return !fails (&n_calls, fails_at, NDT_ERROR_DEVICE, error) &&
         cpu_class->evaluate (backend, slot, params, level, kind, poses, n_poses, sums, error);
}

static void
search_cancel (NdtBackend *backend, gboolean cancelled)
{
  cpu_class->cancel (backend, cancelled);
  if (cancelled)
    g_atomic_int_set (&holds, FALSE);
}

static void
search_close (NdtBackend *backend)
{
  g_atomic_int_add (&n_open, -1);
  cpu_class->close (backend);
}

static NdtBackend *
open_search (NdtBackend *stream, GError **error)
{
  NdtBackend *backend = open_backend (1);
  opened_beside = stream;
  search_class = *cpu_class;
  search_class.set_map = search_set_map;
  search_class.align = search_align;
  search_class.evaluate = search_evaluate;
  search_class.cancel = search_cancel;
  search_class.close = search_close;
  backend->klass = &search_class;
  g_atomic_int_inc (&n_open);
  g_atomic_int_inc (&n_opened);
  return backend;
}

static NdtBackend *
open_stream (void)
{
  NdtBackend *backend = open_backend (1);
  cpu_class = backend->klass;
  stream_class = *cpu_class;
  stream_class.open_background = open_search;
  backend->klass = &stream_class;
  n_calls = n_maps = fails_at = fails_map_at = n_open = n_opened = holds = n_held = 0;
  return backend;
}

static NdtRelocation
find (NdtRelocalizer *relocalizer)
{
  const NdtRelocalizerTask task = make_task ();
  NdtRelocation r;
  ndt_relocalizer_begin (relocalizer, &task);
  add (relocalizer, 10, 3, FALSE);
  g_assert_true (ndt_relocalizer_get (relocalizer, TRUE, &r));
  assert_at (&r, 12);
  return r;
}

static void
wait_until_closed (void)
{
  for (guint i = 0; i < 10000 && g_atomic_int_get (&n_open) > 0; i++)
    g_usleep (1000);
  g_assert_cmpint (g_atomic_int_get (&n_open), ==, 0);
}

/* A search runs on the stream's device, which is given back when it is over, and goes on on the CPU
 * with the same result whichever call fails, once for good. */
static void
test_device (void)
{
  NdtBackend *stream = open_stream ();
  NdtRelocalizer *relocalizer = ndt_relocalizer_new (stream);
  g_assert_true (ndt_relocalizer_is_on_device (relocalizer));
  const NdtRelocation expected = find (relocalizer);
  const gint n = n_calls;
  g_assert_cmpint (n_opened, ==, 1);
  g_assert_cmpint (n_open, ==, 1);
  g_assert_cmpint (n, >, 5);
  ndt_relocalizer_drop (relocalizer);
  wait_until_closed ();
  find (relocalizer);
  g_assert_cmpint (n_opened, ==, 2);
  /* Beside another one from the next search on, which is not waited for. */
  NdtBackend *other = open_backend (1);
  other->klass = &stream_class;
  g_assert_true (opened_beside == stream);
  ndt_relocalizer_set_stream (relocalizer, other);
  find (relocalizer);
  g_assert_true (opened_beside == other);
  g_assert_cmpint (n_opened, ==, 3);
  g_assert_cmpint (n_open, ==, 1);
  find (relocalizer);
  g_assert_cmpint (n_opened, ==, 3);
  /* Without a stream with a device. */
  ndt_relocalizer_set_stream (relocalizer, NULL);
  g_assert_false (ndt_relocalizer_is_on_device (relocalizer));
  NdtRelocation r = find (relocalizer);
  g_assert_cmpmem (&r.pose, sizeof (NdtPose), &expected.pose, sizeof (NdtPose));
  g_assert_cmpint (n_opened, ==, 3);
  g_assert_cmpint (n_open, ==, 0);
  g_assert_null (ndt_relocalizer_take_failure (relocalizer));
  ndt_relocalizer_free (relocalizer);
  ndt_backend_close (stream);
  ndt_backend_close (other);

  for (gint at = 0; at <= n; at++) {
    stream = open_stream ();
    relocalizer = ndt_relocalizer_new (stream);
    fails_at = at;
    fails_map_at = at == 0;
    for (guint k = 0; k < 2; k++) {
      r = find (relocalizer);
      g_assert_cmpmem (&r.pose, sizeof (NdtPose), &expected.pose, sizeof (NdtPose));
      g_assert_cmpint (g_atomic_int_get (&n_open), ==, 0);
      g_autoptr (GError) failure = ndt_relocalizer_take_failure (relocalizer);
      g_assert_true ((failure != NULL) == (k == 0));
    }
    g_assert_cmpint (n_opened, ==, 1);
    g_assert_false (ndt_relocalizer_is_on_device (relocalizer));
    ndt_relocalizer_free (relocalizer);
    ndt_backend_close (stream);
  }
}

/* What is dropped or freed ends what runs on the device; what begins next does not end with it. */
static void
test_stops (void)
{
  for (guint i = 0; i < 3; i++) {
    NdtBackend *stream = open_stream ();
    NdtRelocalizer *relocalizer = ndt_relocalizer_new (stream);
    const NdtRelocalizerTask task = make_task ();
    g_atomic_int_set (&holds, TRUE);
    ndt_relocalizer_begin (relocalizer, &task);
    add (relocalizer, 10, 3, FALSE);
    while (g_atomic_int_get (&n_held) == 0)
      g_usleep (100);
    if (i == 0) {
      ndt_relocalizer_drop (relocalizer);
      wait_until_closed ();
    }
    if (i < 2) /* in the middle of the one before, where that was not dropped */
      find (relocalizer);
    g_assert_null (ndt_relocalizer_take_failure (relocalizer));
    ndt_relocalizer_free (relocalizer);
    g_assert_cmpint (n_open, ==, 0);
    ndt_backend_close (stream);
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
  tracker.status = NDT_TRACK_LOST;
  ndt_tracker_relocate (&tracker, &pose, 200, NULL, velocity, 100);
  ndt_tracker_predict (&tracker, &input, &guess);
  g_assert_cmpint (guess.prediction, ==, NDT_PREDICTION_CONSTANT_VELOCITY);
  g_assert_false (guess.far);
  g_assert_cmpfloat (fabs (guess.pose.position[0] - 12), <, 1e-9);
  ndt_tracker_update (&tracker, &input, &guess, NDT_OUTCOME_ACCEPTED, &next, 2, 1, 3);
  g_assert_cmpint (tracker.status, ==, NDT_TRACK_TRACKING);
  /* By odometry, where there is some; a scan that does not fit confirms nothing. */
  ndt_tracker_relocate (&tracker, &pose, 200, &next, NULL, 0);
  input.has_odometry = 1;
  input.odometry = (NdtPose){{15, 20, 0}, {0, 0, 0, 1}};
  ndt_tracker_predict (&tracker, &input, &guess);
  g_assert_cmpint (guess.prediction, ==, NDT_PREDICTION_ODOMETRY);
  g_assert_cmpfloat (fabs (guess.pose.position[0] - 13), <, 1e-9);
  ndt_tracker_update (&tracker, &input, &guess, NDT_OUTCOME_REJECTED, &next, 1, 1, 3);
  g_assert_cmpint (tracker.status, ==, NDT_TRACK_DEGRADED);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  make_stream ();
  g_test_add_func ("/relocalizer/finds", test_finds);
  g_test_add_func ("/relocalizer/repeats", test_repeats);
  g_test_add_func ("/relocalizer/disagree", test_disagree);
  g_test_add_func ("/relocalizer/followers", test_followers);
  g_test_add_func ("/relocalizer/area", test_area);
  g_test_add_func ("/relocalizer/ends", test_ends);
  g_test_add_func ("/relocalizer/device", test_device);
  g_test_add_func ("/relocalizer/stops", test_stops);
  g_test_add_func ("/relocalizer/tracker", test_relocate);
  const int result = g_test_run ();
  free_stream ();
  return result;
}
