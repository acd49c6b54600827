/* SPDX-License-Identifier: MIT */
#include "gstndtpool.h"

#include <string.h>

#include "gst/pointcloud/pointcloud.h"

/* Buffers that a pool begins with and has at most. */
#define MIN_BUFFERS 2
#define MAX_BUFFERS 16

typedef struct {
  GstMemory parent;
  guint8 *data;
  void (*free_data) (gpointer data, gsize size);
} Memory;

struct _GstNdtAllocator {
  GstAllocator parent;
  GMutex lock; /* of the engine */
  GstNdtEngine *engine;
  gsize n_pinned;
  gsize n_plain;
};

G_DEFINE_TYPE (GstNdtAllocator, gst_ndt_allocator, GST_TYPE_ALLOCATOR)

static GstMemory *
gst_ndt_allocator_alloc (GstAllocator *allocator, gsize size, GstAllocationParams *params)
{
  GstNdtAllocator *self = GST_NDT_ALLOCATOR (allocator);
  const gsize maxsize = params->prefix + size + params->padding;
  void (*free_data) (gpointer, gsize) = NULL;
  gpointer data = NULL;

  /* Page-locked memory begins with a page: no alignment that is asked for is larger. */
  g_mutex_lock (&self->lock);
  if (self->engine && maxsize > 0 && params->align < 4096)
    data = gst_ndt_engine_alloc_host (self->engine, maxsize, &free_data);
  g_mutex_unlock (&self->lock);
  if (!data) {
    g_atomic_pointer_add (&self->n_plain, 1);
    return gst_allocator_alloc (NULL, size, params);
  }

  g_atomic_pointer_add (&self->n_pinned, 1);
  Memory *memory = g_new0 (Memory, 1);
  gst_memory_init (GST_MEMORY_CAST (memory), params->flags, allocator, NULL, maxsize, params->align,
      params->prefix, size);
  memory->data = data;
  memory->free_data = free_data;
  if (params->flags & GST_MEMORY_FLAG_ZERO_PREFIXED)
    memset (memory->data, 0, params->prefix);
  if (params->flags & GST_MEMORY_FLAG_ZERO_PADDED)
    memset (memory->data + params->prefix + size, 0, params->padding);
  return GST_MEMORY_CAST (memory);
}

static void
gst_ndt_allocator_free (GstAllocator *allocator, GstMemory *memory)
{
  Memory *self = (Memory *)memory;
  if (self->free_data)
    self->free_data (self->data, memory->maxsize);
  g_free (self);
}

static gpointer
map_memory (GstMemory *memory, gsize maxsize, GstMapFlags flags)
{
  return ((Memory *)memory)->data;
}

static void
unmap_memory (GstMemory *memory)
{
}

static GstMemory *
share_memory (GstMemory *memory, gssize offset, gssize size)
{
  GstMemory *parent = memory->parent ? memory->parent : memory;
  Memory *shared = g_new0 (Memory, 1);

  if (size == -1)
    size = (gssize)memory->size - offset;
  gst_memory_init (GST_MEMORY_CAST (shared),
      GST_MINI_OBJECT_FLAGS (parent) | GST_MINI_OBJECT_FLAG_LOCK_READONLY, memory->allocator,
      parent, memory->maxsize, memory->align, memory->offset + (gsize)offset, (gsize)size);
  shared->data = ((Memory *)memory)->data;
  return GST_MEMORY_CAST (shared);
}

static void
gst_ndt_allocator_finalize (GObject *object)
{
  g_mutex_clear (&GST_NDT_ALLOCATOR (object)->lock);
  G_OBJECT_CLASS (gst_ndt_allocator_parent_class)->finalize (object);
}

static void
gst_ndt_allocator_class_init (GstNdtAllocatorClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gst_ndt_allocator_finalize;
  GST_ALLOCATOR_CLASS (klass)->alloc = gst_ndt_allocator_alloc;
  GST_ALLOCATOR_CLASS (klass)->free = gst_ndt_allocator_free;
}

static void
gst_ndt_allocator_init (GstNdtAllocator *self)
{
  GstAllocator *allocator = GST_ALLOCATOR_CAST (self);

  g_mutex_init (&self->lock);
  allocator->mem_type = GST_NDT_MEMORY_TYPE;
  allocator->mem_map = map_memory;
  allocator->mem_unmap = unmap_memory;
  allocator->mem_share = share_memory;
}

GstNdtAllocator *
gst_ndt_allocator_new (GstNdtEngine *engine)
{
  GstNdtAllocator *allocator = g_object_new (GST_TYPE_NDT_ALLOCATOR, NULL);
  allocator->engine = engine;
  return gst_object_ref_sink (allocator);
}

void
gst_ndt_allocator_detach (GstNdtAllocator *allocator)
{
  g_mutex_lock (&allocator->lock);
  allocator->engine = NULL;
  g_mutex_unlock (&allocator->lock);
}

void
gst_ndt_allocator_get_counts (GstNdtAllocator *allocator, guint64 *n_pinned, guint64 *n_plain)
{
  *n_pinned = (gsize)g_atomic_pointer_get (&allocator->n_pinned);
  *n_plain = (gsize)g_atomic_pointer_get (&allocator->n_plain);
}

struct _GstNdtPool {
  GstBufferPool parent;
  GstNdtAllocator *allocator;
  guint size;
};

G_DEFINE_TYPE (GstNdtPool, gst_ndt_pool, GST_TYPE_BUFFER_POOL)

/* Marks buffers that are not the pool's to keep. */
static GQuark
extra_quark (void)
{
  return g_quark_from_static_string ("gst-ndt-extra-buffer");
}

static gboolean
gst_ndt_pool_set_config (GstBufferPool *pool, GstStructure *config)
{
  GstNdtPool *self = GST_NDT_POOL (pool);
  GstCaps *caps;
  guint size, min, max;

  if (!gst_buffer_pool_config_get_params (config, &caps, &size, &min, &max))
    return FALSE;
  self->size = size;
  if (max == 0 || max > MAX_BUFFERS)
    max = MAX_BUFFERS;
  gst_buffer_pool_config_set_params (config, caps, size, MIN (min, max), max);
  gst_buffer_pool_config_set_allocator (config, GST_ALLOCATOR_CAST (self->allocator), NULL);
  return GST_BUFFER_POOL_CLASS (gst_ndt_pool_parent_class)->set_config (pool, config);
}

static GstFlowReturn
gst_ndt_pool_acquire_buffer (
    GstBufferPool *pool, GstBuffer **buffer, GstBufferPoolAcquireParams *params)
{
  GstNdtPool *self = GST_NDT_POOL (pool);
  GstBufferPoolAcquireParams now = {0};

  if (params)
    now = *params;
  now.flags |= GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT;
  GstFlowReturn flow =
      GST_BUFFER_POOL_CLASS (gst_ndt_pool_parent_class)->acquire_buffer (pool, buffer, &now);
  if (flow != GST_FLOW_EOS)
    return flow;

  *buffer = gst_buffer_new_allocate (NULL, self->size, NULL);
  if (!*buffer)
    return GST_FLOW_ERROR;
  gst_mini_object_set_qdata (
      GST_MINI_OBJECT_CAST (*buffer), extra_quark (), GINT_TO_POINTER (TRUE), NULL);
  g_atomic_pointer_add (&self->allocator->n_plain, 1);
  return GST_FLOW_OK;
}

static void
gst_ndt_pool_release_buffer (GstBufferPool *pool, GstBuffer *buffer)
{
  if (gst_mini_object_get_qdata (GST_MINI_OBJECT_CAST (buffer), extra_quark ()))
    gst_buffer_unref (buffer);
  else
    GST_BUFFER_POOL_CLASS (gst_ndt_pool_parent_class)->release_buffer (pool, buffer);
}

static void
gst_ndt_pool_finalize (GObject *object)
{
  /* Frees the buffers, for which the allocator is needed. */
  GstNdtAllocator *allocator = GST_NDT_POOL (object)->allocator;
  G_OBJECT_CLASS (gst_ndt_pool_parent_class)->finalize (object);
  gst_object_unref (allocator);
}

static void
gst_ndt_pool_class_init (GstNdtPoolClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gst_ndt_pool_finalize;
  GST_BUFFER_POOL_CLASS (klass)->set_config = gst_ndt_pool_set_config;
  GST_BUFFER_POOL_CLASS (klass)->acquire_buffer = gst_ndt_pool_acquire_buffer;
  GST_BUFFER_POOL_CLASS (klass)->release_buffer = gst_ndt_pool_release_buffer;
}

static void
gst_ndt_pool_init (GstNdtPool *self)
{
}

/* The size of a scan where caps say it; otherwise upstream knows better. */
static guint
scan_size (const GstCaps *caps)
{
  GstPointCloudInfo info;
  if (!gst_point_cloud_info_from_caps (&info, caps, NULL))
    return 1;
  return info.point_step * MAX (info.width * info.height, 1);
}

void
gst_ndt_pool_propose (GstNdtAllocator *allocator, GstQuery *query)
{
  GstAllocator *memory = GST_ALLOCATOR_CAST (allocator);
  g_autoptr (GstAllocator) other = NULL;
  GstAllocationParams params, other_params;
  GstCaps *caps;
  gboolean need_pool;

  gst_allocation_params_init (&params);
  if (gst_query_get_n_allocation_params (query) > 0) {
    gst_query_parse_nth_allocation_param (query, 0, &other, &other_params);
    gst_query_set_nth_allocation_param (query, 0, memory, &params);
    gst_query_add_allocation_param (query, other, &other_params);
  } else {
    gst_query_add_allocation_param (query, memory, &params);
  }

  gst_query_parse_allocation (query, &caps, &need_pool);
  if (!caps || !need_pool)
    return;
  g_autoptr (GstBufferPool) other_pool = NULL;
  GstNdtPool *pool = gst_object_ref_sink (g_object_new (GST_TYPE_NDT_POOL, NULL));
  pool->allocator = gst_object_ref (allocator);
  const guint size = scan_size (caps);
  GstStructure *config = gst_buffer_pool_get_config (GST_BUFFER_POOL_CAST (pool));
  gst_buffer_pool_config_set_params (config, caps, size, MIN_BUFFERS, MAX_BUFFERS);
  gst_buffer_pool_set_config (GST_BUFFER_POOL_CAST (pool), config);

  if (gst_query_get_n_allocation_pools (query) > 0) {
    guint other_size, other_min, other_max;
    gst_query_parse_nth_allocation_pool (
        query, 0, &other_pool, &other_size, &other_min, &other_max);
    gst_query_set_nth_allocation_pool (
        query, 0, GST_BUFFER_POOL_CAST (pool), MAX (size, other_size), MIN_BUFFERS, MAX_BUFFERS);
    gst_query_add_allocation_pool (query, other_pool, other_size, other_min, other_max);
  } else {
    gst_query_add_allocation_pool (
        query, GST_BUFFER_POOL_CAST (pool), size, MIN_BUFFERS, MAX_BUFFERS);
  }
  gst_object_unref (pool);
}
