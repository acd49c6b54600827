/* SPDX-License-Identifier: MIT */
#include "gstrosnavigation.h"

#include "gst/mcap/ros/cdr.h"

static void
write_header (CdrWriter *w, gint64 stamp, const gchar *frame_id)
{
  const gint64 second = (gint64)GST_SECOND;
  const gint64 seconds = stamp / second - (stamp % second < 0);

  cdr_write_i32 (w, (gint32)CLAMP (seconds, G_MININT32, G_MAXINT32));
  cdr_write_u32 (w, (guint32)(stamp - seconds * second));
  cdr_write_string (w, frame_id);
}

static void
write_doubles (CdrWriter *w, const gdouble *values, guint n)
{
  for (guint i = 0; i < n; i++)
    cdr_write_f64 (w, values[i]);
}

void
ros_write_odometry (GByteArray *out, gint64 stamp, const gchar *parent_frame,
    const gchar *child_frame, const GstPoseMeta *meta, const gdouble twist[6])
{
  static const gdouble zeros[36], unknown[36] = {-1};
  CdrWriter w;

  cdr_writer_init (&w, out);
  write_header (&w, stamp, parent_frame);
  cdr_write_string (&w, child_frame);
  write_doubles (&w, meta->position, 3);
  write_doubles (&w, meta->orientation, 4);
  write_doubles (&w, meta->has_covariance ? meta->covariance : zeros, 36);
  write_doubles (&w, twist ? twist : zeros, 6);
  write_doubles (&w, twist ? zeros : unknown, 36);
}

void
ros_write_path (
    GByteArray *out, gint64 stamp, const gchar *frame, const RosPathPose *poses, guint n_poses)
{
  CdrWriter w;

  cdr_writer_init (&w, out);
  write_header (&w, stamp, frame);
  cdr_write_u32 (&w, n_poses);
  for (guint i = 0; i < n_poses; i++) {
    write_header (&w, poses[i].stamp, frame);
    write_doubles (&w, poses[i].pose.position, 3);
    write_doubles (&w, poses[i].pose.orientation, 4);
  }
}

void
ros_write_transform (GByteArray *out, gint64 stamp, const gchar *parent_frame,
    const gchar *child_frame, const GstPointCloudPose *pose)
{
  CdrWriter w;

  cdr_writer_init (&w, out);
  cdr_write_u32 (&w, 1);
  write_header (&w, stamp, parent_frame);
  cdr_write_string (&w, child_frame);
  write_doubles (&w, pose->position, 3);
  write_doubles (&w, pose->orientation, 4);
}
