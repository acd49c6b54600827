/* SPDX-License-Identifier: MIT */
/**
 * SECTION:gstposemeta
 * @title: GstPoseMeta
 * @short_description: the pose of a scan
 *
 * A buffer can carry several poses, told apart by their role. The meta has no tags, because a
 * pose stays true whatever happens to the points of the scan: elements that copy metas copy it.
 */
#include "gstposemeta.h"

#include <string.h>

#define STRUCTURE_NAME "pose"

static GType
register_enum (const gchar *name, const GEnumValue *values)
{
  return g_enum_register_static (g_intern_static_string (name), values);
}

GType
gst_pose_role_get_type (void)
{
  /* The second of each is what gst-inspect-1.0 explains a value by. */
  static const GEnumValue values[] = {
      {GST_POSE_ROLE_ESTIMATE, "What a localizer found", "estimate"},
      {GST_POSE_ROLE_PRIOR, "An absolute pose in the map from elsewhere: GNSS, a person, a file",
          "prior"},
      {GST_POSE_ROLE_ODOMETRY, "A pose in a drifting frame, of which increments count", "odometry"},
      {GST_POSE_ROLE_GROUND_TRUTH, "The true pose", "ground-truth"},
      {0, NULL, NULL},
  };
  static gsize type = 0;

  if (g_once_init_enter (&type))
    g_once_init_leave (&type, register_enum ("GstPoseRole", values));
  return (GType)type;
}

GType
gst_pose_status_get_type (void)
{
  static const GEnumValue values[] = {
      {GST_POSE_STATUS_NONE, "GST_POSE_STATUS_NONE", "none"},
      {GST_POSE_STATUS_INITIALIZING, "GST_POSE_STATUS_INITIALIZING", "initializing"},
      {GST_POSE_STATUS_TRACKING, "GST_POSE_STATUS_TRACKING", "tracking"},
      {GST_POSE_STATUS_DEGRADED, "GST_POSE_STATUS_DEGRADED", "degraded"},
      {GST_POSE_STATUS_LOST, "GST_POSE_STATUS_LOST", "lost"},
      {GST_POSE_STATUS_SKIPPED, "GST_POSE_STATUS_SKIPPED", "skipped"},
      {0, NULL, NULL},
  };
  static gsize type = 0;

  if (g_once_init_enter (&type))
    g_once_init_leave (&type, register_enum ("GstPoseStatus", values));
  return (GType)type;
}

GType
gst_pose_reason_get_type (void)
{
  static const GEnumValue values[] = {
      {GST_POSE_REASON_NONE, "It is tracking, or it is not said", "none"},
      {GST_POSE_REASON_BAD_FIT, "It does not fit the map there", "bad-fit"},
      {GST_POSE_REASON_NO_MAP, "None of its points lies on the map", "no-map"},
      {GST_POSE_REASON_NO_START, "There is no pose to start from", "no-start"},
      {GST_POSE_REASON_WEAK_OVERLAP, "Too little of it lies on the map to tell", "weak-overlap"},
      {GST_POSE_REASON_STALE_PREDICTION,
          "Nothing tells where the sensor went since the last scan that was aligned",
          "stale-prediction"},
      {GST_POSE_REASON_TOO_LATE, "Its turn came too late", "too-late"},
      {GST_POSE_REASON_DEGENERATE, "Its position is open along a direction", "degenerate"},
      {GST_POSE_REASON_AMBIGUOUS, "Other places fit about as well", "ambiguous"},
      {GST_POSE_REASON_IMPLAUSIBLE_MOTION, "It fits where no body gets to in the time",
          "implausible-motion"},
      {GST_POSE_REASON_TOO_FEW_POINTS, "It has too few points", "too-few-points"},
      {0, NULL, NULL},
  };
  static gsize type = 0;

  if (g_once_init_enter (&type))
    g_once_init_leave (&type, register_enum ("GstPoseReason", values));
  return (GType)type;
}

GType
gst_pose_meta_api_get_type (void)
{
  static const gchar *tags[] = {NULL};
  static gsize type = 0;

  if (g_once_init_enter (&type))
    g_once_init_leave (&type, gst_meta_api_type_register ("GstPoseMetaAPI", tags));
  return (GType)type;
}

static const gchar *
enum_to_nick (GType type, gint value)
{
  g_autoptr (GTypeClass) klass = g_type_class_ref (type);
  const GEnumValue *entry = g_enum_get_value (G_ENUM_CLASS (klass), value);

  /* Nicks are static: they outlive the class. */
  return entry ? entry->value_nick : "unknown";
}

static gboolean
enum_from_nick (GType type, const gchar *nick, gint *value)
{
  g_autoptr (GTypeClass) klass = g_type_class_ref (type);
  const GEnumValue *entry = nick ? g_enum_get_value_by_nick (G_ENUM_CLASS (klass), nick) : NULL;

  if (entry)
    *value = entry->value;
  return entry != NULL;
}

/* Everything but the parent, which belongs to the buffer. */
static void
copy_pose (GstPoseMeta *to, const GstPoseMeta *from)
{
  GstMeta meta = to->meta;

  *to = *from;
  to->meta = meta;
}

static void
reset_pose (GstPoseMeta *pose)
{
  GstPoseMeta empty = {.orientation = {0, 0, 0, 1}, .timestamp = GST_CLOCK_TIME_NONE};

  copy_pose (pose, &empty);
}

static gboolean
pose_meta_init (GstMeta *meta, gpointer params, GstBuffer *buffer)
{
  reset_pose ((GstPoseMeta *)meta);
  return TRUE;
}

static gboolean
pose_meta_transform (
    GstBuffer *target, GstMeta *meta, GstBuffer *buffer, GQuark type, gpointer data)
{
  const GstPoseMeta *from = (const GstPoseMeta *)meta;
  GstPoseMeta *to;

  /* A part of a scan was taken where the scan was: regions are copied as well. */
  if (!GST_META_TRANSFORM_IS_COPY (type))
    return FALSE;
  to = (GstPoseMeta *)gst_buffer_add_meta (target, GST_POSE_META_INFO, NULL);
  if (!to)
    return FALSE;
  copy_pose (to, from);
  return TRUE;
}

static void
append_doubles (GstStructure *structure, const gchar *name, const gdouble *values, guint n)
{
  GValue array = G_VALUE_INIT, value = G_VALUE_INIT;

  gst_value_array_init (&array, n);
  g_value_init (&value, G_TYPE_DOUBLE);
  for (guint i = 0; i < n; i++) {
    g_value_set_double (&value, values[i]);
    gst_value_array_append_value (&array, &value);
  }
  gst_structure_take_value (structure, name, &array);
}

/* TRUE and *present FALSE where the structure lacks the array. */
static gboolean
read_doubles (
    const GstStructure *structure, const gchar *name, gdouble *values, guint n, gboolean *present)
{
  const GValue *array = gst_structure_get_value (structure, name);

  *present = array != NULL;
  if (!array)
    return TRUE;
  if (!GST_VALUE_HOLDS_ARRAY (array) || gst_value_array_get_size (array) != n)
    return FALSE;
  for (guint i = 0; i < n; i++) {
    const GValue *value = gst_value_array_get_value (array, i);

    if (!G_VALUE_HOLDS_DOUBLE (value))
      return FALSE;
    values[i] = g_value_get_double (value);
  }
  return TRUE;
}

/**
 * gst_pose_meta_get_time:
 * @meta: a pose
 * @buffer: the buffer that it is on
 *
 * The one instant of a pose: what writes, compares or interpolates poses does it at this time.
 *
 * Returns: the instant that the pose is of, on the axis of the buffers' PTS: that in the meta, the
 *   PTS of @buffer where the meta says none; %GST_CLOCK_TIME_NONE where there is neither
 *
 * Since: 0.2
 */
GstClockTime
gst_pose_meta_get_time (const GstPoseMeta *meta, GstBuffer *buffer)
{
  g_return_val_if_fail (meta != NULL, GST_CLOCK_TIME_NONE);
  g_return_val_if_fail (GST_IS_BUFFER (buffer), GST_CLOCK_TIME_NONE);

  return GST_CLOCK_TIME_IS_VALID (meta->timestamp) ? meta->timestamp : GST_BUFFER_PTS (buffer);
}

static void
set_quality (GstStructure *structure, const GstPoseMeta *meta)
{
  gst_structure_set (structure, "reason", G_TYPE_STRING,
      enum_to_nick (GST_TYPE_POSE_REASON, meta->reason), "reason-value", G_TYPE_DOUBLE,
      meta->reason_value, "reason-bound", G_TYPE_DOUBLE, meta->reason_bound, "sigma", G_TYPE_DOUBLE,
      meta->sigma, "degenerate", G_TYPE_BOOLEAN, meta->degenerate, NULL);
  if (meta->has_fit)
    gst_structure_set (structure, "fit", G_TYPE_DOUBLE, meta->fit, NULL);
  if (meta->has_confidence)
    gst_structure_set (structure, "confidence", G_TYPE_DOUBLE, meta->confidence, "unexplained",
        G_TYPE_DOUBLE, meta->unexplained, NULL);
  append_doubles (structure, "open-directions", meta->open_directions, 3 * MIN (meta->n_open, 3));
}

/**
 * gst_pose_meta_to_structure:
 * @meta: a pose
 *
 * Everything of a pose as a structure "pose": for messages, and for languages whose bindings do
 * not reach C arrays. Its fields are named as those of #GstPoseMeta, with "-" for "_": `role` and
 * `status` are strings (nicks of #GstPoseRole and #GstPoseStatus); `position`, `orientation` and
 * `covariance` are arrays of doubles that are there only where the pose, or its covariance, means
 * something; `parent-frame` and `child-frame` are strings that are there only where they are
 * said; `timestamp` (guint64, ns) only where it is valid; `sequence` (guint64),
 * `transformation-probability`, `nvtl`, `matched-ratio` (double) and `iterations` (guint) always;
 * `no-ground-points` (guint), `no-ground-transformation-probability` and `no-ground-nvtl` (double)
 * only where the points above the ground were scored; `reason` (string, nick of #GstPoseReason),
 * `reason-value`, `reason-bound`, `sigma` (double), `degenerate` (boolean) and `open-directions`
 * (array of 3 doubles a direction) of estimates only, `fit` (double), and `confidence` with
 * `unexplained` (double), where they are known.
 *
 * Returns: (transfer full): a structure
 *
 * Since: 0.1
 */
GstStructure *
gst_pose_meta_to_structure (const GstPoseMeta *meta)
{
  GstStructure *structure;

  g_return_val_if_fail (meta != NULL, NULL);

  structure = gst_structure_new (STRUCTURE_NAME, "role", G_TYPE_STRING,
      enum_to_nick (GST_TYPE_POSE_ROLE, meta->role), "status", G_TYPE_STRING,
      enum_to_nick (GST_TYPE_POSE_STATUS, meta->status), "sequence", G_TYPE_UINT64, meta->sequence,
      "transformation-probability", G_TYPE_DOUBLE, meta->transformation_probability, "nvtl",
      G_TYPE_DOUBLE, meta->nvtl, "matched-ratio", G_TYPE_DOUBLE, meta->matched_ratio, "iterations",
      G_TYPE_UINT, meta->iterations, NULL);
  if (meta->has_pose) {
    append_doubles (structure, "position", meta->position, G_N_ELEMENTS (meta->position));
    append_doubles (structure, "orientation", meta->orientation, G_N_ELEMENTS (meta->orientation));
  }
  if (meta->has_covariance)
    append_doubles (structure, "covariance", meta->covariance, G_N_ELEMENTS (meta->covariance));
  if (meta->parent_frame)
    gst_structure_set (
        structure, "parent-frame", G_TYPE_STRING, g_quark_to_string (meta->parent_frame), NULL);
  if (meta->child_frame)
    gst_structure_set (
        structure, "child-frame", G_TYPE_STRING, g_quark_to_string (meta->child_frame), NULL);
  if (GST_CLOCK_TIME_IS_VALID (meta->timestamp))
    gst_structure_set (structure, "timestamp", G_TYPE_UINT64, meta->timestamp, NULL);
  if (meta->has_no_ground)
    gst_structure_set (structure, "no-ground-points", G_TYPE_UINT, meta->no_ground_points,
        "no-ground-transformation-probability", G_TYPE_DOUBLE,
        meta->no_ground_transformation_probability, "no-ground-nvtl", G_TYPE_DOUBLE,
        meta->no_ground_nvtl, NULL);
  if (meta->role == GST_POSE_ROLE_ESTIMATE)
    set_quality (structure, meta);
  return structure;
}

/* FALSE where a field has another form. */
static gboolean
read_quality (GstPoseMeta *pose, const GstStructure *structure)
{
  const GValue *open = gst_structure_get_value (structure, "open-directions");
  gboolean present;
  gint reason = GST_POSE_REASON_NONE;

  if (gst_structure_has_field (structure, "reason") &&
      !enum_from_nick (
          GST_TYPE_POSE_REASON, gst_structure_get_string (structure, "reason"), &reason))
    return FALSE;
  pose->reason = (GstPoseReason)reason;
  gst_structure_get_double (structure, "reason-value", &pose->reason_value);
  gst_structure_get_double (structure, "reason-bound", &pose->reason_bound);
  pose->has_fit = gst_structure_get_double (structure, "fit", &pose->fit);
  gst_structure_get_double (structure, "sigma", &pose->sigma);
  pose->has_confidence = gst_structure_get_double (structure, "confidence", &pose->confidence);
  gst_structure_get_double (structure, "unexplained", &pose->unexplained);
  gst_structure_get_boolean (structure, "degenerate", &pose->degenerate);
  if (!open)
    return TRUE;
  pose->n_open = GST_VALUE_HOLDS_ARRAY (open) ? gst_value_array_get_size (open) / 3 : 0;
  return pose->n_open <= 3 && read_doubles (structure, "open-directions", pose->open_directions,
                                  3 * pose->n_open, &present);
}

static gboolean
read_structure (GstPoseMeta *pose, const GstStructure *structure)
{
  const gchar *frame;
  gboolean has_orientation;
  gint role, status = GST_POSE_STATUS_NONE;

  if (!gst_structure_has_name (structure, STRUCTURE_NAME) ||
      !enum_from_nick (GST_TYPE_POSE_ROLE, gst_structure_get_string (structure, "role"), &role))
    return FALSE;
  if (gst_structure_has_field (structure, "status") &&
      !enum_from_nick (
          GST_TYPE_POSE_STATUS, gst_structure_get_string (structure, "status"), &status))
    return FALSE;
  pose->role = (GstPoseRole)role;
  pose->status = (GstPoseStatus)status;
  if (!read_doubles (
          structure, "position", pose->position, G_N_ELEMENTS (pose->position), &pose->has_pose) ||
      !read_doubles (structure, "orientation", pose->orientation, G_N_ELEMENTS (pose->orientation),
          &has_orientation) ||
      has_orientation != pose->has_pose ||
      !read_doubles (structure, "covariance", pose->covariance, G_N_ELEMENTS (pose->covariance),
          &pose->has_covariance))
    return FALSE;

  frame = gst_structure_get_string (structure, "parent-frame");
  pose->parent_frame = frame ? g_quark_from_string (frame) : 0;
  frame = gst_structure_get_string (structure, "child-frame");
  pose->child_frame = frame ? g_quark_from_string (frame) : 0;
  gst_structure_get_uint64 (structure, "timestamp", &pose->timestamp);
  gst_structure_get_uint64 (structure, "sequence", &pose->sequence);
  gst_structure_get_double (
      structure, "transformation-probability", &pose->transformation_probability);
  gst_structure_get_double (structure, "nvtl", &pose->nvtl);
  gst_structure_get_double (structure, "matched-ratio", &pose->matched_ratio);
  gst_structure_get_uint (structure, "iterations", &pose->iterations);
  pose->has_no_ground =
      gst_structure_get_uint (structure, "no-ground-points", &pose->no_ground_points);
  gst_structure_get_double (structure, "no-ground-transformation-probability",
      &pose->no_ground_transformation_probability);
  gst_structure_get_double (structure, "no-ground-nvtl", &pose->no_ground_nvtl);
  return read_quality (pose, structure);
}

#if GST_CHECK_VERSION(1, 24, 0)
/* The structure as text: doubles are written so that they are read back exactly. */
static gboolean
pose_meta_serialize (const GstMeta *meta, GstByteArrayInterface *data, guint8 *version)
{
  g_autoptr (GstStructure) structure = gst_pose_meta_to_structure ((const GstPoseMeta *)meta);
  g_autofree gchar *text = gst_structure_serialize (structure, GST_SERIALIZE_FLAG_NONE);

  *version = 0;
  return text && gst_byte_array_interface_append_data (data, (const guint8 *)text, strlen (text));
}

static GstMeta *
pose_meta_deserialize (
    const GstMetaInfo *info, GstBuffer *buffer, const guint8 *data, gsize size, guint8 version)
{
  g_autofree gchar *text = g_strndup ((const gchar *)data, size);
  g_autoptr (GstStructure) structure = version == 0 ? gst_structure_from_string (text, NULL) : NULL;

  return structure ? (GstMeta *)gst_buffer_add_pose_meta_from_structure (buffer, structure) : NULL;
}
#endif

static const GstMetaInfo *
register_meta (void)
{
#if GST_CHECK_VERSION(1, 24, 0)
  GstMetaInfo *info = (GstMetaInfo *)gst_meta_info_new (
      GST_POSE_META_API_TYPE, "GstPoseMeta", sizeof (GstPoseMeta));

  info->init_func = pose_meta_init;
  info->transform_func = pose_meta_transform;
  info->serialize_func = pose_meta_serialize;
  info->deserialize_func = pose_meta_deserialize;
  return gst_meta_info_register (info);
#else
  return gst_meta_register (GST_POSE_META_API_TYPE, "GstPoseMeta", sizeof (GstPoseMeta),
      pose_meta_init, NULL, pose_meta_transform);
#endif
}

/**
 * gst_pose_meta_get_info:
 *
 * Returns: (transfer none): what GStreamer knows of the meta, %GST_POSE_META_INFO
 *
 * Since: 0.1
 */
const GstMetaInfo *
gst_pose_meta_get_info (void)
{
  static const GstMetaInfo *info = NULL;

  if (g_once_init_enter ((GstMetaInfo **)&info))
    g_once_init_leave ((GstMetaInfo **)&info, (GstMetaInfo *)register_meta ());
  return info;
}

/**
 * gst_buffer_add_pose_meta:
 * @buffer: a writable buffer
 * @role: what kind of pose
 * @position: (array fixed-size=3) (nullable): x, y, z in metres, or %NULL
 * @orientation: (array fixed-size=4) (nullable): unit quaternion x, y, z, w, or %NULL for none
 *   (identity)
 *
 * Adds a pose without covariance, of no time and sequence 0; the caller fills in the rest. Where
 * @position is %NULL it has no pose until #GstPoseMeta.has_pose is set.
 *
 * Returns: (transfer none): the pose on the buffer
 *
 * Since: 0.1
 */
GstPoseMeta *
gst_buffer_add_pose_meta (
    GstBuffer *buffer, GstPoseRole role, const gdouble *position, const gdouble *orientation)
{
  GstPoseMeta *pose;

  g_return_val_if_fail (GST_IS_BUFFER (buffer), NULL);

  pose = (GstPoseMeta *)gst_buffer_add_meta (buffer, GST_POSE_META_INFO, NULL);
  if (!pose)
    return NULL;
  pose->role = role;
  if (position) {
    pose->has_pose = TRUE;
    memcpy (pose->position, position, sizeof pose->position);
    if (orientation)
      memcpy (pose->orientation, orientation, sizeof pose->orientation);
  }
  return pose;
}

/**
 * gst_buffer_add_pose_meta_from_structure:
 * @buffer: a writable buffer
 * @structure: what gst_pose_meta_to_structure() makes; only `role` has to be there
 *
 * Adds the pose that a structure describes.
 *
 * Returns: (transfer none) (nullable): the pose on the buffer, or %NULL where the structure is no
 *   pose
 *
 * Since: 0.1
 */
GstPoseMeta *
gst_buffer_add_pose_meta_from_structure (GstBuffer *buffer, const GstStructure *structure)
{
  GstPoseMeta read, *pose;

  g_return_val_if_fail (GST_IS_BUFFER (buffer), NULL);
  g_return_val_if_fail (structure != NULL, NULL);

  memset (&read.meta, 0, sizeof read.meta);
  reset_pose (&read);
  if (!read_structure (&read, structure))
    return NULL;
  pose = (GstPoseMeta *)gst_buffer_add_meta (buffer, GST_POSE_META_INFO, NULL);
  if (pose)
    copy_pose (pose, &read);
  return pose;
}

/**
 * gst_buffer_get_pose_meta:
 * @buffer: a buffer
 * @role: what kind of pose
 *
 * Returns: (transfer none) (nullable): the first pose of that role on the buffer, or %NULL
 *
 * Since: 0.1
 */
GstPoseMeta *
gst_buffer_get_pose_meta (GstBuffer *buffer, GstPoseRole role)
{
  gpointer state = NULL;
  GstMeta *meta;

  g_return_val_if_fail (GST_IS_BUFFER (buffer), NULL);

  while ((meta = gst_buffer_iterate_meta_filtered (buffer, &state, GST_POSE_META_API_TYPE)))
    if (((GstPoseMeta *)meta)->role == role)
      return (GstPoseMeta *)meta;
  return NULL;
}

/**
 * gst_buffer_get_pose_structure:
 * @buffer: a buffer
 * @role: what kind of pose
 *
 * Returns: (transfer full) (nullable): gst_pose_meta_to_structure() of the first pose of that
 *   role on the buffer, or %NULL where there is none
 *
 * Since: 0.1
 */
GstStructure *
gst_buffer_get_pose_structure (GstBuffer *buffer, GstPoseRole role)
{
  const GstPoseMeta *pose = gst_buffer_get_pose_meta (buffer, role);

  return pose ? gst_pose_meta_to_structure (pose) : NULL;
}
