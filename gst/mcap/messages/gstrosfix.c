/* SPDX-License-Identifier: MIT */
#include "gstrosfix.h"

#include <math.h>
#include <string.h>

#include "gst/mcap/ros/cdr.h"
#include "gst/mcap/ros/ros-schemas.h"
#include "gstrosmessages.h"

void
ros_fix_clear (RosFix *self)
{
  g_clear_pointer (&self->frame, g_free);
}

gboolean
ros_read_fix (RosFix *self, const guint8 *data, gsize size, GError **error)
{
  CdrReader reader;
  memset (self, 0, sizeof *self);
  cdr_reader_init (&reader, data, size);
  const gint64 seconds = cdr_read_i32 (&reader);
  self->stamp = seconds * G_GINT64_CONSTANT (1000000000) + cdr_read_u32 (&reader);
  self->frame = cdr_read_string (&reader);
  self->status = (gint8)cdr_read_u8 (&reader);
  cdr_read_u16 (&reader); /* service: which systems of satellites */
  self->latitude = cdr_read_f64 (&reader);
  self->longitude = cdr_read_f64 (&reader);
  self->altitude = cdr_read_f64 (&reader);
  for (guint i = 0; i < 9; i++)
    self->covariance[i] = cdr_read_f64 (&reader);
  const guint8 type = cdr_read_u8 (&reader);
  self->covariance_type = MIN (type, ROS_FIX_COVARIANCE_KNOWN);
  if (!cdr_reader_failed (&reader))
    return TRUE;
  ros_fix_clear (self);
  g_set_error (error, ROS_MESSAGE_ERROR, ROS_MESSAGE_ERROR_DAMAGED,
      "A %s message is damaged or no little-endian CDR", ROS_TYPE_FIX);
  return FALSE;
}

gboolean
ros_fix_has_position (const RosFix *self)
{
  return self->status >= 0 && fabs (self->latitude) <= 90 && fabs (self->longitude) <= 360 &&
         fabs (self->altitude) < 1e5;
}

gdouble
ros_fix_get_sigma (const RosFix *self, guint axis)
{
  const gdouble variance = self->covariance[4 * axis];
  if (self->covariance_type == ROS_FIX_COVARIANCE_UNKNOWN || !(variance > 0 && variance < 1e8))
    return 0;
  return sqrt (variance);
}
