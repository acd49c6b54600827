/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/gst.h>

#include "gst/common/gstndtbackend.h"
#include "gst/pointcloud/pointcloud.h"
#include "ndtcore/track/ndt-localizer.h"

G_BEGIN_DECLS

/* Numbers of the first two are those of a boolean. */
typedef enum {
  GST_NDT_DESKEW_FALSE,
  GST_NDT_DESKEW_TRUE,
  GST_NDT_DESKEW_AUTO,
} GstNdtDeskew;

typedef enum {
  GST_NDT_POSE_TIME_START,
  GST_NDT_POSE_TIME_MIDDLE,
  GST_NDT_POSE_TIME_END,
} GstNdtPoseTime;

/**
 * GstNdtNumbers:
 * @n: how many were given; those beyond the capacity of @values are lost
 *
 * A list of numbers, as a GstValueArray of doubles has them. The default of such a property is
 * empty, since a GstParamSpecArray has no other: it means the values that @params has.
 */
typedef struct {
  guint n;
  gdouble values[2 * NDT_MAX_OFFSETS];
} GstNdtNumbers;

/* "<1, 2, 3>", as a launch line has it: for messages. */
gchar *gst_ndt_numbers_to_string (const GstNdtNumbers *numbers);

/**
 * GstNdtSettings:
 *
 * The values of ndtlocalize's properties, in the units of ndtcore (rad, where properties have
 * degrees). gst_ndt_settings_resolve() reads those that are not members of @params into a copy of
 * it.
 */
typedef struct {
  gchar *map_location;
  NdtVoxelMapParams map_params;
  gdouble map_radius;
  NdtLocalizerParams params;
  gdouble min_range;
  gdouble max_range;
  gdouble scan_leaf_size;
  GstPointCloudBox *crop_box;
  GstNdtNumbers fixed_covariance;
  GstNdtNumbers covariance_offsets;
  GstPointCloudPose *initial_pose;
  gchar *pose_file;
  GstNdtNumbers initial_pose_uncertainty;
  GstPointCloudPose *sensor_pose;
  gchar *extra_terms;
  GHashTable *compiled_terms; /* text → NdtExtraTerms: scans in flight may use them, so that all
                                 stay until the element is freed */

  GstNdtBackend backend;
  NdtBackendConfig config;

  guint batch_size;
  GstClockTime batch_timeout;
  GstClockTime processing_deadline;
  GstClockTime max_lateness;
  GstClockTime max_pose_gap; /* 0: no limit */
  GstClockTime pose_latency;
  gdouble pose_distance_limit;

  GstNdtDeskew deskew;
  GstNdtPoseTime pose_time;
  GstNdtPoseTime stamp_position;
  gchar *map_frame;
  gchar *sensor_frame;
  gchar *body_frame;
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
  GstNdtDeskew deskew;
  GstNdtPoseTime pose_time;
  GstNdtPoseTime stamp_position;
  GstClockTime max_pose_gap;
  GstClockTime pose_latency;
  gdouble pose_distance_limit;
  GstClockTime max_lateness;
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
    const GstNdtSettings *settings, guint64 ids, GstStructure *structure);

G_END_DECLS
