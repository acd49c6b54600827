/* SPDX-License-Identifier: MIT */
/**
 * SECTION:gstpointcloudbox
 * @title: GstPointCloudBox
 * @short_description: a box along the axes of a frame
 *
 * A boxed type that is written as numbers: `xmin,ymin,zmin,xmax,ymax,zmax`
 * in metres; separated by commas, semicolons or
 * white space. Text is read by gst_value_deserialize(), which is what gst-launch-1.0 and
 * gst_util_set_object_arg() call, and where g_object_set_property() gets a string; an empty one is
 * %NULL. What gst_value_serialize() writes is read back to the same bits.
 */
#include "gstpointcloudbox.h"

#include <string.h>

#include "gstpointcloudboxed.h"
#include "ndtcore/base/ndt-text.h"

static gpointer
from_string (const gchar *text, GError **error)
{
  return gst_point_cloud_box_new_from_string (text, error);
}

static gchar *
to_string (gconstpointer box)
{
  return gst_point_cloud_box_to_string (box);
}

static GstPointCloudBoxedClass boxed_class = {
    .size = sizeof (GstPointCloudBox), .from_string = from_string, .to_string = to_string};

G_DEFINE_BOXED_TYPE_WITH_CODE (GstPointCloudBox, gst_point_cloud_box, gst_point_cloud_box_copy,
    gst_point_cloud_box_free, gst_point_cloud_boxed_register (g_define_type_id, &boxed_class))

/**
 * gst_point_cloud_box_new_from_string:
 * @text: `xmin,ymin,zmin,xmax,ymax,zmax`, metres
 * @error: return location for an error
 *
 * Returns: (transfer full) (nullable): the box, or %NULL with %GST_RESOURCE_ERROR_SETTINGS where
 *   @text is something else or a minimum is above its maximum
 *
 * Since: 0.2
 */
GstPointCloudBox *
gst_point_cloud_box_new_from_string (const gchar *text, GError **error)
{
  gdouble v[6];

  g_return_val_if_fail (text != NULL, NULL);

  if (ndt_text_parse_numbers (text, v, 6) != 6 || v[0] > v[3] || v[1] > v[4] || v[2] > v[5]) {
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
        "“%s” is no box: give xmin,ymin,zmin,xmax,ymax,zmax (metres), each minimum at most its "
        "maximum",
        text);
    return NULL;
  }
  GstPointCloudBox *box = g_new (GstPointCloudBox, 1);
  memcpy (box->min, v, sizeof box->min);
  memcpy (box->max, v + 3, sizeof box->max);
  return box;
}

/**
 * gst_point_cloud_box_copy:
 * @box: a box
 *
 * Returns: (transfer full): a copy, for gst_point_cloud_box_free()
 *
 * Since: 0.2
 */
GstPointCloudBox *
gst_point_cloud_box_copy (const GstPointCloudBox *box)
{
  g_return_val_if_fail (box != NULL, NULL);

  return g_memdup2 (box, sizeof *box);
}

/**
 * gst_point_cloud_box_free:
 * @box: (transfer full) (nullable): a box that the library made
 *
 * Since: 0.2
 */
void
gst_point_cloud_box_free (GstPointCloudBox *box)
{
  g_free (box);
}

/**
 * gst_point_cloud_box_to_string:
 * @box: a box
 *
 * Returns: (transfer full): `xmin,ymin,zmin,xmax,ymax,zmax`, which
 *   gst_point_cloud_box_new_from_string() reads back to the same bits
 *
 * Since: 0.2
 */
gchar *
gst_point_cloud_box_to_string (const GstPointCloudBox *box)
{
  gchar text[6][G_ASCII_DTOSTR_BUF_SIZE];

  g_return_val_if_fail (box != NULL, NULL);

  for (guint i = 0; i < 6; i++)
    g_ascii_dtostr (text[i], sizeof text[i], i < 3 ? box->min[i] : box->max[i - 3]);
  return g_strjoin (",", text[0], text[1], text[2], text[3], text[4], text[5], NULL);
}
