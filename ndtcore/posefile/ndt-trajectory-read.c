/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "ndt-trajectory-columns.h"
#include "ndt-trajectory-private.h"
#include "ndtcore/base/ndt-file.h"
#include "ndtcore/base/ndt-tuning.h"

typedef struct {
  NdtTrajectory *trajectory;
  gboolean is_settled; /* format, separator and columns are known */
  gchar separator;     /* 0: white space */
  NdtTrajectoryColumns columns;
  NdtTrajectoryColumns names;   /* of a comment; n_cells 0: there is none */
  gchar *quoted[NDT_N_COLUMNS]; /* names of the columns, for the description */
  gchar *commented[NDT_N_COLUMNS];
  GError *fault; /* of names in a comment of n_faulty cells */
  guint n_faulty;
  gboolean is_guessed; /* the unit of times, by their size */
  guint64 n_whole;     /* times that are whole numbers */
} Reader;

static gboolean
parse_numbers (const Reader *reader, const NdtToken *cells, guint n, double *values, GError **error)
{
  for (guint i = 0; i < n; i++) {
    if (!ndt_token_to_double (&cells[i], &values[i])) {
      g_autofree gchar *text = ndt_token_dup (&cells[i]);
      if (reader->separator == ';' && strchr (text, ','))
        return ndt_text_fail (error, "'%s' has a decimal comma: numbers have a point", text);
      return ndt_text_fail (error, "'%s' is not a number", text);
    }
  }
  return TRUE;
}

static gboolean
is_number (const NdtToken *cell)
{
  double value;
  return ndt_token_to_double (cell, &value);
}

/* Metres: half the circumference of the Earth, beyond which no frame on it has a coordinate. */
#define MAX_POSITION 2.1e7

static gboolean
check_position (const double position[3], GError **error)
{
  for (guint i = 0; i < 3; i++)
    if (fabs (position[i]) > MAX_POSITION)
      return ndt_text_fail (error,
          "a position has the coordinate %g, and no frame on the Earth reaches 21,000 km: "
          "positions "
          "are in metres",
          position[i]);
  return TRUE;
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
  if (!ndt_pose_normalize (pose))
    return ndt_text_fail (error, "a pose has to be finite");
  return check_position (pose->position, error);
}

/* ---- Times ---- */

static gboolean
refuse_unit (const NdtToken *cell, GError **error)
{
  g_autofree gchar *text = ndt_token_dup (cell);
  return ndt_text_fail (error,
      "'%s' is not a time in seconds, and its unit is not given: call the column time_ns, "
      "time_us or time_ms (or \"time [ns]\")",
      text);
}

static gboolean
parse_time (Reader *reader, const NdtToken *cell, gint64 *time, GError **error)
{
  NdtTimeUnit *unit = &reader->columns.unit;
  if (*unit == NDT_TIME_UNIT_UNKNOWN) {
    double value;
    if (ndt_token_to_double (cell, &value) && isfinite (value)) {
      *unit = ndt_time_unit_guess (value);
      reader->is_guessed = TRUE;
      if (*unit == NDT_TIME_UNIT_UNKNOWN)
        return refuse_unit (cell, error);
    }
  }
  reader->n_whole += memchr (cell->start, '.', cell->size) == NULL;
  if (*unit != NDT_TIME_UNIT_UNKNOWN && ndt_time_from_token (cell, *unit, time))
    return TRUE;
  if (reader->is_guessed && is_number (cell))
    return refuse_unit (cell, error);
  g_autofree gchar *text = ndt_token_dup (cell);
  return ndt_text_fail (error, "'%s' is not a time in %s", text,
      ndt_time_unit_to_string (*unit == NDT_TIME_UNIT_UNKNOWN ? NDT_TIME_UNIT_S : *unit));
}

/* "sec, nsec" */
static gboolean
parse_time_in_two (
    const NdtTrajectoryColumns *columns, const NdtToken *cells, gint64 *time, GError **error)
{
  const NdtToken *seconds = &cells[columns->at[NDT_COLUMN_TIME]];
  const NdtToken *rest = &cells[columns->at[NDT_COLUMN_FRACTION]];
  gint64 fraction;
  if (ndt_time_from_token (seconds, NDT_TIME_UNIT_S, time) && *time % 1000000000 == 0 &&
      ndt_time_from_token (rest, columns->fraction_unit, &fraction) && fraction >= 0 &&
      fraction < 1000000000 && *time < G_MAXINT64 - fraction) {
    *time += fraction;
    return TRUE;
  }
  g_autofree gchar *a = ndt_token_dup (seconds), *b = ndt_token_dup (rest);
  return ndt_text_fail (error, "'%s' and '%s' are not whole seconds and %s below a second", a, b,
      ndt_time_unit_to_string (columns->fraction_unit));
}

/* Refuses whole numbers whose steps are too large for seconds. */
static gboolean
check_guess (const Reader *reader, GError **error)
{
  const NdtTrajectory *trajectory = reader->trajectory;
  const guint n = trajectory->entries->len;
  if (!reader->is_guessed || reader->columns.unit != NDT_TIME_UNIT_S || n < 2 ||
      reader->n_whole < n)
    return TRUE;
  const gint64 first = g_array_index (trajectory->entries, NdtTrajectoryEntry, 0).time;
  const gint64 last = g_array_index (trajectory->entries, NdtTrajectoryEntry, n - 1).time;
  const double step = ((double)last - (double)first) * 1e-9 / (n - 1);
  return step < NDT_POSE_STEP_LIMIT ||
         ndt_text_fail (error,
             "its times are whole numbers, %g apart: hardly seconds, and their unit is not "
             "given: call the column time_ns, time_us or time_ms (or \"time [ns]\")",
             step);
}

/* ---- Lines with poses ---- */

static gboolean
parse_tum (
    Reader *reader, const NdtToken *cells, guint n, NdtTrajectoryEntry *entry, GError **error)
{
  double values[7];
  if (n != 8)
    return ndt_text_fail (error, "has %u columns, not the 8 of TUM: time tx ty tz qx qy qz qw", n);
  entry->has_pose = TRUE;
  return parse_time (reader, &cells[0], &entry->time, error) &&
         parse_numbers (reader, cells + 1, 7, values, error) &&
         pose_from_values (values, &entry->pose, error);
}

static gboolean
parse_kitti (
    const Reader *reader, const NdtToken *cells, guint n, NdtTrajectoryEntry *entry, GError **error)
{
  double matrix[16] = {[15] = 1};
  guint n_nan = 0;
  if (n != 12)
    return ndt_text_fail (error, "has %u columns, not the 12 of KITTI", n);
  if (!parse_numbers (reader, cells, 12, matrix, error))
    return FALSE;
  for (guint i = 0; i < 12; i++)
    n_nan += isnan (matrix[i]);
  entry->has_pose = n_nan < 12;
  if (entry->has_pose && !ndt_pose_from_matrix4 (matrix, &entry->pose))
    return ndt_text_fail (error, "is no rigid transform: a rotation and a finite position");
  return !entry->has_pose || check_position (entry->pose.position, error);
}

static const gchar *
find_status (const NdtToken *cell)
{
  static const gchar *const words[] = {"initializing", "tracking", "degraded", "lost", "skipped"};

  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    if (cell->size == strlen (words[i]) && memcmp (cell->start, words[i], cell->size) == 0)
      return words[i];
  return NULL;
}

static gboolean
parse_named (
    Reader *reader, const NdtToken *cells, guint n, NdtTrajectoryEntry *entry, GError **error)
{
  const NdtTrajectoryColumns *columns = &reader->columns;
  double values[7];
  NdtToken pose[7];
  guint n_empty = 0, n_nan = 0;
  if (n != columns->n_cells)
    return ndt_text_fail (
        error, "has %u columns where the line of names has %u", n, columns->n_cells);
  if (columns->at[NDT_COLUMN_FRACTION] >= 0) {
    if (!parse_time_in_two (columns, cells, &entry->time, error))
      return FALSE;
  } else if (columns->at[NDT_COLUMN_TIME] >= 0 &&
             !parse_time (reader, &cells[columns->at[NDT_COLUMN_TIME]], &entry->time, error)) {
    return FALSE;
  }
  if (columns->status >= 0)
    entry->status = find_status (&cells[columns->status]);
  for (guint i = 0; i < 7; i++) {
    pose[i] = cells[columns->at[NDT_COLUMN_X + i]];
    n_empty += pose[i].size == 0;
  }
  entry->has_pose = n_empty < 7;
  if (!entry->has_pose)
    return TRUE;
  if (!parse_numbers (reader, pose, 7, values, error))
    return FALSE;
  for (guint i = 0; i < 7; i++)
    n_nan += isnan (values[i]);
  entry->has_pose = n_nan < 7;
  return !entry->has_pose || pose_from_values (values, &entry->pose, error);
}

static gboolean
parse_line (Reader *reader, NdtToken line, GError **error)
{
  NdtTrajectory *trajectory = reader->trajectory;
  NdtToken cells[NDT_TRAJECTORY_MAX_CELLS];
  NdtTrajectoryEntry entry = {0};
  guint n = ndt_trajectory_split (line, reader->separator, cells);
  gboolean ok;
  const guint expected = trajectory->format == NDT_TRAJECTORY_CSV     ? reader->columns.n_cells
                         : trajectory->format == NDT_TRAJECTORY_KITTI ? 12
                                                                      : 8;
  /* "a,b," */
  if (n == expected + 1 && n <= NDT_TRAJECTORY_MAX_CELLS && cells[n - 1].size == 0)
    n--;
  if (trajectory->format == NDT_TRAJECTORY_CSV)
    ok = parse_named (reader, cells, n, &entry, error);
  else if (trajectory->format == NDT_TRAJECTORY_KITTI)
    ok = parse_kitti (reader, cells, n, &entry, error);
  else
    ok = parse_tum (reader, cells, n, &entry, error);
  if (!ok)
    return FALSE;

  GArray *entries = trajectory->entries;
  if (trajectory->has_times && entries->len > 0 &&
      g_array_index (entries, NdtTrajectoryEntry, entries->len - 1).time > entry.time)
    return ndt_text_fail (error, "its time is before that of the line before");
  g_array_append_val (entries, entry);
  return TRUE;
}

/* ---- What the file is ---- */

static gchar
find_separator (NdtToken line)
{
  guint n_semicolons = 0;
  for (gsize i = 0; i < line.size; i++)
    n_semicolons += line.start[i] == ';';
  return n_semicolons >= 6 ? ';' : memchr (line.start, ',', line.size) ? ',' : '\0';
}

static void
quote (gchar *quoted[NDT_N_COLUMNS], const NdtToken *cells, const NdtTrajectoryColumns *columns)
{
  for (guint k = 0; k < NDT_N_COLUMNS; k++) {
    g_free (quoted[k]);
    quoted[k] = columns->at[k] >= 0 ? ndt_token_dup (&cells[columns->at[k]]) : NULL;
  }
}

/* A comment before the first pose, which may name the columns. */
static void
look_at_comment (Reader *reader, NdtToken line)
{
  NdtToken cells[NDT_TRAJECTORY_MAX_CELLS];
  NdtTrajectoryColumns columns;
  while (line.size > 0 && strchr ("#%/ \t", line.start[0])) {
    line.start++;
    line.size--;
  }
  const guint n = ndt_trajectory_split (line, find_separator (line), cells);
  g_autoptr (GError) fault = NULL;
  const NdtNames names = ndt_trajectory_read_names (cells, n, &columns, &fault);
  if (names == NDT_NAMES_NONE)
    return;
  g_clear_error (&reader->fault);
  reader->names.n_cells = 0;
  if (names == NDT_NAMES_GOOD) {
    reader->names = columns;
    quote (reader->commented, cells, &columns);
  } else {
    reader->fault = g_steal_pointer (&fault);
    reader->n_faulty = columns.n_cells;
  }
}

/* FALSE where the columns are those of TUM's files: time in seconds, position, quaternion. */
static gboolean
differs_from_tum (const NdtTrajectoryColumns *columns)
{
  static const gint tum[NDT_N_COLUMNS] = {0, -1, 1, 2, 3, 4, 5, 6, 7};
  return columns->n_cells != 8 || memcmp (columns->at, tum, sizeof (tum)) != 0 ||
         columns->unit > NDT_TIME_UNIT_S;
}

static gboolean
refuse_nameless (const Reader *reader, const NdtToken *cells, guint n, GError **error)
{
  if (!is_number (&cells[0]) && cells[0].size > 0) {
    g_autofree gchar *first = ndt_token_dup (&cells[0]);
    return ndt_text_fail (error,
        "names no column 'x': of a position x, y, z (or tx, p_x, position.x …) and a quaternion "
        "qx, "
        "qy, qz, qw are read; the line begins with '%s'",
        first);
  }
  if (n == 8)
    return ndt_text_fail (error,
        "has 8 numbers by '%c' and no line of names: a quaternion may begin with w (EuRoC) or with "
        "x; "
        "add a first line, as \"time,x,y,z,qw,qx,qy,qz\"",
        reader->separator);
  return ndt_text_fail (error,
      "names no column 'x' and has %u columns; TUM has 8 and KITTI 12, parted by blanks, and "
      "others "
      "need a line of names",
      n);
}

/* Settles format, separator and columns by the first line that is no comment. *has_pose: it is a
 * pose, and not names. */
static gboolean
settle (Reader *reader, NdtToken line, gboolean *has_pose, GError **error)
{
  NdtTrajectory *trajectory = reader->trajectory;
  const NdtTrajectoryFormat wanted = trajectory->format;
  NdtToken cells[NDT_TRAJECTORY_MAX_CELLS];
  reader->separator = find_separator (line);
  guint n = ndt_trajectory_split (line, reader->separator, cells);
  if (n > NDT_TRAJECTORY_MAX_CELLS)
    return ndt_text_fail (error, "has more than %d columns", NDT_TRAJECTORY_MAX_CELLS);
  reader->is_settled = TRUE;
  *has_pose = TRUE;

  NdtNames names = NDT_NAMES_NONE;
  if (wanted == NDT_TRAJECTORY_AUTO || wanted == NDT_TRAJECTORY_CSV) {
    names = ndt_trajectory_read_names (cells, n, &reader->columns, error);
    if (names == NDT_NAMES_BAD)
      return FALSE;
    if (names == NDT_NAMES_GOOD) {
      *has_pose = FALSE;
      quote (reader->quoted, cells, &reader->columns);
    }
  }
  while (
      names == NDT_NAMES_NONE && n > 1 && n <= NDT_TRAJECTORY_MAX_CELLS && cells[n - 1].size == 0)
    n--;
  const gboolean auto_or_csv = wanted == NDT_TRAJECTORY_AUTO || wanted == NDT_TRAJECTORY_CSV;
  if (names == NDT_NAMES_NONE && auto_or_csv && reader->names.n_cells > 0 &&
      (reader->names.n_cells == n || reader->separator)) {
    names = NDT_NAMES_GOOD;
    reader->columns = reader->names;
    memcpy (reader->quoted, reader->commented, sizeof (reader->quoted));
    memset (reader->commented, 0, sizeof (reader->commented));
  }
  if (names == NDT_NAMES_NONE && auto_or_csv && reader->fault && reader->n_faulty == n) {
    g_propagate_error (error, g_steal_pointer (&reader->fault));
    return FALSE;
  }
  const gboolean is_table = names == NDT_NAMES_GOOD;
  if (wanted == NDT_TRAJECTORY_AUTO && is_table && !reader->separator &&
      !differs_from_tum (&reader->columns))
    trajectory->format = NDT_TRAJECTORY_TUM;
  else if (is_table)
    trajectory->format = NDT_TRAJECTORY_CSV;
  else if (wanted == NDT_TRAJECTORY_AUTO && n == 8 && !reader->separator)
    trajectory->format = NDT_TRAJECTORY_TUM;
  else if (wanted == NDT_TRAJECTORY_AUTO && n == 12)
    trajectory->format = NDT_TRAJECTORY_KITTI;
  else if (auto_or_csv)
    return refuse_nameless (reader, cells, n, error);
  trajectory->has_times =
      trajectory->format == NDT_TRAJECTORY_TUM ||
      (trajectory->format == NDT_TRAJECTORY_CSV && reader->columns.at[NDT_COLUMN_TIME] >= 0);
  return TRUE;
}

static gboolean
parse (Reader *reader, const gchar *text, gsize size, guint64 *number, GError **error)
{
  const gchar *cursor = text;
  NdtToken line;
  if (size >= 2 && (memcmp (text, "\xff\xfe", 2) == 0 || memcmp (text, "\xfe\xff", 2) == 0))
    return ndt_text_fail (error, "is UTF-16: save the file as UTF-8");
  if (size >= 3 && memcmp (text, "\xef\xbb\xbf", 3) == 0)
    cursor += 3;
  while (ndt_text_next_line (&cursor, text + size, &line)) {
    NdtToken rest = line, word;
    gboolean has_pose = TRUE;
    (*number)++;
    if (!ndt_text_next_token (&rest, 0, &word))
      continue;
    if (word.start[0] == '#' || word.start[0] == '%' ||
        (word.size >= 2 && memcmp (word.start, "//", 2) == 0)) {
      if (!reader->is_settled)
        look_at_comment (reader, line);
      continue;
    }
    if (!reader->is_settled && !settle (reader, line, &has_pose, error))
      return FALSE;
    if (has_pose && !parse_line (reader, line, error))
      return FALSE;
  }
  return check_guess (reader, error);
}

/* A description of the columns that were read. */
static gchar *
describe (const Reader *reader)
{
  const NdtTrajectory *trajectory = reader->trajectory;
  const NdtTrajectoryColumns *columns = &reader->columns;
  gchar *const *q = reader->quoted;
  if (trajectory->format == NDT_TRAJECTORY_KITTI)
    return g_strdup ("KITTI: rows of 3×4 matrices, no times");
  const gchar *unit = ndt_time_unit_to_string (columns->unit);
  const gchar *how =
      reader->is_guessed && columns->unit != NDT_TIME_UNIT_S ? ", by their size" : "";
  if (trajectory->format == NDT_TRAJECTORY_TUM)
    return g_strdup_printf ("TUM: times in %s%s, x y z, qx qy qz qw", unit, how);
  g_autofree gchar *times =
      !trajectory->has_times ? g_strdup ("no times")
      : columns->at[NDT_COLUMN_FRACTION] >= 0
          ? g_strdup_printf ("times of '%s' in seconds and '%s' in %s", q[NDT_COLUMN_TIME],
                q[NDT_COLUMN_FRACTION], ndt_time_unit_to_string (columns->fraction_unit))
          : g_strdup_printf ("times of '%s' in %s%s", q[NDT_COLUMN_TIME], unit, how);
  const gint *at = columns->at;
  return g_strdup_printf ("by names: %s, position of '%s', '%s', '%s', quaternion of '%s', '%s', "
                          "'%s', '%s'%s",
      times, q[NDT_COLUMN_X], q[NDT_COLUMN_X + 1], q[NDT_COLUMN_X + 2], q[NDT_COLUMN_QX],
      q[NDT_COLUMN_QX + 1], q[NDT_COLUMN_QX + 2], q[NDT_COLUMN_QX + 3],
      at[NDT_COLUMN_QX + 3] < at[NDT_COLUMN_QX] ? " (w first)" : "");
}

NdtTrajectory *
ndt_trajectory_parse (
    const gchar *text, gsize size, const gchar *name, NdtTrajectoryFormat format, GError **error)
{
  NdtTrajectory *trajectory = g_new0 (NdtTrajectory, 1);
  Reader reader = {.trajectory = trajectory};
  guint64 number = 0;
  trajectory->format = format;
  trajectory->entries = g_array_new (FALSE, FALSE, sizeof (NdtTrajectoryEntry));
  gboolean ok = parse (&reader, text, size, &number, error);
  if (!ok)
    g_prefix_error (error, "%s, line %" G_GUINT64_FORMAT ": ", name, number);
  else if (trajectory->entries->len == 0)
    ok = ndt_text_fail (error, "%s has no poses", name);
  else
    trajectory->description = describe (&reader);
  for (guint k = 0; k < NDT_N_COLUMNS; k++) {
    g_free (reader.quoted[k]);
    g_free (reader.commented[k]);
  }
  g_clear_error (&reader.fault);
  if (ok)
    return trajectory;
  ndt_trajectory_free (trajectory);
  return NULL;
}

NdtTrajectory *
ndt_trajectory_load (const gchar *path, NdtTrajectoryFormat format, GError **error)
{
  g_autofree gchar *text = NULL;
  g_autofree gchar *name = g_filename_display_name (path);
  gsize size;
  if (!ndt_file_read (path, NDT_TRAJECTORY_MAX_SIZE, &text, &size, error))
    return NULL;
  return ndt_trajectory_parse (text, size, name, format, error);
}
