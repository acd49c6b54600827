/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-mcapsink
 * @title: mcapsink
 * @short_description: records clouds, poses and anything else in MCAP files
 *
 * Records buffers in the order in which they arrive, in files that the tools of ROS 2 and others
 * open: clouds as sensor_msgs/msg/PointCloud2, the poses that they carry as
 * geometry_msgs/msg/PoseWithCovarianceStamped, nav_msgs/msg/Odometry and tf2_msgs/msg/TFMessage,
 * their scores and status as diagnostic_msgs/msg/DiagnosticArray, and buffers of any other caps as
 * they are. Topics and frames are properties of the pads (`cloud_0::topic=/lidar/points`), which
 * may be requested at any time. Inputs do not wait for each other.
 *
 * Buffers are not synchronized to the clock. In PAUSED no buffer is taken.
 *
 * A chunk is written as a whole with its index behind it, room for the file's summary is reserved
 * before each write, and data go to the disk every #GstMcapSink:sync-interval, so that after a
 * crash, a power failure or an error of the disk all but the last chunk can be read. A file is
 * finished when all inputs have ended, on the way to READY, and after an error.
 *
 * A message `mcap-file-closed` (`location`, string; `bytes`, `messages`, guint64) is posted for
 * each finished file.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 lidartestsrc num-buffers=20 ! mcapsink location=drive.mcap
 * gst-launch-1.0 lidartestsrc num-buffers=20 ! queue ! rec.cloud_0 mcapsink name=rec \
 *     location=drive-%05d.mcap max-size-time=1000000000 compression=zstd cloud_0::topic=/top/points
 * ]|
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstmcapsink.h"

#include "gst/common/gstlocation.h"
#include "gst/mcap/container/mcap-output.h"
#include "gst/mcap/container/mcap-format.h"
#include "gst/mcap/container/mcap-location.h"

GST_DEBUG_CATEGORY_STATIC (gst_mcap_sink_debug);
#define GST_CAT_DEFAULT gst_mcap_sink_debug

#define DEFAULT_SYNC_INTERVAL GST_SECOND

/* What a cloud's message and its poses take beyond its points, at most. */
#define MESSAGE_OVERHEAD 16384

enum {
  PROP_0,
  PROP_LOCATION,
  PROP_OVERWRITE,
  PROP_MAX_SIZE_BYTES,
  PROP_MAX_SIZE_TIME,
  PROP_SYNC_INTERVAL,
  PROP_CURRENT_LOCATION
};

struct _GstMcapSink {
  GstMcapBase parent;

  /* properties, under the object lock */
  gchar *location;
  gboolean overwrite;
  guint64 max_size_bytes;
  guint64 max_size_time;
  guint64 sync_interval;
  gchar *current_location;

  gchar *pattern; /* the path, or its pattern, that location means; between READY and READY */

  /* under the lock */
  McapOutput *file;
  gboolean numbered;
  guint next_number;
  gboolean has_opened;
  guint64 file_time; /* log time that the file began at */

  /* Whether buffers are taken. */
  GMutex wait_lock;
  GCond wait_cond;
  gboolean running; /* PAUSED or PLAYING: buffers are waited with for PLAYING */
  gboolean playing;
  gboolean told_eos; /* since it plays */
};

G_DEFINE_TYPE (GstMcapSink, gst_mcap_sink, GST_TYPE_MCAP_BASE)
GST_ELEMENT_REGISTER_DEFINE (mcapsink, "mcapsink", GST_RANK_NONE, GST_TYPE_MCAP_SINK)

/* Files */

static gboolean
gst_mcap_sink_write (GstMcapBase *base, const McapPart *parts, guint n_parts, GError **error)
{
  GstMcapSink *self = GST_MCAP_SINK (base);
  GstMcapFile *written = &gst_mcap_base_get_session (base)->file;
  guint64 size = mcap_writer_get_summary_size (written->recorder.writer);

  for (guint i = 0; i < n_parts; i++)
    size += parts[i].size;
  return (written->finishing || mcap_output_reserve (self->file, size, error)) &&
         mcap_output_write (self->file, parts, n_parts, error);
}

/* Finishes the file at hand. @failed: a write to it did. */
static gboolean
close_file (GstMcapSink *self, gboolean failed, GError **error)
{
  GstMcapBase *base = GST_MCAP_BASE (self);
  GstMcapFile *written = &gst_mcap_base_get_session (base)->file;
  g_autofree gchar *location = NULL;
  g_autofree gchar *shown = NULL;
  McapOutput *file = self->file;
  guint64 bytes, messages = 0;
  gboolean ok = TRUE;

  if (file == NULL)
    return TRUE;
  if (gst_mcap_file_is_open (written))
    ok = gst_mcap_file_finish (written, failed, &messages, error);
  if (written->maps.length > 0)
    GST_INFO_OBJECT (self, "the checksums of %u maps were not known at the end of %s",
        written->maps.length, self->current_location);
  GST_OBJECT_LOCK (self);
  self->file = NULL;
  location = g_steal_pointer (&self->current_location);
  GST_OBJECT_UNLOCK (self);
  /* Fields of structures are UTF-8, which names of files need not be. */
  shown = g_filename_display_name (location);
  bytes = mcap_output_get_position (file);
  ok = mcap_output_close (file, ok ? error : NULL) && ok;
  GST_INFO_OBJECT (self,
      "finished %s: %" G_GUINT64_FORMAT " bytes, %" G_GUINT64_FORMAT " messages%s", shown, bytes,
      messages, ok && !failed ? "" : ", after an error");
  gst_mcap_session_post (gst_mcap_base_get_session (base),
      gst_message_new_element (GST_OBJECT (self),
          gst_structure_new ("mcap-file-closed", "location", G_TYPE_STRING, shown, "bytes",
              G_TYPE_UINT64, bytes, "messages", G_TYPE_UINT64, messages, NULL)));
  return ok;
}

static gboolean
open_file (GstMcapSink *self, guint64 log_time, GError **error)
{
  g_autofree gchar *path = NULL;
  gboolean overwrite;
  gint64 interval;
  McapOutput *file;

  GST_OBJECT_LOCK (self);
  overwrite = self->overwrite;
  interval = self->sync_interval / GST_USECOND;
  GST_OBJECT_UNLOCK (self);

  for (;;) {
    g_autoptr (GError) failure = NULL;

    g_free (path);
    path = mcap_location_format (self->pattern, self->next_number);
    if (self->numbered)
      self->next_number++;
    file = mcap_output_open (path, overwrite, interval, &failure);
    if (file)
      break;
    /* Recordings of earlier runs are kept: the next free number is taken. */
    if (self->numbered && !overwrite && g_file_test (path, G_FILE_TEST_EXISTS))
      continue;
    g_propagate_error (error, g_steal_pointer (&failure));
    return FALSE;
  }
  GST_INFO_OBJECT (self, "opened %s", path);
  GST_OBJECT_LOCK (self);
  self->file = file;
  g_free (self->current_location);
  self->current_location = g_steal_pointer (&path);
  GST_OBJECT_UNLOCK (self);
  self->file_time = log_time;
  self->has_opened = TRUE;
  return gst_mcap_base_open (GST_MCAP_BASE (self), log_time, error);
}

static gboolean
rotate (GstMcapSink *self, guint64 log_time, GError **error)
{
  GST_DEBUG_OBJECT (
      self, "file %u begins at log time %" G_GUINT64_FORMAT, self->next_number, log_time);
  return close_file (self, FALSE, error) && open_file (self, log_time, error);
}

static gboolean
gst_mcap_sink_prepare (GstMcapBase *base, guint64 log_time, guint64 size, GError **error)
{
  GstMcapSink *self = GST_MCAP_SINK (base);
  McapWriter *writer = gst_mcap_base_get_session (base)->file.recorder.writer;
  guint64 max_bytes, max_time, expected;
  gboolean has_messages;

  if (writer == NULL)
    return open_file (self, log_time, error);
  if (!self->numbered)
    return TRUE;
  GST_OBJECT_LOCK (self);
  max_bytes = self->max_size_bytes;
  max_time = self->max_size_time;
  GST_OBJECT_UNLOCK (self);
  has_messages =
      mcap_writer_get_pending_size (writer) > 0 || mcap_writer_get_statistics (writer).messages > 0;
  expected = mcap_writer_get_position (writer) + mcap_writer_get_pending_size (writer) +
             mcap_writer_get_summary_size (writer) + size + MESSAGE_OVERHEAD;
  /* Attachments may have come before, of any time. */
  if (!has_messages)
    self->file_time = log_time;
  if (has_messages &&
      ((max_bytes > 0 && expected > max_bytes) ||
          gst_mcap_file_is_full (&gst_mcap_base_get_session (base)->file, size) ||
          (max_time > 0 && log_time >= self->file_time && log_time - self->file_time >= max_time)))
    return rotate (self, log_time, error);
  return TRUE;
}

/* Posts EOS, in PLAYING only: a bin forgets the EOS messages of its sinks when it pauses, so that
 * one of before, or of meanwhile, is posted when it plays. @again: also where one was posted since.
 */
static void
post_eos (GstMcapSink *self, gboolean again)
{
  gboolean tells;

  g_mutex_lock (&self->wait_lock);
  tells = self->playing && (again || !self->told_eos);
  self->told_eos |= tells;
  g_mutex_unlock (&self->wait_lock);
  if (tells) {
    GstMessage *message = gst_message_new_eos (GST_OBJECT (self));

    gst_message_set_seqnum (message, gst_mcap_base_get_session (GST_MCAP_BASE (self))->origins.eos);
    gst_mcap_session_post (gst_mcap_base_get_session (GST_MCAP_BASE (self)), message);
  }
}

static gboolean
gst_mcap_sink_end (GstMcapBase *base, gboolean eos, GError **error)
{
  GstMcapSink *self = GST_MCAP_SINK (base);
  const gboolean failed = gst_mcap_base_get_session (base)->has_failed;

  /* A recording of nothing is a file as well. */
  if (eos && !self->has_opened && !open_file (self, 0, error))
    return FALSE;
  if (!close_file (self, failed, error))
    return FALSE;
  if (eos)
    post_eos (self, TRUE);
  return TRUE;
}

/* As GstBaseSink does, for its bin. */
static void
gst_mcap_sink_stream_started (GstMcapBase *base, const GstMcapOrigins *origins)
{
  GstMessage *message = gst_message_new_stream_start (GST_OBJECT (base));

  gst_message_set_seqnum (message, origins->stream_start);
  if (origins->group_id != GST_GROUP_ID_INVALID)
    gst_message_set_group_id (message, origins->group_id);
  gst_element_post_message (GST_ELEMENT (base), message);
}

/* Waiting for PLAYING */

/* Pads may be requested, and are active, in READY as well. */
static GstFlowReturn
gst_mcap_sink_wait (GstMcapBase *base, GstPad *pad)
{
  GstMcapSink *self = GST_MCAP_SINK (base);
  gboolean flushing;

  g_mutex_lock (&self->wait_lock);
  while (!(flushing = GST_PAD_IS_FLUSHING (pad) || !self->running) && !self->playing)
    g_cond_wait (&self->wait_cond, &self->wait_lock);
  g_mutex_unlock (&self->wait_lock);
  return flushing ? GST_FLOW_FLUSHING : GST_FLOW_OK;
}

static void
set_taking (GstMcapSink *self, gboolean running, gboolean playing)
{
  g_mutex_lock (&self->wait_lock);
  self->running = running;
  self->playing = playing;
  if (!playing)
    self->told_eos = FALSE;
  g_cond_broadcast (&self->wait_cond);
  g_mutex_unlock (&self->wait_lock);
}

static gboolean
gst_mcap_sink_flush (GstMcapBase *base, GstPad *pad, GstEvent *event)
{
  GstMcapSink *self = GST_MCAP_SINK (base);

  /* The pad is flushing already. */
  g_mutex_lock (&self->wait_lock);
  g_cond_broadcast (&self->wait_cond);
  g_mutex_unlock (&self->wait_lock);
  return TRUE;
}

static void
gst_mcap_sink_add_stats (GstMcapBase *base, GstStructure *stats)
{
  GstMcapSink *self = GST_MCAP_SINK (base);
  guint64 synced;

  GST_OBJECT_LOCK (self);
  synced = self->file ? mcap_output_get_synced (self->file) : 0;
  GST_OBJECT_UNLOCK (self);
  gst_structure_set (stats, "synced-bytes", G_TYPE_UINT64, synced, NULL);
}

/* States */

static gboolean
check_location (GstMcapSink *self)
{
  g_autofree gchar *location = NULL;
  g_autofree gchar *shown = NULL;
  g_autoptr (GError) error = NULL;
  gboolean splits, valid;

  GST_OBJECT_LOCK (self);
  location = g_strdup (self->location);
  splits = self->max_size_bytes > 0 || self->max_size_time > 0;
  GST_OBJECT_UNLOCK (self);

  shown = location ? g_filename_display_name (location) : NULL;
  g_clear_pointer (&self->pattern, g_free);
  if (location && *location)
    self->pattern = gst_location_resolve (location, GST_LOCATION_WRITE, &error);
  /* What a URI escapes is no pattern. */
  valid = self->pattern == NULL || mcap_location_check (self->pattern, &self->numbered);
  if (location == NULL || *location == '\0')
    GST_ELEMENT_ERROR (self, RESOURCE, NOT_FOUND,
        ("No file to record in: set the property \"location\"."), (NULL));
  else if (self->pattern == NULL)
    gst_element_message_full (GST_ELEMENT (self), GST_MESSAGE_ERROR, error->domain, error->code,
        g_strdup (error->message), NULL, __FILE__, GST_FUNCTION, __LINE__);
  else if (!valid)
    GST_ELEMENT_ERROR (self, RESOURCE, SETTINGS,
        ("\"%s\" is no pattern of file names: it may have one %%05d, and %%%% for a percent sign",
            shown),
        (NULL));
  else if (splits && !self->numbered)
    GST_ELEMENT_ERROR (self, RESOURCE, SETTINGS,
        ("Several files need several names: put a %%05d into the location \"%s\"", shown), (NULL));
  else
    return TRUE;
  return FALSE;
}

static GstStateChangeReturn
gst_mcap_sink_change_state (GstElement *element, GstStateChange transition)
{
  GstMcapSink *self = GST_MCAP_SINK (element);
  GstMcapBase *base = GST_MCAP_BASE (element);
  GstStateChangeReturn result;

  switch (transition) {
  case GST_STATE_CHANGE_READY_TO_PAUSED:
    if (!check_location (self))
      return GST_STATE_CHANGE_FAILURE;
    self->next_number = 0;
    set_taking (self, TRUE, FALSE);
    break;
  case GST_STATE_CHANGE_PAUSED_TO_PLAYING:
    set_taking (self, TRUE, TRUE);
    break;
  case GST_STATE_CHANGE_PLAYING_TO_PAUSED:
    set_taking (self, TRUE, FALSE);
    break;
  case GST_STATE_CHANGE_PAUSED_TO_READY:
    set_taking (self, FALSE, FALSE);
    break;
  default:
    break;
  }
  result = GST_ELEMENT_CLASS (gst_mcap_sink_parent_class)->change_state (element, transition);
  if (transition == GST_STATE_CHANGE_PAUSED_TO_PLAYING) {
    gst_mcap_base_lock (base);
    if (gst_mcap_base_get_session (base)->has_ended)
      post_eos (self, FALSE);
    gst_mcap_base_unlock (base);
  }
  return result;
}

/* Upstream events that an application sends to its pipeline, such as seeks, go to all inputs:
 * GstElement sends them to a source pad, which a sink has not. */
static gboolean
gst_mcap_sink_send_event (GstElement *element, GstEvent *event)
{
  g_autolist (GstPad) pads = NULL;
  gboolean done = FALSE;

  if (!GST_EVENT_IS_UPSTREAM (event))
    return GST_ELEMENT_CLASS (gst_mcap_sink_parent_class)->send_event (element, event);
  GST_OBJECT_LOCK (element);
  pads = g_list_copy_deep (element->sinkpads, (GCopyFunc)gst_object_ref, NULL);
  GST_OBJECT_UNLOCK (element);
  for (GList *l = pads; l; l = l->next)
    if (gst_pad_is_linked (l->data))
      done |= gst_pad_push_event (l->data, gst_event_ref (event));
  gst_event_unref (event);
  return done;
}

/* Properties */

static void
gst_mcap_sink_set_property (GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
  GstMcapSink *self = GST_MCAP_SINK (object);

  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_LOCATION:
    g_free (self->location);
    self->location = g_value_dup_string (value);
    break;
  case PROP_OVERWRITE:
    self->overwrite = g_value_get_boolean (value);
    break;
  case PROP_MAX_SIZE_BYTES:
    self->max_size_bytes = g_value_get_uint64 (value);
    break;
  case PROP_MAX_SIZE_TIME:
    self->max_size_time = g_value_get_uint64 (value);
    break;
  case PROP_SYNC_INTERVAL:
    self->sync_interval = g_value_get_uint64 (value);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, spec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_mcap_sink_get_property (GObject *object, guint id, GValue *value, GParamSpec *spec)
{
  GstMcapSink *self = GST_MCAP_SINK (object);

  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_LOCATION:
    g_value_set_string (value, self->location);
    break;
  case PROP_OVERWRITE:
    g_value_set_boolean (value, self->overwrite);
    break;
  case PROP_MAX_SIZE_BYTES:
    g_value_set_uint64 (value, self->max_size_bytes);
    break;
  case PROP_MAX_SIZE_TIME:
    g_value_set_uint64 (value, self->max_size_time);
    break;
  case PROP_SYNC_INTERVAL:
    g_value_set_uint64 (value, self->sync_interval);
    break;
  case PROP_CURRENT_LOCATION:
    g_value_set_string (value, self->current_location);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, spec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_mcap_sink_finalize (GObject *object)
{
  GstMcapSink *self = GST_MCAP_SINK (object);

  g_free (self->location);
  g_free (self->current_location);
  g_free (self->pattern);
  g_mutex_clear (&self->wait_lock);
  g_cond_clear (&self->wait_cond);
  G_OBJECT_CLASS (gst_mcap_sink_parent_class)->finalize (object);
}

static void
gst_mcap_sink_class_init (GstMcapSinkClass *klass)
{
  const GParamFlags ready = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY;
  const GParamFlags playing =
      G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING;
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstMcapBaseClass *base_class = GST_MCAP_BASE_CLASS (klass);

  object_class->set_property = gst_mcap_sink_set_property;
  object_class->get_property = gst_mcap_sink_get_property;
  object_class->finalize = gst_mcap_sink_finalize;
  element_class->change_state = gst_mcap_sink_change_state;
  element_class->send_event = gst_mcap_sink_send_event;
  GST_DEBUG_CATEGORY_INIT (gst_mcap_sink_debug, "mcapsink", 0, "MCAP recorder");
  base_class->category = gst_mcap_sink_debug;
  base_class->write = gst_mcap_sink_write;
  base_class->prepare = gst_mcap_sink_prepare;
  base_class->end = gst_mcap_sink_end;
  base_class->stream_started = gst_mcap_sink_stream_started;
  base_class->wait = gst_mcap_sink_wait;
  base_class->flush = gst_mcap_sink_flush;
  base_class->add_stats = gst_mcap_sink_add_stats;

  /**
   * GstMcapSink:location:
   *
   * Where to record: a path, also one that begins with `~/`, or a URI `file:///…`. With a `%05d` in
   * it files are numbered from 0, behind those that are there already unless #GstMcapSink:overwrite
   * is set.
   */
  g_object_class_install_property (object_class, PROP_LOCATION,
      g_param_spec_string ("location", "Location",
          "File to record in, or a pattern with one %05d for numbered files", NULL, ready));
  g_object_class_install_property (object_class, PROP_OVERWRITE,
      g_param_spec_boolean ("overwrite", "Overwrite",
          "Replace files that exist; otherwise one that does is an error, or a number skipped",
          FALSE, ready));
  /**
   * GstMcapSink:max-size-bytes:
   *
   * The next file begins before this one would become larger, compressed as if nothing were won; a
   * single message may be larger.
   */
  g_object_class_install_property (object_class, PROP_MAX_SIZE_BYTES,
      g_param_spec_uint64 ("max-size-bytes", "Max Size Bytes",
          "Bytes after which the next file begins (0: any)", 0, G_MAXUINT64, 0, playing));
  g_object_class_install_property (object_class, PROP_MAX_SIZE_TIME,
      g_param_spec_uint64 ("max-size-time", "Max Size Time",
          "Log time, ns, after which the next file begins (0: any)", 0, G_MAXUINT64, 0, playing));
  /**
   * GstMcapSink:sync-interval:
   *
   * What is written goes to the disk this often, in a thread, so that a power loss takes no more
   * than that and the chunk at hand.
   */
  g_object_class_install_property (object_class, PROP_SYNC_INTERVAL,
      g_param_spec_uint64 ("sync-interval", "Sync Interval",
          "Time between two fdatasync of a file, ns (0: never, not even at its end)", 0,
          G_MAXUINT64, DEFAULT_SYNC_INTERVAL, ready));
  g_object_class_install_property (object_class, PROP_CURRENT_LOCATION,
      g_param_spec_string ("current-location", "Current Location",
          "File being recorded, NULL: none", NULL, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));

  gst_element_class_set_static_metadata (element_class, "MCAP recorder", "Sink/File/PointCloud",
      "Records clouds, poses and other data in MCAP files", "The gst-ndt developers");
}

static void
gst_mcap_sink_init (GstMcapSink *self)
{
  g_mutex_init (&self->wait_lock);
  g_cond_init (&self->wait_cond);
  self->sync_interval = DEFAULT_SYNC_INTERVAL;
  GST_OBJECT_FLAG_SET (self, GST_ELEMENT_FLAG_SINK);
}
