/* SPDX-License-Identifier: MIT */
/* Parts shared by the generators of worlds. Lengths and positions are in metres, yaw in rad. */
#pragma once

#include "ndt-sim-world.h"

G_BEGIN_DECLS

/* Typical reflectivities, 0 to 1. */
#define NDT_SIM_ASPHALT 0.15f
#define NDT_SIM_CONCRETE 0.35f
#define NDT_SIM_PLASTER 0.5f
#define NDT_SIM_GLASS 0.1f
#define NDT_SIM_METAL 0.6f
#define NDT_SIM_SIGN 1.0f
#define NDT_SIM_BARK 0.25f
#define NDT_SIM_LEAVES 0.4f
#define NDT_SIM_GRASS 0.3f

/* Depth, metres, by which objects extend into what they stand on, so that no two faces lie in one
 * plane. */
#define NDT_SIM_SUNK 0.1

/* From corner to corner, in any order; no yaw. */
void ndt_sim_world_add_box (NdtSimWorld *world, double x0, double y0, double z0, double x1,
    double y1, double z1, float reflectivity);
/* @length along @yaw, @width across it, from z0 to z1. */
void ndt_sim_world_add_turned_box (NdtSimWorld *world, double x, double y, double yaw,
    double length, double width, double z0, double z1, float reflectivity);
void ndt_sim_world_add_frustum (NdtSimWorld *world, double x, double y, double z0, double z1,
    double r0, double r1, float reflectivity);
void ndt_sim_world_add_ellipsoid (NdtSimWorld *world, double x, double y, double z, double radius,
    double height, float reflectivity);
/* The quadrilateral a b c d as two triangles. */
void ndt_sim_world_add_quad (NdtSimWorld *world, const double a[3], const double b[3],
    const double c[3], const double d[3], float reflectivity);

/* A pole with a plate that faces along @yaw. */
void ndt_sim_world_add_sign (
    NdtSimWorld *world, double x, double y, double yaw, double height, double width);
void ndt_sim_world_add_tree (NdtSimWorld *world, NdtSimRandom *random, double x, double y);
/* A car, sometimes a van. */
void ndt_sim_world_add_car (
    NdtSimWorld *world, NdtSimRandom *random, double x, double y, double yaw);

/* A band along the whole path between two lines, each given by its distance to the left of the
 * path and its height. */
typedef double (*NdtSimHeightFunc) (double s, gpointer user_data);
void ndt_sim_world_add_band (NdtSimWorld *world, double step, double lateral0, double z0,
    double lateral1, double z1, float reflectivity);
/* The same with both heights multiplied by @scale at the distance along the path. */
void ndt_sim_world_add_scaled_band (NdtSimWorld *world, double step, double lateral0, double z0,
    double lateral1, double z1, NdtSimHeightFunc scale, gpointer user_data, float reflectivity);
/* A box beside the path, turned along it. */
void ndt_sim_world_add_beside (NdtSimWorld *world, double s, double lateral, double length,
    double width, double z0, double z1, float reflectivity);

void ndt_sim_world_build_town (NdtSimWorld *world, NdtSimRandom *random);
void ndt_sim_world_build_tunnel (NdtSimWorld *world, NdtSimRandom *random);
void ndt_sim_world_build_blocks (NdtSimWorld *world, NdtSimRandom *random);
void ndt_sim_world_build_highway (NdtSimWorld *world, NdtSimRandom *random);
void ndt_sim_world_build_hall (NdtSimWorld *world, NdtSimRandom *random);

G_END_DECLS
