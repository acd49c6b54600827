/* SPDX-License-Identifier: MIT */
#include "ndt-trajectory-columns.h"

#include <math.h>
#include <string.h>

#define MAX_NAME 64

/* ---- Cells ---- */

guint
ndt_trajectory_split (NdtToken line, gchar separator, NdtToken cells[NDT_TRAJECTORY_MAX_CELLS])
{
  NdtToken cell;
  guint n = 0;
  while (ndt_text_next_token (&line, separator, &cell)) {
    if (cell.size >= 2 && cell.start[0] == '"' && cell.start[cell.size - 1] == '"') {
      cell.start++;
      cell.size -= 2;
    }
    if (n < NDT_TRAJECTORY_MAX_CELLS)
      cells[n] = cell;
    n++;
  }
  return n;
}

/* ---- Times ---- */

static const gint exponents[] = {
    [NDT_TIME_UNIT_S] = 9, [NDT_TIME_UNIT_MS] = 6, [NDT_TIME_UNIT_US] = 3, [NDT_TIME_UNIT_NS] = 0};

const gchar *
ndt_time_unit_to_string (NdtTimeUnit unit)
{
  static const gchar *const names[] = {
      "an unknown unit", "seconds", "milliseconds", "microseconds", "nanoseconds"};
  return names[unit];
}

gboolean
ndt_time_from_token (const NdtToken *token, NdtTimeUnit unit, gint64 *time)
{
  return ndt_token_to_scaled (token, exponents[unit], time);
}

NdtTimeUnit
ndt_time_unit_guess (double time)
{
  /* Seconds from 1970 to 2000 and to 2100. */
  static const double first = 946684800, last = 4102444800;
  double scale = 1;
  if (fabs (time) < 1e11)
    return NDT_TIME_UNIT_S;
  for (NdtTimeUnit unit = NDT_TIME_UNIT_MS; unit <= NDT_TIME_UNIT_NS; unit++) {
    scale *= 1000;
    if (time >= first * scale && time <= last * scale)
      return unit;
  }
  return NDT_TIME_UNIT_UNKNOWN;
}

/* ---- Names ---- */

/* A column's name: lower case, words joined by one "_" each, units apart. */
typedef struct {
  gchar text[MAX_NAME];
  gchar unit[16];
  gboolean has_unit;
} Name;

static gboolean
is_one_of (const gchar *text, const gchar *const *list)
{
  for (; *list; list++)
    if (strcmp (text, *list) == 0)
      return TRUE;
  return FALSE;
}

static NdtTimeUnit
unit_from_text (const gchar *text)
{
  static const gchar *const s[] = {"s", "sec", "secs", "second", "seconds", NULL};
  static const gchar *const ms[] = {"ms", "msec", "msecs", "millisec", "milliseconds", NULL};
  static const gchar *const us[] = {"us", "usec", "usecs", "microsec", "microseconds", NULL};
  static const gchar *const ns[] = {
      "ns", "nsec", "nsecs", "nanosec", "nanosecs", "nanosecond", "nanoseconds", NULL};
  return is_one_of (text, s)    ? NDT_TIME_UNIT_S
         : is_one_of (text, ms) ? NDT_TIME_UNIT_MS
         : is_one_of (text, us) ? NDT_TIME_UNIT_US
         : is_one_of (text, ns) ? NDT_TIME_UNIT_NS
                                : NDT_TIME_UNIT_UNKNOWN;
}

static void
name_init (Name *name, const NdtToken *token)
{
  gsize n = 0, n_unit = 0;
  gint depth = 0;
  memset (name, 0, sizeof (*name));
  for (gsize i = 0; i < token->size; i++) {
    const gchar c = g_ascii_tolower (token->start[i]);
    if (c == '[' || c == '(') {
      depth++;
      name->has_unit = TRUE;
    } else if (c == ']' || c == ')') {
      depth = MAX (depth - 1, 0);
    } else if (depth > 0) {
      if (!g_ascii_isspace (c) && n_unit + 1 < sizeof name->unit)
        name->unit[n_unit++] = c;
    } else if (g_ascii_isalnum (c)) {
      if (n + 1 < sizeof name->text)
        name->text[n++] = c;
    } else if (n > 0 && name->text[n - 1] != '_' && n + 1 < sizeof name->text) {
      name->text[n++] = '_';
    }
  }
  while (n > 0 && name->text[n - 1] == '_')
    n--;
  name->text[n] = '\0';
  /* "µs". */
  if (strcmp (name->unit, "\xc2\xb5s") == 0 || strcmp (name->unit, "\xce\xbcs") == 0)
    strcpy (name->unit, "us");
}

/* Cuts the last word off; NULL where there is one word only. */
static const gchar *
last_word (const gchar *text, gchar base[MAX_NAME])
{
  const gchar *bar = strrchr (text, '_');
  base[0] = '\0';
  if (!bar)
    return text;
  memcpy (base, text, (gsize)(bar - text));
  base[bar - text] = '\0';
  return bar + 1;
}

/* TRUE where the last word of @base is one of @list: "pose_pose_position" is a position. */
static gboolean
ends_with (const gchar *base, const gchar *const *list)
{
  gchar before[MAX_NAME];
  return is_one_of (last_word (base, before), list);
}

/* 0 … 2 of a position's column, -1 of another's. */
static gint
position_axis (const Name *name)
{
  static const gchar *const fused[3][5] = {{"x", "tx", "px", "posx", NULL},
      {"y", "ty", "py", "posy", NULL}, {"z", "tz", "pz", "posz", NULL}};
  static const gchar *const bases[] = {
      "t", "p", "pos", "position", "trans", "translation", "location", "xyz", NULL};
  static const gchar *const metres[] = {"m", "meter", "meters", "metre", "metres", NULL};
  gchar text[MAX_NAME], base[MAX_NAME];
  g_strlcpy (text, name->text, sizeof text);
  /* "x_m" */
  const gchar *word = last_word (text, base);
  if (base[0] && is_one_of (word, metres))
    g_strlcpy (text, base, sizeof text);
  for (gint k = 0; k < 3; k++)
    if (is_one_of (text, fused[k]))
      return k;
  word = last_word (text, base);
  if (word[0] < 'x' || word[0] > 'z' || word[1] != '\0')
    return -1;
  /* EuRoC's p_RS_R_x. */
  return ends_with (base, bases) || g_str_has_prefix (base, "p_") ? word[0] - 'x' : -1;
}

/* 0 … 3 of a quaternion's column (x y z w), -1 of another's. */
static gint
quaternion_part (const Name *name)
{
  static const gchar parts[] = "xyzw";
  static const gchar *const bases[] = {
      "q", "quat", "quaternion", "orientation", "rotation", "rot", "ori", "attitude", NULL};
  gchar base[MAX_NAME];
  if (name->text[0] == 'q' && name->text[1] && !name->text[2] && strchr (parts, name->text[1]))
    return (gint)(strchr (parts, name->text[1]) - parts);
  const gchar *word = last_word (name->text, base);
  if (!word[0] || word[1] || !strchr (parts, word[0]))
    return -1;
  return ends_with (base, bases) || g_str_has_prefix (base, "q_")
             ? (gint)(strchr (parts, word[0]) - parts)
             : -1;
}

/* A time's column: its unit, as its name has it. @is_bare: it has the name of a unit alone. */
static gboolean
is_time (const Name *name, NdtTimeUnit *unit, gboolean *is_bare)
{
  static const gchar *const names[] = {"time", "times", "timestamp", "timestamps", "t", "ts",
      "stamp", "tv", "utime", "unixtime", "epoch", NULL};
  gchar base[MAX_NAME];
  *unit = name->has_unit ? unit_from_text (name->unit) : NDT_TIME_UNIT_UNKNOWN;
  *is_bare = FALSE;
  if (ends_with (name->text, names))
    return TRUE;
  const gchar *word = last_word (name->text, base);
  const NdtTimeUnit suffix = unit_from_text (word);
  if (suffix == NDT_TIME_UNIT_UNKNOWN)
    return FALSE;
  /* A column "s" may be an arc length as well. */
  *is_bare = base[0] == '\0' && word[1] != '\0';
  *unit = suffix;
  return *is_bare || ends_with (base, names);
}

/* ---- A line of names ---- */

/* Joins "[ns]" with the name before it. */
static guint
join_units (NdtToken *cells, guint n)
{
  guint m = 0;
  for (guint i = 0; i < n; i++) {
    const gchar c = cells[i].size > 0 ? cells[i].start[0] : '\0';
    if (m > 0 && (c == '[' || c == '(') && cells[i].start > cells[m - 1].start)
      cells[m - 1].size = (gsize)(cells[i].start + cells[i].size - cells[m - 1].start);
    else
      cells[m++] = cells[i];
  }
  return m;
}

static gboolean
refuse_twice (const gchar *what, const NdtToken *a, const NdtToken *b, GError **error)
{
  g_autofree gchar *first = ndt_token_dup (a), *second = ndt_token_dup (b);
  return ndt_text_fail (
      error, "names %s twice, '%s' and '%s': leave one of them", what, first, second);
}

/* ROS: the time of measurement; other times of the row are of reception. */
static gboolean
is_header_stamp (const NdtToken *cell)
{
  Name name;
  name_init (&name, cell);
  return strstr (name.text, "header_stamp") != NULL;
}

/* Finds the column of times and, where there is one, that of the fraction of a second. */
static gboolean
add_time (
    NdtTrajectoryColumns *columns, const NdtToken *cells, guint i, NdtTimeUnit unit, GError **error)
{
  const gint before = columns->at[NDT_COLUMN_TIME];
  const gboolean is_stamp = is_header_stamp (&cells[i]);
  const gboolean was_stamp = before >= 0 && is_header_stamp (&cells[before]);
  if (was_stamp && !is_stamp)
    return TRUE;
  if (before < 0 || (is_stamp && !was_stamp)) {
    columns->at[NDT_COLUMN_TIME] = (gint)i;
    columns->at[NDT_COLUMN_FRACTION] = -1;
    columns->unit = unit;
    return TRUE;
  }
  /* "sec, nsec"; also "stamp.sec, stamp.nanosec". */
  const gboolean is_fraction = columns->unit == NDT_TIME_UNIT_S && unit > NDT_TIME_UNIT_S;
  if (is_fraction && columns->at[NDT_COLUMN_FRACTION] < 0) {
    columns->at[NDT_COLUMN_FRACTION] = (gint)i;
    columns->fraction_unit = unit;
    return TRUE;
  }
  if (unit == NDT_TIME_UNIT_S && columns->unit > NDT_TIME_UNIT_S &&
      columns->at[NDT_COLUMN_FRACTION] < 0) {
    columns->at[NDT_COLUMN_FRACTION] = before;
    columns->fraction_unit = columns->unit;
    columns->at[NDT_COLUMN_TIME] = (gint)i;
    columns->unit = unit;
    return TRUE;
  }
  return refuse_twice ("a time", &cells[before], &cells[i], error);
}

static NdtNames
refuse_missing (const NdtTrajectoryColumns *columns, const NdtToken *cells, guint n, GError **error)
{
  static const gchar *const names[] = {"x", "y", "z", "qx", "qy", "qz", "qw"};
  guint missing = 0;
  while (columns->at[NDT_COLUMN_X + missing] >= 0)
    missing++;
  gboolean numbered = FALSE, angles = FALSE;
  g_autoptr (GString) found = g_string_new (NULL);
  for (guint i = 0; i < n; i++) {
    Name name;
    gchar base[MAX_NAME];
    name_init (&name, &cells[i]);
    const gchar *word = last_word (name.text, base);
    numbered |= name.text[0] == 'q' && g_ascii_isdigit (name.text[1]) && !name.text[2];
    angles |= strcmp (word, "roll") == 0 || strcmp (word, "yaw") == 0 || strcmp (word, "rx") == 0;
    g_autofree gchar *text = ndt_token_dup (&cells[i]);
    g_string_append_printf (found, "%s%s", i ? ", " : "", text);
  }
  if (missing >= 3 && numbered)
    ndt_text_fail (error, "numbers the parts of its quaternion (q0, q1 …), which begins with w in "
                          "some files and with "
                          "x in others: name them qw, qx, qy, qz");
  else if (missing >= 3 && angles)
    ndt_text_fail (error,
        "has angles in the place of a quaternion: their order and axes differ from program to "
        "program; convert them to qx, qy, qz, qw");
  else
    ndt_text_fail (error, "names no column '%s'; it names %.200s", names[missing], found->str);
  return NDT_NAMES_BAD;
}

static gboolean
check_lengths (const Name *name, const NdtToken *cell, GError **error)
{
  static const gchar *const metres[] = {"", "m", "meter", "meters", "metre", "metres", NULL};
  if (!name->has_unit || is_one_of (name->unit, metres))
    return TRUE;
  g_autofree gchar *text = ndt_token_dup (cell);
  return ndt_text_fail (
      error, "gives positions in '%s' (column '%s'); metres are read", name->unit, text);
}

NdtNames
ndt_trajectory_read_names (
    const NdtToken *all_cells, guint n, NdtTrajectoryColumns *columns, GError **error)
{
  NdtToken cells[NDT_TRAJECTORY_MAX_CELLS];
  gboolean is_bare = FALSE, any_position = FALSE;
  guint n_times = 0;
  g_autoptr (GError) fault = NULL;
  if (n > NDT_TRAJECTORY_MAX_CELLS)
    return NDT_NAMES_NONE;
  memcpy (cells, all_cells, n * sizeof (NdtToken));
  n = join_units (cells, n);
  if (n > 1 && cells[n - 1].size == 0)
    n--;
  columns->n_cells = n;
  columns->status = -1;
  columns->unit = columns->fraction_unit = NDT_TIME_UNIT_UNKNOWN;
  for (guint k = 0; k < NDT_N_COLUMNS; k++)
    columns->at[k] = -1;
  for (guint i = 0; i < n; i++) {
    Name name;
    NdtTimeUnit unit;
    gboolean bare;
    gint *at = NULL;
    name_init (&name, &cells[i]);
    const gint axis = position_axis (&name), part = quaternion_part (&name);
    if (axis >= 0) {
      at = &columns->at[NDT_COLUMN_X + axis];
      any_position = TRUE;
      if (!fault)
        check_lengths (&name, &cells[i], &fault);
    } else if (part >= 0) {
      at = &columns->at[NDT_COLUMN_QX + part];
    } else if (is_time (&name, &unit, &bare)) {
      is_bare = bare;
      n_times++;
      if (!fault)
        add_time (columns, cells, i, unit, &fault);
      continue;
    }
    if (!at) {
      if (strcmp (name.text, "status") == 0)
        columns->status = (gint)i;
      continue;
    }
    if (*at >= 0 && !fault)
      refuse_twice ("a column", &cells[*at], &cells[i], &fault);
    *at = (gint)i;
  }
  if (!any_position && columns->at[NDT_COLUMN_QX] < 0)
    return NDT_NAMES_NONE;
  if (!fault)
    for (guint k = NDT_COLUMN_X; k < NDT_N_COLUMNS; k++)
      if (columns->at[k] < 0)
        return refuse_missing (columns, cells, n, error);
  /* "nsec" without "sec" may be the whole time or the fraction of a second. */
  if (!fault && n_times == 1 && is_bare && columns->unit > NDT_TIME_UNIT_S) {
    g_autofree gchar *text = ndt_token_dup (&cells[columns->at[NDT_COLUMN_TIME]]);
    ndt_text_fail (&fault,
        "has '%s' without a column of seconds: all of the time (call it time_%s) or what is left "
        "of "
        "a second?",
        text,
        columns->unit == NDT_TIME_UNIT_NS   ? "ns"
        : columns->unit == NDT_TIME_UNIT_US ? "us"
                                            : "ms");
  }
  if (fault) {
    g_propagate_error (error, g_steal_pointer (&fault));
    return NDT_NAMES_BAD;
  }
  return NDT_NAMES_GOOD;
}
