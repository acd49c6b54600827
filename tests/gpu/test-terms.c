/* SPDX-License-Identifier: MIT */
/* Extra terms of alignments on the device: as on the CPU, whatever the shape, with nothing uploaded
 * from pass to pass. */
#include "gpu-backends.h"
#include "gpu-scene.h"
#include "ndtcore/expression/ndt-expr-terms.h"
#include "tests/objective/score-checks.h"

enum { N_STARTS = 20 };

/* A place beside the truth, in units in which the score of a thousand points has as much, which the
 * weight is in proportion to. */
static const gchar text[] =
    "huber((pose.x - prior.x)/0.05, 4); huber((pose.y - prior.y)/0.05, 4); (pose.z - first.z)/0.03;"
    "turn_z(pose, odometry)/0.01; cauchy((pose.roll - first.roll)/0.02, 2);"
    "d = sqrt((pose.x - first.x)^2 + (pose.y - first.y)^2 + 1); (d - 1.2)/0.5";

static NdtExtraTerms *
make_terms (const gchar *of)
{
  g_autoptr (GError) error = NULL;
  NdtExtraTerms *terms = ndt_expr_terms_new (of, &error);
  g_assert_no_error (error);
  return terms;
}

static void
make_starts (const Scene *s, NdtStart starts[N_STARTS])
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);
  const double off[6] = {0.1, -0.08, 0.05, 0.01, -0.01, 0.02}, mount[6] = {1, 0.2, -1, 0, 0, 0.4};
  memset (starts, 0, N_STARTS * sizeof *starts);
  for (guint i = 0; i < N_STARTS; i++) {
    NdtExtraValues *extra = &starts[i].regularization.extra;
    starts[i].guess = scene_guess (s, rand, 0.3, 0.03);
    starts[i].approach = i % 4;
    extra->weight = s->n / 1000.0;
    extra->has = i % 5 == 0 ? NDT_EXPR_TERMS_FIRST : 7;
    extra->body = ndt_pose_from_twist (mount);
    const NdtPose truth = ndt_pose_mul (&s->truth, &extra->body);
    for (guint k = 0; k < 3; k++)
      extra->poses[k] = ndt_pose_retracted (&truth, off);
  }
}

/* As close to the CPU as alignments without terms; with the same bits from many starts and alone,
 * again, and by clusters and grids of all sizes. */
static void
test_agree (void)
{
  static const gchar *shapes[] = {"cluster:1:256", "cluster:4:512", "grid:16:256", "grid:128:256"};
  static const guint sizes[] = {1001, 9001, 33001};
  g_autoptr (NdtExtraTerms) terms = make_terms (text);
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  g_autoptr (NdtBackend) cpu = open_cpu ();
  for (guint n = 0; n < G_N_ELEMENTS (sizes); n++) {
    Scene s = scene_new (60, 60000, sizes[n], 2, NULL);
    NdtStart starts[N_STARTS];
    make_starts (&s, starts);
    scene_give (cpu, &s);
    scene_give (cuda, &s);
    for (NdtMethod method = NDT_METHOD_NEWTON; method <= NDT_METHOD_LBFGS; method++) {
      NdtAlignParams params = default_params;
      NdtAlignResult all[N_STARTS], one, other[N_STARTS];
      g_autoptr (GError) error = NULL;
      guint n_agree = 0;
      double moved = 0;
      params.method = method;
      params.terms = terms;
      memset (all, 0, sizeof all);
      ndt_backend_align (cuda, 0, &params, starts, N_STARTS, all, &error);
      g_assert_no_error (error);
      for (guint i = 0; i < N_STARTS; i++) {
        NdtAlignResult plain;
        double metres;
        memset (&one, 0, sizeof one);
        g_assert_true (ndt_backend_align (cuda, 0, &params, &starts[i], 1, &one, NULL));
        g_assert_cmpmem (&one, sizeof one, &all[i], sizeof all[i]);
        n_agree += check_alignment_with (cpu, cuda, &params, &starts[i]);
        params.terms = NULL;
        g_assert_true (ndt_backend_align (cuda, 0, &params, &starts[i], 1, &plain, NULL));
        params.terms = terms;
        ndt_pose_difference (&plain.pose, &one.pose, &metres, NULL);
        moved = MAX (moved, metres);
      }
      g_test_message ("%u points, method %u: %u of %u agree, the terms move poses by up to %.3f m",
          sizes[n], method, n_agree, N_STARTS, moved);
      g_assert_cmpuint (n_agree, >=, N_STARTS / 2);
      /* Ten times what poses agree to. */
      g_assert_cmpfloat (moved, >, 1e-3);
      for (guint k = 0; n == 0 && k < G_N_ELEMENTS (shapes); k++) {
        TEST_CUDA (SHAPE, shapes[k]);
        g_autoptr (NdtBackend) shaped = open_cuda (0);
        TEST_CUDA (SHAPE, NULL);
        scene_give (shaped, &s);
        memset (other, 0, sizeof other);
        g_assert_true (ndt_backend_align (shaped, 0, &params, starts, N_STARTS, other, NULL));
        g_assert_cmpmem (all, sizeof all, other, sizeof other);
      }
    }
    scene_clear (&s);
  }
}

/* Terms are uploaded once, an alignment's values with its start, and nothing while it runs. Terms
 * without values, and values of no pose that they name, change no bit. */
static void
test_uploads (void)
{
  g_autoptr (NdtExtraTerms) terms = make_terms (text), other = make_terms ("pose.x - prior.x");
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  Scene s = scene_new (60, 60000, 3001, 2, NULL);
  NdtBackendCounters before, after;
  NdtStart starts[N_STARTS], start = {0};
  NdtAlignResult result, plain;
  NdtAlignParams params = default_params;
  guint64 bytes[4], launches[4];
  make_starts (&s, starts);
  scene_give (cuda, &s);
  params.terms = terms;
  for (guint i = 0; i < 5; i++) { /* the first, with the scan's upload, does not count */
    ndt_backend_get_counters (cuda, &before);
    g_assert_true (ndt_backend_align_begin (cuda, 0, &params, &starts[3], 0, NULL));
    g_assert_true (ndt_backend_align_end (cuda, &result, NULL));
    ndt_backend_get_counters (cuda, &after);
    if (i > 0) {
      bytes[i - 1] = after.upload_bytes - before.upload_bytes;
      launches[i - 1] = after.launches - before.launches;
    }
    params.terms = i == 2 ? other : terms;
  }
  g_assert_cmpuint (result.evaluations, >, 3);
  for (guint i = 0; i < 4; i++)
    g_assert_cmpuint (launches[i], ==, 1);
  g_assert_cmpuint (bytes[0], ==, sizeof (NdtStart));
  g_assert_cmpuint (bytes[1], ==, sizeof (NdtStart));
  g_assert_cmpuint (bytes[2], >, sizeof (NdtStart)); /* other terms */
  g_assert_cmpuint (bytes[2], <, sizeof (NdtStart) + sizeof (NdtExtraTerms));
  g_assert_cmpuint (bytes[3], >, sizeof (NdtStart)); /* the first ones again */

  start.guess = starts[0].guess;
  for (guint i = 0; i < 3; i++) {
    params.terms = i == 0 ? NULL : other;
    if (i == 2)
      start.regularization.extra = (NdtExtraValues){.weight = 1,
          .has = NDT_EXPR_TERMS_FIRST,
          .body = NDT_POSE_IDENTITY,
          .poses = {[2] = NDT_POSE_IDENTITY}};
    memset (&result, 0, sizeof result);
    g_assert_true (ndt_backend_align (cuda, 0, &params, &start, 1, &result, NULL));
    if (i == 0)
      plain = result;
    g_assert_cmpmem (&result, sizeof result, &plain, sizeof plain);
  }
  scene_clear (&s);
}

/* One that is not finite ends as on the CPU. */
static void
test_not_finite (void)
{
  g_autoptr (NdtExtraTerms) terms = make_terms ("log(-1 - pose.x^2)");
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  Scene s = scene_new (60, 60000, 3001, 2, NULL);
  NdtStart starts[N_STARTS];
  make_starts (&s, starts);
  scene_give (cuda, &s);
  for (NdtMethod method = NDT_METHOD_NEWTON; method <= NDT_METHOD_LBFGS; method++) {
    NdtAlignParams params = default_params;
    NdtAlignResult result;
    params.method = method;
    params.terms = terms;
    g_assert_true (ndt_backend_align (cuda, 0, &params, &starts[0], 1, &result, NULL));
    g_assert_cmpint (result.stop, ==, NDT_STOP_NOT_FINITE);
  }
  scene_clear (&s);
}

static void
test_objective (void)
{
  g_autoptr (NdtBackend) cuda = open_cuda (0);
  if (!cuda)
    return;
  Scene s = scene_new (60, 60000, 1501, 2, NULL);
  scene_give (cuda, &s);
  check_reweighted (cuda, &s);
  /* Cancelled before the thread gets to the device, or in between launches of its many starts. */
  check_asynchronous (cuda, &s, 20000);
  scene_clear (&s);
}

/* Little of it, for tools under which it takes a thousand times as long: every method with terms,
 * by clusters and by a grid. */
static void
test_sanitize (void)
{
  static const gchar *shapes[] = {"cluster:2:256:1", "cluster:4:512", "grid:16:256"};
  g_autoptr (NdtExtraTerms) terms = make_terms (text);
  Scene s = scene_new (20, 8000, 300, 2, NULL);
  NdtStart starts[N_STARTS];
  make_starts (&s, starts);
  for (guint k = 0; k < G_N_ELEMENTS (shapes); k++) {
    TEST_CUDA (SHAPE, shapes[k]);
    g_autoptr (NdtBackend) cuda = open_cuda (0);
    TEST_CUDA (SHAPE, NULL);
    if (!cuda)
      break;
    scene_give (cuda, &s);
    for (NdtMethod method = NDT_METHOD_NEWTON; method <= NDT_METHOD_LBFGS; method++) {
      NdtAlignParams params = default_params;
      NdtAlignResult results[2];
      params.method = method;
      params.terms = terms;
      params.max_iterations = 4;
      g_assert_true (ndt_backend_align (cuda, 0, &params, starts + 3, 2, results, NULL));
    }
  }
  scene_clear (&s);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/gpu/terms/agree", test_agree);
  g_test_add_func ("/gpu/terms/uploads", test_uploads);
  g_test_add_func ("/gpu/terms/not-finite", test_not_finite);
  g_test_add_func ("/gpu/terms/objective", test_objective);
  g_test_add_func ("/gpu/terms/sanitize", test_sanitize);
  return g_test_run ();
}
