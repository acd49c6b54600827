/* SPDX-License-Identifier: MIT */
#include "gstposerequest.h"

#include <math.h>

/**
 * gst_pose_request_event_new:
 * @id: number that the answer has, the sender's own
 * @position: (array fixed-size=3): x, y, z in the map, metres, finite
 * @yaw: heading in the map, radians
 *
 * An element that takes the request returns %TRUE from its event function and answers with
 * gst_pose_request_reply_event_new().
 *
 * Returns: (transfer full): a custom upstream event
 *
 * Since: 0.2
 */
GstEvent *
gst_pose_request_event_new (guint64 id, const gdouble *position, gdouble yaw)
{
  return gst_event_new_custom (GST_EVENT_CUSTOM_UPSTREAM,
      gst_structure_new (GST_POSE_REQUEST_NAME, "id", G_TYPE_UINT64, id, "x", G_TYPE_DOUBLE,
          position[0], "y", G_TYPE_DOUBLE, position[1], "z", G_TYPE_DOUBLE, position[2], "yaw",
          G_TYPE_DOUBLE, yaw, NULL));
}

/**
 * gst_pose_request_event_parse:
 * @event: any event
 * @id: (out): number for the answer
 * @position: (out caller-allocates) (array fixed-size=3): x, y, z in the map, metres
 * @yaw: (out): radians
 *
 * Returns: whether it is a whole request, all numbers finite
 *
 * Since: 0.2
 */
gboolean
gst_pose_request_event_parse (GstEvent *event, guint64 *id, gdouble *position, gdouble *yaw)
{
  const GstStructure *structure = gst_event_get_structure (event);

  return GST_EVENT_TYPE (event) == GST_EVENT_CUSTOM_UPSTREAM && structure &&
         gst_structure_has_name (structure, GST_POSE_REQUEST_NAME) &&
         gst_structure_get_uint64 (structure, "id", id) &&
         gst_structure_get_double (structure, "x", &position[0]) &&
         gst_structure_get_double (structure, "y", &position[1]) &&
         gst_structure_get_double (structure, "z", &position[2]) &&
         gst_structure_get_double (structure, "yaw", yaw) && isfinite (position[0]) &&
         isfinite (position[1]) && isfinite (position[2]) && isfinite (*yaw);
}

/**
 * gst_pose_request_reply_event_new:
 * @id: of the request
 * @accepted: whether the pose is used
 * @reason: (nullable): a sentence, of a request that is refused
 *
 * Returns: (transfer full): a custom out-of-band downstream event
 *
 * Since: 0.2
 */
GstEvent *
gst_pose_request_reply_event_new (guint64 id, gboolean accepted, const gchar *reason)
{
  return gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM_OOB,
      gst_structure_new (GST_POSE_REQUEST_REPLY_NAME, "id", G_TYPE_UINT64, id, "accepted",
          G_TYPE_BOOLEAN, accepted, "reason", G_TYPE_STRING, reason, NULL));
}
