/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/**
 * NdtWorkers:
 *
 * Threads that live as long as their owner and run the tasks of one call together with the
 * caller. Which thread runs which task is open: tasks must write to places of their own.
 */
typedef struct _NdtWorkers NdtWorkers;

typedef void (*NdtWorkFunc) (guint task, gpointer data);

/* n_threads counts the caller; 0: one per processor that the process may use. There are fewer where
 * the system gives no more. */
NdtWorkers *ndt_workers_new (guint n_threads);
void ndt_workers_free (NdtWorkers *workers);
guint ndt_workers_get_n_threads (const NdtWorkers *workers);
/* Runs func for tasks 0 … n_tasks − 1 and returns when all are done. One call at a time. */
void ndt_workers_run (NdtWorkers *workers, guint n_tasks, NdtWorkFunc func, gpointer data);

G_END_DECLS
