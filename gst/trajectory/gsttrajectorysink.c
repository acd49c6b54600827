/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-trajectorysink
 * @title: trajectorysink
 * @short_description: writes the poses of scans to a trajectory file
 *
 * Writes a line for each scan's pose of a role in TUM, KITTI or CSV format, each at once, so that a
 * crash loses no more than the scan at hand. The time of a line is the instant that the pose is of
 * (#GstPoseMeta.timestamp, the scan's PTS where there is none). A scan that has no such pose, or
 * whose estimate is lost or still initializing, has no line in TUM, a line of nan in KITTI (whose
 * lines count scans) and a row without pose in CSV. A file that another trajectorysink writes is
 * refused.
 *
 * At the end of the stream a summary is posted as an element message `trajectory-summary`, and
 * printed where #GstTrajectorySink:print-summary is set. #GstTrajectorySink:stats has it at any
 * time, all guint64: `scans`; `posed`, which is `tracked` and `degraded` ones; `predicted` (the
 * scan was not aligned); `lost` (no pose); `compared` (scans that a true pose is known for as
 * well); and when scans were compared `mean-error-m`, `max-error-m`, `rms-error-m`,
 * `mean-error-deg` and `max-error-deg` (gdouble). True poses are those of
 * #GstTrajectorySink:reference-role, or of a file, both at the instant of the pose that is written.
 * Poses are compared as they are, without an alignment of the two trajectories.
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

#include <gst/pointcloud/pointcloud.h>
#include <math.h>
#include <string.h>

#include "gsttrajectoryfile.h"
#include "gsttrajectorymatch.h"
#include "ndtcore/math/ndt-pose-curve.h"

GST_DEBUG_CATEGORY_STATIC (gst_trajectory_sink_debug);
#define GST_CAT_DEFAULT gst_trajectory_sink_debug

#define DEFAULT_FORMAT NDT_TRAJECTORY_TUM

typedef enum { TIMESTAMPS_PTS, TIMESTAMPS_REFERENCE, TIMESTAMPS_SCAN } Timestamps;

enum {
  PROP_0,
  PROP_LOCATION,
  PROP_FORMAT,
  PROP_ROLE,
  PROP_TIMESTAMPS,
  PROP_REFERENCE_ROLE,
  PROP_REFERENCE_LOCATION,
  PROP_REFERENCE_MATCH,
  PROP_MAX_POSE_GAP,
  PROP_PRINT_SUMMARY,
  PROP_STATS
};

/* What a scan's line says, while a true pose of its instant may still come. */
typedef struct {
  NdtTrajectoryRecord record;
  NdtPose pose;
  GstClockTime instant; /* of the pose */
} Line;

/* What became of scans. */
typedef struct {
  guint64 scans;
  guint64 tracked;
  guint64 degraded;
  guint64 predicted;
} Counts;

struct _GstTrajectorySink {
  GstPointCloudSink parent;

  /* properties and statistics, under the object lock */
  gchar *location;
  NdtTrajectoryFormat format;
  GstPoseRole role;
  Timestamps timestamps;
  GstPoseRole reference_role;
  gchar *reference_location;
  GstTrajectoryMatch reference_match;
  guint64 max_pose_gap;
  gboolean print_summary;
  Counts counts;
  NdtPoseErrors errors;

  /* streaming thread */
  GstTrajectoryMatcher reference;
  NdtTimedPose truth; /* of reference-role on the last scan that had one, axis of PTS */
  gboolean has_truth;
  Line pending; /* of the last scan, whose instant is later than that of its true pose */
  gboolean has_pending;
  GstTrajectoryFile file;
  gboolean warned_reference_time;
};

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK,
    GST_PAD_ALWAYS, GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_MAKE (GST_POINT_CLOUD_FORMATS_ALL)));

G_DEFINE_TYPE (GstTrajectorySink, gst_trajectory_sink, GST_TYPE_POINT_CLOUD_SINK)
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
      {TIMESTAMPS_PTS, "The pose's instant on the axis of PTS", "pts"},
      {TIMESTAMPS_REFERENCE,
          "The pose's instant on the sensor's own clock, by the scan's reference time stamp",
          "reference"},
      {TIMESTAMPS_SCAN, "The scan's PTS, whatever instant its pose is of", "scan"},
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
  memset (&self->counts, 0, sizeof self->counts);
  memset (&self->errors, 0, sizeof self->errors);
  GST_OBJECT_UNLOCK (self);
}

static GstStructure *
make_summary (GstTrajectorySink *self, const gchar *name)
{
  NdtPoseErrors errors;
  Counts counts;
  GST_OBJECT_LOCK (self);
  errors = self->errors;
  counts = self->counts;
  GST_OBJECT_UNLOCK (self);

  const guint64 posed = counts.tracked + counts.degraded;
  GstStructure *summary = gst_structure_new (name, "scans", G_TYPE_UINT64, counts.scans, "posed",
      G_TYPE_UINT64, posed, "tracked", G_TYPE_UINT64, counts.tracked, "degraded", G_TYPE_UINT64,
      counts.degraded, "predicted", G_TYPE_UINT64, counts.predicted, "lost", G_TYPE_UINT64,
      counts.scans - posed - counts.predicted, "compared", G_TYPE_UINT64, errors.n, NULL);
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

/* Writes a line, with its error where @truth is not NULL. */
static gboolean
write_record (GstTrajectorySink *self, Line *line, const NdtPose *truth)
{
  NdtTrajectoryRecord *record = &line->record;
  g_autoptr (GError) error = NULL;
  GST_OBJECT_LOCK (self);
  record->has_error = record->pose && truth;
  if (record->has_error) {
    ndt_pose_errors_add (&self->errors, record->pose, truth, &record->error_m, &record->error_deg);
    record->error_deg *= 180 / G_PI;
  }
  GST_OBJECT_UNLOCK (self);
  if (gst_trajectory_file_write (&self->file, record, &error))
    return TRUE;
  post_error (self, error);
  return FALSE;
}

static gboolean
write_pending (GstTrajectorySink *self)
{
  if (!self->has_pending)
    return TRUE;
  self->has_pending = FALSE;
  GST_DEBUG_OBJECT (self, "no true pose at %" GST_TIME_FORMAT " for scan %" G_GUINT64_FORMAT,
      GST_TIME_ARGS (self->pending.instant), self->pending.record.index);
  return write_record (self, &self->pending, NULL);
}

static gboolean
gst_trajectory_sink_stop (GstBaseSink *sink)
{
  GstTrajectorySink *self = GST_TRAJECTORY_SINK (sink);
  write_pending (self);
  gst_trajectory_file_close (&self->file);
  gst_trajectory_matcher_close (&self->reference);
  return TRUE;
}

static gboolean
gst_trajectory_sink_start (GstBaseSink *sink)
{
  GstTrajectorySink *self = GST_TRAJECTORY_SINK (sink);
  g_autofree gchar *location = NULL, *reference_location = NULL;
  g_autoptr (GError) error = NULL;
  NdtTrajectoryFormat format;

  GST_OBJECT_LOCK (self);
  location = g_strdup (self->location);
  reference_location = g_strdup (self->reference_location);
  self->reference.match = self->reference_match;
  self->reference.max_gap = (gint64)MIN (self->max_pose_gap, (guint64)G_MAXINT64);
  self->reference.origin = self->timestamps == TIMESTAMPS_REFERENCE
                               ? GST_TRAJECTORY_TIME_ORIGIN_REFERENCE
                               : GST_TRAJECTORY_TIME_ORIGIN_STREAM;
  format = self->format;
  GST_OBJECT_UNLOCK (self);

  reset_statistics (self);
  self->warned_reference_time = FALSE;
  if ((reference_location &&
          !gst_trajectory_matcher_open (&self->reference, reference_location, &error)) ||
      !gst_trajectory_file_open (&self->file, location, format, &error)) {
    post_error (self, error);
    gst_trajectory_sink_stop (sink);
    return FALSE;
  }
  GST_INFO_OBJECT (self, "writing \"%s\"", GST_STR_NULL (self->file.shown));
  return GST_BASE_SINK_CLASS (gst_trajectory_sink_parent_class)->start (sink);
}

static void
finish (GstTrajectorySink *self)
{
  g_autoptr (GstStructure) summary = make_summary (self, "trajectory-summary");
  g_autoptr (GError) error = NULL;
  gboolean print;
  GST_OBJECT_LOCK (self);
  print = self->print_summary;
  GST_OBJECT_UNLOCK (self);
  if (!gst_trajectory_file_sync (&self->file, &error))
    post_error (self, error);
  if (print)
    print_summary (summary);
  gst_element_post_message (
      GST_ELEMENT (self), gst_message_new_element (GST_OBJECT (self), g_steal_pointer (&summary)));
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
enum_to_nick (GType type, gint number)
{
  GEnumClass *klass = g_type_class_ref (type);
  const GEnumValue *value = g_enum_get_value (klass, number);
  const gchar *text = value ? value->value_nick : "";
  g_type_class_unref (klass);
  return text;
}

/* What the column of times has: an instant on the axis of PTS, or on the sensor's clock, or PTS. */
static GstClockTime
get_time (GstTrajectorySink *self, GstBuffer *buffer, GstClockTime instant, Timestamps timestamps)
{
  if (timestamps == TIMESTAMPS_SCAN)
    return GST_BUFFER_PTS_IS_VALID (buffer) ? GST_BUFFER_PTS (buffer) : instant;
  if (timestamps == TIMESTAMPS_REFERENCE) {
    const GstClockTime reference = gst_trajectory_get_reference_time (buffer);
    if (GST_CLOCK_TIME_IS_VALID (reference))
      return reference + (instant - GST_BUFFER_PTS (buffer));
    if (!self->warned_reference_time) {
      self->warned_reference_time = TRUE;
      GST_ELEMENT_WARNING (self, STREAM, FAILED,
          ("Scans have no reference time stamp; the times of the stream are written."), (NULL));
    }
  }
  return instant;
}

/* The true pose at an instant from the last scan's to @next. */
static gboolean
interpolate_truth (
    GstTrajectorySink *self, const NdtTimedPose *next, GstClockTime instant, NdtPose *truth)
{
  const gint64 time = (gint64)instant;
  if (next->time == time) {
    *truth = next->pose;
    return TRUE;
  }
  if (!self->has_truth || time < self->truth.time || time > next->time ||
      (self->reference.max_gap > 0 && next->time - self->truth.time > self->reference.max_gap))
    return FALSE;
  ndt_pose_interpolate (&self->truth.pose, &next->pose,
      (double)(time - self->truth.time) / (double)(next->time - self->truth.time), truth);
  return TRUE;
}

/* Compares with the true poses on the scans. A pose later than its scan's true one waits for the
 * next scan's: a scan's true pose may be of its begin and the estimate of its end. */
static gboolean
write_with_role (GstTrajectorySink *self, Line *line, GstBuffer *buffer, GstPoseRole role)
{
  const GstPoseMeta *meta;
  NdtTimedPose now;
  NdtPose truth;
  if (!get_pose (buffer, role, &meta, &now.pose))
    return write_pending (self) && write_record (self, line, NULL);
  now.time = (gint64)gst_pose_meta_get_time (meta, buffer);
  if (self->has_pending) {
    const gboolean known = interpolate_truth (self, &now, self->pending.instant, &truth);
    self->has_pending = !known;
    if (!(known ? write_record (self, &self->pending, &truth) : write_pending (self)))
      return FALSE;
  }
  const gboolean known = interpolate_truth (self, &now, line->instant, &truth);
  self->has_truth = TRUE;
  self->truth = now;
  if (known || !line->record.pose || (gint64)line->instant < now.time)
    return write_record (self, line, known ? &truth : NULL);
  self->pending = *line;
  self->pending.record.pose = &self->pending.pose;
  self->has_pending = TRUE;
  return TRUE;
}

/* A line that waits for a true pose is written without it: none will come. */
static void
gst_trajectory_sink_reset (GstPointCloudSink *sink)
{
  GstTrajectorySink *self = GST_TRAJECTORY_SINK (sink);
  write_pending (self);
  self->has_truth = FALSE;
}

static gboolean
gst_trajectory_sink_event (GstBaseSink *sink, GstEvent *event)
{
  GstTrajectorySink *self = GST_TRAJECTORY_SINK (sink);
  if (GST_EVENT_TYPE (event) == GST_EVENT_EOS) {
    write_pending (self);
    finish (self);
  }
  return GST_BASE_SINK_CLASS (gst_trajectory_sink_parent_class)->event (sink, event);
}

static void
count (GstTrajectorySink *self, const GstPoseMeta *meta, gboolean posed)
{
  GST_OBJECT_LOCK (self);
  self->counts.scans++;
  if (posed && meta->status == GST_POSE_STATUS_DEGRADED)
    self->counts.degraded++;
  else if (posed && meta->status == GST_POSE_STATUS_SKIPPED)
    self->counts.predicted++;
  else if (posed)
    self->counts.tracked++;
  GST_OBJECT_UNLOCK (self);
}

static void
set_quality (NdtTrajectoryRecord *record, const GstPoseMeta *meta)
{
  if (meta->role != GST_POSE_ROLE_ESTIMATE)
    return;
  record->reason = enum_to_nick (GST_TYPE_POSE_REASON, (gint)meta->reason);
  record->reason_value = meta->reason_value;
  record->reason_bound = meta->reason_bound;
  record->fit = meta->fit;
  record->sigma = meta->sigma;
  record->has_confidence = meta->has_confidence;
  record->confidence = meta->confidence;
  record->unexplained = meta->unexplained;
  record->n_open = MIN (meta->n_open, 3);
  memcpy (record->open, meta->open_directions, sizeof record->open);
}

static GstFlowReturn
gst_trajectory_sink_render (GstBaseSink *sink, GstBuffer *buffer)
{
  GstTrajectorySink *self = GST_TRAJECTORY_SINK (sink);
  Line line = {.instant = GST_BUFFER_PTS (buffer)};
  const GstPoseMeta *meta;
  GstPoseRole role, reference_role;
  Timestamps timestamps;
  NdtPose truth;
  gboolean written;

  GST_OBJECT_LOCK (self);
  role = self->role;
  reference_role = self->reference_role;
  timestamps = self->timestamps;
  line.record.index = self->counts.scans;
  GST_OBJECT_UNLOCK (self);

  const gboolean posed = get_pose (buffer, role, &meta, &line.pose);
  if (posed)
    line.instant = gst_pose_meta_get_time (meta, buffer);
  line.record.time = (gint64)get_time (self, buffer, line.instant, timestamps);
  line.record.status = meta ? enum_to_nick (GST_TYPE_POSE_STATUS, (gint)meta->status) : "";
  line.record.pose = posed ? &line.pose : NULL;
  if (meta) {
    line.record.transformation_probability = meta->transformation_probability;
    line.record.nvtl = meta->nvtl;
    line.record.matched_ratio = meta->matched_ratio;
    line.record.iterations = meta->iterations;
    set_quality (&line.record, meta);
  }
  count (self, meta, posed);
  if (self->reference.trajectory) {
    const gboolean known = gst_trajectory_matcher_find (
        &self->reference, line.record.index, buffer, line.instant, &truth);
    written = write_record (self, &line, known ? &truth : NULL);
  } else if (role != reference_role) {
    written = write_with_role (self, &line, buffer, reference_role);
  } else {
    written = write_record (self, &line, NULL);
  }
  return written ? GST_FLOW_OK : GST_FLOW_ERROR;
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
  case PROP_MAX_POSE_GAP:
    self->max_pose_gap = g_value_get_uint64 (value);
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
    g_value_take_boxed (value, make_summary (self, "application/x-trajectorysink-stats"));
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
  case PROP_MAX_POSE_GAP:
    g_value_set_uint64 (value, self->max_pose_gap);
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
  gst_trajectory_file_clear (&self->file);
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
  gst_trajectory_file_init (&self->file);
  self->max_pose_gap = 2 * GST_SECOND;
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
   * What the column of times has, in seconds: the instant of the pose on the axis of PTS, or on the
   * sensor's own clock, by the scan's #GstReferenceTimestampMeta.
   */
  g_object_class_install_property (object_class, PROP_TIMESTAMPS,
      g_param_spec_enum ("timestamps", "Timestamps", "What the column of times has",
          TYPE_TIMESTAMPS, TIMESTAMPS_PTS, flags));
  g_object_class_install_property (object_class, PROP_REFERENCE_ROLE,
      g_param_spec_enum ("reference-role", "Reference Role",
          "Role of the poses to compare with, where there is no reference-location",
          GST_TYPE_POSE_ROLE, GST_POSE_ROLE_GROUND_TRUTH, flags));
  g_object_class_install_property (object_class, PROP_REFERENCE_LOCATION,
      g_param_spec_string ("reference-location", "Reference Location",
          "Trajectory file (TUM, KITTI or CSV) to compare with", NULL, flags));
  /**
   * GstTrajectorySink:reference-match:
   *
   * How poses of the file to compare with are assigned to scans: interpolated at the instant of the
   * pose that is written, by the clock that #GstTrajectorySink:timestamps names, or line n for
   * scan n.
   */
  g_object_class_install_property (object_class, PROP_REFERENCE_MATCH,
      g_param_spec_enum ("reference-match", "Reference Match",
          "How poses of reference-location are assigned to scans", GST_TYPE_TRAJECTORY_MATCH,
          GST_TRAJECTORY_MATCH_TIME, flags));
  /**
   * GstTrajectorySink:max-pose-gap:
   *
   * Where true poses are farther apart the motion between them is not known, and a scan between
   * them is not compared.
   */
  g_object_class_install_property (object_class, PROP_MAX_POSE_GAP,
      g_param_spec_uint64 ("max-pose-gap", "Maximum Pose Gap",
          "Nanoseconds between two true poses beyond which none is interpolated between them (0 = "
          "any)",
          0, G_MAXUINT64, 2 * GST_SECOND, flags));
  g_object_class_install_property (object_class, PROP_PRINT_SUMMARY,
      g_param_spec_boolean ("print-summary", "Print Summary",
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
  sink_class->event = gst_trajectory_sink_event;
  sink_class->render = gst_trajectory_sink_render;
  GST_POINT_CLOUD_SINK_CLASS (klass)->reset = gst_trajectory_sink_reset;

  install_properties (object_class);
  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_set_static_metadata (element_class, "Trajectory sink", "Sink/File/PointCloud",
      "Writes the poses of scans in TUM, KITTI or CSV format and compares them",
      "The gst-ndt developers");
  gst_type_mark_as_plugin_api (TYPE_FORMAT, 0);
  gst_type_mark_as_plugin_api (TYPE_TIMESTAMPS, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_TRAJECTORY_MATCH, 0);
}
