/* SPDX-License-Identifier: MIT */
#include "gstcloudmergepad.h"

#include <string.h>

#include "gst/common/gstposequeue.h"
#include "ndtcore/math/ndt-pose.h"

enum { PROP_0, PROP_SENSOR_POSE };

G_DEFINE_TYPE (GstCloudMergePad, gst_cloud_merge_pad, GST_TYPE_AGGREGATOR_PAD)

void
gst_cloud_merge_pad_clear_scans (GstCloudMergePad *pad)
{
  g_ptr_array_set_size (pad->scans, 0);
  g_array_set_size (pad->spans, 0);
}

void
gst_cloud_merge_pad_reset (GstCloudMergePad *pad)
{
  gst_cloud_merge_pad_clear_scans (pad);
  g_array_set_size (pad->poses, 0);
  pad->has_last = FALSE;
}

static void
read_instant (GstCloudMergePad *pad, const GstCaps *caps)
{
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  const gchar *instant = gst_structure_get_string (structure, "instant");

  pad->is_compensated = FALSE;
  gst_structure_get_boolean (structure, "motion-compensated", &pad->is_compensated);
  pad->instant = g_strcmp0 (instant, "end") == 0 ? 1 : g_strcmp0 (instant, "middle") == 0 ? 0.5 : 0;
}

gboolean
gst_cloud_merge_pad_set_caps (
    GstCloudMergePad *pad, GstElement *element, GstCaps *caps, GError **error)
{
  /* Of another layout. */
  gst_cloud_merge_pad_clear_scans (pad);
  pad->has_info = FALSE;
  g_clear_pointer (&pad->copy, gst_cloud_copy_free);
  if (!gst_point_cloud_info_from_caps (&pad->info, caps, error) ||
      !gst_point_cloud_info_has_xyz (&pad->info, error))
    return FALSE;
  if (!pad->times)
    pad->times = gst_point_times_new (element);
  gst_point_times_set_info (pad->times, &pad->info);
  read_instant (pad, caps);
  pad->has_info = TRUE;
  return TRUE;
}

/* Beyond an hour a DURATION is none; times beyond half of what there are, 146 years, leave no room
 * to count with. */
#define MAX_DURATION (3600 * GST_SECOND)
#define MAX_TIME (G_MAXINT64 / 2)

gboolean
gst_cloud_merge_pad_get_span (
    GstCloudMergePad *pad, GstBuffer *scan, gint64 period, GstCloudSpan *span)
{
  const GstSegment *segment = &GST_AGGREGATOR_PAD (pad)->segment;
  const GstClockTime duration = gst_point_cloud_info_get_duration (&pad->info, scan);

  if (!GST_BUFFER_PTS_IS_VALID (scan))
    return FALSE;
  span->begin = gst_pose_queue_running_time (segment, GST_BUFFER_PTS (scan));
  if (span->begin == GST_POSE_QUEUE_NO_TIME || ABS (span->begin) > MAX_TIME)
    return FALSE;
  span->end = span->begin + (duration > 0 && duration <= MAX_DURATION ? (gint64)duration : period);
  return TRUE;
}

void
gst_cloud_merge_pad_add_pose (
    GstCloudMergePad *pad, GstBuffer *buffer, const GstPoseRole *roles, guint n_roles)
{
  const GstSegment *segment = &GST_AGGREGATOR_PAD (pad)->segment;
  const GstPoseMeta *meta = NULL;
  NdtTimedPose pose;

  for (guint i = 0; i < n_roles && !(meta && meta->has_pose); i++)
    meta = gst_buffer_get_pose_meta (buffer, roles[i]);
  if (!meta || !meta->has_pose)
    return;
  const GstClockTime time = gst_pose_meta_get_time (meta, buffer);
  if (!GST_CLOCK_TIME_IS_VALID (time))
    return;
  pose.time = gst_pose_queue_running_time (segment, time);
  memcpy (pose.pose.position, meta->position, sizeof meta->position);
  memcpy (pose.pose.orientation, meta->orientation, sizeof meta->orientation);
  if (pose.time == GST_POSE_QUEUE_NO_TIME || !ndt_pose_normalize (&pose.pose) ||
      (pad->poses->len > 0 &&
          pose.time <= g_array_index (pad->poses, NdtTimedPose, pad->poses->len - 1).time))
    return;
  g_array_append_val (pad->poses, pose);
}

void
gst_cloud_merge_pad_forget_poses (GstCloudMergePad *pad, gint64 time)
{
  guint n = 0;

  /* Of those before, two tell a curve's beginning. */
  while (n + 2 < pad->poses->len && g_array_index (pad->poses, NdtTimedPose, n + 2).time < time)
    n++;
  if (n > 0)
    g_array_remove_range (pad->poses, 0, n);
}

void
gst_cloud_merge_pad_take (GstCloudMergePad *pad, GstBuffer *scan, const GstCloudSpan *span)
{
  g_ptr_array_add (pad->scans, scan);
  g_array_append_val (pad->spans, *span);
  pad->last = *span;
  pad->has_last = TRUE;
}

void
gst_cloud_merge_pad_get_mount (GstCloudMergePad *pad, NdtPose *mount)
{
  ndt_pose_set_identity (mount);
  GST_OBJECT_LOCK (pad);
  if (pad->sensor_pose) {
    memcpy (mount->position, pad->sensor_pose->position, sizeof mount->position);
    memcpy (mount->orientation, pad->sensor_pose->orientation, sizeof mount->orientation);
  }
  GST_OBJECT_UNLOCK (pad);
  ndt_pose_normalize (mount);
}

static void
gst_cloud_merge_pad_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstCloudMergePad *pad = GST_CLOUD_MERGE_PAD (object);

  if (id != PROP_SENSOR_POSE) {
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    return;
  }
  GST_OBJECT_LOCK (pad);
  g_clear_pointer (&pad->sensor_pose, gst_point_cloud_pose_free);
  pad->sensor_pose = g_value_dup_boxed (value);
  GST_OBJECT_UNLOCK (pad);
}

static void
gst_cloud_merge_pad_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstCloudMergePad *pad = GST_CLOUD_MERGE_PAD (object);

  if (id != PROP_SENSOR_POSE) {
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    return;
  }
  GST_OBJECT_LOCK (pad);
  g_value_set_boxed (value, pad->sensor_pose);
  GST_OBJECT_UNLOCK (pad);
}

static void
gst_cloud_merge_pad_finalize (GObject *object)
{
  GstCloudMergePad *pad = GST_CLOUD_MERGE_PAD (object);

  g_clear_pointer (&pad->sensor_pose, gst_point_cloud_pose_free);
  g_clear_pointer (&pad->times, gst_point_times_free);
  g_clear_pointer (&pad->copy, gst_cloud_copy_free);
  g_array_unref (pad->poses);
  g_array_unref (pad->spans);
  g_ptr_array_unref (pad->scans);
  G_OBJECT_CLASS (gst_cloud_merge_pad_parent_class)->finalize (object);
}

static void
gst_cloud_merge_pad_class_init (GstCloudMergePadClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->set_property = gst_cloud_merge_pad_set_property;
  object_class->get_property = gst_cloud_merge_pad_get_property;
  object_class->finalize = gst_cloud_merge_pad_finalize;
  g_object_class_install_property (object_class, PROP_SENSOR_POSE,
      g_param_spec_boxed ("sensor-pose", "Sensor Pose",
          "Where the sensor is on the body: \"x,y,z[,yaw]\", \"x,y,z,roll,pitch,yaw\" (m, degrees) "
          "or \"x,y,z,qx,qy,qz,qw\" (unset = it is the body)",
          GST_TYPE_POINT_CLOUD_POSE,
          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING));
}

static void
gst_cloud_merge_pad_init (GstCloudMergePad *pad)
{
  gst_point_cloud_info_init (&pad->info);
  pad->poses = g_array_new (FALSE, FALSE, sizeof (NdtTimedPose));
  pad->spans = g_array_new (FALSE, FALSE, sizeof (GstCloudSpan));
  pad->scans = g_ptr_array_new_with_free_func ((GDestroyNotify)gst_buffer_unref);
}
