/* SPDX-License-Identifier: MIT */
#include "gstpointtimes.h"

#include <string.h>

#include "gstndtviews.h"

/* Clocks that a field may count on: the PTS and reference time stamps. */
#define MAX_STAMPS 8

typedef enum {
  TOLD_CONVERTED = 1 << 0,
  TOLD_OUTSIDE = 1 << 1,
  TOLD_UNUSABLE = 1 << 2,
} Told;

struct _GstPointTimes {
  GstElement *element;
  gboolean has_field;
  GstPointField field;
  NdtPointTimeType type;
  NdtWorkers *workers;
  guint told; /* of Told */
};

GstPointTimes *
gst_point_times_new (GstElement *element)
{
  GstPointTimes *times = g_new0 (GstPointTimes, 1);
  times->element = element;
  return times;
}

void
gst_point_times_free (GstPointTimes *times)
{
  gst_point_times_set_threads (times, 1);
  g_free (times);
}

void
gst_point_times_set_threads (GstPointTimes *times, guint n_threads)
{
  g_clear_pointer (&times->workers, ndt_workers_free);
  if (n_threads != 1)
    times->workers = ndt_workers_new (n_threads);
}

static gboolean
get_type (const GstPointField *field, NdtPointTimeType *type)
{
  switch (field->type) {
  case GST_POINT_FIELD_TYPE_FLOAT32:
    *type = NDT_POINT_TIME_F32;
    return TRUE;
  case GST_POINT_FIELD_TYPE_FLOAT64:
    *type = NDT_POINT_TIME_F64;
    return TRUE;
  case GST_POINT_FIELD_TYPE_UINT32:
    *type = NDT_POINT_TIME_U32;
    return TRUE;
  case GST_POINT_FIELD_TYPE_INT32:
    *type = NDT_POINT_TIME_I32;
    return TRUE;
  default:
    return FALSE;
  }
}

gboolean
gst_point_times_set_info (GstPointTimes *times, const GstPointCloudInfo *info)
{
  g_auto (GStrv) names = g_strsplit (GST_POINT_TIMES_FIELDS, ", ", 0);

  times->has_field = FALSE;
  times->told = 0;
  for (guint i = 0; names[i] && !times->has_field; i++) {
    const GstPointField *field = gst_point_cloud_info_find_field (info, names[i]);
    times->has_field = field && get_type (field, &times->type);
    if (times->has_field)
      times->field = *field;
  }
  return times->has_field;
}

gboolean
gst_point_times_has_field (const GstPointTimes *times)
{
  return times->has_field;
}

static guint
get_stamps (GstBuffer *buffer, gdouble stamps[MAX_STAMPS])
{
  gpointer state = NULL;
  GstMeta *meta;
  guint n = 0;

  if (GST_BUFFER_PTS_IS_VALID (buffer))
    stamps[n++] = (gdouble)GST_BUFFER_PTS (buffer) / GST_SECOND;
  while (n < MAX_STAMPS && (meta = gst_buffer_iterate_meta_filtered (
                                buffer, &state, GST_REFERENCE_TIMESTAMP_META_API_TYPE)))
    stamps[n++] = (gdouble)((GstReferenceTimestampMeta *)meta)->timestamp / GST_SECOND;
  return n;
}

/* TRUE where it was not told since the caps changed. */
static gboolean
tell (GstPointTimes *times, Told what)
{
  const gboolean is_new = !(times->told & what);
  times->told |= what;
  return is_new;
}

static const gchar *
unit_name (gdouble unit)
{
  return unit == 1 ? "s" : unit == 1e-3 ? "ms" : unit == 1e-6 ? "µs" : "ns";
}

static gdouble
get_duration (const GstPointCloudInfo *info, GstBuffer *buffer)
{
  if (GST_BUFFER_DURATION_IS_VALID (buffer))
    return (gdouble)GST_BUFFER_DURATION (buffer) / GST_SECOND;
  return info->fps_n > 0 ? (gdouble)info->fps_d / info->fps_n : 0;
}

void
gst_point_times_tell (
    GstPointTimes *times, const GstPointCloudMap *map, GstBuffer *buffer, const NdtPointTimes *out)
{
  const gsize n_points = map->n_points;
  if (!times->has_field || n_points == 0 ||
      (out->verdict == NDT_POINT_TIMES_AS_EXPECTED && out->n_outside == 0))
    return;
  const gdouble duration = get_duration (&map->info, buffer);
  const gchar *name = times->field.name;
  g_autofree gchar *scan =
      duration > 0 ? g_strdup_printf ("a scan of %g s", duration) : g_strdup ("a scan");

  if (out->verdict == NDT_POINT_TIMES_NOT_FINITE && n_points > 0 && tell (times, TOLD_UNUSABLE))
    GST_ELEMENT_WARNING (times->element, STREAM, FORMAT,
        ("The points' field \"%s\" holds no finite value: it does not tell when they were "
         "measured.",
            name),
        (NULL));
  if (out->verdict == NDT_POINT_TIMES_UNUSABLE && tell (times, TOLD_UNUSABLE))
    GST_ELEMENT_WARNING (times->element, STREAM, FORMAT,
        ("The points' field \"%s\" holds %.9g to %.9g: in no unit do these lie within %s. It is "
         "not "
         "used.",
            name, out->min, out->max, scan),
        (NULL));
  if (out->verdict == NDT_POINT_TIMES_CONVERTED && tell (times, TOLD_CONVERTED)) {
    const gchar *since = !out->is_clock  ? "after the scan's stamp"
                         : out->by_stamp ? "of a clock on which the scan has its stamp"
                                         : "of a clock, and the scan's stamp for that of its first";
    /* Doubles of a clock in seconds are usual. */
    if (out->is_clock && out->unit == 1)
      GST_INFO_OBJECT (times->element,
          "the points' field \"%s\" holds %.6f to %.6f: taken for %s %s", name, out->min, out->max,
          unit_name (out->unit), since);
    else
      GST_ELEMENT_WARNING (times->element, STREAM, FORMAT,
          ("The points' field \"%s\" holds %.17g to %.17g: taken for %s %s.", name, out->min,
              out->max, unit_name (out->unit), since),
          (NULL));
  }
  if (out->n_outside > 0 && tell (times, TOLD_OUTSIDE))
    GST_ELEMENT_WARNING (times->element, STREAM, FORMAT,
        ("The points' field \"%s\" holds %.9g to %.9g: %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT
         " lie outside %s and are not used.",
            name, out->min, out->max, out->n_outside, n_points, scan),
        (NULL));
}

void
gst_point_times_look (
    const GstPointTimes *times, const GstPointCloudMap *map, GstBuffer *buffer, NdtPointTimes *out)
{
  const NdtPointTimeField field = {
      map->data + times->field.offset, map->info.point_step, times->type};
  gdouble stamps[MAX_STAMPS];

  memset (out, 0, sizeof *out);
  out->verdict = NDT_POINT_TIMES_NOT_FINITE;
  if (!times->has_field || map->n_points == 0)
    return;
  const NdtCloudView points = gst_ndt_view_points (map);
  ndt_point_times_read (&points, &field, get_duration (&map->info, buffer), stamps,
      get_stamps (buffer, stamps), times->workers, out);
}

void
gst_point_times_read (
    GstPointTimes *times, const GstPointCloudMap *map, GstBuffer *buffer, NdtPointTimes *out)
{
  gst_point_times_look (times, map, buffer, out);
  gst_point_times_tell (times, map, buffer, out);
}
