/* SPDX-License-Identifier: MIT */
#include "ndt-workers.h"

#include "ndt-processors.h"
#include "ndt-tuning.h"

/* A call of ndt_workers_run(). */
typedef struct {
  NdtWorkFunc func;
  gpointer data;
  guint n_tasks;
  gint next_task; /* atomic */
  gint n_working; /* atomic, changed with the lock; threads beside the caller that take tasks */
  guint n_places; /* for further threads */
  gboolean waits; /* the caller waits for done */
  GCond done;
} Run;

struct _NdtWorkers {
  guint n_threads;
  guint share;
  gboolean entered;
  gint64 left; /* when work ended, µs */
};

/**
 * Pool:
 * @runs: that have places
 * @n_published: atomic; counts runs; a change wakes the threads
 * @n_looking: threads that poll for a run
 * @n_asleep: threads that wait for start and were not woken since
 * @n_helping: threads in runs
 * @most_helping: so many may be: the processors less the callers at work
 *
 * The threads of all instances; ends with the last one.
 */
typedef struct {
  GPtrArray *instances;
  GPtrArray *threads;
  GCond start;
  GQueue runs;
  gint n_published;
  guint n_looking;
  guint n_asleep;
  guint n_helping;
  guint most_helping;
  gboolean quit;
} Pool;

/* Guards the pool and what it refers to, except what is atomic. */
static GMutex lock;
static Pool *pool; /* NULL: there are no instances */

static inline void
pause_briefly (void)
{
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause ();
#elif defined(__aarch64__)
  /* YIELD is nothing on most of these; a barrier of instructions takes about as long as x86's
   * PAUSE. */
  __asm__ volatile("isb" ::: "memory");
#elif defined(__arm__)
  __asm__ volatile("yield" ::: "memory");
#endif
}

static void
run_tasks (Run *run)
{
  guint task;
  while ((task = (guint)g_atomic_int_add (&run->next_task, 1)) < run->n_tasks)
    run->func (task, run->data);
}

/* A place in a run; NULL: there is none, or as many threads work as may. */
static Run *
take_place (Pool *from)
{
  Run *run = from->n_helping < from->most_helping ? g_queue_peek_head (&from->runs) : NULL;
  if (!run)
    return NULL;
  if (--run->n_places == 0)
    g_queue_pop_head (&from->runs);
  g_atomic_int_inc (&run->n_working);
  from->n_helping++;
  return run;
}

static gpointer
worker_thread (gpointer data)
{
  Pool *own = data;
  g_mutex_lock (&lock);
  while (!own->quit) {
    Run *run = take_place (own);
    if (run) {
      g_mutex_unlock (&lock);
      run_tasks (run);
      g_mutex_lock (&lock);
      own->n_helping--;
      /* The caller returns with the lock only, so that the run exists until it is released. */
      if (g_atomic_int_dec_and_test (&run->n_working) && run->waits)
        g_cond_signal (&run->done);
      continue;
    }
    const gint seen = g_atomic_int_get (&own->n_published);
    own->n_looking++;
    g_mutex_unlock (&lock);
    for (guint i = 0; i < NDT_WORKER_SPINS && g_atomic_int_get (&own->n_published) == seen; i++)
      pause_briefly ();
    g_mutex_lock (&lock);
    own->n_looking--;
    while (g_atomic_int_get (&own->n_published) == seen && !own->quit) {
      own->n_asleep++;
      g_cond_wait (&own->start, &lock);
    }
  }
  g_mutex_unlock (&lock);
  return NULL;
}

NdtWorkers *
ndt_workers_new (guint n_threads)
{
  NdtWorkers *workers = g_new0 (NdtWorkers, 1);
  workers->n_threads = n_threads ? n_threads : ndt_processors_count (NULL);
  g_mutex_lock (&lock);
  if (!pool) {
    pool = g_new0 (Pool, 1);
    pool->instances = g_ptr_array_new ();
    pool->threads = g_ptr_array_new ();
    g_cond_init (&pool->start);
    g_queue_init (&pool->runs);
  }
  while (pool->threads->len + 1 < workers->n_threads) {
    GThread *thread = g_thread_try_new ("ndt-worker", worker_thread, pool, NULL);
    if (!thread)
      break;
    g_ptr_array_add (pool->threads, thread);
  }
  workers->n_threads = MIN (workers->n_threads, pool->threads->len + 1);
  workers->share = workers->n_threads;
  g_ptr_array_add (pool->instances, workers);
  g_mutex_unlock (&lock);
  return workers;
}

void
ndt_workers_free (NdtWorkers *workers)
{
  Pool *last = NULL;
  g_mutex_lock (&lock);
  g_ptr_array_remove_fast (pool->instances, workers);
  if (pool->instances->len == 0) {
    last = g_steal_pointer (&pool);
    last->quit = TRUE;
    g_cond_broadcast (&last->start);
  }
  g_mutex_unlock (&lock);
  g_free (workers);
  if (!last)
    return;
  for (guint i = 0; i < last->threads->len; i++)
    g_thread_join (last->threads->pdata[i]);
  g_ptr_array_unref (last->threads);
  g_ptr_array_unref (last->instances);
  g_cond_clear (&last->start);
  g_free (last);
}

guint
ndt_workers_get_n_threads (const NdtWorkers *workers)
{
  return workers->n_threads;
}

guint
ndt_workers_get_share (const NdtWorkers *workers)
{
  return workers->share;
}

/* A stream that pushed a scan a moment ago goes on with the next one: its processor is not given
 * away. */
void
ndt_workers_enter (NdtWorkers *workers)
{
  const gint64 now = g_get_monotonic_time ();
  guint n_active = 1, most = 0;
  g_mutex_lock (&lock);
  workers->entered = TRUE;
  for (guint i = 0; i < pool->instances->len; i++) {
    const NdtWorkers *other = pool->instances->pdata[i];
    most = MAX (most, other->n_threads);
    n_active += other != workers &&
                (other->entered || (other->left > 0 && now - other->left < NDT_WORKER_RECENT));
  }
  pool->most_helping = most > n_active ? most - n_active : 0;
  workers->share = MIN (workers->n_threads, 1 + (pool->most_helping + n_active - 1) / n_active);
  g_mutex_unlock (&lock);
}

void
ndt_workers_leave (NdtWorkers *workers)
{
  const gint64 now = g_get_monotonic_time ();
  g_mutex_lock (&lock);
  workers->entered = FALSE;
  workers->left = now;
  g_mutex_unlock (&lock);
}

/* Lets threads take part in @run, and wakes as many as have places and are not looking for one.
 * Each wake is a system call; a thread that has no processor to wake on need not be woken again
 * for each pass. */
static void
publish (Run *run)
{
  g_mutex_lock (&lock);
  g_queue_push_tail (&pool->runs, run);
  g_atomic_int_inc (&pool->n_published);
  const guint wanted = run->n_places > pool->n_looking ? run->n_places - pool->n_looking : 0;
  for (guint i = MIN (wanted, pool->n_asleep); i > 0; i--) {
    g_cond_signal (&pool->start);
    pool->n_asleep--;
  }
  g_mutex_unlock (&lock);
}

static void
run_shared (NdtWorkers *workers, guint n_tasks, NdtWorkFunc func, gpointer data)
{
  Run run = {.func = func,
      .data = data,
      .n_tasks = n_tasks,
      .n_places = MIN (workers->share, n_tasks) - 1};
  g_cond_init (&run.done);
  publish (&run);
  run_tasks (&run);

  /* Threads that have not come by now find nothing to do, and are not waited for. */
  g_mutex_lock (&lock);
  g_queue_remove (&pool->runs, &run);
  g_mutex_unlock (&lock);
  for (guint i = 0; i < NDT_WORKER_SPINS && g_atomic_int_get (&run.n_working) > 0; i++)
    pause_briefly ();
  g_mutex_lock (&lock);
  run.waits = TRUE;
  while (g_atomic_int_get (&run.n_working) > 0)
    g_cond_wait (&run.done, &lock);
  g_mutex_unlock (&lock);
  g_cond_clear (&run.done);
}

void
ndt_workers_run (NdtWorkers *workers, guint n_tasks, NdtWorkFunc func, gpointer data)
{
  const gboolean alone = !workers->entered;
  if (alone)
    ndt_workers_enter (workers);
  if (workers->share > 1 && n_tasks > 1) {
    run_shared (workers, n_tasks, func, data);
  } else {
    for (guint i = 0; i < n_tasks; i++)
      func (i, data);
  }
  if (alone)
    ndt_workers_leave (workers);
}
