/* SPDX-License-Identifier: MIT */
/* What an element's sink pad answers to an event that it could not send on. */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/* Of an event that @sinkpad's event function refuses while a source pad of its element flushes,
 * upstream is told that it flushes, not that it failed: a state change deactivates source pads
 * before sink pads, and a source upstream whose sticky event came in between would post an error.
 * For a pad whose event function is set and has no user data. */
void gst_sink_events_tell_flushing (GstPad *sinkpad);

G_END_DECLS
