/* SPDX-License-Identifier: MIT */
/* The structure of a trajectory. Private to ndtcore/posefile. */
#pragma once

#include "ndt-trajectory.h"

G_BEGIN_DECLS

typedef struct {
  gint64 time;
  gboolean has_pose;
  NdtPose pose;
  const gchar *status; /* static, NULL: none */
} NdtTrajectoryEntry;

struct _NdtTrajectory {
  NdtTrajectoryFormat format;
  gboolean has_times;
  GArray *entries; /* of NdtTrajectoryEntry */
  gchar *description;
};

G_END_DECLS
