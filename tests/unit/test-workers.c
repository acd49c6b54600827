/* SPDX-License-Identifier: MIT */
/* Threads that instances share. */
#include "ndtcore/base/ndt-processors.h"
#include "ndtcore/base/ndt-workers.h"

#define N_TASKS 300

typedef struct {
  gint n_done[N_TASKS]; /* atomic */
  gint n_at_once;       /* atomic */
  gint most_at_once;    /* atomic */
  gulong patience;
} Work;

static void
work (guint task, gpointer data)
{
  Work *w = data;
  const gint n = g_atomic_int_add (&w->n_at_once, 1) + 1;
  gint most = g_atomic_int_get (&w->most_at_once);
  while (n > most && !g_atomic_int_compare_and_exchange (&w->most_at_once, most, n))
    most = g_atomic_int_get (&w->most_at_once);
  g_atomic_int_inc (&w->n_done[task]);
  if (w->patience > 0)
    g_usleep (w->patience);
  g_atomic_int_add (&w->n_at_once, -1);
}

static void
check_done (const Work *w, guint n_tasks, gint expected)
{
  for (guint i = 0; i < N_TASKS; i++)
    g_assert_cmpint (w->n_done[i], ==, i < n_tasks ? expected : 0);
}

/* Each task once, for any number of them and of threads. */
static void
test_tasks (void)
{
  for (guint n_threads = 1; n_threads <= 9; n_threads += 4) {
    g_autoptr (NdtWorkers) workers = ndt_workers_new (n_threads);
    static const guint counts[] = {0, 1, 2, 3, N_TASKS};
    g_assert_cmpuint (ndt_workers_get_n_threads (workers), ==, n_threads);
    for (guint i = 0; i < 200; i++) {
      Work w = {{0}, 0, 0, 0};
      const guint n_tasks = counts[i % G_N_ELEMENTS (counts)];
      ndt_workers_run (workers, n_tasks, work, &w);
      check_done (&w, n_tasks, 1);
      g_assert_cmpint (w.most_at_once, <=, (gint)n_threads);
    }
  }
}

/* One stream has all threads. */
static void
test_alone (void)
{
  g_autoptr (NdtWorkers) workers = ndt_workers_new (4), idle = ndt_workers_new (4);
  Work w = {{0}, 0, 0, 2000};
  ndt_workers_run (workers, 40, work, &w);
  check_done (&w, 40, 1);
  g_assert_cmpint (w.most_at_once, >, 1);
  g_assert_cmpint (w.most_at_once, <=, 4);
  g_assert_cmpuint (ndt_workers_get_share (idle), ==, 4);
}

/* Several divide them, until a while after they are done. */
static void
test_shares (void)
{
  const guint n = ndt_processors_count (NULL) + 7; /* more than there are otherwise */
  NdtWorkers *all[32];
  const guint n_instances = MIN (n + 1, 32);
  for (guint i = 0; i < n_instances; i++)
    all[i] = ndt_workers_new (i == 2 ? 2 : n);
  for (guint i = 0; i < n_instances; i++) {
    const guint active = i + 1, others = n > active ? n - active : 0;
    const guint expected = 1 + (others + active - 1) / active;
    ndt_workers_enter (all[i]);
    g_assert_cmpuint (ndt_workers_get_share (all[i]), ==, i == 2 ? MIN (2, expected) : expected);
  }
  if (n_instances > n)
    g_assert_cmpuint (ndt_workers_get_share (all[n]), ==, 1);
  Work w = {{0}, 0, 0, 100};
  ndt_workers_run (all[n_instances - 1], 50, work, &w);
  check_done (&w, 50, 1);
  if (n_instances > n)
    g_assert_cmpint (w.most_at_once, ==, 1);

  for (guint i = 1; i < n_instances; i++)
    ndt_workers_leave (all[i]);
  /* They have just been at work, if this thread was not interrupted for so long. */
  const gint64 before = g_get_monotonic_time ();
  ndt_workers_enter (all[0]);
  const guint soon = ndt_workers_get_share (all[0]);
  if (g_get_monotonic_time () - before < 500)
    g_assert_cmpuint (soon, <, n);
  g_usleep (10000);
  ndt_workers_enter (all[0]);
  g_assert_cmpuint (ndt_workers_get_share (all[0]), ==, n);
  ndt_workers_leave (all[0]);
  for (guint i = 0; i < n_instances; i++)
    ndt_workers_free (all[i]);
}

static gpointer
run_stream (gpointer data)
{
  for (guint i = 0; i < 30; i++) {
    g_autoptr (NdtWorkers) workers = ndt_workers_new (1 + GPOINTER_TO_UINT (data) % 4);
    Work w = {{0}, 0, 0, 0};
    for (guint r = 0; r < 20; r++) {
      ndt_workers_enter (workers);
      ndt_workers_run (workers, N_TASKS, work, &w);
      ndt_workers_run (workers, 2, work, &w);
      ndt_workers_leave (workers);
    }
    for (guint t = 0; t < N_TASKS; t++)
      g_assert_cmpint (w.n_done[t], ==, t < 2 ? 40 : 20);
  }
  return NULL;
}

/* Streams that come and go at the same time; the pool ends with the last and begins anew. */
static void
test_streams (void)
{
  GThread *threads[6];
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("stream", run_stream, GUINT_TO_POINTER (i));
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/workers/tasks", test_tasks);
  g_test_add_func ("/workers/alone", test_alone);
  g_test_add_func ("/workers/shares", test_shares);
  g_test_add_func ("/workers/streams", test_streams);
  return g_test_run ();
}
