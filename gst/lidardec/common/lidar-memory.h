/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Memory of scans, given out again when whoever had one is done with it: new pages cost more than
 * the points that are written to them. From any thread. */
typedef struct _LidarMemory LidarMemory;

LidarMemory *lidar_memory_new (void);
/* What was given out stays valid. */
void lidar_memory_free (LidarMemory *self);

/* At least @size bytes; lidar_memory_get_size() says how many. Not cleared. */
gpointer lidar_memory_take (LidarMemory *self, gsize size);
gsize lidar_memory_get_size (gconstpointer block);
/* Of a block that was taken, or NULL. */
void lidar_memory_give_back (gpointer block);

G_END_DECLS
