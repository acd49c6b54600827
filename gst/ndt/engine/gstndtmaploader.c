/* SPDX-License-Identifier: MIT */
#include "gst/ndt/engine/gstndtmaploader.h"

#include <string.h>

#include "ndtcore/io/ndt-map-file.h"

void (*gst_ndt_map_loader_before_move) (void);

typedef struct {
  NdtMapTiles *tiles; /* NULL: none is asked for */
  gdouble position[2];
  gdouble radius;
} Move;

struct _GstNdtMapLoader {
  GstNdtMapWanted wanted;
  GstNdtMapLoaded loaded;
  gpointer user_data;

  GMutex lock;
  GThread *thread; /* ended or running, until it is joined */
  gboolean running;
  gboolean requested;
  gboolean discard;

  Move move;   /* to be done before what is requested */
  guint moves; /* number of the last one that was asked for or forgotten */
  gboolean is_moving;
  gboolean has_moved;
  GstNdtMapMoved moved;
  GCond done;
  gboolean flushing;
};

NdtVoxelMap *
gst_ndt_map_read (const GstNdtMapRequest *request, NdtMapTiles **tiles, GError **error)
{
  *tiles = NULL;
  if (!(request->radius > 0))
    return ndt_map_load (request->path, &request->params, error);

  g_autoptr (NdtMapTiles) opened = ndt_map_tiles_open (request->path, &request->params, error);
  if (!opened)
    return NULL;
  ndt_map_tiles_set_log (opened, request->log);
  g_autoptr (GError) failure = NULL;
  g_autoptr (GError) none = NULL;
  g_autoptr (NdtVoxelMap) map =
      ndt_map_tiles_move (opened, request->position, request->radius, &failure, &none);
  if (failure || none) {
    g_propagate_error (error, failure ? g_steal_pointer (&failure) : g_steal_pointer (&none));
    return NULL;
  }
  *tiles = g_steal_pointer (&opened);
  return g_steal_pointer (&map);
}

void
gst_ndt_map_moved_clear (GstNdtMapMoved *moved)
{
  g_clear_pointer (&moved->map, ndt_voxel_map_unref);
  g_clear_error (&moved->error);
  g_clear_error (&moved->failure);
}

GstNdtMapLoader *
gst_ndt_map_loader_new (GstNdtMapWanted wanted, GstNdtMapLoaded loaded, gpointer user_data)
{
  GstNdtMapLoader *loader = g_new0 (GstNdtMapLoader, 1);
  g_mutex_init (&loader->lock);
  g_cond_init (&loader->done);
  loader->wanted = wanted;
  loader->loaded = loaded;
  loader->user_data = user_data;
  return loader;
}

void
gst_ndt_map_loader_free (GstNdtMapLoader *loader)
{
  gst_ndt_map_loader_stop (loader);
  g_cond_clear (&loader->done);
  g_mutex_clear (&loader->lock);
  g_free (loader);
}

/* With the lock held, as all up to read_maps(), but not while it works. */
static void
forget_move (GstNdtMapLoader *loader)
{
  g_clear_pointer (&loader->move.tiles, ndt_map_tiles_unref);
  gst_ndt_map_moved_clear (&loader->moved);
  loader->is_moving = loader->has_moved = FALSE;
  loader->moves++;
  g_cond_broadcast (&loader->done);
}

static void
run_move (GstNdtMapLoader *loader)
{
  const Move move = loader->move;
  const guint number = loader->moves;
  GstNdtMapMoved moved = {NULL};

  loader->move.tiles = NULL;
  g_mutex_unlock (&loader->lock);
  if (gst_ndt_map_loader_before_move)
    gst_ndt_map_loader_before_move ();
  moved.map =
      ndt_map_tiles_move (move.tiles, move.position, move.radius, &moved.failure, &moved.error);
  ndt_map_tiles_get_counts (move.tiles, &moved.counts);
  ndt_map_tiles_unref (move.tiles);
  g_mutex_lock (&loader->lock);

  if (number == loader->moves) {
    loader->moved = moved;
    loader->has_moved = TRUE;
    g_cond_broadcast (&loader->done);
  } else {
    gst_ndt_map_moved_clear (&moved);
  }
}

static void
read_map (GstNdtMapLoader *loader)
{
  GstNdtMapRequest request = {NULL};
  NdtMapTiles *tiles;
  g_autoptr (GError) error = NULL;

  const gboolean wanted = loader->wanted (&request, loader->user_data);
  g_autofree gchar *path = request.path;
  if (!wanted)
    return;
  NdtVoxelMap *map = gst_ndt_map_read (&request, &tiles, &error);

  g_mutex_lock (&loader->lock);
  const gboolean discard = loader->discard;
  g_mutex_unlock (&loader->lock);
  if (!discard) {
    loader->loaded (&request, map, tiles, error, loader->user_data);
  } else {
    g_clear_pointer (&map, ndt_voxel_map_unref);
    g_clear_pointer (&tiles, ndt_map_tiles_unref);
  }
}

static gpointer
read_maps (gpointer user_data)
{
  GstNdtMapLoader *loader = user_data;

  g_mutex_lock (&loader->lock);
  while (loader->move.tiles || loader->requested) {
    if (loader->move.tiles) {
      run_move (loader);
      continue;
    }
    loader->requested = FALSE;
    g_mutex_unlock (&loader->lock);
    read_map (loader);
    g_mutex_lock (&loader->lock);
  }
  loader->running = FALSE;
  g_mutex_unlock (&loader->lock);
  return NULL;
}

/* With the lock held. Returns a thread that has ended, to be joined without the lock. */
static GThread *
run (GstNdtMapLoader *loader)
{
  if (loader->running)
    return NULL;
  GThread *ended = loader->thread;
  loader->running = TRUE;
  loader->thread = g_thread_new ("ndt-map", read_maps, loader);
  return ended;
}

void
gst_ndt_map_loader_request (GstNdtMapLoader *loader)
{
  GThread *ended = NULL;

  g_mutex_lock (&loader->lock);
  loader->requested = !loader->discard;
  if (loader->requested)
    ended = run (loader);
  g_mutex_unlock (&loader->lock);

  if (ended)
    g_thread_join (ended);
}

void
gst_ndt_map_loader_move (
    GstNdtMapLoader *loader, NdtMapTiles *tiles, const gdouble position[2], gdouble radius)
{
  GThread *ended = NULL;

  g_mutex_lock (&loader->lock);
  if (!loader->discard) {
    forget_move (loader);
    loader->move.tiles = ndt_map_tiles_ref (tiles);
    memcpy (loader->move.position, position, sizeof loader->move.position);
    loader->move.radius = radius;
    loader->is_moving = TRUE;
    ended = run (loader);
  }
  g_mutex_unlock (&loader->lock);

  if (ended)
    g_thread_join (ended);
}

gboolean
gst_ndt_map_loader_take_moved (GstNdtMapLoader *loader, gboolean wait, GstNdtMapMoved *moved)
{
  g_mutex_lock (&loader->lock);
  while (wait && loader->is_moving && !loader->has_moved && !loader->flushing)
    g_cond_wait (&loader->done, &loader->lock);
  const gboolean has_moved = loader->has_moved && !loader->flushing;
  if (has_moved) {
    *moved = loader->moved;
    memset (&loader->moved, 0, sizeof loader->moved);
    loader->is_moving = loader->has_moved = FALSE;
  }
  g_mutex_unlock (&loader->lock);
  return has_moved;
}

void
gst_ndt_map_loader_forget_move (GstNdtMapLoader *loader)
{
  g_mutex_lock (&loader->lock);
  forget_move (loader);
  g_mutex_unlock (&loader->lock);
}

void
gst_ndt_map_loader_set_flushing (GstNdtMapLoader *loader, gboolean flushing)
{
  g_mutex_lock (&loader->lock);
  loader->flushing = flushing;
  g_cond_broadcast (&loader->done);
  g_mutex_unlock (&loader->lock);
}

void
gst_ndt_map_loader_stop (GstNdtMapLoader *loader)
{
  g_mutex_lock (&loader->lock);
  loader->requested = FALSE;
  forget_move (loader);
  loader->discard = TRUE;
  GThread *thread = g_steal_pointer (&loader->thread);
  g_mutex_unlock (&loader->lock);

  if (thread)
    g_thread_join (thread);

  g_mutex_lock (&loader->lock);
  loader->discard = FALSE;
  g_mutex_unlock (&loader->lock);
}
