/* SPDX-License-Identifier: MIT */
#include "gstmcapsession.h"

#include <string.h>

#include "gst/mcap/container/mcap-format.h"
#include "gst/mcap/messages/gstbagrecords.h"

void
gst_mcap_session_init (GstMcapSession *self, GstElement *element, McapWriteFunc write)
{
  memset (self, 0, sizeof *self);
  self->element = element;
  gst_mcap_file_init (&self->file, write, element);
  gst_mcap_times_init (&self->times);
  gst_mcap_origins_init (&self->origins);
  g_queue_init (&self->messages);
}

void
gst_mcap_session_clear (GstMcapSession *self)
{
  gst_mcap_session_reset (self);
  gst_mcap_file_clear (&self->file);
  g_queue_clear_full (&self->messages, (GDestroyNotify)gst_message_unref);
}

void
gst_mcap_session_reset (GstMcapSession *self)
{
  gst_mcap_file_reset (&self->file);
  gst_mcap_times_reset (&self->times);
  gst_mcap_origins_init (&self->origins);
  self->described = self->has_ended = self->has_failed = FALSE;
  self->dropped = self->n_without_odometry = 0;
  self->has_told_conflict = FALSE;
}

/* Messages */

void
gst_mcap_session_post (GstMcapSession *self, GstMessage *message)
{
  g_queue_push_tail (&self->messages, message);
}

void
gst_mcap_session_post_error (GstMcapSession *self, const GError *error)
{
  g_autoptr (GError) shown = gst_mcap_file_make_error (error);

  GST_CAT_ERROR_OBJECT (self->category, self->element, "%s", shown->message);
  gst_mcap_session_post (self, gst_message_new_error (GST_OBJECT (self->element), shown, NULL));
}

static void
post_warning (GstMcapSession *self, const GError *warning)
{
  g_autoptr (GError) shown = gst_mcap_file_make_error (warning);

  gst_mcap_session_post (self, gst_message_new_warning (GST_OBJECT (self->element), shown, NULL));
}

/* A buffer that is no scan is left out and counted; the first of an input is a warning. */
static void
drop (GstMcapSession *self, GstMcapPad *pad, const GError *error)
{
  self->dropped++;
  GST_CAT_DEBUG_OBJECT (self->category, pad, "buffer %" G_GUINT64_FORMAT " that is dropped: %s",
      self->dropped, error->message);
  if (!pad->warned)
    post_warning (self, error);
  pad->warned = TRUE;
}

/* Header stamps of a clock that is not that of the log times are moved to theirs. Told where both
 * should be the time of day. */
static void
tell_clock (GstMcapSession *self, GstMcapPad *pad, GstMcapStampNews news, guint64 log_time)
{
  g_autofree gchar *text = gst_mcap_stamp_describe (&pad->clock, news, GST_PAD_NAME (pad));

  GST_CAT_DEBUG_OBJECT (
      self->category, pad, "from log time %" G_GUINT64_FORMAT " on: %s", log_time, text);
  if (news != GST_MCAP_STAMP_UNKNOWN_EPOCH && log_time >= GST_MCAP_EARLIEST_TIME_OF_DAY) {
    g_autoptr (GError) warning =
        g_error_new_literal (GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED, text);
    post_warning (self, warning);
  }
}

/* Estimates that odometry is missing for: not the first ones, which may come before it. */
#define N_WITHOUT_ODOMETRY 10

static void
check_transforms (GstMcapSession *self, GstMcapPad *pad)
{
  const GstMcapPoses *poses = &self->file.recorder.poses;
  const guint64 n = poses->n_without_odometry;

  if (poses->conflict && !self->has_told_conflict) {
    g_autoptr (GError) warning = g_error_new (GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
        "In the transforms that are recorded %s: tf-mode=map-odom or an empty tf-topic leave one",
        poses->conflict);
    post_warning (self, warning);
    self->has_told_conflict = TRUE;
  }
  if (n == self->n_without_odometry)
    return;
  self->n_without_odometry = n;
  GST_CAT_DEBUG_OBJECT (self->category, pad,
      "estimate %" G_GUINT64_FORMAT " without odometry of its instant and frame", n);
  if (n == N_WITHOUT_ODOMETRY) {
    g_autoptr (GError) warning = g_error_new (GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
        "%u estimates have no odometry of their instant and child frame, so that they gave no "
        "transform map to odom: with tf-mode=map-odom odometry is to come on the clouds or on a "
        "pad pose_%%u; tf-mode=pose does without it",
        N_WITHOUT_ODOMETRY);
    post_warning (self, warning);
  }
}

/* Ends */

static gboolean
end (GstMcapSession *self, gboolean eos, GError **error)
{
  gst_mcap_session_flush_waiting (self, NULL);
  return self->end (self->element, eos, error);
}

/* Ends the file, which is complete up to the last chunk that was written, and posts the error. */
static void
fail (GstMcapSession *self, const GError *error)
{
  self->has_failed = TRUE;
  end (self, FALSE, NULL);
  gst_mcap_session_post_error (self, error);
}

void
gst_mcap_session_check_end (GstMcapSession *self)
{
  g_autoptr (GError) error = NULL;
  gboolean any = FALSE, all = TRUE;

  GST_OBJECT_LOCK (self->element);
  for (GList *l = self->element->sinkpads; l; l = l->next) {
    GstMcapPad *pad = l->data;

    any |= pad->eos;
    all &= pad->eos || !gst_pad_is_linked (l->data);
  }
  GST_OBJECT_UNLOCK (self->element);
  if (!any || !all || !self->running || self->has_ended || self->has_failed)
    return;
  GST_CAT_DEBUG_OBJECT (self->category, self->element, "all linked inputs have ended");
  if (!end (self, TRUE, &error)) {
    self->has_failed = TRUE;
    gst_mcap_session_post_error (self, error);
  }
  self->has_ended = TRUE;
}

void
gst_mcap_session_stop (GstMcapSession *self)
{
  g_autoptr (GError) error = NULL;

  self->running = FALSE;
  if (!end (self, FALSE, &error))
    gst_mcap_session_post_error (self, error);
  gst_mcap_session_reset (self);
}

void
gst_mcap_session_add_map (GstMcapSession *self, GstMcapPad *pad)
{
  g_autoptr (GError) error = NULL;

  if (!self->has_failed && self->running &&
      !gst_mcap_file_add_map (&self->file, pad->last_time, (gint64)pad->last_time, &error))
    fail (self, error);
}

gint64
gst_mcap_session_write_due (GstMcapSession *self)
{
  const gint64 due = self->has_failed ? 0 : gst_mcap_file_get_due (&self->file);
  g_autoptr (GError) error = NULL;

  if (due == 0 || due > g_get_monotonic_time ())
    return due;
  if (!gst_mcap_file_flush (&self->file, &error))
    fail (self, error);
  return 0;
}

/* Buffers */

void
gst_mcap_session_use_log_time (GstMcapSession *self, GstMcapLogTime log_time, gboolean exact)
{
  if (self->times.used != GST_MCAP_LOG_TIME_AUTO)
    return;
  self->times.used = log_time;
  self->times.is_exact = exact;
  if (exact)
    gst_mcap_times_fix (&self->times, NULL);
  GST_CAT_INFO_OBJECT (self->category, self->element, "log times are those of the %s",
      log_time == GST_MCAP_LOG_TIME_CLOCK ? "clock" : "buffers");
}

static GstFlowReturn
record_now (GstMcapSession *self, GstMcapPad *pad, GstBuffer *buffer)
{
  const gsize size = gst_buffer_get_size (buffer);
  g_autoptr (GError) error = NULL;
  GstMcapStampNews news;
  guint64 log_time;
  gint64 stamp;

  if (self->has_failed)
    return GST_FLOW_ERROR;
  log_time = gst_mcap_times_get (&self->times, self->element, pad, buffer);
  pad->last_time = log_time;
  if (pad->is_attachment)
    log_time = bag_record_get_time (buffer, MCAP_LOG_TIME_CAPS, log_time);
  stamp = gst_mcap_stamp_get (
      &pad->clock, buffer, self->header_stamp, log_time, self->times.is_exact, &news);
  if (news != GST_MCAP_STAMP_AS_IT_IS)
    tell_clock (self, pad, news, log_time);
  GST_CAT_LOG_OBJECT (self->category, pad,
      "%" G_GSIZE_FORMAT " bytes at log time %" G_GUINT64_FORMAT ", stamp %" G_GINT64_FORMAT, size,
      log_time, stamp);
  if (self->prepare (self->element, log_time, size, &error) &&
      gst_mcap_file_add (&self->file, pad, buffer, log_time, stamp, &error)) {
    check_transforms (self, pad);
    return GST_FLOW_OK;
  }
  if (g_error_matches (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT) ||
      g_error_matches (error, MCAP_WRITER_ERROR, MCAP_WRITER_ERROR_TOO_LARGE)) {
    drop (self, pad, error);
    return GST_FLOW_OK;
  }
  fail (self, error);
  return GST_FLOW_ERROR;
}

/* The axis of log times is decided by @buffer, or is that of the PTS. */
static void
record_waiting (GstMcapSession *self, GstBuffer *buffer)
{
  GstMcapPad *pad;

  gst_mcap_times_fix (&self->times, buffer);
  while (gst_mcap_times_take (&self->times, &pad, &buffer)) {
    record_now (self, pad, buffer);
    gst_object_unref (pad);
    gst_buffer_unref (buffer);
  }
}

void
gst_mcap_session_flush_waiting (GstMcapSession *self, GstMcapPad *pad)
{
  if (gst_mcap_times_is_waiting (&self->times, pad))
    record_waiting (self, NULL);
}

static gboolean
has_clouds (GstMcapSession *self)
{
  gboolean found = FALSE;

  GST_OBJECT_LOCK (self->element);
  for (GList *l = self->element->sinkpads; l && !found; l = l->next) {
    GstMcapPad *pad = l->data;

    found = pad->kind == GST_MCAP_PAD_CLOUD && !pad->eos && gst_pad_is_linked (l->data);
  }
  GST_OBJECT_UNLOCK (self->element);
  return found;
}

GstFlowReturn
gst_mcap_session_record (GstMcapSession *self, GstMcapPad *pad, GstBuffer *buffer)
{
  if (!self->running)
    return GST_FLOW_FLUSHING;
  if (self->has_failed)
    return GST_FLOW_ERROR;
  if (pad->eos)
    return GST_FLOW_EOS;
  self->has_ended = FALSE;
  if (gst_mcap_times_hold (&self->times, pad, buffer, has_clouds (self)))
    return GST_FLOW_OK;
  if (!pad->is_attachment && !pad->is_metadata)
    record_waiting (self, buffer);
  return record_now (self, pad, buffer);
}
