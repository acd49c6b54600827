/* SPDX-License-Identifier: MIT */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstmcapbase-private.h"

#include <string.h>

#include "gst/mcap/messages/gstbagrecords.h"
#include "gstmcappipeline.h"
#include "gst/mcap/container/mcap-format.h"

GST_DEBUG_CATEGORY (gst_mcap_base_debug);
#define GST_CAT_DEFAULT gst_mcap_base_debug

enum { PROP_0, PROP_SETTINGS };

static guint prop_stats;

static void gst_mcap_base_child_proxy_init (GstChildProxyInterface *interface);

G_DEFINE_ABSTRACT_TYPE_WITH_CODE (GstMcapBase, gst_mcap_base, GST_TYPE_ELEMENT,
    G_ADD_PRIVATE (GstMcapBase)
        G_IMPLEMENT_INTERFACE (GST_TYPE_CHILD_PROXY, gst_mcap_base_child_proxy_init)
            GST_DEBUG_CATEGORY_INIT (gst_mcap_base_debug, "mcapwrite", 0, "MCAP recording"))

#define GET_PRIVATE(self) ((GstMcapBasePrivate *)gst_mcap_base_get_instance_private (self))

GstMcapBasePrivate *
gst_mcap_base_get_private (GstMcapBase *self)
{
  return GET_PRIVATE (self);
}

static GstStaticPadTemplate cloud_template = GST_STATIC_PAD_TEMPLATE (
    "cloud_%u", GST_PAD_SINK, GST_PAD_REQUEST, GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_MAKE));
static GstStaticPadTemplate pose_template = GST_STATIC_PAD_TEMPLATE ("pose_%u", GST_PAD_SINK,
    GST_PAD_REQUEST, GST_STATIC_CAPS (GST_POSE_CAPS_NAME "; " GST_POINT_CLOUD_CAPS_MAKE));
static GstStaticPadTemplate data_template =
    GST_STATIC_PAD_TEMPLATE ("data_%u", GST_PAD_SINK, GST_PAD_REQUEST, GST_STATIC_CAPS_ANY);

/* Lock and messages */

void
gst_mcap_base_lock (GstMcapBase *self)
{
  g_rec_mutex_lock (GST_MCAP_BASE_GET_CLASS (self)->get_lock (self));
}

void
gst_mcap_base_unlock (GstMcapBase *self)
{
  GstMcapBasePrivate *priv = GET_PRIVATE (self);
  GQueue messages = priv->messages;
  GstMessage *message;

  g_queue_init (&priv->messages);
  g_rec_mutex_unlock (GST_MCAP_BASE_GET_CLASS (self)->get_lock (self));
  while ((message = g_queue_pop_head (&messages)))
    gst_element_post_message (GST_ELEMENT (self), message);
}

void
gst_mcap_base_post (GstMcapBase *self, GstMessage *message)
{
  g_queue_push_tail (&GET_PRIVATE (self)->messages, message);
}

void
gst_mcap_base_post_error (GstMcapBase *self, const GError *error)
{
  gst_mcap_base_post (self, gst_message_new_error (GST_OBJECT (self), (GError *)error, NULL));
}

/* Which log times a recording has is decided once. */
static void
decide_log_time (GstMcapBase *self, GstPad *pad)
{
  GstMcapBasePrivate *priv = GET_PRIVATE (self);
  GstMcapLogTime log_time;
  gboolean decided;

  gst_mcap_base_lock (self);
  decided = priv->times.used != GST_MCAP_LOG_TIME_AUTO;
  gst_mcap_base_unlock (self);
  if (decided)
    return;
  GST_OBJECT_LOCK (self);
  log_time = priv->settings.log_time;
  GST_OBJECT_UNLOCK (self);
  log_time = gst_mcap_times_decide (log_time, pad);
  gst_mcap_base_lock (self);
  if (priv->times.used == GST_MCAP_LOG_TIME_AUTO)
    priv->times.used = log_time;
  gst_mcap_base_unlock (self);
}

/* How the pipeline is when something comes, when pads are linked and caps are known. Not with the
 * lock: elements are asked for their properties. */
static void
describe_pipeline (GstMcapBase *self)
{
  GstMcapBasePrivate *priv = GET_PRIVATE (self);
  g_autofree gchar *pipeline = NULL;
  gboolean wanted;

  gst_mcap_base_lock (self);
  wanted = !priv->described;
  gst_mcap_base_unlock (self);
  if (!wanted)
    return;
  GST_OBJECT_LOCK (self);
  wanted = priv->settings.attach_pipeline;
  GST_OBJECT_UNLOCK (self);
  if (wanted)
    pipeline = gst_mcap_pipeline_describe (GST_ELEMENT (self));
  gst_mcap_base_lock (self);
  if (!priv->described)
    priv->pipeline = g_steal_pointer (&pipeline);
  priv->described = TRUE;
  gst_mcap_base_unlock (self);
}

/* Buffers */

/* A buffer that is no scan: nothing is lost but it, and the first is told. */
static void
count_dropped (GstMcapBase *self, GstMcapPad *pad, const GError *error)
{
  GstMcapBasePrivate *priv = GET_PRIVATE (self);

  GST_OBJECT_LOCK (self);
  priv->counts.dropped++;
  GST_OBJECT_UNLOCK (self);
  GST_WARNING_OBJECT (pad, "%s", error->message);
  if (!pad->warned)
    gst_mcap_base_post (self, gst_message_new_warning (GST_OBJECT (self), (GError *)error, NULL));
  pad->warned = TRUE;
}

static GstFlowReturn
record (GstMcapBase *self, GstMcapPad *pad, GstBuffer *buffer)
{
  GstMcapBaseClass *klass = GST_MCAP_BASE_GET_CLASS (self);
  GstMcapBasePrivate *priv = GET_PRIVATE (self);
  g_autoptr (GError) error = NULL;
  guint64 log_time;

  if (priv->has_failed)
    return GST_FLOW_ERROR;
  if (pad->eos)
    return GST_FLOW_EOS;
  log_time = gst_mcap_times_get (&priv->times, GST_ELEMENT (self), pad, buffer);
  pad->last_time = log_time;
  if (pad->is_attachment)
    log_time = bag_record_get_time (buffer, MCAP_LOG_TIME_CAPS, log_time);
  priv->has_ended = FALSE;
  if (klass->prepare (self, log_time, gst_buffer_get_size (buffer), &error) &&
      gst_mcap_recorder_add (&priv->recorder, pad, buffer, log_time,
          gst_mcap_buffer_get_stamp (buffer, log_time), &error)) {
    gst_mcap_base_note_map (self, pad, log_time);
    if (!gst_mcap_base_add_maps (self, FALSE, &error)) {
      gst_mcap_base_fail (self, error);
      return GST_FLOW_ERROR;
    }
    gst_mcap_base_update_counts (self);
    gst_mcap_base_watch_chunk (self);
    return klass->drain (self);
  }
  if (g_error_matches (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT) ||
      g_error_matches (error, MCAP_WRITER_ERROR, MCAP_WRITER_ERROR_TOO_LARGE)) {
    count_dropped (self, pad, error);
    return klass->drain (self);
  }
  gst_mcap_base_fail (self, error);
  return GST_FLOW_ERROR;
}

static GstFlowReturn
gst_mcap_base_chain (GstPad *sinkpad, GstObject *parent, GstBuffer *buffer)
{
  GstMcapBase *self = GST_MCAP_BASE (parent);
  GstMcapPad *pad = GST_MCAP_PAD (sinkpad);
  GstFlowReturn flow = GST_MCAP_BASE_GET_CLASS (self)->wait (self, sinkpad);

  if (flow != GST_FLOW_OK) {
    gst_buffer_unref (buffer);
    return flow;
  }
  if (pad->kind == GST_MCAP_PAD_CLOUD && pad->caps == NULL) {
    gst_buffer_unref (buffer);
    GST_ELEMENT_ERROR (self, CORE, NEGOTIATION, (NULL), ("A cloud came before its caps"));
    return GST_FLOW_NOT_NEGOTIATED;
  }
  if (pad->timer)
    buffer = gst_point_cloud_timer_stamp (pad->timer, buffer);
  decide_log_time (self, sinkpad);
  describe_pipeline (self);
  gst_mcap_base_lock (self);
  flow = record (self, pad, buffer);
  gst_mcap_base_unlock (self);
  gst_buffer_unref (buffer);
  return flow;
}

/* Caps of this plugin have what their records need; others are as they are. */
static gboolean
check_data_caps (const GstStructure *caps)
{
  if (gst_structure_has_name (caps, MCAP_MESSAGE_CAPS))
    return gst_structure_has_field_typed (caps, MCAP_CAPS_MESSAGE_ENCODING, G_TYPE_STRING) &&
           gst_structure_has_field (caps, MCAP_CAPS_SCHEMA_NAME) ==
               gst_structure_has_field (caps, MCAP_CAPS_SCHEMA_ENCODING);
  if (gst_structure_has_name (caps, MCAP_ATTACHMENT_CAPS) ||
      gst_structure_has_name (caps, MCAP_METADATA_CAPS))
    return gst_structure_has_field_typed (caps, MCAP_CAPS_NAME, G_TYPE_STRING);
  return TRUE;
}

static gboolean
set_caps (GstMcapBase *self, GstMcapPad *pad, GstCaps *caps)
{
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  g_autoptr (GError) error = NULL;
  GstPointCloudInfo info;

  gst_point_cloud_info_init (&info);
  if (pad->kind == GST_MCAP_PAD_CLOUD) {
    if (!gst_point_cloud_info_from_caps (&info, caps, &error)) {
      GST_ELEMENT_ERROR (self, STREAM, FORMAT, ("Clouds of these caps cannot be recorded"),
          ("%s", error->message));
      return FALSE;
    }
    gst_point_cloud_timer_set_info (pad->timer, &info);
  } else if (!check_data_caps (structure)) {
    GST_ELEMENT_ERROR (self, STREAM, FORMAT, ("Messages of these caps cannot be recorded"),
        ("%" GST_PTR_FORMAT " lacks a name, or the encoding of its messages or of its schema",
            caps));
    return FALSE;
  }
  gst_mcap_base_lock (self);
  pad->info = info;
  pad->is_attachment =
      pad->kind == GST_MCAP_PAD_DATA && gst_structure_has_name (structure, MCAP_ATTACHMENT_CAPS);
  pad->is_metadata =
      pad->kind == GST_MCAP_PAD_DATA && gst_structure_has_name (structure, MCAP_METADATA_CAPS);
  gst_caps_replace (&pad->caps, caps);
  pad->generation = 0;
  gst_mcap_base_unlock (self);
  return TRUE;
}

/* ndtlocalize tells which map what follows is aligned with. */
static void
take_map (GstMcapBase *self, GstMcapPad *pad, GstEvent *event)
{
  const GstStructure *structure = gst_event_get_structure (event);
  const gchar *location;
  gboolean wanted;

  GST_OBJECT_LOCK (self);
  wanted = GET_PRIVATE (self)->settings.attach_pipeline;
  GST_OBJECT_UNLOCK (self);
  if (!wanted || !gst_structure_has_name (structure, "ndt-map") ||
      !(location = gst_structure_get_string (structure, "location")))
    return;
  gst_mcap_base_lock (self);
  g_clear_pointer (&pad->map, gst_mcap_map_unref);
  pad->map = gst_mcap_map_new (location);
  pad->map_generation = 0;
  gst_mcap_base_unlock (self);
}

void
gst_mcap_base_check_end (GstMcapBase *self)
{
  GstMcapBasePrivate *priv = GET_PRIVATE (self);
  g_autoptr (GError) error = NULL;
  gboolean any = FALSE, all = TRUE;

  GST_OBJECT_LOCK (self);
  for (GList *l = GST_ELEMENT (self)->sinkpads; l; l = l->next) {
    GstMcapPad *pad = l->data;

    any |= pad->eos;
    all &= pad->eos || !gst_pad_is_linked (l->data);
  }
  GST_OBJECT_UNLOCK (self);
  if (!any || !all || priv->has_ended || priv->has_failed)
    return;
  priv->has_ended = TRUE;
  if (!GST_MCAP_BASE_GET_CLASS (self)->end (self, TRUE, &error)) {
    priv->has_failed = TRUE;
    gst_mcap_base_post_error (self, error);
  }
}

static void
set_eos (GstMcapBase *self, GstMcapPad *pad, gboolean eos)
{
  GST_OBJECT_LOCK (self);
  pad->eos = eos;
  GST_OBJECT_UNLOCK (self);
}

static gboolean
gst_mcap_base_sink_event (GstPad *sinkpad, GstObject *parent, GstEvent *event)
{
  GstMcapBase *self = GST_MCAP_BASE (parent);
  GstMcapPad *pad = GST_MCAP_PAD (sinkpad);
  gboolean ok = TRUE;

  switch (GST_EVENT_TYPE (event)) {
  case GST_EVENT_CAPS: {
    GstCaps *caps;

    gst_event_parse_caps (event, &caps);
    ok = set_caps (self, pad, caps);
    break;
  }
  case GST_EVENT_SEGMENT:
    if (pad->timer)
      event = gst_point_cloud_timer_segment (pad->timer, event);
    else
      gst_event_copy_segment (event, &pad->segment);
    break;
  case GST_EVENT_STREAM_START:
    set_eos (self, pad, FALSE);
    break;
  case GST_EVENT_EOS:
    if (GST_MCAP_BASE_GET_CLASS (self)->wait (self, sinkpad) != GST_FLOW_OK)
      break;
    describe_pipeline (self);
    set_eos (self, pad, TRUE);
    gst_mcap_base_lock (self);
    gst_mcap_base_check_end (self);
    gst_mcap_base_unlock (self);
    break;
  case GST_EVENT_FLUSH_STOP:
    if (pad->timer)
      gst_point_cloud_timer_reset (pad->timer);
    gst_segment_init (&pad->segment, GST_FORMAT_TIME);
    set_eos (self, pad, FALSE);
    /* After an end it comes again. */
    gst_mcap_base_lock (self);
    GET_PRIVATE (self)->has_ended = FALSE;
    gst_mcap_base_unlock (self);
    ok = GST_MCAP_BASE_GET_CLASS (self)->flush (self, sinkpad, event);
    break;
  case GST_EVENT_FLUSH_START:
    ok = GST_MCAP_BASE_GET_CLASS (self)->flush (self, sinkpad, event);
    break;
  case GST_EVENT_CUSTOM_DOWNSTREAM_STICKY:
    take_map (self, pad, event);
    break;
  default:
    /* Gaps and tags: an input is never waited for, and nothing is made of them. */
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
    GST_MCAP_BASE_GET_CLASS (parent)->flush (GST_MCAP_BASE (parent), pad, NULL);
  return TRUE;
}

static GstPad *
gst_mcap_base_request_new_pad (
    GstElement *element, GstPadTemplate *templ, const gchar *name, const GstCaps *caps)
{
  static const gchar *const prefixes[] = {"cloud_", "pose_", "data_"};
  g_autofree gchar *free_name = NULL;
  GstMcapPadKind kind = GST_MCAP_PAD_CLOUD;
  guint index = 0;
  GstPad *pad;

  while (!g_str_has_prefix (GST_PAD_TEMPLATE_NAME_TEMPLATE (templ), prefixes[kind]))
    kind++;
  if (name && g_str_has_prefix (name, prefixes[kind]))
    index = g_ascii_strtoull (name + strlen (prefixes[kind]), NULL, 10);
  else
    for (;; index++) {
      g_autofree gchar *candidate = g_strdup_printf ("%s%u", prefixes[kind], index);
      GstPad *taken = gst_element_get_static_pad (element, candidate);

      if (taken == NULL) {
        name = free_name = g_steal_pointer (&candidate);
        break;
      }
      gst_object_unref (taken);
    }

  pad = gst_mcap_pad_new (templ, kind, name, index);
  if (kind == GST_MCAP_PAD_CLOUD)
    GST_MCAP_PAD (pad)->timer = gst_point_cloud_timer_new (element);
  gst_pad_set_chain_function (pad, gst_mcap_base_chain);
  gst_pad_set_event_function (pad, gst_mcap_base_sink_event);
  gst_pad_set_activatemode_function (pad, activate_mode);
  gst_pad_set_active (pad, TRUE);
  gst_element_add_pad (element, pad);
  gst_child_proxy_child_added (GST_CHILD_PROXY (element), G_OBJECT (pad), GST_OBJECT_NAME (pad));
  return pad;
}

static void
gst_mcap_base_release_pad (GstElement *element, GstPad *pad)
{
  GstMcapBase *self = GST_MCAP_BASE (element);

  gst_object_ref (pad);
  gst_child_proxy_child_removed (GST_CHILD_PROXY (element), G_OBJECT (pad), GST_OBJECT_NAME (pad));
  gst_pad_set_active (pad, FALSE);
  gst_element_remove_pad (element, pad);
  gst_object_unref (pad);
  /* The others may have been waiting for this one's end, which mcapmux pushes: not in an
   * application's thread, which has to go on where what is downstream is paused. */
  GST_OBJECT_LOCK (self);
  if (GET_PRIVATE (self)->alarm)
    gst_mcap_alarm_set (GET_PRIVATE (self)->alarm, g_get_monotonic_time ());
  GST_OBJECT_UNLOCK (self);
}

static GObject *
get_child_by_index (GstChildProxy *proxy, guint index)
{
  GstPad *pad;

  GST_OBJECT_LOCK (proxy);
  pad = g_list_nth_data (GST_ELEMENT (proxy)->sinkpads, index);
  if (pad)
    gst_object_ref (pad);
  GST_OBJECT_UNLOCK (proxy);
  return (GObject *)pad;
}

static guint
get_children_count (GstChildProxy *proxy)
{
  guint n;

  GST_OBJECT_LOCK (proxy);
  n = GST_ELEMENT (proxy)->numsinkpads;
  GST_OBJECT_UNLOCK (proxy);
  return n;
}

static void
gst_mcap_base_child_proxy_init (GstChildProxyInterface *interface)
{
  interface->get_child_by_index = get_child_by_index;
  interface->get_children_count = get_children_count;
}

/* States */

static void
reset (GstMcapBase *self)
{
  GstMcapBasePrivate *priv = GET_PRIVATE (self);

  g_clear_pointer (&priv->recorder.writer, mcap_writer_free);
  gst_mcap_base_forget_maps (self);
  g_clear_pointer (&priv->pipeline, g_free);
  priv->described = FALSE;
  priv->recorder.generation = 0;
  priv->has_ended = priv->has_failed = FALSE;
  memset (&priv->times, 0, sizeof priv->times);
  priv->finished_messages = priv->finished_chunks = priv->finished_bytes = 0;
  priv->chunk_number = 0;
}

static void
reset_pads (GstMcapBase *self)
{
  GST_OBJECT_LOCK (self);
  for (GList *l = GST_ELEMENT (self)->sinkpads; l; l = l->next)
    gst_mcap_pad_reset (l->data);
  GST_OBJECT_UNLOCK (self);
}

static GstStateChangeReturn
gst_mcap_base_change_state (GstElement *element, GstStateChange transition)
{
  GstMcapBase *self = GST_MCAP_BASE (element);
  GstMcapBasePrivate *priv = GET_PRIVATE (self);
  GstStateChangeReturn result;
  GstMcapAlarm *alarm;

  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED) {
    reset (self);
    GST_OBJECT_LOCK (self);
    memset (&priv->counts, 0, sizeof priv->counts);
    GST_OBJECT_UNLOCK (self);
    alarm = gst_mcap_alarm_new (gst_mcap_base_on_alarm, self);
    GST_OBJECT_LOCK (self);
    priv->alarm = alarm;
    GST_OBJECT_UNLOCK (self);
  }
  result = GST_ELEMENT_CLASS (gst_mcap_base_parent_class)->change_state (element, transition);
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY) {
    g_autoptr (GError) error = NULL;

    GST_OBJECT_LOCK (self);
    alarm = g_steal_pointer (&priv->alarm);
    GST_OBJECT_UNLOCK (self);
    g_clear_pointer (&alarm, gst_mcap_alarm_free);
    gst_mcap_base_lock (self);
    if (!GST_MCAP_BASE_GET_CLASS (self)->end (self, FALSE, &error))
      gst_mcap_base_post_error (self, error);
    gst_mcap_base_unlock (self);
    reset (self);
    reset_pads (self);
  }
  return result;
}

/* Properties */

static void
gst_mcap_base_set_property (GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
  GstMcapBase *self = GST_MCAP_BASE (object);
  GstMcapBasePrivate *priv = GET_PRIVATE (self);
  gboolean known;

  GST_OBJECT_LOCK (self);
  known = gst_mcap_settings_set (&priv->settings, id - PROP_SETTINGS, value);
  GST_OBJECT_UNLOCK (self);
  if (!known)
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, spec);
}

static GstStructure *
make_stats (GstMcapBase *self)
{
  GstMcapBasePrivate *priv = GET_PRIVATE (self);
  GstMcapBaseClass *klass = GST_MCAP_BASE_GET_CLASS (self);
  GstStructure *stats;
  GstMcapCounts counts;

  GST_OBJECT_LOCK (self);
  counts = priv->counts;
  GST_OBJECT_UNLOCK (self);
  stats = gst_structure_new ("application/x-mcap-stats", "messages", G_TYPE_UINT64, counts.messages,
      "bytes", G_TYPE_UINT64, counts.bytes, "chunks", G_TYPE_UINT64, counts.chunks, "files",
      G_TYPE_UINT64, counts.files, "dropped", G_TYPE_UINT64, counts.dropped, NULL);
  if (klass->add_stats)
    klass->add_stats (self, stats);
  return stats;
}

static void
gst_mcap_base_get_property (GObject *object, guint id, GValue *value, GParamSpec *spec)
{
  GstMcapBase *self = GST_MCAP_BASE (object);
  GstMcapBasePrivate *priv = GET_PRIVATE (self);
  gboolean known;

  if (id == prop_stats) {
    g_value_take_boxed (value, make_stats (self));
    return;
  }
  GST_OBJECT_LOCK (self);
  known = gst_mcap_settings_get (&priv->settings, id - PROP_SETTINGS, value);
  GST_OBJECT_UNLOCK (self);
  if (!known)
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, spec);
}

static void
gst_mcap_base_finalize (GObject *object)
{
  GstMcapBasePrivate *priv = GET_PRIVATE (GST_MCAP_BASE (object));

  gst_mcap_recorder_clear (&priv->recorder);
  g_queue_clear_full (&priv->messages, (GDestroyNotify)gst_message_unref);
  gst_mcap_base_forget_maps (GST_MCAP_BASE (object));
  g_hash_table_unref (priv->attached_maps);
  g_free (priv->pipeline);
  gst_mcap_settings_clear (&priv->settings);
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
      g_param_spec_boxed ("stats", "stats",
          "Messages, bytes and chunks written, files, buffers dropped because they are no scan",
          GST_TYPE_STRUCTURE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));

  gst_type_mark_as_plugin_api (GST_TYPE_MCAP_BASE, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_MCAP_PAD, 0);
}

static void
gst_mcap_base_init (GstMcapBase *self)
{
  GstMcapBasePrivate *priv = GET_PRIVATE (self);

  gst_mcap_recorder_init (&priv->recorder);
  g_queue_init (&priv->messages);
  g_queue_init (&priv->maps);
  priv->attached_maps = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  gst_mcap_settings_init (&priv->settings);
}
