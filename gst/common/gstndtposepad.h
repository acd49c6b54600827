/* SPDX-License-Identifier: MIT */
/* Request pads pose_%u that take streams of poses, for elements whose scans wait for them. */
#pragma once

#include "gstndtposes.h"

G_BEGIN_DECLS

void gst_ndt_pose_pad_class_init (GstElementClass *klass);
/* For request_new_pad and release_pad: what a pad brings goes to @poses. */
GstPad *gst_ndt_pose_pad_request (
    GstElement *element, GstNdtPoses *poses, GstPadTemplate *template, const gchar *name);
void gst_ndt_pose_pad_release (GstElement *element, GstPad *pad);
/* Of the element's pads sink and src: they have to do with one another and with no pose pad. */
GstIterator *gst_ndt_pose_pad_iterate_scans (GstPad *pad, GstObject *parent);
/* Adds what the sources of poses say of their latency to a query that the scans' has answered. */
void gst_ndt_pose_pads_add_latency (
    GstElement *element, gboolean *live, GstClockTime *min, GstClockTime *max);

G_END_DECLS
