/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "gstlidarsource.h"

#include <gst/net/net.h>
#include <string.h>

/* After this silence of the sensor another address may take over, ns: it may have changed. */
#define MAX_SILENCE ((gint64)(3 * GST_SECOND))

/* Elements between the decoder and the source of packets. */
#define MAX_DEPTH 8

static void
set_inet (GstLidarAddress *self, GInetAddress *address)
{
  /* Of IPv4 as a socket of IPv6 has it. */
  static const guint8 mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  const guint8 *bytes = g_inet_address_to_bytes (address);
  self->n = (guint)MIN (g_inet_address_get_native_size (address), sizeof self->bytes);
  if (self->n == 16 && memcmp (bytes, mapped, sizeof mapped) == 0) {
    bytes += sizeof mapped;
    self->n = 4;
  }
  memcpy (self->bytes, bytes, self->n);
}

gboolean
gst_lidar_address_parse (GstLidarAddress *self, const gchar *text)
{
  g_autoptr (GInetAddress) address = g_inet_address_new_from_string (text);
  *self = (GstLidarAddress){0};
  if (address)
    set_inet (self, address);
  return address != NULL;
}

gboolean
gst_lidar_address_is_equal (const GstLidarAddress *a, const GstLidarAddress *b)
{
  return a->n == b->n && memcmp (a->bytes, b->bytes, a->n) == 0;
}

gchar *
gst_lidar_address_to_string (const GstLidarAddress *self)
{
  if (self->n == 0)
    return g_strdup ("an unknown address");
  g_autoptr (GInetAddress) address = g_inet_address_new_from_bytes (
      self->bytes, self->n == 4 ? G_SOCKET_FAMILY_IPV4 : G_SOCKET_FAMILY_IPV6);
  return g_inet_address_to_string (address);
}

gboolean
gst_lidar_source_open (GstLidarSource *self, const gchar *address)
{
  *self = (GstLidarSource){.is_given = address && *address};
  return !self->is_given || gst_lidar_address_parse (&self->address, address);
}

void
gst_lidar_source_close (GstLidarSource *self)
{
  g_clear_object (&self->seen);
  *self = (GstLidarSource){0};
}

/* GSocket caches addresses: consecutive packets of a sensor mostly have the same object. */
static void
look_at (GstLidarSource *self, GSocketAddress *address)
{
  if (address == self->seen)
    return;
  g_set_object (&self->seen, address);
  self->ours = NULL;
  self->current = (GstLidarAddress){0};
  if (G_IS_INET_SOCKET_ADDRESS (address))
    set_inet (&self->current, g_inet_socket_address_get_address (G_INET_SOCKET_ADDRESS (address)));
}

gboolean
gst_lidar_source_check (GstLidarSource *self, GstBuffer *buffer)
{
  const GstNetAddressMeta *meta = gst_buffer_get_net_address_meta (buffer);
  self->time = GST_BUFFER_PTS_IS_VALID (buffer) ? (gint64)GST_BUFFER_PTS (buffer)
                                                : g_get_monotonic_time () * 1000;
  if (!meta) {
    g_clear_object (&self->seen);
    self->current = (GstLidarAddress){0};
    return TRUE;
  }
  if (meta->addr == self->seen && self->seen == self->ours)
    return TRUE;
  look_at (self, meta->addr);
  if (self->address.n == 0 || gst_lidar_address_is_equal (&self->address, &self->current))
    return TRUE;
  return !self->is_given && self->time - self->last_time > MAX_SILENCE;
}

gboolean
gst_lidar_source_lock (GstLidarSource *self)
{
  if (self->current.n == 0)
    return FALSE;
  self->last_time = self->time;
  if (self->ours == self->seen)
    return FALSE;
  self->ours = self->seen;
  if (gst_lidar_address_is_equal (&self->address, &self->current))
    return FALSE;
  self->address = self->current;
  return TRUE;
}

gboolean
gst_lidar_is_live (GstPad *pad)
{
  g_autoptr (GstQuery) query = gst_query_new_latency ();
  gboolean is_live = FALSE;
  if (gst_pad_peer_query (pad, query))
    gst_query_parse_latency (query, &is_live, NULL, NULL);
  return is_live;
}

/* How long ago, by the pipeline's clock, a buffer's time was. */
static gint64
get_age (GstElement *element, GstClockTime pts, const GstSegment *segment)
{
  const GstClockTime running = gst_segment_to_running_time (segment, GST_FORMAT_TIME, pts);
  g_autoptr (GstClock) clock = gst_element_get_clock (element);
  if (!clock || !GST_CLOCK_TIME_IS_VALID (running))
    return 0;
  return GST_CLOCK_DIFF (gst_element_get_base_time (element) + running, gst_clock_get_time (clock));
}

gboolean
gst_lidar_get_time_of_day (GstElement *element, GstBuffer *buffer, const GstSegment *segment,
    gboolean is_live, gint64 *offset)
{
  static GstStaticCaps unix_caps = GST_STATIC_CAPS ("timestamp/x-unix");
  const GstClockTime pts = GST_BUFFER_PTS (buffer);
  g_autoptr (GstCaps) caps = gst_static_caps_get (&unix_caps);
  const GstReferenceTimestampMeta *meta = gst_buffer_get_reference_timestamp_meta (buffer, caps);
  if (!GST_CLOCK_TIME_IS_VALID (pts) || (!meta && !is_live))
    return FALSE;
  if (meta && !GST_CLOCK_TIME_IS_VALID (meta->timestamp))
    return FALSE;
  if (meta)
    *offset = GST_CLOCK_DIFF (pts, meta->timestamp);
  else
    *offset = g_get_real_time () * 1000 - get_age (element, pts, segment) - (gint64)pts;
  return TRUE;
}

static void describe_peer (GstPad *pad, guint depth, GString *text);

static void
describe_element (GstElement *element, guint depth, GString *text)
{
  GParamSpec *pspec = g_object_class_find_property (G_OBJECT_GET_CLASS (element), "port");
  if (pspec && G_PARAM_SPEC_VALUE_TYPE (pspec) == G_TYPE_INT) {
    gint port;
    g_object_get (element, "port", &port, NULL);
    g_string_append_printf (text, "%s%s listens on port %d", text->len > 0 ? ", " : "",
        GST_OBJECT_NAME (element), port);
    return;
  }
  g_autoptr (GstIterator) pads = gst_element_iterate_sink_pads (element);
  g_auto (GValue) item = G_VALUE_INIT;
  while (gst_iterator_next (pads, &item) == GST_ITERATOR_OK) {
    describe_peer (g_value_get_object (&item), depth + 1, text);
    g_value_reset (&item);
  }
}

static void
describe_peer (GstPad *pad, guint depth, GString *text)
{
  g_autoptr (GstPad) peer = depth < MAX_DEPTH ? gst_pad_get_peer (pad) : NULL;
  g_autoptr (GstElement) element = peer ? gst_pad_get_parent_element (peer) : NULL;
  if (element)
    describe_element (element, depth, text);
}

gchar *
gst_lidar_describe_upstream (GstPad *pad)
{
  GString *text = g_string_new (NULL);
  describe_peer (pad, 0, text);
  return g_string_free (text, FALSE);
}
