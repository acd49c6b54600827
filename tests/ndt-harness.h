/* SPDX-License-Identifier: MIT */
/* ndtlocalize in a harness, with the room's map. */
#pragma once

#include <gst/check/gstharness.h>

#include "gst/pointcloud/pointcloud.h"
#include "ndt-room.h"

G_BEGIN_DECLS

/* An ndtlocalize with a bus and the properties given, in a playing harness. Properties that are
 * poses, boxes or lists are given as the text of a launch line. */
GstHarness *ndt_harness_new (const gchar *first_property, ...) G_GNUC_NULL_TERMINATED;
/* g_object_set() with such texts. */
void ndt_harness_set (GstElement *element, const gchar *first_property, ...) G_GNUC_NULL_TERMINATED;
/* A property as text. */
gchar *ndt_harness_get (GstElement *element, const gchar *property);
/* Adds stamps to scans without one at @pad, as rawpointcloudparse does; the room's have none.
 * @element: posts the warnings. */
void ndt_harness_stamp (GstPad *pad, GstElement *element);
void ndt_harness_free (GstHarness *h);
/* A segment that begins at @start, in stream time as well. */
void ndt_harness_push_segment (GstHarness *h, GstFormat format, guint64 start);
/* True pose of a scan as initial-pose takes it. */
gchar *ndt_harness_pose (guint index);
/* The estimate of a scan at the source pad. */
const GstPoseMeta *ndt_harness_estimate (GstBuffer *buffer);
NdtPose ndt_harness_pose_of (GstBuffer *buffer);
/* Adds a prior within the room to each scan at a pad, so that it is aligned whether it shows the
 * room or not. */
void ndt_harness_add_priors (GstPad *pad);
/* Push a scan and return it as pulled from the source pad, or its status. */
GstBuffer *ndt_harness_pass (GstHarness *h, GstBuffer *scan);
GstPoseStatus ndt_harness_pass_status (GstHarness *h, GstBuffer *scan);
/* What the first scans of a stream without a pose came to. */
#define NDT_HARNESS_N_START 24
typedef struct {
  GstPoseStatus status[NDT_HARNESS_N_START];
  NdtPose poses[NDT_HARNESS_N_START];
} NdtHarnessStart;

/* Localizes the room's first scans, ten a second, of a source that is not live, with an element
 * that has no pose, whose backend does not fail, and frees the harness. @search_backend: of its
 * stats then; @warning: (nullable): of the one failure that it has warned of; NULL: of none */
void ndt_harness_start (
    GstHarness *h, const gchar *search_backend, const gchar *warning, NdtHarnessStart *start);
/* A count in stats. */
guint64 ndt_harness_count (GstHarness *h, const gchar *name);
/* The next message of a type and, for element messages, name; NULL where there is none. Other
 * messages remain on the bus. */
GstMessage *ndt_harness_message (GstElement *element, GstMessageType type, const gchar *name);
void ndt_harness_drop_messages (GstElement *element);
/* Removes all messages from a bus. Returns the number of those of the type, warnings or errors,
 * each of which has to contain @text. */
guint ndt_harness_count_messages (GstBus *bus, GstMessageType type, const gchar *text);
/* Where an element, or some of a pipeline, have begun to read maps in the background, waits until
 * they are read or refused: live scans do not wait for it. */
void ndt_harness_wait_for_map (GstElement *element);
/* Asks for PAUSED, which is refused for want of a usable map: at once, or when it has been read.
 * The error is on the bus. */
void ndt_harness_refuse_map (GstElement *element);
/* Waits until a pipeline ends; an error fails. */
void ndt_harness_wait_for_eos (GstElement *pipeline);
/* The error of the next message of a type, or NULL. */
GError *ndt_harness_error (GstElement *element, GstMessageType type);

G_END_DECLS
