/* SPDX-License-Identifier: MIT */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstbagbase.h"

#include "gst/mcap/container/mcap-format.h"
#include "gst/mcap/container/mcap-records.h"
#include "gstbagstreams.h"

enum {
  PROP_0,
  PROP_TOPICS,
  PROP_TIMESTAMPS,
  PROP_POSE_ROLE,
  PROP_ATTACH_POSES,
  PROP_RAW,
  PROP_MAX_TOPICS,
  PROP_MAX_NAMES,
  PROP_MAX_RECORD_SIZE,
  PROP_MAX_OPEN_TIME,
  PROP_STATS,
};

typedef struct {
  /* under the object lock */
  GstBagSettings settings;
  GstBagPlayer *player; /* NULL: stopped, or data are pushed */
  guint64 n_messages;   /* of the last run, or of what was pushed */
  guint64 n_damaged;
} GstBagBasePrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (GstBagBase, gst_bag_base, GST_TYPE_ELEMENT)
#define GET_PRIVATE(self) ((GstBagBasePrivate *)gst_bag_base_get_instance_private (self))

static GstStaticPadTemplate cloud_template = GST_STATIC_PAD_TEMPLATE ("cloud_%u", GST_PAD_SRC,
    GST_PAD_SOMETIMES, GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_MAKE (GST_POINT_CLOUD_FORMATS_ALL)));
static GstStaticPadTemplate pose_template = GST_STATIC_PAD_TEMPLATE (
    "pose_%u", GST_PAD_SRC, GST_PAD_SOMETIMES, GST_STATIC_CAPS (GST_POSE_CAPS_NAME));
static GstStaticPadTemplate message_template = GST_STATIC_PAD_TEMPLATE (
    "message_%u", GST_PAD_SRC, GST_PAD_SOMETIMES, GST_STATIC_CAPS (MCAP_MESSAGE_CAPS));
static GstStaticPadTemplate attachments_template = GST_STATIC_PAD_TEMPLATE (GST_BAG_ATTACHMENTS_PAD,
    GST_PAD_SRC, GST_PAD_SOMETIMES, GST_STATIC_CAPS (MCAP_ATTACHMENT_CAPS));
static GstStaticPadTemplate metadata_template = GST_STATIC_PAD_TEMPLATE (
    GST_BAG_METADATA_PAD, GST_PAD_SRC, GST_PAD_SOMETIMES, GST_STATIC_CAPS (MCAP_METADATA_CAPS));

#define GST_TYPE_BAG_TIMESTAMPS (gst_bag_timestamps_get_type ())

static GType
gst_bag_timestamps_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
      {GST_BAG_TIMESTAMPS_AUTO,
          "That of the message's header; the log time of all where clouds' headers are of another "
          "clock",
          "auto"},
      {GST_BAG_TIMESTAMPS_HEADER, "That of the message's header; its log time where it has none",
          "header"},
      {GST_BAG_TIMESTAMPS_LOG, "When it was recorded", "log"},
      {0, NULL, NULL},
  };
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstBagTimestamps", values));
  return (GType)type;
}

#define GST_TYPE_BAG_POSE_ROLE (gst_bag_pose_role_get_type ())

/* GstPoseRole's values with descriptions that gst-inspect-1.0 prints. */
static GType
gst_bag_pose_role_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
      {GST_POSE_ROLE_ESTIMATE, "Estimate of a localization", "estimate"},
      {GST_POSE_ROLE_PRIOR, "Prior: where a localization may start", "prior"},
      {GST_POSE_ROLE_ODOMETRY, "Odometry: right from pose to pose, drifting", "odometry"},
      {GST_POSE_ROLE_GROUND_TRUTH, "Ground truth", "ground-truth"},
      {0, NULL, NULL},
  };
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("GstBagPoseRole", values));
  return (GType)type;
}

void
gst_bag_base_get_settings (GstBagBase *self, GstBagSettings *settings)
{
  GST_OBJECT_LOCK (self);
  gst_bag_settings_copy (settings, &GET_PRIVATE (self)->settings);
  settings->log = GST_BAG_BASE_GET_CLASS (self)->log;
  GST_OBJECT_UNLOCK (self);
}

/* The player */

GstBagPlayer *
gst_bag_base_get_player (GstBagBase *self)
{
  GstBagBasePrivate *priv = GET_PRIVATE (self);
  GST_OBJECT_LOCK (self);
  GstBagPlayer *player = priv->player ? gst_bag_player_ref (priv->player) : NULL;
  GST_OBJECT_UNLOCK (self);
  return player;
}

void
gst_bag_base_start (GstBagBase *self, GstBagPlayer *player)
{
  GstBagBasePrivate *priv = GET_PRIVATE (self);
  GST_OBJECT_LOCK (self);
  priv->player = player;
  priv->n_messages = priv->n_damaged = 0;
  GST_OBJECT_UNLOCK (self);
  gst_bag_player_start (player);
}

void
gst_bag_base_stop (GstBagBase *self)
{
  GstBagBasePrivate *priv = GET_PRIVATE (self);
  GstBagPlayer *player = gst_bag_base_get_player (self);
  guint64 n_messages, n_damaged;
  if (!player)
    return;
  gst_bag_player_get_stats (player, &n_messages, &n_damaged);
  gst_bag_player_stop (player);
  GST_OBJECT_LOCK (self);
  priv->n_messages = n_messages;
  priv->n_damaged = n_damaged;
  priv->player = NULL;
  GST_OBJECT_UNLOCK (self);
  gst_bag_player_unref (player);
  gst_bag_player_unref (player);
}

void
gst_bag_base_set_stats (GstBagBase *self, guint64 n_messages, guint64 n_damaged)
{
  GstBagBasePrivate *priv = GET_PRIVATE (self);
  GST_OBJECT_LOCK (self);
  priv->n_messages = n_messages;
  priv->n_damaged = n_damaged;
  GST_OBJECT_UNLOCK (self);
}

gboolean
gst_bag_base_seek (GstBagBase *self, GstEvent *event)
{
  GstBagPlayer *player = gst_bag_base_get_player (self);
  const gboolean done = player && gst_bag_player_seek (player, event);
  g_clear_pointer (&player, gst_bag_player_unref);
  return done;
}

gboolean
gst_bag_base_answer (GstBagBase *self, GstQuery *query, gboolean *answered)
{
  GstBagPlayer *player = gst_bag_base_get_player (self);
  const gboolean handled = player && gst_bag_player_query (player, query, answered);
  g_clear_pointer (&player, gst_bag_player_unref);
  return handled;
}

gboolean
gst_bag_base_src_event (GstPad *pad, GstObject *parent, GstEvent *event)
{
  if (GST_EVENT_TYPE (event) != GST_EVENT_SEEK)
    return gst_pad_event_default (pad, parent, event);
  const gboolean done = gst_bag_base_seek (GST_BAG_BASE (parent), event);
  gst_event_unref (event);
  return done;
}

gboolean
gst_bag_base_src_query (GstPad *pad, GstObject *parent, GstQuery *query)
{
  gboolean answered;
  if (gst_bag_base_answer (GST_BAG_BASE (parent), query, &answered))
    return answered;
  /* Upstream of mcapdemux positions are bytes. */
  if (GST_QUERY_TYPE (query) == GST_QUERY_DURATION ||
      GST_QUERY_TYPE (query) == GST_QUERY_POSITION || GST_QUERY_TYPE (query) == GST_QUERY_SEEKING)
    return FALSE;
  return gst_pad_query_default (pad, parent, query);
}

/* Properties */

static GstStructure *
make_stats (GstBagBase *self)
{
  GstBagBasePrivate *priv = GET_PRIVATE (self);
  GstBagPlayer *player = gst_bag_base_get_player (self);
  guint64 n_messages, n_damaged;
  GST_OBJECT_LOCK (self);
  n_messages = priv->n_messages;
  n_damaged = priv->n_damaged;
  GST_OBJECT_UNLOCK (self);
  if (player)
    gst_bag_player_get_stats (player, &n_messages, &n_damaged);
  g_clear_pointer (&player, gst_bag_player_unref);
  return gst_structure_new (GST_BAG_BASE_GET_CLASS (self)->stats_name, "messages", G_TYPE_UINT64,
      n_messages, "damaged", G_TYPE_UINT64, n_damaged, NULL);
}

static void
gst_bag_base_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstBagSettings *settings = &GET_PRIVATE (GST_BAG_BASE (object))->settings;
  GST_OBJECT_LOCK (object);
  switch (id) {
  case PROP_TOPICS:
    g_strfreev (settings->topics);
    settings->topics = gst_bag_strings_from_value (value);
    break;
  case PROP_TIMESTAMPS:
    settings->timestamps = (GstBagTimestamps)g_value_get_enum (value);
    break;
  case PROP_POSE_ROLE:
    settings->pose_role = (GstPoseRole)g_value_get_enum (value);
    break;
  case PROP_ATTACH_POSES:
    settings->attach_poses = g_value_get_boolean (value);
    break;
  case PROP_RAW:
    settings->raw = g_value_get_boolean (value);
    break;
  case PROP_MAX_TOPICS:
    settings->max_topics = g_value_get_uint (value);
    break;
  case PROP_MAX_NAMES:
    settings->max_names = g_value_get_uint (value);
    break;
  case PROP_MAX_RECORD_SIZE:
    settings->limits.max_record_size = g_value_get_uint64 (value);
    break;
  case PROP_MAX_OPEN_TIME:
    settings->limits.max_open_time = g_value_get_uint (value);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (object);
}

static void
gst_bag_base_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  const GstBagSettings *settings = &GET_PRIVATE (GST_BAG_BASE (object))->settings;
  if (id == PROP_STATS) {
    g_value_take_boxed (value, make_stats (GST_BAG_BASE (object)));
    return;
  }
  GST_OBJECT_LOCK (object);
  switch (id) {
  case PROP_TOPICS:
    gst_bag_strings_to_value (settings->topics, value);
    break;
  case PROP_TIMESTAMPS:
    g_value_set_enum (value, settings->timestamps);
    break;
  case PROP_POSE_ROLE:
    g_value_set_enum (value, settings->pose_role);
    break;
  case PROP_ATTACH_POSES:
    g_value_set_boolean (value, settings->attach_poses);
    break;
  case PROP_RAW:
    g_value_set_boolean (value, settings->raw);
    break;
  case PROP_MAX_TOPICS:
    g_value_set_uint (value, settings->max_topics);
    break;
  case PROP_MAX_NAMES:
    g_value_set_uint (value, settings->max_names);
    break;
  case PROP_MAX_RECORD_SIZE:
    g_value_set_uint64 (value, settings->limits.max_record_size);
    break;
  case PROP_MAX_OPEN_TIME:
    g_value_set_uint (value, settings->limits.max_open_time);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (object);
}

static void
gst_bag_base_finalize (GObject *object)
{
  gst_bag_settings_clear (&GET_PRIVATE (GST_BAG_BASE (object))->settings);
  G_OBJECT_CLASS (gst_bag_base_parent_class)->finalize (object);
}

static void
gst_bag_base_init (GstBagBase *self)
{
  gst_bag_settings_init (&GET_PRIVATE (self)->settings);
}

static void
gst_bag_base_class_init (GstBagBaseClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY;

  object_class->set_property = gst_bag_base_set_property;
  object_class->get_property = gst_bag_base_get_property;
  object_class->finalize = gst_bag_base_finalize;

  /**
   * GstBagBase:topics:
   *
   * Topics that get a pad: names or patterns with `*` and `?`. None: all. In a launch line
   * `topics="</points,/odom>"`; patterns need quotes of their own: `topics='<"/gnss/\*">'`.
   */
  g_object_class_install_property (object_class, PROP_TOPICS,
      gst_param_spec_array ("topics", "Topics",
          "Topics that get a pad: an array of names or of patterns with * and ?, also where it is "
          "one, \"</points>\" or '<\"/gnss/*\">'; none: all",
          g_param_spec_string ("topic", "Topic", "Name or pattern", NULL,
              G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS),
          flags));
  g_object_class_install_property (object_class, PROP_TIMESTAMPS,
      g_param_spec_enum ("timestamps", "Time Stamps",
          "Where the time stamps of clouds and poses are from; those of other messages are log "
          "times",
          GST_TYPE_BAG_TIMESTAMPS, GST_BAG_TIMESTAMPS_AUTO, flags));
  g_object_class_install_property (object_class, PROP_POSE_ROLE,
      g_param_spec_enum ("pose-role", "Pose Role",
          "Role of poses whose channel does not say it and that are no odometry",
          GST_TYPE_BAG_POSE_ROLE, GST_POSE_ROLE_ESTIMATE, flags));
  g_object_class_install_property (object_class, PROP_ATTACH_POSES,
      g_param_spec_boolean ("attach-poses", "Attach Poses",
          "Attach poses to the clouds that they were recorded from, in place of a pad of their own",
          TRUE, flags));
  g_object_class_install_property (object_class, PROP_RAW,
      g_param_spec_boolean ("raw", "Raw",
          "Pass all messages as they stand, clouds and poses as well, and attachments and metadata "
          "records, to be recorded anew",
          FALSE, flags));
  /**
   * GstBagBase:max-names:
   *
   * GLib keeps names of frames, fields and metadata keys until the process ends. Messages with
   * further new names are left out, with a warning.
   */
  g_object_class_install_property (object_class, PROP_MAX_NAMES,
      g_param_spec_uint ("max-names", "Max Names",
          "How many different names of frames, fields and keys a recording may have", 0, G_MAXUINT,
          4096, flags));
  g_object_class_install_property (object_class, PROP_MAX_TOPICS,
      g_param_spec_uint ("max-topics", "Max Topics",
          "How many topics get a pad; what has more is warned of", 1, G_MAXUINT, 4096, flags));
  /**
   * GstBagBase:max-record-size:
   *
   * Bytes of a record of the file, of a chunk unpacked, or of a message, of which several may be in
   * memory at once. What has more is left out, with a warning.
   */
  g_object_class_install_property (object_class, PROP_MAX_RECORD_SIZE,
      g_param_spec_uint64 ("max-record-size", "Max Record Size",
          "Bytes of a record, of a chunk unpacked, or of a message that are read at most", 4096,
          MCAP_MAX_READ_LIMIT, BAG_DEFAULT_MAX_RECORD_SIZE, flags));
  g_object_class_install_property (object_class, PROP_MAX_OPEN_TIME,
      g_param_spec_uint ("max-open-time", "Max Open Time",
          "Seconds that a recording may take to be opened: its index and its first messages", 1,
          86400, BAG_DEFAULT_MAX_OPEN_TIME, flags));
  /**
   * GstBagBase:stats:
   *
   * Of the last run: `messages` that were read (guint64; after a seek again), `damaged` chunks,
   * records and messages that were left out (guint64).
   */
  g_object_class_install_property (object_class, PROP_STATS,
      g_param_spec_boxed ("stats", "Statistics", "Numbers of messages and of what was left out",
          GST_TYPE_STRUCTURE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));

  gst_element_class_add_static_pad_template (element_class, &cloud_template);
  gst_element_class_add_static_pad_template (element_class, &pose_template);
  gst_element_class_add_static_pad_template (element_class, &message_template);
  gst_element_class_add_static_pad_template (element_class, &attachments_template);
  gst_element_class_add_static_pad_template (element_class, &metadata_template);
  gst_type_mark_as_plugin_api (GST_TYPE_BAG_BASE, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_BAG_TIMESTAMPS, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_BAG_POSE_ROLE, 0);
}
