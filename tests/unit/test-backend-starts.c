/* SPDX-License-Identifier: MIT */
/* Several starts of one scan on the CPU backend, which threads take side by side where the scan is
 * small. */
#include <math.h>
#include <string.h>

#include "ndtcore/registration/ndt-registration.h"
#include "tests/ndt-scene.h"
#include "tests/ndt-wait.h"

#define N_STARTS 7

static const NdtScanFilter no_filter = NDT_SCAN_FILTER_NONE;
static const NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
static const NdtPose truth = {{1.5, -2.25, 1.4}, {0, 0, 0.2169304578186566, 0.9761870601839546}};

static NdtBackend *
open_backend (guint n_threads, NdtVoxelMap *map)
{
  const NdtBackendConfig config = {-1, n_threads, 0};
  NdtBackend *backend = ndt_backend_open_cpu (&config, NULL);
  g_assert_true (ndt_backend_set_map (backend, map, NULL));
  return backend;
}

static void
set_scan (NdtBackend *backend, guint slot, guint n, guint32 seed)
{
  g_autofree float *scan = ndt_test_scene_scan (NDT_TEST_YARD, &truth, n, seed);
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (scan, n);
  guint n_set;
  g_assert_true (ndt_backend_set_scan (backend, slot, &view, &no_filter, NULL));
  g_assert_true (ndt_backend_get_scan (backend, slot, NULL, 0, &n_set, NULL));
}

static void
make_starts (NdtStart starts[N_STARTS], NdtPose poses[N_STARTS])
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (4);
  memset (starts, 0, N_STARTS * sizeof (*starts));
  for (guint i = 0; i < N_STARTS; i++) {
    double delta[6];
    for (guint k = 0; k < 6; k++)
      delta[k] = g_rand_double_range (rand, -1, 1) * (k < 3 ? 1.5 : 0.1);
    ndt_pose_retract (&truth, delta, &poses[i]);
    starts[i].guess = poses[i];
    starts[i].approach = i % 4;
  }
}

/* What comes of all starts in all slots, appended to @out. */
static void
run_all (NdtBackend *backend, GByteArray *out)
{
  NdtStart starts[N_STARTS];
  NdtPose poses[N_STARTS];
  make_starts (starts, poses);
  for (guint round = 0; round < 2; round++)
    for (guint slot = 0; slot < 3; slot++) {
      NdtAlignResult results[N_STARTS];
      NdtSums sums[N_STARTS];
      memset (results, 0, sizeof results);
      g_assert_true (ndt_backend_align (backend, slot, &params, starts, N_STARTS, results, NULL));
      g_byte_array_append (out, (const guint8 *)results, sizeof results);
      for (guint level = 0; level < 3; level++) {
        g_assert_true (ndt_backend_evaluate (
            backend, slot, &params, level, NDT_KIND_LEAST_SQUARES, poses, N_STARTS, sums, NULL));
        g_byte_array_append (out, (const guint8 *)sums, sizeof sums);
      }
    }
}

/* Any number of threads has the same results, to the bit, from one scan after the other, when a
 * slot has other points, and in another map. Nothing is allocated the second time. */
static void
test_same (void)
{
  static const guint n_threads[] = {1, 4};
  g_autoptr (NdtVoxelMap) map = ndt_test_scene_map (NDT_TEST_YARD, 20000, 1);
  g_autoptr (NdtVoxelMap) other = ndt_test_scene_map (NDT_TEST_YARD, 15000, 1);
  g_autoptr (GByteArray) expected = NULL;
  for (guint t = 0; t < G_N_ELEMENTS (n_threads); t++) {
    g_autoptr (NdtBackend) backend = open_backend (n_threads[t], map);
    g_autoptr (GByteArray) out = g_byte_array_new ();
    NdtBackendCounters before, after;
    /* One chunk, some, and more than threads take apart. */
    set_scan (backend, 0, 90, 1);
    set_scan (backend, 1, 700, 2);
    set_scan (backend, 2, 1700, 3);
    run_all (backend, out);
    set_scan (backend, 1, 700, 5);
    set_scan (backend, 2, 600, 6);
    ndt_backend_get_counters (backend, &before);
    run_all (backend, out);
    g_assert_true (ndt_backend_set_map (backend, other, NULL));
    run_all (backend, out);
    ndt_backend_get_counters (backend, &after);
    g_assert_cmpuint (after.allocations, ==, before.allocations);
    g_assert_cmpuint (after.alignments - before.alignments, ==, 2 * 2 * 3 * N_STARTS);
    if (!expected)
      expected = g_steal_pointer (&out);
    else
      g_assert_cmpmem (out->data, out->len, expected->data, expected->len);
  }
}

typedef struct {
  NdtBackend *backend;
  gint n_rounds; /* atomic */
  gint quit;     /* atomic */
} Canceller;

static gpointer
cancel_again_and_again (gpointer data)
{
  Canceller *c = data;
  while (!g_atomic_int_get (&c->quit)) {
    ndt_backend_cancel (c->backend, TRUE);
    ndt_backend_cancel (c->backend, FALSE);
    g_atomic_int_inc (&c->n_rounds);
    g_thread_yield ();
  }
  return NULL;
}

/* Whenever it is cancelled and taken back, a call has all of its results or none. */
static void
test_cancel (void)
{
  g_autoptr (NdtVoxelMap) map = ndt_test_scene_map (NDT_TEST_YARD, 20000, 1);
  g_autoptr (NdtBackend) backend = open_backend (3, map);
  NdtStart starts[N_STARTS];
  NdtPose poses[N_STARTS];
  NdtAlignResult expected[N_STARTS];
  Canceller canceller = {backend, 0, 0};
  guint n_done = 0, n_cancelled = 0;
  make_starts (starts, poses);
  set_scan (backend, 0, 300, 1);
  memset (expected, 0, sizeof expected);
  g_assert_true (ndt_backend_align (backend, 0, &params, starts, N_STARTS, expected, NULL));
  GThread *thread = g_thread_new ("cancel", cancel_again_and_again, &canceller);
  ndt_wait_for (g_atomic_int_get (&canceller.n_rounds) > 0);
  for (guint i = 0; i < 50; i++) {
    g_autoptr (GError) error = NULL;
    NdtAlignResult results[N_STARTS];
    memset (results, 0, sizeof results);
    if (ndt_backend_align (backend, 0, &params, starts, N_STARTS, results, &error)) {
      g_assert_cmpmem (results, sizeof results, expected, sizeof expected);
      n_done++;
    } else {
      g_assert_error (error, NDT_ERROR, NDT_ERROR_CANCELLED);
      n_cancelled++;
    }
  }
  g_atomic_int_set (&canceller.quit, 1);
  g_thread_join (thread);
  g_test_message ("%u done, %u cancelled", n_done, n_cancelled);
  /* How many of each is chance; after the last word there is none. */
  NdtAlignResult results[N_STARTS];
  g_autoptr (GError) error = NULL, refused = NULL;
  memset (results, 0, sizeof results);
  g_assert_true (ndt_backend_align (backend, 0, &params, starts, N_STARTS, results, NULL));
  g_assert_cmpmem (results, sizeof results, expected, sizeof expected);
  ndt_backend_cancel (backend, TRUE);
  g_assert_false (ndt_backend_align (backend, 0, &params, starts, N_STARTS, results, &refused));
  g_assert_error (refused, NDT_ERROR, NDT_ERROR_CANCELLED);
  NdtSums sums[N_STARTS];
  g_assert_false (
      ndt_backend_evaluate (backend, 0, &params, 0, NDT_KIND_SCORE, poses, N_STARTS, sums, &error));
  g_assert_error (error, NDT_ERROR, NDT_ERROR_CANCELLED);
}

/* A backend that aligns between begin and end by itself, as a device does. */
static struct {
  const NdtBackendClass *klass;
  guint slot;
  NdtAlignParams params;
  NdtStart start;
} begun;

static gboolean
begin_itself (NdtBackend *backend, guint slot, const NdtAlignParams *align, const NdtStart *start,
    guint n_following, GError **error)
{
  (void)backend, (void)n_following, (void)error;
  begun.slot = slot;
  begun.params = *align;
  begun.start = *start;
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

/* What a registration says does not depend on whether the backend or its caller keeps what was
 * begun: the information about the position follows from the parameters. */
static void
test_begun (void)
{
  g_autoptr (NdtVoxelMap) map = ndt_test_scene_map (NDT_TEST_YARD, 60000, 2);
  NdtRegistrationParams registration;
  NdtRegistration out[2];
  ndt_registration_params_init (&registration);
  for (guint i = 0; i < 2; i++) {
    g_autoptr (NdtBackend) backend = open_backend (1, map);
    NdtAlignResult result;
    begun.klass = backend->klass;
    NdtBackendClass itself = *begun.klass;
    itself.align_begin = begin_itself;
    itself.align_end = end_itself;
    itself.align_stop = stop_itself;
    set_scan (backend, 0, 3000, 7);
    backend->klass = i ? &itself : begun.klass;
    g_assert_true (ndt_register_begin (backend, 0, &registration, &truth, 0, NULL));
    g_assert_true (ndt_register_end (backend, &result, &out[i], NULL));
    backend->klass = begun.klass;
  }
  g_assert_cmpfloat (out[0].observability.information[0], >, 0);
  g_assert_cmpmem (&out[0], sizeof (out[0]), &out[1], sizeof (out[1]));
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/backend-starts/same", test_same);
  g_test_add_func ("/backend-starts/cancel", test_cancel);
  g_test_add_func ("/backend-starts/begun", test_begun);
  return g_test_run ();
}
