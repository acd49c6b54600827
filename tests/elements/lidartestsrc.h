/* SPDX-License-Identifier: MIT */
/* Helpers of the tests of lidartestsrc. */
#pragma once

#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>
#include <gst/pointcloud/pointcloud.h>

#include <string.h>

#include "ndtcore/math/ndt-pose.h"
#include "tests/ndt-wait.h"

/* A small, fast sensor. */
#define SMALL "lidartestsrc rings=16 columns=90 "

static inline GstHarness *
harness (const gchar *properties, const gchar *caps)
{
  g_autofree gchar *line = g_strdup_printf (SMALL "%s", properties);
  GstHarness *h = gst_harness_new_parse (line);

  if (caps)
    gst_harness_set_sink_caps_str (h, caps);
  gst_harness_play (h);
  return h;
}

static inline NdtPose
pose_of (GstBuffer *buffer, GstPoseRole role)
{
  const GstPoseMeta *meta = gst_buffer_get_pose_meta (buffer, role);
  NdtPose pose;

  fail_unless (meta != NULL && meta->has_pose);
  memcpy (pose.position, meta->position, sizeof pose.position);
  memcpy (pose.orientation, meta->orientation, sizeof pose.orientation);
  return pose;
}

/* Runs a line until it ends; returns the error of linking or of the bus, NULL at EOS. */
static inline GError *
run (const gchar *line)
{
  GError *error = NULL;
  GstElement *pipeline = gst_parse_launch_full (line, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  g_autoptr (GstBus) bus = NULL;
  g_autoptr (GstMessage) message = NULL;

  if (pipeline == NULL)
    return error;
  bus = gst_element_get_bus (pipeline);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  message = gst_bus_timed_pop_filtered (
      bus, NDT_WAIT_SECONDS * GST_SECOND, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  fail_unless (message != NULL);
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
    gst_message_parse_error (message, &error, NULL);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
  return error;
}
