/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/gst.h>

#include "ndtcore/posefile/ndt-trajectory.h"

G_BEGIN_DECLS

/* A trajectory that is written line by line, each at once. */
typedef struct {
  int fd;       /* -1: closed; what is written then goes nowhere */
  gchar *shown; /* its name, for messages */
  NdtTrajectoryFormat format;
  GString *line;
} GstTrajectoryFile;

void gst_trajectory_file_init (GstTrajectoryFile *file);
void gst_trajectory_file_clear (GstTrajectoryFile *file);

/* Each returns FALSE with GST_RESOURCE_ERROR. */

/* @location: as a property has it; NULL: none, and nothing is written. */
gboolean gst_trajectory_file_open (
    GstTrajectoryFile *file, const gchar *location, NdtTrajectoryFormat format, GError **error);
gboolean gst_trajectory_file_write (
    GstTrajectoryFile *file, const NdtTrajectoryRecord *record, GError **error);
/* To the disk. */
gboolean gst_trajectory_file_sync (GstTrajectoryFile *file, GError **error);
void gst_trajectory_file_close (GstTrajectoryFile *file);

G_END_DECLS
