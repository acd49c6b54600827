/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

#include "ndtcore/base/ndt-error.h"
#include "ndtcore/math/ndt-pose.h"

G_BEGIN_DECLS

typedef enum {
  NDT_TRAJECTORY_AUTO,  /* by a line of names, else by the number of columns: 8 TUM, 12 KITTI */
  NDT_TRAJECTORY_TUM,   /* time tx ty tz qx qy qz qw; seconds, m */
  NDT_TRAJECTORY_KITTI, /* 12 numbers: rows of the 3×4 matrix; no time */
  NDT_TRAJECTORY_CSV    /* by names; written as ndt_trajectory_write_line() has it */
} NdtTrajectoryFormat;

/**
 * NdtTrajectory:
 *
 * Poses of one file, in its order. Times are in nanoseconds, exact, and never decrease; KITTI files
 * have none.
 */
typedef struct _NdtTrajectory NdtTrajectory;

/**
 * ndt_trajectory_load:
 * @path: text (UTF-8, also with a byte order mark); lines that are empty or begin with '#', '%' or
 *   "//" are skipped
 * @format: of the file
 *
 * Each line has to be complete, and its quaternion of unit length to 1 %.
 *
 * Columns that are named by the first line, or by a comment before it, are read by name, in any
 * order and with any separator (comma, semicolon, white space) and blanks: x, y, z (tx, p_x,
 * position.x, p_RS_R_x …), qx, qy, qz, qw (q_x, orientation.x …) and maybe a time (time, timestamp,
 * t, stamp …; sec with nsec). Other columns are ignored. The unit of times is that of the name
 * (time_ns, "t [us]", nsec); without one they are seconds or, where they are too large for seconds,
 * in the unit in which they lie between 2000 and 2100. Ambiguous files are refused: numbered
 * quaternions (q0 …), angles, 8 numbers by commas without names, whole numbers far apart without a
 * unit.
 *
 * Returns: (transfer full): NULL with %NDT_ERROR_IO or %NDT_ERROR_FORMAT; the message names path
 *   and line
 */
NdtTrajectory *ndt_trajectory_load (const gchar *path, NdtTrajectoryFormat format, GError **error);
/* The same of @size bytes in memory; @name is for messages. */
NdtTrajectory *ndt_trajectory_parse (
    const gchar *text, gsize size, const gchar *name, NdtTrajectoryFormat format, GError **error);
void ndt_trajectory_free (NdtTrajectory *trajectory);
/* The format of the file; never NDT_TRAJECTORY_AUTO. */
NdtTrajectoryFormat ndt_trajectory_get_format (const NdtTrajectory *trajectory);
/* One line for messages: the columns that were read, and the unit of times. Owned by @trajectory.
 */
const gchar *ndt_trajectory_get_description (const NdtTrajectory *trajectory);
/* Lines, those without a pose included. */
gsize ndt_trajectory_get_n_poses (const NdtTrajectory *trajectory);
gboolean ndt_trajectory_has_times (const NdtTrajectory *trajectory);
/* NULL where the line has no pose: a KITTI line all nan, a CSV row whose cells are empty. @index is
 * below n_poses. */
const NdtPose *ndt_trajectory_get_pose (const NdtTrajectory *trajectory, gsize index);
gint64 ndt_trajectory_get_time (const NdtTrajectory *trajectory, gsize index);
/* Status of an estimate, of a CSV file with a column of that name: "initializing", "tracking",
 * "degraded", "lost" or "skipped"; NULL: not said, or another word. */
const gchar *ndt_trajectory_get_status (const NdtTrajectory *trajectory, gsize index);
/* The pose at @time where there is one, else interpolated between the neighbours in time. FALSE
 * before the first, after the last, where a neighbour has no pose, or where they are farther
 * apart than max_gap nanoseconds (0: any). */
gboolean ndt_trajectory_interpolate (
    const NdtTrajectory *trajectory, gint64 time, gint64 max_gap, NdtPose *out);

/**
 * NdtTrajectoryRecord:
 * @index: number of the scan
 * @time: nanoseconds
 * @status: a word
 * @pose: NULL: none
 * @transformation_probability: and @nvtl, @matched_ratio, @iterations: of the estimate
 * @reason: (nullable): why an estimate is not tracking, a word; NULL: these are not known …
 * @reason_value: … the number that led to it …
 * @reason_bound: … and what that is compared with
 * @fit: of the estimate, about 1 in place
 * @sigma: of its position, metres
 * @has_confidence: these are known:
 * @confidence: probability that the estimate is right
 * @unexplained: share of the scan that the map does not explain
 * @n_open: directions that the scan leaves open, 0 to 3 …
 * @open: … unit vectors of these, three numbers each
 * @has_error: @error_m and @error_deg are set
 *
 * Values of a line.
 */
typedef struct {
  guint64 index;
  gint64 time;
  const gchar *status;
  const NdtPose *pose;
  double transformation_probability;
  double nvtl;
  double matched_ratio;
  guint iterations;
  const gchar *reason;
  double reason_value;
  double reason_bound;
  double fit;
  double sigma;
  gboolean has_confidence;
  double confidence;
  double unexplained;
  guint n_open;
  double open[9];
  gboolean has_error;
  double error_m;
  double error_deg;
} NdtTrajectoryRecord;

/* Appends the header of a file of @format, which may be empty. */
void ndt_trajectory_write_header (GString *out, NdtTrajectoryFormat format);
/* Appends a line, numbers with enough digits to be read back exactly. Without a pose: TUM has no
 * line, KITTI a line of nan (its lines count the scans), CSV empty cells. */
void ndt_trajectory_write_line (
    GString *out, NdtTrajectoryFormat format, const NdtTrajectoryRecord *record);

/* Statistics of the errors of poses; to be zeroed before the first. */
typedef struct {
  guint64 n;
  double sum_m;
  double sum_squares_m;
  double max_m;
  double sum_rad;
  double max_rad;
} NdtPoseErrors;

/* @metres and @radians (nullable) get this pose's error. */
void ndt_pose_errors_add (NdtPoseErrors *errors, const NdtPose *pose, const NdtPose *truth,
    double *metres, double *radians);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtTrajectory, ndt_trajectory_free)

G_END_DECLS
