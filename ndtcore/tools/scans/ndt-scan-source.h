/* SPDX-License-Identifier: MIT */
/* The scans of drives, one after another: of files, recordings and captures. */
#pragma once

#include "ndtcore/math/ndt-pose.h"
#include "ndtcore/motion/ndt-deskew.h"

G_BEGIN_DECLS

/**
 * NdtScanOptions:
 * @trajectory: file of poses; of files a line a scan, of recordings looked up by time; NULL: those
 *   of the recording
 * @with_poses: poses are needed
 * @with_fixes: positions of a satellite receiver are poses, too
 * @map_origin: "LAT,LON,ALT" that these are counted from; NULL: the first one
 * @period: seconds from file to file where their names are no times
 * @topic: of a recording's clouds; NULL: the first
 * @pose_topic: of its poses; NULL: chosen by ndt-scans
 * @sensor_pose: of the sensor on what the poses are of; NULL: by the recording's transforms
 * @decoder: element that decodes a capture's packets, with its properties
 *
 * As command lines say it; to be cleared by ndt_scan_options_clear().
 */
typedef struct {
  gchar *trajectory;
  gboolean with_poses;
  gboolean with_fixes;
  gchar *map_origin;
  double period;
  gchar *topic;
  gchar *pose_topic;
  gchar *sensor_pose;
  gchar *decoder;
} NdtScanOptions;

#define NDT_SCAN_RECORDING_ENTRIES(options)                                                        \
  {"topic", 0, 0, G_OPTION_ARG_STRING, &(options).topic,                                           \
      "Of a recording's clouds (default: the first)", "TOPIC"},                                    \
  {                                                                                                \
    "decoder", 0, 0, G_OPTION_ARG_STRING, &(options).decoder,                                      \
        "Of a capture (pcap), as on a launch line: \"velodynedec\"", "ELEMENT"                     \
  }
#define NDT_SCAN_POSE_ENTRIES(options)                                                             \
  {"pose-topic", 0, 0, G_OPTION_ARG_STRING, &(options).pose_topic,                                 \
      "Of a recording's poses (default: those of the clouds, else the first topic of poses, else " \
      "transforms)",                                                                               \
      "TOPIC"},                                                                                    \
  {                                                                                                \
    "sensor-pose", 0, 0, G_OPTION_ARG_STRING, &(options).sensor_pose,                              \
        "Of the sensor on what a recording's poses are of (default: by its transforms)",           \
        "X,Y,Z,ROLL,PITCH,YAW"                                                                     \
  }

void ndt_scan_options_clear (NdtScanOptions *options);

/**
 * NdtScan:
 * @name: for messages
 * @time: nanoseconds
 * @points: in the sensor's frame
 * @times: of the points, from @time on; without data where they are not known
 * @pose: (nullable): of the sensor at @time
 * @origin: (nullable): @pose is a position alone in axes to east, north and up there: latitude,
 *   longitude (degrees), height above the ellipsoid (metres) …
 * @sigma: … with these standard deviations, horizontal and vertical, metres; 0: not known
 * @ends: (nullable): of the sensor at the first and the last of @times …
 * @first: … which are these, seconds
 * @last: see @first
 *
 * Valid until the next one is asked for.
 */
typedef struct {
  const gchar *name;
  gint64 time;
  NdtCloudView points;
  NdtTimeView times;
  const NdtPose *pose;
  const double *origin;
  double sigma[2];
  const NdtPose *ends;
  double first;
  double last;
} NdtScan;

typedef struct _NdtScanSource NdtScanSource;

/* Whether @path is a recording (MCAP, rosbag2) or a capture (pcap, pcapng), by its first bytes; of
 * a folder by what is in it. */
gboolean ndt_scan_is_recording (const gchar *path);

/* @inputs: files of points and folders of these, in the order of their names, numbers by their
 * value, or recordings and captures; not both. @sorted: (out) (nullable): a shell's order was
 * changed. */
NdtScanSource *ndt_scan_source_new (
    gchar **inputs, const NdtScanOptions *options, gboolean *sorted, GError **error);
void ndt_scan_source_free (NdtScanSource *source);
/* NULL at the end, or with @error. */
const NdtScan *ndt_scan_source_next (NdtScanSource *source, GError **error);
/* For a line of progress; @what is "files" or "percent". */
const gchar *ndt_scan_source_get_progress (
    const NdtScanSource *source, guint64 *done, guint64 *all);
/* For the report: what the poses were taken from; NULL: none, or not known before the end. */
const gchar *ndt_scan_source_get_poses (const NdtScanSource *source);
guint ndt_scan_source_get_n_files (const NdtScanSource *source);
const gchar *ndt_scan_source_get_file (const NdtScanSource *source, guint index);

/* The scan's points where the sensor was while it was made: moved by @pose, or by the poses between
 * @ends where points have times. @out: three doubles a point. @scan has a pose. */
void ndt_scan_transform (const NdtScan *scan, double *out);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NdtScanSource, ndt_scan_source_free)

G_END_DECLS
