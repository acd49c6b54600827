/* SPDX-License-Identifier: MIT */
#include "ndt-trajectory.h"

/* The shortest of 15 to 17 digits that is read back as the same number. */
static void
append_double (GString *out, double value)
{
  gchar text[G_ASCII_DTOSTR_BUF_SIZE];
  static const gchar *const formats[] = {"%.15g", "%.16g", "%.17g"};
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++) {
    g_ascii_formatd (text, sizeof text, formats[i], value);
    if (g_ascii_strtod (text, NULL) == value)
      break;
  }
  g_string_append (out, text);
}

static void
append_time (GString *out, gint64 time)
{
  const guint64 magnitude = time < 0 ? -(guint64)time : (guint64)time;
  g_string_append_printf (out, "%s%" G_GUINT64_FORMAT ".%09u", time < 0 ? "-" : "",
      magnitude / 1000000000, (guint)(magnitude % 1000000000));
}

static void
append_pose (GString *out, const NdtPose *pose, gchar separator)
{
  for (guint i = 0; i < 3; i++) {
    append_double (out, pose->position[i]);
    g_string_append_c (out, separator);
  }
  for (guint i = 0; i < 4; i++) {
    append_double (out, pose->orientation[i]);
    if (i < 3)
      g_string_append_c (out, separator);
  }
}

static void
append_tum (GString *out, const NdtTrajectoryRecord *record)
{
  if (!record->pose)
    return;
  append_time (out, record->time);
  g_string_append_c (out, ' ');
  append_pose (out, record->pose, ' ');
  g_string_append_c (out, '\n');
}

static void
append_kitti (GString *out, const NdtTrajectoryRecord *record)
{
  double matrix[16];
  if (record->pose)
    ndt_pose_to_matrix4 (record->pose, matrix);
  for (guint i = 0; i < 12; i++) {
    if (record->pose)
      append_double (out, matrix[i]);
    else
      g_string_append (out, "nan");
    g_string_append_c (out, i < 11 ? ' ' : '\n');
  }
}

static void
append_quality (GString *out, const NdtTrajectoryRecord *record)
{
  const double numbers[] = {record->reason_value, record->reason_bound, record->fit, record->sigma};
  g_string_append_printf (out, ",%s", record->reason ? record->reason : "");
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++) {
    g_string_append_c (out, ',');
    if (record->reason)
      append_double (out, numbers[i]);
  }
  const double shares[] = {record->confidence, record->unexplained};
  for (guint i = 0; i < G_N_ELEMENTS (shares); i++) {
    g_string_append_c (out, ',');
    if (record->has_confidence)
      append_double (out, shares[i]);
  }
  g_string_append_c (out, ',');
  for (guint i = 0; i < 3 * record->n_open; i++) {
    if (i > 0)
      g_string_append_c (out, ' ');
    append_double (out, record->open[i]);
  }
}

static void
append_csv (GString *out, const NdtTrajectoryRecord *record)
{
  const double scores[] = {record->transformation_probability, record->nvtl, record->matched_ratio};
  g_string_append_printf (out, "%" G_GUINT64_FORMAT ",", record->index);
  append_time (out, record->time);
  g_string_append_printf (out, ",%s,", record->status ? record->status : "");
  if (record->pose)
    append_pose (out, record->pose, ',');
  else
    g_string_append (out, ",,,,,,");
  for (guint i = 0; i < G_N_ELEMENTS (scores); i++) {
    g_string_append_c (out, ',');
    append_double (out, scores[i]);
  }
  g_string_append_printf (out, ",%u,", record->iterations);
  if (record->has_error)
    append_double (out, record->error_m);
  g_string_append_c (out, ',');
  if (record->has_error)
    append_double (out, record->error_deg);
  append_quality (out, record);
  g_string_append_c (out, '\n');
}

void
ndt_trajectory_write_header (GString *out, NdtTrajectoryFormat format)
{
  if (format == NDT_TRAJECTORY_TUM)
    g_string_append (out, "# time tx ty tz qx qy qz qw\n");
  else if (format == NDT_TRAJECTORY_CSV)
    g_string_append (out, "index,time,status,x,y,z,qx,qy,qz,qw,transformation_probability,nvtl,"
                          "matched_ratio,iterations,error_m,error_deg,reason,reason_value,"
                          "reason_bound,fit,sigma,confidence,unexplained,open_directions\n");
}

void
ndt_trajectory_write_line (
    GString *out, NdtTrajectoryFormat format, const NdtTrajectoryRecord *record)
{
  switch (format) {
  case NDT_TRAJECTORY_KITTI:
    append_kitti (out, record);
    break;
  case NDT_TRAJECTORY_CSV:
    append_csv (out, record);
    break;
  default:
    append_tum (out, record);
    break;
  }
}
