/* SPDX-License-Identifier: MIT */
#include "ndt-places.h"

#include <math.h>
#include <stdlib.h>

#include "ndt-search.h"

/* Edge, in cells, of the cubes of the sample that is aligned. */
#define LEAF 0.5

/* Ends of these alignments that are farther apart are different places; in the best of them, this
 * many, the whole scan is aligned. */
#define PLACE_CELLS 0.5
#define PLACE_RADIANS 0.05
#define PLACES 4

/* Confirmation: alignments from this far around the result, in metres or cells, whichever is less,
 * and rad, in four directions by two approaches, of which this many have to end at the result. */
#define AROUND_METRES 1.5
#define AROUND_RADIANS 0.12
#define AROUND 8
#define LEAST_AROUND 3

/* Rings around the result on which similar places are searched: their number, distance in cells,
 * and directions. The result rotated by 180° is searched as well. */
#define RINGS 3
#define RING_CELLS 2.0
#define RING_DIRECTIONS 8
#define PROBES (1 + RINGS * RING_DIRECTIONS)

static gboolean
are_near (const NdtPose *a, const NdtPose *b, double metres, double radians)
{
  double m, angle;
  ndt_pose_difference (a, b, &m, &angle);
  return m < metres && angle < radians;
}

/* NVTL times matched ratio. In the score a point would count once for each voxel around it. */
double
ndt_places_quality (const NdtAlignResult *result)
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
  const double p = ndt_places_quality (x), q = ndt_places_quality (y);
  return p > q ? -1 : p < q ? 1 : x < y ? -1 : 1;
}

static gboolean
is_elsewhere (const NdtPose *a, const NdtPose *b, double resolution)
{
  return !are_near (a, b, PLACE_CELLS * resolution, PLACE_RADIANS);
}

/* The ends in the places where the sample fits best, the best first. */
static guint
pick_places (
    const NdtAlignResult *results, guint n, double resolution, const NdtAlignResult *picked[PLACES])
{
  const NdtAlignResult *sorted[2 * NDT_PLACES_MOST_STARTS];
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

static const guint32 approaches[2] = {3, 1}; /* the two that differ most */

/* Returns TRUE where alignments of the sample from around @pose end there. */
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

/* In a scene that repeats itself it is chance which of the similar places the candidates find. So
 * the sample is also aligned from around the result, and its fit in other places is compared with
 * that at the result. */
static gboolean
look_around (NdtBackend *backend, const NdtAlignParams *params, NdtPlacesWithin is_within,
    gconstpointer data, const NdtPose *winner, double *runner_up, guint32 *evaluations,
    GError **error)
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
  const double quality = ndt_places_quality (&results[0]);
  for (guint i = 1; i <= PROBES && quality > 0; i++)
    if (is_elsewhere (&results[i].pose, winner, resolution) &&
        (!is_within || is_within (&results[i].pose, data)))
      *runner_up = MAX (*runner_up, ndt_places_quality (&results[i]) / quality);
  return TRUE;
}

gboolean
ndt_places_choose (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    const NdtPose *picked, guint n_picked, NdtPlacesWithin is_within, gconstpointer data,
    NdtAlignResult *best, double *runner_up, gboolean *is_ambiguous, guint32 *evaluations,
    GError **error)
{
  const double resolution = ndt_backend_get_resolution (backend);
  NdtStart starts[2 * NDT_PLACES_MOST_STARTS];
  NdtAlignResult results[2 * NDT_PLACES_MOST_STARTS], finals[PLACES];
  const NdtAlignResult *places[PLACES];
  guint winner = 0;
  *runner_up = 0;
  *is_ambiguous = FALSE;
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
    if (ndt_places_quality (&finals[i]) > ndt_places_quality (&finals[winner]))
      winner = i;
  *best = finals[winner];
  best->iterations += places[winner]->iterations;
  best->oscillation = MAX (best->oscillation, places[winner]->oscillation);
  const double quality = ndt_places_quality (best);
  if (!(quality > 0)) /* no pair, there or elsewhere */
    return TRUE;
  for (guint i = 0; i < n_places; i++)
    if (is_elsewhere (&finals[i].pose, &best->pose, resolution))
      *runner_up = MAX (*runner_up, ndt_places_quality (&finals[i]) / quality);
  gboolean is_confirmed = FALSE;
  if (*runner_up < NDT_AMBIGUOUS &&
      !look_around (backend, params, is_within, data, &best->pose, runner_up, evaluations, error))
    return FALSE;
  if (*runner_up < NDT_AMBIGUOUS &&
      !confirm (backend, params, &best->pose, resolution, &is_confirmed, evaluations, error))
    return FALSE;
  *is_ambiguous = !is_confirmed;
  return TRUE;
}
