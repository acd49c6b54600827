/* SPDX-License-Identifier: MIT */
#include "ndt-search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ndtcore/scan/ndt-scan-filter.h"
#include "ndtcore/scan/ndt-scan-sample.h"

/* Edge of the cubes of a sample, in cells of the map: a scan is dense near the sensor, where many
 * points have the information of one. */
#define LEAF 0.5

/* Where the two approaches that differ most end within this distance of each other, the other two
 * are not run. */
#define AGREE_METRES 0.02
#define AGREE_RADIANS 0.002

/* Ends of the sample's alignments from which the whole scan is aligned: least score as a fraction
 * of the best, least distance from each other, and their largest number. */
#define FINALIST_SCORE 0.8
#define FINALIST_METRES 0.01
#define FINALIST_RADIANS 0.001
#define MAX_FINALISTS 8

/* The best end of the sample's alignments is confirmed by another one within this distance. */
#define CONFIRM_METRES 0.1
#define CONFIRM_RADIANS 0.01

/* ---- The sample ---- */

guint
ndt_search_sample (const float *xyz, guint n, float leaf, guint most, float *out)
{
  const float inverse_leaf = 1 / leaf;
  guint table_size = 1024, n_leaves = 0;
  int shift = 54;
  while (table_size < 2 * n) {
    table_size *= 2;
    shift--;
  }
  g_autofree guint64 *table = g_try_new (guint64, table_size);
  if (!table)
    return NDT_SEARCH_NO_MEMORY;
  memset (table, 0xff, (gsize)table_size * sizeof (*table));
  for (guint i = 0; i < n; i++) {
    gint32 index[3];
    for (guint k = 0; k < 3; k++)
      index[k] = ndt_leaf_index (xyz[3 * (gsize)i + k], inverse_leaf);
    if (!ndt_leaf_in_range (index[0]) || !ndt_leaf_in_range (index[1]) ||
        !ndt_leaf_in_range (index[2]))
      continue;
    const guint64 key = ndt_block_key (index[0], index[1], index[2]);
    guint slot = ndt_block_hash (key, shift);
    while (table[slot] != NDT_BLOCK_EMPTY && table[slot] != key)
      slot = (slot + 1) & (table_size - 1);
    if (table[slot] == key)
      continue;
    table[slot] = key;
    memmove (out + 3 * (gsize)n_leaves, xyz + 3 * (gsize)i, 3 * sizeof (float));
    n_leaves++;
  }
  if (n_leaves <= most)
    return n_leaves;
  const double step = (double)n_leaves / most;
  for (guint i = 0; i < most; i++)
    memmove (out + 3 * (gsize)i, out + 3 * (gsize)ndt_sample_from (i, step), 3 * sizeof (float));
  return most;
}

static gboolean
refuse_memory (GError **error)
{
  g_set_error_literal (
      error, NDT_ERROR, NDT_ERROR_NO_MEMORY, "There is not the memory for a sample of the scan");
  return FALSE;
}

/* Writes the sample of a scan to NDT_SEARCH_SLOT. */
static gboolean
sample_on_host (NdtBackend *backend, guint slot, float leaf, GError **error)
{
  static const NdtScanFilter no_filter = NDT_SCAN_FILTER_NONE;
  guint n;
  if (!ndt_backend_get_scan (backend, slot, NULL, 0, &n, error))
    return FALSE;
  g_autofree float *xyz = g_try_new (float, 3 * (gsize)MAX (n, 1));
  if (!xyz)
    return refuse_memory (error);
  if (!ndt_backend_get_scan (backend, slot, xyz, n, &n, error))
    return FALSE;
  if (n > NDT_SAMPLE_LEAST)
    n = ndt_search_sample (xyz, n, leaf, ndt_sample_most (n), xyz);
  if (n == NDT_SEARCH_NO_MEMORY)
    return refuse_memory (error);
  const NdtCloudView view = ndt_cloud_view_xyz_f32 (xyz, n);
  /* The memory has to be valid until the slot has been read. */
  guint n_set;
  return ndt_backend_set_scan (backend, NDT_SEARCH_SLOT, &view, &no_filter, error) &&
         ndt_backend_get_scan (backend, NDT_SEARCH_SLOT, NULL, 0, &n_set, error);
}

gboolean
ndt_search_set_sample (NdtBackend *backend, guint slot, float leaf, GError **error)
{
  return backend->klass->sample_scan
             ? backend->klass->sample_scan (backend, slot, NDT_SEARCH_SLOT, leaf, error)
             : sample_on_host (backend, slot, leaf, error);
}

/* ---- The search ---- */

gboolean
ndt_search_align (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    const NdtStart *starts, guint n, NdtAlignResult *results, guint32 *evaluations, GError **error)
{
  const guint batch = ndt_backend_get_batch (backend);
  for (guint first = 0; first < n; first += batch)
    if (!ndt_backend_align (
            backend, slot, params, starts + first, MIN (batch, n - first), results + first, error))
      return FALSE;
  for (guint i = 0; i < n; i++)
    *evaluations += results[i].evaluations;
  return TRUE;
}

static gboolean
are_near (const NdtPose *a, const NdtPose *b, double metres, double radians)
{
  double m, angle;
  ndt_pose_difference (a, b, &m, &angle);
  return m < metres && angle < radians;
}

/* The better first, of equal ones the earlier. */
static gint
compare_results (gconstpointer a, gconstpointer b)
{
  const NdtAlignResult *x = *(const NdtAlignResult *const *)a;
  const NdtAlignResult *y = *(const NdtAlignResult *const *)b;
  if (ndt_align_result_is_better (x, y))
    return -1;
  if (ndt_align_result_is_better (y, x))
    return 1;
  return x < y ? -1 : x > y;
}

/* ---- What a search may cost ---- */

/* Passes of an alignment of a sample from a candidate, as measured; and those that are kept for the
 * whole scan. An approach takes at most 11, and with fewer than so many in all it is of no use. */
#define TYPICAL_PASSES 12.0
#define FINAL_PASSES 8.0
#define LEAST_PASSES 14.0
/* Guesses are ranked by at most this part of the passes that are left. */
#define RANKING_SHARE 0.5
/* A sample of more of the scan than this saves less than it costs to go on from its ends. */
#define SAMPLE_SHARE 0.7

/**
 * Far:
 * @slot: of the scan or its sample
 * @weight: of a pass over it …
 * @whole: … and over the scan
 */
typedef struct {
  NdtBackend *backend;
  guint slot;
  const NdtAlignParams *params;
  const NdtRegularization *regularization;
  double weight;
  double whole;
  NdtSearchCost *cost;
} Far;

/* Passes over the scan that are left for its sample. */
static double
get_left (const Far *far)
{
  return far->cost->most - far->cost->passes -
         (far->weight < far->whole ? FINAL_PASSES * far->whole : 0);
}

static void
add_cost (NdtSearchCost *cost, guint32 evaluations, double weight)
{
  cost->evaluations += evaluations;
  cost->passes += evaluations * weight;
}

/* ndt_search_align() within what is left, which the starts share alike. */
static gboolean
align_within (const Far *far, guint slot, double weight, double left, const NdtStart *starts,
    guint n, NdtAlignResult *results, GError **error)
{
  NdtAlignParams params = *far->params;
  guint32 evaluations = 0;
  if (far->cost->most > 0 && n > 0 && weight > 0)
    params.max_evaluations = (guint)CLAMP (left / (weight * n), 1, G_MAXINT32);
  if (!ndt_search_align (far->backend, slot, &params, starts, n, results, &evaluations, error))
    return FALSE;
  add_cost (far->cost, evaluations, weight);
  return TRUE;
}

typedef struct {
  double score; /* of a guess that may be near */
  double wide;  /* of one that may be farther */
  guint index;
} Ranked;

static int
compare_ranked (const void *a, const void *b)
{
  const Ranked *x = a, *y = b;
  return x->score > y->score ? -1 : x->score < y->score ? 1 : x->index < y->index ? -1 : 1;
}

static double
make_finite (double value)
{
  return isfinite (value) ? value : 0;
}

/* Moves the guesses at which the sample lies best on the map to the front, by the score, which
 * tells within half a metre, and by the approach, which tells beyond; and returns how many of them
 * the bound suffices for. */
static gboolean
pick_guesses (const Far *far, NdtPose *guesses, guint *n_guesses, GError **error)
{
  const double left = get_left (far) / far->weight;
  double most = left / (2 * TYPICAL_PASSES);
  if (!(far->cost->most > 0) || most >= *n_guesses || *n_guesses == 1)
    return TRUE;
  const guint n = (guint)CLAMP (RANKING_SHARE * left / 2, 1, *n_guesses);
  if (n == 1) {
    *n_guesses = 1;
    return TRUE;
  }
  most = (left - 2 * n) / (2 * TYPICAL_PASSES);
  g_autofree NdtPose *before = g_memdup2 (guesses, n * sizeof (*guesses));
  g_autofree NdtSums *sums = g_new (NdtSums, n);
  g_autofree NdtSums *wide = g_new (NdtSums, n);
  g_autofree Ranked *ranked = g_new (Ranked, n);
  if (!ndt_backend_evaluate (
          far->backend, far->slot, far->params, 0, NDT_KIND_SCORE, before, n, sums, error) ||
      !ndt_backend_evaluate (
          far->backend, far->slot, far->params, 0, NDT_KIND_LEAST_SQUARES, before, n, wide, error))
    return FALSE;
  add_cost (far->cost, 2 * n, far->weight);
  guint widest = 1;
  for (guint i = 0; i < n; i++)
    ranked[i] = (Ranked){make_finite (sums[i].nvtl), make_finite (wide[i].score), i};
  qsort (ranked, n, sizeof (*ranked), compare_ranked);
  for (guint i = 2; i < n; i++)
    if (ranked[i].wide > ranked[widest].wide)
      widest = i;
  const Ranked second = ranked[widest];
  memmove (ranked + 2, ranked + 1, (widest - 1) * sizeof (*ranked));
  ranked[1] = second;
  for (guint i = 0; i < n; i++)
    guesses[i] = before[ranked[i].index];
  *n_guesses = MAX ((guint)most, 1);
  return TRUE;
}

/* ---- Candidates ---- */

/* Aligns the scan from all candidates of all guesses, without those that are skipped since others
 * agree, or for want of passes. Returns their ends, in @results, the best first. */
static GPtrArray *
try_candidates (const Far *far, const NdtPose *guesses, guint n_guesses, NdtAlignResult *results,
    GError **error)
{
  static const guint32 approaches[2][2] = {{1, 3}, {0, 2}};
  const gboolean is_bound = far->cost->most > 0;
  double left = is_bound ? get_left (far) / far->weight : INFINITY;
  /* Newton alone where there is no room for an approach, and the one that reaches farther where
   * there is for one. */
  const gboolean has_few = left < 2 * LEAST_PASSES, has_none = left < LEAST_PASSES;
  g_autofree NdtStart *starts = g_new (NdtStart, 2 * n_guesses);
  guint n_starts = 0, n_left = 0;
  for (guint i = 0; i < n_guesses; i++)
    for (guint k = has_few; k < 2; k++)
      starts[n_starts++] =
          (NdtStart){guesses[i], has_none ? 0 : approaches[0][k], *far->regularization};
  if (!align_within (far, far->slot, far->weight, get_left (far), starts, n_starts, results, error))
    return NULL;
  left = get_left (far);
  for (guint i = 0; i < n_guesses && !has_few; i++) {
    const NdtAlignResult *r = &results[2 * i];
    if (r[0].stop == NDT_STOP_CONVERGED && r[1].stop == NDT_STOP_CONVERGED &&
        are_near (&r[0].pose, &r[1].pose, AGREE_METRES, AGREE_RADIANS))
      continue;
    left -= 2 * LEAST_PASSES * far->weight;
    for (guint k = 0; k < 2 && (!is_bound || left >= 0); k++)
      starts[n_left++] = (NdtStart){guesses[i], approaches[1][k], *far->regularization};
  }
  if (!align_within (
          far, far->slot, far->weight, get_left (far), starts, n_left, results + n_starts, error))
    return NULL;
  GPtrArray *sorted = g_ptr_array_sized_new (n_starts + n_left);
  for (guint i = 0; i < n_starts + n_left; i++)
    g_ptr_array_add (sorted, &results[i]);
  g_ptr_array_sort (sorted, compare_results);
  return sorted;
}

/* Passes of an alignment of the scan from an end of its sample's. */
#define FINALIST_PASSES 8.0

/* Aligns the scan from the ends of its sample's alignments. */
static gboolean
align_finalists (
    const Far *far, guint slot, const GPtrArray *ends, NdtAlignResult *best, GError **error)
{
  const NdtAlignResult *from[MAX_FINALISTS];
  NdtStart starts[MAX_FINALISTS] = {0}; /* there is one end at least, which compilers cannot see */
  NdtAlignResult results[MAX_FINALISTS];
  const double one = FINALIST_PASSES * far->whole;
  const double left = far->cost->most - far->cost->passes;
  const guint most =
      far->cost->most > 0 ? (guint)CLAMP (left / one, 1, MAX_FINALISTS) : MAX_FINALISTS;
  guint n = 0;
  for (guint i = 0; i < ends->len && n < most; i++) {
    const NdtAlignResult *end = g_ptr_array_index (ends, i);
    gboolean is_new = TRUE;
    if (n > 0 && !(end->stop != NDT_STOP_NOT_FINITE &&
                     end->sums.score >= FINALIST_SCORE * from[0]->sums.score))
      break;
    for (guint k = 0; k < n && is_new; k++)
      is_new = !are_near (&end->pose, &from[k]->pose, FINALIST_METRES, FINALIST_RADIANS);
    if (!is_new)
      continue;
    from[n] = end;
    starts[n++] = (NdtStart){end->pose, 0, *far->regularization};
  }
  if (!align_within (far, slot, far->whole, left, starts, n, results, error))
    return FALSE;
  guint winner = 0;
  for (guint i = 1; i < n; i++)
    if (ndt_align_result_is_better (&results[i], &results[winner]))
      winner = i;
  *best = results[winner];
  best->iterations += from[winner]->iterations;
  best->oscillation = MAX (best->oscillation, from[winner]->oscillation);
  return TRUE;
}

static gboolean
is_confirmed (const GPtrArray *ends)
{
  const NdtAlignResult *best = g_ptr_array_index (ends, 0);
  for (guint i = 1; i < ends->len; i++) {
    const NdtAlignResult *end = g_ptr_array_index (ends, i);
    if (are_near (&best->pose, &end->pose, CONFIRM_METRES, CONFIRM_RADIANS))
      return TRUE;
  }
  return FALSE;
}

double
ndt_search_weigh (guint n_sample, guint n_scan)
{
  return (double)n_sample / MAX (n_scan, NDT_SAMPLE_LEAST);
}

/* Sets the sample of the scan, all of it where it has few points, and the weights of passes. */
static gboolean
set_sample (Far *far, guint slot, double resolution, GError **error)
{
  guint n_scan, n_sample;
  far->slot = resolution > 0 ? NDT_SEARCH_SLOT : slot;
  far->weight = far->whole = 1;
  if (far->slot == slot)
    return TRUE;
  if (!ndt_search_set_sample (far->backend, slot, (float)(LEAF * resolution), error) ||
      !ndt_backend_get_scan (far->backend, slot, NULL, 0, &n_scan, error) ||
      !ndt_backend_get_scan (far->backend, far->slot, NULL, 0, &n_sample, error))
    return FALSE;
  far->whole = ndt_search_weigh (n_scan, n_scan);
  /* A scan is its own sample where it has few points; a sample of as few may be of one with many
   * points in a few cubes. */
  far->weight =
      n_scan > NDT_SAMPLE_LEAST ? MIN (ndt_search_weigh (n_sample, n_scan), 1 - 1e-9) : far->whole;
  /* The passes that a sample saves have to be more than those for the scan from its ends. */
  if (far->cost->most > 0 && far->weight > SAMPLE_SHARE * far->whole) {
    far->slot = slot;
    far->weight = far->whole;
  }
  return TRUE;
}

gboolean
ndt_search_far (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    const NdtRegularization *regularization, const NdtPose *guesses, guint n_guesses,
    NdtAlignResult *best, NdtSearchCost *cost, GError **error)
{
  g_autofree NdtAlignResult *results =
      g_new (NdtAlignResult, (gsize)NDT_SEARCH_CANDIDATES * n_guesses);
  g_autofree NdtPose *picked = g_memdup2 (guesses, n_guesses * sizeof (*guesses));
  NdtSearchCost own = {.most = cost->most};
  Far far = {backend, slot, params, regularization, 1, 1, &own};
  guint n = n_guesses;
  if (!set_sample (&far, slot, ndt_backend_get_resolution (backend), error) ||
      !pick_guesses (&far, picked, &n, error))
    return FALSE;
  g_autoptr (GPtrArray) ends = try_candidates (&far, picked, n, results, error);
  if (!ends)
    return FALSE;
  *best = *(const NdtAlignResult *)g_ptr_array_index (ends, 0);
  if (far.weight < far.whole) {
    const gboolean confirmed = is_confirmed (ends);
    if (!align_finalists (&far, slot, ends, best, error))
      return FALSE;
    if (!confirmed && !(own.most > 0)) {
      /* With the sample each candidate ended elsewhere, so that all ends may be wrong. */
      far.slot = slot;
      far.weight = far.whole;
      g_autoptr (GPtrArray) all = try_candidates (&far, picked, n, results, error);
      if (!all)
        return FALSE;
      const NdtAlignResult *whole = g_ptr_array_index (all, 0);
      if (ndt_align_result_is_better (whole, best))
        *best = *whole;
    }
  }
  cost->evaluations += own.evaluations;
  cost->passes += own.passes;
  return TRUE;
}
