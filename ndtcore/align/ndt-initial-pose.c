/* SPDX-License-Identifier: MIT */
#include "ndt-initial-pose.h"

#include <math.h>
#include <stdlib.h>

#include "ndtcore/math/ndt-mount.h"
#include "ndt-search.h"

/* Where candidates lie, in standard deviations. */
#define REACH 2.5

/* A body stands upright to this, rad: what is said to be known less of its roll and pitch is found
 * from within it. */
#define MOST_TILT 0.1

/* What the search from far reaches. */
#define FAR_METRES 2.0
#define FAR_RADIANS (10 * G_PI / 180)

/* A candidate for each so much of the volume: what the best of them is off by is within what the
 * approach reaches. Positions in cells, but not more than metres. */
#define SPACING 3.0
#define SPACING_METRES 3.0
#define SPACING_RADIANS (20 * G_PI / 180)
#define LEAST_CANDIDATES 64
#define MOST_CANDIDATES 50000

/* Cubes that the sample that candidates are ranked by is drawn from, and the one that is aligned,
 * in cells. */
#define RANKING_LEAF 4.0
#define LEAF 0.5
/* The largest cells that they are ranked in, metres: larger ones tell walls apart no more. */
#define RANKING_CELL 4.0
/* Smaller cubes where that leaves fewer points. */
#define RANKING_POINTS 200

/* One of so many candidates is aligned, within limits, and none that is this near to a better one,
 * in cells and rad. */
#define CANDIDATES_PER_START 64
#define LEAST_STARTS 16
#define MOST_STARTS 64
#define START_CELLS 1.0
#define START_RADIANS 0.2

/* Ends of these alignments that are farther apart are different places, of which the whole scan is
 * aligned in the best. */
#define PLACE_CELLS 0.5
#define PLACE_RADIANS 0.05
#define PLACES 4

/* What lies where the scan belongs is found from around it: so far off, in metres but not more
 * cells, and rad, by two approaches in four directions, by so many of the eight at least. */
#define AROUND_METRES 1.5
#define AROUND_RADIANS 0.12
#define AROUND 8
#define LEAST_AROUND 3

/* What repeats itself nearby is looked for on so many rings around the winner, so many cells apart,
 * in so many directions; and with the winner turned round. */
#define RINGS 3
#define RING_CELLS 2.0
#define RING_DIRECTIONS 8
#define PROBES (1 + RINGS * RING_DIRECTIONS)

/* ---- Candidates ---- */

gboolean
ndt_pose_search_check (const NdtPoseSearch *search, GError **error)
{
  gboolean valid = search->n_candidates <= NDT_POSE_SEARCH_MAX_CANDIDATES;
  for (guint i = 0; i < 6; i++)
    valid = valid && search->stddev[i] >= 0 && isfinite (search->stddev[i]);
  if (!valid)
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "standard deviations have to be 0 or above and finite, and candidates at most 1000000");
  return valid;
}

gboolean
ndt_pose_search_is_wide (const NdtPoseSearch *search)
{
  for (guint i = 0; i < 6; i++)
    if (REACH * search->stddev[i] > (i < 3 ? FAR_METRES : FAR_RADIANS))
      return TRUE;
  return FALSE;
}

/* The standard deviation that counts. */
static double
get_stddev (const NdtPoseSearch *search, guint i)
{
  return i == 3 || i == 4 ? MIN (search->stddev[i], MOST_TILT) : search->stddev[i];
}

static double
yaw_range (const NdtPoseSearch *search)
{
  return MIN (REACH * search->stddev[5], G_PI);
}

guint
ndt_pose_search_count (const NdtPoseSearch *search, double resolution)
{
  if (search->n_candidates > 0)
    return search->n_candidates;
  const double spacing = MIN (SPACING * resolution, SPACING_METRES);
  double n = 1;
  for (guint i = 0; i < 5; i++)
    n *= MAX (2 * REACH * get_stddev (search, i) / (i < 3 ? spacing : SPACING_RADIANS), 1);
  n *= G_PI / 4 * MAX (2 * yaw_range (search) / SPACING_RADIANS, 1);
  return (guint)CLAMP (n, LEAST_CANDIDATES, MOST_CANDIDATES);
}

/* A number that looks random, uniform in [0, 1): SplitMix64. */
static double
scatter (guint64 seed, guint64 index)
{
  guint64 z = seed + (index + 1) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * G_GUINT64_CONSTANT (0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * G_GUINT64_CONSTANT (0x94d049bb133111eb);
  z ^= z >> 31;
  return (double)(z >> 11) / 9007199254740992.0;
}

NdtPose
ndt_pose_search_get (const NdtPoseSearch *search, const NdtPose *around, guint index)
{
  /* x, y and yaw fill their volume evenly: multiples of 1/a, 1/a² and 1/a³, a the root of
   * a⁴ = a + 1, which is to three dimensions what the golden ratio is to one. The others are
   * scattered. */
  static const double step[3] = {0.8191725133961645, 0.6710436067037893, 0.5497004779019703};
  if (index == 0)
    return *around;
  double u[6];
  for (guint k = 0; k < 3; k++) {
    const double v = scatter (search->seed, k) + index * step[k];
    u[k] = v - floor (v);
    u[3 + k] = 2 * scatter (search->seed, 3 * (guint64)index + k) - 1;
  }
  const double radius = REACH * sqrt (u[0]), angle = 2 * G_PI * u[1];
  const double shift[6] = {search->stddev[0] * radius * cos (angle),
      search->stddev[1] * radius * sin (angle), REACH * search->stddev[2] * u[3],
      REACH * get_stddev (search, 3) * u[4], REACH * get_stddev (search, 4) * u[5], 0};
  const double turn[6] = {0, 0, 0, 0, 0, yaw_range (search) * (2 * u[2] - 1)};
  NdtPose pose;
  ndt_pose_retract (around, shift, &pose);
  ndt_pose_retract (&pose, turn, &pose);
  return pose;
}

/* ---- Ranking ---- */

typedef struct {
  double score;
  guint index;
} Candidate;

/* The better first, of equal ones the earlier. */
static int
compare_candidates (const void *a, const void *b)
{
  const Candidate *x = a, *y = b;
  return x->score > y->score ? -1 : x->score < y->score ? 1 : x->index < y->index ? -1 : 1;
}

static NdtPose
get_sensor (const NdtPoseSearch *search, const NdtPose *mount, const NdtPose *around, guint index)
{
  const NdtPose body = ndt_pose_search_get (search, around, index);
  return ndt_mount_sensor_of_body (mount, &body);
}

static gboolean
set_ranking_sample (NdtBackend *backend, guint slot, double resolution, GError **error)
{
  guint n = 0;
  for (double leaf = RANKING_LEAF; leaf >= LEAF && n < RANKING_POINTS; leaf /= 2)
    if (!ndt_search_set_sample (backend, slot, (float)(leaf * resolution), error) ||
        !ndt_backend_get_scan (backend, NDT_SEARCH_SLOT, NULL, 0, &n, error))
      return FALSE;
  return TRUE;
}

/* The coarsest level of the map that is not too coarse. */
static guint
get_level (NdtBackend *backend, const NdtAlignParams *params)
{
  const double resolution = ndt_backend_get_resolution (backend);
  guint level = NDT_MAX_LEVELS - 1;
  while (level > 0 && (resolution * (1 << level) > RANKING_CELL ||
                          !ndt_backend_evaluate (backend, NDT_SEARCH_SLOT, params, level,
                              NDT_KIND_LEAST_SQUARES, NULL, 0, NULL, NULL)))
    level--;
  return level;
}

/* Candidates from the best on, by how near the sample lies to the map's coarse voxels: Σ w of the
 * approach, one pass over few points each. */
static Candidate *
rank (NdtBackend *backend, const NdtAlignParams *params, const NdtPose *mount,
    const NdtPose *around, const NdtPoseSearch *search, guint n, guint32 *evaluations,
    GError **error)
{
  const guint batch = MIN (ndt_backend_get_batch (backend), n);
  const guint level = get_level (backend, params);
  g_autofree NdtPose *poses = g_new (NdtPose, batch);
  g_autofree NdtSums *sums = g_new (NdtSums, batch);
  g_autofree Candidate *candidates = g_try_new (Candidate, n);
  if (!candidates) {
    g_set_error (
        error, NDT_ERROR, NDT_ERROR_NO_MEMORY, "There is not the memory for %u candidates", n);
    return NULL;
  }
  for (guint first = 0; first < n; first += batch) {
    const guint m = MIN (batch, n - first);
    for (guint i = 0; i < m; i++)
      poses[i] = get_sensor (search, mount, around, first + i);
    if (!ndt_backend_evaluate (
            backend, NDT_SEARCH_SLOT, params, level, NDT_KIND_LEAST_SQUARES, poses, m, sums, error))
      return NULL;
    for (guint i = 0; i < m; i++)
      candidates[first + i] = (Candidate){isfinite (sums[i].score) ? sums[i].score : 0, first + i};
  }
  *evaluations += n;
  qsort (candidates, n, sizeof (*candidates), compare_candidates);
  return g_steal_pointer (&candidates);
}

static gboolean
are_near (const NdtPose *a, const NdtPose *b, double metres, double radians)
{
  double m, angle;
  ndt_pose_difference (a, b, &m, &angle);
  return m < metres && angle < radians;
}

/* The best candidates that differ. */
static guint
pick_starts (const Candidate *candidates, guint n, const NdtPose *mount, const NdtPose *around,
    const NdtPoseSearch *search, double resolution, NdtPose picked[MOST_STARTS])
{
  const guint most = CLAMP (n / CANDIDATES_PER_START, LEAST_STARTS, MOST_STARTS);
  guint n_picked = 0;
  for (guint i = 0; i < n && n_picked < most; i++) {
    const NdtPose pose = get_sensor (search, mount, around, candidates[i].index);
    gboolean is_new = TRUE;
    for (guint k = 0; k < n_picked && is_new; k++)
      is_new = !are_near (&pose, &picked[k], START_CELLS * resolution, START_RADIANS);
    if (is_new)
      picked[n_picked++] = pose;
  }
  return n_picked;
}

/* ---- Places ---- */

/* NVTL times matched ratio: what each point contributes. Not the score, in which a point counts as
 * often as it has voxels around. */
static double
get_quality (const NdtAlignResult *result)
{
  return result->stop != NDT_STOP_NOT_FINITE && result->n_points > 0
             ? result->sums.nvtl / (double)result->n_points
             : 0;
}

static int
compare_results (const void *a, const void *b)
{
  const NdtAlignResult *x = *(const NdtAlignResult *const *)a;
  const NdtAlignResult *y = *(const NdtAlignResult *const *)b;
  const double p = get_quality (x), q = get_quality (y);
  return p > q ? -1 : p < q ? 1 : x < y ? -1 : 1;
}

static gboolean
is_elsewhere (const NdtPose *a, const NdtPose *b, double resolution)
{
  return !are_near (a, b, PLACE_CELLS * resolution, PLACE_RADIANS);
}

/* The ends, best first, of the places where the sample fits best. */
static guint
pick_places (
    const NdtAlignResult *results, guint n, double resolution, const NdtAlignResult *picked[PLACES])
{
  const NdtAlignResult *sorted[2 * MOST_STARTS];
  guint n_picked = 0;
  for (guint i = 0; i < n; i++)
    sorted[i] = &results[i];
  qsort (sorted, n, sizeof (*sorted), compare_results);
  for (guint i = 0; i < n && n_picked < PLACES; i++) {
    gboolean is_new = TRUE;
    for (guint k = 0; k < n_picked && is_new; k++)
      is_new = is_elsewhere (&sorted[i]->pose, &picked[k]->pose, resolution);
    if (is_new)
      picked[n_picked++] = sorted[i];
  }
  return n_picked;
}

static const guint32 approaches[2] = {3, 1}; /* which have least in common */

/* Does the sample find @pose from around it? */
static gboolean
confirm (NdtBackend *backend, const NdtAlignParams *params, const NdtPose *pose, double resolution,
    gboolean *is_confirmed, guint32 *evaluations, GError **error)
{
  const double metres = AROUND_METRES * MIN (resolution, 1);
  NdtStart starts[AROUND] = {0};
  NdtAlignResult results[AROUND];
  guint n = 0;
  for (guint i = 0; i < AROUND; i++) {
    const double angle = (i / 2 + 0.6) * G_PI / 2,
                 turn = i / 2 % 2 ? AROUND_RADIANS : -AROUND_RADIANS;
    const double delta[6] = {metres * cos (angle), metres * sin (angle), 0, 0, 0, turn};
    ndt_pose_retract (pose, delta, &starts[i].guess);
    starts[i].approach = approaches[i % 2];
  }
  if (!ndt_search_align (
          backend, NDT_SEARCH_SLOT, params, starts, AROUND, results, evaluations, error))
    return FALSE;
  for (guint i = 0; i < AROUND; i++)
    n += !is_elsewhere (&results[i].pose, pose, resolution);
  *is_confirmed = n >= LEAST_AROUND;
  return TRUE;
}

/* Can the body be there? */
static gboolean
is_within (
    const NdtPoseSearch *search, const NdtPose *mount, const NdtPose *around, const NdtPose *sensor)
{
  const NdtPose body = ndt_mount_body_of_sensor (mount, sensor);
  double square = 0, metres, radians;
  for (guint i = 0; i < 2; i++) {
    const double d =
        (body.position[i] - around->position[i]) / MAX (REACH * search->stddev[i], FAR_METRES);
    square += d * d;
  }
  ndt_pose_difference (&body, around, &metres, &radians);
  return square <= 1 && radians <= MAX (yaw_range (search), FAR_RADIANS);
}

/* Which places the candidates lead to is luck where a scene repeats itself: the sample is aligned
 * from all around the winner as well, and what it finds elsewhere compared with what it has
 * there. */
static gboolean
look_around (NdtBackend *backend, const NdtAlignParams *params, const NdtPose *mount,
    const NdtPose *around, const NdtPoseSearch *search, const NdtPose *winner, double *runner_up,
    guint32 *evaluations, GError **error)
{
  const double resolution = ndt_backend_get_resolution (backend);
  const double turn[6] = {0, 0, 0, 0, 0, G_PI};
  NdtStart starts[1 + PROBES] = {{.guess = *winner}, {.approach = 1}};
  NdtAlignResult results[1 + PROBES];
  ndt_pose_retract (winner, turn, &starts[1].guess);
  for (guint i = 0; i < PROBES - 1; i++) {
    const double angle = i % RING_DIRECTIONS * 2 * G_PI / RING_DIRECTIONS;
    const double metres = (1 + i / RING_DIRECTIONS) * RING_CELLS * resolution;
    const double shift[6] = {metres * cos (angle), metres * sin (angle), 0, 0, 0, 0};
    ndt_pose_retract (winner, shift, &starts[2 + i].guess);
  }
  if (!ndt_search_align (
          backend, NDT_SEARCH_SLOT, params, starts, 1 + PROBES, results, evaluations, error))
    return FALSE;
  const double quality = get_quality (&results[0]);
  for (guint i = 1; i <= PROBES && quality > 0; i++)
    if (is_elsewhere (&results[i].pose, winner, resolution) &&
        is_within (search, mount, around, &results[i].pose))
      *runner_up = MAX (*runner_up, get_quality (&results[i]) / quality);
  return TRUE;
}

gboolean
ndt_initial_pose_search (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    const NdtPose *mount, const NdtPose *around, const NdtPoseSearch *search, NdtAlignResult *best,
    double *runner_up, gboolean *is_ambiguous, guint32 *evaluations, GError **error)
{
  const double resolution = ndt_backend_get_resolution (backend);
  const NdtStart start = {.guess = ndt_mount_sensor_of_body (mount, around)};
  NdtPose picked[MOST_STARTS];
  NdtStart starts[2 * MOST_STARTS];
  NdtAlignResult results[2 * MOST_STARTS], finals[PLACES];
  const NdtAlignResult *places[PLACES];
  guint winner = 0;
  if (!ndt_pose_search_check (search, error))
    return FALSE;
  *runner_up = 0;
  *is_ambiguous = FALSE;
  if (!(resolution > 0)) /* there is no map, and an error that says so */
    return ndt_search_align (backend, slot, params, &start, 1, best, evaluations, error);

  if (!set_ranking_sample (backend, slot, resolution, error))
    return FALSE;
  const guint n = ndt_pose_search_count (search, resolution);
  g_autofree Candidate *candidates =
      rank (backend, params, mount, around, search, n, evaluations, error);
  if (!candidates)
    return FALSE;
  const guint n_picked = pick_starts (candidates, n, mount, around, search, resolution, picked);
  for (guint i = 0; i < 2 * n_picked; i++)
    starts[i] = (NdtStart){.guess = picked[i / 2], .approach = approaches[i % 2]};

  if (!ndt_search_set_sample (backend, slot, (float)(LEAF * resolution), error) ||
      !ndt_search_align (
          backend, NDT_SEARCH_SLOT, params, starts, 2 * n_picked, results, evaluations, error))
    return FALSE;
  const guint n_places = pick_places (results, 2 * n_picked, resolution, places);
  for (guint i = 0; i < n_places; i++)
    starts[i] = (NdtStart){.guess = places[i]->pose};
  if (!ndt_search_align (backend, slot, params, starts, n_places, finals, evaluations, error))
    return FALSE;

  for (guint i = 1; i < n_places; i++)
    if (get_quality (&finals[i]) > get_quality (&finals[winner]))
      winner = i;
  *best = finals[winner];
  best->iterations += places[winner]->iterations;
  best->oscillation = MAX (best->oscillation, places[winner]->oscillation);
  const double quality = get_quality (best);
  if (!(quality > 0)) /* nothing there, nor elsewhere */
    return ndt_search_align (backend, slot, params, &start, 1, best, evaluations, error);
  for (guint i = 0; i < n_places; i++)
    if (is_elsewhere (&finals[i].pose, &best->pose, resolution))
      *runner_up = MAX (*runner_up, get_quality (&finals[i]) / quality);
  gboolean is_confirmed = FALSE;
  if (*runner_up < NDT_AMBIGUOUS && !look_around (backend, params, mount, around, search,
                                        &best->pose, runner_up, evaluations, error))
    return FALSE;
  if (*runner_up < NDT_AMBIGUOUS &&
      !confirm (backend, params, &best->pose, resolution, &is_confirmed, evaluations, error))
    return FALSE;
  *is_ambiguous = !is_confirmed;
  return TRUE;
}
