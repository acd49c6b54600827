/* SPDX-License-Identifier: MIT */
/**
 * SECTION:gstpointcloudinfo
 * @title: GstPointCloudInfo
 * @short_description: what caps say of the scans of a stream
 *
 * Caps `pointcloud/x-raw` describe interleaved points: `format` names a known layout or is
 * `CUSTOM`, in which case `point-step` (bytes of a point) and `fields`
 * (`"x:F32:0,y:F32:4,z:F32:8,ring:U16:12"`: name, type, byte offset and, where a field has
 * several elements, their count) are there as well. A known format implies both. Optional are
 * `layout` (always `interleaved`), `framerate` (scans per second), `frame-id`, and `width` with
 * `height` where the cloud is organized.
 */
#include "gstpointcloudinfo.h"

#include <string.h>

#define LAYOUT "interleaved"

/* What the header tells bindings. */
G_STATIC_ASSERT (sizeof (GstPointField) == (sizeof (gpointer) == 8 ? 3 : 4) * sizeof (gpointer));

typedef struct {
  GstPointCloudFormat format;
  const gchar *name;
  guint point_step;
  const gchar *fields;
} FormatDescription;

static const FormatDescription formats[] = {
    {GST_POINT_CLOUD_FORMAT_CUSTOM, "CUSTOM", 0, NULL},
    {GST_POINT_CLOUD_FORMAT_XYZ_F32LE, "XYZ_F32LE", 12, "x:F32:0,y:F32:4,z:F32:8"},
    {GST_POINT_CLOUD_FORMAT_XYZI_F32LE, "XYZI_F32LE", 16,
        "x:F32:0,y:F32:4,z:F32:8,intensity:F32:12"},
    {GST_POINT_CLOUD_FORMAT_XYZ_F64LE, "XYZ_F64LE", 24, "x:F64:0,y:F64:8,z:F64:16"},
    {GST_POINT_CLOUD_FORMAT_XYZIRT, "XYZIRT", 24,
        "x:F32:0,y:F32:4,z:F32:8,intensity:F32:12,ring:U16:16,time:F32:20"},
};

G_DEFINE_BOXED_TYPE (
    GstPointCloudInfo, gst_point_cloud_info, gst_point_cloud_info_copy, gst_point_cloud_info_free)

static const FormatDescription *
describe_format (GstPointCloudFormat format)
{
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    if (formats[i].format == format)
      return &formats[i];
  return NULL;
}

/**
 * gst_point_cloud_format_to_string:
 * @format: a format
 *
 * Returns: (nullable): its name in caps, %NULL for %GST_POINT_CLOUD_FORMAT_UNKNOWN
 *
 * Since: 0.1
 */
const gchar *
gst_point_cloud_format_to_string (GstPointCloudFormat format)
{
  const FormatDescription *description = describe_format (format);

  return description ? description->name : NULL;
}

/**
 * gst_point_cloud_format_from_string:
 * @name: a format's name in caps, such as "XYZI_F32LE"
 *
 * Returns: the format, or %GST_POINT_CLOUD_FORMAT_UNKNOWN
 *
 * Since: 0.1
 */
GstPointCloudFormat
gst_point_cloud_format_from_string (const gchar *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    if (g_strcmp0 (formats[i].name, name) == 0)
      return formats[i].format;
  return GST_POINT_CLOUD_FORMAT_UNKNOWN;
}

/**
 * gst_point_cloud_info_init:
 * @info: (out caller-allocates): a #GstPointCloudInfo
 *
 * Sets @info to an unknown format without fields.
 *
 * Since: 0.1
 */
void
gst_point_cloud_info_init (GstPointCloudInfo *info)
{
  g_return_if_fail (info != NULL);

  memset (info, 0, sizeof *info);
  info->fps_d = 1;
}

/**
 * gst_point_cloud_info_new:
 *
 * Returns: (transfer full): an info of an unknown format without fields
 *
 * Since: 0.1
 */
GstPointCloudInfo *
gst_point_cloud_info_new (void)
{
  GstPointCloudInfo *info = g_new (GstPointCloudInfo, 1);

  gst_point_cloud_info_init (info);
  return info;
}

/**
 * gst_point_cloud_info_new_from_caps:
 * @caps: fixed `pointcloud/x-raw` caps
 * @error: return location for an error
 *
 * Returns: (transfer full) (nullable): the info of @caps, or %NULL with
 *   %GST_CORE_ERROR_NEGOTIATION as gst_point_cloud_info_from_caps() says
 *
 * Since: 0.1
 */
GstPointCloudInfo *
gst_point_cloud_info_new_from_caps (const GstCaps *caps, GError **error)
{
  GstPointCloudInfo info;

  if (!gst_point_cloud_info_from_caps (&info, caps, error))
    return NULL;
  return gst_point_cloud_info_copy (&info);
}

/**
 * gst_point_cloud_info_copy:
 * @info: a #GstPointCloudInfo
 *
 * Returns: (transfer full): a copy
 *
 * Since: 0.1
 */
GstPointCloudInfo *
gst_point_cloud_info_copy (const GstPointCloudInfo *info)
{
  return g_memdup2 (info, sizeof *info);
}

/**
 * gst_point_cloud_info_free:
 * @info: (transfer full): a #GstPointCloudInfo from gst_point_cloud_info_new() or a copy
 *
 * Since: 0.1
 */
void
gst_point_cloud_info_free (GstPointCloudInfo *info)
{
  g_free (info);
}

/**
 * gst_point_cloud_info_add_field:
 * @info: a #GstPointCloudInfo
 * @name: name of the field: not empty, new to @info, without "," and ":"
 * @type: of an element
 * @offset: bytes from the start of a point
 * @count: number of elements, at least 1
 *
 * Appends a field. Leaves #GstPointCloudInfo.point_step alone.
 *
 * Returns: %FALSE where an argument is not as said above or @info has
 *   %GST_POINT_CLOUD_MAX_FIELDS already
 *
 * Since: 0.1
 */
gboolean
gst_point_cloud_info_add_field (
    GstPointCloudInfo *info, const gchar *name, GstPointFieldType type, guint offset, guint count)
{
  GstPointField *field;

  g_return_val_if_fail (info != NULL, FALSE);

  if (info->n_fields >= GST_POINT_CLOUD_MAX_FIELDS || !name || !*name || strpbrk (name, ",:") ||
      count == 0 || gst_point_field_type_get_size (type) == 0 ||
      gst_point_cloud_info_find_field (info, name))
    return FALSE;

  field = &info->fields[info->n_fields++];
  field->name = g_intern_string (name);
  field->type = type;
  field->offset = offset;
  field->count = count;
  return TRUE;
}

/**
 * gst_point_cloud_info_get_field:
 * @info: a #GstPointCloudInfo
 * @index: number of the field in the order of caps
 *
 * Returns: (transfer none) (nullable): the field, or %NULL where @index is not below
 *   #GstPointCloudInfo.n_fields
 *
 * Since: 0.1
 */
const GstPointField *
gst_point_cloud_info_get_field (const GstPointCloudInfo *info, guint index)
{
  g_return_val_if_fail (info != NULL, NULL);

  return index < info->n_fields ? &info->fields[index] : NULL;
}

/**
 * gst_point_cloud_info_find_field:
 * @info: a #GstPointCloudInfo
 * @name: name of a field
 *
 * Returns: (transfer none) (nullable): the field, or %NULL where there is none
 *
 * Since: 0.1
 */
const GstPointField *
gst_point_cloud_info_find_field (const GstPointCloudInfo *info, const gchar *name)
{
  g_return_val_if_fail (info != NULL, NULL);

  for (guint i = 0; i < info->n_fields; i++)
    if (g_strcmp0 (info->fields[i].name, name) == 0)
      return &info->fields[i];
  return NULL;
}

static void set_refusal (GError **error, const gchar *format, ...) G_GNUC_PRINTF (2, 3);

static void
set_refusal (GError **error, const gchar *format, ...)
{
  va_list args;

  va_start (args, format);
  if (error)
    *error = g_error_new_valist (GST_CORE_ERROR, GST_CORE_ERROR_NEGOTIATION, format, args);
  va_end (args);
}

/* Appends one of the comma-separated parts of a `fields` string. */
static gboolean
parse_field (GstPointCloudInfo *info, const gchar *text, GError **error)
{
  g_auto (GStrv) parts = g_strsplit (text, ":", -1);
  guint n_parts = g_strv_length (parts);
  guint64 offset, count = 1;
  GstPointFieldType type;

  if (n_parts < 3 || n_parts > 4 || !*g_strstrip (parts[0])) {
    set_refusal (
        error, "Field \"%s\" is not written as name:type:offset or name:type:offset:count", text);
    return FALSE;
  }
  type = gst_point_field_type_from_string (g_strstrip (parts[1]));
  if (type == GST_POINT_FIELD_TYPE_INVALID) {
    set_refusal (error,
        "Field \"%s\" has the unknown type \"%s\"; types are I8, U8, I16, U16, I32, U32, F32, F64",
        parts[0], parts[1]);
    return FALSE;
  }
  if (!g_ascii_string_to_unsigned (g_strstrip (parts[2]), 10, 0, G_MAXINT, &offset, NULL)) {
    set_refusal (error, "Field \"%s\" has the offset \"%s\", which is no number of bytes", parts[0],
        parts[2]);
    return FALSE;
  }
  if (n_parts == 4 &&
      !g_ascii_string_to_unsigned (g_strstrip (parts[3]), 10, 1, G_MAXINT, &count, NULL)) {
    set_refusal (error, "Field \"%s\" has the count \"%s\", which is no number from 1 on", parts[0],
        parts[3]);
    return FALSE;
  }
  if (gst_point_cloud_info_find_field (info, parts[0])) {
    set_refusal (error, "Field \"%s\" is there twice", parts[0]);
    return FALSE;
  }
  if (info->n_fields == GST_POINT_CLOUD_MAX_FIELDS) {
    set_refusal (error, "Field \"%s\" is one too many; a point has %d fields at most", parts[0],
        GST_POINT_CLOUD_MAX_FIELDS);
    return FALSE;
  }
  return gst_point_cloud_info_add_field (info, parts[0], type, (guint)offset, (guint)count);
}

static gboolean
parse_fields (GstPointCloudInfo *info, const gchar *text, GError **error)
{
  g_auto (GStrv) parts = g_strsplit (text, ",", -1);

  if (!parts[0]) {
    set_refusal (error, "\"fields\" is empty");
    return FALSE;
  }
  for (guint i = 0; parts[i]; i++)
    if (!parse_field (info, g_strstrip (parts[i]), error))
      return FALSE;
  return TRUE;
}

static gchar *
format_fields (const GstPointCloudInfo *info)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < info->n_fields; i++) {
    const GstPointField *field = &info->fields[i];

    g_string_append_printf (text, "%s%s:%s:%u", i ? "," : "", field->name,
        gst_point_field_type_to_string (field->type), field->offset);
    if (field->count != 1)
      g_string_append_printf (text, ":%u", field->count);
  }
  return g_string_free (text, FALSE);
}

/**
 * gst_point_cloud_info_set_format:
 * @info: a #GstPointCloudInfo
 * @format: a known format
 *
 * Sets @format with its fields and point step; leaves the rest of @info alone.
 *
 * Returns: %FALSE for %GST_POINT_CLOUD_FORMAT_CUSTOM and %GST_POINT_CLOUD_FORMAT_UNKNOWN
 *
 * Since: 0.1
 */
gboolean
gst_point_cloud_info_set_format (GstPointCloudInfo *info, GstPointCloudFormat format)
{
  const FormatDescription *description = describe_format (format);

  g_return_val_if_fail (info != NULL, FALSE);

  if (!description || !description->fields)
    return FALSE;
  info->format = format;
  info->point_step = description->point_step;
  info->n_fields = 0;
  return parse_fields (info, description->fields, NULL);
}

static gboolean
field_is_equal (const GstPointField *a, const GstPointField *b)
{
  return a->name == b->name && a->type == b->type && a->offset == b->offset && a->count == b->count;
}

/* Whether fields that caps give beside a known format are that format's, in any order. */
static gboolean
check_fields_of_format (const GstPointCloudInfo *info, const gchar *text, GError **error)
{
  const gchar *format = gst_point_cloud_format_to_string (info->format);
  GstPointCloudInfo given;

  gst_point_cloud_info_init (&given);
  if (!parse_fields (&given, text, error))
    return FALSE;
  for (guint i = 0; i < given.n_fields; i++) {
    const GstPointField *own = gst_point_cloud_info_find_field (info, given.fields[i].name);

    if (!own || !field_is_equal (own, &given.fields[i])) {
      set_refusal (error, "Field \"%s\" is not as format %s has it", given.fields[i].name, format);
      return FALSE;
    }
  }
  for (guint i = 0; i < info->n_fields; i++) {
    if (!gst_point_cloud_info_find_field (&given, info->fields[i].name)) {
      set_refusal (
          error, "\"fields\" lacks the field \"%s\" of format %s", info->fields[i].name, format);
      return FALSE;
    }
  }
  return TRUE;
}

/* An int that may be missing (0 then) but has to be positive where it is there. */
static gboolean
get_positive_int (const GstStructure *structure, const gchar *name, guint *value, GError **error)
{
  gint number;

  *value = 0;
  if (!gst_structure_has_field (structure, name))
    return TRUE;
  if (!gst_structure_get_int (structure, name, &number) || number <= 0) {
    set_refusal (error, "\"%s\" is no positive (int)", name);
    return FALSE;
  }
  *value = (guint)number;
  return TRUE;
}

/* A string that may be missing (NULL then). */
static gboolean
get_string (const GstStructure *structure, const gchar *name, const gchar **value, GError **error)
{
  *value = NULL;
  if (!gst_structure_has_field (structure, name))
    return TRUE;
  *value = gst_structure_get_string (structure, name);
  if (!*value)
    set_refusal (error, "\"%s\" is no (string)", name);
  return *value != NULL;
}

static gboolean
read_format (GstPointCloudInfo *info, const GstStructure *structure, GError **error)
{
  const gchar *format, *fields;
  guint point_step;

  if (!get_string (structure, "format", &format, error) ||
      !get_string (structure, "fields", &fields, error) ||
      !get_positive_int (structure, "point-step", &point_step, error))
    return FALSE;
  if (!format) {
    set_refusal (error, "\"format\" is missing");
    return FALSE;
  }
  info->format = gst_point_cloud_format_from_string (format);
  if (info->format == GST_POINT_CLOUD_FORMAT_UNKNOWN) {
    set_refusal (
        error, "The format \"%s\" is unknown; give format=CUSTOM, point-step and fields", format);
    return FALSE;
  }

  if (info->format == GST_POINT_CLOUD_FORMAT_CUSTOM) {
    if (point_step == 0 || !fields) {
      set_refusal (
          error, "\"%s\" is missing, which format CUSTOM needs", fields ? "point-step" : "fields");
      return FALSE;
    }
    info->point_step = point_step;
    return parse_fields (info, fields, error);
  }

  gst_point_cloud_info_set_format (info, info->format);
  if (point_step != 0 && point_step != info->point_step) {
    set_refusal (
        error, "\"point-step\" is %u, but format %s has %u", point_step, format, info->point_step);
    return FALSE;
  }
  return !fields || check_fields_of_format (info, fields, error);
}

static gboolean
read_rest (GstPointCloudInfo *info, const GstStructure *structure, GError **error)
{
  const gchar *layout, *frame_id;

  if (!get_string (structure, "layout", &layout, error) ||
      !get_string (structure, "frame-id", &frame_id, error) ||
      !get_positive_int (structure, "width", &info->width, error) ||
      !get_positive_int (structure, "height", &info->height, error))
    return FALSE;
  if (layout && strcmp (layout, LAYOUT) != 0) {
    set_refusal (error, "The layout \"%s\" is unknown; only " LAYOUT " is supported", layout);
    return FALSE;
  }
  if (frame_id && *frame_id)
    info->frame_id = g_quark_from_string (frame_id);
  if (gst_structure_has_field (structure, "framerate") &&
      (!gst_structure_get_fraction (structure, "framerate", &info->fps_n, &info->fps_d) ||
          info->fps_n < 0)) {
    set_refusal (error, "\"framerate\" is no (fraction) from 0/1 on");
    return FALSE;
  }
  return TRUE;
}

/**
 * gst_point_cloud_info_validate:
 * @info: a #GstPointCloudInfo
 * @error: return location for an error
 *
 * Whether @info describes clouds: a format, at least one field, each field within the point step,
 * width and height both or neither, a scan of a size that memory can hold. What
 * gst_point_cloud_info_from_caps() returns is valid; for infos put together field by field.
 *
 * Returns: %FALSE with %GST_CORE_ERROR_NEGOTIATION and a reason that names the field or value
 *
 * Since: 0.1
 */
gboolean
gst_point_cloud_info_validate (const GstPointCloudInfo *info, GError **error)
{
  gsize size;

  g_return_val_if_fail (info != NULL, FALSE);

  if (!describe_format (info->format)) {
    set_refusal (error, "\"format\" is missing");
    return FALSE;
  }
  if (info->n_fields == 0 || info->point_step == 0) {
    set_refusal (error, "\"%s\" is missing", info->n_fields == 0 ? "fields" : "point-step");
    return FALSE;
  }
  for (guint i = 0; i < info->n_fields; i++) {
    const GstPointField *field = &info->fields[i];
    guint64 end =
        (guint64)gst_point_field_type_get_size (field->type) * field->count + field->offset;

    if (end > info->point_step) {
      set_refusal (error,
          "Field \"%s\" ends at byte %" G_GUINT64_FORMAT ", beyond the point-step of %u",
          field->name, end, info->point_step);
      return FALSE;
    }
  }
  if ((info->width == 0) != (info->height == 0)) {
    set_refusal (error, "\"%s\" is missing; an organized cloud has both width and height",
        info->width == 0 ? "width" : "height");
    return FALSE;
  }
  if (!g_size_checked_mul (&size, info->width, info->height) ||
      !g_size_checked_mul (&size, size, info->point_step)) {
    set_refusal (error, "\"width\" %u and \"height\" %u make a scan that no memory holds",
        info->width, info->height);
    return FALSE;
  }
  if (info->fps_n < 0 || info->fps_d <= 0) {
    set_refusal (error, "\"framerate\" %d/%d is not from 0/1 on", info->fps_n, info->fps_d);
    return FALSE;
  }
  return TRUE;
}

/**
 * gst_point_cloud_info_from_caps:
 * @info: where to put what @caps say
 * @caps: fixed `pointcloud/x-raw` caps
 * @error: return location for an error
 *
 * Reads caps. Whatever @info held is replaced; where this fails it is not to be used.
 *
 * Returns: %FALSE with %GST_CORE_ERROR_NEGOTIATION and a reason that names the field or value
 *
 * Since: 0.1
 */
gboolean
gst_point_cloud_info_from_caps (GstPointCloudInfo *info, const GstCaps *caps, GError **error)
{
  const GstStructure *structure;

  g_return_val_if_fail (info != NULL, FALSE);
  g_return_val_if_fail (GST_IS_CAPS (caps), FALSE);

  gst_point_cloud_info_init (info);
  if (!gst_caps_is_fixed (caps)) {
    g_autofree gchar *text = gst_caps_to_string (caps);

    set_refusal (error, "The caps \"%s\" leave something open", text);
    return FALSE;
  }
  structure = gst_caps_get_structure (caps, 0);
  if (!gst_structure_has_name (structure, GST_POINT_CLOUD_CAPS_NAME)) {
    set_refusal (
        error, "\"%s\" is not " GST_POINT_CLOUD_CAPS_NAME, gst_structure_get_name (structure));
    return FALSE;
  }
  return read_format (info, structure, error) && read_rest (info, structure, error) &&
         gst_point_cloud_info_validate (info, error);
}

/**
 * gst_point_cloud_info_to_caps:
 * @info: a valid #GstPointCloudInfo
 *
 * Returns: (transfer full) (nullable): fixed caps with everything that @info says, what its format
 *   implies included; %NULL, with a critical warning, where @info is not valid
 *
 * Since: 0.1
 */
GstCaps *
gst_point_cloud_info_to_caps (const GstPointCloudInfo *info)
{
  g_autofree gchar *fields = NULL;
  GstCaps *caps;

  g_return_val_if_fail (info != NULL, NULL);
  g_return_val_if_fail (gst_point_cloud_info_validate (info, NULL), NULL);

  fields = format_fields (info);
  caps = gst_caps_new_simple (GST_POINT_CLOUD_CAPS_NAME, "format", G_TYPE_STRING,
      gst_point_cloud_format_to_string (info->format), "point-step", G_TYPE_INT,
      (gint)info->point_step, "fields", G_TYPE_STRING, fields, "layout", G_TYPE_STRING, LAYOUT,
      "framerate", GST_TYPE_FRACTION, info->fps_n, info->fps_d, NULL);
  if (info->frame_id)
    gst_caps_set_simple (caps, "frame-id", G_TYPE_STRING, g_quark_to_string (info->frame_id), NULL);
  if (info->width)
    gst_caps_set_simple (caps, "width", G_TYPE_INT, (gint)info->width, "height", G_TYPE_INT,
        (gint)info->height, NULL);
  return caps;
}

/**
 * gst_point_cloud_info_is_equal:
 * @a: a #GstPointCloudInfo
 * @b: another
 *
 * Returns: whether both say the same
 *
 * Since: 0.1
 */
gboolean
gst_point_cloud_info_is_equal (const GstPointCloudInfo *a, const GstPointCloudInfo *b)
{
  g_return_val_if_fail (a != NULL && b != NULL, FALSE);

  if (a->format != b->format || a->point_step != b->point_step || a->n_fields != b->n_fields ||
      a->width != b->width || a->height != b->height || a->fps_n != b->fps_n ||
      a->fps_d != b->fps_d || a->frame_id != b->frame_id)
    return FALSE;
  for (guint i = 0; i < a->n_fields; i++)
    if (!field_is_equal (&a->fields[i], &b->fields[i]))
      return FALSE;
  return TRUE;
}

/**
 * gst_point_cloud_info_get_duration:
 * @info: a #GstPointCloudInfo
 * @buffer: a scan
 *
 * Returns: the period of a scan: its DURATION, else that of the framerate, else
 *   %GST_CLOCK_TIME_NONE
 *
 * Since: 0.2
 */
GstClockTime
gst_point_cloud_info_get_duration (const GstPointCloudInfo *info, GstBuffer *buffer)
{
  g_return_val_if_fail (info != NULL, GST_CLOCK_TIME_NONE);
  g_return_val_if_fail (GST_IS_BUFFER (buffer), GST_CLOCK_TIME_NONE);

  if (GST_BUFFER_DURATION_IS_VALID (buffer))
    return GST_BUFFER_DURATION (buffer);
  return info->fps_n > 0
             ? gst_util_uint64_scale (GST_SECOND, (guint64)info->fps_d, (guint64)info->fps_n)
             : GST_CLOCK_TIME_NONE;
}

/**
 * gst_point_cloud_info_has_xyz:
 * @info: a #GstPointCloudInfo
 * @error: return location for an error
 *
 * Whether points have coordinates: fields x, y and z of one element each, all F32 or all F64.
 *
 * Returns: %FALSE with %GST_CORE_ERROR_NEGOTIATION and a reason that names the field
 *
 * Since: 0.1
 */
gboolean
gst_point_cloud_info_has_xyz (const GstPointCloudInfo *info, GError **error)
{
  static const gchar *const names[] = {"x", "y", "z"};
  GstPointFieldType type = GST_POINT_FIELD_TYPE_INVALID;

  g_return_val_if_fail (info != NULL, FALSE);

  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    const GstPointField *field = gst_point_cloud_info_find_field (info, names[i]);

    if (!field) {
      set_refusal (error, "The field \"%s\" is missing; points need x, y and z", names[i]);
      return FALSE;
    }
    if (i == 0)
      type = field->type;
    if (field->count != 1 || field->type != type ||
        (type != GST_POINT_FIELD_TYPE_FLOAT32 && type != GST_POINT_FIELD_TYPE_FLOAT64)) {
      set_refusal (error,
          "The field \"%s\" is %s:%u; x, y and z have to be one F32 each or one F64 each",
          field->name, gst_point_field_type_to_string (field->type), field->count);
      return FALSE;
    }
  }
  return TRUE;
}
