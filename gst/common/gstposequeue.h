/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/gst.h>

#include "gst/pointcloud/pointcloud.h"
#include "ndtcore/track/ndt-localizer.h"
#include "ndtcore/math/ndt-pose-curve.h"

G_BEGIN_DECLS

/* A time that is not known. */
#define GST_POSE_QUEUE_NO_TIME G_MAXINT64

/* A time of a stream as running time, also before the segment begins. */
gint64 gst_pose_queue_running_time (const GstSegment *segment, GstClockTime time);

/**
 * GstPoseStream:
 *
 * One pose pad: the poses that it has brought, all of one role. Put to by the pad's streaming
 * thread.
 */
/* What a live scan waits for poses unless the property “pose-latency” says otherwise: two periods
 * of the slowest odometry that is usual (10 Hz, by a lidar or a camera; wheels and inertial sensors
 * come at 50 to 200 Hz), so that one message that is late or lost is waited for. It is part of the
 * reported latency, so no longer than that; the same in all elements with pose pads. */
#define GST_POSE_QUEUE_DEFAULT_LATENCY (200 * GST_MSECOND)

typedef struct _GstPoseStream GstPoseStream;

/**
 * GstPoseQueue:
 *
 * The poses that streams of their own bring, and how far these have come, so that a scan can wait
 * for them. Times are running times in nanoseconds. Any thread.
 */
typedef struct _GstPoseQueue GstPoseQueue;

/* Of poses with one of these roles, the best first. */
GstPoseQueue *gst_pose_queue_new (const GstPoseRole *roles, guint n_roles);
void gst_pose_queue_free (GstPoseQueue *poses);

/* @number: (inout): wanted, G_MAXUINT: one above all before. */
GstPoseStream *gst_pose_queue_add_stream (GstPoseQueue *poses, guint *number);
/* Frees @stream. */
void gst_pose_queue_remove_stream (GstPoseQueue *poses, GstPoseStream *stream);
/* As new: after a flush. */
void gst_pose_queue_reset_stream (GstPoseQueue *poses, GstPoseStream *stream);
/* "prior, odometry": for messages. */
gchar *gst_pose_queue_dup_roles (const GstPoseQueue *poses);
/* The pose of the best role that the buffer has, nullable. */
const GstPoseMeta *gst_pose_queue_find (const GstPoseQueue *poses, GstBuffer *buffer);
/* Standard deviations of a pose, as NdtObservation has them, from its covariance; FALSE where it
 * has none: all zero is none, too. */
gboolean gst_pose_queue_read_stddev (const GstPoseMeta *meta, gdouble stddev[6]);
/**
 * GstPoseQueueState:
 * @GST_POSE_QUEUE_OK: the pose was taken
 * @GST_POSE_QUEUE_IDLE: … but 65,536 wait, and no scan has come for five seconds; more are taken
 * @GST_POSE_QUEUE_DROPS: … and the oldest one was dropped: of live poses, or of a million
 */
typedef enum {
  GST_POSE_QUEUE_OK,
  GST_POSE_QUEUE_IDLE,
  GST_POSE_QUEUE_DROPS,
} GstPoseQueueState;

/* @stddev: nullable. One that is not newer than the one before is ignored, and so is one of another
 * role than the stream's first. Where 65,536 poses wait for scans it waits for them to come, as a
 * muxer does: not where sources are live, nor where the calling thread brings the scans as well. */
GstPoseQueueState gst_pose_queue_put (GstPoseQueue *poses, GstPoseStream *stream, GstPoseRole role,
    gint64 time, const NdtPose *pose, const gdouble *stddev);
/* For messages: the poses of a stream that wait, the running times of the first and the last, and
 * of the newest scan; GST_POSE_QUEUE_NO_TIME where there is none. */
void gst_pose_queue_get_extent (GstPoseQueue *poses, GstPoseStream *stream, guint *n, gint64 *first,
    gint64 *last, gint64 *scan);
/* While a stream flushes nobody waits to put to it. */
void gst_pose_queue_set_stream_flushing (
    GstPoseQueue *poses, GstPoseStream *stream, gboolean flushing);
/* No pose before @time will come any more; G_MAXINT64: none at all. */
void gst_pose_queue_advance (GstPoseQueue *poses, GstPoseStream *stream, gint64 time);

/* Whether scans wait at all, resp. wakes who waits. It begins flushing. */
void gst_pose_queue_start (GstPoseQueue *poses);
void gst_pose_queue_flush (GstPoseQueue *poses);
/* What the sources of scans and poses say, asked anew after a start and where a stream begins.
 * Live: a scan waits for so long only. @latency: of the later ones. */
gboolean gst_pose_queue_knows_sources (GstPoseQueue *poses);
void gst_pose_queue_set_sources (GstPoseQueue *poses, gboolean live, GstClockTime latency);
/* When a scan has waited for @timeout since it could have come, by g_get_monotonic_time(). @time:
 * the running time of its stamp. 0: there is no such time. */
gint64 gst_pose_queue_get_deadline (
    GstPoseQueue *poses, GstElement *element, gint64 time, GstClockTime timeout);
/* Are there any streams? */
gboolean gst_pose_queue_has_streams (const GstPoseQueue *poses);
/* The newest scan that has come; G_MAXINT64: there will be none. */
void gst_pose_queue_scan (GstPoseQueue *poses, gint64 time);

/* A seek is to go to all sources, unless one with its number did: FALSE then, with the result of
 * that one, TRUE while it goes on. */
gboolean gst_pose_queue_begin_seek (GstPoseQueue *poses, guint32 seqnum, gboolean *result);
void gst_pose_queue_end_seek (GstPoseQueue *poses, guint32 seqnum, gboolean result);

/* Has every stream come as far as @time? Of live ones that is not wanted whose next pose, by the
 * time between the last two, is of more than @latency later. */
gboolean gst_pose_queue_reached (GstPoseQueue *poses, gint64 time, GstClockTime latency);
/* Waits for that; with live sources at most until @deadline (0: none), or until a scan has come
 * that is newer by @latency, where no clock runs. FALSE when flushing. */
gboolean gst_pose_queue_wait (
    GstPoseQueue *poses, gint64 time, GstClockTime latency, gint64 deadline);
/* Interpolates what @observation lacks at @time between the poses before and after, which are at
 * most
 * @max_gap and @distance metres from one another (0: no limit). A prior is as uncertain as the
 * worse of them. Poses that lie before are forgotten. Odometry has the velocity between its poses,
 * where these are at most a second apart. */
void gst_pose_queue_get (GstPoseQueue *poses, gint64 time, GstClockTime max_gap, gdouble distance,
    NdtObservation *observation);

/* The first stream's poses around @from to @to: those between, two before and two after, in order,
 * appended to @poses (NdtTimedPose). Poses that lie before are forgotten. */
void gst_pose_queue_get_window (GstPoseQueue *poses, gint64 from, gint64 to, GArray *window);

/* A sentence about a stream that ten scans in a row had no pose of, once: how far its poses are
 * from the scans. (transfer full) (nullable) */
gchar *gst_pose_queue_take_complaint (GstPoseQueue *poses);
/* Poses that have come, and scans that a stream had none for. */
void gst_pose_queue_get_counts (GstPoseQueue *poses, guint64 *n_poses, guint64 *n_missing);
/* Streams and counts as new. */
void gst_pose_queue_clear (GstPoseQueue *poses);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstPoseQueue, gst_pose_queue_free)

G_END_DECLS
