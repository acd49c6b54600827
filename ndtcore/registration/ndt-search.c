/* SPDX-License-Identifier: MIT */
#include "ndt-search.h"

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

/* Aligns the scan from all candidates of all guesses, without those that are skipped since others
 * agree. Returns their ends, in @results, the best first. */
static GPtrArray *
try_candidates (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    const NdtRegularization *regularization, const NdtPose *guesses, guint n_guesses,
    NdtAlignResult *results, guint32 *evaluations, GError **error)
{
  static const guint32 approaches[2][2] = {{1, 3}, {0, 2}};
  g_autofree NdtStart *starts = g_new (NdtStart, 2 * n_guesses);
  guint n_starts = 0, n_left = 0;
  for (guint i = 0; i < n_guesses; i++)
    for (guint k = 0; k < 2; k++)
      starts[n_starts++] = (NdtStart){guesses[i], approaches[0][k], *regularization};
  if (!ndt_search_align (backend, slot, params, starts, n_starts, results, evaluations, error))
    return NULL;
  for (guint i = 0; i < n_guesses; i++) {
    const NdtAlignResult *r = &results[2 * i];
    if (r[0].stop == NDT_STOP_CONVERGED && r[1].stop == NDT_STOP_CONVERGED &&
        are_near (&r[0].pose, &r[1].pose, AGREE_METRES, AGREE_RADIANS))
      continue;
    for (guint k = 0; k < 2; k++)
      starts[n_left++] = (NdtStart){guesses[i], approaches[1][k], *regularization};
  }
  if (!ndt_search_align (
          backend, slot, params, starts, n_left, results + n_starts, evaluations, error))
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
    const NdtRegularization *regularization, const GPtrArray *ends, NdtAlignResult *best,
    guint32 *evaluations, GError **error)
{
  const NdtAlignResult *from[MAX_FINALISTS];
  NdtStart starts[MAX_FINALISTS] = {0}; /* there is one end at least, which compilers cannot see */
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
    starts[n++] = (NdtStart){end->pose, 0, *regularization};
  }
  if (!ndt_search_align (backend, slot, params, starts, n, results, evaluations, error))
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

gboolean
ndt_search_far (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    const NdtRegularization *regularization, const NdtPose *guesses, guint n_guesses,
    NdtAlignResult *best, guint32 *evaluations, GError **error)
{
  const double resolution = ndt_backend_get_resolution (backend);
  g_autofree NdtAlignResult *results =
      g_new (NdtAlignResult, (gsize)NDT_SEARCH_CANDIDATES * n_guesses);
  const guint search_slot = resolution > 0 ? NDT_SEARCH_SLOT : slot;
  if (search_slot != slot &&
      !ndt_search_set_sample (backend, slot, (float)(LEAF * resolution), error))
    return FALSE;
  g_autoptr (GPtrArray) ends = try_candidates (backend, search_slot, params, regularization,
      guesses, n_guesses, results, evaluations, error);
  if (!ends)
    return FALSE;
  /* A scan is its own sample where it has few points; a sample of as few may be of one with many
   * points in a few cubes. */
  const NdtAlignResult *first = g_ptr_array_index (ends, 0);
  guint n_points = first->n_points;
  if (search_slot != slot && n_points <= NDT_SAMPLE_LEAST &&
      !ndt_backend_get_scan (backend, slot, NULL, 0, &n_points, error))
    return FALSE;
  if (search_slot == slot || n_points <= NDT_SAMPLE_LEAST) {
    *best = *first;
    return TRUE;
  }
  const gboolean confirmed = is_confirmed (ends);
  if (!align_finalists (backend, slot, params, regularization, ends, best, evaluations, error))
    return FALSE;
  if (confirmed)
    return TRUE;
  /* With the sample each candidate ended elsewhere, so that all ends may be wrong. */
  g_autoptr (GPtrArray) all = try_candidates (
      backend, slot, params, regularization, guesses, n_guesses, results, evaluations, error);
  if (!all)
    return FALSE;
  const NdtAlignResult *whole = g_ptr_array_index (all, 0);
  if (ndt_align_result_is_better (whole, best))
    *best = *whole;
  return TRUE;
}
