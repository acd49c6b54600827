/* SPDX-License-Identifier: MIT */
/* What backends leave each other of a device, in blocks of their launches, which have a
 * multiprocessor each. One launches while another one does, in its thread. */
#include "gpu-device.h"
#include "gpu-scene.h"

#define MOST_STARTS 24

#ifdef HAVE_NDT_CUDA

/* Of a device that has these multiprocessors, and clusters of eight blocks. */
#define LIMITS "64:166912:8:64:128"
#define N_PROCESSORS 64u
#define HALF (N_PROCESSORS / 2)

static NdtBackend *
open_like (Scene *s)
{
  TEST_CUDA (LIMITS, LIMITS);
  NdtBackend *backend = open_cuda (0);
  TEST_CUDA (LIMITS, NULL);
  if (backend)
    scene_give (backend, s);
  return backend;
}

static NdtBackend *
open_background (NdtBackend *cuda, Scene *s)
{
  g_autoptr (GError) error = NULL;
  TEST_CUDA (LIMITS, LIMITS);
  NdtBackend *backend = ndt_backend_open_background (cuda, &error);
  TEST_CUDA (LIMITS, NULL);
  g_assert_no_error (error);
  scene_give (backend, s);
  return backend;
}

static void
make_starts (const Scene *s, NdtStart starts[MOST_STARTS])
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  memset (starts, 0, MOST_STARTS * sizeof (*starts));
  for (guint i = 0; i < MOST_STARTS; i++)
    starts[i].guess = scene_guess (s, rand, 0.3, 0.02);
}

/**
 * Beside:
 * @backends: that align in turn, each within the launch of the one before
 * @n_backends: of these, but the one that begins
 * @n_starts: of each
 * @blocks: of each launch, the most
 * @depth: of launches that are within each other
 */
typedef struct {
  NdtBackend *backends[3];
  guint n_backends;
  const NdtStart *starts;
  guint n_starts;
  guint blocks[4];
  guint depth;
  NdtAlignResult results[MOST_STARTS];
} Beside;

static void
watch (NdtCudaMoment moment, guint n_blocks, gpointer user_data)
{
  Beside *beside = user_data;
  if (moment != NDT_CUDA_MOMENT_LAUNCHED)
    return;
  const guint depth = beside->depth;
  beside->blocks[depth] = MAX (beside->blocks[depth], n_blocks);
  if (depth >= beside->n_backends)
    return;
  beside->depth++;
  scene_align (beside->backends[depth], beside->starts, beside->n_starts, beside->results);
  beside->depth--;
}

/* Aligns with @first, and the others within. */
static void
align (Beside *beside, NdtBackend *first, guint n_starts)
{
  NdtAlignResult results[MOST_STARTS];
  memset (beside->blocks, 0, sizeof (beside->blocks));
  memset (beside->results, 0, sizeof (beside->results));
  ndt_cuda_testing_watch (watch, beside);
  scene_align (first, beside->starts, n_starts, results);
  ndt_cuda_testing_watch (NULL, NULL);
}

/* One in the background has half of the device, and while it runs others have the other half, for a
 * start and for several, with the same bits. */
static void
test_background (void)
{
  static const guint sizes[] = {1, 2, 4, 8};
  Scene s = scene_new (60, 60000, 3001, 2, NULL);
  NdtStart starts[MOST_STARTS];
  make_starts (&s, starts);
  g_autoptr (NdtBackend) cuda = open_like (&s);
  if (cuda) {
    g_autoptr (NdtBackend) background = open_background (cuda, &s);
    for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
      Beside beside = {.backends = {cuda}, .starts = starts, .n_starts = sizes[i]};
      NdtAlignResult expected[MOST_STARTS];
      /* Alone. */
      align (&beside, cuda, sizes[i]);
      if (sizes[i] == 1 || sizes[i] == 8)
        g_assert_cmpuint (beside.blocks[0], ==, N_PROCESSORS);
      memset (expected, 0, sizeof (expected));
      scene_align (cuda, starts, sizes[i], expected);
      beside.n_backends = 1;
      align (&beside, background, MOST_STARTS);
      g_assert_cmpuint (beside.blocks[0], >, HALF / 2);
      g_assert_cmpuint (beside.blocks[0], <=, HALF);
      g_assert_cmpuint (beside.blocks[1], <=, HALF);
      if (sizes[i] == 1 || sizes[i] == 8)
        g_assert_cmpuint (beside.blocks[1], ==, HALF);
      g_assert_cmpmem (
          beside.results, sizes[i] * sizeof (*expected), expected, sizes[i] * sizeof (*expected));
    }
  }
  scene_clear (&s);
}

/* Several in the background have that half together; their least grids, of 16 blocks, may take more
 * of it, which others then leave them. */
static void
test_backgrounds (void)
{
  Scene s = scene_new (60, 60000, 3001, 2, NULL);
  NdtStart starts[MOST_STARTS];
  make_starts (&s, starts);
  g_autoptr (NdtBackend) cuda = open_like (&s);
  if (cuda) {
    g_autoptr (NdtBackend) a = open_background (cuda, &s);
    g_autoptr (NdtBackend) b = open_background (cuda, &s);
    Beside beside = {.backends = {b, cuda}, .n_backends = 2, .starts = starts, .n_starts = 8};
    align (&beside, a, MOST_STARTS);
    g_assert_cmpuint (beside.blocks[0], ==, HALF / 2);
    g_assert_cmpuint (beside.blocks[1], ==, HALF / 2);
    g_assert_cmpuint (beside.blocks[2], ==, HALF);

    g_autoptr (NdtBackend) c = open_background (cuda, &s);
    Beside least = {.backends = {b, c, cuda}, .n_backends = 3, .starts = starts, .n_starts = 1};
    align (&least, a, 1);
    for (guint i = 0; i < 4; i++)
      g_assert_cmpuint (least.blocks[i], ==, N_PROCESSORS / 4);
  }
  scene_clear (&s);
}

/* Those that are active have equal shares; single alignments, which leave the device idle in
 * between, twice as much. Others count as active for a millisecond: the most of some runs is taken,
 * in which no thread was kept from a processor for as long. */
static void
test_streams (void)
{
  Scene s = scene_new (60, 60000, 3001, 2, NULL);
  NdtStart starts[MOST_STARTS];
  make_starts (&s, starts);
  g_autoptr (NdtBackend) cuda = open_like (&s);
  if (cuda) {
    static const guint expected[] = {64, 64, 32, 32};
    Beside beside = {.n_backends = 3, .starts = starts, .n_starts = 1};
    gboolean equal = FALSE;
    for (guint i = 0; i < 3; i++)
      beside.backends[i] = open_like (&s);
    for (guint run = 0; run < 200 && !equal; run++) {
      g_usleep (2000);
      align (&beside, cuda, 1);
      equal = memcmp (beside.blocks, expected, sizeof (expected)) == 0;
    }
    g_test_message ("%u %u %u %u blocks", beside.blocks[0], beside.blocks[1], beside.blocks[2],
        beside.blocks[3]);
    g_assert_true (equal);
    for (guint i = 0; i < 3; i++)
      ndt_backend_close (beside.backends[i]);
  }
  scene_clear (&s);
}

typedef struct {
  NdtBackend *backend;
  guint n_done;
} Cancelled;

static void
cancel_within (NdtCudaMoment moment, guint n_blocks, gpointer user_data)
{
  Cancelled *cancelled = user_data;
  if (moment == NDT_CUDA_MOMENT_BEFORE)
    ndt_backend_cancel (cancelled->backend, TRUE);
  if (moment == NDT_CUDA_MOMENT_DONE) {
    ndt_backend_cancel (cancelled->backend, FALSE);
    cancelled->n_done++;
  }
}

/* What is cancelled only while it is on the device ends there. */
static void
test_cancelled (void)
{
  Scene s = scene_new (60, 60000, 3001, 2, NULL);
  NdtStart starts[MOST_STARTS];
  make_starts (&s, starts);
  g_autoptr (NdtBackend) cuda = open_like (&s);
  if (cuda) {
    const NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
    NdtAlignResult results[MOST_STARTS];
    Cancelled cancelled = {cuda, 0};
    g_autoptr (GError) error = NULL;
    ndt_cuda_testing_watch (cancel_within, &cancelled);
    g_assert_false (ndt_backend_align (cuda, 0, &params, starts, MOST_STARTS, results, &error));
    ndt_cuda_testing_watch (NULL, NULL);
    g_assert_error (error, NDT_ERROR, NDT_ERROR_CANCELLED);
    g_assert_cmpuint (cancelled.n_done, ==, 1);
    scene_align (cuda, starts, MOST_STARTS, results);
  }
  scene_clear (&s);
}

#else

static void
test_background (void)
{
  g_test_skip ("built without CUDA");
}

#define test_backgrounds test_background
#define test_streams test_background
#define test_cancelled test_background

#endif

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/gpu/shares/background", test_background);
  g_test_add_func ("/gpu/shares/backgrounds", test_backgrounds);
  g_test_add_func ("/gpu/shares/streams", test_streams);
  g_test_add_func ("/gpu/shares/cancelled", test_cancelled);
  return g_test_run ();
}
