/* SPDX-License-Identifier: MIT */
#include "ndt-trajectory.h"

#include <math.h>
#include <string.h>

#include "ndtcore/base/ndt-text.h"

typedef struct {
  gint64 time;
  gboolean has_pose;
  NdtPose pose;
} Entry;

struct _NdtTrajectory {
  NdtTrajectoryFormat format;
  gboolean has_times;
  GArray *entries;
};

/* Columns of a CSV file that mean something. */
enum { COLUMN_TIME, COLUMN_X, COLUMN_QX = COLUMN_X + 3, N_COLUMNS = COLUMN_QX + 4 };

typedef struct {
  NdtTrajectory *trajectory;
  gint columns[N_COLUMNS]; /* positions in a CSV row, -1: not there */
  guint n_cells;           /* of a CSV row */
} Reader;

/* The largest row that is looked into. */
#define MAX_CELLS 256

/* Cells of a line; their number, also of those beyond MAX_CELLS. */
static guint
split (NdtToken line, gchar separator, NdtToken cells[MAX_CELLS])
{
  NdtToken cell;
  guint n = 0;
  while (ndt_text_next_token (&line, separator, &cell)) {
    if (n < MAX_CELLS)
      cells[n] = cell;
    n++;
  }
  return n;
}

static gboolean
parse_numbers (const NdtToken *cells, guint n, double *values, GError **error)
{
  for (guint i = 0; i < n; i++) {
    if (!ndt_token_to_double (&cells[i], &values[i])) {
      g_autofree gchar *text = ndt_token_dup (&cells[i]);
      return ndt_text_fail (error, "'%s' is not a number", text);
    }
  }
  return TRUE;
}

static gboolean
parse_time (const NdtToken *cell, gint64 *time, GError **error)
{
  if (ndt_token_to_nanoseconds (cell, time))
    return TRUE;
  g_autofree gchar *text = ndt_token_dup (cell);
  return ndt_text_fail (error, "'%s' is not a time in seconds", text);
}

/* values: x y z qx qy qz qw */
static gboolean
pose_from_values (const double values[7], NdtPose *pose, GError **error)
{
  double norm = 0;
  for (guint i = 0; i < 7; i++)
    if (!isfinite (values[i]))
      return ndt_text_fail (error, "a pose has to be finite");
  for (guint i = 3; i < 7; i++)
    norm += values[i] * values[i];
  norm = sqrt (norm);
  if (!(fabs (norm - 1) <= 0.01))
    return ndt_text_fail (error, "the quaternion has length %g, not 1", norm);
  memcpy (pose->position, values, sizeof pose->position);
  memcpy (pose->orientation, values + 3, sizeof pose->orientation);
  return ndt_pose_normalize (pose) || ndt_text_fail (error, "a pose has to be finite");
}

static gboolean
parse_tum (const NdtToken *cells, guint n, Entry *entry, GError **error)
{
  double values[7];
  if (n != 8)
    return ndt_text_fail (error, "has %u columns, not the 8 of TUM: time tx ty tz qx qy qz qw", n);
  entry->has_pose = TRUE;
  return parse_time (&cells[0], &entry->time, error) &&
         parse_numbers (cells + 1, 7, values, error) &&
         pose_from_values (values, &entry->pose, error);
}

static gboolean
parse_kitti (const NdtToken *cells, guint n, Entry *entry, GError **error)
{
  double matrix[16] = {[15] = 1};
  guint n_nan = 0;
  if (n != 12)
    return ndt_text_fail (error, "has %u columns, not the 12 of KITTI", n);
  if (!parse_numbers (cells, 12, matrix, error))
    return FALSE;
  for (guint i = 0; i < 12; i++)
    n_nan += isnan (matrix[i]);
  entry->has_pose = n_nan < 12;
  if (entry->has_pose && !ndt_pose_from_matrix4 (matrix, &entry->pose))
    return ndt_text_fail (error, "is no rigid transform: a rotation and a finite position");
  return TRUE;
}

static gboolean
parse_csv (const Reader *reader, const NdtToken *cells, guint n, Entry *entry, GError **error)
{
  double values[7];
  NdtToken pose[7];
  guint n_empty = 0;
  if (n != reader->n_cells)
    return ndt_text_fail (error, "has %u columns where the first line has %u", n, reader->n_cells);
  if (reader->columns[COLUMN_TIME] >= 0 &&
      !parse_time (&cells[reader->columns[COLUMN_TIME]], &entry->time, error))
    return FALSE;
  for (guint i = 0; i < 7; i++) {
    pose[i] = cells[reader->columns[COLUMN_X + i]];
    n_empty += pose[i].size == 0;
  }
  entry->has_pose = n_empty < 7;
  return !entry->has_pose ||
         (parse_numbers (pose, 7, values, error) && pose_from_values (values, &entry->pose, error));
}

static gboolean
parse_csv_header (Reader *reader, const NdtToken *cells, guint n, GError **error)
{
  static const gchar *const names[N_COLUMNS][2] = {{"time", "timestamp"}, {"x", "tx"}, {"y", "ty"},
      {"z", "tz"}, {"qx", "q_x"}, {"qy", "q_y"}, {"qz", "q_z"}, {"qw", "q_w"}};
  if (n > MAX_CELLS)
    return ndt_text_fail (error, "has more than %d columns", MAX_CELLS);
  reader->n_cells = n;
  for (gint k = 0; k < N_COLUMNS; k++) {
    reader->columns[k] = -1;
    for (guint i = 0; i < n && reader->columns[k] < 0; i++)
      if (ndt_token_equal (&cells[i], names[k][0]) || ndt_token_equal (&cells[i], names[k][1]))
        reader->columns[k] = (gint)i;
    if (k != COLUMN_TIME && reader->columns[k] < 0)
      return ndt_text_fail (error,
          "names no column '%s'; TUM has 8 columns and KITTI 12, parted by blanks", names[k][0]);
  }
  reader->trajectory->has_times = reader->columns[COLUMN_TIME] >= 0;
  return TRUE;
}

/* The first line settles what the others have to be. FALSE without an error: it was a header and
 * holds no pose. */
static gboolean
parse_first_line (Reader *reader, NdtToken line, GError **error)
{
  NdtTrajectory *trajectory = reader->trajectory;
  NdtToken cells[MAX_CELLS];
  if (trajectory->format == NDT_TRAJECTORY_AUTO) {
    const guint n = split (line, 0, cells);
    trajectory->format = n == 8    ? NDT_TRAJECTORY_TUM
                         : n == 12 ? NDT_TRAJECTORY_KITTI
                                   : NDT_TRAJECTORY_CSV;
  }
  trajectory->has_times = trajectory->format == NDT_TRAJECTORY_TUM;
  if (trajectory->format != NDT_TRAJECTORY_CSV)
    return TRUE;
  parse_csv_header (reader, cells, split (line, ',', cells), error);
  return FALSE;
}

static gboolean
parse_line (Reader *reader, NdtToken line, GError **error)
{
  NdtTrajectory *trajectory = reader->trajectory;
  NdtToken cells[MAX_CELLS];
  Entry entry = {0};
  gboolean ok;
  if (trajectory->format == NDT_TRAJECTORY_CSV)
    ok = parse_csv (reader, cells, split (line, ',', cells), &entry, error);
  else if (trajectory->format == NDT_TRAJECTORY_KITTI)
    ok = parse_kitti (cells, split (line, 0, cells), &entry, error);
  else
    ok = parse_tum (cells, split (line, 0, cells), &entry, error);
  if (!ok)
    return FALSE;

  GArray *entries = trajectory->entries;
  if (trajectory->has_times && entries->len > 0 &&
      g_array_index (entries, Entry, entries->len - 1).time > entry.time)
    return ndt_text_fail (error, "its time is before that of the line before");
  g_array_append_val (entries, entry);
  return TRUE;
}

static gboolean
parse (NdtTrajectory *trajectory, const gchar *text, gsize size, guint64 *number, GError **error)
{
  Reader reader = {trajectory};
  const gchar *cursor = text;
  NdtToken line;
  gboolean first = TRUE;
  while (ndt_text_next_line (&cursor, text + size, &line)) {
    NdtToken rest = line, word;
    g_autoptr (GError) cause = NULL;
    (*number)++;
    if (!ndt_text_next_token (&rest, 0, &word) || word.start[0] == '#')
      continue;
    if (first && !parse_first_line (&reader, line, &cause) && !cause) {
      first = FALSE;
      continue;
    }
    first = FALSE;
    if (cause || !parse_line (&reader, line, &cause)) {
      g_propagate_error (error, g_steal_pointer (&cause));
      return FALSE;
    }
  }
  return TRUE;
}

NdtTrajectory *
ndt_trajectory_parse (
    const gchar *text, gsize size, const gchar *name, NdtTrajectoryFormat format, GError **error)
{
  g_autoptr (NdtTrajectory) trajectory = g_new0 (NdtTrajectory, 1);
  guint64 number = 0;
  trajectory->format = format;
  trajectory->entries = g_array_new (FALSE, FALSE, sizeof (Entry));
  if (!parse (trajectory, text, size, &number, error)) {
    g_prefix_error (error, "%s, line %" G_GUINT64_FORMAT ": ", name, number);
    return NULL;
  }
  if (trajectory->entries->len == 0) {
    ndt_text_fail (error, "%s has no poses", name);
    return NULL;
  }
  return g_steal_pointer (&trajectory);
}

NdtTrajectory *
ndt_trajectory_load (const gchar *path, NdtTrajectoryFormat format, GError **error)
{
  g_autofree gchar *text = NULL;
  g_autofree gchar *name = g_filename_display_name (path);
  g_autoptr (GError) cause = NULL;
  gsize size;
  if (!g_file_get_contents (path, &text, &size, &cause)) {
    g_set_error_literal (error, NDT_ERROR, NDT_ERROR_IO, cause->message);
    return NULL;
  }
  return ndt_trajectory_parse (text, size, name, format, error);
}

void
ndt_trajectory_free (NdtTrajectory *trajectory)
{
  if (!trajectory)
    return;
  g_array_unref (trajectory->entries);
  g_free (trajectory);
}

NdtTrajectoryFormat
ndt_trajectory_get_format (const NdtTrajectory *trajectory)
{
  return trajectory->format;
}

gsize
ndt_trajectory_get_n_poses (const NdtTrajectory *trajectory)
{
  return trajectory->entries->len;
}

gboolean
ndt_trajectory_has_times (const NdtTrajectory *trajectory)
{
  return trajectory->has_times;
}

static const Entry *
get_entry (const NdtTrajectory *trajectory, gsize index)
{
  return &g_array_index (trajectory->entries, Entry, index);
}

const NdtPose *
ndt_trajectory_get_pose (const NdtTrajectory *trajectory, gsize index)
{
  const Entry *entry = get_entry (trajectory, index);
  return entry->has_pose ? &entry->pose : NULL;
}

gint64
ndt_trajectory_get_time (const NdtTrajectory *trajectory, gsize index)
{
  return get_entry (trajectory, index)->time;
}

gboolean
ndt_trajectory_interpolate (
    const NdtTrajectory *trajectory, gint64 time, gint64 max_gap, NdtPose *out)
{
  /* The first entry that is not before @time. */
  gsize low = 0, high = trajectory->entries->len;
  if (!trajectory->has_times)
    return FALSE;
  while (low < high) {
    const gsize middle = low + (high - low) / 2;
    if (get_entry (trajectory, middle)->time < time)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == trajectory->entries->len)
    return FALSE;
  const Entry *after = get_entry (trajectory, low);
  if (after->time == time) {
    *out = after->pose;
    return after->has_pose;
  }
  if (low == 0)
    return FALSE;
  const Entry *before = get_entry (trajectory, low - 1);
  const gint64 gap = after->time - before->time;
  if (!before->has_pose || !after->has_pose || (max_gap > 0 && gap > max_gap))
    return FALSE;
  ndt_pose_interpolate (
      &before->pose, &after->pose, (double)(time - before->time) / (double)gap, out);
  return TRUE;
}

void
ndt_pose_errors_add (NdtPoseErrors *errors, const NdtPose *pose, const NdtPose *truth,
    double *metres, double *radians)
{
  double m, rad;
  ndt_pose_difference (pose, truth, &m, &rad);
  errors->n++;
  errors->sum_m += m;
  errors->sum_squares_m += m * m;
  errors->max_m = MAX (errors->max_m, m);
  errors->sum_rad += rad;
  errors->max_rad = MAX (errors->max_rad, rad);
  if (metres)
    *metres = m;
  if (radians)
    *radians = rad;
}
