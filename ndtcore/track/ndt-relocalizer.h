/* SPDX-License-Identifier: MIT */
/* Looks for a stream that is lost, in a thread of its own: docs/tracking.md, "Recovery". */
#pragma once

#include "ndt-relocalizer-motion.h"
#include "ndtcore/registration/ndt-registration.h"

G_BEGIN_DECLS

/* Scans that have to agree, the one that was searched for included; the result takes effect with
 * the scan after them. */
#define NDT_RELOCALIZER_SCANS 3

typedef struct _NdtRelocalizer NdtRelocalizer;

/**
 * NdtRelocalizerTask:
 * @map: that is searched; the relocalizer takes a reference
 * @registration: of the localizer
 * @has_area: first around @around, as far as @area says
 * @anywhere: then on all of the map
 * @least_fit: what the first scan's fit has to reach (NdtLocalization): the best of many places is
 *   one that fits by chance as well
 * @least_follow_fit: and that of the scans after it, which motion leads to one place
 * @least_quality: and its NVTL times matched ratio; 0: no bound
 * @has_stream: the stream goes on at @stream …
 * @is_questioned: … and counts there: what is within a metre of it is not found again
 * @has_velocity: @velocity is that of the body before, a twist per second
 * @has_upright: the body is turned as @upright but for its yaw and some 30 degrees
 * @filter: of scans that are given as their sensor saw them
 */
typedef struct {
  NdtVoxelMap *map;
  NdtRegistrationParams registration;
  gboolean has_area;
  NdtPose around;
  NdtPoseSearch area;
  gboolean anywhere;
  double least_fit;
  double least_follow_fit;
  double least_quality;
  gboolean has_stream;
  NdtPose stream;
  gboolean is_questioned;
  gboolean has_velocity;
  double velocity[6];
  gboolean has_upright;
  NdtPose upright;
  NdtScanFilter filter;
} NdtRelocalizerTask;

/**
 * NdtRelocation:
 * @found: the scans agree on a place
 * @time: of the last scan …
 * @pose: … and of the body then; of scans whose motion was compensated before they were added, in
 *   their middle
 * @has_odometry: @odometry is that of the last scan
 * @has_velocity: @velocity is a twist from the scan before the last to it, or from its middle where
 *   its own velocity was not known, over @velocity_time nanoseconds
 * @course: of the last scan, where its motion was compensated by the search; all 0 elsewhere
 * @is_ambiguous: the first scan fits several places alike
 * @runner_up: of it, see NdtRegistration
 * @fit: of the last scan that was looked at, where it is
 * @elsewhere: NVTL times matched ratio of the first scan where it fits as it has to around a stream
 *   that goes on, but in another place, which may have rivals; 0: it does not
 */
typedef struct {
  gboolean found;
  gint64 time;
  NdtPose pose;
  gboolean has_odometry;
  NdtPose odometry;
  gboolean has_velocity;
  double velocity[6];
  gint64 velocity_time;
  NdtCourse course;
  gboolean is_ambiguous;
  double runner_up;
  double fit;
  double elsewhere;
} NdtRelocation;

/* @stream: (nullable): backend of the stream; a search runs beside it on its device, where it has
 * one, and else in one thread of the CPU. The device's memory that it takes, a copy of the map
 * included, is freed when the search has ended or is given up. */
NdtRelocalizer *ndt_relocalizer_new (NdtBackend *stream);
/* The stream has another one, beside which the next search that begins runs. @stream: (nullable):
 * before the one there was is closed. */
void ndt_relocalizer_set_stream (NdtRelocalizer *relocalizer, NdtBackend *stream);
/* Whether searches begin on a device. Any thread. */
gboolean ndt_relocalizer_is_on_device (NdtRelocalizer *relocalizer);
/* Why searches have left the stream's device, for good: it could not be had, or failed in the
 * middle; the scan is looked at on the CPU. (transfer full) (nullable): once. Any thread. */
GError *ndt_relocalizer_take_failure (NdtRelocalizer *relocalizer);
/* Ends what runs. */
void ndt_relocalizer_free (NdtRelocalizer *relocalizer);
/* What was begun before is given up. The first scan that is added is searched for, those after it
 * are followed. */
void ndt_relocalizer_begin (NdtRelocalizer *relocalizer, const NdtRelocalizerTask *task);
void ndt_relocalizer_add (NdtRelocalizer *relocalizer, NdtRelocalizerScan *scan);
/* Gives up what was begun. Does not wait. */
void ndt_relocalizer_drop (NdtRelocalizer *relocalizer);
/* Scans that were added since it was begun; 0 where nothing is. */
guint ndt_relocalizer_count (NdtRelocalizer *relocalizer);
/* What came of the scans that were added. FALSE where it is not known yet, or, where @waits, where
 * ndt_relocalizer_cancel() was called. */
gboolean ndt_relocalizer_get (NdtRelocalizer *relocalizer, gboolean waits, NdtRelocation *out);
/* Any thread: whoever waits returns, until it is called with FALSE. */
void ndt_relocalizer_cancel (NdtRelocalizer *relocalizer, gboolean cancelled);

G_END_DECLS
