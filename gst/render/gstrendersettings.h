/* SPDX-License-Identifier: MIT */
/* Properties of pointcloudrender. */
#pragma once

#include <gst/pointcloud/pointcloud.h>

#include "ndtcore/math/ndt-types.h"
#include "render-scene.h"

G_BEGIN_DECLS

typedef struct {
  RenderOptions options;
  GstPoseRole role;
  GstPointCloudPose *sensor_pose; /* of the sensor on the body, NULL: the same */
  gchar *map_location;
  guint max_map_points;
} GstRenderSettings;

void gst_render_settings_init (GstRenderSettings *settings);
void gst_render_settings_clear (GstRenderSettings *settings);
/* The properties have the numbers 1 to the returned one. */
guint gst_render_settings_install (GObjectClass *klass);
/* FALSE: there is no such property. */
gboolean gst_render_settings_set (GstRenderSettings *settings, guint id, const GValue *value);
gboolean gst_render_settings_get (const GstRenderSettings *settings, guint id, GValue *value);
NdtPose gst_render_settings_get_mount (const GstRenderSettings *settings);

G_END_DECLS
