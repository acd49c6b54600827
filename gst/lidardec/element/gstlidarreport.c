/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "gstlidarreport.h"

#define WARNING_INTERVAL (5 * G_USEC_PER_SEC)

void
gst_lidar_warn (
    GstElement *element, gint64 *last, GstLidarWarning kind, guint64 n, const gchar *format, ...)
{
  const gint64 now = g_get_monotonic_time ();
  if (last[kind] > 0 && now - last[kind] < WARNING_INTERVAL)
    return;
  last[kind] = now;
  va_list arguments;
  va_start (arguments, format);
  g_autofree gchar *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  GST_ELEMENT_WARNING (
      element, STREAM, DECODE, ("%s (%" G_GUINT64_FORMAT " so far)", text, n), (NULL));
}

void
gst_lidar_warn_of_cutter (GstElement *element, gint64 *last, const PacketCutterCounts *before,
    const PacketCutterCounts *now)
{
  if (now->n_late > before->n_late)
    gst_lidar_warn (element, last, GST_LIDAR_WARNING_ORDER, now->n_late,
        "A packet came when its scan was pushed already; its points are left out.");
  if (now->n_bad_times > before->n_bad_times)
    gst_lidar_warn (element, last, GST_LIDAR_WARNING_TIME, now->n_bad_times,
        "The time of a packet does not follow on those before; it is left out. Where a second "
        "sensor sends to this port set \"src-ip\".");
  if (now->n_restarts > before->n_restarts)
    gst_lidar_warn (element, last, GST_LIDAR_WARNING_RESTART, now->n_restarts,
        "The sensor's clock jumped by %.6g s: it was restarted or synchronized.",
        (gdouble)now->jump * 1e-9);
  if (now->n_stalled > before->n_stalled)
    gst_lidar_warn (element, last, GST_LIDAR_WARNING_STALLED, now->n_stalled,
        "The azimuth stands still; points that make no scan are left out.");
}

GstStructure *
gst_lidar_counts_to_structure (const GstLidarCounts *self, const gchar *name)
{
  const struct {
    const gchar *name;
    guint64 n;
  } counts[] = {{"packets", self->n_packets}, {"other", self->n_other},
      {"other-source", self->n_other_source}, {"bad-size", self->n_bad[PACKET_ERROR_SIZE]},
      {"foreign", self->n_bad[PACKET_ERROR_FOREIGN]},
      {"wrong-model", self->n_bad[PACKET_ERROR_MODEL]},
      {"corrupt", self->n_bad[PACKET_ERROR_CORRUPT]}, {"uncalibrated", self->n_uncalibrated},
      {"late", self->cutter.n_late}, {"duplicates", self->cutter.n_duplicates},
      {"bad-time", self->cutter.n_bad_times}, {"restarts", self->cutter.n_restarts},
      {"skipped", self->cutter.n_skipped}, {"gaps", self->cutter.n_gaps},
      {"stalled", self->cutter.n_stalled}, {"scans", self->n_scans}};
  GstStructure *stats = gst_structure_new_empty (name);
  for (guint i = 0; i < G_N_ELEMENTS (counts); i++)
    gst_structure_set (stats, counts[i].name, G_TYPE_UINT64, counts[i].n, NULL);
  return stats;
}

gchar *
gst_lidar_counts_explain (const GstLidarCounts *self, const gchar *refused)
{
  if (self->n_packets == 0)
    return g_strdup ("no packet came");
  if (*refused)
    return g_strdup_printf ("the last one that was refused: %s", refused);
  if (self->n_other_source > 0)
    return g_strdup_printf (
        "%" G_GUINT64_FORMAT " are of another sender than \"src-ip\"", self->n_other_source);
  if (self->n_uncalibrated > 0)
    return g_strdup ("the sensor has not sent its lasers' angles: set \"calibration-location\"");
  return g_strdup_printf ("%" G_GUINT64_FORMAT
                          " are packets without points, as of a GPS receiver or an inertial unit",
      self->n_other);
}
