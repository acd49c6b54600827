/* SPDX-License-Identifier: MIT */
/* What the commands of ndt-map share. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define EXIT_USAGE 2

/* Say what went wrong, and return the exit status; @context (nullable) adds its help. */
int ndt_map_report (const GError *error);
int ndt_map_report_usage (GOptionContext *context, const gchar *text);
/* The PCD files of inputs, which are files or folders, in the order of inputs and, in a folder, of
 * names with numbers by their value. Files that a shell's pattern has put into the order of
 * characters (1, 10, 2) are put into that order as well, and *sorted, nullable, tells so. */
GPtrArray *ndt_map_list_inputs (gchar **inputs, gboolean *sorted, GError **error);

/**
 * NdtMapProgress:
 *
 * What is done of @n_all, on standard error: a line that is written over, from two seconds after
 * the start on. Nothing where standard error is no terminal.
 */
typedef struct {
  const gchar *what; /* "files", say */
  guint64 n_all;
  gboolean is_terminal;
  gboolean is_shown;
  gint64 start; /* monotonic, µs */
  gint64 last;
} NdtMapProgress;

void ndt_map_progress_start (NdtMapProgress *progress, const gchar *what, guint64 n_all);
/* @n_done are done; @n_points is how many points were read so far. Cheap: call it often. */
void ndt_map_progress_step (NdtMapProgress *progress, guint64 n_done, guint64 n_points);
/* Takes the line away. */
void ndt_map_progress_end (NdtMapProgress *progress);

int ndt_map_command_build (int argc, char **argv);
int ndt_map_command_info (int argc, char **argv);
int ndt_map_command_picture (int argc, char **argv);
int ndt_map_command_simulate (int argc, char **argv);
int ndt_map_command_tile (int argc, char **argv);

G_END_DECLS
