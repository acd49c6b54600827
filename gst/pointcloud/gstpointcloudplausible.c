/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "gstpointcloudbuffer.h"
#include "gstpointcloudperiod.h"

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

typedef enum { POINT_UNMEASURED, POINT_PLAUSIBLE, POINT_ABSURD } PointKind;

/* Programs mark what was not measured by NaN or infinity in one coordinate or in all. */
static PointKind
judge (const GstPointCloudMap *map, const GstPointField *const fields[3], gsize index)
{
  PointKind kind = POINT_PLAUSIBLE;

  for (guint axis = 0; axis < 3; axis++) {
    const gdouble value = fabs (gst_point_cloud_map_get_value (map, fields[axis], index, 0));

    if (!isfinite (value))
      return POINT_UNMEASURED;
    if (value > MAX_COORDINATE || (value > 0 && value < MIN_COORDINATE))
      kind = POINT_ABSURD;
  }
  return kind;
}

/* The end of a sentence; empty where the numbers do not tell. */
static const gchar *
propose (guint period, guint step)
{
  if (period == step)
    return "";
  return period == 12   ? "; its numbers repeat every 12 bytes, as those of XYZ_F32LE"
         : period == 16 ? "; its numbers repeat every 16 bytes, as those of XYZI_F32LE"
         : period == 20 ? "; its numbers repeat every 20 bytes"
         : period == 24 ? "; its numbers repeat every 24 bytes, as those of XYZIRT"
         : period == 28 ? "; its numbers repeat every 28 bytes"
                        : "; its numbers repeat every 32 bytes";
}

/* Custom layouts are written by programs, and may hold numbers of any kind. */
static gboolean
check_period (const GstPointCloudInfo *info, const guint8 *data, gsize size, GError **error)
{
  guint period;

  if (info->format <= GST_POINT_CLOUD_FORMAT_CUSTOM)
    return TRUE;
  period = gst_point_cloud_period_find (data, size, info->point_step);
  if (period == info->point_step)
    return TRUE;
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
      "The numbers of a scan are not those of points of %u bytes, as format=%s says%s. Give the "
      "layout that they have (format, or fields and point-step) in caps or on rawpointcloudparse",
      info->point_step, gst_point_cloud_format_to_string (info->format),
      propose (period, info->point_step));
  return FALSE;
}

/**
 * gst_point_cloud_map_check: (skip)
 * @map: a mapped scan whose points have x, y and z
 * @error: return location for an error
 *
 * Whether the layout can be the one that caps say. Of points that are spread over the scan, 128 at
 * most, those are absurd whose coordinates are finite and one of them is beyond 21,000 km, or not 0
 * but smaller than 1e-30 (integers read as floats). Less than 16 finite points pass. Where the
 * format is none of caps' own fields, the numbers have to repeat after a point as well: those of
 * XYZI that are read as XYZ do not. For the first scan of caps, that somebody may have written by
 * hand.
 *
 * Returns: %FALSE with %GST_STREAM_ERROR_FORMAT where more than a fifth of the points are absurd,
 * or the numbers repeat after another number of bytes
 *
 * Since: 0.2
 */
gboolean
gst_point_cloud_map_check (const GstPointCloudMap *map, GError **error)
{
  static const gchar *const names[] = {"x", "y", "z"};
  const GstPointField *fields[3];
  gsize n, n_measured = 0, n_absurd = 0;

  g_return_val_if_fail (map != NULL, FALSE);

  for (guint i = 0; i < 3; i++) {
    fields[i] = gst_point_cloud_info_find_field (&map->info, names[i]);
    g_return_val_if_fail (fields[i] != NULL, FALSE);
  }
  n = MIN (map->n_points, MAX_POINTS);
  for (gsize i = 0; i < n; i++) {
    const PointKind kind = judge (map, fields, i * map->n_points / n);
    n_measured += kind != POINT_UNMEASURED;
    n_absurd += kind == POINT_ABSURD;
  }
  if (n_measured < MIN_POINTS || (gdouble)n_absurd <= MAX_SHARE * (gdouble)n_measured)
    return check_period (&map->info, map->data, map->map.size, error);
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
      "Of %" G_GSIZE_FORMAT " points of a scan that were looked at, %" G_GSIZE_FORMAT
      " have coordinates that are beyond 21,000 km or no numbers of a measurement: the bytes are "
      "not "
      "as format=%s with point-step=%u says%s. Give the layout that they have (format, or fields "
      "and "
      "point-step) in caps or on rawpointcloudparse",
      n_measured, n_absurd, gst_point_cloud_format_to_string (map->info.format),
      map->info.point_step,
      propose (gst_point_cloud_period_find (map->data, map->map.size, map->info.point_step),
          map->info.point_step));
  return FALSE;
}

/**
 * gst_point_cloud_buffer_check:
 * @buffer: a scan
 * @info: what caps say of it
 * @error: return location for an error
 *
 * gst_point_cloud_map_check() of a buffer that is not mapped. A scan whose size is no whole number
 * of points is looked at as well: where its numbers repeat as @info says it is a damaged one, and
 * passes. So does one that cannot be mapped, and one without x, y and z.
 *
 * Returns: %FALSE with %GST_STREAM_ERROR_FORMAT where @info is not the layout of the bytes
 *
 * Since: 0.2
 */
gboolean
gst_point_cloud_buffer_check (GstBuffer *buffer, const GstPointCloudInfo *info, GError **error)
{
  GstPointCloudMap map;
  GstMapInfo bytes;
  gboolean good;

  g_return_val_if_fail (GST_IS_BUFFER (buffer), FALSE);
  g_return_val_if_fail (info != NULL, FALSE);

  if (!gst_point_cloud_info_has_xyz (info, NULL))
    return TRUE;
  if (gst_point_cloud_map (&map, info, buffer, GST_MAP_READ, NULL)) {
    good = gst_point_cloud_map_check (&map, error);
    gst_point_cloud_unmap (&map);
    return good;
  }
  if (!gst_buffer_map (buffer, &bytes, GST_MAP_READ))
    return TRUE;
  good = check_period (info, bytes.data, bytes.size, error);
  gst_buffer_unmap (buffer, &bytes);
  return good;
}
