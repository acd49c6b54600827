/* SPDX-License-Identifier: MIT */
/* A body in a bend: 20 m/s and 45 degrees a second at once, and a scan takes 0.1 s. Each point is
 * measured from where the sensor is at that instant. */
#include "ndtcore/track/ndt-localizer.h"
#include "ndtcore/track/ndt-relocalizer.h"

#include <math.h>
#include <string.h>

#include "tests/ndt-scene.h"

#define N_SCANS 40
#define N_POINTS 3000
#define SPAN 0.1
#define SPEED 20.0
#define TURN (G_PI / 4)

static const NdtPose mount = {{1.2, -0.4, 0.3}, {0, 0, 0.6, 0.8}};

typedef struct {
  float points[3 * N_POINTS];
  float times[N_POINTS]; /* from the scan's start */
} Scan;

static NdtVoxelMap *map;
static double pace = 1;
static gboolean is_compensated; /* to the scan's middle, but the points have times */

/* Around the yard's middle. */
static NdtPose
body_at (double time)
{
  const double angle = pace * TURN * time, radius = SPEED / TURN;
  const double position[3] = {radius * sin (angle), -radius * cos (angle), 1.8};
  NdtPose pose;
  ndt_pose_from_rpy (position, 0, 0, angle, &pose);
  return pose;
}

static NdtPose
sensor_at (double time, gboolean mounted)
{
  NdtPose pose = body_at (time);
  if (mounted)
    ndt_pose_compose (&pose, &mount, &pose);
  return pose;
}

/* A round to the left, that begins and ends astern. */
static Scan *
measure (guint index, gboolean mounted)
{
  Scan *scan = g_new (Scan, 1);
  g_autoptr (GRand) rand = g_rand_new_with_seed (100 + index);
  const NdtPose middle = sensor_at (SPAN * (index + 0.5), mounted);
  NdtPose inverse;
  for (guint i = 0; i < N_POINTS; i++) {
    double world[3], p[3];
    ndt_test_scene_point (
        NDT_TEST_YARD, rand, middle.position[0], middle.position[1], 20, 0.01, world);
    ndt_pose_invert (&middle, &inverse);
    ndt_pose_transform_point (&inverse, world, p);
    scan->times[i] = (float)(SPAN * (0.5 + atan2 (p[1], p[0]) / (2 * G_PI)));
    const NdtPose sensor =
        is_compensated ? middle : sensor_at (SPAN * index + (double)scan->times[i], mounted);
    ndt_pose_invert (&sensor, &inverse);
    ndt_pose_transform_point (&inverse, world, p);
    for (guint k = 0; k < 3; k++)
      scan->points[3 * i + k] = (float)p[k];
  }
  return scan;
}

static NdtObservation
observe (const Scan *scan, guint index)
{
  const NdtObservation observation = {
      .points = ndt_cloud_view_xyz_f32 (scan->points, N_POINTS),
      .time = (index + 1) * G_GINT64_CONSTANT (100000000),
      .point_times = {(const guint8 *)scan->times, sizeof (float), NDT_TIME_F32},
      .time_on_points = SPAN,
  };
  return observation;
}

static NdtLocalizer *
new_localizer (NdtBackend *backend, gboolean deskew, gboolean mounted)
{
  NdtLocalizer *localizer = ndt_localizer_new (backend);
  NdtLocalizerParams params;
  const NdtPose start = body_at (SPAN);
  ndt_localizer_params_init (&params);
  params.deskew = deskew;
  /* The street's front is flat but for its windows: it takes all points to see the way along. */
  params.max_sigma = 0;
  /* Scans whose stamps are swapped are found from far within the scan, not by the search after it.
   */
  params.max_search_passes = 0;
  params.filter.leaf_size = 0;
  if (mounted)
    params.sensor_pose = mount;
  g_assert_true (ndt_localizer_set_params (localizer, &params, NULL));
  g_assert_true (ndt_localizer_set_initial_pose (localizer, &start));
  return localizer;
}

static double
error_of (const NdtLocalization *localization, guint index)
{
  const NdtPose truth = body_at (SPAN * (index + 1));
  double metres;
  ndt_pose_difference (&localization->registration.pose, &truth, &metres, NULL);
  return metres;
}

static void
drive (NdtBackend *backend, gboolean deskew, gboolean mounted, double *mean, double *worst)
{
  g_autoptr (NdtLocalizer) localizer = new_localizer (backend, deskew, mounted);
  *mean = *worst = 0;
  for (guint i = 0; i < N_SCANS; i++) {
    g_autofree Scan *scan = measure (i, mounted);
    const NdtObservation observation = observe (scan, i);
    NdtLocalization localization;
    g_assert_true (ndt_localizer_process (localizer, &observation, &localization, NULL));
    g_assert_cmpuint (localization.status, ==, NDT_TRACK_TRACKING);
    /* Turned aside, the first scan gains too little to be told from noise. */
    if (i > 0 || !mounted)
      g_assert_cmpint (localization.deskewed, ==, deskew);
    const double error = error_of (&localization, i);
    g_test_message ("scan %u: %.4f m", i, error);
    if (i < 5)
      continue;
    *worst = MAX (*worst, error);
    *mean += error / (N_SCANS - 5);
  }
  g_test_message (
      "deskew %d, mounted %d: mean %.4f m, worst %.4f m", deskew, mounted, *mean, *worst);
}

static void
test_bend (gconstpointer data)
{
  const NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  g_autoptr (NdtBackend) backend = ndt_backend_open_cpu (&config, NULL);
  const gboolean mounted = GPOINTER_TO_INT (data);
  double mean, worst;
  g_assert_true (ndt_backend_set_map (backend, map, NULL));
  drive (backend, FALSE, mounted, &mean, &worst);
  /* Half a scan's way is a metre. */
  g_assert_cmpfloat (mean, >, 0.5);
  drive (backend, TRUE, mounted, &mean, &worst);
  /* What is asked for; the worst is three of its standard deviations and what 3,000 points with
   * noise in cells of 2 m leave. */
  g_assert_cmpfloat (mean, <=, 0.03);
  g_assert_cmpfloat (worst, <=, 0.06);
}

/* The first scan has no velocity but one that is given, or that it tells itself. */
static void
test_first (void)
{
  const NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  g_autoptr (NdtBackend) backend = ndt_backend_open_cpu (&config, NULL);
  g_autofree Scan *scan = measure (0, FALSE);
  NdtObservation observation = observe (scan, 0);
  g_assert_true (ndt_backend_set_map (backend, map, NULL));
  for (guint given = 0; given < 2; given++) {
    g_autoptr (NdtLocalizer) localizer = new_localizer (backend, TRUE, FALSE);
    NdtLocalization localization;
    observation.has_velocity = given;
    observation.velocity[0] = SPEED;
    observation.velocity[5] = TURN;
    g_assert_true (ndt_localizer_process (localizer, &observation, &localization, NULL));
    g_assert_true (localization.deskewed);
    /* Uncompensated it is 31 cm off. */
    g_assert_cmpfloat (error_of (&localization, 0), <, 0.05);
    /* A new start after it. */
    g_autofree Scan *later = measure (0, FALSE);
    const NdtPose start = body_at (SPAN);
    observation = observe (later, 0);
    g_assert_true (ndt_localizer_set_initial_pose (localizer, &start));
    g_assert_true (ndt_localizer_process (localizer, &observation, &localization, NULL));
    g_test_message ("start anew: %.4f m", error_of (&localization, 0));
    g_assert_true (localization.deskewed);
    g_assert_cmpfloat (error_of (&localization, 0), <, 0.1);
    observation = observe (scan, 0);
  }
}

/* A body that stands still has no velocity: its pose is, to the bit, that of a scan without times.
 */
static void
test_still (void)
{
  const NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  g_autoptr (NdtBackend) backend = ndt_backend_open_cpu (&config, NULL);
  g_assert_true (ndt_backend_set_map (backend, map, NULL));
  for (guint seed = 0; seed < 5; seed++) {
    const NdtPose truth = body_at (SPAN);
    g_autofree float *points = ndt_test_scene_scan (NDT_TEST_YARD, &truth, N_POINTS, 50 + seed);
    g_autofree float *times = g_new (float, N_POINTS);
    NdtLocalization localizations[2];
    for (guint i = 0; i < N_POINTS; i++)
      times[i] = (float)(SPAN * (0.5 + atan2 ((double)points[3 * i + 1], (double)points[3 * i]) /
                                           (2 * G_PI)));
    for (guint k = 0; k < 2; k++) {
      g_autoptr (NdtLocalizer) localizer = new_localizer (backend, TRUE, FALSE);
      const NdtObservation observation = {
          .points = ndt_cloud_view_xyz_f32 (points, N_POINTS),
          .time = 0,
          .point_times = {k ? (const guint8 *)times : NULL, sizeof (float), NDT_TIME_F32},
          .time_on_points = SPAN,
      };
      g_assert_true (ndt_localizer_process (localizer, &observation, &localizations[k], NULL));
      g_assert_false (localizations[k].deskewed);
    }
    g_assert_cmpmem (&localizations[0].registration.pose, sizeof (NdtPose),
        &localizations[1].registration.pose, sizeof (NdtPose));
  }
}

static void
keep (guint index, const NdtLocalization *localization, gpointer user_data)
{
  NdtPose *poses = user_data;
  poses[index] = localization->registration.pose;
}

/* The same bits one by one, in batches, and again after a reset. */
static void
test_same (void)
{
  enum { N = 12 };
  const NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  g_autoptr (NdtBackend) backend = ndt_backend_open_cpu (&config, NULL);
  g_autoptr (NdtLocalizer) localizer = NULL;
  Scan *scans[N];
  NdtObservation observations[N];
  NdtPose batch[N];
  g_assert_true (ndt_backend_set_map (backend, map, NULL));
  for (guint i = 0; i < N; i++) {
    scans[i] = measure (i, FALSE);
    observations[i] = observe (scans[i], i);
  }
  localizer = new_localizer (backend, TRUE, FALSE);
  g_assert_true (ndt_localizer_process_batch (localizer, observations, N, keep, batch, NULL));
  for (guint run = 0; run < 2; run++) {
    const NdtPose start = body_at (SPAN);
    ndt_localizer_reset (localizer);
    ndt_localizer_set_initial_pose (localizer, &start);
    for (guint i = 0; i < N; i++) {
      NdtLocalization localization;
      g_assert_true (ndt_localizer_process (localizer, &observations[i], &localization, NULL));
      g_assert_cmpmem (
          &localization.registration.pose, sizeof (NdtPose), &batch[i], sizeof (NdtPose));
    }
  }
  for (guint i = 0; i < N; i++)
    g_free (scans[i]);
}

/* Stamps that are up to 80 ms late; or of every third and fourth scan the one has the other's. */
static void
test_stamps (gconstpointer data)
{
  enum { N_KINDS = 4, SWAPPED = N_KINDS - 1 };
  const NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  g_autoptr (NdtBackend) backend = ndt_backend_open_cpu (&config, NULL);
  const gboolean deskew = GPOINTER_TO_INT (data);
  g_assert_true (ndt_backend_set_map (backend, map, NULL));
  for (guint kind = 0; kind < N_KINDS; kind++) {
    g_autoptr (GRand) rand = g_rand_new_with_seed (kind);
    g_autoptr (NdtLocalizer) localizer = new_localizer (backend, deskew, FALSE);
    guint n_doubtful = 0;
    double worst = 0;
    for (guint i = 0; i < N_SCANS; i++) {
      g_autofree Scan *scan = measure (i, FALSE);
      NdtObservation observation = observe (scan, i);
      NdtLocalization localization;
      if (kind != SWAPPED)
        observation.time += g_rand_int_range (rand, 0, 80000000);
      else if (i % 4 > 1)
        observation.time += (i % 4 == 2 ? 1 : -1) * G_GINT64_CONSTANT (100000000);
      g_assert_true (ndt_localizer_process (localizer, &observation, &localization, NULL));
      /* A stamp that is wrong by more than an alignment reaches takes a scan to confirm. */
      g_assert_cmpuint (localization.n_skipped, <=, 1);
      const gboolean is_doubtful = localization.reason == NDT_REASON_IMPLAUSIBLE_MOTION;
      g_assert_cmpuint (
          localization.status, ==, is_doubtful ? NDT_TRACK_DEGRADED : NDT_TRACK_TRACKING);
      n_doubtful += is_doubtful;
      worst = MAX (worst, error_of (&localization, i));
    }
    g_test_message ("kind %u: %u doubtful, worst %.3f m", kind, n_doubtful, worst);
    if (deskew)
      g_assert_cmpuint (n_doubtful, >, 0);
    else
      g_assert_cmpuint (n_doubtful, <=, 1);
    /* Half a scan's way is what a scan is off whose motion is not compensated. One that is is off
     * by half a scan's time, and by what its stamp is late, at what is wrong of a velocity: 3 m/s
     * are believed from one scan to the next, and more after some that were not. */
    g_assert_cmpfloat (worst, <, deskew ? 0.7 : 1);
  }
}

static NdtLocalization
search_start (NdtBackend *backend, const Scan *scan, gboolean deskew, double yaw, double threshold)
{
  const double metres = yaw < 1 ? 0.9 : 2;
  const double stddev[6] = {metres, metres, 0.3, 0.02, 0.02, yaw};
  const double delta[6] = {metres, -metres, 0.1, 0, 0, yaw};
  g_autoptr (NdtLocalizer) localizer = new_localizer (backend, deskew, FALSE);
  const NdtObservation observation = observe (scan, 0);
  const NdtPose truth = body_at (SPAN);
  NdtLocalizerParams params;
  NdtLocalization l;
  NdtPose around;
  ndt_localizer_params_init (&params);
  params.deskew = deskew;
  params.nvtl_threshold = threshold;
  memcpy (params.start.stddev, stddev, sizeof stddev);
  g_assert_true (ndt_localizer_set_params (localizer, &params, NULL));
  ndt_pose_retract (&truth, delta, &around);
  g_assert_true (ndt_localizer_set_initial_pose (localizer, &around));
  g_assert_true (ndt_localizer_process (localizer, &observation, &l, NULL));
  g_test_message ("%s %s: %u starts, runner-up %.3f, nvtl %.3f of %.3f, %.3f m",
      ndt_track_status_to_string (l.status), ndt_reason_to_string (l.reason),
      l.registration.n_starts, l.registration.runner_up, l.registration.nvtl,
      l.registration.max_nvtl, error_of (&l, 0));
  return l;
}

/* What a search around a start told stays where the scan is aligned again once its motion is
 * known. What is ambiguous stays so, though the scores would pass then. */
static void
test_searched (void)
{
  const NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  g_autoptr (NdtBackend) backend = ndt_backend_open_cpu (&config, NULL);
  g_autoptr (NdtVoxelMap) fine = ndt_test_scene_map (NDT_TEST_YARD, 120000, 1);
  g_assert_true (ndt_backend_set_map (backend, fine, NULL));
  pace = 0.5;
  g_autofree Scan *slow = measure (0, FALSE);
  NdtLocalization still = search_start (backend, slow, FALSE, 0.05, 0);
  const NdtLocalization moved = search_start (backend, slow, TRUE, 0.05, 0);
  pace = 1;
  g_autofree Scan *scan = measure (0, FALSE);
  g_assert_cmpuint (still.reason, ==, NDT_REASON_NONE);
  g_assert_true (moved.deskewed);
  g_assert_cmpfloat (moved.registration.nvtl, >, 1.02 * still.registration.nvtl);
  g_assert_cmpuint (still.registration.n_starts, >, 4);
  g_assert_cmpuint (moved.registration.n_starts, ==, still.registration.n_starts);
  g_assert_cmpfloat (still.registration.runner_up, >, 0);
  g_assert_cmpfloat (moved.registration.runner_up, ==, still.registration.runner_up);

  /* At 20 m/s it fits elsewhere nearly as well. */
  g_assert_true (ndt_backend_set_map (backend, map, NULL));
  still = search_start (backend, scan, FALSE, G_PI, 0);
  g_assert_cmpuint (still.reason, ==, NDT_REASON_AMBIGUOUS);
  const NdtLocalization l =
      search_start (backend, scan, TRUE, G_PI, 1.02 * still.registration.nvtl);
  g_assert_cmpuint (l.reason, ==, NDT_REASON_AMBIGUOUS);
}

/* Nobody knows where the body is, nor how it moves, at 40 m/s and 90 degrees a second: without a
 * start, and with one 40 m off. The search aligns the first two scans with each other, which gives
 * the velocity that all are compensated by; the fourth scan starts from there. The same bits each
 * time. */
static void
test_unknown (gconstpointer data)
{
  /* A part of the yard that is like no other. */
  const guint first = 15, searched = first + NDT_RELOCALIZER_SCANS, end = searched + 2;
  const gboolean mounted = GPOINTER_TO_INT (data);
  const NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  g_autoptr (NdtBackend) backend = ndt_backend_open_cpu (&config, NULL);
  NdtLocalizerParams params;
  ndt_localizer_params_init (&params);
  params.deskew = TRUE;
  params.max_sigma = 0; /* as in new_localizer() */
  if (mounted)
    params.sensor_pose = mount;
  g_assert_true (ndt_backend_set_map (backend, map, NULL));
  pace = 2;
  for (guint has_start = 0; has_start < 2; has_start++) {
    NdtPose ends[2];
    for (guint k = 0; k < 2; k++) {
      g_autoptr (NdtLocalizer) localizer = new_localizer (backend, TRUE, mounted);
      NdtLocalization l;
      g_assert_true (ndt_localizer_set_params (localizer, &params, NULL));
      if (!has_start)
        ndt_localizer_reset (localizer);
      for (guint i = first; i < end; i++) {
        g_autofree Scan *scan = measure (i, mounted);
        const NdtObservation observation = observe (scan, i);
        g_assert_true (ndt_localizer_process (localizer, &observation, &l, NULL));
        g_test_message ("start %u, scan %u: %s, %.3f m", has_start, i,
            ndt_track_status_to_string (l.status), error_of (&l, i));
        g_assert_cmpint (l.searched, ==, i == searched);
        g_assert_cmpint (l.status == NDT_TRACK_TRACKING, ==, i >= searched);
        /* 1 % of the way within a scan; a scan of the drive is off by up to 0.018. */
        if (i >= searched)
          g_assert_cmpfloat (error_of (&l, i), <, 0.04);
      }
      ends[k] = l.registration.pose;
    }
    g_assert_cmpmem (&ends[0], sizeof (NdtPose), &ends[1], sizeof (NdtPose));
  }
  pace = 1;
}

/* A body that is tracked is carried away, from where on it drives backwards: the velocity of the
 * stream is false, by which no scan fits on the map. */
static void
test_carried (void)
{
  const NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  const guint n_before = 6, first = 15, searched = NDT_RELOCALIZER_SCANS;
  g_autoptr (NdtBackend) backend = ndt_backend_open_cpu (&config, NULL);
  g_assert_true (ndt_backend_set_map (backend, map, NULL));
  g_autoptr (NdtLocalizer) localizer = new_localizer (backend, TRUE, FALSE);
  NdtLocalizerParams params;
  ndt_localizer_params_init (&params);
  params.deskew = TRUE;
  params.max_sigma = 0; /* as in new_localizer() */
  g_assert_true (ndt_localizer_set_params (localizer, &params, NULL));
  for (guint i = 0; i < n_before + searched + 2; i++) {
    const gboolean is_carried = i >= n_before;
    const guint index = is_carried ? first + i - n_before : i;
    pace = is_carried ? -1 : 1;
    g_autofree Scan *scan = measure (index, FALSE);
    const NdtObservation observation = observe (scan, i);
    NdtLocalization l;
    g_assert_true (ndt_localizer_process (localizer, &observation, &l, NULL));
    g_test_message (
        "scan %u: %s, %.3f m", i, ndt_track_status_to_string (l.status), error_of (&l, index));
    const gboolean is_away = is_carried && i < n_before + searched;
    g_assert_cmpint (l.status == NDT_TRACK_TRACKING, ==, !is_away);
    g_assert_cmpint (l.searched, ==, i == n_before + searched);
    /* As test_unknown(), where the stream goes on. */
    if (is_carried && !is_away)
      g_assert_cmpfloat (error_of (&l, index), <, 0.04);
  }
  pace = 1;
}

/* Scans that were compensated before, though their points have times, as clouds of others: the
 * search does not find them compensated twice, and takes them as they are. */
static void
test_twice (void)
{
  const NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  const guint first = 15, searched = first + NDT_RELOCALIZER_SCANS;
  g_autoptr (NdtBackend) backend = ndt_backend_open_cpu (&config, NULL);
  g_assert_true (ndt_backend_set_map (backend, map, NULL));
  g_autoptr (NdtLocalizer) localizer = new_localizer (backend, TRUE, FALSE);
  ndt_localizer_reset (localizer);
  pace = 2;
  is_compensated = TRUE;
  for (guint i = first; i <= searched; i++) {
    g_autofree Scan *scan = measure (i, FALSE);
    const NdtObservation observation = observe (scan, i);
    NdtLocalization l;
    g_assert_true (ndt_localizer_process (localizer, &observation, &l, NULL));
    g_assert_cmpint (l.searched, ==, i == searched);
    /* The scans are of their middle, half a scan's way before. */
    if (l.searched)
      g_assert_cmpfloat (error_of (&l, i), <, 0.5 * pace * SPEED * SPAN);
  }
  pace = 1;
  is_compensated = FALSE;
}

/* ---- The motion of a search ---- */

/* One as a search is given it. */
static NdtRelocalizerScan
give (guint index, gboolean has_odometry)
{
  g_autofree Scan *scan = measure (index, FALSE);
  NdtRelocalizerScan out = {.xyz = g_memdup2 (scan->points, sizeof (scan->points)),
      .times = g_memdup2 (scan->times, sizeof (scan->times)),
      .n = N_POINTS,
      .time = observe (scan, index).time,
      .has_odometry = has_odometry};
  for (guint i = 0; i < N_POINTS; i++)
    out.times[i] -= (float)SPAN;
  if (has_odometry)
    out.odometry = body_at (SPAN * (index + 1));
  return out;
}

/* Two scans tell the velocity, but not once that is cancelled, until it is allowed again; their
 * odometry tells it without them. */
static void
test_cancelled (void)
{
  static const NdtPose no_mount = NDT_POSE_IDENTITY;
  static const NdtScanFilter filter = NDT_SCAN_FILTER_NONE;
  NdtBackend *backend = ndt_backend_open_cpu (&(NdtBackendConfig){-1, 1, 0}, NULL);
  NdtRelocalizerMotion *motion = ndt_relocalizer_motion_new ();
  pace = 0.25;
  for (guint k = 0; k < 4; k++) {
    NdtRelocalizerScan first = give (0, k >= 2), second = give (1, k >= 2);
    NdtCourse course;
    ndt_relocalizer_motion_begin (motion, &no_mount, &filter);
    ndt_relocalizer_motion_cancel (motion, k % 2 == 0);
    ndt_relocalizer_motion_take (motion, NULL, &first);
    g_assert_null (ndt_relocalizer_motion_get (motion));
    ndt_relocalizer_motion_take (motion, &first, &second);
    const double *velocity = ndt_relocalizer_motion_get (motion);
    g_assert_true ((velocity != NULL) == (k > 0));
    /* Of scans that are bent alike, that of two with 1 cm of noise is good to some 10 %. */
    if (velocity)
      g_assert_cmpfloat (fabs (velocity[0] - pace * SPEED), <, 0.2 * pace * SPEED);
    g_assert_true (ndt_relocalizer_motion_set_scan (motion, backend, &second, &course, NULL));
    g_assert_true (course.has_velocity == (velocity != NULL));
    ndt_relocalizer_scan_clear (&first);
    ndt_relocalizer_scan_clear (&second);
  }
  pace = 1;
  ndt_relocalizer_motion_free (motion);
  ndt_backend_close (backend);
}

/* Leaves 75 points, and counts times from the scan's start. */
static void
begin_at_start (NdtRelocalizerScan *scan, gboolean is_thinned)
{
  scan->time -= G_GINT64_CONSTANT (100000000);
  for (guint i = 0; i < scan->n; i++)
    scan->times[i] += (float)SPAN;
  for (guint i = 0; is_thinned && i < 75; i++) {
    memcpy (scan->xyz + 3 * i, scan->xyz + 120 * i, 3 * sizeof (float));
    scan->times[i] = scan->times[40 * i];
  }
  scan->n = is_thinned ? 75 : scan->n;
}

/* Of the first of two scans there are too few points to align the second with it, so that it is
 * found as it is, in its middle, 0.07 s after its stamp, and the second at its stamp: the velocity
 * between them is that on the map, over the time that lies between. */
static void
test_few (void)
{
  NdtRelocalizer *relocalizer = ndt_relocalizer_new (NULL);
  NdtRelocalizerTask task = {.map = map,
      .least_fit = 0.5,
      .least_follow_fit = 0.5,
      .has_area = TRUE,
      .area = {.stddev = {1, 1, 0.3, 0, 0, 0.1}}};
  NdtRelocation r;
  pace = 0.25;
  task.around = body_at (SPAN);
  ndt_registration_params_init (&task.registration);
  ndt_relocalizer_begin (relocalizer, &task);
  for (guint i = 0; i < 2; i++) {
    NdtRelocalizerScan scan = give (i, FALSE);
    begin_at_start (&scan, i == 0);
    ndt_relocalizer_add (relocalizer, &scan);
  }
  g_assert_true (ndt_relocalizer_get (relocalizer, TRUE, &r));
  g_assert_true (r.has_velocity);
  const double seconds = 1e-9 * (double)r.velocity_time, speed = r.velocity[0] / seconds;
  g_test_message (
      "%.3f s, %.3f m/s, %.3f rad/s, fit %.2f", seconds, speed, r.velocity[5] / seconds, r.fit);
  /* So few points are good to some cm, and the middles are 0.5 m apart. */
  g_assert_cmpfloat (fabs (speed - pace * SPEED), <, 0.2 * pace * SPEED);
  ndt_relocalizer_free (relocalizer);
  pace = 1;
}

/* Bent by a velocity that it does not have a scan is anywhere; as it is it fits around one place,
 * which has no rival. */
static void
test_bent (void)
{
  NdtRelocalizer *relocalizer = ndt_relocalizer_new (NULL);
  NdtRelocalizerTask task = {.map = map,
      .least_fit = 0.95,
      .least_follow_fit = 0.9,
      .anywhere = TRUE,
      .has_area = TRUE,
      .area = {.stddev = {1, 1, 0.3, 0, 0, 0.1}}};
  NdtRelocation r;
  pace = 0.25;
  is_compensated = TRUE;
  task.around = body_at (0.5 * SPAN);
  ndt_registration_params_init (&task.registration);
  ndt_relocalizer_begin (relocalizer, &task);
  NdtRelocalizerScan scan = give (0, FALSE);
  scan.has_velocity = TRUE;
  scan.velocity[1] = 30;
  scan.velocity[5] = 12;
  ndt_relocalizer_add (relocalizer, &scan);
  g_assert_true (ndt_relocalizer_get (relocalizer, TRUE, &r));
  g_assert_cmpint (r.time, ==, G_GINT64_CONSTANT (100000000));
  g_assert_false (r.course.has_velocity);
  g_assert_false (r.is_ambiguous);
  g_assert_cmpfloat (r.runner_up, ==, 0);
  ndt_relocalizer_free (relocalizer);
  is_compensated = FALSE;
  pace = 1;
}

/* At 10 m/s, by wheels that stand, turn at half the speed or at twice: the velocity between poses
 * on the map is right, whenever the stream's clock began. */
static void
test_slip (void)
{
  static const double slips[] = {0, 0.5, 1, 2};
  const guint first = 15;
  pace = 0.5;
  for (guint k = 0; k < 2 * G_N_ELEMENTS (slips); k++) {
    NdtRelocalizer *relocalizer = ndt_relocalizer_new (NULL);
    NdtRelocalizerTask task = {.map = map,
        .least_fit = 0.95,
        .least_follow_fit = 0.9,
        .has_area = TRUE,
        .around = body_at (SPAN * (first + 1)),
        .area = {.stddev = {1, 1, 0.3, 0, 0, 0.2}}};
    const NdtPose truth = body_at (SPAN * (first + NDT_RELOCALIZER_SCANS));
    NdtRelocation r;
    double metres;
    ndt_registration_params_init (&task.registration);
    ndt_relocalizer_begin (relocalizer, &task);
    for (guint i = 0; i < NDT_RELOCALIZER_SCANS; i++) {
      NdtRelocalizerScan scan = give (first + i, TRUE);
      scan.time += k % 2 ? G_GINT64_CONSTANT (1700000000000000000)
                         : -(gint64)first * G_GINT64_CONSTANT (100000000);
      scan.odometry = (NdtPose){{slips[k / 2] * pace * SPEED * SPAN * i, 0, 0}, {0, 0, 0, 1}};
      ndt_relocalizer_add (relocalizer, &scan);
    }
    g_assert_true (ndt_relocalizer_get (relocalizer, TRUE, &r));
    g_assert_true (r.found);
    ndt_pose_difference (&r.pose, &truth, &metres, NULL);
    g_test_message ("odometry of %.1f times the speed: %.3f m, %.2f m/s", slips[k / 2], metres,
        r.course.velocity[0]);
    /* 1 % of the way within a scan, and what is left of the first scan's error in the velocity of
     * the third, which is extrapolated. */
    g_assert_cmpfloat (metres, <, 0.05);
    g_assert_false (r.course.is_doubtful);
    ndt_relocalizer_free (relocalizer);
  }
  pace = 1;
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  map = ndt_test_scene_map (NDT_TEST_YARD, 120000, 2);
  g_test_add_data_func ("/localizer/motion/bend", GINT_TO_POINTER (FALSE), test_bend);
  g_test_add_data_func ("/localizer/motion/mounted", GINT_TO_POINTER (TRUE), test_bend);
  g_test_add_func ("/localizer/motion/first", test_first);
  g_test_add_func ("/localizer/motion/searched", test_searched);
  g_test_add_data_func ("/localizer/motion/unknown", GINT_TO_POINTER (FALSE), test_unknown);
  g_test_add_data_func ("/localizer/motion/unknown-mounted", GINT_TO_POINTER (TRUE), test_unknown);
  g_test_add_func ("/localizer/motion/carried", test_carried);
  g_test_add_func ("/localizer/motion/twice", test_twice);
  g_test_add_func ("/localizer/motion/still", test_still);
  g_test_add_func ("/localizer/motion/same", test_same);
  g_test_add_data_func ("/localizer/motion/stamps", GINT_TO_POINTER (TRUE), test_stamps);
  g_test_add_data_func ("/localizer/motion/stamps-only", GINT_TO_POINTER (FALSE), test_stamps);
  g_test_add_func ("/localizer/motion/cancelled", test_cancelled);
  g_test_add_func ("/localizer/motion/few", test_few);
  g_test_add_func ("/localizer/motion/bent", test_bent);
  g_test_add_func ("/localizer/motion/slip", test_slip);
  const int result = g_test_run ();
  ndt_voxel_map_unref (map);
  return result;
}
