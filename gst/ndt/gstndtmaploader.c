/* SPDX-License-Identifier: MIT */
#include "gstndtmaploader.h"

#include "ndtcore/ndt-map-file.h"

struct _GstNdtMapLoader {
  GstNdtMapWanted wanted;
  GstNdtMapLoaded loaded;
  gpointer user_data;

  GMutex lock;
  GThread *thread; /* ended or running, until it is joined */
  gboolean running;
  gboolean requested;
  gboolean discard;
};

GstNdtMapLoader *
gst_ndt_map_loader_new (GstNdtMapWanted wanted, GstNdtMapLoaded loaded, gpointer user_data)
{
  GstNdtMapLoader *loader = g_new0 (GstNdtMapLoader, 1);
  g_mutex_init (&loader->lock);
  loader->wanted = wanted;
  loader->loaded = loaded;
  loader->user_data = user_data;
  return loader;
}

void
gst_ndt_map_loader_free (GstNdtMapLoader *loader)
{
  gst_ndt_map_loader_stop (loader);
  g_mutex_clear (&loader->lock);
  g_free (loader);
}

static void
read_map (GstNdtMapLoader *loader)
{
  g_autofree gchar *path = NULL;
  g_autoptr (GError) error = NULL;
  NdtVoxelMapParams params;

  if (!loader->wanted (&path, &params, loader->user_data))
    return;
  NdtVoxelMap *map = ndt_map_load (path, &params, &error);

  g_mutex_lock (&loader->lock);
  const gboolean discard = loader->discard;
  g_mutex_unlock (&loader->lock);
  if (!discard)
    loader->loaded (path, &params, map, error, loader->user_data);
  else if (map)
    ndt_voxel_map_unref (map);
}

static gpointer
read_maps (gpointer user_data)
{
  GstNdtMapLoader *loader = user_data;

  g_mutex_lock (&loader->lock);
  while (loader->requested) {
    loader->requested = FALSE;
    g_mutex_unlock (&loader->lock);
    read_map (loader);
    g_mutex_lock (&loader->lock);
  }
  loader->running = FALSE;
  g_mutex_unlock (&loader->lock);
  return NULL;
}

void
gst_ndt_map_loader_request (GstNdtMapLoader *loader)
{
  GThread *ended = NULL;

  g_mutex_lock (&loader->lock);
  loader->requested = !loader->discard;
  if (loader->requested && !loader->running) {
    ended = loader->thread;
    loader->running = TRUE;
    loader->thread = g_thread_new ("ndt-map", read_maps, loader);
  }
  g_mutex_unlock (&loader->lock);

  if (ended)
    g_thread_join (ended);
}

void
gst_ndt_map_loader_stop (GstNdtMapLoader *loader)
{
  g_mutex_lock (&loader->lock);
  loader->requested = FALSE;
  loader->discard = TRUE;
  GThread *thread = g_steal_pointer (&loader->thread);
  g_mutex_unlock (&loader->lock);

  if (thread)
    g_thread_join (thread);

  g_mutex_lock (&loader->lock);
  loader->discard = FALSE;
  g_mutex_unlock (&loader->lock);
}
