/* SPDX-License-Identifier: MIT */
/* The motion of a body that is looked for: docs/tracking.md, "Recovery". Private to the
 * relocalizer, but for the scan. */
#pragma once

#include "ndtcore/odometry/ndt-course.h"
#include "ndtcore/align/ndt-backend.h"

G_BEGIN_DECLS

/**
 * NdtRelocalizerScan:
 * @xyz: (transfer full): packed points in the sensor's frame; g_free. Thinned, in the frame of the
 *   scan's middle where its motion is compensated; all of them, as the sensor saw them, where there
 *   are @times
 * @n: of these
 * @times: (transfer full) (nullable): of each, seconds from @time on; g_free
 * @time: nanoseconds; −1: not known
 * @has_odometry: @odometry belongs to the scan
 * @has_velocity: @velocity of the body is known, a twist per second
 */
typedef struct {
  float *xyz;
  guint n;
  float *times;
  gint64 time;
  gboolean has_odometry;
  NdtPose odometry;
  gboolean has_velocity;
  double velocity[6];
} NdtRelocalizerScan;

/* Frees and clears what the scan owns. */
void ndt_relocalizer_scan_clear (NdtRelocalizerScan *scan);

/* Not thread-safe, but for cancelling. */
typedef struct _NdtRelocalizerMotion NdtRelocalizerMotion;

NdtRelocalizerMotion *ndt_relocalizer_motion_new (void);
void ndt_relocalizer_motion_free (NdtRelocalizerMotion *motion);
/* Of another body, whose velocity is not known. @mount: of the sensor on it. */
void ndt_relocalizer_motion_begin (
    NdtRelocalizerMotion *motion, const NdtPose *mount, const NdtScanFilter *filter);
/* Takes what the scan tells of the velocity: its own, the odometry since the one before, or, of
 * scans that are as their sensor saw them, the alignment with the one before: at the same velocity
 * both are bent alike. @before: (nullable) */
void ndt_relocalizer_motion_take (
    NdtRelocalizerMotion *motion, const NdtRelocalizerScan *before, const NdtRelocalizerScan *scan);
/* Any thread: ndt_relocalizer_motion_take() ends soon and aligns nothing, until this is called with
 * FALSE. */
void ndt_relocalizer_motion_cancel (NdtRelocalizerMotion *motion, gboolean cancelled);
/* From now on scans are taken as they are: they may have been compensated before. */
void ndt_relocalizer_motion_give_up (NdtRelocalizerMotion *motion);
/* A velocity that the scans have on the map. */
void ndt_relocalizer_motion_set (NdtRelocalizerMotion *motion, const double velocity[6]);
/* (nullable): of the body, a twist per second; NULL: not known. */
const double *ndt_relocalizer_motion_get (const NdtRelocalizerMotion *motion);
/* Sets the scan in slot 0 of @backend, compensated to its middle where the velocity is known.
 * @course: (out): of the scan; all 0 where it has no times, and where it is taken as it is. */
gboolean ndt_relocalizer_motion_set_scan (NdtRelocalizerMotion *motion, NdtBackend *backend,
    const NdtRelocalizerScan *scan, NdtCourse *course, GError **error);
/* The same again, by another velocity of the course. */
gboolean ndt_relocalizer_motion_move (
    NdtRelocalizerMotion *motion, const NdtCourse *course, GError **error);

G_END_DECLS
