/* SPDX-License-Identifier: MIT */
/* What the page gets, as bytes: little-endian, each kind begins with its number (guint32). Lengths
 * are metres, points 16-bit multiples of a scale. page/view.js reads it. */
#pragma once

#include "view-server.h"

G_BEGIN_DECLS

/* Points of a part of the map. */
#define VIEW_CHUNK_POINTS 60000u

/**
 * ViewPoints:
 * @xyz: @n points, three floats each, all finite
 * @intensity: (nullable): of each, 0 to 255
 * @ring: (nullable): of each, modulo 256
 */
typedef struct {
  guint n;
  float *xyz;
  guint8 *intensity;
  guint8 *ring;
} ViewPoints;

/**
 * ViewScan:
 * @points: in the frame of the pose
 * @status: a number of GstPoseStatus
 * @reason: a number of GstPoseReason
 * @seconds: of the stream, NaN: not known
 * @sequence: number of the scan
 * @has_pose: @position and @orientation (x, y, z, w) are known
 * @has_covariance: @covariance is known: xx, xy, yy, zz in m², of yaw in rad²
 */
typedef struct {
  ViewPoints points;
  guint status;
  guint reason;
  double seconds;
  guint64 sequence;
  gboolean has_pose;
  double position[3];
  double orientation[4];
  gboolean has_covariance;
  double covariance[5];
  double nvtl;
  double matched_ratio;
  guint iterations;
} ViewScan;

/* A pose of the way driven so far. */
typedef struct {
  double position[3];
  guint status;
} ViewStep;

void view_points_clear (ViewPoints *points);
/* Versions of a scan: all points, every fourth, every sixteenth. */
void view_encode_scan (const ViewScan *scan, GBytes *levels[VIEW_LEVELS]);
/* The way driven so far. */
GBytes *view_encode_steps (const ViewStep *steps, guint n);
/* A map of @n points (three doubles each) as messages, in the order of points. */
GPtrArray *view_encode_map (const double *xyz, gsize n);

G_END_DECLS
