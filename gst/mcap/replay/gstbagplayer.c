/* SPDX-License-Identifier: MIT */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstbagplayer.h"

#include <gio/gio.h>

#include "gst/mcap/container/mcap-format.h"
#include "gstbagerror.h"
#include "gstbagstreams.h"

#define GST_CAT_DEFAULT (self->settings.streams.log)

/* The segment begins with the earliest time stamp, which is looked for among the first messages:
 * header stamps precede log times by the delays of a sensor and a network. */
#define LOOK_AHEAD (2 * GST_SECOND)
#define LOOK_AHEAD_MESSAGES 1000
/* Bytes of messages that are read for the first cloud of each topic: its caps have to go out before
 * the segment. A lidar's driver may start seconds after those of cameras. */
#define LOOK_AHEAD_SIZE (256u << 20)

#define PROGRESS_INTERVAL (G_USEC_PER_SEC / 2)

struct _GstBagPlayer {
  GstElement *element;
  GstBagPlayerSettings settings;
  GstBagOpenFunc open;
  gpointer user_data;

  GstTask *task;
  GRecMutex lock; /* of the task */

  /* in the task, or with its lock */
  BagMerger *reader;
  GstBagStreams *streams;
  GstSegment segment; /* of stream time */
  guint32 seqnum;
  guint64 log_start, log_end;
  GstClockTime base;     /* PTS at which stream time is 0 */
  gboolean has_seen_all; /* messages, looking ahead */
  gboolean has_pushed_records;
  gint64 last_progress;
  gboolean progress_started;

  /* under the object lock */
  gboolean is_stopped; /* for good */
  gboolean is_open;
  gboolean is_playing;
  gboolean is_ended; /* from outside */
  GstClockTime duration;
  GstClockTime position; /* stream time */
  GstSegment shown;      /* for queries */
  guint32 seek;          /* number of the last one */
  guint32 shown_seqnum;  /* of the seek that it is of */
  guint64 n_messages;
  guint64 n_damaged;
};

/* Starts or pauses the task. One that was stopped is left alone: it would start again. */
static void
set_task_state (GstBagPlayer *self, GstTaskState state)
{
  GST_OBJECT_LOCK (self->element);
  if (!self->is_stopped)
    gst_task_set_state (self->task, state);
  GST_OBJECT_UNLOCK (self->element);
}

static void
post_warning (GstBagPlayer *self)
{
  const guint64 n_damaged = bag_merger_get_n_damaged (self->reader);
  g_autofree gchar *warning = bag_merger_take_warning (self->reader);
  GST_OBJECT_LOCK (self->element);
  self->n_damaged = n_damaged;
  GST_OBJECT_UNLOCK (self->element);
  if (warning)
    GST_ELEMENT_WARNING (self->element, STREAM, DEMUX, ("%s", warning), (NULL));
}

static void
post_progress (GstBagPlayer *self, GstProgressType type)
{
  GstClockTime position, duration;
  if (!self->settings.post_progress)
    return;
  GST_OBJECT_LOCK (self->element);
  const gboolean is_playing = self->is_playing;
  position = self->position;
  duration = self->duration;
  GST_OBJECT_UNLOCK (self->element);
  /* In PAUSED and below, applications take progress for that of a state change, and wait for its
   * last message. */
  if (!is_playing || (type != GST_PROGRESS_TYPE_CONTINUE && type != GST_PROGRESS_TYPE_START &&
                         !self->progress_started))
    return;
  const gint64 now = g_get_monotonic_time ();
  if (type == GST_PROGRESS_TYPE_CONTINUE) {
    if (now - self->last_progress < PROGRESS_INTERVAL)
      return;
    if (!self->progress_started)
      type = GST_PROGRESS_TYPE_START;
  }
  self->last_progress = now;
  self->progress_started = type == GST_PROGRESS_TYPE_CONTINUE || type == GST_PROGRESS_TYPE_START;
  const gdouble percent = type == GST_PROGRESS_TYPE_COMPLETE ? 100.0
                          : duration > 0
                              ? 100.0 * (gdouble)MIN (position, duration) / (gdouble)duration
                              : 0.0;
  g_autofree gchar *text = g_strdup_printf ("%.1f %%, %.1f of %.1f s", percent,
      (gdouble)position / GST_SECOND, (gdouble)duration / GST_SECOND);
  gst_element_post_message (
      self->element, gst_message_new_progress (GST_OBJECT (self->element), type, "replay", text));
}

typedef struct {
  guint64 log_time;
  GstClockTime stamp;
} Look;

/* Reads the first messages for their channels and clocks, for the earliest time stamp, and for the
 * caps of clouds, then seeks back. */
static gboolean
look_ahead (GstBagPlayer *self, guint64 from, GstClockTime *earliest, GError **error)
{
  const GstBagTimes *times = gst_bag_streams_get_times (self->streams);
  g_autoptr (GArray) looks = g_array_new (FALSE, FALSE, sizeof (Look));
  GError *failure = NULL;
  BagMessage message;
  gboolean is_end = TRUE;
  gsize size = 0;

  if (!bag_merger_seek (self->reader, from, error))
    return FALSE;
  for (guint n = 0; bag_merger_next (self->reader, &message, &failure); n++) {
    const gboolean is_first = n < LOOK_AHEAD_MESSAGES && message.log_time <= from + LOOK_AHEAD;
    size += message.size;
    if (!is_first && (size > LOOK_AHEAD_SIZE || !gst_bag_streams_lack_caps (self->streams))) {
      is_end = FALSE;
      break;
    }
    const Look look = {message.log_time, gst_bag_streams_look_at (self->streams, &message)};
    if (is_first)
      g_array_append_val (looks, look);
  }
  self->has_seen_all = is_end && !failure;
  if (failure) {
    g_propagate_error (error, failure);
    return FALSE;
  }
  *earliest = gst_bag_times_from_log (times, from);
  for (guint i = 0; i < looks->len; i++) {
    const Look *look = &g_array_index (looks, Look, i);
    *earliest = MIN (*earliest, gst_bag_times_get (times, look->stamp, look->log_time));
  }
  *earliest = MAX (*earliest, self->settings.streams.from);
  return bag_merger_seek (self->reader, from, error);
}

/* Sends the segment out, and shows it to queries. */
static void
set_segment (GstBagPlayer *self)
{
  GstSegment segment = self->segment;
  segment.start += self->base;
  segment.position += self->base;
  if (GST_CLOCK_TIME_IS_VALID (segment.stop))
    segment.stop += self->base;
  gst_bag_streams_set_segment (self->streams, &segment, self->seqnum);
  GST_OBJECT_LOCK (self->element);
  self->shown = self->segment;
  self->shown_seqnum = self->seqnum;
  self->is_open = TRUE;
  self->position = self->segment.start;
  self->duration = self->segment.duration;
  GST_OBJECT_UNLOCK (self->element);
}

static gboolean
has_record (GstBagPlayer *self, guint8 opcode)
{
  return self->settings.streams.raw && bag_merger_has_record (self->reader, opcode);
}

static gboolean
has_content (GstBagPlayer *self)
{
  return bag_merger_get_n_channels (self->reader) > 0 || has_record (self, MCAP_OP_ATTACHMENT) ||
         has_record (self, MCAP_OP_METADATA);
}

/* User data of push_record(). */
typedef struct {
  GstBagStreams *streams;
  GstFlowReturn flow;
} RecordSink;

static gboolean
push_record (gpointer user_data, guint8 opcode, McapCursor *content)
{
  RecordSink *sink = user_data;
  sink->flow = gst_bag_streams_push_record (sink->streams, opcode, content);
  return sink->flow == GST_FLOW_OK;
}

/* Whether there are several messages, all of one log time. */
static gboolean
has_one_log_time (GstBagPlayer *self)
{
  guint64 start, end;
  BagMessage message;
  return bag_merger_get_range (self->reader, &start, &end) && start == end &&
         bag_merger_seek (self->reader, 0, NULL) &&
         bag_merger_next (self->reader, &message, NULL) &&
         bag_merger_next (self->reader, &message, NULL);
}

/* What is played, and where its time stamps begin. */
static gboolean
set_range (GstBagPlayer *self, GError **error)
{
  const GstBagTimes *times = gst_bag_streams_get_times (self->streams);
  const guint64 from = gst_bag_times_to_log (times, self->settings.streams.from);
  const guint64 to = gst_bag_times_to_log (times, self->settings.streams.to);
  if (!bag_merger_get_range (self->reader, &self->log_start, &self->log_end))
    self->log_start = self->log_end = 0;
  self->log_start = MIN (MAX (self->log_start, from), (guint64)G_MAXINT64);
  self->log_end = CLAMP (self->log_end, self->log_start, to);
  return look_ahead (self, self->log_start, &self->base, error);
}

static gboolean
open_recording (GstBagPlayer *self, GError **error)
{
  self->reader = self->open (self->user_data, &self->settings.streams.limits, error);
  if (!self->reader)
    return FALSE;
  for (guint i = 0; i < bag_merger_get_n_channels (self->reader); i++)
    gst_bag_streams_add_channel (self->streams, bag_merger_get_channel (self->reader, i));
  if (has_one_log_time (self))
    gst_bag_streams_ignore_log (self->streams);
  if (!set_range (self, error))
    return FALSE;
  /* start-time and stop-time are time stamps; the axis that relates them to log times is known only
   * after the first messages were read. */
  if (gst_bag_streams_get_times (self->streams)->axis != 0 && !set_range (self, error))
    return FALSE;
  post_warning (self);
  if (!has_content (self)) {
    g_set_error_literal (error, MCAP_ERROR, MCAP_ERROR_FORMAT, "The recording has no messages");
    return FALSE;
  }
  gst_bag_streams_add_pads (self->streams);
  if (has_record (self, MCAP_OP_ATTACHMENT))
    gst_bag_streams_add_record_pad (self->streams, MCAP_OP_ATTACHMENT);
  if (has_record (self, MCAP_OP_METADATA))
    gst_bag_streams_add_record_pad (self->streams, MCAP_OP_METADATA);
  if (self->has_seen_all || bag_merger_has_all_channels (self->reader))
    gst_bag_streams_end_pads (self->streams);

  bag_merger_end_opening (self->reader);
  gst_segment_init (&self->segment, GST_FORMAT_TIME);
  const GstClockTime last =
      gst_bag_times_from_log (gst_bag_streams_get_times (self->streams), self->log_end);
  self->segment.duration = last - MIN (last, self->base);
  GST_DEBUG_OBJECT (self->element,
      "log times %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT
      ", segments begin at %" G_GUINT64_FORMAT,
      self->log_start, self->log_end, self->base);
  set_segment (self);
  gst_element_post_message (
      self->element, gst_message_new_duration_changed (GST_OBJECT (self->element)));
  return TRUE;
}

gboolean
gst_bag_player_open (GstBagPlayer *self)
{
  g_autoptr (GError) error = NULL;
  g_rec_mutex_lock (&self->lock);
  gboolean done = open_recording (self, &error);
  if (error)
    gst_bag_error_post (self->element, error);
  /* Where not all channels are known, pads that are wanted may be added later. */
  if (done && (self->has_seen_all || bag_merger_has_all_channels (self->reader)))
    done = !gst_bag_streams_fail_unlinked (self->streams);
  g_rec_mutex_unlock (&self->lock);
  return done;
}

static gboolean
push_records (GstBagPlayer *self, GstFlowReturn *flow, GError **error)
{
  RecordSink records = {self->streams, GST_FLOW_OK};
  const gboolean done = !self->settings.streams.raw ||
                        bag_merger_foreach_record (self->reader, push_record, &records, error);
  self->has_pushed_records = TRUE;
  *flow = records.flow;
  return done;
}

static void
end (GstBagPlayer *self)
{
  gst_bag_streams_end_pads (self->streams);
  if (gst_bag_streams_fail_unlinked (self->streams))
    return;
  post_progress (self, GST_PROGRESS_TYPE_COMPLETE);
  if (self->segment.flags & GST_SEGMENT_FLAG_SEGMENT) {
    const gint64 stop =
        (gint64)(GST_CLOCK_TIME_IS_VALID (self->segment.stop) ? self->segment.stop
                                                              : self->segment.duration);
    GstMessage *message =
        gst_message_new_segment_done (GST_OBJECT (self->element), GST_FORMAT_TIME, stop);
    gst_message_set_seqnum (message, self->seqnum);
    gst_element_post_message (self->element, message);
    GstEvent *event = gst_event_new_segment_done (GST_FORMAT_TIME, stop);
    gst_event_set_seqnum (event, self->seqnum);
    gst_bag_streams_push_end (self->streams, event);
    return;
  }
  GstEvent *event = gst_event_new_eos ();
  gst_event_set_seqnum (event, self->seqnum);
  gst_bag_streams_push_end (self->streams, event);
}

static void
stop_with_flow (GstBagPlayer *self, GstFlowReturn flow)
{
  GST_DEBUG_OBJECT (self->element, "pausing: %s", gst_flow_get_name (flow));
  set_task_state (self, GST_TASK_PAUSED);
  if (flow == GST_FLOW_EOS) {
    end (self);
  } else if (flow == GST_FLOW_NOT_LINKED || flow < GST_FLOW_EOS) {
    GST_ELEMENT_FLOW_ERROR (self->element, flow);
    post_progress (self, GST_PROGRESS_TYPE_ERROR);
    gst_bag_streams_push_end (self->streams, gst_event_new_eos ());
  }
}

static void
stop_with_error (GstBagPlayer *self, const GError *error)
{
  GST_OBJECT_LOCK (self->element);
  const gboolean is_ended = self->is_ended;
  GST_OBJECT_UNLOCK (self->element);
  /* A cancelled read is no failure: the element stops, or its source has ended. */
  const gboolean is_failure = !g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);

  if (!is_failure && is_ended && gst_bag_streams_has_pads (self->streams)) {
    stop_with_flow (self, GST_FLOW_EOS);
    return;
  }
  set_task_state (self, GST_TASK_PAUSED);
  if (!is_failure && is_ended)
    GST_ELEMENT_ERROR (self->element, STREAM, DEMUX,
        ("The stream was ended before anything of the recording was read."), (NULL));
  if (!is_failure)
    return;
  gst_bag_error_post (self->element, error);
  post_progress (self, GST_PROGRESS_TYPE_ERROR);
  gst_bag_streams_push_end (self->streams, gst_event_new_eos ());
}

/* Messages that are logged after the stop may have time stamps before it. */
static gboolean
is_after_stop (GstBagPlayer *self, const BagMessage *message)
{
  GstClockTime stop = self->settings.streams.to;
  if (GST_CLOCK_TIME_IS_VALID (self->segment.stop))
    stop = MIN (stop, self->base + self->segment.stop);
  const GstClockTime time =
      gst_bag_times_from_log (gst_bag_streams_get_times (self->streams), message->log_time);
  return time > stop && time - stop > LOOK_AHEAD;
}

static void
loop (gpointer user_data)
{
  GstBagPlayer *self = user_data;
  g_autoptr (GError) error = NULL;
  GstFlowReturn flow = GST_FLOW_OK;
  BagMessage message;

  if ((!self->reader && !open_recording (self, &error)) ||
      (!self->has_pushed_records && !push_records (self, &flow, &error))) {
    stop_with_error (self, error);
    return;
  }
  if (flow != GST_FLOW_OK) {
    stop_with_flow (self, flow);
    return;
  }
  GST_OBJECT_LOCK (self->element);
  const gboolean is_ended = self->is_ended;
  GST_OBJECT_UNLOCK (self->element);
  const gboolean found = !is_ended && bag_merger_next (self->reader, &message, &error);
  post_warning (self);
  if (error) {
    stop_with_error (self, error);
    return;
  }
  if (!found || is_after_stop (self, &message)) {
    stop_with_flow (self, GST_FLOW_EOS);
    return;
  }
  const GstClockTime time =
      gst_bag_times_from_log (gst_bag_streams_get_times (self->streams), message.log_time);
  GST_OBJECT_LOCK (self->element);
  self->n_messages++;
  if (time >= self->base)
    self->position = self->segment.position = MIN (time - self->base, self->segment.duration);
  GST_OBJECT_UNLOCK (self->element);
  post_progress (self, GST_PROGRESS_TYPE_CONTINUE);
  flow = gst_bag_streams_push (self->streams, &message);
  if (flow != GST_FLOW_OK)
    stop_with_flow (self, flow);
}

GstBagPlayer *
gst_bag_player_new (GstElement *element, const GstBagPlayerSettings *settings,
    GstPadEventFunction event, GstPadQueryFunction query, GstBagOpenFunc open, gpointer user_data)
{
  GstBagPlayer *self = g_atomic_rc_box_new0 (GstBagPlayer);
  self->element = element;
  self->settings = *settings;
  self->settings.streams.topics = NULL; /* of streams alone */
  self->streams = gst_bag_streams_new (element, &settings->streams, event, query);
  self->open = open;
  self->user_data = user_data;
  self->seqnum = gst_util_seqnum_next ();
  self->duration = self->position = GST_CLOCK_TIME_NONE;
  g_rec_mutex_init (&self->lock);
  self->task = gst_task_new (loop, self, NULL);
  gst_task_set_lock (self->task, &self->lock);
  return self;
}

GstBagPlayer *
gst_bag_player_ref (GstBagPlayer *self)
{
  return g_atomic_rc_box_acquire (self);
}

static void
clear_player (gpointer data)
{
  GstBagPlayer *self = data;
  gst_object_unref (self->task);
  g_clear_pointer (&self->reader, bag_merger_free);
  g_rec_mutex_clear (&self->lock);
}

void
gst_bag_player_unref (GstBagPlayer *self)
{
  g_atomic_rc_box_release_full (self, clear_player);
}

void
gst_bag_player_start (GstBagPlayer *self)
{
  set_task_state (self, GST_TASK_STARTED);
}

void
gst_bag_player_stop (GstBagPlayer *self)
{
  GST_OBJECT_LOCK (self->element);
  /* Set before the recording is open, the reader does not change afterwards. */
  if (self->is_open)
    bag_merger_cancel (self->reader);
  self->is_open = FALSE;
  self->is_stopped = TRUE;
  gst_task_stop (self->task);
  GST_OBJECT_UNLOCK (self->element);
  gst_task_join (self->task);
  /* A seek in another thread holds this lock while it uses the streams. */
  g_rec_mutex_lock (&self->lock);
  GST_OBJECT_LOCK (self->element);
  GstBagStreams *streams = g_steal_pointer (&self->streams);
  self->n_damaged += gst_bag_streams_get_n_damaged (streams);
  GST_OBJECT_UNLOCK (self->element);
  gst_bag_streams_free (streams);
  g_rec_mutex_unlock (&self->lock);
}

void
gst_bag_player_set_playing (GstBagPlayer *self, gboolean playing)
{
  GST_OBJECT_LOCK (self->element);
  self->is_playing = playing;
  GST_OBJECT_UNLOCK (self->element);
}

void
gst_bag_player_end (GstBagPlayer *self)
{
  gst_bag_streams_end_pads (self->streams);
  GST_OBJECT_LOCK (self->element);
  self->is_ended = TRUE;
  GST_OBJECT_UNLOCK (self->element);
}

void
gst_bag_player_get_stats (GstBagPlayer *self, guint64 *messages, guint64 *damaged)
{
  GST_OBJECT_LOCK (self->element);
  *messages = self->n_messages;
  *damaged = self->n_damaged + (self->streams ? gst_bag_streams_get_n_damaged (self->streams) : 0);
  GST_OBJECT_UNLOCK (self->element);
}

static gboolean
push_flush_start (GstElement *element, GstPad *pad, gpointer user_data)
{
  gst_pad_push_event (pad, gst_event_ref (user_data));
  return TRUE;
}

/* Where a seek would begin or end; -1 for no end. */
static gint64
get_target (GstSeekType type, gint64 value, guint64 current, guint64 duration)
{
  if (type == GST_SEEK_TYPE_NONE)
    return (gint64)current;
  if (type == GST_SEEK_TYPE_END)
    return MAX (value + (gint64)duration, 0);
  return value;
}

/* gst_segment_do_seek() asserts that the start is not after the stop. */
static gboolean
is_in_order (const GstSegment *segment, GstSeekType start_type, gint64 start, GstSeekType stop_type,
    gint64 stop)
{
  const gint64 first = get_target (start_type, start, segment->start, segment->duration);
  const gint64 last = get_target (stop_type, stop, segment->stop, segment->duration);
  return last < 0 || first <= last;
}

gboolean
gst_bag_player_seek (GstBagPlayer *self, GstEvent *event)
{
  gdouble rate;
  GstFormat format;
  GstSeekFlags flags;
  GstSeekType start_type, stop_type;
  gint64 start, stop;
  GError *error = NULL;

  gst_event_parse_seek (event, &rate, &format, &flags, &start_type, &start, &stop_type, &stop);
  GST_OBJECT_LOCK (self->element);
  const gboolean is_open = self->is_open;
  const gboolean is_done = self->shown_seqnum == gst_event_get_seqnum (event);
  GstSegment trial = self->shown;
  GST_OBJECT_UNLOCK (self->element);
  /* Every sink of a pipeline forwards the same seek event. */
  if (is_open && is_done)
    return TRUE;
  if (!is_open || format != GST_FORMAT_TIME || rate <= 0)
    return FALSE;
  /* What cannot be done is refused before anything is flushed. */
  if (!is_in_order (&trial, start_type, start, stop_type, stop) ||
      !gst_segment_do_seek (&trial, rate, format, flags, start_type, start, stop_type, stop, NULL))
    return FALSE;
  /* The same event may come by several branches. */
  GST_OBJECT_LOCK (self->element);
  const gboolean is_known = self->seek == gst_event_get_seqnum (event);
  self->seek = gst_event_get_seqnum (event);
  GST_OBJECT_UNLOCK (self->element);
  if (is_known)
    return TRUE;

  GST_DEBUG_OBJECT (self->element, "seek %" GST_PTR_FORMAT, event);
  if (flags & GST_SEEK_FLAG_FLUSH) {
    GstEvent *flush = gst_event_new_flush_start ();
    gst_event_set_seqnum (flush, gst_event_get_seqnum (event));
    gst_element_foreach_src_pad (self->element, push_flush_start, flush);
    gst_event_unref (flush);
  }
  set_task_state (self, GST_TASK_PAUSED);
  g_rec_mutex_lock (&self->lock);
  if (!self->streams) {
    g_rec_mutex_unlock (&self->lock);
    return FALSE;
  }
  GstSegment segment = self->segment;
  const gboolean valid =
      is_in_order (&segment, start_type, start, stop_type, stop) &&
      gst_segment_do_seek (&segment, rate, format, flags, start_type, start, stop_type, stop, NULL);
  self->seqnum = gst_event_get_seqnum (event);
  if (flags & GST_SEEK_FLAG_FLUSH) {
    GstEvent *flush = gst_event_new_flush_stop (TRUE);
    gst_event_set_seqnum (flush, self->seqnum);
    gst_bag_streams_push_event (self->streams, flush);
  }
  gst_bag_streams_reset_flow (self->streams);
  if (valid) {
    self->segment = segment;
    set_segment (self);
    if (!bag_merger_seek (self->reader,
            gst_bag_times_to_log (
                gst_bag_streams_get_times (self->streams), self->base + segment.position),
            &error)) {
      gst_bag_error_post (self->element, error);
      g_error_free (error);
    }
  }
  set_task_state (self, GST_TASK_STARTED);
  g_rec_mutex_unlock (&self->lock);
  return valid;
}

static void
answer_segment (const GstBagPlayer *self, GstQuery *query)
{
  const GstSegment *segment = &self->shown;
  gst_query_set_segment (query, segment->rate, GST_FORMAT_TIME, (gint64)segment->start,
      (gint64)(GST_CLOCK_TIME_IS_VALID (segment->stop) ? segment->stop : segment->duration));
}

gboolean
gst_bag_player_query (GstBagPlayer *self, GstQuery *query, gboolean *answered)
{
  GstFormat format = GST_FORMAT_TIME;
  gboolean is_open = FALSE;

  GST_OBJECT_LOCK (self->element);
  is_open = self->is_open;
  switch (GST_QUERY_TYPE (query)) {
  case GST_QUERY_POSITION:
    gst_query_parse_position (query, &format, NULL);
    if (is_open && format == GST_FORMAT_TIME)
      gst_query_set_position (query, format, (gint64)self->position);
    break;
  case GST_QUERY_DURATION:
    gst_query_parse_duration (query, &format, NULL);
    if (is_open && format == GST_FORMAT_TIME)
      gst_query_set_duration (query, format, (gint64)self->duration);
    break;
  case GST_QUERY_SEEKING:
    gst_query_parse_seeking (query, &format, NULL, NULL, NULL);
    if (is_open && format == GST_FORMAT_TIME)
      gst_query_set_seeking (query, format, TRUE, 0, (gint64)self->duration);
    break;
  case GST_QUERY_SEGMENT:
    if (is_open)
      answer_segment (self, query);
    break;
  default:
    GST_OBJECT_UNLOCK (self->element);
    return FALSE;
  }
  GST_OBJECT_UNLOCK (self->element);
  *answered = is_open && format == GST_FORMAT_TIME;
  return TRUE;
}
