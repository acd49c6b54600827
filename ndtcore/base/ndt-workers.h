/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/**
 * NdtWorkers:
 *
 * Runs the tasks of a call by the calling thread together with threads of the process, which all
 * instances share. As many threads work as there are processors (ndt_processors_count()), or as the
 * largest instance asks for: each caller that is at work is one, and the others are divided among
 * them. So one stream has all processors, and of as many streams as processors each has its own.
 *
 * Which thread runs which task is not defined, nor how many do: tasks must not write to the same
 * memory, and results must not depend on it.
 */
typedef struct _NdtWorkers NdtWorkers;

typedef void (*NdtWorkFunc) (guint task, gpointer data);

/* n_threads: most of a call, the caller included; 0: one per processor. There are fewer where the
 * system refuses to create more. */
NdtWorkers *ndt_workers_new (guint n_threads);
void ndt_workers_free (NdtWorkers *workers);
guint ndt_workers_get_n_threads (const NdtWorkers *workers);

/* The caller begins work that consists of several runs and what is between them, and ends it. Until
 * then, and NDT_WORKER_RECENT longer, other instances leave it a processor. */
void ndt_workers_enter (NdtWorkers *workers);
void ndt_workers_leave (NdtWorkers *workers);
/* Between them: most threads of a run, 1 to n_threads, the caller included. */
guint ndt_workers_get_share (const NdtWorkers *workers);

/* Runs func for tasks 0 … n_tasks − 1 and returns when all are done. One call at a time. Outside of
 * enter and leave it is both. */
void ndt_workers_run (NdtWorkers *workers, guint n_tasks, NdtWorkFunc func, gpointer data);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtWorkers, ndt_workers_free)

G_END_DECLS
