/* SPDX-License-Identifier: MIT */
/* Where odometry begins in the frame of positions from elsewhere. */
#pragma once

#include "ndtcore/math/ndt-pose.h"

G_BEGIN_DECLS

/* @from: @n positions, packed; @to: the same in another frame that stands upright as well.
 * @transform: (out): about the vertical, which moves the first ones onto the others by least
 * squares. Returns: how far the farthest of @to is from their mean, metres: across little there is
 * no heading. */
double ndt_map_find_heading (const double *from, const double *to, guint n, NdtPose *transform);

G_END_DECLS
