/* SPDX-License-Identifier: MIT */
#include "gstmcapmap.h"

#include "gst/scene/scene-map.h"

struct _GstMcapMap {
  gatomicrefcount n_refs;
  GstElement *element;
  SceneMap *reader;

  GMutex lock; /* of what follows */
  GCond cond;
  guint n_reading;
  gboolean is_stopped;
  GBytes *points;
};

static void
loaded (NdtMapPoints *points, gpointer user_data)
{
  GstMcapMap *self = user_data;
  GBytes *bytes =
      g_bytes_new_take (g_steal_pointer (&points->xyz), points->n * 3 * sizeof (double));

  ndt_map_points_free (points);
  g_mutex_lock (&self->lock);
  GBytes *before = self->points;
  self->points = bytes;
  self->n_reading--;
  g_cond_broadcast (&self->cond);
  g_mutex_unlock (&self->lock);
  g_clear_pointer (&before, g_bytes_unref);
}

static void
failed (const gchar *sentence, gpointer user_data)
{
  GstMcapMap *self = user_data;

  GST_ELEMENT_WARNING (
      self->element, RESOURCE, READ, ("The map is not recorded: %s.", sentence), (NULL));
  g_mutex_lock (&self->lock);
  self->n_reading--;
  g_cond_broadcast (&self->cond);
  g_mutex_unlock (&self->lock);
}

GstMcapMap *
gst_mcap_map_new (GstElement *element, guint max_points)
{
  static const SceneMapFuncs funcs = {loaded, failed};
  GstMcapMap *self = g_new0 (GstMcapMap, 1);

  g_atomic_ref_count_init (&self->n_refs);
  self->element = element;
  g_mutex_init (&self->lock);
  g_cond_init (&self->cond);
  self->reader = scene_map_new (max_points, &funcs, self);
  return self;
}

GstMcapMap *
gst_mcap_map_ref (GstMcapMap *self)
{
  g_atomic_ref_count_inc (&self->n_refs);
  return self;
}

void
gst_mcap_map_unref (GstMcapMap *self)
{
  if (!g_atomic_ref_count_dec (&self->n_refs))
    return;
  gst_mcap_map_stop (self);
  g_clear_pointer (&self->points, g_bytes_unref);
  g_cond_clear (&self->cond);
  g_mutex_clear (&self->lock);
  g_free (self);
}

gboolean
gst_mcap_map_stop (GstMcapMap *self)
{
  SceneMap *reader;

  g_mutex_lock (&self->lock);
  const gboolean was_reading = self->n_reading > 0;
  reader = g_steal_pointer (&self->reader);
  self->is_stopped = TRUE;
  g_cond_broadcast (&self->cond);
  g_mutex_unlock (&self->lock);
  scene_map_free (reader);
  return was_reading;
}

void
gst_mcap_map_show (GstMcapMap *self, const gchar *location)
{
  g_mutex_lock (&self->lock);
  if (self->reader && scene_map_show (self->reader, location, 0))
    self->n_reading++;
  g_mutex_unlock (&self->lock);
}

static gboolean
is_live (GstPad *pad)
{
  g_autoptr (GstQuery) query = gst_query_new_latency ();
  gboolean live = FALSE;

  if (gst_pad_peer_query (pad, query))
    gst_query_parse_latency (query, &live, NULL, NULL);
  return live;
}

void
gst_mcap_map_wait (GstMcapMap *self, GstPad *pad, gboolean always)
{
  g_mutex_lock (&self->lock);
  gboolean waits = self->n_reading > 0 && !self->is_stopped;
  g_mutex_unlock (&self->lock);
  if (!waits || (!always && is_live (pad)))
    return;
  g_mutex_lock (&self->lock);
  while (self->n_reading > 0 && !self->is_stopped && !GST_PAD_IS_FLUSHING (pad))
    g_cond_wait (&self->cond, &self->lock);
  g_mutex_unlock (&self->lock);
}

void
gst_mcap_map_wake (GstMcapMap *self)
{
  g_mutex_lock (&self->lock);
  g_cond_broadcast (&self->cond);
  g_mutex_unlock (&self->lock);
}

GBytes *
gst_mcap_map_get_points (GstMcapMap *self)
{
  GBytes *points;

  g_mutex_lock (&self->lock);
  points = self->points ? g_bytes_ref (self->points) : NULL;
  g_mutex_unlock (&self->lock);
  return points;
}
