/* SPDX-License-Identifier: MIT */
/* A decoder in a harness. */
#pragma once

#include <gst/check/gstharness.h>

#include "gst/lidardec/packet/packet-cutter.h"

/* Sends it a stream's start and a segment in TIME. */
GstHarness *packet_harness_new (const gchar *line);
void packet_harness_free (GstHarness *harness);
GstFlowReturn packet_harness_push (
    GstHarness *harness, const guint8 *packet, gsize size, GstClockTime pts);
guint64 packet_harness_count (GstHarness *harness, const gchar *name);
/* Number of warnings since the last call; the text of the last one is in @text. */
guint packet_harness_take_warnings (GstHarness *harness, gchar **text);
/* An element with these properties does not open, and @text is in its error. */
void packet_harness_check_open_fails (
    const gchar *element, const gchar *properties, const gchar *text);
/* Copies the points of a buffer, which is unreffed. */
PacketPoint *packet_harness_take_points (GstBuffer *buffer, guint *n);
