/* SPDX-License-Identifier: MIT */
#include "scene-points.h"

#include <math.h>
#include <string.h>

#include "ndtcore/map/ndt-residual.h"
#include "ndtcore/math/ndt-pose.h"

#define MAX_STEPS 20000

void
scene_points_clear (ScenePoints *points)
{
  g_clear_pointer (&points->xyz, g_free);
  g_clear_pointer (&points->intensity, g_free);
  g_clear_pointer (&points->ring, g_free);
  g_clear_pointer (&points->residual, g_free);
  points->n = 0;
}

void
scene_points_set_residual (ScenePoints *points, const NdtVoxelMap *map, const NdtPose *pose)
{
  const NdtVoxelLevel *level = ndt_voxel_map_get_level (map, 0);
  double r[9];

  ndt_pose_get_rotation (pose, r);
  g_free (points->residual);
  points->residual = g_new (guint8, points->n);
  for (guint i = 0; i < points->n; i++) {
    const float *x = &points->xyz[3 * i];
    double p[3];

    for (guint axis = 0; axis < 3; axis++)
      p[axis] = r[3 * axis] * (double)x[0] + r[3 * axis + 1] * (double)x[1] +
                r[3 * axis + 2] * (double)x[2] + pose->position[axis];
    const double residual = ndt_residual_of_point (level, p);
    points->residual[i] = (guint8)(fmin (residual / SCENE_MAX_RESIDUAL, 1) * 255);
  }
}

void
scene_way_init (SceneWay *way)
{
  way->steps = g_array_new (FALSE, FALSE, sizeof (SceneStep));
  scene_way_reset (way);
}

void
scene_way_clear (SceneWay *way)
{
  g_clear_pointer (&way->steps, g_array_unref);
}

void
scene_way_reset (SceneWay *way)
{
  g_array_set_size (way->steps, 0);
  way->stride = 1;
  way->n_seen = 0;
}

void
scene_way_add (SceneWay *way, const SceneScan *scan)
{
  GArray *steps = way->steps;
  SceneStep step = {.status = scan->status};

  memcpy (step.position, scan->pose.position, sizeof step.position);
  if (scan->has_pose && way->n_seen % way->stride == 0) {
    g_array_append_val (steps, step);
    if (steps->len > MAX_STEPS) {
      for (guint i = 0; i < steps->len / 2; i++)
        g_array_index (steps, SceneStep, i) = g_array_index (steps, SceneStep, 2 * i);
      g_array_set_size (steps, steps->len / 2);
      way->stride *= 2;
    }
  }
  way->n_seen++;
}
