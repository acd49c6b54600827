/* SPDX-License-Identifier: MIT */
/* A body and its sensor. @mount: the sensor in the body frame; NULL: they are the same. */
#pragma once

#include <glib.h>

#include "ndt-types.h"

G_BEGIN_DECLS

NdtPose ndt_mount_sensor_of_body (const NdtPose *mount, const NdtPose *body);
NdtPose ndt_mount_body_of_sensor (const NdtPose *mount, const NdtPose *sensor);
/* From a motion of the sensor, a shift and a rotation about the parent's axes through its pose, to
 * that of the body. */
void ndt_mount_twist_to_body (const NdtPose *mount, const NdtPose *sensor, double twist[6]);
/* From the covariance of the sensor's pose to that of the body's. */
void ndt_mount_covariance_to_body (
    const NdtPose *mount, const NdtPose *sensor, double covariance[36]);

G_END_DECLS
