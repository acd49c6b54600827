/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-pcddec
 * @title: pcddec
 * @short_description: decodes PCD files into point clouds
 *
 * Takes the bytes of PCD files of the Point Cloud Library (ascii, binary and binary_compressed) and
 * makes one buffer of `pointcloud/x-raw` of each. A buffer may hold a whole file, as multifilesrc
 * sends it, or any piece of one, as filesrc does; files may follow each other in a stream.
 *
 * Fields become the fields of caps one by one, with their names, types, offsets and counts; `X`,
 * `Y` and `Z`, as PDAL writes them, become `x`, `y` and `z`. `_` is padding. Fields that caps
 * cannot hold (8-byte integers, names that are there twice or have a comma or colon) are left out
 * with a warning, their bytes stay in the points. A cloud of several rows has its width and height
 * in caps. The VIEWPOINT is the sensor's pose when the file was written and is not applied: points
 * stay as the file has them.
 *
 * Buffers without PTS get the index of the file over #GstPcdDec:framerate, or the line of
 * #GstPcdDec:times-location.
 *
 * A file that cannot be read is an error as long as none could be: the stream is something else
 * then. Once a file was decoded, a bad one among the others is skipped with a warning, a GAP event
 * in its place, so that the scans after it keep their times; #GstPcdDec:stats counts them.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 -v multifilesrc location=kitti/scans/%06d.pcd ! pcddec framerate=5/1 ! \
 *     fakesink silent=false
 * ]|
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstpcddec.h"

#include <gst/pointcloud/pointcloud.h>
#include <string.h>

#include "gst/common/gstpointcloudallocation.h"
#include "gst/common/gstpointcloudtimer.h"
#include "gst/common/gstsinkevents.h"
#include "gstpcdlayout.h"

GST_DEBUG_CATEGORY_STATIC (gst_pcd_dec_debug);
#define GST_CAT_DEFAULT gst_pcd_dec_debug

/* What a file in pieces may take; GByteArray counts in unsigned int. */
#define MAX_FILE_SIZE ((gsize)G_MAXINT)

enum { PROP_0, PROP_FRAMERATE, PROP_TIMES_LOCATION, PROP_STATS };

struct _GstPcdDec {
  GstElement parent;
  GstPad *sinkpad;
  GstPad *srcpad;

  /* properties and what stats reads, under the object lock */
  gint fps_n;
  gint fps_d;
  gchar *times_location;
  guint64 n_decoded;
  guint64 n_bad;

  /* streaming thread */
  GstPointCloudTimer *timer;
  GstPointCloudAllocation *allocation;
  GList *pending; /* serialized events that came before the first caps went out */
  gint caps_fps_n, caps_fps_d;
  GstPointCloudInfo info;
  gchar *dropped; /* fields that caps do not hold */
  gboolean has_caps;
  gboolean discont;

  GByteArray *data; /* of a file that is not whole yet */
  NdtPcdHeader header;
  gboolean has_header;
  NdtPcdCursor cursor;
  GstClockTime pts; /* of the buffer in which the file began */
  GstClockTime duration;
  gboolean searching;  /* after a bad file: for the next that begins */
  gboolean after_text; /* the file before was ascii */
  gboolean per_buffer; /* the file before came in a buffer of its own */
  guint n_taken;       /* files decoded from the buffer at hand */
};

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS (GST_PCD_CAPS_NAME));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC,
    GST_PAD_ALWAYS, GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_MAKE (GST_POINT_CLOUD_FORMATS_ALL)));

G_DEFINE_TYPE (GstPcdDec, gst_pcd_dec, GST_TYPE_ELEMENT)
GST_ELEMENT_REGISTER_DEFINE (pcddec, "pcddec", GST_RANK_PRIMARY, GST_TYPE_PCD_DEC)

/* Forgets the file that is being gathered. */
static void
start_file (GstPcdDec *self)
{
  self->has_header = FALSE;
  self->cursor = (NdtPcdCursor){0, 0};
  self->pts = self->duration = GST_CLOCK_TIME_NONE;
}

static void
reset_stream (GstPcdDec *self)
{
  g_byte_array_set_size (self->data, 0);
  start_file (self);
  self->searching = FALSE;
  self->after_text = FALSE;
  self->per_buffer = FALSE;
  self->discont = TRUE;
  gst_point_cloud_timer_reset (self->timer);
  gst_point_cloud_allocation_reset (self->allocation);
}

static void
push_pending_events (GstPcdDec *self)
{
  GList *events = g_steal_pointer (&self->pending);
  for (GList *l = events; l; l = l->next)
    gst_pad_push_event (self->srcpad, GST_EVENT (l->data));
  g_list_free (events);
}

static gboolean
update_caps (GstPcdDec *self)
{
  GstPointCloudInfo info;
  g_autofree gchar *dropped = NULL;
  const gboolean has_fields = gst_pcd_layout_to_info (&self->header, &info, &dropped);

  GST_OBJECT_LOCK (self);
  info.fps_n = self->fps_n;
  info.fps_d = self->fps_d;
  GST_OBJECT_UNLOCK (self);
  if (info.fps_n == 0) {
    info.fps_n = self->caps_fps_n;
    info.fps_d = self->caps_fps_d;
  }
  if (dropped && g_strcmp0 (dropped, self->dropped) != 0)
    GST_ELEMENT_WARNING (self, STREAM, FORMAT, ("Fields are left out: %s.", dropped), (NULL));
  g_free (self->dropped);
  self->dropped = g_steal_pointer (&dropped);
  if (self->has_caps && gst_point_cloud_info_is_equal (&info, &self->info))
    return TRUE;

  if (!has_fields) {
    GST_ELEMENT_ERROR (self, STREAM, FORMAT, ("A PCD file has no field that caps can hold."),
        ("%s", self->dropped ? self->dropped : "padding only"));
    return FALSE;
  }
  gst_point_cloud_timer_set_info (self->timer, &info);
  self->info = info;
  self->has_caps = TRUE;
  g_autoptr (GstCaps) caps = gst_point_cloud_info_to_caps (&info);
  GST_INFO_OBJECT (self, "caps %" GST_PTR_FORMAT, caps);
  gst_pad_push_event (self->srcpad, gst_event_new_caps (caps));
  push_pending_events (self);
  return TRUE;
}

/* A bad file keeps its place in time. */
static void
push_gap (GstPcdDec *self)
{
  GstBuffer *place = gst_buffer_new ();
  GST_BUFFER_PTS (place) = self->pts;
  GST_BUFFER_DURATION (place) = self->duration;
  place = gst_point_cloud_timer_stamp (self->timer, place);
  gst_pad_push_event (
      self->srcpad, gst_event_new_gap (GST_BUFFER_PTS (place), GST_BUFFER_DURATION (place)));
  gst_buffer_unref (place);
}

static GstFlowReturn
handle_bad_file (GstPcdDec *self, const gchar *why)
{
  guint64 n_decoded, number;
  GST_OBJECT_LOCK (self);
  n_decoded = self->n_decoded;
  number = self->n_decoded + ++self->n_bad;
  GST_OBJECT_UNLOCK (self);
  GST_DEBUG_OBJECT (self, "file %" G_GUINT64_FORMAT " %s", number, why);

  if (n_decoded == 0) {
    /* The end of the stream comes after an error, too: nothing of the file is to be left then. */
    start_file (self);
    GST_ELEMENT_ERROR (self, STREAM, DECODE, ("The first PCD file %s.", why), (NULL));
    return GST_FLOW_ERROR;
  }
  GST_ELEMENT_WARNING (self, STREAM, DECODE,
      ("PCD file %" G_GUINT64_FORMAT " of the stream %s; it is skipped.", number, why), (NULL));
  push_gap (self);
  self->discont = TRUE;
  start_file (self);
  return GST_FLOW_OK;
}

static GstFlowReturn
push_cloud (GstPcdDec *self, GstBuffer *cloud)
{
  GST_BUFFER_PTS (cloud) = self->pts;
  GST_BUFFER_DURATION (cloud) = self->duration;
  cloud = gst_point_cloud_timer_stamp (self->timer, cloud);
  if (self->discont)
    GST_BUFFER_FLAG_SET (cloud, GST_BUFFER_FLAG_DISCONT);
  else
    GST_BUFFER_FLAG_UNSET (cloud, GST_BUFFER_FLAG_DISCONT);
  self->discont = FALSE;
  GST_OBJECT_LOCK (self);
  self->n_decoded++;
  GST_OBJECT_UNLOCK (self);
  self->n_taken++;
  self->after_text = self->header.encoding == NDT_PCD_ASCII;
  start_file (self);
  GST_LOG_OBJECT (self, "cloud of %" G_GSIZE_FORMAT " bytes at %" GST_TIME_FORMAT,
      gst_buffer_get_size (cloud), GST_TIME_ARGS (GST_BUFFER_PTS (cloud)));
  return gst_pad_push (self->srcpad, cloud);
}

/* Decodes the file whose header was parsed from its @size bytes of data. @source, where it is not
 * NULL, holds these bytes at @offset, and binary points stay in its memory unless downstream
 * proposes some. */
static GstFlowReturn
decode_file (GstPcdDec *self, const guint8 *data, gsize size, GstBuffer *source, gsize offset)
{
  const NdtPcdHeader *header = &self->header;
  const gsize bytes = ndt_pcd_header_get_n_points (header) * header->point_step;
  g_autoptr (GError) error = NULL;
  const gboolean as_it_is =
      source && header->encoding == NDT_PCD_BINARY && bytes > 0 && size >= bytes;
  g_autofree guint8 *points = NULL;
  GstBuffer *cloud;

  if (!as_it_is) {
    gsize n_points;
    points = ndt_pcd_decode (header, data, size, &n_points, &error);
    if (!points && g_error_matches (error, NDT_ERROR, NDT_ERROR_NO_MEMORY)) {
      GST_ELEMENT_ERROR (self, RESOURCE, NO_SPACE_LEFT, ("A PCD file %s.", error->message), (NULL));
      return GST_FLOW_ERROR;
    }
    if (!points)
      return handle_bad_file (self, error->message);
  }
  if (!update_caps (self))
    return GST_FLOW_NOT_NEGOTIATED;
  if (!as_it_is)
    cloud = gst_point_cloud_allocation_take (self->allocation, g_steal_pointer (&points), bytes);
  else if (!(cloud = gst_point_cloud_allocation_copy (self->allocation, data, bytes)))
    cloud = gst_buffer_copy_region (source, GST_BUFFER_COPY_MEMORY, offset, bytes);
  if (source)
    gst_buffer_copy_into (cloud, source, GST_BUFFER_COPY_META, 0, -1);
  return push_cloud (self, cloud);
}

/* Bytes of padding at the start: some writers fill pages with zeros. */
static gsize
count_padding (const guint8 *data, gsize size)
{
  gsize n = 0;
  while (n < size && (data[n] == 0 || g_ascii_isspace ((gchar)data[n])))
    n++;
  return n;
}

static const gchar magic[] = "# .PCD v";

/* Whether a buffer begins a file: what programs write begins so, and data of another file hardly
 * do. A header without the first comment is told from the middle of a header only where none is
 * being gathered. */
static gboolean
begins_file (GstPcdDec *self, const guint8 *data, gsize size)
{
  NdtPcdHeader header;
  if (size >= strlen (magic) && memcmp (data, magic, strlen (magic)) == 0)
    return TRUE;
  return (self->has_header || self->searching || self->per_buffer) &&
         ndt_pcd_parse_header (data, size, &header, NULL);
}

/* Bytes to skip to the next file's first, or those of no use where none begins. */
static gsize
find_file (const guint8 *data, gsize size)
{
  const gsize length = strlen (magic);
  for (gsize i = 0; i + length <= size; i++)
    if (memcmp (data + i, magic, length) == 0)
      return i;
  return size < length ? 0 : size - length + 1;
}

/* Parses the header at the front of @data, after padding. FALSE where more bytes are needed, or
 * there is none, which @flow and the search for the next file then follow from. */
static gboolean
take_header (GstPcdDec *self, const guint8 *data, gsize size, gsize *padding, GstFlowReturn *flow)
{
  g_autoptr (GError) error = NULL;
  *padding = count_padding (data, size);
  data += *padding;
  size -= *padding;
  if (size == 0)
    return FALSE;
  if (ndt_pcd_parse_header (data, size, &self->header, &error)) {
    self->has_header = TRUE;
    return TRUE;
  }
  if (error) {
    *flow = handle_bad_file (self,
        self->after_text ? "follows lines of data that its header does not count" : error->message);
    self->searching = TRUE;
    self->after_text = FALSE;
  }
  return FALSE;
}

/* Takes all files that are whole off the front of @data; @used says how much that was. */
static GstFlowReturn
take_files (GstPcdDec *self, const guint8 *data, gsize size, GstBuffer *source, gsize *used)
{
  GstFlowReturn flow = GST_FLOW_OK;
  *used = 0;
  while (flow == GST_FLOW_OK) {
    gsize skip, end;
    if (self->searching) {
      skip = find_file (data + *used, size - *used);
      *used += skip;
      if (size - *used < strlen (magic))
        break;
      self->searching = FALSE;
    }
    if (!self->has_header) {
      const gboolean found = take_header (self, data + *used, size - *used, &skip, &flow);
      *used += skip;
      if (self->searching)
        (*used)++;
      else if (!found)
        break;
      if (!found)
        continue;
    }
    const gsize start = *used + self->header.data_offset;
    if (!ndt_pcd_find_end (&self->header, data + start, size - start, &self->cursor, &end)) {
      if (end <= MAX_FILE_SIZE)
        break;
      flow = handle_bad_file (self, "is larger than 2 GiB");
      self->searching = TRUE;
      (*used)++;
      continue;
    }
    flow = decode_file (self, data + start, end, source, start);
    *used = start + end;
  }
  return flow;
}

/* No more bytes come for what was gathered: text may lack its last line end. */
static GstFlowReturn
finish_file (GstPcdDec *self)
{
  GstFlowReturn flow = GST_FLOW_OK;
  const gsize offset = self->header.data_offset;
  if (self->has_header)
    flow = decode_file (self, self->data->data + offset, self->data->len - offset, NULL, 0);
  else if (self->data->len > 0 && !self->searching)
    flow = handle_bad_file (self, "ends within its header: there is no DATA line");
  g_byte_array_set_size (self->data, 0);
  start_file (self);
  self->searching = FALSE;
  return flow;
}

static GstFlowReturn
take_buffer (GstPcdDec *self, GstBuffer *buffer, const guint8 *data, gsize size)
{
  GstFlowReturn flow = GST_FLOW_OK;
  gsize used;

  if (size == 0 || begins_file (self, data, size))
    flow = finish_file (self);
  if (flow != GST_FLOW_OK)
    return flow;
  self->n_taken = 0;
  if (self->data->len == 0) {
    self->pts = GST_BUFFER_PTS (buffer);
    self->duration = GST_BUFFER_DURATION (buffer);
    if (size == 0)
      return handle_bad_file (self, "is empty");
    flow = take_files (self, data, size, buffer, &used);
    g_byte_array_append (self->data, data + used, (guint)(size - used));
    self->per_buffer = self->n_taken == 1 && used == size;
    return flow;
  }

  if (size > MAX_FILE_SIZE - self->data->len) {
    self->searching = TRUE;
    flow = handle_bad_file (self, "is larger than 2 GiB");
    g_byte_array_set_size (self->data, 0);
    return flow;
  }
  g_byte_array_append (self->data, data, (guint)size);
  flow = take_files (self, self->data->data, self->data->len, NULL, &used);
  g_byte_array_remove_range (self->data, 0, (guint)used);
  if (self->n_taken > 0)
    self->per_buffer = FALSE;
  return flow;
}

static GstFlowReturn
gst_pcd_dec_chain (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  GstPcdDec *self = GST_PCD_DEC (parent);
  GstFlowReturn flow;
  GstMapInfo map;

  if (!gst_buffer_map (buffer, &map, GST_MAP_READ)) {
    GST_ELEMENT_ERROR (self, RESOURCE, READ, ("A buffer cannot be mapped."), (NULL));
    flow = GST_FLOW_ERROR;
  } else if (map.size > MAX_FILE_SIZE) {
    gst_buffer_unmap (buffer, &map);
    flow = handle_bad_file (self, "is larger than 2 GiB");
  } else {
    flow = take_buffer (self, buffer, map.data, map.size);
    gst_buffer_unmap (buffer, &map);
  }
  gst_buffer_unref (buffer);
  return flow;
}

static void
handle_eos (GstPcdDec *self)
{
  guint64 n_files;
  GstFlowReturn flow = finish_file (self);
  GST_OBJECT_LOCK (self);
  n_files = self->n_decoded + self->n_bad;
  GST_OBJECT_UNLOCK (self);
  if (flow == GST_FLOW_OK && n_files == 0)
    GST_ELEMENT_ERROR (self, STREAM, DECODE, ("The stream holds no PCD file."), (NULL));
  push_pending_events (self);
}

static void
take_framerate (GstPcdDec *self, const GstCaps *caps)
{
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  gint n, d;
  if (!gst_structure_get_fraction (structure, "framerate", &n, &d)) {
    n = 0;
    d = 1;
  }
  self->caps_fps_n = n;
  self->caps_fps_d = d;
}

static gboolean
gst_pcd_dec_sink_event (GstPad *pad, GstObject *parent, GstEvent *event)
{
  GstPcdDec *self = GST_PCD_DEC (parent);
  GstCaps *caps;

  switch (GST_EVENT_TYPE (event)) {
  case GST_EVENT_CAPS:
    gst_event_parse_caps (event, &caps);
    take_framerate (self, caps);
    gst_event_unref (event);
    return TRUE;
  case GST_EVENT_SEGMENT:
    event = gst_point_cloud_timer_segment (self->timer, event);
    GST_DEBUG_OBJECT (
        self, "segment %" GST_SEGMENT_FORMAT, gst_point_cloud_timer_get_segment (self->timer));
    break;
  case GST_EVENT_FLUSH_STOP:
    GST_DEBUG_OBJECT (self, "flush");
    g_list_free_full (g_steal_pointer (&self->pending), (GDestroyNotify)gst_event_unref);
    reset_stream (self);
    break;
  case GST_EVENT_EOS:
    handle_eos (self);
    break;
  default:
    break;
  }
  /* Caps come after the start of the stream and before all else. */
  if (GST_EVENT_IS_SERIALIZED (event) && !self->has_caps &&
      GST_EVENT_TYPE (event) > GST_EVENT_CAPS && GST_EVENT_TYPE (event) != GST_EVENT_EOS) {
    self->pending = g_list_append (self->pending, event);
    return TRUE;
  }
  return gst_pad_event_default (pad, parent, event);
}

static gboolean
gst_pcd_dec_sink_query (GstPad *pad, GstObject *parent, GstQuery *query)
{
  /* What downstream offers is for clouds, not for the bytes of files. */
  if (GST_QUERY_TYPE (query) == GST_QUERY_ALLOCATION)
    return FALSE;
  return gst_pad_query_default (pad, parent, query);
}

static gboolean
start (GstPcdDec *self)
{
  g_autoptr (GError) error = NULL;
  g_autofree gchar *location = NULL;
  GST_OBJECT_LOCK (self);
  location = g_strdup (self->times_location);
  self->n_decoded = self->n_bad = 0;
  GST_OBJECT_UNLOCK (self);
  reset_stream (self);
  self->has_caps = FALSE;
  g_clear_pointer (&self->dropped, g_free);
  self->caps_fps_n = 0;
  self->caps_fps_d = 1;
  if (gst_point_cloud_timer_set_times_location (self->timer, location, &error))
    return TRUE;
  gst_element_message_full (GST_ELEMENT (self), GST_MESSAGE_ERROR, error->domain, error->code,
      g_strdup (error->message), NULL, __FILE__, GST_FUNCTION, __LINE__);
  return FALSE;
}

static GstStateChangeReturn
gst_pcd_dec_change_state (GstElement *element, GstStateChange transition)
{
  GstPcdDec *self = GST_PCD_DEC (element);
  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED && !start (self))
    return GST_STATE_CHANGE_FAILURE;
  GstStateChangeReturn result =
      GST_ELEMENT_CLASS (gst_pcd_dec_parent_class)->change_state (element, transition);
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY) {
    reset_stream (self);
    g_list_free_full (g_steal_pointer (&self->pending), (GDestroyNotify)gst_event_unref);
  }
  return result;
}

static void
gst_pcd_dec_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstPcdDec *self = GST_PCD_DEC (object);
  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_FRAMERATE:
    self->fps_n = gst_value_get_fraction_numerator (value);
    self->fps_d = gst_value_get_fraction_denominator (value);
    break;
  case PROP_TIMES_LOCATION:
    g_free (self->times_location);
    self->times_location = g_value_dup_string (value);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_pcd_dec_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstPcdDec *self = GST_PCD_DEC (object);
  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_FRAMERATE:
    gst_value_set_fraction (value, self->fps_n, self->fps_d);
    break;
  case PROP_TIMES_LOCATION:
    g_value_set_string (value, self->times_location);
    break;
  case PROP_STATS:
    g_value_take_boxed (
        value, gst_structure_new ("application/x-pcddec-stats", "decoded", G_TYPE_UINT64,
                   self->n_decoded, "bad", G_TYPE_UINT64, self->n_bad, NULL));
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_pcd_dec_finalize (GObject *object)
{
  GstPcdDec *self = GST_PCD_DEC (object);
  g_list_free_full (self->pending, (GDestroyNotify)gst_event_unref);
  gst_point_cloud_allocation_free (self->allocation);
  gst_point_cloud_timer_free (self->timer);
  g_byte_array_unref (self->data);
  g_free (self->times_location);
  g_free (self->dropped);
  G_OBJECT_CLASS (gst_pcd_dec_parent_class)->finalize (object);
}

static void
gst_pcd_dec_init (GstPcdDec *self)
{
  self->sinkpad = gst_pad_new_from_static_template (&sink_template, "sink");
  gst_pad_set_chain_function (self->sinkpad, gst_pcd_dec_chain);
  gst_pad_set_event_function (self->sinkpad, gst_pcd_dec_sink_event);
  gst_sink_events_tell_flushing (self->sinkpad);
  gst_pad_set_query_function (self->sinkpad, gst_pcd_dec_sink_query);
  gst_element_add_pad (GST_ELEMENT (self), self->sinkpad);
  self->srcpad = gst_pad_new_from_static_template (&src_template, "src");
  gst_pad_use_fixed_caps (self->srcpad);
  gst_element_add_pad (GST_ELEMENT (self), self->srcpad);

  self->fps_d = 1;
  self->caps_fps_d = 1;
  self->data = g_byte_array_new ();
  self->timer = gst_point_cloud_timer_new (GST_ELEMENT (self));
  self->allocation = gst_point_cloud_allocation_new (self->srcpad);
  start_file (self);
}

static void
gst_pcd_dec_class_init (GstPcdDecClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);

  GST_DEBUG_CATEGORY_INIT (gst_pcd_dec_debug, "pcddec", 0, "PCD decoder");
  object_class->set_property = gst_pcd_dec_set_property;
  object_class->get_property = gst_pcd_dec_get_property;
  object_class->finalize = gst_pcd_dec_finalize;
  element_class->change_state = gst_pcd_dec_change_state;

  /**
   * GstPcdDec:framerate:
   *
   * Scans per second, for caps and for the time stamps of buffers that have none. 0/1: what
   * the caps that come say, 10/1 (with a warning) where they say nothing.
   */
  g_object_class_install_property (object_class, PROP_FRAMERATE,
      gst_param_spec_fraction ("framerate", "Framerate",
          "Scans per second; 0/1: that of the caps that come, else 10/1", 0, 1, G_MAXINT, 1, 0, 1,
          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY));
  /**
   * GstPcdDec:times-location:
   *
   * A text file with a time in seconds in the first column of each line, for files of the stream
   * in their order; '#' begins a comment.
   */
  g_object_class_install_property (object_class, PROP_TIMES_LOCATION,
      g_param_spec_string ("times-location", "Times Location",
          "File with the time of each scan in seconds, one a line, for buffers without PTS", NULL,
          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY));
  /**
   * GstPcdDec:stats:
   *
   * Since the start: `decoded` files (guint64) and `bad` ones that were skipped (guint64).
   */
  g_object_class_install_property (object_class, PROP_STATS,
      g_param_spec_boxed ("stats", "Statistics", "Numbers of files decoded and bad",
          GST_TYPE_STRUCTURE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));

  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "PCD decoder", "Codec/Decoder/PointCloud",
      "Decodes PCD files (ascii, binary, binary_compressed) into point clouds",
      "The gst-ndt developers");
}
