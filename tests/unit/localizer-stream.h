/* SPDX-License-Identifier: MIT */
/* A stream of scans around a yard for tests of the localizer. One program includes it once. */
#pragma once

#include <math.h>
#include <string.h>

#include "ndtcore/track/ndt-localizer.h"
#include "tests/ndt-scene.h"

#define N_SCANS 130
#define N_POINTS 300
#define MS G_GINT64_CONSTANT (1000000)

static NdtVoxelMap *yard_map;
static NdtPose truths[N_SCANS];
static float *scans[N_SCANS];
G_GNUC_UNUSED static const float nowhere[3] = {NAN, NAN, NAN};

/* A loop of 5 m around the yard's middle at 2 m/s, 10 scans a second. */
static inline void
make_stream (void)
{
  yard_map = ndt_test_scene_map (NDT_TEST_YARD, 60000, 2);
  for (guint i = 0; i < N_SCANS; i++) {
    const double angle = 0.04 * i;
    const double position[3] = {5 * sin (angle), -5 * cos (angle), 1.8};
    ndt_pose_from_rpy (position, 0.01 * sin (angle), 0, angle, &truths[i]);
    scans[i] = ndt_test_scene_scan (NDT_TEST_YARD, &truths[i], N_POINTS, 100 + i);
  }
}

static inline NdtObservation
observe (guint i)
{
  NdtObservation o = {.points = ndt_cloud_view_xyz_f32 (scans[i], N_POINTS), .time = 100 * i * MS};
  return o;
}

static inline NdtBackend *
open_backend (guint n_threads)
{
  const NdtBackendConfig config = {-1, n_threads, 0};
  NdtBackend *backend = ndt_backend_open_cpu (&config, NULL);
  g_assert_true (ndt_backend_set_map (backend, yard_map, NULL));
  return backend;
}

static inline NdtLocalization
process (NdtLocalizer *localizer, const NdtObservation *observation)
{
  NdtLocalization out;
  GError *error = NULL;
  NdtPose guess;
  const NdtPrediction prediction = ndt_localizer_predict (localizer, observation, &guess);
  memset (&out, 0xff, sizeof out);
  ndt_localizer_process (localizer, observation, &out, &error);
  g_assert_no_error (error);
  if (!out.searched) {
    g_assert_cmpuint (out.prediction, ==, prediction);
    g_assert_cmpmem (&out.guess, sizeof out.guess, &guess, sizeof guess);
  }
  g_assert_cmpuint (out.status, ==, ndt_localizer_get_status (localizer));
  for (guint k = 0; k < 36; k++)
    g_assert_true (isfinite (out.registration.covariance[k]));
  return out;
}

static inline void
assert_tracks (const NdtLocalization *l, const NdtPose *truth)
{
  double m, r;
  ndt_pose_difference (&l->registration.pose, truth, &m, &r);
  g_assert_cmpuint (l->status, ==, NDT_TRACK_TRACKING);
  g_assert_cmpuint (l->reason, ==, NDT_REASON_NONE);
  /* 300 points with 2 cm of noise in cells of 2 m. */
  g_assert_cmpfloat (m, <, 0.05);
  g_assert_cmpfloat (r, <, 0.01);
}

/* Compares all public members, to the bit. */
static inline void
assert_same (const NdtLocalization *a, const NdtLocalization *b)
{
  const NdtRegistration *x = &a->registration, *y = &b->registration;
  g_assert_true (memcmp (&x->pose, &y->pose, sizeof x->pose) == 0);
  g_assert_true (memcmp (x->covariance, y->covariance, sizeof x->covariance) == 0);
  g_assert_cmpfloat (x->score, ==, y->score);
  g_assert_cmpfloat (x->nvtl, ==, y->nvtl);
  g_assert_cmpfloat (x->matched_ratio, ==, y->matched_ratio);
  g_assert_cmpuint (x->iterations, ==, y->iterations);
  g_assert_cmpuint (x->evaluations, ==, y->evaluations);
  g_assert_cmpuint (x->n_starts, ==, y->n_starts);
  g_assert_cmpuint (a->status, ==, b->status);
  g_assert_cmpuint (a->previous_status, ==, b->previous_status);
  g_assert_cmpuint (a->reason, ==, b->reason);
  g_assert_cmpuint (a->prediction, ==, b->prediction);
  g_assert_true (memcmp (&a->guess, &b->guess, sizeof a->guess) == 0);
  g_assert_cmpint (a->has_pose, ==, b->has_pose);
  g_assert_cmpuint (a->n_skipped, ==, b->n_skipped);
  g_assert_cmpint (a->relocalized, ==, b->relocalized);
}

static inline void
free_stream (void)
{
  for (guint i = 0; i < N_SCANS; i++)
    g_free (scans[i]);
  ndt_voxel_map_unref (yard_map);
}
