/* SPDX-License-Identifier: MIT */
/**
 * SECTION:gstpointcloudpose
 * @title: GstPointCloudPose
 * @short_description: where something is and how it is turned
 *
 * A boxed type that is written as numbers: `x,y,z`, `x,y,z,yaw`,
 * `x,y,z,roll,pitch,yaw` (metres, degrees) or `x,y,z,qx,qy,qz,qw`; separated by commas, semicolons
 * or white space. Text is read by gst_value_deserialize(), which is what gst-launch-1.0 and
 * gst_util_set_object_arg() call, and where g_object_set_property() gets a string; an empty one is
 * %NULL. What gst_value_serialize() writes is read back to the same bits.
 */
#include "gstpointcloudpose.h"

#include <string.h>

#include "gstpointcloudboxed.h"
#include "ndtcore/math/ndt-pose.h"

static gpointer
from_string (const gchar *text, GError **error)
{
  return gst_point_cloud_pose_new_from_string (text, error);
}

static gchar *
to_string (gconstpointer pose)
{
  return gst_point_cloud_pose_to_string (pose);
}

static GstPointCloudBoxedClass boxed_class = {
    .size = sizeof (GstPointCloudPose), .from_string = from_string, .to_string = to_string};

G_DEFINE_BOXED_TYPE_WITH_CODE (GstPointCloudPose, gst_point_cloud_pose, gst_point_cloud_pose_copy,
    gst_point_cloud_pose_free, gst_point_cloud_boxed_register (g_define_type_id, &boxed_class))

/**
 * gst_point_cloud_pose_new_from_string:
 * @text: `x,y,z`, `x,y,z,yaw`, `x,y,z,roll,pitch,yaw` (metres, degrees about the fixed axes x, y
 *   and z, in this order) or `x,y,z,qx,qy,qz,qw`
 * @error: return location for an error
 *
 * A quaternion is scaled to unit length.
 *
 * Returns: (transfer full) (nullable): the pose, or %NULL with %GST_RESOURCE_ERROR_SETTINGS where
 *   @text is none of these
 *
 * Since: 0.2
 */
GstPointCloudPose *
gst_point_cloud_pose_new_from_string (const gchar *text, GError **error)
{
  g_autoptr (GError) reason = NULL;
  NdtPose pose;

  g_return_val_if_fail (text != NULL, NULL);

  if (!ndt_pose_parse (text, &pose, &reason)) {
    g_set_error_literal (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, reason->message);
    return NULL;
  }
  GstPointCloudPose *out = g_new (GstPointCloudPose, 1);
  memcpy (out->position, pose.position, sizeof out->position);
  memcpy (out->orientation, pose.orientation, sizeof out->orientation);
  return out;
}

/**
 * gst_point_cloud_pose_copy:
 * @pose: a pose
 *
 * Returns: (transfer full): a copy, for gst_point_cloud_pose_free()
 *
 * Since: 0.2
 */
GstPointCloudPose *
gst_point_cloud_pose_copy (const GstPointCloudPose *pose)
{
  g_return_val_if_fail (pose != NULL, NULL);

  return g_memdup2 (pose, sizeof *pose);
}

/**
 * gst_point_cloud_pose_free:
 * @pose: (transfer full) (nullable): a pose that the library made
 *
 * Since: 0.2
 */
void
gst_point_cloud_pose_free (GstPointCloudPose *pose)
{
  g_free (pose);
}

/**
 * gst_point_cloud_pose_to_string:
 * @pose: a pose
 *
 * Returns: (transfer full): `x,y,z,qx,qy,qz,qw`, which gst_point_cloud_pose_new_from_string() reads
 *   back to the same bits where the quaternion is of unit length
 *
 * Since: 0.2
 */
gchar *
gst_point_cloud_pose_to_string (const GstPointCloudPose *pose)
{
  NdtPose copy;

  g_return_val_if_fail (pose != NULL, NULL);

  memcpy (copy.position, pose->position, sizeof copy.position);
  memcpy (copy.orientation, pose->orientation, sizeof copy.orientation);
  return ndt_pose_to_string (&copy);
}
