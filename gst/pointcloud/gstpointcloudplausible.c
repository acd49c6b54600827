/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "gstpointcloudbuffer.h"

/* Half the circumference of the Earth in metres: no coordinate of a frame on it is larger. */
#define MAX_COORDINATE 2.1e7
/* An integer that is read as a float is a denormal or near it: the smallest exponents. */
#define MIN_COORDINATE 1e-30
/* Points that are looked at, spread over the scan: two cache lines each, some microseconds. */
#define MAX_POINTS 128
/* Fewer say nothing of a layout. */
#define MIN_POINTS 16
/* Share of absurd points from which on the layout is wrong. Every second random word is an absurd
 * float; a damaged scan of a good stream stays far below. */
#define MAX_SHARE 0.2

static gboolean
is_absurd (const GstPointCloudMap *map, const GstPointField *const fields[3], gsize index)
{
  guint n_nan = 0;

  for (guint axis = 0; axis < 3; axis++) {
    const gdouble value = fabs (gst_point_cloud_map_get_value (map, fields[axis], index, 0));

    if (isnan (value))
      n_nan++;
    else if (value > MAX_COORDINATE || (value > 0 && value < MIN_COORDINATE))
      return TRUE;
  }
  /* Points that were not measured have three. */
  return n_nan == 1 || n_nan == 2;
}

/**
 * gst_point_cloud_map_check: (skip)
 * @map: a mapped scan whose points have x, y and z
 * @error: return location for an error
 *
 * Whether the coordinates can be some: of points that are spread over the scan, 128 at most, those
 * are absurd that have a coordinate beyond 21,000 km, an infinite one, one that is not 0 but
 * smaller than 1e-30 (integers read as floats), or NaN in one or two of three. Points of three NaN
 * are points that were not measured. A scan of less than 16 points passes. For the first scan of
 * caps that somebody wrote by hand; one whose layout is wrong but whose numbers are those of
 * points, as XYZI read as XYZ, passes.
 *
 * Returns: %FALSE with %GST_STREAM_ERROR_FORMAT where more than a fifth of the points are absurd
 *
 * Since: 0.2
 */
gboolean
gst_point_cloud_map_check (const GstPointCloudMap *map, GError **error)
{
  static const gchar *const names[] = {"x", "y", "z"};
  const GstPointField *fields[3];
  gsize n, n_absurd = 0;

  g_return_val_if_fail (map != NULL, FALSE);

  for (guint i = 0; i < 3; i++) {
    fields[i] = gst_point_cloud_info_find_field (&map->info, names[i]);
    g_return_val_if_fail (fields[i] != NULL, FALSE);
  }
  n = MIN (map->n_points, MAX_POINTS);
  for (gsize i = 0; i < n; i++)
    n_absurd += is_absurd (map, fields, i * map->n_points / n);
  if (n < MIN_POINTS || (gdouble)n_absurd <= MAX_SHARE * (gdouble)n)
    return TRUE;
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
      "Of %" G_GSIZE_FORMAT " points of a scan that were looked at, %" G_GSIZE_FORMAT
      " have coordinates that are infinite, beyond 21,000 km or no numbers of a measurement: the "
      "bytes are not as format=%s with point-step=%u says. Give the layout that they have (format, "
      "or fields and point-step) in caps or on rawpointcloudparse",
      n, n_absurd, gst_point_cloud_format_to_string (map->info.format), map->info.point_step);
  return FALSE;
}
