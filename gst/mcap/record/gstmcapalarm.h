/* SPDX-License-Identifier: MIT */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Calls a function at a time, in a thread of its own, where it may wait and write. */
typedef struct _GstMcapAlarm GstMcapAlarm;

/* Returns the next time of g_get_monotonic_time() to be called at; 0: none for now. */
typedef gint64 (*GstMcapAlarmFunc) (gpointer user_data);

GstMcapAlarm *gst_mcap_alarm_new (GstMcapAlarmFunc func, gpointer user_data);
/* Waits for the function. */
void gst_mcap_alarm_free (GstMcapAlarm *self);
/* @time of g_get_monotonic_time(); one that is set and earlier stays: the function then says when
 * to be called again. */
void gst_mcap_alarm_set (GstMcapAlarm *self, gint64 time);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstMcapAlarm, gst_mcap_alarm_free)

G_END_DECLS
