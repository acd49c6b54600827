/* SPDX-License-Identifier: MIT */
#include "ndt-workers.h"
#include "ndt-tuning.h"

struct _NdtWorkers {
  guint n_threads;
  GThread **threads; /* n_threads − 1 */
  GMutex lock;
  GCond start;
  GCond done;
  gint round;     /* atomic; counts calls; a change wakes the threads */
  gint n_working; /* atomic; threads that take tasks of the round */
  guint n_asleep; /* threads that wait for start and were not woken since */
  gboolean waits; /* the caller waits for done */
  gboolean open;  /* the round takes threads */
  gboolean quit;
  guint n_tasks;
  gint next_task; /* atomic */
  NdtWorkFunc func;
  gpointer data;
};

static inline void
pause_briefly (void)
{
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause ();
#endif
}

static void
run_tasks (NdtWorkers *workers)
{
  guint task;
  while ((task = (guint)g_atomic_int_add (&workers->next_task, 1)) < workers->n_tasks)
    workers->func (task, workers->data);
}

static gpointer
worker_thread (gpointer data)
{
  NdtWorkers *workers = data;
  gint seen = 0;
  for (;;) {
    for (guint i = 0; i < NDT_WORKER_SPINS && g_atomic_int_get (&workers->round) == seen; i++)
      pause_briefly ();
    g_mutex_lock (&workers->lock);
    while (g_atomic_int_get (&workers->round) == seen && !workers->quit) {
      workers->n_asleep++;
      g_cond_wait (&workers->start, &workers->lock);
    }
    if (workers->quit)
      break;
    seen = g_atomic_int_get (&workers->round);
    /* Too late for a round that ended without this thread. */
    const gboolean join = workers->open;
    if (join)
      g_atomic_int_inc (&workers->n_working);
    g_mutex_unlock (&workers->lock);
    if (!join)
      continue;
    run_tasks (workers);
    g_mutex_lock (&workers->lock);
    if (g_atomic_int_dec_and_test (&workers->n_working) && workers->waits)
      g_cond_signal (&workers->done);
    g_mutex_unlock (&workers->lock);
  }
  g_mutex_unlock (&workers->lock);
  return NULL;
}

NdtWorkers *
ndt_workers_new (guint n_threads)
{
  NdtWorkers *workers = g_new0 (NdtWorkers, 1);
  workers->n_threads = n_threads ? n_threads : g_get_num_processors ();
  g_mutex_init (&workers->lock);
  g_cond_init (&workers->start);
  g_cond_init (&workers->done);
  workers->threads = g_new0 (GThread *, workers->n_threads);
  for (guint i = 0; i + 1 < workers->n_threads; i++) {
    workers->threads[i] = g_thread_try_new ("ndt-worker", worker_thread, workers, NULL);
    if (!workers->threads[i])
      workers->n_threads = i + 1;
  }
  return workers;
}

void
ndt_workers_free (NdtWorkers *workers)
{
  g_mutex_lock (&workers->lock);
  workers->quit = TRUE;
  g_cond_broadcast (&workers->start);
  g_mutex_unlock (&workers->lock);
  for (guint i = 0; i + 1 < workers->n_threads; i++)
    g_thread_join (workers->threads[i]);
  g_free (workers->threads);
  g_mutex_clear (&workers->lock);
  g_cond_clear (&workers->start);
  g_cond_clear (&workers->done);
  g_free (workers);
}

guint
ndt_workers_get_n_threads (const NdtWorkers *workers)
{
  return workers->n_threads;
}

void
ndt_workers_run (NdtWorkers *workers, guint n_tasks, NdtWorkFunc func, gpointer data)
{
  if (workers->n_threads == 1 || n_tasks <= 1) {
    for (guint i = 0; i < n_tasks; i++)
      func (i, data);
    return;
  }
  g_mutex_lock (&workers->lock);
  workers->n_tasks = n_tasks;
  workers->func = func;
  workers->data = data;
  workers->open = TRUE;
  g_atomic_int_set (&workers->next_task, 0);
  g_atomic_int_inc (&workers->round);
  /* Each wake is a system call, also where no thread waits; a thread that has no processor to
   * wake on need not be woken again for each pass. */
  if (workers->n_asleep > 0)
    g_cond_broadcast (&workers->start);
  workers->n_asleep = 0;
  g_mutex_unlock (&workers->lock);

  run_tasks (workers);

  /* Threads that have not come by now find nothing to do, and are not waited for. */
  g_mutex_lock (&workers->lock);
  workers->open = FALSE;
  g_mutex_unlock (&workers->lock);
  for (guint i = 0; i < NDT_WORKER_SPINS && g_atomic_int_get (&workers->n_working) > 0; i++)
    pause_briefly ();
  g_mutex_lock (&workers->lock);
  workers->waits = TRUE;
  while (g_atomic_int_get (&workers->n_working) > 0)
    g_cond_wait (&workers->done, &workers->lock);
  workers->waits = FALSE;
  g_mutex_unlock (&workers->lock);
}
