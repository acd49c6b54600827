/* SPDX-License-Identifier: MIT */
#include "gstrosmessages.h"

#include <math.h>
#include <string.h>

#include "gst/mcap/ros/cdr.h"

/* Smallest size of an element of a sequence: an empty string is 4 bytes at least. */
#define MIN_POINT_FIELD 13
#define MIN_TRANSFORM 64
#define MIN_STATUS 17
#define MIN_KEY_VALUE 8

G_DEFINE_QUARK (ros - message - error - quark, ros_message_error)

static gboolean
damaged (GError **error, const gchar *type)
{
  g_set_error (error, ROS_MESSAGE_ERROR, ROS_MESSAGE_ERROR_DAMAGED,
      "A %s message is damaged or no little-endian CDR", type);
  return FALSE;
}

gboolean
ros_set_too_many_names (GError **error)
{
  g_set_error_literal (error, ROS_MESSAGE_ERROR, ROS_MESSAGE_ERROR_UNSUPPORTED,
      "The recording has too many different names of frames and fields, or longer ones than 1024 "
      "bytes: see the property max-names");
  return FALSE;
}

static void
write_header (CdrWriter *w, gint64 stamp, const gchar *frame_id)
{
  gint64 seconds = stamp / (gint64)GST_SECOND;
  gint64 nanoseconds = stamp % (gint64)GST_SECOND;

  if (nanoseconds < 0) {
    nanoseconds += GST_SECOND;
    seconds--;
  }
  cdr_write_i32 (w, CLAMP (seconds, G_MININT32, G_MAXINT32));
  cdr_write_u32 (w, nanoseconds);
  cdr_write_string (w, frame_id);
}

static gint64
read_stamp (CdrReader *r)
{
  gint64 seconds = cdr_read_i32 (r);
  return seconds * (gint64)GST_SECOND + cdr_read_u32 (r);
}

static void
write_doubles (CdrWriter *w, const gdouble *values, guint n)
{
  for (guint i = 0; i < n; i++)
    cdr_write_f64 (w, values[i]);
}

static void
read_doubles (CdrReader *r, gdouble *values, guint n)
{
  for (guint i = 0; i < n; i++)
    values[i] = cdr_read_f64 (r);
}

/* Clouds */

void
ros_write_point_cloud2_head (GByteArray *out, gint64 stamp, const gchar *frame_id,
    const GstPointCloudInfo *info, gsize n_points)
{
  gboolean organized = info->height > 0;
  gsize width = organized ? info->width : n_points;
  CdrWriter w;

  cdr_writer_init (&w, out);
  write_header (&w, stamp, frame_id);
  cdr_write_u32 (&w, organized ? info->height : 1);
  cdr_write_u32 (&w, width);
  cdr_write_u32 (&w, info->n_fields);
  for (guint i = 0; i < info->n_fields; i++) {
    cdr_write_string (&w, info->fields[i].name);
    cdr_write_u32 (&w, info->fields[i].offset);
    cdr_write_u8 (&w, info->fields[i].type);
    cdr_write_u32 (&w, info->fields[i].count);
  }
  cdr_write_u8 (&w, FALSE); /* is_bigendian */
  cdr_write_u32 (&w, info->point_step);
  cdr_write_u32 (&w, info->point_step * width);
  cdr_write_u32 (&w, info->point_step * n_points);
}

/* Sets the known format whose fields these are. */
static void
recognize_format (GstPointCloudInfo *info)
{
  for (guint f = GST_POINT_CLOUD_FORMAT_XYZ_F32LE; f <= GST_POINT_CLOUD_FORMAT_XYZIRT; f++) {
    GstPointCloudInfo known;
    guint i;

    gst_point_cloud_info_init (&known);
    gst_point_cloud_info_set_format (&known, f);
    if (known.point_step != info->point_step || known.n_fields != info->n_fields)
      continue;
    for (i = 0; i < known.n_fields; i++)
      if (known.fields[i].name != info->fields[i].name ||
          known.fields[i].type != info->fields[i].type ||
          known.fields[i].offset != info->fields[i].offset ||
          known.fields[i].count != info->fields[i].count)
        break;
    if (i == known.n_fields) {
      info->format = f;
      return;
    }
  }
}

static gboolean
read_fields (CdrReader *r, GstPointCloudInfo *info, GstBagNames *names, gboolean *too_many,
    gboolean *too_many_names)
{
  guint32 n = cdr_read_length (r, MIN_POINT_FIELD);

  *too_many = n > GST_POINT_CLOUD_MAX_FIELDS;
  *too_many_names = FALSE;
  for (guint32 i = 0; i < n && !cdr_reader_failed (r); i++) {
    g_autofree gchar *name = cdr_read_string (r);
    guint32 offset = cdr_read_u32 (r);
    guint8 type = cdr_read_u8 (r);
    guint32 count = cdr_read_u32 (r);
    GQuark quark;

    if (cdr_reader_failed (r) || *too_many || *too_many_names)
      continue;
    *too_many_names = !gst_bag_names_take (names, name, &quark);
    /* Field by field, since gst_point_cloud_info_validate() names what is wrong. Some drivers write
     * a count of 0 for one element. */
    info->fields[i].name = quark ? g_quark_to_string (quark) : g_intern_static_string ("");
    info->fields[i].type = type;
    info->fields[i].offset = offset;
    info->fields[i].count = MAX (count, 1);
    info->n_fields = i + 1;
  }
  return !cdr_reader_failed (r);
}

gboolean
ros_read_point_cloud2 (
    RosPointCloud2 *self, const guint8 *data, gsize size, GstBagNames *names, GError **error)
{
  g_autofree gchar *frame_id = NULL;
  g_autoptr (GError) invalid = NULL;
  gboolean too_many, too_many_names, is_bigendian;
  guint64 row, needed;
  CdrReader r;

  memset (self, 0, sizeof *self);
  gst_point_cloud_info_init (&self->info);
  self->info.format = GST_POINT_CLOUD_FORMAT_CUSTOM;
  cdr_reader_init (&r, data, size);
  self->stamp = read_stamp (&r);
  frame_id = cdr_read_string (&r);
  self->height = cdr_read_u32 (&r);
  self->width = cdr_read_u32 (&r);
  if (!read_fields (&r, &self->info, names, &too_many, &too_many_names))
    return damaged (error, ROS_TYPE_POINT_CLOUD2);
  is_bigendian = cdr_read_u8 (&r) != 0;
  self->info.point_step = cdr_read_u32 (&r);
  self->row_step = cdr_read_u32 (&r);
  self->data_size = cdr_read_length (&r, 1);
  self->data = cdr_read_bytes (&r, self->data_size);
  self->is_dense = cdr_read_u8 (&r) != 0;
  if (cdr_reader_failed (&r))
    return damaged (error, ROS_TYPE_POINT_CLOUD2);

  if (is_bigendian) {
    g_set_error (error, ROS_MESSAGE_ERROR, ROS_MESSAGE_ERROR_UNSUPPORTED,
        "Points are big-endian: not supported");
    return FALSE;
  }
  if (too_many) {
    g_set_error (error, ROS_MESSAGE_ERROR, ROS_MESSAGE_ERROR_UNSUPPORTED,
        "A point has more than %u fields", GST_POINT_CLOUD_MAX_FIELDS);
    return FALSE;
  }
  if (too_many_names)
    return ros_set_too_many_names (error);
  for (guint i = 0; i < self->info.n_fields; i++) {
    const GstPointField *field = &self->info.fields[i];
    if (gst_point_field_type_get_size (field->type) > 0)
      continue;
    g_set_error (error, ROS_MESSAGE_ERROR, ROS_MESSAGE_ERROR_UNSUPPORTED,
        "The field \"%s\" has datatype %u, which is none of sensor_msgs/msg/PointField (1 to 8)",
        field->name, (guint)field->type);
    return FALSE;
  }
  if (self->height > 1) {
    self->info.width = self->width;
    self->info.height = self->height;
  }
  recognize_format (&self->info);
  if (self->width == 0 || self->height == 0) {
    /* Width and height of a cloud without points are not used. */
    self->info.width = self->info.height = 0;
    self->width = 0;
  }
  if (!gst_point_cloud_info_validate (&self->info, &invalid)) {
    g_set_error (error, ROS_MESSAGE_ERROR, ROS_MESSAGE_ERROR_UNSUPPORTED, "%s", invalid->message);
    return FALSE;
  }
  row = (guint64)self->width * self->info.point_step;
  /* Some drivers leave row_step at 0, or count points. Where the data are as long as rows without
   * padding, no larger row_step is possible either. */
  if (self->height > 1 && row <= G_MAXUINT32 && row * self->height == self->data_size)
    self->row_step = (guint32)row;
  if (self->height > 1 && self->row_step < row) {
    g_set_error (error, ROS_MESSAGE_ERROR, ROS_MESSAGE_ERROR_UNSUPPORTED,
        "A cloud of %u rows says that a row has row_step=%u bytes, but %u points of %u bytes have "
        "%" G_GUINT64_FORMAT,
        self->height, self->row_step, self->width, self->info.point_step, row);
    return FALSE;
  }
  /* Both factors are below 2^32 and their product is compared with what is there, so that an
   * overflow is none: height - 1 rows of 2^32 bytes need less than 2^64. */
  needed = self->height > 0 ? (guint64)(self->height - 1) * self->row_step : 0;
  if (row > self->data_size || needed > self->data_size - row) {
    g_set_error (error, ROS_MESSAGE_ERROR, ROS_MESSAGE_ERROR_DAMAGED,
        "A cloud is damaged: it says %u × %u points of %u bytes, and has %" G_GSIZE_FORMAT
        " bytes of data",
        self->width, self->height, self->info.point_step, (gsize)self->data_size);
    return FALSE;
  }
  if (!gst_bag_names_take (names, frame_id, &self->info.frame_id))
    return ros_set_too_many_names (error);
  self->frame_id = g_steal_pointer (&frame_id);
  return TRUE;
}

void
ros_point_cloud2_clear (RosPointCloud2 *self)
{
  g_clear_pointer (&self->frame_id, g_free);
}

/* Poses */

void
ros_write_pose (GByteArray *out, gint64 stamp, const gchar *parent_frame, const GstPoseMeta *meta)
{
  static const gdouble unknown[36];
  CdrWriter w;

  cdr_writer_init (&w, out);
  write_header (&w, stamp, parent_frame);
  write_doubles (&w, meta->position, 3);
  write_doubles (&w, meta->orientation, 4);
  write_doubles (&w, meta->has_covariance ? meta->covariance : unknown, 36);
}

void
ros_write_tf (GByteArray *out, gint64 stamp, const gchar *parent_frame, const gchar *child_frame,
    const GstPoseMeta *meta)
{
  CdrWriter w;

  cdr_writer_init (&w, out);
  cdr_write_u32 (&w, 1);
  write_header (&w, stamp, parent_frame);
  cdr_write_string (&w, child_frame);
  write_doubles (&w, meta->position, 3);
  write_doubles (&w, meta->orientation, 4);
}

void
ros_pose_clear (RosPose *self)
{
  g_clear_pointer (&self->parent_frame, g_free);
  g_clear_pointer (&self->child_frame, g_free);
}

gboolean
ros_read_pose (RosPose *self, const guint8 *data, gsize size, GError **error)
{
  CdrReader r;

  memset (self, 0, sizeof *self);
  cdr_reader_init (&r, data, size);
  self->stamp = read_stamp (&r);
  self->parent_frame = cdr_read_string (&r);
  read_doubles (&r, self->position, 3);
  read_doubles (&r, self->orientation, 4);
  read_doubles (&r, self->covariance, 36);
  if (cdr_reader_failed (&r)) {
    ros_pose_clear (self);
    return damaged (error, ROS_TYPE_POSE);
  }
  return TRUE;
}

GArray *
ros_read_tf (const guint8 *data, gsize size, GError **error)
{
  g_autoptr (GArray) poses = g_array_new (FALSE, TRUE, sizeof (RosPose));
  guint32 n;
  CdrReader r;

  g_array_set_clear_func (poses, (GDestroyNotify)ros_pose_clear);
  cdr_reader_init (&r, data, size);
  n = cdr_read_length (&r, MIN_TRANSFORM);
  for (guint32 i = 0; i < n && !cdr_reader_failed (&r); i++) {
    RosPose pose = {0};

    pose.stamp = read_stamp (&r);
    pose.parent_frame = cdr_read_string (&r);
    pose.child_frame = cdr_read_string (&r);
    read_doubles (&r, pose.position, 3);
    read_doubles (&r, pose.orientation, 4);
    g_array_append_val (poses, pose);
  }
  if (cdr_reader_failed (&r)) {
    damaged (error, ROS_TYPE_TF);
    return NULL;
  }
  return g_steal_pointer (&poses);
}

void
ros_write_duration (GByteArray *out, GstClockTime duration)
{
  CdrWriter w;

  cdr_writer_init (&w, out);
  cdr_write_i32 (&w, (gint32)MIN (duration / GST_SECOND, G_MAXINT32));
  cdr_write_u32 (&w, (guint32)(duration % GST_SECOND));
}

gboolean
ros_read_duration (GstClockTime *duration, const guint8 *data, gsize size, GError **error)
{
  CdrReader r;

  cdr_reader_init (&r, data, size);
  const gint32 seconds = cdr_read_i32 (&r);
  const guint32 nanoseconds = cdr_read_u32 (&r);
  if (cdr_reader_failed (&r) || seconds < 0)
    return damaged (error, ROS_TYPE_DURATION);
  *duration = (GstClockTime)seconds * GST_SECOND + nanoseconds;
  return TRUE;
}

/* Diagnostics */

static const gchar *
enum_nick (GType type, gint value)
{
  g_autoptr (GEnumClass) klass = g_type_class_ref (type);
  GEnumValue *v = g_enum_get_value (klass, value);
  return v ? v->value_nick : "";
}

static gboolean
enum_from_nick (GType type, const gchar *nick, gint *value)
{
  g_autoptr (GEnumClass) klass = g_type_class_ref (type);
  GEnumValue *v = g_enum_get_value_by_nick (klass, nick);

  if (v == NULL)
    return FALSE;
  *value = v->value;
  return TRUE;
}

static guint8
diagnostic_level (GstPoseStatus status)
{
  switch (status) {
  case GST_POSE_STATUS_NONE:
  case GST_POSE_STATUS_TRACKING:
    return 0; /* OK */
  case GST_POSE_STATUS_LOST:
    return 2; /* ERROR */
  default:
    return 1; /* WARN */
  }
}

static void
write_key (CdrWriter *w, const gchar *key, const gchar *value)
{
  cdr_write_string (w, key);
  cdr_write_string (w, value);
}

/* 17 digits restore the same double. */
static void
write_key_double (CdrWriter *w, const gchar *key, gdouble value)
{
  gchar text[G_ASCII_DTOSTR_BUF_SIZE];
  write_key (w, key, g_ascii_dtostr (text, sizeof text, value));
}

static void
write_key_uint64 (CdrWriter *w, const gchar *key, guint64 value)
{
  gchar text[24];
  g_snprintf (text, sizeof text, "%" G_GUINT64_FORMAT, value);
  write_key (w, key, text);
}

/* Eleven keys. */
static void
write_quality (CdrWriter *w, const GstPoseMeta *meta)
{
  g_autoptr (GString) open = g_string_new (NULL);

  for (guint i = 0; i < 3 * MIN (meta->n_open, 3); i++) {
    gchar text[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append_printf (open, "%s%s", i > 0 ? " " : "",
        g_ascii_dtostr (text, sizeof text, meta->open_directions[i]));
  }
  write_key (w, "reason", enum_nick (GST_TYPE_POSE_REASON, meta->reason));
  write_key_double (w, "reason-value", meta->reason_value);
  write_key_double (w, "reason-bound", meta->reason_bound);
  write_key (w, "has-fit", meta->has_fit ? "true" : "false");
  write_key_double (w, "fit", meta->fit);
  write_key_double (w, "sigma", meta->sigma);
  write_key (w, "has-confidence", meta->has_confidence ? "true" : "false");
  write_key_double (w, "confidence", meta->confidence);
  write_key_double (w, "unexplained", meta->unexplained);
  write_key (w, "degenerate", meta->degenerate ? "true" : "false");
  write_key (w, "open-directions", open->str);
}

void
ros_write_diagnostics (GByteArray *out, gint64 stamp, const gchar *name, const GstPoseMeta *meta)
{
  const gchar *status = enum_nick (GST_TYPE_POSE_STATUS, meta->status);
  const gboolean is_estimate = meta->role == GST_POSE_ROLE_ESTIMATE;
  g_autofree gchar *why = gst_pose_meta_describe_reason (meta);
  g_autofree gchar *message =
      why ? g_strdup_printf ("%s: %s; %s", status, why, gst_pose_reason_get_advice (meta->reason))
          : g_strdup (status);
  CdrWriter w;

  cdr_writer_init (&w, out);
  write_header (&w, stamp, "");
  cdr_write_u32 (&w, 1);
  cdr_write_u8 (&w, diagnostic_level (meta->status));
  cdr_write_string (&w, name);
  cdr_write_string (&w, message);
  cdr_write_string (&w, ""); /* hardware_id */
  cdr_write_u32 (&w, is_estimate ? 22 : 11);
  write_key (&w, "role", enum_nick (GST_TYPE_POSE_ROLE, meta->role));
  write_key (&w, "status", status);
  write_key (&w, "has-pose", meta->has_pose ? "true" : "false");
  write_key (&w, "has-covariance", meta->has_covariance ? "true" : "false");
  write_key (&w, "parent-frame", g_quark_to_string (meta->parent_frame));
  write_key (&w, "child-frame", g_quark_to_string (meta->child_frame));
  write_key_uint64 (&w, "sequence", meta->sequence);
  write_key_double (&w, "transformation-probability", meta->transformation_probability);
  write_key_double (&w, "nvtl", meta->nvtl);
  write_key_double (&w, "matched-ratio", meta->matched_ratio);
  write_key_uint64 (&w, "iterations", meta->iterations);
  if (is_estimate)
    write_quality (&w, meta);
}

/* TRUE where the key is one that write_quality() writes. */
static gboolean
set_quality_value (GstPoseMeta *meta, const gchar *key, const gchar *value)
{
  gint v;

  if (g_str_equal (key, "reason")) {
    if (!enum_from_nick (GST_TYPE_POSE_REASON, value, &v))
      return FALSE;
    meta->reason = v;
  } else if (g_str_equal (key, "reason-value"))
    meta->reason_value = g_ascii_strtod (value, NULL);
  else if (g_str_equal (key, "reason-bound"))
    meta->reason_bound = g_ascii_strtod (value, NULL);
  else if (g_str_equal (key, "has-fit"))
    meta->has_fit = g_str_equal (value, "true");
  else if (g_str_equal (key, "fit"))
    meta->fit = g_ascii_strtod (value, NULL);
  else if (g_str_equal (key, "sigma"))
    meta->sigma = g_ascii_strtod (value, NULL);
  else if (g_str_equal (key, "has-confidence"))
    meta->has_confidence = g_str_equal (value, "true");
  else if (g_str_equal (key, "confidence"))
    meta->confidence = g_ascii_strtod (value, NULL);
  else if (g_str_equal (key, "unexplained"))
    meta->unexplained = g_ascii_strtod (value, NULL);
  else if (g_str_equal (key, "degenerate"))
    meta->degenerate = g_str_equal (value, "true");
  else if (g_str_equal (key, "open-directions")) {
    gdouble directions[9];
    gchar *end = (gchar *)value;
    guint n = 0;

    for (; n < G_N_ELEMENTS (directions); n++) {
      const gchar *from = end;
      directions[n] = g_ascii_strtod (from, &end);
      if (end == from)
        break;
    }
    meta->n_open = n / 3;
    memcpy (meta->open_directions, directions, 3 * meta->n_open * sizeof directions[0]);
  } else
    return FALSE;
  return TRUE;
}

/* TRUE where the key is one that ros_write_diagnostics() writes. */
static gboolean
set_meta_value (GstPoseMeta *meta, const gchar *key, const gchar *value, GstBagNames *names,
    gboolean *too_many_names)
{
  gint v;

  if (g_str_equal (key, "role")) {
    if (!enum_from_nick (GST_TYPE_POSE_ROLE, value, &v))
      return FALSE;
    meta->role = v;
  } else if (g_str_equal (key, "status")) {
    if (!enum_from_nick (GST_TYPE_POSE_STATUS, value, &v))
      return FALSE;
    meta->status = v;
  } else if (g_str_equal (key, "has-pose"))
    meta->has_pose = g_str_equal (value, "true");
  else if (g_str_equal (key, "has-covariance"))
    meta->has_covariance = g_str_equal (value, "true");
  else if (g_str_equal (key, "parent-frame"))
    *too_many_names |= !gst_bag_names_take (names, value, &meta->parent_frame);
  else if (g_str_equal (key, "child-frame"))
    *too_many_names |= !gst_bag_names_take (names, value, &meta->child_frame);
  else if (g_str_equal (key, "sequence"))
    meta->sequence = g_ascii_strtoull (value, NULL, 10);
  else if (g_str_equal (key, "transformation-probability"))
    meta->transformation_probability = g_ascii_strtod (value, NULL);
  else if (g_str_equal (key, "nvtl"))
    meta->nvtl = g_ascii_strtod (value, NULL);
  else if (g_str_equal (key, "matched-ratio"))
    meta->matched_ratio = g_ascii_strtod (value, NULL);
  else if (g_str_equal (key, "iterations"))
    meta->iterations = g_ascii_strtoull (value, NULL, 10);
  else
    return set_quality_value (meta, key, value);
  return TRUE;
}

gboolean
ros_read_diagnostics (GstPoseMeta *meta, gint64 *stamp, const guint8 *data, gsize size,
    GstBagNames *names, GError **error)
{
  GstPoseMeta result = *meta;
  gboolean has_role = FALSE, too_many_names = FALSE;
  gint64 time;
  guint32 n;
  CdrReader r;

  cdr_reader_init (&r, data, size);
  time = read_stamp (&r);
  g_free (cdr_read_string (&r));
  n = cdr_read_length (&r, MIN_STATUS);
  for (guint32 i = 0; i < n && !cdr_reader_failed (&r); i++) {
    guint32 n_values;

    cdr_read_u8 (&r);
    for (guint j = 0; j < 3; j++)
      g_free (cdr_read_string (&r));
    n_values = cdr_read_length (&r, MIN_KEY_VALUE);
    for (guint32 j = 0; j < n_values && !cdr_reader_failed (&r); j++) {
      g_autofree gchar *key = cdr_read_string (&r);
      g_autofree gchar *value = cdr_read_string (&r);

      if (!cdr_reader_failed (&r) && n == 1 &&
          set_meta_value (&result, key, value, names, &too_many_names))
        has_role |= g_str_equal (key, "role");
    }
  }
  if (cdr_reader_failed (&r))
    return damaged (error, ROS_TYPE_DIAGNOSTICS);
  if (too_many_names)
    return ros_set_too_many_names (error);
  if (!has_role)
    return FALSE;
  *meta = result;
  *stamp = time;
  return TRUE;
}
