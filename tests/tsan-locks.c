/* SPDX-License-Identifier: MIT */
/* GLib's locks as pthread's, for ThreadSanitizer: GLib locks by futex inside a library that is not
 * instrumented, so that what they order looks like races. Linked into a test program, these come
 * before the library's for the program and for GStreamer. Memory is given back by clear only; that
 * no other thread is still there is known by counts of references, which are the library's and not
 * seen, so that clear is told that it comes after what was done with the lock. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <sanitizer/tsan_interface.h>
#include <stdlib.h>
#include <time.h>

static void *
made_once (gpointer *place, void *(*make) (void), void (*destroy) (void *))
{
  void *made = __atomic_load_n (place, __ATOMIC_ACQUIRE);
  if (made)
    return made;
  void *mine = make ();
  if (__atomic_compare_exchange_n (place, &made, mine, FALSE, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return mine;
  destroy (mine);
  return made;
}

static void *
make_mutex (void)
{
  pthread_mutex_t *mutex = malloc (sizeof *mutex);
  pthread_mutex_init (mutex, NULL);
  return mutex;
}

static void *
make_recursive_mutex (void)
{
  pthread_mutex_t *mutex = malloc (sizeof *mutex);
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init (&attributes);
  pthread_mutexattr_settype (&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init (mutex, &attributes);
  pthread_mutexattr_destroy (&attributes);
  return mutex;
}

static void
destroy_mutex (void *mutex)
{
  __tsan_acquire (mutex); /* after each unlock */
  pthread_mutex_destroy (mutex);
  free (mutex);
}

static void *
make_cond (void)
{
  pthread_cond_t *cond = malloc (sizeof *cond);
  pthread_condattr_t attributes;
  pthread_condattr_init (&attributes);
  pthread_condattr_setclock (&attributes, CLOCK_MONOTONIC);
  pthread_cond_init (cond, &attributes);
  pthread_condattr_destroy (&attributes);
  return cond;
}

static void
destroy_cond (void *cond)
{
  __tsan_acquire (cond);
  pthread_cond_destroy (cond);
  free (cond);
}

/* A wait, signal or broadcast is not ordered by the condition itself. */
static pthread_cond_t *
used (void *cond)
{
  __tsan_release (cond);
  return cond;
}

static void *
make_rwlock (void)
{
  pthread_rwlock_t *lock = malloc (sizeof *lock);
  pthread_rwlock_init (lock, NULL);
  return lock;
}

static void
destroy_rwlock (void *lock)
{
  __tsan_acquire (lock);
  pthread_rwlock_destroy (lock);
  free (lock);
}

#define MUTEX(m) ((pthread_mutex_t *)made_once (&(m)->p, make_mutex, destroy_mutex))
#define REC_MUTEX(m) ((pthread_mutex_t *)made_once (&(m)->p, make_recursive_mutex, destroy_mutex))
#define COND(c) used (made_once (&(c)->p, make_cond, destroy_cond))
#define RWLOCK(l) ((pthread_rwlock_t *)made_once (&(l)->p, make_rwlock, destroy_rwlock))

void
g_mutex_init (GMutex *mutex)
{
  mutex->p = NULL;
}

void
g_mutex_clear (GMutex *mutex)
{
  if (mutex->p)
    destroy_mutex (mutex->p);
  mutex->p = NULL;
}

void (g_mutex_lock) (GMutex *mutex)
{
  pthread_mutex_lock (MUTEX (mutex));
}

void (g_mutex_unlock) (GMutex *mutex)
{
  pthread_mutex_unlock (MUTEX (mutex));
}

gboolean (g_mutex_trylock) (GMutex *mutex)
{
  return pthread_mutex_trylock (MUTEX (mutex)) == 0;
}

void
g_rec_mutex_init (GRecMutex *mutex)
{
  mutex->p = NULL;
}

void
g_rec_mutex_clear (GRecMutex *mutex)
{
  if (mutex->p)
    destroy_mutex (mutex->p);
  mutex->p = NULL;
}

void
g_rec_mutex_lock (GRecMutex *mutex)
{
  pthread_mutex_lock (REC_MUTEX (mutex));
}

void
g_rec_mutex_unlock (GRecMutex *mutex)
{
  pthread_mutex_unlock (REC_MUTEX (mutex));
}

gboolean
g_rec_mutex_trylock (GRecMutex *mutex)
{
  return pthread_mutex_trylock (REC_MUTEX (mutex)) == 0;
}

void
g_cond_init (GCond *cond)
{
  cond->p = NULL;
}

void
g_cond_clear (GCond *cond)
{
  if (cond->p)
    destroy_cond (cond->p);
  cond->p = NULL;
}

void
g_cond_wait (GCond *cond, GMutex *mutex)
{
  pthread_cond_wait (COND (cond), MUTEX (mutex));
}

void
g_cond_signal (GCond *cond)
{
  pthread_cond_signal (COND (cond));
}

void
g_cond_broadcast (GCond *cond)
{
  pthread_cond_broadcast (COND (cond));
}

gboolean
g_cond_wait_until (GCond *cond, GMutex *mutex, gint64 end)
{
  const struct timespec until = {end / 1000000, end % 1000000 * 1000};
  return pthread_cond_timedwait (COND (cond), MUTEX (mutex), &until) != ETIMEDOUT;
}

void
g_rw_lock_init (GRWLock *lock)
{
  lock->p = NULL;
}

void
g_rw_lock_clear (GRWLock *lock)
{
  if (lock->p)
    destroy_rwlock (lock->p);
  lock->p = NULL;
}

void
g_rw_lock_reader_lock (GRWLock *lock)
{
  pthread_rwlock_rdlock (RWLOCK (lock));
}

void
g_rw_lock_reader_unlock (GRWLock *lock)
{
  pthread_rwlock_unlock (RWLOCK (lock));
}

void
g_rw_lock_writer_lock (GRWLock *lock)
{
  pthread_rwlock_wrlock (RWLOCK (lock));
}

void
g_rw_lock_writer_unlock (GRWLock *lock)
{
  pthread_rwlock_unlock (RWLOCK (lock));
}

/* GstHarness hands buffers over in these. */
struct _GAsyncQueue {
  pthread_mutex_t lock;
  pthread_cond_t filled;
  GQueue items;
  GDestroyNotify free_item;
  gint refs;
};

GAsyncQueue *
g_async_queue_new_full (GDestroyNotify free_item)
{
  GAsyncQueue *queue = g_new0 (GAsyncQueue, 1);
  pthread_condattr_t attributes;
  pthread_condattr_init (&attributes);
  pthread_condattr_setclock (&attributes, CLOCK_MONOTONIC);
  pthread_cond_init (&queue->filled, &attributes);
  pthread_condattr_destroy (&attributes);
  pthread_mutex_init (&queue->lock, NULL);
  g_queue_init (&queue->items);
  queue->free_item = free_item;
  queue->refs = 1;
  return queue;
}

GAsyncQueue *
g_async_queue_new (void)
{
  return g_async_queue_new_full (NULL);
}

GAsyncQueue *
g_async_queue_ref (GAsyncQueue *queue)
{
  g_atomic_int_inc (&queue->refs);
  return queue;
}

void
g_async_queue_unref (GAsyncQueue *queue)
{
  if (!g_atomic_int_dec_and_test (&queue->refs))
    return;
  if (queue->free_item)
    g_queue_foreach (&queue->items, (GFunc)(void (*) (void))queue->free_item, NULL);
  g_queue_clear (&queue->items);
  pthread_cond_destroy (&queue->filled);
  pthread_mutex_destroy (&queue->lock);
  g_free (queue);
}

void
g_async_queue_push (GAsyncQueue *queue, gpointer item)
{
  pthread_mutex_lock (&queue->lock);
  g_queue_push_head (&queue->items, item);
  pthread_cond_signal (&queue->filled);
  pthread_mutex_unlock (&queue->lock);
}

gpointer
g_async_queue_timeout_pop (GAsyncQueue *queue, guint64 timeout)
{
  const gint64 end = g_get_monotonic_time () + (gint64)timeout;
  const struct timespec until = {end / 1000000, end % 1000000 * 1000};
  int status = 0;

  pthread_mutex_lock (&queue->lock);
  while (g_queue_is_empty (&queue->items) && status != ETIMEDOUT)
    status = pthread_cond_timedwait (&queue->filled, &queue->lock, &until);
  gpointer item = g_queue_pop_tail (&queue->items);
  pthread_mutex_unlock (&queue->lock);
  return item;
}

gpointer
g_async_queue_try_pop (GAsyncQueue *queue)
{
  pthread_mutex_lock (&queue->lock);
  gpointer item = g_queue_pop_tail (&queue->items);
  pthread_mutex_unlock (&queue->lock);
  return item;
}

gint
g_async_queue_length (GAsyncQueue *queue)
{
  pthread_mutex_lock (&queue->lock);
  const gint length = (gint)queue->items.length;
  pthread_mutex_unlock (&queue->lock);
  return length;
}

/* GLib's pools of threads hand tasks over, and are waited for, by locks of their own. */
typedef struct {
  GFunc func;
  gpointer user_data;
} Pool;

static void
run_task (gpointer task, gpointer user_data)
{
  Pool *pool = user_data;
  __tsan_acquire (pool);
  pool->func (task, pool->user_data);
  __tsan_release (pool);
}

GThreadPool *
g_thread_pool_new (
    GFunc func, gpointer user_data, gint max_threads, gboolean exclusive, GError **error)
{
  /* Stays: a pool may be let go while its tasks run. */
  Pool *pool = g_new0 (Pool, 1);
  pool->func = func;
  pool->user_data = user_data;
  return g_thread_pool_new_full (run_task, pool, NULL, max_threads, exclusive, error);
}

gboolean
g_thread_pool_push (GThreadPool *pool, gpointer task, GError **error)
{
  static gboolean (*push) (GThreadPool *, gpointer, GError **);
  if (!push)
    *(void **)&push = dlsym (RTLD_NEXT, "g_thread_pool_push");
  __tsan_release (pool->user_data);
  return push (pool, task, error);
}

void
g_thread_pool_free (GThreadPool *pool, gboolean immediate, gboolean wait)
{
  static void (*release) (GThreadPool *, gboolean, gboolean);
  gpointer user_data = pool->user_data;
  if (!release)
    *(void **)&release = dlsym (RTLD_NEXT, "g_thread_pool_free");
  release (pool, immediate, wait);
  if (wait)
    __tsan_acquire (user_data);
}
