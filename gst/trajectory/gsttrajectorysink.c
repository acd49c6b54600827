/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-trajectorysink
 * @title: trajectorysink
 * @short_description: writes the poses of scans to a trajectory file
 *
 * Writes a line for each scan's pose of a role in TUM, KITTI or CSV format, each at once, so that a
 * crash loses no more than the scan at hand. A scan that has no such pose, or whose estimate is
 * lost or still initializing, has no line in TUM, a line of nan in KITTI (whose lines count scans)
 * and a row without pose in CSV.
 *
 * At the end of the stream a summary is posted as an element message `trajectory-summary`, and
 * printed where #GstTrajectorySink:print-summary is set. #GstTrajectorySink:stats has it at any
 * time: `scans`, `posed`, `lost` (scans without a pose), `compared` (scans that a true pose is
 * known for as well), all guint64; and when scans were compared `mean-error-m`, `max-error-m`,
 * `rms-error-m`, `mean-error-deg` and `max-error-deg` (gdouble). True poses are those of
 * #GstTrajectorySink:reference-role, or of a file. Poses are compared as they are, without an
 * alignment of the two trajectories.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 multifilesrc location=kitti/scans/%06d.pcd ! pcddec framerate=5/1 ! \
 *     poseinject location=kitti/poses.txt match=index role=estimate translation-noise=0.1 ! \
 *     trajectorysink location=noisy.txt reference-location=kitti/poses.txt \
 *     reference-match=index print-summary=true
 * ]|
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gsttrajectorysink.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <gst/pointcloud/gstpointcloudtimer.h>
#include <gst/pointcloud/pointcloud.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "gsttrajectorymatch.h"

GST_DEBUG_CATEGORY_STATIC (gst_trajectory_sink_debug);
#define GST_CAT_DEFAULT gst_trajectory_sink_debug

#define DEFAULT_FORMAT NDT_TRAJECTORY_TUM

typedef enum { TIMESTAMPS_PTS, TIMESTAMPS_REFERENCE } Timestamps;

enum {
  PROP_0,
  PROP_LOCATION,
  PROP_FORMAT,
  PROP_ROLE,
  PROP_TIMESTAMPS,
  PROP_REFERENCE_ROLE,
  PROP_REFERENCE_LOCATION,
  PROP_REFERENCE_MATCH,
  PROP_PRINT_SUMMARY,
  PROP_STATS
};

struct _GstTrajectorySink {
  GstBaseSink parent;

  /* properties and statistics, under the object lock */
  gchar *location;
  NdtTrajectoryFormat format;
  GstPoseRole role;
  Timestamps timestamps;
  GstPoseRole reference_role;
  gchar *reference_location;
  GstTrajectoryMatch reference_match;
  gboolean print_summary;
  guint64 n_scans;
  guint64 n_posed;
  NdtPoseErrors errors;

  /* streaming thread */
  GstPointCloudTimer *timer;
  GstTrajectoryMatcher reference;
  int fd;
  gchar *open_location;
  GString *line;
  gboolean warned_reference_time;
};

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK,
    GST_PAD_ALWAYS, GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_MAKE (GST_POINT_CLOUD_FORMATS_ALL)));

G_DEFINE_TYPE (GstTrajectorySink, gst_trajectory_sink, GST_TYPE_BASE_SINK)
GST_ELEMENT_REGISTER_DEFINE (
    trajectorysink, "trajectorysink", GST_RANK_NONE, GST_TYPE_TRAJECTORY_SINK)

#define TYPE_FORMAT (format_get_type ())
static GType
format_get_type (void)
{
  static const GEnumValue values[] = {
      {NDT_TRAJECTORY_TUM, "time tx ty tz qx qy qz qw", "tum"},
      {NDT_TRAJECTORY_KITTI, "Twelve numbers of the 3×4 matrix, no time", "kitti"},
      {NDT_TRAJECTORY_CSV, "Time, status, pose, scores and error with a line of names", "csv"},
      {0, NULL, NULL},
  };
  static gsize type = 0;
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstTrajectorySinkFormat", values));
  return type;
}

#define TYPE_TIMESTAMPS (timestamps_get_type ())
static GType
timestamps_get_type (void)
{
  static const GEnumValue values[] = {
      {TIMESTAMPS_PTS, "The scan's PTS", "pts"},
      {TIMESTAMPS_REFERENCE, "The scan's reference time stamp, the sensor's own clock",
          "reference"},
      {0, NULL, NULL},
  };
  static gsize type = 0;
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstTrajectorySinkTimestamps", values));
  return type;
}

static void
post_error (GstTrajectorySink *self, const GError *error)
{
  gst_element_message_full (GST_ELEMENT (self), GST_MESSAGE_ERROR, error->domain, error->code,
      g_strdup (error->message), NULL, __FILE__, GST_FUNCTION, __LINE__);
}

static void
reset_statistics (GstTrajectorySink *self)
{
  GST_OBJECT_LOCK (self);
  self->n_scans = self->n_posed = 0;
  memset (&self->errors, 0, sizeof self->errors);
  GST_OBJECT_UNLOCK (self);
}

static GstStructure *
make_summary (GstTrajectorySink *self)
{
  NdtPoseErrors errors;
  guint64 n_scans, n_posed;
  GST_OBJECT_LOCK (self);
  errors = self->errors;
  n_scans = self->n_scans;
  n_posed = self->n_posed;
  GST_OBJECT_UNLOCK (self);

  GstStructure *summary = gst_structure_new ("trajectory-summary", "scans", G_TYPE_UINT64, n_scans,
      "posed", G_TYPE_UINT64, n_posed, "lost", G_TYPE_UINT64, n_scans - n_posed, "compared",
      G_TYPE_UINT64, errors.n, NULL);
  if (errors.n > 0) {
    const gdouble n = (gdouble)errors.n, degrees = 180 / G_PI;
    gst_structure_set (summary, "mean-error-m", G_TYPE_DOUBLE, errors.sum_m / n, "max-error-m",
        G_TYPE_DOUBLE, errors.max_m, "rms-error-m", G_TYPE_DOUBLE, sqrt (errors.sum_squares_m / n),
        "mean-error-deg", G_TYPE_DOUBLE, errors.sum_rad / n * degrees, "max-error-deg",
        G_TYPE_DOUBLE, errors.max_rad * degrees, NULL);
  }
  return summary;
}

/* Names as in the structure but for the underscores; numbers with a point in any locale. */
static void
print_summary (const GstStructure *summary)
{
  g_autoptr (GString) text = g_string_new ("trajectory:");
  for (gint i = 0; i < gst_structure_n_fields (summary); i++) {
    const gchar *field = gst_structure_nth_field_name (summary, (guint)i);
    g_autofree gchar *name = g_strdelimit (g_strdup (field), "-", '_');
    gchar number[G_ASCII_DTOSTR_BUF_SIZE];
    guint64 count;
    gdouble value;
    if (gst_structure_get_uint64 (summary, field, &count))
      g_snprintf (number, sizeof number, "%" G_GUINT64_FORMAT, count);
    else if (gst_structure_get_double (summary, field, &value))
      g_ascii_formatd (number, sizeof number, "%.4f", value);
    g_string_append_printf (text, " %s=%s", name, number);
  }
  g_print ("%s\n", text->str);
}

static gboolean
write_line (GstTrajectorySink *self)
{
  const gchar *data = self->line->str;
  gsize left = self->fd >= 0 ? self->line->len : 0;
  while (left > 0) {
    const gssize n = write (self->fd, data, left);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0) {
      if (errno == ENOSPC || errno == EDQUOT)
        GST_ELEMENT_ERROR (self, RESOURCE, NO_SPACE_LEFT,
            ("No space left for \"%s\".", self->open_location), (NULL));
      else
        GST_ELEMENT_ERROR (self, RESOURCE, WRITE,
            ("Cannot write \"%s\": %s.", self->open_location, g_strerror (errno)), (NULL));
      return FALSE;
    }
    data += n;
    left -= (gsize)n;
  }
  g_string_truncate (self->line, 0);
  return TRUE;
}

static gboolean
open_file (GstTrajectorySink *self, NdtTrajectoryFormat format)
{
  if (!self->open_location)
    return TRUE;
  self->fd = g_open (self->open_location, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (self->fd < 0) {
    GST_ELEMENT_ERROR (self, RESOURCE, OPEN_WRITE,
        ("Cannot open \"%s\" for writing: %s.", self->open_location, g_strerror (errno)), (NULL));
    return FALSE;
  }
  ndt_trajectory_write_header (self->line, format);
  return write_line (self);
}

static gboolean
gst_trajectory_sink_stop (GstBaseSink *sink)
{
  GstTrajectorySink *self = GST_TRAJECTORY_SINK (sink);
  if (self->fd >= 0)
    close (self->fd);
  self->fd = -1;
  g_clear_pointer (&self->open_location, g_free);
  gst_trajectory_matcher_close (&self->reference);
  return TRUE;
}

static gboolean
gst_trajectory_sink_start (GstBaseSink *sink)
{
  GstTrajectorySink *self = GST_TRAJECTORY_SINK (sink);
  g_autofree gchar *reference_location = NULL;
  g_autoptr (GError) error = NULL;
  NdtTrajectoryFormat format;

  GST_OBJECT_LOCK (self);
  self->open_location = g_strdup (self->location);
  reference_location = g_strdup (self->reference_location);
  self->reference.match = self->reference_match;
  self->reference.origin = self->timestamps == TIMESTAMPS_REFERENCE
                               ? GST_TRAJECTORY_TIME_ORIGIN_REFERENCE
                               : GST_TRAJECTORY_TIME_ORIGIN_STREAM;
  format = self->format;
  GST_OBJECT_UNLOCK (self);

  reset_statistics (self);
  gst_point_cloud_timer_reset (self->timer);
  self->warned_reference_time = FALSE;
  g_string_truncate (self->line, 0);
  if (reference_location &&
      !gst_trajectory_matcher_open (&self->reference, reference_location, &error)) {
    post_error (self, error);
    gst_trajectory_sink_stop (sink);
    return FALSE;
  }
  if (!open_file (self, format)) {
    gst_trajectory_sink_stop (sink);
    return FALSE;
  }
  return TRUE;
}

static gboolean
gst_trajectory_sink_set_caps (GstBaseSink *sink, GstCaps *caps)
{
  GstTrajectorySink *self = GST_TRAJECTORY_SINK (sink);
  g_autoptr (GError) error = NULL;
  GstPointCloudInfo info;
  if (!gst_point_cloud_info_from_caps (&info, caps, &error)) {
    post_error (self, error);
    return FALSE;
  }
  gst_point_cloud_timer_set_info (self->timer, &info);
  return TRUE;
}

static void
finish (GstTrajectorySink *self)
{
  g_autoptr (GstStructure) summary = make_summary (self);
  gboolean print;
  GST_OBJECT_LOCK (self);
  print = self->print_summary;
  GST_OBJECT_UNLOCK (self);
  /* Pipes and devices cannot be synchronized; that is no error. */
  if (self->fd >= 0 && fsync (self->fd) != 0 && (errno == EIO || errno == ENOSPC))
    GST_ELEMENT_ERROR (self, RESOURCE, WRITE,
        ("Cannot write \"%s\": %s.", self->open_location, g_strerror (errno)), (NULL));
  if (print)
    print_summary (summary);
  gst_element_post_message (
      GST_ELEMENT (self), gst_message_new_element (GST_OBJECT (self), g_steal_pointer (&summary)));
}

static gboolean
gst_trajectory_sink_event (GstBaseSink *sink, GstEvent *event)
{
  GstTrajectorySink *self = GST_TRAJECTORY_SINK (sink);
  switch (GST_EVENT_TYPE (event)) {
  case GST_EVENT_SEGMENT:
    event = gst_point_cloud_timer_segment (self->timer, event);
    break;
  case GST_EVENT_FLUSH_STOP:
    gst_point_cloud_timer_reset (self->timer);
    break;
  case GST_EVENT_EOS:
    finish (self);
    break;
  default:
    break;
  }
  return GST_BASE_SINK_CLASS (gst_trajectory_sink_parent_class)->event (sink, event);
}

/* A pose that is worth a line: a lost scan's is a prediction at best. */
static gboolean
get_pose (GstBuffer *buffer, GstPoseRole role, const GstPoseMeta **meta, NdtPose *pose)
{
  *meta = gst_buffer_get_pose_meta (buffer, role);
  if (!*meta || !(*meta)->has_pose || (*meta)->status == GST_POSE_STATUS_LOST ||
      (*meta)->status == GST_POSE_STATUS_INITIALIZING)
    return FALSE;
  memcpy (pose->position, (*meta)->position, sizeof pose->position);
  memcpy (pose->orientation, (*meta)->orientation, sizeof pose->orientation);
  return ndt_pose_normalize (pose);
}

static const gchar *
status_to_string (const GstPoseMeta *meta)
{
  GEnumClass *klass = g_type_class_ref (GST_TYPE_POSE_STATUS);
  const GEnumValue *value = meta ? g_enum_get_value (klass, (gint)meta->status) : NULL;
  const gchar *text = value ? value->value_nick : "";
  g_type_class_unref (klass);
  return text;
}

static GstClockTime
get_time (GstTrajectorySink *self, GstBuffer *buffer, Timestamps timestamps)
{
  GstClockTime time = GST_CLOCK_TIME_NONE;
  if (timestamps == TIMESTAMPS_REFERENCE) {
    time = gst_trajectory_get_reference_time (buffer);
    if (!GST_CLOCK_TIME_IS_VALID (time) && !self->warned_reference_time) {
      self->warned_reference_time = TRUE;
      GST_ELEMENT_WARNING (self, STREAM, FAILED,
          ("Scans have no reference time stamp; their PTS is written."), (NULL));
    }
  }
  return GST_CLOCK_TIME_IS_VALID (time) ? time : GST_BUFFER_PTS (buffer);
}

static GstFlowReturn
gst_trajectory_sink_render (GstBaseSink *sink, GstBuffer *buffer)
{
  GstTrajectorySink *self = GST_TRAJECTORY_SINK (sink);
  NdtTrajectoryRecord record = {0};
  const GstPoseMeta *meta, *truth_meta;
  GstPoseRole role, reference_role;
  NdtTrajectoryFormat format;
  Timestamps timestamps;
  NdtPose pose, truth;

  buffer = gst_point_cloud_timer_stamp (self->timer, gst_buffer_ref (buffer));
  GST_OBJECT_LOCK (self);
  role = self->role;
  reference_role = self->reference_role;
  format = self->format;
  timestamps = self->timestamps;
  record.index = self->n_scans;
  GST_OBJECT_UNLOCK (self);

  const gboolean posed = get_pose (buffer, role, &meta, &pose);
  const gboolean known =
      self->reference.trajectory
          ? gst_trajectory_matcher_find (&self->reference, record.index, buffer, &truth)
          : role != reference_role && get_pose (buffer, reference_role, &truth_meta, &truth);
  record.time = (gint64)get_time (self, buffer, timestamps);
  record.status = status_to_string (meta);
  record.pose = posed ? &pose : NULL;
  record.has_error = posed && known;
  if (meta) {
    record.transformation_probability = meta->transformation_probability;
    record.nvtl = meta->nvtl;
    record.matched_ratio = meta->matched_ratio;
    record.iterations = meta->iterations;
  }

  GST_OBJECT_LOCK (self);
  self->n_scans++;
  self->n_posed += posed;
  if (record.has_error) {
    ndt_pose_errors_add (&self->errors, &pose, &truth, &record.error_m, &record.error_deg);
    record.error_deg *= 180 / G_PI;
  }
  GST_OBJECT_UNLOCK (self);
  ndt_trajectory_write_line (self->line, format, &record);
  gst_buffer_unref (buffer);
  return write_line (self) ? GST_FLOW_OK : GST_FLOW_ERROR;
}

static void
gst_trajectory_sink_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstTrajectorySink *self = GST_TRAJECTORY_SINK (object);
  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_LOCATION:
    g_free (self->location);
    self->location = g_value_dup_string (value);
    break;
  case PROP_FORMAT:
    self->format = (NdtTrajectoryFormat)g_value_get_enum (value);
    break;
  case PROP_ROLE:
    self->role = (GstPoseRole)g_value_get_enum (value);
    break;
  case PROP_TIMESTAMPS:
    self->timestamps = (Timestamps)g_value_get_enum (value);
    break;
  case PROP_REFERENCE_ROLE:
    self->reference_role = (GstPoseRole)g_value_get_enum (value);
    break;
  case PROP_REFERENCE_LOCATION:
    g_free (self->reference_location);
    self->reference_location = g_value_dup_string (value);
    break;
  case PROP_REFERENCE_MATCH:
    self->reference_match = (GstTrajectoryMatch)g_value_get_enum (value);
    break;
  case PROP_PRINT_SUMMARY:
    self->print_summary = g_value_get_boolean (value);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_trajectory_sink_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstTrajectorySink *self = GST_TRAJECTORY_SINK (object);
  if (id == PROP_STATS) {
    g_value_take_boxed (value, make_summary (self));
    return;
  }
  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_LOCATION:
    g_value_set_string (value, self->location);
    break;
  case PROP_FORMAT:
    g_value_set_enum (value, (gint)self->format);
    break;
  case PROP_ROLE:
    g_value_set_enum (value, self->role);
    break;
  case PROP_TIMESTAMPS:
    g_value_set_enum (value, self->timestamps);
    break;
  case PROP_REFERENCE_ROLE:
    g_value_set_enum (value, self->reference_role);
    break;
  case PROP_REFERENCE_LOCATION:
    g_value_set_string (value, self->reference_location);
    break;
  case PROP_REFERENCE_MATCH:
    g_value_set_enum (value, self->reference_match);
    break;
  case PROP_PRINT_SUMMARY:
    g_value_set_boolean (value, self->print_summary);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_trajectory_sink_finalize (GObject *object)
{
  GstTrajectorySink *self = GST_TRAJECTORY_SINK (object);
  gst_point_cloud_timer_free (self->timer);
  g_string_free (self->line, TRUE);
  g_free (self->location);
  g_free (self->reference_location);
  G_OBJECT_CLASS (gst_trajectory_sink_parent_class)->finalize (object);
}

static void
gst_trajectory_sink_init (GstTrajectorySink *self)
{
  self->format = DEFAULT_FORMAT;
  self->role = GST_POSE_ROLE_ESTIMATE;
  self->reference_role = GST_POSE_ROLE_GROUND_TRUTH;
  self->fd = -1;
  self->line = g_string_new (NULL);
  self->timer = gst_point_cloud_timer_new (GST_ELEMENT (self));
  /* Lines are written as scans come. */
  gst_base_sink_set_sync (GST_BASE_SINK (self), FALSE);
}

static void
install_properties (GObjectClass *object_class)
{
  const GParamFlags flags =
      (GParamFlags)(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY);
  /**
   * GstTrajectorySink:location:
   *
   * The file to write; one that exists is overwritten. NULL: only the summary is made.
   */
  g_object_class_install_property (object_class, PROP_LOCATION,
      g_param_spec_string (
          "location", "Location", "File to write; NULL: none, for the summary alone", NULL, flags));
  g_object_class_install_property (object_class, PROP_FORMAT,
      g_param_spec_enum (
          "format", "Format", "Format of the file", TYPE_FORMAT, DEFAULT_FORMAT, flags));
  g_object_class_install_property (object_class, PROP_ROLE,
      g_param_spec_enum ("role", "Role", "Role of the poses to write", GST_TYPE_POSE_ROLE,
          GST_POSE_ROLE_ESTIMATE, flags));
  /**
   * GstTrajectorySink:timestamps:
   *
   * What the column of times has, in seconds: the scan's PTS, or its #GstReferenceTimestampMeta,
   * which is the sensor's own clock.
   */
  g_object_class_install_property (object_class, PROP_TIMESTAMPS,
      g_param_spec_enum ("timestamps", "Time stamps", "What the column of times has",
          TYPE_TIMESTAMPS, TIMESTAMPS_PTS, flags));
  g_object_class_install_property (object_class, PROP_REFERENCE_ROLE,
      g_param_spec_enum ("reference-role", "Reference role",
          "Role of the poses to compare with, where there is no reference-location",
          GST_TYPE_POSE_ROLE, GST_POSE_ROLE_GROUND_TRUTH, flags));
  g_object_class_install_property (object_class, PROP_REFERENCE_LOCATION,
      g_param_spec_string ("reference-location", "Reference location",
          "Trajectory file (TUM, KITTI or CSV) to compare with", NULL, flags));
  /**
   * GstTrajectorySink:reference-match:
   *
   * How poses of the file to compare with are assigned to scans: interpolated at the time that
   * #GstTrajectorySink:timestamps names, or line n for scan n.
   */
  g_object_class_install_property (object_class, PROP_REFERENCE_MATCH,
      g_param_spec_enum ("reference-match", "Reference match",
          "How poses of reference-location are assigned to scans", GST_TYPE_TRAJECTORY_MATCH,
          GST_TRAJECTORY_MATCH_TIME, flags));
  g_object_class_install_property (object_class, PROP_PRINT_SUMMARY,
      g_param_spec_boolean ("print-summary", "Print summary",
          "Print numbers of scans and their errors on the standard output at the end of the stream",
          FALSE, G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING));
  /**
   * GstTrajectorySink:stats:
   *
   * The summary of the scans so far.
   */
  g_object_class_install_property (object_class, PROP_STATS,
      g_param_spec_boxed ("stats", "Statistics", "The summary of the scans so far",
          GST_TYPE_STRUCTURE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
}

static void
gst_trajectory_sink_class_init (GstTrajectorySinkClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseSinkClass *sink_class = GST_BASE_SINK_CLASS (klass);

  GST_DEBUG_CATEGORY_INIT (gst_trajectory_sink_debug, "trajectorysink", 0, "poses to a file");
  object_class->set_property = gst_trajectory_sink_set_property;
  object_class->get_property = gst_trajectory_sink_get_property;
  object_class->finalize = gst_trajectory_sink_finalize;
  sink_class->start = gst_trajectory_sink_start;
  sink_class->stop = gst_trajectory_sink_stop;
  sink_class->set_caps = gst_trajectory_sink_set_caps;
  sink_class->event = gst_trajectory_sink_event;
  sink_class->render = gst_trajectory_sink_render;

  install_properties (object_class);
  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_set_static_metadata (element_class, "Trajectory sink", "Sink/PointCloud/File",
      "Writes the poses of scans in TUM, KITTI or CSV format and compares them", "gst-ndt");
  gst_type_mark_as_plugin_api (TYPE_FORMAT, 0);
  gst_type_mark_as_plugin_api (TYPE_TIMESTAMPS, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_TRAJECTORY_MATCH, 0);
}
