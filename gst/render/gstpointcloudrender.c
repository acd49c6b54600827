/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-pointcloudrender
 * @title: pointcloudrender
 * @short_description: makes video of scans in their map
 *
 * Draws each scan where its pose puts it in the map, with the way driven, the covariance and the
 * status in words, as `video/x-raw`. Size and rate are those of the caps after it; without a rate
 * each scan is a frame.
 *
 * The map is the one that `ndtlocalize` uses, or #GstPointCloudRender:map-location. It is read
 * beside the stream; scans of sources that are not live wait for it.
 *
 * ## Example launch lines
 * |[
 * ndt-map simulate town.pcd
 * gst-launch-1.0 lidartestsrc num-buffers=5 ! ndtlocalize map-location=town.pcd
 * initial-pose=0,0,1.8 ! pointcloudrender ! video/x-raw,width=640,height=360 ! videoconvert !
 * vp8enc deadline=1 ! webmmux ! filesink location=drive.webm
 * ]|
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gstpointcloudrender.h"

#include <gst/pointcloud/pointcloud.h>
#include <math.h>

#include "gst/common/gstsinkevents.h"
#include "gst/scene/gstscenescan.h"
#include "gst/scene/scene-map.h"
#include "gstrendersettings.h"
#include "gstrendertimes.h"

GST_DEBUG_CATEGORY_STATIC (gst_point_cloud_render_debug);
#define GST_CAT_DEFAULT gst_point_cloud_render_debug

/* Cairo's and ours: 0x00RRGGBB as a number. */
#if G_BYTE_ORDER == G_LITTLE_ENDIAN
#define VIDEO_FORMAT "BGRx"
#else
#define VIDEO_FORMAT "xRGB"
#endif
#define VIDEO_CAPS                                                                                 \
  "video/x-raw, format=(string)" VIDEO_FORMAT ", width=(int)[ 16, 8192 ], height=(int)[ 16, 8192 " \
  "], framerate=(fraction)[ 0/1, 1000/1 ], pixel-aspect-ratio=(fraction)1/1"
#define DEFAULT_WIDTH 1280
#define DEFAULT_HEIGHT 720

struct _GstPointCloudRender {
  GstBaseTransform parent;

  GMutex lock; /* of what follows */
  GCond cond;
  GstRenderSettings settings;
  RenderMap *new_map;  /* was read and is not drawn yet */
  NdtVoxelMap *voxels; /* of the map, NULL: none */
  guint n_reading;     /* maps that are being read */
  gboolean is_stopping;
  guint64 n_scans;
  guint64 n_frames;
  guint64 n_repeated;
  guint64 n_map_draws;

  /* from start to stop */
  SceneMap *map;

  /* streaming thread */
  GstSceneReader reader;
  RenderScene *scene;
  SceneWay way;
  SceneScan scan; /* the newest */
  gboolean has_scan;
  gboolean is_drawn;  /* @scan is on @last */
  GstBuffer *last;    /* the newest frame */
  GstBuffer *waiting; /* a scan whose frames are being made */
  GstRenderTimes times;
  gboolean asks_live;
  gboolean is_live;
  gint width;
  gint height;
};

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK,
    GST_PAD_ALWAYS, GST_STATIC_CAPS (GST_POINT_CLOUD_CAPS_MAKE (GST_POINT_CLOUD_FORMATS_ALL)));
static GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS (VIDEO_CAPS));

static guint prop_stats; /* its number, behind those of the settings */

G_DEFINE_TYPE (GstPointCloudRender, gst_point_cloud_render, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE_WITH_CODE (pointcloudrender, "pointcloudrender", GST_RANK_NONE,
    GST_TYPE_POINT_CLOUD_RENDER,
    GST_DEBUG_CATEGORY_INIT (
        gst_point_cloud_render_debug, "pointcloudrender", 0, "Video of point clouds"))

/* The map, in its reading thread */

static void
map_loaded (NdtMapPoints *points, gpointer user_data)
{
  GstPointCloudRender *self = user_data;
  RenderMap *map = render_map_new (points->xyz, points->n);

  GST_INFO_OBJECT (self, "a map of %" G_GSIZE_FORMAT " points is drawn", points->n);
  g_mutex_lock (&self->lock);
  RenderMap *unused = self->new_map;
  NdtVoxelMap *before = self->voxels;
  self->new_map = map;
  self->voxels = g_steal_pointer (&points->voxels);
  self->n_reading--;
  g_cond_broadcast (&self->cond);
  g_mutex_unlock (&self->lock);
  render_map_free (unused);
  g_clear_pointer (&before, ndt_voxel_map_unref);
  ndt_map_points_free (points);
}

static void
map_failed (const gchar *sentence, gpointer user_data)
{
  GstPointCloudRender *self = user_data;

  GST_ELEMENT_WARNING (self, RESOURCE, READ, ("The map is not drawn: %s.", sentence), (NULL));
  g_mutex_lock (&self->lock);
  self->n_reading--;
  g_cond_broadcast (&self->cond);
  g_mutex_unlock (&self->lock);
}

static const SceneMapFuncs map_funcs = {map_loaded, map_failed};

static void
show_map (GstPointCloudRender *self, const gchar *location, gdouble resolution)
{
  g_mutex_lock (&self->lock);
  self->n_reading++;
  g_mutex_unlock (&self->lock);
  if (scene_map_show (self->map, location, resolution))
    return;
  g_mutex_lock (&self->lock);
  self->n_reading--;
  g_mutex_unlock (&self->lock);
}

/* The map that is read now, or one that was before, is what the next frame shows. */
static void
take_map (GstPointCloudRender *self)
{
  RenderMap *map;

  g_mutex_lock (&self->lock);
  while (!self->is_live && self->n_reading > 0 && !self->is_stopping)
    g_cond_wait (&self->cond, &self->lock);
  map = g_steal_pointer (&self->new_map);
  g_mutex_unlock (&self->lock);
  if (map) {
    render_scene_set_map (self->scene, map);
    self->is_drawn = FALSE;
  }
}

static void
set_stopping (GstPointCloudRender *self, gboolean is_stopping)
{
  g_mutex_lock (&self->lock);
  self->is_stopping = is_stopping;
  g_cond_broadcast (&self->cond);
  g_mutex_unlock (&self->lock);
}

/* Scans */

static void
ask_live (GstPointCloudRender *self)
{
  g_autoptr (GstQuery) query = gst_query_new_latency ();

  self->asks_live = FALSE;
  self->is_live = FALSE;
  if (gst_pad_peer_query (GST_BASE_TRANSFORM_SINK_PAD (self), query))
    gst_query_parse_latency (query, &self->is_live, NULL, NULL);
}

/* FALSE: it is not shown, which was said. */
static gboolean
take_scan (GstPointCloudRender *self, GstBuffer *buffer)
{
  SceneScan scan = {.pose = NDT_POSE_IDENTITY};
  g_autoptr (NdtVoxelMap) voxels = NULL;
  g_autoptr (GError) error = NULL;

  if (self->asks_live)
    ask_live (self);
  take_map (self);
  g_mutex_lock (&self->lock);
  const NdtPose mount = gst_render_settings_get_mount (&self->settings);
  const GstPoseRole role = self->settings.role;
  const gboolean wants_residual = self->settings.options.color == RENDER_COLOR_RESIDUAL;
  if (self->voxels && wants_residual)
    voxels = ndt_voxel_map_ref (self->voxels);
  self->n_scans++;
  g_mutex_unlock (&self->lock);
  if (!gst_scene_reader_read (&self->reader, buffer, G_MAXUINT, &mount, &scan.points, &error)) {
    GST_ELEMENT_WARNING (self, STREAM, DECODE, ("A scan is not drawn: %s.", error->message),
        ("%" GST_PTR_FORMAT, buffer));
    return FALSE;
  }
  const GstPoseMeta *pose = gst_buffer_get_pose_meta (buffer, role);
  scan.seconds = 1e-9 * (double)GST_BUFFER_PTS (buffer);
  scan.sequence = self->way.n_seen;
  if (pose)
    gst_scene_scan_set_pose (&scan, pose);
  if (voxels && scan.has_pose)
    scene_points_set_residual (&scan.points, voxels, &scan.pose);
  GST_LOG_OBJECT (self, "scan %" G_GUINT64_FORMAT ": %u points, status %u", scan.sequence,
      scan.points.n, scan.status);
  scene_way_add (&self->way, &scan);
  scene_points_clear (&self->scan.points);
  self->scan = scan;
  self->has_scan = TRUE;
  self->is_drawn = FALSE;
  return TRUE;
}

/* Frames */

static GstFlowReturn
draw (GstPointCloudRender *self, GstBuffer **frame)
{
  GstMapInfo map;
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, (gsize)self->width * self->height * 4, NULL);

  if (!buffer || !gst_buffer_map (buffer, &map, GST_MAP_WRITE)) {
    gst_clear_buffer (&buffer);
    GST_ELEMENT_ERROR (self, RESOURCE, NO_SPACE_LEFT,
        ("There is no memory for a frame of %d × %d pixels.", self->width, self->height), (NULL));
    return GST_FLOW_ERROR;
  }
  g_mutex_lock (&self->lock);
  const RenderOptions options = self->settings.options;
  g_mutex_unlock (&self->lock);
  render_scene_draw (self->scene, &options, &self->scan, self->way.steps,
      (guint32 *)(gpointer)map.data, (guint)self->width, (guint)self->height);
  gst_buffer_unmap (buffer, &map);
  gst_clear_buffer (&self->last);
  self->last = gst_buffer_ref (buffer);
  self->is_drawn = TRUE;
  g_mutex_lock (&self->lock);
  self->n_map_draws = render_scene_get_n_map_draws (self->scene);
  g_mutex_unlock (&self->lock);
  *frame = buffer;
  return GST_FLOW_OK;
}

/* A frame of the newest scan; drawn already, its pixels are used again. */
static GstFlowReturn
make_frame (GstPointCloudRender *self, GstClockTime time, GstClockTime duration,
    gboolean is_discont, GstBuffer **frame)
{
  GstBuffer *buffer = NULL;
  const gboolean is_repeated = self->is_drawn && self->last;

  if (!is_repeated) {
    const GstFlowReturn ret = draw (self, &buffer);
    if (ret != GST_FLOW_OK)
      return ret;
  }
  /* Stamps are the frame's own, memory is shared with @last. */
  *frame = gst_buffer_copy (self->last);
  gst_clear_buffer (&buffer);
  GST_BUFFER_PTS (*frame) = time;
  GST_BUFFER_DURATION (*frame) = duration;
  if (is_discont)
    GST_BUFFER_FLAG_SET (*frame, GST_BUFFER_FLAG_DISCONT);
  else
    GST_BUFFER_FLAG_UNSET (*frame, GST_BUFFER_FLAG_DISCONT);
  GST_LOG_OBJECT (self, "frame at %" GST_TIME_FORMAT "%s", GST_TIME_ARGS (time),
      is_repeated ? ", that before" : "");
  g_mutex_lock (&self->lock);
  self->n_frames++;
  self->n_repeated += is_repeated;
  g_mutex_unlock (&self->lock);
  return GST_FLOW_OK;
}

/* Is called until it makes no frame. */
static GstFlowReturn
gst_point_cloud_render_generate_output (GstBaseTransform *transform, GstBuffer **frame)
{
  GstPointCloudRender *self = GST_POINT_CLOUD_RENDER (transform);
  GstClockTime time, duration;
  gboolean is_discont;

  *frame = NULL;
  if (transform->queued_buf) {
    gst_clear_buffer (&self->waiting);
    self->waiting = g_steal_pointer (&transform->queued_buf);
  }
  if (!self->waiting)
    return GST_FLOW_OK;
  const GstRenderDue due = gst_render_times_next (
      &self->times, GST_BUFFER_PTS (self->waiting), &time, &duration, &is_discont);
  if (due == GST_RENDER_BEFORE && self->has_scan)
    return make_frame (self, time, duration, is_discont, frame);
  g_autoptr (GstBuffer) buffer = g_steal_pointer (&self->waiting);
  buffer = gst_point_cloud_element_take_scan (
      GST_ELEMENT (self), &self->reader.info, g_steal_pointer (&buffer));
  if (!take_scan (self, buffer) || due == GST_RENDER_NONE)
    return GST_FLOW_OK;
  if (!GST_CLOCK_TIME_IS_VALID (duration))
    duration = gst_point_cloud_info_get_duration (&self->reader.info, buffer);
  is_discont |= GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_DISCONT);
  return make_frame (self, time, duration, is_discont, frame);
}

static GstFlowReturn
gst_point_cloud_render_submit_input_buffer (
    GstBaseTransform *transform, gboolean is_discont, GstBuffer *input)
{
  if (!GST_BUFFER_PTS_IS_VALID (input)) {
    GST_ELEMENT_ERROR (transform, STREAM, FORMAT,
        ("Scans need time stamps; rawpointcloudparse gives them some."),
        ("%" GST_PTR_FORMAT, input));
    gst_buffer_unref (input);
    return GST_FLOW_ERROR;
  }
  return GST_BASE_TRANSFORM_CLASS (gst_point_cloud_render_parent_class)
      ->submit_input_buffer (transform, is_discont, input);
}

/* Caps */

static GstCaps *
gst_point_cloud_render_transform_caps (
    GstBaseTransform *transform, GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  GstPad *other = direction == GST_PAD_SINK ? GST_BASE_TRANSFORM_SRC_PAD (transform)
                                            : GST_BASE_TRANSFORM_SINK_PAD (transform);
  GstCaps *result = gst_pad_get_pad_template_caps (other);

  if (filter) {
    GstCaps *common = gst_caps_intersect_full (filter, result, GST_CAPS_INTERSECT_FIRST);
    gst_caps_unref (result);
    result = common;
  }
  return result;
}

/* Of a choice the size is 1280 × 720 and the rate that of the scans, or 0/1: as they come. */
static GstCaps *
gst_point_cloud_render_fixate_caps (
    GstBaseTransform *transform, GstPadDirection direction, GstCaps *caps, GstCaps *other)
{
  gint fps_n = 0, fps_d = 1;

  if (direction != GST_PAD_SINK)
    return gst_caps_fixate (other);
  /* Without a peer the base class takes the caps of the scans for those of the frames. */
  if (!gst_structure_has_name (gst_caps_get_structure (other, 0), "video/x-raw")) {
    gst_caps_unref (other);
    other = gst_pad_get_pad_template_caps (GST_BASE_TRANSFORM_SRC_PAD (transform));
  }
  other = gst_caps_make_writable (gst_caps_truncate (other));
  GstStructure *structure = gst_caps_get_structure (other, 0);
  (void)gst_structure_get_fraction (gst_caps_get_structure (caps, 0), "framerate", &fps_n, &fps_d);
  gst_structure_fixate_field_nearest_int (structure, "width", DEFAULT_WIDTH);
  gst_structure_fixate_field_nearest_int (structure, "height", DEFAULT_HEIGHT);
  gst_structure_fixate_field_nearest_fraction (structure, "framerate", fps_n, fps_d);
  return gst_caps_fixate (other);
}

static gboolean
gst_point_cloud_render_set_caps (GstBaseTransform *transform, GstCaps *in_caps, GstCaps *out_caps)
{
  GstPointCloudRender *self = GST_POINT_CLOUD_RENDER (transform);
  const GstStructure *structure = gst_caps_get_structure (out_caps, 0);
  GstPointCloudInfo info;
  gint fps_n, fps_d;
  g_autoptr (GError) error = NULL;

  if (!gst_point_cloud_info_from_caps (&info, in_caps, &error) ||
      !gst_point_cloud_info_has_xyz (&info, &error)) {
    GST_ELEMENT_ERROR (self, STREAM, FORMAT,
        ("Clouds with these caps cannot be drawn: %s.", error->message),
        ("%" GST_PTR_FORMAT, in_caps));
    return FALSE;
  }
  if (!gst_structure_get_int (structure, "width", &self->width) ||
      !gst_structure_get_int (structure, "height", &self->height) ||
      !gst_structure_get_fraction (structure, "framerate", &fps_n, &fps_d))
    return FALSE;
  gst_scene_reader_set_info (&self->reader, &info);
  if (fps_n != self->times.fps_n || fps_d != self->times.fps_d)
    gst_render_times_reset (&self->times, fps_n, fps_d);
  self->is_drawn = FALSE;
  GST_INFO_OBJECT (self, "caps %" GST_PTR_FORMAT " to %" GST_PTR_FORMAT, in_caps, out_caps);
  return TRUE;
}

static gboolean
gst_point_cloud_render_transform_size (GstBaseTransform *transform, GstPadDirection direction,
    GstCaps *caps, gsize size, GstCaps *other, gsize *other_size)
{
  gint width = 0, height = 0;

  if (direction != GST_PAD_SINK)
    return FALSE;
  (void)gst_structure_get_int (gst_caps_get_structure (other, 0), "width", &width);
  (void)gst_structure_get_int (gst_caps_get_structure (other, 0), "height", &height);
  *other_size = (gsize)width * (gsize)height * 4;
  return width > 0 && height > 0;
}

/* Frames are in memory of our own, without gaps. */
static gboolean
gst_point_cloud_render_decide_allocation (GstBaseTransform *transform, GstQuery *query)
{
  while (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_remove_nth_allocation_pool (query, 0);
  return TRUE;
}

/* Events and queries */

static void
restart (GstPointCloudRender *self)
{
  gst_clear_buffer (&self->waiting);
  gst_clear_buffer (&self->last);
  scene_points_clear (&self->scan.points);
  self->has_scan = self->is_drawn = FALSE;
  scene_way_reset (&self->way);
  gst_render_times_reset (&self->times, self->times.fps_n, self->times.fps_d);
}

static void
take_custom (GstPointCloudRender *self, const GstStructure *structure)
{
  const NdtVoxelMapParams usual = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  const gchar *location = gst_structure_get_string (structure, "location");
  gdouble resolution = usual.resolution;

  if (!gst_structure_has_name (structure, "ndt-map") || !location)
    return;
  (void)gst_structure_get_double (structure, "resolution", &resolution);
  show_map (self, location, resolution);
}

static gboolean
gst_point_cloud_render_sink_event (GstBaseTransform *transform, GstEvent *event)
{
  GstPointCloudRender *self = GST_POINT_CLOUD_RENDER (transform);
  const GstSegment *segment;

  switch (GST_EVENT_TYPE (event)) {
  case GST_EVENT_SEGMENT:
    if (!gst_point_cloud_require_time_segment (GST_ELEMENT (self), event)) {
      gst_event_unref (event);
      return FALSE;
    }
    gst_event_parse_segment (event, &segment);
    GST_DEBUG_OBJECT (self, "segment %" GST_SEGMENT_FORMAT, segment);
    self->asks_live = TRUE;
    gst_render_times_reset (&self->times, self->times.fps_n, self->times.fps_d);
    break;
  case GST_EVENT_FLUSH_START:
    set_stopping (self, TRUE);
    break;
  case GST_EVENT_FLUSH_STOP:
    set_stopping (self, FALSE);
    restart (self);
    break;
  case GST_EVENT_CUSTOM_DOWNSTREAM_STICKY:
    take_custom (self, gst_event_get_structure (event));
    break;
  default:
    break;
  }
  return GST_BASE_TRANSFORM_CLASS (gst_point_cloud_render_parent_class)
      ->sink_event (transform, event);
}

/* A frame between two scans is made when the second has come. */
static gboolean
gst_point_cloud_render_query (
    GstBaseTransform *transform, GstPadDirection direction, GstQuery *query)
{
  GstPointCloudRender *self = GST_POINT_CLOUD_RENDER (transform);
  const gboolean ok = GST_BASE_TRANSFORM_CLASS (gst_point_cloud_render_parent_class)
                          ->query (transform, direction, query);

  if (!ok || direction != GST_PAD_SRC || GST_QUERY_TYPE (query) != GST_QUERY_LATENCY)
    return ok;
  g_autoptr (GstCaps) in = gst_pad_get_current_caps (GST_BASE_TRANSFORM_SINK_PAD (self));
  g_autoptr (GstCaps) out = gst_pad_get_current_caps (GST_BASE_TRANSFORM_SRC_PAD (self));
  gint in_n, in_d, out_n, out_d;
  GstClockTime min, max;
  gboolean is_live;

  if (!in || !out ||
      !gst_structure_get_fraction (gst_caps_get_structure (in, 0), "framerate", &in_n, &in_d) ||
      !gst_structure_get_fraction (gst_caps_get_structure (out, 0), "framerate", &out_n, &out_d) ||
      in_n <= 0 || gst_util_fraction_compare (out_n, out_d, in_n, in_d) <= 0)
    return TRUE;
  const GstClockTime period = gst_util_uint64_scale (GST_SECOND, (guint64)in_d, (guint64)in_n);
  gst_query_parse_latency (query, &is_live, &min, &max);
  if (GST_CLOCK_TIME_IS_VALID (max))
    max += period;
  gst_query_set_latency (query, is_live, min + period, max);
  return TRUE;
}

/* Start and stop */

static gboolean
gst_point_cloud_render_start (GstBaseTransform *transform)
{
  const NdtVoxelMapParams usual = NDT_VOXEL_MAP_PARAMS_DEFAULT;
  GstPointCloudRender *self = GST_POINT_CLOUD_RENDER (transform);

  g_mutex_lock (&self->lock);
  g_autofree gchar *location = g_strdup (self->settings.map_location);
  const guint max_points = self->settings.max_map_points;
  self->is_stopping = FALSE;
  self->n_reading = 0;
  self->n_scans = self->n_frames = self->n_repeated = self->n_map_draws = 0;
  g_mutex_unlock (&self->lock);
  self->scene = render_scene_new ();
  scene_way_init (&self->way);
  self->asks_live = TRUE;
  gst_render_times_reset (&self->times, 0, 1);
  self->map = scene_map_new (max_points, &map_funcs, self);
  if (location)
    show_map (self, location, usual.resolution);
  return TRUE;
}

static gboolean
gst_point_cloud_render_stop (GstBaseTransform *transform)
{
  GstPointCloudRender *self = GST_POINT_CLOUD_RENDER (transform);

  g_clear_pointer (&self->map, scene_map_free);
  restart (self);
  scene_way_clear (&self->way);
  g_clear_pointer (&self->scene, render_scene_free);
  g_clear_pointer (&self->new_map, render_map_free);
  g_clear_pointer (&self->voxels, ndt_voxel_map_unref);
  return TRUE;
}

/* Whoever waits for a map holds its pad's stream lock, which the parent takes. */
static GstStateChangeReturn
gst_point_cloud_render_change_state (GstElement *element, GstStateChange transition)
{
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
    set_stopping (GST_POINT_CLOUD_RENDER (element), TRUE);
  return GST_ELEMENT_CLASS (gst_point_cloud_render_parent_class)
      ->change_state (element, transition);
}

/* Properties */

static void
gst_point_cloud_render_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstPointCloudRender *self = GST_POINT_CLOUD_RENDER (object);

  g_mutex_lock (&self->lock);
  const gboolean is_known = gst_render_settings_set (&self->settings, id, value);
  g_mutex_unlock (&self->lock);
  if (!is_known)
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static void
gst_point_cloud_render_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstPointCloudRender *self = GST_POINT_CLOUD_RENDER (object);

  g_mutex_lock (&self->lock);
  gboolean is_known = gst_render_settings_get (&self->settings, id, value);
  if (id == prop_stats) {
    is_known = TRUE;
    g_value_take_boxed (value,
        gst_structure_new ("application/x-pointcloudrender-stats", "scans", G_TYPE_UINT64,
            self->n_scans, "frames", G_TYPE_UINT64, self->n_frames, "repeated", G_TYPE_UINT64,
            self->n_repeated, "map-draws", G_TYPE_UINT64, self->n_map_draws, "cut", G_TYPE_UINT64,
            gst_point_cloud_element_get_n_cut (GST_ELEMENT (self)), NULL));
  }
  g_mutex_unlock (&self->lock);
  if (!is_known)
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static void
gst_point_cloud_render_finalize (GObject *object)
{
  GstPointCloudRender *self = GST_POINT_CLOUD_RENDER (object);

  gst_render_settings_clear (&self->settings);
  g_cond_clear (&self->cond);
  g_mutex_clear (&self->lock);
  G_OBJECT_CLASS (gst_point_cloud_render_parent_class)->finalize (object);
}

static void
gst_point_cloud_render_init (GstPointCloudRender *self)
{
  g_mutex_init (&self->lock);
  g_cond_init (&self->cond);
  gst_render_settings_init (&self->settings);
  gst_sink_events_tell_flushing (GST_BASE_TRANSFORM_SINK_PAD (self));
}

static void
gst_point_cloud_render_class_init (GstPointCloudRenderClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS (klass);

  object_class->set_property = gst_point_cloud_render_set_property;
  object_class->get_property = gst_point_cloud_render_get_property;
  object_class->finalize = gst_point_cloud_render_finalize;
  element_class->change_state = gst_point_cloud_render_change_state;
  transform_class->start = gst_point_cloud_render_start;
  transform_class->stop = gst_point_cloud_render_stop;
  transform_class->set_caps = gst_point_cloud_render_set_caps;
  transform_class->transform_caps = gst_point_cloud_render_transform_caps;
  transform_class->fixate_caps = gst_point_cloud_render_fixate_caps;
  transform_class->transform_size = gst_point_cloud_render_transform_size;
  transform_class->decide_allocation = gst_point_cloud_render_decide_allocation;
  transform_class->sink_event = gst_point_cloud_render_sink_event;
  transform_class->query = gst_point_cloud_render_query;
  transform_class->submit_input_buffer = gst_point_cloud_render_submit_input_buffer;
  transform_class->generate_output = gst_point_cloud_render_generate_output;
  prop_stats = gst_render_settings_install (object_class) + 1;
  g_object_class_install_property (object_class, prop_stats,
      g_param_spec_boxed ("stats", "Statistics",
          "Numbers of scans, frames, frames that repeat the one before, and times that the map was "
          "drawn since the start",
          GST_TYPE_STRUCTURE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "Point Cloud Renderer",
      "Filter/Converter/Video/PointCloud", "Makes video of scans in their map",
      "The gst-ndt developers");
}
