/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/**
 * NdtWorkers:
 *
 * Threads that run the tasks of a call together with the calling thread. Which thread runs which
 * task is not defined: tasks must not write to the same memory.
 */
typedef struct _NdtWorkers NdtWorkers;

typedef void (*NdtWorkFunc) (guint task, gpointer data);

/* n_threads includes the caller; 0: one per processor that the process may use. There are fewer
 * where the system refuses to create more. */
NdtWorkers *ndt_workers_new (guint n_threads);
void ndt_workers_free (NdtWorkers *workers);
guint ndt_workers_get_n_threads (const NdtWorkers *workers);
/* Runs func for tasks 0 … n_tasks − 1 and returns when all are done. One call at a time. */
void ndt_workers_run (NdtWorkers *workers, guint n_tasks, NdtWorkFunc func, gpointer data);

G_END_DECLS
