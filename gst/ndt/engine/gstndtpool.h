/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/gst.h>

#include "gstndtengine.h"

G_BEGIN_DECLS

#define GST_NDT_MEMORY_TYPE "NdtPinned"

/**
 * GstNdtAllocator:
 *
 * Memory that the engine's device uploads fast (page-locked), plain memory where it has none
 * to give. It may outlive the engine, and its memory both.
 */
#define GST_TYPE_NDT_ALLOCATOR (gst_ndt_allocator_get_type ())
G_DECLARE_FINAL_TYPE (GstNdtAllocator, gst_ndt_allocator, GST, NDT_ALLOCATOR, GstAllocator)

GstNdtAllocator *gst_ndt_allocator_new (GstNdtEngine *engine);
/* Before the engine is closed: gives plain memory from then on. */
void gst_ndt_allocator_detach (GstNdtAllocator *allocator);
/* Memories that were page-locked, and buffers that had to be plain. */
void gst_ndt_allocator_get_counts (GstNdtAllocator *allocator, guint64 *n_pinned, guint64 *n_plain);

/**
 * GstNdtPool:
 *
 * A pool of such memory. Acquiring never waits: recorders downstream hold buffers for long, and
 * when all are out the buffer is plain, and counted.
 */
#define GST_TYPE_NDT_POOL (gst_ndt_pool_get_type ())
G_DECLARE_FINAL_TYPE (GstNdtPool, gst_ndt_pool, GST, NDT_POOL, GstBufferPool)

/* Puts allocator and pool before what downstream has proposed. */
void gst_ndt_pool_propose (GstNdtAllocator *allocator, GstQuery *query);

G_END_DECLS
