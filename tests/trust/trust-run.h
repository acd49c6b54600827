/* SPDX-License-Identifier: MIT */
/* Runs a drive through a localizer and compares its statuses with the truth. */
#pragma once

#include <stdio.h>

#include "ndtcore/track/ndt-localizer.h"
#include "trust-drive.h"

G_BEGIN_DECLS

#define TRUST_CELLS 20.0 /* edge of the blocks that are cut out of maps, metres */

typedef struct _TrustCase TrustCase;

/**
 * TrustCase:
 * @drive: its scans, not owned
 * @map_points: of the map, not owned
 * @resolution: of its cells
 * @params: of the localizer
 * @n: how many of @order are driven
 * @order: which scans
 * @times: of each of these, nanoseconds
 * @odometry: of each; NULL: none
 * @has_initial: @initial is set before the first scan
 * @deadline: scans with this are given up as late
 * @change: (nullable): writes a modified scan of at most as many points, and returns their number
 * @is_counted: (nullable): where the truth lies in the map and the scan determines the pose; NULL:
 *   everywhere
 * @is_determined: of the scans that are right only those count that leave no direction open
 * @tolerance: factor on the limits of right and wrong; 0: 1
 * @turn_tolerance: factor on those of the angle; 0: @tolerance
 * @reference: standard deviations of the truth, metres and rad; 0: it is exact
 * @since: scans before this are not measured for recovery
 * @scans: (nullable): receives a line a scan of the row @name: docs/testing.md
 */
struct _TrustCase {
  const TrustDrive *drive;
  const GArray *map_points;
  double resolution;
  NdtLocalizerParams params;
  guint n;
  guint *order;
  gint64 *times;
  NdtPose *odometry;
  gboolean has_initial;
  NdtPose initial;
  gboolean *is_late;
  guint (*change) (const TrustCase *trust, guint at, const float *in, guint n, float *out);
  gboolean (*is_counted) (const TrustCase *trust, guint at);
  gboolean is_determined;
  guint seed;
  guint since;
  double tolerance;
  double turn_tolerance;
  double reference[2];
  double a, b, c;
  FILE *scans;
  const gchar *name;
};

/**
 * TrustResult:
 * @n: scans
 * @n_wrong: tracking, and more than 0.5 m or 2° wrong …
 * @n_wrong_row: … most in a row
 * @n_right: counted, and right to 0.2 m and 1° …
 * @n_right_tracking: … and tracking
 * @n_tracking: tracking
 * @n_lost: lost
 * @n_counted: counted …
 * @n_counted_tracking: … and tracking
 * @largest_wrong: metres that a tracking scan is wrong by at most
 * @mean: error of scans that are tracking and right, metres
 * @back: seconds from scan @since to the first one from which on all are right and tracking; −1:
 *   never
 * @n_outside: counted scans whose position is more than 3 σ off in x and y
 * @nees: mean of εᵀ C⁻¹ ε of scans that are tracking, C with that of the truth …
 * @in_ellipse: … and the share of them in whose 95 % ellipse of x and y the truth lies
 * @unexplained: of scans that are right, the mean share of rays that end on nothing
 * @passes: passes over the scan, one over a sample counting for its part, mean of all scans …
 * @most_passes: … and the most
 * @n_costly: scans that take more than they may, trust_case_run()
 */
typedef struct {
  guint n;
  guint n_wrong;
  guint n_wrong_row;
  guint n_right;
  guint n_right_tracking;
  guint n_tracking;
  guint n_lost;
  guint n_counted;
  guint n_counted_tracking;
  guint n_outside;
  guint n_sure; /* tracking with σ above 0.5 m */
  double largest_wrong;
  double mean;
  double back;
  double nees;
  double in_ellipse;
  double unexplained;
  double passes;
  double most_passes;
  guint n_costly;
} TrustResult;

/* A case of all scans of the drive, unmodified, from the first true pose on. To be cleared. */
void trust_case_init (
    TrustCase *trust, const TrustDrive *drive, const GArray *map_points, double resolution);
void trust_case_clear (TrustCase *trust);
/* Noise of steps: a fraction of their length, and rad. */
void trust_case_add_odometry (TrustCase *trust, double translation, double rotation, guint seed);
/* From the scan after @at on it is @jump metres further ahead; 0: it stays where it is. */
void trust_case_spoil_odometry (TrustCase *trust, guint at, double jump);
/* Removes @n scans from @at on; the times of the others are as if these had not been driven. */
void trust_case_cut (TrustCase *trust, guint at, guint n);

/* Prints each scan where @verbose. */
void trust_case_run (const TrustCase *trust, gboolean verbose, TrustResult *result);

G_END_DECLS
