/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-rosbagsrc
 * @title: rosbagsrc
 * @short_description: plays recordings in MCAP and rosbag2 files
 *
 * Reads MCAP files and rosbag2's SQLite3 files (a file, several, or a folder) and sends what was
 * recorded, in the order of log times: sensor_msgs/PointCloud2 as `pointcloud/x-raw` on `cloud_%u`;
 * geometry_msgs/PoseStamped and PoseWithCovarianceStamped, nav_msgs/Odometry and tf2_msgs/TFMessage
 * as buffers with #GstPoseMeta on `pose_%u`; all else as it stands on `message_%u`, with topic and
 * schema in caps. A pad is made for each topic, numbered in the order of the file's channels.
 *
 * PTS are nanoseconds as recorded, those of the Unix epoch in most recordings; segments begin with
 * the earliest, so that running time and positions begin at 0. Seeking is by time.
 *
 * Files that were cut off are indexed anew, with a warning; what is damaged is left out, with a
 * warning, and counted by #GstRosbagSrc:stats.
 *
 * While the pipeline plays, progress messages with the code `replay` tell how far it is.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 rosbagsrc location=talker/talker.mcap topics="</topic>" ! fakesink silent=false -v
 * ]|
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstrosbagsrc.h"

#include "gst/common/gstlocation.h"
#include "gst/mcap/bag/bag-files.h"

GST_DEBUG_CATEGORY_STATIC (gst_rosbag_src_debug);
#define GST_CAT_DEFAULT gst_rosbag_src_debug

enum {
  PROP_0,
  PROP_LOCATION,
  PROP_LOCATIONS,
  PROP_START_TIME,
  PROP_STOP_TIME,
  PROP_MAX_UNPACKED_SIZE,
  PROP_MAX_QUERY_TIME,
  PROP_CACHE_FOLDER,
};

struct _GstRosbagSrc {
  GstBagBase parent;

  /* under the object lock */
  gchar *location;
  gchar **locations;
  GstClockTime start_time;
  GstClockTime stop_time;
  guint64 max_unpacked_size;
  guint max_query_time;
  gchar *cache_folder;

  /* snapshots, for the player */
  GPtrArray *places; /* location and locations */
  gchar *cache;
};

G_DEFINE_TYPE (GstRosbagSrc, gst_rosbag_src, GST_TYPE_BAG_BASE)
GST_ELEMENT_REGISTER_DEFINE (rosbagsrc, "rosbagsrc", GST_RANK_NONE, GST_TYPE_ROSBAG_SRC)

static BagMerger *
open_files (gpointer user_data, const BagLimits *limits, GError **error)
{
  GstRosbagSrc *self = user_data;
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; i < self->places->len; i++)
    if (!bag_files_find (g_ptr_array_index (self->places, i), paths, error))
      return NULL;
  BagLimits with_cache = *limits;
  with_cache.cache = self->cache;
  return bag_merger_new (paths, &with_cache, error);
}

static gboolean
gst_rosbag_src_send_event (GstElement *element, GstEvent *event)
{
  GstBagBase *self = GST_BAG_BASE (element);
  gboolean done;
  if (GST_EVENT_TYPE (event) == GST_EVENT_SEEK) {
    done = gst_bag_base_seek (self, event);
  } else if (GST_EVENT_TYPE (event) == GST_EVENT_EOS) {
    /* An application stops the stream so. */
    GstBagPlayer *player = gst_bag_base_get_player (self);
    done = player != NULL;
    if (player)
      gst_bag_player_end (player);
    g_clear_pointer (&player, gst_bag_player_unref);
  } else {
    return GST_ELEMENT_CLASS (gst_rosbag_src_parent_class)->send_event (element, event);
  }
  gst_event_unref (event);
  return done;
}

static gboolean
gst_rosbag_src_query (GstElement *element, GstQuery *query)
{
  gboolean answered;
  if (gst_bag_base_answer (GST_BAG_BASE (element), query, &answered))
    return answered;
  return GST_ELEMENT_CLASS (gst_rosbag_src_parent_class)->query (element, query);
}

/* Opens the recording: what is wrong with it is a failure of this change of state. */
static gboolean
start (GstRosbagSrc *self)
{
  g_clear_pointer (&self->places, g_ptr_array_unref);
  self->places = g_ptr_array_new_with_free_func (g_free);
  GST_OBJECT_LOCK (self);
  if (self->location && *self->location)
    g_ptr_array_add (self->places, g_strdup (self->location));
  for (gchar **l = self->locations; l && *l; l++)
    g_ptr_array_add (self->places, g_strdup (*l));
  const GstClockTime start_time = self->start_time, stop_time = self->stop_time;
  const guint64 max_unpacked_size = self->max_unpacked_size;
  const guint max_query_time = self->max_query_time;
  g_autofree gchar *cache = g_strdup (self->cache_folder);
  GST_OBJECT_UNLOCK (self);
  g_autoptr (GError) error = NULL;

  g_clear_pointer (&self->cache, g_free);
  if (cache)
    self->cache = gst_location_resolve (cache, GST_LOCATION_READ_FOLDER, &error);
  if (error) {
    GST_ELEMENT_ERROR (
        self, RESOURCE, SETTINGS, ("The property cache-folder: %s", error->message), (NULL));
    return FALSE;
  }

  if (self->places->len == 0) {
    GST_ELEMENT_ERROR (self, RESOURCE, NOT_FOUND,
        ("No recording is named: set location to a file or folder."), (NULL));
    return FALSE;
  }
  GstBagPlayerSettings settings = {.post_progress = TRUE};
  gst_bag_base_get_settings (GST_BAG_BASE (self), &settings.streams);
  settings.streams.from = start_time;
  settings.streams.to = stop_time;
  settings.streams.limits.max_unpacked_size = max_unpacked_size;
  settings.streams.limits.max_query_time = max_query_time;
  GstBagPlayer *player = gst_bag_player_new (GST_ELEMENT (self), &settings, gst_bag_base_src_event,
      gst_bag_base_src_query, open_files, self);
  gst_bag_settings_clear (&settings.streams);
  if (!gst_bag_player_open (player)) {
    gst_bag_player_stop (player);
    gst_bag_player_unref (player);
    return FALSE;
  }
  gst_bag_base_start (GST_BAG_BASE (self), player);
  return TRUE;
}

static void
set_playing (GstRosbagSrc *self, gboolean playing)
{
  GstBagPlayer *player = gst_bag_base_get_player (GST_BAG_BASE (self));
  if (player)
    gst_bag_player_set_playing (player, playing);
  g_clear_pointer (&player, gst_bag_player_unref);
}

static GstStateChangeReturn
gst_rosbag_src_change_state (GstElement *element, GstStateChange transition)
{
  GstRosbagSrc *self = GST_ROSBAG_SRC (element);
  if (transition == GST_STATE_CHANGE_PLAYING_TO_PAUSED)
    set_playing (self, FALSE);
  GstStateChangeReturn result =
      GST_ELEMENT_CLASS (gst_rosbag_src_parent_class)->change_state (element, transition);
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
    gst_bag_base_stop (GST_BAG_BASE (self));
  if (result == GST_STATE_CHANGE_FAILURE)
    return result;
  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED && !start (self))
    return GST_STATE_CHANGE_FAILURE;
  if (transition == GST_STATE_CHANGE_PAUSED_TO_PLAYING)
    set_playing (self, TRUE);
  return result;
}

static void
gst_rosbag_src_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstRosbagSrc *self = GST_ROSBAG_SRC (object);
  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_LOCATION:
    g_free (self->location);
    self->location = g_value_dup_string (value);
    break;
  case PROP_LOCATIONS:
    g_strfreev (self->locations);
    self->locations = gst_bag_strings_from_value (value);
    break;
  case PROP_START_TIME:
    self->start_time = g_value_get_uint64 (value);
    break;
  case PROP_STOP_TIME:
    self->stop_time = g_value_get_uint64 (value);
    break;
  case PROP_MAX_UNPACKED_SIZE:
    self->max_unpacked_size = g_value_get_uint64 (value);
    break;
  case PROP_MAX_QUERY_TIME:
    self->max_query_time = g_value_get_uint (value);
    break;
  case PROP_CACHE_FOLDER:
    g_free (self->cache_folder);
    self->cache_folder = g_value_dup_string (value);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_rosbag_src_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstRosbagSrc *self = GST_ROSBAG_SRC (object);
  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_LOCATION:
    g_value_set_string (value, self->location);
    break;
  case PROP_LOCATIONS:
    gst_bag_strings_to_value (self->locations, value);
    break;
  case PROP_START_TIME:
    g_value_set_uint64 (value, self->start_time);
    break;
  case PROP_STOP_TIME:
    g_value_set_uint64 (value, self->stop_time);
    break;
  case PROP_MAX_UNPACKED_SIZE:
    g_value_set_uint64 (value, self->max_unpacked_size);
    break;
  case PROP_MAX_QUERY_TIME:
    g_value_set_uint (value, self->max_query_time);
    break;
  case PROP_CACHE_FOLDER:
    g_value_set_string (value, self->cache_folder);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_rosbag_src_finalize (GObject *object)
{
  GstRosbagSrc *self = GST_ROSBAG_SRC (object);
  g_free (self->location);
  g_strfreev (self->locations);
  g_free (self->cache_folder);
  g_free (self->cache);
  g_clear_pointer (&self->places, g_ptr_array_unref);
  G_OBJECT_CLASS (gst_rosbag_src_parent_class)->finalize (object);
}

static void
gst_rosbag_src_init (GstRosbagSrc *self)
{
  self->stop_time = G_MAXUINT64;
  self->max_unpacked_size = BAG_DEFAULT_MAX_UNPACKED_SIZE;
  self->max_query_time = BAG_DEFAULT_MAX_QUERY_TIME;
  GST_OBJECT_FLAG_SET (self, GST_ELEMENT_FLAG_SOURCE);
}

static void
gst_rosbag_src_class_init (GstRosbagSrcClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY;

  GST_DEBUG_CATEGORY_INIT (gst_rosbag_src_debug, "rosbagsrc", 0, "Recordings");
  object_class->set_property = gst_rosbag_src_set_property;
  object_class->get_property = gst_rosbag_src_get_property;
  object_class->finalize = gst_rosbag_src_finalize;
  element_class->change_state = gst_rosbag_src_change_state;
  element_class->send_event = gst_rosbag_src_send_event;
  element_class->query = gst_rosbag_src_query;
  GST_BAG_BASE_CLASS (klass)->log = gst_rosbag_src_debug;
  GST_BAG_BASE_CLASS (klass)->stats_name = "application/x-rosbagsrc-stats";

  /**
   * GstRosbagSrc:location:
   *
   * A file (also `https://…`, `s3://BUCKET/KEY`), a pattern with `*` and `?`, or a folder, of which
   * the files that its metadata.yaml lists are read, or all of .mcap, .db3 and these with .zstd.
   * Their messages are merged by time.
   */
  g_object_class_install_property (object_class, PROP_LOCATION,
      g_param_spec_string ("location", "Location",
          "MCAP or rosbag2 file (a path, https://..., s3://...), a pattern, or a folder of them",
          NULL, flags));
  /**
   * GstRosbagSrc:locations:
   *
   * More of them, each as #GstRosbagSrc:location has it.
   */
  g_object_class_install_property (object_class, PROP_LOCATIONS,
      gst_param_spec_array ("locations", "Locations", "More files, patterns or folders",
          g_param_spec_string ("location", "Location", "File, pattern or folder", NULL,
              G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS),
          flags));
  g_object_class_install_property (object_class, PROP_START_TIME,
      g_param_spec_uint64 ("start-time", "Start Time",
          "Earliest time stamp to send, in ns as recorded (of the Unix epoch in most recordings)",
          0, G_MAXUINT64, 0, flags));
  g_object_class_install_property (object_class, PROP_STOP_TIME,
      g_param_spec_uint64 ("stop-time", "Stop Time", "Latest time stamp to send, in ns as recorded",
          0, G_MAXUINT64, G_MAXUINT64, flags));
  g_object_class_install_property (object_class, PROP_MAX_UNPACKED_SIZE,
      g_param_spec_uint64 ("max-unpacked-size", "Max Unpacked Size",
          "Bytes of the temporary file that a compressed file (.zstd) is unpacked into", 0,
          G_MAXUINT64, BAG_DEFAULT_MAX_UNPACKED_SIZE, flags));
  g_object_class_install_property (object_class, PROP_MAX_QUERY_TIME,
      g_param_spec_uint ("max-query-time", "Max Query Time",
          "Seconds that a query of an SQLite file may take, such as for messages in the order of "
          "their times where it has no index of these",
          1, 86400, BAG_DEFAULT_MAX_QUERY_TIME, flags));
  /**
   * GstRosbagSrc:cache-folder:
   *
   * A folder that parts of files on servers are kept in, in files named after the location and the
   * server's ETag, so that nothing is fetched twice, also by the next one who reads the file. They
   * are the user's to remove. Unset: 16 MiB of them are kept in memory.
   */
  g_object_class_install_property (object_class, PROP_CACHE_FOLDER,
      g_param_spec_string ("cache-folder", "Cache Folder",
          "Folder that parts of files on servers are kept in (unset: memory)", NULL, flags));

  gst_element_class_set_static_metadata (element_class, "Recording Source",
      "Source/File/PointCloud", "Plays recordings in MCAP and rosbag2 files",
      "The gst-ndt developers");
}
