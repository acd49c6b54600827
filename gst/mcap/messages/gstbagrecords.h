/* SPDX-License-Identifier: MIT */
#pragma once

#include <gst/gst.h>

#include "gst/mcap/container/mcap-records.h"
#include "gstbagnames.h"

G_BEGIN_DECLS

/* Attachments and metadata records of MCAP, which are no messages, as buffers, so that a recording
 * that passes through loses nothing. */

/* The record's content; NULL where it is damaged. Keys beyond the bound of @names are left out. */
GstSample *bag_record_to_sample (guint8 opcode, McapCursor *content, GstBagNames *names);

/* The time in a meta of that name on @buffer, @fallback where there is none. */
guint64 bag_record_get_time (GstBuffer *buffer, const gchar *name, guint64 fallback);

G_END_DECLS
