/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/gst.h>

#include "ndtcore/track/ndt-localizer.h"

G_BEGIN_DECLS

typedef enum {
  GST_NDT_BACKEND_AUTO,
  GST_NDT_BACKEND_CUDA,
  GST_NDT_BACKEND_CPU,
} GstNdtBackend;

typedef enum {
  GST_NDT_POSE_TIME_START,
  GST_NDT_POSE_TIME_MIDDLE,
  GST_NDT_POSE_TIME_END,
} GstNdtPoseTime;

/**
 * GstNdtSettings:
 *
 * The values of ndtlocalize's properties, in the units of ndtcore (rad, where properties
 * have degrees). Texts are kept as they were given and read by gst_ndt_settings_resolve().
 */
typedef struct {
  gchar *map;
  NdtVoxelMapParams map_params;
  gdouble map_radius;
  NdtLocalizerParams params;
  gchar *crop_box;
  gchar *fixed_covariance;
  gchar *covariance_offsets;
  gchar *initial_pose;
  gchar *initial_pose_uncertainty;
  gchar *sensor_pose;

  GstNdtBackend backend;
  NdtBackendConfig config;

  guint batch_size;
  GstClockTime batch_timeout;
  GstClockTime processing_deadline;
  GstClockTime deadline;
  GstClockTime pose_timeout;
  gdouble pose_distance_limit;

  GstNdtPoseTime pose_time;
  gchar *map_frame;
  gchar *sensor_frame;
  gchar *body_frame;
  gchar *times_location;
  gboolean post_messages;
} GstNdtSettings;

/* What the change of a property concerns. */
typedef enum {
  GST_NDT_CHANGE_NONE = 0,
  GST_NDT_CHANGE_PARAMS = 1 << 0,       /* NdtLocalizerParams */
  GST_NDT_CHANGE_MAP = 1 << 1,          /* the map has to be read again */
  GST_NDT_CHANGE_INITIAL_POSE = 1 << 2, /* the next scan starts there */
  GST_NDT_CHANGE_QUEUE = 1 << 3,        /* batch size, latency */
  GST_NDT_CHANGE_BACKEND = 1 << 4,      /* it has to be opened again before the next start */
  GST_NDT_CHANGE_SCANS = 1 << 5,        /* GstNdtScanSettings */
} GstNdtChange;

/**
 * GstNdtScanSettings:
 *
 * How scans are timed, named and reported, beside NdtLocalizerParams. @sensor_frame: 0: the caps'.
 */
typedef struct {
  GQuark map_frame;
  GQuark sensor_frame;
  GstNdtPoseTime pose_time;
  GstClockTime pose_timeout;
  gdouble pose_distance_limit;
  GstClockTime deadline;
  GstClockTime processing_deadline;
  gboolean post_messages;
} GstNdtScanSettings;

/* Property numbers of the element's own begin here; the settings' are below 64. */
#define GST_NDT_PROP_ELEMENT 1000

void gst_ndt_settings_init (GstNdtSettings *settings);
void gst_ndt_settings_clear (GstNdtSettings *settings);

void gst_ndt_settings_install_properties (GObjectClass *klass);
/* FALSE where @id is none of the settings'. */
gboolean gst_ndt_settings_set_property (
    GstNdtSettings *settings, guint id, const GValue *value, GstNdtChange *change);
gboolean gst_ndt_settings_get_property (const GstNdtSettings *settings, guint id, GValue *value);

void gst_ndt_settings_get_scan_settings (const GstNdtSettings *settings, GstNdtScanSettings *scans);
/* Adds the values of the properties whose numbers are bits of @ids to fields of their names. */
void gst_ndt_settings_describe (
    const GstNdtSettings *settings, guint64 ids, GObjectClass *klass, GstStructure *structure);

G_END_DECLS
