/* SPDX-License-Identifier: MIT */
/* What the files of odometry share. */
#pragma once

#include "ndt-course.h"
#include "ndt-drift.h"
#include "ndt-moving-scan.h"
#include "ndt-odometry-map.h"
#include "ndt-odometry.h"

G_BEGIN_DECLS

/* Saved as it lies in memory, without its pointers. */
struct _NdtOdometry {
  NdtBackend *backend;
  NdtOdometryParams params;
  NdtMovingScan *moving;
  NdtOdometryMap *map;
  guint n_levels; /* of the backend's map; 0: none was set */

  gboolean has_pose;
  NdtPose sensor; /* in the middle of the last scan that was aligned, or predicted */
  gint64 time;    /* of that */
  gboolean has_velocity;
  double velocity[6]; /* of the sensor there, a twist a second, or a scan where times are unknown */
  NdtCourse course;   /* of the sensor, in the last scan */
  NdtDrift drift;     /* of the step from the last scan: how well its velocity is known */
  double covariance[36];
  guint n_fits;
  double fit;         /* mean of the last scans; 0: none yet */
  double rotation[9]; /* covariance of the last alignment's, rad² */
  guint n_lost;
  guint n_open;      /* scans in a row that leave an axis open */
  gboolean is_rough; /* the map is of one scan, whose motion was not compensated … */
  NdtPose first;     /* … and that was here … */
  gint64 first_time; /* … then */
  gboolean has_base;
  NdtPose base; /* of the scan that the map took last */
  double trimmed[3];

  float *points;
  guint n_points;
  guint capacity;
};

/* Gives the backend the map with so many levels, at least. */
gboolean ndt_odometry_use_map (NdtOdometry *odometry, guint n_levels, GError **error);

G_END_DECLS
