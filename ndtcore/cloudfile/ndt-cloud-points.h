/* SPDX-License-Identifier: MIT */
/* Result of the readers of point files. Private to ndtcore/cloudfile. */
#pragma once

#include "ndtcore/scan/ndt-cloud.h"

G_BEGIN_DECLS

/**
 * NdtCloudPoints:
 * @view: the coordinates, in the file's bytes or in @owned
 * @owned: (nullable): g_free()
 * @intensities: (nullable): one a point, as the file has them; g_free()
 */
typedef struct {
  NdtCloudView view;
  gpointer owned;
  float *intensities;
} NdtCloudPoints;

static inline void
ndt_cloud_points_clear (NdtCloudPoints *points)
{
  g_clear_pointer (&points->owned, g_free);
  g_clear_pointer (&points->intensities, g_free);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (NdtCloudPoints, ndt_cloud_points_clear)

G_END_DECLS
