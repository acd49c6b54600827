/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

#include "ndt-sim-math.h"

G_BEGIN_DECLS

typedef enum {
  NDT_SIM_SHAPE_BOX,       /* upright, turned by a yaw */
  NDT_SIM_SHAPE_FRUSTUM,   /* upright cylinder or cone with flat ends */
  NDT_SIM_SHAPE_ELLIPSOID, /* round seen from above */
  NDT_SIM_SHAPE_TRIANGLE,  /* seen from both sides, encloses nothing */
} NdtSimShapeKind;

/**
 * NdtSimShape:
 * @kind: which member of the union is used
 * @reflectivity: of the surface, 0 to 1
 *
 * A surface of a world; metres.
 */
typedef struct {
  NdtSimShapeKind kind;
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
} NdtSimShape;

typedef struct {
  double origin[3];
  double direction[3]; /* unit length */
} NdtSimRay;

void ndt_sim_shape_bounds (const NdtSimShape *shape, double min[3], double max[3]);
/* Moves and turns the shape: its old frame lies at @x, @y with @yaw (rad) in the new one. */
void ndt_sim_shape_move (NdtSimShape *shape, double x, double y, double yaw);
/* Distance along the ray to the nearest crossing of the surface that lies beyond @near;
 * INFINITY where there is none. */
double ndt_sim_shape_intersect (const NdtSimShape *shape, const NdtSimRay *ray, double near);
/* Outward unit normal at a point on the surface (of a triangle: one of the two). */
void ndt_sim_shape_normal (const NdtSimShape *shape, const double point[3], double normal[3]);
/* TRUE where the point is inside the shape, which is grown by @margin metres (negative: shrunk) on
 * all sides. */
gboolean ndt_sim_shape_contains (const NdtSimShape *shape, const double point[3], double margin);

typedef void (*NdtSimSampleFunc) (
    const double point[3], const double normal[3], gpointer user_data);
/* Calls @func for points all over the surface, one in each cell of about spacing × spacing
 * metres. */
void ndt_sim_shape_sample (const NdtSimShape *shape, double spacing, NdtSimRandom *random,
    NdtSimSampleFunc func, gpointer user_data);

G_END_DECLS
