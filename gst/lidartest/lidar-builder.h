/* SPDX-License-Identifier: MIT */
/* What the generators of worlds are made of. */
#pragma once

#include "lidar-world.h"

G_BEGIN_DECLS

/* Typical reflectivities. */
#define LIDAR_ASPHALT 0.15f
#define LIDAR_CONCRETE 0.35f
#define LIDAR_PLASTER 0.5f
#define LIDAR_GLASS 0.1f
#define LIDAR_METAL 0.6f
#define LIDAR_SIGN 1.0f
#define LIDAR_BARK 0.25f
#define LIDAR_LEAVES 0.4f
#define LIDAR_GRASS 0.3f

/* How far things that stand on something are sunk into it, metres: faces that touch would lie
 * in one plane. */
#define LIDAR_SUNK 0.1

/* From corner to corner, in any order; no yaw. */
void lidar_world_add_box (LidarWorld *world, double x0, double y0, double z0, double x1, double y1,
    double z1, float reflectivity);
/* @length along @yaw, @width across it, from z0 to z1. */
void lidar_world_add_turned_box (LidarWorld *world, double x, double y, double yaw, double length,
    double width, double z0, double z1, float reflectivity);
void lidar_world_add_frustum (LidarWorld *world, double x, double y, double z0, double z1,
    double r0, double r1, float reflectivity);
void lidar_world_add_ellipsoid (LidarWorld *world, double x, double y, double z, double radius,
    double height, float reflectivity);
/* The quadrilateral a b c d as two triangles. */
void lidar_world_add_quad (LidarWorld *world, const double a[3], const double b[3],
    const double c[3], const double d[3], float reflectivity);

/* A pole with a plate that faces along @yaw. */
void lidar_world_add_sign (
    LidarWorld *world, double x, double y, double yaw, double height, double width);
void lidar_world_add_tree (LidarWorld *world, LidarRandom *random, double x, double y);
/* A car, sometimes a van. */
void lidar_world_add_car (LidarWorld *world, LidarRandom *random, double x, double y, double yaw);

/* A band along the whole path between two lines, each given by its distance to the left of the
 * path and its height. */
typedef double (*LidarHeightFunc) (double s, gpointer user_data);
void lidar_world_add_band (LidarWorld *world, double step, double lateral0, double z0,
    double lateral1, double z1, float reflectivity);
/* The same with both heights multiplied by what @scale says of a place along the path. */
void lidar_world_add_scaled_band (LidarWorld *world, double step, double lateral0, double z0,
    double lateral1, double z1, LidarHeightFunc scale, gpointer user_data, float reflectivity);
/* A box beside the path, turned along it. */
void lidar_world_add_beside (LidarWorld *world, double s, double lateral, double length,
    double width, double z0, double z1, float reflectivity);

void lidar_world_build_town (LidarWorld *world, LidarRandom *random);
void lidar_world_build_tunnel (LidarWorld *world, LidarRandom *random);
void lidar_world_build_highway (LidarWorld *world, LidarRandom *random);
void lidar_world_build_hall (LidarWorld *world, LidarRandom *random);

G_END_DECLS
