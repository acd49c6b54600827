/* SPDX-License-Identifier: MIT */
/* A body and its sensor. @mount: the sensor in the body frame; NULL: they are the same. */
#pragma once

#include "ndt-registration.h"

G_BEGIN_DECLS

NdtPose ndt_mount_sensor_of_body (const NdtPose *mount, const NdtPose *body);
NdtPose ndt_mount_body_of_sensor (const NdtPose *mount, const NdtPose *sensor);
/* From the sensor's pose and covariance to the body's. */
void ndt_mount_registration_to_body (const NdtPose *mount, NdtRegistration *registration);

G_END_DECLS
