/* SPDX-License-Identifier: MIT */
/* Functions shared by the commands of ndt-map. */
#pragma once

#include <glib.h>

#include "ndtcore/map/ndt-voxel-map.h"

G_BEGIN_DECLS

#define EXIT_USAGE 2

/* Print an error and return the exit status; the help of @context (nullable) follows. */
int ndt_map_report (const GError *error);
int ndt_map_report_usage (GOptionContext *context, const gchar *text);
/* The PCD files of inputs, which are files or folders, in the order of inputs and, in a folder, of
 * names with numbers by their value. A list of files in the order of characters (1, 10, 2), as a
 * shell expands a pattern, is sorted so as well; *sorted (nullable) is TRUE then. */
GPtrArray *ndt_map_list_inputs (gchar **inputs, gboolean *sorted, GError **error);

/**
 * NdtMapProgress:
 *
 * Progress, as one line on standard error that is overwritten, from two seconds after the start on.
 * Nothing where standard error is no terminal.
 */
typedef struct {
  const gchar *what; /* the unit, "files" for instance */
  guint64 n_all;
  gboolean is_terminal;
  gboolean is_shown;
  gint64 start; /* monotonic, µs */
  gint64 last;
} NdtMapProgress;

void ndt_map_progress_start (NdtMapProgress *progress, const gchar *what, guint64 n_all);
/* @n_done: finished units; @n_points: points read so far. Cheap enough for inner loops. */
void ndt_map_progress_step (NdtMapProgress *progress, guint64 n_done, guint64 n_points);
/* Removes the line. */
void ndt_map_progress_end (NdtMapProgress *progress);

/**
 * NdtMapVoxelOptions:
 *
 * How voxels are made, as command lines say it. @covariance: a nick of ndtlocalize's
 * covariance-estimate, NULL: "unbiased".
 */
typedef struct {
  double resolution;
  gint min_points;
  gint levels;
  gchar *covariance;
} NdtMapVoxelOptions;

#define NDT_MAP_VOXEL_OPTIONS_DEFAULT                                                              \
  {                                                                                                \
    2, 6, 3, NULL                                                                                  \
  }

#define NDT_MAP_VOXEL_ENTRIES(options)                                                             \
  {"resolution", 'r', 0, G_OPTION_ARG_DOUBLE, &(options).resolution,                               \
      "Edge of a voxel, 0.01 to 1000 (default 2)", "METRES"},                                      \
      {"levels", 0, 0, G_OPTION_ARG_INT, &(options).levels,                                        \
          "Levels, each of twice the edge, 1 to 3 (default 3)", "N"},                              \
      {"min-points", 0, 0, G_OPTION_ARG_INT, &(options).min_points,                                \
          "Points that make a voxel, from 3 on (default 6)", "N"},                                 \
  {                                                                                                \
    "covariance-estimate", 0, 0, G_OPTION_ARG_STRING, &(options).covariance,                       \
        "unbiased (default), autoware or ndt-omp", "NAME"                                          \
  }

/* FALSE with NDT_ERROR_INVALID_ARGUMENT that says what is out of range. */
gboolean ndt_map_voxel_options_get (
    const NdtMapVoxelOptions *options, NdtVoxelMapParams *params, GError **error);
void ndt_map_voxel_options_clear (NdtMapVoxelOptions *options);

/* TRUE where a file is called as finished maps are. */
gboolean ndt_map_is_image_name (const gchar *path);
/* Writes a finished map, with the georeference that lies beside @source. */
gboolean ndt_map_write_image (
    const gchar *path, const NdtVoxelMap *map, const gchar *source, GError **error);

int ndt_map_command_build (int argc, char **argv);
int ndt_map_command_convert (int argc, char **argv);
int ndt_map_command_crop (int argc, char **argv);
int ndt_map_command_import (int argc, char **argv);
int ndt_map_command_info (int argc, char **argv);
int ndt_map_command_make (int argc, char **argv);
int ndt_map_command_merge (int argc, char **argv);
int ndt_map_command_picture (int argc, char **argv);
int ndt_map_command_simulate (int argc, char **argv);
int ndt_map_command_tile (int argc, char **argv);
int ndt_map_command_update (int argc, char **argv);

G_END_DECLS
