/* SPDX-License-Identifier: MIT */
/* How well the position of a scan is said to be known. */
#include "ndtcore/track/ndt-localizer-step.h"
#include "localizer-stream.h"

/* What flat surfaces feign, 1/m². */
#define FLAT 1e5

static NdtObservation observation;

/* A scan that fits 2 m further on, 0.1 s after the last one; along x it tells @along times what
 * flat surfaces feign, across a hundred times. */
static void
make_step (NdtLocalizer *localizer, double along, NdtLocalizerStep *step)
{
  static const double axes[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  NdtRegistration *registration = &step->out.registration;
  NdtObservability *seen = &registration->observability;
  const NdtPose identity = NDT_POSE_IDENTITY;
  memset (step, 0, sizeof (*step));
  step->observation = &observation;
  step->tried = TRUE;
  step->guess.prediction = NDT_PREDICTION_CONSTANT_VELOCITY;
  step->guess.has_own = step->guess.coasts = TRUE;
  step->guess.elapsed = 0.1;
  step->guess.pose = identity;
  step->guess.pose.position[0] = localizer->tracker.pose.position[0] + 2;
  registration->pose = step->guess.pose;
  registration->covariance_kind = NDT_POSE_COVARIANCE_LAPLACE;
  memcpy (seen->axes, axes, sizeof (axes));
  seen->flat = FLAT;
  for (guint k = 0; k < 3; k++) {
    seen->information[k] = (k == 0 ? along : 100) * FLAT;
    registration->covariance[7 * k] = NDT_DRIFT_CLUSTERING / seen->information[k];
    registration->covariance[7 * (3 + k)] = 1e-6;
  }
}

/* An accepted scan, known to 0.1 m, and no velocity. */
static void
begin (NdtLocalizer *localizer)
{
  NdtTracker *tracker = &localizer->tracker;
  ndt_drift_reset (&tracker->drift, 0.1);
  tracker->open_drift = tracker->drift;
}

/* The scan's σ with that status; its covariance is complete. */
static double
settle_step (NdtLocalizer *localizer, gint32 status, NdtLocalizerStep *step)
{
  g_assert_true (ndt_localizer_step_drift (localizer, step, NULL));
  localizer->tracker.status = status;
  ndt_localizer_step_settle_drift (localizer, step);
  localizer->tracker.pose = step->out.registration.pose;
  ndt_localizer_step_add_drift (
      step, ndt_backend_get_resolution (localizer->backend), &step->out.registration);
  return step->out.sigma;
}

static double
add_step (NdtLocalizer *localizer, double along, gint32 status, NdtLocalizerStep *step)
{
  make_step (localizer, along, step);
  return settle_step (localizer, status, step);
}

/* Along a road that was open a scan that fits and leaves nothing open fits in one of many places:
 * as long as it is not accepted σ is that of the motion, and so is the covariance along the road,
 * but not across. */
static void
test_open (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  NdtLocalizerStep step;
  const double *c = step.out.registration.covariance;
  begin (localizer);
  /* 20 m/s, the standard deviation of a velocity that nothing is known of. */
  for (guint i = 0; i < 10; i++)
    add_step (localizer, 0.5, NDT_TRACK_DEGRADED, &step);
  g_assert_cmpfloat_with_epsilon (step.out.sigma, 20, 1);
  for (guint i = 0; i < 4; i++) {
    double axis[3];
    g_assert_cmpfloat (add_step (localizer, 1.5, NDT_TRACK_DEGRADED, &step), >, 20);
    g_assert_cmpfloat (sqrt (c[0]), >=, step.out.sigma);
    /* As roads bend. */
    g_assert_cmpfloat (sqrt (c[7]), <, 0.5 * step.out.sigma);
    g_assert_cmpfloat (sqrt (c[35]), >, 0.1);
    g_assert_cmpfloat (fabs (step.out.sigma_axis[0]), >, 0.99);
    /* Of one scan a share may be feigned: after an open stretch one leaves metres, and three have
     * to tell the place before σ is below what is tracking, half a metre. */
    const double own = ndt_drift_get_sigma (&localizer->tracker.drift, axis);
    const double most = localizer->params.max_sigma;
    if (i < 2)
      g_assert_cmpfloat (own, >, i == 0 ? 2 : most);
    else
      g_assert_cmpfloat (own, <, i == 2 ? most : 0.4 * most);
  }
  g_assert_cmpfloat (add_step (localizer, 1.5, NDT_TRACK_TRACKING, &step), <, 0.2);
  g_assert_cmpfloat (sqrt (c[0]), <, 0.2);
  g_assert_cmpfloat (add_step (localizer, 1.5, NDT_TRACK_DEGRADED, &step), <, 0.5);
}

/* What roads do not have tells the place, accepted or not. */
static void
test_no_road (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  NdtLocalizerStep step;
  begin (localizer);
  for (guint i = 0; i < 5; i++)
    add_step (localizer, 0.5, NDT_TRACK_DEGRADED, &step);
  g_assert_cmpfloat (step.out.sigma, >, 5);
  g_assert_cmpfloat (
      add_step (localizer, 2 * NDT_LOCALIZER_NO_ROAD, NDT_TRACK_DEGRADED, &step), <, 0.1);
}

/* A place that no motion leads to may be the right one, or the prediction: until it is confirmed
 * three standard deviations hold both. */
static void
test_jump (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  NdtTracker *tracker = &localizer->tracker;
  NdtLocalizerStep step;
  const double *c = step.out.registration.covariance;
  begin (localizer);
  g_assert_cmpfloat (add_step (localizer, 20, NDT_TRACK_TRACKING, &step), <, 0.1);
  make_step (localizer, 20, &step);
  step.jumps = TRUE;
  step.out.registration.pose.position[1] += 12;
  tracker->n_unconfirmed = NDT_TRACKER_CONFIRM;
  settle_step (localizer, NDT_TRACK_DEGRADED, &step);
  for (guint i = 0; i < 2; i++) {
    g_assert_cmpfloat (sqrt (c[7]), >=, 12);
    g_assert_cmpfloat (step.out.sigma, >=, 12);
    g_assert_cmpfloat (fabs (step.out.sigma_axis[1]), >, 0.99);
    tracker->n_unconfirmed = 1;
    add_step (localizer, 20, NDT_TRACK_DEGRADED, &step);
  }
  tracker->n_unconfirmed = 0;
  g_assert_cmpfloat (add_step (localizer, 20, NDT_TRACK_TRACKING, &step), <, 0.1);
  g_assert_cmpfloat (sqrt (c[7]), <, 0.1);
}

/* Carried away by 5 m: whatever the status, the truth is within 3 σ, and none above 0.5 m is
 * tracking. */
static void
test_carried (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  guint n_tracking = 0;
  ndt_localizer_set_initial_pose (localizer, &truths[0]);
  for (guint i = 0; i < 40; i++) {
    const guint at = i < 10 ? i : i + 25;
    NdtObservation o = observe (at);
    o.time = observe (i).time;
    const NdtLocalization l = process (localizer, &o);
    const double *c = l.registration.covariance;
    double metres;
    ndt_pose_difference (&l.registration.pose, &truths[at], &metres, NULL);
    g_assert_cmpfloat (metres, <, 3 * sqrt (c[0] + c[7] + c[14]));
    n_tracking += l.status == NDT_TRACK_TRACKING;
    if (l.status == NDT_TRACK_TRACKING)
      g_assert_cmpfloat (l.sigma, <=, 0.5);
  }
  g_assert_cmpuint (n_tracking, >, 30);
  g_assert_cmpuint (n_tracking, <, 40);
}

/* A scan whose odometry leads @off metres from where the velocity does, which is where it fits. */
static void
make_odometry_step (NdtLocalizer *localizer, double along, double off, NdtLocalizerStep *step)
{
  make_step (localizer, along, step);
  step->guess.own = step->guess.odometry = step->guess.pose;
  step->guess.odometry.position[0] += off;
  step->guess.has_odometry = TRUE;
  step->guess.contradicts = off != 0;
}

/* σ holds both the place where contradicting odometry leads and that where the velocity does, and
 * it is not used until a scan that leaves nothing open agrees with it, or until a start. */
static void
test_odometry_off (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  NdtTracker *tracker = &localizer->tracker;
  NdtLocalizerStep step;
  for (guint ends = 0; ends < 2; ends++) {
    begin (localizer);
    memset (tracker->drift.velocity, 0, sizeof (tracker->drift.velocity));
    tracker->open_drift = tracker->drift;
    tracker->anchor.has_odometry = TRUE;
    make_odometry_step (localizer, 0.5, 0, &step);
    g_assert_cmpfloat (settle_step (localizer, NDT_TRACK_DEGRADED, &step), <, 0.2);
    g_assert_false (step.out.is_odometry_off);
    g_assert_cmpfloat (step.out.odometry_apart, ==, 0);
    make_odometry_step (localizer, 0.5, -2, &step);
    g_assert_cmpfloat (settle_step (localizer, NDT_TRACK_DEGRADED, &step), >, 2);
    g_assert_true (step.out.is_odometry_off);
    g_assert_cmpfloat_with_epsilon (step.out.odometry_apart, 2, 1e-9);
    g_assert_false (tracker->anchor.has_odometry);
    /* It agrees, along a road; where nothing is open, but in another place; or it leads elsewhere,
     * 0.5 m where 0.05 m and 15 % of 2.5 m are allowed. */
    for (guint i = 0; i < 3; i++) {
      make_odometry_step (localizer, i == 0 ? 0.5 : 100, 0, &step);
      step.jumps = i == 1;
      step.guess.odometry.position[0] += i == 2 ? 0.5 : 0;
      settle_step (localizer, NDT_TRACK_DEGRADED, &step);
      g_assert_true (tracker->is_odometry_off && step.out.is_odometry_off);
      g_assert_cmpfloat (step.out.odometry_apart, ==, 0);
    }
    make_odometry_step (localizer, ends ? 0.5 : 100, 0, &step);
    if (ends)
      step.guess.prediction = NDT_PREDICTION_INITIAL;
    settle_step (localizer, NDT_TRACK_TRACKING, &step);
    g_assert_false (tracker->is_odometry_off || step.out.is_odometry_off);
  }
}

/* Where few surfaces are across an axis its variance is at least that of where these lie in their
 * cells, however small the stream's is; where many are it is not. */
static void
test_weak (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  for (guint is_weak = 0; is_weak < 2; is_weak++) {
    NdtLocalizerStep step;
    double *c = step.out.registration.covariance;
    make_step (localizer, is_weak ? 2 : 3, &step);
    const double before[2] = {c[0], c[7]};
    memset (&step.drift, 0, sizeof (step.drift));
    ndt_localizer_step_add_drift (&step, 10, &step.out.registration);
    g_assert_cmpfloat (before[0], <, 0.3 * 0.3);
    g_assert_cmpfloat_with_epsilon (c[0], is_weak ? 0.3 * 0.3 : before[0], 1e-12);
    g_assert_cmpfloat (c[7], ==, before[1]);
  }
}

/* What compensation by a wrong velocity leaves is an error of the scan itself: it is added once,
 * and not scaled by what is known of the stream's position, which is information / (information −
 * FLAT) times what the curvature alone says, here twice. */
static void
test_distortion (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  NdtLocalizerStep step;
  double still[36] = {0};
  for (guint deskewed = 0; deskewed < 2; deskewed++) {
    double *c = step.out.registration.covariance;
    make_step (localizer, 2, &step);
    step.guess.coasts = FALSE;
    step.has_course = step.course.has_velocity = deskewed > 0;
    for (guint k = 0; k < 3; k++)
      step.drift.position[k][k] = k == 0 ? 2 * c[0] : c[7 * k];
    step.out.sigma = 0.02;
    ndt_localizer_step_add_drift (&step, 0, &step.out.registration);
    if (!deskewed) {
      g_assert_cmpfloat_with_epsilon (c[0], NDT_DRIFT_CLUSTERING / FLAT, 1e-9);
      memcpy (still, c, sizeof (still));
      continue;
    }
    /* 0.3 m of a velocity that was estimated from the scan itself. */
    for (guint k = 0; k < 3; k++)
      g_assert_cmpfloat_with_epsilon (c[7 * k] - still[7 * k], 0.09, 1e-9);
  }
}

/* Nothing along x, all of the rest. */
static const NdtObservability corridor = {
    {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {0.5 * FLAT, 1e3 * FLAT, 1e3 * FLAT}, FLAT};

/* After a jump the velocity is unknown, and so is what it has to do with the position: a prior of
 * 0.4 m tells of it no more than a Kalman filter finds of independent ones. */
static void
test_unknown_velocity (void)
{
  static const double stddevs[] = {0.4, 1, 3};
  NdtDriftStep step = {.seconds = 0.1, .is_led = 1, .is_filtered = 1};
  step.prior[0][0] = 1 / (0.4 * 0.4);
  for (guint i = 0; i < G_N_ELEMENTS (stddevs); i++) {
    const double p = stddevs[i] * stddevs[i], t = step.seconds;
    double shift[3] = {0}, axis[3];
    NdtDrift drift;
    ndt_drift_reset (&drift, 0.01);
    ndt_drift_widen (&drift, stddevs[i]);
    const double v = drift.velocity[0][0];
    const double gain = ndt_drift_get_gain (&drift, &step, corridor.axes[0]);
    ndt_drift_take (&drift, &step, &corridor, shift, axis);
    /* By the gain for each metre off the prediction, of which the prior tells that share. */
    const double motion = p + v * t * t, off = motion + 1 / step.prior[0][0];
    g_assert_cmpfloat (gain, <=, v * t / motion);
    g_assert_cmpfloat (drift.velocity[0][0], >=, v - v * t * v * t / off);
    g_assert_cmpfloat (drift.velocity[0][0], <, v);
  }
}

/* A prior counts as one of 0.4 m along each direction that it tells better, whichever that is in
 * the map. */
static void
test_least_prior (void)
{
  for (guint i = 0; i < 8; i++) {
    const double angle = i * G_PI / 8, along = 1 / (0.1 * 0.1), across = 1 / (2.0 * 2.0);
    const double u[3] = {cos (angle), sin (angle), 0}, v[3] = {-u[1], u[0], 0};
    double told[3][3], back[2] = {0, 0};
    NdtDriftStep step = {.seconds = 0.1};
    for (guint k = 0; k < 3; k++)
      for (guint m = 0; m < 3; m++)
        told[k][m] = along * u[k] * u[m] + across * v[k] * v[m];
    ndt_drift_set_prior (&step, told, 0.4);
    for (guint k = 0; k < 3; k++)
      for (guint m = 0; m < 3; m++) {
        back[0] += u[k] * step.prior[k][m] * u[m];
        back[1] += v[k] * step.prior[k][m] * v[m];
      }
    g_assert_cmpfloat_with_epsilon (1 / sqrt (back[0]), 0.4, 1e-9);
    g_assert_cmpfloat_with_epsilon (1 / sqrt (back[1]), 2, 1e-9);
    g_assert_cmpfloat_with_epsilon (step.prior[2][2], 0, 1e-9);
  }
}

/* A prior that tells the way along x takes nothing from what scans tell across, where that is open
 * as well. */
static void
test_led_axis (void)
{
  /* Open, with a standard deviation of 0.13 m each that surfaces do not feign. */
  const double open = FLAT + NDT_DRIFT_CLUSTERING / (0.13 * 0.13);
  const NdtObservability seen = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {open, open, 100 * FLAT}, FLAT};
  double sigma[2][2];
  g_assert_cmpfloat (open, <, NDT_OBSERVABILITY_OPEN * FLAT);
  for (int is_led = 0; is_led < 2; is_led++) {
    NdtDriftStep step = {.seconds = 0.1, .is_led = is_led, .is_filtered = is_led};
    double shift[3] = {0.3, 0.3, 0}, axis[3];
    NdtDrift drift;
    step.prior[0][0] = 1 / (0.4 * 0.4);
    ndt_drift_reset (&drift, 0.1);
    for (guint k = 0; k < 3; k++)
      drift.velocity[k][k] = 0.01;
    ndt_drift_take (&drift, &step, &seen, shift, axis);
    g_assert_cmpint (ndt_drift_is_led (&drift, &step, seen.axes[0]), ==, is_led);
    g_assert_cmpint (ndt_drift_is_led (&drift, &step, seen.axes[1]), ==, 0);
    for (guint k = 0; k < 2; k++)
      sigma[is_led][k] = sqrt (drift.position[k][k]);
  }
  g_assert_cmpfloat (sigma[1][0], >, 1.05 * sigma[0][0]);
  g_assert_cmpfloat (sigma[1][1], ==, sigma[0][1]);
}

/* Where nothing corrects the velocity it is that from one position to the next, whatever a prior
 * tells. */
static void
test_velocity_of_positions (void)
{
  NdtDriftStep step = {.seconds = 0.1, .is_led = 1};
  double shift[3] = {0}, axis[3];
  NdtDrift drift;
  step.prior[0][0] = 1 / (0.4 * 0.4);
  ndt_drift_reset (&drift, 2.9);
  const double before = drift.position[0][0];
  ndt_drift_take (&drift, &step, &corridor, shift, axis);
  g_assert_cmpfloat (drift.position[0][0], <=, 0.4 * 0.4);
  const double between = (drift.position[0][0] + before) / (step.seconds * step.seconds);
  g_assert_cmpfloat_with_epsilon (drift.velocity[0][0], MIN (between, 20 * 20), 1e-9);
  g_assert_cmpfloat (drift.cross[0][0], ==, 0);
  /* That from a second one, which is known to 0.4 m as well, has its error. */
  ndt_drift_take (&drift, &step, &corridor, shift, axis);
  const double v = drift.velocity[0][0];
  g_assert_cmpfloat (v, <, 2.01 * 0.4 * 0.4 / (step.seconds * step.seconds));
  g_assert_cmpfloat_with_epsilon (drift.cross[0][0], drift.position[0][0] / step.seconds, 1e-9);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  make_stream ();
  g_test_add_func ("/localizer-drift/open", test_open);
  g_test_add_func ("/localizer-drift/no-road", test_no_road);
  g_test_add_func ("/localizer-drift/jump", test_jump);
  g_test_add_func ("/localizer-drift/carried", test_carried);
  g_test_add_func ("/localizer-drift/odometry-off", test_odometry_off);
  g_test_add_func ("/localizer-drift/weak", test_weak);
  g_test_add_func ("/localizer-drift/distortion", test_distortion);
  g_test_add_func ("/localizer-drift/unknown-velocity", test_unknown_velocity);
  g_test_add_func ("/localizer-drift/least-prior", test_least_prior);
  g_test_add_func ("/localizer-drift/led-axis", test_led_axis);
  g_test_add_func ("/localizer-drift/velocity-of-positions", test_velocity_of_positions);
  const int result = g_test_run ();
  free_stream ();
  return result;
}
