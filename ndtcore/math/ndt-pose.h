/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

#include "ndt-types.h"

G_BEGIN_DECLS

#define NDT_POSE_IDENTITY                                                                          \
  {                                                                                                \
    {0, 0, 0},                                                                                     \
    {                                                                                              \
      0, 0, 0, 1                                                                                   \
    }                                                                                              \
  }

/* out may be the same object as an input in all of these. */
void ndt_pose_set_identity (NdtPose *pose);
/* out = a ∘ b: first b, then a. */
void ndt_pose_compose (const NdtPose *a, const NdtPose *b, NdtPose *out);
void ndt_pose_invert (const NdtPose *pose, NdtPose *out);
/* out = a⁻¹ ∘ b: b as seen from a. */
void ndt_pose_between (const NdtPose *a, const NdtPose *b, NdtPose *out);
/* Position linearly, orientation by slerp along the shorter arc; t in [0, 1], values
 * outside extrapolate. */
void ndt_pose_interpolate (const NdtPose *a, const NdtPose *b, double t, NdtPose *out);
/* SE(3) logarithm: twist = (translational part ρ in m, rotation vector in rad), with
 * exp (log (T)) = T; rotation angle in [0, π]. */
void ndt_pose_log (const NdtPose *pose, double twist[6]);
void ndt_pose_exp (const double twist[6], NdtPose *out);
/* out = (position + δt, exp (δω) R) for delta = (δt in m, δω in rad about the parent's
 * axes through the pose): the perturbation that derivatives are taken by. */
void ndt_pose_retract (const NdtPose *pose, const double delta[6], NdtPose *out);
void ndt_pose_transform_point (const NdtPose *pose, const double in[3], double out[3]);

/* Row-major matrices. ndt_pose_from_matrix4() takes rotations with errors of rounding or printing,
 * and makes a unit quaternion. FALSE when an element is not finite; when the upper left 3×3 block R
 * is no rotation, ‖RᵀR − I‖ (Frobenius) above 0.01 or a reflection; or when the bottom row differs
 * from 0 0 0 1 by more than 10⁻⁶. */
void ndt_pose_get_rotation (const NdtPose *pose, double rotation[9]);
void ndt_pose_to_matrix4 (const NdtPose *pose, double matrix[16]);
gboolean ndt_pose_from_matrix4 (const double matrix[16], NdtPose *out);

/* R = Rx(roll) Ry(pitch) Rz(yaw), intrinsic XYZ: the convention of Magnusson, PCL, ndt_omp
 * and Autoware's NDT. */
void ndt_pose_from_xyz_euler (
    const double position[3], double roll, double pitch, double yaw, NdtPose *out);
void ndt_pose_to_xyz_euler (const NdtPose *pose, double *roll, double *pitch, double *yaw);
/* R = Rz(yaw) Ry(pitch) Rx(roll): fixed-axis roll, pitch and yaw as in ROS; the angles of
 * properties and command lines. */
void ndt_pose_from_rpy (
    const double position[3], double roll, double pitch, double yaw, NdtPose *out);
void ndt_pose_to_rpy (const NdtPose *pose, double *roll, double *pitch, double *yaw);

/* Finite position and a finite quaternion whose norm is not zero; scales the quaternion to
 * unit length. FALSE leaves the pose untouched. */
gboolean ndt_pose_normalize (NdtPose *pose);
/* Distance in m and angle in rad between two poses; either result may be NULL. */
void ndt_pose_difference (const NdtPose *a, const NdtPose *b, double *metres, double *radians);

/**
 * ndt_pose_parse:
 * @text: "x,y,z", "x,y,z,yaw", "x,y,z,roll,pitch,yaw" (m, degrees, ndt_pose_from_rpy()) or
 *   "x,y,z,qx,qy,qz,qw"; separated by commas, semicolons or white space
 *
 * Returns: FALSE with %NDT_ERROR_INVALID_ARGUMENT when @text is none of these
 */
gboolean ndt_pose_parse (const gchar *text, NdtPose *out, GError **error);
/* "x,y,z,qx,qy,qz,qw", read back exactly by ndt_pose_parse(). */
gchar *ndt_pose_to_string (const NdtPose *pose);

G_END_DECLS
