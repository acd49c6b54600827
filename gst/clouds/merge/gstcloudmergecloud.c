/* SPDX-License-Identifier: MIT */
/* The clouds that pointcloudmerge makes of scans. */
#include "gstpointcloudmergeprivate.h"

GST_DEBUG_CATEGORY_EXTERN (gst_point_cloud_merge_debug);
#define GST_CAT_DEFAULT gst_point_cloud_merge_debug

/* Periods without a scan after which a sensor is lost. */
#define LOST_PERIODS 3

/* How well poses tell the motion over a tick: the largest gap between two of them, and how far the
 * tick goes on after the last, nanoseconds. */
static gint64
rate_poses (const GArray *poses, const GstCloudSpan *tick)
{
  const gint64 from = tick->begin - (tick->end - tick->begin);
  gint64 gap = 0, last;

  if (poses->len < 2)
    return G_MAXINT64;
  for (guint i = 1; i < poses->len; i++) {
    const gint64 time = g_array_index (poses, NdtTimedPose, i).time;
    if (time > from)
      gap = MAX (gap, time - g_array_index (poses, NdtTimedPose, i - 1).time);
  }
  last = g_array_index (poses, NdtTimedPose, poses->len - 1).time;
  return gap + MAX (0, tick->end - last);
}

static gint
compare_times (gconstpointer a, gconstpointer b)
{
  const gint64 one = ((const NdtTimedPose *)a)->time, other = ((const NdtTimedPose *)b)->time;

  return one < other ? -1 : one > other;
}

/* Of all sensors together, where they are of one frame. */
static const GArray *
join_poses (GstPointCloudMerge *self, GstCloudMergePads *pads)
{
  guint n = 0;

  g_array_set_size (self->poses, 0);
  for (GList *l = pads; l; l = l->next) {
    const GArray *poses = GST_CLOUD_MERGE_PAD (l->data)->poses;
    if (poses->len > 0)
      g_array_append_vals (self->poses, poses->data, poses->len);
  }
  g_array_sort (self->poses, compare_times);
  for (guint i = 0; i < self->poses->len; i++) {
    const NdtTimedPose *pose = &g_array_index (self->poses, NdtTimedPose, i);
    if (n == 0 || pose->time > g_array_index (self->poses, NdtTimedPose, n - 1).time)
      g_array_index (self->poses, NdtTimedPose, n++) = *pose;
  }
  g_array_set_size (self->poses, n);
  return self->poses;
}

/* Those of a pose pad, else of the scans. The frames of odometry drift, and those of different
 * sensors may have nothing to do with one another: of these, poses of the sensor that tell the
 * most. */
static const GArray *
choose_poses (GstPointCloudMerge *self, GstCloudMergePads *pads, const GstCloudSpan *tick)
{
  const GArray *best = NULL;
  gint64 least = G_MAXINT64;

  GST_OBJECT_LOCK (self);
  const GstPoseRole role = self->role;
  GST_OBJECT_UNLOCK (self);
  for (GList *l = pads; l; l = l->next)
    if (GST_CLOUD_MERGE_PAD (l->data)->is_pose)
      return GST_CLOUD_MERGE_PAD (l->data)->poses;
  if (role != GST_POSE_ROLE_ODOMETRY)
    return join_poses (self, pads);
  for (GList *l = pads; l; l = l->next) {
    const GArray *poses = GST_CLOUD_MERGE_PAD (l->data)->poses;
    const gint64 rating = rate_poses (poses, tick);
    if (rating < least) {
      best = poses;
      least = rating;
    }
  }
  return best;
}

GstCaps *
gst_cloud_merge_make_caps (GstPointCloudMerge *self)
{
  GstPointCloudInfo info = self->layout.info;

  GST_OBJECT_LOCK (self);
  info.frame_id = self->frame_id && *self->frame_id ? g_quark_from_string (self->frame_id) : 0;
  GST_OBJECT_UNLOCK (self);
  info.width = info.height = 0;
  GstCaps *caps = gst_point_cloud_info_to_caps (&info);
  gst_caps_set_simple (caps, "motion-compensated", G_TYPE_BOOLEAN, self->is_compensated, NULL);
  if (self->is_compensated)
    gst_caps_set_simple (caps, "instant", G_TYPE_STRING, "end", NULL);
  return caps;
}

static void
tell_bad (GstPointCloudMerge *self, GstCloudMergePad *pad, const gchar *reason)
{
  GST_OBJECT_LOCK (self);
  self->n_bad++;
  GST_OBJECT_UNLOCK (self);
  GST_ELEMENT_WARNING (self, STREAM, DECODE,
      ("A scan of %s is left out: %s.", GST_OBJECT_NAME (pad), reason), (NULL));
}

/* The scans of one pad. Returns: bytes written. */
static gsize
add_scans (GstPointCloudMerge *self, GstCloudMergePad *pad, const GstCloudSpan *tick,
    NdtPoseCurve *curve, guint8 *out)
{
  const GstCloudLayout from = {.info = pad->info};
  guint64 n_left = 0;
  gsize size = 0;

  for (guint i = 0; i < pad->scans->len; i++) {
    GstBuffer *scan = g_ptr_array_index (pad->scans, i);
    g_autoptr (GError) error = NULL;

    if (!pad->copy)
      pad->copy = gst_cloud_copy_new (&from, &self->layout, NULL, &error);
    if (pad->copy && gst_cloud_join_add (self->join, pad, scan,
                         g_array_index (pad->spans, GstCloudSpan, i).begin, tick, curve,
                         &self->layout, out + size, &n_left, &error))
      size += gst_buffer_get_size (scan) / pad->info.point_step * self->layout.info.point_step;
    else
      tell_bad (self, pad, error->message);
  }
  GST_OBJECT_LOCK (pad);
  pad->n_scans += pad->scans->len;
  GST_OBJECT_UNLOCK (pad);
  GST_OBJECT_LOCK (self);
  self->n_points_left += n_left;
  GST_OBJECT_UNLOCK (self);
  return size;
}

static gsize
count_bytes (GstPointCloudMerge *self, GstCloudMergePads *pads, guint *n_scans)
{
  gsize n = 0;

  *n_scans = 0;
  for (GList *l = pads; l; l = l->next) {
    GstCloudMergePad *pad = l->data;
    for (guint i = 0; i < pad->scans->len; i++)
      n += gst_buffer_get_size (g_ptr_array_index (pad->scans, i)) / pad->info.point_step;
    *n_scans += pad->scans->len;
  }
  return n * self->layout.info.point_step;
}

/* A sensor that nothing came of for some periods is lost, until something comes. */
static void
watch_sensor (GstPointCloudMerge *self, GstCloudMergePad *pad, const GstCloudSpan *tick)
{
  const gint64 since = pad->has_last ? pad->last.end : self->first_end;
  const gint64 own = pad->has_last ? pad->last.end - pad->last.begin : 0;
  const gboolean is_lost = tick->end - since > LOST_PERIODS * MAX (own, tick->end - tick->begin);

  GST_OBJECT_LOCK (pad);
  const gboolean was_lost = pad->is_lost;
  pad->is_lost = is_lost;
  if (is_lost && !was_lost)
    pad->n_losses++;
  GST_OBJECT_UNLOCK (pad);
  if (is_lost && !was_lost)
    GST_ELEMENT_WARNING (self, STREAM, FAILED,
        ("%s has brought no scan for %.2f s: clouds go on without it.", GST_OBJECT_NAME (pad),
            (gdouble)(tick->end - since) / GST_SECOND),
        (NULL));
  if (was_lost && !is_lost)
    GST_ELEMENT_INFO (
        self, STREAM, FAILED, ("%s brings scans again.", GST_OBJECT_NAME (pad)), (NULL));
}

static GstBuffer *
make_cloud (GstPointCloudMerge *self, GstCloudMergePads *pads, GstCloudMergePad *leader,
    const GstCloudSpan *tick, gboolean with_leader, gsize size)
{
  GST_OBJECT_LOCK (self);
  const gint64 max_gap = (gint64)MIN (self->max_pose_gap, (guint64)G_MAXINT64);
  const gboolean compensate = self->compensate;
  GST_OBJECT_UNLOCK (self);
  const GArray *poses = choose_poses (self, pads, tick);
  NdtPoseCurve curve;
  NdtPose pose;
  gboolean known = FALSE;
  if (compensate && poses && poses->len > 1) {
    /* The last cloud of a sensor that went may end up to a period after the last pose. */
    ndt_pose_curve_init (&curve, (const NdtTimedPose *)(gconstpointer)poses->data, poses->len,
        max_gap, tick->end - tick->begin);
    known = ndt_pose_curve_get (&curve, tick->end, &pose);
  }
  self->is_compensated = known;
  /* GLib ends the process where memory cannot be had: a layout with a large step is refused. */
  GstBuffer *cloud = size <= G_MAXINT ? gst_buffer_new_allocate (NULL, MAX (size, 1), NULL) : NULL;
  GstMapInfo map;
  if (!cloud || !gst_buffer_map (cloud, &map, GST_MAP_WRITE)) {
    gst_clear_buffer (&cloud);
    GST_ELEMENT_ERROR (self, RESOURCE, NO_SPACE_LEFT,
        ("There is not the memory for a cloud of %" G_GSIZE_FORMAT " bytes.", size), (NULL));
    return NULL;
  }
  gsize filled = 0;
  for (GList *l = pads; l; l = l->next)
    filled += add_scans (self, l->data, tick, known ? &curve : NULL, map.data + filled);
  gst_buffer_unmap (cloud, &map);
  gst_buffer_set_size (cloud, (gssize)filled);
  if (with_leader && leader->scans->len > 0)
    gst_buffer_copy_into (cloud, g_ptr_array_index (leader->scans, leader->scans->len - 1),
        GST_BUFFER_COPY_META, 0, -1);
  GST_OBJECT_LOCK (self);
  self->n_clouds++;
  self->n_leaderless += !with_leader;
  self->n_compensated += known;
  GST_OBJECT_UNLOCK (self);
  return cloud;
}

static GstFlowReturn
push_cloud (GstPointCloudMerge *self, GstBuffer *cloud, const GstCloudSpan *tick)
{
  GstAggregator *aggregator = GST_AGGREGATOR (self);
  const GstSegment *segment = &GST_AGGREGATOR_PAD (aggregator->srcpad)->segment;
  g_autoptr (GstCaps) caps = gst_cloud_merge_make_caps (self);
  g_autoptr (GstCaps) current = gst_pad_get_current_caps (aggregator->srcpad);

  if (!current || !gst_caps_is_equal (caps, current))
    gst_aggregator_set_src_caps (aggregator, caps);
  GST_BUFFER_PTS (cloud) = gst_segment_position_from_running_time (
      segment, GST_FORMAT_TIME, (guint64)MAX (tick->begin, 0));
  GST_BUFFER_DURATION (cloud) = (GstClockTime)(tick->end - tick->begin);
  GST_LOG_OBJECT (self, "cloud at %" GST_TIME_FORMAT ": %" G_GSIZE_FORMAT " bytes, compensated %d",
      GST_TIME_ARGS (GST_BUFFER_PTS (cloud)), gst_buffer_get_size (cloud), self->is_compensated);
  return gst_aggregator_finish_buffer (aggregator, cloud);
}

GstFlowReturn
gst_cloud_merge_push (GstPointCloudMerge *self, GstCloudMergePads *pads, GstCloudMergePad *leader,
    const GstCloudSpan *tick, gboolean with_leader)
{
  GstFlowReturn flow = GST_AGGREGATOR_FLOW_NEED_DATA;
  guint n_scans;
  const gsize size = count_bytes (self, pads, &n_scans);

  if (!self->has_tick)
    self->first_end = tick->end;
  if (n_scans > 0) {
    GstBuffer *cloud = make_cloud (self, pads, leader, tick, with_leader, size);
    flow = cloud ? push_cloud (self, cloud, tick) : GST_FLOW_ERROR;
  }
  self->tick = *tick;
  self->has_tick = TRUE;
  for (GList *l = pads; l; l = l->next) {
    GstCloudMergePad *pad = l->data;
    gst_cloud_merge_pad_clear_scans (pad);
    gst_cloud_merge_pad_forget_poses (pad, tick->begin - (tick->end - tick->begin));
    if (!pad->is_pose)
      watch_sensor (self, pad, tick);
  }
  return flow;
}
