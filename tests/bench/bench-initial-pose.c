/* SPDX-License-Identifier: MIT */
/* Searches for poses that are known to metres and without their yaw, by several ways over the same
 * scans and guesses, and prints one table: how many are found, what of the search that is in the
 * library is said to be reliable, and what it takes. Ratios mean something; times are of one
 * thread's processor, with --cuda by the clock.
 *
 *   bench-initial-pose [--cuda] [--case NAME] [--guesses N] [--stddev METRES]
 *
 * docs/mathematics.md, "Initial pose", has its figures. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "bench-data.h"
#include "ndtcore/registration/ndt-initial-pose.h"
#include "ndtcore/registration/ndt-search.h"

#ifdef HAVE_NDT_CUDA
#include "cuda/ndt-cuda.h"
#endif

static gboolean on_cuda;

/* ---- What is searched ---- */

static double
normal (GRand *rand)
{
  const double radius = sqrt (-2 * log (1 - g_rand_double (rand)));
  return radius * cos (2 * G_PI * g_rand_double (rand));
}

/* A pose as it may be where @around is known so well: normal, yaw uniform. */
static NdtPose
draw (const NdtPose *around, const double stddev[6], GRand *rand)
{
  double shift[6], turn[6] = {0};
  NdtPose pose;
  for (guint k = 0; k < 6; k++)
    shift[k] = k < 5 ? stddev[k] * normal (rand) : 0;
  turn[5] = g_rand_double_range (rand, -G_PI, G_PI);
  ndt_pose_retract (around, shift, &pose);
  ndt_pose_retract (&pose, turn, &pose);
  return pose;
}

/* ---- Ways to search ---- */

typedef struct {
  const NdtPose *around;
  const double *stddev;
  guint n;
  GRand *rand;
} Task;

/* Ends of alignments of the sample, and NVTL times matched ratio. */
typedef struct {
  NdtAlignResult result;
  double quality;
} End;

#define LEAF 0.5
#define APPROACH 3
#define BATCH 16

static void
align_batch (NdtBackend *backend, const NdtPose *poses, guint n, End *ends, guint32 *evaluations)
{
  static const NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
  NdtStart starts[BATCH];
  NdtAlignResult results[BATCH];
  for (guint i = 0; i < n; i++)
    starts[i] = (NdtStart){.guess = poses[i], .approach = APPROACH};
  ndt_search_align (backend, NDT_SEARCH_SLOT, &params, starts, n, results, evaluations, NULL);
  for (guint i = 0; i < n; i++)
    ends[i] = (End){
        results[i], results[i].n_points ? results[i].sums.nvtl / (double)results[i].n_points : 0};
}

static int
compare_ends (gconstpointer a, gconstpointer b)
{
  const double x = ((const End *)a)->quality, y = ((const End *)b)->quality;
  return x > y ? -1 : x < y;
}

/* Log of a mixture of normal distributions about ends, of which yaw is of the circle. */
static double
log_density (const End *ends, guint n, const NdtPose *at)
{
  static const double width[2] = {0.5, 0.2}; /* m, rad */
  double sum = 0;
  for (guint i = 0; i < n; i++) {
    double metres, radians;
    ndt_pose_difference (&ends[i].result.pose, at, &metres, &radians);
    sum += exp (-0.5 * (metres * metres / (width[0] * width[0]) +
                           radians * radians / (width[1] * width[1])));
  }
  return log (sum / MAX (n, 1) + 1e-30);
}

/* A tree-structured Parzen estimator as others have it: half of the candidates by chance, then of a
 * hundred drawn by chance the one that lies most where the best tenth ended and least where the
 * others did; a batch at a time. @guided FALSE: all by chance. */
static void
search_parzen (NdtBackend *backend, const Task *task, gboolean guided, NdtAlignResult *best,
    guint32 *evaluations)
{
  static const NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
  g_autofree End *ends = g_new (End, task->n);
  for (guint first = 0; first < task->n; first += BATCH) {
    const guint n = MIN (BATCH, task->n - first), n_above = CLAMP (first / 10, 1, 10);
    NdtPose poses[BATCH];
    if (guided)
      qsort (ends, first, sizeof (*ends), compare_ends);
    for (guint i = 0; i < n; i++) {
      double highest = -INFINITY;
      for (guint k = 0; k < (guided && first >= task->n / 2 ? 100 : 1); k++) {
        const NdtPose pose = draw (task->around, task->stddev, task->rand);
        const double ratio = first == 0 ? 0
                                        : log_density (ends, n_above, &pose) -
                                              log_density (ends + n_above, first - n_above, &pose);
        if (!(ratio > highest))
          continue;
        highest = ratio;
        poses[i] = pose;
      }
    }
    align_batch (backend, poses, n, ends + first, evaluations);
  }
  qsort (ends, task->n, sizeof (*ends), compare_ends);
  const NdtStart start = {.guess = ends[0].result.pose};
  ndt_search_align (backend, 0, &params, &start, 1, best, evaluations, NULL);
}

/* All candidates of the library's search aligned instead of ranked. */
static void
search_even (NdtBackend *backend, const Task *task, NdtAlignResult *best, guint32 *evaluations)
{
  static const NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
  NdtPoseSearch search = {.n_candidates = task->n, .seed = 1};
  g_autofree End *ends = g_new (End, task->n);
  memcpy (search.stddev, task->stddev, sizeof (search.stddev));
  for (guint first = 0; first < task->n; first += BATCH) {
    const guint n = MIN (BATCH, task->n - first);
    NdtPose poses[BATCH];
    for (guint i = 0; i < n; i++)
      poses[i] = ndt_pose_search_get (&search, task->around, first + i);
    align_batch (backend, poses, n, ends + first, evaluations);
  }
  qsort (ends, task->n, sizeof (*ends), compare_ends);
  const NdtStart start = {.guess = ends[0].result.pose};
  ndt_search_align (backend, 0, &params, &start, 1, best, evaluations, NULL);
}

/* ---- The table ---- */

typedef enum { RANDOM, PARZEN, EVEN, RANKED, ASTRAY } Way;

typedef struct {
  const gchar *name;
  Way way;
  guint n;
} Program;

typedef struct {
  guint n_right;
  guint n_reliable;       /* of the right ones */
  guint n_wrong_reliable; /* of the others */
  double highest_right;   /* runner-up */
  double lowest_wrong;
  double seconds;
  double evaluations;
  guint n_candidates;
} Tally;

static double
now (void)
{
  struct timespec t;
  clock_gettime (on_cuda ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void
run (NdtBackend *backend, const Program *program, const NdtPose *guess, const double stddev[6],
    const NdtPose *truth, guint trial, Tally *tally)
{
  static const NdtAlignParams params = NDT_ALIGN_PARAMS_DEFAULT;
  g_autoptr (GRand) rand = g_rand_new_with_seed (trial + 1);
  const Task task = {guess, stddev, program->n, rand};
  NdtAlignResult best;
  guint32 evaluations = 0;
  double runner_up = 0, metres, radians;
  gboolean is_ambiguous = FALSE;
  NdtPose astray = *guess;
  if (program->way == ASTRAY) {
    /* The truth is no candidate. */
    const double angle = g_rand_double_range (rand, 0, 2 * G_PI);
    astray = *truth;
    astray.position[0] += 4 * stddev[0] * cos (angle);
    astray.position[1] += 4 * stddev[0] * sin (angle);
    guess = &astray;
  }
  const double since = now ();
  if (program->way >= RANKED) {
    NdtPoseSearch search = {.n_candidates = program->n, .seed = trial};
    memcpy (search.stddev, stddev, sizeof (search.stddev));
    ndt_initial_pose_search (backend, 0, &params, NULL, guess, &search, &best, &runner_up,
        &is_ambiguous, &evaluations, NULL);
    tally->n_candidates = ndt_pose_search_count (&search, ndt_backend_get_resolution (backend));
  } else {
    tally->n_candidates = program->n;
    ndt_search_set_sample (backend, 0, (float)(LEAF * ndt_backend_get_resolution (backend)), NULL);
    if (program->way == EVEN)
      search_even (backend, &task, &best, &evaluations);
    else
      search_parzen (backend, &task, program->way == PARZEN, &best, &evaluations);
  }
  tally->seconds += now () - since;
  tally->evaluations += evaluations;
  ndt_pose_difference (&best.pose, truth, &metres, &radians);
  const gboolean right = metres < 0.1 && radians < G_PI / 180;
  const gboolean reliable = !is_ambiguous;
  tally->n_right += right;
  tally->n_reliable += right && reliable;
  tally->n_wrong_reliable += !right && reliable;
  if (right)
    tally->highest_right = MAX (tally->highest_right, runner_up);
  else
    tally->lowest_wrong = MIN (tally->lowest_wrong, runner_up);
}

static NdtBackend *
open_backend (GError **error)
{
  NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  config.n_threads = 1;
#ifdef HAVE_NDT_CUDA
  if (on_cuda)
    return ndt_cuda_backend_open (&config, error);
#endif
  return ndt_backend_open_cpu (&config, error);
}

static void
run_case (const BenchCase *c, double resolution, double metres, guint n_guesses)
{
  static const Program programs[] = {{"random", RANDOM, 200}, {"parzen", PARZEN, 200},
      {"even", EVEN, 200}, {"ranked", RANKED, 200}, {"ranked", RANKED, 0}, {"ranked", RANKED, 2000},
      {"astray", ASTRAY, 0}};
  static const NdtScanFilter no_filter = NDT_SCAN_FILTER_NONE;
  const double stddev[6] = {metres, metres, 0.5, 0.03, 0.03, G_PI};
  Tally tallies[G_N_ELEMENTS (programs)] = {0};
  NdtVoxelMapParams map_params = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (c->map.xyz, c->map.n);
  map_params.resolution = resolution;
  g_autoptr (NdtVoxelMap) map = ndt_voxel_map_new (&map_params, &view, NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (NdtBackend) backend = open_backend (&error);
  g_autoptr (GRand) rand = g_rand_new_with_seed (11);
  if (!map || !backend || !ndt_backend_set_map (backend, map, &error)) {
    g_printerr ("%s: %s\n", c->name, error ? error->message : "no map");
    return;
  }
  for (guint p = 0; p < G_N_ELEMENTS (programs); p++)
    tallies[p].lowest_wrong = INFINITY;
  for (guint i = 0; i < n_guesses; i++) {
    const BenchStart *start = &c->starts[i * 7 % c->n_starts];
    const BenchCloud *scan = &c->scans[start->scan];
    const NdtCloudView points = ndt_cloud_view_xyz_f32 (scan->xyz, scan->n);
    const NdtPose guess = draw (&start->truth, stddev, rand);
    ndt_backend_set_scan (backend, 0, &points, &no_filter, NULL);
    for (guint p = 0; p < G_N_ELEMENTS (programs); p++)
      run (backend, &programs[p], &guess, stddev, &start->truth, i, &tallies[p]);
  }
  for (guint p = 0; p < G_N_ELEMENTS (programs); p++) {
    const Tally *t = &tallies[p];
    g_print ("%-10s %4.1f %4.0f %-8s %6u %3u/%-3u %8.1f %6.2f %7.0f %8.2f", c->name, resolution,
        metres, programs[p].name, t->n_candidates, t->n_right, n_guesses,
        1e3 * t->seconds / n_guesses, t->seconds / tallies[0].seconds, t->evaluations / n_guesses,
        t->n_candidates / t->seconds * n_guesses /
            (tallies[0].n_candidates / tallies[0].seconds * n_guesses));
    if (programs[p].way >= RANKED)
      g_print (" %4u %4u %8.2f %8.2f", t->n_reliable, t->n_wrong_reliable, t->highest_right,
          t->lowest_wrong);
    g_print ("\n");
  }
}

int
main (int argc, char *argv[])
{
  static const gchar *const names[] = {"kitti-1m", "balm-1m", "town-5000"};
  g_autofree gchar *only = NULL;
  gint n_guesses = 50;
  gdouble stddev = 0;
  const GOptionEntry entries[] = {
#ifdef HAVE_NDT_CUDA
      {"cuda", 0, 0, G_OPTION_ARG_NONE, &on_cuda, "On a device", NULL},
#endif
      {"case", 0, 0, G_OPTION_ARG_STRING, &only, "kitti-1m, balm-1m or town-5000", "NAME"},
      {"guesses", 0, 0, G_OPTION_ARG_INT, &n_guesses, "How many", "N"},
      {"stddev", 0, 0, G_OPTION_ARG_DOUBLE, &stddev, "Of x and y; 0: 2, 5 and 10", "METRES"},
      {NULL, 0, 0, 0, NULL, NULL, NULL}};
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;
  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error)) {
    g_printerr ("%s\n", error->message);
    return 1;
  }
  g_print ("right: within 0.1 m and 1 degree; ratios to \"random\"; of the ranked ones right and "
           "reliable, wrong and reliable,\nhighest runner-up of right ones, lowest of wrong ones\n"
           "%-10s %4s %4s %-8s %6s %7s %8s %6s %7s %8s %4s %4s %8s %8s\n",
      "case", "r", "sd", "way", "n", "right", "ms", "ratio", "passes", "cand/s", "r+", "w+",
      "right", "wrong");
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    if (only && !g_str_equal (only, names[i]))
      continue;
    g_autoptr (GPtrArray) cases = bench_cases_load (names[i], 0);
    for (guint k = 0; k < cases->len; k++) {
      const BenchCase *c = g_ptr_array_index (cases, k);
      for (guint s = 0; s < 3; s++) {
        static const double all[3] = {2, 5, 10};
        if (stddev <= 0 || s == 0)
          run_case (c, c->resolution, stddev > 0 ? stddev : all[s], (guint)MAX (n_guesses, 1));
      }
    }
  }
  return 0;
}
