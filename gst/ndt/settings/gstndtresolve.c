/* SPDX-License-Identifier: MIT */
#include "gstndtresolve.h"

#include <math.h>
#include <string.h>

#include "ndtcore/expression/ndt-expr-terms.h"

static void
resolve_filter (const GstNdtSettings *settings, NdtScanFilter *filter)
{
  const GstPointCloudBox *box = settings->crop_box;

  filter->min_range = (float)settings->min_range;
  filter->max_range = (float)settings->max_range;
  filter->leaf_size =
      settings->scan_leaf_size < 0 ? NDT_LEAF_SIZE_AUTO : (float)settings->scan_leaf_size;
  filter->use_box = box != NULL;
  for (guint i = 0; box && i < 3; i++) {
    filter->box_min[i] = (float)box->min[i];
    filter->box_max[i] = (float)box->max[i];
  }
}

/* NDT_ERROR_INVALID_ARGUMENT; @what is what the numbers should be. FALSE, to be returned. */
static gboolean
refuse_numbers (
    const gchar *property, const GstNdtNumbers *numbers, const gchar *what, GError **error)
{
  g_autofree gchar *text = gst_ndt_numbers_to_string (numbers);
  g_set_error (
      error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT, "%s %s is not %s", property, text, what);
  return FALSE;
}

static gboolean
resolve_covariance (
    const GstNdtSettings *settings, NdtRegistrationParams *registration, GError **error)
{
  const GstNdtNumbers *fixed = &settings->fixed_covariance,
                      *offsets = &settings->covariance_offsets;
  gboolean valid = fixed->n == 0 || fixed->n == 6;

  for (guint i = 0; valid && i < fixed->n; i++)
    valid = fixed->values[i] > 0;
  if (!valid)
    return refuse_numbers ("fixed-covariance", fixed,
        "six variances above 0 (x, y, z in m², rotations in rad²)", error);
  if (fixed->n > 0)
    memcpy (registration->fixed_variance, fixed->values, 6 * sizeof (gdouble));

  if (offsets->n == 0)
    return TRUE;
  if (offsets->n < 4 || offsets->n > G_N_ELEMENTS (offsets->values) || offsets->n % 2 != 0) {
    g_autofree gchar *what =
        g_strdup_printf ("<x1, y1, x2, y2, …> of 2 to %d pairs", NDT_MAX_OFFSETS);
    return refuse_numbers ("covariance-offsets", offsets, what, error);
  }
  registration->n_offsets = offsets->n / 2;
  for (guint i = 0; i < registration->n_offsets; i++) {
    registration->offset_x[i] = offsets->values[2 * i];
    registration->offset_y[i] = offsets->values[2 * i + 1];
  }
  return TRUE;
}

static gboolean
resolve_uncertainty (const GstNdtNumbers *numbers, NdtPoseSearch *start, GError **error)
{
  const guint n = numbers->n;
  gboolean valid = n == 0 || n == 4 || n == 6;

  memset (start->stddev, 0, sizeof start->stddev);
  for (guint i = 0; valid && i < n; i++)
    valid = numbers->values[i] >= 0;
  if (!valid)
    return refuse_numbers ("initial-pose-uncertainty", numbers,
        "<x, y, z, yaw> or <x, y, z, roll, pitch, yaw>, standard deviations in m and degrees, each "
        "0 "
        "or above",
        error);
  for (guint i = 0; i < n; i++)
    start->stddev[n == 4 && i == 3 ? 5 : i] =
        i < 3 ? numbers->values[i] : numbers->values[i] * G_PI / 180;
  return TRUE;
}

static gboolean
resolve_pose (const gchar *property, const GstPointCloudPose *from, NdtPose *pose, GError **error)
{
  memcpy (pose->position, from->position, sizeof pose->position);
  memcpy (pose->orientation, from->orientation, sizeof pose->orientation);
  NdtPose normal = *pose;
  if (!ndt_pose_normalize (&normal)) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
        "%s is not finite, or has no orientation", property);
    return FALSE;
  }
  /* A unit quaternion stays to the bit what was written. */
  const gdouble *q = pose->orientation;
  if (fabs (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 1) >= 1e-15)
    *pose = normal;
  return TRUE;
}

static gboolean
resolve_terms (const GstNdtSettings *settings, const NdtExtraTerms **terms, GError **error)
{
  const gchar *text = settings->extra_terms;

  *terms = NULL;
  if (!text || !*text)
    return TRUE;
  *terms = g_hash_table_lookup (settings->compiled_terms, text);
  if (*terms)
    return TRUE;
  g_autoptr (GError) why = NULL;
  NdtExtraTerms *made = ndt_expr_terms_new (text, &why);
  if (!made) {
    g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT, "extra-terms: %s", why->message);
    return FALSE;
  }
  g_hash_table_insert (settings->compiled_terms, g_strdup (text), made);
  *terms = made;
  return TRUE;
}

gboolean
gst_ndt_settings_resolve (const GstNdtSettings *settings, NdtLocalizerParams *params,
    gboolean *has_initial_pose, NdtPose *initial_pose, GError **error)
{
  *params = settings->params;
  params->deskew = FALSE; /* the task decides: see GstNdtCompensation */
  *has_initial_pose = settings->initial_pose != NULL;
  resolve_filter (settings, &params->filter);
  if (settings->sensor_pose &&
      !resolve_pose ("sensor-pose", settings->sensor_pose, &params->sensor_pose, error))
    return FALSE;
  if (settings->initial_pose &&
      !resolve_pose ("initial-pose", settings->initial_pose, initial_pose, error))
    return FALSE;
  return resolve_terms (settings, &params->registration.align.terms, error) &&
         resolve_covariance (settings, &params->registration, error) &&
         resolve_uncertainty (&settings->initial_pose_uncertainty, &params->start, error) &&
         ndt_localizer_params_check (params, error);
}
