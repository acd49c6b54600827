/* SPDX-License-Identifier: MIT */
#include "ndt-last-pose.h"

#include <math.h>
#include <string.h>

#include "ndtcore/base/ndt-error.h"
#include "ndtcore/base/ndt-file.h"
#include "ndtcore/math/ndt-pose.h"

#define HEAD "gst-ndt last pose 1"
/* Bytes of a file: 43 numbers take about 1,000. */
#define MOST_BYTES 8192

gchar *
ndt_last_pose_to_text (const NdtLastPose *last)
{
  gchar number[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree gchar *pose = ndt_pose_to_string (&last->pose);
  GString *text = g_string_new (HEAD "\n");
  g_string_append_printf (text,
      "map %016" G_GINT64_MODIFIER "x\ntime %" G_GUINT64_FORMAT "\npose %s\ncovariance", last->map,
      last->time, pose);
  for (guint i = 0; i < 36; i++)
    g_string_append_printf (
        text, "%c%s", i ? ',' : ' ', g_ascii_dtostr (number, sizeof number, last->covariance[i]));
  g_string_append (text, "\nend\n");
  return g_string_free (text, FALSE);
}

static gboolean
parse_covariance (const gchar *text, double covariance[36])
{
  for (guint i = 0; i < 36; i++) {
    gchar *end;
    covariance[i] = g_ascii_strtod (text, &end);
    if (end == text || !isfinite (covariance[i]) || *end != (i < 35 ? ',' : '\0'))
      return FALSE;
    text = end + 1;
  }
  for (guint i = 0; i < 6; i++)
    if (covariance[7 * i] < 0)
      return FALSE;
  return TRUE;
}

static gboolean
parse_lines (gchar **lines, NdtLastPose *out)
{
  static const gchar *const keys[] = {"", "map ", "time ", "pose ", "covariance "};
  if (g_strv_length (lines) != 7 || strcmp (lines[0], HEAD) != 0 || strcmp (lines[5], "end") != 0 ||
      lines[6][0] != '\0')
    return FALSE;
  for (guint i = 1; i < G_N_ELEMENTS (keys); i++)
    if (!g_str_has_prefix (lines[i], keys[i]))
      return FALSE;
  return g_ascii_string_to_unsigned (
             lines[1] + 4, 16, 0, G_MAXUINT64, (guint64 *)&out->map, NULL) &&
         g_ascii_string_to_unsigned (
             lines[2] + 5, 10, 0, G_MAXUINT64, (guint64 *)&out->time, NULL) &&
         ndt_pose_parse (lines[3] + 5, &out->pose, NULL) &&
         parse_covariance (lines[4] + 11, out->covariance);
}

gboolean
ndt_last_pose_parse (const gchar *text, NdtLastPose *out, GError **error)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", 8);
  NdtLastPose last;
  if (!parse_lines (lines, &last)) {
    g_set_error_literal (
        error, NDT_ERROR, NDT_ERROR_FORMAT, "it is no whole file of a last pose (\"" HEAD "\")");
    return FALSE;
  }
  *out = last;
  return TRUE;
}

gboolean
ndt_last_pose_read (const gchar *name, NdtLastPose *out, GError **error)
{
  g_autofree gchar *text = NULL;
  gsize size;
  if (!ndt_file_read (name, MOST_BYTES, &text, &size, error))
    return FALSE;
  if (strlen (text) == size)
    return ndt_last_pose_parse (text, out, error);
  return ndt_last_pose_parse ("", out, error);
}

static gboolean
write_text (FILE *out, gpointer text)
{
  return fputs (text, out) >= 0;
}

gboolean
ndt_last_pose_write (const gchar *name, const NdtLastPose *last, GError **error)
{
  g_autofree gchar *text = ndt_last_pose_to_text (last);
  return ndt_file_replace (name, write_text, text, error);
}
