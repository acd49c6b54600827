/* SPDX-License-Identifier: MIT */
#include "ndt-search.h"

#include <string.h>

#include "ndt-scan-filter.h"

/* Points of a sample: two fifths of the scan's, within these. */
#define MIN_SAMPLE 600
#define MAX_SAMPLE 1500

/* Edge of the cubes that a sample is drawn from, in cells of the map: a scan is dense near the
 * sensor, where many points say what one does. */
#define LEAF 0.5

/* The two approaches that have least in common; ending this near each other they are taken to be
 * right, and the other two are not tried. */
#define AGREE_METRES 0.02
#define AGREE_RADIANS 0.002

/* Ends of the sample's alignments from which the whole scan is aligned: no worse than this fraction
 * of the best score, this far from each other, and no more than so many. */
#define FINALIST_SCORE 0.8
#define FINALIST_METRES 0.01
#define FINALIST_RADIANS 0.001
#define MAX_FINALISTS 8

/* The best end of the sample's alignments counts where another is this near. */
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
  g_autofree guint64 *table = g_new (guint64, table_size);
  memset (table, 0xff, table_size * sizeof (*table));
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
  /* One of each of as many parts of equal length. Scans have a period, of as many points as the
   * sensor has rings, say; multiples of the golden ratio have none. */
  const double step = (double)n_leaves / most;
  for (guint i = 0; i < most; i++) {
    const double fraction = (guint32)(i * UINT32_C (2654435769)) / 4294967296.0;
    const guint from = (guint)((i + fraction) * step);
    memmove (out + 3 * (gsize)i, out + 3 * (gsize)from, 3 * sizeof (float));
  }
  return most;
}

/* ---- The search ---- */

static gboolean
align (NdtBackend *backend, guint slot, const NdtAlignParams *params, const NdtStart *starts,
    guint n, NdtAlignResult *results, guint32 *evaluations, GError **error)
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

static gboolean
is_better (const NdtAlignResult *a, const NdtAlignResult *b)
{
  const gboolean a_finite = a->stop != NDT_STOP_NOT_FINITE;
  const gboolean b_finite = b->stop != NDT_STOP_NOT_FINITE;
  if (a_finite != b_finite)
    return a_finite;
  return a->sums.score > b->sums.score;
}

/* The better first, of equal ones the earlier. */
static gint
compare_results (gconstpointer a, gconstpointer b)
{
  const NdtAlignResult *x = *(const NdtAlignResult *const *)a;
  const NdtAlignResult *y = *(const NdtAlignResult *const *)b;
  if (is_better (x, y))
    return -1;
  if (is_better (y, x))
    return 1;
  return x < y ? -1 : x > y;
}

/* Aligns the scan from all candidates of all guesses, but for those that an agreement of others
 * makes needless. Returns their ends, in @results, best first. */
static GPtrArray *
try_candidates (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    const NdtPose *guesses, guint n_guesses, NdtAlignResult *results, guint32 *evaluations,
    GError **error)
{
  static const guint32 approaches[2][2] = {{1, 3}, {0, 2}};
  g_autofree NdtStart *starts = g_new (NdtStart, 2 * n_guesses);
  guint n_starts = 0, n_left = 0;
  for (guint i = 0; i < n_guesses; i++)
    for (guint k = 0; k < 2; k++)
      starts[n_starts++] = (NdtStart){guesses[i], approaches[0][k]};
  if (!align (backend, slot, params, starts, n_starts, results, evaluations, error))
    return NULL;
  for (guint i = 0; i < n_guesses; i++) {
    const NdtAlignResult *r = &results[2 * i];
    if (r[0].stop == NDT_STOP_CONVERGED && r[1].stop == NDT_STOP_CONVERGED &&
        are_near (&r[0].pose, &r[1].pose, AGREE_METRES, AGREE_RADIANS))
      continue;
    for (guint k = 0; k < 2; k++)
      starts[n_left++] = (NdtStart){guesses[i], approaches[1][k]};
  }
  if (!align (backend, slot, params, starts, n_left, results + n_starts, evaluations, error))
    return NULL;
  GPtrArray *sorted = g_ptr_array_sized_new (n_starts + n_left);
  for (guint i = 0; i < n_starts + n_left; i++)
    g_ptr_array_add (sorted, &results[i]);
  g_ptr_array_sort (sorted, compare_results);
  return sorted;
}

/* Aligns the scan from the ends of its sample's alignments. */
static gboolean
align_finalists (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    const GPtrArray *ends, NdtAlignResult *best, guint32 *evaluations, GError **error)
{
  const NdtAlignResult *from[MAX_FINALISTS];
  NdtStart starts[MAX_FINALISTS] = {0}; /* there is one end at least, but compilers cannot know */
  NdtAlignResult results[MAX_FINALISTS];
  guint n = 0;
  for (guint i = 0; i < ends->len && n < MAX_FINALISTS; i++) {
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
    starts[n++] = (NdtStart){end->pose, 0};
  }
  if (!align (backend, slot, params, starts, n, results, evaluations, error))
    return FALSE;
  guint winner = 0;
  for (guint i = 1; i < n; i++)
    if (is_better (&results[i], &results[winner]))
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

gboolean
ndt_search_far (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    const NdtPose *guesses, guint n_guesses, NdtAlignResult *best, guint32 *evaluations,
    GError **error)
{
  static const NdtScanFilter no_filter = NDT_SCAN_FILTER_NONE;
  const double resolution = ndt_backend_get_resolution (backend);
  g_autofree NdtAlignResult *results =
      g_new (NdtAlignResult, (gsize)NDT_SEARCH_CANDIDATES * n_guesses);
  g_autofree float *xyz = NULL;
  guint n_points, search_slot = slot;
  if (!ndt_backend_get_scan (backend, slot, NULL, 0, &n_points, error))
    return FALSE;
  const guint most = CLAMP (2 * n_points / 5, MIN_SAMPLE, MAX_SAMPLE);
  if (n_points > most && resolution > 0) {
    xyz = g_new (float, 3 * (gsize)n_points);
    if (!ndt_backend_get_scan (backend, slot, xyz, n_points, &n_points, error))
      return FALSE;
    n_points = ndt_search_sample (xyz, n_points, (float)(LEAF * resolution), most, xyz);
    const NdtCloudView view = ndt_cloud_view_xyz_f32 (xyz, n_points);
    search_slot = NDT_SEARCH_SLOT;
    if (!ndt_backend_set_scan (backend, search_slot, &view, &no_filter, error))
      return FALSE;
  }
  g_autoptr (GPtrArray) ends = try_candidates (
      backend, search_slot, params, guesses, n_guesses, results, evaluations, error);
  if (!ends)
    return FALSE;
  if (search_slot == slot) {
    *best = *(const NdtAlignResult *)g_ptr_array_index (ends, 0);
    return TRUE;
  }
  const gboolean confirmed = is_confirmed (ends);
  if (!align_finalists (backend, slot, params, ends, best, evaluations, error))
    return FALSE;
  if (confirmed)
    return TRUE;
  /* The sample led each candidate elsewhere, and perhaps all of them astray. */
  g_autoptr (GPtrArray) all =
      try_candidates (backend, slot, params, guesses, n_guesses, results, evaluations, error);
  if (!all)
    return FALSE;
  const NdtAlignResult *whole = g_ptr_array_index (all, 0);
  if (is_better (whole, best))
    *best = *whole;
  return TRUE;
}
