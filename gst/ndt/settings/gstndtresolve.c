/* SPDX-License-Identifier: MIT */
#include "gst/ndt/settings/gstndtresolve.h"

#include <math.h>
#include <string.h>

/* Numbers separated by commas, semicolons or white space. Returns how many, or -1 when there
 * are more than @max or something else. */
static gint
parse_numbers (const gchar *text, gdouble *values, guint max)
{
  guint n = 0;
  for (;;) {
    text += strspn (text, ",; \t\n");
    if (*text == '\0')
      return (gint)n;
    gchar *end;
    const gdouble value = g_ascii_strtod (text, &end);
    if (end == text || !isfinite (value) || n == max)
      return -1;
    values[n++] = value;
    text = end;
  }
}

static gboolean
resolve_crop_box (const gchar *text, NdtScanFilter *filter, GError **error)
{
  gdouble v[6];
  filter->use_box = text && text[strspn (text, " \t")] != '\0';
  if (!filter->use_box)
    return TRUE;
  if (parse_numbers (text, v, 6) != 6 || v[0] > v[3] || v[1] > v[4] || v[2] > v[5]) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "crop-box \"%s\" is not \"xmin,ymin,zmin,xmax,ymax,zmax\" with each minimum at most its "
        "maximum",
        text);
    return FALSE;
  }
  for (guint i = 0; i < 3; i++) {
    filter->box_min[i] = (float)v[i];
    filter->box_max[i] = (float)v[3 + i];
  }
  return TRUE;
}

static gboolean
resolve_covariance (
    const GstNdtSettings *settings, NdtRegistrationParams *registration, GError **error)
{
  gdouble v[2 * NDT_MAX_OFFSETS];
  const gchar *fixed = settings->fixed_covariance ? settings->fixed_covariance : "";
  gboolean valid = parse_numbers (fixed, v, 6) == 6;
  for (guint i = 0; valid && i < 6; i++)
    valid = v[i] > 0;
  if (!valid) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "fixed-covariance \"%s\" is not six variances above 0 (x, y, z in m², rotations in rad²)",
        fixed);
    return FALSE;
  }
  memcpy (registration->fixed_variance, v, 6 * sizeof (gdouble));

  const gchar *offsets = settings->covariance_offsets ? settings->covariance_offsets : "";
  const gint n = parse_numbers (offsets, v, G_N_ELEMENTS (v));
  if (n < 4 || n % 2 != 0) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "covariance-offsets \"%s\" is not \"x1,y1 x2,y2 …\" with 2 to %d pairs", offsets,
        NDT_MAX_OFFSETS);
    return FALSE;
  }
  registration->n_offsets = (guint)n / 2;
  for (gint i = 0; i < n / 2; i++) {
    registration->offset_x[i] = v[2 * i];
    registration->offset_y[i] = v[2 * i + 1];
  }
  return TRUE;
}

static gboolean
resolve_uncertainty (const gchar *text, NdtPoseSearch *start, GError **error)
{
  gdouble v[6];
  memset (start->stddev, 0, sizeof start->stddev);
  if (!text || text[strspn (text, " \t")] == '\0')
    return TRUE;
  const gint n = parse_numbers (text, v, 6);
  gboolean valid = n == 4 || n == 6;
  for (gint i = 0; valid && i < n; i++)
    valid = v[i] >= 0;
  if (!valid) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "initial-pose-uncertainty \"%s\" is not \"x,y,z,yaw\" or \"x,y,z,roll,pitch,yaw\", "
        "standard deviations in m and degrees, each 0 or above",
        text);
    return FALSE;
  }
  for (gint i = 0; i < n; i++)
    start->stddev[n == 4 && i == 3 ? 5 : i] = i < 3 ? v[i] : v[i] * G_PI / 180;
  return TRUE;
}

gboolean
gst_ndt_settings_resolve (const GstNdtSettings *settings, NdtLocalizerParams *params,
    gboolean *has_initial_pose, NdtPose *initial_pose, GError **error)
{
  *params = settings->params;
  if (settings->sensor_pose && settings->sensor_pose[0] != '\0' &&
      !ndt_pose_parse (settings->sensor_pose, &params->sensor_pose, error)) {
    g_prefix_error (error, "sensor-pose: ");
    return FALSE;
  }
  if (!resolve_crop_box (settings->crop_box, &params->filter, error) ||
      !resolve_covariance (settings, &params->registration, error) ||
      !resolve_uncertainty (settings->initial_pose_uncertainty, &params->start, error))
    return FALSE;

  *has_initial_pose = settings->initial_pose && settings->initial_pose[0] != '\0';
  if (*has_initial_pose && !ndt_pose_parse (settings->initial_pose, initial_pose, error)) {
    g_prefix_error (error, "initial-pose: ");
    return FALSE;
  }
  return ndt_localizer_params_check (params, error);
}
