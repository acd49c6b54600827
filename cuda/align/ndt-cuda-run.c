/* SPDX-License-Identifier: MIT */
/* Alignments: launches, messages and results. */
#include <string.h>

#include "cuda/device/ndt-cuda-testing.h"
#include "ndt-cuda-private.h"
#include "ndtcore/base/ndt-tuning.h"
#include "ndtcore/math/ndt-formulas.h"

/* ---- Shapes ---- */

guint
ndt_cuda_largest_power (guint limit, guint most)
{
  guint n = 1;
  while (2 * n <= MIN (limit, most))
    n *= 2;
  return n;
}

/* Numbers of lanes a point that a scan may need: how many points of a thinned one are left is known
 * to the device only. */
static guint32
choose_lanes (const NdtCudaBackend *cuda, const NdtCudaScan *scan)
{
  if (cuda->lanes)
    return cuda->lanes;
  const guint32 lanes = MAX (ndt_cuda_lanes (scan->n_points), cuda->least_lanes);
  return scan->thinned ? 7 & ~(lanes - 1) : lanes;
}

/* The shape for @n_starts alignments of a scan on @share multiprocessors. @methods: see there. */
static NdtCudaShape
choose_shape (const NdtCudaBackend *cuda, const NdtCudaScan *scan, guint n_starts, guint share,
    gboolean methods)
{
  NdtCudaShape shape = cuda->shape;
  gboolean keeps_all = TRUE;
  shape.methods = methods;
  shape.lanes = choose_lanes (cuda, scan);
  if (shape.size == 0) {
    const guint processors = ndt_cuda_share_get_left (cuda);
    /* Few starts have multiprocessors of their own. With many, several blocks run on one, which
     * leaves no shared memory to cache voxels, and gains more than that costs. */
    const gboolean many = 4 * n_starts >= processors || cuda->limits.max_shared < 131072;
    shape.threads = many ? 256 : 512;
    keeps_all = !many;
    shape.size = (gint)ndt_cuda_largest_power (
        (guint)cuda->limits.max_cluster, MAX (4, processors / n_starts));
    /* One start, or a few where there are no clusters, run on a grid, one after the other. */
    if (cuda->limits.max_grid >= 16 &&
        (n_starts == 1 || !ndt_cuda_align_fits (&cuda->limits, &shape) ||
            (cuda->limits.max_cluster < 4 && 4 * n_starts < processors))) {
      shape.grid = 1;
      shape.size =
          (gint)MAX (16, ndt_cuda_largest_power (MIN (share, (guint)cuda->limits.max_grid), 128));
      shape.threads = 256;
      keeps_all = TRUE;
    }
    /* A device with fewer multiprocessors has two of the 16 blocks on each. */
    if (!methods && cuda->limits.max_grid < 16 && cuda->limits.max_dense >= 16 &&
        4 * n_starts < processors) {
      const NdtCudaShape dense = {1, 1, 16, 256, shape.lanes, {0}, 0};
      if (ndt_cuda_align_fits (&cuda->limits, &dense)) {
        shape = dense;
        keeps_all = TRUE;
      }
    }
  }
  for (guint k = 0; k < 3; k++) {
    const guint32 lanes = 1 << k;
    /* Scans of more points have fewer lanes each, down to the fewest. */
    const gboolean is_least = (shape.lanes & (lanes - 1)) == 0;
    const guint most = is_least ? G_MAXUINT : lanes == 2 ? NDT_CUDA_TWO_LANES : NDT_CUDA_FOUR_LANES;
    guint32 n = 1;
    /* One lane a point keeps no voxels, and the points of a thinned scan are on the device: the
     * memory is better left to the cache of the others. */
    if (cuda->n_slots > 0)
      n = cuda->n_slots;
    else if (keeps_all && !(lanes == 1 && scan->thinned))
      n = ndt_cuda_align_slots (&shape, lanes, MIN (scan->n_points, most));
    shape.n_slots[k] =
        shape.lanes & lanes ? MIN (n, ndt_cuda_align_max_slots (&cuda->limits, &shape, lanes)) : 0;
  }
  return shape;
}

/* Waits for all work in the stream. */
static gboolean
wait_asleep (NdtCudaBackend *cuda, GError **error)
{
  cudaError_t status = cudaEventRecord (cuda->done, cuda->stream);
  if (status == cudaSuccess)
    status = cudaEventSynchronize (cuda->done);
  return ndt_cuda_check (&cuda->memory, status, "alignment", error);
}

/* Whether the result with the number cuda->ticket is there. @index: of those that come in words;
 * -1: all of a launch. */
static gboolean
take_result (NdtCudaBackend *cuda, gint index)
{
  const NdtCudaSignals *signals = cuda->signals.data;
  guint32 words[NDT_CUDA_RESULT_WORDS];
  if (index < 0)
    return __atomic_load_n (&signals->finished, __ATOMIC_ACQUIRE) == cuda->ticket;
  const guint64 *from = signals->words + (gsize)index * NDT_CUDA_RESULT_WORDS;
  for (gint i = NDT_CUDA_RESULT_WORDS - 1; i >= 0; i--) {
    const guint64 word = __atomic_load_n (&from[i], __ATOMIC_RELAXED);
    if (word >> 32 != cuda->ticket)
      return FALSE;
    words[i] = (guint32)word;
  }
  memcpy ((NdtCudaResult *)cuda->results.data + index, words, sizeof (words));
  return TRUE;
}

/* Waits until the result with the number cuda->ticket is there, or until the sequence of the launch
 * @ticket has ended without it: then *missed. @index: as of take_result(). */
static gboolean
wait (NdtCudaBackend *cuda, guint32 ticket, gint index, gboolean *missed, GError **error)
{
  const NdtCudaSignals *signals = cuda->signals.data;
  const gint64 give_up = g_get_monotonic_time () + NDT_CUDA_SPIN_TIME;
  gboolean slept = FALSE;
  *missed = FALSE;
  ndt_cuda_count_synchronization (&cuda->memory);
  for (guint spins = 1;; spins++) {
    /* Read before the result: a sequence ends after its results, so that a result is visible where
     * the end is, however long this thread was suspended. */
    const gboolean has_ended =
        cuda->ticket != ticket && __atomic_load_n (&signals->ended, __ATOMIC_ACQUIRE) == ticket;
    if (cuda->pause > 0)
      g_usleep (cuda->pause);
    if (take_result (cuda, index))
      return TRUE;
    if (has_ended) {
      *missed = TRUE;
      return TRUE;
    }
    if (slept)
      return ndt_cuda_fail (&cuda->memory,
          signals->fault ? "blocks of an alignment lost each other"
                         : "an alignment ended without a result",
          error);
#if defined(__x86_64__)
    __builtin_ia32_pause ();
#endif
    if (spins % 256 == 0 && g_get_monotonic_time () > give_up) {
      if (!wait_asleep (cuda, error))
        return FALSE;
      slept = TRUE;
    }
  }
}

static void
fill_job (NdtCudaBackend *cuda, NdtCudaJob *job, const NdtAlignParams *params)
{
  NdtCudaState *state = cuda->state.data;
  NdtCudaSignals *signals = cuda->signals.data;
  job->n_levels = ndt_cuda_maps_get (&cuda->maps, job->levels);
  for (gint i = 0; i < job->n_levels; i++) {
    const NdtGauss gauss = ndt_gauss (params->outlier_ratio, job->levels[i].resolution);
    job->inverse_resolution[i] = (float)(1 / job->levels[i].resolution);
    job->d1[i] = (float)gauss.d1;
    job->d2[i] = (float)gauss.d2;
  }
  job->translation_epsilon = params->translation_epsilon;
  job->rotation_epsilon = params->rotation_epsilon;
  job->max_translation_step = params->max_translation_step;
  job->max_rotation_step = params->max_rotation_step;
  job->neighbours = (gint32)params->neighbours;
  job->max_iterations = (gint32)params->max_iterations;
  job->max_evaluations = (gint32)params->max_evaluations;
  job->method = (gint32)params->method;
  job->reuse = cuda->reuse;
  job->cancelled = &state->cancelled;
  job->n_done = &state->n_done;
  job->sequence = &state->sequence;
  job->exchange = (uint64_t *)(state + 1);
  job->finished = &signals->finished;
  job->fault = &signals->fault;
}

/* Of kernels: see NdtCudaShape. */
static gboolean
needs_methods (const NdtCudaJob *job)
{
  return job->terms || (job->method != NDT_METHOD_NEWTON && !job->evaluate);
}

/* The terms of the parameters on the device, where they are not yet: they are uploaded once. */
static gboolean
add_terms (NdtCudaBackend *cuda, NdtCudaJob *job, const NdtAlignParams *params, GError **error)
{
  const NdtExtraTerms *terms = params->terms;
  if (!terms)
    return TRUE;
  if (cuda->terms_serial != terms->serial) {
    const gsize size =
        offsetof (NdtExtraTerms, operations) + terms->n_operations * sizeof (NdtExtraOperation);
    cuda->terms_serial = 0;
    if (!ndt_cuda_device_reserve (&cuda->memory, &cuda->terms, sizeof (*terms), error) ||
        !ndt_cuda_check (&cuda->memory,
            cudaMemcpyAsync (cuda->terms.data, terms, size, cudaMemcpyHostToDevice, cuda->stream),
            "upload of extra terms", error))
      return FALSE;
    ndt_cuda_count_upload (&cuda->memory, size);
    cuda->terms_serial = terms->serial;
    cuda->n_scalars = terms->n_scalars;
  }
  job->terms = cuda->terms.data;
  return TRUE;
}

static guint
count_blocks (const NdtCudaShape *shape, guint n_starts)
{
  return (guint)shape->size * (shape->grid ? 1 : n_starts);
}

/* Memory of each block for the values of terms. */
static gboolean
reserve_scalars (NdtCudaBackend *cuda, NdtCudaJob *job, const NdtCudaShape *shape, guint n_starts,
    GError **error)
{
  const gsize n_blocks = count_blocks (shape, n_starts);
  if (!job->terms)
    return TRUE;
  if (!ndt_cuda_device_reserve (
          &cuda->memory, &cuda->scalars, n_blocks * cuda->n_scalars * sizeof (double), error))
    return FALSE;
  job->scalars = cuda->scalars.data;
  return TRUE;
}

/* Whether the kernel reads the scan in host memory: where one block reads each point, once.
 * Otherwise it is copied to the device. */
static gboolean
place_scan (NdtCudaBackend *cuda, NdtCudaScan *scan, const NdtCudaShape *shape, guint n_readers,
    GError **error)
{
  if (n_readers == 1 && !scan->thinned) {
    const guint32 lanes = choose_lanes (cuda, scan);
    if (shape->n_slots[lanes / 2] >= ndt_cuda_align_slots (shape, lanes, scan->n_points))
      return TRUE;
  }
  return ndt_cuda_scan_upload (scan, &cuda->memory, cuda->stream, error);
}

static gboolean
launch (NdtCudaBackend *cuda, NdtCudaJob *job, const NdtCudaShape *shape, GError **error)
{
  if (!ndt_cuda_host_reserve (&cuda->memory, &cuda->results,
          MAX (job->n_starts, NDT_MAX_SCANS) * sizeof (NdtCudaResult), error))
    return FALSE;
  job->results = cuda->results.data;
  job->ticket = cuda->ticket;
  const guint n_blocks = count_blocks (shape, job->n_starts);
  ndt_cuda_tell (NDT_CUDA_MOMENT_BEFORE, n_blocks);
  const cudaError_t status = ndt_cuda_inject_failure ("launch")
                                 ? cudaErrorLaunchFailure
                                 : ndt_cuda_align_launch (job, shape, cuda->stream);
  if (!ndt_cuda_check_launch (&cuda->memory, status, "launch of an alignment", error))
    return FALSE;
  if (cuda->has_queue) {
    (void)cudaStreamQuery (cuda->stream);
    (void)cudaGetLastError (); /* clears cudaErrorNotReady */
  }
  ndt_cuda_count_launch (&cuda->memory, 1);
  ndt_cuda_tell (NDT_CUDA_MOMENT_LAUNCHED, n_blocks);
  return TRUE;
}

static gboolean
check_cancelled (NdtCudaBackend *cuda, guint first, guint n, GError **error)
{
  const NdtCudaResult *results = cuda->results.data;
  gboolean cancelled = g_atomic_int_get (&cuda->cancelled) != 0;
  for (guint i = first; i < first + n; i++)
    cancelled = cancelled || results[i].stop == NDT_CUDA_STOP_CANCELLED;
  if (cancelled)
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_CANCELLED, "Cancelled");
  return !cancelled;
}

/* Starts of one launch. In the background their clusters of at least four blocks have no more than
 * the share; single passes, which take some µs, fill the device a few times over. */
static guint
most_starts (const NdtCudaBackend *cuda, const NdtCudaJob *job)
{
  if (!cuda->is_background)
    return NDT_CUDA_MAX_STARTS;
  const guint n = MAX (ndt_cuda_share_get (cuda, 1) / 4, 1);
  return job->evaluate ? NDT_CUDA_BACKGROUND_PASSES * n : n;
}

static gboolean
launch_and_wait (NdtCudaBackend *cuda, NdtCudaJob *job, const NdtCudaShape *shape, GError **error)
{
  gboolean missed;
  /* Passes have more blocks than that, of some µs each. */
  ndt_cuda_share_begin (
      cuda, job->evaluate ? ndt_cuda_share_get (cuda, 1) : count_blocks (shape, job->n_starts));
  const gboolean ok = launch (cuda, job, shape, error) &&
                      wait (cuda, cuda->ticket, job->n_starts == 1 ? 0 : -1, &missed, error);
  ndt_cuda_share_end (cuda);
  if (ok)
    ndt_cuda_tell (NDT_CUDA_MOMENT_DONE, count_blocks (shape, job->n_starts));
  return ok;
}

/* Runs the job for the first of the starts; their results are in cuda->results. Returns how many, 0
 * for an error. */
static guint
run (NdtCudaBackend *cuda, NdtCudaScan *scan, NdtCudaJob *job, const NdtStart *starts,
    guint n_starts, GError **error)
{
  n_starts = MIN (n_starts, most_starts (cuda, job));
  const NdtCudaShape shape =
      choose_shape (cuda, scan, n_starts, ndt_cuda_share_get (cuda, 2), needs_methods (job));
  if (!ndt_cuda_scan_ready (scan, 0, &cuda->thinner, &cuda->memory, cuda->stream, error))
    return 0;
  if (shape.grid)
    n_starts = MIN (n_starts, NDT_CUDA_MAX_IN_TURN);
  if (!place_scan (cuda, scan, &shape, n_starts, error))
    return 0;
  if (!reserve_scalars (cuda, job, &shape, n_starts, error))
    return 0;
  ndt_cuda_scan_get_source (scan, &job->source);
  job->n_starts = n_starts;
  if (n_starts == 1) {
    job->starts = NULL;
    job->start = starts[0];
  } else {
    const gsize size = n_starts * sizeof (NdtStart);
    if (!ndt_cuda_host_reserve (&cuda->memory, &cuda->starts, size, error))
      return 0;
    memcpy (cuda->starts.data, starts, size);
    job->starts = cuda->starts.data;
    ndt_cuda_count_upload (&cuda->memory, size);
  }
  cuda->ticket++;
  job->words = n_starts == 1 ? ((NdtCudaSignals *)cuda->signals.data)->words : NULL;
  if (!launch_and_wait (cuda, job, &shape, error))
    return 0;
  ndt_cuda_count_download (&cuda->memory, n_starts * sizeof (NdtCudaResult));
  return check_cancelled (cuda, 0, n_starts, error) ? n_starts : 0;
}

static void
read_sums (const NdtCudaResult *result, NdtSums *sums)
{
  const double *v = result->values;
  sums->score = v[0];
  memcpy (sums->gradient, v + 1, sizeof (sums->gradient));
  memcpy (sums->hessian, v + 7, sizeof (sums->hessian));
  sums->nvtl = v[28];
  sums->n_matched = (guint64)v[29];
  sums->n_pairs = (guint64)v[30];
}

static gboolean
prepare (NdtCudaBackend *cuda, GError **error)
{
  /* Clusters that nobody asked for may still read the map. */
  if (!ndt_cuda_enter (cuda, error) || !ndt_cuda_spread_end (cuda, NULL, error))
    return FALSE;
  /* Those of the scan before are asked for after this one has begun, and are of the map that it was
   * aligned with. A map that is set from here on is the next alignment's. */
  const gboolean changes = ndt_cuda_maps_is_pending (&cuda->maps);
  if (changes && !ndt_cuda_spread_finish (cuda, &cuda->sequence.params, error))
    return FALSE;
  if (g_atomic_int_get (&cuda->cancelled)) {
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_CANCELLED, "Cancelled");
    return FALSE;
  }
  if (!ndt_cuda_maps_take (&cuda->maps, changes)) {
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_NO_MAP, "No map is set");
    return FALSE;
  }
  __atomic_store_n (&cuda->began_at, g_get_monotonic_time (), __ATOMIC_RELAXED);
  cuda->thinner.alone = ndt_cuda_share_get (cuda, 1) == (guint)cuda->limits.n_processors;
  return TRUE;
}

static gboolean
begin (NdtCudaBackend *cuda, GError **error)
{
  ndt_cuda_align_stop (&cuda->parent);
  return prepare (cuda, error);
}

static void
read_result (NdtCudaBackend *cuda, const NdtAlignParams *params, guint index, NdtAlignResult *to)
{
  const NdtCudaResult *from = (const NdtCudaResult *)cuda->results.data + index;
  memcpy (to->pose.position, from->position, sizeof (from->position));
  memcpy (to->pose.orientation, from->orientation, sizeof (from->orientation));
  read_sums (from, &to->sums);
  to->objective = from->objective;
  to->max_term = -ndt_gauss (params->outlier_ratio, ndt_cuda_maps_get_resolution (&cuda->maps)).d1;
  to->n_points = from->n_points;
  to->iterations = from->iterations;
  to->evaluations = from->evaluations;
  to->oscillation = from->oscillation;
  to->stop = (NdtStop)from->stop;
  to->n_clusters = 0;
}

static void
count_alignments (NdtCudaBackend *cuda, const NdtAlignResult *results, guint n)
{
  guint64 evaluations = 0;
  for (guint i = 0; i < n; i++)
    evaluations += results[i].evaluations;
  g_mutex_lock (&cuda->memory.lock);
  cuda->memory.counters.alignments += n;
  cuda->memory.counters.evaluations += evaluations;
  g_mutex_unlock (&cuda->memory.lock);
}

gboolean
ndt_cuda_align (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    const NdtStart *starts, guint n_starts, NdtAlignResult *results, GError **error)
{
  NdtCudaBackend *cuda = (NdtCudaBackend *)backend;
  if (!begin (cuda, error))
    return FALSE;
  gboolean has_extra = FALSE;
  for (guint i = 0; i < n_starts; i++)
    has_extra = has_extra || starts[i].regularization.extra.weight > 0;
  for (guint first = 0, n; first < n_starts; first += n) {
    NdtCudaJob job;
    memset (&job, 0, sizeof (job));
    fill_job (cuda, &job, params);
    if (has_extra && !add_terms (cuda, &job, params, error))
      return FALSE;
    n = run (cuda, &cuda->scans[slot], &job, starts + first, n_starts - first, error);
    if (n == 0)
      return FALSE;
    for (guint i = 0; i < n; i++)
      read_result (cuda, params, i, &results[first + i]);
    count_alignments (cuda, results + first, n);
  }
  return TRUE;
}

gboolean
ndt_cuda_evaluate (NdtBackend *backend, guint slot, const NdtAlignParams *params, guint level,
    NdtKind kind, const NdtPose *poses, guint n_poses, NdtSums *sums, GError **error)
{
  NdtCudaBackend *cuda = (NdtCudaBackend *)backend;
  NdtCudaJob job;
  gboolean ok = TRUE;
  if (!begin (cuda, error))
    return FALSE;
  memset (&job, 0, sizeof (job));
  fill_job (cuda, &job, params);
  if (level >= (guint)job.n_levels) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT, "The map has no level %u", level);
    return FALSE;
  }
  if (n_poses == 0)
    return TRUE;
  job.evaluate = 1;
  job.evaluate_level = (gint32)level;
  job.evaluate_kind = (gint32)kind;
  g_autofree NdtStart *starts = g_new0 (NdtStart, n_poses);
  for (guint i = 0; i < n_poses; i++)
    starts[i].guess = poses[i];
  for (guint first = 0, n; first < n_poses && ok; first += n) {
    n = run (cuda, &cuda->scans[slot], &job, starts + first, n_poses - first, error);
    ok = n > 0;
    for (guint i = 0; i < n; i++)
      read_sums ((const NdtCudaResult *)cuda->results.data + i, &sums[first + i]);
  }
  if (ok) {
    g_mutex_lock (&cuda->memory.lock);
    cuda->memory.counters.evaluations += n_poses;
    g_mutex_unlock (&cuda->memory.lock);
  }
  return ok;
}

/* ---- One scan after the other ---- */

static void
send (NdtCudaBackend *cuda, const NdtStart *start, guint32 command)
{
  NdtCudaSignals *signals = cuda->signals.data;
  guint32 words[NDT_CUDA_MESSAGE];
  G_STATIC_ASSERT (NDT_CUDA_MESSAGE <= 32);
  memcpy (words, start, 4 * (NDT_CUDA_MESSAGE - 1));
  words[NDT_CUDA_MESSAGE - 1] = command;
  for (guint i = 0; i < NDT_CUDA_MESSAGE; i++)
    __atomic_store_n (
        &signals->mailbox[i], (guint64)cuda->ticket << 32 | words[i], __ATOMIC_RELAXED);
}

/* Waits for all blocks of a sequence, which may still read the list of scans. */
static gboolean
wait_for_end (NdtCudaBackend *cuda, GError **error)
{
  ndt_cuda_count_synchronization (&cuda->memory);
  return ndt_cuda_check (
      &cuda->memory, cudaStreamSynchronize (cuda->stream), "the end of a sequence", error);
}

void
ndt_cuda_align_stop (NdtBackend *backend)
{
  NdtCudaBackend *cuda = (NdtCudaBackend *)backend;
  NdtCudaSequence *q = &cuda->sequence;
  if (!q->is_resident)
    return;
  q->is_resident = FALSE;
  if (q->slot == q->last)
    return; /* the sequence had no other scan */
  cuda->ticket++;
  send (cuda, &q->start, NDT_CUDA_QUIT);
  if (ndt_cuda_enter (cuda, NULL))
    wait_for_end (cuda, NULL);
}

/* Launches for the alignment in flight, and for those of up to @n_following scans after it. */
static gboolean
launch_sequence (NdtCudaBackend *cuda, guint n_following, GError **error)
{
  NdtCudaSequence *q = &cuda->sequence;
  NdtCudaState *state = cuda->state.data;
  NdtCudaSignals *signals = cuda->signals.data;
  /* Backends that align one by one leave the device idle in between, so that two of them share the
   * same part. */
  NdtCudaScan *scan = &cuda->scans[q->slot];
  const gboolean alone = n_following == 0 || scan->thinned;
  guint share = ndt_cuda_share_get (cuda, alone ? 2 : 1);
  /* The clusters of the scan before are summed beside a sequence: with the few multiprocessors that
   * its usual grid leaves they would take longer than the alignment. */
  if (!alone && q->params.clusters)
    share = MAX (share / 2, 1);
  NdtCudaJob job;
  memset (&job, 0, sizeof (job));
  fill_job (cuda, &job, &q->params);
  if (q->start.regularization.extra.weight > 0 && !add_terms (cuda, &job, &q->params, error))
    return FALSE;
  NdtCudaShape shape = choose_shape (cuda, scan, 1, share, needs_methods (&job));
  if (!ndt_cuda_scan_ready (scan, q->slot, &cuda->thinner, &cuda->memory, cuda->stream, error))
    return FALSE;
  /* A kernel of clusters runs no sequence. Nor are raw scans one: each is thinned between two
   * alignments, of the multiprocessors of both. */
  q->first = q->last = q->slot;
  /* Clusters are summed beside a sequence, on what multiprocessors it leaves. */
  const gboolean leaves_some = !q->params.clusters || shape.size < cuda->limits.n_processors;
  while (shape.grid && !alone && leaves_some && q->last < q->slot + n_following &&
         q->last + 1 < NDT_MAX_SCANS && !cuda->scans[q->last + 1].thinned) {
    const NdtCudaShape other = choose_shape (cuda, &cuda->scans[q->last + 1], 1, share, FALSE);
    shape.lanes |= other.lanes;
    for (guint k = 0; k < 3; k++)
      shape.n_slots[k] = MAX (shape.n_slots[k], other.n_slots[k]);
    q->last++;
  }
  for (guint slot = q->first; slot <= q->last; slot++) {
    if (!place_scan (cuda, &cuda->scans[slot], &shape, 1, error))
      return FALSE;
    ndt_cuda_scan_get_source (&cuda->scans[slot], &signals->sources[slot - q->first]);
  }
  job.source = signals->sources[0];
  job.start = q->start;
  if (!reserve_scalars (cuda, &job, &shape, 1, error))
    return FALSE;
  job.n_starts = q->last - q->first + 1;
  if (job.n_starts > 1) {
    job.sources = signals->sources;
    job.mailbox = signals->mailbox;
    job.message = state->message;
    job.ended = &signals->ended;
    job.patience = NDT_CUDA_PATIENCE;
  }
  job.words = signals->words;
  q->ticket = cuda->ticket;
  q->map_number = ndt_cuda_maps_get_number (&cuda->maps);
  if (q->params.clusters && !ndt_cuda_spread_mark (cuda, error))
    return FALSE;
  q->is_resident = launch (cuda, &job, &shape, error);
  return q->is_resident;
}

/* While a scan is aligned the next one is thinned behind it and the one after that copied: copies
 * have an engine of their own. What fails here fails again at the scan's turn. */
static void
prefetch (NdtCudaBackend *cuda, guint slot, guint n_following)
{
  NdtCudaThinner *thinner = &cuda->thinner;
  if (n_following > 0 && slot + 1 < NDT_MAX_SCANS) {
    NdtCudaScan *next = &cuda->scans[slot + 1];
    if (!ndt_cuda_scan_copy (next, slot + 1, thinner, &cuda->memory, NULL) ||
        !ndt_cuda_scan_ready (next, slot + 1, thinner, &cuda->memory, cuda->stream, NULL))
      return;
  }
  if (n_following > 1 && slot + 2 < NDT_MAX_SCANS)
    ndt_cuda_scan_copy (&cuda->scans[slot + 2], slot + 2, thinner, &cuda->memory, NULL);
}

gboolean
ndt_cuda_align_begin (NdtBackend *backend, guint slot, const NdtAlignParams *params,
    const NdtStart *start, guint n_following, GError **error)
{
  NdtCudaBackend *cuda = (NdtCudaBackend *)backend;
  NdtCudaSequence *q = &cuda->sequence;
  gboolean ok;
  if (!prepare (cuda, error) ||
      (params->clusters && !ndt_cuda_spread_reserve (cuda, slot, error))) {
    ndt_cuda_align_stop (backend);
    return FALSE;
  }
  /* A message has no room for a factor, nor for extra terms' values: such a start has a launch of
   * its own. */
  const gboolean alone =
      start->regularization.factor.is_set != 0 || start->regularization.extra.weight > 0;
  const gboolean goes_on = !alone && q->is_resident && slot == q->slot + 1 && slot <= q->last &&
                           ndt_align_params_equal (&q->params, params) &&
                           q->map_number == ndt_cuda_maps_get_number (&cuda->maps);
  if (!goes_on)
    ndt_cuda_align_stop (backend);
  if (!ndt_align_params_equal (&q->params, params))
    cuda->spread.is_due = FALSE;
  q->slot = slot;
  q->start = *start;
  q->params = *params;
  q->is_last = n_following == 0;
  cuda->ticket++;
  if (goes_on) {
    send (cuda, start, NDT_CUDA_GO);
    ok = TRUE;
  } else {
    ok = launch_sequence (cuda, alone ? 0 : n_following, error);
  }
  /* Behind the launch, so that they take no time of the alignment's. */
  if (ok && cuda->spread.is_due)
    ok = ndt_cuda_spread_begin (cuda, cuda->spread.due_slot, params, &cuda->spread.due, error);
  cuda->spread.is_due = FALSE;
  ok = ok && (!params->clusters || ndt_cuda_spread_order (cuda, error));
  if (ok && q->slot == q->last)
    prefetch (cuda, slot, n_following);
  ndt_cuda_count_upload (&cuda->memory, sizeof (*start));
  return ok;
}

gboolean
ndt_cuda_align_end (NdtBackend *backend, NdtAlignResult *result, GError **error)
{
  NdtCudaBackend *cuda = (NdtCudaBackend *)backend;
  NdtCudaSequence *q = &cuda->sequence;
  gboolean missed, ok = ndt_cuda_enter (cuda, error) &&
                        wait (cuda, q->ticket, (gint)(q->slot - q->first), &missed, error);
  if (ok && missed) {
    /* The kernel had ended when the start came. The next launch has new tickets, since this one has
     * ended its blocks under the last ticket. */
    cuda->ticket++;
    ok = wait_for_end (cuda, error) && launch_sequence (cuda, q->last - q->slot, error) &&
         wait (cuda, q->ticket, 0, &missed, error);
  }
  /* A cancelled scan is the caller's again, too. */
  ok = ok && ndt_cuda_spread_wait_read (cuda, error) &&
       check_cancelled (cuda, q->slot - q->first, 1, error);
  if (!ok) {
    ndt_cuda_align_stop (backend);
    return FALSE;
  }
  ndt_cuda_count_download (&cuda->memory, sizeof (NdtCudaResult));
  read_result (cuda, &q->params, q->slot - q->first, result);
  count_alignments (cuda, result, 1);
  if (!q->params.clusters)
    return TRUE;
  if (q->is_last)
    return ndt_cuda_spread_begin (cuda, q->slot, &q->params, result, error);
  /* Of a backlog the next alignment comes first. */
  cuda->spread.is_due = TRUE;
  cuda->spread.due_slot = q->slot;
  cuda->spread.due = *result;
  return TRUE;
}
