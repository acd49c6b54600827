/* SPDX-License-Identifier: MIT */
#include "ndt-harness.h"

#include <gobject/gvaluecollector.h>
#include <gst/check/gstcheck.h>
#include <string.h>

#include "gst/common/gstpointcloudtimer.h"
#include "ndt-wait.h"

/* Poses, boxes and lists are given as a launch line has them; the others as g_object_set() has
 * them. */
static void
set_valist (GstElement *element, const gchar *name, va_list args)
{
  GObject *object = G_OBJECT (element);

  for (; name; name = va_arg (args, const gchar *)) {
    GParamSpec *spec = g_object_class_find_property (G_OBJECT_GET_CLASS (object), name);
    fail_unless (spec != NULL, "ndtlocalize has no property %s", name);
    if (G_TYPE_IS_BOXED (spec->value_type) || spec->value_type == GST_TYPE_ARRAY) {
      const gchar *text = va_arg (args, const gchar *);
      /* An empty list is written "<>"; what cannot be read leaks in GStreamer 1.22. */
      gst_util_set_object_arg (object, name,
          text && *text                        ? text
          : spec->value_type == GST_TYPE_ARRAY ? "<>"
                                               : "");
      continue;
    }
    GValue value = G_VALUE_INIT;
    gchar *problem = NULL;
    G_VALUE_COLLECT_INIT (&value, spec->value_type, args, 0, &problem);
    fail_unless (problem == NULL, "%s: %s", name, problem);
    g_object_set_property (object, name, &value);
    g_value_unset (&value);
  }
}

void
ndt_harness_set (GstElement *element, const gchar *first_property, ...)
{
  va_list args;

  va_start (args, first_property);
  set_valist (element, first_property, args);
  va_end (args);
}

gchar *
ndt_harness_get (GstElement *element, const gchar *property)
{
  GParamSpec *spec = g_object_class_find_property (G_OBJECT_GET_CLASS (element), property);
  GValue value = G_VALUE_INIT;

  g_value_init (&value, spec->value_type);
  g_object_get_property (G_OBJECT (element), property, &value);
  gchar *text = gst_value_serialize (&value);
  g_value_unset (&value);
  return text;
}

/* As rawpointcloudparse: the room's scans have no time stamps. */
static GstPadProbeReturn
stamp (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  GstPointCloudTimer *timer = user_data;
  GstPointCloudInfo cloud;
  GstCaps *caps;

  if (GST_PAD_PROBE_INFO_TYPE (info) & GST_PAD_PROBE_TYPE_BUFFER) {
    GST_PAD_PROBE_INFO_DATA (info) =
        gst_point_cloud_timer_stamp (timer, GST_PAD_PROBE_INFO_BUFFER (info));
    return GST_PAD_PROBE_OK;
  }
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT (info);
  switch (GST_EVENT_TYPE (event)) {
  case GST_EVENT_CAPS:
    gst_event_parse_caps (event, &caps);
    if (gst_point_cloud_info_from_caps (&cloud, caps, NULL))
      gst_point_cloud_timer_set_info (timer, &cloud);
    break;
  case GST_EVENT_SEGMENT:
    gst_event_unref (gst_point_cloud_timer_segment (timer, gst_event_ref (event)));
    break;
  case GST_EVENT_FLUSH_STOP:
    gst_point_cloud_timer_reset (timer);
    break;
  default:
    break;
  }
  return GST_PAD_PROBE_OK;
}

void
ndt_harness_stamp (GstPad *pad, GstElement *element)
{
  gst_pad_add_probe (pad,
      GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM |
          GST_PAD_PROBE_TYPE_EVENT_FLUSH,
      stamp, gst_point_cloud_timer_new (element), (GDestroyNotify)gst_point_cloud_timer_free);
}

void
ndt_harness_wait_for_map (GstElement *element)
{
  g_autoptr (GstBus) bus = gst_element_get_bus (element);
  g_autoptr (GPtrArray) others = g_ptr_array_new ();
  gint n_reading = 0;
  GstMessage *message;

  while ((message = gst_bus_timed_pop (bus, n_reading > 0 ? 120 * GST_SECOND : 0))) {
    GstProgressType type;
    if (GST_MESSAGE_TYPE (message) != GST_MESSAGE_PROGRESS) {
      g_ptr_array_add (others, message);
      continue;
    }
    gst_message_parse_progress (message, &type, NULL, NULL);
    if (type != GST_PROGRESS_TYPE_CONTINUE)
      n_reading += type == GST_PROGRESS_TYPE_START ? 1 : -1;
    gst_message_unref (message);
  }
  for (guint i = 0; i < others->len; i++)
    gst_bus_post (bus, g_ptr_array_index (others, i));
  fail_if (n_reading > 0, "the map is not read");
}

void
ndt_harness_refuse_map (GstElement *element)
{
  if (gst_element_set_state (element, GST_STATE_PAUSED) == GST_STATE_CHANGE_FAILURE)
    return;
  /* A busy machine: the map was not looked at while the change of state waited. */
  ndt_harness_wait_for_map (element);
  gst_element_set_state (element, GST_STATE_READY);
}

GstHarness *
ndt_harness_new (const gchar *first_property, ...)
{
  GstElement *element = gst_element_factory_make ("ndtlocalize", NULL);
  g_autoptr (GstBus) bus = gst_bus_new ();
  va_list args;

  fail_unless (element != NULL);
  gst_element_set_bus (element, bus);
  g_object_set (element, "map-location", ndt_room_map (), "resolution", 1.0, "n-threads", 1, NULL);
  va_start (args, first_property);
  set_valist (element, first_property, args);
  va_end (args);
  GstHarness *h = gst_harness_new_with_element (element, "sink", "src");
  ndt_harness_wait_for_map (element);
  ndt_harness_stamp (h->srcpad, element);
  gst_harness_set_src_caps_str (h, NDT_ROOM_CAPS);
  gst_object_unref (element);
  return h;
}

void
ndt_harness_free (GstHarness *h)
{
  ndt_harness_drop_messages (h->element);
  gst_element_set_bus (h->element, NULL);
  gst_harness_teardown (h);
}

void
ndt_harness_push_segment (GstHarness *h, GstFormat format, guint64 start)
{
  GstSegment segment;
  gst_segment_init (&segment, format);
  segment.start = segment.time = start;
  fail_unless (gst_harness_push_event (h, gst_event_new_segment (&segment)));
}

gchar *
ndt_harness_pose (guint index)
{
  NdtPose pose;
  ndt_room_pose (index, &pose);
  return ndt_pose_to_string (&pose);
}

const GstPoseMeta *
ndt_harness_estimate (GstBuffer *buffer)
{
  const GstPoseMeta *meta = gst_buffer_get_pose_meta (buffer, GST_POSE_ROLE_ESTIMATE);
  fail_unless (meta != NULL, "a scan has left without an estimate");
  return meta;
}

NdtPose
ndt_harness_pose_of (GstBuffer *buffer)
{
  const GstPoseMeta *meta = ndt_harness_estimate (buffer);
  NdtPose pose;
  memcpy (pose.position, meta->position, sizeof pose.position);
  memcpy (pose.orientation, meta->orientation, sizeof pose.orientation);
  return pose;
}

static GstPadProbeReturn
add_prior (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  static const gdouble position[3] = {8, 6, 1.5};
  GstBuffer *buffer = gst_buffer_make_writable (GST_PAD_PROBE_INFO_BUFFER (info));

  GST_PAD_PROBE_INFO_DATA (info) = buffer;
  gst_buffer_add_pose_meta (buffer, GST_POSE_ROLE_PRIOR, position, NULL);
  return GST_PAD_PROBE_OK;
}

void
ndt_harness_add_priors (GstPad *pad)
{
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, add_prior, NULL, NULL);
}

GstBuffer *
ndt_harness_pass (GstHarness *h, GstBuffer *scan)
{
  fail_unless_equals_int (gst_harness_push (h, scan), GST_FLOW_OK);
  GstBuffer *out = gst_harness_pull (h);
  fail_unless (out != NULL);
  return out;
}

GstPoseStatus
ndt_harness_pass_status (GstHarness *h, GstBuffer *scan)
{
  g_autoptr (GstBuffer) out = ndt_harness_pass (h, scan);
  return ndt_harness_estimate (out)->status;
}

guint64
ndt_harness_count (GstHarness *h, const gchar *name)
{
  g_autoptr (GstStructure) stats = NULL;
  guint64 value = 0;
  g_object_get (h->element, "stats", &stats, NULL);
  fail_unless (gst_structure_get_uint64 (stats, name, &value), "stats has no %s", name);
  return value;
}

/* What was posted and not asked for yet. */
static GQueue messages = G_QUEUE_INIT;

GstMessage *
ndt_harness_message (GstElement *element, GstMessageType type, const gchar *name)
{
  g_autoptr (GstBus) bus = gst_element_get_bus (element);

  for (GstMessage *message = gst_bus_pop (bus); message; message = gst_bus_pop (bus))
    g_queue_push_tail (&messages, message);
  for (GList *link = messages.head; link; link = link->next) {
    GstMessage *message = link->data;
    if (GST_MESSAGE_SRC (message) == GST_OBJECT_CAST (element) &&
        GST_MESSAGE_TYPE (message) == type && (!name || gst_message_has_name (message, name))) {
      g_queue_delete_link (&messages, link);
      return message;
    }
  }
  return NULL;
}

void
ndt_harness_drop_messages (GstElement *element)
{
  g_autoptr (GstBus) bus = gst_element_get_bus (element);

  gst_bus_set_flushing (bus, TRUE);
  gst_bus_set_flushing (bus, FALSE);
  g_queue_clear_full (&messages, (GDestroyNotify)gst_message_unref);
}

guint
ndt_harness_count_messages (GstBus *bus, GstMessageType type, const gchar *text)
{
  guint n = 0;

  for (GstMessage *message = gst_bus_pop (bus); message; message = gst_bus_pop (bus)) {
    if (GST_MESSAGE_TYPE (message) == type) {
      g_autoptr (GError) error = NULL;
      if (type == GST_MESSAGE_ERROR)
        gst_message_parse_error (message, &error, NULL);
      else
        gst_message_parse_warning (message, &error, NULL);
      fail_unless (strstr (error->message, text) != NULL, "%s", error->message);
      n++;
    }
    gst_message_unref (message);
  }
  return n;
}

/* Warnings of a failure, of all that there are of scans too. */
static gint
count_failures (GstElement *element, const gchar *text)
{
  gint n = 0;
  for (;;) {
    g_autoptr (GError) warning = ndt_harness_error (element, GST_MESSAGE_WARNING);
    if (!warning)
      return n;
    if (g_error_matches (warning, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED)) {
      fail_unless (text && strstr (warning->message, text), "%s", warning->message);
      n++;
    }
  }
}

void
ndt_harness_start (
    GstHarness *h, const gchar *search_backend, const gchar *warning, NdtHarnessStart *start)
{
  g_autoptr (GstStructure) stats = NULL;
  gst_harness_set_live (h, FALSE);
  for (guint i = 0; i < NDT_HARNESS_N_START; i++) {
    GstBuffer *scan = ndt_room_scan (i);
    GST_BUFFER_PTS (scan) = i * 100 * GST_MSECOND;
    GST_BUFFER_DURATION (scan) = 100 * GST_MSECOND;
    g_autoptr (GstBuffer) out = ndt_harness_pass (h, scan);
    fail_unless_equals_uint64 (GST_BUFFER_PTS (out), i * 100 * GST_MSECOND);
    start->status[i] = ndt_harness_estimate (out)->status;
    start->poses[i] = ndt_harness_pose_of (out);
  }
  g_object_get (h->element, "stats", &stats, NULL);
  fail_unless_equals_string (gst_structure_get_string (stats, "search-backend"), search_backend);
  fail_unless_equals_uint64 (ndt_harness_count (h, "fallbacks"), 0);
  fail_unless_equals_int (count_failures (h->element, warning), warning ? 1 : 0);
  ndt_harness_free (h);
}

void
ndt_harness_wait_for_eos (GstElement *pipeline)
{
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  g_autoptr (GstMessage) message = gst_bus_timed_pop_filtered (
      bus, NDT_WAIT_SECONDS * GST_SECOND, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  g_autoptr (GError) error = NULL;

  fail_unless (message != NULL, "no end of the stream");
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
    gst_message_parse_error (message, &error, NULL);
  fail_unless (error == NULL, "%s", error ? error->message : "");
}

GError *
ndt_harness_error (GstElement *element, GstMessageType type)
{
  g_autoptr (GstMessage) message = ndt_harness_message (element, type, NULL);
  GError *error = NULL;
  if (message && type == GST_MESSAGE_ERROR)
    gst_message_parse_error (message, &error, NULL);
  else if (message)
    gst_message_parse_warning (message, &error, NULL);
  return error;
}
