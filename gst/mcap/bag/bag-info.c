/* SPDX-License-Identifier: MIT */
#include "bag-info.h"

#include <math.h>
#include <string.h>

#include "gst/mcap/ros/cdr.h"
#include "gst/mcap/container/mcap-format.h"
#include "gst/mcap/ros/ros-schemas.h"

#define NS_PER_SECOND 1e9

/* Of the list in an error. */
#define MAX_LINES 32

static gboolean
contains (const gchar *text, const gchar *const *parts)
{
  for (; *parts; parts++)
    if (strstr (text, *parts))
      return TRUE;
  return FALSE;
}

/* Types as the sensors' public ROS drivers name them. */
static gboolean
is_packets (const gchar *type)
{
  static const gchar *const parts[] = {"Packet", "VelodyneScan", "PandarScan", "HesaiScan",
      "RslidarScan", "rslidarScan", "RobosenseScan", "UdpFrame", "livox", "CustomMsg", NULL};
  return contains (type, parts);
}

/* Without control characters, which a terminal would execute. */
static gchar *
clean (const gchar *name)
{
  gchar *text = g_strdup (name && *name ? name : "-");
  for (gchar *p = text; *p; p++)
    if (g_ascii_iscntrl (*p))
      *p = '?';
  return text;
}

static const gchar *
get_message_use (const BagChannel *channel)
{
  static const gchar *const clouds[] = {"PointCloud", NULL};
  const gchar *type = channel->schema_name;
  if (bag_channel_is_map (channel))
    return "a map, passed as it stands";
  if (!type || !*type)
    return "its channel names no type: to be decoded it has to be recorded with its schema";
  if (is_packets (type))
    return "packets of a sensor: its ROS driver makes sensor_msgs/msg/PointCloud2 of them, and a "
           "network capture is read by lidarpcapsrc";
  if (!contains (type, clouds))
    return "passed as it stands";
  if (strcmp (channel->message_encoding, "ros1") == 0 ||
      g_strcmp0 (channel->schema_encoding, "ros1msg") == 0)
    return "a cloud of ROS 1: the recording has to be converted to ROS 2 (rosbags-convert)";
  if (strcmp (channel->message_encoding, MCAP_ENCODING_CDR) != 0)
    return "a cloud in an encoding that is not decoded: sensor_msgs/msg/PointCloud2 in CDR is "
           "needed";
  return "a cloud of a type that is not decoded: sensor_msgs/msg/PointCloud2 is needed";
}

const gchar *
bag_topic_get_use (const BagTopic *topic)
{
  if (topic->cloud)
    return "attached to its cloud";
  switch (topic->kind) {
  case BAG_KIND_CLOUD:
    return "clouds, can be localized";
  case BAG_KIND_ODOMETRY:
    return "odometry";
  case BAG_KIND_POSE:
  case BAG_KIND_POSE_WITH_COVARIANCE:
  case BAG_KIND_TF:
    return "poses";
  default:
    return get_message_use (topic->channel);
  }
}

gchar *
bag_topics_describe (const BagTopics *topics)
{
  GString *text = g_string_new (NULL);
  const guint n = bag_topics_get_n (topics);
  for (guint i = 0; i < MIN (n, MAX_LINES); i++) {
    const BagTopic *topic = bag_topics_get (topics, i);
    const BagChannel *channel = topic->channel;
    g_autofree gchar *name = clean (channel->topic);
    g_autofree gchar *type = clean (channel->schema_name ? channel->schema_name : "no type");
    g_autofree gchar *encoding = clean (channel->message_encoding);
    g_string_append_printf (text, "%s  %s (%s, %s), %s%s: %s", i > 0 ? "\n" : "", name, type,
        encoding, topic->pad ? "pad " : "no pad", topic->pad ? topic->pad : "",
        bag_topic_get_use (topic));
  }
  if (n > MAX_LINES)
    g_string_append_printf (text, "\n  and %u more topics (ndt-bag info lists all)", n - MAX_LINES);
  return g_string_free (text, FALSE);
}

/* The table */

typedef struct {
  guint64 n;
  guint64 first;
  guint64 last;
  gboolean has_stamp;
  gdouble distance; /* of the first stamp less its log time, s */
  gchar *frames;    /* "odom > base_link"; NULL: none */
} Count;

static void
clear_count (gpointer count)
{
  g_free (((Count *)count)->frames);
}

/* The frames of a cloud or pose, which stand behind the stamp. */
static gchar *
read_frames (const BagMessage *message, BagKind kind)
{
  CdrReader reader;
  if (kind == BAG_KIND_MESSAGE || !cdr_reader_init (&reader, message->data, message->size))
    return NULL;
  if (kind == BAG_KIND_TF)
    cdr_read_length (&reader, 1);
  cdr_read_i32 (&reader);
  cdr_read_u32 (&reader);
  g_autofree gchar *parent = cdr_read_string (&reader);
  g_autofree gchar *child =
      kind == BAG_KIND_ODOMETRY || kind == BAG_KIND_TF ? cdr_read_string (&reader) : NULL;
  if (!parent || !*parent)
    return NULL;
  return child && *child ? g_strconcat (parent, " > ", child, NULL) : g_steal_pointer (&parent);
}

static void
count_message (Count *count, const BagTopic *topic, const BagMessage *message)
{
  if (count->n++ == 0)
    count->first = message->log_time;
  count->last = message->log_time;
  if (count->has_stamp || topic->kind == BAG_KIND_MESSAGE)
    return;
  const guint64 stamp = bag_message_get_stamp (message, topic->kind);
  count->has_stamp = stamp != BAG_NO_STAMP;
  if (count->has_stamp)
    count->distance = ((gdouble)stamp - (gdouble)message->log_time) / NS_PER_SECOND;
  if (!count->frames)
    count->frames = read_frames (message, topic->kind);
}

static gchar *
format_distance (const Count *count)
{
  if (!count->has_stamp)
    return g_strdup ("-");
  if (fabs (count->distance) > 1e6)
    return g_strdup_printf ("%+.1f d", count->distance / 86400);
  return g_strdup_printf ("%+.3f s", count->distance);
}

/* @start: of the recording. */
static gchar **
format_row (const BagTopic *topic, const Count *count, guint64 start)
{
  GPtrArray *row = g_ptr_array_new ();
  const gdouble span = (gdouble)(count->last - count->first) / NS_PER_SECOND;
  g_ptr_array_add (row, clean (topic->channel->topic));
  g_ptr_array_add (
      row, clean (topic->channel->schema_name ? topic->channel->schema_name : "no type"));
  g_ptr_array_add (row, clean (topic->channel->message_encoding));
  g_ptr_array_add (row, g_strdup (topic->pad ? topic->pad : "-"));
  g_ptr_array_add (row, g_strdup_printf ("%" G_GUINT64_FORMAT, count->n));
  g_ptr_array_add (row, count->n > 1 && span > 0
                            ? g_strdup_printf ("%.3g", (gdouble)(count->n - 1) / span)
                            : g_strdup ("-"));
  g_ptr_array_add (row,
      count->n > 0 ? g_strdup_printf ("%.3f-%.3f", (gdouble)(count->first - start) / NS_PER_SECOND,
                         (gdouble)(count->last - start) / NS_PER_SECOND)
                   : g_strdup ("-"));
  g_ptr_array_add (row, clean (count->frames));
  g_ptr_array_add (row, format_distance (count));
  g_ptr_array_add (row, g_strdup (bag_topic_get_use (topic)));
  g_ptr_array_add (row, NULL);
  return (gchar **)g_ptr_array_free (row, FALSE);
}

static gchar *
format_table (GPtrArray *rows)
{
  GString *text = g_string_new (NULL);
  glong widths[16] = {0};
  for (guint i = 0; i < rows->len; i++) {
    gchar **row = g_ptr_array_index (rows, i);
    for (guint j = 0; row[j]; j++)
      widths[j] = MAX (widths[j], g_utf8_strlen (row[j], -1));
  }
  for (guint i = 0; i < rows->len; i++) {
    gchar **row = g_ptr_array_index (rows, i);
    for (guint j = 0; row[j]; j++) {
      g_string_append (text, row[j]);
      if (row[j + 1])
        g_string_append_printf (
            text, "%*s", (gint)(widths[j] - g_utf8_strlen (row[j], -1)) + 2, "");
    }
    g_string_append_c (text, '\n');
  }
  return g_string_free (text, FALSE);
}

static gchar *
format_time (guint64 time)
{
  g_autoptr (GDateTime) date = g_date_time_new_from_unix_utc ((gint64)(time / 1000000000));
  g_autofree gchar *day = date ? g_date_time_format (date, "%Y-%m-%d %H:%M:%S UTC") : NULL;
  return g_strdup_printf ("%.3f (%s)", (gdouble)time / NS_PER_SECOND, day ? day : "no date");
}

gchar *
bag_info_read (BagMerger *recording, guint64 seconds, GError **error)
{
  static const gchar *const heads[] = {"topic", "type", "encoding", "pad", "messages", "Hz",
      "log times (s)", "frames", "stamp - log", "use", NULL};
  g_autoptr (BagTopics) topics = bag_topics_new (NULL, FALSE, TRUE, G_MAXUINT);
  g_autoptr (GArray) counts = g_array_new (FALSE, TRUE, sizeof (Count));
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func ((GDestroyNotify)g_strfreev);
  GError *failure = NULL;
  BagMessage message;
  guint64 start = 0, end = 0;

  g_array_set_clear_func (counts, clear_count);
  for (guint i = 0; i < bag_merger_get_n_channels (recording); i++)
    bag_topics_add (topics, bag_merger_get_channel (recording, i));
  const gboolean has_range = bag_merger_get_range (recording, &start, &end);
  if (!bag_merger_seek (recording, 0, error))
    return NULL;
  while (bag_merger_next (recording, &message, &failure) &&
         (seconds == 0 || (message.log_time - start) / 1000000000 < seconds)) {
    const BagTopic *topic = bag_topics_add (topics, message.channel);
    if (topic->number >= counts->len)
      g_array_set_size (counts, topic->number + 1);
    count_message (&g_array_index (counts, Count, topic->number), topic, &message);
  }
  if (failure) {
    g_propagate_error (error, failure);
    return NULL;
  }
  g_array_set_size (counts, bag_topics_get_n (topics));
  g_ptr_array_add (rows, g_strdupv ((gchar **)heads));
  for (guint i = 0; i < bag_topics_get_n (topics); i++)
    g_ptr_array_add (
        rows, format_row (bag_topics_get (topics, i), &g_array_index (counts, Count, i), start));
  g_autofree gchar *table = format_table (rows);
  g_autofree gchar *first = format_time (start);
  if (!has_range)
    return g_strconcat ("no messages\n", table, NULL);
  return g_strdup_printf ("log times from %s, %.3f s%s\n%s", first,
      (gdouble)(end - start) / NS_PER_SECOND,
      seconds > 0 ? "; messages, rates and spans are of the beginning" : "", table);
}
