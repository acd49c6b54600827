/* SPDX-License-Identifier: MIT */
/* Interface between ndt-frames.c and backends that compute frame trees on a device. Private. */
#pragma once

#include <glib.h>

#include "ndtcore/base/ndt-log.h"
#include "ndtcore/scan/ndt-cloud.h"

G_BEGIN_DECLS

typedef struct _NdtDeviceFrames NdtDeviceFrames;

/* Doubles of a pose: x, y, z, unused, quaternion x, y, z, w. */
#define NDT_FRAME_DOUBLES 8

/**
 * NdtDeviceFramesClass:
 *
 * A copy of a tree's frames on a device. The tree has its own copy: after an error it closes this
 * one and computes on the CPU. Arguments have been checked by the caller; all functions but
 * @map_local return after the device has finished.
 */
typedef struct {
  void (*close) (NdtDeviceFrames *frames);
  /* @n frames with their @parents (NDT_FRAME_NONE: none), and all of them by level: @order, where
   * level l ends before @level_ends[l]. All poses become undefined. */
  gboolean (*set_tree) (NdtDeviceFrames *frames, guint32 n, const guint32 *parents,
      const guint32 *order, const guint32 *level_ends, guint32 n_levels, GError **error);
  /* Memory into which the caller writes the poses in their parents, NDT_FRAME_DOUBLES each, of all
   * frames … */
  double *(*map_local) (NdtDeviceFrames *frames);
  /* … and the range that has changed. */
  gboolean (*set_local) (NdtDeviceFrames *frames, guint32 first, guint32 n, GError **error);
  /* Computes poses in the world, where a pose in a parent has changed. The functions below call it.
   */
  gboolean (*update) (NdtDeviceFrames *frames, GError **error);
  /* As ndt_frame_tree_get_world() and ndt_frame_tree_transform(). */
  gboolean (*get_world) (NdtDeviceFrames *frames, guint32 first, guint32 n, double *positions,
      double *orientations, GError **error);
  gboolean (*transform) (NdtDeviceFrames *frames, guint32 reference, const NdtCloudView *points,
      const guint32 *numbers, float *out, GError **error);
  /* Packed points that stay on the device; NDT_ERROR_NO_MEMORY where they do not fit. */
  gboolean (*attach) (NdtDeviceFrames *frames, const float *points, const guint32 *numbers,
      gsize n_points, GError **error);
  /* Transforms all attached points; the results remain on the device until they are fetched. */
  gboolean (*move) (NdtDeviceFrames *frames, guint32 reference, GError **error);
  gboolean (*get_moved) (
      NdtDeviceFrames *frames, gsize first, gsize n_points, float *out, GError **error);
} NdtDeviceFramesClass;

/* First member of a backend's own structure. @log: of the backend, nullable. */
struct _NdtDeviceFrames {
  const NdtDeviceFramesClass *klass;
  const NdtLog *log;
};

static inline void
ndt_device_frames_close (NdtDeviceFrames *frames)
{
  frames->klass->close (frames);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtDeviceFrames, ndt_device_frames_close)

G_END_DECLS
