/* SPDX-License-Identifier: MIT */
#include "gstndtmaploader.h"

#include <string.h>

#include "ndtcore/base/ndt-error.h"
#include "ndtcore/cloudfile/ndt-map-image.h"
#include "ndtcore/map/ndt-overview.h"

void (*gst_ndt_map_loader_before_move) (void);
void (*gst_ndt_map_loader_before_read) (void);

/* How often progress is told. */
#define PROGRESS_INTERVAL (G_USEC_PER_SEC / 4)

typedef struct {
  NdtMapTiles *tiles; /* NULL: none is asked for */
  gdouble position[2];
  gdouble radius;
} Move;

struct _GstNdtMapLoader {
  gint references; /* atomic: the user's, and each thread's */
  GstNdtMapCallbacks callbacks;
  gpointer user_data;

  /* What tiles log goes through here: a thread that nobody waits for may outlive the user. */
  NdtLog log;
  GMutex log_lock;
  const NdtLog *target; /* NULL: the user is gone */

  GMutex lock;
  gint generation; /* atomic, written with the lock held: threads of another have been left alone */
  gboolean running; /* a thread of this generation */
  gboolean requested;
  gboolean reading;
  gboolean in_callback; /* a thread of this generation is in one */

  Move move;   /* to be done before what is requested */
  guint moves; /* number of the last one that was asked for or forgotten */
  gboolean is_moving;
  gboolean has_moved;
  GstNdtMapMoved moved;
  GCond done; /* anything of this has changed */
  gboolean flushing;
};

/* A thread. */
typedef struct {
  GstNdtMapLoader *loader;
  gint generation;
  gint64 told; /* monotonic time, µs, when progress was */
} Run;

NdtVoxelMap *
gst_ndt_map_read (
    const GstNdtMapRequest *request, const NdtMapWatch *watch, NdtMapTiles **tiles, GError **error)
{
  *tiles = NULL;
  /* Of a finished map what is looked at is in memory, wherever the vehicle is. */
  if (!(request->radius > 0) || ndt_map_image_is_image (request->path)) {
    NdtVoxelMap *map = ndt_map_load_watched (request->path, &request->params, watch, error);
    return map ? ndt_voxel_map_share (map) : NULL;
  }

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

static void
forward_log (NdtLogLevel level, const gchar *category, const gchar *message, gpointer user_data)
{
  GstNdtMapLoader *loader = user_data;
  g_mutex_lock (&loader->log_lock);
  if (loader->target)
    loader->target->func (level, category, message, loader->target->user_data);
  g_mutex_unlock (&loader->log_lock);
}

GstNdtMapLoader *
gst_ndt_map_loader_new (const GstNdtMapCallbacks *callbacks, const NdtLog *log, gpointer user_data)
{
  GstNdtMapLoader *loader = g_new0 (GstNdtMapLoader, 1);
  /* Now, and not by two threads at once. */
  (void)NDT_ERROR;
  loader->references = 1;
  g_mutex_init (&loader->lock);
  g_mutex_init (&loader->log_lock);
  g_cond_init (&loader->done);
  loader->callbacks = *callbacks;
  loader->user_data = user_data;
  loader->target = log;
  loader->log.func = forward_log;
  loader->log.user_data = loader;
  return loader;
}

static void
release (GstNdtMapLoader *loader)
{
  if (!g_atomic_int_dec_and_test (&loader->references))
    return;
  g_cond_clear (&loader->done);
  g_mutex_clear (&loader->log_lock);
  g_mutex_clear (&loader->lock);
  g_free (loader);
}

void
gst_ndt_map_loader_free (GstNdtMapLoader *loader)
{
  gst_ndt_map_loader_stop (loader);
  g_mutex_lock (&loader->log_lock);
  loader->target = NULL;
  g_mutex_unlock (&loader->log_lock);
  release (loader);
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

static gboolean
is_current (const Run *run)
{
  return g_atomic_int_get (&run->loader->generation) == run->generation;
}

/* With the lock held: leaves it for a callback, which stopping waits for. FALSE where nobody wants
 * one any more. */
static gboolean
begin_callback (const Run *run)
{
  if (!is_current (run))
    return FALSE;
  run->loader->in_callback = TRUE;
  g_mutex_unlock (&run->loader->lock);
  return TRUE;
}

static void
end_callback (const Run *run)
{
  g_mutex_lock (&run->loader->lock);
  run->loader->in_callback = FALSE;
  g_cond_broadcast (&run->loader->done);
}

static gboolean
step (gdouble fraction, gpointer user_data)
{
  Run *run = user_data;
  GstNdtMapLoader *loader = run->loader;
  const gint64 now = g_get_monotonic_time ();

  if (now - run->told < PROGRESS_INTERVAL)
    return is_current (run);
  run->told = now;
  g_mutex_lock (&loader->lock);
  const gboolean current = begin_callback (run);
  if (current) {
    loader->callbacks.progress (fraction, loader->user_data);
    end_callback (run);
  }
  g_mutex_unlock (&loader->lock);
  return current;
}

/* With the lock held, but not while it works. What was read, where it is to be made ready for
 * searches: (transfer full). */
static NdtVoxelMap *
read_map (Run *run)
{
  GstNdtMapLoader *loader = run->loader;
  GstNdtMapRequest request = {NULL};
  const NdtMapWatch watch = {step, run};
  NdtMapTiles *tiles;
  g_autoptr (GError) error = NULL;

  if (!begin_callback (run))
    return NULL;
  const gboolean wanted = loader->callbacks.wanted (&request, loader->user_data);
  end_callback (run);
  g_autofree gchar *path = request.path;
  if (!wanted)
    return NULL;

  g_mutex_unlock (&loader->lock);
  request.log = &loader->log;
  run->told = g_get_monotonic_time ();
  if (gst_ndt_map_loader_before_read)
    gst_ndt_map_loader_before_read ();
  NdtVoxelMap *map = gst_ndt_map_read (&request, &watch, &tiles, &error);
  g_mutex_lock (&loader->lock);

  if (begin_callback (run)) {
    NdtVoxelMap *searched = map && request.is_searched ? ndt_voxel_map_ref (map) : NULL;
    loader->callbacks.loaded (&request, map, tiles, error, loader->user_data);
    end_callback (run);
    return searched;
  }
  g_mutex_unlock (&loader->lock);
  g_clear_pointer (&map, ndt_voxel_map_unref);
  g_clear_pointer (&tiles, ndt_map_tiles_unref);
  g_mutex_lock (&loader->lock);
  return NULL;
}

static gpointer
read_maps (gpointer user_data)
{
  Run *run = user_data;
  GstNdtMapLoader *loader = run->loader;

  g_mutex_lock (&loader->lock);
  while (is_current (run) && (loader->move.tiles || loader->requested)) {
    if (loader->move.tiles) {
      run_move (loader);
      continue;
    }
    loader->requested = FALSE;
    loader->reading = TRUE;
    g_autoptr (NdtVoxelMap) searched = read_map (run);
    if (is_current (run))
      loader->reading = FALSE;
    g_cond_broadcast (&loader->done);
    if (searched) {
      g_mutex_unlock (&loader->lock);
      g_autoptr (NdtOverview) overview = ndt_overview_of_map (searched, NULL);
      g_mutex_lock (&loader->lock);
    }
  }
  if (is_current (run))
    loader->running = FALSE;
  g_mutex_unlock (&loader->lock);
  release (loader);
  g_free (run);
  return NULL;
}

/* With the lock held. */
static void
run_thread (GstNdtMapLoader *loader)
{
  ndt_log_set_level (
      &loader->log, (NdtLogLevel)__atomic_load_n (&loader->target->level, __ATOMIC_RELAXED));
  if (loader->running)
    return;
  Run *run = g_new0 (Run, 1);
  g_atomic_int_inc (&loader->references);
  run->loader = loader;
  run->generation = loader->generation;
  loader->running = TRUE;
  g_thread_unref (g_thread_new ("ndt-map", read_maps, run));
}

void
gst_ndt_map_loader_request (GstNdtMapLoader *loader)
{
  g_mutex_lock (&loader->lock);
  loader->requested = TRUE;
  run_thread (loader);
  g_mutex_unlock (&loader->lock);
}

gboolean
gst_ndt_map_loader_wait (GstNdtMapLoader *loader, gint64 until)
{
  g_mutex_lock (&loader->lock);
  while (loader->requested || loader->reading) {
    if (until < 0 ? loader->flushing : g_get_monotonic_time () >= until)
      break;
    if (until < 0)
      g_cond_wait (&loader->done, &loader->lock);
    else
      g_cond_wait_until (&loader->done, &loader->lock, until);
  }
  const gboolean idle = !loader->requested && !loader->reading;
  g_mutex_unlock (&loader->lock);
  return idle;
}

void
gst_ndt_map_loader_move (
    GstNdtMapLoader *loader, NdtMapTiles *tiles, const gdouble position[2], gdouble radius)
{
  g_mutex_lock (&loader->lock);
  forget_move (loader);
  loader->move.tiles = ndt_map_tiles_ref (tiles);
  memcpy (loader->move.position, position, sizeof loader->move.position);
  loader->move.radius = radius;
  loader->is_moving = TRUE;
  run_thread (loader);
  g_mutex_unlock (&loader->lock);
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
  g_atomic_int_inc (&loader->generation);
  loader->requested = loader->reading = loader->running = FALSE;
  forget_move (loader);
  while (loader->in_callback)
    g_cond_wait (&loader->done, &loader->lock);
  g_mutex_unlock (&loader->lock);
}
