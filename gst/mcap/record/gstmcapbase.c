/* SPDX-License-Identifier: MIT */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstmcapbase.h"

#include <string.h>

#include "gst/mcap/container/mcap-format.h"
#include "gstmcapalarm.h"
#include "gstmcapmap.h"
#include "gstmcappipeline.h"
#include "gstmcaprequest.h"

enum { PROP_0, PROP_SETTINGS };

static guint prop_stats;

typedef struct {
  /* under the object lock */
  GstMcapSettings settings;
  GstMcapCounts counts;
  guint64 dropped;
  GHashTable *reserved; /* names of pads that are being added */
  GstMcapAlarm *alarm;  /* in PAUSED and PLAYING */
  GstMcapMap *map;      /* the same, where maps are recorded */

  /* under it */
  GMutex lock;
  GstMcapSession session;
} GstMcapBasePrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_CODE (GstMcapBase, gst_mcap_base, GST_TYPE_ELEMENT,
    G_ADD_PRIVATE (GstMcapBase)
        G_IMPLEMENT_INTERFACE (GST_TYPE_CHILD_PROXY, gst_mcap_request_child_proxy_init))

#define GET_PRIVATE(self) ((GstMcapBasePrivate *)gst_mcap_base_get_instance_private (self))
#define CATEGORY(self) (GST_MCAP_BASE_GET_CLASS (self)->category)

static GstStaticPadTemplate cloud_template = GST_STATIC_PAD_TEMPLATE ("cloud_%u", GST_PAD_SINK,
    GST_PAD_REQUEST, GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_MAKE (GST_POINT_CLOUD_FORMATS_ALL)));
static GstStaticPadTemplate pose_template =
    GST_STATIC_PAD_TEMPLATE ("pose_%u", GST_PAD_SINK, GST_PAD_REQUEST,
        GST_STATIC_CAPS (
            GST_POSE_CAPS_NAME "; " GST_POINT_CLOUD_CAPS_MAKE (GST_POINT_CLOUD_FORMATS_ALL)));
static GstStaticPadTemplate data_template =
    GST_STATIC_PAD_TEMPLATE ("data_%u", GST_PAD_SINK, GST_PAD_REQUEST, GST_STATIC_CAPS_ANY);

/* Lock and messages */

void
gst_mcap_base_lock (GstMcapBase *self)
{
  g_mutex_lock (&GET_PRIVATE (self)->lock);
}

void
gst_mcap_base_unlock (GstMcapBase *self)
{
  GstMcapBasePrivate *priv = GET_PRIVATE (self);
  GQueue messages = priv->session.messages;
  GstMessage *message;

  g_queue_init (&priv->session.messages);
  g_mutex_unlock (&priv->lock);
  while ((message = g_queue_pop_head (&messages)))
    gst_element_post_message (GST_ELEMENT (self), message);
}

/* With the lock held */

GstMcapSession *
gst_mcap_base_get_session (GstMcapBase *self)
{
  return &GET_PRIVATE (self)->session;
}

static gboolean
write_parts (gpointer user_data, const McapPart *parts, guint n_parts, GError **error)
{
  return GST_MCAP_BASE_GET_CLASS (user_data)->write (user_data, parts, n_parts, error);
}

gboolean
gst_mcap_base_open (GstMcapBase *self, guint64 log_time, GError **error)
{
  GstMcapBasePrivate *priv = GET_PRIVATE (self);
  GstMcapSettings settings;
  gboolean ok;

  gst_mcap_settings_init (&settings);
  GST_OBJECT_LOCK (self);
  gst_mcap_settings_copy (&settings, &priv->settings);
  GST_OBJECT_UNLOCK (self);
  ok = gst_mcap_file_open (&priv->session.file, &settings, &priv->session.times, log_time, error);
  gst_mcap_settings_clear (&settings);
  return ok;
}

static gboolean
prepare (GstElement *element, guint64 log_time, guint64 size, GError **error)
{
  return GST_MCAP_BASE_GET_CLASS (element)->prepare (
      GST_MCAP_BASE (element), log_time, size, error);
}

static gboolean
end (GstElement *element, gboolean eos, GError **error)
{
  return GST_MCAP_BASE_GET_CLASS (element)->end (GST_MCAP_BASE (element), eos, error);
}

static void
update_counts (GstMcapBase *self)
{
  GstMcapBasePrivate *priv = GET_PRIVATE (self);
  const GstMcapCounts counts = gst_mcap_file_get_counts (&priv->session.file);
  guint64 chunks;

  GST_OBJECT_LOCK (self);
  chunks = priv->counts.chunks;
  priv->counts = counts;
  priv->dropped = priv->session.dropped;
  GST_OBJECT_UNLOCK (self);
  if (counts.chunks > chunks)
    GST_CAT_DEBUG_OBJECT (CATEGORY (self), self,
        "%" G_GUINT64_FORMAT " chunks, %" G_GUINT64_FORMAT " messages and %" G_GUINT64_FORMAT
        " bytes are written",
        counts.chunks, counts.messages, counts.bytes);
}

/* Without the lock, after it was held to write. */
static GstFlowReturn
drain (GstMcapBase *self, GstPad *pad)
{
  GstMcapBaseClass *klass = GST_MCAP_BASE_GET_CLASS (self);

  return klass->drain ? klass->drain (self, pad) : GST_FLOW_OK;
}

/* The alarm */

/* @time: of g_get_monotonic_time(), 0: none. */
static void
set_alarm (GstMcapBase *self, gint64 time)
{
  GST_OBJECT_LOCK (self);
  if (time > 0 && GET_PRIVATE (self)->alarm)
    gst_mcap_alarm_set (GET_PRIVATE (self)->alarm, time);
  GST_OBJECT_UNLOCK (self);
}

/* Closes a chunk that is due, and ends the recording where an input that was waited for is gone. */
static gint64
on_alarm (gpointer user_data)
{
  GstMcapBase *self = user_data;
  GstMcapBasePrivate *priv = GET_PRIVATE (self);
  gint64 due;

  gst_mcap_base_lock (self);
  gst_mcap_session_check_end (&priv->session);
  due = gst_mcap_session_write_due (&priv->session);
  update_counts (self);
  gst_mcap_base_unlock (self);
  drain (self, NULL);
  return due;
}

/* Before the first buffer */

/* Which log times a recording has is decided once. */
static void
decide_log_time (GstMcapBase *self, GstPad *pad)
{
  GstMcapBasePrivate *priv = GET_PRIVATE (self);
  GstMcapLogTime log_time;
  gboolean is_decided;

  gst_mcap_base_lock (self);
  is_decided = priv->session.times.used != GST_MCAP_LOG_TIME_AUTO;
  gst_mcap_base_unlock (self);
  if (is_decided)
    return;
  GST_OBJECT_LOCK (self);
  log_time = priv->settings.log_time;
  GST_OBJECT_UNLOCK (self);
  const GstMcapLogTime used = gst_mcap_times_decide (log_time, pad);
  gst_mcap_base_lock (self);
  gst_mcap_session_use_log_time (&priv->session, used, log_time == GST_MCAP_LOG_TIME_PTS);
  gst_mcap_base_unlock (self);
}

/* Describes the pipeline at the first buffer, when pads are linked and caps are known. Without the
 * lock: properties of elements are read. */
static void
describe_pipeline (GstMcapBase *self)
{
  GstMcapBasePrivate *priv = GET_PRIVATE (self);
  g_autofree gchar *pipeline = NULL;
  gboolean wanted;

  gst_mcap_base_lock (self);
  wanted = !priv->session.described;
  gst_mcap_base_unlock (self);
  if (!wanted)
    return;
  GST_OBJECT_LOCK (self);
  wanted = priv->settings.attach_pipeline;
  GST_OBJECT_UNLOCK (self);
  if (wanted)
    pipeline = gst_mcap_pipeline_describe (GST_ELEMENT (self));
  gst_mcap_base_lock (self);
  if (!priv->session.described)
    priv->session.file.pipeline = g_steal_pointer (&pipeline);
  priv->session.described = TRUE;
  gst_mcap_base_unlock (self);
}

/* The map */

/* NULL: none is recorded. */
static GstMcapMap *
dup_map (GstMcapBase *self)
{
  GstMcapMap *map;

  GST_OBJECT_LOCK (self);
  map = GET_PRIVATE (self)->map ? gst_mcap_map_ref (GET_PRIVATE (self)->map) : NULL;
  GST_OBJECT_UNLOCK (self);
  return map;
}

/* What was read of maps is recorded before what comes next. @at_end: there is nothing to hold up,
 * and it is recorded at once. Without the lock. */
static void
use_map (GstMcapBase *self, GstMcapPad *pad, gboolean at_end)
{
  GstMcapSession *session = gst_mcap_base_get_session (self);
  g_autoptr (GstMcapMap) map = dup_map (self);
  GBytes *points;

  if (!map)
    return;
  gst_mcap_map_wait (map, GST_PAD (pad), at_end);
  if (!(points = gst_mcap_map_get_points (map)))
    return;
  gst_mcap_base_lock (self);
  gst_mcap_file_set_map (&session->file, points);
  if (at_end)
    gst_mcap_session_add_map (session, pad);
  gst_mcap_base_unlock (self);
}

static void
wake_map (GstMcapBase *self)
{
  g_autoptr (GstMcapMap) map = dup_map (self);

  if (map)
    gst_mcap_map_wake (map);
}

/* Buffers */

static GstFlowReturn
gst_mcap_base_chain (GstPad *sinkpad, GstObject *parent, GstBuffer *buffer)
{
  GstMcapBase *self = GST_MCAP_BASE (parent);
  GstMcapPad *pad = GST_MCAP_PAD (sinkpad);
  GstMcapSession *session = gst_mcap_base_get_session (self);
  GstFlowReturn flow = GST_MCAP_BASE_GET_CLASS (self)->wait (self, sinkpad);
  gint64 due;

  if (flow != GST_FLOW_OK) {
    gst_buffer_unref (buffer);
    return flow;
  }
  if (pad->kind == GST_MCAP_PAD_CLOUD && pad->caps == NULL) {
    gst_buffer_unref (buffer);
    GST_ELEMENT_ERROR (self, CORE, NEGOTIATION, (NULL), ("A cloud came before its caps"));
    return GST_FLOW_NOT_NEGOTIATED;
  }
  if (pad->kind == GST_MCAP_PAD_CLOUD)
    buffer = gst_point_cloud_element_take_scan (GST_ELEMENT (self), &pad->info, buffer);
  decide_log_time (self, sinkpad);
  describe_pipeline (self);
  use_map (self, pad, FALSE);
  gst_mcap_base_lock (self);
  flow = gst_mcap_session_record (session, pad, buffer);
  update_counts (self);
  due = gst_mcap_file_get_due (&session->file);
  gst_mcap_base_unlock (self);
  set_alarm (self, due);
  gst_buffer_unref (buffer);
  return flow == GST_FLOW_OK ? drain (self, sinkpad) : flow;
}

/* Events */

static gboolean
set_caps (GstMcapBase *self, GstMcapPad *pad, GstCaps *caps)
{
  g_autoptr (GError) error = NULL;
  gboolean ok;

  GST_CAT_INFO_OBJECT (CATEGORY (self), pad, "caps %" GST_PTR_FORMAT, caps);
  gst_mcap_base_lock (self);
  gst_mcap_session_flush_waiting (gst_mcap_base_get_session (self), pad);
  ok = gst_mcap_pad_set_caps (pad, caps, &error);
  gst_mcap_base_unlock (self);
  if (!ok)
    GST_ELEMENT_ERROR (self, STREAM, FORMAT, ("What has these caps cannot be recorded"),
        ("%s: %" GST_PTR_FORMAT, error->message, caps));
  return ok;
}

/* The map that the following clouds are aligned with (docs/contract.md). The checksums come in the
 * same event or in a later one of the same location. */
static void
take_map (GstMcapBase *self, GstMcapPad *pad, GstEvent *event)
{
  const GstStructure *structure = gst_event_get_structure (event);
  const gchar *location, *digest;
  g_autoptr (GstMcapMap) map = dup_map (self);
  gboolean wanted;

  GST_OBJECT_LOCK (self);
  wanted = GET_PRIVATE (self)->settings.attach_pipeline;
  GST_OBJECT_UNLOCK (self);
  if (!gst_structure_has_name (structure, "ndt-map") ||
      !(location = gst_structure_get_string (structure, "location")))
    return;
  if (map)
    gst_mcap_map_show (map, location);
  if (!wanted)
    return;
  digest = gst_structure_get_string (structure, "sha256");
  gst_mcap_base_lock (self);
  if (digest && pad->map && g_str_equal (gst_mcap_digest_get_location (pad->map), location)) {
    gst_mcap_digest_set_text (pad->map, digest);
  } else {
    g_clear_pointer (&pad->map, gst_mcap_digest_unref);
    pad->map = gst_mcap_digest_new (location, digest);
    pad->map_generation = 0;
  }
  gst_mcap_base_unlock (self);
}

static void
take_mount (GstMcapBase *self, GstMcapPad *pad, GstEvent *event)
{
  gst_mcap_base_lock (self);
  gst_mcap_pad_set_mount (pad, gst_event_get_structure (event));
  gst_mcap_base_unlock (self);
}

static void
set_eos (GstMcapBase *self, GstMcapPad *pad, gboolean eos)
{
  GST_OBJECT_LOCK (self);
  pad->eos = eos;
  GST_OBJECT_UNLOCK (self);
}

static void
start_stream (GstMcapBase *self, GstMcapPad *pad, GstEvent *event)
{
  GstMcapBaseClass *klass = GST_MCAP_BASE_GET_CLASS (self);
  GstMcapBasePrivate *priv = GET_PRIVATE (self);
  GstMcapOrigins origins;
  gboolean is_new;

  set_eos (self, pad, FALSE);
  gst_mcap_base_lock (self);
  is_new = gst_mcap_origins_take_stream_start (&priv->session.origins, event);
  origins = priv->session.origins;
  gst_mcap_base_unlock (self);
  if (is_new && klass->stream_started)
    klass->stream_started (self, &origins);
}

static gboolean
set_segment (GstMcapBase *self, GstMcapPad *pad, GstEvent *event)
{
  if (pad->kind == GST_MCAP_PAD_CLOUD &&
      !gst_point_cloud_require_time_segment (GST_ELEMENT (self), event))
    return FALSE;
  gst_mcap_base_lock (self);
  GET_PRIVATE (self)->session.origins.segment = gst_event_get_seqnum (event);
  gst_event_copy_segment (event, &pad->segment);
  gst_mcap_base_unlock (self);
  GST_CAT_INFO_OBJECT (CATEGORY (self), pad, "segment %" GST_SEGMENT_FORMAT, &pad->segment);
  return TRUE;
}

static void
take_eos (GstMcapBase *self, GstMcapPad *pad, GstEvent *event)
{
  if (GST_MCAP_BASE_GET_CLASS (self)->wait (self, GST_PAD (pad)) != GST_FLOW_OK)
    return;
  describe_pipeline (self);
  use_map (self, pad, TRUE);
  gst_mcap_base_lock (self);
  GET_PRIVATE (self)->session.origins.eos = gst_event_get_seqnum (event);
  set_eos (self, pad, TRUE);
  gst_mcap_session_check_end (&GET_PRIVATE (self)->session);
  update_counts (self);
  gst_mcap_base_unlock (self);
  drain (self, GST_PAD (pad));
}

static void
stop_flush (GstMcapBase *self, GstMcapPad *pad)
{
  gst_segment_init (&pad->segment, GST_FORMAT_TIME);
  set_eos (self, pad, FALSE);
  /* An end after the flush is another one. */
  gst_mcap_base_lock (self);
  gst_mcap_times_forget (&GET_PRIVATE (self)->session.times, pad);
  GET_PRIVATE (self)->session.has_ended = FALSE;
  gst_mcap_base_unlock (self);
}

static gboolean
gst_mcap_base_sink_event (GstPad *sinkpad, GstObject *parent, GstEvent *event)
{
  GstMcapBase *self = GST_MCAP_BASE (parent);
  GstMcapPad *pad = GST_MCAP_PAD (sinkpad);
  gboolean ok = TRUE;
  GstCaps *caps;

  GST_CAT_DEBUG_OBJECT (CATEGORY (self), pad, "%" GST_PTR_FORMAT, event);
  switch (GST_EVENT_TYPE (event)) {
  case GST_EVENT_CAPS:
    gst_event_parse_caps (event, &caps);
    ok = set_caps (self, pad, caps);
    break;
  case GST_EVENT_SEGMENT:
    ok = set_segment (self, pad, event);
    break;
  case GST_EVENT_STREAM_START:
    start_stream (self, pad, event);
    break;
  case GST_EVENT_EOS:
    take_eos (self, pad, event);
    break;
  case GST_EVENT_FLUSH_STOP:
    stop_flush (self, pad);
    ok = GST_MCAP_BASE_GET_CLASS (self)->flush (self, sinkpad, event);
    break;
  case GST_EVENT_FLUSH_START:
    wake_map (self);
    ok = GST_MCAP_BASE_GET_CLASS (self)->flush (self, sinkpad, event);
    break;
  case GST_EVENT_CUSTOM_DOWNSTREAM_STICKY:
    if (gst_event_has_name (event, "sensor-pose"))
      take_mount (self, pad, event);
    else
      take_map (self, pad, event);
    break;
  default:
    /* Gaps: inputs do not wait for each other. Tags: MCAP has none. */
    break;
  }
  gst_event_unref (event);
  return ok;
}

/* Pads */

static gboolean
activate_mode (GstPad *pad, GstObject *parent, GstPadMode mode, gboolean active)
{
  if (mode != GST_PAD_MODE_PUSH)
    return FALSE;
  if (!active)
    wake_map (GST_MCAP_BASE (parent));
  if (!active)
    GST_MCAP_BASE_GET_CLASS (parent)->flush (GST_MCAP_BASE (parent), pad, NULL);
  return TRUE;
}

static void
prepare_pad (GstElement *element, GstPad *pad)
{
  gst_pad_set_chain_function (pad, gst_mcap_base_chain);
  gst_pad_set_event_function (pad, gst_mcap_base_sink_event);
  gst_pad_set_activatemode_function (pad, activate_mode);
}

static GstPad *
gst_mcap_base_request_new_pad (
    GstElement *element, GstPadTemplate *templ, const gchar *name, const GstCaps *caps)
{
  GstPad *pad = gst_mcap_request_pad (
      element, GET_PRIVATE (GST_MCAP_BASE (element))->reserved, templ, name, prepare_pad);

  if (pad == NULL)
    GST_CAT_WARNING_OBJECT (CATEGORY (element), element, "there is a pad %s already", name);
  return pad;
}

static void
gst_mcap_base_release_pad (GstElement *element, GstPad *pad)
{
  gst_object_ref (pad);
  gst_child_proxy_child_removed (GST_CHILD_PROXY (element), G_OBJECT (pad), GST_OBJECT_NAME (pad));
  gst_pad_set_active (pad, FALSE);
  gst_element_remove_pad (element, pad);
  gst_object_unref (pad);
  /* Where all other inputs have ended the recording ends. In the alarm's thread: mcapmux pushes the
   * end, which may block, and the caller is an application's thread. */
  set_alarm (GST_MCAP_BASE (element), g_get_monotonic_time ());
}

/* States */

static void
start (GstMcapBase *self)
{
  GstMcapBasePrivate *priv = GET_PRIVATE (self);
  GstMcapAlarm *alarm = gst_mcap_alarm_new (on_alarm, self);

  gst_mcap_base_lock (self);
  gst_mcap_session_reset (&priv->session);
  priv->session.category = CATEGORY (self);
  GST_OBJECT_LOCK (self);
  priv->session.header_stamp = priv->settings.header_stamp;
  GST_OBJECT_UNLOCK (self);
  priv->session.running = TRUE;
  gst_mcap_base_unlock (self);
  GST_OBJECT_LOCK (self);
  memset (&priv->counts, 0, sizeof priv->counts);
  priv->dropped = 0;
  priv->alarm = alarm;
  if (priv->settings.map == GST_MCAP_RECORD_MAP_AUTO)
    priv->map = gst_mcap_map_new (GST_ELEMENT (self), priv->settings.max_map_points);
  GST_OBJECT_UNLOCK (self);
}

static void
stop (GstMcapBase *self)
{
  GstMcapBasePrivate *priv = GET_PRIVATE (self);
  GstMcapAlarm *alarm;

  GST_OBJECT_LOCK (self);
  alarm = g_steal_pointer (&priv->alarm);
  g_autoptr (GstMcapMap) map = g_steal_pointer (&priv->map);
  GST_OBJECT_UNLOCK (self);
  g_clear_pointer (&alarm, gst_mcap_alarm_free);
  if (map && gst_mcap_map_stop (map))
    GST_ELEMENT_WARNING (self, RESOURCE, READ,
        ("The map was not read when the recording stopped, and is not in it."), (NULL));
  gst_mcap_base_lock (self);
  gst_mcap_session_stop (&priv->session);
  /* Under both locks: of pads that are being added or let go of other threads have events. */
  GST_OBJECT_LOCK (self);
  for (GList *l = GST_ELEMENT (self)->sinkpads; l; l = l->next)
    gst_mcap_pad_reset (l->data);
  GST_OBJECT_UNLOCK (self);
  gst_mcap_base_unlock (self);
}

static GstStateChangeReturn
gst_mcap_base_change_state (GstElement *element, GstStateChange transition)
{
  GstMcapBase *self = GST_MCAP_BASE (element);
  GstStateChangeReturn result;

  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED)
    start (self);
  result = GST_ELEMENT_CLASS (gst_mcap_base_parent_class)->change_state (element, transition);
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
    stop (self);
  return result;
}

/* Properties */

static void
gst_mcap_base_set_property (GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
  GstMcapBase *self = GST_MCAP_BASE (object);
  gboolean known;

  GST_OBJECT_LOCK (self);
  known = gst_mcap_settings_set (&GET_PRIVATE (self)->settings, id - PROP_SETTINGS, value);
  GST_OBJECT_UNLOCK (self);
  if (!known)
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, spec);
}

static GstStructure *
make_stats (GstMcapBase *self)
{
  GstMcapBasePrivate *priv = GET_PRIVATE (self);
  GstMcapBaseClass *klass = GST_MCAP_BASE_GET_CLASS (self);
  g_autofree gchar *name =
      g_strdup_printf ("application/x-%s-stats", gst_debug_category_get_name (klass->category));
  GstStructure *stats;

  GST_OBJECT_LOCK (self);
  stats = gst_structure_new (name, "messages", G_TYPE_UINT64, priv->counts.messages, "bytes",
      G_TYPE_UINT64, priv->counts.bytes, "chunks", G_TYPE_UINT64, priv->counts.chunks, "files",
      G_TYPE_UINT64, priv->counts.files, "dropped", G_TYPE_UINT64, priv->dropped, "cut",
      G_TYPE_UINT64, gst_point_cloud_element_get_n_cut (GST_ELEMENT (self)), NULL);
  GST_OBJECT_UNLOCK (self);
  if (klass->add_stats)
    klass->add_stats (self, stats);
  return stats;
}

static void
gst_mcap_base_get_property (GObject *object, guint id, GValue *value, GParamSpec *spec)
{
  GstMcapBase *self = GST_MCAP_BASE (object);
  gboolean known;

  if (id == prop_stats) {
    g_value_take_boxed (value, make_stats (self));
    return;
  }
  GST_OBJECT_LOCK (self);
  known = gst_mcap_settings_get (&GET_PRIVATE (self)->settings, id - PROP_SETTINGS, value);
  GST_OBJECT_UNLOCK (self);
  if (!known)
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, spec);
}

static void
gst_mcap_base_finalize (GObject *object)
{
  GstMcapBasePrivate *priv = GET_PRIVATE (GST_MCAP_BASE (object));

  gst_mcap_session_clear (&priv->session);
  gst_mcap_settings_clear (&priv->settings);
  g_hash_table_unref (priv->reserved);
  g_mutex_clear (&priv->lock);
  G_OBJECT_CLASS (gst_mcap_base_parent_class)->finalize (object);
}

static void
gst_mcap_base_class_init (GstMcapBaseClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);

  object_class->set_property = gst_mcap_base_set_property;
  object_class->get_property = gst_mcap_base_get_property;
  object_class->finalize = gst_mcap_base_finalize;
  element_class->request_new_pad = gst_mcap_base_request_new_pad;
  element_class->release_pad = gst_mcap_base_release_pad;
  element_class->change_state = gst_mcap_base_change_state;
  gst_element_class_add_static_pad_template_with_gtype (
      element_class, &cloud_template, GST_TYPE_MCAP_PAD);
  gst_element_class_add_static_pad_template_with_gtype (
      element_class, &pose_template, GST_TYPE_MCAP_PAD);
  gst_element_class_add_static_pad_template_with_gtype (
      element_class, &data_template, GST_TYPE_MCAP_PAD);

  prop_stats = gst_mcap_settings_install (object_class, PROP_SETTINGS);
  g_object_class_install_property (object_class, prop_stats,
      g_param_spec_boxed ("stats", "Statistics",
          "Messages, bytes and chunks written, files, buffers dropped because they are no scan",
          GST_TYPE_STRUCTURE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));

  gst_type_mark_as_plugin_api (GST_TYPE_MCAP_BASE, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_MCAP_PAD, 0);
}

static void
gst_mcap_base_init (GstMcapBase *self)
{
  GstMcapBasePrivate *priv = GET_PRIVATE (self);

  g_mutex_init (&priv->lock);
  gst_mcap_session_init (&priv->session, GST_ELEMENT (self), write_parts);
  priv->session.prepare = prepare;
  priv->session.end = end;
  gst_mcap_settings_init (&priv->settings);
  priv->reserved = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
}
