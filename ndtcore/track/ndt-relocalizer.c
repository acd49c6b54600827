/* SPDX-License-Identifier: MIT */
#include "ndt-relocalizer.h"

#include <math.h>
#include <string.h>

#include "ndt-fit.h"
#include "ndt-tracker.h"
#include "ndtcore/math/ndt-formulas.h"
#include "ndtcore/math/ndt-mount.h"

/* A body whose motion nothing tells is looked for so far around, metres and rad, and by so much
 * more a second. */
#define FOLLOW_STDDEV 1.0
#define FOLLOW_SPEED 5.0
#define FOLLOW_YAW 0.3
#define FOLLOW_TURN 1.0

/* What is found within this of a stream that goes on, metres, is its own place. */
#define SAME_PLACE 1.0

/* How often a scan is compensated anew at most. */
#define MAX_PASSES 2

#define SECOND 1e9

/* The worker's: where the body is by the scans so far. The first one, where nothing tells its
 * velocity, waits for the second. */
typedef struct {
  NdtRelocalizerTask task;
  NdtRelocalizerMotion *motion; /* of the relocalizer */
  NdtCourse course; /* of the scan that is looked at, where its motion is compensated here … */
  NdtCourse last;   /* … and of the one before */
  gboolean has_first;
  NdtRelocalizerScan first; /* that waits */
  guint n_scans;
  gboolean failed;
  NdtRelocation result;
  gint64
      pose_time; /* of the pose of @result: of the scan's middle where its velocity is not known */
} Chain;

typedef struct {
  NdtRelocalizerScan scan;
  guint job;
} Item;

struct _NdtRelocalizer {
  GThread *thread;
  NdtRelocalizerMotion *motion; /* the thread's, but for cancelling */
  NdtBackend *cpu;
  GMutex opening; /* held where a backend is opened beside @stream, and where that is replaced */
  NdtBackend *stream;
  GMutex lock;         /* guards what follows */
  NdtBackend *backend; /* the thread's, but for cancelling: @cpu or one on a device */
  gboolean on_device;  /* searches begin on a device … */
  gboolean is_other;   /* … which is of another stream than that of @backend */
  GError *failure;
  gboolean is_at_work; /* the thread uses @backend … */
  gboolean is_stopped; /* … which is cancelled, as the motion is */
  GCond changed;
  GQueue items;            /* of Item, that are to be looked at */
  NdtRelocalizerTask task; /* of job */
  guint job;               /* 0: none */
  guint last_job;
  guint n_added;
  guint n_done;
  NdtRelocation result;
  gboolean is_cancelled;
  gboolean quits;
};

static void
item_free (gpointer data)
{
  Item *item = data;
  ndt_relocalizer_scan_clear (&item->scan);
  g_free (item);
}

/* ---- One scan ---- */

/* Does it fit, upright? Takes its numbers. */
static gboolean
fits (NdtRelocalizer *relocalizer, Chain *chain, const NdtRegistration *r)
{
  const NdtRelocalizerTask *task = &chain->task;
  const double quality = ndt_registration_get_quality (r);
  NdtFitModel model = {0};
  ndt_fit_model_set (&model, relocalizer->backend, task->registration.align.outlier_ratio);
  const double fit = ndt_fit_of (&model, r);
  chain->result.fit = fit;
  if (r->stop == NDT_STOP_NOT_FINITE || r->n_pairs == 0 ||
      fit < (chain->n_scans > 0 ? task->least_follow_fit : task->least_fit) ||
      quality < task->least_quality)
    return FALSE;
  const NdtPose body = ndt_mount_body_of_sensor (
      task->registration.has_mount ? &task->registration.mount : NULL, &r->pose);
  return !task->has_upright || ndt_tracker_is_upright (&body, &task->upright);
}

/* Takes what the fit is computed from. */
static gboolean
measure (NdtRelocalizer *relocalizer, const Chain *chain, NdtRegistration *r, GError **error)
{
  return ndt_fit_measure (relocalizer->backend, 0, &chain->task.registration.align, r, error);
}

static const NdtPose *
get_mount (const Chain *chain)
{
  return chain->task.registration.has_mount ? &chain->task.registration.mount : NULL;
}

static void
take_pose (Chain *chain, const NdtRelocalizerScan *scan, const NdtPose *sensor)
{
  NdtRelocation *result = &chain->result;
  const gint64 before = chain->pose_time;
  NdtPose body = ndt_mount_body_of_sensor (get_mount (chain), sensor);
  if (chain->course.has_velocity)
    body = ndt_course_move (&chain->course, &body, -chain->course.middle);
  const gboolean in_middle = chain->course.half > 0 && !chain->course.has_velocity;
  chain->pose_time = in_middle && scan->time >= 0 ? chain->course.time : scan->time;
  result->has_velocity = chain->n_scans > 0 && result->time >= 0 && chain->pose_time > before;
  if (result->has_velocity) {
    NdtPose step;
    ndt_pose_between (&result->pose, &body, &step);
    ndt_pose_log (&step, result->velocity);
    result->velocity_time = chain->pose_time - before;
    /* More accurate than between the poses at the ends. */
    for (guint i = 0; i < 6 && chain->course.has_step; i++)
      result->velocity[i] = chain->course.velocity[i] * (double)result->velocity_time / SECOND;
  }
  result->pose = body;
  result->time = scan->time;
  result->has_odometry = scan->has_odometry;
  result->odometry = scan->odometry;
  chain->last = result->course = chain->course;
  chain->n_scans++;
}

/* Is the place where the scan fits that of the stream, if that goes on? */
static gboolean
is_of_stream (const Chain *chain, const NdtRegistration *r)
{
  const NdtPose body = ndt_mount_body_of_sensor (get_mount (chain), &r->pose);
  double metres;
  ndt_pose_difference (&body, &chain->task.stream, &metres, NULL);
  return chain->task.has_stream && metres < SAME_PLACE;
}

/* Around where it may be, and else anywhere. FALSE without an error where it is in neither. */
static gboolean
find_first (NdtRelocalizer *relocalizer, Chain *chain, NdtRegistration *r, GError **error)
{
  const NdtRelocalizerTask *task = &chain->task;
  if (task->has_area) {
    if (!ndt_register_around (
            relocalizer->backend, 0, &task->registration, &task->around, &task->area, r, error) ||
        !measure (relocalizer, chain, r, error))
      return FALSE;
    if (fits (relocalizer, chain, r)) {
      if (is_of_stream (chain, r) && task->is_questioned)
        return FALSE;
      if (task->has_stream && !is_of_stream (chain, r))
        chain->result.elsewhere = ndt_registration_get_quality (r);
      if (!r->is_ambiguous)
        return TRUE;
    }
  }
  if (!task->anywhere ||
      !ndt_register_anywhere (relocalizer->backend, 0, &task->registration, r, error) ||
      !measure (relocalizer, chain, r, error))
    return FALSE;
  chain->result.is_ambiguous = r->is_ambiguous;
  chain->result.runner_up = r->runner_up;
  return fits (relocalizer, chain, r) && !r->is_ambiguous;
}

/* The body's pose @twist a second later. */
static NdtPose
extrapolate (const NdtPose *body, const double twist[6], double seconds)
{
  double way[6];
  NdtPose step, pose;
  for (guint i = 0; i < 6; i++)
    way[i] = seconds * twist[i];
  ndt_pose_exp (way, &step);
  ndt_pose_compose (body, &step, &pose);
  return pose;
}

/* Where the body went since the scan before. */
static gboolean
follow (NdtRelocalizer *relocalizer, Chain *chain, const NdtRelocalizerScan *scan,
    NdtRegistration *r, GError **error)
{
  const NdtRelocalizerTask *task = &chain->task;
  const NdtRelocation *last = &chain->result;
  const double seconds = scan->time > chain->pose_time && chain->pose_time >= 0
                             ? (double)(scan->time - chain->pose_time) / SECOND
                             : NDT_TRACKER_NO_TIME;
  const double *velocity = ndt_relocalizer_motion_get (chain->motion);
  NdtPose guesses[3];
  guint n = 0;
  if (scan->has_odometry && last->has_odometry) {
    NdtPose step;
    ndt_pose_between (&last->odometry, &scan->odometry, &step);
    ndt_pose_compose (&last->pose, &step, &guesses[n++]);
  }
  if (last->has_velocity)
    guesses[n++] =
        extrapolate (&last->pose, last->velocity, seconds * SECOND / (double)last->velocity_time);
  else if (velocity || task->has_velocity)
    guesses[n++] = extrapolate (&last->pose, velocity ? velocity : task->velocity, seconds);
  guesses[n++] = last->pose;
  /* In its middle. */
  for (guint i = 0; i < n && chain->course.has_velocity; i++)
    guesses[i] = ndt_course_move (&chain->course, &guesses[i], chain->course.middle);
  const NdtPose first = guesses[0];
  for (guint i = 0; i < n; i++)
    guesses[i] = ndt_mount_sensor_of_body (get_mount (chain), &guesses[i]);
  if (!ndt_register (
          relocalizer->backend, 0, &task->registration, NDT_SEARCH_FAR, guesses, n, r, error) ||
      !measure (relocalizer, chain, r, error))
    return FALSE;
  if (fits (relocalizer, chain, r))
    return TRUE;
  const double xy = FOLLOW_STDDEV + FOLLOW_SPEED * seconds,
               yaw = FOLLOW_YAW + FOLLOW_TURN * seconds;
  const NdtPoseSearch search = {.stddev = {xy, xy, 0.3, 0, 0, yaw}};
  return ndt_register_around (
             relocalizer->backend, 0, &task->registration, &first, &search, r, error) &&
         measure (relocalizer, chain, r, error) && !r->is_ambiguous && fits (relocalizer, chain, r);
}

/* Compensated it was not found: a scan whose points have times may have been compensated before,
 * and then fits better as it is. */
static gboolean
find_as_it_is (NdtRelocalizer *relocalizer, Chain *chain, const NdtRelocalizerScan *scan,
    NdtRegistration *r, GError **error)
{
  const NdtRelocation compensated = chain->result;
  chain->result.is_ambiguous = FALSE;
  chain->result.runner_up = 0;
  ndt_relocalizer_motion_give_up (chain->motion);
  if (!ndt_relocalizer_motion_set_scan (
          chain->motion, relocalizer->backend, scan, &chain->course, error))
    return FALSE;
  if (find_first (relocalizer, chain, r, error) && chain->result.fit > compensated.fit)
    return TRUE;
  chain->result = compensated;
  return FALSE;
}

/* The velocity since the scan before, on the map, is better than the one that the scan was
 * compensated by. */
static gboolean
compensate_anew (NdtRelocalizer *relocalizer, Chain *chain, NdtRegistration *r,
    gboolean *fits_still, GError **error)
{
  *fits_still = TRUE;
  for (guint pass = 0; chain->course.half > 0 && *fits_still; pass++) {
    const NdtPose sensor = r->pose, body = ndt_mount_body_of_sensor (get_mount (chain), &sensor);
    const gboolean changes = ndt_course_continue (&chain->course, &chain->last, &body);
    if (chain->course.has_velocity)
      ndt_relocalizer_motion_set (chain->motion, chain->course.velocity);
    if (!changes || pass == MAX_PASSES)
      break;
    if (!ndt_relocalizer_motion_move (chain->motion, &chain->course, error) ||
        !ndt_register (relocalizer->backend, 0, &chain->task.registration, NDT_SEARCH_LOCAL,
            &sensor, 1, r, error) ||
        !measure (relocalizer, chain, r, error))
      return FALSE;
    *fits_still = fits (relocalizer, chain, r);
  }
  return TRUE;
}

/* FALSE without an error where the scan does not go on from those before it. */
static gboolean
look_at (NdtRelocalizer *relocalizer, Chain *chain, const NdtRelocalizerScan *scan, GError **error)
{
  g_autoptr (GError) failure = NULL;
  NdtRegistration r;
  gboolean fits_still;
  if (!ndt_relocalizer_motion_set_scan (
          chain->motion, relocalizer->backend, scan, &chain->course, error))
    return FALSE;
  if (!(chain->n_scans == 0 ? find_first (relocalizer, chain, &r, &failure)
                            : follow (relocalizer, chain, scan, &r, &failure))) {
    if (failure) {
      g_propagate_error (error, g_steal_pointer (&failure));
      return FALSE;
    }
    if (chain->n_scans > 0 || !chain->course.has_velocity || chain->task.is_questioned ||
        !find_as_it_is (relocalizer, chain, scan, &r, error))
      return FALSE;
  }
  if (!compensate_anew (relocalizer, chain, &r, &fits_still, error) || !fits_still)
    return FALSE;
  take_pose (chain, scan, &r.pose);
  chain->result.found = chain->n_scans >= NDT_RELOCALIZER_SCANS;
  return TRUE;
}

/* ---- Devices ---- */

/* Of the thread. @backend: (transfer full) */
static void
use (NdtRelocalizer *relocalizer, NdtBackend *backend)
{
  NdtBackend *before = relocalizer->backend;
  if (backend == before)
    return;
  g_mutex_lock (&relocalizer->lock);
  relocalizer->backend = backend;
  ndt_backend_cancel (backend, relocalizer->is_stopped);
  g_mutex_unlock (&relocalizer->lock);
  if (before != relocalizer->cpu)
    ndt_backend_close (before);
}

/* For good. Takes @failure. */
static void
leave_device (NdtRelocalizer *relocalizer, GError *failure)
{
  g_mutex_lock (&relocalizer->lock);
  if (relocalizer->on_device) {
    g_clear_error (&relocalizer->failure); /* of a stream before, that nobody took */
    relocalizer->failure = g_steal_pointer (&failure);
  }
  relocalizer->on_device = FALSE;
  g_mutex_unlock (&relocalizer->lock);
  g_clear_error (&failure);
  use (relocalizer, relocalizer->cpu);
}

/* One on the stream's device, where there is one. */
static void
choose_backend (NdtRelocalizer *relocalizer)
{
  GError *error = NULL;
  NdtBackend *backend = NULL;
  g_mutex_lock (&relocalizer->lock);
  const gboolean on_device = relocalizer->on_device, is_other = relocalizer->is_other;
  relocalizer->is_other = FALSE;
  g_mutex_unlock (&relocalizer->lock);
  if (!on_device || is_other)
    use (relocalizer, relocalizer->cpu);
  if (!on_device || relocalizer->backend != relocalizer->cpu)
    return;
  g_mutex_lock (&relocalizer->opening);
  if (relocalizer->stream)
    backend = ndt_backend_open_background (relocalizer->stream, &error);
  g_mutex_unlock (&relocalizer->opening);
  if (backend)
    use (relocalizer, backend);
  else if (error)
    leave_device (relocalizer, error);
}

/* Whether a call that failed is to be made again, on the CPU. Takes @failure. */
static gboolean
fall_back (NdtRelocalizer *relocalizer, GError *failure)
{
  if (relocalizer->backend == relocalizer->cpu || !ndt_backend_is_failure (failure)) {
    g_error_free (failure);
    return FALSE;
  }
  leave_device (relocalizer, failure);
  return TRUE;
}

static gboolean
set_map (NdtRelocalizer *relocalizer, NdtVoxelMap *map)
{
  GError *failure = NULL;
  return ndt_backend_set_map (relocalizer->backend, map, &failure) ||
         (fall_back (relocalizer, failure) &&
             ndt_backend_set_map (relocalizer->backend, map, NULL));
}

/* look_at() on a device or, where that fails, on the CPU. */
static gboolean
look_at_anyhow (NdtRelocalizer *relocalizer, Chain *chain, const NdtRelocalizerScan *scan)
{
  const NdtRelocation before = chain->result;
  GError *failure = NULL;
  if (look_at (relocalizer, chain, scan, &failure))
    return TRUE;
  if (!failure || !fall_back (relocalizer, failure))
    return FALSE;
  chain->result = before;
  return ndt_backend_set_map (relocalizer->backend, chain->task.map, NULL) &&
         look_at (relocalizer, chain, scan, NULL);
}

/* Takes @scan where it has to wait for the next one. FALSE where a scan does not go on from those
 * before it. */
static gboolean
go_on (NdtRelocalizer *relocalizer, Chain *chain, NdtRelocalizerScan *scan)
{
  if (chain->n_scans == 0)
    ndt_relocalizer_motion_take (chain->motion, chain->has_first ? &chain->first : NULL, scan);
  if (scan->times && chain->n_scans == 0 && !chain->has_first &&
      !ndt_relocalizer_motion_get (chain->motion)) {
    chain->has_first = TRUE;
    chain->first = *scan;
    scan->xyz = NULL;
    scan->times = NULL;
    return TRUE;
  }
  if (chain->has_first) {
    const gboolean ok = look_at_anyhow (relocalizer, chain, &chain->first);
    ndt_relocalizer_scan_clear (&chain->first);
    chain->has_first = FALSE;
    if (!ok)
      return FALSE;
  }
  return look_at_anyhow (relocalizer, chain, scan);
}

/* ---- The thread ---- */

static void
clear_task (NdtRelocalizerTask *task)
{
  g_clear_pointer (&task->map, ndt_voxel_map_unref);
}

/* A job's first scan. */
static void
begin_chain (NdtRelocalizer *relocalizer, Chain *chain, const NdtRelocalizerTask *task)
{
  static const NdtPose no_mount = NDT_POSE_IDENTITY;
  NdtRelocalizerMotion *motion = chain->motion;
  clear_task (&chain->task);
  ndt_relocalizer_scan_clear (&chain->first);
  memset (chain, 0, sizeof (*chain));
  chain->task = *task;
  chain->motion = motion;
  ndt_relocalizer_motion_begin (
      motion, task->registration.has_mount ? &task->registration.mount : &no_mount, &task->filter);
  chain->task.registration.regularization.scale = 0;
  choose_backend (relocalizer);
  chain->failed = !set_map (relocalizer, task->map);
}

/* With the lock held, which is released meanwhile: nothing is to be done. A device is given up
 * where nothing is searched for, since its memory is the stream's. */
static void
rest (NdtRelocalizer *relocalizer)
{
  if (relocalizer->job > 0 || relocalizer->backend == relocalizer->cpu) {
    g_cond_wait (&relocalizer->changed, &relocalizer->lock);
    return;
  }
  g_mutex_unlock (&relocalizer->lock);
  use (relocalizer, relocalizer->cpu);
  g_mutex_lock (&relocalizer->lock);
}

/* With the lock held: whether the thread uses its backend. */
static void
set_at_work (NdtRelocalizer *relocalizer, gboolean is_at_work)
{
  relocalizer->is_at_work = is_at_work;
  if (is_at_work && relocalizer->is_stopped) {
    relocalizer->is_stopped = FALSE;
    ndt_backend_cancel (relocalizer->backend, FALSE);
    ndt_relocalizer_motion_cancel (relocalizer->motion, FALSE);
  }
}

static gpointer
run (gpointer data)
{
  NdtRelocalizer *relocalizer = data;
  Chain chain = {.failed = TRUE, .motion = relocalizer->motion};
  guint job = 0;
  g_mutex_lock (&relocalizer->lock);
  while (!relocalizer->quits) {
    Item *item = g_queue_pop_head (&relocalizer->items);
    if (!item) {
      rest (relocalizer);
      continue;
    }
    if (item->job == relocalizer->job) {
      NdtRelocalizerTask task = relocalizer->task;
      const gboolean begins = item->job != job;
      if (begins)
        ndt_voxel_map_ref (task.map);
      job = item->job;
      set_at_work (relocalizer, TRUE);
      g_mutex_unlock (&relocalizer->lock);
      if (begins)
        begin_chain (relocalizer, &chain, &task);
      if (!chain.failed && !go_on (relocalizer, &chain, &item->scan)) {
        chain.failed = TRUE;
        chain.result.found = FALSE;
      }
      g_mutex_lock (&relocalizer->lock);
      set_at_work (relocalizer, FALSE);
      if (job == relocalizer->job) {
        relocalizer->n_done++;
        relocalizer->result = chain.result;
        g_cond_broadcast (&relocalizer->changed);
      }
    }
    item_free (item);
  }
  g_mutex_unlock (&relocalizer->lock);
  clear_task (&chain.task);
  ndt_relocalizer_scan_clear (&chain.first);
  use (relocalizer, relocalizer->cpu);
  return NULL;
}

NdtRelocalizer *
ndt_relocalizer_new (NdtBackend *stream)
{
  NdtBackendConfig config = NDT_BACKEND_CONFIG_DEFAULT;
  NdtRelocalizer *relocalizer = g_new0 (NdtRelocalizer, 1);
  g_mutex_init (&relocalizer->lock);
  g_mutex_init (&relocalizer->opening);
  g_cond_init (&relocalizer->changed);
  g_queue_init (&relocalizer->items);
  relocalizer->motion = ndt_relocalizer_motion_new ();
  config.n_threads = 1;
  relocalizer->cpu = relocalizer->backend = ndt_backend_open_cpu (&config, NULL);
  ndt_relocalizer_set_stream (relocalizer, stream);
  return relocalizer;
}

void
ndt_relocalizer_set_stream (NdtRelocalizer *relocalizer, NdtBackend *stream)
{
  /* Before it may take long to wait: a device of the stream that has failed fails here as well,
   * which is told once. */
  g_mutex_lock (&relocalizer->lock);
  relocalizer->on_device = stream && ndt_backend_can_open_background (stream);
  relocalizer->is_other = TRUE;
  g_mutex_unlock (&relocalizer->lock);
  g_mutex_lock (&relocalizer->opening);
  relocalizer->stream = stream;
  g_mutex_unlock (&relocalizer->opening);
}

gboolean
ndt_relocalizer_is_on_device (NdtRelocalizer *relocalizer)
{
  g_mutex_lock (&relocalizer->lock);
  const gboolean on_device = relocalizer->on_device;
  g_mutex_unlock (&relocalizer->lock);
  return on_device;
}

GError *
ndt_relocalizer_take_failure (NdtRelocalizer *relocalizer)
{
  g_mutex_lock (&relocalizer->lock);
  GError *failure = g_steal_pointer (&relocalizer->failure);
  g_mutex_unlock (&relocalizer->lock);
  return failure;
}

/* With the lock held: nothing is begun, and what runs ends soon. */
static void
drop (NdtRelocalizer *relocalizer)
{
  relocalizer->job = 0;
  if (relocalizer->is_at_work && !relocalizer->is_stopped) {
    relocalizer->is_stopped = TRUE;
    ndt_backend_cancel (relocalizer->backend, TRUE);
    ndt_relocalizer_motion_cancel (relocalizer->motion, TRUE);
  }
  g_cond_broadcast (&relocalizer->changed);
  relocalizer->n_added = relocalizer->n_done = 0;
  g_queue_clear_full (&relocalizer->items, item_free);
  clear_task (&relocalizer->task);
}

void
ndt_relocalizer_free (NdtRelocalizer *relocalizer)
{
  g_mutex_lock (&relocalizer->lock);
  drop (relocalizer);
  relocalizer->quits = TRUE;
  g_mutex_unlock (&relocalizer->lock);
  if (relocalizer->thread)
    g_thread_join (relocalizer->thread);
  ndt_relocalizer_motion_free (relocalizer->motion);
  ndt_backend_close (relocalizer->cpu);
  g_clear_error (&relocalizer->failure);
  g_mutex_clear (&relocalizer->lock);
  g_mutex_clear (&relocalizer->opening);
  g_cond_clear (&relocalizer->changed);
  g_free (relocalizer);
}

void
ndt_relocalizer_begin (NdtRelocalizer *relocalizer, const NdtRelocalizerTask *task)
{
  g_mutex_lock (&relocalizer->lock);
  drop (relocalizer);
  relocalizer->job = ++relocalizer->last_job;
  relocalizer->task = *task;
  ndt_voxel_map_ref (task->map);
  memset (&relocalizer->result, 0, sizeof (relocalizer->result));
  g_mutex_unlock (&relocalizer->lock);
}

void
ndt_relocalizer_add (NdtRelocalizer *relocalizer, NdtRelocalizerScan *scan)
{
  Item *item = g_new (Item, 1);
  item->scan = *scan;
  g_mutex_lock (&relocalizer->lock);
  item->job = relocalizer->job;
  relocalizer->n_added++;
  g_queue_push_tail (&relocalizer->items, item);
  if (!relocalizer->thread)
    relocalizer->thread = g_thread_new ("ndt-search", run, relocalizer);
  g_cond_broadcast (&relocalizer->changed);
  g_mutex_unlock (&relocalizer->lock);
}

void
ndt_relocalizer_drop (NdtRelocalizer *relocalizer)
{
  g_mutex_lock (&relocalizer->lock);
  drop (relocalizer);
  g_mutex_unlock (&relocalizer->lock);
}

guint
ndt_relocalizer_count (NdtRelocalizer *relocalizer)
{
  g_mutex_lock (&relocalizer->lock);
  const guint n = relocalizer->n_added;
  g_mutex_unlock (&relocalizer->lock);
  return n;
}

gboolean
ndt_relocalizer_get (NdtRelocalizer *relocalizer, gboolean waits, NdtRelocation *out)
{
  g_mutex_lock (&relocalizer->lock);
  while (waits && relocalizer->n_done < relocalizer->n_added && !relocalizer->is_cancelled)
    g_cond_wait (&relocalizer->changed, &relocalizer->lock);
  const gboolean known = relocalizer->job > 0 && relocalizer->n_done == relocalizer->n_added;
  if (known)
    *out = relocalizer->result;
  g_mutex_unlock (&relocalizer->lock);
  return known;
}

void
ndt_relocalizer_cancel (NdtRelocalizer *relocalizer, gboolean cancelled)
{
  g_mutex_lock (&relocalizer->lock);
  relocalizer->is_cancelled = cancelled;
  g_cond_broadcast (&relocalizer->changed);
  g_mutex_unlock (&relocalizer->lock);
}
