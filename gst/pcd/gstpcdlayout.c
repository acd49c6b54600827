/* SPDX-License-Identifier: MIT */
#include "gstpcdlayout.h"

#include <string.h>

static GstPointFieldType
field_type (const NdtPcdField *field)
{
  static const GstPointFieldType signed_types[] = {
      GST_POINT_FIELD_TYPE_INT8, GST_POINT_FIELD_TYPE_INT16, GST_POINT_FIELD_TYPE_INT32};
  static const GstPointFieldType unsigned_types[] = {
      GST_POINT_FIELD_TYPE_UINT8, GST_POINT_FIELD_TYPE_UINT16, GST_POINT_FIELD_TYPE_UINT32};
  if (field->type == 'F')
    return field->size == 4 ? GST_POINT_FIELD_TYPE_FLOAT32 : GST_POINT_FIELD_TYPE_FLOAT64;
  if (field->size == 8)
    return GST_POINT_FIELD_TYPE_INVALID;
  return (field->type == 'I' ? signed_types : unsigned_types)[field->size / 2];
}

/* PDAL writes X, Y and Z. */
static const gchar *
field_name (const NdtPcdHeader *header, const NdtPcdField *field)
{
  static const gchar *const axes[][2] = {{"X", "x"}, {"Y", "y"}, {"Z", "z"}};
  for (guint i = 0; i < G_N_ELEMENTS (axes); i++)
    if (strcmp (field->name, axes[i][0]) == 0 && !ndt_pcd_header_find_field (header, axes[i][1]))
      return axes[i][1];
  return field->name;
}

static const gchar *
add_field (GstPointCloudInfo *info, const NdtPcdHeader *header, const NdtPcdField *field)
{
  const gchar *name = field_name (header, field);
  const GstPointFieldType type = field_type (field);
  if (type == GST_POINT_FIELD_TYPE_INVALID)
    return "its type has 8-byte integers";
  if (strpbrk (name, ",:"))
    return "its name has a comma or colon";
  if (gst_point_cloud_info_find_field (info, name))
    return "its name is there twice";
  if (!gst_point_cloud_info_add_field (info, name, type, field->offset, field->count))
    return "there are too many fields";
  return NULL;
}

static gboolean
has_layout (const GstPointCloudInfo *info, const GstPointCloudInfo *known)
{
  if (info->point_step != known->point_step || info->n_fields != known->n_fields)
    return FALSE;
  for (guint i = 0; i < info->n_fields; i++) {
    const GstPointField *a = &info->fields[i], *b = &known->fields[i];
    if (a->name != b->name || a->type != b->type || a->offset != b->offset || a->count != b->count)
      return FALSE;
  }
  return TRUE;
}

gboolean
gst_pcd_layout_to_info (const NdtPcdHeader *header, GstPointCloudInfo *info, gchar **dropped)
{
  static const GstPointCloudFormat formats[] = {GST_POINT_CLOUD_FORMAT_XYZ_F32LE,
      GST_POINT_CLOUD_FORMAT_XYZI_F32LE, GST_POINT_CLOUD_FORMAT_XYZ_F64LE,
      GST_POINT_CLOUD_FORMAT_XYZIRT};
  g_autoptr (GString) reasons = g_string_new (NULL);

  gst_point_cloud_info_init (info);
  info->format = GST_POINT_CLOUD_FORMAT_CUSTOM;
  info->point_step = header->point_step;
  for (guint i = 0; i < header->n_fields; i++) {
    const NdtPcdField *field = &header->fields[i];
    const gchar *reason;
    /* Padding has no name of its own. */
    if (strcmp (field->name, "_") == 0 || !(reason = add_field (info, header, field)))
      continue;
    g_string_append_printf (
        reasons, "%s'%s' (%s)", reasons->len > 0 ? ", " : "", field->name, reason);
  }
  if (header->height > 1 && header->width > 0 && header->width <= G_MAXINT &&
      header->height <= G_MAXINT) {
    info->width = (guint)header->width;
    info->height = (guint)header->height;
  }
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++) {
    GstPointCloudInfo known;
    gst_point_cloud_info_init (&known);
    gst_point_cloud_info_set_format (&known, formats[i]);
    if (has_layout (info, &known))
      info->format = formats[i];
  }
  *dropped = reasons->len > 0 ? g_strdup (reasons->str) : NULL;
  return info->n_fields > 0;
}
