/* SPDX-License-Identifier: MIT */
/* What the commands of ndt-map share. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define EXIT_USAGE 2

/* Say what went wrong, and return the exit status; @context (nullable) adds its help. */
int ndt_map_report (const GError *error);
int ndt_map_report_usage (GOptionContext *context, const gchar *text);
/* The PCD files of inputs, which are files or folders, in the order of inputs and names. */
GPtrArray *ndt_map_list_inputs (gchar **inputs, GError **error);

int ndt_map_command_build (int argc, char **argv);
int ndt_map_command_info (int argc, char **argv);
int ndt_map_command_picture (int argc, char **argv);
int ndt_map_command_simulate (int argc, char **argv);
int ndt_map_command_tile (int argc, char **argv);

G_END_DECLS
