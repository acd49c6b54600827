/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "gstlidarwatch.h"

#include "gstlidarsource.h"

#define INTERVAL (3 * GST_SECOND)

static void
warn (const GstLidarWatch *self, guint64 n_packets, const GstLidarCounts *counts,
    const gchar *refused)
{
  if (n_packets > 0) {
    g_autofree gchar *cause = gst_lidar_counts_explain (counts, refused);
    GST_ELEMENT_WARNING (self->element, STREAM, DECODE,
        ("%" G_GUINT64_FORMAT " packets came in 3 s and no scan: %s.", n_packets, cause), (NULL));
    return;
  }
  g_autofree gchar *upstream = gst_lidar_describe_upstream (self->pad);
  GST_ELEMENT_WARNING (self->element, RESOURCE, READ,
      ("No packet came in 3 s%s%s: let the sensor send to this machine, to that port.",
          *upstream ? "; " : "", upstream),
      (NULL));
}

/* In the clock's thread. */
static gboolean
look (GstClock *clock, GstClockTime time, GstClockID id, gpointer data)
{
  GstLidarWatch *self = data;
  GstLidarCounts counts;
  gchar refused[GST_LIDAR_MAX_REFUSED];
  self->get_counts (self->element, &counts, refused);
  g_mutex_lock (&self->mutex);
  const gboolean brings = counts.n_scans > self->before.n_scans;
  const gboolean is_news = self->id == id && !brings && !self->is_silent;
  const guint64 n_packets = counts.n_packets - self->before.n_packets;
  self->is_silent = !brings;
  self->before = counts;
  g_mutex_unlock (&self->mutex);
  if (is_news && gst_lidar_is_live (self->pad))
    warn (self, n_packets, &counts, refused);
  return TRUE;
}

static void
unref_element (gpointer data)
{
  gst_object_unref (((GstLidarWatch *)data)->element);
}

void
gst_lidar_watch_start (GstLidarWatch *self)
{
  g_autoptr (GstClock) clock = gst_system_clock_obtain ();
  GstClockID id =
      gst_clock_new_periodic_id (clock, gst_clock_get_time (clock) + INTERVAL, INTERVAL);
  GstLidarCounts counts;
  gchar refused[GST_LIDAR_MAX_REFUSED];
  self->get_counts (self->element, &counts, refused);
  g_mutex_lock (&self->mutex);
  self->id = id;
  self->before = counts;
  self->is_silent = FALSE;
  g_mutex_unlock (&self->mutex);
  gst_object_ref (self->element);
  gst_clock_id_wait_async (id, look, self, unref_element);
}

void
gst_lidar_watch_stop (GstLidarWatch *self)
{
  g_mutex_lock (&self->mutex);
  GstClockID id = g_steal_pointer (&self->id);
  g_mutex_unlock (&self->mutex);
  if (!id)
    return;
  gst_clock_id_unschedule (id);
  gst_clock_id_unref (id);
}
