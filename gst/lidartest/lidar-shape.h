/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

#include "lidar-math.h"

G_BEGIN_DECLS

typedef enum {
  LIDAR_SHAPE_BOX,       /* upright, turned by a yaw */
  LIDAR_SHAPE_FRUSTUM,   /* upright cylinder or cone with flat ends */
  LIDAR_SHAPE_ELLIPSOID, /* round seen from above */
  LIDAR_SHAPE_TRIANGLE,  /* seen from both sides, encloses nothing */
} LidarShapeKind;

/**
 * LidarShape:
 * @kind: which member of the union holds
 * @reflectivity: of the surface, 0 to 1
 *
 * A surface of a world; metres.
 */
typedef struct {
  LidarShapeKind kind;
  float reflectivity;
  union {
    struct {
      double centre[3];
      double half[3];
      double cos_yaw, sin_yaw;
    } box;
    struct {
      double x, y, z0, z1;
      double r0, r1; /* radius at z0 and z1, at least one above 0 */
    } frustum;
    struct {
      double centre[3];
      double radius, height; /* semi-axes in x, y and in z */
    } ellipsoid;
    struct {
      double p[3], u[3], v[3]; /* corners p, p + u, p + v */
    } triangle;
  };
} LidarShape;

typedef struct {
  double origin[3];
  double direction[3]; /* unit length */
} LidarRay;

void lidar_shape_bounds (const LidarShape *shape, double min[3], double max[3]);
/* Moves and turns the shape: its old frame lies at @x, @y with @yaw (rad) in the new one. */
void lidar_shape_move (LidarShape *shape, double x, double y, double yaw);
/* Distance along the ray to the nearest crossing of the surface that lies beyond @near;
 * INFINITY where there is none. */
double lidar_shape_intersect (const LidarShape *shape, const LidarRay *ray, double near);
/* Outward unit normal at a point on the surface (of a triangle: one of the two). */
void lidar_shape_normal (const LidarShape *shape, const double point[3], double normal[3]);
/* Does the shape, grown by @margin metres (negative: shrunk) on all sides, hold the point? */
gboolean lidar_shape_contains (const LidarShape *shape, const double point[3], double margin);

typedef void (*LidarSampleFunc) (const double point[3], const double normal[3], gpointer user_data);
/* Calls @func for points all over the surface, one in each cell of about spacing × spacing
 * metres. */
void lidar_shape_sample (const LidarShape *shape, double spacing, LidarRandom *random,
    LidarSampleFunc func, gpointer user_data);

G_END_DECLS
