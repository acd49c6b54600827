/* SPDX-License-Identifier: MIT */
#include "gstcloudjoin.h"

#include <math.h>
#include <string.h>

#include "gst/common/gstndtviews.h"
#include "gst/clouds/gstcloudfields.h"
#include "ndtcore/base/ndt-memory.h"
#include "ndtcore/math/ndt-pose.h"
#include "ndtcore/motion/ndt-deskew.h"

struct _GstCloudJoin {
  NdtDeskewer *deskewer;
  NdtFrameTree *tree;
  gsize capacity; /* points */
  double *times;  /* seconds from the tick's begin */
  double *values;
  float *xyz;
  guint32 *frames;
};

GstCloudJoin *
gst_cloud_join_new (void)
{
  GstCloudJoin *join = g_new0 (GstCloudJoin, 1);

  join->deskewer = ndt_deskewer_new ();
  join->tree = ndt_frame_tree_new ();
  return join;
}

void
gst_cloud_join_free (GstCloudJoin *join)
{
  if (!join)
    return;
  ndt_deskewer_free (join->deskewer);
  ndt_frame_tree_free (join->tree);
  g_free (join->times);
  g_free (join->values);
  g_free (join->xyz);
  g_free (join->frames);
  g_free (join);
}

const GstPointField *
gst_cloud_join_find_time (const GstPointCloudInfo *info)
{
  g_auto (GStrv) names = g_strsplit (GST_POINT_TIMES_FIELDS, ", ", 0);
  const GstPointField *field = NULL;

  for (guint i = 0; names[i] && !field; i++)
    field = gst_point_cloud_info_find_field (info, names[i]);
  return field;
}

static gboolean
reserve (GstCloudJoin *join, gsize n, GError **error)
{
  if (n <= join->capacity)
    return TRUE;
  n += n / 4;
  if (!ndt_grow (join->times, n) || !ndt_grow (join->values, n) || !ndt_grow (join->xyz, 3 * n) ||
      !ndt_grow (join->frames, n)) {
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT,
        "There is not the memory to merge a scan of %" G_GSIZE_FORMAT " points", n);
    return FALSE;
  }
  join->capacity = n;
  return TRUE;
}

/* The sensor's motion; times are seconds from the tick's begin. */
typedef struct {
  NdtPoseCurve *curve;
  gint64 begin;
  NdtPose mount;
} Motion;

static gboolean
get_motion (double time, NdtPose *pose, gpointer user_data)
{
  Motion *motion = user_data;

  if (!(fabs (time) < 1e6) || !ndt_pose_curve_get (motion->curve,
                                  motion->begin + (gint64)llround (time * GST_SECOND), pose))
    return FALSE;
  ndt_pose_compose (pose, &motion->mount, pose);
  return TRUE;
}

static void
read_times (GstCloudJoin *join, GstCloudMergePad *pad, const GstPointCloudMap *map, GstBuffer *scan,
    double offset)
{
  const GstClockTime duration = gst_point_cloud_info_get_duration (&pad->info, scan);
  NdtPointTimes times = {.view = {NULL, 0, NDT_TIME_F64}};

  if (pad->is_compensated && GST_CLOCK_TIME_IS_VALID (duration))
    offset += pad->instant * (double)duration / GST_SECOND;
  if (!pad->is_compensated)
    gst_point_times_read (pad->times, map, scan, &times);
  for (gsize i = 0; i < map->n_points; i++)
    join->times[i] = offset + (times.view.data ? ndt_time_view_get (&times.view, i) : 0);
  ndt_point_times_clear (&times);
}

static gboolean
move_points (GstCloudJoin *join, const NdtCloudView *view, Motion *motion, const GstCloudSpan *tick,
    guint64 *n_left, GError **error)
{
  const NdtTimeView times = {(const guint8 *)join->times, sizeof (double), NDT_TIME_F64};
  const gsize n = view->n_points;
  const guint32 parent = 0;
  NdtPose body;

  if (motion->curve) {
    const double reference = (double)(tick->end - tick->begin) / GST_SECOND;
    *n_left +=
        n - ndt_deskew (join->deskewer, view, &times, reference, get_motion, motion, join->xyz);
  } else {
    for (gsize i = 0; i < n; i++) {
      double p[3];
      ndt_cloud_view_get (view, i, p);
      for (guint k = 0; k < 3; k++)
        join->xyz[3 * i + k] = (float)p[k];
    }
  }
  /* Frames: the body, and the sensor on it. */
  ndt_pose_set_identity (&body);
  ndt_frame_tree_clear (join->tree);
  if (ndt_frame_tree_add (join->tree, 1, NULL, &body, error) == NDT_FRAME_NONE ||
      ndt_frame_tree_add (join->tree, 1, &parent, &motion->mount, error) == NDT_FRAME_NONE)
    return FALSE;
  for (gsize i = 0; i < n; i++)
    join->frames[i] = 1;
  const NdtCloudView moved = ndt_cloud_view_xyz_f32 (join->xyz, n);
  return ndt_frame_tree_transform (join->tree, 0, &moved, join->frames, join->xyz, error);
}

static void
put_points (GstCloudJoin *join, const GstCloudLayout *layout, gsize n, guint8 *out)
{
  static const gchar *const names[] = {"x", "y", "z"};
  const GstPointField *time = gst_cloud_join_find_time (&layout->info);
  const guint step = layout->info.point_step;

  for (guint k = 0; k < 3; k++) {
    const GstPointField *field = gst_point_cloud_info_find_field (&layout->info, names[k]);
    for (gsize i = 0; i < n; i++)
      join->values[i] = (double)join->xyz[3 * i + k];
    gst_cloud_field_write (out + field->offset, step, field->type, FALSE, n, join->values);
  }
  if (!time)
    return;
  const gboolean is_float =
      time->type == GST_POINT_FIELD_TYPE_FLOAT32 || time->type == GST_POINT_FIELD_TYPE_FLOAT64;
  if (!is_float)
    for (gsize i = 0; i < n; i++)
      join->times[i] *= 1e9;
  /* Unsigned integers below 0 wrap, as their readers expect it. */
  gst_cloud_field_write (out + time->offset, step,
      time->type == GST_POINT_FIELD_TYPE_UINT32 ? GST_POINT_FIELD_TYPE_INT32 : time->type, FALSE, n,
      join->times);
}

gboolean
gst_cloud_join_add (GstCloudJoin *join, GstCloudMergePad *pad, GstBuffer *scan, gint64 begin,
    const GstCloudSpan *tick, NdtPoseCurve *curve, const GstCloudLayout *layout, guint8 *out,
    guint64 *n_left, GError **error)
{
  Motion motion = {.curve = curve, .begin = tick->begin};
  GstPointCloudMap map;

  if (!gst_point_cloud_map (&map, &pad->info, scan, GST_MAP_READ, error))
    return FALSE;
  gst_cloud_merge_pad_get_mount (pad, &motion.mount);
  const gsize n = map.n_points;
  gboolean done = reserve (join, n, error);
  if (done && n > 0) {
    const NdtCloudView view = gst_ndt_view_points (&map);
    read_times (join, pad, &map, scan, (double)(begin - tick->begin) / GST_SECOND);
    done = move_points (join, &view, &motion, tick, n_left, error);
    if (done) {
      gst_cloud_copy_run (pad->copy, map.data, out, n);
      put_points (join, layout, n, out);
    }
  }
  gst_point_cloud_unmap (&map);
  return done;
}
