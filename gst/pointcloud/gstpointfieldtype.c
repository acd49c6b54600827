/* SPDX-License-Identifier: MIT */
/* The types that fields of points have: their sizes and their names in caps. */
#include "gstpointcloudinfo.h"

typedef struct {
  GstPointFieldType type;
  const gchar *name;
  guint size;
} TypeDescription;

static const TypeDescription types[] = {
    {GST_POINT_FIELD_TYPE_INT8, "I8", 1},
    {GST_POINT_FIELD_TYPE_UINT8, "U8", 1},
    {GST_POINT_FIELD_TYPE_INT16, "I16", 2},
    {GST_POINT_FIELD_TYPE_UINT16, "U16", 2},
    {GST_POINT_FIELD_TYPE_INT32, "I32", 4},
    {GST_POINT_FIELD_TYPE_UINT32, "U32", 4},
    {GST_POINT_FIELD_TYPE_FLOAT32, "F32", 4},
    {GST_POINT_FIELD_TYPE_FLOAT64, "F64", 8},
};

static const TypeDescription *
describe_type (GstPointFieldType type)
{
  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    if (types[i].type == type)
      return &types[i];
  return NULL;
}

/**
 * gst_point_field_type_get_size:
 * @type: a type
 *
 * Returns: bytes of one element, 0 where @type is invalid
 *
 * Since: 0.1
 */
guint
gst_point_field_type_get_size (GstPointFieldType type)
{
  const TypeDescription *description = describe_type (type);

  return description ? description->size : 0;
}

/**
 * gst_point_field_type_to_string:
 * @type: a type
 *
 * Returns: (nullable): its name in caps, %NULL where @type is invalid
 *
 * Since: 0.1
 */
const gchar *
gst_point_field_type_to_string (GstPointFieldType type)
{
  const TypeDescription *description = describe_type (type);

  return description ? description->name : NULL;
}

/**
 * gst_point_field_type_from_string:
 * @name: a type's name in caps, such as "F32"
 *
 * Returns: the type, or %GST_POINT_FIELD_TYPE_INVALID
 *
 * Since: 0.1
 */
GstPointFieldType
gst_point_field_type_from_string (const gchar *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    if (g_strcmp0 (types[i].name, name) == 0)
      return types[i].type;
  return GST_POINT_FIELD_TYPE_INVALID;
}
