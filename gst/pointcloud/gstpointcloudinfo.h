/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/pointcloud/pointcloud-prelude.h>

G_BEGIN_DECLS

/**
 * GST_POINT_CLOUD_CAPS_NAME:
 *
 * Media type of clouds.
 *
 * Since: 0.1
 */
#define GST_POINT_CLOUD_CAPS_NAME "pointcloud/x-raw"

/**
 * GST_POINT_CLOUD_MAX_FIELDS:
 *
 * Fields of a point at most.
 *
 * Since: 0.1
 */
#define GST_POINT_CLOUD_MAX_FIELDS 32

/**
 * GstPointFieldType:
 * @GST_POINT_FIELD_TYPE_INVALID: none
 * @GST_POINT_FIELD_TYPE_INT8: "I8" in caps
 * @GST_POINT_FIELD_TYPE_UINT8: "U8"
 * @GST_POINT_FIELD_TYPE_INT16: "I16"
 * @GST_POINT_FIELD_TYPE_UINT16: "U16"
 * @GST_POINT_FIELD_TYPE_INT32: "I32"
 * @GST_POINT_FIELD_TYPE_UINT32: "U32"
 * @GST_POINT_FIELD_TYPE_FLOAT32: "F32"
 * @GST_POINT_FIELD_TYPE_FLOAT64: "F64"
 *
 * Types of a field; the values are those of ROS's sensor_msgs/PointField.
 *
 * Since: 0.1
 */
typedef enum {
  GST_POINT_FIELD_TYPE_INVALID = 0,
  GST_POINT_FIELD_TYPE_INT8 = 1,
  GST_POINT_FIELD_TYPE_UINT8 = 2,
  GST_POINT_FIELD_TYPE_INT16 = 3,
  GST_POINT_FIELD_TYPE_UINT16 = 4,
  GST_POINT_FIELD_TYPE_INT32 = 5,
  GST_POINT_FIELD_TYPE_UINT32 = 6,
  GST_POINT_FIELD_TYPE_FLOAT32 = 7,
  GST_POINT_FIELD_TYPE_FLOAT64 = 8,
} GstPointFieldType;

/**
 * GstPointCloudFormat:
 * @GST_POINT_CLOUD_FORMAT_UNKNOWN: none
 * @GST_POINT_CLOUD_FORMAT_CUSTOM: whatever `fields` says
 * @GST_POINT_CLOUD_FORMAT_XYZ_F32LE: x, y, z; 12 bytes
 * @GST_POINT_CLOUD_FORMAT_XYZI_F32LE: x, y, z, intensity; 16 bytes
 * @GST_POINT_CLOUD_FORMAT_XYZ_F64LE: x, y, z; 24 bytes
 * @GST_POINT_CLOUD_FORMAT_XYZIRT: x, y, z, intensity (F32), ring (U16 at 16), time (F32 at 20,
 *   seconds from the buffer's PTS); 24 bytes
 *
 * Since: 0.1
 */
typedef enum {
  GST_POINT_CLOUD_FORMAT_UNKNOWN = 0,
  GST_POINT_CLOUD_FORMAT_CUSTOM,
  GST_POINT_CLOUD_FORMAT_XYZ_F32LE,
  GST_POINT_CLOUD_FORMAT_XYZI_F32LE,
  GST_POINT_CLOUD_FORMAT_XYZ_F64LE,
  GST_POINT_CLOUD_FORMAT_XYZIRT,
} GstPointCloudFormat;

/**
 * GstPointField:
 * @name: interned (g_intern_string)
 * @type: of one element
 * @offset: bytes from the start of a point
 * @count: elements, 1 for most
 *
 * Since: 0.1
 */
typedef struct {
  const gchar *name;
  GstPointFieldType type;
  guint offset;
  guint count;
} GstPointField;

/**
 * GstPointCloudInfo:
 * @format: known format or CUSTOM
 * @point_step: bytes of one point
 * @n_fields: number of @fields
 * @fields: in the order of caps; other languages than C have gst_point_cloud_info_get_field()
 * @width: points of a row of an organized cloud, 0: not organized
 * @height: rows, 0: not organized
 * @fps_n: scans per second, numerator; 0/1: variable or unknown
 * @fps_d: denominator
 * @frame_id: frame of the points, 0: not said
 *
 * What caps say of every scan of a stream.
 *
 * Since: 0.1
 */
typedef struct {
  GstPointCloudFormat format;
  guint point_step;
  guint n_fields;
#ifndef __GI_SCANNER__
  GstPointField fields[GST_POINT_CLOUD_MAX_FIELDS];
#else
  /* Bindings cannot read an array of structures: to them this is so many bytes. */
  /*< private >*/
#if GLIB_SIZEOF_VOID_P == 8
  gpointer _fields[GST_POINT_CLOUD_MAX_FIELDS * 3];
#else
  gpointer _fields[GST_POINT_CLOUD_MAX_FIELDS * 4];
#endif
  /*< public >*/
#endif
  guint width;
  guint height;
  gint fps_n;
  gint fps_d;
  GQuark frame_id;

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING];
} GstPointCloudInfo;

#define GST_TYPE_POINT_CLOUD_INFO (gst_point_cloud_info_get_type ())
GST_POINT_CLOUD_API GType gst_point_cloud_info_get_type (void);

/**
 * GST_POINT_CLOUD_FORMATS_ALL:
 *
 * List of all formats, for #GST_POINT_CLOUD_CAPS_MAKE.
 *
 * Since: 0.2
 */
#define GST_POINT_CLOUD_FORMATS_ALL "{ XYZ_F32LE, XYZI_F32LE, XYZ_F64LE, XYZIRT, CUSTOM }"

/**
 * GST_POINT_CLOUD_CAPS_MAKE: (skip)
 * @formats: a format or a list of them, such as #GST_POINT_CLOUD_FORMATS_ALL, as a string literal
 *
 * Caps of a pad template. They say nothing of layout and framerate, so that caps without them are a
 * subset, which a pad's check of caps asks for.
 *
 * Since: 0.2
 */
#define GST_POINT_CLOUD_CAPS_MAKE(formats) GST_POINT_CLOUD_CAPS_NAME ", format=(string)" formats

GST_POINT_CLOUD_API guint gst_point_field_type_get_size (GstPointFieldType type);
GST_POINT_CLOUD_API const gchar *gst_point_field_type_to_string (GstPointFieldType type);
GST_POINT_CLOUD_API GstPointFieldType gst_point_field_type_from_string (const gchar *name);
GST_POINT_CLOUD_API const gchar *gst_point_cloud_format_to_string (GstPointCloudFormat format);
GST_POINT_CLOUD_API GstPointCloudFormat gst_point_cloud_format_from_string (const gchar *name);

GST_POINT_CLOUD_API GstPointCloudInfo *gst_point_cloud_info_new (void);
GST_POINT_CLOUD_API GstPointCloudInfo *gst_point_cloud_info_new_from_caps (
    const GstCaps *caps, GError **error);
GST_POINT_CLOUD_API GstPointCloudInfo *gst_point_cloud_info_copy (const GstPointCloudInfo *info);
GST_POINT_CLOUD_API void gst_point_cloud_info_free (GstPointCloudInfo *info);
GST_POINT_CLOUD_API void gst_point_cloud_info_init (GstPointCloudInfo *info);
GST_POINT_CLOUD_API gboolean gst_point_cloud_info_set_format (
    GstPointCloudInfo *info, GstPointCloudFormat format);
GST_POINT_CLOUD_API gboolean gst_point_cloud_info_add_field (
    GstPointCloudInfo *info, const gchar *name, GstPointFieldType type, guint offset, guint count);
GST_POINT_CLOUD_API const GstPointField *gst_point_cloud_info_get_field (
    const GstPointCloudInfo *info, guint index);
GST_POINT_CLOUD_API const GstPointField *gst_point_cloud_info_find_field (
    const GstPointCloudInfo *info, const gchar *name);
GST_POINT_CLOUD_API gboolean gst_point_cloud_info_from_caps (
    GstPointCloudInfo *info, const GstCaps *caps, GError **error);
GST_POINT_CLOUD_API gboolean gst_point_cloud_info_validate (
    const GstPointCloudInfo *info, GError **error);
GST_POINT_CLOUD_API GstCaps *gst_point_cloud_info_to_caps (const GstPointCloudInfo *info);
GST_POINT_CLOUD_API gboolean gst_point_cloud_info_is_equal (
    const GstPointCloudInfo *a, const GstPointCloudInfo *b);
GST_POINT_CLOUD_API GstClockTime gst_point_cloud_info_get_duration (
    const GstPointCloudInfo *info, GstBuffer *buffer);
GST_POINT_CLOUD_API gboolean gst_point_cloud_info_has_xyz (
    const GstPointCloudInfo *info, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstPointCloudInfo, gst_point_cloud_info_free)

G_END_DECLS
