/* SPDX-License-Identifier: MIT */
#include "gstpointcloudallocation.h"

struct _GstPointCloudAllocation {
  GstPad *srcpad;
  GstCaps *caps;       /* that downstream was asked about; NULL: it was not */
  GstBufferPool *pool; /* NULL: it proposes none */
  gsize size;          /* of the pool's buffers */
};

/**
 * gst_point_cloud_allocation_new
 * @srcpad: that clouds leave by; has to outlive the allocation
 *
 * Returns: (transfer full): a new #GstPointCloudAllocation
 */
GstPointCloudAllocation *
gst_point_cloud_allocation_new (GstPad *srcpad)
{
  GstPointCloudAllocation *allocation = g_new0 (GstPointCloudAllocation, 1);
  allocation->srcpad = srcpad;
  return allocation;
}

/**
 * gst_point_cloud_allocation_reset
 * @allocation: a #GstPointCloudAllocation
 *
 * Lets the pool go, for when the element stops. Downstream is asked again for the next cloud.
 */
void
gst_point_cloud_allocation_reset (GstPointCloudAllocation *allocation)
{
  if (allocation->pool)
    gst_buffer_pool_set_active (allocation->pool, FALSE);
  gst_clear_object (&allocation->pool);
  gst_clear_caps (&allocation->caps);
}

/**
 * gst_point_cloud_allocation_free
 * @allocation: (transfer full): a #GstPointCloudAllocation
 */
void
gst_point_cloud_allocation_free (GstPointCloudAllocation *allocation)
{
  gst_point_cloud_allocation_reset (allocation);
  g_free (allocation);
}

/* A pool of buffers of @size; some more, so that clouds may grow without another. */
static gboolean
start_pool (GstPointCloudAllocation *allocation, GstCaps *caps, gsize size)
{
  g_autoptr (GstQuery) query = gst_query_new_allocation (caps, TRUE);
  guint proposed = 0, min = 0, max = 0;

  if (!gst_pad_peer_query (allocation->srcpad, query) ||
      gst_query_get_n_allocation_pools (query) == 0)
    return FALSE;
  gst_query_parse_nth_allocation_pool (query, 0, &allocation->pool, &proposed, &min, &max);
  allocation->size = MAX (proposed, size + size / 4);
  if (!allocation->pool || allocation->size > G_MAXUINT)
    return FALSE;
  GstStructure *config = gst_buffer_pool_get_config (allocation->pool);
  gst_buffer_pool_config_set_params (config, caps, (guint)allocation->size, min, max);
  return gst_buffer_pool_set_config (allocation->pool, config) &&
         gst_buffer_pool_set_active (allocation->pool, TRUE);
}

static void
negotiate (GstPointCloudAllocation *allocation, gsize size)
{
  GstCaps *caps = gst_pad_get_current_caps (allocation->srcpad);
  const gboolean again = gst_pad_check_reconfigure (allocation->srcpad);

  if (caps &&
      (again || caps != allocation->caps || (allocation->pool && size > allocation->size))) {
    gst_point_cloud_allocation_reset (allocation);
    if (!start_pool (allocation, caps, size))
      gst_clear_object (&allocation->pool);
    allocation->caps = gst_caps_ref (caps);
  }
  gst_clear_caps (&caps);
}

/* NULL: there is no pool, or it has none left. */
static GstBuffer *
acquire (GstPointCloudAllocation *allocation, gsize size)
{
  GstBufferPoolAcquireParams params = {.flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT};
  GstBuffer *buffer = NULL;

  negotiate (allocation, size);
  if (allocation->pool && size > 0)
    gst_buffer_pool_acquire_buffer (allocation->pool, &buffer, &params);
  return buffer;
}

static gboolean
fill (GstBuffer *buffer, gconstpointer data, gsize size)
{
  if (gst_buffer_fill (buffer, 0, data, size) != size)
    return FALSE;
  gst_buffer_set_size (buffer, (gssize)size);
  return TRUE;
}

/**
 * gst_point_cloud_allocation_copy
 * @allocation: a #GstPointCloudAllocation
 * @data: points
 * @size: bytes
 *
 * Caps have to have been pushed. Never waits for a buffer that somebody holds.
 *
 * Returns: (transfer full) (nullable): the points in a buffer of downstream's pool; %NULL where it
 *   proposes no pool, or all of its buffers are held
 */
GstBuffer *
gst_point_cloud_allocation_copy (
    GstPointCloudAllocation *allocation, gconstpointer data, gsize size)
{
  GstBuffer *buffer = acquire (allocation, size);
  if (buffer && !fill (buffer, data, size))
    gst_clear_buffer (&buffer);
  return buffer;
}

/**
 * gst_point_cloud_allocation_take
 * @allocation: a #GstPointCloudAllocation
 * @data: (transfer full): points, freed with g_free()
 * @size: bytes
 *
 * As gst_point_cloud_allocation_copy(), but always gives a buffer.
 *
 * Returns: (transfer full): the points in a buffer of downstream's pool, or else @data itself in
 *   one
 */
GstBuffer *
gst_point_cloud_allocation_take (GstPointCloudAllocation *allocation, gpointer data, gsize size)
{
  GstBuffer *buffer = gst_point_cloud_allocation_copy (allocation, data, size);
  if (!buffer)
    return gst_buffer_new_wrapped_full (0, data, MAX (size, 1), 0, size, data, g_free);
  g_free (data);
  return buffer;
}
