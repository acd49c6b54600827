/* SPDX-License-Identifier: MIT */
#include "gstcloudlayout.h"

/* What EdgeFirst's pad templates have where any fields are meant. */
#define NO_FIELDS "ANY"

guint
gst_cloud_layout_get_end (const GstPointCloudInfo *info)
{
  guint end = 0;

  for (guint i = 0; i < info->n_fields; i++) {
    const GstPointField *field = &info->fields[i];
    end = MAX (end, field->offset + field->count * gst_point_field_type_get_size (field->type));
  }
  return end;
}

static gboolean
read_pointcloud2 (
    GstCloudLayout *layout, const GstStructure *structure, const gchar *fields, GError **error)
{
  const gchar *own = gst_structure_get_string (structure, "fields");
  gint step = 0, width = 0, height = 0;

  if (own && g_strcmp0 (own, NO_FIELDS) != 0)
    fields = own;
  if (!fields || !*fields) {
    g_set_error (error, GST_CORE_ERROR, GST_CORE_ERROR_NEGOTIATION,
        "Caps " GST_CLOUD_CAPS_POINTCLOUD2 " without fields do not say where x, y and z are: set "
        "the property “fields”, for example to x:F32:0,y:F32:4,z:F32:8");
    return FALSE;
  }
  gst_structure_get_int (structure, "point-step", &step);
  g_autoptr (GstCaps) caps =
      gst_caps_new_simple (GST_POINT_CLOUD_CAPS_NAME, "format", G_TYPE_STRING, "CUSTOM",
          "point-step", G_TYPE_INT, step, "fields", G_TYPE_STRING, fields, NULL);
  if (!gst_point_cloud_info_from_caps (&layout->info, caps, error))
    return FALSE;
  gst_structure_get_int (structure, "width", &width);
  gst_structure_get_int (structure, "height", &height);
  if (height > 1 && width > 0) {
    layout->info.width = (guint)width;
    layout->info.height = (guint)height;
  }
  gst_structure_get_boolean (structure, "is-bigendian", &layout->big_endian);
  layout->counted = TRUE;
  return TRUE;
}

gboolean
gst_cloud_layout_from_caps (
    GstCloudLayout *layout, const GstCaps *caps, const gchar *fields, GError **error)
{
  const GstStructure *structure = gst_caps_get_structure (caps, 0);

  layout->big_endian = layout->counted = FALSE;
  if (gst_structure_has_name (structure, GST_CLOUD_CAPS_POINTCLOUD2))
    return read_pointcloud2 (layout, structure, fields, error);
  if (gst_structure_has_name (structure, GST_CLOUD_CAPS_LIDAR) ||
      gst_structure_has_name (structure, GST_CLOUD_CAPS_BYTES)) {
    gst_point_cloud_info_init (&layout->info);
    return gst_point_cloud_info_set_format (&layout->info, GST_POINT_CLOUD_FORMAT_XYZI_F32LE);
  }
  return gst_point_cloud_info_from_caps (&layout->info, caps, error);
}

gboolean
gst_cloud_layout_has_same_points (const GstCloudLayout *a, const GstCloudLayout *b)
{
  if (a->info.point_step != b->info.point_step || a->info.n_fields != b->info.n_fields ||
      a->big_endian != b->big_endian)
    return FALSE;
  for (guint i = 0; i < a->info.n_fields; i++) {
    const GstPointField *own = &a->info.fields[i];
    const GstPointField *other = gst_point_cloud_info_find_field (&b->info, own->name);
    if (!other || other->type != own->type || other->offset != own->offset ||
        other->count != own->count)
      return FALSE;
  }
  return TRUE;
}
