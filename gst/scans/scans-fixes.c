/* SPDX-License-Identifier: MIT */
#include "scans-fixes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ndtcore/cloudfile/ndt-projector.h"

#ifdef HAVE_MCAP
#include "gst/mcap/bag/bag-kinds.h"
#include "gst/mcap/container/mcap-format.h"
#include "gst/mcap/messages/gstrosfix.h"
#include "gst/mcap/replay/gstbagmessages.h"
#include "gst/mcap/ros/ros-schemas.h"
#endif

/* A stamp farther from the time stamp of its buffer is of another clock than the scans' times. */
#define CLOCK (10 * (gint64)GST_SECOND)

gboolean
scans_fix_read (GstCaps *caps, GstBuffer *buffer, ScansFix *fix)
{
#ifdef HAVE_MCAP
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  const gchar *type = gst_structure_get_string (structure, MCAP_CAPS_SCHEMA_NAME);
  GstMapInfo map;
  RosFix ros;
  if (!type || !bag_is_type (type, ROS_TYPE_FIX) || !GST_BUFFER_PTS_IS_VALID (buffer) ||
      !gst_buffer_map (buffer, &map, GST_MAP_READ))
    return FALSE;
  const gboolean is_read = ros_read_fix (&ros, map.data, map.size, NULL);
  gst_buffer_unmap (buffer, &map);
  if (!is_read)
    return FALSE;
  const gint64 time = (gint64)GST_BUFFER_PTS (buffer);
  *fix = (ScansFix){.time = ABS (ros.stamp - time) < CLOCK ? ros.stamp : time,
      .latitude = ros.latitude,
      .longitude = ros.longitude,
      .altitude = ros.altitude};
  for (guint k = 0; k < 3; k++)
    fix->sigma[k] = ros_fix_get_sigma (&ros, k);
  const gboolean has_position = ros_fix_has_position (&ros);
  ros_fix_clear (&ros);
  return has_position;
#else
  (void)caps;
  (void)buffer;
  (void)fix;
  return FALSE;
#endif
}

static gint
compare_fixes (gconstpointer a, gconstpointer b)
{
  const ScansFix *x = a, *y = b;
  return (x->time > y->time) - (x->time < y->time);
}

static gboolean
parse_origin (const gchar *text, double origin[3], GError **error)
{
  gchar *end = (gchar *)text;
  gboolean ok = TRUE;
  for (guint k = 0; k < 3 && ok; k++) {
    const gchar *begin = end;
    origin[k] = g_ascii_strtod (begin, &end);
    ok = end != begin && *end == (k < 2 ? ',' : 0);
    end += k < 2;
  }
  if (ok && fabs (origin[0]) <= 90 && fabs (origin[1]) <= 360 && fabs (origin[2]) < 1e5)
    return TRUE;
  g_set_error (error, NDT_ERROR, NDT_ERROR_INVALID_ARGUMENT,
      "--map-origin is latitude, longitude and altitude, and not \"%s\"", text);
  return FALSE;
}

ScansFixes *
scans_fixes_new (const GArray *fixes, const gchar *map_origin, ScansFrames *frames,
    const gchar *frame, GError **error)
{
  g_autoptr (ScansFixes) self = g_new0 (ScansFixes, 1);
  NdtGeoreference georeference;
  self->fixes = g_array_copy ((GArray *)fixes);
  g_array_sort (self->fixes, compare_fixes);
  const ScansFix *first = (const ScansFix *)(gpointer)self->fixes->data;
  if (map_origin) {
    if (!parse_origin (map_origin, self->origin, error))
      return NULL;
  } else {
    const double origin[3] = {first->latitude, first->longitude, first->altitude};
    memcpy (self->origin, origin, sizeof origin);
  }
  ndt_georeference_set_local (&georeference, self->origin[0], self->origin[1], self->origin[2]);
  g_autoptr (NdtProjector) projector = ndt_projector_new (&georeference, error);
  if (!projector)
    return NULL;
  for (guint i = 0; i < self->fixes->len; i++) {
    const ScansFix *fix = &first[i];
    NdtPose pose;
    ndt_pose_set_identity (&pose);
    if (ndt_projector_forward (
            projector, fix->latitude, fix->longitude, fix->altitude, pose.position))
      scans_frames_add (frames, "map", frame, fix->time, FALSE, &pose);
  }
  return g_steal_pointer (&self);
}

void
scans_fixes_free (ScansFixes *self)
{
  g_clear_pointer (&self->fixes, g_array_unref);
  g_free (self);
}

void
scans_fixes_get_sigma (const ScansFixes *self, gint64 time, double sigma[2])
{
  const ScansFix *fixes = (const ScansFix *)(gpointer)self->fixes->data;
  guint low = 0, high = self->fixes->len;
  while (low < high) {
    const guint middle = low + (high - low) / 2;
    if (fixes[middle].time < time)
      low = middle + 1;
    else
      high = middle;
  }
  const ScansFix *ends[2] = {
      &fixes[low > 0 ? low - 1 : 0], &fixes[MIN (low, self->fixes->len - 1)]};
  sigma[0] = sigma[1] = 0;
  for (guint i = 0; i < 2; i++) {
    sigma[0] = MAX (sigma[0], MAX (ends[i]->sigma[0], ends[i]->sigma[1]));
    sigma[1] = MAX (sigma[1], ends[i]->sigma[2]);
  }
}
