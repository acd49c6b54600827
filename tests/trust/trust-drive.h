/* SPDX-License-Identifier: MIT */
/* Simulated and recorded drives with true poses, and the points of their maps. */
#pragma once

#include "ndtcore/sim/world/ndt-sim-map.h"
#include "ndtcore/sim/scanner/ndt-sim-scanner.h"
#include "ndtcore/align/ndt-backend.h"
#include "ndtcore/math/ndt-pose.h"

G_BEGIN_DECLS

/**
 * TrustDrive:
 * @n: scans
 * @scans: packed x, y, z of each, in the sensor's frame
 * @sizes: points of each
 * @times: of each, nanoseconds
 * @truths: pose of the sensor at @times
 * @point_times: seconds from the scan's start, NULL where all are of its end
 * @period: seconds from the scan's start to its time, where there are @point_times
 */
typedef struct {
  guint n;
  float **scans;
  float **point_times;
  guint *sizes;
  gint64 *times;
  NdtPose *truths;
  double period;
} TrustDrive;

/**
 * TrustSim:
 * @kind: the world …
 * @seed: … and its seed; noise has the same
 * @n: scans
 * @columns: firings a round, of 32 rings
 * @speed: m/s; 0: the world's own
 * @start: metres along the path
 * @spin: rad/s about the vertical axis on the spot, with distortion and point times; 0: drives
 * @carried: metres along the path that the spinning sensor is carried by before scan n/2, from
 * where on it spins by …
 * @spin_then: … rad/s
 */
typedef struct {
  NdtSimWorldKind kind;
  guint seed;
  guint n;
  guint columns;
  double speed;
  double start;
  double spin;
  double carried;
  double spin_then;
} TrustSim;

/* The functions below read results of earlier runs from the folder @cache, or write theirs to it.
 */
TrustDrive *trust_drive_simulate (const TrustSim *sim, const gchar *cache);
/* Points of a world's map, one in 0.25 × 0.25 m with 2 cm of noise: 3 floats each. */
GArray *trust_map_simulate (NdtSimWorldKind kind, guint seed, const gchar *cache);

/* Every @step-th scan from @first on of a folder of NDT_TEST_DATA, with its poses.txt. NULL where
 * it is missing. */
TrustDrive *trust_drive_read (const gchar *folder, guint first, guint step);
/* The same scans as a sensor would see them that also turns by @spin rad/s about its own axis, and
 * fires its columns by their azimuth in a tenth of a second, of which @times are the middle. */
TrustDrive *trust_drive_turn (const TrustDrive *drive, double spin);
/* Points of a PCD file of such a folder. */
GArray *trust_map_read (const gchar *folder, const gchar *file);
/* Points of a drive's own scans at their true poses, thinned to 0.1 m, 0.5 m to 60 m away. */
GArray *trust_map_of_drive (const TrustDrive *drive);

void trust_drive_free (TrustDrive *drive);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (TrustDrive, trust_drive_free)

G_END_DECLS
