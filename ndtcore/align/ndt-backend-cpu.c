/* SPDX-License-Identifier: MIT */
#include "ndt-backend.h"

#include <stdlib.h>
#include <string.h>

#include "ndtcore/base/ndt-tuning.h"
#include "ndtcore/math/ndt-formulas.h"
#include "ndt-kernel.h"
#include "ndtcore/math/ndt-optimizer.h"
#include "ndt-scan.h"
#include "ndtcore/base/ndt-memory.h"
#include "ndtcore/base/ndt-workers.h"

/* Working memory of an alignment, for one scan at a time. */
typedef struct {
  NdtSums *sums;
  NdtChunkCache *caches;
  guint n_chunks;
  guint slot; /* slot whose points the caches belong to; NDT_N_SLOTS: none */
} Chunks;

typedef struct {
  NdtBackend parent;
  NdtWorkers *workers;
  NdtKernel kernel;
  NdtThinner *thinner;
  NdtScan scans[NDT_N_SLOTS];
  /* One set of caches for scans and one for samples, since a search alternates between the two. As
   * caches are large, there are as many as the largest thinned scan, or sample, has chunks. */
  Chunks chunks[2];
  /* One set for each thread, where several starts of a small scan are aligned in parallel. */
  Chunks *sides;
  guint n_sides;
  GMutex sides_lock; /* guards free_sides, n_free_sides */
  Chunks **free_sides;
  guint n_free_sides;

  GMutex lock; /* guards map, map_serial, counters */
  NdtVoxelMap *map;
  guint64 map_serial;
  NdtBackendCounters counters;
  gint cancelled; /* atomic */
} CpuBackend;

/* A reference to the map for one call. */
typedef struct {
  NdtVoxelMap *map;
  guint64 serial;
} MapUse;

static gboolean
use_map (CpuBackend *cpu, MapUse *use, GError **error)
{
  g_mutex_lock (&cpu->lock);
  use->map = cpu->map ? ndt_voxel_map_ref (cpu->map) : NULL;
  use->serial = cpu->map_serial;
  g_mutex_unlock (&cpu->lock);
  if (!use->map)
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_NO_MAP, "No map is set");
  return use->map != NULL;
}

static gboolean
cpu_set_map (NdtBackend *backend, NdtVoxelMap *map, GError **error)
{
  CpuBackend *cpu = (CpuBackend *)backend;
  ndt_voxel_map_ref (map);
  g_mutex_lock (&cpu->lock);
  NdtVoxelMap *old = cpu->map;
  cpu->map = map;
  cpu->map_serial++;
  g_mutex_unlock (&cpu->lock);
  if (old)
    ndt_voxel_map_unref (old);
  return TRUE;
}

static guint
count_chunks (const NdtScan *scan)
{
  return (scan->n + NDT_CHUNK - 1) / NDT_CHUNK;
}

static gsize
bytes_of_chunks (const Chunks *chunks)
{
  return chunks->n_chunks * (sizeof (NdtSums) + sizeof (NdtChunkCache));
}

static Chunks *
get_chunks (CpuBackend *cpu, guint slot)
{
  return &cpu->chunks[slot == NDT_SEARCH_SLOT];
}

static void
clear_chunks (Chunks *chunks)
{
  g_clear_pointer (&chunks->caches, free);
  g_clear_pointer (&chunks->sums, g_free);
  chunks->n_chunks = 0;
  chunks->slot = NDT_N_SLOTS;
}

/* Allocates the working memory for a scan. */
static gboolean
reserve_chunks (Chunks *chunks, guint n_chunks, guint64 *allocations)
{
  if (n_chunks <= chunks->n_chunks)
    return TRUE;
  clear_chunks (chunks);
  chunks->n_chunks = n_chunks + n_chunks / 4;
  chunks->caches =
      aligned_alloc (_Alignof(NdtChunkCache), sizeof (NdtChunkCache) * chunks->n_chunks);
  chunks->sums = g_try_new (NdtSums, chunks->n_chunks);
  *allocations += 2;
  if (chunks->caches && chunks->sums)
    return TRUE;
  clear_chunks (chunks);
  return FALSE;
}

/* Allocates for all scans that are set and share @chunks, after that failed for one of them. */
static void
reserve_again (CpuBackend *cpu, Chunks *chunks, guint64 *allocations)
{
  guint most = 0;
  for (guint i = 0; i < NDT_N_SLOTS; i++)
    if (get_chunks (cpu, i) == chunks)
      most = MAX (most, count_chunks (&cpu->scans[i]));
  if (reserve_chunks (chunks, most, allocations))
    return;
  for (guint i = 0; i < NDT_N_SLOTS; i++)
    if (get_chunks (cpu, i) == chunks)
      cpu->scans[i].n = 0;
}

/* Assigns the caches to the scan. */
static Chunks *
use_chunks (CpuBackend *cpu, guint slot, Chunks *chunks)
{
  if (chunks->slot != slot)
    for (guint i = 0; i < count_chunks (&cpu->scans[slot]); i++)
      chunks->caches[i].tag = 0;
  chunks->slot = slot;
  return chunks;
}

static gboolean
cpu_set_scan (NdtBackend *backend, guint slot, const NdtCloudView *points,
    const NdtScanFilter *filter, GError **error)
{
  CpuBackend *cpu = (CpuBackend *)backend;
  guint64 allocations = 0;
  double cell = 1;
  g_mutex_lock (&cpu->lock);
  if (cpu->map)
    cell = ndt_voxel_map_get_params (cpu->map)->resolution;
  g_mutex_unlock (&cpu->lock);
  Chunks *chunks = get_chunks (cpu, slot);
  if (chunks->slot == slot)
    chunks->slot = NDT_N_SLOTS;
  for (guint i = 0; i < cpu->n_sides; i++)
    if (cpu->sides[i].slot == slot)
      cpu->sides[i].slot = NDT_N_SLOTS;
  NdtScan *scan = &cpu->scans[slot];
  ndt_workers_enter (cpu->workers);
  gboolean ok = ndt_scan_set (scan, cpu->thinner, points, filter, cell, &allocations);
  if (ok && !reserve_chunks (chunks, count_chunks (scan), &allocations)) {
    scan->n = 0;
    reserve_again (cpu, chunks, &allocations);
    ok = FALSE;
  }
  ndt_workers_leave (cpu->workers);
  g_mutex_lock (&cpu->lock);
  cpu->counters.scans += ok ? 1 : 0;
  cpu->counters.allocations += allocations;
  cpu->counters.host_bytes = bytes_of_chunks (&cpu->chunks[0]) + bytes_of_chunks (&cpu->chunks[1]);
  for (guint i = 0; i < cpu->n_sides; i++)
    cpu->counters.host_bytes += bytes_of_chunks (&cpu->sides[i]);
  cpu->counters.host_bytes += ndt_thinner_get_bytes (cpu->thinner);
  for (guint i = 0; i < NDT_N_SLOTS; i++)
    cpu->counters.host_bytes += ndt_scan_get_bytes (&cpu->scans[i]);
  g_mutex_unlock (&cpu->lock);
  return ok || ndt_refuse_memory (error, "a scan of %" G_GSIZE_FORMAT " points", points->n_points);
}

static gboolean
cpu_get_scan (
    NdtBackend *backend, guint slot, float *xyz, guint max_points, guint *n_points, GError **error)
{
  const NdtScan *scan = &((CpuBackend *)backend)->scans[slot];
  *n_points = scan->n;
  ndt_scan_get (scan, xyz, max_points);
  return TRUE;
}

typedef struct {
  NdtKernel kernel;
  const NdtScan *scan;
  const Chunks *chunks;
  NdtKernelArgs args;
} Evaluation;

static void
evaluate_chunk (guint chunk, gpointer data)
{
  Evaluation *e = data;
  const guint first = chunk * NDT_CHUNK;
  e->kernel (&e->args, e->scan->x + first, e->scan->y + first, e->scan->z + first,
      MIN (NDT_CHUNK, e->scan->n - first), &e->chunks->caches[chunk], &e->chunks->sums[chunk]);
}

/* Σ g gᵀ over chunks, whose points are neighbours (ndt-scan.c). */
static void
add_spread (const NdtSums *chunks, guint n_chunks, NdtAlignResult *result)
{
  memset (result->spread, 0, sizeof (result->spread));
  result->n_clusters = 0;
  for (guint c = 0; c < n_chunks; c++) {
    const double *g = chunks[c].gradient;
    guint at = 0;
    result->n_clusters += chunks[c].n_pairs > 0;
    for (guint i = 0; i < 6; i++)
      for (guint j = i; j < 6; j++)
        result->spread[at++] += g[i] * g[j];
  }
}

/* Evaluates the objective at a pose; @anchor: position that float coordinates are relative to. */
static void
evaluate (CpuBackend *cpu, guint slot, Chunks *chunks, const MapUse *use,
    const NdtAlignParams *params, guint level_index, NdtKind kind, const NdtPose *pose,
    const double anchor[3], NdtSums *sums)
{
  const NdtVoxelLevel *level = ndt_voxel_map_get_level (use->map, level_index);
  const NdtScan *scan = &cpu->scans[slot];
  const guint n_chunks = count_chunks (scan);
  Evaluation e = {.kernel = cpu->kernel, .scan = scan, .chunks = use_chunks (cpu, slot, chunks)};
  memset (sums, 0, sizeof (*sums));
  e.args.level = level;
  e.args.kind = kind;
  /* The approach uses cells that share a face: that is faster, and its result is right more often.
   */
  e.args.neighbours = kind == NDT_KIND_LEAST_SQUARES ? NDT_NEIGHBOURS_DIRECT7 : params->neighbours;
  /* Lists are valid for both kinds, so that the maximization reuses those of the approach. */
  e.args.faces_only =
      params->neighbours == NDT_NEIGHBOURS_DIRECT7 || params->neighbours == NDT_NEIGHBOURS_DIRECT1;
  e.args.tag = use->serial << 8 | level_index << 4 | (guint)e.args.faces_only << 1 | 1;
  e.args.resolution = (float)level->resolution;
  e.args.inverse_resolution = (float)(1 / level->resolution);
  const NdtGauss gauss = ndt_gauss (params->outlier_ratio, level->resolution);
  e.args.d1 = (float)gauss.d1;
  e.args.d2 = (float)gauss.d2;
  if (!ndt_transform_f_init (&e.args.transform, pose, anchor, level->resolution, level->origin))
    return;

  if (n_chunks < NDT_PARALLEL_CHUNKS)
    for (guint i = 0; i < n_chunks; i++)
      evaluate_chunk (i, &e);
  else
    ndt_workers_run (cpu->workers, n_chunks, evaluate_chunk, &e);
  for (guint i = 0; i < n_chunks; i++) {
    const NdtSums *part = &e.chunks->sums[i];
    sums->score += part->score;
    for (guint k = 0; k < 6; k++)
      sums->gradient[k] += part->gradient[k];
    for (guint k = 0; k < 21; k++)
      sums->hessian[k] += part->hessian[k];
    sums->nvtl += part->nvtl;
    sums->n_matched += part->n_matched;
    sums->n_pairs += part->n_pairs;
  }
}

/* A function of its own: the memory on its stack is large. */
static G_GNUC_NO_INLINE void
add_terms (const NdtExtraTerms *terms, const NdtExtraValues *values, const NdtPose *trial,
    NdtOptimizerSums *sums)
{
  double scalars[NDT_EXTRA_SCALARS];
  ndt_extra_terms_add (terms, values, trial->position, trial->orientation, scalars, &sums->score,
      sums->gradient, sums->hessian);
}

/* FALSE: cancelled. */
static gboolean
align_one (CpuBackend *cpu, guint slot, Chunks *chunks, const MapUse *use,
    const NdtAlignParams *params, const NdtStart *start, NdtAlignResult *result)
{
  const NdtOptimizerParams optimizer_params = {.translation_epsilon = params->translation_epsilon,
      .rotation_epsilon = params->rotation_epsilon,
      .max_translation_step = params->max_translation_step,
      .max_rotation_step = params->max_rotation_step,
      .max_iterations = (int32_t)params->max_iterations,
      .max_evaluations = (int32_t)params->max_evaluations,
      .n_levels = (int32_t)ndt_voxel_map_get_n_levels (use->map),
      .resolution = ndt_voxel_map_get_params (use->map)->resolution,
      .method = (int32_t)params->method};
  NdtOptimizer o;
  int go_on, accepted;
  memset (result, 0, sizeof (*result));
  ndt_optimizer_init (&o, &optimizer_params, start->guess.orientation, start->approach);
  do {
    NdtPose trial;
    NdtSums sums;
    NdtOptimizerSums step_sums;
    for (guint k = 0; k < 3; k++)
      trial.position[k] = start->guess.position[k] + o.t[k];
    memcpy (trial.orientation, o.q, sizeof (o.q));
    evaluate (cpu, slot, chunks, use, params, (guint)o.level, (NdtKind)o.kind, &trial,
        start->guess.position, &sums);
    step_sums.score = sums.score;
    memcpy (step_sums.gradient, sums.gradient, sizeof (sums.gradient));
    memcpy (step_sums.hessian, sums.hessian, sizeof (sums.hessian));
    step_sums.n_pairs = (uint32_t)sums.n_pairs;
    if (params->terms && start->regularization.extra.weight > 0)
      add_terms (params->terms, &start->regularization.extra, &trial, &step_sums);
    ndt_optimizer_regularize (&o, start, (double)sums.n_pairs, &step_sums);
    go_on = ndt_optimizer_update (&o, &optimizer_params, &step_sums, &accepted);
    if (accepted) {
      result->sums = sums;
      add_spread (chunks->sums, count_chunks (&cpu->scans[slot]), result);
    }
  } while (go_on && !g_atomic_int_get (&cpu->cancelled));

  for (guint k = 0; k < 3; k++)
    result->pose.position[k] = start->guess.position[k] + o.best_t[k];
  memcpy (result->pose.orientation, o.best_q, sizeof (o.best_q));
  result->objective = o.score;
  result->max_term = -ndt_gauss (params->outlier_ratio, optimizer_params.resolution).d1;
  result->n_points = cpu->scans[slot].n;
  result->iterations = (guint32)(o.iterations + o.approach_steps);
  result->evaluations = (guint32)o.evaluations;
  result->oscillation = (guint32)o.oscillation;
  result->stop = (NdtStop)o.stop;
  return !go_on && !g_atomic_int_get (&cpu->cancelled);
}

static gboolean
refuse_cancelled (GError **error)
{
  g_set_error_literal (error, NDT_ERROR, NDT_ERROR_CANCELLED, "Cancelled");
  return FALSE;
}

/* ---- Several starts ---- */

/* @starts: aligned into @results; NULL: @poses are evaluated into @sums. */
typedef struct {
  CpuBackend *cpu;
  guint slot;
  const MapUse *use;
  const NdtAlignParams *params;
  const NdtStart *starts;
  NdtAlignResult *results;
  guint level;
  NdtKind kind;
  const NdtPose *poses;
  NdtSums *sums;
  gint n_done; /* atomic; side by side */
} Job;

/* FALSE: cancelled. */
static gboolean
run_one (const Job *job, guint i, Chunks *chunks)
{
  if (job->starts)
    return align_one (
        job->cpu, job->slot, chunks, job->use, job->params, &job->starts[i], &job->results[i]);
  evaluate (job->cpu, job->slot, chunks, job->use, job->params, job->level, job->kind,
      &job->poses[i], job->poses[i].position, &job->sums[i]);
  return !g_atomic_int_get (&job->cpu->cancelled);
}

static void
run_beside (guint i, gpointer data)
{
  Job *job = data;
  CpuBackend *cpu = job->cpu;
  if (g_atomic_int_get (&cpu->cancelled))
    return;
  g_mutex_lock (&cpu->sides_lock);
  Chunks *chunks = cpu->free_sides[--cpu->n_free_sides];
  g_mutex_unlock (&cpu->sides_lock);
  if (run_one (job, i, chunks))
    g_atomic_int_inc (&job->n_done);
  g_mutex_lock (&cpu->sides_lock);
  cpu->free_sides[cpu->n_free_sides++] = chunks;
  g_mutex_unlock (&cpu->sides_lock);
}

/* Of a large scan all threads compute one start; of a small one each computes a start, if there is
 * the memory. */
static gboolean
can_run_beside (CpuBackend *cpu, guint slot, guint n)
{
  const guint n_chunks = count_chunks (&cpu->scans[slot]);
  guint64 allocations = 0;
  if (n < 2 || n_chunks >= NDT_PARALLEL_CHUNKS || ndt_workers_get_share (cpu->workers) < 2)
    return FALSE;
  if (!cpu->sides) {
    cpu->n_sides = ndt_workers_get_n_threads (cpu->workers);
    cpu->sides = g_new0 (Chunks, cpu->n_sides);
    cpu->free_sides = g_new (Chunks *, cpu->n_sides);
    for (guint i = 0; i < cpu->n_sides; i++) {
      cpu->sides[i].slot = NDT_N_SLOTS;
      cpu->free_sides[cpu->n_free_sides++] = &cpu->sides[i];
    }
  }
  gboolean ok = TRUE;
  for (guint i = 0; i < cpu->n_sides && ok; i++)
    ok = reserve_chunks (&cpu->sides[i], n_chunks, &allocations);
  g_mutex_lock (&cpu->lock);
  cpu->counters.allocations += allocations;
  g_mutex_unlock (&cpu->lock);
  return ok;
}

/* Returns how many starts were completed, fewer than all where it was cancelled. */
static guint
run_job (Job *job, guint n)
{
  CpuBackend *cpu = job->cpu;
  guint n_done = 0;
  ndt_workers_enter (cpu->workers);
  if (can_run_beside (cpu, job->slot, n)) {
    ndt_workers_run (cpu->workers, n, run_beside, job);
    n_done = (guint)g_atomic_int_get (&job->n_done) == n ? n : 0;
  } else {
    while (n_done < n && run_one (job, n_done, get_chunks (cpu, job->slot)))
      n_done++;
  }
  ndt_workers_leave (cpu->workers);
  return n_done;
}

static gboolean
cpu_align (NdtBackend *backend, guint slot, const NdtAlignParams *params, const NdtStart *starts,
    guint n_starts, NdtAlignResult *results, GError **error)
{
  CpuBackend *cpu = (CpuBackend *)backend;
  MapUse use;
  guint64 evaluations = 0;
  if (!use_map (cpu, &use, error))
    return FALSE;
  Job job = {.cpu = cpu,
      .slot = slot,
      .use = &use,
      .params = params,
      .starts = starts,
      .results = results};
  const guint n_done = run_job (&job, n_starts);
  for (guint i = 0; i < n_done; i++)
    evaluations += results[i].evaluations;
  ndt_voxel_map_unref (use.map);
  g_mutex_lock (&cpu->lock);
  cpu->counters.alignments += n_done;
  cpu->counters.evaluations += evaluations;
  g_mutex_unlock (&cpu->lock);
  return n_done == n_starts || refuse_cancelled (error);
}

static gboolean
cpu_evaluate (NdtBackend *backend, guint slot, const NdtAlignParams *params, guint level,
    NdtKind kind, const NdtPose *poses, guint n_poses, NdtSums *sums, GError **error)
{
  CpuBackend *cpu = (CpuBackend *)backend;
  MapUse use;
  if (!use_map (cpu, &use, error))
    return FALSE;
  if (level >= ndt_voxel_map_get_n_levels (use.map)) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT, "The map has no level %u", level);
    ndt_voxel_map_unref (use.map);
    return FALSE;
  }
  Job job = {.cpu = cpu,
      .slot = slot,
      .use = &use,
      .params = params,
      .level = level,
      .kind = kind,
      .poses = poses,
      .sums = sums};
  const guint n_done = run_job (&job, n_poses);
  ndt_voxel_map_unref (use.map);
  g_mutex_lock (&cpu->lock);
  cpu->counters.evaluations += n_done;
  g_mutex_unlock (&cpu->lock);
  return n_done == n_poses || refuse_cancelled (error);
}

static void
cpu_get_counters (NdtBackend *backend, NdtBackendCounters *counters)
{
  CpuBackend *cpu = (CpuBackend *)backend;
  g_mutex_lock (&cpu->lock);
  *counters = cpu->counters;
  g_mutex_unlock (&cpu->lock);
}

static void
cpu_cancel (NdtBackend *backend, gboolean cancelled)
{
  g_atomic_int_set (&((CpuBackend *)backend)->cancelled, cancelled);
}

static void
cpu_close (NdtBackend *backend)
{
  CpuBackend *cpu = (CpuBackend *)backend;
  ndt_thinner_free (cpu->thinner);
  ndt_workers_free (cpu->workers);
  for (guint i = 0; i < NDT_N_SLOTS; i++)
    ndt_scan_clear (&cpu->scans[i]);
  for (guint i = 0; i < G_N_ELEMENTS (cpu->chunks); i++)
    clear_chunks (&cpu->chunks[i]);
  for (guint i = 0; i < cpu->n_sides; i++)
    clear_chunks (&cpu->sides[i]);
  g_free (cpu->sides);
  g_free (cpu->free_sides);
  g_mutex_clear (&cpu->sides_lock);
  if (cpu->map)
    ndt_voxel_map_unref (cpu->map);
  g_mutex_clear (&cpu->lock);
  g_free (cpu);
}

static const NdtBackendClass cpu_class = {
    .name = "cpu",
    .set_map = cpu_set_map,
    .set_scan = cpu_set_scan,
    .get_scan = cpu_get_scan,
    .align = cpu_align,
    .evaluate = cpu_evaluate,
    .get_counters = cpu_get_counters,
    .cancel = cpu_cancel,
    .close = cpu_close,
};

NdtBackend *
ndt_backend_open_cpu (const NdtBackendConfig *config, GError **error)
{
  const gchar *kernel_name;
  if (config->n_threads > 1024) {
    g_set_error_literal (
        error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT, "threads has to be 0 to 1024");
    return NULL;
  }
  CpuBackend *cpu = g_new0 (CpuBackend, 1);
  cpu->parent.klass = &cpu_class;
  cpu->parent.log = config->log;
  cpu->parent.n_threads = config->n_threads;
  for (guint i = 0; i < G_N_ELEMENTS (cpu->chunks); i++)
    cpu->chunks[i].slot = NDT_N_SLOTS;
  cpu->workers = ndt_workers_new (config->n_threads);
  cpu->thinner = ndt_thinner_new (cpu->workers);
  cpu->kernel = ndt_kernel_choose (&kernel_name);
  g_mutex_init (&cpu->lock);
  g_mutex_init (&cpu->sides_lock);
  const guint n_threads = ndt_workers_get_n_threads (cpu->workers);
  ndt_log (config->log, n_threads < config->n_threads ? NDT_LOG_WARNING : NDT_LOG_INFO, "backend",
      "CPU backend: %s kernel, %u threads of %u asked for (0: one per processor)", kernel_name,
      n_threads, config->n_threads);
  return &cpu->parent;
}
