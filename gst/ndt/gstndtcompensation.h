/* SPDX-License-Identifier: MIT */
/* Whether the motion during scans is to be compensated: what caps and properties say, and where
 * they do not, what the scans show. */
#pragma once

#include "gst/ndt/engine/gstndtengine.h"
#include "gstndtscan.h"

G_BEGIN_DECLS

/* Caps: TRUE: the points of a scan are as seen from one instant; FALSE: each is as seen when it was
 * measured. Left out: not known. */
#define GST_NDT_CAPS_COMPENSATED "motion-compensated"
/* Caps of compensated scans: "start", "middle" or "end" of the time from PTS to PTS + DURATION.
 * Left out: "start". */
#define GST_NDT_CAPS_INSTANT "instant"

/* Ways in which a sensor may have turned while it took a scan without times of points. */
#define GST_NDT_N_TURNS 8

typedef enum {
  GST_NDT_SCANS_UNKNOWN,
  GST_NDT_SCANS_DISTORTED,
  GST_NDT_SCANS_COMPENSATED,
} GstNdtScansAre;

/**
 * GstNdtCompensation:
 * @caps: (nullable): of the scans
 * @has_times: points tell when they were measured
 * @said: what caps say
 * @instant: that compensated scans are of
 * @shown: what scans have shown
 * @votes: of scans that were measured: positive where they are distorted
 * @has_last: @last is the pose of the sensor at @last_time
 * @turn_sums: of relative gains of scans without times of points, for each way of turning …
 * @n_turns: … and of how many scans each
 * @next_turn: the one that is measured next
 * @told: the sentences that were said since caps changed
 *
 * Of the task.
 */
typedef struct {
  GstCaps *caps;
  gboolean has_times;
  GstNdtScansAre said;
  GstNdtPoseTime instant;
  GstNdtScansAre shown;
  gint votes;
  gboolean has_last;
  NdtPose last;
  gint64 last_time;
  gdouble turn_sums[GST_NDT_N_TURNS];
  guint n_turns[GST_NDT_N_TURNS];
  guint next_turn;
  guint told;
} GstNdtCompensation;

/* As new. */
void gst_ndt_compensation_clear (GstNdtCompensation *compensation);
/* Where @caps are others, what was shown is of the scans before. */
void gst_ndt_compensation_set_caps (
    GstNdtCompensation *compensation, GstCaps *caps, gboolean has_times);
/* What holds for the scans that follow. Warns once where @deskew cannot be done. */
void gst_ndt_compensation_get_instants (GstNdtCompensation *compensation, GstElement *element,
    const GstNdtScanSettings *settings, GstNdtInstants *instants);
/* Is it not known yet what scans such as this one are, whose points bear times? Until then their
 * motion is compensated. */
gboolean gst_ndt_compensation_is_open (
    const GstNdtCompensation *compensation, GstNdtDeskew deskew, const GstNdtInput *input);
/* Or such as this one, whose points bear none? */
gboolean gst_ndt_compensation_is_open_for_turns (
    const GstNdtCompensation *compensation, GstNdtDeskew deskew, const GstNdtInput *input);
/* Such a scan was aligned. @sensor: where the sensor was at the pose's instant, NULL where that is
 * not known. TRUE where it moved enough to measure the scan: @motion: (out): during the scan, and
 * @sensor: (inout): at the scan's mean time. */
gboolean gst_ndt_compensation_see (GstNdtCompensation *compensation, const GstNdtInput *input,
    NdtPose *sensor, NdtScanMotion *motion);
/* Takes a measurement. Says once what was found. */
void gst_ndt_compensation_take (
    GstNdtCompensation *compensation, GstElement *element, const NdtDistortion *distortion);

/* Times of points as if the sensor had turned once in @duration seconds, by @turn: two directions
 * from four azimuths. (transfer full): seconds, one a point. */
gfloat *gst_ndt_compensation_make_times (const NdtCloudView *points, gdouble duration, guint turn);
/* Takes a measurement with such times. Warns once where scans were taken by turning. @speed: of the
 * sensor, m/s. */
void gst_ndt_compensation_take_turn (GstNdtCompensation *compensation, GstElement *element,
    guint turn, const NdtDistortion *distortion, gdouble duration, gdouble speed);

G_END_DECLS
