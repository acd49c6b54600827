/* SPDX-License-Identifier: MIT */
#pragma once

#include "gstndtsettings.h"

G_BEGIN_DECLS

/* The localizer's parameters as the properties are, checked as a whole, and the initial pose if
 * there is one. NDT_ERROR_INVALID_ARGUMENT names the property. */
gboolean gst_ndt_settings_resolve (const GstNdtSettings *settings, NdtLocalizerParams *params,
    gboolean *has_initial_pose, NdtPose *initial_pose, GError **error);

G_END_DECLS
