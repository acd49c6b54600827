/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/gst.h>

#include "gst/pointcloud/pointcloud.h"
#include "ndtcore/track/ndt-localizer.h"
#include "ndtcore/math/ndt-pose-curve.h"

G_BEGIN_DECLS

/* A time that is not known. */
#define GST_NDT_TIME_UNKNOWN G_MAXINT64

/* A time of a stream as running time, also before the segment begins. */
gint64 gst_ndt_running_time (const GstSegment *segment, GstClockTime time);

/**
 * GstNdtPoseStream:
 *
 * One pose pad: the poses that it has brought, all of one role. Put to by the pad's streaming
 * thread.
 */
typedef struct _GstNdtPoseStream GstNdtPoseStream;

/**
 * GstNdtPoses:
 *
 * The poses that streams of their own bring, and how far these have come, so that a scan can wait
 * for them. Times are running times in nanoseconds. Any thread.
 */
typedef struct _GstNdtPoses GstNdtPoses;

/* Of poses with one of these roles, the best first. */
GstNdtPoses *gst_ndt_poses_new (const GstPoseRole *roles, guint n_roles);
void gst_ndt_poses_free (GstNdtPoses *poses);

/* @number: (inout): wanted, G_MAXUINT: one above all before. */
GstNdtPoseStream *gst_ndt_poses_add_stream (GstNdtPoses *poses, guint *number);
/* Frees @stream. */
void gst_ndt_poses_remove_stream (GstNdtPoses *poses, GstNdtPoseStream *stream);
/* As new: after a flush. */
void gst_ndt_poses_reset_stream (GstNdtPoses *poses, GstNdtPoseStream *stream);
/* "prior, odometry": for messages. */
gchar *gst_ndt_poses_dup_roles (const GstNdtPoses *poses);
/* The pose of the best role that the buffer has, nullable. */
const GstPoseMeta *gst_ndt_poses_find (const GstNdtPoses *poses, GstBuffer *buffer);
/* Standard deviations of a pose, as NdtObservation has them, from its covariance; FALSE where it
 * has none: all zero is none, too. */
gboolean gst_ndt_pose_get_stddev (const GstPoseMeta *meta, gdouble stddev[6]);
/* @stddev: nullable. One that is not newer than the one before is ignored, and so is one of another
 * role than the stream's first. */
void gst_ndt_poses_put (GstNdtPoses *poses, GstNdtPoseStream *stream, GstPoseRole role, gint64 time,
    const NdtPose *pose, const gdouble *stddev);
/* No pose before @time will come any more; G_MAXINT64: none at all. */
void gst_ndt_poses_advance (GstNdtPoses *poses, GstNdtPoseStream *stream, gint64 time);

/* Whether scans wait at all, resp. wakes who waits. It begins flushing. */
void gst_ndt_poses_start (GstNdtPoses *poses);
void gst_ndt_poses_flush (GstNdtPoses *poses);
/* What the sources of scans and poses say, asked anew after a start and where a stream begins.
 * Live: a scan waits for so long only. @latency: of the later ones. */
gboolean gst_ndt_poses_knows_sources (GstNdtPoses *poses);
void gst_ndt_poses_set_sources (GstNdtPoses *poses, gboolean live, GstClockTime latency);
/* When a scan has waited for @timeout since it could have come, by g_get_monotonic_time(). @time:
 * the running time of its stamp. 0: there is no such time. */
gint64 gst_ndt_poses_get_deadline (
    GstNdtPoses *poses, GstElement *element, gint64 time, GstClockTime timeout);
/* Are there any streams? */
gboolean gst_ndt_poses_has_streams (const GstNdtPoses *poses);
/* The newest scan that has come; G_MAXINT64: there will be none. */
void gst_ndt_poses_scan (GstNdtPoses *poses, gint64 time);

/* A seek is to go to all sources, unless one with its number did: FALSE then, with the result of
 * that one, TRUE while it goes on. */
gboolean gst_ndt_poses_begin_seek (GstNdtPoses *poses, guint32 seqnum, gboolean *result);
void gst_ndt_poses_end_seek (GstNdtPoses *poses, guint32 seqnum, gboolean result);

/* Has every stream come as far as @time? */
gboolean gst_ndt_poses_reached (GstNdtPoses *poses, gint64 time);
/* Waits for that; with live sources at most until @deadline (0: none), or until a scan has come
 * that is newer by @timeout, where no clock runs. FALSE when flushing. */
gboolean gst_ndt_poses_wait (
    GstNdtPoses *poses, gint64 time, GstClockTime timeout, gint64 deadline);
/* Fills in what @observation lacks from the poses before and after @time, each at most @timeout
 * away, and at most @distance metres from one another (0: any). A prior is as uncertain as the
 * worse of them. Poses that lie before are forgotten. With odometry comes the velocity that these
 * poses tell. */
void gst_ndt_poses_get (GstNdtPoses *poses, gint64 time, GstClockTime timeout, gdouble distance,
    NdtObservation *observation);

/* The first stream's poses around @from to @to: those between, two before and two after, in order,
 * appended to @poses (NdtTimedPose). Poses that lie before are forgotten. */
void gst_ndt_poses_get_window (GstNdtPoses *poses, gint64 from, gint64 to, GArray *window);

/* Poses that have come, and scans that a stream had none for. */
void gst_ndt_poses_get_counts (GstNdtPoses *poses, guint64 *n_poses, guint64 *n_missing);
/* Streams and counts as new. */
void gst_ndt_poses_clear (GstNdtPoses *poses);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstNdtPoses, gst_ndt_poses_free)

G_END_DECLS
