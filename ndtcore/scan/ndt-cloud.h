/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

#include "ndtcore/math/ndt-pose.h"

G_BEGIN_DECLS

typedef enum { NDT_SCALAR_F32, NDT_SCALAR_F64 } NdtScalar;

/**
 * NdtCloudView:
 * @x: first point's x; likewise @y and @z (any alignment)
 * @stride: bytes from one point to the next, the same for the three axes
 * @n_points: number of points
 * @scalar: type of all three coordinates, in the machine's byte order
 *
 * Points in memory of another owner: interleaved (x, y, z inside one record of
 * @stride bytes) or one array an axis. Metres. A view owns nothing. Non-finite points are allowed;
 *   every function that reads a view leaves them out.
 */
typedef struct {
  const guint8 *x;
  const guint8 *y;
  const guint8 *z;
  gsize stride;
  gsize n_points;
  NdtScalar scalar;
} NdtCloudView;

/* An interleaved view; offsets in bytes from a point's start. */
static inline NdtCloudView
ndt_cloud_view (gconstpointer data, gsize n_points, gsize stride, gsize x_offset, gsize y_offset,
    gsize z_offset, NdtScalar scalar)
{
  const guint8 *p = (const guint8 *)data;
  NdtCloudView view = {p + x_offset, p + y_offset, p + z_offset, stride, n_points, scalar};
  return view;
}

/* Packed float x, y, z. */
static inline NdtCloudView
ndt_cloud_view_xyz_f32 (const float *xyz, gsize n_points)
{
  return ndt_cloud_view (xyz, n_points, 12, 0, 4, 8, NDT_SCALAR_F32);
}

/* Packed double x, y, z. */
static inline NdtCloudView
ndt_cloud_view_xyz_f64 (const double *xyz, gsize n_points)
{
  return ndt_cloud_view (xyz, n_points, 24, 0, 8, 16, NDT_SCALAR_F64);
}

/* The @n points from @first on; first + n is at most n_points. */
static inline NdtCloudView
ndt_cloud_view_part (const NdtCloudView *view, gsize first, gsize n)
{
  NdtCloudView part = *view;
  part.x += first * view->stride;
  part.y += first * view->stride;
  part.z += first * view->stride;
  part.n_points = n;
  return part;
}

/* Reads point i as doubles, whatever the layout. i < n_points is not checked. */
static inline void
ndt_cloud_view_get (const NdtCloudView *view, gsize i, double p[3])
{
  const gsize at = i * view->stride;
  if (view->scalar == NDT_SCALAR_F32) {
    float f[3];
    __builtin_memcpy (&f[0], view->x + at, sizeof (float));
    __builtin_memcpy (&f[1], view->y + at, sizeof (float));
    __builtin_memcpy (&f[2], view->z + at, sizeof (float));
    p[0] = (double)f[0];
    p[1] = (double)f[1];
    p[2] = (double)f[2];
  } else {
    __builtin_memcpy (&p[0], view->x + at, sizeof (double));
    __builtin_memcpy (&p[1], view->y + at, sizeof (double));
    __builtin_memcpy (&p[2], view->z + at, sizeof (double));
  }
}

G_END_DECLS
