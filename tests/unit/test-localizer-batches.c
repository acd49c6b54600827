/* SPDX-License-Identifier: MIT */
/* Batches, errors, and what is asked of parameters. */
#include <math.h>
#include <string.h>

#include "localizer-stream.h"

/* A stream with all that may happen in one. */
static NdtObservation
eventful (guint i)
{
  NdtObservation o = observe (i);
  o.has_prior = i == 0 || i == 60 || i % 40 == 25;
  o.prior = truths[i];
  o.prior.position[0] += 0.3;
  o.has_odometry = i > 20 && i % 5 != 0;
  o.odometry = truths[i];
  if (i % 11 == 3 || (i > 40 && i < 58))
    o.points.n_points = i % 4;
  if (i > 90 && i < 108) {
    /* By a camera's axes: of no place. */
    o.points.x = o.points.z;
    o.points.z = (const guint8 *)scans[i];
  }
  if (i % 17 == 4)
    o.time = -1;
  return o;
}

typedef struct {
  NdtLocalization *out;
  guint n;
  NdtBackend *cancel_at_third;
} Collect;

static void
collect (guint index, const NdtLocalization *localization, gpointer data)
{
  Collect *c = data;
  g_assert_cmpuint (index, ==, c->n);
  c->out[c->n++] = *localization;
  if (c->n == 3 && c->cancel_at_third)
    ndt_backend_cancel (c->cancel_at_third, TRUE);
}

static NdtLocalization *
one_by_one (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  NdtLocalization *out = g_new (NdtLocalization, N_SCANS);
  guint counts[5] = {0};
  for (guint i = 0; i < N_SCANS; i++) {
    const NdtObservation o = eventful (i);
    out[i] = process (localizer, &o);
    counts[out[i].status]++;
  }
  g_assert_cmpuint (counts[NDT_TRACK_TRACKING], >, 60);
  g_assert_cmpuint (counts[NDT_TRACK_SKIPPED], >, 5);
  /* What is lost is found again by the fourth scan. */
  g_assert_cmpuint (counts[NDT_TRACK_LOST], >=, 2);
  return out;
}

static void
test_batches (void)
{
  static const guint sizes[] = {1, 2, 7, 64};
  g_autofree NdtLocalization *expected = one_by_one ();
  for (guint s = 0; s < G_N_ELEMENTS (sizes); s++) {
    g_autoptr (NdtBackend) backend = open_backend (1 + s);
    g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
    g_autofree NdtLocalization *out = g_new (NdtLocalization, N_SCANS);
    NdtObservation o[64];
    for (guint first = 0; first < N_SCANS; first += sizes[s]) {
      const guint n = MIN (sizes[s], N_SCANS - first);
      Collect c = {out + first, 0, NULL};
      GError *error = NULL;
      for (guint i = 0; i < n; i++)
        o[i] = eventful (first + i);
      ndt_localizer_process_batch (localizer, o, n, collect, &c, &error);
      g_assert_no_error (error);
      g_assert_cmpuint (c.n, ==, n);
    }
    for (guint i = 0; i < N_SCANS; i++)
      assert_same (&out[i], &expected[i]);
  }
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  NdtObservation o[65];
  Collect c = {NULL, 0, NULL};
  for (guint i = 0; i < 65; i++)
    o[i] = observe (i);
  static const guint bad[] = {0, 65};
  for (guint b = 0; b < 2; b++) {
    g_autoptr (GError) error = NULL;
    g_assert_false (ndt_localizer_process_batch (localizer, o, bad[b], collect, &c, &error));
    g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
  }
}

/* An error leaves the state as it was before the scan, in the middle of a batch as well. */
static void
test_errors (void)
{
  g_autofree NdtLocalization *expected = one_by_one ();
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtBackend) other = open_backend (2);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  NdtBackend *now = backend;
  guint i = 0;
  while (i < N_SCANS) {
    NdtLocalization out[8];
    NdtObservation o[8];
    const guint n = MIN (8, N_SCANS - i);
    Collect c = {out, 0, now};
    g_autoptr (GError) error = NULL;
    for (guint k = 0; k < n; k++)
      o[k] = eventful (i + k);
    const gboolean ok = ndt_localizer_process_batch (localizer, o, n, collect, &c, &error);
    if (!ok) {
      NdtLocalization unused;
      g_autoptr (GError) again = NULL;
      g_assert_error (error, NDT_ERROR, NDT_ERROR_CANCELLED);
      g_assert_cmpuint (c.n, >=, 3);
      /* And once more, alone; scans that need no backend pass all the same. */
      if (i + c.n < N_SCANS && expected[i + c.n].prediction != NDT_PREDICTION_NONE &&
          !ndt_localizer_process (localizer, &o[c.n], &unused, &again))
        g_assert_error (again, NDT_ERROR, NDT_ERROR_CANCELLED);
    }
    for (guint k = 0; k < c.n; k++)
      assert_same (&out[k], &expected[i + k]);
    i += c.n;
    ndt_backend_cancel (now, FALSE);
    /* Another backend takes over in the middle of the stream. */
    now = now == backend ? other : backend;
    ndt_localizer_set_backend (localizer, now);
  }
}

/* A backend that aligns between begin and end by itself, as a device does. */
static struct {
  const NdtBackendClass *klass;
  guint slot;
  NdtAlignParams params;
  NdtStart start;
  guint n_following[NDT_MAX_SCANS];
} begun;

static gboolean
begin_itself (NdtBackend *backend, guint slot, const NdtAlignParams *align, const NdtStart *start,
    guint n_following, GError **error)
{
  (void)backend, (void)error;
  begun.slot = slot;
  begun.params = *align;
  begun.start = *start;
  begun.n_following[slot] = n_following;
  return TRUE;
}

static gboolean
end_itself (NdtBackend *backend, NdtAlignResult *result, GError **error)
{
  return begun.klass->align (backend, begun.slot, &begun.params, &begun.start, 1, result, error);
}

static void
stop_itself (NdtBackend *backend)
{
  (void)backend;
}

/* On a sparse map each scan is evaluated between two alignments: those that no device thins are no
 * sequence. */
static void
test_sequences (void)
{
  enum { N = 8 };
  for (guint k = 0; k < 4; k++) {
    const gboolean is_sparse = k / 2, is_thinned = k % 2;
    g_autoptr (NdtVoxelMap) map = ndt_test_scene_map (NDT_TEST_YARD, is_sparse ? 10000 : 60000, 2);
    g_autoptr (NdtBackend) backend = open_backend (1);
    g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
    g_autofree NdtLocalization *out = g_new (NdtLocalization, N);
    Collect c = {out, 0, NULL};
    double resolution, share, density;
    NdtLocalizerParams params;
    NdtObservation o[N];
    GError *error = NULL;
    g_assert_true (ndt_backend_set_map (backend, map, NULL));
    const guint level = ndt_backend_get_fit_level (backend, &resolution, &share, &density);
    g_assert_cmpint (level > 0, ==, is_sparse);
    ndt_localizer_params_init (&params);
    params.deskew = FALSE;
    params.filter.leaf_size = is_thinned ? 0.1f : 0;
    g_assert_true (ndt_localizer_set_params (localizer, &params, NULL));
    ndt_localizer_set_initial_pose (localizer, &truths[0]);
    for (guint i = 0; i < N; i++)
      o[i] = observe (i);
    begun.klass = backend->klass;
    NdtBackendClass itself = *begun.klass;
    itself.align_begin = begin_itself;
    itself.align_end = end_itself;
    itself.align_stop = stop_itself;
    backend->klass = &itself;
    memset (begun.n_following, 0xff, sizeof (begun.n_following));
    ndt_localizer_process_batch (localizer, o, N, collect, &c, &error);
    backend->klass = begun.klass;
    g_assert_no_error (error);
    /* The first two are aligned as a start. */
    for (guint i = 2; i < N; i++) {
      g_assert_cmpuint (out[i].status, ==, NDT_TRACK_TRACKING);
      g_assert_cmpuint (begun.n_following[i], ==, is_sparse && !is_thinned ? 0 : N - 1 - i);
    }
  }
}

static void
test_no_map (void)
{
  const NdtBackendConfig config = {-1, 1, 0};
  g_autoptr (NdtBackend) backend = ndt_backend_open_cpu (&config, NULL);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  NdtLocalization out;
  g_autoptr (GError) error = NULL;
  const NdtObservation o = observe (0);
  ndt_localizer_set_initial_pose (localizer, &truths[0]);
  g_assert_false (ndt_localizer_process (localizer, &o, &out, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_NO_MAP);
  g_assert_true (ndt_backend_set_map (backend, yard_map, NULL));
  const NdtLocalization l = process (localizer, &o);
  assert_tracks (&l, &truths[0]);
  g_assert_cmpuint (l.prediction, ==, NDT_PREDICTION_INITIAL);
}

static void
test_params (void)
{
  g_autoptr (NdtBackend) backend = open_backend (1);
  g_autoptr (NdtLocalizer) localizer = ndt_localizer_new (backend);
  for (guint i = 0; i < 19; i++) {
    NdtLocalizerParams p;
    g_autoptr (GError) error = NULL;
    ndt_localizer_params_init (&p);
    switch (i) {
    case 0:
      p.registration.align.outlier_ratio = 1;
      break;
    case 1:
      p.registration.covariance_scale = 0;
      break;
    case 2:
      p.registration.covariance_scale = NAN;
      break;
    case 3:
      p.registration.temperature = 0;
      break;
    case 4:
      p.registration.n_offsets = NDT_MAX_OFFSETS + 1;
      break;
    case 5:
      p.min_points = 0;
      break;
    case 6:
      p.tp_threshold = -1;
      break;
    case 7:
      p.nvtl_threshold = NAN;
      break;
    case 8:
      p.nvtl_threshold_fraction = 1.1;
      break;
    case 9:
      p.matched_ratio_threshold = -0.1;
      break;
    case 10:
      p.score_drop = 2;
      break;
    case 11:
      p.score_drop = NAN;
      break;
    case 12:
      p.registration.fixed_variance[5] = 0;
      break;
    case 13:
      p.registration.fixed_variance[0] = NAN;
      break;
    case 14:
      p.registration.align.max_iterations = 0;
      break;
    case 15:
      p.sensor_pose.position[0] = NAN;
      break;
    case 16:
      p.registration.covariance = (NdtPoseCovariance)4;
      break;
    case 17:
      p.registration.offset_x[2] = INFINITY;
      break;
    case 18:
      p.registration.covariance_scale = INFINITY;
      break;
    }
    if (ndt_localizer_set_params (localizer, &p, &error))
      g_error ("case %u was taken", i);
    g_assert_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT);
    g_assert_cmpuint (strlen (error->message), >, 10);
  }
  /* And what was set before still is. */
  NdtObservation o = observe (0);
  o.has_prior = TRUE;
  o.prior = truths[0];
  const NdtLocalization l = process (localizer, &o);
  assert_tracks (&l, &truths[0]);
}

static void
test_names (void)
{
  for (guint i = 0; i < 5; i++)
    for (guint j = 0; j < i; j++)
      g_assert_cmpstr (ndt_track_status_to_string ((NdtTrackStatus)i), !=,
          ndt_track_status_to_string ((NdtTrackStatus)j));
  g_assert_cmpstr (ndt_track_status_to_string (NDT_TRACK_SKIPPED), ==, "skipped");
  g_assert_cmpstr (ndt_reason_to_string (NDT_REASON_TOO_LATE), ==, "too-late");
  g_assert_cmpstr (ndt_prediction_to_string (NDT_PREDICTION_PRIOR), ==, "prior");
  g_assert_cmpstr (ndt_prediction_to_string ((NdtPrediction)99), ==, "unknown");
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  make_stream ();
  g_test_add_func ("/localizer/batches", test_batches);
  g_test_add_func ("/localizer/errors", test_errors);
  g_test_add_func ("/localizer/sequences", test_sequences);
  g_test_add_func ("/localizer/no-map", test_no_map);
  g_test_add_func ("/localizer/params", test_params);
  g_test_add_func ("/localizer/names", test_names);
  const int result = g_test_run ();
  free_stream ();
  return result;
}
