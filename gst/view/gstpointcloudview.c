/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-pointcloudview
 * @title: pointcloudview
 * @short_description: shows scans, poses and the map in a browser
 *
 * Serves one page that shows the map, the scans where their poses put them, the way driven and how
 * well it was localized; a person may set the initial pose on it, if
 * #GstPointCloudView:allow-control says so. The address of the page is posted as an INFO message,
 * which `gst-launch-1.0` prints, and is #GstPointCloudView:url.
 *
 * Only this machine can connect unless #GstPointCloudView:address is another one; then whoever asks
 * has to bring #GstPointCloudView:token, which is made up where none is set. Pages from elsewhere
 * are refused (#GstPointCloudView:origins). A browser that is slow gets fewer points and scans, and
 * never holds up the pipeline.
 *
 * ## Example launch line
 * |[
 * ndt-map simulate town.pcd
 * gst-launch-1.0 lidartestsrc num-buffers=20 ! ndtlocalize map-location=town.pcd
 * initial-pose=0,0,1.8 ! pointcloudview port=0
 * ]|
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstpointcloudview.h"

#include <gio/gio.h>
#include <gst/pointcloud/pointcloud.h>
#include <math.h>
#include <string.h>

#include "gst/scene/gstscenescan.h"
#include "gst/scene/scene-map.h"
#include "gstviewros.h"
#include "view-encode.h"
#include "view-request.h"
#include "view-resources.h"

GST_DEBUG_CATEGORY_STATIC (gst_point_cloud_view_debug);
#define GST_CAT_DEFAULT gst_point_cloud_view_debug

#define DEFAULT_ADDRESS "127.0.0.1"
#define DEFAULT_PORT 8765
#define DEFAULT_MAX_CLIENTS 32
#define DEFAULT_MAX_POINTS 30000
#define DEFAULT_MAX_MAP_POINTS 300000

enum {
  PROP_0,
  PROP_ADDRESS,
  PROP_PORT,
  PROP_TOKEN,
  PROP_ORIGINS,
  PROP_ALLOW_CONTROL,
  PROP_MAX_CLIENTS,
  PROP_MAX_POINTS,
  PROP_MAX_MAP_POINTS,
  PROP_MAP_LOCATION,
  PROP_ROLE,
  PROP_SENSOR_POSE,
  PROP_URL,
  PROP_STATS
};

struct _GstPointCloudView {
  GstPointCloudSink parent;

  /* properties, and what the server's thread asks for: under the object lock */
  gchar *address;
  guint port;
  gchar *token;
  gchar **origins;
  gboolean allow_control;
  guint max_clients;
  guint max_points;
  guint max_map_points;
  gchar *map_location;
  GstPoseRole role;
  GstPointCloudPose *sensor_pose; /* of the sensor on the body, NULL: the same */
  gchar *url;
  SceneWay way;
  NdtVoxelMap *voxels; /* of the map that is shown, NULL: none */

  /* from start to stop */
  ViewServer *server;
  SceneMap *map;
  GstViewRos ros;

  /* streaming thread */
  GstSceneReader reader;
};

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK,
    GST_PAD_ALWAYS, GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_MAKE (GST_POINT_CLOUD_FORMATS_ALL)));

G_DEFINE_TYPE (GstPointCloudView, gst_point_cloud_view, GST_TYPE_POINT_CLOUD_SINK)
GST_ELEMENT_REGISTER_DEFINE_WITH_CODE (pointcloudview, "pointcloudview", GST_RANK_NONE,
    GST_TYPE_POINT_CLOUD_VIEW,
    GST_DEBUG_CATEGORY_INIT (gst_point_cloud_view_debug, "pointcloudview", 0, "View in a browser"))

/* Scans */

static NdtPose
get_mount (const GstPointCloudPose *pose)
{
  NdtPose mount = {.orientation = {0, 0, 0, 1}};

  if (pose) {
    memcpy (mount.position, pose->position, sizeof mount.position);
    memcpy (mount.orientation, pose->orientation, sizeof mount.orientation);
  }
  return mount;
}

static GstFlowReturn
gst_point_cloud_view_render (GstBaseSink *sink, GstBuffer *buffer)
{
  GstPointCloudView *self = GST_POINT_CLOUD_VIEW (sink);
  SceneScan scan = {.pose = NDT_POSE_IDENTITY, .seconds = NAN};
  g_autoptr (NdtVoxelMap) voxels = NULL;
  GBytes *levels[VIEW_LEVELS];
  g_autoptr (GError) error = NULL;

  GST_OBJECT_LOCK (self);
  const NdtPose mount = get_mount (self->sensor_pose);
  const GstPoseRole role = self->role;
  const guint max_points = self->max_points;
  scan.sequence = self->way.n_seen;
  if (self->voxels)
    voxels = ndt_voxel_map_ref (self->voxels);
  GST_OBJECT_UNLOCK (self);
  g_autoptr (GstBuffer) whole = gst_point_cloud_element_take_scan (
      GST_ELEMENT (self), &self->reader.info, gst_buffer_ref (buffer));
  if (!gst_scene_reader_read (&self->reader, whole, max_points, &mount, &scan.points, &error)) {
    GST_ELEMENT_WARNING (self, STREAM, DECODE, ("A scan is not shown: %s.", error->message),
        ("%" GST_PTR_FORMAT, buffer));
    return GST_FLOW_OK;
  }
  const GstPoseMeta *pose = gst_buffer_get_pose_meta (buffer, role);
  if (GST_BUFFER_PTS_IS_VALID (buffer))
    scan.seconds = 1e-9 * (double)GST_BUFFER_PTS (buffer);
  if (pose)
    gst_scene_scan_set_pose (&scan, pose);
  if (voxels && scan.has_pose)
    scene_points_set_residual (&scan.points, voxels, &scan.pose);
  GST_OBJECT_LOCK (self);
  scene_way_add (&self->way, &scan);
  GST_OBJECT_UNLOCK (self);
  GST_LOG_OBJECT (self, "scan %" G_GUINT64_FORMAT ": %u points, status %u", scan.sequence,
      scan.points.n, scan.status);
  view_encode_scan (&scan, levels);
  gst_view_ros_publish_scan (
      &self->ros, self->server, buffer, &self->reader.info, &scan.points, pose);
  scene_points_clear (&scan.points);
  view_server_set_frame (self->server, levels);
  return GST_FLOW_OK;
}

static gboolean
gst_point_cloud_view_set_info (
    GstPointCloudSink *sink, GstCaps *caps, const GstPointCloudInfo *info)
{
  GST_INFO_OBJECT (sink, "caps %" GST_PTR_FORMAT, caps);
  gst_scene_reader_set_info (&GST_POINT_CLOUD_VIEW (sink)->reader, info);
  return TRUE;
}

/* Events */

static void
handle_custom (GstPointCloudView *self, const GstStructure *structure)
{
  const NdtVoxelMapParams usual = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  gdouble resolution = usual.resolution;
  const gchar *text;
  guint64 client;
  gboolean accepted;

  if (gst_structure_has_name (structure, "ndt-map") &&
      (text = gst_structure_get_string (structure, "location"))) {
    (void)gst_structure_get_double (structure, "resolution", &resolution);
    scene_map_show (self->map, text, resolution);
  } else if (gst_structure_has_name (structure, GST_POSE_REQUEST_REPLY_NAME) &&
             gst_structure_get_uint64 (structure, "id", &client) &&
             gst_structure_get_boolean (structure, "accepted", &accepted)) {
    text = gst_structure_get_string (structure, "reason");
    GST_DEBUG_OBJECT (self, "the pose of client %" G_GUINT64_FORMAT " is %s: %s", client,
        accepted ? "taken" : "refused", text ? text : "");
    view_server_answer (self->server, client, accepted, text ? text : "");
  }
}

static gboolean
gst_point_cloud_view_event (GstBaseSink *sink, GstEvent *event)
{
  GstPointCloudView *self = GST_POINT_CLOUD_VIEW (sink);

  if (GST_EVENT_TYPE (event) == GST_EVENT_CUSTOM_DOWNSTREAM_STICKY ||
      GST_EVENT_TYPE (event) == GST_EVENT_CUSTOM_DOWNSTREAM_OOB)
    handle_custom (self, gst_event_get_structure (event));
  return GST_BASE_SINK_CLASS (gst_point_cloud_view_parent_class)->event (sink, event);
}

/* The server's callbacks, in its thread */

static GBytes *
get_file (const gchar *path, const gchar **type, gpointer user_data)
{
  static const struct {
    const gchar *path, *resource, *type;
  } files[] = {
      {"/", "/gst/view/index.html", "text/html; charset=utf-8"},
      {"/view.js", "/gst/view/view.js", "text/javascript; charset=utf-8"},
      {"/scene.js", "/gst/view/scene.js", "text/javascript; charset=utf-8"},
      {"/view.css", "/gst/view/view.css", "text/css; charset=utf-8"},
  };

  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    if (g_str_equal (path, files[i].path)) {
      *type = files[i].type;
      return g_resource_lookup_data (
          view_get_resource (), files[i].resource, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
    }
  return NULL;
}

static void
greet (GPtrArray *messages, gpointer user_data)
{
  GstPointCloudView *self = user_data;

  GST_OBJECT_LOCK (self);
  g_autofree gchar *hello =
      g_strdup_printf ("{\"hello\": {\"control\": %s}}", self->allow_control ? "true" : "false");
  g_ptr_array_add (messages, view_message_new (hello, strlen (hello), TRUE));
  g_ptr_array_add (messages,
      view_encode_steps ((const SceneStep *)(gpointer)self->way.steps->data, self->way.steps->len));
  GST_OBJECT_UNLOCK (self);
}

/* Whoever takes the request upstream answers it. */
static void
request_pose (GstPointCloudView *self, ViewServer *server, guint64 client, const double pose[4])
{
  const gchar *refusal = NULL;

  GST_OBJECT_LOCK (self);
  const gboolean allowed = self->allow_control;
  GST_OBJECT_UNLOCK (self);
  if (!allowed) {
    refusal = "poses are not set from here: pointcloudview allow-control=true allows it";
  } else {
    GstEvent *event = gst_pose_request_event_new (client, pose, pose[3] * G_PI / 180);
    GST_INFO_OBJECT (self, "client %" G_GUINT64_FORMAT " asks for %" GST_PTR_FORMAT, client, event);
    if (!gst_pad_push_event (GST_BASE_SINK_PAD (self), event))
      refusal = "no element before pointcloudview takes poses; ndtlocalize does";
  }
  if (refusal)
    view_server_answer (server, client, FALSE, refusal);
}

static void
receive (ViewServer *server, guint64 client, const gchar *text, gpointer self)
{
  double pose[4];

  if (view_request_parse (text, pose))
    request_pose (self, server, client, pose);
  else
    view_server_answer (
        server, client, FALSE, "a request is {\"pose\": [x, y, z, yaw]}, in metres and degrees");
}

/* What a client of Foxglove's protocol publishes. */
static void
publish (ViewServer *server, guint64 client, const gchar *topic, const gchar *encoding,
    const guint8 *data, gsize size, gpointer self)
{
  double pose[4];

  if (!g_str_equal (topic, GST_VIEW_ROS_INITIAL_POSE_TOPIC))
    view_server_answer (server, client, FALSE,
        "of what is published only " GST_VIEW_ROS_INITIAL_POSE_TOPIC " is taken");
  else if (!g_str_equal (encoding, "cdr") || !gst_view_ros_read_initial_pose (data, size, pose))
    view_server_answer (server, client, FALSE,
        GST_VIEW_ROS_INITIAL_POSE_TOPIC
        " is a geometry_msgs/PoseWithCovarianceStamped in CDR with finite numbers");
  else
    request_pose (self, server, client, pose);
}

/* The map's callbacks, in its thread */

static void
map_loaded (NdtMapPoints *points, gpointer user_data)
{
  GstPointCloudView *self = user_data;
  NdtVoxelMap *before;

  GST_INFO_OBJECT (self, "a map of %" G_GSIZE_FORMAT " points is shown", points->n);
  view_server_set_latched (self->server, view_encode_map (points->xyz, points->n));
  gst_view_ros_publish_map (&self->ros, self->server, points->xyz, points->n);
  GST_OBJECT_LOCK (self);
  before = self->voxels;
  self->voxels = g_steal_pointer (&points->voxels);
  GST_OBJECT_UNLOCK (self);
  g_clear_pointer (&before, ndt_voxel_map_unref);
  ndt_map_points_free (points);
}

static void
map_failed (const gchar *sentence, gpointer user_data)
{
  GST_ELEMENT_WARNING (user_data, RESOURCE, READ, ("The map is not shown: %s.", sentence), (NULL));
}

static const SceneMapFuncs map_funcs = {map_loaded, map_failed};

/* Start and stop */

static gchar *
make_url (const gchar *address, guint port, const gchar *token)
{
  const gboolean is_v6 = strchr (address, ':') != NULL;

  return g_strdup_printf ("http://%s%s%s:%u/%s%s", is_v6 ? "[" : "", address, is_v6 ? "]" : "",
      port, token ? "?token=" : "", token ? token : "");
}

static gboolean
open_view (GstPointCloudView *self)
{
  const NdtVoxelMapParams usual = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  g_autoptr (GError) error = NULL;
  guint port;

  GST_OBJECT_LOCK (self);
  g_autofree gchar *address = g_strdup (self->address);
  g_autofree gchar *token = g_strdup (self->token && *self->token ? self->token : NULL);
  g_autofree gchar *location = g_strdup (self->map_location);
  g_auto (GStrv) origins = g_strdupv (self->origins);
  ViewServerConfig config = {.address = address,
      .port = self->port,
      .max_clients = self->max_clients,
      .origins = (const gchar *const *)origins,
      .get_file = get_file,
      .greet = greet,
      .receive = receive,
      .publish = publish,
      .user_data = self};
  const guint max_map_points = self->max_map_points;
  scene_way_reset (&self->way);
  GST_OBJECT_UNLOCK (self);

  g_autoptr (GInetAddress) parsed = g_inet_address_new_from_string (address);
  if (!parsed) {
    GST_ELEMENT_ERROR (self, RESOURCE, SETTINGS,
        ("address=\"%s\" is no IP address; 127.0.0.1 is this machine alone, 0.0.0.0 all networks.",
            address),
        (NULL));
    return FALSE;
  }
  if (!token && !g_inet_address_get_is_loopback (parsed)) {
    token = g_uuid_string_random ();
    GST_INFO_OBJECT (self, "a token was made up, since others can connect");
  }
  config.token = token;
  ViewServer *server = view_server_new (&config, &port, &error);
  if (!server) {
    GST_ELEMENT_ERROR (self, RESOURCE, OPEN_READ_WRITE,
        ("The view cannot be served: %s; set address or port (0: any free one).", error->message),
        (NULL));
    return FALSE;
  }
  gst_view_ros_init (&self->ros, server);
  GST_OBJECT_LOCK (self);
  self->server = server; /* stats may be read meanwhile */
  GST_OBJECT_UNLOCK (self);
  self->map = scene_map_new (max_map_points, &map_funcs, self);
  if (location)
    scene_map_show (self->map, location, usual.resolution);
  g_autofree gchar *url = make_url (address, port, token);
  GST_OBJECT_LOCK (self);
  g_free (self->url);
  self->url = g_strdup (url);
  GST_OBJECT_UNLOCK (self);
  g_object_notify (G_OBJECT (self), "url");
  /* gst-launch-1.0 prints the second text alone. */
  GST_ELEMENT_INFO (
      self, RESOURCE, OPEN_READ, ("The view is at %s", url), ("The view is at %s", url));
  return TRUE;
}

static void
close_view (GstPointCloudView *self)
{
  /* The map's thread uses the server, whose thread takes the lock as well. */
  g_clear_pointer (&self->map, scene_map_free);
  GST_OBJECT_LOCK (self);
  ViewServer *server = g_steal_pointer (&self->server);
  g_clear_pointer (&self->url, g_free);
  NdtVoxelMap *voxels = g_steal_pointer (&self->voxels);
  GST_OBJECT_UNLOCK (self);
  g_clear_pointer (&voxels, ndt_voxel_map_unref);
  view_server_free (server);
}

/* The port is taken from PAUSED on. */
static GstStateChangeReturn
gst_point_cloud_view_change_state (GstElement *element, GstStateChange transition)
{
  GstPointCloudView *self = GST_POINT_CLOUD_VIEW (element);

  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED && !open_view (self))
    return GST_STATE_CHANGE_FAILURE;
  const GstStateChangeReturn ret =
      GST_ELEMENT_CLASS (gst_point_cloud_view_parent_class)->change_state (element, transition);
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY ||
      (transition == GST_STATE_CHANGE_READY_TO_PAUSED && ret == GST_STATE_CHANGE_FAILURE))
    close_view (self);
  return ret;
}

/* Properties */

static GstStructure *
get_stats (GstPointCloudView *self)
{
  ViewServerStats stats = {0};

  if (self->server)
    view_server_get_stats (self->server, &stats);
  return gst_structure_new ("application/x-pointcloudview-stats", "scans", G_TYPE_UINT64,
      self->way.n_seen, "clients", G_TYPE_UINT, stats.clients, "refused", G_TYPE_UINT64,
      stats.refused, "frames", G_TYPE_UINT64, stats.frames, "skipped", G_TYPE_UINT64, stats.skipped,
      "bytes", G_TYPE_UINT64, stats.bytes, "cut", G_TYPE_UINT64,
      gst_point_cloud_element_get_n_cut (GST_ELEMENT (self)), NULL);
}

static void
set_origins (GstPointCloudView *self, const GValue *value)
{
  const guint n = gst_value_array_get_size (value);
  gchar **origins = g_new0 (gchar *, n + 1);

  for (guint i = 0; i < n; i++)
    origins[i] = g_value_dup_string (gst_value_array_get_value (value, i));
  g_strfreev (self->origins);
  self->origins = origins;
}

static void
get_origins (GstPointCloudView *self, GValue *value)
{
  for (gchar **origin = self->origins; origin && *origin; origin++) {
    GValue item = G_VALUE_INIT;

    g_value_init (&item, G_TYPE_STRING);
    g_value_set_string (&item, *origin);
    gst_value_array_append_and_take_value (value, &item);
  }
}

static void
set_string (gchar **to, const GValue *value)
{
  g_free (*to);
  *to = g_value_dup_string (value);
}

static void
gst_point_cloud_view_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstPointCloudView *self = GST_POINT_CLOUD_VIEW (object);

  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_ADDRESS:
    set_string (&self->address, value);
    if (!self->address)
      self->address = g_strdup (DEFAULT_ADDRESS);
    break;
  case PROP_PORT:
    self->port = g_value_get_uint (value);
    break;
  case PROP_TOKEN:
    set_string (&self->token, value);
    break;
  case PROP_ORIGINS:
    set_origins (self, value);
    break;
  case PROP_ALLOW_CONTROL:
    self->allow_control = g_value_get_boolean (value);
    break;
  case PROP_MAX_CLIENTS:
    self->max_clients = g_value_get_uint (value);
    break;
  case PROP_MAX_POINTS:
    self->max_points = g_value_get_uint (value);
    break;
  case PROP_MAX_MAP_POINTS:
    self->max_map_points = g_value_get_uint (value);
    break;
  case PROP_MAP_LOCATION:
    set_string (&self->map_location, value);
    break;
  case PROP_ROLE:
    self->role = (GstPoseRole)g_value_get_enum (value);
    break;
  case PROP_SENSOR_POSE:
    g_clear_pointer (&self->sensor_pose, gst_point_cloud_pose_free);
    self->sensor_pose = g_value_dup_boxed (value);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_point_cloud_view_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstPointCloudView *self = GST_POINT_CLOUD_VIEW (object);

  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_ADDRESS:
    g_value_set_string (value, self->address);
    break;
  case PROP_PORT:
    g_value_set_uint (value, self->port);
    break;
  case PROP_TOKEN:
    g_value_set_string (value, self->token);
    break;
  case PROP_ORIGINS:
    get_origins (self, value);
    break;
  case PROP_ALLOW_CONTROL:
    g_value_set_boolean (value, self->allow_control);
    break;
  case PROP_MAX_CLIENTS:
    g_value_set_uint (value, self->max_clients);
    break;
  case PROP_MAX_POINTS:
    g_value_set_uint (value, self->max_points);
    break;
  case PROP_MAX_MAP_POINTS:
    g_value_set_uint (value, self->max_map_points);
    break;
  case PROP_MAP_LOCATION:
    g_value_set_string (value, self->map_location);
    break;
  case PROP_ROLE:
    g_value_set_enum (value, self->role);
    break;
  case PROP_SENSOR_POSE:
    g_value_set_boxed (value, self->sensor_pose);
    break;
  case PROP_URL:
    g_value_set_string (value, self->url);
    break;
  case PROP_STATS:
    g_value_take_boxed (value, get_stats (self));
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_point_cloud_view_finalize (GObject *object)
{
  GstPointCloudView *self = GST_POINT_CLOUD_VIEW (object);

  g_free (self->address);
  g_free (self->token);
  g_strfreev (self->origins);
  g_free (self->map_location);
  g_clear_pointer (&self->sensor_pose, gst_point_cloud_pose_free);
  g_free (self->url);
  scene_way_clear (&self->way);
  G_OBJECT_CLASS (gst_point_cloud_view_parent_class)->finalize (object);
}

static void
gst_point_cloud_view_init (GstPointCloudView *self)
{
  self->address = g_strdup (DEFAULT_ADDRESS);
  self->port = DEFAULT_PORT;
  self->max_clients = DEFAULT_MAX_CLIENTS;
  self->max_points = DEFAULT_MAX_POINTS;
  self->max_map_points = DEFAULT_MAX_MAP_POINTS;
  scene_way_init (&self->way);
}

static void
install_properties (GObjectClass *klass)
{
  const GParamFlags ready = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY;
  const GParamFlags playing =
      G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING;

  g_object_class_install_property (klass, PROP_ADDRESS,
      g_param_spec_string ("address", "Address",
          "IP address to listen on: 127.0.0.1 this machine alone, 0.0.0.0 all networks",
          DEFAULT_ADDRESS, ready));
  g_object_class_install_property (klass, PROP_PORT,
      g_param_spec_uint ("port", "Port", "TCP port to listen on; 0: any free one, see url", 0,
          65535, DEFAULT_PORT, ready));
  g_object_class_install_property (klass, PROP_TOKEN,
      g_param_spec_string ("token", "Token",
          "What a browser has to bring as ?token=…; unset: none on loopback, a made-up one "
          "elsewhere",
          NULL, ready));
  g_object_class_install_property (klass, PROP_ORIGINS,
      gst_param_spec_array ("origins", "Origins",
          "Web pages besides its own whose scripts may connect, such as https://example.org",
          g_param_spec_string ("origin", "Origin", "Scheme, name and port of a page", NULL,
              G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS),
          ready));
  g_object_class_install_property (klass, PROP_ALLOW_CONTROL,
      g_param_spec_boolean ("allow-control", "Allow Control",
          "Whether the page may set the initial pose of ndtlocalize", FALSE, playing));
  g_object_class_install_property (klass, PROP_MAX_CLIENTS,
      g_param_spec_uint ("max-clients", "Maximum Clients", "Browsers at a time; more are refused",
          1, 1000, DEFAULT_MAX_CLIENTS, ready));
  g_object_class_install_property (klass, PROP_MAX_POINTS,
      g_param_spec_uint ("max-points", "Maximum Points",
          "Points of a scan that are sent; of more every second, third, … is", 100, 1000000,
          DEFAULT_MAX_POINTS, playing));
  g_object_class_install_property (klass, PROP_MAX_MAP_POINTS,
      g_param_spec_uint ("max-map-points", "Maximum Map Points",
          "Points of the map that are sent; more are thinned to one a cube", 1000, 5000000,
          DEFAULT_MAX_MAP_POINTS, ready));
  g_object_class_install_property (klass, PROP_MAP_LOCATION,
      g_param_spec_string ("map-location", "Map Location",
          "Map to show, a PCD file or a folder of them; unset: the one that ndtlocalize uses", NULL,
          ready));
  g_object_class_install_property (klass, PROP_ROLE,
      g_param_spec_enum ("role", "Role", "Role of the poses that are shown", GST_TYPE_POSE_ROLE,
          GST_POSE_ROLE_ESTIMATE, playing));
  g_object_class_install_property (klass, PROP_SENSOR_POSE,
      g_param_spec_boxed ("sensor-pose", "Sensor Pose",
          "Pose of the sensor on the body that the poses are of, as ndtlocalize has it: x,y,z in "
          "m, "
          "or x,y,z,yaw or x,y,z,roll,pitch,yaw in degrees",
          GST_TYPE_POINT_CLOUD_POSE, playing));
  g_object_class_install_property (klass, PROP_URL,
      g_param_spec_string ("url", "URL", "Where the view is while the element runs", NULL,
          G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
  g_object_class_install_property (klass, PROP_STATS,
      g_param_spec_boxed ("stats", "Statistics",
          "Numbers of scans, clients, refused connections, frames and bytes since the start",
          GST_TYPE_STRUCTURE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
}

static void
gst_point_cloud_view_class_init (GstPointCloudViewClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseSinkClass *sink_class = GST_BASE_SINK_CLASS (klass);

  object_class->set_property = gst_point_cloud_view_set_property;
  object_class->get_property = gst_point_cloud_view_get_property;
  object_class->finalize = gst_point_cloud_view_finalize;
  element_class->change_state = gst_point_cloud_view_change_state;
  GST_POINT_CLOUD_SINK_CLASS (klass)->set_info = gst_point_cloud_view_set_info;
  sink_class->event = gst_point_cloud_view_event;
  sink_class->render = gst_point_cloud_view_render;
  install_properties (object_class);
  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_set_static_metadata (element_class, "Point cloud view", "Sink/PointCloud",
      "Shows scans, poses and the map in a browser", "The gst-ndt developers");
}
