/* SPDX-License-Identifier: MIT */
/* Request pads pose_%u that take streams of poses, for elements whose scans wait for them. */
#pragma once

#include "gstposequeue.h"

G_BEGIN_DECLS

void gst_pose_queue_pad_class_init (GstElementClass *klass);
/* For request_new_pad and release_pad: what a pad brings goes to @poses. */
GstPad *gst_pose_queue_pad_request (
    GstElement *element, GstPoseQueue *poses, GstPadTemplate *template, const gchar *name);
void gst_pose_queue_pad_release (GstElement *element, GstPad *pad);
/* Of the element's pads sink and src: they have to do with one another and with no pose pad. */
GstIterator *gst_pose_queue_pad_iterate_scans (GstPad *pad, GstObject *parent);
/* A SEEK that has come by the source pad (transfer full) goes on to the sources of poses and then
 * of scans, once, however many branches downstream bring it. What scans' sources make of it. */
gboolean gst_pose_queue_pads_seek (GstElement *element, GstPoseQueue *poses, GstEvent *seek);
/* Asks the sources of scans and poses for their latency: @query has that of both, and @poses knows
 * it. @scans_live, @scans_min: (out): of scans. FALSE where their source does not answer. */
gboolean gst_pose_queue_pads_query_latency (GstElement *element, GstPoseQueue *poses,
    GstQuery *query, gboolean *scans_live, GstClockTime *scans_min);

G_END_DECLS
