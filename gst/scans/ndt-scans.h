/* SPDX-License-Identifier: MIT */
/* The scans of a recording or a capture, and the sensor's poses, for ndt-map. */
#pragma once

#include <gst/gst.h>
#include <gst/pointcloud/pointcloud.h>

#include "scans-fixes.h"

G_BEGIN_DECLS

typedef struct {
  gchar *recording;
  gchar *decoder;     /* of a capture, as on a launch line; NULL: it is a recording */
  gchar *topic;       /* of clouds; NULL: the first */
  gchar *pose_topic;  /* NULL: chosen, see scans_poses_read() */
  gchar *sensor_pose; /* of the sensor on what the poses are of; NULL: by transforms */
  gboolean with_poses;
  gboolean with_fixes; /* positions of a satellite receiver are poses, too */
  gchar *map_origin;   /* that these are counted from, "LAT,LON,ALT"; NULL: the first */
} ScansOptions;

/* One way through the recording. @cloud is called for each scan, in the streaming thread, @pose for
 * each pose of a pose pad, with its topic, @fix for each position of a receiver; each may be NULL,
 * and what it would get is not read then. FALSE from @cloud ends the run. */
typedef struct {
  gboolean (*cloud) (
      GstElement *sink, GstCaps *caps, GstBuffer *buffer, double done, gpointer user_data);
  void (*pose) (const gchar *topic, GstBuffer *buffer, gpointer user_data);
  void (*fix) (const gchar *topic, const ScansFix *fix, gpointer user_data);
  gpointer user_data;
} ScansReader;

/* FALSE with an error whose message is a sentence for the user. */
gboolean scans_run (const ScansOptions *options, const ScansReader *reader, GError **error);

/* All poses of a recording: those that are attached to its clouds (estimates that are tracking,
 * else true ones, priors, odometry), else those of the first topic of poses, with
 * with_fixes else of the first of positions, else all transforms; with the fixed transforms.
 * @frame: (out) (transfer full): of the clouds. @what: (out) (transfer full): for the user, what
 * they are. @fixes: (out) (transfer full): NULL where they are poses. */
ScansFrames *scans_poses_read (
    const ScansOptions *options, gchar **frame, gchar **what, ScansFixes **fixes, GError **error);

G_END_DECLS
