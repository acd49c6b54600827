/* SPDX-License-Identifier: MIT */
/**
 * SECTION:gstpointcloudbuffer
 * @title: GstPointCloudMap
 * @short_description: the points of a buffer
 *
 * A buffer is one scan: its size divided by the point step is the number of points.
 */
#include "gstpointcloudbuffer.h"

#include <string.h>

/* -1 with an error where the size fits no number of points that @info allows. */
static gssize
count_points (const GstPointCloudInfo *info, gsize size, GError **error)
{
  gsize n_points;

  if (info->point_step == 0 || size % info->point_step != 0) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "A scan of %" G_GSIZE_FORMAT " bytes is no whole number of points of %u bytes", size,
        info->point_step);
    return -1;
  }
  n_points = size / info->point_step;
  if (info->width && n_points != (gsize)info->width * info->height) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "A scan of %" G_GSIZE_FORMAT " points does not have the %u × %u of its caps", n_points,
        info->width, info->height);
    return -1;
  }
  return (gssize)n_points;
}

/**
 * gst_point_cloud_buffer_get_n_points:
 * @buffer: a scan
 * @info: of its caps
 *
 * Returns: the number of points, or -1 when the size is no multiple of the point step or not that
 *   of an organized cloud
 *
 * Since: 0.1
 */
gssize
gst_point_cloud_buffer_get_n_points (GstBuffer *buffer, const GstPointCloudInfo *info)
{
  g_return_val_if_fail (GST_IS_BUFFER (buffer), -1);
  g_return_val_if_fail (info != NULL, -1);

  return count_points (info, gst_buffer_get_size (buffer), NULL);
}

/**
 * gst_point_cloud_map: (skip)
 * @map: (out caller-allocates): what to fill
 * @info: of the buffer's caps
 * @buffer: (transfer none): a scan; @map holds no reference, so it has to stay alive
 * @flags: how to map
 * @error: return location for an error
 *
 * Maps a scan. gst_point_cloud_unmap() ends it.
 *
 * Returns: %FALSE with %GST_STREAM_ERROR_FORMAT when the size is no multiple of the point step or
 *   not width · height points, %GST_RESOURCE_ERROR_READ when it cannot be mapped
 *
 * Since: 0.1
 */
gboolean
gst_point_cloud_map (GstPointCloudMap *map, const GstPointCloudInfo *info, GstBuffer *buffer,
    GstMapFlags flags, GError **error)
{
  gssize n_points;

  g_return_val_if_fail (map != NULL, FALSE);
  g_return_val_if_fail (info != NULL, FALSE);
  g_return_val_if_fail (GST_IS_BUFFER (buffer), FALSE);

  memset (map, 0, sizeof *map);
  n_points = count_points (info, gst_buffer_get_size (buffer), error);
  if (n_points < 0)
    return FALSE;
  if (!gst_buffer_map (buffer, &map->map, flags)) {
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ,
        "The memory of a scan of %" G_GSSIZE_FORMAT " points cannot be mapped", n_points);
    return FALSE;
  }
  map->info = *info;
  map->buffer = buffer;
  map->data = map->map.data;
  map->n_points = (gsize)n_points;
  return TRUE;
}

/**
 * gst_point_cloud_unmap: (skip)
 * @map: a map; nothing happens where it is not mapped
 *
 * Since: 0.1
 */
void
gst_point_cloud_unmap (GstPointCloudMap *map)
{
  g_return_if_fail (map != NULL);

  if (map->buffer)
    gst_buffer_unmap (map->buffer, &map->map);
  memset (map, 0, sizeof *map);
}

/* A field may lie at any offset, so that it may not be aligned. */
static gdouble
read_value (const guint8 *data, GstPointFieldType type)
{
  union {
    gint8 i8;
    gint16 i16;
    guint16 u16;
    gint32 i32;
    guint32 u32;
    gfloat f32;
    gdouble f64;
  } value;

  switch (type) {
  case GST_POINT_FIELD_TYPE_INT8:
    memcpy (&value.i8, data, sizeof value.i8);
    return value.i8;
  case GST_POINT_FIELD_TYPE_UINT8:
    return data[0];
  case GST_POINT_FIELD_TYPE_INT16:
    memcpy (&value.i16, data, sizeof value.i16);
    return value.i16;
  case GST_POINT_FIELD_TYPE_UINT16:
    memcpy (&value.u16, data, sizeof value.u16);
    return value.u16;
  case GST_POINT_FIELD_TYPE_INT32:
    memcpy (&value.i32, data, sizeof value.i32);
    return value.i32;
  case GST_POINT_FIELD_TYPE_UINT32:
    memcpy (&value.u32, data, sizeof value.u32);
    return value.u32;
  case GST_POINT_FIELD_TYPE_FLOAT32:
    memcpy (&value.f32, data, sizeof value.f32);
    return value.f32;
  case GST_POINT_FIELD_TYPE_FLOAT64:
    memcpy (&value.f64, data, sizeof value.f64);
    return value.f64;
  default:
    g_return_val_if_reached (0);
  }
}

/**
 * gst_point_cloud_map_get_value: (skip)
 * @map: a mapped scan
 * @field: one of the fields of its info
 * @index: number of the point; the caller checks that it is below @map's n_points
 * @element: number of the element of the field, below its count
 *
 * Returns: a field's element as double, whatever its type
 *
 * Since: 0.1
 */
gdouble
gst_point_cloud_map_get_value (
    const GstPointCloudMap *map, const GstPointField *field, gsize index, guint element)
{
  return read_value (map->data + index * map->info.point_step + field->offset +
                         (gsize)element * gst_point_field_type_get_size (field->type),
      field->type);
}

/* NULL without the memory for them. */
static gdouble *
new_values (gsize n_points, gsize n_each, GError **error)
{
  gdouble *values = g_try_new (gdouble, MAX (n_points * n_each, 1));
  if (!values)
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT,
        "There is not the memory for the values of %" G_GSIZE_FORMAT " points", n_points);
  return values;
}

/**
 * gst_point_cloud_buffer_get_values:
 * @buffer: a scan
 * @info: of its caps
 * @name: name of a field
 * @error: return location for an error
 *
 * A field of all points as doubles, the elements of a point beside each other: what
 * `numpy.frombuffer (bytes.get_data ())` reads.
 *
 * Returns: (transfer full) (nullable): native doubles, or %NULL with %GST_STREAM_ERROR_FORMAT where
 *   there is no such field or the buffer is no scan of @info, %GST_RESOURCE_ERROR_READ where it
 *   cannot be mapped, %GST_RESOURCE_ERROR_NO_SPACE_LEFT where there is no memory for them
 *
 * Since: 0.1
 */
GBytes *
gst_point_cloud_buffer_get_values (
    GstBuffer *buffer, const GstPointCloudInfo *info, const gchar *name, GError **error)
{
  const GstPointField *field;
  GstPointCloudMap map;
  gdouble *values, *value;

  g_return_val_if_fail (GST_IS_BUFFER (buffer), NULL);
  g_return_val_if_fail (info != NULL, NULL);
  g_return_val_if_fail (name != NULL, NULL);

  field = gst_point_cloud_info_find_field (info, name);
  if (!field) {
    g_set_error (
        error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, "The points have no field \"%s\"", name);
    return NULL;
  }
  if (!gst_point_cloud_map (&map, info, buffer, GST_MAP_READ, error))
    return NULL;
  value = values = new_values (map.n_points, field->count, error);
  if (!values) {
    gst_point_cloud_unmap (&map);
    return NULL;
  }
  for (gsize i = 0; i < map.n_points; i++)
    for (guint element = 0; element < field->count; element++)
      *value++ = gst_point_cloud_map_get_value (&map, field, i, element);
  gst_point_cloud_unmap (&map);
  return g_bytes_new_take (values, (gsize)(value - values) * sizeof *values);
}

/**
 * gst_point_cloud_buffer_get_xyz:
 * @buffer: a scan
 * @info: of its caps
 * @error: return location for an error
 *
 * The coordinates of all points in metres: x, y, z of the first, then those of the second and so
 * on, as doubles whatever their type; those that are not finite are left as they are. In Python
 * `numpy.frombuffer (bytes.get_data ()).reshape (-1, 3)` are the points.
 *
 * Returns: (transfer full) (nullable): native doubles, or %NULL with %GST_CORE_ERROR_NEGOTIATION
 *   where points have no coordinates, %GST_STREAM_ERROR_FORMAT where the buffer is no scan of
 *   @info, %GST_RESOURCE_ERROR_READ where it cannot be mapped, %GST_RESOURCE_ERROR_NO_SPACE_LEFT
 *   where there is no memory for them
 *
 * Since: 0.1
 */
GBytes *
gst_point_cloud_buffer_get_xyz (GstBuffer *buffer, const GstPointCloudInfo *info, GError **error)
{
  static const gchar *const names[] = {"x", "y", "z"};
  const GstPointField *fields[3];
  GstPointCloudMap map;
  gdouble *values, *value;

  g_return_val_if_fail (GST_IS_BUFFER (buffer), NULL);
  g_return_val_if_fail (info != NULL, NULL);

  if (!gst_point_cloud_info_has_xyz (info, error))
    return NULL;
  for (guint i = 0; i < 3; i++)
    fields[i] = gst_point_cloud_info_find_field (info, names[i]);
  if (!gst_point_cloud_map (&map, info, buffer, GST_MAP_READ, error))
    return NULL;
  value = values = new_values (map.n_points, 3, error);
  if (!values) {
    gst_point_cloud_unmap (&map);
    return NULL;
  }
  for (gsize i = 0; i < map.n_points; i++)
    for (guint axis = 0; axis < 3; axis++)
      *value++ = gst_point_cloud_map_get_value (&map, fields[axis], i, 0);
  gst_point_cloud_unmap (&map);
  return g_bytes_new_take (values, (gsize)(value - values) * sizeof *values);
}
