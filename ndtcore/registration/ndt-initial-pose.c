/* SPDX-License-Identifier: MIT */
#include "ndt-initial-pose.h"

#include <math.h>
#include <stdlib.h>

#include "ndtcore/math/ndt-mount.h"
#include "ndt-places.h"
#include "ndt-search.h"

/* Extent of the searched region, in standard deviations. */
#define REACH 2.5

/* Largest standard deviation of roll and pitch, rad, that is used: vehicles are upright, whatever
 * larger value is given. */
#define MOST_TILT 0.1

/* Range of the search from far. */
#define FAR_METRES 2.0
#define FAR_RADIANS (10 * G_PI / 180)

/* Volume for each candidate: the error of the nearest candidate is then in the range of the
 * approach. Spacing of positions in cells, and at most in metres. */
#define SPACING 3.0
#define SPACING_METRES 3.0
#define SPACING_RADIANS (20 * G_PI / 180)
#define LEAST_CANDIDATES 64
#define MOST_CANDIDATES 50000

/* Edges, in cells, of the cubes of the samples that candidates are ranked with and aligned with. */
#define RANKING_LEAF 4.0
#define LEAF 0.5
/* Largest cells for ranking, metres: larger ones do not resolve walls. */
#define RANKING_CELL 4.0
/* Fewest points of the sample for ranking; with fewer, its cubes are made smaller. */
#define RANKING_POINTS 200

/* One of this many candidates is aligned, within limits, and none that is this near to a better
 * one, in cells and rad. */
#define CANDIDATES_PER_START 64
#define LEAST_STARTS 16
#define MOST_STARTS NDT_PLACES_MOST_STARTS
#define START_CELLS 1.0
#define START_RADIANS 0.2

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

/* The standard deviation that is used. */
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

/* A pseudo-random number, uniform in [0, 1): SplitMix64. */
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
  /* x, y and yaw are an even sequence: multiples of 1/a, 1/a² and 1/a³, a the root of a⁴ = a + 1,
   * the analogue of the golden ratio in three dimensions. The others are pseudo-random. */
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

/* Sorts the better first, of equal ones the earlier. */
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

/* The coarsest level of the map with cells of at most RANKING_CELL. */
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

/* Time between two calls of NdtSearchProgress. */
#define PROGRESS_INTERVAL G_USEC_PER_SEC

/* @told: (inout): monotonic time of the last call, of the beginning before the first one. */
static void
tell_progress (NdtBackend *backend, guint done, guint n, gboolean *has_told, gint64 *told)
{
  const gint64 now = g_get_monotonic_time ();
  if (!backend->progress || (now - *told < PROGRESS_INTERVAL && !(done == n && *has_told)))
    return;
  backend->progress ((double)done / n, n, backend->progress_data);
  *has_told = TRUE;
  *told = now;
}

/* Candidates in the order of Σ w of the approach over the map's coarse voxels, the best first; one
 * pass over few points each. */
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
  gboolean has_told = FALSE;
  gint64 told = g_get_monotonic_time ();
  for (guint first = 0; first < n; first += batch) {
    const guint m = MIN (batch, n - first);
    for (guint i = 0; i < m; i++)
      poses[i] = get_sensor (search, mount, around, first + i);
    if (!ndt_backend_evaluate (
            backend, NDT_SEARCH_SLOT, params, level, NDT_KIND_LEAST_SQUARES, poses, m, sums, error))
      return NULL;
    for (guint i = 0; i < m; i++)
      candidates[first + i] = (Candidate){isfinite (sums[i].score) ? sums[i].score : 0, first + i};
    tell_progress (backend, first + m, n, &has_told, &told);
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

/* The best candidates, without those that are near to a better one. */
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

typedef struct {
  const NdtPoseSearch *search;
  const NdtPose *mount;
  const NdtPose *around;
} Area;

/* Returns TRUE where the pose is within the searched region. */
static gboolean
is_within (const NdtPose *sensor, gconstpointer data)
{
  const Area *area = data;
  const NdtPoseSearch *search = area->search;
  const NdtPose *around = area->around;
  const NdtPose body = ndt_mount_body_of_sensor (area->mount, sensor);
  double square = 0, metres, radians;
  for (guint i = 0; i < 2; i++) {
    const double d =
        (body.position[i] - around->position[i]) / MAX (REACH * search->stddev[i], FAR_METRES);
    square += d * d;
  }
  ndt_pose_difference (&body, around, &metres, &radians);
  return square <= 1 && radians <= MAX (yaw_range (search), FAR_RADIANS);
}

gboolean
ndt_initial_pose_search (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    const NdtPose *mount, const NdtPose *around, const NdtPoseSearch *search, NdtAlignResult *best,
    double *runner_up, gboolean *is_ambiguous, guint32 *evaluations, GError **error)
{
  const double resolution = ndt_backend_get_resolution (backend);
  const NdtStart start = {.guess = ndt_mount_sensor_of_body (mount, around)};
  const Area area = {search, mount, around};
  NdtPose picked[MOST_STARTS];
  if (!ndt_pose_search_check (search, error))
    return FALSE;
  *runner_up = 0;
  *is_ambiguous = FALSE;
  if (!(resolution > 0)) /* there is no map, and @error is set */
    return ndt_search_align (backend, slot, params, &start, 1, best, evaluations, error);

  if (!set_ranking_sample (backend, slot, resolution, error))
    return FALSE;
  const guint n = ndt_pose_search_count (search, resolution);
  g_autofree Candidate *candidates =
      rank (backend, params, mount, around, search, n, evaluations, error);
  if (!candidates)
    return FALSE;
  const guint n_picked = pick_starts (candidates, n, mount, around, search, resolution, picked);
  if (!ndt_places_choose (backend, slot, params, picked, n_picked, is_within, &area, best,
          runner_up, is_ambiguous, evaluations, error))
    return FALSE;
  if (ndt_places_quality (best) > 0)
    return TRUE;
  *is_ambiguous = FALSE;
  return ndt_search_align (backend, slot, params, &start, 1, best, evaluations, error);
}
