/* SPDX-License-Identifier: MIT */
/* The columns of a pose file by their names. Private to ndtcore/posefile. */
#pragma once

#include <glib.h>

#include "ndtcore/base/ndt-text.h"

G_BEGIN_DECLS

/* Most cells of a row that is read. */
#define NDT_TRAJECTORY_MAX_CELLS 256

typedef enum {
  NDT_TIME_UNIT_UNKNOWN, /* by the magnitude of the first time */
  NDT_TIME_UNIT_S,
  NDT_TIME_UNIT_MS,
  NDT_TIME_UNIT_US,
  NDT_TIME_UNIT_NS,
} NdtTimeUnit;

/* Columns that are read: time, its fraction of a second, x y z, qx qy qz qw. */
enum {
  NDT_COLUMN_TIME,
  NDT_COLUMN_FRACTION,
  NDT_COLUMN_X,
  NDT_COLUMN_QX = NDT_COLUMN_X + 3,
  NDT_N_COLUMNS = NDT_COLUMN_QX + 4
};

/**
 * NdtTrajectoryColumns:
 * @n_cells: cells of a row
 * @at: index of the column's cell in a row, -1: none. Poses have no times where there is no column
 *   of times
 * @unit: of the time, likewise @fraction_unit
 * @status: index of the cell of a column of that name, -1: none
 *
 * Result of reading a line of names.
 */
typedef struct {
  guint n_cells;
  gint at[NDT_N_COLUMNS];
  NdtTimeUnit unit;
  NdtTimeUnit fraction_unit;
  gint status;
} NdtTrajectoryColumns;

typedef enum {
  NDT_NAMES_NONE, /* no names of positions: a comment */
  NDT_NAMES_BAD,  /* names of positions, and an error */
  NDT_NAMES_GOOD,
} NdtNames;

/* Cells of a line by @separator (0: white space), without the quotes around a cell; their number,
 * also of those beyond the maximum. */
guint ndt_trajectory_split (
    NdtToken line, gchar separator, NdtToken cells[NDT_TRAJECTORY_MAX_CELLS]);

/* Units that are separated from their names by white space ("t [ns]") are joined with them.
 * Recognizes the names of EuRoC, Newer College, MCD and ROS's CSV. */
NdtNames ndt_trajectory_read_names (
    const NdtToken *cells, guint n, NdtTrajectoryColumns *columns, GError **error);

const gchar *ndt_time_unit_to_string (NdtTimeUnit unit);
/* A time as nanoseconds, exact for decimals; FALSE where it is no number or does not fit. */
gboolean ndt_time_from_token (const NdtToken *token, NdtTimeUnit unit, gint64 *time);
/* The unit in which a time since 1970 lies between 2000 and 2100, of which there is one at most;
 * seconds, of any epoch, below 1e11; else UNKNOWN. */
NdtTimeUnit ndt_time_unit_guess (double time);

G_END_DECLS
