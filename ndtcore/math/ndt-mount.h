/* SPDX-License-Identifier: MIT */
/* Conversions between a sensor and the body that it is mounted on. @mount: pose of the sensor in
 * the body frame; NULL: the identity. */
#pragma once

#include <glib.h>

#include "ndt-types.h"

G_BEGIN_DECLS

NdtPose ndt_mount_sensor_of_body (const NdtPose *mount, const NdtPose *body);
NdtPose ndt_mount_body_of_sensor (const NdtPose *mount, const NdtPose *sensor);
/* Converts, in place, a small motion of the sensor (δt in m, δω in rad about the parent's axes
 * through its position) to that of the body. */
void ndt_mount_twist_to_body (const NdtPose *mount, const NdtPose *sensor, double twist[6]);
/* Converts, in place, the covariance of the sensor's pose (row-major 6×6, order as the motion
 * above) to that of the body's. */
void ndt_mount_covariance_to_body (
    const NdtPose *mount, const NdtPose *sensor, double covariance[36]);

G_END_DECLS
